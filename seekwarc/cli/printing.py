"""What verbs print: archived text, and what was done."""

from __future__ import annotations

import json
import re
import sys

from seekwarc.cli.targets import STANDARD_OUTPUT

__all__ = ["done_json", "printable", "report"]

# Control characters, bytes that were not UTF-8, and invisible or direction-changing characters.
_UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"


def printable(text: str | None) -> str:
    """Make archived text safe for a terminal: control characters are shown, not obeyed."""
    if text is None:
        return "-"
    return re.sub(_UNPRINTABLE, lambda match: match[0].encode("unicode_escape").decode(), text)


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
