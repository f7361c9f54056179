"""Archives as WACZ files that are not stored, for players that read nothing else.

The only WARC file in it is the archive, decompressed: players read uncompressed records by offset and length.
So the bytes of a range are those of its records, decoded for the request. They have no checksums, which would
take decoding all of them: such a WACZ is for viewing, and `seekwarc wacz create` makes one to keep.
"""

from __future__ import annotations

import hashlib
import io
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from seekwarc.cdx.wacz_index import MAX_INDEX
from seekwarc.closing import Recent
from seekwarc.errors import FormatError, LimitError, NotFoundError, UnsupportedError
from seekwarc.format.cdxj import TABLE_FIELD, CdxjLine
from seekwarc.make.index_lines import LineOptions, Lines
from seekwarc.make.wacz_creating import Made, warc_name
from seekwarc.make.wacz_writing import WaczOutput
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.serve.headers import SAFE
from seekwarc.serve.library import Library
from seekwarc.serve.payload import THREADS, begin_found
from seekwarc.serve.ranges import conditions_in
from seekwarc.serve.representation import Representation
from seekwarc.serve.stream import Workers, send_answer, while_connected
from seekwarc.storage.source import RangeSource, SourceWrapper
from seekwarc.storage.zip_members import ARCHIVE
from seekwarc.system import temporary_folder
from seekwarc.write.opening import open_output

__all__ = ["VirtualWacz", "chain_route", "wacz_route"]

MAX_FILES: Final = 16
"""Archives whose lists of records are kept: 16 bytes for each record, and the lines of the index."""
MAX_RECORDS: Final = 8
FIRST_SECOND: Final = 315_532_800
LAST_SECOND: Final = 4_354_819_199
"""Of the years 1980 to 2107, which dates of a ZIP archive can have."""
HEADERS: Final = tuple(
    {
        **dict(SAFE),
        "cross-origin-resource-policy": "cross-origin",
        "content-type": "application/wacz",
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
    }.items()
)


class VirtualWacz:
    """The bytes of such a WACZ by range: see `representation.Readable`. Making it scans the archive."""

    holes = ()

    def __init__(self, source: RangeSource, name: str) -> None:
        self._bounds, self._offsets = array("Q", [0]), array("Q")
        self._records: Recent[int, Record] = Recent(MAX_RECORDS)
        made = Made()
        shares, newest = False, FIRST_SECOND

        def look_at(record: Record) -> None:
            nonlocal shares, newest
            shares = shares or record.skip > 0
            if record.date is not None:
                newest = max(newest, record.date.nanoseconds // 10**9)
            self._offsets.append(record.offset)
            self._bounds.append(self._bounds[-1] + record.size)
            made.look_at(record)

        self._reader = WholeReader(SourceWrapper(source), on_record=look_at)
        with ExitStack() as opened:
            folder = opened.enter_context(temporary_folder("seekwarc-"))
            made.open(folder, opened)
            stored = io.BytesIO()
            path = warc_name(name)
            # The lines are made first: they tell how long the member is, which comes before them.
            lines = list(self._lines(path))
            # Made again, it must have the same bytes: a player may have some of them.
            file = WaczOutput(open_output(stored), min(newest, LAST_SECOND))
            if shares or self._reader.is_arc:
                text = (
                    "records without frames or members of their own cannot be offered as a WACZ; convert it"
                )
                raise UnsupportedError(text, source=name)
            file.add_virtual(ARCHIVE + path, self._bounds[-1])
            self._head = stored.tell()
            made.finish(file, lines, folder)
            self.known_size = file.finish({"title": name})
        self._rest = stored.getvalue()
        told = f"{source.version} {name} ".encode("utf-8", "surrogateescape")
        self.etag = f'"{hashlib.sha256(told + self._rest).hexdigest()[:16]}"'

    def _lines(self, path: str) -> Iterator[bytes]:
        room = MAX_INDEX
        for line in Lines(self._reader, path, LineOptions(post_append=True), _leave_out):
            number = bisect_left(self._offsets, line.offset)
            begin, end = self._bounds[number : number + 2]
            fields = {name: text for name, text in line.fields.items() if name != TABLE_FIELD}
            fields |= {"offset": str(begin), "length": str(end - begin)}
            made = CdxjLine(line.key, line.timestamp, fields).build()
            room -= len(made)
            if room < 0:
                raise LimitError(f"the index would have more than {MAX_INDEX} bytes", source=path)
            yield made

    def look_ahead(self, position: int, seconds: float, /) -> bool:  # noqa: ARG002
        """Return True: the size is known."""
        return True

    def pread(self, start: int, length: int, /) -> bytes:
        """Return the bytes in [start, start + length), fewer only at the end."""
        stop, end = start + length, self._head + self._bounds[-1]
        pieces = [self._rest[start : min(stop, self._head)]]
        position = max(start, self._head)
        while position < min(stop, end):
            piece = self._of_record(position - self._head, min(stop, end) - position)
            pieces.append(piece)
            position += len(piece)
        if stop > end:
            skipped = end - self._head
            pieces.append(self._rest[max(start, end) - skipped : stop - skipped])
        return b"".join(pieces)

    def _of_record(self, position: int, length: int) -> bytes:
        number = bisect_right(self._bounds, position) - 1
        record = self._records.get(number)
        if record is None:
            record = self._records.put(number, self._reader.record_at(self._offsets[number]))
        begin, end = self._bounds[number : number + 2]
        data = record.whole.pread(position - begin, min(length, end - position))
        if not data:
            raise FormatError("the record is cut off", source=record.source, offset=record.offset)
        return data


def _leave_out(_: FormatError) -> None:
    """Leave a record that cannot be indexed out of the index."""


class _Endpoint:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._workers = Workers(THREADS)
        self._made: Recent[str, VirtualWacz] = Recent(MAX_FILES)
        self._lock = threading.Lock()

    def _find(self, name: str) -> Representation:
        with self._lock:
            found = self._made.get(name)
            if found is None:
                source = self._library.sources.get(name)
                if source is None:
                    raise NotFoundError(f"no file has the name {name[:200]!r}")
                found = self._made.put(name, VirtualWacz(source, name))
        return Representation(extent=found, etag=found.etag, modified=None, headers=HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path_params"]["name"]
        asked = conditions_in(scope["headers"])

        async def work() -> None:
            begun = await begin_found(lambda: self._find(name), asked, scope["method"], self._workers)
            await send_answer(begun, send, self._workers)

        await while_connected(receive, work)


def _told_apart(name: str, version: str) -> str:
    """Return a text by which a player tells files apart: it is in addresses, and compared with nothing."""
    return hashlib.sha256(f"{name} {version}".encode("utf-8", "surrogateescape")).hexdigest()


def wacz_route(library: Library) -> Route:
    """Return the route of the archives of a library as WACZ files: /NAME.wacz, for GET and HEAD."""
    return Route("/{name}.wacz", _Endpoint(library), methods=["GET", "HEAD"])


def chain_route(library: Library, folder: str) -> Route:
    """Return the route /chain.json: all those WACZ files as one, for players; `folder` has them.

    Source: the profile `multi-wacz-package`, which replayweb.page opens; `path` is relative to the list.
    """

    def listed(_: Request) -> JSONResponse:
        versions = {name: str(source.version) for name, source in library.sources.items()}
        resources = [
            {
                "name": f"{name}.wacz",
                "path": f"{folder}/{quote(name)}.wacz",
                "hash": _told_apart(name, version),
            }
            for name, version in versions.items()
        ]
        return JSONResponse({"profile": "multi-wacz-package", "resources": resources}, headers=dict(SAFE))

    return Route("/chain.json", listed)
