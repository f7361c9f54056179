"""Several WACZ files as one target: a WACZ that has others as members, or a list of them in JSON.

Source: the profile `multi-wacz-package`, as browsertrix writes it, and the JSON that replayweb.page opens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Final
from urllib.parse import urljoin, urlsplit
from zipfile import ZipInfo

from seekwarc.errors import FormatError
from seekwarc.format.words import quoted
from seekwarc.storage.opening import open_stored
from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR, ZipArchive, open_zip

__all__ = ["is_several", "warc_files_in"]

MAX_LIST: Final = 16 << 20
MAX_FILES: Final = 10_000


def is_several(name: str) -> bool:
    """Return whether a target is a list of WACZ files, or a WACZ that has others as members."""
    return _waczs(name)[0] not in ([], [name])


def warc_files_in(name: str) -> Iterator[tuple[str, ZipInfo]]:
    """Yield the WARC files in a WACZ, in those that are its members, or in those of a list.

    Each comes as the name of its WACZ, and what the directory of that says of it.

    Raises:
        FormatError: A list names a file that is not in its folder, or something is not a WACZ.
        SourceError: Something cannot be read.
    """
    # The outer archive shares its directory with what is read of it meanwhile.
    waczs, _outer = _waczs(name)
    for wacz in waczs:
        archive = open_zip(wacz, open_stored(wacz))
        for info in archive.members.values():
            if info.filename.startswith(ARCHIVE) and not info.is_dir():
                yield wacz, info


def _waczs(name: str) -> tuple[list[str], ZipArchive | None]:
    if name.lower().partition("?")[0].endswith(".json"):
        return _listed(name), None
    archive = open_zip(name, open_stored(name))
    inner = [it for it in archive.members if it.lower().endswith(".wacz")]
    is_plain = any(it.startswith(ARCHIVE) for it in archive.members) or not inner
    return [name] if is_plain else [name + SEPARATOR + it for it in inner], archive


def _listed(name: str) -> list[str]:
    """Return the files that a list names; [] if it is other JSON."""
    source = open_stored(name)
    try:
        data = source.read(0, MAX_LIST)
    finally:
        source.close()
    try:
        package = json.loads(data)
    except (ValueError, RecursionError):
        return []
    resources = package.get("resources") if isinstance(package, dict) else None
    paths = (
        [it.get("path") for it in resources if isinstance(it, dict)] if isinstance(resources, list) else []
    )
    waczs = [it for it in paths if isinstance(it, str) and _path(it).lower().endswith(".wacz")]
    if len(waczs) > MAX_FILES:
        raise FormatError(f"lists {len(waczs)} files, above the limit of {MAX_FILES}", source=name)
    return [_beside(name, path) for path in dict.fromkeys(waczs)]


def _path(reference: str) -> str:
    return urlsplit(reference).path if "://" in reference else reference.partition("?")[0]


def _beside(name: str, path: str) -> str:
    """Return the place of a listed file, which must be in the folder of the list or below."""
    is_url = "://" in name
    folder = urljoin(name, ".") if is_url else os.path.dirname(name)
    inside = path.removeprefix(folder) if is_url else path
    parts = _path(inside).replace("\\", "/").split("/")
    if "://" in inside or "" in parts or ".." in parts or (not is_url and os.path.isabs(path)):
        raise FormatError(
            f"lists {quoted(path)}, which is not in its folder; if you trust it, name the WACZ files "
            "themselves",
            source=name,
        )
    return folder + inside if is_url else os.path.join(folder, path)
