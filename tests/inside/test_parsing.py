"""`seekwarc.inside.parsing`."""

from __future__ import annotations

import contextlib

import pytest

from seekwarc import FormatError, UnsupportedError
from seekwarc.inside import parsing
from seekwarc.inside.parsing import parse_html, parse_pdf, resiliparse_needed
from tests.support.pages import pdf, shown


def test_a_missing_package_is_named_with_its_extra(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(parsing, "import_module", missing)
    with pytest.raises(UnsupportedError, match=r"resiliparse: pip install 'seekwarc\[text\]'"):
        resiliparse_needed()
    with pytest.raises(UnsupportedError, match=r"pypdf: pip install 'seekwarc\[text\]'"):
        parse_pdf(b"", max_text=1)


@pytest.mark.parametrize("page", [b"", b"\0", b"<frameset>", b"<html", b"<!doctype html>", b"</"])
def test_html_that_is_hardly_any_is_parsed(page) -> None:
    found = parse_html(page, charset=None, main=False, max_text=10, is_cut=False)
    assert (found.title or None, found.lang, found.is_whole) == (None, None, True)


def test_pages_of_a_pdf_that_take_too_long_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(parsing, "MAX_SECONDS", 0)
    found = parse_pdf(pdf([shown("x"), b"BT /F1 9 Tf " + b"(x) Tj " * 100_000 + b"ET"]), max_text=1000)
    assert not found.is_whole


def test_pages_and_characters_of_a_pdf_are_limited(monkeypatch) -> None:
    monkeypatch.setattr(parsing, "MAX_PAGES", 2)
    three = pdf([shown("one"), shown("two"), shown("three")])
    assert parse_pdf(three, max_text=1000)[::3] == ("one\ntwo", False)
    assert parse_pdf(three, max_text=5)[::3] == ("one\nt", False)


def test_a_pdf_whose_pages_contain_themselves_ends() -> None:
    page = pdf([shown("x")]).replace(b"/Type /Page /Parent 2 0 R", b"/Type /Pages /Kids [5 0 R]")
    with contextlib.suppress(FormatError):
        assert len(parse_pdf(page, max_text=1000).text) < 1000
