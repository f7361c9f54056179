"""Arguments that name a record whose payload is used, and opening it, wherever its payload is.

The payload of a revisit is in another record, that of a segmented record in several, and that of a URI may be
assembled from parts; an index leads to files. All verbs that use one payload name it in the same ways.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final, cast

from seekwarc.cli.arguments import add_flag, add_value
from seekwarc.cli.options import (
    ALWAYS,
    add_index_limits,
    add_keep_going_argument,
    add_limit_arguments,
    add_no_index_argument,
    add_sidecar_argument,
    index_limits,
    limit_options,
    open_options,
)
from seekwarc.cli.printing import passed_over, say
from seekwarc.cli.records import RecordSearch, add_record_arguments, refuse_unused
from seekwarc.cli.targets import open_archive
from seekwarc.errors import HoleError, NotFoundError, SeekWarcError, SegmentError, SourceError
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.source import Stats

if TYPE_CHECKING:
    from datetime import datetime

    from seekwarc.cli.beside import IndexesBeside
    from seekwarc.read.options import OpenOptions
    from seekwarc.read.reader import Reader

__all__ = ["Found", "add_payload_arguments", "found_record"]

PIPE: Final = "a pipe cannot be searched for other records: store it in a file"
JOINED: Final = (
    "the payload of the whole resource, assembled from the parts that the files have (206 Partial Content)"
)


class Found:
    """The record that the arguments name."""

    def __init__(
        self, record: Record, status: int, stats: Sequence[Stats], *, is_logical: bool = False
    ) -> None:
        self.record = record
        self.status = status
        """Exit status: 1 if damage was passed over on the way to it."""
        self.stats = stats
        """What reading its files costs."""
        self.is_logical = is_logical
        """Whether its payload is in other records, or in several."""

    def cost(self) -> dict[str, int]:
        """Return what finding the record, and reading of it, have cost so far, as `--json` has it."""
        names = ("requests", "bytes_fetched", "bytes_decoded")
        return {name: sum(getattr(it, name) for it in self.stats) for name in names}

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Have errors say where the record is, not the name of its payload, and whether it is a part."""
        try:
            yield
        except SeekWarcError as error:
            if error.source == self.record.payload.name:
                error.source, error.offset = self.record.source, self.record.offset
                error.message += _part_hint(self.record)
            raise


def _part_hint(record: Record) -> str:
    """Return what to do about a record that has only a part of a resource; empty for all others."""
    from seekwarc.collection.parts import JoinedParts, claim_of

    claim = None
    with suppress(SeekWarcError):
        claim = claim_of(record) if not isinstance(record, JoinedParts) else None
    if claim is None or claim.is_whole:
        return ""
    start, stop = claim.held
    held = f"bytes {start} to {stop - 1} of {claim.total}"
    return f"; the record has only {held}: with FILE, --joined takes all parts"


def add_payload_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the ways to name a record, and the files that may hold its payload."""
    add_record_arguments(parser, required=True, file_required=False)
    parser.add_argument(
        "--with",
        dest="others",
        metavar="FILE",
        nargs="+",
        default=[],
        help="other files that may hold segments of the record, or the original of a revisit",
    )
    add_flag(parser, "--joined", JOINED)
    add_sidecar_argument(parser)
    add_keep_going_argument(parser, ALWAYS)
    add_no_index_argument(parser)
    group = parser.add_argument_group("by an index, instead of FILE")
    text = "sorted CDXJ file, index of a ZipNum cluster, or Parquet file, to look --uri up in"
    add_value(group, "--index", "INDEX", text)
    text = "date of the capture: 2026, 20261121 or 2026-11-21T09:30:00Z (default: the latest)"
    add_value(group, "--date", "DATE", text, _date)
    add_flag(group, "--closest", "the capture nearest to --date")
    text = "where the files that the index names are (default: in the folder of the index)"
    add_value(group, "--files", "DIR|URL", text)
    add_index_limits(group)
    add_limit_arguments(parser)


@contextmanager
def found_record(options: argparse.Namespace, *, part: str = "payload") -> Iterator[Found]:
    """Provide the record that the arguments name; for its payload, with that of the records that have it."""
    if options.file is None and options.index is None:
        raise SeekWarcError("name a FILE or an --index")
    refuse_unused(options)
    is_own = _use_own_index(options)
    if options.index is not None:
        with _by_index(options, is_own=is_own, resolve=part == "payload") as found:
            yield found
        return
    if others := [f"--{it}" for it in ("date", "closest", "files") if getattr(options, it)]:
        raise SeekWarcError(
            f"{' and '.join(others)}: only with an --index; dates of a FILE are --since and --until"
        )
    files = list(expand(options.file))
    if options.offset is not None and len(files) > 1:
        raise SeekWarcError(f"OFFSET names a record of one file, and {options.file} has {len(files)}")
    given = open_options(options, len(files) + len(options.others))
    search = RecordSearch(options)
    if options.joined and options.uri is not None and part == "payload":
        with _logical(None, files, search, options) as found:
            yield found
        return
    with _looked_through(files, given, search, options) as (archive, record, status):
        is_alone = record.type != "revisit" and record.segment_number is None and not options.joined
        if is_alone or part != "payload":
            yield Found(record, status, [archive.stats])
            return
        if archive.size is None:
            raise NotFoundError(PIPE, source=archive.name)
        with _logical(record, files, search, options) as found:
            yield found


@contextmanager
def _looked_through(
    files: list[str], given: OpenOptions, search: RecordSearch, options: argparse.Namespace
) -> Iterator[tuple[Reader, Record, int]]:
    """Provide the record that the arguments name, of all files the one that is meant, and the status.

    Files that cannot be read are passed over, and taken out of the list.
    """
    total = len(files)
    beside = _indexes_of(files, search, options)
    with ExitStack() as opened:
        kept: Reader | None = None
        # An index lists neither all that has the URI nor other spellings of it: what it lacks is looked for.
        for by_index, alike in ((True, False), (False, False), (False, True)):
            for name in [it for it in files if by_index or alike or it in search.indexed]:
                try:
                    archive = opened.enter_context(open_archive(name, **given))
                    index = beside.of(archive) if beside is not None and by_index else None
                    if search.look_in(archive, index, alike=alike):
                        kept = archive
                except SeekWarcError as error:
                    if total == 1:
                        raise
                    search.pass_over(error)
                    files.remove(name)
                    continue
                if archive is not kept:
                    archive.close()
                elif options.uri is None:
                    break
            if kept is not None or options.uri is None or "-" in files:
                break
        if len(files) < total:
            say(passed_over(total - len(files), total))
        record, status = search.found(options.file)
        yield cast("Reader", kept), record, status


def _indexes_of(files: list[str], search: RecordSearch, options: argparse.Namespace) -> IndexesBeside | None:
    if options.uri is None or options.no_index:
        return None
    from seekwarc.cli.beside import IndexesBeside

    return IndexesBeside(files, search.is_listed)


def _use_own_index(options: argparse.Namespace) -> bool:
    """Look a URI up in the index that a WACZ has; return whether it has one."""
    has_other = options.index is not None or options.joined or options.others
    if has_other or options.no_index or options.uri is None or options.file is None:
        return False
    from seekwarc.storage.zip_members import is_wacz

    if not is_wacz(options.file):
        return False
    options.index, options.file = options.file, None
    return True


@contextmanager
def _by_index(options: argparse.Namespace, *, is_own: bool, resolve: bool) -> Iterator[Found]:
    from seekwarc.cdx.index import Index

    if (
        options.uri is None
        or options.file is not None
        or options.others
        or options.sidecar is not None
        or options.joined
    ):
        raise SeekWarcError("--index needs --uri, and takes none of FILE, --with, --sidecar and --joined")
    if options.closest and options.date is None:
        raise SeekWarcError("--closest needs a --date")
    if options.date is not None and (options.since, options.until) != (None, None):
        raise SeekWarcError("name the capture by --date, or by --since and --until")
    limits = {**limit_options(options), **index_limits(options)}
    from seekwarc.collection.entry import is_listed
    from seekwarc.collection.likeness import Meant
    from seekwarc.format.dates import LATEST

    with Index(options.index, files=options.files, **limits) as index:
        since, until = (options.date or _digits(it) for it in (options.since, options.until))
        wanted = {"closest": options.date} if options.closest else {"since": since, "until": until}
        meant = Meant(options.uri)
        for capture in index.lookup(options.uri, **{"closest": LATEST, **wanted}):
            record = capture.open(resolve=False)
            if not is_listed(record):
                continue
            if (note := meant.note(capture.uri)) is not None:
                say(note)
            try:
                record = index.resolved(record) if resolve else record
            except (NotFoundError, SegmentError) as error:
                if not is_own:
                    raise
                say(f"{error}; the files are read for it")
                break
            yield Found(record, 0, [it.stats for it in index.readers()])
            return
        else:
            at = f" at {options.date}; --closest takes the nearest" if options.date is not None else ""
            raise NotFoundError(f"no capture of {options.uri}{at}", source=index.name)
        with _logical(record, [*expand(options.index)], RecordSearch(options), options) as found:
            yield found


def _date(text: str) -> str:
    from seekwarc.format.cdxj import date_digits

    return date_digits(text)


def _digits(date: datetime | None) -> str | None:
    from seekwarc.format.dates import DIGITS

    return f"{date:%Y%m%d%H%M%S}".rjust(DIGITS, "0") if date is not None else None


@contextmanager
def _logical(
    record: Record | None, files: Sequence[str], search: RecordSearch, options: argparse.Namespace
) -> Iterator[Found]:
    """Provide a record whose payload others hold: of a revisit, segments, or a URI captured in parts."""
    from seekwarc.collection.collection import Collection

    named = [*files, *options.others]
    total, given = len(named), open_options(options, len(named))
    uri = options.uri if record is None else None
    with ExitStack() as opened:
        while True:
            try:
                passing = search.pass_over if total > 1 else None
                collection = opened.enter_context(Collection(named, on_error=passing or "raise", **given))
                logical = collection.open_record(record, uri=uri, joined=options.joined)
                break
            except HoleError:
                raise
            except (NotFoundError, SegmentError) as error:
                hint = (
                    "name the other files with --with, or print what is here with `seekwarc cat --part block`"
                )
                raise NotFoundError(f"{error}; {hint}") from None
            except SourceError as error:
                if error.source not in named or len(named) == 1:
                    raise
                search.pass_over(error)
                named.remove(error.source)
        if len(named) < total:
            say(passed_over(total - len(named), total))
        stats = [it.stats for it in collection.files]
        yield Found(logical, search.status, stats, is_logical=True)
