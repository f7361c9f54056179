"""From a stored record to the logical one: its segments joined, a revisit with the payload of its original.

Source: WARC 1.1, clauses 6.7 and 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from seekwarc.collection.entry import CAPTURE_TYPES, Entry
from seekwarc.collection.record_index import RecordIndex
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit, join_segments
from seekwarc.errors import FormatError, NotFoundError, UnsupportedError
from seekwarc.format.digest import Digest
from seekwarc.format.http import HttpHead
from seekwarc.format.profiles import is_identical_payload, is_server_not_modified
from seekwarc.read.record import Record

__all__ = ["is_alone", "named", "resolve"]

MAX_REVISITS: Final = 64
"""Length of a chain of revisits that is followed."""

Open = Callable[[Entry], Record]
"""Returns the stored record of an index entry."""


def is_alone(record: Record) -> bool:
    """Return whether a record needs no others, as far as its header tells; only an index is certain."""
    if isinstance(record, JoinedRecord | ResolvedRevisit):
        return True
    return record.segment_number is None and record.type not in ("continuation", "revisit")


def resolve(record: Record, index: RecordIndex, open_entry: Open) -> Record:
    """Return the logical record that a stored one is, or is a segment of; errors as of `open_record`."""
    if record.type == "continuation":
        what = f"segment 1 of the record continued at {record.offset}"
        record = named(record.segment_origin_id, what, index, open_entry)
    if not isinstance(record, JoinedRecord | ResolvedRevisit):
        record = _joined(record, index, open_entry)
        if record.type == "revisit":
            return _resolved(record, index, open_entry, set())
    return record


def named(record_id: str | None, what: str, index: RecordIndex, open_entry: Open) -> Record:
    """Return the stored record with an ID; `what` is what the message calls it if it is not in the index."""
    found = index.by_id(record_id) if record_id is not None else ()
    if not found:
        raise NotFoundError(f"{what}, {record_id}, is not in these files")
    return open_entry(found[0])


def _joined(record: Record, index: RecordIndex, open_entry: Open) -> Record:
    found = index.segments_of(record.id) if record.id is not None else ()
    if not found and (record.id is None or record.segment_number is None):
        return record
    return join_segments(record, [open_entry(entry) for entry in found])


def _resolved(
    revisit: Record, index: RecordIndex, open_entry: Open, passed: set[tuple[str, int]]
) -> ResolvedRevisit:
    """Find the record with a revisit's payload, through a chain of revisits if need be."""
    passed.add((revisit.source, revisit.offset))
    damage: FormatError | None = None
    for entry in _candidates(revisit, index, open_entry):
        if len(passed) > MAX_REVISITS:
            break
        try:
            original = open_entry(entry)
            if (original.source, original.offset) in passed:
                continue
            if original.type == "revisit":
                original = _resolved(original, index, open_entry, passed).original
            return ResolvedRevisit(revisit, _joined(original, index, open_entry))
        except (NotFoundError, UnsupportedError):
            continue
        except FormatError as error:
            # Another candidate may be intact.
            damage = damage or error
    if damage is not None:
        raise damage
    raise NotFoundError(
        "the record that this revisit refers to is not in these files: "
        f"{revisit.refers_to_id or revisit.refers_to_target_uri or revisit.target_uri}",
        source=revisit.source,
        offset=revisit.offset,
    )


def _candidates(revisit: Record, index: RecordIndex, open_entry: Open) -> Iterator[Entry]:
    """Yield the records that may have a revisit's payload, most likely first.

    These are the record that it names by ID; the one of the URI and date that it names; with the profile
    identical-payload-digest, all with the same digest; with server-not-modified, earlier captures of the URI
    with the same ETag or Last-Modified. Records that state another payload digest are left out.
    """
    identical = is_identical_payload(revisit.profile)
    if not identical and not is_server_not_modified(revisit.profile):
        raise UnsupportedError(
            f"the revisit has an unknown profile, {revisit.profile}, and cannot be resolved",
            source=revisit.source,
            offset=revisit.offset,
        )
    # A 304 response has no body, so its payload digest is often that of the empty string.
    digest = revisit.payload_digest if identical else None
    for entry in _named(revisit, index):
        if _may_have(entry, digest):
            yield entry
    # Only if none of those has it: there may be a million revisits of the same logo.
    if digest is not None:
        yield from _most_likely(revisit, index.by_payload(digest))
    if not identical:
        yield from _not_modified(revisit, index, open_entry)


def _named(revisit: Record, index: RecordIndex) -> Iterator[Entry]:
    if revisit.refers_to_id is not None:
        yield from index.by_id(revisit.refers_to_id)
    uri = revisit.refers_to_target_uri or revisit.target_uri
    date = revisit.refers_to_date
    if uri is not None and date is not None:
        for entry in index.by_uri(uri):
            if entry.date == date and entry.type in CAPTURE_TYPES:
                yield entry


def _may_have(entry: Entry, digest: Digest | None) -> bool:
    stated = entry.payload_digest
    if digest is None or stated is None or stated.name != digest.name:
        return True
    return stated.key == digest.key


def _most_likely(revisit: Record, entries: Iterable[Entry]) -> list[Entry]:
    """Order records with the same payload: originals, then the same URI, then earlier dates, latest first."""
    own = revisit.date

    def order(entry: Entry) -> tuple[bool, bool, bool, int]:
        instant = entry.date.nanoseconds if entry.date is not None else 0
        later = own is not None and instant > own.nanoseconds
        return entry.type == "revisit", entry.uri != revisit.target_uri, later, -instant

    return sorted((entry for entry in entries if entry.type in CAPTURE_TYPES), key=order)


def _not_modified(revisit: Record, index: RecordIndex, open_entry: Open) -> Iterator[Entry]:
    """Yield captures of the URI for which the server sent the same validator."""
    head = revisit.http
    if head is None or revisit.target_uri is None:
        return
    for entry in _most_likely(revisit, index.by_uri(revisit.target_uri)):
        if entry.type != "revisit":
            other = open_entry(entry).http
            if other is not None and _same_validator(head, other):
                yield entry


def _same_validator(one: HttpHead, other: HttpHead) -> bool:
    for name in ("ETag", "Last-Modified"):
        value = one.get(name)
        if value is not None:
            return other.get(name) == value
    return False
