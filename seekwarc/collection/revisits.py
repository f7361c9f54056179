"""Finding the records that may have the payload that a revisit leaves out.

Source: WARC 1.1, clause 6.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from seekwarc.collection.record_index import Entry, RecordIndex
from seekwarc.errors import UnsupportedError
from seekwarc.format.digest import Digest
from seekwarc.format.http import HttpHead
from seekwarc.format.profiles import is_identical_payload, is_server_not_modified
from seekwarc.read.record import Record

__all__ = ["candidates_of"]


def candidates_of(
    revisit: Record, index: RecordIndex, record_of: Callable[[Entry], Record]
) -> Iterator[Entry]:
    """Yield the records that may have a revisit's payload, most likely first.

    These are the record that it names by ID; the one of the URI and date that it names; with the profile
    identical-payload-digest, all with the same digest; with server-not-modified, earlier captures of the URI
    with the same ETag or Last-Modified. Records that state another payload digest are left out.

    Args:
        revisit: The revisit.
        index: The index of all records.
        record_of: Opens a record of the index.

    Raises:
        UnsupportedError: The profile is unknown, so the record must not be interpreted (clause 6.7.1).
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
    found = _named(revisit, index)
    if digest is not None:
        found = [*found, *_nearest(revisit, index.by_payload(digest))]
    for entry in found:
        if _may_have(entry, digest):
            yield entry
    if not identical:
        yield from _not_modified(revisit, index, record_of)


def _named(revisit: Record, index: RecordIndex) -> list[Entry]:
    """Return the records that the fields of a revisit name."""
    found: list[Entry] = []
    if revisit.refers_to_id is not None:
        found += index.by_id(revisit.refers_to_id)
    uri = revisit.refers_to_target_uri or revisit.target_uri
    date = revisit.refers_to_date
    if uri is not None and date is not None:
        found += [entry for entry in index.by_uri(uri) if entry.date == date and _holds_payload(entry)]
    return found


def _holds_payload(entry: Entry) -> bool:
    return entry.type in ("response", "resource", "revisit")


def _may_have(entry: Entry, digest: Digest | None) -> bool:
    stated = entry.payload_digest
    if digest is None or stated is None or stated.name != digest.name:
        return True
    return stated.key == digest.key


def _nearest(revisit: Record, entries: Iterable[Entry]) -> list[Entry]:
    """Order records with the same payload: originals, then the same URI, then earlier dates, latest first."""
    own = revisit.date

    def order(entry: Entry) -> tuple[bool, bool, bool, int]:
        instant = entry.date.nanoseconds if entry.date is not None else 0
        later = own is not None and instant > own.nanoseconds
        return entry.type == "revisit", entry.uri != revisit.target_uri, later, -instant

    return sorted((entry for entry in entries if _holds_payload(entry)), key=order)


def _not_modified(
    revisit: Record, index: RecordIndex, record_of: Callable[[Entry], Record]
) -> Iterator[Entry]:
    """Yield captures of the URI for which the server sent the same validator."""
    head = revisit.http
    if head is None or revisit.target_uri is None:
        return
    for entry in _nearest(revisit, index.by_uri(revisit.target_uri)):
        if entry.type != "revisit":
            other = record_of(entry).http
            if other is not None and _same_validator(head, other):
                yield entry


def _same_validator(one: HttpHead, other: HttpHead) -> bool:
    for name in ("ETag", "Last-Modified"):
        value = one.get(name)
        if value is not None:
            return other.get(name) == value
    return False
