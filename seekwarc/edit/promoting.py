"""Revisits whose originals are removed: what is lost, and how another record becomes their original."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seekwarc.closing import Closing
from seekwarc.collection.entry import describe
from seekwarc.collection.revisits import agree
from seekwarc.edit.changing import Change, repointed
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.copy_inputs import Part
from seekwarc.edit.duplicates import can_be_full, full, have_same, have_same_bytes
from seekwarc.edit.originals import NumberedRecords, Originals
from seekwarc.errors import FormatError
from seekwarc.read.options import ReadOptions
from seekwarc.read.record import Record
from seekwarc.write.dedup import Original

__all__ = ["Promotions"]


class Promotions(Closing):
    """What becomes of revisits of removed records.

    They refer to another full record with the same payload, byte by byte. If all such records are removed,
    the first revisit becomes one, and the others refer to that.
    """

    def __init__(self, parts: Sequence[Part], removed: Catalogue, limits: ReadOptions) -> None:
        self._removed = removed
        self._stored = NumberedRecords(parts, removed, limits)
        self._before = Originals(removed, self._stored)
        self._equal: dict[tuple[int, int], bool] = {}
        self._plan: dict[int, tuple[int, int | None]] = {}

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._stored.close()

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

    def __contains__(self, number: int) -> bool:
        """Tell whether a record is changed."""
        return number in self._plan

    def lost(self, *, promote: bool) -> list[int]:
        """Return the kept revisits whose payloads are lost with the removed records, and plan for the others.

        Unless `promote`, no revisit is changed, so the payload must be in another record that a reader finds.
        """
        removed = self._removed
        gone = [number for number, is_removed in enumerate(removed.kept) if is_removed]
        self._plan.clear()
        refused = self._refused(gone, plan=promote)
        if not self._plan:
            return refused
        # The new full record may come before the one that others referred to.
        lost = {*refused, *self._refused([*gone, *self._plan], plan=False)}
        return [number for number in removed.revisits if number in lost]

    def _refused(self, changed: Iterable[int], *, plan: bool) -> list[int]:
        """Return the kept revisits that have another payload, or none, after these records are changed."""
        after = Originals(self._removed, self._stored, self._removed.kept, dict(self._plan))
        # A full record needs no original, so a missing one must not be noted.
        touched = [number for number in self._removed.touched(changed) if not after.is_full(number)]
        found = dict(after(touched))
        others: dict[int, int] = {}
        refused = []
        for revisit, path in self._before(touched):
            if path is None:
                continue
            left = found[revisit]
            has_payload = left is not None and self._is_same(path[-1], left[-1], after)
            if plan and any(map(self._removed.kept.__getitem__, path)):
                other = others.get(path[-1], left[-1] if left is not None and has_payload else None)
                if self._planned(revisit, path[-1], other):
                    others.setdefault(path[-1], revisit if other is None else other)
                    continue
            if not has_payload:
                refused.append(revisit)
        return refused

    def _is_same(self, before: int, now: int, after: Originals) -> bool:
        """Tell whether two originals have the same payload, which is compared unless they are one record."""
        if before == now and self._before.segments_of(before) == after.segments_of(now):
            return True
        if (before, now) not in self._equal:
            try:
                one, two = self._before.logical(before).payload, after.logical(now).payload
                self._equal[before, now] = have_same_bytes(one, two)
            except FormatError:
                self._equal[before, now] = False
        return self._equal[before, now]

    def _planned(self, revisit: int, original: int, other: int | None) -> bool:
        """Plan to let a revisit refer to another record, or without one to make it a full record."""
        try:
            record, old = self._stored(revisit), self._before.logical(original)
            if not can_be_full(record) or not isinstance(full(record, old), Change):
                return False
            if other is not None and other != original and other not in self._plan:
                kept = self._before.logical(other)
                # A reader would not take one that states another digest, be that right or wrong.
                denied = agree(record.payload_digest, describe(kept).payload_digest) is False
                other = other if not denied and have_same(old, kept) else None
            if other is not None:
                self._repointed(record, other)
        except ValueError:
            # Damaged, or against the rules of the standard.
            return False
        self._plan[revisit] = original, other
        return True

    def change_of(self, number: int) -> Change | None:
        """Return what a record becomes, or None if it stays."""
        if number not in self._plan:
            return None
        original, other = self._plan[number]
        record = self._stored(number)
        if other is not None:
            return self._repointed(record, other)
        made = full(record, self._before.logical(original))
        if isinstance(made, str):
            raise FormatError(f"the original is {made}", source=record.source, offset=record.offset)
        return made

    def _repointed(self, record: Record, other: int) -> Change:
        kept = self._stored(other)
        date = kept.header.get("WARC-Date") or ""
        return repointed(record, Original(kept.id or "", kept.target_uri or "", date))
