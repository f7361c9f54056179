"""Values that stay open while they are used."""

from __future__ import annotations

from seekwarc.closing import Recent


def test_the_value_that_was_used_longest_ago_is_dropped() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
    assert len(recent) == 2
    assert recent.values() == (1, 3)


def test_a_value_is_replaced_unless_the_first_is_to_stay() -> None:
    recent: Recent[str, int] = Recent(2)
    assert recent.put("a", 1, replace=False) == 1
    assert recent.put("a", 2, replace=False) == 1
    assert recent.put("a", 3) == recent.get("a") == 3
    recent.clear()
    assert recent.get("a") is None
