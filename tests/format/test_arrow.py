"""Texts of any bytes are texts in Arrow."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import UnsupportedError
from seekwarc.format.arrow import array_of, arrow, strings

MICROSECONDS = pa.timestamp("us", tz="UTC")
ASCII = st.characters(max_codepoint=127)
COLUMNS = (
    st.tuples(st.just(pa.string()), st.lists(st.none() | st.text(), max_size=200))
    | st.tuples(st.just(pa.string()), st.lists(st.none() | st.text(ASCII), max_size=200))
    | st.tuples(st.just(pa.large_binary()), st.lists(st.none() | st.binary()))
    | st.tuples(st.just(pa.int16()), st.lists(st.none() | st.integers(-(2**15), 2**15 - 1)))
    | st.tuples(st.just(pa.int32()), st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)))
    | st.tuples(st.sampled_from([pa.int64(), MICROSECONDS]), st.lists(st.none() | st.integers(0, 2**50)))
)
PLAIN = """
import sys, seekwarc, pyarrow as pa
from seekwarc.format.arrow import array_of
for kind, value in ((pa.string(), "a"), (pa.large_binary(), b"a"), (pa.int64(), 1)):
    array_of(pa, [None, value], kind)
print("pandas" in sys.modules)
"""


@given(COLUMNS)
def test_an_array_is_what_pyarrow_makes_of_the_values(column: tuple[pa.DataType, list[object]]) -> None:
    kind, values = column
    found = array_of(pa, values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind))


@pytest.mark.needs("module:pandas")
def test_no_array_imports_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_bytes_that_are_not_text_are_escaped() -> None:
    raw = b"a\xff\xc3\xa4".decode("utf-8", "surrogateescape")
    assert strings(pa, ["b", None, raw]).to_pylist() == ["b", None, "a%FF\xe4"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert arrow() is pa
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedError, match=r"seekwarc\[arrow\]"):
        arrow()
