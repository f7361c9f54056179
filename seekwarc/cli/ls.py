"""List the records of a WARC file, one a line: offset, length, type, date, size, frames, URI.

Offset and length are where the record lies in the file, as CDX has them; size is the length of its block.
The blocks of large records are not decompressed. `-` is standard input.
"""

from __future__ import annotations

import argparse
import json
import sys

from seekwarc.archive.index import settled
from seekwarc.archive.record import Record
from seekwarc.cli.common import add_limit_arguments, limit_options, open_archive, printable

__all__ = ["add_arguments", "run"]

HEADER = f"{'OFFSET':>12} {'LENGTH':>12} {'TYPE':<12} {'DATE':<20} {'SIZE':>12} {'FRAMES':>6}  URI"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each record, one a line")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    head = "" if options.json else HEADER + "\n"
    is_damaged = False
    for name in options.files:
        with open_archive(name, **limit_options(options)) as archive:
            for record in settled(archive):
                line = _json(name, record) if options.json else _line(record)
                sys.stdout.write(head + line + "\n")
                head = ""
                is_damaged |= record.is_cut_off
    return int(is_damaged)


def _frames(record: Record) -> int | None:
    frames = record.layout.frames
    return sum(1 for size in frames.content_sizes if size) if frames is not None else None


def _line(record: Record) -> str:
    frames = _frames(record)
    return (
        f"{record.offset:>12} {record.length:>12} {printable(record.type):<12} "
        f"{printable(record.header.get('WARC-Date')):<20} {record.content_length:>12} "
        f"{'-' if frames is None else frames:>6}  {printable(record.target_uri)}"
    )


def _more(record: Record) -> dict[str, object]:
    """Return what not every record has to say."""
    header = record.header
    return {
        "payload_digest": header.get("WARC-Payload-Digest"),
        "truncated": record.truncated,
        "concurrent_to": record.concurrent_to,
        "refers_to": record.refers_to_id,
        "profile": record.profile,
        "segment_number": header.get("WARC-Segment-Number"),
        "segment_origin_id": record.segment_origin_id,
    }


def _json(name: str, record: Record) -> str:
    return json.dumps(
        {
            "file": name,
            "offset": record.offset,
            "length": record.length,
            "type": record.type,
            "id": record.id,
            "date": record.header.get("WARC-Date"),
            "uri": record.target_uri,
            "content_type": record.content_type,
            "size": record.content_length,
            "frames": _frames(record),
            **{key: value for key, value in _more(record).items() if value},
        }
    )
