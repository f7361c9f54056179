"""Lets pywb replay .warc.zst, and answer ranges of large records without reading everything before them.

pywb decompresses only gzip, and reaches a range by reading everything before it. Run

    python -m seekwarc.serve.pywb --port 8080

in place of `wayback`, with the same options and configuration; or, if a WSGI server runs pywb,

    from pywb.apps.wayback import application
    from seekwarc.serve.pywb import equip
    equip(application)

pywb still looks up captures, checks access, resolves revisits, rewrites pages and chooses headers:

    request -> its rewriter -> its index and access rules -> its resolver -> here: a record is opened
    answer  <- its rewriter <- its resource loader <- here: head and body become those of the range

Files whose names do not end in .zst are left to pywb. Needs pywb and no extra of seekwarc.
"""

from __future__ import annotations

import hmac
import io
import os
import secrets
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from seekwarc.errors import SeekWarcError
from seekwarc.format.http import parse_http_head
from seekwarc.read.extent import Extent
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.serve.headers import OCTETS
from seekwarc.serve.ranges import Answer, decide

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["RecordFile", "RecordLoader", "Records", "equip", "main"]

MAX_READERS: Final = 8
"""Files that are kept open, so that their dictionaries need not be loaded again."""
MAX_RECORDS: Final = 32
"""Records that are kept open, so that their seek tables and chunks need not be found again."""
CACHE_SIZE: Final = 8 << 20
"""Size of the frame cache of each file; no frame that seekwarc writes is larger."""
STEP: Final = 256 << 10
"""Bytes that are read at a time. pywb takes 16 KiB of them at a time."""

RANGE_FIELD: Final = "X-Seekwarc-Range"
"""Carries a client's Range from pywb's rewriter to its resource loader, by HTTP, as a `Mark`."""
RANGE_VARIABLE: Final = "HTTP_X_SEEKWARC_RANGE"
DONE_FIELD: Final = "Seekwarc-Range"
"""Carries back, in the record header, the status with which a range was answered, as a `Mark`."""
KEPT: Final = frozenset({"content-type", "content-language", "content-disposition"})
"""Fields of an archived head that a part of its body is sent with."""


class Mark:
    """Marks fields as our own by a secret, which neither clients nor archived records know."""

    def __init__(self) -> None:
        self._secret = secrets.token_hex(16)

    def write(self, text: str) -> str:
        """Return the value for a field that carries `text`."""
        return f"{self._secret} {text}"

    def read(self, value: str | None) -> str | None:
        """Return the text that a field carries; None if the field is not ours."""
        secret, _, text = (value or "").partition(" ")
        known = self._secret.encode()
        return text if hmac.compare_digest(secret.encode("utf-8", "surrogatepass"), known) else None


class Records:
    """Opens records of .warc.zst files, from any thread. A local file that was replaced is opened again."""

    def __init__(self) -> None:
        self._reader = lru_cache(MAX_READERS)(self._open_file)
        self._record = lru_cache(MAX_RECORDS)(self._open_record)

    def open(self, path: str, offset: int, length: int | None) -> Record:
        """Return the record at an offset, as `Reader.record_at`."""
        return self._record(path, _version_of(path), offset, length)

    def _open_record(self, path: str, version: object, offset: int, length: int | None) -> Record:
        return self._reader(path, version).record_at(offset, length)

    def _open_file(self, path: str, _version: object) -> Reader:
        # The requests of pywb are greenlets in one thread.
        return Reader(path, threads=1, cache_size=CACHE_SIZE)


def _version_of(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class _Section(io.RawIOBase):
    """Bytes [start, stop) of an extent. A read stops at `pause`, so that it does not pay for what follows."""

    def __init__(self, extent: Extent, start: int, stop: int, *, pause: int = 0) -> None:
        super().__init__()
        self._extent = extent
        self._position = start
        self._stop = stop
        self._pause = pause

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        stop = self._pause if self._position < self._pause else self._stop
        with memoryview(buffer).cast("B") as view, view[: stop - self._position] as target:
            count = self._extent.pread_into(self._position, target)
        self._position += count
        return count


class RecordFile(io.BufferedReader):
    """A whole record, decompressed, as a file without seeking."""

    def __init__(self, record: Record) -> None:
        head = len(record.header.raw) + (record.http.size if record.http is not None else 0)
        super().__init__(_Section(record.whole, 0, record.size, pause=head), STEP)
        self.record = record


class RecordLoader:
    """Loads records for pywb: those of .warc.zst through seekwarc, all others as before."""

    def __init__(self, plain: Any, records: Records) -> None:  # noqa: ANN401
        self._plain = plain
        self._records = records

    def load(
        self, url: str, offset: str | int, length: str | int, *, no_record_parse: bool = False
    ) -> object:
        """Return the record at an offset, as pywb's own loader does, and ignore a malformed length."""
        if not url.partition("?")[0].endswith(".zst"):
            return self._plain.load(url, offset, length, no_record_parse=no_record_parse)
        known = int(length) if str(length).isdecimal() else None
        record = self._records.open(url, int(offset), known or None)
        return self._plain.parse_record_stream(RecordFile(record), no_record_parse=no_record_parse)


Resource = tuple[Any, bytes | None, Any]
"""pywb's record header and HTTP head, and the stream of the body after it."""
LoadResource = Callable[[Any, MutableMapping[str, Any]], Resource | None]


def _with_ranges(load_resource: LoadResource, mark: Mark) -> LoadResource:

    def load(cdx: Any, params: MutableMapping[str, Any]) -> Resource | None:  # noqa: ANN401
        resource = load_resource(cdx, params)
        if resource is None:
            return None
        # An archived field of this name would come before ours.
        while resource[0].remove_header(DONE_FIELD):
            pass
        # pywb's parser wraps the file in a reader with a limit.
        file = getattr(resource[2], "stream", None)
        if not isinstance(file, RecordFile):
            return resource
        request = params["_input_req"]
        wanted = mark.read(request.env.get(RANGE_VARIABLE))
        if wanted is None or request.get_req_method() not in ("GET", "HEAD") or not _is_ok(resource[1]):
            return resource
        # A part must not be recorded as if it were the whole record.
        params["recorder_skip"] = "1"
        asked = {name.lower(): value for name, value in request.get_req_headers().items()}
        return _answer(resource, file.record, {**asked, "range": wanted}, mark)

    return load


def _is_ok(head: bytes | None) -> bool:
    # A record without an HTTP head has a whole body too.
    parsed = parse_http_head(head, whole=True) if head is not None else None
    return head is None or (parsed is not None and parsed.status == HTTPStatus.OK)


def _answer(resource: Resource, record: Record, asked: Mapping[str, str], mark: Mark) -> Resource:
    fields, head, body = resource
    payload = record.payload
    if _has_ranges(record):
        # pywb sends no validators to clients, so one that a client names is not of this body.
        conditions = {name: value for name, value in asked.items() if name in ("range", "if-range")}
        answer = decide(conditions, size=payload.size, etag="")
    else:
        answer = Answer(HTTPStatus.OK)
    fields.replace_header(DONE_FIELD, mark.write(str(answer.status.value)))
    if answer.status is HTTPStatus.OK or answer.stop is None:
        return resource
    body.close()
    head = _head_of_part(record, head, answer.status, answer.start, answer.stop)
    # pywb parses HTTP heads only in responses.
    fields.replace_header("WARC-Type", "response")
    fields.replace_header("Content-Length", str(len(head) + answer.stop - answer.start))
    return fields, head, io.BufferedReader(_Section(payload, answer.start, answer.stop), STEP)


def _has_ranges(record: Record) -> bool:
    # Not if pywb may have to decode a content coding, which takes the whole body; if the end of the HTTP head
    # was not found; or if the record is a segment, since pywb does not join segments.
    headless = record.type == "response" and record.http is None
    return not (record.payload.codings or headless or record.segment_number is not None)


def _head_of_part(record: Record, head: bytes | None, status: HTTPStatus, start: int, stop: int) -> bytes:
    size = record.payload.size
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", "Accept-Ranges: bytes"]
    if start < stop:
        whole = parse_http_head(head, whole=True) if head is not None else None
        stored = whole.headers if whole is not None else (("Content-Type", record.content_type or OCTETS),)
        lines += [f"{name}: {value}" for name, value in stored if name.lower() in KEPT]
        lines.append(f"Content-Range: bytes {start}-{stop - 1}/{size}")
    else:
        lines.append(f"Content-Range: bytes */{size}")
    lines += [f"Content-Length: {stop - start}", "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def _carry_ranges(rewriter: Any, mark: Mark) -> None:  # noqa: ANN401
    """Make pywb's rewriter pass ranges on to the resource loader, and leave the loader's answers unchanged.

    By itself it removes `bytes=0-`, and cuts bodies that were sent whole because a range has to be ignored.
    """
    check_range, add_range = rewriter._check_range, rewriter._add_range  # noqa: SLF001

    def check(request: Any, url: Any) -> object:  # noqa: ANN401
        wanted = request.env.get("HTTP_RANGE")
        if wanted:
            request.warcserver_headers[RANGE_FIELD] = mark.write(wanted)
        return check_range(request, url)

    def add(record: Any, url: Any, start: int | None, end: int | None) -> object:  # noqa: ANN401
        done = mark.read(record.rec_headers.get_header(DONE_FIELD))
        record.rec_headers.remove_header(DONE_FIELD)
        if done is None:
            return add_range(record, url, start, end)
        # A true value makes pywb send the body unchanged, without rewriting.
        return done != str(HTTPStatus.OK.value)

    rewriter._check_range, rewriter._add_range = check, add  # noqa: SLF001


def equip(application: Any) -> None:  # noqa: ANN401
    """Make a pywb application replay .warc.zst, with exact ranges. Call it once for each application.

    Raises:
        SeekWarcError: This version of pywb is not supported.
    """
    records, mark = Records(), Mark()
    try:
        server = application.warcserver
        for loader in _path_loaders([*server.fixed_routes.values(), server.auto_handler]):
            resolver = loader.resolve_loader
            resolver.record_loader = RecordLoader(resolver.record_loader, records)
            loader.load_resource = _with_ranges(loader.load_resource, mark)
        _carry_ranges(application.rewriterapp, mark)
    except AttributeError as error:
        raise SeekWarcError(f"this version of pywb is not supported: {error}; install pywb 2.10") from error


def _path_loaders(handlers: Sequence[Any]) -> set[Any]:
    """Return the loaders of stored records in pywb's request handlers, which may share them."""
    found = set()
    for handler in handlers:
        if hasattr(handler, "handlers"):
            found |= _path_loaders(handler.handlers)
        elif handler is not None:
            found |= {loader for loader in handler.resource_loaders if hasattr(loader, "resolve_loader")}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run pywb's command `wayback`, with an application that replays .warc.zst."""
    try:
        command_line = import_module("pywb.apps.cli")
    except ImportError as error:
        raise SystemExit(f"seekwarc: pywb cannot be imported: {error}; run pip install pywb") from error
    command = command_line.WaybackCli(args=arguments, default_port=8080, desc="pywb that replays .warc.zst")
    equip(command.application)
    command.run()


if __name__ == "__main__":
    main()
