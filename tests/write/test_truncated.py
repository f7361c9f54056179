"""A block that breaks off while it is read: discarded, or kept as far as it came."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from tests.support.writing import HTTP_HEAD, KIB, URI, noise, text

# Small frames, so that small blocks are written as large ones are.
pytestmark = pytest.mark.filterwarnings("ignore:.*frame_size is for .warc.zst")

FRAME = 64 * KIB
SIZES = [0, 5, 1000, FRAME, 3 * FRAME + 17]
"""Bytes that come before the connection breaks."""
HTML = {"Content-Type": "text/html"}


def broken(data: bytes, step: int = 1000, error: BaseException | None = None) -> Iterator[bytes]:
    for start in range(0, len(data), step):
        yield data[start : start + step]
    raise error or ConnectionResetError("the connection broke")


class BrokenFile:
    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        if not data:
            raise ConnectionResetError("the connection broke")
        return data


def records_of(path: Path) -> list[tuple[str | None, str | None, bytes]]:
    with seekwarc.open(path, strict=True) as archive:
        found = list(archive)
        assert all(check.verdict.is_good for record in found for check in record.check_digests())
        return [(record.target_uri, record.truncated, record.payload.read()) for record in found]


@pytest.mark.parametrize("name", ["a.warc.zst", "a.warc.gz", "a.warc"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("make", [broken, BrokenFile])
def test_what_came_is_kept(make: Any, size: int, name: str, tmp_path: Path) -> None:
    body = text(size)
    with seekwarc.open(tmp_path / name, "w", frame_size=FRAME) as out:
        with pytest.raises(ConnectionResetError) as raised:
            out.write_response(
                URI, make(body), status=200, http_headers=HTML, on_interrupt="truncate", length=10_000_000
            )
        out.write_resource("urn:x:2", b"two", "text/plain")
    assert records_of(tmp_path / name) == [(URI, "disconnect", body), ("urn:x:2", None, b"two")]
    (note,) = raised.value.__notes__
    assert name in note
    assert "WARC-Truncated: disconnect" in note


@pytest.mark.parametrize("options", [{}, {"digest": None}, {"dedup": True}, {"tables": "every"}])
@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("length", [None, 1 << 20])
def test_it_is_kept_however_it_is_written(
    options: dict[str, Any], size: int, length: int | None, tmp_path: Path
) -> None:
    if options.get("dedup"):
        options = {"dedup": seekwarc.Duplicates()}
    block = noise(size)
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME, **options) as out:
        for turn in range(2):
            with pytest.raises(ConnectionResetError):
                out.write_resource(
                    f"urn:x:{turn}", broken(block), "x/y", length=length, on_interrupt="truncate"
                )
    found = records_of(path)
    # Never a revisit, and never the original of one: it is not the whole payload.
    assert found == [("urn:x:0", "disconnect", block), ("urn:x:1", "disconnect", block)]


def test_it_is_not_kept_unless_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        out.write_resource("urn:x:1", b"one", "text/plain")
        for options in ({}, {"on_interrupt": "discard"}):
            with pytest.raises(ConnectionResetError) as raised:
                out.write_resource("urn:x:2", broken(noise(3 * FRAME)), "x/y", **options)
            assert not hasattr(raised.value, "__notes__")
    assert [uri for uri, *_ in records_of(path)] == ["urn:x:1"]


def test_a_block_of_which_nothing_came_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_resource("urn:x:1", b"one", "text/plain")
        with pytest.raises(ConnectionResetError):
            out.write_resource("urn:x:2", broken(b""), "x/y", on_interrupt="truncate")
    assert [uri for uri, *_ in records_of(path)] == ["urn:x:1"]


@pytest.mark.parametrize("size", [100, 3 * FRAME])
def test_a_stream_that_ends_early_is_kept_too(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    block = noise(size)
    with (
        seekwarc.open(path, "w", frame_size=FRAME) as out,
        pytest.raises(seekwarc.FormatError, match=f"ended after {size} bytes, its Content-Length is 1000000"),
    ):
        out.write_resource(URI, io.BytesIO(block), "x/y", length=1_000_000, on_interrupt="truncate")
    assert records_of(path) == [(URI, "disconnect", block)]


def test_ctrl_c_in_a_stream_is_another_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, pytest.raises(KeyboardInterrupt):
        out.write_resource(URI, broken(b"some", error=KeyboardInterrupt()), "x/y", on_interrupt="truncate")
    assert records_of(path) == [(URI, "unspecified", b"some")]


def test_a_reason_that_was_given_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME) as out, pytest.raises(ConnectionResetError):
        out.write_resource(
            URI, broken(noise(3 * FRAME)), "x/y", on_interrupt="truncate", truncated="time", length=1 << 20
        )
    assert [reason for _, reason, _ in records_of(path)] == ["time"]


def test_a_stated_length_gives_way_and_stated_digests_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        with pytest.raises(ConnectionResetError):
            out.write(
                "resource",
                target_uri=URI,
                block=broken(b"some"),
                headers={"Content-Length": "1000"},
                on_interrupt="truncate",
            )
        stated = {"WARC-Block-Digest": "sha1:2JMJ7L5RSW3YVVLMLQCJ6YXKYVWU4QQY"}
        with pytest.raises(ValueError, match="given digests"):
            out.write_resource(URI, b"x", "x/y", headers=stated, on_interrupt="truncate")
        with pytest.raises(ValueError, match='on_interrupt is \'keep\', not "discard" or "truncate"'):
            out.write_resource(URI, b"x", "x/y", on_interrupt="keep")  # type: ignore[arg-type]
    assert records_of(path) == [(URI, "disconnect", b"some")]


def test_a_segmented_record_is_truncated_in_its_last_segment(tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(900_000)
    with (
        seekwarc.open(tmp_path / "a.warc.zst", "w", frame_size=FRAME, max_file_size=400 * KIB) as out,
        pytest.raises(ConnectionResetError),
    ):
        out.write_response(URI, broken(block), on_interrupt="truncate")
    paths = sorted(tmp_path.glob("a-*.warc.zst"))
    assert all(path.stat().st_size <= 400 * KIB for path in paths)
    with seekwarc.Collection(paths) as files:
        segments = [it for it in files if it.type in ("response", "continuation")]
        assert [it.truncated for it in segments] == [None] * (len(segments) - 1) + ["disconnect"]
        assert files.open_record(uri=URI).block.read() == block


def test_a_whole_block_is_as_without_the_option(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    block = noise(3 * FRAME)
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        for given in (block, io.BytesIO(block), iter([block])):
            out.write_resource(URI, given, "x/y", on_interrupt="truncate")
    assert records_of(path) == [(URI, None, block)] * 3
