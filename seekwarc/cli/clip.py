"""Cut a part out of an archived film or sound, reading only what it needs.

The packets of the part are copied as they are, from the last keyframe before it on; how much earlier that is
is said. With `--exact` the part is encoded again and begins and ends exactly there. The ending of the new
file's name chooses the format (.mp4, .mkv, .webm, .mp3, .ogg, .wav, .flac); `-o -` has that of the film. The
record is named as in `seekwarc cat`. Nothing that a film names is opened: a playlist is refused.

This needs the package av: pip install 'seekwarc[media]'.

seekwarc clip crawl.warc.zst --uri https://example.org/film.mp4 --from 1:02:00 --to 1:02:10 -o cut.mp4
seekwarc clip crawl.warc.zst 3117 --from 75.5 --to 80 --exact -o cut.webm
seekwarc clip --index crawl.cdxj --uri https://example.org/film.mp4 --from 0 --to 5 -o - | mpv -
"""

from __future__ import annotations

import argparse

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value
from seekwarc.cli.options import add_quiet_argument
from seekwarc.cli.payloads import add_payload_arguments, found_record
from seekwarc.cli.printing import picked, report_done
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, output_target
from seekwarc.errors import RangeError
from seekwarc.inside.times import parse_time, time_text
from seekwarc.write.clips import clip

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_payload_arguments(parser)
    text = "where the part begins: seconds (75.5), minutes (1:15) or hours (1:02:10.25)"
    add_value(parser, "--from", "TIME", text, parse_time, dest="start", required=True)
    add_value(parser, "--to", "TIME", "where it ends, as for --from", parse_time, dest="stop", required=True)
    add_flag(parser, "--exact", "encode the part, to begin and end exactly there (default: copy it)")
    add_output_arguments(parser, "FILE", "the new file; - for standard output")
    add_quiet_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    target = output_target(options.output)
    if options.start >= options.stop:
        raise RangeError(f"--to is {time_text(options.stop)}, not after --from, {time_text(options.start)}")
    with found_record(options) as found:
        record = found.record
        with found.placed():
            done = clip(
                record.payload,
                options.start,
                options.stop,
                target,
                exact=options.exact,
                existing=existing_option(options),
            )
        cost, length = found.cost(), record.length
    how = "encoded" if done.is_exact else "copied"
    of = f", whose record has {human_size(length)}" if length else ""
    early = f", {done.early:.3f} s before {time_text(options.start)}" if done.early else ""
    text = (
        f"{how} {time_text(done.begin)} to {time_text(done.end)}{early}: {', '.join(done.codecs)} in "
        f"{done.format}, {human_size(done.size)}; {human_size(cost['bytes_fetched'])} were read of the "
        f"archive{of}"
    )
    fields = {
        "file": record.source,
        "target": options.output,
        "offset": record.offset,
        "uri": record.target_uri,
        **picked(done, "start", "begin", "stop", "end", "early", "format", "codecs", "packets"),
        "exact": done.is_exact,
        "target_size": done.size,
        "payload_size": record.payload.known_size,
        "payload_read": done.bytes_read,
        "length": length,
        **cost,
    }
    report_done(options, text, fields)
    return found.status
