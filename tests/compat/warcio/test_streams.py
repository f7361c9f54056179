"""Payloads as seekable files, whose errors are warcio's too."""

from __future__ import annotations

import gzip
import io
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.exceptions import ArchiveLoadFailed

import seekwarc
from seekwarc.compat.warcio.streams import STEP, CheckedFile, DecodedPayload, PayloadFile, buffered
from seekwarc.frames.codings import DecodedFile
from tests.support.writing import noise, text

BODY = text(3 * STEP)
SEEKS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(0, 100_000)),
        st.tuples(st.just("seek"), st.integers(0, len(BODY) + 10)),
        st.tuples(st.just("end"), st.integers(-len(BODY), 0)),
    ),
    max_size=6,
)


def extent_of(block: bytes) -> seekwarc.Extent:
    file = io.BytesIO()
    with seekwarc.open(file, "w", frame_size=64 << 10) as out:
        out.write_resource("http://example.org/", block, "text/plain")
    return seekwarc.open(file.getvalue()).record_at(0).block


PLAIN, CODED = extent_of(BODY), extent_of(gzip.compress(BODY))


@given(SEEKS, st.booleans())
def test_files_go_anywhere_as_those_in_memory_do(steps: list[tuple[str, int]], decoded: bool) -> None:
    decode = partial(DecodedFile, codings=("gzip",), limit=1 << 40)
    file = buffered(DecodedPayload(lambda: decode(CODED.open())) if decoded else PayloadFile(PLAIN.open))
    expected = io.BytesIO(BODY)
    for what, number in steps:
        if what == "read":
            assert file.read(number) == expected.read(number)
        elif what == "end":
            assert file.seek(number, io.SEEK_END) == expected.seek(number, io.SEEK_END)
        elif number <= len(BODY) or not decoded:
            assert file.seek(number) == expected.seek(number)
    assert file.read() == expected.read()


def test_the_end_is_told_when_it_is_read() -> None:
    told: list[str] = []
    file = buffered(PayloadFile(PLAIN.open, lambda: told.append("end")))
    file.read(10)
    assert told == []
    file.read()
    assert told


def test_damage_is_an_error_of_warcio_and_of_ours() -> None:
    data = bytearray()
    file = io.BytesIO()
    with seekwarc.open(file, "w", frame_size=64 << 10) as out:
        out.write_resource("http://example.org/", noise(1 << 20), "text/plain")
    data = bytearray(file.getvalue())
    data[len(data) // 2] ^= 1
    damaged = buffered(PayloadFile(seekwarc.open(bytes(data)).record_at(0).block.open))
    assert damaged.read(1000)
    with pytest.raises(ArchiveLoadFailed) as caught:
        damaged.read()
    assert isinstance(caught.value, seekwarc.FormatError)


def test_a_closed_file_is_not_read() -> None:
    file = PayloadFile(PLAIN.open)
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.readinto(bytearray(1))


def test_decoding_does_not_go_before_the_beginning() -> None:
    file = DecodedPayload(PLAIN.open)
    with pytest.raises(ValueError, match="position -1"):
        file.seek(-1)


class Verifier:
    """What `DigestVerifyingReader` does with what it is shown, without the digests."""

    def __init__(self) -> None:
        self.shown = b""

    def _update(self, data: bytes) -> None:
        self.shown += data


@given(SEEKS)
def test_digests_are_shown_each_byte_once_and_in_order(steps: list[tuple[str, int]]) -> None:
    verifier = Verifier()
    checked = CheckedFile(PLAIN, verifier)
    file = buffered(checked)
    for what, number in steps:
        if what == "read":
            file.read(number)
        else:
            file.seek(number, io.SEEK_END if what == "end" else io.SEEK_SET)
        assert BODY.startswith(verifier.shown)
    checked.finish()
    assert verifier.shown == BODY
