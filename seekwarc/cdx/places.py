"""Where the files are that an index or a WACZ names: never outside of its own folder."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.uri import as_stored, as_utf8
from seekwarc.format.words import quoted
from seekwarc.storage.zip_members import SEPARATOR

__all__ = ["base_name", "beside", "folder_of", "is_wacz_name", "located", "name_in_index"]

MAX_NAME: Final = 255


def base_name(source: str) -> str:
    """Return the last name of a path or URL."""
    if SEPARATOR in source:
        return source.rpartition("/")[2]
    if "://" in source:
        return unquote(urlsplit(source).path.rpartition("/")[2])
    return os.path.basename(source)


def name_in_index(source: str) -> str:
    """Return the name by which an index lists a file in its own folder."""
    return as_utf8(base_name(source))


def folder_of(target: object) -> str | None:
    """Return the folder or URL that has the file; None if the target has no name."""
    if not isinstance(target, str | os.PathLike):
        return None
    name = os.fspath(target)
    if "://" in name:
        parts = urlsplit(name)
        return parts._replace(path=parts.path.rpartition("/")[0], query="", fragment="").geturl()
    return os.path.dirname(name) or "."


def located(folder: str | None, name: str, index: str) -> str:
    """Return the path or URL of a file that an index names, never outside `folder`; messages name `index`."""
    if folder is None:
        raise SeekWarcError(f"cannot locate {name}: this index has no path; pass `files=`", source=index)
    parts = name.replace("\\", "/").split("/")
    if not parts[0] or "\0" in name or "://" in name or ".." in parts:
        raise FormatError(
            f"the index names the file {quoted(name)}, which is outside the folder of its files",
            source=index,
        )
    if folder.startswith(("http://", "https://")) and SEPARATOR not in folder:
        name = quote(name, safe="/!")
    elif "%" in name and os.path.isdir(folder) and not os.path.exists(os.path.join(folder, name)):
        name = as_stored(name)
    return folder.removesuffix("/") + "/" + name


def is_wacz_name(name: object) -> bool:
    """Return whether a name that an archive has can be that of a WACZ beside it."""
    return (
        isinstance(name, str)
        and name.lower().endswith(".wacz")
        and len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME
        and name.isprintable()
        and not set("/\\:") & set(name)
    )


def beside(wacz: str, name: str) -> str:
    """Return the path or URL of a file in the folder of a WACZ."""
    outer, separator, _ = wacz.rpartition(SEPARATOR)
    return outer + separator + name if separator else located(folder_of(wacz), name, wacz)
