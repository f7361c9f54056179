"""One open record as it is served: what of it is asked for again and again, found once."""

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
from seekwarc.serve.policy import Part, content_headers, entity_tag
from seekwarc.serve.representation import Representation
from seekwarc.serve.views import FrameMap, View
from seekwarc.storage.source import Stats

__all__ = ["ServedRecord"]


class ServedRecord:
    """A record that is served.

        app = payload_app(lambda record_id, view: ServedRecord(archive.record_at(int(record_id))))

    Args:
        record: The record.
        stats: Counters of the files that it is read from, for views of records in no frames.
        problem: Why its payload cannot be had, such as segments that are missing.
    """

    def __init__(self, record: Record, stats: Sequence[Stats] = (), *, problem: str | None = None) -> None:
        self.record = record
        self.problem = problem or _why_not(record)
        self._stats = stats
        self._labels: dict[tuple[Part, bool], _Label] = {}

    @cached_property
    def frames(self) -> FrameMap:
        """Its frames."""
        return FrameMap(self.record)

    @contextmanager
    def charge(self, view: View | None) -> Iterator[None]:
        """Charge a view, if there is one, with what is read of this record, and tell it what goes wrong."""
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
        """Return its payload or its block.

        Raises:
            NotFoundError: The payload is in records that cannot be found.
        """
        if part == "payload" and self.problem is not None:
            raise NotFoundError(self.problem)
        return self.record.payload if part == "payload" else self.record.block

    def representation(
        self, part: Part, *, as_bytes: bool = False, view: View | None = None
    ) -> Representation:
        """Return what a request for a part of it is answered from. May read.

        Args:
            part: What of it is sent.
            as_bytes: See `content_headers`.
            view: Is charged with what is read.

        Raises:
            FormatError: It is damaged.
            SourceError: The stored bytes cannot be had.
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
    """Say why a record's payload is not in it, None where it is."""
    if record.type != "revisit" or isinstance(record, ResolvedRevisit):
        return None
    original = record.refers_to_id or record.refers_to_target_uri or record.target_uri
    return (
        f"{record.source}, offset {record.offset}: the payload of this revisit is in the record that it "
        f"refers to, {original}: open it with `Collection.open_record`, or with `Capture.open` of an `Index`"
    )


@dataclass(frozen=True, slots=True)
class _Label:
    """All of a representation that does not depend on who asks."""

    extent: Extent
    etag: str
    modified: int | None
    headers: Sequence[tuple[str, str]]


def _modified(record: Record) -> int | None:
    """Return when a record was captured, in seconds from 1970; None where that is not a date in the past."""
    date = record.date
    if date is None:
        return None
    now = int(datetime.now(UTC).timestamp())
    seconds = date.nanoseconds // 10**9
    return seconds if 0 <= seconds <= now else None
