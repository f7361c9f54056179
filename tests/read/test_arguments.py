"""Wrong arguments of reading: the error says which one is wrong, and how."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import seekwarc

WRONG: dict[str, tuple[type[Exception], Callable[[Any], object]]] = {
    "start must be an int, not '0'": (TypeError, lambda it: it.payload.pread("0", 5)),
    "length must be an int, not 5.0": (TypeError, lambda it: it.payload.pread(0, 5.0)),
    "start must be an int, not NoneType": (TypeError, lambda it: it.payload.pread_into(None, bytearray(1))),
    "start is -1 and length 5: neither can be negative": (
        seekwarc.RangeError,
        lambda it: it.payload.pread(-1, 5, decoded=True),
    ),
    "n must be an int, not '5'": (TypeError, lambda it: it.payload.read("5")),
    "stop must be an int, not '9'": (TypeError, lambda it: it.payload.plan(0, "9")),
    "offset must be an int, not '9'": (TypeError, lambda it: it.payload.open().seek("9")),
    "offset must be at least 0: -5": (seekwarc.RangeError, lambda it: it.archive.record_at(-5)),
    "offset is '5x': expected digits": (seekwarc.RangeError, lambda it: it.archive.record_at("5x")),
    "offset must be an int, not 1.5": (TypeError, lambda it: it.archive.record_at(1.5)),
    "length must be at least 1: 0": (seekwarc.RangeError, lambda it: it.archive.record_at(0, "0")),
    "start must be an int, not 'a'": (TypeError, lambda it: it.archive.between("a")),
    "stop must be an int, not 1.0": (TypeError, lambda it: it.archive.between(0, 1.0)),
    "count must be an int, not '3'": (TypeError, lambda it: it.archive.sample("3")),
    "max_window_size is 1, not within 1024 to 2147483648": (
        ValueError,
        lambda _: seekwarc.open(b"", max_window_size="1"),
    ),
    "target is a text file (StringIO): open it in binary mode": (
        TypeError,
        lambda _: seekwarc.open(io.StringIO("WARC/1.1")),
    ),
    "target must be a path, a URL, bytes, a binary file or a RangeSource, not int": (
        TypeError,
        lambda _: seekwarc.open(7),
    ),
}


class Opened:
    """An archive, and the payload of its only record."""

    def __init__(self, archive: seekwarc.Reader) -> None:
        self.archive = archive
        self.payload = next(iter(archive)).payload


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        writer.write_resource("urn:example:a", b"0123456789", "text/plain")
    with seekwarc.open(out.getvalue()) as archive:
        yield Opened(archive)


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_argument_is_named(opened: Opened, message: str) -> None:
    kind, call = WRONG[message]
    with pytest.raises(kind) as refused:
        call(opened)
    assert str(refused.value) == message


class Number:
    """An integer as NumPy has it: not an `int`, but usable as an index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_positions_may_be_integers_of_other_libraries(opened: Opened) -> None:
    payload = opened.payload
    assert payload.pread(Number(2), Number(3)) == b"234"
    assert payload.read(Number(2)) == b"01"
    assert payload.read(None) == b"0123456789"
    buffer = bytearray(2)
    assert payload.pread_into(Number(8), buffer) == 2
    assert buffer == b"89"
    assert opened.archive.record_at(Number(0)).offset == 0
    assert payload.plan(Number(0), Number(1)).frames == 1
