"""Revisit profiles and their names."""

from __future__ import annotations

import pytest

from seekwarc.format.profiles import is_identical_payload, is_server_not_modified

IDENTICAL_SPELLINGS = [
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest",
]
NOT_MODIFIED_SPELLINGS = [
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
    "http://netpreserve.org/warc/1.0/revisit/server-not-modified",
    "http://netpreserve.org/warc/1.1/server-not-modified",
]


@pytest.mark.parametrize("profile", IDENTICAL_SPELLINGS)
def test_the_profile_of_identical_payloads(profile: str) -> None:
    assert is_identical_payload(profile)
    assert not is_server_not_modified(profile)


@pytest.mark.parametrize("profile", NOT_MODIFIED_SPELLINGS)
def test_the_server_not_modified_profile(profile: str) -> None:
    assert is_server_not_modified(profile)
    assert not is_identical_payload(profile)


@pytest.mark.parametrize(
    "profile",
    [
        None,
        "",
        "identical-payload-digest",
        "http://netpreserve.org/warc/2.0/revisit/identical-payload-digest",
        "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest2",
        "http://netpreserve.org/warc/1.1/revisit/server-not-modified ",
        "http://netpreserve_org/warc/1.1/revisit/server-not-modified",
        "https://example.org/warc/1.1/revisit/server-not-modified",
    ],
)
def test_other_profiles(profile: str | None) -> None:
    assert not is_identical_payload(profile)
    assert not is_server_not_modified(profile)
