"""warcio reads what seekwarc writes, and seekwarc what warcio writes.

warcio has no .zst of its own, but reads our files through a stream of `zstandard`. What it cannot do then:
find offsets (it sees decompressed bytes only), or load the dictionary by itself.
"""

from __future__ import annotations

import gc
import gzip
import io
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import zstandard

import seekwarc
from seekwarc import Collection, Duplicates, ResolvedRevisit
from seekwarc.make.converting import convert
from tests.conftest import ODD_SAMPLES
from tests.support.foreign import CRLF2, gzip_member, warc_header
from tests.support.sources import RecordingSource
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    RESPONSE,
    URI,
    chunked,
    noise,
    record_id,
    small_dictionary,
    text,
    written,
)

pytestmark = pytest.mark.needs("module:warcio")

FRAME = 64 * KIB
BLOCKS = [text(300_000), b"small", b"", noise(500_000), text(FRAME), b"last"]
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


def decompressed(data: bytes, dictionary: bytes | None = None) -> Any:
    codec = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    return zstandard.ZstdDecompressor(dict_data=codec).stream_reader(
        io.BytesIO(data), read_across_frames=True
    )


def read(data: bytes, dictionary: bytes | None = None) -> list[Any]:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    found = []
    for record in ArchiveIterator(decompressed(data, dictionary), check_digests="raise"):
        found.append((record.rec_headers, record.http_headers, record.raw_stream.read()))
    return found


# What seekwarc writes.


@pytest.mark.parametrize("tables", ["large", "every", "none"])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_all_records_are_read_and_their_digests_are_right(tables: str, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    records = [{"block": block, "target_uri": "urn:x:1", "content_type": "text/plain"} for block in BLOCKS]
    block = HTTP_HEAD + text(300_000)
    uri = "https://example.org/"
    records.append({"type": "response", "block": block, "content_type": RESPONSE, "target_uri": uri})
    data, places = written(*records, tables=tables, frame_size=FRAME, dictionary=dictionary)
    found = read(data, dictionary.data if dictionary else None)
    assert [body for *_, body in found] == [*BLOCKS, text(300_000)]
    for (headers, _, _), place in zip(found, places, strict=True):
        assert headers.headers == list(place.header.items())
    http = found[-1][1]
    assert http.get_statuscode() == "200"
    assert http.get_header("X-Test") == "yes"


def test_both_digests_of_a_chunked_body_are_accepted() -> None:
    """The standard takes the payload without chunk sizes, warcio with them; the block is beyond doubt."""
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    body = text(50_000)
    data, _ = written({"type": "response", "block": CHUNKED_HEAD + chunked(body), "content_type": RESPONSE})
    record = next(ArchiveIterator(decompressed(data), check_digests=True))
    assert record.raw_stream.read() == chunked(body)
    assert record.digest_checker.passed is False
    (problem,) = record.digest_checker.problems
    assert problem.startswith("payload digest failed")
    record = next(ArchiveIterator(decompressed(data)))
    with seekwarc.open(data) as archive:
        ours = next(iter(archive))
        assert record.content_stream().read() == ours.payload.read() == body
        assert {it.verdict for it in ours.check_digests()} == {"valid"}


@pytest.mark.parametrize("size", [3000, 300_000])
def test_revisits_are_read_as_such(size: int) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=Duplicates(), frame_size=FRAME) as writer:
        first = writer.write_response(URI, HTTP_HEAD + text(size), date=DATE)
        writer.write_response(URI + "again", HTTP_HEAD + text(size))
    (_, _, body), (headers, http, nothing) = read(target.getvalue())
    assert body == text(size)
    assert nothing == b""
    assert headers.get_header("WARC-Type") == "revisit"
    assert headers.get_header("WARC-Refers-To") == f"<{first.id}>"
    assert headers.get_header("WARC-Refers-To-Target-URI") == URI
    assert headers.get_header("WARC-Refers-To-Date") == DATE
    assert http.get_header("X-Test") == "yes"


def test_segments_are_read_one_by_one_and_their_digests_are_right(tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(1 << 20)
    with seekwarc.Writer(tmp_path / "a.warc.zst", frame_size=FRAME, max_file_size=512 * KIB) as writer:
        writer.write_response(URI, block)
    bodies = []
    for number, path in enumerate(sorted(tmp_path.iterdir())):
        (info, _, _), (headers, http, body) = read(path.read_bytes())
        assert info.get_header("WARC-Type") == "warcinfo"
        assert headers.get_header("WARC-Type") == ("continuation" if number else "response")
        assert headers.get_header("WARC-Segment-Number") == str(number + 1)
        assert (http is not None) == (number == 0)
        bodies.append(body)
    assert len(bodies) == 3
    assert HTTP_HEAD + b"".join(bodies) == block
    assert headers.get_header("WARC-Segment-Total-Length") == str(len(block))


@pytest.mark.parametrize("form", ["gz", "none"])
def test_records_are_found_at_the_same_offsets(form: str) -> None:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    records = [{"block": block, "target_uri": "urn:x:1"} for block in BLOCKS]
    target = io.BytesIO()
    convert(io.BytesIO(written(*records, frame_size=FRAME)[0]), target, form)
    iterator = ArchiveIterator(io.BytesIO(target.getvalue()), check_digests="raise")
    theirs = []
    for record, block in zip(iterator, BLOCKS, strict=True):
        assert record.raw_stream.read() == block
        theirs.append((iterator.get_record_offset(), iterator.get_record_length()))
    # In an uncompressed file, warcio does not count the line breaks after a record.
    uncounted = len(CRLF2) if form == "none" else 0
    with seekwarc.open(target.getvalue()) as archive:
        assert [(it.offset, it.length - uncounted) for it in archive] == theirs


# What warcio writes.


@cache
def crawl(version: str, *, packed: bool) -> bytes:
    """Write a record of each kind that warcio knows how to make."""
    with warnings.catch_warnings():
        # It leaves temporary files to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        made = write_crawl(version, packed=packed)
        gc.collect()
    return made


def write_crawl(version: str, *, packed: bool) -> bytes:
    from warcio.statusandheaders import StatusAndHeaders  # noqa: PLC0415
    from warcio.warcwriter import WARCWriter  # noqa: PLC0415

    target = io.BytesIO()
    writer = WARCWriter(target, gzip=packed, warc_version=version)

    def head(*fields: tuple[str, str]) -> Any:
        return StatusAndHeaders("200 OK", [("Content-Type", "text/plain"), *fields], protocol="HTTP/1.1")

    def write(kind: str, number: int, body: bytes, http: Any = None, **more: str) -> None:
        record = writer.create_warc_record(
            f"{URI}{number}",
            kind,
            payload=io.BytesIO(body),
            http_headers=http,
            warc_headers_dict={
                "WARC-Record-ID": f"<{record_id(number)}>",
                "WARC-Date": DATE,
                **more,
            },
        )
        writer.write_record(record)

    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "warcio"}))
    write("response", 1, text(50_000), head(("X-Number", "1")))
    write("response", 2, gzip.compress(text(50_000), mtime=0), head(("Content-Encoding", "gzip")))
    write("response", 3, chunked(text(50_000)), head(("Transfer-Encoding", "chunked")))
    request = StatusAndHeaders("GET /1 HTTP/1.1", [("Host", "example.org")], is_http_request=True)
    write("request", 4, b"", request, **{"WARC-Concurrent-To": f"<{record_id(1)}>"})
    write("resource", 5, noise(100_000))
    write("metadata", 6, b"a: 1\r\n", **{"WARC-Refers-To": f"<{record_id(1)}>"})
    for number, body in ((1, text(50_000)), (3, chunked(text(50_000)))):
        digest = digest_by_warcio(body)
        revisit = writer.create_revisit_record(
            f"{URI}again{number}", digest, f"{URI}{number}", DATE, http_headers=head(("X-Again", "yes"))
        )
        writer.write_record(revisit)
    return target.getvalue()


def digest_by_warcio(body: bytes) -> str:
    from warcio.utils import Digester  # noqa: PLC0415

    digester = Digester("sha1")
    digester.update(body)
    return str(digester)


@pytest.fixture(params=[("1.0", True), ("1.1", True), ("1.0", False), ("1.1", False)], ids=str)
def by_warcio(request: pytest.FixtureRequest) -> RecordingSource:
    version, packed = request.param
    return RecordingSource(crawl(version, packed=packed), "a.warc.gz" if packed else "a.warc")


def test_what_warcio_writes_is_read(by_warcio: RecordingSource) -> None:
    with seekwarc.open(by_warcio) as archive:
        info, *records = archive
        assert info.warc_fields == (("software", "warcio"),)
        assert [it.type for it in records[:6]] == ["response"] * 3 + ["request", "resource", "metadata"]
        for number, record in enumerate(records[:6], 1):
            assert record.id == record_id(number)
            assert record.target_uri == f"{URI}{number}"
            assert record.date.text == DATE
        for record in records[:3]:
            with record.payload.open(decoded=True) as file:
                assert file.read() == text(50_000)
            assert record.http.status == 200
        assert records[0].http.get("X-Number") == "1"
        assert (records[3].http.method, records[3].http.target) == ("GET", "/1")
        assert records[4].payload.read() == noise(100_000)


def test_the_digests_that_warcio_writes_are_right(by_warcio: RecordingSource) -> None:
    with seekwarc.open(by_warcio) as archive:
        found = [{it.field: str(it.verdict) for it in record.check_digests()} for record in archive]
    blocks = [it.get("WARC-Block-Digest") for it in found]
    assert blocks[1:7] == ["valid"] * 6
    payloads = [it.get("WARC-Payload-Digest") for it in found[1:]]
    assert payloads[:3] == ["valid", "valid", "transferred"]
    assert payloads[6:] == ["elsewhere", "elsewhere"]


def test_the_relations_that_warcio_writes_are_followed(by_warcio: RecordingSource) -> None:
    with Collection([by_warcio]) as collection:
        one = collection.open_record(record_id(1))
        assert [it.id for it in one.concurrent] == [record_id(4)]
        assert [it.id for it in one.referring_to] == [record_id(6)]


def test_the_revisits_that_warcio_writes_resolve(by_warcio: RecordingSource) -> None:
    with Collection([by_warcio]) as collection:
        for number in (1, 3):
            record = collection.open_record(uri=f"{URI}again{number}")
            assert isinstance(record, ResolvedRevisit)
            assert record.original.id == record_id(number)
            assert record.http.get("X-Again") == "yes"
            assert record.payload.read() == text(50_000)
            assert record.truncated is None, "warcio leaves out the field that the standard asks for"


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (1, "valid"),
        (3, "transferred"),
    ],
)
def test_the_digest_of_a_revisit_agrees_with_its_original(
    number: int, verdict: str, by_warcio: RecordingSource
) -> None:
    with Collection([by_warcio]) as collection:
        for record in (f"{URI}{number}", f"{URI}again{number}"):
            found = {it.field: it.verdict for it in collection.open_record(uri=record).check_digests()}
            assert found["WARC-Payload-Digest"] == verdict


@pytest.mark.parametrize("missing", [1, 10])
@pytest.mark.parametrize("make", [bytes, gzip_member])
def test_a_content_length_that_is_too_small_is_read_by_both(
    missing: int, make: Callable[[bytes], bytes]
) -> None:
    """It reads on after the next line break."""
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    block = b"no line breaks here " * 20
    records = [warc_header(len(block) - cut, cut) + block + CRLF2 for cut in (0, missing, 0)]
    data = b"".join(map(make, records))
    theirs = [record.content_stream().read() for record in ArchiveIterator(io.BytesIO(data))]
    with seekwarc.open(data) as archive:
        with pytest.warns(seekwarc.FormatWarning, match="too small"):
            ours = [record.block.read() for record in archive]
        assert ours == theirs == [block, block[:-missing], block]


def test_a_content_length_that_is_too_large_ends_with_the_member() -> None:
    """To warcio the line breaks after the block are part of it then."""
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    block = text(300)
    records = [warc_header(len(block) + more, more) + block + CRLF2 for more in (0, 20, 0)]
    data = b"".join(map(gzip_member, records))
    theirs = [record.content_stream().read() for record in ArchiveIterator(io.BytesIO(data))]
    with seekwarc.open(data) as archive:
        with pytest.warns(seekwarc.FormatWarning, match="too large"):
            ours = [record.block.read() for record in archive]
        assert ours == [block] * 3
    assert theirs == [block, block + CRLF2, block]


@pytest.mark.needs("odd samples")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("jwat-valid-upper-lower-case.warc", set()),
        ("pywb-missing-status-text.warc", {"the lines of the header end with CR CR LF"}),
        ("webarchive-discovery-blackbook-truncated.warc.gz", set()),
    ],
)
def test_odd_samples_have_the_records_that_warcio_reads(name: str, told: set[str]) -> None:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    with (ODD_SAMPLES / name).open("rb") as file:
        theirs = [it.raw_stream.read() for it in ArchiveIterator(file, no_record_parse=True)]
    with warnings.catch_warnings(record=True) as caught, seekwarc.open(ODD_SAMPLES / name) as archive:
        warnings.simplefilter("always")
        assert [it.block.read() for it in archive] == theirs
    assert {str(it.message).partition(": ")[2] for it in caught} == told
