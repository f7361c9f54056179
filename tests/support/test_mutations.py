"""The mutation run changes what it says, runs the tests of that, and tells what they did not notice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.mutations import Mutation, drawn, main, mutations_of, suites_of

TOY = '''\
"""Ages, which 1 + 1 in a docstring is not."""


def may_vote(age: int, *, citizen: bool = True) -> bool:
    """Tell whether somebody may vote."""
    return citizen and age >= 18


def wait(left: int) -> int:
    while left > 0:
        left -= 1
    return left
'''
THOROUGH = """\
import toy

def test_votes():
    assert [toy.may_vote(it) for it in (17, 18)] == [False, True]
    assert not toy.may_vote(30, citizen=False)

def test_wait():
    assert toy.wait(1) == 0
"""
CARELESS = """\
import toy

def test_votes():
    assert [toy.may_vote(it) for it in (3, 40)] == [False, True]
"""


def changes(code: str) -> list[str]:
    """Return what each mutation makes of code."""
    return [it.applied_to(code.encode()).decode() for it in mutations_of(Path("toy.py"), code)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b", ["a <= b"]),
        ("a == b is c", ["a != b is c", "a == b is not c"]),
        ("a not in b", ["a in b"]),
        ("a + b", ["a - b"]),
        ("a -= b", ["a += b"]),
        ("a and b or c", ["(a and b) and c", "a or b or c"]),
        ("c and not (a or b)", ["c and (a or b)", "c and not (a and b)", "c or not (a or b)"]),
        ("a > 0", ["a > 1", "a >= 0"]),
        ("a[1:-2]", ["a[1:-3]", "a[2:-2]"]),
        ("é = 'é', a[0]", ["é = 'é', a[1]"]),
        ("(a +\n b); c < d", ["(a - b); c < d", "(a +\n b); c <= d"]),
    ],
)
def test_slips_of_the_hand(code: str, expected: list[str]) -> None:
    assert sorted(changes(code)) == sorted(expected)


@pytest.mark.parametrize("code", ["f'{a + 1}'", "b'x' + a", "[a] + b", "a = 3", "f(1)", "a * 2", "# 1 < 2"])
def test_what_is_left_as_it_is(code: str) -> None:
    assert changes(code) == []


@pytest.mark.slow
def test_mutations_of_the_package_are_valid_code() -> None:
    root = Path(__file__).parents[2]
    found = drawn(["seekwarc"], root, seed=0, count=300)
    for mutation in found:
        source = (root / mutation.path).read_bytes()
        changed = mutation.applied_to(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutation


@pytest.mark.slow
def test_a_seed_draws_the_same_mutations_again() -> None:
    root = Path(__file__).parents[2]
    first = drawn(["seekwarc"], root, seed=5, count=50)
    assert first == drawn(["seekwarc"], root, seed=5, count=50)
    assert first != drawn(["seekwarc"], root, seed=6, count=50)
    assert len(set(first)) == 50


def test_a_place_may_be_a_line() -> None:
    root = Path(__file__).parents[2]
    line = (root / "seekwarc/write/recorder.py").read_text().split("\n").index("import os") + 1
    assert drawn([f"seekwarc/write/recorder.py:{line}"], root, seed=0, count=50) == []
    assert drawn(["seekwarc/write/recorder.py"], root, seed=0, count=50) != []


def test_a_module_is_tested_by_its_mirror_and_its_room() -> None:
    root = Path(__file__).parents[2]
    for module, expected in {
        "format/http.py": ["tests/format/test_http.py", "tests/format"],
        "compat/warcio/heads.py": ["tests/compat/warcio/test_heads.py", "tests/compat"],
        "cli/__init__.py": ["tests/cli"],
        "system.py": ["tests/test_system.py"],
        "__main__.py": [],
    }.items():
        assert list(suites_of(Path("seekwarc", module), root)) == expected


def repository(folder: Path, tests: str, name: str = "test_toy.py") -> Path:
    """Make a repository of one module, which lies in a room as `toy`."""
    package, room = folder / "seekwarc" / "room", folder / "tests" / "room"
    for made in (package, room):
        made.mkdir(parents=True)
    for module in (package, package.parent):
        (module / "__init__.py").touch()
    (package / "toy.py").write_text(TOY)
    (room / name).write_text(tests.replace("import toy", "from seekwarc.room import toy"))
    return folder


@pytest.mark.slow
@pytest.mark.posix
def test_thorough_tests_leave_no_mutation_alive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A loop without an end is noticed soon.
    monkeypatch.setattr("tests.support.mutations.MIN_TIME", 3)
    monkeypatch.setattr("tests.support.mutations.SLOWER", 3)
    root = repository(tmp_path, THOROUGH)
    assert main([], root) == 0
    out, error = capsys.readouterr()
    assert out == ""
    assert "7 of 7: tests/room/test_toy.py" in error
    assert error.endswith("7 killed, 0 lived\n")


@pytest.mark.posix
@pytest.mark.slow
def test_what_careless_tests_do_not_notice_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path, CARELESS, "test_room.py")
    assert main(["seekwarc/room/toy.py:6"], root) == 1
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "seekwarc/room/toy.py:6: `age >= 18` -> `age > 18`",
        "seekwarc/room/toy.py:6: `age >= 18` -> `age >= 19`",
    ]
    assert (root / "seekwarc/room/toy.py").read_text() == TOY


@pytest.mark.slow
@pytest.mark.posix
def test_tests_that_fail_anyway_show_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([], repository(tmp_path, "def test_any():\n    assert False\n"))
    assert capsys.readouterr().err == "tests/room/test_toy.py fails without a mutation\n"


@pytest.mark.parametrize("place", ["seekwarc/none.py", "seekwarc/format/http.py:1"])
def test_a_place_without_code_is_an_error(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([place])
    assert f"nothing to change in {place}" in capsys.readouterr().err


def test_a_mutation_says_its_place_and_itself() -> None:
    assert str(Mutation(Path("a/b.py"), 3, 0, "x <\n    y", "x <= y")) == "a/b.py:3: `x < y` -> `x <= y`"
