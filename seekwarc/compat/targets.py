"""The files that a file system is made of: what its argument `fo` names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from glob import has_magic
from typing import Any, Final, cast
from urllib.parse import urlsplit

import fsspec
from fsspec.core import url_to_fs

from seekwarc.collection.collection import Target
from seekwarc.errors import LimitError, SourceNotFoundError
from seekwarc.storage.expand import expand, index_ending
from seekwarc.storage.fsspec import FileSystemSource
from seekwarc.storage.remote_url import SCHEMES, shown_url

__all__ = ["absolute", "is_index", "targets_of"]

MAX_NESTING: Final = 8
"""Archives within archives: the parts of a chained URL that are `warc://`."""


def absolute(value: Any) -> Any:  # noqa: ANN401 - any target
    """Return a target, or several, so that it is found from any working directory."""
    if isinstance(value, list | tuple):
        return [absolute(it) for it in value]
    if isinstance(value, str | os.PathLike) and value and "://" not in os.fspath(value):
        return os.path.abspath(value)
    return value


def targets_of(
    fo: Target | Sequence[Target], protocol: str | None, options: Mapping[str, Any]
) -> list[Target]:
    """Return the targets of readers; archives within archives are limited."""
    if isinstance(fo, list | tuple):
        return [target for one in fo for target in targets_of(one, protocol, options)]
    if not isinstance(fo, str | os.PathLike):
        return [cast("Target", fo)]
    name = os.fspath(fo)
    if protocol not in (None, "file", "local"):
        _check_nesting(_depth(protocol, options))
        file_system, path = fsspec.filesystem(protocol, **options), name
    elif "://" in name and (urlsplit(name).scheme not in SCHEMES or "::" in name):
        _check_nesting(name.count("warc://"))
        file_system, path = url_to_fs(name, **options)
    else:
        return list(expand(name))
    # In the URI of a record, `?` and `*` are literal.
    is_pattern = has_magic(path) and file_system.protocol != "warc"
    paths = file_system.glob(path) if is_pattern else [path]
    if not paths:
        raise SourceNotFoundError("no file matches this pattern", source=shown_url(path))
    return [FileSystemSource(file_system, it) for it in paths]


def is_index(fo: object, protocol: str | None) -> bool:
    """Tell whether a name is that of an index, as it has to be in a chained URL; a WACZ has one."""
    is_ours = isinstance(fo, str | os.PathLike) and protocol in (None, "file", "local")
    is_wacz = is_ours and os.fspath(cast("str", fo)).endswith(".wacz")
    return is_wacz or (is_ours and index_ending(fo) in (".cdxj", ".idx"))


def _depth(protocol: str | None, options: Mapping[str, Any]) -> int:
    depth = 1
    while protocol is not None and depth <= MAX_NESTING:
        depth += protocol == "warc"
        protocol, options = options.get("target_protocol"), options.get("target_options") or {}
    return depth


def _check_nesting(depth: int) -> None:
    if depth > MAX_NESTING:
        raise LimitError(f"more than {MAX_NESTING} archives within each other are chained")
