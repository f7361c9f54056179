"""The test vectors whose frames are of real compressors: a reader's decoder is tried with them.

The frames are those in compressed/, which make_compressed.py has made; libzstd tells what is in them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import zstandard
from vector_files import (
    HTTP_HEAD,
    OF_FIELDS,
    RECORD_END,
    Record,
    Vector,
    letter_of,
    record_header,
    with_file_table,
    with_own_table,
)
from vector_frames import DICTIONARY_FRAME, PADDING, Frame, Part, skippable_frame, u32, zstandard_frame
from vectors_valid import small_info

FOLDER: Final = Path(__file__).parent / "compressed"
REST: Final = b"the rest of the block"
SMALL: Final = "small-0", "small-1", "small-2", "small-offset", "small-across"
"""Frames with the dictionary."""
ALONE: Final = tuple(sorted(path.stem for path in FOLDER.glob("alone-*.zst")))


@cache
def dictionary() -> bytes:
    """Return the dictionary that was trained."""
    return (FOLDER / "dictionary").read_bytes()


def made_frames(name: str, letter: str, number: int) -> tuple[Frame, ...]:
    """Return the frames of a file, as frames of a record from a number on."""
    data = (FOLDER / f"{name}.zst").read_bytes()
    frames: list[Frame] = []
    while data:
        title = f"{letter}.F{number + len(frames)}"
        if data.startswith(u32(PADDING)):
            frames.append(skippable_frame(PADDING, title, Part(data[8:12], "the size of the next frame")))
            data = data[12:]
            continue
        is_named = zstandard.get_frame_parameters(data).dict_id != 0
        known = zstandard.ZstdCompressionDict(dictionary()) if is_named else None
        decoder = zstandard.ZstdDecompressor(dict_data=known).decompressobj()
        content = decoder.decompress(data)
        stored = data[: len(data) - len(decoder.unused_data)]
        data = decoder.unused_data
        what = f"{title}: Zstandard frame, {name.replace('-', ' at level ')}, {len(content)} bytes of content"
        frames.append(Frame(title, (Part(stored[:4], what), Part(stored[4:], "as made")), content))
    return tuple(frames)


def compressed_record(number: int, *names: str) -> Record:
    """Return a large response whose body is in frames of compressors, but for its last bytes."""
    letter = letter_of(number)
    body: list[Frame] = []
    for name in names:
        body += made_frames(name, letter, 2 + len(body))
    block = HTTP_HEAD + b"".join(frame.content for frame in body) + REST
    header = record_header(
        "response",
        number,
        len(block),
        "WARC-Target-URI: http://a.example/",
        "Content-Type: application/http; msgtype=response",
    )
    frames = (
        frame_of(header, f"{letter}.F0", "the record header alone", names),
        frame_of(HTTP_HEAD, f"{letter}.F1", "the HTTP head", names),
        *body,
        frame_of(REST + RECORD_END, f"{letter}.F{2 + len(body)}", "the last bytes and the trailer", names),
    )
    return Record("response", header, block, frames)


def frame_of(content: bytes, name: str, what: str, names: tuple[str, ...]) -> Frame:
    """Make a frame by hand, which names the dictionary if others do."""
    is_named = "with-dictionary" in names
    frame = zstandard_frame(content, name, what, dictionary=is_named, named=dictionary_id(), copies=False)
    return Frame(frame.name, frame.parts, frame.content)


def dictionary_id() -> int:
    """Return the ID of the trained dictionary."""
    return int.from_bytes(dictionary()[4:8], "little")


def small_compressed(number: int, name: str) -> Record:
    """Return a record in three frames: its header, a block that was compressed, and the trailer."""
    (frame,) = made_frames(name, letter_of(number), 1)
    header = record_header("metadata", number, len(frame.content), *OF_FIELDS)
    letter = letter_of(number)
    names = ("with-dictionary",) if name.startswith("small") else ()
    frames = (
        frame_of(header, f"{letter}.F0", "the record header", names),
        frame,
        frame_of(RECORD_END, f"{letter}.F2", "the trailer", names),
    )
    return Record("metadata", header, frame.content, frames)


LEVELS: Final = {
    "text": ("1", "3", "9", "19", "22"),
    "table": ("1", "3", "19"),
    "numbers": ("1", "3", "9", "19"),
    "mixed": ("fast5", "1", "3", "9", "19"),
    "letter": ("1", "19"),
    "copies": ("1", "3", "19"),
}
TITLES: Final = {
    "text": "words: Huffman codes in four streams, and a table that is used again",
    "table": "lines of a table",
    "numbers": "numbers as programs store them, which repeat offsets",
    "mixed": "noise, runs, text and copies, which need blocks and tables of each type",
    "letter": "copies with one letter between them: literals that are a run",
    "copies": "copies of one length at one distance: codes that are a run",
}


def compressed_vectors() -> list[Vector]:
    """Return all of them."""
    made = []
    for kind, levels in LEVELS.items():
        record = with_own_table(compressed_record(2, *(f"{kind}-{level}" for level in levels)))
        made.append(
            Vector(
                f"compressed-{kind}",
                f"Frames of two blocks that zstd made, of {TITLES[kind]}.",
                with_file_table(small_info(), record),
                writes="large",
                sections="2.1",
            )
        )
    long = with_own_table(compressed_record(2, "long"))
    frame = skippable_frame(DICTIONARY_FRAME, "D", Part(dictionary(), "a dictionary that zstd trained"))
    named = [small_compressed(number, name) for number, name in enumerate(SMALL, 1)]
    alone = [small_compressed(number, name) for number, name in enumerate(ALONE, 1)]
    with_dictionary = with_own_table(compressed_record(len(SMALL) + 1, "with-dictionary"))
    stream = with_own_table(compressed_record(2, "stream"))
    parallel = compressed_record(2, "parallel")
    return [
        *made,
        Vector(
            "compressed-long",
            "A frame of 4 MiB, the end of which repeats its beginning.",
            with_file_table(small_info(), long),
            writes="large",
            sections="2.2",
        ),
        Vector(
            "compressed-small",
            "Small blocks: of few symbols or all, and runs that begin with the frame.",
            with_file_table(*alone),
            writes="large",
            sections="6.6",
            breaks="W6 W13",
        ),
        Vector(
            "compressed-dictionary",
            "A trained dictionary: small records in three frames each, and a large one.",
            with_file_table(frame, *named, with_dictionary),
            writes="large",
            sections="7",
            breaks="W6 W13",
        ),
        Vector(
            "foreign-stream",
            "A frame of the second record is of a stream: without content size and checksum.",
            with_file_table(small_info(), stream),
            writes="large",
            sections="6.6",
            breaks="W7 W8",
        ),
        Vector(
            "foreign-pzstd-program",
            "The body of the second record is what pzstd made, with a skippable frame before each frame.",
            (small_info(), parallel),
            writes="none",
            sections="6.6",
            breaks="W5 W7",
        ),
    ]
