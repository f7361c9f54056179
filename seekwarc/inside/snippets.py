"""Snippets: the part of a text that shows best what was searched for."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from seekwarc.inside.query import MAX_WORDS, TextQuery, Words
from seekwarc.inside.words import places_of

__all__ = ["SNIPPET_SIZE", "Snippet", "snippet_of"]

SNIPPET_SIZE: Final = 240
"""Characters of a snippet, about."""
LEAD: Final = 60
"""Characters before the first marked word."""
MAX_PLACES: Final = 20
"""Places of each word that was searched for, of which the best is taken."""
MAX_SPACE: Final = 20
"""Characters in which a blank is looked for, so that no word is cut."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text, with the words that were searched for.

    Example:
        >>> from seekwarc.inside.query import TextQuery
        >>> from seekwarc.inside.snippets import snippet_of
        >>> found = snippet_of("Earl Grey, hot.", TextQuery.parse("grey"))
        >>> found.text, found.marks
        ('Earl Grey, hot.', ((5, 9),))
    """

    text: str
    """One line."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where the words are in it, each as [start, stop)."""

    def marked(self, before: str, after: str) -> str:
        """Return the text with something before and after each mark."""
        pieces, at = [], 0
        for start, stop in self.marks:
            pieces += [self.text[at:start], before, self.text[start:stop], after]
            at = stop
        return "".join([*pieces, self.text[at:]])


@dataclass(frozen=True, slots=True)
class _Place:
    number: int
    """Which of the wanted words it is."""
    start: int
    stop: int


def snippet_of(text: str, query: TextQuery, size: int = SNIPPET_SIZE) -> Snippet:
    """Return the part of a text that has the most of what was searched for; its beginning if it has nothing.

    Worst case: the text is read once, and no more than 20 places of each word are compared with each other.
    """
    places = list(_places(text, query.wanted))
    if not places:
        return _cut(text, 0, size, ())

    def worth(first: _Place) -> tuple[int, int]:
        seen = [
            it.number for it in places if first.start <= it.start and it.stop <= first.start + size - LEAD
        ]
        return len(set(seen)), len(seen)

    best = max(places, key=worth)
    begin = max(best.start - LEAD, 0)
    return _cut(text, begin, begin + size, _merged(places))


def _places(text: str, wanted: tuple[Words, ...]) -> Iterator[_Place]:
    """Yield the first places of each of the wanted words."""
    recent: deque[tuple[str, int, int]] = deque(maxlen=MAX_WORDS)
    single: dict[str, list[int]] = {}
    prefixes: list[tuple[str, int]] = []
    for number, words in enumerate(wanted):
        if words.is_prefix:
            prefixes.append((words.words[-1], number))
        else:
            single.setdefault(words.words[-1], []).append(number)
    left = dict.fromkeys(range(len(wanted)), MAX_PLACES)
    for found in places_of(text):
        recent.append(found)
        numbers = [*single.get(found[0], ()), *(it for word, it in prefixes if found[0].startswith(word))]
        for number in numbers:
            size = len(wanted[number].words)
            before = [recent[at] for at in range(max(len(recent) - size, 0), len(recent))]
            if number in left and tuple(it[0] for it in before[:-1]) == wanted[number].words[:-1]:
                yield _Place(number, before[0][1], found[2])
                left[number] -= 1
                if not left[number]:
                    del left[number]
        if not left:
            return


def _merged(places: list[_Place]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted((it.start, it.stop) for it in places):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return tuple(merged)


def _cut(text: str, begin: int, end: int, marks: tuple[tuple[int, int], ...]) -> Snippet:
    """Return a part of a text, which begins and ends at words if they are short enough."""
    if begin:
        blank = re.compile(r"\s").search(text, begin - 1, begin + MAX_SPACE)
        begin = blank.end() if blank is not None else begin
    if end < len(text):
        cut = max(text.rfind(it, end - MAX_SPACE, end) for it in " \n\t")
        end = cut if cut > begin else end
    before, after = ("… " if begin else ""), (" …" if end < len(text) else "")
    shift = len(before) - begin
    shown = tuple(
        (max(start, begin) + shift, min(stop, end) + shift)
        for start, stop in marks
        if start < end and stop > begin
    )
    return Snippet(before + re.sub(r"\s", " ", text[begin:end]) + after, shown)
