"""The WACZ files that one requires: those whose records its revisits refer to.

Browsertrix leaves out what an earlier crawl has. Its revisits name the WACZ with the original
(`WARC-Refers-To-Container: file://april.wacz`), and the manifest lists all such files (`relation.requires`).
A name never leads out of the folder of the WACZ that says it.

Source: iipc/warc-specifications#111 for the field; `relation` is what browsertrix-crawler writes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from seekwarc.cdx.nearby import NearbyIndex
from seekwarc.cdx.places import beside, is_wacz_name
from seekwarc.collection.entry import Entry, describe, entry_of_line
from seekwarc.collection.revisits import IndexedCapture, agree, container_of, originals
from seekwarc.compiling import override
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError, UnsupportedError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.digest import Digest
from seekwarc.read.record import Record
from seekwarc.storage.opening import open_stored
from seekwarc.storage.zip_members import ZipArchive, open_zip

__all__ = ["MANIFEST", "Chain", "LinesNearby", "Required", "manifest_of", "originals_in", "required_by"]

MANIFEST: Final = "datapackage.json"
MAX_MANIFEST: Final = 16 << 20
MAX_REQUIRED: Final = 10_000
MAX_SHOWN: Final = 80
MAX_UNLISTED: Final = 100
"""Containers that are looked for though the manifest does not list them."""


class Required(NamedTuple):
    """A file that a WACZ requires, as its manifest lists it."""

    filename: str
    hash: str | None = None
    """SHA-256 in hexadecimal digits."""
    size: int | None = None


def manifest_of(archive: ZipArchive) -> dict[str, object]:
    """Return the manifest of a WACZ; {} if it has none that is valid JSON."""
    info = archive.members.get(MANIFEST)
    if info is None or info.file_size > MAX_MANIFEST:
        return {}
    try:
        package = json.loads(archive.open(MANIFEST).read(0, MAX_MANIFEST))
    except (ValueError, RecursionError, FormatError):
        return {}
    return package if isinstance(package, dict) else {}


def required_by(archive: ZipArchive, on_problem: Callable[[str], object] = lambda _: None) -> list[Required]:
    """Return what a manifest lists as `relation.requires`; `on_problem` is called with what is malformed."""
    relation = manifest_of(archive).get("relation")
    listed = relation.get("requires", []) if isinstance(relation, dict) else []
    if not isinstance(listed, list):
        on_problem("relation.requires is not a list")
        return []
    if len(listed) > MAX_REQUIRED:
        on_problem(f"relation.requires has {len(listed)} files, of which the first {MAX_REQUIRED} count")
    found: dict[str, Required] = {}
    for number, one in enumerate(listed[:MAX_REQUIRED]):
        name = one.get("filename") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(name, str) or not is_wacz_name(name):
            text = f"{repr(name)[:MAX_SHOWN]} is not the name of a WACZ beside this one"
            on_problem(f"relation.requires, {number}: {text}")
            continue
        digest, size = one.get("hash"), one.get("size")
        if name in found:
            on_problem(f"relation.requires lists {name} twice")
            continue
        found[name] = Required(
            name,
            digest.lower().removeprefix("sha256:") if isinstance(digest, str) else None,
            size if isinstance(size, int) else None,
        )
    return list(found.values())


class LinesNearby(Protocol):
    """What an `Index` has."""

    def __iter__(self) -> Iterator[CdxjLine]: ...

    def near(self, uri: str, date: str) -> Iterator[CdxjLine]:
        """Yield the captures of a URI, nearest to a date first."""

    def record(self, entry: Entry) -> Record:
        """Return the stored record of an entry."""

    def close(self) -> None:
        """Close it. Idempotent."""


class Chain:
    """The files that a WACZ requires, each opened when a revisit needs it. Safe to use from several threads.

    What those require is not opened: an original is not a revisit.

    Args:
        wacz: Path or URL of the WACZ.
        open_index: Opens the index of a required one.
    """

    def __init__(self, wacz: str, open_index: Callable[[str], LinesNearby]) -> None:
        self._wacz = wacz
        self._open_index = open_index
        self._opened: dict[str, LinesNearby | None] = {}
        self._unlisted = 0
        self._closing = ExitStack()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close all files. Idempotent."""
        with self._lock:
            self._closing.close()
            self._opened.clear()

    @cached_property
    def required(self) -> list[Required]:
        """What the manifest lists."""
        return required_by(open_zip(self._wacz, open_stored(self._wacz)))

    def originals(self, record: Record) -> tuple[LinesNearby, tuple[IndexedCapture, ...]] | None:
        """Return the index that lists the original of a revisit, and the captures that lead there.

        The container that the revisit names is asked first, then the others in the order of the list: by URI
        and date, and if no file has the payload there, by digest. None if no file beside the WACZ has it.
        """
        for kind in (_Nearby, _ByDigest):
            for index in self._indexes(container_of(record)):
                if found := originals_in(kind(record, index), index, record):
                    return index, found
        return None

    def _indexes(self, container: str | None) -> Iterator[LinesNearby]:
        names = [it.filename for it in self.required]
        if container is not None and is_wacz_name(container) and container not in names:
            self._unlisted += container not in self._opened
            names += [container] if self._unlisted <= MAX_UNLISTED else []
        for name in sorted(names, key=lambda it: it != container):
            if (index := self._index(name)) is not None:
                yield index

    def _index(self, name: str) -> LinesNearby | None:
        with self._lock:
            if name not in self._opened:
                self._opened[name] = None
                # It is not there, or is not a WACZ: another may have the original.
                with suppress(SeekWarcError):
                    index = self._open_index(beside(self._wacz, name))
                    self._closing.callback(index.close)
                    self._opened[name] = index
            return self._opened[name]


def originals_in(lines: NearbyIndex, index: LinesNearby, record: Record) -> tuple[IndexedCapture, ...]:
    """Return the original of a revisit after the revisits that lead there; () if an index has none."""
    # A damaged one is as good as none: another file may have it.
    with suppress(NotFoundError, FormatError, UnsupportedError):
        found = originals(IndexedCapture(lines, index.record, describe(record), record))
        # The digest of a line is a claim; what the record itself states may be another.
        if found and agree(record.payload_digest, found[-1].stored.payload_digest) is not False:
            return found
    return ()


class _Nearby(NearbyIndex):
    """What a file has of the URI that a revisit names."""

    def __init__(self, record: Record, index: LinesNearby) -> None:
        super().__init__(record, index.near)
        self._lines = index


class _ByDigest(_Nearby):
    """Likewise, and captures of other URIs with the revisit's digest."""

    @override
    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        return [
            entry_of_line(it) for it in self._lines if it.digest is not None and it.digest.key == digest.key
        ]
