"""One record as it is served."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import seekwarc
from seekwarc.errors import NotFoundError
from seekwarc.serve.cost import View
from seekwarc.serve.served import ServedRecord
from tests.serve.conftest import FILM, LOG
from tests.support.partial import URI, PartsWriter

PARTS = bytes(range(250)) * 4000


@pytest.fixture
def archive(crawl):
    with seekwarc.open(crawl.paths[0]) as made:
        yield made


def test_a_representation_has_size_tag_and_date(archive, crawl) -> None:
    served = ServedRecord(archive.record_at(crawl.offsets["film.mp4"]))
    payload = served.representation("payload")
    assert payload.extent.known_size == len(FILM)
    assert payload.modified == int(datetime(2026, 11, 16, 12, 0, 3, tzinfo=UTC).timestamp())
    assert payload.extent.pread(10, 5) == FILM[10:15]
    block = served.representation("block")
    assert block.extent.known_size == served.record.content_length
    assert block.etag != payload.etag
    assert dict(served.representation("payload", as_bytes=True).headers)["content-type"] != "video/mp4"


def test_ranges_of_a_chunked_body_are_without_chunks(archive, crawl) -> None:
    served = ServedRecord(archive.record_at(crawl.offsets["chunked.log"]))
    payload = served.representation("payload")
    assert payload.extent.known_size is None
    assert payload.extent.pread(4990, 30) == LOG[4990:5020]
    assert payload.extent.look_ahead(1 << 62, 60)
    assert payload.extent.known_size == len(LOG)


def test_reads_are_charged_to_the_view(archive, crawl) -> None:
    served = ServedRecord(archive.record_at(crawl.offsets["film.mp4"]), [archive.stats])
    view = View()
    served.representation("payload", view=view).extent.pread(0, 1000)
    assert view.bytes_asked == 1000


def test_a_failed_read_is_noted_in_the_view(tmp_path, crawl) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    with seekwarc.open(bytes(data)) as archive:
        plan = archive.record_at(crawl.offsets["film.mp4"]).payload.plan(1_000_000, 1_000_001)
    data[plan.ranges[0][0] + 1000] ^= 0xFF
    with seekwarc.open(bytes(data)) as archive:
        served = ServedRecord(archive.record_at(crawl.offsets["film.mp4"]))
        view = View()
        payload = served.representation("payload", view=view)
        payload.extent.pread(0, 10)
        assert view.problem is None
        with pytest.raises(seekwarc.ChecksumError):
            payload.extent.pread(1_000_000, 10)
        assert "frame" in view.problem


def test_an_unavailable_payload_leaves_the_block(archive, crawl) -> None:
    served = ServedRecord(archive.record_at(crawl.offsets["page.html"]), problem="segment 2 is missing")
    with pytest.raises(NotFoundError, match="segment 2 is missing"):
        served.representation("payload")
    assert served.representation("block").extent.pread(0, 4) == b"HTTP"


def test_a_revisit_by_itself_says_where_its_payload_is(crawl) -> None:
    for path in crawl.paths:
        with seekwarc.open(path) as archive:
            for record in archive:
                if record.type == "revisit":
                    served = ServedRecord(record)
                    with pytest.raises(NotFoundError, match=r"Collection\.open_record"):
                        served.representation("payload")
                    assert served.representation("block").extent.pread(0, 4) == b"HTTP"
                    return
    pytest.fail("there is no revisit")


@pytest.mark.parametrize("date", ["no date", "1960-01-01T00:00:00Z", "later"])
def test_an_impossible_date_is_not_sent(date) -> None:
    if date == "later":
        date = (datetime.now(UTC) + timedelta(days=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    raw = f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Date: {date}\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
    served = ServedRecord(next(iter(seekwarc.open(raw.encode()))))
    assert served.representation("payload").modified is None


@pytest.fixture
def parts() -> ServedRecord:
    out = PartsWriter(PARTS)
    out.part(600_000, 900_000)
    out.part(0, 500_000)
    crawl = seekwarc.Collection(out.done())
    return ServedRecord(crawl.open_record(uri=URI, joined=True))


def test_a_range_of_joined_parts_ends_where_a_hole_begins(parts) -> None:
    payload = parts.representation("payload")
    begun = payload.begin({"range": "bytes=0-"}, "GET")
    assert begun.status == 206
    assert dict(begun.fields)["content-range"] == "bytes 0-499999/1000000"
    assert begun.first + b"".join(begun.rest) == PARTS[:500_000]
    begun = payload.begin({"range": "bytes=899990-899999"}, "GET")
    assert begun.first == PARTS[899_990:900_000]
    for asked in ({}, {"range": "bytes=500000-"}, {"range": "bytes=-10"}):
        with pytest.raises(seekwarc.HoleError):
            payload.begin(asked, "GET")
    view = View()
    assert parts.representation("payload", view=view).begin({"range": "bytes=0-9"}, "GET").first == PARTS[:10]
    assert view.bytes_asked == 10


def test_the_block_of_a_part_is_its_own(parts) -> None:
    block = parts.representation("block")
    assert block.extent.known_size == parts.record.content_length
    assert block.etag != parts.representation("payload").etag
