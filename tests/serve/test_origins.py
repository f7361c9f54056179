"""Origins, as users write them."""

from __future__ import annotations

import pytest

from seekwarc.serve.origins import checked_origin


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTPS://Example.org/", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:443", "http://example.org:443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ("*", "*"),
    ],
)
def test_an_origin_is_as_browsers_send_it(written: str, sent: str) -> None:
    assert checked_origin(written) == sent


@pytest.mark.parametrize(
    "text",
    ["", "null", "example.org", "https://", "https://e.org/a", "https://*.e.org", "https://e.org\n", "a b"],
)
def test_what_is_not_an_origin_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an origin: expected https:"):
        checked_origin(text)
