"""Range answers for any framework."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

import seekwarc
from seekwarc.errors import SeekWarcError, TruncatedError
from seekwarc.serve import answer
from tests.serve.conftest import FILM, LOG, PAGE


@pytest.fixture
def archive(crawl):
    with seekwarc.open(crawl.paths[0]) as made:
        yield made


@pytest.fixture
def film(archive, crawl):
    return archive.record_at(crawl.offsets["film.mp4"])


def test_a_whole_film(film) -> None:
    status, fields, body = answer(film, {})
    assert (status, b"".join(body)) == (200, FILM)
    assert fields["content-length"] == str(len(FILM))
    assert fields["content-type"] == "video/mp4"
    assert fields["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["Range", "range", "RANGE"])
def test_the_case_of_field_names_does_not_matter(film, name: str) -> None:
    status, fields, body = answer(film, {name: "bytes=1000000-1000099"})
    assert (status, b"".join(body)) == (206, FILM[1_000_000:1_000_100])
    assert fields["content-range"] == f"bytes 1000000-1000099/{len(FILM)}"


def test_a_range_named_twice_is_ignored(film) -> None:
    class Twice(Mapping[str, str]):
        """As frameworks keep fields that came several times."""

        def __getitem__(self, name: str) -> str:
            return "bytes=0-1"

        def __iter__(self) -> Iterator[str]:
            return iter(("Range", "Range"))

        def __len__(self) -> int:
            return 2

    assert answer(film, Twice())[0] == 200


def test_conditions_and_head(film) -> None:
    tag = answer(film, {})[1]["etag"]
    status, fields, body = answer(film, {"If-None-Match": tag})
    assert (status, list(body)) == (304, [])
    assert "content-length" not in fields
    status, fields, body = answer(film, {}, method="HEAD")
    assert (status, list(body), fields["content-length"]) == (200, [], str(len(FILM)))
    assert answer(film, {"Range": f"bytes={len(FILM)}-"})[0] == 416
    assert answer(film, {}, method="POST")[0] == 405


def test_the_block_is_a_part_too(film) -> None:
    assert next(answer(film, {"Range": "bytes=0-7"}, part="block")[2]) == b"HTTP/1.1"


def test_chunked_bodies_come_without_chunks(archive, crawl) -> None:
    record = archive.record_at(crawl.offsets["chunked.log"])
    status, _, body = answer(record, {"Range": "bytes=1000000-1000099"})
    assert (status, b"".join(body)) == (206, LOG[1_000_000:1_000_100])
    assert b"".join(answer(record, {})[2]) == LOG


def test_pages_are_downloads(archive, crawl) -> None:
    _, fields, body = answer(archive.record_at(crawl.offsets["page.html"]), {})
    assert b"".join(body) == PAGE
    headers = fields
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert "set-cookie" not in headers


def test_only_requested_bytes_are_read(film, archive) -> None:
    answer(film, {})[0]
    before = archive.stats.bytes_decoded
    _, _, body = answer(film, {"Range": "bytes=2000000-"})
    next(body)
    body.close()
    assert archive.stats.bytes_decoded - before < 600_000


def test_an_unresolved_revisit_is_404_with_a_reason(crawl) -> None:
    for path in crawl.paths:
        with seekwarc.open(path) as archive:
            for record in archive:
                if record.type == "revisit":
                    status, fields, body = answer(record, {"Range": "bytes=0-99"})
                    message = json.loads(b"".join(body))["error"]["message"]
                    assert (status, fields["content-type"]) == (404, "application/json")
                    assert "Collection.open_record" in message
                    return
    pytest.fail("there is no revisit")


def test_a_resolved_revisit_has_the_payload(crawl) -> None:
    with seekwarc.Collection(crawl.paths) as crawled:
        record = crawled.open_record(uri="http://example.org/daily", date="2026-11-17")
        assert record.type == "revisit"
        assert b"".join(answer(record, {})[2]) == PAGE


def test_damage_is_502_at_the_start_and_an_error_later(crawl) -> None:
    data = bytearray(crawl.paths[0].read_bytes())
    with seekwarc.open(bytes(data)) as archive:
        plan = archive.record_at(crawl.offsets["film.mp4"]).payload.plan(1_000_000, 1_000_001)
    data[plan.ranges[0][0] + 1000] ^= 0xFF
    with seekwarc.open(bytes(data)) as archive:
        film = archive.record_at(crawl.offsets["film.mp4"])
        status, fields, body = answer(film, {"Range": "bytes=1000000-1000010"})
        assert status == 502
        assert b"frame" in b"".join(body)
        assert fields["content-security-policy"] == "default-src 'none'; sandbox"
        status, _, body = answer(film, {})
        assert status == 200
        with pytest.raises(SeekWarcError):
            list(body)


def test_a_record_that_ends_early_is_an_error(monkeypatch, film) -> None:
    from seekwarc.read.extent import Extent  # noqa: PLC0415

    pread = Extent.pread
    monkeypatch.setattr(
        Extent, "pread", lambda self, start, length: pread(self, start, max(min(length, 700_000 - start), 0))
    )
    with pytest.raises(TruncatedError, match="700000"):
        list(answer(film, {})[2])
