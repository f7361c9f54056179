"""An archived page's own markup, as a document for a frame in which nothing runs and nothing is loaded.

This is no replay: what the page consists of beyond its markup is not looked for. The markup is hostile, so
it is fenced. The frame that shows it is sandboxed, and the answer's own policy says the same, so that it
holds too where somebody opens its address in a tab: an origin of its own, no scripts, no forms, no navigation
of other frames, and no loads. Styles, pictures and fonts are shown as far as they are in the markup itself.

Policies stop requests, but browsers open connections before they ask them, for frames and for links that are
pressed. So tags of what would navigate are changed. That takes text, which is therefore sent as UTF-8: in
some encodings a tag can be written in bytes that do not look like it.

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
from seekwarc.serve.policy import SAFE, payload_type
from seekwarc.serve.served import ServedRecord
from seekwarc.serve.views import View

__all__ = ["MAX_MARKUP", "Markup", "markup_of"]

MAX_MARKUP: Final = 8 << 20
"""Bytes of markup that are sent, content codings undone: a browser builds all of it in memory."""
STEP: Final = 128 << 10
LONGEST_CHARACTER: Final = 4
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
"""Labels of encodings that archived pages use, and what Python calls what browsers take them for."""
MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
PRESCAN: Final = 1024
"""Bytes in which a page names its own encoding."""

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
    """What is sent of an archived page.

        markup = markup_of(served)
        Response(markup.data, headers=dict(markup.headers))

    Attributes:
        data: The markup in UTF-8, made harmless; of at most `MAX_MARKUP` bytes, content codings undone.
        extent: Whether that is all of it, the beginning of a long page, or what stands before damage.
    """

    data: bytes
    extent: Extent

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The fields to send it with."""
        return [
            *SAFE,
            ("cache-control", "no-store"),
            ("content-security-policy", POLICY),
            # XHTML too is sent as HTML: XML would bring stylesheets and entities of its own.
            ("content-type", "text/html; charset=utf-8"),
            ("seekwarc-markup", self.extent),
            ("x-dns-prefetch-control", "off"),
        ]


def markup_of(served: ServedRecord, view: View | None = None) -> Markup:
    """Read the markup of an archived page.

    Args:
        served: The record.
        view: Is charged with what is read, and told what is damaged.

    Raises:
        NotFoundError: The record is no HTML page.
        UnsupportedError: It is in a content coding that cannot be undone here.
        FormatError: It is damaged from the beginning.
        SourceError: The stored bytes are unavailable.
    """
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
    """Decode a page as browsers do: by its mark, its head, its own word, or else by what fits."""
    for mark, marked in MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(marked, "replace")
    within = _STATED_WITHIN.search(data, 0, PRESCAN)
    said = within[1].decode().lower() if within else ""
    # A page whose tag can be read in ASCII is not in UTF-16, whatever it says.
    encoding = ENCODINGS.get((stated or "").lower()) or ENCODINGS.get(said.replace("utf-16", "utf-8"))
    if encoding is None:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            # Where the page is cut, so may its last character be.
            at_end = len(data) - error.start < LONGEST_CHARACTER
            encoding = "utf-8" if cut and at_end else "cp1252"
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def _harmless(text: str) -> str:
    """Change the tags of what would load or navigate; the content of frames and objects is shown instead."""
    text = _LOADING.sub(r"<\1x-\2", text)
    # Without quotes, as such a tag may stand in an attribute of another.
    text = _LINK.sub(r"<\1 inert target=_blank ", text)
    return _HINT.sub(r"<\1 rel=none ", text)


def _beginning(served: ServedRecord, view: View | None) -> tuple[bytes, Extent]:
    data = bytearray()
    try:
        with (
            served.charge(view),
            io.BufferedReader(served.extent("payload").open(decoded=True), STEP) as file,
        ):
            while len(data) <= MAX_MARKUP and (piece := file.read1(STEP)):
                data += piece
    except SeekWarcError:
        if not data:
            raise
        return bytes(data[:MAX_MARKUP]), "damaged"
    return bytes(data[:MAX_MARKUP]), "whole" if len(data) <= MAX_MARKUP else "cut"
