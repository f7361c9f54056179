"""Save pictures of an archived film, each named by its time, or put all of them onto one sheet.

A picture is decoded from the keyframe before it, so the film is not read as a whole. The pictures are named
00-01-30.000.jpg and so on. The record is named as in `seekwarc cat`. A damaged place is reported, the other
pictures are made, and the exit status is 1.

This needs the package av: pip install 'seekwarc[media]'.

seekwarc pictures crawl.warc.zst --uri https://example.org/film.mp4 --every 30s -o pictures
seekwarc pictures crawl.warc.zst 3117 --every 1:00 --sheet film.png
"""

from __future__ import annotations

import argparse
from fractions import Fraction

from seekwarc.cli.arguments import add_flag, add_force_argument, add_value, folder, number
from seekwarc.cli.options import add_limit_argument, add_quiet_argument, values_of
from seekwarc.cli.payloads import add_payload_arguments, found_record
from seekwarc.cli.printing import done_json, picked, say
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option
from seekwarc.errors import SeekWarcError
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.inside.times import parse_time, time_text
from seekwarc.make.framing import MAX_ASKED, MAX_PICTURES, MAX_WIDTH, Saved, pictures
from seekwarc.read.record import Record

__all__ = ["add_arguments", "run"]


def _interval(text: str) -> Fraction:
    seconds = parse_time(text.removesuffix("s"))
    if not seconds:
        raise ValueError("pictures cannot be 0 seconds apart")
    return seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_payload_arguments(parser)
    text = "from one picture to the next: 30s, 0.5, 1:00"
    add_value(parser, "--every", "TIME", text, _interval, required=True)
    add_value(parser, "-o --output", "DIR", "folder for the pictures", folder)
    add_value(parser, "--sheet", "FILE", "a PNG with all pictures, their times under them")
    text = "width of the pictures in pixels (default: as in the film; 240 on the sheet)"
    add_value(parser, "--width", "N", text, number("width", 1, MAX_WIDTH))
    parser.add_argument("--format", choices=("jpg", "png"), default="jpg", help="default: jpg")
    add_limit_argument(parser, "pictures", MAX_PICTURES, MAX_ASKED)
    add_quiet_argument(parser)
    add_force_argument(parser, "replace existing files (default: refuse)")
    add_flag(parser, "--json", "print a JSON object for each picture, and one for the film")


def run(options: argparse.Namespace) -> int:
    if not options.output and not options.sheet:
        raise SeekWarcError("name a folder with -o, a sheet with --sheet, or both")
    with found_record(options) as found:
        record = found.record
        with found.placed():
            done = pictures(
                record.payload,
                options.output,
                form=options.format,
                existing=existing_option(options),
                on_picture=lambda saved: _print(options, record, saved),
                **values_of(options, "every", "sheet", "width", "limit"),
            )
        cost, length = found.cost(), record.length
    if not done.is_complete:
        say(f"only the first {done.pictures} pictures were made; --limit allows more")
    if options.json:
        fields = {
            "file": record.source,
            "target": options.output or options.sheet,
            "offset": record.offset,
            "uri": record.target_uri,
            "sheet": options.sheet,
            **picked(done, "pictures", "failed", "duration", target_size="size", complete="is_complete"),
            "length": length,
            **cost,
        }
        print(done_json(**fields, **({"status": "problems"} if done.failed else {})))
    elif not options.quiet:
        failed = f", {done.failed} failed" if done.failed else ""
        of = f", whose record has {human_size(length)}" if length else ""
        print(
            f"{counted(done.pictures, 'picture')}{failed}, {human_size(done.size)}; "
            f"{human_size(cost['bytes_fetched'])} were read of the archive{of}"
        )
    return found.status | bool(done.failed)


def _print(options: argparse.Namespace, record: Record, saved: Saved) -> None:
    if options.json:
        fields = {
            "file": record.source,
            "offset": record.offset,
            **picked(saved, "target", "wanted", "time", "keyframe", "size"),
            "error": saved.failure.as_json() if saved.failure is not None else None,
        }
        print(json_text(fields))
    elif saved.target is not None and not options.quiet:
        print(saved.target)
    if saved.failure is not None:
        say(f"{time_text(saved.wanted)}: {saved.failure.message}")
