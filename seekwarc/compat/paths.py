"""Paths of `warc://`: from a URI to a path that can be listed, and from any path to what it asks for.

A URI is a path already. But programs that walk through folders split paths at every slash, read `*`, `?` and
`[` as patterns and `::` as the border between two URLs, and drop a slash at the end. So a listing escapes
these characters with per cent signs, and nothing else: `name_of` and `uri_of` are each other's inverse. A
capture whose URI is also a folder of others is listed in that folder, as `%`. And what would be misread as a
date, as a place, or as the path of a mounted file system is listed in a folder `%` of its own.

    http://example.org/a?b=/c     http://example.org/a%3Fb=%2Fc
    http://example.org/           http://example.org/%2F
    http://example.org/50%3A50    http://example.org/50%253A50
    http://example.org/docs       http://example.org/docs/%  (where there is a http://example.org/docs/a.html)
    2026/plan                     %/2026/plan
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from seekwarc.errors import FormatError
from seekwarc.format.dates import date_of_digits
from seekwarc.format.values import without_brackets

__all__ = ["MISREAD", "SELF", "CapturePath", "folder_prefix", "folders_of", "name_of", "uri_of"]

# Escaped are controls, * ? [ ] \ : / . and the per cent sign before any of these.
_CODES: Final = r"(?:[01][0-9A-Fa-f]|2[AaEeFf5]|3[AaFf]|5[BbCcDd]|7[Ff])"
_SPECIAL = re.compile(rf"[\x00-\x1f\x7f*?\[\]\\]|::+|%(?={_CODES})")
_ESCAPED = re.compile(f"%({_CODES})")
# `warc://` at the beginning of a path is not part of it.
_BEGIN = re.compile(r"(?!warc://)[A-Za-z][A-Za-z0-9+.\-]*://(?=[^/])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
EMPTY: Final = "%2F"
"""Stands for an empty part of a path, such as the last one of a URI that ends with a slash."""

_MOUNTED = re.compile(rf"\A([A-Za-z][A-Za-z0-9+.\-]*):/(?!/|{EMPTY})(?=.)")
SELF: Final = "%"
"""The last part of the name of a capture that is also a folder."""
MISREAD: Final = "%/"
"""Precedes a name that means something else without it."""

MAX_FOLDERS: Final = 64
"""Folders of a name: a URI of a mebibyte may have half a million slashes."""

_PLACE = re.compile(r"([^/:@]*)@([0-9]{1,18})(?:\+([0-9]{1,18}))?")
# As in the URLs of a Wayback Machine, where two letters may say how the page is shown.
_DATED = re.compile(r"((?:[0-9]{2}){2,7})(?:[a-z]{2}_)?/(.+)", re.DOTALL)
# Names without a host, or their folders, that mean something else; the folder of `http:/x` is that of `http://x`.
_MEANS_ELSE = re.compile(rf"(?:{_SCHEME.pattern}|{_PLACE.pattern})(?:/|\Z)|{_DATED.pattern}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CapturePath:
    """What a path asks for: a record by its place, by its ID, or by its URI and perhaps a date."""

    name: str
    """The path in the form of a listing."""
    uris: tuple[str, ...] = ()
    """URIs that the path may mean, most likely first."""
    date: str | None = None
    """Digits of a date: the nearest capture is wanted. None for the latest."""
    record_id: str | None = None
    offset: int | None = None
    length: int | None = None
    file: str | None = None
    """Name of the file that has the offset; None if there is only one file."""
    is_mounted: bool = False
    """Whether it comes from a mounted file system, where a folder hides a file of the same name."""

    @staticmethod
    def parse(path: str) -> CapturePath:
        """Parse a path, without `warc://`. Any text is one."""
        bare = path.lstrip("/")
        if (place := _PLACE.fullmatch(bare)) is not None:
            file, offset, length = place.groups()
            return CapturePath(
                bare, offset=int(offset), length=int(length) if length else None, file=file or None
            )
        date, rest = None, bare
        if (dated := _DATED.fullmatch(bare)) is not None:
            with contextlib.suppress(FormatError):
                date_of_digits(dated[1])
                date, rest = dated.groups()
        # The operating system makes one slash of two.
        is_mounted = path.startswith("/")
        rest = _MOUNTED.sub(r"\1://", rest, count=1) if is_mounted else rest
        # A listed name comes first, or it might not lead back to its own URI.
        uris = tuple(dict.fromkeys((uri_of(rest), rest, unquote(rest))))
        record_id = without_brackets(rest) if rest.startswith(("urn:", "<urn:")) else None
        return CapturePath(rest, uris, date, record_id, is_mounted=is_mounted)


def name_of(uri: str) -> str:
    """Return the path of a URI in listings: no part of it is empty or dots, and none is a pattern."""
    head, rest = _split(uri)
    # Slashes after the path do not separate folders.
    path, mark, query = rest.partition("?")
    *folders, last = path.split("/")
    # From some depth on, the rest is one part; with two slashes or more, it is not taken for an empty one.
    is_deep = len(folders) > MAX_FOLDERS + 1
    if is_deep:
        last = "/".join([*folders[MAX_FOLDERS:], last])
        del folders[MAX_FOLDERS:]
    parts = [_part(folder) for folder in folders]
    if mark or is_deep:
        parts.append(_escape(last + mark + query).replace("/", EMPTY))
    else:
        parts.append(_part(last))
    name = head + "/".join(parts)
    return MISREAD + name if not head and _MEANS_ELSE.match(name) else name


def uri_of(name: str) -> str:
    """Return the URI that a listing has under a name."""
    head, rest = _split(name.removeprefix(MISREAD).removesuffix(f"/{SELF}"))
    parts = ("" if part == EMPTY else _ESCAPED.sub(_unescaped, part) for part in rest.split("/"))
    return head + "/".join(parts)


def folder_prefix(folder: str) -> str:
    """Return what the names of everything in a folder begin with."""
    if not folder:
        return ""
    folder = folder.rstrip("/")
    return folder + "//" if _SCHEME.fullmatch(folder) else folder + "/"


def folders_of(name: str, prefix: str) -> list[str]:
    """Return the folders of a name that are below a prefix, outermost first."""
    begin = len(prefix)
    folders = []
    if not prefix and (scheme := name.find("://")) > 0:
        folders.append(name[: scheme + 1])
        begin = scheme + 3
    while (begin := name.find("/", begin)) >= 0:
        folders.append(name[:begin])
        begin += 1
    return folders


def _split(uri: str) -> tuple[str, str]:
    """Return what comes before the host of a URI, which is nothing for some, and the rest."""
    begin = _BEGIN.match(uri)
    return (begin[0], uri[begin.end() :]) if begin is not None else ("", uri)


def _part(text: str) -> str:
    if text in ("", ".", ".."):
        return "%2E" * len(text) or EMPTY
    return _escape(text) if text != SELF else "%25"


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda match: "".join(f"%{ord(it):02X}" for it in match[0]), text)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))
