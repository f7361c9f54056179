"""Make samples beyond 4 GiB, which are too large to be kept, and their manifest for conform.py.

    python large_samples.py FOLDER
    python conform.py FOLDER --class seeks --timeout 600 --batch -- COMMAND

`offsets` has padding of 5 GiB between two records, which takes no room where files may have holes: offsets
need more than 32 bits. `contents` has a record of 5 GiB in runs, which takes a few hundred kilobytes: sums of
content sizes need more. A reader decodes all of it for the question `records`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vector_files import RECORD_END, contents_of, record_header
from vector_frames import PADDING, Frame, table_of, u32, zstandard_frame
from vectors_valid import small_info

HOLE: Final = 1 << 30
HOLES: Final = 5
FRAME: Final = 8 << 20
RUN: Final = 1 << 16
FRAMES: Final = 640
"""Of 8 MiB each: 5 GiB."""


@dataclass(frozen=True)
class Piece:
    """Bytes of a file, and zeros after them that are a hole in it."""

    data: bytes
    zeros: int = 0


def run(number: int) -> bytes:
    """Return the content of a frame: runs of two letters in turn."""
    large, small = (bytes((first + number % 26,)) * RUN for first in (65, 97))
    return (large + small) * (FRAME // (2 * RUN))


def record_of_frames(frames: int) -> tuple[bytes, Iterator[Frame]]:
    """Return the header of a record, and its frames."""
    header = record_header("resource", 2, frames * FRAME, "WARC-Target-URI: http://a.example/")
    known = [zstandard_frame(run(number), "", "") for number in range(min(frames, 26))]

    def made() -> Iterator[Frame]:
        yield zstandard_frame(header, "", "")
        for number in range(frames - 1):
            yield known[number % 26]
        yield zstandard_frame(run(frames - 1) + RECORD_END, "", "")

    return header, made()


def sample(
    name: str, title: str, folder: Path, frames: int, holes: int
) -> tuple[dict[str, object], list[bytes]]:
    """Write a file of a small record, holes and a large record; return what the manifest says of it."""
    first = small_info()
    start = b"".join(frame.data for frame in first.frames)
    pieces = [Piece(start), *[Piece(u32(PADDING) + u32(HOLE), HOLE)] * holes]
    offset = sum(len(it.data) + it.zeros for it in pieces)
    _, made = record_of_frames(frames)
    own = tuple(made)
    table = table_of("T", own)
    pieces += [Piece(frame.data) for frame in (*own, table)]
    digest = hashlib.sha256()
    path = folder / f"{name}.warc.zst"
    with open(path, "wb") as file:
        for piece in pieces:
            file.write(piece.data)
            file.seek(piece.zeros, 1)
            digest.update(piece.data)
            for _ in range(piece.zeros >> 20):
                digest.update(bytes(1 << 20))
        file.truncate()
        size = file.tell()
    places = sorted({0, 10, FRAME - 5, (frames - 1) * FRAME - 5, frames * FRAME - 10})
    contents = [run(number) for number in range(26)]
    block = hashlib.sha256()
    for number in range(frames):
        block.update(contents[number % 26])
    asked, ranges = [], []
    for begin in places:
        end = begin + 10
        asked.append(b"".join(run(at // FRAME)[at % FRAME : at % FRAME + 1] for at in range(begin, end)))
        ranges.append({"start": begin, "end": end, "sha256": hashlib.sha256(asked[-1]).hexdigest()})
    small = {"start": 0, "end": 5, "sha256": hashlib.sha256(first.block[:5]).hexdigest()}
    asked.append(first.block[:5])
    whole = hashlib.sha256(first.block).hexdigest()
    described = [
        (0, offset, len(first.block), whole, None, [small]),
        (
            offset,
            size - offset,
            frames * FRAME,
            block.hexdigest(),
            {"offset": size - len(table.data)},
            ranges,
        ),
    ]
    names = "offset", "length", "size", "sha256", "table", "ranges"
    records = [{**dict(zip(names, it, strict=True)), "complete": True} for it in described]
    fields: dict[str, object] = {
        "file": path.name,
        "size": size,
        "sha256": digest.hexdigest(),
        "title": title,
    }
    fields |= {"valid": False, "mode": None, "breaks": ["W13"], "readable": "all", "records": records}
    return fields, asked


def main() -> None:
    """Write the files and the manifest."""
    parser = argparse.ArgumentParser(description="Make samples beyond 4 GiB.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, default=FRAMES, help="of the large record, 8 MiB each")
    options = parser.parse_args()
    options.folder.mkdir(exist_ok=True)
    files, contents = [], list[bytes]()
    for name, title, frames, holes in (
        ("offsets", "Offsets of more than 32 bits.", 2, HOLES),
        ("contents", "A record of more than 4 GiB of content.", options.frames, 0),
    ):
        made, asked = sample(name, title, options.folder, frames, holes)
        files.append(made)
        contents += asked
    manifest = {"specification": "warc-zstd-seekable", "version": "1.6", "files": files}
    manifest["contents"] = contents_of(contents)
    (options.folder / "manifest.json").write_text(json.dumps(manifest))


if __name__ == "__main__":
    main()
