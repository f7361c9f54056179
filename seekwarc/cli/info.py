"""Describe a file, or one record: its frames, their sizes, its seek table, the cost of a range.

Several files, or all WARC files in and below a folder, are described one by one; one that cannot be read is
named and passed over. With --since and --until, only the records of that time are counted, or the latest of
them with the URI is described. With --by, the records of all files together are counted by type, HTTP status,
media type, host or month, those with the most stored bytes first; what revisits save is the stored bytes of
the captures that they repeat. An index (.cdxj, .idx, .parquet) is counted without opening the files that it
names.

seekwarc info crawl.warc.zst
seekwarc info crawls/ --json
seekwarc info crawls/ --by host --limit 20
seekwarc info crawl.warc.zst 3117
seekwarc info crawl.warc.zst 3117 --frames
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from seekwarc.cdx.wacz import pages_in
from seekwarc.check.describe import (
    SHADES,
    FileSummary,
    describe_file,
    describe_index,
    describe_record,
    frame_picture,
    typical_read,
)
from seekwarc.cli.arguments import add_flag, add_json_argument, add_value
from seekwarc.cli.batch import Printer, add_batch_arguments, run_batch
from seekwarc.cli.options import add_limit_argument, add_limit_arguments, add_sidecar_argument, open_options
from seekwarc.cli.printing import picked, printable
from seekwarc.cli.records import add_record_arguments, split_offset, wanted_record
from seekwarc.cli.sizes import human_size, parse_range
from seekwarc.cli.targets import input_target, open_archive
from seekwarc.collection.collection import Collection
from seekwarc.collection.entry import damaged_places
from seekwarc.collection.groups import GROUPINGS, Group, Grouping, Groups, Savings
from seekwarc.errors import SeekWarcError
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.read.body import TableStatus
from seekwarc.read.options import OpenOptions
from seekwarc.read.reader import Reader
from seekwarc.read.selection import Selection
from seekwarc.storage.expand import expand, index_ending
from seekwarc.storage.opening import open_source, open_stored
from seekwarc.storage.zip_members import SEPARATOR, open_zip

if TYPE_CHECKING:
    from seekwarc.format.seektable import SeekTable
    from seekwarc.frames.run import ReadPlan
    from seekwarc.read.record import Record

__all__ = ["add_arguments", "run"]

LIMIT = 20
MAX_SHOWN = 5
"""Holes of a joined payload that are listed."""
STATUS = {
    TableStatus.RECORD: "seek table of its own",
    TableStatus.FILE: "listed by the table at the file's end",
    TableStatus.NONE: "no seek table; frames found by scanning",
    TableStatus.UNUSABLE: "seek table not usable; frames found by scanning",
    TableStatus.SINGLE: "one frame, which needs no seek table",
    TableStatus.BLOCKS: "one frame; what does not compress is read by range, unverified",
    TableStatus.UNCOMPRESSED: "not compressed",
    TableStatus.SEGMENTS: "assembled from several records",
    TableStatus.SIDECAR: "points listed by a sidecar",
    TableStatus.STREAM: "no random access; read from its beginning",
}


MAX_PAGES = 10
"""Pages of a WACZ that are printed unless JSON is wanted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_record_arguments(parser, required=False, several=True)
    add_flag(parser, "--frames", "list every frame of the record")
    text = "the payload of the whole resource, assembled from its parts in the file: show which bytes it has"
    add_flag(parser, "--joined", text)
    add_value(parser, "--range", "RANGE", "print what reading this range of the payload would cost", str)
    parser.add_argument("--by", choices=GROUPINGS, help="count the records of all files by this")
    add_limit_argument(parser, "groups of --by, the others counted as one", LIMIT)
    add_sidecar_argument(parser)
    add_json_argument(parser, "file")
    add_batch_arguments(parser, looks=True)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    split_offset(options)
    if (options.offset, options.uri, options.id) == (None, None, None):
        return _describe_files(options)
    if options.by is not None:
        raise SeekWarcError("--by counts the records of files: leave out the offset, --uri or --id")
    with ExitStack() as opened:
        archive = opened.enter_context(open_archive(options.files[0], **open_options(options)))
        record, status = wanted_record(archive, options)
        if options.joined:
            relations = opened.enter_context(Collection(options.files, **open_options(options)))
            record = relations.open_record(relations.files[0].record_at(record.offset), joined=True)
        if options.range is not None:
            # A range may count from the end.
            size = record.payload.size
        about = describe_record(record)
        plan, label = typical_read(record), "64 KiB from its middle"
        if options.range is not None:
            plan = record.payload.plan(*parse_range(options.range, size))
            label = f"payload range {options.range}"
        table = record.body.frames
        if options.json:
            print(json_text(about | _reading_json(table, plan, frames=options.frames)))
            return status
        print(_record_text(record, about))
        print(f"{'cost':<12} {label}: {_cost(plan)}")
        if options.frames and table is not None:
            _print_frames(table, record.offset)
    return status


def _describe_files(options: argparse.Namespace) -> int:
    for name in ("length", "range", "joined", "frames"):
        if getattr(options, name):
            raise SeekWarcError(f"--{name} is for a record: name it, by OFFSET, --uri or --id")
    jobs = [Job(name) for name in expand(options.files)]
    selection = Selection.of(since=options.since, until=options.until)
    work = partial(_describe, open_options(options, len(jobs)), selection, options.by)
    totals = _Totals()
    printer = Printer(_file_text, _file_json, keep=totals.add, summary=False, is_listing=True)
    status = run_batch(options, jobs, work, printer)
    # One that cannot be opened has a job of its own name, which has failed.
    members = [job.source for job in jobs if job.source not in options.files]
    for name in dict.fromkeys(it.partition(SEPARATOR)[0] for it in members if SEPARATOR in it):
        _print_pages(name, as_json=options.json)
    if options.by is not None and (options.json or totals.files):
        shown, others = totals.groups.most(options.limit)
        print(totals.json(shown, others, options.by) if options.json else totals.text(shown, others))
    return status


def _print_pages(name: str, *, as_json: bool) -> None:
    """Print the pages that a WACZ lists: all as JSON, or some for people."""
    archive = open_zip(name, open_stored(name))
    if as_json:
        print(json_text({"wacz": name, "pages": [asdict(page) for page in pages_in(archive)]}))
        return
    count = 0
    for count, page in enumerate(pages_in(archive), 1):
        if count <= MAX_PAGES:
            print(f"{'page':<12} {printable(page.date)} {printable(page.uri)} {printable(page.title)}")
    print(f"{'pages':<12} {count} of {printable(name)}")


def _describe(
    options: OpenOptions, selection: Selection, by: Grouping | None, job: Job, context: JobContext
) -> tuple[Status, FileSummary]:
    if index_ending(job.source):
        if selection:
            raise SeekWarcError("--since and --until need the files themselves", source=job.source)
        return Status.DONE, describe_index(job.source, by=by or "type")
    source = context.on_progress(open_source(input_target(job.source)), "reading")
    with Reader(source, **options) as archive:
        summary = describe_file(archive, by=by, selection=selection)
        is_sound = not summary.is_cut_off and not summary.damaged
        return Status.DONE if is_sound else Status.PROBLEMS, summary


class _Totals:
    """What all files hold together."""

    def __init__(self) -> None:
        self.groups, self._savings = Groups(), Savings()
        self.files = 0
        self._damaged: list[tuple[str, int]] = []

    def add(self, job: Job, summary: FileSummary) -> None:
        self.files += 1
        self._damaged += [(job.source, offset) for offset in summary.damaged]
        if summary.groups is not None and summary.savings is not None:
            self.groups.merge(summary.groups)
            self._savings.merge(summary.savings)

    def json(self, shown: Sequence[Group], others: Group | None, by: Grouping) -> str:
        fields = {
            "kind": "groups",
            "files": self.files,
            "by": by,
            "groups": [_group_json(it) for it in shown],
            "others": _group_json(others) if others is not None else None,
            "revisits": self._savings.revisits,
            "saved_by_revisits": self._savings.stored_size,
            "damaged": [dict(zip(("file", "offset"), it, strict=True)) for it in self._damaged],
        }
        return json_text(fields)

    def text(self, shown: Sequence[Group], others: Group | None) -> str:
        lines = [f"{'RECORDS':>10} {'CONTENT':>10} {'STORED':>10} {'RATIO':>7}"]
        lines += [_group_line(it, "-" if it.name is None else it.name) for it in shown]
        lines += [_group_line(others, "(all others)")] if others is not None else []
        if self._savings.revisits:
            saved = human_size(max(self._savings.stored_size, 0))
            lines.append(f"{counted(self._savings.revisits, 'revisit')} save {saved} of stored bytes")
        if self._damaged:
            lines.append(damaged_places(self._damaged))
        return "\n".join(lines)


def _group_json(group: Group) -> dict[str, object]:
    # An index tells no sizes of content.
    return group._asdict() | {"content_size": group.content_size or None}


def _group_line(group: Group, name: str) -> str:
    content, stored = group.content_size, group.stored_size
    ratio = f"{stored / content:.1%}" if content else "-"
    size = human_size(content) if content else "-"
    return f"{group.records:>10} {size:>10} {human_size(stored):>10} {ratio:>7}  {printable(name)}"


def _file_json(summary: FileSummary | None) -> dict[str, object]:
    names = ("compression", "records", "content_size", "dictionary", "types", "table_status", "largest")
    data = picked(summary, *names, "damaged", stored_size="size")
    if summary is not None:
        data["largest"] = [dict(zip(("size", "offset", "uri"), it, strict=True)) for it in summary.largest]
    return data


def _file_text(summary: FileSummary) -> str:
    lines = [
        f"{'file':<12} {summary.name}",
        f"{'compression':<12} {summary.compression}",
        f"{'records':<12} {summary.records}"
        + "".join(f", {count} {printable(kind)}" for kind, count in summary.types.most_common()),
        f"{'content':<12} {human_size(summary.content_size)}",
    ]
    if summary.damaged:
        lines.append(f"{'damage':<12} {damaged_places([(summary.name, it) for it in summary.damaged])}")
    if summary.size is not None:
        share = f" ({summary.size / summary.content_size:.1%} of the content)" if summary.content_size else ""
        lines.append(f"{'stored':<12} {human_size(summary.size)}{share}")
    if summary.dictionary is not None:
        lines.append(f"{'dictionary':<12} {summary.dictionary}")
    for status, count in summary.table_status.most_common():
        lines.append(f"{'access':<12} {counted(count, 'record')}: {STATUS[TableStatus(status)]}")
    for size, offset, uri in summary.largest:
        lines.append(f"{'large':<12} {human_size(size):>10} at {offset}: {printable(uri)}")
    return "\n".join(lines)


def _record_text(record: Record, about: Mapping[str, Any]) -> str:
    size, stored_size = record.content_length, counted(record.length, "byte")
    table = record.body.frames
    lines = [
        f"{'record':<12} {printable(record.type)} at {record.offset}, {stored_size} stored",
        f"{'URI':<12} {printable(record.target_uri)}",
        f"{'id':<12} {printable(record.id)}",
        f"{'date':<12} {printable(about['date'])}",
        f"{'block':<12} {human_size(size)} ({counted(size, 'byte')}), {printable(record.content_type)}",
        f"{'payload':<12} {_payload_size(record.payload.known_size)}",
        *(f"{label:<12} {printable(text)}" for label, text in _more(about) if text),
        f"{'access':<12} {STATUS[record.body.table_status]}",
    ]
    if record.body.table_problem is not None:
        lines.append(f"{'':<12} {record.body.table_problem}")
    if table is not None:
        sizes = [size for size in table.content_sizes if size]
        shades = _shades()
        stored, better = shades[0], shades[1:]
        lines += [
            (
                f"{'frames':<12} {len(sizes)}, of {human_size(min(sizes))} to {human_size(max(sizes))}; "
                f"stored {table.stored_size / record.size:.1%} of {human_size(record.size)}"
            ),
            f"{'':<12} {frame_picture(table, min(shutil.get_terminal_size().columns, 100) - 14, shades)}",
            f"{'':<12} (from left to right; {stored} not compressed, {' '.join(better)} better and better)",
        ]
    return "\n".join(lines)


def _payload_size(size: int | None) -> str:
    if size is None:
        return "in chunked transfer coding, size not counted (--range : counts it)"
    return f"{human_size(size)} ({counted(size, 'byte')})"


def _more(about: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    return [
        ("HTTP", about["http"]),
        ("format", about["payload_format"]),
        ("coding", ", ".join(about["codings"])),
        *_coverage(about["joined"], about["payload_size"]),
        *((name.replace("_", " "), about[name]) for name in ("truncated", "segment", "refers_to")),
        *(("standard", finding) for finding in about["findings"]),
    ]


def _coverage(joined: Mapping[str, Any] | None, size: int) -> list[tuple[str, str]]:
    if joined is None:
        return []
    proof = "" if joined["is_proved"] else ", not proved"
    share = f"{counted(joined['held'], 'byte')} of {size} ({joined['held'] / size:.1%})"
    holes = [f"{start}-{stop - 1}" for start, stop in joined["holes"][:MAX_SHOWN]]
    more = ["..."] if len(joined["holes"]) > MAX_SHOWN else []
    missing = [("missing", ", ".join(holes + more))] if holes else []
    return [("joined", f"{counted(joined['parts'], 'part')}{proof}: {share}"), *missing]


def _shades() -> str:
    """Return the characters to draw frames with: shades of grey, or ASCII if the terminal has none."""
    try:
        SHADES.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return "#=-."
    return SHADES


def _cost(plan: ReadPlan) -> str:
    if not plan.frames:
        decoded = f", {human_size(plan.bytes_decoded)} decompressed" if plan.bytes_decoded else ""
        verified = "" if plan.is_verified else ", not verified"
        return f"up to {human_size(plan.bytes_fetched)} read{decoded}{verified}"
    sizes = f"{human_size(plan.bytes_fetched)} read, {human_size(plan.bytes_decoded)} decompressed"
    return f"{counted(plan.frames, 'frame')}, {sizes}"


def _print_frames(table: SeekTable, offset: int) -> None:
    print(
        f"{'FRAME':>8} {'OFFSET':>14} {'STORED':>10} {'CONTENT FROM':>14} {'SIZE':>10} {'RATIO':>7}  CHECKSUM"
    )
    for number in range(len(table)):
        frame = table[number]
        ratio = f"{frame.stored_size / frame.content_size:.1%}" if frame.content_size else "-"
        checksum = "-" if frame.checksum is None else f"{frame.checksum:08x}"
        print(
            f"{number:>8} {offset + frame.stored_start:>14} {frame.stored_size:>10} "
            f"{frame.content_start:>14} {frame.content_size:>10} {ratio:>7}  {checksum}"
        )


def _reading_json(table: SeekTable | None, plan: ReadPlan, *, frames: bool) -> dict[str, object]:
    data: dict[str, object] = {
        "frames": len(table) if table is not None else None,
        "plan": picked(plan, "ranges", "bytes_fetched", "bytes_decoded", "frames", "is_verified"),
    }
    if frames and table is not None:
        data["frame_list"] = [table[number]._asdict() for number in range(len(table))]
    return data
