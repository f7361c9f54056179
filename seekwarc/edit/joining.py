"""Joining resources that were captured in parts: each becomes one record of type `conversion`.

Headers are read first, and each part once while it is written. Only bytes that several parts have are read
twice: they are compared beforehand, since a stream of a payload is not, and so that nothing is written of a
difference.

Source: RFC 9110, section 15.3.7.3; WARC 1.1, clause 6.8. `collection.parts` says which parts belong together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Unpack

from seekwarc import __version__
from seekwarc.collection.collection import WholeCollection
from seekwarc.collection.entry import Entry, OnDamage, describe, described, warned_of_damage
from seekwarc.collection.parts import (
    UNKNOWN_TYPE,
    Group,
    JoinedParts,
    captures_of,
    claim_of,
    groups_of,
)
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.edit.listing import listed
from seekwarc.errors import FormatError
from seekwarc.format.surt import surt
from seekwarc.format.uri import StoredUri, as_utf8, has_host, normalized
from seekwarc.format.words import counted
from seekwarc.jobs.passing import OnError, readable
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.extent import MAX_DECODED
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection
from seekwarc.storage.expand import each_of, expand
from seekwarc.storage.streams import ReadableStream
from seekwarc.write.block_reader import SizedStream
from seekwarc.write.files import Existing, refuse_existing, refuse_same_file
from seekwarc.write.options import FrameOptions
from seekwarc.write.writer import Writer

__all__ = ["JoinedResource", "Joining", "join"]

MAX_HOLES = 100
"""Holes of a resource that are listed."""

OnStream = Callable[[ReadableStream, int], ReadableStream]


@dataclass(frozen=True, slots=True)
class JoinedResource:
    """A resource that was captured in parts, and what became of it.

    Example:
        >>> film, = seekwarc.tools.join("parts.warc.zst", dry_run=True).resources
        >>> film.uri, film.parts, film.size - film.held, film.problem
        ('http://example.org/film.mp4', 2, 500000, 'bytes 2000000-2499999 are in no part')

    Attributes:
        uri: Its URI, without range parameters.
        parts: Records that have parts of it.
        size: Size of the whole in bytes.
        held: Bytes of it that the parts have.
        holes: The first hundred ranges [start, stop) that they do not have.
        is_proved: Whether a strong entity tag says that they are parts of the same bytes.
        id: ID of the new record; None if none was written.
        problem: Why it was not joined, or None.
        is_damaged: Whether the parts differ where several have the same bytes, or cannot be read.
    """

    uri: str
    parts: int
    size: int
    held: int
    holes: tuple[tuple[int, int], ...]
    is_proved: bool
    id: str | None = None
    problem: str | None = None
    is_damaged: bool = False


@dataclass(slots=True)
class Joining:
    """The result of joining parts.

    Example:
        >>> done = seekwarc.tools.join("parts.warc.zst", dry_run=True)
        >>> done.files, done.joined, len(done.resources)
        (1, 0, 1)

    Attributes:
        files: Files that were read.
        resources: Resources of which there are parts, and no complete capture with the same entity tag.
        target_size: Size of the new file in bytes; None unless a local file was made.
        not_found: For each URI that was given and has no parts, a sentence that names one with the same key.
    """

    files: int
    resources: list[JoinedResource] = field(default_factory=list)
    target_size: int | None = None
    not_found: list[str] = field(default_factory=list)

    @property
    def joined(self) -> int:
        """Number of resources that were joined, or would be."""
        return sum(it.problem is None for it in self.resources)


def join(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    target: str | os.PathLike[str] | None = None,
    *,
    uris: str | Iterable[str] | None = None,
    dry_run: bool = False,
    existing: Existing = "error",
    processes: int = 1,
    limits: ReadLimits | None = None,
    on_error: OnError = "raise",
    on_progress: Progress = no_progress,
    on_stream: OnStream = lambda stream, _: stream,
    host: str | Iterable[str] | None = None,
    **options: Unpack[FrameOptions],
) -> Joining:
    """Write resources that were captured in parts (206 Partial Content) as one record each.

        done = tools.join(["proxy-1.warc.gz", "proxy-2.warc.gz"], "films.warc.zst")
        print(done.joined, [(it.uri, it.problem) for it in done.resources if it.problem])

    A resource becomes a `conversion` with its payload, content codings undone. WARC-Refers-To names the first
    part, since that field may not be repeated; a metadata record about the conversion names all parts, with
    their ranges. Bytes that several parts have are compared first, all of them: where they differ, the
    resource is left out. So are resources of which bytes are missing.

    Args:
        sources: Files, folders and patterns; one, or several.
        target: The new file; may be None if `dry_run`. If there is nothing to write, no file is made.
        uris: URIs of the resources to join, in any spelling, without range parameters; all by default.
        dry_run: Write and compare nothing; return what would be joined.
        existing: Whether an existing file is refused ("error") or replaced ("overwrite").
        processes: How many processes may look for parts in parts of a large local file; see `index`.
        limits: Limits of reading; see `Reader`.
        on_error: What is done with a file that cannot be opened, is empty, or is not an archive: "raise";
            "skip", to leave it out with a `FormatWarning`; or a function that is called with the error, to
            leave it out.
        on_progress: Wraps each source that is scanned, to report progress.
        on_stream: Wraps each payload that is written, of the size that is given, to report progress.
        host: Hosts of the resources to join; see `Conditions`.
        **options: How records are compressed; see `Writer`.

    Raises:
        TargetExistsError: The target exists.
        NotFoundError: All files were left out.
        FormatError: A file is not a WARC file, and `on_error` is "raise".
        SourceError: A file cannot be read.
        TargetError: The target cannot be written.
    """
    names = list(expand(sources))
    if target is None and not dry_run:
        raise ValueError("target is None: name the new file, or set dry_run")
    if target is not None:
        for name in names:
            refuse_same_file(os.fspath(name), target)
    asked = {normalized(uri): uri for uri in each_of(uris)} if uris is not None else None
    hosts = Selection.of(host=host).hosts
    options_of_reading = ReadOptions.of(**limits or {})
    if on_error != "raise":
        names = [name for name, _ in readable(names, partial(_examined, options_of_reading), on_error)]
    done = Joining(len(names))
    index = MemoryIndex()
    with WholeCollection(names, index=index, **options_of_reading) as crawl:
        found = _scanned(names, index, processes, on_progress, options_of_reading)
        wanted = [
            uri
            for uri in found
            if (asked is None or normalized(uri) in asked) and (not hosts or has_host(uri, hosts))
        ]
        done.not_found = _not_found(asked, found) if asked is not None else []
        groups = (
            (uri, group)
            for uri in wanted
            for group in groups_of(uri, captures_of(index, uri), index, crawl.record, crawl.open_record)
        )
        complete = _complete(groups, done, compare=not dry_run)
        first = next(complete, None)
        if target is None or dry_run:
            done.resources += () if first is None else [it for _, it in chain([first], complete)]
            _check_target(target if first is not None else None, existing)
        elif first is not None:
            with Writer(target, existing=existing, on_error="discard", **options) as out:
                out.write_warcinfo({"software": f"seekwarc/{__version__}", "description": "joined parts"})
                for film, resource in chain([first], complete):
                    done.resources.append(_written(out, film, resource, on_stream))
                if not done.joined:
                    out.abort()
            if done.joined and os.path.isfile(target):
                done.target_size = os.path.getsize(target)
    return done


def _check_target(target: str | os.PathLike[str] | None, existing: Existing) -> None:
    if target is not None and existing == "error":
        refuse_existing(target)


def _examined(limits: ReadOptions, name: str) -> tuple[str, str]:
    with WholeReader(name, **limits) as archive:
        return name, archive.compression


def _not_found(asked: dict[bytes, str], found: Iterable[str]) -> list[str]:
    """Say which URIs are not among those found, and whether one of these has the same key."""
    names = set(map(normalized, found))
    missing = [uri for name, uri in asked.items() if name not in names]
    keys = {surt(uri): f"; {as_utf8(uri)} has the same key" for uri in found} if missing else {}
    return [f"no capture of {as_utf8(uri)} in parts{keys.get(surt(uri), '')}" for uri in missing]


def _scanned(
    files: Sequence[str], index: MemoryIndex, processes: int, on_progress: Progress, limits: ReadOptions
) -> list[str]:
    """Fill the index, and return the URIs of resources that have parts, in the order of the files."""
    found: dict[str, None] = {}
    for file in files:
        with warned_of_damage(file) as on_damage:
            for entry, resources in listed(
                file,
                _entries_and_claims,
                "scanning",
                processes=processes,
                on_damage=on_damage,
                on_progress=on_progress,
                limits=limits,
            ):
                index.add(entry)
                found.update(dict.fromkeys(resources))
    return list(found)


def _entries_and_claims(archive: Reader, on_damage: OnDamage, /) -> Iterator[tuple[Entry, tuple[str, ...]]]:
    """Yield the entry of each record, and the resources of which parts were found since the one before."""
    found: list[str] = []

    def noted(record: Record) -> Entry:
        try:
            claim = claim_of(record)
        except FormatError:
            claim = None
        if claim is not None and not claim.is_whole:
            found.append(claim.resource)
        return describe(record)

    for entry in described(archive, noted, on_damage=on_damage):
        yield entry, tuple(found)
        found.clear()


def _complete(
    groups: Iterable[tuple[str, Group]], done: Joining, *, compare: bool
) -> Iterator[tuple[JoinedParts, JoinedResource]]:
    """Yield the groups that can be joined, and note all others in the result."""
    for uri, group in groups:
        if any(it.claim.is_whole for it in group.parts):
            continue
        film = group.joined()
        holes = film.payload.holes
        about = (uri, len(film.parts), film.payload.size, film.held, holes[:MAX_HOLES], film.is_proved)
        resource = JoinedResource(*about)
        if holes:
            start, stop = holes[0]
            more = f" and {counted(len(holes) - 1, 'more range')}" if len(holes) > 1 else ""
            verb = "are" if stop - start > 1 or more else "is"
            missing = f"bytes {start}-{stop - 1}{more} {verb} in no part"
            done.resources.append(replace(resource, problem=missing))
            continue
        try:
            if compare:
                film.check_overlaps()
        except FormatError as error:
            done.resources.append(replace(resource, problem=str(error), is_damaged=True))
            continue
        yield film, resource


def _written(out: Writer, film: JoinedParts, resource: JoinedResource, on_stream: OnStream) -> JoinedResource:
    media = film.payload.media_type
    kind = media.essence if media is not None else UNKNOWN_TYPE
    first, uri = film.parts[0].id, StoredUri(resource.uri)
    try:
        with film.payload.open_decoded(limit=MAX_DECODED) as file:
            stream = on_stream(file, film.payload.size)
            block = stream if film.payload.codings else SizedStream(stream, film.payload.size)
            made = out.write_conversion(uri, block, kind, refers_to=first)
    except FormatError as error:
        # The writer has taken back what it wrote of the record.
        return replace(resource, problem=str(error), is_damaged=True)
    proof = "strong entity tag" if film.is_proved else "Last-Modified and size; not proved"
    parts = [
        ("part", f"<{part.id}> bytes {start}-{stop - 1}")
        for part, (start, stop) in zip(film.parts, film.ranges, strict=True)
    ]
    out.write_metadata([("joined-by", proof), *parts], target_uri=uri, refers_to=made.id)
    return replace(resource, id=made.id)
