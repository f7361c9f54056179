"""Deduplication: payloads that were archived before, found by their digests.

Source: WARC 1.1, clause 6.7.2.
"""

from __future__ import annotations

import os
from typing import NamedTuple, Protocol

from seekwarc.collection.entry import describe
from seekwarc.format.digest import Digest
from seekwarc.format.profiles import IDENTICAL_PAYLOAD_DIGEST
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.write.header import HeaderDraft, bracketed

__all__ = ["Deduplicator", "Duplicates", "Original", "revisit_of"]


class Original(NamedTuple):
    """A record that has a payload, as revisits refer to it; what a `Deduplicator` returns.

    Example:
        >>> known = seekwarc.Original("urn:x:1", "http://example.org/", "2026-11-16T06:00:00Z")
        >>> seen = seekwarc.Duplicates()
        >>> seen.add(seekwarc.Digest.parse("sha1:2JMJ7L5RSW3YVVLMLQCJ6YXKYVWU4QQY"), known)
    """

    id: str
    """Its WARC-Record-ID, without angle brackets."""
    target_uri: str
    date: str
    """Its WARC-Date, as in the header."""


class Deduplicator(Protocol):
    """Tells a writer whether a payload was archived before.

    Example:
        >>> class OnlyFilms(seekwarc.Duplicates):
        ...     def find(self, digest):
        ...         found = super().find(digest)
        ...         return found if found and found.target_uri.endswith(".mp4") else None
        >>> with seekwarc.open("films.warc.zst", "w", dedup=OnlyFilms()) as out:
        ...     _ = out.write_resource("http://example.org/film.mp4", b"data", "video/mp4")
        ...     out.write_resource("http://example.org/film.mp4", b"data", "video/mp4").type
        'revisit'
    """

    def find(self, digest: Digest, /) -> Original | None:
        """Return the record with that payload, or None."""

    def add(self, digest: Digest, original: Original, /) -> None:
        """Remember a record with that payload. Called after it was written."""


class Duplicates:
    """Remembers payloads in memory, about 500 bytes each.

    Example:
        >>> seen = seekwarc.Duplicates()
        >>> with seekwarc.open("first.warc.zst", "w", dedup=seen) as out:
        ...     _ = out.write_resource("http://example.org/page", b"A page", "text/html")
        >>> with seekwarc.open("next.warc.zst", "w", dedup=seen) as out:
        ...     out.write_resource("http://example.org/page", b"A page", "text/html").type
        'revisit'
    """

    def __init__(self) -> None:
        self._originals: dict[tuple[str, bytes], Original] = {}

    def __len__(self) -> int:
        return len(self._originals)

    def find(self, digest: Digest) -> Original | None:
        """See `Deduplicator.find`."""
        return self._originals.get(digest.key)

    def add(self, digest: Digest, original: Original) -> None:
        """See `Deduplicator.add`; of several records with the same payload the first is kept."""
        self._originals.setdefault(digest.key, original)

    def add_archive(self, archive: Reader | str | os.PathLike[str]) -> None:
        """Remember all responses and resources in a file, so that revisits in a new file can refer to them.

        Args:
            archive: A reader, or the path or URL of a file.

        Raises:
            FormatError: The file is damaged.
            SourceError: It cannot be read.
        """
        if isinstance(archive, str | os.PathLike):
            with WholeReader(archive) as opened:
                self.add_archive(opened)
            return
        for record in archive:
            if record.truncated is not None or record.type not in ("response", "resource"):
                continue
            entry = describe(record)
            date = record.header.get("WARC-Date")
            is_whole = record.header.get("WARC-Segment-Number") is None
            if entry.payload_digest is not None and is_whole and entry.id and entry.uri and date:
                self.add(entry.payload_digest, Original(entry.id, entry.uri, date))


def revisit_of(draft: HeaderDraft, original: Original) -> HeaderDraft | None:
    """Turn the header of a record into that of a revisit (clause 6.7.2), or None if the rules forbid it."""
    again = draft.without("WARC-Type", "WARC-Block-Digest", "Content-Length", "Content-Type")
    revisit = HeaderDraft([("WARC-Type", "revisit"), *again])
    revisit.add("WARC-Profile", IDENTICAL_PAYLOAD_DIGEST)
    revisit.add("WARC-Truncated", "length")
    revisit.add("WARC-Refers-To", bracketed(original.id))
    revisit.add("WARC-Refers-To-Target-URI", original.target_uri)
    revisit.add("WARC-Refers-To-Date", original.date)
    try:
        revisit.check()
    except ValueError:
        return None
    return revisit
