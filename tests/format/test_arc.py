"""Lines of ARC files become headers, or errors, whatever is in them."""

from __future__ import annotations

import contextlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.arc import ArcGrammar, arc_grammar
from seekwarc.format.rules import check_header
from seekwarc.read.grammar import MAX_VERSION_BLOCK
from tests.support.arc import VERSION_2, first_record
from tests.support.work import watchdog

ONE = arc_grammar(b"")
TWO = arc_grammar(first_record(VERSION_2))
LINE = b"http://example.org/a 192.0.2.1 20010102030405 text/html 27\n"


def test_a_line_has_the_fields_of_warc() -> None:
    header = ONE.parse(LINE)
    assert dict(header) == {
        "WARC-Type": "response",
        "WARC-Target-URI": "http://example.org/a",
        "WARC-IP-Address": "192.0.2.1",
        "WARC-Date": "2001-01-02T03:04:05Z",
        "Content-Type": "application/http;msgtype=response",
        "Content-Length": "27",
    }
    assert (header.raw, header.content_length, header.record_size) == (LINE, 27, len(LINE) + 27)
    assert (header.problem, check_header(header)) == (None, [])
    assert pickle.loads(pickle.dumps(header)) == header == header.with_length(27)
    assert header.with_length(9).record_size == len(LINE) + 9
    assert header.get_all("warc-type") == ("response",)


def test_the_first_line_is_that_of_a_warcinfo() -> None:
    header = ONE.parse(b"filedesc://a b.arc 0.0.0.0 20010102030405 text/plain 76\n")
    assert (header["WARC-Type"], header["WARC-Filename"]) == ("warcinfo", "a%20b.arc")
    assert (header["Content-Type"], header.get("WARC-IP-Address")) == ("text/plain", None)
    assert "WARC-Date" not in ONE.parse(b"filedesc:// - - - 76\r\n")


def test_what_is_not_http_is_a_resource() -> None:
    header = ONE.parse(b"dns:example.org 192.0.2.1 20010102030405 text/dns 56\n")
    assert (header["WARC-Type"], header["Content-Type"]) == ("resource", "text/dns")


def test_version_2_has_more_fields() -> None:
    line = b"http://example.org/ 192.0.2.1 20010102030405 text/html 200 abc - 1234 old.arc 27\n"
    header = TWO.parse(line)
    assert (header["WARC-Date"], header.content_length) == ("2001-01-02T03:04:05Z", 27)
    assert TWO.begins(line)
    assert dict(ONE.parse(line)) == dict(TWO.parse(line))


LINES = {
    "a media type of two words": (b"192.0.2.1 20010102030405", b"text/html; charset=iso-8859-1"),
    "a media type of many words": (b"192.0.2.1 20010102030405", b"text/html;  charset = x 7 1.0 y"),
    "an empty media type": (b"192.0.2.1 20010102030405", b""),
    "address and date exchanged": (b"20010102030405 192.0.2.1", b"text/html"),
    "an address of version 6": (b"2001:db8::1 20010102030405", b"text/html"),
    "a short date": (b"192.0.2.1 200101020304", b"text/html"),
    "a long date": (b"192.0.2.1 20010102030405123", b"text/html"),
    "no address": (b"- 20010102030405", b"text/html; charset=iso-8859-1"),
    "a name for an address": (b"www.example.org 20010102030405", b"text/html; charset=x"),
    "the address left out": (b"20010102030405", b"text/html"),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("later", [b"", b" 200 abc - 1234 old.arc", b" - - - - -"])
@pytest.mark.parametrize(
    "url", [b"http://example.org/", b"http://example.org/a 10.0.0.1 b", b"dns:example.org"]
)
@pytest.mark.parametrize("grammar", [ONE, TWO], ids=["one", "two"])
def test_lines_that_fit_no_names_have_their_fields(
    name: str, later: bytes, url: bytes, grammar: ArcGrammar
) -> None:
    pair, media = LINES[name]
    if name in ("the address left out", "a name for an address") and url != b"http://example.org/":
        return
    line = url + b" " + pair + b" " + media + later + b" 27\n"
    header = grammar.parse(line)
    assert header["WARC-Target-URI"] == url.decode().replace(" ", "%20")
    assert header["WARC-Date"][:17] == "2001-01-02T03:04:"
    assert header.get("WARC-IP-Address") in (*pair.decode().split(), None)
    assert ("WARC-IP-Address" in header) == name.endswith(("words", "media type", "exchanged", "6", "date"))
    if url.startswith(b"dns") and media:
        assert header["Content-Type"] == media.decode()
    assert (header.content_length, header.problem) == (27, None)
    assert grammar.begins(line)
    assert all(grammar.may_begin(line[:end]) for end in range(1, len(line) + 1))


def test_a_date_that_is_not_one_is_a_problem() -> None:
    header = ONE.parse(LINE.replace(b"20010102030405", b"20011302000000"))
    assert "WARC-Date" not in header
    assert header.problem == "Archive-date '20011302000000' is not a date"
    assert [it.field for it in check_header(header)] == ["Archive-date"]
    assert ONE.begins(header.raw)
    assert ONE.begins(LINE.replace(b"20010102030405", b"200101\x101000000"))


@pytest.mark.parametrize("line", [b"Content-Length: 27\n", b"Date: 2001 a 27\n", b"style: a 2001 b c 7\n"])
def test_lines_of_a_body_begin_no_record(line: bytes) -> None:
    assert not ONE.begins(line)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (b"http://example.org/a b  c", "http://example.org/a%20b%20%20c"),
        (b"http://example.org/\xc3\xa9", "http://example.org/\xe9"),
        (b"http://example.org/\xe9", "http://example.org/\xe9"),
        (b"http://example.org/\0\r\x7f", "http://example.org/%00%0D%7F"),
    ],
)
def test_urls_that_break_rules_are_read(url: bytes, expected: str) -> None:
    line = url + LINE[LINE.index(b" ") :]
    assert ONE.parse(line)["WARC-Target-URI"] == expected
    assert ONE.begins(line)


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        (b"20010102030405", "2001-01-02T03:04:05Z"),
        (b"200101020304051234", "2001-01-02T03:04:05Z"),
        (b"200101020304", "2001-01-02T03:04:00Z"),
        (b"20010102", "2001-01-02T00:00:00Z"),
        (b"2001", "2001-01-01T00:00:00Z"),
        (b"20011302000000", None),
        (b"00000000000000", None),
        (b"-", None),
        ("\u0662\u0660\u0660\u0661".encode(), None),
    ],
)
def test_dates_are_of_any_length(digits: bytes, expected: str | None) -> None:
    assert ONE.parse(LINE.replace(b"20010102030405", digits)).get("WARC-Date") == expected


@pytest.mark.parametrize("length", [b"-1", b"abc", b"-", b"1" * 19, b"+5", b"0x9", "\u0665".encode()])
def test_a_length_that_is_not_one_is_a_problem(length: bytes) -> None:
    header = ONE.parse(LINE.replace(b"27", length))
    assert (header.content_length, header.problem is not None) == (0, True)
    assert [it.field for it in check_header(header)] == ["Archive-length"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"http://a 1 2 3\n",
        b"a b c d e\n",
        b"//a b c d 5\n",
        b"x" * 99999 + LINE,
        b"http:" + LINE[:20],
    ],
)
def test_other_lines_are_errors(line: bytes) -> None:
    with pytest.raises(FormatError):
        ONE.parse(line)


@given(st.binary(max_size=200), st.booleans())
def test_any_line_is_a_header_or_an_error(data: bytes, is_first: bool) -> None:
    line = (b"filedesc://" if is_first else b"http://") + data + b" 192.0.2.1 20010102030405 text/html 5\n"
    for grammar in (ONE, TWO, arc_grammar(data)):
        for text in (data, line):
            try:
                header = grammar.parse(text)
            except FormatError:
                continue
            assert header.content_length >= 0
            assert header["WARC-Type"] in ("warcinfo", "response", "resource")
            assert dict(header) == dict(header.warc)


@given(
    st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=40).filter(
        lambda it: it == it.strip()
    ),
    st.integers(0, 10**18 - 1),
)
def test_what_a_line_says_is_read_back(path: str, length: int) -> None:
    line = f"http://example.org/{path}x 192.0.2.1 20010102030405 text/html {length}\n".encode()
    header = ONE.parse(line)
    assert header["WARC-Target-URI"] == f"http://example.org/{path}x".replace(" ", "%20")
    assert (header.content_length, ONE.begins(line), ONE.may_begin(line)) == (length, True, True)
    assert all(ONE.may_begin(line[:end]) for end in range(1, len(line)))


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\n\n",
        b"a\nb\n",
        b"1 0 x\nURL\n",
        b"1 0 x\nURL Archive-length\n",
        b"1 0 x\nURL " + b"x " * 99 + b"Archive-length\n",
    ],
)
def test_a_strange_version_block_means_version_1(block: bytes) -> None:
    assert arc_grammar(first_record(block)).parse(LINE).content_length == 27


def test_long_lines_take_linear_time() -> None:
    hostile = [
        b"http:" + b" 1.1" * 20_000,
        b"http: 1.1.1.1 " + b"2" * 80_000,
        b"a:b " * 20_000,
        b"a:b\n" * 20_000,
        b"http://a" + b" 1.1.1.1 2001" * 5_000 + b" " + b"x" * 19 + b"\n",
        b"http://a" + b" - 2001" * 9_000,
        b"dns:a" + b" -" * 20_000 + b" " + b"x" * 19 + b"\n",
    ]
    for data in hostile:
        with watchdog():
            assert not ONE.begins(data)
            assert ONE.beginning.search(data) is ONE.after_gap.search(data) is None
            ONE.may_begin(data)
            assert arc_grammar(data[:MAX_VERSION_BLOCK]) is not None
            with contextlib.suppress(FormatError):
                ONE.parse(data)


def test_a_time_of_day_is_no_address() -> None:
    """Or each Date of an HTTP head were taken for a record where one is looked for."""
    grammar = arc_grammar(b"")
    assert not grammar.begins(b"Date: Sun, 16 Feb 2014 05:02:20 GMT\n")
    for address in (b"2001:db8::1", b"::1", b"2001:db8:0:0:0:0:2:1"):
        assert grammar.begins(b"http://example.org/ %s 20140216050220 text/html 10\n" % address)
