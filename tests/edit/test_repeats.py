"""Keys that were seen more than once."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.collection.record_table import RecordTable
from seekwarc.edit.repeats import Repeats
from tests.support.writing import noise


@given(st.lists(st.tuples(st.sampled_from(["sha1", "md5"]), st.binary(max_size=1))))
def test_every_repeated_key_is_found(keys: list[tuple[str, bytes]]) -> None:
    repeats = Repeats()
    for key in keys:
        repeats.add(key)
    assert all(key in repeats for key, count in Counter(keys).items() if count > 1)


def test_few_keys_are_taken_for_repeated() -> None:
    repeats = Repeats()
    for number in range(10_000):
        repeats.add(("sha1", b"%d" % number))
    assert sum(("sha1", b"%d" % number) in repeats for number in range(10_000)) < 100


def test_dedupe_looks_up_no_digest_that_only_one_record_has(tmp_path, monkeypatch) -> None:
    asked: list[object] = []
    some = RecordTable.some

    def counted(self, limit, **values):
        asked.append(values)
        return some(self, limit, **values)

    monkeypatch.setattr(RecordTable, "some", counted)
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        for number in range(30):
            out.write_response(f"http://example.org/{number}", noise(2000, number), status=200)
    assert tools.dedupe(tmp_path / "a.warc.zst", dry_run=True).revisits == 0
    assert not asked
    with seekwarc.open(tmp_path / "b.warc.zst", "w") as out:
        out.write_response("http://example.org/again", noise(2000, 7), status=200)
    assert tools.dedupe([tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"], dry_run=True).revisits == 1
    assert asked
    # No ID is shared, and there is no revisit: neither is looked up.
    assert not any("id" in values or "type" in values for values in asked)
