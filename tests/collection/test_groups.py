"""Records counted by what they have in common, and what revisits save."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seekwarc.collection.groups import MAX_GROUPS, MAX_NAME, Groups, Savings

NAMES = st.sampled_from(["a", "b", "c", "d", None])
RECORDS = st.lists(st.tuples(NAMES, st.integers(0, 1 << 40), st.integers(0, 1 << 40)), max_size=20)


@given(RECORDS, st.integers(0, 20), st.integers(0, 5))
def test_nothing_is_counted_twice_or_left_out(records, cut, top) -> None:
    whole, first, second = Groups(), Groups(), Groups()
    for number, record in enumerate(records):
        whole.add(*record)
        (first if number < cut else second).add(*record)
    first.merge(second)
    assert first.most() == whole.most()
    shown, others = whole.most(top)
    assert len(shown) == min(top, len({name for name, _, _ in records}))
    counted = [*shown, *([others] if others is not None else [])]
    assert sum(it.records for it in counted) == len(records)
    assert sum(it.content_size for it in counted) == sum(content for _, content, _ in records)
    assert sum(it.stored_size for it in counted) == sum(stored for _, _, stored in records)


def test_a_name_that_is_very_long_and_groups_without_end_take_no_room() -> None:
    groups = Groups()
    for number in range(MAX_GROUPS + 50):
        groups.add(f"{number}." + "x" * 300, 1, 2)
    shown, others = groups.most()
    assert len(shown) == MAX_GROUPS
    assert {len(it.name) for it in shown} == {MAX_NAME}
    assert others == (None, 50, 50, 100)


def test_a_revisit_saves_what_its_original_takes_wherever_that_is() -> None:
    one, other = Savings(), Savings()
    one.add("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", 300, is_revisit=True)
    one.add("sha256:" + "0f" * 32, 310, is_revisit=True)
    one.add("not a digest!", 5, is_revisit=True)
    one.add(None, 5, is_revisit=True)
    other.add("sha1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj", 9000, is_revisit=False)
    other.add("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", 7777, is_revisit=False)
    other.add("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", 200, is_revisit=True)
    one.merge(other)
    assert one.revisits == 5
    assert one.stored_size == 2 * 9000 - 300 - 200
