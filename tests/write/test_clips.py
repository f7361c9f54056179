"""`seekwarc.clip`: parts of archived films in files of their own."""

from __future__ import annotations

import gzip
import io

import pytest

import seekwarc
from tests.support.cutting import assert_is_part_of
from tests.support.films import film_archive, small_film
from tests.support.partial import PartsWriter
from tests.support.rangeserver import RangeServer
from tests.support.writing import response

FORM = "last.mp4"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.warc.zst"
    film_archive(path, FORM, "film.mkv", "sound.flac", seconds=6)
    return path


def payload_of(opened, form: str = FORM):
    return next(opened.records(uri=f"http://example.org/{form}")).payload


def test_a_clip_is_written_and_described(archive, tmp_path) -> None:
    with seekwarc.open(archive) as opened:
        done = seekwarc.clip(payload_of(opened), "0:02.3", 4.1, tmp_path / "cut.mp4")
    data = (tmp_path / "cut.mp4").read_bytes()
    assert_is_part_of(data, small_film(FORM))
    assert (done.start, done.begin, done.stop, done.format) == (2.3, 2.0, 4.1, "mp4")
    assert done.early == pytest.approx(0.3)
    assert done.codecs == ("h264", "aac")
    assert done.size == len(data)
    assert 0 < done.bytes_read <= len(small_film(FORM))
    assert not done.is_exact


def test_an_exact_clip_is_said_to_be_exact(archive, tmp_path) -> None:
    with seekwarc.open(archive) as opened:
        exact = seekwarc.clip(payload_of(opened), "2.3", "2.6", tmp_path / "cut.mp4", exact=True)
        sound = seekwarc.clip(payload_of(opened, "sound.flac"), 1, 2, tmp_path / "cut.flac")
    assert exact.is_exact
    assert sound.is_exact
    assert exact.early == sound.early == 0


def test_the_target_may_be_a_pipe(archive) -> None:
    class Pipe(io.RawIOBase):
        data = b""

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with seekwarc.open(archive) as opened:
        seekwarc.clip(payload_of(opened), 1, 2, pipe)
    assert_is_part_of(pipe.data, small_film(FORM))


def test_an_existing_file_is_kept(archive, tmp_path) -> None:
    path = tmp_path / "cut.mp4"
    path.write_bytes(b"mine")
    with seekwarc.open(archive) as opened:
        with pytest.raises(seekwarc.TargetExistsError):
            seekwarc.clip(payload_of(opened), 1, 2, path)
        assert path.read_bytes() == b"mine"
        seekwarc.clip(payload_of(opened), 1, 2, path, existing="overwrite")
    assert path.read_bytes() != b"mine"


def test_nothing_is_left_after_an_error(archive, tmp_path) -> None:
    with seekwarc.open(archive) as opened:
        for start, stop, target in (
            (90, 95, "cut.mp4"),
            (2, 1, "cut.mp4"),
            (1, 2, "cut.webm"),
            (1, 2, "cut.avi"),
        ):
            with pytest.raises(seekwarc.SeekWarcError, match=r"http://example\.org/last\.mp4"):
                seekwarc.clip(payload_of(opened), start, stop, tmp_path / target)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported(archive, tmp_path) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            raise OSError(28, "No space left on device")

    with seekwarc.open(archive) as opened, pytest.raises(seekwarc.TargetError, match="No space left"):
        seekwarc.clip(payload_of(opened), 1, 2, Full())


def test_a_coded_payload_is_refused_with_advice(tmp_path) -> None:
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        block = response(gzip.compress(small_film(FORM)), "video/mp4", "Content-Encoding: gzip")
        out.write_response("http://example.org/x", block)
    with seekwarc.open(file.getvalue()) as opened:
        payload = next(opened.records(type="response")).payload
        with pytest.raises(seekwarc.UnsupportedError, match="content coding gzip, which can only be read"):
            seekwarc.clip(payload, 1, 2, tmp_path / "cut.mp4")


def test_a_chunked_film_is_cut(tmp_path) -> None:
    film = small_film(FORM)
    pieces = [film[at : at + 5000] for at in range(0, len(film), 5000)]
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        out.write_response("http://example.org/x", response(body, "video/mp4", "Transfer-Encoding: chunked"))
    with seekwarc.open(file.getvalue()) as opened:
        seekwarc.clip(next(opened.records(type="response")).payload, 1, 2, tmp_path / "cut.mp4")
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), film)


def test_holes_of_joined_parts_matter_only_in_the_clip(tmp_path) -> None:
    film = small_film("first.mp4")
    half = len(film) // 2
    parts = PartsWriter(film)
    parts.part(0, half)
    parts.part(half + 100_000, len(film))
    path = tmp_path / "parts.warc.zst"
    path.write_bytes(parts.done())
    with seekwarc.Collection([path]) as crawl:
        payload = crawl.open_record(uri="http://example.org/film.mp4", joined=True).payload
        seekwarc.clip(payload, 1, 2, tmp_path / "cut.mp4")
        with pytest.raises(seekwarc.HoleError):
            seekwarc.clip(payload, 1, 5, tmp_path / "hole.mp4")
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), film)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["cut.mp4", "parts.warc.zst"]


def test_a_clip_of_a_remote_film_takes_few_requests(tmp_path) -> None:
    pytest.importorskip("obstore")
    path = tmp_path / "films.warc.zst"
    offset = film_archive(path, "first.mp4", seconds=12, frame_size=64 << 10)["first.mp4"]
    with RangeServer(path.read_bytes()) as server, seekwarc.open(server.url) as opened:
        done = seekwarc.clip(opened.record_at(offset).payload, "7.3", "8", tmp_path / "cut.mp4")
        assert len(server.asked) <= 8
        assert sum(it.sent for it in server.asked) < path.stat().st_size * 0.7
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), small_film("first.mp4", 12))
    assert done.size < sum(it.sent for it in server.asked)


@pytest.mark.parametrize("value", [-1, "1:75", "x"])
def test_malformed_times_are_refused(archive, tmp_path, value) -> None:
    with seekwarc.open(archive) as opened, pytest.raises(ValueError, match=r"is not a time|not within"):
        seekwarc.clip(payload_of(opened), value, 5, tmp_path / "cut.mp4")
