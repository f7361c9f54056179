"""What several verbs share: progress, sizes, ranges, finding a record."""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import closing
from typing import Any, BinaryIO, Final, Unpack

from seekwarc.errors import NotFoundError, RangeError, SeekWarcError, SourceError, TargetError
from seekwarc.frames.decoder import WINDOW_LIMITS
from seekwarc.frames.dictionary import StoredDictionary, read_dictionary
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.tools.progress import ProgressSource
from seekwarc.write.files import Existing

__all__ = [
    "TRAIN",
    "add_index_limits",
    "add_limit_arguments",
    "add_record_arguments",
    "add_writer_arguments",
    "counts_from_end",
    "dictionary_at",
    "done_json",
    "existing_option",
    "human_size",
    "index_limits",
    "input_target",
    "limit_options",
    "open_archive",
    "output_target",
    "parse_range",
    "parse_size",
    "printable",
    "progress_is_seen",
    "report",
    "split_offset",
    "wanted_record",
    "watch",
    "writer_options",
]

TRAIN: Final = "train"
"""Given instead of a dictionary file: train one on the records that are converted."""

MAX_NEAR: Final = 3
"""Similar URIs that are named when one is not found."""
STANDARD_OUTPUT: Final = frozenset(("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))
"""Names of standard output. Opened by path, a file that it is redirected to would be replaced."""

_SLICE = r"(-?[0-9]{1,18})?:(-?[0-9]{1,18})?"
_START_AND_LENGTH = r"([0-9]{1,18})\+([0-9]{1,18})"
_HTTP_RANGE = r"(?:bytes=)?(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))"
_SIZE = r"([0-9]{1,15})([kKmMgG]i?[bB]?|[bB])?"
# Control characters, bytes that were not UTF-8, and invisible or direction-changing characters.
_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"


def printable(text: str | None) -> str:
    """Make archived text safe for a terminal: control characters are shown, not obeyed."""
    if text is None:
        return "-"
    return re.sub(_UNPRINTABLE, lambda match: match[0].encode("unicode_escape").decode(), text)


def human_size(size: float) -> str:
    """Format a number of bytes for people, such as 1.5 MiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def parse_size(text: str) -> int:
    """Parse a size such as 65536, 64K or 1MiB (all powers of 1024), for argparse."""
    match = re.fullmatch(_SIZE, text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 65536, 64K or 1M")
    unit = (match[2] or "B")[0].upper()
    return int(match[1]) << {"B": 0, "K": 10, "M": 20, "G": 30}[unit]


def parse_range(text: str, size: int) -> tuple[int, int]:
    """Turn a range as users write it into [start, stop) within `size` bytes.

    It is START:STOP as a Python slice, START+LENGTH, or FIRST-LAST (FIRST-, -LENGTH) as curl and HTTP have
    it, where the last byte is included, with or without `bytes=`.

    Raises:
        RangeError: `text` has another form.
    """
    if match := re.fullmatch(_START_AND_LENGTH, text):
        start = min(int(match[1]), size)
        return start, min(start + int(match[2]), size)
    if match := re.fullmatch(_SLICE, text):
        bounds = slice(*(int(group) if group else None for group in match.groups()))
        start, stop, _ = bounds.indices(size)
        return start, max(start, stop)
    if match := re.fullmatch(_HTTP_RANGE, text):
        first, last, suffix = (int(group) if group else None for group in match.groups())
        if suffix is not None:
            return max(size - suffix, 0), size
        if first is not None and (last is None or first <= last):
            return min(first, size), size if last is None else min(last + 1, size)
    raise RangeError(
        f"{text!r} is not a range: write START:STOP as a Python slice (1000:2000, :100, -4096:), "
        "START+LENGTH, or FIRST-LAST as curl does (0-99)"
    )


def counts_from_end(text: str) -> bool:
    """Return whether a range that `parse_range` takes counts from the end."""
    return ":-" in text or text.removeprefix("bytes=").startswith("-")


class _WatchedSource(ProgressSource):
    """A source whose reads move a progress bar."""

    def __init__(self, source: RangeSource, label: str) -> None:
        # Imported here: most commands show no progress and need not wait for it.
        from tqdm import tqdm  # noqa: PLC0415

        super().__init__(source, self._advance)
        # The size of a remote object is not known yet, and asking for it would be a request more.
        self._bar = tqdm(
            total=source.known_size, desc=label, unit="B", unit_scale=True, leave=False, file=sys.stderr
        )

    def _advance(self, size: int) -> None:
        self._bar.total = self.known_size
        self._bar.update(size)

    def close(self) -> None:
        self._bar.close()
        super().close()


def progress_is_seen() -> bool:
    """Return whether standard error, where progress is shown, is a terminal; it may even be closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def watch(source: RangeSource, label: str) -> RangeSource:
    """Show on a terminal how far `source` has been read; elsewhere do nothing."""
    return _WatchedSource(source, label) if progress_is_seen() else source


def report(text: str, *, target: str) -> None:
    """Print what was done; to standard error if the file itself goes to standard output."""
    out = sys.stderr if target in STANDARD_OUTPUT else sys.stdout
    # With standard error closed, `print` would write to standard output.
    if out is not None:
        print(text, file=out)


def done_json(**fields: object) -> str:
    """Return the JSON object of work that was done, in the words of spec-notes/json.md."""
    names = {name: fields.pop(name) for name in ("file", "files", "target") if name in fields}
    return json.dumps({**names, "status": "done", **fields, "error": None})


def input_target(name: str) -> str | BinaryIO:
    """Return what a reader opens for a file name, in which `-` is standard input.

    Raises:
        SourceError: Standard input is closed.
    """
    if name != "-":
        return name
    if sys.stdin is None:
        raise SourceError("standard input is closed")
    return sys.stdin.buffer


def output_target(name: str) -> str | BinaryIO:
    """Return what a writer opens for a file name, in which `-` is standard output.

    Raises:
        TargetError: The name is empty, or standard output is a terminal.
    """
    if not name:
        raise TargetError("the name of the new file is empty")
    if name not in STANDARD_OUTPUT:
        return name
    if sys.stdout.isatty():
        raise TargetError("standard output is a terminal: name a file, or redirect the output")
    return sys.stdout.buffer


def existing_option(options: argparse.Namespace) -> Existing:
    """Return what happens to an existing file with the name of the new one."""
    return "overwrite" if options.force else "error"


def open_archive(name: str, **limits: Unpack[ReadLimits]) -> Reader:
    """Open the file that a command names, with `limit_options` for a reader."""
    return Reader(open_source(input_target(name)), **limits)


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the limits of reading, which keep a file from taking all memory.

    Every reader must support windows and dictionaries of 8 MiB ("Window and dictionary limits").
    """
    group = parser.add_argument_group("limits of reading .warc.zst")
    group.add_argument(
        "--max-window",
        type=_window_size,
        metavar="SIZE",
        help="largest Zstandard window to allocate, 1K to 2G (default: 128M)",
    )
    group.add_argument(
        "--max-dictionary",
        type=parse_size,
        metavar="SIZE",
        help="largest dictionary to load, stored or decompressed (default: 8M)",
    )
    group.add_argument(
        "--max-table",
        type=parse_size,
        metavar="SIZE",
        help="largest seek table to load; larger ones are ignored, with 0 all are (default: 64M)",
    )


def add_index_limits(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the limits of reading ZipNum clusters and Parquet files."""
    parser.add_argument(
        "--max-block",
        type=parse_size,
        metavar="SIZE",
        help="largest block of a ZipNum cluster to decompress (default: 8M)",
    )
    parser.add_argument(
        "--max-cell",
        type=parse_size,
        metavar="SIZE",
        help="longest text in a row of a Parquet index (default: 1M)",
    )
    parser.add_argument(
        "--max-group",
        type=parse_size,
        metavar="SIZE",
        help="largest row group of a Parquet index to decompress (default: 256M)",
    )


def index_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the limits that were given, as an `Index` takes them."""
    given = {f"{name}_size": getattr(options, name) for name in ("max_block", "max_cell", "max_group")}
    return {name: size for name, size in given.items() if size is not None}


def _window_size(text: str) -> int:
    size = parse_size(text)
    if size not in WINDOW_LIMITS:
        raise argparse.ArgumentTypeError(f"{text} is not within 1K to 2G")
    return size


def limit_options(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that were given, as a `Reader` takes them; empty if the verb has no such options."""
    limits: ReadLimits = {}
    if getattr(options, "max_window", None) is not None:
        limits["max_window_size"] = options.max_window
    if getattr(options, "max_dictionary", None) is not None:
        limits["max_dictionary_size"] = options.max_dictionary
    if getattr(options, "max_table", None) is not None:
        limits["max_table_size"] = options.max_table
    return limits


def add_record_arguments(
    parser: argparse.ArgumentParser, *, required: bool, file_required: bool = True, several: bool = False
) -> None:
    """Add the ways to name a record.

    Args:
        parser: The parser.
        required: Whether a record has to be named.
        file_required: Whether a file has to be named.
        several: Take many files in `files`, the last of which may be an offset: see `split_offset`.
    """
    which = parser.add_mutually_exclusive_group(required=required)
    if several:
        text = ".warc.zst, .warc.gz or .warc; after a single file, the offset of a record as in `ls` and CDX"
        parser.add_argument("files", metavar="FILE [OFFSET]", nargs="+", help=text)
        parser.set_defaults(offset=None)
    else:
        parser.add_argument(
            "file", metavar="FILE", nargs=None if file_required else "?", help=".warc.zst, .warc.gz or .warc"
        )
        which.add_argument(
            "offset", metavar="OFFSET", nargs="?", type=_offset, help="offset in the file, as in `ls` and CDX"
        )
    which.add_argument("--uri", metavar="URI", help="the first response or resource with this target URI")
    which.add_argument("--id", metavar="ID", help="the record with this WARC-Record-ID")
    parser.add_argument(
        "--length",
        metavar="N",
        type=_offset,
        help="stored length, if an index states it: saves reading the end of the file",
    )


def _offset(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)


def split_offset(options: argparse.Namespace) -> None:
    """Take the offset after the name of a single file out of the list of files.

    Raises:
        SeekWarcError: A record is named twice, or in several files.
    """
    if len(options.files) == 2 and re.fullmatch(r"[0-9]{1,18}", options.files[1]):
        options.offset = int(options.files.pop())
    named = [it for it in (options.offset, options.uri, options.id) if it is not None]
    if len(named) > 1:
        raise SeekWarcError("name the record in one way: OFFSET, --uri or --id")
    if named and len(options.files) > 1:
        raise SeekWarcError("OFFSET, --uri and --id name a record of one file: give only that file")


def wanted_record(archive: Reader, options: argparse.Namespace) -> Record | None:
    """Return the record that the arguments ask for, or None if they name no record.

    Raises:
        NotFoundError: No record has that URI or ID.
    """
    if options.offset is not None:
        return archive.record_at(options.offset, options.length)
    if options.id is not None:
        wanted = options.id.strip("<>")
        for record in archive:
            if record.id == wanted:
                return record
        raise NotFoundError(
            f"no record has the ID {wanted}; `seekwarc ls --json` lists the IDs", source=archive.name
        )
    if options.uri is not None:
        return _by_uri(archive, options.uri)
    return None


def _by_uri(archive: Reader, wanted: str) -> Record:
    near: list[str] = []
    for record in archive:
        uri = record.target_uri
        if uri is None or record.type not in ("response", "resource"):
            continue
        if uri == wanted:
            return record
        if len(near) < MAX_NEAR and wanted.lower() in uri.lower() and uri not in near:
            near.append(uri)
    hint = f"did you mean {' or '.join(near)}?" if near else "`seekwarc ls` lists what it holds"
    raise NotFoundError(f"no response or resource has the URI {wanted}; {hint}", source=archive.name)


def add_writer_arguments(parser: argparse.ArgumentParser, *, train: bool = False) -> None:
    """Add the options of writing .warc.zst.

    Args:
        parser: The parser.
        train: Whether the verb can train a dictionary.
    """
    group = parser.add_argument_group("writing .warc.zst")
    group.add_argument("--level", type=int, metavar="N", help="compression level, -7 to 22 (default: 3)")
    group.add_argument(
        "--frame-size",
        type=parse_size,
        metavar="SIZE",
        help="content of a frame, 64K to 8M (default: 1M): larger compresses better, smaller reads faster",
    )
    group.add_argument(
        "--tables",
        choices=("large", "every", "none"),
        help="which records get a seek table (default: large ones)",
    )
    group.add_argument(
        "--threads", type=int, metavar="N", help="compression threads (default: one per core, at most 4)"
    )
    group.add_argument(
        "--dictionary",
        metavar="FILE|train" if train else "FILE",
        help="dictionary for all frames: a Zstandard dictionary, or a .warc.zst that has one"
        + ("; `train` makes one from the records" if train else ""),
    )


def writer_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Writer` that were given.

    Raises:
        SourceError: The dictionary cannot be read.
        FormatError: It is not a dictionary.
    """
    names = ("level", "frame_size", "tables", "threads", "max_file_size")
    given = {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
    if options.dictionary == TRAIN:
        raise SeekWarcError(
            "--dictionary train works only with `seekwarc convert`; make a dictionary with `seekwarc train` "
            "and name its file (a file named train is ./train)"
        )
    if options.dictionary is not None:
        given["dictionary"] = dictionary_at(options.dictionary, **limit_options(options)).dictionary
    return given


def dictionary_at(name: str, **limits: Unpack[ReadLimits]) -> StoredDictionary:
    """Read a dictionary from a file that is one, or that begins with one.

    Args:
        name: The file; `-` is standard input.
        **limits: From `limit_options`.

    Raises:
        SourceError: The file cannot be read.
        FormatError: The file has no dictionary.
    """
    with closing(open_source(input_target(name))) as source:
        return read_dictionary(
            source,
            max_dictionary_size=limits.get("max_dictionary_size"),
            max_window_size=limits.get("max_window_size"),
        )
