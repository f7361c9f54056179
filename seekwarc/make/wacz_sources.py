"""The WARC files of a WACZ that is made: copied, converted, or written again without what is damaged.

Players follow a line of the index to one record, so each record needs a member of its own, and all that is in
a WACZ can be read. So a file whose members are shared, or that has damaged records, is written again, without
the latter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain
from typing import Final, NamedTuple

from seekwarc.cdx.wacz import pieces_of
from seekwarc.collection.entry import OnDamage, is_listed
from seekwarc.errors import FormatError, FormatWarning, LimitError, SeekWarcError, UnsupportedError
from seekwarc.format.arc import ArcHeader
from seekwarc.frames.pieces import Compression
from seekwarc.jobs.problems import OncePerPlace
from seekwarc.jobs.work import Reading
from seekwarc.make.arc import warc_record
from seekwarc.make.converting import convert
from seekwarc.make.index_lines import timestamp_in_index
from seekwarc.read.digests import DigestVerdict
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.read.resync import has_wrong_length, is_shared
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.write.files import remove
from seekwarc.write.writer import Writer

__all__ = ["Looked", "copied", "look_through"]

STEP: Final = 1 << 20


class Looked(NamedTuple):
    """What is known of a file."""

    given: str
    """Its name."""
    local: str
    """Its path, or that of a copy of a remote one."""
    damaged: frozenset[tuple[int, int]]
    """Offsets of the records to leave out, each with its place in its member."""
    is_sound: bool
    """Whether nothing is to be left out, and each record has a member or frame of its own."""
    records: int
    """Records that are not left out."""


def look_through(given: str, copy: str, on_damage: OnDamage, reading: Reading) -> Looked:
    """Read a file to its end, and say what is damaged; a remote one is copied to a path first.

    Raises:
        FormatError: It is not an archive.
        SourceError: It cannot be read.
    """
    found: list[FormatError] = []
    damaged: set[tuple[int, int]] = set()
    shares, count = False, 0
    note = OncePerPlace(found.append)
    source = open_source(given)
    if source.is_pipe:
        source.close()
        raise UnsupportedError("a pipe cannot be read twice; store it in a file first", source=source.name)
    local = given
    if source.policy.is_far:
        local = copy
        with closing(source), open(copy, "wb") as file:
            file.writelines(pieces_of(reading.on_progress(source, "fetching")))
        source = open_source(copy)
    with (
        _named(given, local),
        warnings.catch_warnings(),
        WholeReader(reading.on_progress(source, "checking"), **reading.limits) as archive,
    ):
        # What is cut off is reported as damage.
        warnings.simplefilter("ignore", FormatWarning)
        before: Record | None = None
        for record in chain(archive.past_damage(note), (None,)):
            # Where the next record begins shows whether a length was right.
            for one, problem in ((before, _wrong_length(before)), (record, _problem_of(record))):
                if one is not None and problem is not None and (one.offset, one.skip) not in damaged:
                    damaged.add((one.offset, one.skip))
                    note(problem.located(one.source, one.offset))
            before = record
            if record is not None:
                count += 1
                shares = shares or is_shared(record)
        if not count and found:
            raise found[0]
    for problem in found:
        problem.source = given if problem.source == local else problem.source
        on_damage(problem)
    return Looked(given, local, frozenset(damaged), not (found or shares), count - len(damaged))


@contextmanager
def _named(given: str, *copies: str) -> Iterator[None]:
    """Let errors name a file, not copies of it."""
    try:
        yield
    except SeekWarcError as error:
        error.source = given if error.source in copies else error.source
        raise


def _wrong_length(record: Record | None) -> FormatError | None:
    problem = record.problem if record is not None else None
    return FormatError(problem) if problem is not None and has_wrong_length(problem) else None


def _problem_of(record: Record | None) -> FormatError | None:
    """Read a record to its end; return why it must not be in a WACZ, or None."""
    if record is None:
        return None
    header = record.header
    if isinstance(header, ArcHeader) and header.wrong_field == "Archive-length":
        return FormatError(header.problem or "its length is not known")
    try:
        if len(set(record.header.get_all("Content-Length"))) > 1:
            return FormatError("Content-Length is repeated, with several values")
        if is_listed(record):
            timestamp_in_index(record)
        checks = record.check_digests()
        with record.block.open() as block:
            while not checks and block.read(STEP):
                pass
    except LimitError:
        raise
    except FormatError as error:
        return error
    if record.is_cut_off:
        return FormatError(record.problem or "the record is cut off")
    wrong = next((it for it in checks if it.verdict is DigestVerdict.INVALID), None)
    return (
        FormatError(f"{wrong.field} {wrong.stated} is not that of the bytes") if wrong is not None else None
    )


def _write_sound(looked: Looked, out: Writer, reading: Reading) -> None:
    source = reading.on_progress(open_source(looked.local), "converting")
    with warnings.catch_warnings(), WholeReader(source, **reading.limits) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        for record in archive.past_damage(lambda _: None):
            if (record.offset, record.skip) in looked.damaged:
                continue
            if archive.is_arc:
                header, block = warc_record(record)
                with block:
                    out.write_raw(header, block)
            else:
                with record.block.open() as file:
                    out.write_raw(record.header, file)


@contextmanager
def copied(looked: Looked, copy: str, compression: Compression, reading: Reading) -> Iterator[RangeSource]:
    """Provide a file in the wanted compression, made as a temporary file if need be."""
    made = looked.local
    try:
        with _named(looked.given, looked.local, copy):
            with WholeReader(looked.local, **reading.limits) as archive:
                is_same = archive.compression == compression and not archive.is_arc
            if not looked.is_sound:
                made = copy
                with Writer(copy, compression=compression) as out:
                    _write_sound(looked, out, reading)
            elif not is_same:
                made = copy
                convert(
                    looked.local,
                    copy,
                    compression,
                    verify=False,
                    on_progress=reading.on_progress,
                    processes=reading.processes,
                    limits=reading.limits,
                )
            with closing(reading.on_progress(open_source(made), "packing")) as stored:
                yield stored
    finally:
        for path in {made, looked.local} - {looked.given}:
            remove(path)
