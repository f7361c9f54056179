"""The markup of an archived page, as a document for a frame in which no scripts run and nothing is loaded.

This is not a replay: other files of the page are not looked for. The markup is hostile, and has two fences
around it. The frame that shows it is sandboxed, and the answer has a Content-Security-Policy that says the
same, in case its address is opened in a tab: an origin of its own, no scripts, no forms, no navigation
of other frames, and no loads. Styles, pictures and fonts are shown if they are in the markup itself.

A policy stops requests, but browsers open connections before they apply it, for frames and for links that are
pressed. So the tags that navigate are changed. That has to be done in text, and the text is sent as UTF-8:
in some encodings a tag can be written in bytes that do not look like one.

Source: Content Security Policy Level 3; HTML, sections "Sandboxing", "Tokenization" (a tag's name ends with
white space, "/" or ">"; of two attributes with one name the first counts) and "Determining the character
encoding"; Encoding, section "Names and labels".
"""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from typing import Final, Literal

from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.serve.cost import View
from seekwarc.serve.headers import SAFE, payload_type
from seekwarc.serve.served import ServedRecord

__all__ = ["MAX_MARKUP", "Markup", "markup_of"]

MAX_MARKUP: Final = 8 << 20
"""Maximum size of the markup that is sent, after decoding: a browser builds all of it in memory."""
STEP: Final = 128 << 10
MAX_CHARACTER_SIZE: Final = 4
HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)

ENCODINGS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "utf-16": "utf-16-le",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-{page}": f"cp{page}" for page in (874, *range(1250, 1259))},
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-jp": "euc-jp",
    "iso-2022-jp": "iso2022-jp",
    "euc-kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
}
"""Labels of encodings in archived pages -> Python's name of the encoding that browsers use for them."""
MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
PRESCAN: Final = 1024
"""Bytes at the beginning of a page that are searched for its encoding."""

_STATED_WITHIN = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([a-z0-9_-]+)", re.IGNORECASE)
_LOADING = re.compile(
    r"<(/?)(iframe|frame|frameset|object|embed|applet|portal|fencedframe|area|animate|animatemotion"
    r"|animatetransform|set)(?=[\s/>])",
    re.IGNORECASE,
)
_LINK = re.compile(r"<(a)(?=[\s/>])", re.IGNORECASE)
_HINT = re.compile(r"<(link)(?=[\s/>])", re.IGNORECASE)

Extent = Literal["whole", "cut", "damaged"]


@dataclass(frozen=True, slots=True)
class Markup:
    """The markup of an archived page, made harmless and ready to send."""

    data: bytes
    """In UTF-8."""
    extent: Extent
    """Whether this is the whole page, the beginning of a long one, or the part before damage."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The fields to send the markup with."""
        return [
            *SAFE,
            ("cache-control", "no-store"),
            ("content-security-policy", POLICY),
            # XHTML is sent as HTML too: XML could load stylesheets and entities.
            ("content-type", "text/html; charset=utf-8"),
            ("seekwarc-markup", self.extent),
            ("x-dns-prefetch-control", "off"),
        ]


def markup_of(served: ServedRecord, view: View | None = None) -> Markup:
    """Read the markup of an archived page; `NotFoundError` if the record is not one."""
    stated = payload_type(served.record)
    if stated is None or stated.essence not in HTML:
        kind = stated.essence if stated is not None else "of no media type"
        raise NotFoundError(f"the record has no page to show: it is {kind}, not text/html")
    data, extent = _beginning(served, view)
    if view is not None:
        view.note_asked(len(data))
    text = _decoded(data, stated.get("charset"), cut=extent != "whole")
    return Markup(_harmless(text).encode("utf-8", "replace"), extent)


def _decoded(data: bytes, stated: str | None, *, cut: bool) -> str:
    """Decode a page as browsers do: by its byte order mark, the HTTP head, its <meta>, or else by trying."""
    for mark, marked in MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, "replace")
    within = _STATED_WITHIN.search(data, 0, PRESCAN)
    said = within[1].decode().lower() if within else ""
    # A page whose <meta> can be read as ASCII is not in UTF-16, whatever it states.
    encoding = ENCODINGS.get((stated or "").lower()) or ENCODINGS.get(said.replace("utf-16", "utf-8"))
    if encoding is None:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            # If the page is cut, its last character may be too.
            at_end = len(data) - error.start < MAX_CHARACTER_SIZE
            encoding = "utf-8" if cut and at_end else "cp1252"
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def _harmless(text: str) -> str:
    """Change tags that load or navigate; the content of frames and objects is shown in their place."""
    text = _LOADING.sub(r"<\1x-\2", text)
    # Without quotes, since such a tag may be inside a quoted attribute of another.
    text = _LINK.sub(r"<\1 inert target=_blank ", text)
    return _HINT.sub(r"<\1 rel=none ", text)


def _beginning(served: ServedRecord, view: View | None) -> tuple[bytes, Extent]:
    data = bytearray()
    try:
        with (
            served.charge(view),
            io.BufferedReader(served.extent("payload").open_decoded(limit=MAX_MARKUP + 1), STEP) as file,
        ):
            while len(data) <= MAX_MARKUP and (piece := file.read1(STEP)):
                data += piece
    except SeekWarcError:
        if not data:
            raise
        return bytes(data[:MAX_MARKUP]), "damaged"
    return bytes(data[:MAX_MARKUP]), "whole" if len(data) <= MAX_MARKUP else "cut"
