"""The files of this repository that tests read: the modules of the package, and code in Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import seekwarc

PACKAGE = Path(seekwarc.__file__).parent
MODULES = {
    ".".join(["seekwarc", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
"""A fenced block of Markdown."""
