"""Write resources that were captured in parts (206 Partial Content) as one record each.

  seekwarc join proxy-1.warc.gz proxy-2.warc.gz -o films.warc.zst

Proxies and browsers hold films as many answers, each with a range. Parts belong together if they have the
same URI (without range parameters), Content-Encoding, size of the whole and strong ETag; without an ETag, the
same Last-Modified and captures within an hour, which is said ("not proved"). Bytes that several parts have
are compared before a film is written. A film of which bytes are missing is left out. So is one whose parts
differ or are damaged; the exit status is then 1, as it is if nothing was joined. `cat --joined` and `serve`
read parts as one without this.

Damaged parts are not used. A FILE that cannot be opened or is not an archive stops all, or is left out with
--keep-going, which is said, and makes the exit status 1.

seekwarc join crawls/ --dry-run
seekwarc join crawls/ --uri https://example.org/film.mp4 -o film.warc.zst
"""

from __future__ import annotations

import argparse
from contextlib import closing, nullcontext
from dataclasses import asdict

from seekwarc.cli.arguments import add_json_argument, add_output_arguments, add_parts_argument, add_value
from seekwarc.cli.options import (
    add_dry_run_argument,
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    add_writer_arguments,
    limit_options,
    writer_options,
)
from seekwarc.cli.passing import LEFT_OUT, PassedOver
from seekwarc.cli.printing import printable, say
from seekwarc.cli.progress import WatchedStream, progress_bar, progress_is_seen, watch
from seekwarc.cli.selecting import add_host_argument
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option
from seekwarc.edit.joining import JoinedResource, Joining, join
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Status
from seekwarc.storage.streams import ReadableStream

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    add_value(parser, "--uri", "URI", "join only this resource; may be given several times", repeat=True)
    add_host_argument(parser)
    add_dry_run_argument(parser, "joined, without comparing anything")
    add_keep_going_argument(parser, LEFT_OUT)
    add_quiet_argument(parser)
    add_parts_argument(parser)
    add_json_argument(parser)
    add_writer_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if options.output is None and not options.dry_run:
        raise SeekWarcError("name the new file with -o, or use --dry-run")
    if "-" in (options.output, *options.files):
        raise SeekWarcError("parts are read in any order, so neither they nor OUT can be a pipe: name files")
    shown = closing(progress_bar(None, "joining")) if progress_is_seen(options) else nullcontext()
    with PassedOver(options) as passed, shown as bar:

        def watched(stream: ReadableStream, size: int) -> ReadableStream:
            if bar is None:
                return stream
            bar.total = (bar.total or 0) + size
            return WatchedStream(stream, bar.update)

        done = join(
            options.files,
            options.output,
            uris=options.uri,
            dry_run=options.dry_run,
            host=options.host,
            existing=existing_option(options),
            processes=options.jobs,
            limits=limit_options(options),
            on_error=passed.on_error,
            on_progress=watch(options),
            on_stream=watched,
            **writer_options(options),
        )
    problems = [f"{it.uri}: {it.problem}" for it in done.resources if it.is_damaged]
    if not done.joined and not problems:
        problems = ["no resource can be assembled from parts"]
    fields = {
        "files": options.files,
        "target": options.output,
        "dry_run": options.dry_run,
        "target_size": done.target_size,
        "joined": done.joined,
        "not_found": done.not_found,
        "resources": [asdict(it) for it in done.resources],
    }
    status = Status.PROBLEMS if problems else Status.DONE
    for problem in [*done.not_found, *problems]:
        say(problem)
    return passed.report(_text(done), {"status": status, **fields}, done.files) | int(bool(problems))


def _text(done: Joining) -> str:
    lines = [*map(_line, done.resources), f"{counted(done.joined, 'resource')} joined"]
    if done.target_size is not None:
        lines[-1] += f": {human_size(done.target_size)}"
    return "\n".join(map(printable, lines))


def _line(resource: JoinedResource) -> str:
    proof = "" if resource.is_proved else ", not proved"
    what = f"{human_size(resource.size):>10} of {counted(resource.parts, 'part')}{proof}: {resource.uri}"
    return what if resource.problem is None else f"{what}: left out: {resource.problem}"
