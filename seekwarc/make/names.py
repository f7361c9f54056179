"""Names of files for payloads: made of a URI, readable, and safe whatever the URI is.

A name is a single name, not a path. It has only letters, digits and a few marks, does not begin with a dot or
a hyphen or end with a dot, and is not the name of a Windows device or of a file that a system reads by
itself. No two names in a folder differ only in case or in the composition of letters.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final
from urllib.parse import unquote

__all__ = ["MAX_NAME", "NamesInUse", "name_of"]

MAX_NAME: Final = 120
"""Bytes of a name in UTF-8. File systems take 255, some encrypted ones 143, Windows 260 for a whole path."""
MAX_URI: Final = 4096
"""Characters of a URI that are used."""

EMPTY: Final = "payload"
MARKS: Final = frozenset("-._=+,@()")
RESERVED: Final = frozenset({"manifest.jsonl", "desktop.ini", "autorun.inf", "thumbs.db"})

_URI = r"(?:([a-z][a-z0-9+.\-]*):)?(?://(?:[^/?#]*@)?([^/?#]*))?([^#]*)"
_DEVICE = r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9]|lpt[0-9])(?:[ .].*)?"
_ENDING = r"(.*[^._])(\.[a-z0-9]{1,10})"
_REPEATED = r"([_.])[_.]+"

ENDINGS: Final = {
    "application/epub+zip": (".epub",),
    "application/gzip": (".gz", ".tgz"),
    "application/javascript": (".js", ".mjs"),
    "application/json": (".json",),
    "application/ld+json": (".jsonld", ".json"),
    "application/pdf": (".pdf",),
    "application/rss+xml": (".rss", ".xml"),
    "application/atom+xml": (".atom", ".xml"),
    "application/warc-fields": (".txt",),
    "application/wasm": (".wasm",),
    "application/x-javascript": (".js", ".mjs"),
    "application/xhtml+xml": (".xhtml", ".html", ".htm"),
    "application/xml": (".xml",),
    "application/zip": (".zip",),
    "audio/flac": (".flac",),
    "audio/mp4": (".m4a", ".mp4"),
    "audio/mpeg": (".mp3",),
    "audio/ogg": (".ogg", ".oga", ".opus"),
    "audio/wav": (".wav",),
    "font/otf": (".otf",),
    "font/ttf": (".ttf",),
    "font/woff": (".woff",),
    "font/woff2": (".woff2",),
    "image/avif": (".avif",),
    "image/bmp": (".bmp",),
    "image/gif": (".gif",),
    "image/jpeg": (".jpg", ".jpeg", ".jpe"),
    "image/jpg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/svg+xml": (".svg",),
    "image/tiff": (".tif", ".tiff"),
    "image/vnd.microsoft.icon": (".ico",),
    "image/webp": (".webp",),
    "image/x-icon": (".ico",),
    "text/css": (".css",),
    "text/csv": (".csv",),
    "text/html": (".html", ".htm"),
    "text/javascript": (".js", ".mjs"),
    "text/plain": (".txt", ".text", ".log", ".md"),
    "text/xml": (".xml",),
    "video/mp2t": (".ts",),
    "video/mp4": (".mp4", ".m4v"),
    "video/mpeg": (".mpg", ".mpeg"),
    "video/ogg": (".ogv",),
    "video/quicktime": (".mov",),
    "video/webm": (".webm",),
    "video/x-matroska": (".mkv",),
}
"""For each media type the ending that a name gets, and others that it may keep.

Python's `mimetypes` reads files of the system, so names would depend on the machine.
"""


def name_of(uri: str | None, media_type: str | None, *, default: str = EMPTY) -> tuple[str, str]:
    """Make a name, and its ending such as ".png" or "", for a payload from its URI and its type.

    `http://example.org/a/caf%C3%A9.png?w=9` becomes `example.org_a_café_w=9.png`. User names and passwords
    are left out, as is everything after "#".
    """
    match = re.match(_URI, (uri or default)[:MAX_URI], re.IGNORECASE | re.DOTALL)
    scheme, host, rest = match.groups() if match else (None, None, default)
    path, mark, query = rest.partition("?")
    bare, ending = _split(_readable(unquote(path)))
    fitting = ENDINGS.get(media_type or "")
    if fitting is not None and ending not in fitting:
        # "something.php" is an image if it was sent as one.
        bare, ending = bare + ending, fitting[0]
    start = _readable(unquote(host)) if host else scheme or ""
    parts = [start, bare, _readable(unquote(query)) if mark else ""]
    return _safe("_".join(part for part in parts if part)) or EMPTY, ending


class NamesInUse:
    """Makes the names in a folder unique: a name that is in use gets a number."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def take(self, bare: str, ending: str) -> str:
        """Return a name that is not in use, made of the results of `name_of`."""
        key = _folded(_fitted(bare, ending))
        number = self._used.get(key, 0)
        while True:
            number += 1
            name = _fitted(bare, ending if number == 1 else f"-{number}{ending}")
            folded = _folded(name)
            if folded not in self._used or (number == 1 and self._used[folded] == 0):
                break
        self._used[folded] = self._used.get(folded, 0) or 1
        self._used[key] = number
        return name


def _readable(text: str) -> str:
    """Replace all characters but letters, digits and a few marks; invisible ones too."""
    text = unicodedata.normalize("NFC", text)
    kept = (it if it in MARKS or unicodedata.category(it)[0] in "LMN" else "_" for it in text)
    return "".join(kept).strip("_")


def _split(text: str) -> tuple[str, str]:
    match = re.fullmatch(_ENDING, text, re.IGNORECASE | re.DOTALL)
    return (match[1], match[2].lower()) if match else (text, "")


def _safe(text: str) -> str:
    return re.sub(_REPEATED, r"\1", text).strip("_.-")


def _fitted(bare: str, ending: str) -> str:
    """Join a name and its ending; shorten it to `MAX_NAME`, and avoid names with a special meaning."""
    room = MAX_NAME - len(ending.encode()) - 1
    short = bare.encode()[:room].decode(errors="ignore").rstrip("_.-") or EMPTY
    name = short + ending
    plain = unicodedata.normalize("NFKC", name).lower()
    return f"_{name}" if plain in RESERVED or re.fullmatch(_DEVICE, plain, re.DOTALL) else name


def _folded(name: str) -> str:
    """Return a key that is equal for names that some file system does not distinguish."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
