"""Sound files, what is done to their seek tables, and what reading them must come to.

A mutant is a sound file in which one seek table, or two, say something else than the frames do; no frame is
touched. What a reader must find in it is known from how the file was put together, without any table. All
choices follow from one number, so that a mutant can be made again:

    python -m tests.support.mutants --count 1000000 --first 0
"""

from __future__ import annotations

import argparse
import io
import json
import random
import struct
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import seekwarc
from seekwarc.check.verifying import Verifier
from seekwarc.cli import main as command
from seekwarc.collection.record_table import Query
from seekwarc.errors import SeekWarcError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.make.indexing import index
from seekwarc.serve.library import Library
from tests.support.foreign import (
    CRLF2,
    EMPTY,
    SEEK_TABLE_FRAME,
    Entry,
    checksum,
    cut,
    dictionary_frame,
    seek_table,
    skippable,
    some_dictionary,
    text,
    warc_header,
    zstd_frame,
)
from tests.support.forged import check_ways
from tests.support.writing import noise, sha1

PADDING = 0x184D2A50
MIN_FRAME = 8
"""Bytes of the shortest frame; a table of more frames than fit before it is none (specification, 6.1)."""
WORDS = text(1 << 16, seed=4)
NOISE = noise(1 << 16, seed=4)


@dataclass
class Part:
    """One frame of a file."""

    stored: bytes
    content: bytes = b""
    record: int | None = None
    """Of a frame with content: the record that it belongs to."""
    table: str | None = None
    """Of a seek table: what it lists, "record" or "file"."""
    is_lure: bool = False
    """It ends in what looks like a seek table but is not one."""
    is_silent: bool = False
    """It does not state what it holds."""

    @property
    def entry(self) -> Entry:
        """What a right table lists of it."""
        return len(self.stored), len(self.content), checksum(self.content)


@dataclass
class Truth:
    """A record, as it was put into the file."""

    number: int
    """As in its URI and ID."""
    offset: int
    header: bytes
    block: bytes
    data_end: int
    stop: int
    """Offset of the next record, or the end of the file."""
    frames: list[Entry]
    is_silent: bool
    """A frame does not state what it holds, so that only decompressing tells where the record ends."""

    @property
    def frame_count(self) -> int | None:
        """How many of them have content; None if that takes decompressing."""
        return None if self.is_silent else sum(1 for entry in self.frames if entry[1])


@dataclass
class Mutant:
    """A file and what is in it."""

    data: bytes
    records: list[Truth]
    kind: str
    is_false: bool
    """A reader may come upon a table that does not list the frames that are there."""
    ends: list[int]
    """Where frames end: what an index may give as the end of a record."""
    has_checksums: bool
    """All frames with content have one."""


class Maker:
    """Makes the mutant of one number."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)
        self.parts: list[Part] = []
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_checksums = True

    def mutant(self) -> Mutant:
        """Build a sound file, and put false tables into it."""
        self._sound_file()
        rng = self.rng
        kinds = [rng.choice(PLACES)(self) for _ in range(rng.choice((1, 1, 1, 2)))]
        is_false = any(map(self._is_false, range(len(self.parts))))
        return self._finished(" and ".join(kinds), is_false)

    def _sound_file(self) -> None:
        rng = self.rng
        mode = rng.choice(("large", "every", "none"))
        checksums = rng.random() < 0.6
        options = {}
        if mode != "every" and rng.random() < 0.3:
            dictionary = some_dictionary()
            self.parts.append(Part(_dictionary()))
            options = {"dictionary": dictionary}
        for number in range(rng.randint(1, 4)):
            large = rng.random() < 0.7
            size = rng.randint(0, 200) if not large else rng.randint(300, 3000)
            source = rng.choice((WORDS, NOISE))
            at = rng.randrange(len(source) - size)
            block = source[at : at + size]
            header = warc_header(len(block), number)
            self.headers.append((header, block))
            whole = header + block + CRLF2
            cuts: tuple[int, ...] = ()
            if large or mode == "every":
                edges = sorted(
                    rng.sample(
                        range(len(header) + 1, len(whole) - 3), min(rng.randint(0, 6), len(block) // 2)
                    )
                )
                cuts = (len(header), *edges)
            has_checksum = rng.random() < 0.8
            self.has_checksums &= has_checksum
            silence = 0.3 if rng.random() < 0.1 else 0
            for piece in cut(whole, cuts):
                if cuts and rng.random() < 0.05:
                    self.parts.append(Part(skippable(PADDING, bytes(rng.randint(0, 30)))))
                is_silent = rng.random() < silence
                frame = zstd_frame(piece, content_size=not is_silent, checksum=has_checksum, **options)
                self.parts.append(Part(frame, piece, number, is_silent=is_silent))
            if mode == "every" or (mode == "large" and large):
                listed = self._frames_of(number)
                self.parts.append(Part(seek_table(listed, checksums=checksums), table="record"))
            if rng.random() < 0.2:
                self.parts.append(Part(skippable(PADDING, bytes(rng.randint(0, 40)))))
        if mode == "large":
            listed = [part.entry for part in self.parts]
            self.parts.append(Part(seek_table(listed, checksums=checksums), table="file"))

    def _span_of(self, record: int) -> range:
        """Return the places of a record's frames among the parts, from its first to its last."""
        places = [at for at, part in enumerate(self.parts) if part.record == record]
        return range(places[0], places[-1] + 1)

    def _frames_of(self, record: int) -> list[Entry]:
        return [self.parts[at].entry for at in self._span_of(record)]

    # Where a false table is put. Each returns what was done.

    def replaced(self) -> str:
        """Replace a table of the file, as a frame of its own."""
        places = [at for at, part in enumerate(self.parts) if part.table]
        if not places:
            return self.added()
        at = self.rng.choice(places)
        table = self.parts[at].table
        before = [part.record for part in self.parts[:at] if part.record is not None]
        # An added table may come before every record.
        first = self._span_of(before[-1])[0] if table == "record" and before else 0
        stored, kind = self._false_table(first, at)
        self.parts[at] = Part(stored, table=table)
        return f"replaced, {kind}"

    def added(self) -> str:
        """Put a table where none was, as a frame of its own."""
        first, at = self._place()
        stored, kind = self._false_table(first, at)
        self.parts.insert(at, Part(stored, table="record"))
        return f"added, {kind}"

    def hidden(self) -> str:
        """Put a table into the user data of padding, at its end."""
        rng = self.rng
        first, at = self._place()
        front = bytes(rng.choice((0, 0, 1, 30)))
        # What a reader that takes it for a frame finds before it: the padding's own header, and more.
        before = struct.pack("<II", PADDING, 0) + front
        stored, kind = self._false_table(first, at, before=len(before))
        is_lure = _entries_of(stored) is not None
        self.parts.insert(at, Part(skippable(PADDING, front + stored), is_lure=is_lure))
        return f"hidden, {kind}"

    def raw(self) -> str:
        """Put a record whose first frames end in what looks like a table, and are not compressed."""
        rng = self.rng
        number = len(self.headers)
        entries = [(rng.randint(8, 90), rng.randint(0, 90), rng.getrandbits(32)) for _ in range(3)]
        lure = seek_table(entries, checksums=rng.random() < 0.5)
        block = rng.choice((WORDS, NOISE))[:200] + lure + NOISE[:300]
        header = warc_header(len(block), number)
        self.headers.append((header, block))
        whole = header + block + CRLF2
        edge = len(header) + 200 + len(lure)
        for piece in cut(whole, (len(header), edge)):
            # A level this low stores what does not compress as it is; the lure ends the frame.
            frame = _raw_frame(piece) if piece.endswith(lure) else zstd_frame(piece)
            self.has_checksums &= not piece.endswith(lure)
            self.parts.append(Part(frame, piece, number, is_lure=piece.endswith(lure)))
        return "raw"

    def after_the_end(self) -> str:
        """Put a table of more than there is before it at the end."""
        listed = [(1 << 31, 100, 0), *[part.entry for part in self.parts]]
        self.parts.append(Part(seek_table(listed), table="file"))
        return "more than there is"

    def _is_false(self, at: int) -> bool:
        """Tell whether a part is, or ends in, a table of other frames than those before it."""
        part = self.parts[at]
        if part.is_lure:
            count, descriptor = struct.unpack_from("<IB", part.stored, len(part.stored) - 9)
            size = count * (12 if descriptor & 0x80 else 8) + 17
            begin = sum(len(it.stored) for it in self.parts[: at + 1]) - size
            # Where so many frames do not fit before it, nobody takes it for a table.
            return count * MIN_FRAME <= begin
        if not part.stored.startswith(struct.pack("<I", SEEK_TABLE_FRAME)):
            return False
        listed = _entries_of(self.parts[at].stored)
        if listed is None:
            return True
        frames = [part.entry for part in self.parts[:at]][-len(listed) :]
        return len(frames) != len(listed) or not all(
            one[:2] == other[:2] and one[2] in (None, other[2])
            for one, other in zip(listed, frames, strict=True)
        )

    def _place(self) -> tuple[int, int]:
        """Return the first frame that a table may list, and where the table may be: after a later frame."""
        rng = self.rng
        first = rng.choice([0, *[self._span_of(number)[0] for number in range(len(self.headers))] * 2])
        ends = [self._span_of(number)[-1] + 1 for number in range(len(self.headers))]
        ends = [at for at in (*ends, len(self.parts)) if at > first]
        return first, rng.choice((rng.choice(ends), ends[0], rng.randint(first + 1, len(self.parts))))

    def _false_table(self, first: int, at: int, *, before: int = 0) -> tuple[bytes, str]:
        """Return a table of the parts from `first` to `at`, put through changes, and what they were."""
        rng = self.rng
        frames = [part.entry for part in self.parts[first:at]]
        total = sum(entry[0] for entry in frames) + before
        entries, names = list(frames), []
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            name, change = rng.choice(CHANGES)
            entries = change(rng, entries) if entries else entries
            names.append(name)
        if entries and rng.random() < 0.8:
            # What is too little or too much goes to one entry: the table still begins at a record.
            number = rng.choice((0, len(entries) - 1, rng.randrange(len(entries))))
            stored = entries[number][0] + total - sum(entry[0] for entry in entries)
            entries[number] = (max(stored, 0), *entries[number][1:])
        record = self.parts[first].record
        if record is not None and entries and rng.random() < 0.8:
            # The content of just this record, whatever frames it is said to be in.
            number = rng.randrange(len(entries))
            others = sum(entry[1] for entry in entries) - entries[number][1]
            size = sum(map(len, self.headers[record])) + 4 - others
            if 0 <= size < 1 << 32:
                entries[number] = (entries[number][0], size, entries[number][2])
        form = {}
        if rng.random() < 0.08:
            form = rng.choice(
                (
                    {"count": len(entries) + 1},
                    {"count": 0xFFFF_FFFF},
                    {"descriptor": 0xFF},
                    {"footer_magic": 0},
                )
            )
            names.append("form")
        entries = [tuple(value & 0xFFFF_FFFF for value in entry) for entry in entries]
        return seek_table(entries, checksums=rng.random() < 0.6, **form), "+".join(names) or "right"

    def _finished(self, kind: str, is_false: bool) -> Mutant:
        starts, position = [], 0
        for part in self.parts:
            starts.append(position)
            position += len(part.stored)
        records = []
        order = sorted({part.record for part in self.parts if part.record is not None})
        for number in order:
            span = self._span_of(number)
            header, block = self.headers[number]
            end = starts[span[-1]] + len(self.parts[span[-1]].stored)
            frames = [self.parts[at].entry for at in span]
            is_silent = any(self.parts[at].is_silent for at in span)
            records.append(Truth(number, starts[span[0]], header, block, end, position, frames, is_silent))
        for one, other in pairwise(records):
            one.stop = other.offset
        ends = [*starts[1:], position]
        data = b"".join(part.stored for part in self.parts)
        return Mutant(data, records, kind, is_false, ends, self.has_checksums)


PLACES: list[Callable[[Maker], str]] = [
    *[Maker.replaced] * 5,
    *[Maker.added] * 3,
    *[Maker.hidden] * 3,
    Maker.raw,
    Maker.after_the_end,
]

Change = Callable[[random.Random, list[Entry]], list[Entry]]


def _two(rng: random.Random, entries: list[Entry]) -> tuple[int, int]:
    return rng.randrange(len(entries)), rng.randrange(len(entries))


def merge(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    start = rng.randrange(len(entries))
    run = entries[start : start + rng.randint(2, 4)]
    content = rng.choice((sum(entry[1] for entry in run), run[0][1], run[-1][1]))
    check = rng.choice(run)[2]
    return [*entries[:start], (sum(entry[0] for entry in run), content, check), *entries[start + len(run) :]]


def swallow(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    """One entry goes on to the end of later ones, and has the checksum of the last."""
    start = rng.randrange(len(entries))
    run = entries[start : start + rng.randint(2, 5)]
    entry = (sum(it[0] for it in run), run[0][1], run[-1][2])
    return [*entries[:start], entry, *entries[start + len(run) :]]


def split(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    stored, content, check = entries[number]
    a, b = rng.randint(0, stored), rng.randint(0, content)
    return [*entries[:number], (a, b, check), (stored - a, content - b, check), *entries[number + 1 :]]


def move(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    one, other = _two(rng, entries)
    column = rng.randrange(2)
    by = rng.choice((1, 4, 8, entries[one][column]))
    made = [list(entry) for entry in entries]
    if made[one][column] >= by:
        made[one][column] -= by
        made[other][column] += by
    return [tuple(entry) for entry in made]


def cancel_out(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    """Two contents are wrong, and their sum is right: what lies between them is displaced."""
    one, other = sorted(_two(rng, entries))
    by = rng.randint(1, 20)
    made = list(entries)
    if one != other and made[other][1] >= by:
        made[one] = (made[one][0], made[one][1] + by, made[one][2])
        made[other] = (made[other][0], made[other][1] - by, made[other][2])
    return made


def swap(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    one, other = _two(rng, entries)
    made = list(entries)
    made[one], made[other] = made[other], made[one]
    return made


def drop(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    return [*entries[:number], *entries[number + 1 :]]


def repeat(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    return [*entries[: number + 1], *entries[number:]]


def call_empty(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    made = list(entries)
    made[number] = (made[number][0], 0, EMPTY)
    return made


def put_nothing(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    return [*entries[:number], (rng.choice((0, 8)), 0, EMPTY), *entries[number:]]


def other_checksum(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    one, other = _two(rng, entries)
    made = list(entries)
    made[one] = (*made[one][:2], rng.choice((made[other][2], rng.getrandbits(32))))
    return made


def any_numbers(rng: random.Random, entries: list[Entry]) -> list[Entry]:
    number = rng.randrange(len(entries))
    made = list(entries)
    made[number] = (rng.choice((1, 8, 300, 0xFFFF_FFFF)), rng.choice((0, 1, 300, 0xFFFF_FFFF)), 0)
    return made


CHANGES: list[tuple[str, Change]] = [
    (change.__name__, change)
    for change in (
        merge,
        swallow,
        swallow,
        split,
        move,
        move,
        cancel_out,
        cancel_out,
        swap,
        drop,
        repeat,
        call_empty,
        put_nothing,
        other_checksum,
        any_numbers,
    )
]


@cache
def _dictionary() -> bytes:
    return dictionary_frame(some_dictionary(), compressed=False)


def _raw_frame(content: bytes) -> bytes:
    """Make a frame of one block that is not compressed, without checksum: it ends as its content does."""
    head = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content))
    return head + (len(content) << 3 | 1).to_bytes(3, "little") + content


def _entries_of(stored: bytes) -> list[tuple[int, int, int | None]] | None:
    """Parse a seek table by the text of the format; None if it is not one."""
    if len(stored) < 17:
        return None
    magic, size = struct.unpack_from("<II", stored)
    count, descriptor, footer = struct.unpack_from("<IBI", stored, len(stored) - 9)
    width = 12 if descriptor & 0x80 else 8
    form = magic, size, footer, descriptor & 0x7C, count * width + 17
    if form != (SEEK_TABLE_FRAME, len(stored) - 8, 0x8F92EAB1, 0, len(stored)):
        return None
    found = []
    for number in range(count):
        stored_size, content = struct.unpack_from("<II", stored, 8 + number * width)
        check = struct.unpack_from("<I", stored, 16 + number * width)[0] if width == 12 else None
        if content and not stored_size:
            return None
        found.append((stored_size, content, check))
    return found


# What reading a mutant must come to.

BATCH = 50
"""Mutants that `ls` and the server's catalogue are given at a time."""


@dataclass
class Tally:
    """How reading went, over all mutants."""

    mutants: int = 0
    false: int = 0
    reported: int = 0
    reads: int = 0
    right: int = 0
    raised: int = 0
    displaced: int = 0
    """Short reads without a walk that gave an intact frame of another place; all of such a record raises."""
    kinds: Counter[str] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    """Reads of records in each way of `tests.support.forged`, and of whole files by parts."""

    def add(self, other: Tally) -> None:
        """Count what another counted."""
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)


def check(numbers: range, tally: Tally, *, ways_of: int = 1) -> None:
    """Make mutants and read each in every way.

    Args:
        numbers: Which.
        tally: Counts them.
        ways_of: One of so many batches is read in the ways of `tests.support.forged`, which take longest.

    Raises:
        AssertionError: One was read otherwise than a reader without tables reads it.
    """
    for batch, some in enumerate(_batches(numbers)):
        makers = [Maker(number) for number in some]
        mutants = [maker.mutant() for maker in makers]
        for number, maker, mutant in zip(some, makers, mutants, strict=True):
            try:
                _check_one(maker.rng, mutant, tally)
            except Exception as error:
                error.add_note(f"mutant {number}: {mutant.kind}")
                raise
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{number}.warc.zst") for number in some]
            for path, mutant in zip(paths, mutants, strict=True):
                path.write_bytes(mutant.data)
            check_listing(paths, mutants)
            _check_catalogue(paths, mutants)
            if batch % ways_of == 0:
                tally.ways += check_ways(paths, mutants, makers[0].rng)


def _batches(numbers: range) -> Iterator[range]:
    return (numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH))


def _check_one(rng: random.Random, mutant: Mutant, tally: Tally) -> None:
    tally.mutants += 1
    tally.kinds[mutant.kind.partition(",")[0]] += 1
    lengths = _check_walks(mutant)
    with seekwarc.open(mutant.data, cache_size=rng.choice((0, 1 << 20))) as archive:
        for record, length in zip(mutant.records, lengths, strict=True):
            for given in _lengths(rng, mutant, record, length):
                _check_record(rng, archive, record, given, tally)
    _check_strictly(rng, mutant)
    tally.false += mutant.is_false
    found = list(Verifier(mutant.data))
    if mutant.is_false:
        assert any(it.code.startswith("table-") and it.code != "table-end" for it in found), "called sound"
        tally.reported += 1


def _check_strictly(rng: random.Random, mutant: Mutant) -> None:
    """See that a reader that compares tables with frames is never misled, not even by a short read."""
    with seekwarc.open(mutant.data, strict=True) as archive:
        for record in mutant.records:
            start = rng.randint(0, len(record.block))
            stop = rng.randint(start, len(record.block))
            try:
                part = archive.record_at(record.offset).block.pread(start, stop - start)
            except SeekWarcError:
                continue
            assert part == record.block[start:stop], "displaced, though tables were compared"


def _check_walks(mutant: Mutant) -> list[int]:
    """Assert that a walk finds exactly the records that are there; return the lengths that it found."""
    with seekwarc.open(mutant.data) as archive:
        found = [(it.offset, it.header.raw, _block(it), it.length) for it in archive]
    assert [it[:2] for it in found] == [(it.offset, it.header) for it in mutant.records]
    for (offset, _, block, length), record in zip(found, mutant.records, strict=True):
        assert record.data_end <= offset + length <= record.stop
        # Of frames that have no checksum, that of the table counts.
        assert block == record.block or (block is None and not mutant.has_checksums)
    lost = {offset for offset, _, block, _ in found if block is None}
    wanted = [(it.offset, sha1(it.block)) for it in mutant.records if it.offset not in lost]
    out = io.BytesIO()
    problems: list[object] = []
    index({"m": mutant.data}, out, on_problem=problems.append)
    lines = sorted(map(CdxjLine.parse, out.getvalue().splitlines()), key=lambda line: line.offset)
    assert len(problems) == len(lost)
    assert [(line.offset, str(line.digest)) for line in lines] == wanted
    return [it[3] for it in found]


def check_listing(paths: Sequence[Path], mutants: Sequence[Mutant], run: Command | None = None) -> None:
    """See that `seekwarc ls` lists just the records that are there.

    Args:
        paths: Where the mutants are.
        mutants: What they should hold.
        run: Runs the command and returns its exit status and what it printed; here, unless given.
    """
    status, text = (run or _run_here)(["ls", "--json", *map(str, paths)])
    listed: dict[str, list[dict[str, object]]] = {}
    for line in map(json.loads, text.splitlines()):
        listed.setdefault(line["file"], []).append(line)
    for path, mutant in zip(paths, mutants, strict=True):
        found = listed.get(str(path), [])
        wanted = [(it.offset, len(it.block), it.frame_count) for it in mutant.records]
        assert [(it["offset"], it["size"], it["frames"]) for it in found] == wanted, f"{path}: {mutant.kind}"
        for line, record in zip(found, mutant.records, strict=True):
            assert record.data_end <= record.offset + line["length"] <= record.stop, path
    assert status == 0


Command = Callable[[list[str]], tuple[int, str]]


def _run_here(words: list[str]) -> tuple[int, str]:
    out = io.StringIO()
    with redirect_stdout(out):
        return command(words), out.getvalue()


def _check_catalogue(paths: Sequence[Path], mutants: Sequence[Mutant]) -> None:
    """See that what `seekwarc serve` makes of the files are just the records that are there."""
    with Library(paths) as library:
        library.read()
        rows = library.catalogue.page(Query(), 0, library.catalogue.rows).entries
        names = library.names
    problems = [state.problem for state in library.files]
    for name, path, mutant, problem in zip(names, paths, mutants, problems, strict=True):
        found = [row for row in rows if row.filename == name]
        wanted = [(it.offset, len(it.block)) for it in mutant.records]
        assert [(row.offset, row.size) for row in found] == wanted, f"{path}: {mutant.kind}"
        assert problem is None, f"{path}: {mutant.kind}"
        with seekwarc.open(mutant.data, cache_size=0) as archive:
            for row, record in zip(found, mutant.records, strict=True):
                assert record.data_end <= row.offset + (row.length or 0) <= record.stop, path
                # Records that were scanned are known: no range is displaced.
                begin, end = len(record.block) // 3, len(record.block) * 2 // 3
                served = archive.record_at(row.offset, row.length, table=row.table)
                assert _part(served, begin, end) in (record.block[begin:end], None), f"{path}: {mutant.kind}"


def _block(record: seekwarc.Record) -> bytes | None:
    try:
        return record.block.read()
    except SeekWarcError:
        return None


def _lengths(rng: random.Random, mutant: Mutant, record: Truth, length: int) -> Iterator[int | None]:
    """Yield lengths that an index may give: none, the right one, and the ends of other frames."""
    yield None
    yield length
    # One that ends with the first frame says that the record does too: that is believed.
    first_end = record.offset + record.frames[0][0]
    others = [end for end in mutant.ends if end > first_end]
    yield rng.choice(others or [first_end]) - record.offset


def _check_record(
    rng: random.Random, archive: seekwarc.Reader, record: Truth, length: int | None, tally: Tally
) -> None:
    """See that the record is read as it is, or not at all; and that parts of it are displaced only then."""
    size = len(record.block)
    ranges = []
    for _ in range(3):
        start = rng.randint(0, size)
        ranges.append((start, rng.randint(start, size)))
    parts: list[bytes | None] = [None] * len(ranges)
    whole = None
    try:
        found = archive.record_at(record.offset, length)
        assert found.header.raw == record.header
        parts = [_part(found, start, stop) for start, stop in ranges]
        whole = found.block.read()
    except SeekWarcError:
        pass
    assert whole in (None, record.block), "other bytes"
    for (start, stop), part in zip(ranges, parts, strict=True):
        tally.reads += 1
        right = part == record.block[start:stop]
        tally.right += right
        tally.raised += part is None
        if not right and part is not None:
            assert whole is None, "a range is displaced, and nothing shows it"
            tally.displaced += 1


def _part(record: seekwarc.Record, start: int, stop: int) -> bytes | None:
    try:
        return record.block.pread(start, stop - start)
    except SeekWarcError:
        return None


def main() -> int:
    """Check very many, and tell after every few thousand how it went so far."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    tally = Tally()
    failed: list[int] = []
    begin = time.monotonic()
    numbers = range(arguments.first, arguments.first + arguments.count)
    for done, some in enumerate(_batches(numbers), 1):
        one = Tally()
        try:
            check(some, one)
        except Exception:  # noqa: BLE001 - printed, and the others are checked all the same
            traceback.print_exc()
            failed += some
        tally.add(one)
        if done % 100 == 0 or some[-1] == numbers[-1]:
            print(f"{time.monotonic() - begin:.0f} s, failed {failed}: {tally}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
