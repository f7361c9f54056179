"""Copy chosen records, and what belongs to them, into a new .warc.zst without compressing them again.

With the records that match come the warcinfo records that they name, records concurrent to them (requests and
metadata), all segments of segmented records, and the originals of revisits, as far as FILE... hold them;
--no-closure leaves these out. --max-size makes a series (part-00000.warc.zst and so on), no file of which is
ever larger. Frames are copied from every .warc.zst that has the dictionary of the first file; other records
are compressed again. The lines of an INDEX (.cdxj, .idx, .parquet) are searched, and nothing is read of its
files but what is copied; requests, metadata and further segments do not come along then. A damaged record is
reported and left out, and a FILE that cannot be opened or is not an archive stops all, or is left out with
--keep-going, and with it the originals of revisits in it. Both make the exit status 1.

seekwarc filter crawls/ --hosts sites.txt -o sites.warc.zst
seekwarc filter crawl.warc.zst --mime 'video/*' --min-size 1M -o films.warc.zst
seekwarc filter crawl.warc.zst --not-hosts blocked.txt --max-size 1G -o part.warc.zst
seekwarc filter crawls/ --status 404 --dry-run
seekwarc filter crawl.cdxj --files https://example.org/warcs --uri '*.pdf' -o papers.warc.zst
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_output_arguments, add_value
from seekwarc.cli.copying import add_rest_of_copy_arguments, copy_options, damage_json
from seekwarc.cli.options import limit_options
from seekwarc.cli.passing import PassedOver
from seekwarc.cli.printing import copied_text, piece_json, piece_text, printable
from seekwarc.cli.selecting import add_list_arguments, add_selection_arguments, choice_of
from seekwarc.cli.sizes import human_size
from seekwarc.edit.filtering import Filtering, filter  # noqa: A004 - the name of the verb
from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.format.words import counted

__all__ = ["add_arguments", "run"]

RELATIONS = {
    "warcinfo": "warcinfo",
    "concurrent": "concurrent",
    "segment": "of the same segmented records",
    "original": "that revisits refer to",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE|FOLDER|INDEX", nargs="+", help="WARC files, or indexes of them"
    )
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    add_selection_arguments(parser)
    add_list_arguments(parser)
    add_value(parser, "--files", "DIR|URL", "where the files are that an index names", dest="base")
    add_flag(parser, "--no-closure", "copy the records that match, and no others")
    add_value(parser, "--max-size", "SIZE", "maximum size of a file, such as 1G", parse_size)
    add_rest_of_copy_arguments(parser, "copied")


def run(options: argparse.Namespace) -> int:
    if options.output is None and not options.dry_run:
        raise SeekWarcError("name the new file with -o, or use --dry-run")
    if "-" in (options.output, *options.files):
        raise SeekWarcError("the files are read twice, so neither they nor OUT can be a pipe: name files")
    with PassedOver(options) as passed:
        done = filter(
            options.files,
            options.output,
            files=options.base,
            closure=not options.no_closure,
            max_size=options.max_size,
            limits=limit_options(options),
            **copy_options(options, passed),
            **choice_of(options),
        )
    fields = {
        **asdict(done),
        "files": options.files,
        "target": options.output,
        "dry_run": options.dry_run,
        "pieces": [*map(piece_json, done.pieces)],
        "damaged": damage_json(done.damaged),
    }
    return passed.report(_text(done), fields, done.files) | int(bool(done.damaged))


def _text(done: Filtering) -> str:
    belonging = [f"{count} {RELATIONS[name]}" for name, count in done.belonging.items() if count]
    match = "matches" if done.matched == 1 else "match"
    chosen = f"{done.matched} of {counted(done.read, 'record')} {match}"
    chosen += f"; with {', '.join(belonging)}" if belonging else ""
    lines = [f"{chosen}: {human_size(done.size)}"]
    if done.dangling:
        lines.append(f"{counted(done.dangling, 'revisit')} kept whose original is not in the input")
    if done.pieces:
        lines += [*map(piece_text, done.pieces), copied_text(done)]
    lines += map(str, done.recompressed)
    return "\n".join(map(printable, lines))
