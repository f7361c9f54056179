"""Objects on HTTP servers, S3, Google Cloud Storage and Azure, read by range through obstore.

obstore speaks the protocols and signs the requests. This module decides which answers are right. Every
answer must be the range that was asked for, and all answers must be of one version of the object. A request
that fails for the moment is retried from the first byte that is missing.

Many servers label a stored .warc.gz "Content-Encoding: gzip" because of its name. Ranges are of the file as
stored (RFC 9110, section 14.1.2), so the label is ignored if the name explains it and the answer has just the
bytes that it announces. An answer that was compressed on its way has another size.
"""

from __future__ import annotations

import random
import threading
import time
import zlib
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeGuard, cast

from seekwarc.compiling import Buffer, override
from seekwarc.errors import (
    RangeNotSupportedError,
    SourceChangedError,
    SourceError,
    SourceNotFoundError,
    SourceTimeoutError,
)
from seekwarc.storage.plan import REMOTE
from seekwarc.storage.remote_errors import Failure, failure_of
from seekwarc.storage.remote_url import check_forked, open_store, shown_url
from seekwarc.storage.source import RangeSource, closed_error, read_fully
from seekwarc.storage.tasks import REQUESTS

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult
    from obstore.store import ObjectStore

__all__ = ["RemoteSource"]

DEADLINE: Final = 120.0
"""Seconds for one range, retries included."""
ATTEMPTS: Final = 6
"""Requests in a row that may bring no byte of a range before the read fails."""
FIRST_WAIT: Final = 0.1
"""Seconds before the first retry; doubled each time."""
BUSY_WAIT: Final = 1.0
"""The same for a server that says it is busy. obstore does not pass on Retry-After."""
MAX_WAIT: Final = 20.0
MIN_PIECE: Final = 64 << 10
"""Bytes that are taken of an answer at a time; as many may have to be asked for again."""
NO_DATE: Final = datetime.fromtimestamp(0, UTC)
"""The date that obstore reports if a server sends no Last-Modified."""
UNSATISFIABLE: Final = 416
FINAL: Final = SourceChangedError, SourceNotFoundError
"""Failures that would also affect another range."""
LABELS: Final = {"gzip": "gz", "x-gzip": "gz", "zstd": "zst"}
"""Content codings that servers state of stored files because of a part of their name (`AddEncoding`)."""
GZIP_MAGIC: Final = b"\x1f\x8b"

_Span = tuple[int, int] | dict[Literal["suffix"], int]
"""[start, stop), or a number of bytes at the end."""
_Wanted = _Span | None
"""None to get only the server's description of the object."""


@dataclass(frozen=True, slots=True)
class _Version:
    """Identifies a version of an object.

    A strong ETag is enough by itself: the server promises that other bytes have another one. Without it,
    everything that the server says must stay the same: the weak ETag, the date, the size. An object that is
    replaced by one of the same size within the same second (the resolution of Last-Modified), under the same
    weak ETag or none, goes unnoticed here. Only checksums of frames and digests of records can catch that.
    """

    etag: str | None
    modified: datetime | None
    size: int

    @property
    def strong(self) -> bool:
        return self.etag is not None and not self.etag.startswith("W/")

    def differs(self, other: _Version) -> bool:
        if self.strong or other.strong:
            return (self.etag, self.size) != (other.etag, other.size)
        return self != other


class _Answer(NamedTuple):
    """The outcome of one or more requests for a range."""

    start: int
    stop: int
    """Where the range ends that the server announced; `start` if it announced none."""
    data: bytes
    """The bytes that came, perhaps not all of the range."""
    failure: Failure | None
    """Why the rest did not come."""


class RemoteSource(RangeSource):
    """One version of a remote object, read by range.

    No request is made until the first read. Its answer decides which version of the object is read; an answer
    of any other version raises `SourceChangedError`. A range that is incomplete after `deadline` seconds
    raises `SourceTimeoutError`. The URL may be signed: nothing after a `?` is ever shown, but a pickle
    contains it.
    """

    policy = REMOTE
    is_pipe = False
    _object: tuple[ObjectStore, str] | None = None
    _version: _Version | None = None

    def __init__(self, url: str, *, deadline: float = DEADLINE) -> None:
        self._set_up(url, deadline)
        self._object = open_store(url)

    def _set_up(self, url: str, deadline: float) -> None:
        self.name = shown_url(url)
        self._url = url
        self._signed = "?" in url
        self._deadline = deadline
        self._slots = threading.BoundedSemaphore(REMOTE.in_flight)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._under_way: set[Future[_Answer]] = set()

    def __getstate__(self) -> tuple[str, float, _Version | None]:
        # The whole URL, since a copy without its signature could not read.
        return self._url, self._deadline, self._version

    def __setstate__(self, state: tuple[str, float, _Version | None]) -> None:
        url, deadline, self._version = state
        self._set_up(url, deadline)

    @property
    @override
    def known_size(self) -> int | None:
        return self._version.size if self._version else None

    @property
    def size(self) -> int:  # type: ignore[override]  # found out by the first request
        """Size in bytes. Before the first read this makes a request, for the last byte."""
        if self._version is None:
            self.read_end(1)
        return self.known_size or 0

    @property
    @override
    def identity(self) -> str | None:
        version = self._version
        if version is None or (not version.strong and (version.modified is None or self._signed)):
            return None
        return f"{self.name} {self.version}"

    @property
    @override
    def version(self) -> str | None:
        version = self._version
        if version is None:
            return None
        told = version.etag if version.strong else f"{version.etag or ''} {version.modified}"
        return f"{told} {version.size}"

    @override
    def beside(self, suffix: str) -> RemoteSource | None:
        # A signature is good for one object only.
        return None if self._signed else RemoteSource(self._url + suffix, deadline=self._deadline)

    @override
    def read(self, start: int, stop: int) -> bytes:
        return read_fully(self._read, start, stop)

    @override
    def read_end(self, count: int) -> tuple[int, bytes]:
        if self._version is None:
            answer = self._insist({"suffix": count})
            if answer.failure is None:
                return answer.start, answer.data
            if answer.failure.transient or answer.failure.kind in FINAL:
                raise self._error(answer.failure, None)
            # Some servers, and all of Azure, know no ranges that count from the end. Any answer has the size.
            answer = self._insist((0, 1))
            if answer.failure is not None:
                if answer.failure.status == UNSATISFIABLE:
                    # An empty object has no first byte; any other has.
                    return self._end_of_empty()
                raise self._error(answer.failure, 0)
        start = max(self.size - count, 0)
        return start, self.read(start, self.size)

    def _end_of_empty(self) -> tuple[int, bytes]:
        answer = self._insist(None)
        if answer.failure is not None:
            raise self._error(answer.failure, None)
        if answer.stop:
            raise self._refused("it answers 416 Range Not Satisfiable to every range")
        return 0, b""

    def close(self) -> None:
        """See `RangeSource.close`. Reads in other threads end with an error at once."""
        with self._lock:
            self._closed.set()
            under_way = list(self._under_way)
        for answer in under_way:
            answer.cancel()

    def _read(self, start: int, stop: int) -> bytes:
        size = self.known_size
        stop = min(stop, start + REMOTE.max_request, stop if size is None else size)
        if start >= stop:
            return b""
        answer = self._insist((start, stop))
        if answer.failure is None:
            return answer.data
        if answer.failure.status == UNSATISFIABLE:
            # The range begins after the end. obstore does not pass on where the end is.
            if self.size <= start:
                return b""
            raise self._changed()
        raise self._error(answer.failure, start)

    def _insist(self, wanted: _Wanted) -> _Answer:
        """Request a range, and retry until all of it has come or it is clear that it will not.

        A long range over a poor line may take many connections, each of which brings a part. So a retry asks
        only for what is missing, and attempts are counted from the last byte that came: progress resets the
        count, and `ATTEMPTS` failures in a row end the read. Waits double each time, up to `MAX_WAIT`, with
        half of each at random so that clients that failed together do not come back together. Only failures
        that may pass are retried, and the deadline bounds all of it. Every part was checked to be of the
        same version, so parts of different answers fit together.
        """
        end = time.monotonic() + self._deadline
        pieces: list[bytes] = []
        begin = None
        attempts = 0
        while True:
            # Bytes that obstore still holds are lost if the connection breaks. Taking each as it comes costs
            # more than all else of a request, so only a line that broke before is read like that.
            answer = self._ask(wanted, 1 if attempts or pieces else MIN_PIECE)
            begin = answer.start if begin is None and answer.data else begin
            pieces.append(answer.data)
            failure = answer.failure
            if failure is None:
                start = answer.start if begin is None else begin
                return _Answer(start, answer.stop, b"".join(pieces), None)
            if answer.data:
                wanted = (answer.start + len(answer.data), answer.stop)
                attempts = 0
            attempts += 1
            longest = min((BUSY_WAIT if failure.busy else FIRST_WAIT) * 2**attempts, MAX_WAIT)
            wait = random.uniform(longest / 2, longest)  # noqa: S311 - nothing secret depends on it
            late = time.monotonic() + wait > end
            if not failure.transient or late or attempts >= ATTEMPTS:
                if late and failure.transient:
                    failure = failure._replace(kind=SourceTimeoutError)
                return _Answer(0, 0, b"", failure)
            if self._closed.wait(wait):
                raise closed_error(self.name)

    def _ask(self, wanted: _Wanted, min_piece: int) -> _Answer:
        """Make one request and check the answer; Ctrl-C and `close` end the wait for it."""
        check_forked(self.name)
        if REQUESTS.may_block:
            if self._closed.is_set():
                raise closed_error(self.name)
            with self._slots:
                return self._request(wanted, min_piece)
        answer: Future[_Answer] = Future()
        with self._lock:
            if self._closed.is_set():
                raise closed_error(self.name)
            self._under_way.add(answer)
        REQUESTS.run(partial(self._settle, answer, wanted, min_piece))
        try:
            return answer.result()
        except CancelledError:
            raise closed_error(self.name) from None
        finally:
            with self._lock:
                self._under_way.discard(answer)

    def _settle(self, answer: Future[_Answer], wanted: _Wanted, min_piece: int) -> None:
        # `close` may have cancelled it.
        with suppress(InvalidStateError):
            try:
                with self._slots:
                    answer.set_result(self._request(wanted, min_piece))
            except Exception as error:  # noqa: BLE001 - raised in the waiting thread
                answer.set_exception(error)

    def _request(self, wanted: _Wanted, min_piece: int) -> _Answer:
        import obstore

        options = cast("GetOptions", {"range": wanted} if wanted is not None else {})
        pinned = self._version
        if pinned is not None and pinned.strong:
            options["if_match"] = pinned.etag
        pieces: list[Buffer] = []
        size = start = stop = 0
        coding = None
        try:
            # A copy opens its store on the first read, with the credentials of the process that it is in.
            self._object = self._object or open_store(self._url)
            result = obstore.get(*self._object, options=options)
            if wanted is None:
                return self._description(result)
            start, stop = self._check(result, wanted)
            coding = result.attributes.get("Content-Encoding")
            for piece in result.stream(min_chunk_size=min_piece):
                pieces.append(piece)
                size += len(piece)
                if size > stop - start:
                    if _is_coded(coding):
                        raise self._compressed(coding)
                    raise self._refused(f"more bytes came than the {stop - start} that were announced")
        except SourceError:
            raise
        except Exception as error:  # noqa: BLE001 - the errors of obstore have no common base class
            return _Answer(start, stop, b"".join(pieces), failure_of(error))
        data = b"".join(pieces)
        short = size < stop - start
        if _is_coded(coding) and (short or (start == 0 and _is_compressed_twice(data))):
            raise self._compressed(coding)
        failure = Failure("the answer broke off", transient=True) if short else None
        return _Answer(start, stop, data, failure)

    def _description(self, result: GetResult) -> _Answer:
        """Return what an answer says of the whole object; pin its version if it is empty."""
        version = _version_of(result)
        with self._lock:
            if self._version is None and version.size == 0:
                self._version = version
        return _Answer(0, version.size, b"", None)

    def _check(self, result: GetResult, wanted: _Span) -> tuple[int, int]:
        """Return the range of an answer. Raises an error if range or version are not the expected ones."""
        version = _version_of(result)
        with self._lock:
            pinned = self._version
            if pinned is None:
                self._version = pinned = version
        if pinned.differs(version):
            raise self._changed()
        coding = result.attributes.get("Content-Encoding")
        if _is_coded(coding) and LABELS.get(coding.lower()) not in self.name.lower().split("/")[-1].split(
            "."
        ):
            raise self._compressed(coding)
        start, stop = result.range
        size = version.size
        if isinstance(wanted, dict):
            expected = max(size - wanted["suffix"], 0), size
        else:
            expected = wanted[0], min(wanted[1], size)
        if (start, stop) != expected:
            raise self._refused(
                f"bytes {start} to {stop} came, bytes {expected[0]} to {expected[1]} were asked for"
            )
        return start, stop

    def _changed(self) -> SourceChangedError:
        return SourceChangedError(
            "the object was replaced since it was opened; open it again", source=self.name
        )

    def _compressed(self, coding: str) -> RangeNotSupportedError:
        return self._refused(f"the answer is compressed ({coding!r}), so positions in it mean nothing")

    def _refused(self, why: str) -> RangeNotSupportedError:
        return RangeNotSupportedError(
            f"the server does not send the byte range it is asked for: {why}; "
            "download the file and open that",
            source=self.name,
        )

    def _error(self, failure: Failure, offset: int | None) -> SourceError:
        if failure.kind is SourceChangedError:
            return self._changed()
        if failure.kind is RangeNotSupportedError:
            return self._refused(failure.text)
        what = "its end cannot be read" if offset is None else "cannot be read"
        return failure.kind(f"{what}: {failure.text}", source=self.name, offset=offset)


def _is_coded(coding: str | None) -> TypeGuard[str]:
    return coding not in (None, "", "identity")


def _is_compressed_twice(data: bytes) -> bool:
    """Tell whether what a .gz file begins with was compressed again on its way."""
    try:
        return zlib.decompressobj(wbits=31).decompress(data, len(GZIP_MAGIC)) == GZIP_MAGIC
    except zlib.error:
        return False


def _version_of(result: GetResult) -> _Version:
    meta = result.meta
    modified = meta["last_modified"]
    return _Version(meta["e_tag"], None if modified == NO_DATE else modified, meta["size"])
