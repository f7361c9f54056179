"""Where the files are that an index or a WACZ names."""

from __future__ import annotations

import pytest

from seekwarc.cdx.places import base_name, beside, folder_of, is_wacz_name, located
from seekwarc.errors import FormatError, SeekWarcError


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("a/b.cdxj", "a"),
        ("b.cdxj", "."),
        ("https://example.org/a/b.cdxj?x=/y#z", "https://example.org/a"),
        (b"", None),
    ],
)
def test_the_folder_of_a_file(target: object, folder: str | None) -> None:
    assert folder_of(target) == folder


@pytest.mark.parametrize("name", ["/a", "../a", "a/../../b", "a\\..\\b", "https://example.org/a", "", "a\0"])
def test_nothing_is_outside_of_the_folder(name: str) -> None:
    with pytest.raises(FormatError, match="outside"):
        located("folder", name, "index.cdxj")


def test_an_index_without_a_path_locates_nothing() -> None:
    with pytest.raises(SeekWarcError, match="files="):
        located(None, "a", "index.cdxj")


@pytest.mark.parametrize(
    ("wacz", "found"),
    [
        ("a/may.wacz", "a/april 1.wacz"),
        ("may.wacz", "./april 1.wacz"),
        ("https://example.org/a/may.wacz?x=1", "https://example.org/a/april%201.wacz"),
        ("a/all.wacz!/may.wacz", "a/all.wacz!/april 1.wacz"),
    ],
)
def test_what_is_beside_a_wacz(wacz: str, found: str) -> None:
    assert is_wacz_name("april 1.wacz")
    assert beside(wacz, "april 1.wacz") == found


def test_base_names_of_urls_are_decoded() -> None:
    assert base_name("https://example.org/a%20b/c%20d.warc.gz?sig=1/2") == "c d.warc.gz"
    assert base_name("dir/c d.warc.gz") == "c d.warc.gz"
