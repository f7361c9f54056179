"""The lines whose instructions are counted: reading, ranges, writing, looking up, verbs, starting.

    python -m tests.benchmarks.counted make FOLDER        make the files that the lines read
    python -m tests.benchmarks.counted run FOLDER SHARE   run a share of the lines

`instructions.py` runs this under valgrind, which writes down what it has counted whenever `os.getsid` is
called, as it is before and after each line. A line runs before it is counted, so that imports, caches and
what the interpreter learns are not counted, and the garbage collector rests. Data are small, so that the
codec's share does not hide ours, and nothing starts a thread.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import seekwarc

__all__ = ["LINES", "SHARES", "STARTED", "make", "run"]

SITE = "http://example.org/"
LARGE = SITE + "large"
DATE = "2026-11-05T12:00:00Z"
FRAME = 64 << 10
SIZE = 3 << 19
RECORDS = 30
FILES = ("a.warc.zst", "a.warc.gz", "a.warc")

STARTED = {
    "start: import seekwarc": ("-c", "import seekwarc"),
    "start: seekwarc --version": ("-m", "seekwarc", "--version"),
    "start: seekwarc cat --range": ("-m", "seekwarc", "cat", "a.warc.zst", "OFFSET", "--range", "-4096:"),
}
"""What Python is started with, counted from the first instruction on; the file `offset` has OFFSET."""


def text(size: int, seed: int = 0) -> bytes:
    """Return text that compresses as pages do."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(400)]
    return " ".join(chance.choices(words, k=size // 4)).encode()[:size]


def large_offset(name: str) -> int:
    """Return where the large record of a file is."""
    with seekwarc.open(name) as archive:
        return next(archive.records(uri=LARGE)).offset


def make() -> None:
    """Write the files into the current folder."""
    from seekwarc import tools  # noqa: PLC0415

    html = {"Content-Type": "text/html"}
    for name in FILES:
        options: dict[str, Any] = {"frame_size": FRAME} if name.endswith(".zst") else {}
        with seekwarc.open(name, "w", threads=1, **options) as out:
            for number in range(RECORDS):
                page = b"<title>Page</title><p>" + text(2000, number)
                out.write_response(f"{SITE}{number}", page, status=200, http_headers=html, date=DATE)
            out.write_resource(LARGE, text(SIZE), "text/plain", date=DATE)
    with open("offset", "w", encoding="ascii") as file:
        file.write(str(large_offset("a.warc.zst")))
    tools.index(["a.warc.zst"], "a.cdxj")
    tools.sidecar("a.warc.gz", min_size=1 << 20, spacing=256 << 10)


def command(*words: str, status: int = 0) -> Callable[[], None]:
    """Return a call of the command in this process, whose output is dropped."""

    def run() -> None:
        from seekwarc.cli import main  # noqa: PLC0415

        out = io.TextIOWrapper(io.BytesIO())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            assert main(words) == status

    return run


def headers(name: str) -> Callable[[], None]:
    def run() -> None:
        with seekwarc.open(name, threads=1) as archive:
            assert sum(len(record.target_uri or "") for record in archive) > RECORDS

    return run


def payloads(name: str) -> Callable[[], None]:
    def run() -> None:
        with seekwarc.open(name, threads=1) as archive:
            found = (it.payload.read() for it in archive.records(type="response"))
            assert sum(map(len, found)) > RECORDS * 1000

    return run


def piped() -> None:
    with open("a.warc.zst", "rb") as file, seekwarc.open(Pipe(file.read()), threads=1) as archive:
        assert sum(1 for _ in archive) > RECORDS


class Pipe(io.RawIOBase):
    """Bytes that can be read once."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._data.readinto(buffer)


def ranges(name: str, *, verify: bool = True) -> Callable[[], None]:
    """Return a read of 4 KiB of a record in an open file, each time in another place."""
    archive = seekwarc.open(name, threads=1, cache_size=0)
    block = archive.record_at(large_offset(name)).block
    places = iter(range(0, 1 << 30, 7919 * 13))

    def run() -> None:
        block.pread(next(places) % (SIZE - 4096), 4096, verify=verify)

    return run


def opened_range(name: str) -> Callable[[], None]:
    offset = large_offset(name)

    def run() -> None:
        with seekwarc.open(name, threads=1) as archive:
            archive.record_at(offset).block.pread(1 << 20, 4096)

    return run


def in_order() -> Callable[[], None]:
    offset = large_offset("a.warc.zst")

    def run() -> None:
        with (
            seekwarc.open("a.warc.zst", threads=1) as archive,
            archive.record_at(offset).block.open() as file,
        ):
            while file.read(1 << 16):
                pass

    return run


def small_writes(compression: str, **options: Any) -> Callable[[], None]:
    """Return the writing of one small response; what is opened stays open."""
    out = seekwarc.open(io.BytesIO(), "w", threads=1, compression=compression, **options)
    out.write_warcinfo({"software": "counted"})
    page, numbers = text(2000), iter(range(1 << 30))

    def run() -> None:
        number = next(numbers)
        body = page if "dedup" in options else b"%d %b" % (number, page)
        out.write_response(f"{SITE}{number}", body, status=200, date=DATE)

    return run


def large_write() -> Callable[[], None]:
    block = text(1 << 19)

    def run() -> None:
        with seekwarc.open(io.BytesIO(), "w", threads=1, frame_size=FRAME, level=1) as out:
            out.write_resource(LARGE, block, "text/plain", date=DATE)

    return run


def looked_up() -> Callable[[], None]:
    index = seekwarc.Index("a.cdxj")
    numbers = iter(range(1 << 30))

    def run() -> None:
        assert next(iter(index.lookup(f"{SITE}{next(numbers) * 37 % RECORDS}"))).offset >= 0

    return run


def collected() -> Callable[[], None]:
    def run() -> None:
        with seekwarc.Collection("a.warc.zst") as collection:
            assert collection.open_record(uri=LARGE).offset > 0

    return run


def parsed_header() -> Callable[[], None]:
    from seekwarc.format.warc import parse_record_header  # noqa: PLC0415

    with seekwarc.open("a.warc") as archive:
        raw = next(iter(archive)).header.raw

    def run() -> None:
        parse_record_header(raw).get("WARC-Target-URI")

    return run


def parsed_table() -> Callable[[], None]:
    table = seekwarc.SeekTable([1000] * 4096, [FRAME] * 4096, [7] * 4096).build()

    def run() -> None:
        assert seekwarc.SeekTable.parse(table).content_size > FRAME

    return run


def keyed() -> Callable[[], None]:
    from seekwarc.format.surt import surt  # noqa: PLC0415

    numbers = iter(range(1 << 30))

    def run() -> None:
        surt(f"https://www.Example.org:443/a/../b/{next(numbers)}?b=2&a=1&jsessionid=0#top")

    return run


LINES: dict[str, tuple[Callable[[], Callable[[], object]], int]] = {
    "read .warc.zst: headers of 30 records": (lambda: headers("a.warc.zst"), 2),
    "read .warc.gz: headers of 30 records": (lambda: headers("a.warc.gz"), 2),
    "read .warc: headers of 30 records": (lambda: headers("a.warc"), 2),
    "read .warc.zst: payloads of 30 responses": (lambda: payloads("a.warc.zst"), 2),
    "read .warc.gz: payloads of 30 responses": (lambda: payloads("a.warc.gz"), 2),
    "read .warc.zst: a pipe of 31 records": (lambda: piped, 1),
    "read .warc.zst: 1.5 MiB in order": (in_order, 1),
    "range .warc.zst: 4 KiB": (lambda: ranges("a.warc.zst"), 24),
    "range .warc.zst: 4 KiB, not verified": (lambda: ranges("a.warc.zst", verify=False), 24),
    "range .warc.zst: opening and 4 KiB": (lambda: opened_range("a.warc.zst"), 8),
    "range .warc.gz: 4 KiB by a sidecar": (lambda: ranges("a.warc.gz"), 3),
    "range .warc.gz: opening and 4 KiB": (lambda: opened_range("a.warc.gz"), 3),
    "write .warc.zst: a small response": (lambda: small_writes("zst"), 12),
    "write .warc.gz: a small response": (lambda: small_writes("gz"), 12),
    "write .warc.zst: a revisit": (lambda: small_writes("zst", dedup=seekwarc.Duplicates()), 12),
    "write .warc.zst: 512 KiB in frames": (large_write, 1),
    "find: a URI in an index": (looked_up, 12),
    "find: a URI in a collection": (collected, 2),
    "find: the key of a URI": (keyed, 50),
    "parse: the header of a record": (parsed_header, 100),
    "parse: a seek table of 4,096 frames": (parsed_table, 10),
    "verb: ls": (lambda: command("ls", "a.warc.zst"), 1),
    "verb: ls --json": (lambda: command("ls", "a.warc.zst", "--json"), 1),
    "verb: info": (lambda: command("info", "a.warc.zst"), 1),
    "verb: verify": (lambda: command("verify", "-j1", "a.warc.zst"), 1),
    "verb: index": (lambda: command("index", "-j1", "a.warc.zst"), 2),
    "verb: filter": (
        lambda: command("filter", "-j1", "-f", "a.warc.zst", "--uri", LARGE, "-o", "f.warc.zst"),
        1,
    ),
    "verb: cat --range": (
        lambda: command("cat", "--index", "a.cdxj", "--uri", LARGE, "--range", "-4096:"),
        2,
    ),
}
"""What begins a line and returns what is counted, and how often that is done."""
SHARES = tuple(
    [name for name in LINES if name.startswith(begins)]
    for begins in (("read", "range", "write", "parse"), ("find", "verb"))
)
"""Lines of one process: what a line has imported, the next one need not."""


def run(share: int) -> None:
    for name in SHARES[share]:
        begin, repeats = LINES[name]
        once = begin()
        for _ in range(repeats // 4 + 1):
            once()
        gc.collect()
        gc.disable()
        os.getsid(0)
        for _ in range(repeats):
            once()
        os.getsid(0)
        gc.enable()


if __name__ == "__main__":
    # The same IDs of records each time.
    os.urandom = random.Random(1).randbytes
    action, folder, *number = sys.argv[1:]
    os.chdir(folder)
    if action == "make":
        make()
    else:
        run(int(number[0]))
