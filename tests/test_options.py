"""`seekwarc.options`: each option is checked as its field says."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from seekwarc.options import Options, option


class Some(Options):
    size: int = option(default=3, values=range(1, 11))
    level: int | None = option(default=None, values=range(-7, 23))
    kind: str | None = option(default="a", values=("a", "b", "c"), optional=True)
    mode: str = option(default="x", values=("x", "y"))
    fast: bool = option(default=False, values=bool)
    free: object = None


def test_valid_options_are_kept() -> None:
    given = {"size": 10, "level": -7, "kind": None, "mode": "y", "fast": True, "free": object()}
    assert dict(**Some(**given)) == given
    assert dict(**Some()) == dict(given, size=3, level=None, kind="a", mode="x", fast=False, free=None)


def test_options_are_values() -> None:
    some = Some(size=4)
    assert pickle.loads(pickle.dumps(some)) == some == Some(size=4)
    assert hash(some) == hash(Some(size=4))
    assert some not in (Some(), "size=4")
    assert repr(some) == "Some(size=4, level=None, kind='a', mode='x', fast=False, free=None)"
    with pytest.raises(AttributeError, match="Some cannot be changed: size"):
        some.size = 5  # type: ignore[misc]


def test_changed_options_are_checked() -> None:
    assert Some(size=4, level=1).but(level=2) == Some(size=4, level=2)
    with pytest.raises(ValueError, match="level is 23"):
        Some().but(level=23)


def test_an_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(TypeError, match="unknown option: sice; there are size, level, kind, mode"):
        Some(sice=4)


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
        Some(**given)
    assert str(refused.value) == message
