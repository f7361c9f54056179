"""The options that type checkers know are those that are taken."""

from __future__ import annotations

import inspect

import pytest

import seekwarc
from seekwarc.read.options import ReaderOptions
from seekwarc.write.options import WriterOptions


@pytest.mark.parametrize(
    ("options", "taker", "others"),
    [
        (ReaderOptions, seekwarc.Reader, {"target", "relations"}),
        (WriterOptions, seekwarc.Writer, {"target", "append"}),
    ],
)
def test_options_are_those_of_the_class(options: type, taker: type, others: set[str]) -> None:
    taken = inspect.signature(taker).parameters
    assert set(taken) == set(options.__annotations__) | others
    assert not options.__required_keys__
