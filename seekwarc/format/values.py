"""Values of named fields: URIs, media types, addresses, encoded words.

Source: WARC 1.1, clauses 4 and 5; RFC 3986 (URIs), RFC 2045 (media types), RFC 2047 (encoded words).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.header_fields import TOKEN
from seekwarc.format.words import quoted

__all__ = ["URI", "MediaType", "decode_words", "is_uri", "without_brackets"]

# Texts, which `re` compiles at their first use and keeps: reading bytes of a record needs none of them.
_URI_TEXT = r"(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=\[\]]++|%[0-9A-Fa-f]{2})"
_AUTHORITY = r"//(?:[^/?#\[\]@>\r]*+@)?(?:\[[0-9A-Fa-fvV:.]+\]|[^/?#\[\]@:>\r]*+)(?::[0-9]*+)?(?=[/?#>\r]|$)"
# RFC 3986 allows brackets only in the authority. They are accepted in path and query too, because browsers
# and crawlers do not encode them there, and nearly every archive has such URIs.
URI = rf"[A-Za-z][A-Za-z0-9+.\-]*:(?=[^>\r])(?:(?={_AUTHORITY})|(?!//)){_URI_TEXT}*+(?:#{_URI_TEXT}*+)?"
"""A URI as a regular expression, also of one that is followed by `>` or by the end of a line."""
_MEDIA_TYPE = rf"[ \t]*({TOKEN})/({TOKEN})[ \t]*"
_PARAMETER = rf';[ \t]*(?:({TOKEN})[ \t]*=[ \t]*({TOKEN}|"(?:[^"\\]|\\.)*")[ \t]*)?'
_ENCODED_WORD = r"=\?[!-<>-~]+\?[bBqQ]\?[!->@-~]*\?="
# Blanks between two encoded words are not part of the text, so such words are decoded together.
_ENCODED_WORDS = rf"{_ENCODED_WORD}(?:[ \t]+{_ENCODED_WORD})*"
_QUOTED_PAIR = r"\\(.)"


def is_uri(text: str) -> bool:
    """Return whether a text is a URI with a scheme, in the characters that RFC 3986 allows."""
    return _uri_pattern().fullmatch(text) is not None


@cache
def _uri_pattern() -> re.Pattern[str]:
    return re.compile(URI)


def without_brackets(text: str) -> str:
    """Remove the angle brackets that WARC puts around identifiers, and WARC 1.0 around every URI."""
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text


class MediaType(NamedTuple):
    """A media type; names in lower case.

    Attributes:
        essence: Type and subtype, such as "application/http".
        parameters: (attribute, value) pairs in order, such as ("msgtype", "response").

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     kind = next(archive.records(type="response")).media_type
        >>> kind.essence, kind.parameters
        ('application/http', (('msgtype', 'response'),))
    """

    essence: str
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> MediaType:
        """Parse a media type.

        Raises:
            FormatError: The text is not a media type.
        """
        match = re.match(_MEDIA_TYPE, text)
        position = match.end() if match else 0
        parameters = []
        while match and position < len(text):
            parameter = re.compile(_PARAMETER).match(text, position)
            if parameter is None:
                match = None
                break
            if parameter[1] is not None:
                parameters.append((parameter[1].lower(), _unquoted(parameter[2])))
            position = parameter.end()
        if match is None:
            raise FormatError(f"{quoted(text[:80])} is not a media type such as text/html")
        return cls(f"{match[1]}/{match[2]}".lower(), tuple(parameters))

    def get(self, attribute: str, default: str | None = None) -> str | None:
        """Return the first value of a parameter; attributes are not case-sensitive."""
        wanted = attribute.lower()
        return next((value for name, value in self.parameters if name == wanted), default)

    def __str__(self) -> str:
        return self.essence + "".join(f'; {name}="{_quoted(value)}"' for name, value in self.parameters)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _unquoted(value: str) -> str:
    return re.sub(_QUOTED_PAIR, r"\1", value[1:-1]) if value.startswith('"') else value


def decode_words(text: str) -> str:
    """Replace encoded words (RFC 2047), such as `=?utf-8?q?caf=C3=A9?=`; damaged ones stay unchanged."""
    if "=?" not in text:
        return text
    return re.sub(_ENCODED_WORDS, _decoded, text)


def _decoded(words: re.Match[str]) -> str:
    from email.errors import HeaderParseError
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(words[0])))
    except (HeaderParseError, LookupError, ValueError):
        return words[0]
