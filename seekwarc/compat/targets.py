"""The files that a file system is made of: what its argument `fo` names."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from glob import glob, has_magic
from typing import Any, Final, cast
from urllib.parse import urlsplit

import fsspec
from fsspec.core import url_to_fs
from fsspec.spec import AbstractFileSystem
from fsspec.utils import glob_translate

from seekwarc.collection.collection import Target
from seekwarc.errors import LimitError, SourceError
from seekwarc.storage.fsspec import FileSystemSource
from seekwarc.storage.remote_url import SCHEMES, open_store, shown_url

__all__ = ["absolute", "is_index", "targets_of", "urls_of"]

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
    """Return the targets of readers.

    Raises:
        LimitError: Archives within archives, too many of them.
        FileNotFoundError: A pattern that no file matches.
    """
    if isinstance(fo, list | tuple):
        return [target for one in fo for target in targets_of(one, protocol, options)]
    if not isinstance(fo, str | os.PathLike):
        return [cast("Target", fo)]
    name = os.fspath(fo)
    if protocol not in (None, "file", "local"):
        _check_nesting(protocol, options)
        return _of_file_system(fsspec.filesystem(protocol, **options), name)
    return _of_url(name, options) if "://" in name else _of_path(name)


def urls_of(name: str | os.PathLike[str]) -> list[str]:
    """Return the paths or URLs of the files that match a pattern; a name that is not a pattern as it is.

    Raises:
        FileNotFoundError: A pattern that no file matches.
        SourceError: A store cannot be listed, or its files have no URLs that `seekwarc.open` takes.
    """
    found = targets_of(name, None, {})
    if not all(isinstance(it, str) for it in found):
        raise SourceError(
            "parts of files are read from paths, and from URLs of web servers, S3, Google Cloud and Azure",
            source=os.fspath(name),
        )
    return cast("list[str]", found)


def is_index(fo: object, protocol: str | None) -> bool:
    """Tell whether a name is that of an index, as it has to be in a chained URL."""
    is_ours = isinstance(fo, str | os.PathLike) and protocol in (None, "file", "local")
    return is_ours and os.fspath(cast("str", fo)).endswith((".cdxj", ".idx"))


def _of_path(name: str) -> list[Target]:
    if not has_magic(name) or os.path.exists(name):
        return [name]
    found = sorted(glob(name, recursive=True))
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", name)
    return list(found)


def _of_url(name: str, options: Mapping[str, Any]) -> list[Target]:
    scheme = urlsplit(name).scheme
    if scheme not in SCHEMES or "::" in name:
        if name.count("warc://") > MAX_NESTING:
            raise LimitError(f"{name.count('warc://')} archives within each other are chained")
        return _of_file_system(*url_to_fs(name, **options))
    # In the URL of a web server, `?` begins the query.
    return _of_store(name) if has_magic(name) and scheme not in ("http", "https") else [name]


def _of_file_system(file_system: AbstractFileSystem, path: str) -> list[Target]:
    # In the URI of a record, `?` and `*` are literal.
    is_pattern = has_magic(path) and file_system.protocol != "warc"
    paths = file_system.glob(path) if is_pattern else [path]
    if not paths:
        raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", path)
    return [FileSystemSource(file_system, it) for it in paths]


def _of_store(pattern: str) -> list[Target]:
    """Return the URLs of the objects of a store, such as S3, that match a pattern."""
    folder = pattern[: min(pattern.index(it) for it in "*?[" if it in pattern)].rpartition("/")[0] + "/"
    store, key = open_store(folder)
    import obstore  # noqa: PLC0415 - heavy, and only installed with the extra `remote`

    root = folder.removesuffix(key)
    matches = re.compile(glob_translate(pattern.removeprefix(root))).match
    try:
        names = [it["path"] for batch in obstore.list(store, key) for it in batch if matches(it["path"])]
    except Exception as error:  # noqa: BLE001 - each store has errors of its own, whose texts may hold secrets
        raise SourceError(f"cannot be listed: {type(error).__name__}", source=shown_url(folder)) from None
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no object matches this pattern", shown_url(pattern))
    return [root + name for name in sorted(names)]


def _check_nesting(protocol: str | None, options: Mapping[str, Any]) -> None:
    depth = 1
    while protocol is not None:
        depth += protocol == "warc"
        if depth > MAX_NESTING:
            raise LimitError(f"more than {MAX_NESTING} archives within each other are chained")
        protocol, options = options.get("target_protocol"), options.get("target_options") or {}
