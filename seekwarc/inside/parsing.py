"""HTML and PDF parsed, with limits; `text.py` says where."""

from __future__ import annotations

import io
import re
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from seekwarc.errors import FormatError, LimitError, UnsupportedError
from seekwarc.inside.decoding import decoded

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["MAX_SECONDS", "Parsed", "language_of", "parse_html", "parse_pdf", "resiliparse_needed"]

MAX_SECONDS: Final = 20
"""Seconds after which the process that parses ends itself. A PDF has half of that for its pages."""
MAX_PAGES: Final = 5000
MIN_DETECTED: Final = 200
"""Characters that must be there to detect their language."""
MAX_DETECTED: Final = 1000
"""Characters that are looked at for that."""
MAX_RANK: Final = 1200
"""Distance from the profile of a language, more than which resiliparse calls a false result."""
MAX_PDF_TITLE: Final = 1 << 10

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,6}")


class Parsed(NamedTuple):
    """What was found, not cleaned yet."""

    text: str
    title: str | None
    lang: str | None
    is_whole: bool


def resiliparse_needed() -> None:
    """Raise an `UnsupportedError` if resiliparse is not installed."""
    try:
        import_module("resiliparse")
    except ImportError as error:
        raise _missing("resiliparse") from error


def parse_html(
    data: bytes, *, charset: str | None, main: bool, max_text: int, is_cut: bool, text_only: bool = False
) -> Parsed:
    """Return the text of HTML; unless `text_only`, with its title and language."""
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    characters = decoded(data, charset, is_html=True, is_cut=is_cut)
    tree = HTMLTree.parse(characters)
    if text_only:
        text = extract_plain_text(tree, main_content=main)
        return Parsed(text[:max_text], None, None, len(text) <= max_text)
    # An element as an object takes as long as many of them to be parsed.
    root = tree.document.document_element if "lang" in characters and tree.document is not None else None
    stated = _language(root.getattr("lang")) if root is not None else None
    # Before the extraction, which changes the tree.
    title = tree.title
    text = extract_plain_text(tree, main_content=main)
    return Parsed(text[:max_text], title, stated or language_of(text), len(text) <= max_text)


def parse_pdf(data: bytes, *, max_text: int) -> Parsed:
    """Return the text of a PDF: of all pages that can be read."""
    deadline = time.monotonic() + MAX_SECONDS / 2
    reader, count = _opened(data)

    def in_time(*_: object) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    texts: list[str] = []
    left, is_whole = max_text, count <= MAX_PAGES
    for number in range(min(count, MAX_PAGES)):
        if left <= 0 or time.monotonic() > deadline:
            is_whole = False
            break
        try:
            text = reader.pages[number].extract_text(visitor_operand_before=in_time).strip()
        except Exception:  # noqa: BLE001 - see `_opened`; the other pages may be fine
            is_whole = False
            continue
        is_whole = is_whole and len(text) <= left
        texts.append(text[:left])
        left -= len(text) + 1
    text = "\n".join(texts)
    title, lang = _of_catalog(reader)
    return Parsed(text, title, lang or language_of(text), is_whole)


def _opened(data: bytes) -> tuple[PdfReader, int]:
    """Open a PDF; return it and the number of its pages."""
    try:
        pypdf: Any = import_module("pypdf")
    except ImportError as error:
        raise _missing("pypdf") from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnsupportedError("the PDF is encrypted")
        return reader, len(reader.pages)
    except UnsupportedError:
        raise
    except MemoryError as error:
        raise LimitError("the PDF takes too much memory") from error
    except Exception as error:
        # pypdf has errors of its own, and also raises nearly all of Python's.
        raise FormatError(f"the PDF cannot be read: {type(error).__name__}: {error}") from error


def _of_catalog(reader: PdfReader) -> tuple[str | None, str | None]:
    title = lang = None
    try:
        title = reader.metadata.title if reader.metadata is not None else None
        lang = _language(str(reader.root_object.get("/Lang") or ""))
    except Exception:  # noqa: BLE001 - see `_opened`
        return None, None
    return str(title)[:MAX_PDF_TITLE] if title else None, lang


def _language(stated: str | None) -> str | None:
    stated = (stated or "").strip()
    return stated.replace("_", "-") if _LANGUAGE.fullmatch(stated) else None


def language_of(text: str) -> str | None:
    """Return the language that a text seems to be in; None of a short one."""
    if len(text) < MIN_DETECTED:
        return None
    from resiliparse.parse.lang import detect_fast

    name, _ = detect_fast(text[:MAX_DETECTED], cutoff=MAX_RANK)
    return name if name != "unknown" else None


def _missing(name: str) -> UnsupportedError:
    return UnsupportedError(f"text of pages needs {name}: pip install 'seekwarc[text]'")
