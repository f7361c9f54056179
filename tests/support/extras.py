"""Packages of extras: what runs without one of them skips, and says how to get it."""

from __future__ import annotations

import os
import re
from typing import NoReturn

import pytest

__all__ = ["MAY_SKIP", "skip_if_missing"]

MAY_SKIP = not os.environ.get("CI") or bool(os.environ.get("SEEKWARC_MAY_SKIP"))
"""Whether tests whose components are missing are skipped. In CI they fail, unless it says that they may."""
_ADVICE = re.compile(r"pip install '(?:seekwarc|\.)\[\w+\]'")


def skip_if_missing(error: Exception) -> None:
    """Skip the test if the error is that a package of an extra is not installed."""
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("seekwarc"):
        _skip(f"needs the Python package {error.name.partition('.')[0]}: pip install -e '.[test]'")
    if advice := _ADVICE.search(str(error)):
        _skip(f"needs an extra: {advice[0]}")


def _skip(reason: str) -> NoReturn:
    if not MAY_SKIP:
        pytest.fail(f"SEEKWARC_MAY_SKIP is not set: {reason}")
    pytest.skip(reason)
