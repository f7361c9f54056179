"""`seekwarc.make.names`."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.make.names import MAX_NAME, NamesInUse, name_of
from tests.support.work import at_most_calls


def named(uri: str | None, media_type: str | None = None) -> str:
    return NamesInUse().take(*name_of(uri, media_type))


@pytest.mark.parametrize(
    ("uri", "media_type", "expected"),
    [
        ("http://example.org/images/logo.png", "image/png", "example.org_images_logo.png"),
        ("http://example.org/a/caf%C3%A9.png?w=9", "image/png", "example.org_a_café_w=9.png"),
        ("http://example.org/", "text/html", "example.org.html"),
        ("http://example.org/get.php?id=7", "image/jpeg", "example.org_get.php_id=7.jpg"),
        ("http://example.org/photo.JPEG", "image/jpeg", "example.org_photo.jpeg"),
        ("https://me:secret@example.org:8080/x#part", None, "example.org_8080_x"),
        ("http://example.org/日本語.html", "text/html", "example.org_日本語.html"),
        ("urn:isbn:12", "text/plain", "urn_isbn_12.txt"),
        ("film.mp4", "video/mp4", "film.mp4"),
        (None, None, "payload"),
    ],
)
def test_names_are_readable(uri, media_type, expected) -> None:
    assert named(uri, media_type) == expected


@pytest.mark.parametrize(
    "uri",
    [
        "../../../etc/passwd",
        "http://x/%2e%2e%2f%2e%2e%2fetc/passwd",
        "file:///etc/passwd",
        "\\\\server\\share\\x",
        "C:\\windows\\x.dll",
        "x:stream:$DATA",
        "..",
        "/",
        "~/.ssh/id",
        "-rf",
        "nul",
        "CON.txt",
        "aux.tar.gz",
        "com1",
        "COM\u00b9.png",
        "lpt9 .x",
        "manifest.jsonl",
        "MANIFEST.JSONL",
        "desktop.ini",
        "a\x00b",
        "a\x1b[2Jb\r\nc",
        "a\u202egnp.exe",
        "a\udc80\ud800b",
        "x. . .",
        "é" * 5000,
        "a." + "b" * 5000,
        "http://" + "h" * 9000,
        "o" * 117 + ".png",
    ],
)
@pytest.mark.parametrize("media_type", [None, "image/png", "../../x", "text/html\x00"])
def test_no_uri_makes_a_harmful_name(uri, media_type) -> None:
    assert_safe(named(uri, media_type))


def assert_safe(name: str) -> None:
    assert 0 < len(name.encode()) <= MAX_NAME
    assert name[0] not in "-.~"
    assert name[-1] not in ". "
    assert not set(name) & set('/\\:*?"<>|~$%\x7f ')
    assert name.isprintable()
    assert name.lower() not in ("manifest.jsonl", "desktop.ini", "autorun.inf", "thumbs.db")
    stem = unicodedata.normalize("NFKC", name).upper().partition(".")[0].rstrip()
    assert stem not in ("CON", "PRN", "AUX", "NUL")
    assert not (stem[:3] in ("COM", "LPT") and stem[3:].isdigit() and len(stem) == 4)


ODD = st.text(st.sampled_from("aA.-_/\\:%2eF?#@~ \x00éÉß\u0301\u202eCONnul1"), max_size=40)


@given(st.lists(st.tuples(st.one_of(ODD, st.text(max_size=200)), st.sampled_from(["", ".png", ".x"]))))
def test_names_are_safe_and_unique(parts) -> None:
    names = NamesInUse()
    made = [names.take(*name_of(uri + ending, None)) for uri, ending in parts]
    for name in made:
        assert_safe(name)
    for form in ("NFC", "NFD", "NFKC"):
        folded = {unicodedata.normalize(form, name).casefold() for name in made}
        assert len(folded) == len(made)
        assert len({unicodedata.normalize(form, name).upper() for name in made}) == len(made)


def test_the_same_name_gets_a_number() -> None:
    names = NamesInUse()
    made = [
        names.take(*name_of(uri, "image/png")) for uri in ("x/a.png", "x/A.png", "x_a-2.png", "x/a.png#top")
    ]
    assert made == ["x_a.png", "x_A-2.png", "x_a-2-2.png", "x_a-3.png"]


def test_many_records_of_one_uri_are_named_fast() -> None:
    names = NamesInUse()
    name = name_of("http://x/" + "y" * 500, "image/png")
    with at_most_calls(100 * 2000):
        made = {names.take(*name) for _ in range(2000)}
    assert len(made) == 2000
