"""`seekwarc.options`: each option is checked as its field says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from seekwarc.options import check_options, option


@dataclass(frozen=True, kw_only=True)
class Options:
    size: int = option(3, range(1, 11))
    level: int | None = option(None, range(-7, 23))
    kind: str | None = option("a", ("a", "b", "c"), optional=True)
    mode: str = option("x", ("x", "y"))
    fast: bool = option(False, bool)
    free: object = None

    def __post_init__(self) -> None:
        check_options(self)


def test_valid_options_are_kept() -> None:
    Options()
    Options(size=10, level=-7, kind=None, mode="y", fast=True, free=object())


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"size": 11}, ValueError, "size is 11, not within 1 to 10"),
        ({"size": None}, TypeError, "size must be an int, not NoneType"),
        ({"size": True}, TypeError, "size must be an int, not True"),
        ({"size": [1] * 1000}, TypeError, "size must be an int, not list"),
        ({"level": -8}, ValueError, "level is -8, not within -7 to 22"),
        ({"kind": "d"}, ValueError, 'kind is \'d\', not "a", "b" or "c" or None'),
        ({"mode": None}, ValueError, 'mode is None, not "x" or "y"'),
        ({"fast": 1}, TypeError, "fast must be True or False, not 1"),
    ],
)
def test_invalid_options_are_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as refused:
        Options(**given)
    assert str(refused.value) == message
