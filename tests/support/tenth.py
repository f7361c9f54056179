"""Keep every tenth capture, and all records that are no captures: a verb that decides about records, whole.

seekwarc tenth crawls/ -o sample.warc.zst
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from itertools import count

from seekwarc.cli.copying import add_copy_arguments, copy_options, copy_targets, damage_json
from seekwarc.cli.options import limit_options
from seekwarc.cli.passing import PassedOver
from seekwarc.collection.entry import Entry
from seekwarc.edit.deciding import Copied, CopyJob, CopyOptions, Decision, Drop, EachRecord, Target, copied
from seekwarc.read.options import ReadLimits, ReadOptions


def tenth(
    sources: str | list[str], target: Target | list[str] | None, limits: ReadLimits, **options: CopyOptions
) -> Copied:
    def begin(_: Mapping[str, str], __: ReadOptions) -> EachRecord:
        captures = count()

        def decide(entry: Entry) -> Decision:
            is_kept = entry.type not in ("response", "resource") or next(captures) % 10 == 0
            return None if is_kept else Drop("not a tenth")

        return EachRecord(decide)

    return copied(CopyJob.of(sources, target, limits, **options), begin)


add_arguments = add_copy_arguments


def run(options: argparse.Namespace) -> int:
    sources, target = copy_targets(options)
    with PassedOver(options) as passed:
        done = tenth(sources, target, limit_options(options), **copy_options(options, passed))
    fields = {**asdict(done), "files": sources, "damaged": damage_json(done.damaged)}
    text = f"{done.records} records, {done.dropped['not a tenth']} of them left out"
    return passed.report(text, fields, done.files) | bool(done.damaged)
