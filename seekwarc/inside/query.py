"""The language of text searches: what users write, and what the index is asked for.

    tea kettle          pages that have both words
    "earl grey"         these words in this order
    arch*               words that begin so
    tea OR coffee       one of them; AND is what a blank means
    tea NOT green       also -green
    (tea OR coffee) milk
    title:tea           in the title
    site:example.org    captured from that host or its subdomains
    type:pdf            of that media type: type:text/html, type:image/*

The index knows which words a page has, but neither their order nor their number. So the expression made for
it may find too many pages: `is_exact` is then false, and `matches` decides by the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Final, TypeAlias

from seekwarc.format.uri import checked_host
from seekwarc.inside.words import is_ideographic, words_of

__all__ = ["IN_TITLE", "MAX_QUERY", "MAX_WORDS", "OFTEN", "TextQuery", "Words", "reading_of"]

MAX_QUERY: Final = 1000
"""Characters of a query."""
MAX_WORDS: Final = 32
"""Words of a query."""
MAX_DEPTH: Final = 8
"""Parentheses inside parentheses."""
MIN_PREFIX: Final = 2
"""Letters before an asterisk: the index would have to read too much for one."""
IN_TITLE: Final = "="
"""Stands before a word in the index that is in the title."""
OFTEN: Final = "+"
"""Stands before a word in the index that a page has several times."""

_TOKEN = re.compile(
    r"\s*+(?:(?P<parenthesis>[()])|(?P<minus>-)?(?:(?P<field>site|title|type):)?"
    r'(?:"(?P<phrase>[^"]*+)"?|(?P<word>[^\s"()]++)))'
)


_FIELD = re.compile(r"([^\W\d]\w*):(?=\S)")


def reading_of(query: str) -> str:
    """Return how a query was read where that may not be what was meant, as the end of a message; or ""."""
    notes = [
        f"{name}: is not a field (site, title, type), so it and what follows were searched for as words"
        for name in dict.fromkeys(_FIELD.findall(re.sub(r'"[^"]*"?', "", query)))
        if name not in ("site", "title", "type")
    ]
    if query.count('"') % 2:
        notes.append("a quotation mark is not closed, so all after it is one phrase")
    return "".join(f"; {note}" for note in notes)


@dataclass(frozen=True, slots=True)
class Words:
    """Words that follow each other, mostly one."""

    words: tuple[str, ...]
    is_prefix: bool = False
    """Whether other words that begin with the last one also match."""
    in_title: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether the index knows if a page has them."""
        return len(self.words) == 1

    @property
    def expression(self) -> str:
        """What FTS5 is asked for."""
        mark = IN_TITLE if self.in_title else ""
        names = [f'"{mark}{word}"' for word in self.words]
        if self.is_prefix:
            names[-1] += "*"
        return " AND ".join(names) if len(names) == 1 else f"({' AND '.join(names)})"

    def is_in(self, page: _Page) -> bool:
        """Tell whether a page has the words, in this order."""
        wanted = "\0" + "\0".join(self.words) + ("" if self.is_prefix else "\0")
        return wanted in page.title or (not self.in_title and wanted in page.text)


@dataclass(frozen=True, slots=True)
class _All:
    wanted: tuple[_Node, ...]
    """At least one."""
    unwanted: tuple[_Node, ...]

    @property
    def is_exact(self) -> bool:
        return all(it.is_exact for it in (*self.wanted, *self.unwanted))

    @property
    def expression(self) -> str:
        found = " AND ".join(_expression(it) for it in self.wanted)
        # A page that has the words of an unwanted phrase may have them in another order.
        sure = [f" NOT {_expression(it)}" for it in self.unwanted if it.is_exact]
        return reduce(lambda left, right: f"({left}){right}", sure, found)

    def is_in(self, page: _Page) -> bool:
        return all(it.is_in(page) for it in self.wanted) and not any(it.is_in(page) for it in self.unwanted)


@dataclass(frozen=True, slots=True)
class _Any:
    inner: tuple[_Node, ...]

    @property
    def is_exact(self) -> bool:
        return all(it.is_exact for it in self.inner)

    @property
    def expression(self) -> str:
        return " OR ".join(_expression(it) for it in self.inner)

    def is_in(self, page: _Page) -> bool:
        return any(it.is_in(page) for it in self.inner)


_Node: TypeAlias = Words | _All | _Any


def _expression(node: _Node) -> str:
    """Return what finds all pages that match, and perhaps others."""
    return node.expression if isinstance(node, Words) else f"({node.expression})"


class _Page:
    """The words of a page, to be searched as one text."""

    def __init__(self, text: str, title: str | None) -> None:
        self.text = "\0" + "\0".join(words_of(text)) + "\0"
        self.title = "\0" + "\0".join(words_of(title or "")) + "\0"


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query, parsed.

    Example:
        >>> query = TextQuery.parse('"earl grey" OR oolong site:example.org')
        >>> query.is_exact, query.sites, query.matches("Earl Grey, hot.", None)
        (False, ('example.org',), True)
    """

    node: _All | _Any | Words | None
    """None if the query has conditions only."""
    sites: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """Patterns of media types, in lower case."""

    @classmethod
    def parse(cls, text: str) -> TextQuery:
        """Parse a query.

        Raises:
            ValueError: It is too long, or is not a query.
        """
        if len(text) > MAX_QUERY:
            raise ValueError(f"a query may have {MAX_QUERY} characters, not {len(text)}")
        return _Parser(text).query()

    @property
    def is_exact(self) -> bool:
        """Whether the index finds exactly the pages that match."""
        return self.node is None or self.node.is_exact

    @property
    def expression(self) -> str | None:
        """What FTS5 is asked for; None for all pages. It has nothing of the query but its words."""
        return self.node.expression if self.node is not None else None

    @property
    def wanted(self) -> tuple[Words, ...]:
        """All that is searched for, without what is negated."""
        return tuple(_wanted(self.node)) if self.node is not None else ()

    @property
    def required(self) -> frozenset[str]:
        """Words that all pages have that match, as far as that is simple to tell."""
        found = self.node.wanted if isinstance(self.node, _All) else (self.node,)
        return frozenset(word for it in found if isinstance(it, Words) for word in it.words)

    @property
    def sufficient(self) -> frozenset[str]:
        """Words each of which alone, anywhere on a page, makes it match, as far as that is simple to tell."""
        found = self.node.inner if isinstance(self.node, _Any) else (self.node,)
        return frozenset(
            it.words[0] for it in found if isinstance(it, Words) and it.is_exact and not it.in_title
        )

    def matches(self, text: str, title: str | None) -> bool:
        """Tell whether a page matches, apart from its host and its media type."""
        return self.node is None or self.node.is_in(_Page(text, title))


def _wanted(node: _Node) -> Iterator[Words]:
    match node:
        case Words():
            yield node
        case _All(wanted=inner) | _Any(inner=inner):
            for it in inner:
                yield from _wanted(it)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_TOKEN.finditer(text))
        self._at = 0
        self._words = 0
        self._sites: list[str] = []
        self._types: list[str] = []

    def query(self) -> TextQuery:
        node = self._any(0)
        if self._at < len(self._tokens):
            raise ValueError("a `)` has no `(` before it")
        if node is None and not self._sites and not self._types:
            raise ValueError("the query has no word to search for")
        return TextQuery(node, tuple(self._sites), tuple(self._types))

    def _next(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take_word(self, word: str) -> bool:
        token = self._next()
        is_next = token is not None and token["word"] == word and not token["field"] and not token["minus"]
        self._at += is_next
        return is_next

    def _any(self, depth: int) -> _Node | None:
        if depth > MAX_DEPTH:
            raise ValueError(f"at most {MAX_DEPTH} parentheses may be inside each other")
        found = [self._all(depth)]
        conditions = len(self._sites) + len(self._types)
        while self._take_word("OR"):
            found.append(self._all(depth))
        nodes = [it for it in found if it is not None]
        if len(found) > 1:
            if len(nodes) < len(found):
                raise ValueError("OR needs a word on both sides; site: and type: are not words")
            if len(self._sites) + len(self._types) > conditions and depth:
                raise ValueError("site: and type: apply to the whole query; write them outside of ( )")
        return _Any(tuple(nodes)) if len(nodes) > 1 else nodes[0] if nodes else None

    def _all(self, depth: int) -> _Node | None:
        wanted: list[_Node] = []
        unwanted: list[_Node] = []
        while True:
            while self._take_word("AND"):
                pass
            is_negated = self._take_word("NOT")
            token = self._next()
            if token is None or token["parenthesis"] == ")" or token["word"] == "OR":
                if is_negated:
                    raise ValueError("NOT needs a word after it")
                break
            self._at += 1
            is_negated = is_negated or bool(token["minus"])
            node = self._one(token, depth, is_negated=is_negated)
            if node is not None:
                (unwanted if is_negated else wanted).append(node)
        if unwanted and not wanted:
            raise ValueError("the query only says what to leave out; add a word to search for")
        if len(wanted) == 1 and not unwanted:
            return wanted[0]
        return _All(tuple(wanted), tuple(unwanted)) if wanted else None

    def _one(self, token: re.Match[str], depth: int, *, is_negated: bool) -> _Node | None:
        if token["parenthesis"]:
            node = self._any(depth + 1)
            closing = self._next()
            if closing is None:
                raise ValueError("a `(` has no `)` after it")
            self._at += 1
            return node
        field, text = token["field"], token["phrase"] if token["phrase"] is not None else token["word"]
        if field in ("site", "type"):
            if is_negated:
                raise ValueError(f"{field}: cannot be negated")
            self._condition(field, text)
            return None
        return self._text(text, in_title=field == "title", is_phrase=token["phrase"] is not None)

    def _condition(self, field: str, text: str) -> None:
        if field == "type":
            self._types.append(text.lower() if "/" in text else f"*/*{text.lower()}*")
        elif not re.fullmatch(r"(?:\*\.)?[^\s/:?#*]+", text):
            raise ValueError(f"site:{text} is not a host such as site:example.org")
        else:
            self._sites.append(checked_host(text))

    def _text(self, text: str, *, in_title: bool, is_phrase: bool) -> Words | None:
        words = words_of(text)
        if len(words) > 1 and is_ideographic(words[-1]) and words[-2].endswith(words[-1]):
            # The page may go on after the last pair.
            words.pop()
        if not words:
            return None
        self._words += len(words)
        if self._words > MAX_WORDS:
            raise ValueError(f"a query may have {MAX_WORDS} words")
        is_prefix = text.endswith("*") and not is_phrase
        if is_prefix and len(words[-1]) < MIN_PREFIX and not is_ideographic(words[-1]):
            raise ValueError(f"{text} begins too many words; write {MIN_PREFIX} letters before the asterisk")
        return Words(tuple(words), is_prefix or is_ideographic(words[-1]), in_title)
