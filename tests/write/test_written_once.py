"""Large records of known length are written once, and get their digests in their place."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.make.packing import pack
from seekwarc.write import output
from seekwarc.write.block_reader import SizedStream
from tests.support.writing import (
    DATE,
    FRAME,
    HTTP_HEAD,
    MIB,
    RESPONSE,
    URI,
    Stream,
    noise,
    record_id,
    small_dictionary,
    text,
    walk,
)

# Small frames, so that small blocks are written as large ones are.
pytestmark = pytest.mark.filterwarnings("ignore:.*frame_size is for .warc.zst")

BODY = noise(150_000) + text(150_000)
BLOCK = HTTP_HEAD + BODY
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OF_ZST = [{}, {"tables": "every"}, {"tables": "none"}, {"dictionary": small_dictionary()}]


@pytest.fixture
def without_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a temporary file was made")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", refuse)


def write(out: seekwarc.Writer, block: Any, number: int = 0, **fields: Any) -> seekwarc.Written:
    fixed = {"target_uri": URI, "content_type": RESPONSE, "date": DATE, "record_id": record_id(number)}
    return out.write("response", block=block, **fixed, **fields)


def label(content: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(content).digest()).decode()}"


@pytest.mark.usefixtures("without_spool")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("name", "options"),
    [*(("a.warc.zst", options) for options in OF_ZST), ("a.warc.gz", {}), ("a.warc", {})],
)
def test_a_stream_of_known_length_is_written_once(
    name: str, options: dict[str, Any], threads: int, tmp_path: Path
) -> None:
    path = tmp_path / name
    with seekwarc.open(path, "w", frame_size=FRAME, threads=threads, **options) as out:
        done = [write(out, Stream(BLOCK), number, length=len(BLOCK)) for number in range(2)]
        assert [it.block_digest for it in done] == [label(BLOCK)] * 2
        assert [it.payload_digest for it in done] == [label(BODY)] * 2
    result = tools.verify(path)
    assert result.is_sound
    assert result.digests == 4
    with seekwarc.open(path) as archive:
        for record, written in zip(archive, done, strict=True):
            assert record.header == written.header
            assert record.block.read() == BLOCK
            assert record.payload.pread(200_000, 10) == BODY[200_000:200_010]


@pytest.mark.parametrize("options", OF_ZST)
def test_only_the_first_frame_differs_from_a_pipes(options: dict[str, Any], tmp_path: Path) -> None:
    dictionary = options.get("dictionary")
    found = []
    for name, fields in ("pipe", {}), ("known", {"length": len(BLOCK)}):
        path = tmp_path / f"{name}.warc.zst"
        with seekwarc.open(path, "w", frame_size=FRAME, **options) as out:
            write(out, Stream(BLOCK), **fields)
        found.append([it for it in walk(path.read_bytes(), dictionary and dictionary.data) if it.is_data])
    pipe, known = found
    assert [it.content for it in pipe][1:] == [it.content for it in known][1:]
    assert [it.data for it in pipe][1:] == [it.data for it in known][1:]
    assert sorted(pipe[0].content.split(b"\r\n")) == sorted(known[0].content.split(b"\r\n"))
    assert known[0].content in known[0].data


def test_as_many_bytes_are_written_as_the_file_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    original = output.write_all

    def watched(file: Any, data: Any) -> None:
        sizes.append(len(data))
        original(file, data)

    monkeypatch.setattr(output, "write_all", watched)
    film, path = tmp_path / "film.mp4", tmp_path / "a.warc.zst"
    film.write_bytes(noise(8 * MIB))
    with film.open("rb") as file, seekwarc.open(path, "w") as out:
        out.write_resource(URI, file, "video/mp4")
    assert os.path.getsize(path) <= sum(sizes) <= 1.001 * os.path.getsize(path)


class Watched:
    """A file that is not recognized as one."""

    def __init__(self, file: Any) -> None:
        self.read = file.read


class Changing(io.BytesIO):
    """A file that is longer or shorter than it was."""

    def __init__(self, data: bytes, change: int) -> None:
        super().__init__(data if change < 0 else data + noise(change, seed=4))
        self.truncate(len(data) + change)


@pytest.mark.usefixtures("without_spool")
@pytest.mark.parametrize("change", [-200_000, -1, 1, 10_000, 800_000])
@pytest.mark.parametrize("name", ["a.warc.zst", "a.warc.gz", "a.warc"])
def test_a_file_that_changes_is_taken_as_it_was_read(name: str, change: int, tmp_path: Path) -> None:
    path, film = tmp_path / name, noise(950_000)
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        file = Changing(film, change)
        done = out.write_resource(URI, SizedStream(file, len(film)), "video/mp4")
    assert done.content_length == len(film) + change
    assert tools.verify(path).is_sound
    with seekwarc.open(path, strict=True) as archive:
        assert next(iter(archive)).block.read() == file.getvalue()


def test_a_file_that_grows_out_of_all_bounds_is_refused(tmp_path: Path) -> None:
    path, film = tmp_path / "a.warc.zst", noise(150_000)
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        write(out, BLOCK)
        with pytest.raises(seekwarc.FormatError, match="grew to 1150000 bytes while it was read"):
            out.write_resource(URI, SizedStream(Changing(film, 10**6), len(film)), "video/mp4")
    assert tools.verify(path).is_sound
    with seekwarc.open(path) as archive:
        assert [record.type for record in archive] == ["response"]


@pytest.mark.usefixtures("without_spool")
@pytest.mark.parametrize("how", ["resource", "body", "pack", "watched"])
def test_the_length_of_a_file_need_not_be_given(how: str, tmp_path: Path) -> None:
    film, path = tmp_path / "film.mp4", tmp_path / "a.warc.zst"
    film.write_bytes(noise(2 * MIB))
    if how in ("pack", "watched"):
        wraps = {"on_progress": lambda _, file: Watched(file)} if how == "watched" else {}
        pack([film], path, **wraps)
    else:
        with film.open("rb") as file, seekwarc.open(path, "w") as out:
            if how == "body":
                out.write_response(URI, file, status=200, http_headers={"Content-Type": "video/mp4"})
            else:
                out.write_resource(URI, file, "video/mp4")
    assert tools.verify(path).is_sound
    with seekwarc.open(path) as archive:
        record = [*archive][-1]
        assert record.payload.read() == film.read_bytes()


@pytest.mark.parametrize("name", ["a.warc.zst", "a.warc.gz", "a.warc"])
def test_chunks_that_break_off_get_no_payload_digest(name: str, tmp_path: Path) -> None:
    block = CHUNKED_HEAD + b"%x\r\n" % len(BODY) + BODY[:-10]
    path = tmp_path / name
    with seekwarc.open(path, "w", frame_size=FRAME) as out:
        done = write(out, Stream(block), length=len(block))
        whole = write(out, Stream(block + BODY[-10:] + b"\r\n0\r\n\r\n"), 1, length=len(block) + 17)
    assert (done.block_digest, done.payload_digest) == (label(block), "")
    assert whole.payload_digest == label(BODY)
    with seekwarc.open(path, strict=True) as archive:
        assert [record.header for record in archive] == [done.header, whole.header]
    assert tools.verify(path).is_sound


def test_digests_that_are_given_are_kept(tmp_path: Path) -> None:
    given = {"WARC-Block-Digest": label(BLOCK), "WARC-Payload-Digest": label(BODY)}
    with seekwarc.open(tmp_path / "a.warc.zst", "w", frame_size=FRAME) as out:
        done = write(out, Stream(BLOCK), length=len(BLOCK), headers=given)
    assert done.header.raw.count(b"Digest") == 2
    assert tools.verify(tmp_path / "a.warc.zst").is_sound


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("short", [1, 100_000])
def test_a_stream_that_ends_early_leaves_nothing(short: int, threads: int, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", frame_size=FRAME, threads=threads) as out:
        for number in range(3):
            write(out, Stream(BLOCK), 2 * number, length=len(BLOCK))
            with pytest.raises(seekwarc.FormatError, match="the block ended after"):
                write(out, Stream(BLOCK[:-short]), 2 * number + 1, length=len(BLOCK))
    assert tools.verify(path).is_sound
    with seekwarc.open(path) as archive:
        assert [record.id for record in archive] == [record_id(number) for number in (0, 2, 4)]


def test_the_unfinished_header_claims_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    seen: list[bytes] = []

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            seen.append(path.with_name("a.warc.zst.open").read_bytes())
            return data

    block = HTTP_HEAD + noise(MIB)
    with seekwarc.open(path, "w", frame_size=FRAME, threads=1) as out:
        write(out, Watched(block), length=len(block))
    half = seen[-2]
    assert b"WARC-Type: response" in half
    assert b"-Digest" not in half
    assert b"-Digest" in path.read_bytes()
