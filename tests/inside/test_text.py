"""`seekwarc.inside.text`."""

from __future__ import annotations

import contextlib
import io
import random
from dataclasses import replace

import pypdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import FormatError, LimitError, MediaType
from seekwarc.inside.text import MAX_HERE, PageText, text_of
from tests.support.pages import PROSE, html, pdf, shown
from tests.support.work import watchdog

NESTED = ("<div>", "<b>", "<table>", "<a><div>", "<ul><li>", "<svg>", "<blockquote>", "<template>", "<p><i>")


class Dripping(io.RawIOBase):
    """A file that gives a few bytes at a time, and says how many it gave."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._file = io.BytesIO(data)
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self._file.read(min(len(buffer), 700))
        buffer[: len(data)] = data
        self.given += len(data)
        return len(data)


class Endless(io.RawIOBase):
    """A page without end."""

    def __init__(self, head: bytes, more: bytes) -> None:
        super().__init__()
        self._head, self._more = head, more
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data, self._head = (self._head or self._more * (len(buffer) // len(self._more)))[: len(buffer)], b""
        buffer[: len(data)] = data
        self.given += len(data)
        return len(data)


def text(data: bytes, media_type: str | None = None, **options) -> PageText | None:
    return text_of(io.BytesIO(data), MediaType.parse(media_type) if media_type else None, **options)


def the_text(data: bytes, media_type: str | None = None, **options) -> PageText:
    found = text(data, media_type, **options)
    assert found is not None
    return found


def test_html_gives_text_title_and_language() -> None:
    page = b"<html lang='pt_br'><title> The\r\n title </title><script>no()</script><p>One <b>two</b><p>three"
    found = the_text(page, "text/html")
    assert (found.title, found.lang, found.is_whole) == ("The title", "pt-br", True)
    assert found.text.split() == ["One", "two", "three"]


@pytest.mark.parametrize("media_type", ["text/html", "text/plain", "application/pdf"])
def test_the_text_alone_is_the_same_text(monkeypatch: pytest.MonkeyPatch, media_type: str) -> None:
    data = b"<html lang=en><title>Title</title><p>" + PROSE["en"].encode() * 5
    data = pdf([shown("Hello")], title=b"Title", lang=b"en-GB") if "pdf" in media_type else data
    found = the_text(data, media_type)
    monkeypatch.setattr("seekwarc.inside.text.language_of", None)
    monkeypatch.setattr("seekwarc.inside.parsing.language_of", None)
    assert the_text(data, media_type, text_only=True) == replace(found, title=None, lang=None)


def test_main_leaves_out_menus() -> None:
    page = b"<nav><a href=/>Home</a></nav><main><p>%b</main><footer>Imprint</footer>" % (b"Prose. " * 99)
    assert {"Home", "Imprint"} <= set(the_text(page, "text/html").text.split())
    assert set(the_text(page, "text/html", main=True).text.split()) == {"Prose."}


@pytest.mark.parametrize("lang", PROSE)
def test_language_is_detected_where_none_is_stated(lang) -> None:
    assert the_text((PROSE[lang] * 5).encode(), "text/plain").lang == lang
    assert the_text(b"<html lang='!'><p>" + (PROSE[lang] * 5).encode(), "text/html").lang == lang
    assert the_text(PROSE[lang][:50].encode(), "text/plain").lang is None


def test_pdf_gives_the_text_of_all_pages() -> None:
    found = the_text(pdf([shown("Hello"), shown("again")], title=b"Title", lang=b"en-GB"), "application/pdf")
    assert found == PageText(text="Hello\nagain", title="Title", lang="en-GB", is_whole=True)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"<!DOCTYPE html><p>x", "text/plain"),
        (b" \n<!-- a -- comment --><HTML><p>x", None),
        (b"<?xml version='1.0'?>\n<!DOCTYPE html><html><body>x</body></html>", "application/xml"),
        (b"\xef\xbb\xbf<html>x", "application/octet-stream"),
        ("\ufeff<html>x".encode("utf-16-le"), None),
        (b"<p>x", "application/xhtml+xml; charset=utf-8"),
        (pdf([shown("x")]), "application/octet-stream"),
        (pdf([shown("x")]), "text/html"),
        (b"\n" * 500 + pdf([shown("x")]), "application/pdf"),
    ],
)
def test_wrong_media_types_are_seen_through(data, media_type) -> None:
    assert the_text(data, media_type).text == "x"


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"<html>x", "image/png"),
        (b'{"a": 1}', "application/json"),
        (b"<rss/>", "text/xml"),
        (b"a {}", "text/css"),
        (b"plain", None),
        (b"\x7fELF\0\0\1", "text/plain"),
        (b"not a PDF", "application/pdf"),
        (b"", None),
    ],
)
def test_what_is_not_a_page_has_no_text(data, media_type) -> None:
    assert text(data, media_type) is None


def test_line_breaks_and_controls_are_normalised() -> None:
    assert (
        the_text(b"%b\r\nb\rc\n\0\x0c\x07d\te\x7f" % (b"a" * 1024), "text/plain; charset=utf-8").text
        == "a" * 1024 + "\nb\nc\nd\te"
    )
    assert the_text(b"<p>a&#0;b&#xD800;c", "text/html").text.isprintable()


def test_a_page_is_read_up_to_its_limit() -> None:
    page = b"<!doctype html><p>" + b"word " * 1000
    for size in (100, 1023, 1024, 2000):
        file = Dripping(page)
        found = text_of(file, None, max_size=size)
        assert found is not None
        assert not found.is_whole
        assert file.given <= max(size, 1024) + 700
        assert 0 < len(found.text) <= size
    assert the_text(page, max_size=len(page)).is_whole


def test_a_page_without_end_ends() -> None:
    file = Endless(b"<!doctype html><p>", b"word ")
    found = text_of(file, None, max_size=1 << 20, max_text=1000)
    assert found is not None
    assert (len(found.text), found.is_whole) == (1000, False)
    assert file.given <= 1 << 21
    assert not the_text(b"x" * 1001, "text/plain", max_text=1000).is_whole


def test_pages_that_come_in_small_pieces_are_the_same() -> None:
    for page, kind in ((html(PROSE["de"] * 99), "text/html"), (pdf([shown("x" * 2000)]), "application/pdf")):
        assert text_of(Dripping(page), MediaType(kind)) == text(page, kind)


def test_large_pages_are_as_small_ones() -> None:
    small, large = html("<p>" + PROSE["en"]), html("<p>" + PROSE["en"] * (MAX_HERE // 50))
    assert len(large) > MAX_HERE > len(small)
    of_small, of_large = the_text(small), the_text(large)
    assert (of_large.title, of_large.lang, of_large.is_whole) == (of_small.title, of_small.lang, True)
    assert set(of_large.text.split()) == set(of_small.text.split())


def test_a_pdf_that_is_damaged_cut_or_encrypted_is_an_error() -> None:
    whole = pdf([shown("Hello")])
    with pytest.raises(FormatError, match="cannot be read"):
        text(whole[:60], "application/pdf")
    with pytest.raises(LimitError, match="raise `max_size`"):
        text(whole, "application/pdf", max_size=len(whole) - 1)
    writer = pypdf.PdfWriter()
    writer.append(io.BytesIO(whole))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    with pytest.raises(FormatError, match="encrypted"):
        text(out.getvalue(), "application/pdf")


def test_a_damaged_page_of_a_pdf_leaves_the_others() -> None:
    whole = pdf([shown("first"), shown("second"), shown("third")])
    middle = whole.index(b"stream", whole.index(b"8 0 obj"))
    found = the_text(whole[: middle + 7] + b"\xff" * 9 + whole[middle + 16 :])
    assert "first" in found.text
    assert "third" in found.text


@pytest.mark.parametrize("tags", NESTED)
def test_elements_that_are_never_closed_do_no_harm(tags) -> None:
    page = (tags * (MAX_HERE // len(tags)))[: MAX_HERE - 20].encode() + b"x"
    with watchdog():
        text(page, "text/html")


@given(
    st.binary(max_size=400),
    st.sampled_from(["text/html", "text/plain", "text/html; charset=shift_jis", None]),
)
def test_any_bytes_give_clean_text_or_none(data, media_type) -> None:
    try:
        found = text(data, media_type)
    except FormatError:
        assert data.startswith(b"%PDF-"), "only a PDF can be damaged"
        return
    if found is not None:
        assert found.text == found.text.encode().decode()
        assert not {"\0", "\r"}.intersection(found.text)
        assert found.is_whole


@given(
    st.lists(
        st.sampled_from(
            [
                "<",
                ">",
                "<p>",
                "</b>",
                "<table>",
                "<td>",
                "<svg>",
                "<!--",
                "-->",
                "&#x",
                "'",
                '"',
                "<script>",
                "</script>",
                "<title>",
                "<a href=",
                "<template>",
                "<select>",
                "x",
                " ",
                "\0",
                "<math>",
                "]]>",
                "<frameset>",
            ]
        )
    )
)
def test_any_markup_is_parsed(parts) -> None:
    assert text("".join(parts).encode(), "text/html") is not None
    assert text("".join(parts).encode(), "text/html", main=True) is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mutants_of_html_neither_crash_nor_hang(seed) -> None:
    chance = random.Random(seed)
    pages = [
        html(f"<ul><li>{PROSE['en']}<li>{PROSE['de']}</ul><table><tr><td>a<td>b</table><svg><p>x</svg>" * 40),
        html("<form><a href=x><b><p><select><option>" * 60),
    ]
    tags = [tag.encode() for tag in NESTED]
    for _ in range(800):
        page = bytearray(chance.choice(pages))
        for _ in range(chance.randrange(1, 30)):
            place = chance.randrange(len(page))
            match chance.randrange(4):
                case 0:
                    page[place] = chance.randrange(256)
                case 1:
                    del page[place : place + chance.randrange(100)]
                case 2:
                    page[place:place] = chance.choice(tags) * chance.randrange(1, 60)
                case _:
                    other = chance.randrange(len(page))
                    page[place:place] = page[other : other + chance.randrange(300)]
            page = page or bytearray(b"x")
        with watchdog(waiting=True):
            found = text(bytes(page), "text/html", main=chance.random() < 0.5)
        assert found is not None
        found.text.encode()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_mutants_of_pdf_neither_crash_nor_hang(seed) -> None:
    chance = random.Random(seed)
    whole = pdf([shown(f"page {number}") for number in range(5)], title=b"Title")
    for _ in range(1000):
        page = bytearray(whole)
        for _ in range(chance.randrange(1, 12)):
            place = chance.randrange(20, len(page))
            if chance.random() < 0.5:
                page[place] = chance.choice(b"0123456789<>[]()/ R\n\xff")
            else:
                page[place : place + chance.randrange(60)] = page[20 : 20 + chance.randrange(200)]
        with watchdog(waiting=True), contextlib.suppress(FormatError):
            found = text(bytes(page), "application/pdf")
            assert found is not None
            found.text.encode()
