"""The public interface of the writer: fields, digests, dates, options, sources, refusals."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import os
import re
import tempfile
import threading
import uuid
from array import array
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from tests.support.reading import blocks_of
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    Repeated,
    Stream,
    header_for,
    noise,
    sha1,
    small_dictionary,
    text,
    walk,
    written,
)

FRAME = 64 * KIB


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def header_of(kind: str, options: dict[str, Any] | None = None, **fields: Any) -> Any:
    with seekwarc.Writer(io.BytesIO(), frame_size=FRAME, **(options or {})) as writer:
        return writer.write(kind, **{"target_uri": URI, **fields}).header


# Fields.


def test_required_fields_are_added() -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    header = header_of("resource", target_uri="https://example.org/", block=b"hello")
    assert header.raw.startswith(b"WARC/1.1\r\n")
    assert list(header)[:3] == ["WARC-Type", "WARC-Record-ID", "WARC-Date"]
    assert header["WARC-Type"] == "resource"
    assert header["WARC-Target-URI"] == "https://example.org/"
    assert header["Content-Length"] == "5"
    assert header["WARC-Block-Digest"] == sha1(b"hello")
    match = re.fullmatch(r"<urn:uuid:(.*)>", header["WARC-Record-ID"])
    assert match
    assert str(uuid.UUID(match[1])) == match[1]
    stamp = dt.datetime.strptime(header["WARC-Date"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.UTC)
    assert before <= stamp <= dt.datetime.now(dt.UTC)
    assert "Content-Type" not in header
    assert "WARC-Payload-Digest" not in header


def test_record_ids_differ() -> None:
    _, places = written({"record_id": None}, {"record_id": None})
    assert places[0].id != places[1].id


@pytest.mark.parametrize("size", [100, 300_000])
def test_given_fields_win_in_any_case(size: int) -> None:
    given = {
        "warc-record-id": "<urn:x:1>",
        "WARC-DATE": "2001-02-03T04:05:06Z",
        "Warc-Block-Digest": "md5:5d41402abc4b2a76b9719d911017c592",
        "content-length": str(size),
        "X-Own": "kept",
    }
    header = header_of("resource", block=text(size), headers=given)
    for name, value in given.items():
        assert header.get_all(name) == (value,)
        assert name.encode() + b": " in header.raw


def test_fields_may_repeat_and_keep_their_order() -> None:
    fields = [("WARC-Concurrent-To", "<urn:x:1>"), ("X", "y"), ("WARC-Concurrent-To", "<urn:x:2>")]
    header = header_of("request", headers=iter(fields))
    assert [pair for pair in header.items() if pair in fields] == fields


def test_a_record_id_may_come_with_or_without_brackets() -> None:
    for given in ("urn:x:1", "<urn:x:1>"):
        assert header_of("resource", record_id=given)["WARC-Record-ID"] == "<urn:x:1>"


@pytest.mark.parametrize(
    "fields",
    [
        {"target_uri": "https://example.org/\r\nX: y"},
        {"target_uri": "https://example.org/\n"},
        {"content_type": "text/plain\r"},
        {"record_id": "urn:x:1\r\n"},
        {"date": "2026-01-01T00:00:00Z\r\n"},
        {"headers": {"X": "a\r\n b"}},
        {"headers": {"X": "a\0b"}},
        {"headers": {"X Y": "a"}},
        {"headers": {"X:": "a"}},
        {"headers": {"": "a"}},
        {"headers": {"X\r\nY": "a"}},
    ],
)
def test_an_invalid_field_is_refused_before_the_block_is_read(fields: dict[str, Any]) -> None:
    target = io.BytesIO()
    stream = io.BytesIO(text(300_000))
    with seekwarc.Writer(target) as writer:
        with pytest.raises(ValueError, match=r"line break or NUL|cannot name a field"):
            writer.write("resource", **{"target_uri": URI, "block": stream, **fields})
        assert stream.tell() == 0
        writer.write("resource", target_uri=URI, block=b"good")
    assert blocks_of(target.getvalue()) == [b"good"]


def test_a_type_with_a_line_break_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        header_of("resource\r\nX: y")


@pytest.mark.parametrize("length", ["12x", "-1", "", "1 2"])
@pytest.mark.parametrize("size", [100, 300_000])
def test_an_unusable_content_length_is_refused(length: str, size: int) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        with pytest.raises(ValueError, match="Content-Length"):
            writer.write("resource", target_uri=URI, block=text(size), headers={"Content-Length": length})
        writer.write("resource", target_uri=URI, block=b"good")
    assert blocks_of(target.getvalue()) == [b"good"]


def test_a_header_of_more_than_a_mebibyte_is_refused() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        for size in (10, 2 * MIB):
            with pytest.raises(seekwarc.FormatError):
                writer.write("resource", target_uri=URI, block=text(size), headers={"X": "y" * MIB})
        writer.write("resource", target_uri=URI, block=b"good")
    assert blocks_of(target.getvalue()) == [b"good"]


# Dates.


def test_dates_are_written_in_utc() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    for date, expected in (
        (dt.datetime(2026, 11, 5, 12, 30, tzinfo=dt.UTC), "2026-11-05T12:30:00Z"),
        (dt.datetime(2026, 11, 5, 1, 30, 5, tzinfo=zone), "2026-11-04T23:30:05Z"),
        (dt.datetime(2026, 11, 5, 1, 2, 3, 450, tzinfo=dt.UTC), "2026-11-05T01:02:03.000450Z"),
        ("2026", "2026"),
    ):
        assert header_of("resource", date=date)["WARC-Date"] == expected


def test_a_date_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        header_of("resource", date=dt.datetime(2026, 11, 5))  # noqa: DTZ001


# Digests.


@pytest.mark.parametrize(("digest", "make"), [("sha1", sha1), ("sha256", sha256)])
@pytest.mark.parametrize("size", [0, 100, FRAME, FRAME + 1, 300_000])
@pytest.mark.parametrize("wrap", [bytes, io.BytesIO, Stream])
def test_digests_are_those_of_the_block_and_of_the_payload(
    digest: Any, make: Any, size: int, wrap: Any
) -> None:
    payload = text(size)
    block = HTTP_HEAD + payload
    header = header_of("response", block=wrap(block), content_type=RESPONSE, options={"digest": digest})
    assert header["WARC-Block-Digest"] == make(block)
    assert header["WARC-Payload-Digest"] == make(payload)
    assert header["Content-Length"] == str(len(block))


@pytest.mark.parametrize("size", [0, 100, 300_000])
@pytest.mark.parametrize("wrap", [bytes, io.BytesIO, Stream])
def test_a_chunked_response_has_the_payload_digest_of_its_body(size: int, wrap: Any) -> None:
    body = noise(size)
    chunks = [body[start : start + 7000] for start in range(0, size, 7000)]
    coded = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + coded
    header = header_of("response", block=wrap(block), content_type=RESPONSE)
    assert header["WARC-Payload-Digest"] == sha1(body)
    assert header["WARC-Block-Digest"] == sha1(block)


@pytest.mark.parametrize("size", [100, 300_000])
@pytest.mark.parametrize(
    ("content_type", "head"),
    [
        ("text/plain", HTTP_HEAD),
        (RESPONSE, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n"),
        ("application/http; msgtype=request", b"POST / HTTP/1.1\r\nHost: example.org\r\n\r\n"),
        (RESPONSE, b"no head at all "),
    ],
)
def test_only_valid_http_responses_get_a_payload_digest(size: int, content_type: str, head: bytes) -> None:
    block = head + text(size)
    header = header_of("response", block=block, content_type=content_type)
    assert "WARC-Payload-Digest" not in header
    assert header["WARC-Block-Digest"] == sha1(block)


@pytest.mark.parametrize("size", [100, 300_000])
@pytest.mark.parametrize("wrap", [bytes, Stream])
def test_a_body_wrongly_called_chunked_is_digested_as_it_is(size: int, wrap: Any) -> None:
    """Crawlers undo the coding and keep the head."""
    body = text(size)
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    header = header_of("response", block=wrap(block), content_type=RESPONSE)
    assert header["WARC-Payload-Digest"] == sha1(body)
    assert header["WARC-Block-Digest"] == sha1(block)


@pytest.mark.parametrize("size", [100, 300_000])
def test_without_an_algorithm_no_digest_is_added(size: int) -> None:
    block = HTTP_HEAD + text(size)
    header = header_of("response", block=block, content_type=RESPONSE, options={"digest": None})
    assert "Digest" not in header.raw.decode()


def test_the_returned_header_is_the_one_in_the_file() -> None:
    data, places = written(
        {"block": b"small"},
        {"block": text(300_000)},
        {"block": Stream(text(300_000))},
        frame_size=FRAME,
    )
    with seekwarc.open(data) as archive:
        assert [record.header.raw for record in archive] == [place.header.raw for place in places]


# Sources.


@pytest.mark.parametrize("size", [0, 10, FRAME, FRAME + 1, 300_001])
@pytest.mark.parametrize("with_length", [True, False])
def test_a_block_may_be_anything_that_holds_bytes(size: int, with_length: bool, tmp_path: Path) -> None:
    block = text(size)
    path = tmp_path / "block"
    path.write_bytes(block)
    with path.open("rb") as file, path.open("rb", buffering=0) as raw:
        sources = [
            block,
            bytearray(block),
            memoryview(block),
            memoryview(b"x" + block + b"x")[1:-1],
            io.BytesIO(block),
            file,
            raw,
            Stream(block),
            Stream(block, most=1000),
        ]
        length = size if with_length else None
        data, places = written(*({"block": source, "length": length} for source in sources), frame_size=FRAME)
    assert blocks_of(data) == [block] * len(sources)
    assert {place.header["Content-Length"] for place in places} == {str(size)}


def test_an_operating_system_pipe_is_a_source() -> None:
    block = text(500_000)
    read_end, write_end = os.pipe()

    def feed() -> None:
        with os.fdopen(write_end, "wb") as file:
            file.write(block)

    feeder = threading.Thread(target=feed)
    feeder.start()
    with os.fdopen(read_end, "rb") as file:
        data, _ = written({"block": file}, frame_size=FRAME)
    feeder.join()
    assert blocks_of(data) == [block]


@pytest.mark.parametrize("size", [10, 300_000])
def test_length_takes_that_much_of_a_stream(size: int) -> None:
    for digest in ("sha1", None):
        stream = io.BytesIO(text(size) + b"next")
        data, _ = written({"block": stream, "length": size}, frame_size=FRAME, digest=digest)
        assert blocks_of(data) == [text(size)]
        assert stream.read() == b"next"


def test_a_stream_is_read_from_its_position() -> None:
    stream = io.BytesIO(b"before" + text(300_000))
    stream.seek(6)
    data, _ = written({"block": stream}, frame_size=FRAME)
    assert blocks_of(data) == [text(300_000)]


def test_a_memory_view_is_counted_in_bytes() -> None:
    numbers = array("I", range(1000))
    data, _ = written({"block": memoryview(numbers)})
    assert blocks_of(data) == [numbers.tobytes()]


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        header_of("resource", block=io.BytesIO(b"hello"), length=-1)


def test_raw_records_are_written_byte_for_byte() -> None:
    header = b"WARC/1.0\nWARC-Type:warcinfo\nX:\ty\r\ncontent-length:   7\r\n\r\n"
    data, _ = written((header, b"a\r\n\r\nbc"), tables="none")
    assert [frame.content for frame in walk(data)] == [header + b"a\r\n\r\nbc\r\n\r\n"]


def test_a_raw_header_that_does_not_parse_is_refused() -> None:
    with seekwarc.Writer(io.BytesIO()) as writer:
        writer.write("resource", target_uri=URI)
        for header in (
            b"",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"WARC/1.1\r\n\r\n",
            b"WARC/1.1\r\nContent-Length: x\r\n\r\n",
        ):
            with pytest.raises(seekwarc.FormatError):
                writer.write_raw(header, b"")


@pytest.mark.parametrize("size", [MIB, 9 * MIB])
def test_a_raw_header_too_long_for_readers_is_refused(size: int) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        with pytest.raises(seekwarc.FormatError):
            writer.write_raw(header_for(5, ("X", "y" * size)), b"small")
        writer.write("resource", target_uri=URI, block=b"good")
    assert blocks_of(target.getvalue()) == [b"good"]


def test_a_warcinfo_record_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path) as writer:
        one = writer.write_warcinfo({"software": "seekwarc", "format": "WARC File Format 1.1"})
        two = writer.write_warcinfo([("a", "1"), ("a", "2")], filename="other.warc.zst")
        three = writer.write_warcinfo({}, headers={"warc-filename": "third"})
    assert one.header["WARC-Filename"] == "crawl.warc.zst"
    assert two.header["WARC-Filename"] == "other.warc.zst"
    assert three.header.get_all("WARC-Filename") == ("third",)
    assert one.header["Content-Type"] == "application/warc-fields"
    with seekwarc.open(path) as archive:
        blocks = [record.block.read() for record in archive]
    assert blocks[0] == b"software: seekwarc\r\nformat: WARC File Format 1.1\r\n"
    assert blocks[1] == b"a: 1\r\na: 2\r\n"


def test_a_warcinfo_record_in_a_file_object_names_no_file() -> None:
    with seekwarc.Writer(io.BytesIO()) as writer:
        assert "WARC-Filename" not in writer.write_warcinfo({"software": "x"}).header


# The spool.


class SpoolWatch:
    """Counts what goes through temporary files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.written = 0
        self.opened = 0
        watch = self
        original = tempfile.SpooledTemporaryFile

        class Watched(original):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **options: Any) -> None:
                watch.opened += 1
                super().__init__(*args, **options)

            def write(self, data: Any) -> int:
                watch.written += len(data)
                return super().write(data)

        monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Watched)


def test_only_compressed_frames_are_spooled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watch = SpoolWatch(monkeypatch)
    stream = Repeated(text(MIB), 64 * MIB)
    with seekwarc.Writer(tmp_path / "a.warc.zst", level=1) as writer:
        place = writer.write("resource", target_uri=URI, block=stream)
    assert watch.opened == 1
    assert 0 < watch.written <= place.length
    print(f"64 MiB through a stream: {watch.written} bytes spooled, record of {place.length}")


def test_the_spool_is_in_the_folder_of_the_target(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = []
    original = tempfile.SpooledTemporaryFile

    def watched(*args: Any, dir: str | None = None, **options: Any) -> Any:  # noqa: A002
        folders.append(dir)
        return original(*args, dir=dir, **options)

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", watched)
    with seekwarc.Writer(tmp_path / "a.warc.zst") as writer:
        writer.write("resource", target_uri=URI, block=Stream(noise(20 * MIB), most=MIB))
    assert folders == [str(tmp_path)]
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_known_length_without_digest_needs_no_spool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = SpoolWatch(monkeypatch)
    block = text(300_000)
    written(
        (header_for(len(block)), block),
        {"block": Stream(block), "length": len(block)},
        frame_size=FRAME,
        digest=None,
    )
    assert watch.opened == 0


# Options.


@pytest.mark.parametrize("level", [-7, -1, 0, 1, 3, 9, 19, 22])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_levels_from_minus_7_to_22_work(level: int, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    blocks = [b"small", text(200_000), noise(150_000)]
    data, _ = written(
        *({"block": block} for block in blocks), level=level, frame_size=FRAME, dictionary=dictionary
    )
    assert blocks_of(data) == blocks


@pytest.mark.parametrize("frame_size", [64 * KIB, 64 * KIB + 1, 100_000, MIB, 8 * MIB - 1, 8 * MIB])
def test_frame_sizes_from_64_kib_to_8_mib_work(frame_size: int) -> None:
    block = text(2 * frame_size + 1)
    data, _ = written({"block": block}, frame_size=frame_size, level=1)
    assert blocks_of(data) == [block]


@pytest.mark.parametrize(
    "options",
    [
        {"level": -8},
        {"level": 23},
        {"frame_size": 64 * KIB - 1},
        {"frame_size": 8 * MIB + 1},
        {"frame_size": 0},
        {"threads": 0},
        {"threads": -1},
        {"threads": 100_000},
        {"tables": "all"},
        {"tables": ""},
        {"digest": "md5"},
        {"digest": ""},
        {"dictionary": b"not a dictionary"},
        {"dictionary": b""},
    ],
)
def test_options_out_of_range_are_refused_without_a_file(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        seekwarc.Writer(tmp_path / "a.warc.zst", **options)
    assert os.listdir(tmp_path) == []


def test_a_dictionary_may_be_given_as_bytes() -> None:
    dictionary = small_dictionary()
    one, two = (written({"block": b"x"}, dictionary=each)[0] for each in (dictionary, dictionary.data))
    assert one == two


# Ending.


def test_a_writer_that_got_nothing_warns_and_makes_no_file() -> None:
    target = io.BytesIO()
    with pytest.warns(UserWarning, match="no record was written"), seekwarc.Writer(target) as writer:
        pass
    writer.close()
    assert target.getvalue() == b""


def test_a_file_without_a_record_is_refused_with_discard() -> None:
    writer = seekwarc.Writer(io.BytesIO(), on_error="discard")
    with pytest.raises(seekwarc.FormatError, match="no record"):
        writer.close()


def test_a_closed_writer_takes_no_records() -> None:
    target = io.BytesIO()
    writer = seekwarc.Writer(target)
    writer.write("resource", target_uri=URI)
    writer.close()
    size = len(target.getvalue())
    for attempt in (
        lambda: writer.write("resource", target_uri=URI),
        lambda: writer.write_raw(header_for(0), b""),
        lambda: writer.write_warcinfo({}),
    ):
        with pytest.raises(ValueError, match="closed"):
            attempt()
    writer.close()
    writer.abort()
    assert len(target.getvalue()) == size


def test_an_aborted_writer_writes_nothing_more() -> None:
    for threads in (1, 2):
        target = io.BytesIO()
        writer = seekwarc.Writer(target, threads=threads)
        place = writer.write("resource", target_uri=URI, block=b"hello")
        writer.abort()
        writer.abort()
        writer.close()
        with pytest.raises((seekwarc.SeekWarcError, ValueError)):
            writer.flush()
        with pytest.raises(seekwarc.SeekWarcError):
            _ = place.length
        assert target.getvalue() == b""


def test_flushed_records_can_be_read_during_writing() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        for number in range(3):
            writer.write("resource", target_uri=URI, block=text(FRAME * number, number))
            writer.flush()
            with seekwarc.open(target.getvalue()) as archive:
                assert len(list(archive)) == number + 1


def test_the_writer_names_its_target(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as writer:
        writer.write("resource", target_uri=URI, date=DATE)
        assert writer.name == str(tmp_path / "a.warc.zst")
        assert str(tmp_path / "a.warc.zst") in repr(writer)


def test_open_refuses_unknown_modes() -> None:
    with pytest.raises(ValueError, match="mode"):
        seekwarc.open(io.BytesIO(), "x")  # type: ignore[call-overload]
