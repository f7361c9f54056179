"""Old names work, and name the new ones."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest

from seekwarc import __version__, tools
from seekwarc.deprecating import warn_old_name
from tests.conftest import ROOT


def release(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")[:2]))


def test_the_warning_names_the_new_name_and_the_version_and_the_line_that_used_the_old_one() -> None:
    def old() -> None:
        warn_old_name("old()", "new()", gone_in="0.3")

    message = "old() is now new(); the old name goes in seekwarc 0.3"
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(message)}$") as caught:
        old()
    assert caught[0].filename == __file__


@pytest.mark.parametrize("old", tools.RENAMED)
def test_an_old_name_is_the_new_one_and_warns(old: str) -> None:
    new, gone_in = tools.RENAMED[old]
    with pytest.warns(
        DeprecationWarning, match=f"{old} is now {tools.__name__}.{new}; .* {gone_in}"
    ) as caught:
        found = getattr(tools, old)
    assert caught[0].filename == __file__
    assert found is getattr(tools, new)
    assert old not in tools.__all__
    assert old not in dir(tools)


def test_old_names_go_when_they_are_said_to() -> None:
    assert all(release(gone_in) > release(__version__) for _, gone_in in tools.RENAMED.values())


def test_new_names_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tools.pictures.__name__ == "pictures"


def test_a_script_that_is_run_shows_it() -> None:
    script = "from seekwarc import tools\ntools.frames\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.search(r"<string>:2: DeprecationWarning: seekwarc\.tools\.frames is now", done.stderr)
