"""Texts as Arrow has them, and the package that makes Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seekwarc.errors import UnsupportedError
from seekwarc.format.uri import as_utf8

__all__ = ["arrow", "strings"]


def arrow() -> Any:  # noqa: ANN401
    """Return the module `pyarrow`."""
    try:
        import pyarrow  # noqa: ICN001
    except ImportError as error:
        raise UnsupportedError("Arrow and Parquet need: pip install 'seekwarc[arrow]'") from error
    return pyarrow


def strings(pa: Any, values: Sequence[str | None]) -> Any:  # noqa: ANN401
    """Return texts as an array of strings; see `as_utf8`."""
    try:
        return pa.array(values, pa.string())
    except UnicodeError:
        return pa.array([it if it is None else as_utf8(it) for it in values], pa.string())
