"""How often tests that draw at random draw."""

from __future__ import annotations

import os
from typing import Final

FACTOR: Final = int(os.environ.get("SEEKWARC_ROUNDS", "1"))


def rounds(usual: int) -> int:
    """Return the number of rounds of a test, of which `SEEKWARC_ROUNDS=5` makes five times as many as usual.

    The usual ones have the same seeds each time, so that a change is judged by what it changed. More of them
    find what nobody has thought of, and are for an hour in which nobody waits.
    """
    return usual * FACTOR
