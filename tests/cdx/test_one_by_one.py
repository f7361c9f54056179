"""What a look-up returns is an iterator, and says so."""

from __future__ import annotations

import pytest

from seekwarc.cdx.one_by_one import OneByOne


def test_it_yields_what_it_has_and_is_not_a_list() -> None:
    found = OneByOne(iter([1, 2, 3]))
    assert next(found) == 1
    with pytest.raises(TypeError, match="one after the other"):
        found[0]
    assert [*found] == [2, 3]
    assert next(found, None) is None
