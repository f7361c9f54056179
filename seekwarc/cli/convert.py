"""Copy a WARC file into another compression, without changing a byte of what it holds.

SRC is a .warc, .warc.gz or .warc.zst, told apart by its content; what DST becomes follows from its name,
or from --to. A DST that is there is refused unless --force is given. Before it gets its name it is
decompressed and compared with SRC. `-` is standard input or standard output.

With a dictionary, what it saves is measured on some of the records. `--dictionary train` makes one of records
of SRC, which is then read twice, and measures on others.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from typing import Any, BinaryIO

from seekwarc.archive.files import is_special
from seekwarc.archive.output import PathOutput
from seekwarc.archive.writer import Writer
from seekwarc.cli.common import (
    STANDARD_OUTPUT,
    TRAIN,
    add_force_argument,
    add_limit_arguments,
    add_writer_arguments,
    existing_option,
    human_size,
    input_target,
    limit_options,
    output_target,
    report,
    watch,
    writer_options,
)
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import DEFAULT_LEVEL
from seekwarc.frames.units import Compression
from seekwarc.tools.convert import Conversion, convert, refuse_same_file
from seekwarc.tools.train import Gain, GainMeter, train

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("target", metavar="DST")
    parser.add_argument(
        "--to", choices=("zst", "gz", "none"), help="compression of DST (default: by its name)"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not decompress DST to compare it")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    add_force_argument(parser)
    add_writer_arguments(parser, train=True)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    source, target = input_target(options.source), output_target(options.target)
    compression = _compression(options)
    level = DEFAULT_LEVEL if options.level is None else options.level
    limits = limit_options(options)
    trains = options.dictionary == TRAIN
    if trains:
        options.dictionary = None
    settings = writer_options(options)
    gains: tuple[Gain, ...] = ()
    if trains:
        _check_before_training(options, compression, settings)
        training = train([source], level=level, watch=watch, **limits)
        settings["dictionary"], gains = training.dictionary, training.gains
    dictionary = settings.get("dictionary")
    meter = GainMeter() if dictionary is not None and not trains else None
    done = convert(
        source,
        target,
        compression,
        verify=not options.no_verify,
        existing=existing_option(options),
        watch=watch,
        see=meter.see if meter is not None else None,
        limits=limits,
        **settings,
    )
    if meter is not None:
        gains = meter.gains(settings["dictionary"], level)
    shown = _json if options.json else _text
    report(shown(done, dictionary, gains), target=options.target)
    return 0


def _check_before_training(
    options: argparse.Namespace, compression: Compression, settings: dict[str, Any]
) -> None:
    """Refuse what would be refused anyway, but not after a long training."""
    if compression != "zst":
        raise SeekWarcError(f"a file of compression {compression!r} takes no dictionary")
    if _is_pipe(input_target(options.source)):
        raise SourceError(
            f"{options.source}: a pipe cannot be read twice, to train and to convert; store it in a file, or "
            "make a dictionary of other files with `seekwarc train`"
        )
    Writer(io.BytesIO(), **settings).abort()
    target = options.target
    refuse_same_file(options.source, target)
    if isinstance(output_target(target), str) and not is_special(target):
        PathOutput(target, existing=existing_option(options)).discard()


def _is_pipe(source: str | BinaryIO) -> bool:
    if isinstance(source, str):
        return os.path.exists(source) and not (os.path.isfile(source) or os.path.isdir(source))
    return not source.seekable()


def _compression(options: argparse.Namespace) -> Compression:
    if options.to is not None:
        chosen: Compression = options.to
        return chosen
    name = options.target.lower()
    if name.endswith(".gz"):
        return "gz"
    if name.endswith(".warc"):
        return "none"
    if name.endswith((".zst", ".zstd")) or name in STANDARD_OUTPUT:
        return "zst"
    raise SeekWarcError(f"{options.target}: name it .warc.zst, .warc.gz or .warc, or say --to")


def _json(done: Conversion, dictionary: Dictionary | None, gains: tuple[Gain, ...]) -> str:
    data = {field: getattr(done, field) for field in done.__slots__}
    for gain in gains:
        if dictionary is not None:
            data["dictionary"] = {
                "id": dictionary.id,
                "size": len(dictionary.data),
                "stored_size": len(dictionary.compressed),
                "measured": gain.measured,
                "size_without": gain.size_without,
                "size_with": gain.size_with,
                "saving": gain.saving,
            }
    return json.dumps(data)


def _text(done: Conversion, dictionary: Dictionary | None, gains: tuple[Gain, ...]) -> str:
    share = done.target_size / done.source_size if done.source_size else 0
    checked = "the new file holds the same" if done.verified else "not checked"
    lines = [
        (
            f"{counted(done.records, 'record')}, {human_size(done.content_size)}: "
            f"{human_size(done.source_size)} became {human_size(done.target_size)} ({share:.1%})"
        ),
        f"sha256 of the content: {done.sha256} ({checked})",
    ]
    if dictionary is not None:
        lines.append(
            f"dictionary {dictionary.id}: {human_size(len(dictionary.data))}, "
            f"{human_size(len(dictionary.compressed))} in the file"
        )
        lines += [_gain_text(gain, len(dictionary.compressed)) for gain in gains]
    return "\n".join(lines)


def _gain_text(gain: Gain, cost: int) -> str:
    if gain.share is None:
        return "there are too few records to measure what it saves"
    net = gain.saving - cost
    text = (
        f"{counted(gain.measured, 'record')} measured: {human_size(gain.size_without)} without it, "
        f"{human_size(gain.size_with)} with it ({gain.share:.1%}); "
    )
    if net > 0:
        return text + f"it makes the file about {human_size(net)} smaller"
    return text + f"it makes the file about {human_size(-net)} larger: convert without it"
