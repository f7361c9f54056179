"""`seekwarc.inside.decoding`."""

from __future__ import annotations

import pytest

from seekwarc.inside.decoding import decoded

JAPANESE = "日本語のページです。文字コードは正しく読まれます。" * 4
RUSSIAN = "Архив хранит то, что забывает сеть, а читателю нужно лишь немногое. " * 4  # noqa: RUF001
FRENCH = "Les archives gardent ce que le réseau oublie, été comme hiver. " * 4


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "windows-1251"),
        (FRENCH, "iso-8859-1"),
        (JAPANESE, "utf-8"),
        (JAPANESE, "utf-16-le"),
    ],
)
def test_the_stated_encoding_is_used(text, encoding) -> None:
    assert decoded(text.encode(encoding), encoding) == text


@pytest.mark.parametrize(("text", "encoding"), [(JAPANESE, "shift_jis"), (RUSSIAN, "windows-1251")])
def test_a_meta_element_or_detection_tells_the_encoding(text, encoding) -> None:
    page = f'<meta charset="{encoding}"><p>{text}'.encode(encoding)
    assert decoded(page, None, is_html=True).endswith(text)
    assert decoded(text.encode(encoding), None) == text
    assert decoded(text.encode(encoding), "no-such-encoding") == text


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_byte_order_mark_comes_before_what_is_stated(mark) -> None:
    data = ("\ufeff" + FRENCH).encode(mark) if mark == "utf-16-be" else FRENCH.encode(mark)
    assert decoded(data, "iso-8859-1") == FRENCH


def test_utf8_that_is_stated_to_be_something_else_is_utf8() -> None:
    assert decoded(JAPANESE.encode(), "iso-8859-1") == JAPANESE
    page = f"<meta charset=windows-1252>{FRENCH}"
    assert decoded(page.encode(), None, is_html=True) == page


def test_text_that_is_stated_to_be_utf8_and_is_not_is_detected() -> None:
    assert decoded(RUSSIAN.encode("windows-1251"), "utf-8") == RUSSIAN


def test_a_wrong_byte_does_not_change_the_encoding() -> None:
    data = JAPANESE.encode()
    assert decoded(data[:30] + b"\xff" + data[30:], "utf-8").replace("\ufffd", "") == JAPANESE


def test_a_cut_character_at_the_end_is_left_out() -> None:
    data = JAPANESE.encode()
    assert decoded(data[:-1], None, is_cut=True) == JAPANESE[:-1]
