"""Packages of extras: what runs without one of them skips, and says how to get it."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any, NoReturn

import pytest

__all__ = ["MAY_SKIP", "needs_package", "package", "skip_if_missing"]

MAY_SKIP = not os.environ.get("CI") or bool(os.environ.get("SEEKWARC_MAY_SKIP"))
"""Whether tests whose components are missing are skipped. In CI they fail, unless it says that they may."""
LARGE = {
    "docs": {"furo", "myst_parser", "sphinx"},
    "engines": {"dask", "distributed", "duckdb", "polars", "pysail", "pyspark", "ray"},
    "interop": {
        *("atheris", "blosc2", "boto3", "django", "fastapi", "flask", "flask_cors", "fuse", "h5netcdf"),
        *("h5py", "moto", "numpy", "pandas", "playwright", "schemathesis", "xarray", "zarr"),
    },
}
"""Packages that are large, by the extra that has them: nobody waits for them to see that the rest works."""
_ADVICE = re.compile(r"pip install '(?:seekwarc|\.)\[\w+\]'")


def needs_package(name: str) -> str:
    """Say that a test needs a Python package, and how to get it."""
    extra = next((extra for extra, names in LARGE.items() if name in names), "test")
    return f"needs the Python package {name}: pip install -e '.[{extra}]'"


def package(name: str) -> Any:
    """Import a package that a file of tests uses; skip the file without it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] or not MAY_SKIP:
            raise
        pytest.skip(needs_package(error.name), allow_module_level=True)


def skip_if_missing(error: Exception) -> None:
    """Skip the test if the error is that a package of an extra is not installed."""
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("seekwarc"):
        _skip(needs_package(error.name.partition(".")[0]))
    if advice := _ADVICE.search(str(error)):
        _skip(f"needs an extra: {advice[0]}")


def _skip(reason: str) -> NoReturn:
    if not MAY_SKIP:
        pytest.fail(f"SEEKWARC_MAY_SKIP is not set: {reason}")
    pytest.skip(reason)
