"""Record headers: kept as they are, read as they are meant, written as they should be."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.header_fields import find_header_end, format_fields, parse_fields
from seekwarc.format.warc import (
    MAX_HEADER_SIZE,
    WARC,
    build_record_header,
    edit_header,
    is_record_magic,
    may_begin_record,
    parse_record_header,
)
from tests.support.rounds import rounds
from tests.support.strategies import DrawnHeader, field_names, field_values, record_headers
from tests.support.work import watchdog

USUAL = (
    b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://example.org/>\r\n"
    b"WARC-Concurrent-To: <urn:a>\r\nwarc-concurrent-to:<urn:b>\r\nContent-Length: 12\r\n\r\n"
)


@given(record_headers())
def test_a_header_is_parsed(drawn: DrawnHeader) -> None:
    header = parse_record_header(drawn.raw)
    assert header.raw == drawn.raw
    assert list(header.items()) == list(header.fields) == drawn.fields
    assert header.content_length == drawn.content_length
    for name, _ in drawn.fields:
        values = tuple(value for other, value in drawn.fields if other.lower() == name.lower())
        assert header.get_all(name.upper()) == values
        assert header[name.lower()] == header.get(name) == values[0]
        assert name.swapcase() in header


@given(record_headers(), st.binary(max_size=50))
def test_the_end_of_a_header_is_found_before_any_block(drawn: DrawnHeader, block: bytes) -> None:
    # A block that begins with a line break must not be taken for part of the header.
    for data in (drawn.raw + block, drawn.raw + b"\r\n" + block):
        assert find_header_end(data) == len(drawn.raw)
        assert find_header_end(b"xyz" + data, 3) == len(drawn.raw) + 3


@given(st.text("\r\na :", max_size=14))
@example("a\n\r\n\r\n")
@example("a\r\n\n\r\n\r\n")
@example("\r\n\r\n")
@example("a\r\r\n\r\r\n")
def test_the_end_of_a_header_is_its_first_blank_line(text: str) -> None:
    data = text.encode()
    # Some writers end lines with CR CR LF.
    blank = re.search(rb"\n\r{0,2}\n", data)
    expected = blank.end() if blank else -1
    assert find_header_end(data) == expected
    assert find_header_end(bytearray(data)) == expected


@given(st.lists(st.tuples(field_names, field_values), max_size=8), st.integers(0, 10**18 - 1))
def test_parsing_undoes_building(fields: list[tuple[str, str]], length: int) -> None:
    fields = [*fields, ("Content-Length", str(length))]
    header = build_record_header(fields)
    assert parse_record_header(header.raw) == header
    assert list(header.items()) == fields
    assert header.content_length == length
    assert header.version == "1.1"
    assert find_header_end(header.raw) == len(header.raw)
    assert header.raw.startswith(b"WARC/1.1\r\n")
    assert header.raw.endswith(b"\r\n\r\n")


def test_fields_by_name() -> None:
    header = parse_record_header(USUAL)
    assert header.version == "1.0"
    assert header.get("warc-type") == header["WARC-TYPE"] == "response"
    assert header.get_all("WARC-Concurrent-To") == ("<urn:a>", "<urn:b>")
    assert header.get("WARC-Date") is None
    assert header.get("WARC-Date", "never") == "never"
    assert header.get_all("WARC-Date") == ()
    assert "WARC-Date" not in header
    assert 5 not in header
    with pytest.raises(KeyError):
        header["WARC-Date"]


def test_uris_lose_their_angle_brackets() -> None:
    header = parse_record_header(USUAL)
    assert header.uri("WARC-Target-URI") == "http://example.org/"
    assert header.uri("WARC-Type") == "response"
    assert header.uri("WARC-Date") is None


def test_bytes_that_are_not_utf_8_survive() -> None:
    raw = b"WARC/1.1\r\nWARC-Target-URI: http://ex/\xe9\xff\r\nContent-Length: 0\r\n\r\n"
    header = parse_record_header(raw)
    value = header["WARC-Target-URI"]
    assert value.encode("utf-8", "surrogateescape") == b"http://ex/\xe9\xff"
    assert build_record_header(header.items()).raw == raw


def test_folded_values_are_one_line() -> None:
    raw = b"WARC/1.1\r\nX-A: one\r\n two\r\n\tthree\r\nX-B:\r\n four\r\nContent-Length: 0\r\n\r\n"
    assert list(parse_record_header(raw).items())[:2] == [("X-A", "one two three"), ("X-B", "four")]


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_a_folded_line_may_hold_nothing_but_blanks(newline: bytes) -> None:
    raw = newline.join(
        [b"WARC/1.1", b"X: one \t", b" ", b"\t ", b" two", b"Y: z", b"Content-Length: 0", b"", b""]
    )
    header = parse_record_header(raw)
    for value in (header["X"], dict(header.fields)["X"]):
        assert value.split(" ") == ["one", "", "", "two"]
    assert header["Y"] == "z"


def test_lines_without_a_colon_are_skipped() -> None:
    assert list(parse_fields(b"a: 1\r\nnonsense\r\n: no name\r\nb:2:3\r\n")) == [
        ("a", "1"),
        ("", "no name"),
        ("b", "2:3"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"Content-Length: 12",
        b"content-length: 12",
        b"CONTENT-LENGTH:12",
        b"Content-Length  : \t12  ",
        b"Content-Length: 000012",
        b"Content-Length:\r\n 12",
        b"Content-Length: 12\r\nContent-Length: 13",
    ],
)
@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_content_length_however_it_is_written(line: bytes, newline: bytes) -> None:
    raw = b"WARC/1.1\r\nX: y\r\n" + line + b"\r\nZ: 5\r\n\r\n"
    assert parse_record_header(raw.replace(b"\r\n", newline)).content_length == 12


@pytest.mark.parametrize(
    "value",
    [b"", b"-1", b"+1", b"1.5", b"0x10", b"twelve", b"1 2", b"1" * 19, b"\xd9\xa1", b"1_0", b"1\r\n 2"],
)
def test_an_unusable_content_length_is_refused(value: bytes) -> None:
    with pytest.raises(FormatError, match="Content-Length"):
        parse_record_header(b"WARC/1.1\r\nContent-Length: " + value + b"\r\n\r\n")


def test_the_header_of_a_record_that_is_all_of_a_unit() -> None:
    header = b"WARC/1.1\r\nContent-Length: 3\r\n\r\n"
    found = WARC.whole(header + b"abc\r\n\r\n")
    assert found is not None
    assert (found.raw, found.content_length) == (header, 3)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 0\r\n",
        b"WARC/1.1\r\nContent-Length: 0\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc\r\n",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabcd\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabcdefg",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: three\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\r\nContent-Length: 3\r\r\n\r\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\r\nabc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
    ],
)
def test_a_unit_that_is_no_whole_record_has_no_header(content: bytes) -> None:
    assert WARC.whole(content) is None


def test_a_missing_content_length_is_refused() -> None:
    for raw in (b"WARC/1.1\r\n\r\n", b"WARC/1.1\r\nX-Content-Length: 5\r\n\r\n"):
        with pytest.raises(FormatError, match="no Content-Length"):
            parse_record_header(raw)


@pytest.mark.parametrize(
    "raw", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"WARC/1\r\n\r\n", b"warq/1.1\r\n\r\n", b" WARC/1.1\r\n\r\n"]
)
def test_what_is_not_a_record_is_refused_with_its_first_bytes(raw: bytes) -> None:
    with pytest.raises(FormatError, match=r"no WARC record starts here: found b'"):
        parse_record_header(raw + b"Content-Length: 0\r\n\r\n")


@pytest.mark.parametrize("magic", [b"warc/", b"Warc/", b"wARC/"])
def test_the_version_line_has_no_case(magic: bytes) -> None:
    raw = magic + b"1.0\r\nContent-Length: 3\r\n\r\n"
    header = parse_record_header(raw, strict=True)
    assert (header.version, header.content_length, header.raw, header.problem) == ("1.0", 3, raw, None)
    assert WARC.beginning.match(raw)
    assert is_record_magic(raw)
    assert [may_begin_record(raw[:size]) for size in range(9)] == [True] * 9
    assert not may_begin_record(magic[:-1] + b"X")


def test_lines_may_end_with_two_returns() -> None:
    raw = b"WARC/1.0\r\r\nWARC-Type: metadata\r\r\nX: a\r\r\n b\r\r\nContent-Length: 3\r\r\n\r\r\n"
    assert find_header_end(raw + b"abc\r\n\r\n") == len(raw)
    header = parse_record_header(raw)
    assert header.content_length == 3
    assert header.fields == (("WARC-Type", "metadata"), ("X", "a b"), ("Content-Length", "3"))
    assert header.problem == "the lines of the header end with CR CR LF"
    edited = edit_header(header, ["X"], [("Y", "z")])
    assert edited.fields == (("WARC-Type", "metadata"), ("Content-Length", "3"), ("Y", "z"))
    with pytest.raises(FormatError, match="CR CR LF"):
        parse_record_header(raw, strict=True)


@pytest.mark.parametrize("version", [b"0.18", b"1.0", b"1.1", b"2.0"])
def test_any_version_is_read(version: bytes) -> None:
    header = parse_record_header(b"WARC/" + version + b" \nContent-Length: 1\n\n")
    assert header.version == version.decode()


@pytest.mark.parametrize("name", ["", "a b", "a:b", "ä", "a\r\nb", "(a)"])
def test_names_that_are_no_tokens_cannot_be_written(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a field"):
        format_fields([(name, "value")])


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\rb", "a\0b"])
def test_values_cannot_smuggle_fields_in(value: str) -> None:
    with pytest.raises(ValueError, match="X-Some"):
        format_fields([("X-Some", value)])


def test_a_header_beyond_the_limit_cannot_be_written() -> None:
    with pytest.raises(FormatError, match=str(MAX_HEADER_SIZE)):
        build_record_header([("X", "y" * MAX_HEADER_SIZE), ("Content-Length", "0")])


def test_headers_are_values() -> None:
    one, same = parse_record_header(USUAL), parse_record_header(bytes(bytearray(USUAL)))
    other = parse_record_header(USUAL.replace(b"response", b"request"))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != USUAL
    assert "response http://example.org/" in repr(one)


# Fields found one by one in the bytes are those that are found one after the other.

odd_lines = st.one_of(
    st.sampled_from(
        [
            b"X: a",
            b"x :b",
            b"X\t: c",
            b" folded",
            b" : folded",
            b"X: a\n\t: folded",
            b" ",
            b"\r",
            b"",
            b"X",
            b": a",
            b"XX: a",
            b"Content-Length: 1",
            b"CONTENT-LENGTH: 2",
            b"Content-Length : 3",
            b"content-length: 4 ",
            b"Content-Length:",
            b"Content-Length: \r",
            b"\xc3\xa9: \xff",
            b"\xff: a",
            b"X: Content-Length: 5",
        ]
    ),
    # A name cannot be folded.
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").lstrip(b" \t")),
)


@settings(max_examples=rounds(300))
@given(st.lists(odd_lines, max_size=8), st.sampled_from([b"\r\n", b"\n"]))
@example([b"CONTENT-LENGTH: 12", b"Content-Length: 13"], b"\r\n")
@example([b"Content-Length: 12 ", b"Content-Length: 13"], b"\r\n")
@example([b"X: a", b" ", b" b"], b"\r\n")
@example([b"X: a", b" ", b" b"], b"\n")
@example([b"X", b" : a"], b"\r\n")
def test_a_field_is_the_same_alone_and_among_all(lines: list[bytes], newline: bytes) -> None:
    # A folded line directly after the version line continues nothing.
    raw = newline.join([b"WARC/1.1", b"First: 1", *lines, b"Content-Length: 7", b"", b""])
    try:
        header = parse_record_header(raw)
    except FormatError:
        values = [value for name, value in parse_fields(raw) if name.lower() == "content-length"]
        assert not re.fullmatch("[0-9]{1,18}", values[0]), "only such a header is refused"
        return
    fields = header.fields
    for name, _ in fields:
        if name and name.isascii():
            alike = tuple(value for other, value in fields if other.lower() == name.lower())
            assert header.get_all(name) == alike
            assert header.get(name.upper()) == alike[0]
    assert header.content_length == int(header["Content-Length"])


@pytest.mark.parametrize("name", ["X.", "X.*", "X|Y", "(", "[", "\\", "", "X\n", "\udcff"])
def test_any_name_can_be_asked_for(name: str) -> None:
    header = parse_record_header(USUAL)
    assert header.get(name) is None
    assert header.get_all(name) == ()
    assert name not in header


def test_encoded_words_are_decoded() -> None:
    raw = (
        b"WARC/1.1\r\nWARC-Filename: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?.warc?=\r\nContent-Length: 0\r\n\r\n"
    )
    header = parse_record_header(raw)
    assert header.text("warc-filename") == "caf\u00e9.warc"
    assert header["WARC-Filename"] == "=?utf-8?q?caf=C3=A9?= =?utf-8?q?.warc?="
    assert header.text("WARC-Date") is None


@pytest.mark.parametrize(
    "middle",
    [
        b"X: a" + b" " * 1_000_000 + b"b\r\n",
        b"X: a\r\n" + b" " * 1_000_000 + b"b\r\n",
        b"X: a" + b"\r\n \t" * 250_000 + b"b\r\n",
        b"X" + b" " * 1_000_000 + b": b\r\n",
        b"X: \r\n" * 160_000,
        b"Content-Length" * 70_000 + b": 5\r\n",
        b"Content-Length" + b" " * 1_000_000 + b": 5\r\n",
    ],
    ids=["blanks", "long fold", "folds", "name", "fields", "names", "length"],
)
def test_the_largest_header_is_parsed_fast(middle: bytes) -> None:
    raw = b"WARC/1.1\r\n" + middle + b"Content-Length: 5\r\n\r\n"
    assert len(raw) <= MAX_HEADER_SIZE
    with watchdog():
        header = parse_record_header(raw)
        assert header.content_length == 5
        _ = (header.fields, header.get("X"), header.get_all("X"), header.text("X"), header.uri("Y"))


def test_lines_of_blanks_are_folded_as_any_other() -> None:
    header = parse_record_header(b"WARC/1.1\r\nX-Folded: a\r\n \r\n  b\r\nContent-Length: 0\r\n\r\n")
    assert dict(header)["X-Folded"] == header.get("X-Folded") == "a  b"
