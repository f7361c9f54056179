"""The words of a text, as the search index and its queries have them.

Words are runs of letters and digits, compared without regard to case and to accents. Chinese, Japanese,
Korean and Thai put no blanks between words, so their runs become pairs of neighbouring characters, and the
last character of the run: 図書館 is 図書, 書館, 館. A word of such a language is found by its pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

__all__ = ["MAX_WORD", "is_ideographic", "places_of", "words_of"]

MAX_WORD: Final = 64
"""Characters of a word that count: a longer run of letters would fill the index, and is hardly a word."""
KNOWN_CHARACTERS: Final = 1 << 14

_ASCII = re.compile(rf"([a-z0-9]{{1,{MAX_WORD}}})[a-z0-9]*+")
_ASCII_PLACES = re.compile("[A-Za-z0-9]++")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
FIRST_ACCENT: Final = "\u0300"
LAST_ACCENT: Final = "\u036f"


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order.

    Example:
        >>> words_of("Crème brûlée, 2 图书馆")
        ['creme', 'brulee', '2', '图书', '书馆', '馆']
    """
    if text.isascii():
        return _ASCII.findall(text.lower())
    return [word for word, _, _ in places_of(text)]


def places_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the same words, each with the place in the text, [start, stop), that it comes from."""
    if text.isascii():
        for match in _ASCII_PLACES.finditer(text):
            yield match[0][:MAX_WORD].lower(), *match.span()
        return
    for match in _pattern().finditer(text):
        found, (start, stop) = match[0], match.span()
        if found.isascii():
            yield found[:MAX_WORD].lower(), start, stop
            continue
        at = 0
        for run in _UNSPACED.finditer(found):
            yield from _spelled(found, start, at, run.start())
            yield from _paired(run[0], start + run.start())
            at = run.end()
        yield from _spelled(found, start, at, stop - start)


def is_ideographic(word: str) -> bool:
    """Tell whether a word is one character of a language without blanks: longer words may begin with it."""
    return len(word) == 1 and _UNSPACED.match(word) is not None


def _spelled(found: str, offset: int, start: int, stop: int) -> Iterator[tuple[str, int, int]]:
    # A character may become none, or several.
    if word := "".join(map(_folded, found[start : min(stop, start + MAX_WORD)])):
        yield word[:MAX_WORD], offset + start, offset + stop


def _paired(run: str, offset: int) -> Iterator[tuple[str, int, int]]:
    characters = [_folded(it) for it in run]
    for at, (one, other) in enumerate(zip(characters, [*characters[1:], ""], strict=True), offset):
        if one:
            yield one + other, at, at + (2 if other else 1)


@lru_cache(KNOWN_CHARACTERS)
def _folded(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character.casefold())
    kept = "".join(
        it for it in plain if not FIRST_ACCENT <= it <= LAST_ACCENT and (it.isalnum() or ord(it) > 0x7F)
    )
    return unicodedata.normalize("NFC", kept)


@cache
def _pattern() -> re.Pattern[str]:
    # The vowel signs of Indic scripts are part of their words, and `\w` has no marks.
    marks = "".join(chr(it) for it in range(0x300, 0x10000) if unicodedata.category(chr(it))[0] == "M")
    return re.compile(f"(?>(?:[^\\W_]++|[{marks}]++)+)")
