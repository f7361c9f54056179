"""What verbs print: archived text, messages, and what was done."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from seekwarc.cli.sizes import human_size
from seekwarc.format.words import counted

if TYPE_CHECKING:
    from seekwarc.edit.concatenating import Concatenation
    from seekwarc.edit.filtering import Filtering
    from seekwarc.edit.redacting import Redaction
    from seekwarc.edit.splitting import Piece, Splitting
    from seekwarc.frames.dictionary import Dictionary

__all__ = [
    "SAID",
    "STANDARD_OUTPUT",
    "WARNING",
    "copied_text",
    "dictionary_json",
    "done_json",
    "passed_over",
    "picked",
    "piece_json",
    "piece_text",
    "printable",
    "report",
    "report_done",
    "say",
]

STANDARD_OUTPUT: Final = frozenset(("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"))
"""Names of standard output. Opened by path, a file that it is redirected to would be replaced."""
WARNING: Final = "warning: "
SAID: Final = set[str]()
"""What was said in this run."""
MAX_SAID: Final = 10_000
# Control characters, and invisible or direction-changing characters.
_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]"


def printable(text: str | None) -> str:
    """Make archived text safe for a terminal: control characters are shown, not obeyed.

    Bytes that are not UTF-8 are written as in all outputs, so that a printed URI finds its record.
    """
    if text is None:
        return "-"
    if text.isprintable():
        return text
    from seekwarc.format.uri import as_utf8

    return re.sub(_UNPRINTABLE, lambda match: match[0].encode("unicode_escape").decode(), as_utf8(text))


def report(text: str, *, target: str) -> None:
    """Print what was done; to standard error if the file itself goes to standard output."""
    out = sys.stderr if target in STANDARD_OUTPUT else sys.stdout
    # With standard error closed, `print` would write to standard output.
    if out is not None:
        if not text.isascii():
            from seekwarc.format.uri import as_utf8

            # The name of a file may have bytes that are not UTF-8.
            text = as_utf8(text)
        print(text, file=out)


def say(text: str) -> None:
    """Print a message to standard error, if that can be written to, once a run of the command.

    Several passes over a file find the same; and what the library warns of, a verb may report.
    """
    message = text.removeprefix(WARNING)
    if message in SAID:
        return
    if len(SAID) < MAX_SAID:
        SAID.add(message)
    with contextlib.suppress(OSError, ValueError):
        report(f"seekwarc: {printable(text)}", target="-")


def passed_over(count: int, total: int) -> str:
    """Return the last line of a verb that goes on with the other files."""
    return f"{count} of {counted(total, 'file')} passed over"


def report_done(options: argparse.Namespace, text: str, fields: dict[str, object]) -> None:
    """Print what was done: as `--json` has it, or in words, unless these are not wanted."""
    if options.json or not options.quiet:
        report(done_json(**fields) if options.json else text, target=options.output)


def done_json(**fields: object) -> str:
    """Return the JSON object of work that was done, in the words of spec-notes/json.md."""
    from seekwarc.format.json_text import json_text

    names: dict[str, object] = {
        name: fields.pop(name) for name in ("file", "files", "target") if name in fields
    }
    return json_text({**names, "status": "done", **fields, "error": None})


def picked(result: object, *names: str, **renamed: str) -> dict[str, object]:
    """Return attributes of a result as JSON fields: those named, and others (even of attributes) renamed.

    Empty text becomes None, and so does every field if there is no result.
    """
    attributes = {**dict(zip(names, names, strict=True)), **renamed}
    if result is None:
        return dict.fromkeys(attributes)
    values = {name: attrgetter(attribute)(result) for name, attribute in attributes.items()}
    return {name: None if value == "" else value for name, value in values.items()}


def copied_text(done: Concatenation | Splitting | Filtering | Redaction, checked: str = "") -> str:
    copied = f"{human_size(done.bytes_copied)} of frames copied{checked}"
    return f"{copied}, {human_size(done.bytes_recompressed)} of content recompressed"


def piece_json(piece: Piece) -> dict[str, object]:
    return picked(piece, "records", target="name", target_size="size")


def piece_text(piece: Piece) -> str:
    return f"{human_size(piece.size):>10} {piece.records:>8} records  {piece.name}"


def dictionary_json(dictionary: Dictionary) -> dict[str, object]:
    sizes = {"size": len(dictionary.data), "stored_size": len(dictionary.compressed)}
    return {"id": dictionary.id, **sizes}
