"""`check_chain`: whether each revisit has its original among some archives, and where it says that it is.

One pass notes all records, as a `Collection` does. Then each revisit is followed as a reader would follow it.
What a WACZ requires is looked for among the archives, and beside it.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Unpack

from seekwarc.cdx.chain import Required, required_by
from seekwarc.cdx.places import beside
from seekwarc.cdx.wacz import pieces_of
from seekwarc.collection.collection import WholeCollection
from seekwarc.collection.entry import describe, described
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.collection.revisits import (
    IndexedCapture,
    Profile,
    container_of,
    holders_of,
    originals,
)
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.uri import normalized
from seekwarc.format.words import counted
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.read.options import ReadLimits
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.opening import open_source, open_stored
from seekwarc.storage.zip_members import SEPARATOR, open_zip

__all__ = ["ChainFinding", "ChainReport", "GapKind", "check_chain"]

MAX_FINDINGS: Final = 100_000
"""Findings that are kept; all are counted."""
MAX_SHOWN: Final = 200

GapKind = Literal["missing", "elsewhere", "requires"]
"""No record has the payload; it is not where the revisit says; or a file that a WACZ requires is missing, or
another than it says, or none that it uses."""


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """What is wrong with a revisit, or with what a WACZ requires.

    Example:
        >>> [it.kind for it in seekwarc.tools.check_chain("crawl.wacz").findings]
        []
    """

    kind: GapKind
    file: str
    """The archive that has the revisit, such as `may.wacz!/archive/data.warc.gz`; or the WACZ."""
    offset: int | None
    """Where the revisit is."""
    uri: str | None
    """Its target URI."""
    container: str | None
    """The file that it names, or that is required."""
    message: str

    def __str__(self) -> str:
        place = f" at {self.offset}" if self.offset is not None else ""
        return f"{self.file}{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class ChainReport:
    """Whether some archives have all that their revisits refer to.

    Example:
        >>> report = seekwarc.tools.check_chain("crawl.wacz")
        >>> report.revisits, report.is_closed
        (1, True)
    """

    revisits: int
    findings: tuple[ChainFinding, ...]
    """The first 100,000, those of revisits in the order of the archives."""
    counts: dict[GapKind, int]
    missing: dict[str, int]
    """How many revisits have no original here, by the container that they name; "" for those without."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.counts


def check_chain(
    sources: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    on_progress: Progress = no_progress,
    **limits: Unpack[ReadLimits],
) -> ChainReport:
    """Check whether archives have what their revisits refer to, and what their WACZ files require.

        for finding in tools.check_chain(["april.wacz", "may.wacz"]).findings:
            print(finding)

    Files that a WACZ requires are read too if they are beside it, and their own revisits are not checked.
    Damaged records are left out.

    Args:
        sources: Archives, WACZ files, lists of them, folders and patterns.
        on_progress: Wraps each archive that is read, to report progress.
        **limits: Limits of reading; see `Reader`.

    Raises:
        FormatError: A file is not an archive.
        SourceError: A file cannot be read.
    """
    check = _Check(list(expand(sources)))
    for wacz in tuple(check.waczs):
        check.requirements(wacz)
    check.revisits(on_progress, limits)
    for wacz, required in check.required.items():
        check.use(wacz, required)
    return ChainReport(check.count, tuple(check.found), dict(check.counts), dict(check.missing))


class _Check:
    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._given = frozenset(names)
        self.waczs = dict.fromkeys(it.rpartition(SEPARATOR)[0] for it in names if SEPARATOR in it)
        self.required: dict[str, list[Required]] = {}
        self.count = 0
        self.found: list[ChainFinding] = []
        self.counts: Counter[GapKind] = Counter()
        self.missing: Counter[str] = Counter()
        self._used: dict[str, Counter[str]] = {}
        """The containers that the revisits of each WACZ name, and how many need them."""
        self._sums: dict[str, tuple[int, str]] = {}

    def _add(self, kind: GapKind, message: str, container: str | None, where: Record | str) -> None:
        self.counts[kind] += 1
        if len(self.found) >= MAX_FINDINGS:
            return
        if isinstance(where, str):
            self.found.append(ChainFinding(kind, where, None, None, container, message))
        else:
            place = where.source, where.offset, where.target_uri
            self.found.append(ChainFinding(kind, *place, container, message))

    def requirements(self, wacz: str) -> None:
        """Look for what a WACZ requires, and compare its size and hash."""

        def note(text: str, container: str | None = None) -> None:
            self._add("requires", text, container, wacz)

        archive = open_zip(wacz, open_stored(wacz))
        self.required[wacz] = required_by(archive, note)
        for required in self.required[wacz]:
            name = required.filename
            known = [it for it in self.waczs if name in holders_of(it)] or self._beside(wacz, name)
            if not known:
                renamed = [
                    it for it in self.waczs if required.hash is not None and self._is_that(it, required)
                ]
                hint = f"; {renamed[0]} is the same file" if renamed else ""
                note(f"requires {name}, which is not here{hint}", name)
            elif not any(self._is_that(it, required) for it in known):
                size, digest = self._sum(known[0])
                listed = f"{required.size} bytes and the SHA-256 {required.hash}"
                note(f"requires {name} of {listed}, and {known[0]} has {size} and {digest}", name)

    def _beside(self, wacz: str, name: str) -> list[str]:
        found = beside(wacz, name)
        try:
            members = list(expand(found))
        except SeekWarcError:
            return []
        if members == [found]:
            return []
        self.names += members
        self.waczs[found] = None
        return [found]

    def _is_that(self, name: str, required: Required) -> bool:
        if (required.size, required.hash) == (None, None):
            return True
        if required.size not in (None, open_zip(name, open_stored(name)).source.size):
            return False
        return required.hash in (None, self._sum(name)[1])

    def _sum(self, name: str) -> tuple[int, str]:
        if name not in self._sums:
            digest, size = hashlib.sha256(), 0
            source = open_stored(name)
            for data in pieces_of(source):
                digest.update(data)
                size += len(data)
            source.close()
            self._sums[name] = size, digest.hexdigest()
        return self._sums[name]

    def revisits(self, on_progress: Progress, limits: ReadLimits) -> None:
        """Follow each revisit to its original."""
        index = MemoryIndex()
        sources = [on_progress(open_source(name), "reading") for name in self.names]
        with WholeCollection(sources, index=index, **limits) as collection:
            has_some = set()
            for reader in collection.files:
                for entry in described(reader, on_damage=lambda _: None):
                    index.add(entry)
                    if entry.type == "revisit" and entry.filename in self._given:
                        has_some.add(entry.filename)
            for reader in collection.files:
                if reader.name in has_some:
                    for record in reader.past_damage(lambda _: None):
                        if record.type == "revisit":
                            entry = describe(record)
                            self._follow(record, IndexedCapture(index, collection.record, entry, record))

    def _follow(self, record: Record, revisit: IndexedCapture) -> None:
        if revisit.profile is Profile.UNKNOWN:
            return
        self.count += 1
        container, wacz = container_of(record), record.source.rpartition(SEPARATOR)[0]
        try:
            path = originals(revisit)
        except FormatError:
            path = ()
        # Another revisit may lead there, where the original that is named does not state its digest.
        found = min(path, key=lambda it: len([*_differences(record, container, it)]), default=None)
        is_own = bool(wacz and found and found.entry.filename.startswith(wacz + SEPARATOR))
        if container is not None:
            self._used.setdefault(wacz, Counter())[container] += not is_own
        named = record.refers_to_id or record.refers_to_target_uri or record.target_uri
        if found is None:
            self.missing[container or ""] += 1
            where = f", which should be in {container}" if container is not None else ""
            text = f"the revisit has no original here: {(named or '')[:MAX_SHOWN]}{where}"
            self._add("missing", text, container, record)
        elif wrong := list(_differences(record, None if is_own else container, found)):
            text = f"the original of the revisit is at {found.entry.offset} in {found.entry.filename}, "
            self._add("elsewhere", text + " and ".join(wrong), container, record)

    def use(self, wacz: str, required: list[Required]) -> None:
        """Compare the containers that revisits name with the files that their WACZ requires."""
        used = self._used.get(wacz, Counter())
        listed = {it.filename for it in required}
        for name in sorted(it for it in used.keys() - listed - holders_of(wacz) if used[it]):
            count = counted(used[name], "revisit")
            text = f"{count} of it need {name}, which relation.requires does not list"
            self._add("requires", text, name, wacz)
        for name in sorted(listed - used.keys()):
            self._add("requires", f"requires {name}, which no revisit of it names", name, wacz)


def _differences(record: Record, container: str | None, original: IndexedCapture) -> Iterator[str]:
    """Yield what a revisit says of its original that is not so."""
    entry = original.entry
    if container is not None and not original.is_in(container):
        yield f"not in {container}"
    date, uri, record_id = record.refers_to_date, record.refers_to_target_uri, record.refers_to_id
    if date is not None and entry.date != date:
        yield f"of {entry.date}, not {date}"
    if uri is not None and (entry.uri is None or normalized(entry.uri) != normalized(uri)):
        yield f"of {entry.uri}, not {uri[:MAX_SHOWN]}"
    if record_id is not None and entry.id != record_id:
        yield f"is {entry.id}, not {record_id[:MAX_SHOWN]}"
