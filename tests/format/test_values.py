"""URIs, media types and encoded words: what is one, and what it says."""

from __future__ import annotations

import base64
import contextlib
import quopri

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.values import MediaType, decode_words, is_uri, without_brackets
from tests.support.rounds import rounds
from tests.support.strategies import TOKEN
from tests.support.work import watchdog

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"

# URIs, by the grammar of RFC 3986, appendix A.


def text_of(characters: str, least: int = 0) -> st.SearchStrategy[str]:
    pieces = st.one_of(st.sampled_from(characters), st.sampled_from(["%2f", "%E9"]))
    return st.lists(pieces, min_size=least, max_size=8).map("".join)


NAME = LETTERS + DIGITS + "-._~!$&'()*+,;="
PCHAR = NAME + ":@"


@st.composite
def uris(draw: st.DrawFn) -> str:
    uri = draw(st.sampled_from(LETTERS)) + draw(st.text(LETTERS + DIGITS + "+-.", max_size=6)) + ":"
    segments = "".join("/" + segment for segment in draw(st.lists(text_of(PCHAR), max_size=3)))
    if draw(st.booleans()):
        user = draw(st.one_of(st.just(""), text_of(NAME + ":").map("{}@".format)))
        host = draw(
            st.one_of(text_of(NAME), st.sampled_from(["192.0.2.1", "[::1]", "[2001:DB8::7]", "[v1.a]"]))
        )
        port = draw(st.one_of(st.just(""), st.text(DIGITS, max_size=5).map(":{}".format)))
        uri += f"//{user}{host}{port}{segments}"
    else:
        uri += draw(text_of(PCHAR, 1)) + segments
    for mark in "?#":
        if draw(st.booleans()):
            uri += mark + draw(text_of(PCHAR + "/?"))
    return uri


@pytest.mark.slow
@settings(max_examples=rounds(300))
@given(uris())
def test_uris_of_the_grammar(uri: str) -> None:
    assert is_uri(uri)
    assert without_brackets(f"<{uri}>") == uri
    assert without_brackets(uri) == uri


@given(uris(), st.data())
def test_a_uri_with_a_forbidden_character_is_refused(uri: str, data: st.DataObject) -> None:
    where = data.draw(st.integers(0, len(uri)))
    wrong = data.draw(st.sampled_from(' "<>\\^`{|}\n\t\0\x7f\u00e9\u4e2d\udce9'))
    assert not is_uri(uri[:where] + wrong + uri[where:])


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org/",
        "http://[2001:db8::1]:80/a?b=c&d#e",
        "urn:uuid:d7ae5c10-e6b3-4d27-967d-34780c58ba39",
        "dns:www.archive.org",
        "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
        "mailto:a@example.org",
        "http://example.org/caf%C3%A9",
    ],
)
def test_uris(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "/path",
        "//example.org/",
        "http:",
        "1http://example.org/",
        "+a:b",
        ":b",
        "http://example.org/a b",
        "http://example.org/ ",
        " http://example.org/",
        "http://example.org/caf\u00e9",
        "http://example.org/%",
        "http://example.org/%2",
        "http://example.org/%zz",
        "http://example.org/\n",
        'http://example.org/"',
        "http://example.org/<a>",
        "<http://example.org/>",
        "http://example.org/{}",
        "http://example.org/a|b",
        "http://example.org/\\",
        "http://example.org/#a#b",
        "http://[::1/",
        "http://a@b@c/",
        "http://example.org:80a/",
        "http://example.org/\udce9",
    ],
)
def test_not_a_uri(text: str) -> None:
    assert not is_uri(text)


@given(st.text())
def test_any_text_is_a_uri_or_not(text: str) -> None:
    if is_uri(text):
        assert text.isascii()
        assert ":" in text[1:]
        assert text.count("#") <= 1
        assert not set(text) & set(' <>"{}|\\^`\n\r\t')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<a>", "a"),
        ("<>", ""),
        ("<", "<"),
        (">", ">"),
        ("", ""),
        ("<a", "<a"),
        ("a>", "a>"),
        ("<<a>>", "<a>"),
    ],
)
def test_only_a_pair_of_brackets_is_removed(text: str, expected: str) -> None:
    assert without_brackets(text) == expected


# Media types.

tokens = st.text(TOKEN, min_size=1, max_size=10)
blanks = st.text(" \t", max_size=2)
any_values = st.one_of(tokens, st.text(st.characters(exclude_characters="\r\n\0"), max_size=12))


def quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(tokens, tokens, st.lists(st.tuples(tokens, any_values), max_size=4), st.data())
def test_a_media_type_is_parsed(
    kind: str, subtype: str, parameters: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = data.draw(blanks) + f"{kind}/{subtype}" + data.draw(blanks)
    for name, value in parameters:
        plain = value and set(value) <= set(TOKEN) and data.draw(st.booleans())
        written = value if plain else quoted(value)
        text += (
            f";{data.draw(blanks)}{name}{data.draw(blanks)}={data.draw(blanks)}{written}{data.draw(blanks)}"
        )
    found = MediaType.parse(text)
    assert found.essence == f"{kind}/{subtype}".lower()
    assert found.parameters == tuple((name.lower(), value) for name, value in parameters)
    for name, _ in parameters:
        first = next(value for other, value in parameters if other.lower() == name.lower())
        assert found.get(name) == found.get(name.upper()) == first


@given(tokens, tokens, st.lists(st.tuples(tokens.map(str.lower), any_values), max_size=4))
@example("a", "b", [("c", 'x"y')])
@example("a", "b", [("c", "x\\")])
def test_reading_undoes_writing(kind: str, subtype: str, parameters: list[tuple[str, str]]) -> None:
    made = MediaType(f"{kind}/{subtype}".lower(), tuple(parameters))
    assert MediaType.parse(str(made)) == made


@pytest.mark.parametrize(
    ("text", "essence", "parameters"),
    [
        ("text/html", "text/html", ()),
        ("TEXT/HTML", "text/html", ()),
        ("application/http; msgtype=response", "application/http", (("msgtype", "response"),)),
        ("application/http;msgtype=request", "application/http", (("msgtype", "request"),)),
        ('text/html; charset="UTF-8"', "text/html", (("charset", "UTF-8"),)),
        ("text/html; Charset = utf-8 ; a=b", "text/html", (("charset", "utf-8"), ("a", "b"))),
        ('text/plain; a="b;c"; d=e', "text/plain", (("a", "b;c"), ("d", "e"))),
        (r'text/plain; a="say \"x\" \\"', "text/plain", (("a", r'say "x" ' + "\\"),)),
        ('text/plain; a=""', "text/plain", (("a", ""),)),
        # Servers write semicolons with nothing after them.
        ("text/html;", "text/html", ()),
        ("text/html; ;; charset=x;", "text/html", (("charset", "x"),)),
        ("application/vnd.ms-excel.sheet+xml", "application/vnd.ms-excel.sheet+xml", ()),
    ],
)
def test_media_types(text: str, essence: str, parameters: tuple[tuple[str, str], ...]) -> None:
    assert MediaType.parse(text) == MediaType(essence, parameters)


def test_a_parameter_that_is_missing() -> None:
    found = MediaType.parse("application/http; msgtype=response; MsgType=request")
    assert found.get("MSGTYPE") == "response"
    assert found.get("version") is None
    assert found.get("version", "1.1") == "1.1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "html",
        "text/",
        "/html",
        "text / html",
        "text/html charset=utf-8",
        "text/html, text/plain",
        "text/html; charset",
        "text/html; charset=",
        "text/html; =utf-8",
        'text/html; charset="utf-8',
        'text/html; charset="utf-8"x',
        "text/html; a=b c=d",
        "text/html\n",
        "t\u00e9xt/html",
        "text/(html)",
        "text/html/x",
    ],
)
def test_what_is_not_a_media_type_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="is not a media type"):
        MediaType.parse(text)


@given(st.one_of(st.text(), st.text('ab/;= "\\\t', max_size=30), st.builds("a/b;{}".format, st.text())))
def test_any_text_is_a_media_type_or_a_format_error(text: str) -> None:
    try:
        found = MediaType.parse(text)
    except FormatError as error:
        assert error.message  # noqa: PT017
        return
    assert found.essence == found.essence.lower()
    assert found.essence.count("/") == 1


# Encoded words (RFC 2047).

WORDS = [
    ("=?utf-8?q?caf=C3=A9?=", "caf\u00e9"),
    ("=?UTF-8?Q?caf=c3=a9?=", "caf\u00e9"),
    ("=?utf-8?B?Y2Fmw6k=?=", "caf\u00e9"),
    ("=?iso-8859-1?q?caf=E9_noir?=", "caf\u00e9 noir"),
    ("=?windows-1252?Q?=80?=", "\u20ac"),
    ("=?us-ascii?q?plain?=", "plain"),
    # Blanks between two words belong to neither; other blanks stay.
    ("=?utf-8?q?a?= =?utf-8?q?b?=", "ab"),
    ("=?utf-8?q?a?=   =?iso-8859-1?b?6Q==?=", "a\u00e9"),
    ("=?utf-8?q?a_?= =?utf-8?q?b?=", "a b"),
    ("before =?utf-8?q?caf=C3=A9?= after", "before caf\u00e9 after"),
    # UTF-8 may stand beside them (WARC 1.1, clause 4).
    ("na\u00efve =?utf-8?q?caf=C3=A9?=", "na\u00efve caf\u00e9"),
    ("\u4e2d\u6587 =?utf-8?q?caf=C3=A9?=.warc", "\u4e2d\u6587 caf\u00e9.warc"),
    ("\udcff =?utf-8?q?x?=", "\udcff x"),
]


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_encoded_words_are_decoded(text: str, expected: str) -> None:
    assert decode_words(text) == expected


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=15))
def test_what_was_encoded_comes_back(text: str) -> None:
    raw = text.encode()
    as_base64 = f"=?utf-8?B?{base64.b64encode(raw).decode()}?="
    as_quoted = quopri.encodestring(raw, quotetabs=True, header=True).decode().replace("=\n", "")
    as_quoted = "=?utf-8?Q?" + as_quoted.replace("?", "=3F") + "?="
    assert decode_words(as_base64) == text
    assert decode_words(as_quoted) == text
    assert decode_words(f"a {as_base64} b") == f"a {text} b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "caf\u00e9",
        "a=?b",
        "=?utf-8?q?",
        "=?utf-8?q?caf",
        "=?utf-8?caf?=",
        "=?utf-8?x?caf?=",
        "=?no-such-charset?q?caf?=",
        "=?utf-8?q?=ff?=",
        "=?utf-8?b?Y?=",
        "http://example.org/?a=?b=?c",
        "\udcff=?",
    ],
)
def test_what_is_not_an_encoded_word_stays_as_it_is(text: str) -> None:
    assert decode_words(text) == text


words = st.sampled_from(
    [text for text, _ in WORDS] + ["=?", "?=", "=?utf-8?b?", "=?idna?q?", "=?unknown-8bit?q?a?="]
)


@given(st.lists(st.one_of(words, st.text(max_size=8), st.just("\u2028"), st.just("\x85")), max_size=6))
def test_any_text_can_be_asked_for_its_words(parts: list[str]) -> None:
    text = "".join(parts)
    found = decode_words(text)
    if "=?" not in text:
        assert found == text
    assert isinstance(found, str)


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_nothing_but_the_words_is_changed(separator: str) -> None:
    assert decode_words(f"a{separator}b =?utf-8?q?x?=") == f"a{separator}b x"


@pytest.mark.parametrize(
    "parse",
    [
        lambda: is_uri("a:" + "b" * 1_000_000 + " "),
        lambda: is_uri("a" * 1_000_000),
        lambda: is_uri("a://" + "b:" * 500_000 + "@"),
        lambda: is_uri("a://[" + ":" * 1_000_000),
        lambda: is_uri("a:" + "#" * 1_000_000),
        lambda: is_uri("a:" + "%4" * 500_000),
        lambda: MediaType.parse("a/b" + ";" * 300_000),
        lambda: MediaType.parse("a/b;" + " " * 1_000_000),
        lambda: MediaType.parse('a/b; c="' + "\\" * 500_000 + '"'),
        lambda: decode_words("=?a?q?b" * 150_000),
        lambda: decode_words("=?" * 500_000),
    ],
)
def test_a_megabyte_of_nonsense_is_parsed_fast(parse) -> None:
    # The longest header that is read has 1 MiB.
    with watchdog(), contextlib.suppress(FormatError):
        parse()
