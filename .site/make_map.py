"""Makes map.svg, which shows what ten seconds of a film of two hours cost: a clip is cut over HTTP.

    python .site/make_map.py

It needs the extras `media`, `remote` and `test`, 3 GB of disk and a minute. All numbers of the picture are
those of the run: what a server was asked for, and where in the archive these bytes are.
"""

from __future__ import annotations

import mmap
import random
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import av  # noqa: E402

import seekwarc  # noqa: E402
from tests.support.rangeserver import RangeServer  # noqa: E402

URI = "http://example.org/talk.mp4"
SECONDS, SCENE, RATE = 7200, 20, 25
START, STOP = 3720, 3730
WIDTH, HEIGHT = 640, 360


class Run(NamedTuple):
    """What was measured."""

    size: int
    """Bytes of the archive."""
    reads: list[tuple[int, int]]
    """Bytes [start, stop) of the archive that each request asked for."""


def make_film(path: Path) -> None:
    """Encode one scene, and write its packets again and again: two hours in a minute."""
    chance = random.Random(1)
    with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as film:
        stream = film.add_stream("libx264", rate=RATE, options={"g": str(2 * RATE), "bf": "0"})
        stream.width, stream.height, stream.bit_rate = WIDTH, HEIGHT, 1_000_000
        packets = []
        for _ in range(SCENE * RATE):
            picture = av.VideoFrame(WIDTH, HEIGHT, "yuv420p")
            for plane in picture.planes:
                plane.update((chance.randbytes(1 << 12) * (plane.buffer_size >> 11))[: plane.buffer_size])
            packets += stream.encode(picture)
        packets += stream.encode(None)
        scene = [(bytes(it), it.is_keyframe, it.time_base) for it in packets]
        for number in range(SECONDS * RATE):
            data, is_keyframe, time_base = scene[number % len(scene)]
            packet = av.Packet(data)
            packet.stream, packet.time_base = stream, time_base
            packet.pts = packet.dts = round(number / RATE / time_base)
            packet.duration, packet.is_keyframe = round(1 / RATE / time_base), is_keyframe
            film.mux(packet)


def measured(folder: Path) -> Run:
    """Archive the film, and cut ten seconds out of it over HTTP."""
    film, archive = folder / "talk.mp4", folder / "crawl.warc.zst"
    make_film(film)
    with seekwarc.open(archive, "w") as out, film.open("rb") as body:
        out.write_warcinfo({"software": "make_map.py"})
        written = out.write_response(URI, body, status=200, http_headers={"Content-Type": "video/mp4"})
    with archive.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with RangeServer(data) as server:
            with seekwarc.open(server.url) as remote:
                payload = remote.record_at(written.offset, written.length).payload
                seekwarc.clip(payload, START, STOP, folder / "clip.mp4")
            ranges = [asked.headers["range"].removeprefix("bytes=").split("-") for asked in server.asked]
        return Run(len(data), [(int(first), int(last) + 1) for first, last in ranges])


STYLE = """\
svg { background: #fff; font: 17px system-ui, sans-serif } text { fill: #24292f } .dim { fill: #57606a }
.file { fill: #d8dee4 } .read { fill: #0969da } .all { fill: #cf222e } .line { stroke: #57606a }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9198a1 }
  .file { fill: #30363d } .read { fill: #4493f8 } .all { fill: #f85149 } .line { stroke: #9198a1 }
}"""
LEFT, BAR, HIGH = 10, 620, 34


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 10e6 else f"{size / 1e6:.0f} MB"


def drawn(run: Run) -> str:
    """Return the picture: the archive from left to right, twice, and what is read of it."""

    def place(position: int) -> float:
        return LEFT + BAR * position / run.size

    def bar(y: int, kind: str, start: int, stop: int) -> str:
        # What would be thinner than a line of the screen is still seen.
        width = max(place(stop) - place(start), 2.5)
        x = min(place(start), LEFT + BAR - width)
        return f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HIGH}"/>'

    def text(x: float, y: int, words: str, more: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y}"{more}>{words}</text>'

    total = sum(stop - start for start, stop in run.reads)
    part = max(run.reads, key=lambda it: it[1] - it[0])
    end = [it for it in run.reads if it[0] > part[1]]
    head = [it for it in run.reads if it[1] < part[0]]
    if len(head) + len(end) + 1 != len(run.reads):
        raise ValueError("the ten seconds took more than one request: change what the picture says")
    sums = [megabytes(sum(stop - start for start, stop in it)) for it in (head, [part], end)]
    first = f"seekwarc: {len(run.reads)} requests, {megabytes(total)}"
    other = f"A reader that begins at the record's beginning: {megabytes(part[1])}"
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" width="640" height="330" role="img"',
        'aria-labelledby="title desc"><title id="title">Ten seconds of a film of two hours</title>',
        f'<desc id="desc">{first}, of an archive of {megabytes(run.size)}. {other}.</desc>',
        f"<style>\n{STYLE}\n</style>",
        text(
            LEFT,
            28,
            "1:02:00 to 1:02:10 of a film of two hours, over HTTP",
            ' font-size="20" font-weight="600"',
        ),
        text(
            LEFT,
            54,
            f"The archive, a .warc.zst of {megabytes(run.size)}, from its first byte to its last",
            ' class="dim"',
        ),
        text(LEFT, 94, first, ' font-weight="600"'),
        bar(104, "file", 0, run.size),
        *(bar(104, "read", start, stop) for start, stop in run.reads),
        text(LEFT, 162, f"head, film's index: {sums[0]}", ' class="dim"'),
        text(place(part[0]), 162, f"ten seconds: {sums[1]}", ' class="dim" text-anchor="middle"'),
        text(LEFT + BAR, 162, f"seek table: {sums[2]}", ' class="dim" text-anchor="end"'),
        text(LEFT, 212, other, ' font-weight="600"'),
        bar(222, "file", 0, run.size),
        bar(222, "all", 0, part[1]),
    ]
    for quarter in range(5):
        x = LEFT + BAR * quarter / 4
        anchor = ("start", "middle", "middle", "middle", "end")[quarter]
        out.append(f'<line class="line" x1="{x}" x2="{x}" y1="258" y2="266"/>')
        out.append(
            text(x, 286, f"{quarter // 2}:{quarter % 2 * 30:02}", f' class="dim" text-anchor="{anchor}"')
        )
    out.append(text(LEFT, 318, "time in the film", ' class="dim"'))
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        (HERE / "map.svg").write_text(drawn(measured(Path(folder))), "utf-8")
