"""The guard of the hot paths: what it takes for worse."""

from __future__ import annotations

from tests.benchmarks.instructions import PATHS, compare


def test_more_than_the_tolerance_is_too_many() -> None:
    lines, fine = compare({"a": 1_020, "b": 1_100}, {"a": 1_000, "b": 1_000})
    assert lines == ["a: 1,020 (+2.0%)", "b: 1,100 (+10.0%) TOO MANY"]
    assert not fine


def test_fewer_is_fine() -> None:
    assert compare({"a": 500}, {"a": 1_000}) == (["a: 500 (-50.0%)"], True)


def test_without_a_reference_nothing_is_wrong() -> None:
    assert compare({"a": 1_000}, {}) == (["a: 1,000"], True)


def test_the_scripts_compile() -> None:
    for name, (script, _) in PATHS.items():
        compile(script, name, "exec")
