"""Revisits whose originals are removed: another capture of the same payload becomes their original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seekwarc.closing import Closing
from seekwarc.errors import FormatError
from seekwarc.read.options import ReadOptions
from seekwarc.read.record import Record
from seekwarc.tools.closure import Catalogue
from seekwarc.tools.copy_inputs import Part
from seekwarc.tools.duplicates import Change, OpenFiles, can_be_full, full, have_same, repointed
from seekwarc.write.dedup import Original

__all__ = ["Promotions"]


class Promotions(Closing):
    """What becomes of revisits of removed records.

    They refer to the first full record with the same payload, byte by byte. If all such records are removed,
    the first revisit becomes one, and the others refer to that.
    """

    def __init__(self, parts: Sequence[Part], removed: Catalogue, limits: ReadOptions) -> None:
        self._parts = parts
        self._removed = removed
        self._files = OpenFiles({part.name: str(part.target) for part in parts}, limits)
        self._plan: dict[int, tuple[int, int | None]] = {}

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._files.close()

    @property
    def files(self) -> set[int]:
        """Numbers of the files in which records are changed."""
        return {self._removed.file_of(number) for number in self._plan}

    @property
    def originals(self) -> set[int]:
        """Numbers of the removed records whose payloads are kept by a promotion."""
        return {original for original, _ in self._plan.values()}

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of revisits that become full records, and of those that refer to another record."""
        promoted = sum(other is None for _, other in self._plan.values())
        return promoted, len(self._plan) - promoted

    def plan(self, originals: Mapping[int, int]) -> list[int]:
        """Plan for revisits with these originals; return those that cannot be helped."""
        self._plan.clear()
        alike, others = self._removed.first_like(originals.values()), dict[int, int | None]()
        refused = []
        for revisit, original in originals.items():
            try:
                old, record = self._record(original), self._record(revisit)
                if not can_be_full(record) or not isinstance(full(record, old), Change):
                    refused.append(revisit)
                    continue
                if original not in others:
                    other = alike.get(original)
                    is_same = other is not None and have_same(old, self._record(other))
                    others[original] = other if is_same else None
            except ValueError:
                # Damaged, or against the rules of the standard.
                refused.append(revisit)
                continue
            self._plan[revisit] = original, others[original]
            if others[original] is None:
                others[original] = revisit
        return refused

    def change_of(self, number: int) -> Change | None:
        """Return what a record becomes, or None if it stays."""
        if number not in self._plan:
            return None
        original, other = self._plan[number]
        record = self._record(number)
        if other is not None:
            kept = self._record(other)
            date = kept.header.get("WARC-Date") or ""
            return repointed(record, Original(kept.id or "", kept.target_uri or "", date))
        made = full(record, self._record(original))
        if isinstance(made, str):
            raise FormatError(f"the original is {made}", source=record.source, offset=record.offset)
        return made

    def _record(self, number: int) -> Record:
        removed, name = self._removed, self._parts[self._removed.file_of(number)].name
        offset = removed.offsets[number]
        if removed.skips[number]:
            raise FormatError("this record shares its gzip member", source=name, offset=offset)
        return self._files.record(name, offset, removed.lengths[number])
