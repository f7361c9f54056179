"""One open record as it is served: what every request needs is found once and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from seekwarc.collection.segments import ResolvedRevisit
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record
from seekwarc.serve.cost import FrameMap, View
from seekwarc.serve.headers import Part, content_headers, entity_tag
from seekwarc.serve.representation import Representation
from seekwarc.storage.source import Stats

__all__ = ["ServedRecord"]


class ServedRecord:
    """A record that is served.

    Example:
        >>> from seekwarc.serve.served import ServedRecord
        >>> archive = seekwarc.open("crawl.warc.zst")
        >>> served = ServedRecord(next(archive.records(uri="*/film.mp4")))
        >>> film = served.representation("payload")
        >>> answer = film.answer({"range": "bytes=0-99"})
        >>> int(answer.status), len(film.read(answer.start, answer.stop - answer.start))
        (206, 100)
        >>> archive.close()
    """

    def __init__(self, record: Record, stats: Sequence[Stats] = (), *, problem: str | None = None) -> None:
        self.record = record
        self.problem = problem or _why_not(record)
        self._stats = stats
        self._labels: dict[tuple[Part, bool], _Label] = {}

    @cached_property
    def frames(self) -> FrameMap:
        """The frames of the record."""
        return FrameMap(self.record)

    @contextmanager
    def charge(self, view: View | None) -> Iterator[None]:
        """Charge a view, if there is one, with reads of this record; note in it the error that ends them."""
        if view is None:
            yield
            return
        try:
            with view.charge(()):
                frames = self.frames
            with view.charge(self._stats, frames):
                yield
        except SeekWarcError as error:
            view.problem = str(error)
            raise

    def extent(self, part: Part) -> Extent:
        """Return the record's payload or block.

        Raises:
            NotFoundError: The payload is in records that were not found.
        """
        if part == "payload" and self.problem is not None:
            raise NotFoundError(self.problem)
        return self.record.payload if part == "payload" else self.record.block

    def representation(
        self, part: Part, *, as_bytes: bool = False, view: View | None = None
    ) -> Representation:
        """Return the bytes and fields that a request is answered with. May read.

        Raises:
            FormatError: The record is damaged.
            SourceError: The stored bytes are unavailable.
        """
        with self.charge(view):
            label = self._label(part, as_bytes=as_bytes)

        def read(start: int, length: int) -> bytes:
            with self.charge(view):
                data = label.extent.pread(start, length)
            if view is not None:
                view.note_asked(len(data))
            return data

        def look_ahead(position: int, seconds: float) -> bool:
            if label.extent.known_size is not None:
                return True
            with self.charge(view):
                return label.extent.look_ahead(position, seconds)

        return Representation(
            known_size=lambda: label.extent.known_size,
            etag=label.etag,
            modified=label.modified,
            headers=label.headers,
            read=read,
            look_ahead=look_ahead,
        )

    def _label(self, part: Part, *, as_bytes: bool) -> _Label:
        label = self._labels.get((part, as_bytes))
        if label is None:
            label = self._labels[part, as_bytes] = _Label(
                self.extent(part),
                entity_tag(self.record, part),
                _modified(self.record),
                content_headers(self.record, part, as_bytes=as_bytes),
            )
        return label


def _why_not(record: Record) -> str | None:
    """Return why a record does not have its payload, or None if it has."""
    if record.type != "revisit" or isinstance(record, ResolvedRevisit):
        return None
    original = record.refers_to_id or record.refers_to_target_uri or record.target_uri
    return (
        f"{record.source}, offset {record.offset}: the payload of this revisit is in the record that it "
        f"refers to, {original}; open the revisit with `Collection.open_record` or `Capture.open`"
    )


@dataclass(frozen=True, slots=True)
class _Label:
    """The part of a representation that is the same for every request."""

    extent: Extent
    etag: str
    modified: int | None
    headers: Sequence[tuple[str, str]]


def _modified(record: Record) -> int | None:
    """Return when a record was captured, in seconds from 1970; None unless that is a date in the past."""
    date = record.date
    if date is None:
        return None
    now = int(datetime.now(UTC).timestamp())
    seconds = date.nanoseconds // 10**9
    return seconds if 0 <= seconds <= now else None
