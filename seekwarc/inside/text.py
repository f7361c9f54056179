"""The text of pages: HTML, PDF and plain text, from any binary file.

What a file is follows from its media type and its first bytes, for both may be wrong. Small pages are parsed
in this process. A large page or a PDF, which a hostile file can make take minutes or gigabytes, is parsed in
another process that ends itself at its limits (`apart.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import BinaryIO, Final

from seekwarc.errors import LimitError
from seekwarc.format.values import MediaType
from seekwarc.inside.decoding import decoded
from seekwarc.inside.parsing import Parsed, language_of, parse_html, resiliparse_needed

__all__ = ["MAX_SIZE", "MAX_TEXT", "PageText", "may_have_text", "text_of"]

MAX_SIZE: Final = 32 << 20
"""Bytes of a file that are read."""
MAX_TEXT: Final = 4 << 20
"""Characters of a text."""
MAX_HTML: Final = 8 << 20
"""Bytes of HTML that are parsed."""
MAX_HERE: Final = 64 << 10
"""Bytes of HTML that are parsed in this process. The time for the worst of them, elements that are opened and
never closed, grows with the square of the size, or faster: it is about a second for this one."""
MAX_TITLE: Final = 1 << 10
SNIFFED: Final = 1 << 10
"""Bytes in which the kind of a file is looked for; a PDF may begin that far in."""
STEP: Final = 256 << 10

HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
PDF: Final = frozenset({"application/pdf", "application/x-pdf"})
UNKNOWN: Final = frozenset(
    {"", "*/*", "application/octet-stream", "application/unknown", "binary/octet-stream", "unknown/unknown"}
)
XML: Final = frozenset({"application/xml", "text/xml"})
NOT_PROSE: Final = frozenset({"text/css", "text/ecmascript", "text/javascript", "text/x-javascript"})
"""Types of text/ that are not read as text."""

_PAGE = re.compile(
    rb"\s*+(?:<\?xml[^>]*+>\s*+)?(?>(?:<!--(?>(?:[^-]++|-(?!->))*)-->\s*+)*)<(?:!doctype\s++html|html|head|body)[\s>]",
    re.IGNORECASE,
)
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
CONTROLS: Final = bytes({*range(32), 127} - {*b"\t\n"})
"""Control characters that no text has."""
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The text of a page.

    Example:
        >>> import io
        >>> from seekwarc.inside.text import text_of
        >>> page = io.BytesIO(b"<html lang=en><title>Tea</title><p>Earl Grey, <b>hot</b>.")
        >>> found = text_of(page, None)
        >>> found.title, found.lang, found.text
        ('Tea', 'en', 'Earl Grey, hot.')
    """

    text: str
    """Lines end in a newline. It has no other control characters than that and tabs, and no surrogates."""
    title: str | None
    """Title that the page states, in one line; None if it states none."""
    lang: str | None
    """Language that the page states, such as "en" or "pt-BR", or else that its text seems to be in; None if
    there is too little text to tell."""
    is_whole: bool
    """False if a limit cut it, or a part of a PDF could not be read."""


def text_of(
    file: BinaryIO,
    media_type: MediaType | None,
    *,
    charset: str | None = None,
    main: bool = False,
    text_only: bool = False,
    max_size: int = MAX_SIZE,
    max_text: int = MAX_TEXT,
) -> PageText | None:
    """Return the text of a page.

    Bytes are decoded as their byte order mark says, or as UTF-8 if they are valid UTF-8, or else as
    `charset`, the media type, or the page says, or as detected.

    Args:
        file: Is read from its position on, up to `max_size` bytes.
        media_type: What it is said to be. If that is missing, or names no kind of text, its first bytes tell
            whether it is HTML or PDF.
        charset: Its encoding; by default as the media type says.
        main: Leave out menus, footers and the like, as far as they are recognized.
        text_only: Find neither title nor language, which takes a third of the time.
        max_size: Bytes that are read. The text of a longer page is that of its beginning, as it is of HTML
            of more than 8 MiB; a longer PDF is refused.
        max_text: Characters of the text, at most.

    Returns:
        The text; None if the file is not HTML, PDF or plain text. JSON, XML, scripts and style sheets are
        none of these.

    Raises:
        FormatError: A PDF is damaged or encrypted.
        LimitError: Parsing took too much time or memory, or a PDF has more than `max_size` bytes.
        UnsupportedError: resiliparse or pypdf is not installed (`pip install 'seekwarc[text]'`).
    """
    if not may_have_text(media_type):
        return None
    first = min(max(max_size + 1, SNIFFED), MAX_HERE)
    begin = _read(file, first)
    kind = _kind_of(begin[:SNIFFED], media_type)
    if kind is None:
        return None
    limit = min(max_size, MAX_HTML) if kind == "html" else max_size
    data = begin + _read(file, limit + 1 - first) if len(begin) == first else begin
    is_cut = len(data) > limit
    if is_cut and kind == "pdf":
        raise LimitError(f"the PDF has more than {limit} bytes, and its end is needed; raise `max_size`")
    if is_cut:
        data = data[:limit]
    charset = charset or (media_type.get("charset") if media_type is not None else None)
    resiliparse_needed()
    if kind == "plain":
        text = decoded(data, charset, is_cut=is_cut)
        language = language_of(text) if not text_only else None
        parsed = Parsed(text[:max_text], None, language, len(text) <= max_text)
    elif kind == "html" and len(data) <= MAX_HERE:
        parsed = parse_html(
            data, charset=charset, main=main, max_text=max_text, is_cut=is_cut, text_only=text_only
        )
    else:
        from seekwarc.inside.apart import run_apart

        parsed = run_apart(kind, data, charset=charset, main=main, max_text=max_text, is_cut=is_cut)
    if text_only:
        parsed = parsed._replace(title=None, lang=None)
    title = " ".join(_clean(parsed.title).split())[:MAX_TITLE] if parsed.title else None
    return PageText(
        text=_clean(parsed.text),
        title=title or None,
        lang=parsed.lang,
        is_whole=parsed.is_whole and not is_cut,
    )


def _read(file: BinaryIO, size: int) -> bytes:
    pieces = []
    # Raw files give less than was asked for.
    while size > 0 and (piece := file.read(min(size, STEP))):
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def may_have_text(media_type: MediaType | None) -> bool:
    """Return False of a type whose files are not read to find out: images, scripts, style sheets."""
    essence = media_type.essence if media_type is not None else ""
    is_prose = essence.startswith("text/") and essence not in NOT_PROSE
    return is_prose or essence in HTML or essence in PDF or essence in XML or essence in UNKNOWN


def _kind_of(head: bytes, media_type: MediaType | None) -> str | None:
    essence = media_type.essence if media_type is not None else ""
    if essence in UNKNOWN or essence in PDF or essence in HTML or essence == "text/plain":
        if b"%PDF-" in (head if essence in PDF else head[:5]):
            return "pdf"
        if essence in HTML or _is_page(head):
            return "html"
        return "plain" if essence == "text/plain" and _is_text(head, media_type) else None
    if essence in XML:
        return "html" if _is_page(head) else None
    return "plain" if _is_text(head, media_type) else None


def _is_page(head: bytes) -> bool:
    if head.startswith(_WIDE_BOMS):
        head = head[2:].replace(b"\0", b"")
    return _PAGE.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def _is_text(head: bytes, media_type: MediaType | None) -> bool:
    charset = media_type.get("charset", "") if media_type is not None else ""
    is_wide = head.startswith(_WIDE_BOMS) or (charset or "").lower().startswith(("utf-16", "utf-32"))
    return is_wide or _BINARY.search(head) is None


def _clean(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        data = text.encode()
    # A tenth of the time of a regular expression.
    kept = data.translate(None, CONTROLS)
    return text if len(kept) == len(data) else kept.decode()
