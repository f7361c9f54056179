"""Make a new .warc.zst without chosen records, and say which others still mention these.

The other records are copied without compressing them again, and compared byte for byte before the new file
gets its name. With the records that match go the records concurrent to them (requests and metadata) and all
segments of segmented records; --no-closure keeps these. A revisit whose original would be removed is an
error, unless --with-revisits removes it, too. For each removed capture, a metadata record (a stub) is added
that says when and why. If the file has a dictionary, which may hold fragments of what is removed, the other
records are compressed again without one.

Offsets change: an --index is made again in the same run, other indexes of FILE afterwards. Copies of FILE are
not searched. Exit status 1 means that records of the new file still mention what was removed, or that FILE is
damaged, or that nothing matches.

seekwarc redact crawl.warc.zst --uri '*://example.org/private/*' --reason 'request 17' -o rest.warc.zst
seekwarc redact crawl.warc.zst --ids ids.txt --no-stubs --in-place --index crawl.cdxj
seekwarc redact crawl.warc.zst --hosts hosts.txt --dry-run
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import printable, report_done, say
from seekwarc.cli.progress import watch
from seekwarc.cli.selecting import add_list_arguments, add_selection_arguments, choice_of
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted
from seekwarc.tools.redacting import Redaction, redact

__all__ = ["add_arguments", "run"]

MAX_PRINTED = 10
"""Mentions that are printed one by one; --json has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=".warc.zst; .warc.gz or .warc with -o")
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    add_flag(parser, "--in-place", text="replace FILE with the new file, once that is complete and compared")
    add_selection_arguments(parser)
    add_list_arguments(parser)
    parser.add_argument(
        "--index",
        action="append",
        default=[],
        metavar="CDXJ",
        help="an index of FILE, which is replaced together with it",
    )
    add_flag(parser, "--no-closure", text="remove the records that match, and no others")
    add_flag(parser, "--with-revisits", text="remove revisits whose originals are removed, too")
    parser.add_argument("--reason", metavar="TEXT", help="why, for the stubs")
    add_flag(parser, "--no-stubs", text="leave nothing in place of removed records")
    add_flag(parser, "--no-uri", text="do not name the target URIs of removed records in the stubs")
    text = "copy frames with the dictionary of the file, which may hold fragments of what is removed"
    add_flag(parser, "--keep-dictionary", text=text)
    add_flag(parser, "-n", "--dry-run", text="write nothing; say what would be removed")
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if not options.dry_run and (options.output is None) != options.in_place:
        raise SeekWarcError("name the new file with -o, or use --in-place")
    if "-" in (options.output, options.file):
        raise SeekWarcError(
            "the file is read more than once, so neither it nor OUT can be a pipe: name files"
        )
    done = redact(
        options.file,
        options.output,
        in_place=options.in_place,
        indexes=options.index,
        reason=options.reason,
        stubs=not options.no_stubs,
        stub_uris=not options.no_uri,
        closure=not options.no_closure,
        with_revisits=options.with_revisits,
        keep_dictionary=options.keep_dictionary,
        dry_run=options.dry_run,
        existing=existing_option(options),
        limits=limit_options(options),
        on_progress=watch,
        **choice_of(options),
    )
    for mention in done.mentions[:MAX_PRINTED]:
        kind = printable(mention.type)
        say(f"offset {mention.offset}: this {kind} record mentions a removed {mention.what}: {mention.text}")
    if len(done.mentions) > MAX_PRINTED:
        say(f"and {counted(len(done.mentions) - MAX_PRINTED, 'further mention')}; --json lists all")
    target = options.file if options.in_place else options.output
    fields = {"file": options.file, "target": target, "dry_run": options.dry_run, **asdict(done)}
    report_done(options, _text(done, target, is_dry=options.dry_run), fields)
    return int(bool(done.mentions))


def _text(done: Redaction, target: str | None, *, is_dry: bool) -> str:
    revisits = f", {counted(done.revisits, 'revisit')} among them" if done.revisits else ""
    counts = f"{done.matched} of {counted(done.read, 'record')} matched, {done.removed} removed{revisits}"
    if is_dry:
        return counts.replace("removed", "to be removed", 1)
    size = human_size(done.target_size)
    kept = f"{counted(done.records, 'record')} kept and compared, {counted(done.stubs, 'stub')}"
    copied = f"{human_size(done.bytes_copied)} of frames copied"
    content = f"{human_size(done.bytes_recompressed)} of content recompressed"
    lines = [counts, f"{target}: {kept}: {size}", f"{copied}, {content}", *map(str, done.recompressed)]
    return "\n".join(map(printable, lines))
