"""Errors that are warcio's and ours."""

from __future__ import annotations

import pytest
from warcio.exceptions import ArchiveLoadFailed

from seekwarc.compat.warcio.errors import LoadError, as_load_error
from seekwarc.errors import (
    ChecksumError,
    FormatError,
    LimitError,
    SegmentError,
    TruncatedError,
    UnsupportedError,
)


@pytest.mark.parametrize(
    "kind", [FormatError, TruncatedError, ChecksumError, LimitError, UnsupportedError, SegmentError]
)
def test_each_error_is_of_both_kinds(kind: type[FormatError]) -> None:
    error = as_load_error(kind("it is damaged", source="a.warc.zst", offset=12))
    assert isinstance(error, ArchiveLoadFailed)
    assert isinstance(error, FormatError if kind is SegmentError else kind)
    assert isinstance(error, ValueError)
    assert str(error) == error.msg == "a.warc.zst, offset 12: it is damaged"


def test_an_error_of_both_kinds_stays_as_it_is() -> None:
    error = LoadError("once")
    assert as_load_error(error) is error
