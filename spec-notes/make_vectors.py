"""Make the test vectors of the specification: the files, manifest.json and listing.md in its folder samples/.

Each file is put together by hand, field by field, so that it depends neither on the code that it tests nor on
the version of a compressor. What the manifest says of the records follows from what went into the files, not
from reading them. libzstd only reads the frames back, as a check of this script.

    python make_vectors.py            make the files again
    python make_vectors.py --check    exit with 1 unless the folder is what would be made
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

import zstandard
from vector_files import Record, Vector, contents_of
from vector_frames import dictionary_content
from vector_listing import listing
from vectors_compressed import compressed_vectors
from vectors_decided import decided_vectors
from vectors_displaced import displaced_vectors
from vectors_foreign import foreign_vectors
from vectors_hostile import hostile_vectors
from vectors_lacking import lacking_vectors
from vectors_limits import limit_vectors
from vectors_requirements import TRIED_BY
from vectors_valid import valid_vectors

SAMPLES: Final = Path(__file__).parent / "warc-zstd-seekable" / "samples"
BY_HAND: Final = {"README.md", "LICENSE"}
SPECIFICATION: Final = "warc-zstd-seekable"
VERSION: Final = "1.6"
MAX_LINE: Final = 150


def verify(vectors: list[Vector]) -> None:
    """Check that libzstd gets the content from the frames, and that it is that of the records."""
    if len({vector.name for vector in vectors}) != len(vectors):
        raise SystemExit("two vectors have one name")
    if unknown := {it for names in TRIED_BY.values() for it in names.split()} - {it.name for it in vectors}:
        raise SystemExit(f"no vectors are named {', '.join(sorted(unknown))}")
    for vector in vectors:
        dictionary = None
        stored = dictionary_content(vector.frames[0])
        if stored:
            dictionary = zstandard.ZstdCompressionDict(stored)
            if dictionary.dict_id() != int.from_bytes(stored[4:8], "little"):
                raise SystemExit(f"{vector.name}: the dictionary does not load")
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
        for frame in vector.frames:
            if frame.skippable or not frame.sound:
                continue
            found = decompressor.decompressobj().decompress(frame.data)
            if found != frame.content:
                raise SystemExit(f"{vector.name}: {frame.name} does not decompress to its content")
        records = b"".join(item.content for item in vector.items if isinstance(item, Record))
        if b"".join(frame.content for frame in vector.frames) != records:
            raise SystemExit(f"{vector.name}: its frames hold something else than its records")


def manifest(vectors: list[Vector]) -> dict[str, Any]:
    """Return what manifest.json says."""
    return {
        "specification": SPECIFICATION,
        "version": VERSION,
        "license": "CC0-1.0",
        "files": [vector.manifest() for vector in vectors],
        "contents": contents_of(data for vector in vectors for data in vector.ranges()),
    }


def text_of(value: object, depth: int = 0) -> str:
    """Write JSON with a line for each record's range and table, and for all that is shorter."""
    indent = " " * depth
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (len(flat) < MAX_LINE and depth):
        return flat
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{indent} {text_of(item, depth + 1)}" for item in value) + f"\n{indent}]"
    items = (f"{indent} {json.dumps(key)}: {text_of(item, depth + 1)}" for key, item in value.items())
    return "{\n" + ",\n".join(items) + f"\n{indent}}}" + ("" if depth else "\n")


def files() -> dict[str, bytes]:
    """Return all that is made, by name."""
    vectors = [
        *valid_vectors(),
        *hostile_vectors(),
        *foreign_vectors(),
        *decided_vectors(),
        *displaced_vectors(),
        *limit_vectors(),
        *lacking_vectors(),
        *compressed_vectors(),
    ]
    verify(vectors)
    made = {vector.file: vector.data for vector in vectors}
    made["manifest.json"] = text_of(manifest(vectors)).encode()
    made["listing.md"] = listing(vectors).encode()
    return made


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description="Make the test vectors of the specification.")
    parser.add_argument("--check", action="store_true", help="compare with what is there, write nothing")
    arguments = parser.parse_args()
    made = files()
    there = {path.name: path for path in SAMPLES.iterdir() if path.name not in BY_HAND}
    if arguments.check:
        wrong = {name for name, data in made.items() if name not in there or there[name].read_bytes() != data}
        for name in sorted(wrong | there.keys() - made.keys()):
            print(f"{name} is not what {Path(__file__).name} makes", file=sys.stderr)
        return int(made.keys() != there.keys() or bool(wrong))
    for name in there.keys() - made.keys():
        there[name].unlink()
    for name, data in made.items():
        (SAMPLES / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
