"""How often tests that draw at random draw."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final

import pytest

FACTOR: Final = int(os.environ.get("SEEKWARC_ROUNDS", "1"))


class _Share:
    """What part of the rounds is run: tests/conftest.py sets it before any test is imported."""

    one_in = 1


def run_one_in(number: int) -> None:
    """Run a part of the rounds of each test: a first look, where all of them run elsewhere."""
    _Share.one_in = number


def rounds(usual: int) -> int:
    """Return the number of rounds of a test: with `--slow` the usual one, without it a part of that.

    `SEEKWARC_ROUNDS=5` makes them five times as many. Where seeds are given, the usual rounds have the same
    ones each time, so that a change is judged by what it changed. More of them find what nobody has thought
    of, and are for an hour in which nobody waits.
    """
    return max(usual * FACTOR // _Share.one_in, min(usual, 10))


def one_in(number: int, values: Iterable[Any]) -> list[Any]:
    """Return the parameters of a test that runs with one in so many of them, and with `--slow` with all."""
    return [pytest.param(it, marks=pytest.mark.slow) if at % number else it for at, it in enumerate(values)]
