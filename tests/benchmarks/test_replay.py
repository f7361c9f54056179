"""The benchmark of replay: each player that is installed shows both pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import replay
from tests.conftest import WABAC


@pytest.mark.slow
@pytest.mark.needs("chromium", "ffmpeg", "module:playwright", "wabac")
def test_each_player_is_measured(tmp_path: Path) -> None:
    figures = replay.measure(tmp_path, 45, WABAC, None, rounds=1)
    ours = [one for one in figures if one.player == "seekwarc serve --replay"]
    assert [one.page for one in ours] == ["film.html", "home.html"]
    assert all(min(one.warm, one.cold) > 0 and one.sent_again < one.sent for one in ours)
    assert ours[0].sent < 20 << 20, "the film is not sent as a whole"
    assert "| film.html | seekwarc serve --replay | " in replay.as_replay_table(figures)
