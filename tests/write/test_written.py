"""What a writer returns for a record."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import seekwarc
from tests.support.series import labelled
from tests.support.writing import DATE, URI


def test_fields_are_known_at_once_and_the_offset_on_request() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        first = writer.write_resource(URI, b"first", "text/plain", date=DATE, record_id="urn:x:1")
        second = writer.write_resource(URI, b"second", "text/plain")
        assert (first.type, first.id, first.target_uri) == ("resource", "urn:x:1", URI)
        assert (str(first.date), first.content_length) == (DATE, 5)
        assert first.filename == writer.name
        assert first.offset == 0
        assert second.offset == first.length
    with seekwarc.open(target.getvalue()) as archive:
        found = [(record.id, record.offset, record.length) for record in archive]
    assert found == [(it.id, it.offset, it.length) for it in (first, second)]


def test_an_aborted_record_has_no_offset() -> None:
    writer = seekwarc.Writer(io.BytesIO())
    written = writer.write_resource(URI, b"never", "text/plain")
    writer.abort()
    with pytest.raises(seekwarc.SeekWarcError, match="was not written"):
        _ = written.offset


HTTP = b"HTTP/1.1 200 OK\r\n\r\nbody"
BARE = b"WARC/1.1\r\nContent-Length: 0\r\n\r\n"


def written_in_every_way() -> list[seekwarc.Written]:
    """Return a record of each type, a duplicate, one without digests, and a bare raw one."""
    with seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates()) as out:
        made = [
            out.write_warcinfo({"software": "test"}),
            out.write_response(URI, HTTP),
            out.write_response(URI, HTTP),
            out.write_request(URI, b"GET / HTTP/1.1\r\n\r\n"),
            out.write_resource(URI, b"", None),
            out.write_metadata({"via": URI}),
            out.write_revisit(URI, payload_digest=labelled("sha1", b"body")),
            out.write_conversion(URI, b"text", "text/plain"),
            out.write_continuation(URI, b"text", origin_id="urn:x:1", segment_number=2),
        ]
    with seekwarc.Writer(io.BytesIO(), digest=None) as out:
        return [*made, out.write_resource(URI, b"text", "text/plain"), out.write_raw(BARE, b"")]


def test_missing_fields_are_empty_text() -> None:
    names = [name for name, value in vars(seekwarc.Written).items() if isinstance(value, property)]
    assert {"id", "type", "date", "target_uri", "block_digest", "payload_digest", "offset"} <= set(names)
    *dated, bare = written_in_every_way()
    for written in dated:
        assert None not in [getattr(written, name) for name in names]
        assert isinstance(written.date, seekwarc.WarcDate)
    assert None not in [getattr(bare, name) for name in names if name != "date"]


def test_digests_are_those_in_the_header() -> None:
    _, first, again, request, *_, without, _ = written_in_every_way()
    assert (first.type, again.type) == ("response", "revisit")
    assert again.refers_to_id == first.id
    assert first.payload_digest == again.payload_digest == labelled("sha1", b"body")
    assert (first.block_digest, request.payload_digest) == (labelled("sha1", HTTP), "")
    assert (without.block_digest, without.payload_digest) == ("", "")


@pytest.mark.parametrize("stated", [b"", b"WARC-Date: yesterday\r\n"])
def test_the_date_of_a_raw_record_without_one_is_an_error(stated: bytes) -> None:
    with seekwarc.Writer(io.BytesIO()) as out:
        written = out.write_raw(BARE.replace(b"\r\n\r\n", b"\r\n" + stated + b"\r\n"), b"")
    assert (written.id, written.type, written.target_uri) == ("", "", "")
    with pytest.raises(seekwarc.FormatError, match=r"WARC-Date|yesterday"):
        _ = written.date


def test_repr_shows_type_file_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "new.warc.zst"
    with seekwarc.open(path, "w") as out:
        written = out.write_resource(URI, b"text", "text/plain")
        assert written.offset == 0
    assert repr(written) == f"<Written resource in {path} (at 0): {URI}>"
