"""The options of reading, and that those type checkers know are those that are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import seekwarc
from seekwarc.read.options import ReaderOptions, ReadOptions, SidecarOptions

TAKERS: list[Callable[..., object]] = [
    seekwarc.Reader,
    lambda target, **options: seekwarc.Collection([target], **options),
    seekwarc.Index,
    seekwarc.splits,
    seekwarc.batches,
    lambda target, **options: seekwarc.gather([(target, 0)], **options),
]


def test_options_are_those_that_type_checkers_know() -> None:
    assert set(SidecarOptions().keys()) == set(ReaderOptions.__annotations__)
    assert set(ReaderOptions.__annotations__) - set(ReadOptions().keys()) == {"sidecar"}
    assert not ReaderOptions.__required_keys__


def test_options_can_be_passed_on_as_keyword_arguments() -> None:
    options = ReadOptions(threads=2, cache_size=0, strict=True)
    assert ReadOptions(**options) == options


@pytest.mark.parametrize("size", [-1, 0, 1023, (2 << 30) + 1, 1 << 70])
def test_a_window_that_the_codec_does_not_know_is_refused_beforehand(size: int) -> None:
    with pytest.raises(ValueError, match=f"max_window_size is {size}, not within 1024 to 2147483648"):
        ReadOptions(max_window_size=size)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threads": -1}, ValueError, "threads is -1, not within 0 to"),
        ({"cache_size": -1}, ValueError, "cache_size is -1, not within 0 to"),
        ({"max_table_size": "big"}, ValueError, "^max_table_size: 'big' is not a size such as 65536, 64K"),
        ({"max_table_size": 0.5}, TypeError, "max_table_size must be an int, not 0.5"),
        ({"max_window_size": "1"}, ValueError, "max_window_size is 1, not within 1024 to 2147483648"),
        ({"max_dictionary_size": None}, TypeError, "max_dictionary_size must be an int, not NoneType"),
        ({"thread": 1}, TypeError, r"unknown option: thread; did you mean threads\?"),
    ],
)
@pytest.mark.parametrize("taker", TAKERS)
def test_wrong_options_are_refused_before_anything_is_read(
    taker: Callable[..., object], options: dict[str, Any], error: type[Exception], message: str, tmp_path
) -> None:
    path = str(tmp_path / "a.warc")
    with seekwarc.open(path, "w") as out:
        out.write_resource("urn:example:a", b"", "text/plain")
    with pytest.raises(error, match=message):
        taker(path, **options)


def test_an_unknown_way_to_treat_damage_is_refused() -> None:
    with pytest.raises(ValueError, match=r'on_error is .ignore., not "raise", "skip" or a function$'):
        seekwarc.open(b"", on_error="ignore")  # type: ignore[call-overload]


@pytest.mark.parametrize("taker", TAKERS)
def test_sizes_may_be_text(taker: Callable[..., object], tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w", max_file_size="1G", frame_size="64K") as out:
        out.write_resource("urn:example:a", b"", "text/plain")
    path = str(tmp_path / "a-00000.warc.zst")
    if taker is seekwarc.Index:
        seekwarc.tools.index(path, tmp_path / "a.cdxj")
        path = str(tmp_path / "a.cdxj")
    taker(path, cache_size="1M", max_window_size="0.5M", max_table_size="64MiB")
    assert ReadOptions.of(max_window_size="0.5M").max_window_size == 512 << 10
