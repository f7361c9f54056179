"""From the bytes of a page to its characters, in spite of what is said of them."""

from __future__ import annotations

import codecs
from typing import Final

__all__ = ["decoded"]

MAX_REPLACED: Final = 5
"""An encoding is wrong if more than one in so many bytes that are not ASCII is invalid in it."""
BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
ASCII: Final = bytes(range(128))
ESCAPE: Final = b"\x1b"
"""Begins the other characters of encodings of 7 bits, such as ISO-2022-JP."""


def decoded(data: bytes, charset: str | None, *, is_html: bool = False, is_cut: bool = False) -> str:
    """Return the characters of a page; see `text_of`. If it `is_cut`, its last one may be incomplete."""
    from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

    for mark, name in BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    stated = map_encoding_to_html5(charset, fallback_utf8=False) if charset else None
    is_wide = stated is not None and stated.lower().startswith("utf-16")
    if not is_wide and ESCAPE not in data:
        # Text in another encoding is hardly ever valid UTF-8, but many pages in UTF-8 state another encoding.
        try:
            return codecs.utf_8_decode(data, "strict", not is_cut)[0]
        except UnicodeDecodeError:
            pass
    if stated is not None:
        text = _decode(data, stated)
        wrong = text.count("\ufffd")
        if not wrong or is_wide or wrong * MAX_REPLACED <= len(data.translate(None, ASCII)):
            return text
    return _decode(data, detect_encoding(data, from_html_meta=is_html) or "utf-8")


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        return data.decode("utf-8", "replace")
