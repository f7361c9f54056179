"""Arguments that name a record of a file, and finding it."""

from __future__ import annotations

import argparse
import os
from functools import cached_property
from typing import TYPE_CHECKING, Final

from seekwarc.cli.arguments import add_value, number
from seekwarc.cli.printing import say
from seekwarc.cli.selecting import add_date_arguments
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError
from seekwarc.format.header_fields import whole_number
from seekwarc.format.values import without_brackets
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from seekwarc.cdx.beside import IndexBeside
    from seekwarc.cdx.index import Capture
    from seekwarc.cli.advice import RequestAdvice
    from seekwarc.collection.likeness import Meant

__all__ = [
    "NO_CAPTURE",
    "RecordSearch",
    "add_record_arguments",
    "refuse_unused",
    "split_offset",
    "wanted_record",
]

MAX_NEAR: Final = 3
"""Similar URIs that are named when one is not found."""
NO_CAPTURE: Final = "no response, resource or revisit has the URI"
OFFSET: Final = number("number of bytes", 0)


def _offset(text: str) -> int:
    try:
        return OFFSET(text)
    except ValueError as error:
        hint = "; OFFSET goes after FILE" if os.path.exists(text) else ""
        raise ValueError(f"{error}{hint}") from None


def add_record_arguments(
    parser: argparse.ArgumentParser, *, required: bool, file_required: bool = True, several: bool = False
) -> None:
    """Add the ways to name a record. With `several`, see `split_offset` for the last of `files`."""
    which = parser.add_mutually_exclusive_group(required=required)
    if several:
        text = ".warc.zst, .warc.gz or .warc; after a single file, the offset of a record as in `ls` and CDX"
        parser.add_argument("files", metavar="FILE [OFFSET]", nargs="+", help=text)
        parser.set_defaults(offset=None)
    else:
        parser.add_argument(
            "file", metavar="FILE", nargs=None if file_required else "?", help=".warc.zst, .warc.gz or .warc"
        )
        text = "offset in the file, as in `ls` and CDX"
        add_value(which, "offset", "OFFSET", text, _offset, nargs="?")
    add_value(which, "--uri", "URI", "the latest capture of this target URI")
    add_value(which, "--id", "ID", "the record with this WARC-Record-ID")
    text = "stored length, if an index states it: saves reading the end of the file"
    add_value(parser, "--length", "N", text, OFFSET)
    add_date_arguments(parser, of="with --uri: " if not several else "")


def split_offset(options: argparse.Namespace) -> None:
    """Take the offset after the name of a single file out of the list of files."""
    if len(options.files) == 2 and (offset := whole_number(options.files[1])) is not None:
        options.offset = offset
        del options.files[1]
    named = [it for it in (options.offset, options.uri, options.id) if it is not None]
    if len(named) > 1:
        raise SeekWarcError("name the record in one way: OFFSET, --uri or --id")
    if named and len(options.files) > 1:
        raise SeekWarcError("OFFSET, --uri and --id name a record of one file: give only that file")


def refuse_unused(options: argparse.Namespace) -> None:
    """Refuse options that say nothing of a record that is named in this way."""
    if options.uri is None and (options.since, options.until) != (None, None):
        raise SeekWarcError("--since and --until choose a capture: name its --uri")
    if options.offset is None and options.length is not None:
        raise SeekWarcError("--length is that of the record at OFFSET")


def wanted_record(archive: Reader, options: argparse.Namespace) -> tuple[Record, int]:
    """Return the record that the arguments ask for, and the exit status: 1 if damage was passed over."""
    refuse_unused(options)
    search = RecordSearch(options)
    if not search.look_in(archive) and options.uri is not None and archive.size is not None:
        search.look_in(archive, alike=True)
    return search.found(archive.name)


class RecordSearch:
    """Looks for the record that the arguments ask for, in one file after the other.

    A URI has many captures: the latest is taken, as from an index. A pipe can be read once, so there it is
    the first. Only if no file has a capture of exactly this URI are others that count as the same looked at.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._found: Record | None = None
        self._rank: tuple[int, int] | None = None
        self._near: list[str] = []
        self.status = 0
        self.indexed: set[str] = set()
        """Files of which only what their indexes list was looked at."""

    @cached_property
    def _meant(self) -> Meant:
        from seekwarc.collection.likeness import Meant

        return Meant(self._options.uri)

    @cached_property
    def _key(self) -> str:
        from seekwarc.format.surt import surt

        return surt(self._options.uri)

    @cached_property
    def _advice(self) -> RequestAdvice:
        from seekwarc.cli.advice import RequestAdvice

        return RequestAdvice()

    def is_listed(self, line: Capture) -> bool:
        """Return whether a line of an index may be of the URI; its key or its URI may be damaged."""
        return line.key == self._key or self._meant.is_same(line.uri)

    def look_in(self, archive: Reader, index: IndexBeside | None = None, *, alike: bool = False) -> bool:
        """Look through a file; return whether it has the record, or a better one than those before.

        With an `index` of what `is_listed`, only that is looked at, unless the index is wrong.
        """
        before, options = self._found, self._options
        if options.offset is not None:
            self._found = archive.record_at(options.offset, options.length)
        elif options.id is not None:
            wanted = without_brackets(options.id)
            records = archive.past_damage(self.pass_over)
            self._found = next((it for it in records if it.id == wanted), None)
        elif options.uri is not None:
            if index is not None and self._look_by(index, archive):
                return self._found is not before
            records = archive.past_damage(self.pass_over if not alike else _pass_over)
            self._choose(archive, self._advice.watch(archive, records), alike=alike)
        else:
            raise NotFoundError("name the record: OFFSET, --uri or --id")
        return self._found is not before

    def _look_by(self, index: IndexBeside, archive: Reader) -> bool:
        """Look at what an index lists of a file; return False if the index is wrong."""
        try:
            self._choose(archive, [*index.in_order(archive)])
        except FormatError as error:
            say(f"{error}; the file is read instead")
            return False
        self.indexed.add(archive.name)
        return True

    def _choose(self, archive: Reader, records: Iterable[Record], *, alike: bool = False) -> None:
        from seekwarc.collection.entry import is_listed
        from seekwarc.read.selection import Selection

        selection = Selection.of(since=self._options.since, until=self._options.until)
        for record in records:
            uri = record.target_uri
            if uri is None or not is_listed(record):
                continue
            if not alike and not self._meant.is_same(uri):
                if len(self._near) < MAX_NEAR and self._meant.uri.lower() in uri.lower():
                    self._near += [uri] if uri not in self._near else []
                continue
            likeness = self._meant(uri)
            if likeness is None or not selection.matches(record):
                continue
            rank = -likeness, record.date.nanoseconds if record.date is not None else 0
            # Of the same instant, that which is stored last: see `collection.entry.by_nearness`.
            if self._rank is None or rank >= self._rank:
                self._found, self._rank = record, rank
                if archive.size is None:
                    return

    def pass_over(self, damage: SeekWarcError) -> None:
        """Say what is damaged, and go on."""
        self.status = 1
        say(str(damage))

    def found(self, source: str) -> tuple[Record, int]:
        """Return what was found, and the exit status; `source` names what was looked through.

        Raises:
            NotFoundError: Nothing was found.
        """
        if self._found is not None:
            note = self._meant.note(self._found.target_uri) if self._rank is not None else None
            if note is not None:
                say(note)
            if self._options.offset is None:
                self._found.body.leave()
            return self._found, self.status
        if self._options.id is not None:
            wanted, what = without_brackets(self._options.id), "no record has the ID"
            raise NotFoundError(f"{what} {wanted}; `seekwarc ls --json` lists the IDs", source=source)
        hint = (
            f"did you mean {' or '.join(self._near)}?" if self._near else "`seekwarc ls` lists what it holds"
        )
        raise NotFoundError(f"{NO_CAPTURE} {self._meant.uri}; {hint}", source=source)


def _pass_over(_: FormatError) -> None:
    """Damage was named when the file was first looked through."""
