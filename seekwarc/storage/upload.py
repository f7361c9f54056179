"""Objects that are made in S3, Google Cloud Storage and Azure: uploaded in parts, while they are written.

Goal: an object appears when it is complete, or never; memory for a few parts, whatever its size; and an
upload that fails or is given up leaves no parts in the store, where they would be paid for unseen.

Plan: `obstore.put` takes an iterator of parts and sends several at a time. If the iterator raises, or a part
cannot be sent, it aborts the upload, and the store drops the parts. It is called in a thread, whose iterator
takes parts from the bytes that are waiting. Only these bytes are shared, under one lock: what the thread has
not taken can still be cut off, and it takes nothing of a record that is not complete, unless that is large.
An object of a single part is put in one request. The store's answer is not believed: the object is asked
for afterwards, and is made if it is there and has the size, and the ETag, that it should have. So it is if
the answer was lost, after which a repeated request is answered by 404: it is then also made, unless it is the
one that was there before.

Worst case: the process is killed. Then no object appears, but the parts that were sent stay in the store
until a rule of the bucket removes them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from seekwarc.errors import SourceError, TargetError
from seekwarc.storage.remote_errors import failure_of
from seekwarc.storage.remote_url import check_forked, open_store, shown_url

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["StoredObject", "Upload"]

PART_SIZE: Final = 16 << 20
"""Size of each part but the last: some stores want all of them to have the same."""
MAX_PARTS: Final = 10_000
"""Maximum number of parts of an object in S3 and Google Cloud Storage."""
MAX_HELD: Final = 32 << 20
"""Bytes that are held back since they may be cut off, as those of a record that is not complete."""
AT_ONCE: Final = 3
"""Parts that are sent at the same time."""
ABORT_TIMEOUT: Final = 60.0
"""Seconds that an abort may take; the store may be what is failing."""
CANNOT_WRITE: Final = ("http", "https")

_T = TypeVar("_T")


class StoredObject:
    """An object, which may not exist yet; a URL that can have none is a `TargetError`."""

    def __init__(self, url: str) -> None:
        self.name = shown_url(url)
        if url.partition("://")[0].lower() in CANNOT_WRITE:
            raise TargetError(
                "a web server cannot be written to; name an object by s3://, gs:// or az://", source=self.name
            )
        try:
            check_forked(self.name)
            self._store, self._key = open_store(url, uploads=True)
        except SourceError as error:
            raise TargetError(error.message, source=self.name) from None
        if not self._key or self._key.endswith("/"):
            raise TargetError("the URL names no object: add a file name to it", source=self.name)

    def exists(self) -> bool:
        """Ask whether there is an object of that name."""
        return self._version() is not None

    def siblings(self) -> list[str]:
        """Return the base names of the objects that are in the same folder."""
        import obstore

        folder = self._key.rpartition("/")[0]
        found = self._asked(lambda: obstore.list_with_delimiter(self._store, folder or None))
        return [each["path"].rpartition("/")[2] for each in found["objects"]]

    def remove(self, version: str | None = None) -> None:
        """Remove the object, if it is of the given version."""
        import obstore

        if version in (None, self._version()):
            self._asked(lambda: obstore.delete(self._store, self._key))

    def _version(self) -> str | None:
        found = self._asked(lambda: _found(self._store, self._key))
        return found.version if found is not None else None

    def _asked(self, ask: Callable[[], _T]) -> _T:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - the errors of obstore have no common base class
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> TargetError:
        if isinstance(error, TargetError):
            return TargetError(error.message, source=self.name)
        # All but the key has been found to be right, so what is missing is the bucket.
        is_missing = isinstance(error, FileNotFoundError)
        why = "there is no such bucket (404)" if is_missing else failure_of(error).text
        return TargetError(f"cannot be written: {why}", source=self.name)


class Upload(StoredObject):
    """An object being written, which appears when `finish` returns; if dropped, or at exit, it is aborted."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._bytes = _Bytes()
        self._made: Future[str] = Future()
        self._abort = weakref.finalize(self, _abort, self._bytes, self._made, os.getpid())
        given = self._store, self._key, self._bytes, self._made
        # A daemon, which an interrupted program does not wait for.
        threading.Thread(target=_send, args=given, name="seekwarc-upload", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Append data; wait while what was written before is being sent."""
        if self._bytes.size + len(data) > MAX_PARTS * PART_SIZE:
            raise TargetError(
                f"an object can have {MAX_PARTS} parts of {PART_SIZE >> 20} MiB, and this one would have "
                "more; write several, with max_file_size (`--max-file-size`)",
                source=self.name,
            )
        if not self._bytes.add(data):
            self._check()

    def mark(self) -> None:
        """Say that what was written so far will not be cut off. Later data are held back for a while."""
        self._bytes.mark()

    def cut(self, size: int) -> bool:
        """Cut the object back to its first `size` bytes; return False if more of it is being sent."""
        return self._bytes.cut(size)

    @property
    def is_made(self) -> bool:
        """Whether the object is there: `finish` was called, and nothing failed."""
        return self._made.done() and self._made.exception() is None

    def finish(self) -> None:
        """Send the rest, and make the object. Idempotent."""
        self._bytes.end()
        self._check()

    def abort(self) -> None:
        """Send nothing more, and drop what was sent; remove the object if it was made."""
        self._abort()
        if self.is_made:
            self.remove(self._made.result())

    def _check(self) -> None:
        try:
            self._made.result()
        except Exception as error:  # noqa: BLE001 - see above
            raise self._failed(error) from None


class _Bytes:
    """The bytes that the caller has written and the thread has not taken.

    All changes are made under the lock, and each is one step: Ctrl-C, which may come while the caller waits,
    leaves nothing half done.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = bytearray()
        self._taken = 0
        self._mark = 0
        """How many bytes will not be cut off."""
        self._is_ended = False
        self._is_stopped = False

    @property
    def size(self) -> int:
        return self._taken + len(self._waiting)

    @property
    def are_all_taken(self) -> bool:
        return self._is_ended and not self._waiting

    def add(self, data: bytes) -> bool:
        """Add data when there is room; return False if it is no longer taken."""
        with self._changed:
            self._changed.wait_for(lambda: not self._has_part() or self._is_stopped)
            self._waiting += data
            self._changed.notify_all()
            return not self._is_stopped

    def mark(self) -> None:
        with self._changed:
            self._mark = self.size
            self._changed.notify_all()

    def _has_part(self) -> bool:
        """Tell whether a part can be taken. One that is only just full may be the last."""
        is_held = self.size - self._mark <= MAX_HELD
        return (self._mark if is_held else self.size) - self._taken > PART_SIZE

    def cut(self, size: int) -> bool:
        with self._changed:
            if size < self._taken:
                return False
            del self._waiting[size - self._taken :]
            return True

    def end(self) -> None:
        with self._changed:
            self._is_ended = True
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def parts(self) -> Iterator[bytes]:
        """Take parts when they are there; raise an error if the upload is to be aborted."""
        while not self.are_all_taken:
            with self._changed:
                self._changed.wait_for(lambda: self._has_part() or self._is_ended or self._is_stopped)
                if self._is_stopped:
                    raise _AbortedError("the upload was aborted")
                part = bytes(memoryview(self._waiting)[:PART_SIZE])
                del self._waiting[:PART_SIZE]
                self._taken += len(part)
                self._changed.notify_all()
            yield part


class _AbortedError(Exception):
    """Raised in the iterator of parts: `obstore.put` then aborts the upload."""


class _Found(NamedTuple):
    """An object that is there."""

    version: str
    size: int


def _found(store: ObjectStore, key: str) -> _Found | None:
    import obstore

    try:
        found = obstore.head(store, key)
    except FileNotFoundError:
        return None
    return _Found(found["e_tag"] or "unknown", found["size"])


def _is_same(version: str, found: _Found | None) -> bool:
    return found is not None and version.strip('"') == found.version.strip('"')


def _send(store: ObjectStore, key: str, given: _Bytes, made: Future[str]) -> None:
    try:
        made.set_result(_sent(store, key, given))
    except BaseException as error:  # noqa: BLE001 - raised where it is waited for
        made.set_exception(error)
        given.stop()


def _sent(store: ObjectStore, key: str, given: _Bytes) -> str:
    """Make the object, and return its version."""
    import obstore

    parts = given.parts()
    first = next(parts, b"")
    if given.are_all_taken:
        version = obstore.put(store, key, first, use_multipart=False)["e_tag"]
    else:
        before = _found(store, key)
        rest = chain([first], parts)
        try:
            version = obstore.put(store, key, rest, chunk_size=PART_SIZE, max_concurrency=AT_ONCE)["e_tag"]
        except Exception:
            # Perhaps only the answer is lost.
            found = _found(store, key) if given.are_all_taken else None
            if found is None or found == before or found.size != given.size:
                raise
            return found.version
    found = _found(store, key)
    # Elsewhere the ETags of an upload and of its object may be written in different ways.
    is_other = store.__class__.__name__ == "S3Store" and version and not _is_same(version, found)
    if found is None or found.size != given.size or is_other:
        there = "there is no such object" if found is None else "there is another object, or part of it"
        raise TargetError(f"cannot be written: the store says that it has made it, but {there}; try again")
    return found.version


def _abort(given: _Bytes, made: Future[str], process: int) -> None:
    # A forked process has a copy of the object, but the upload is its parent's.
    if os.getpid() == process:
        given.stop()
        wait([made], ABORT_TIMEOUT)
