"""Texts of any bytes are texts in Arrow."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from seekwarc.errors import UnsupportedError
from seekwarc.format.arrow import arrow, strings


def test_bytes_that_are_not_text_are_escaped() -> None:
    raw = b"a\xff\xc3\xa4".decode("utf-8", "surrogateescape")
    assert strings(pa, ["b", None, raw]).to_pylist() == ["b", None, "a%FF\xe4"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arrow() is pa
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"seekwarc\[arrow\]"):
        arrow()
