"""Make new .warc.zst files without chosen records, and say what still mentions these.

  seekwarc redact crawl.warc.zst --uri '*://example.org/private/*' --reason 'request 17' -o rest.warc.zst

  seekwarc redact crawls/ --ids ids.txt --no-stubs --in-place --index crawls.cdxj

  seekwarc redact crawls/ --hosts hosts.txt --to-dir rest/

  seekwarc redact crawls/ --hosts hosts.txt --in-place --backup old/ --delete-empty

The other records are copied without compressing them again, and compared byte for byte before a new file gets
its name: with several FILEs, all are made or none. With the records that match go the records concurrent to
them (requests and metadata) and all segments of segmented records; --no-closure keeps these. A revisit whose
original would be removed is an error, unless --with-revisits removes it, too, or --promote keeps its payload.
For each removed capture, a metadata record (a stub) is added that says when and why. A URI means all its
spellings (/%7Ea, /~a); others that count as the same in an index are kept, and named. If a file has a
dictionary, which may hold fragments of what is removed, the other records are compressed again without it.

A FILE of which nothing would be left but warcinfo records is listed. With --to-dir it gets no new file; with
--in-place it keeps these records and gets the stubs, or is deleted with --delete-empty. --backup keeps each
old file that is replaced or deleted.

The report says what was asked, which records were removed from which file, what still mentions them, which
files were not searched, and the SHA-256 of each file before and after; --dry-run prints the same beforehand,
and why a run would be refused. Payloads of other captures, such as pages with links, are not searched.

Offsets change: an --index (.cdxj, .idx, .parquet) is made again in the same run, other indexes of FILE
afterwards; with --in-place, those beside FILE (FILE.cdxj, FILE.fts) are listed as not searched. NAME.seek is
made again, too. Copies of FILE are not searched. Exit status 1 means that something still mentions what was
removed, or may, or that a FILE is damaged, or that nothing matches.

If a FILE cannot be read, or is damaged, nothing is written. With --keep-going it is passed over: it stays as
it is, and no new file is made of it. It was not searched, so it may hold what was to be removed; that is said
of each, and the exit status is 1. Its revisits may lose the originals that are removed from other files. Make
a sound file of it (`seekwarc recover`), and redact all files together.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import cast

from seekwarc.cli.arguments import (
    add_flag,
    add_json_argument,
    add_output_arguments,
    add_parts_argument,
    add_value,
    folder,
)
from seekwarc.cli.batch import targets_of
from seekwarc.cli.options import (
    add_dry_run_argument,
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    add_to_dir_arguments,
    limit_options,
    values_of,
)
from seekwarc.cli.passing import OR_DAMAGED, PassedOver, outside_wacz
from seekwarc.cli.printing import copied_text, printable, say
from seekwarc.cli.progress import watch
from seekwarc.cli.selecting import add_list_arguments, add_selection_arguments, choice_of
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option
from seekwarc.edit.redacting import Redaction, RemovedRecord, redact
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Status

__all__ = ["add_arguments", "run"]

REFUSED = 2
"""Exit status of a dry run if the run would be refused."""
MAX_PRINTED = 10
"""Mentions that are printed one by one; --json has all."""

SAME = (
    *("in_place", "delete_empty", "backup", "dry_run"),
    *("reason", "with_revisits", "promote", "keep_dictionary", "retrain"),
)
"""Options that `redact` has under the same names."""
NOT_SEARCHED = ", not searched: what was to be removed may still be there"
"""What is said of a FILE that is passed over."""
AN_INDEX = "an index of what was there before; make it again with `seekwarc index`, or name it with --index"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = ".warc.zst; with -o or --to-dir also .warc.gz and .warc"
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=text)
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    add_to_dir_arguments(parser, "a new .warc.zst for each FILE")
    add_flag(parser, "--in-place", "replace each FILE with a new file, once all are complete and compared")
    add_flag(parser, "--delete-empty", "with --in-place: delete files of which only warcinfo would be left")
    text = "with --in-place: keep the old files in this folder, as a tree"
    add_value(parser, "--backup", "DIR", text, folder)
    add_selection_arguments(parser)
    add_list_arguments(parser)
    text = "an index of the files, which is replaced together with them"
    add_value(parser, "--index", "INDEX", text, repeat=True, default=[])
    add_flag(parser, "--no-closure", "remove the records that match, and no others")
    add_flag(parser, "--with-revisits", "remove revisits whose originals are removed, too")
    text = "let them refer to another capture of the payload, or give it to the first of them"
    add_flag(parser, "--promote", text)
    add_value(parser, "--reason", "TEXT", "why, for the stubs and the report")
    add_flag(parser, "--no-stubs", "leave nothing in place of removed records")
    add_flag(parser, "--no-uri", "do not name the target URIs of removed records in the stubs")
    text = "copy frames with the dictionary of the file, which may hold fragments of what is removed"
    add_flag(parser, "--keep-dictionary", text)
    text = "compress again with a new dictionary, trained on what is kept"
    add_flag(parser, "--retrain", text)
    add_dry_run_argument(parser, "removed")
    add_keep_going_argument(parser, OR_DAMAGED)
    add_quiet_argument(parser)
    add_parts_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    _check(options)
    sources, target = targets_of(options)
    with PassedOver(options, NOT_SEARCHED) as passed:
        if options.in_place:
            found = len(sources)
            sources = outside_wacz(sources, passed, "which is not changed; use --to-dir for it")
            has_tree = options.backup is not None and len(sources) == found
        done = redact(
            # A backup has the tree of the folders that are named.
            options.files if options.in_place and has_tree else sources,
            cast("str | list[str] | None", target),
            indexes=options.index,
            stubs=not options.no_stubs,
            stub_uris=not options.no_uri,
            closure=not options.no_closure,
            existing=existing_option(options),
            processes=options.jobs,
            limits=limit_options(options),
            on_error=passed.on_error,
            on_progress=watch(options),
            **values_of(options, *SAME),
            **choice_of(options),
        )
    if isinstance(target, list):
        # A folder that was made for files that are left out.
        for folder in {os.path.dirname(it) for it in target} - {options.to_dir}:
            with suppress(OSError):
                os.rmdir(folder)
    for it in done.mentions[:MAX_PRINTED]:
        kind = it.type if it.type in ("line", "dictionary") else f"{printable(it.type)} record"
        verb = "holds a part of" if it.type == "dictionary" else "mentions"
        say(f"{it.file}, offset {it.offset}: this {kind} {verb} a removed {it.what}: {it.text}")
    if len(done.mentions) > MAX_PRINTED:
        say(f"and {counted(len(done.mentions) - MAX_PRINTED, 'further mention')}; --json lists all")
    for refusal in done.refusals:
        say(refusal)
    name = options.output or options.to_dir
    fields = {**asdict(done), "files": sources, "target": name, "dry_run": options.dry_run}
    if done.refusals:
        fields["status"] = Status.PROBLEMS
    first, lines = _text(done, name, is_dry=options.dry_run), [*_report(done, is_dry=options.dry_run)]
    lines += [f"not searched: {it['file']}: {it['message']}" for it in passed.files]
    lines += [f"not searched: {it}: {AN_INDEX}" for it in done.indexes_beside]
    status = passed.report("\n".join([first, *map(printable, lines)]), fields, done.files) | int(
        bool(done.mentions or done.indexes_beside)
    )
    return REFUSED if done.refusals else status


def _check(options: argparse.Namespace) -> None:
    if (
        not options.dry_run
        and sum((options.output is not None, options.to_dir is not None, options.in_place)) != 1
    ):
        raise SeekWarcError("name the new file with -o, or a folder with --to-dir, or use --in-place")
    if options.no_stubs and options.no_uri:
        raise SeekWarcError("--no-uri is for the stubs, which --no-stubs leaves out")
    if "-" in (options.output, *options.files):
        raise SeekWarcError(
            "the files are read more than once, so neither they nor OUT can be a pipe: name files"
        )


def _report(done: Redaction, *, is_dry: bool) -> Iterator[str]:
    """Yield what was asked, what became of each file, and what still mentions the removed records."""
    would = "would be " if is_dry else ""
    for name, value in done.asked.items():
        if value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            yield f"asked: {name.replace('_', ' ')}: {', '.join(map(str, values))}"
    removed: dict[str, list[RemovedRecord]] = {}
    for record in done.removed_records:
        removed.setdefault(record.file, []).append(record)
    for it in done.file_reports:
        is_same = it.outcome == "unchanged"
        yield (
            f"{it.file}: {'' if is_same else would}{it.outcome}: {counted(it.removed, 'record')} removed, "
            f"{it.records} kept"
        )
        yield f"  before: {it.size_before} bytes, SHA-256 {it.sha256_before}"
        if it.sha256_after is not None:
            yield f"  after: {it.size_after} bytes, SHA-256 {it.sha256_after}"
        if it.backup is not None:
            yield f"  {'to be kept' if is_dry else 'kept'} as {it.backup}"
        if it.outcome == "left out" and it.target is not None:
            yield f"  {'to be deleted' if is_dry else 'deleted'}: {it.target}, of an earlier run"
        for record in removed.get(it.file, ()):
            yield (
                f"  {'to be removed' if is_dry else 'removed'}: {record.type} {record.uri or '-'}, "
                f"{record.date}, {record.id}, {counted(record.size, 'byte')} "
                f"({record.stored_size} stored at offset {record.offset})"
            )
    if done.empty_files:
        yield f"nothing but warcinfo {'would be ' if is_dry else ''}left of: {', '.join(done.empty_files)}"
    groups = [counted(number, *_nouns(kind)) for kind, number in done.mentioned_by.items()]
    yield f"still mentioned by: {', '.join(groups) or 'nothing that was searched'}"


def _nouns(kind: str) -> tuple[str, str]:
    if kind in ("link", "index line", "revisit", "response", "request", "resource", "conversion"):
        return kind, f"{kind}s"
    return (kind, "dictionaries") if kind == "dictionary" else (f"{kind} record", f"{kind} records")


def _text(done: Redaction, target: str | None, *, is_dry: bool) -> str:
    revisits = f", {counted(done.revisits, 'revisit')} among them" if done.revisits else ""
    counts = f"{done.matched} of {counted(done.read, 'record')} matched, {done.removed} removed{revisits}"
    lines = [counts.replace("removed", "to be removed", 1) if is_dry else counts]
    if done.promoted or done.repointed:
        promoted = f"{counted(done.promoted, 'revisit')} made full records"
        lines.append(f"{promoted}, {done.repointed} referred to another record")
    if not is_dry:
        size = f"{counted(done.written, 'file')} written" if target is None else target
        kept = f"{counted(done.records, 'record')} kept and compared, {counted(done.stubs, 'stub')}"
        lines += [f"{size}: {kept}: {human_size(done.target_size)}", copied_text(done)]
    others = [f"{uri} ({counted(count, 'record')})" for uri, count in done.others.items()]
    if done.further_others:
        others.append(counted(done.further_others, "more URI"))
    if others:
        lines.append(f"also here, with the same key, and left: {', '.join(others)}")
    return "\n".join(map(printable, [*lines, *map(str, done.recompressed)]))
