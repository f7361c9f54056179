"""What is written instead of a record."""

from __future__ import annotations

import seekwarc
from seekwarc.edit.changing import Change
from seekwarc.format.warc import RECORD_END
from tests.support.foreign import Foreign


def test_the_block_of_a_change_is_its_parts_one_after_the_other() -> None:
    with seekwarc.open(Foreign().record(bytes(3 << 20)).bytes()) as archive:
        (record,) = archive
        change = Change("other", record.size, record.header, (b"head", record.block))
        assert b"".join(change.pieces()) == b"head" + bytes(3 << 20)
        loose = change.record("some.warc.zst")
        assert (loose.filename, loose.reason, loose.trailer()) == ("some.warc.zst", "other", RECORD_END)
        assert loose.open_block().read(4) == b"head"
