"""Save what is intact in a damaged file: every whole record goes into a new .warc.zst.

The damaged file is never written to. What was lost is listed with its offsets. Exit status 1 means that
something was. `-` as SRC is standard input, which is first stored in a temporary file.

seekwarc recover broken.warc.zst saved.warc.zst
seekwarc recover cut.warc.gz saved.warc.zst --partial
"""

from __future__ import annotations

import argparse
import json

from seekwarc.cli.common import (
    add_force_argument,
    add_limit_arguments,
    add_writer_arguments,
    dictionary_at,
    existing_option,
    human_size,
    input_target,
    limit_options,
    output_target,
    printable,
    watch,
    writer_options,
)
from seekwarc.errors import SourceError
from seekwarc.format.words import counted
from seekwarc.storage.source import open_source
from seekwarc.tools.aside import searchable
from seekwarc.tools.recover import Recovery, recover

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("target", metavar="DST")
    parser.add_argument(
        "--partial",
        action="store_true",
        help="keep the beginning of a damaged record, with WARC-Truncated, up to its first damaged frame",
    )
    parser.add_argument(
        "--source-dictionary", metavar="FILE", help="the dictionary of SRC, should its own be damaged"
    )
    add_force_argument(parser)
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    add_writer_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    if not isinstance(output_target(options.target), str):
        raise SourceError("recovering takes records back that turn out damaged: name a file, not a pipe")
    limits = limit_options(options)
    dictionary = None
    if options.source_dictionary is not None:
        dictionary = dictionary_at(options.source_dictionary, **limits).dictionary
    with searchable(open_source(input_target(options.source))) as source:
        done = recover(
            source,
            options.target,
            partial=options.partial,
            existing=existing_option(options),
            source_dictionary=dictionary,
            limits=limits,
            watch=watch,
            **writer_options(options),
        )
    print(_json(done) if options.json else _text(done))
    return 1 if done.losses or done.suspect else 0


def _json(done: Recovery) -> str:
    return json.dumps(
        {
            "file": done.source,
            "records": done.records,
            "truncated": done.truncated,
            "lost_bytes": done.lost,
            "losses": [{name: getattr(loss, name) for name in loss.__slots__} for loss in done.losses],
            "suspect": [{"offset": offset, "id": record_id} for offset, record_id in done.suspect],
        }
    )


def _text(done: Recovery) -> str:
    lines = []
    for loss in done.losses:
        uri = f" ({printable(loss.uri)})" if loss.uri is not None else ""
        kept = f"; the first {human_size(loss.kept)} of its block were kept" if loss.kept is not None else ""
        lines.append(
            f"lost: {loss.offset} to {loss.end}, {human_size(loss.end - loss.offset)}{uri}: "
            f"{printable(loss.reason)}{kept}"
        )
    lines += [
        f"suspect: {offset} {printable(record_id)}: kept, but its WARC-Block-Digest is not that of the bytes"
        for offset, record_id in done.suspect
    ]
    truncated = f", and the beginnings of {done.truncated}" if done.truncated else ""
    lines.append(f"{counted(done.records, 'record')} saved{truncated}; {human_size(done.lost)} lost")
    return "\n".join(lines)
