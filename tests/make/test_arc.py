"""ARC files become WARC files, are checked, and are not taken for files whose records can be copied."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, TruncatedError, UnsupportedError
from seekwarc.make.converting import holds_same
from seekwarc.read.body import TableStatus
from tests.conftest import ODD_SAMPLES
from tests.support.arc import ARC, ARC_GZ, VERSION_1, arc_record, first_record

PAGES = [b"<p>Hi\r\n", b"<p>You\r\n"]
DNS = arc_record(b"dns:example.org", b"192.0.2.1\n", b"192.0.2.7", b"20010101000000", b"text/dns")
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"


def content(path: Path) -> bytes:
    tools.convert(path, path.with_suffix(".plain"), "none")
    return path.with_suffix(".plain").read_bytes()


@pytest.mark.parametrize("compression", ["zst", "gz", "none"])
@pytest.mark.parametrize("data", [ARC, ARC_GZ, gzip.compress(ARC)], ids=["plain", "members", "one member"])
def test_records_get_headers_of_warc(data: bytes, compression: Any, tmp_path: Path) -> None:
    done = tools.convert(io.BytesIO(data), tmp_path / "new", compression)
    assert (done.records, done.verified) == (3, True)
    with seekwarc.open(tmp_path / "new", strict=True) as archive:
        info, *responses = archive
        assert (info.type, info.filename, info.block.read()) == ("warcinfo", "old.arc", VERSION_1)
        assert [it.payload.read() for it in responses] == PAGES
        assert [it.target_uri for it in responses] == ["http://example.org/", "http://example.org/a"]
        assert [str(it.date) for it in responses] == ["2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z"]
        assert [str(it.ip_address) for it in responses] == ["192.0.2.1"] * 2
    result = tools.verify(tmp_path / "new")
    assert (result.is_sound, result.deviations, result.digests) == (True, 0, 5)


def test_every_form_of_a_file_becomes_the_same_records(tmp_path: Path) -> None:
    for name, data in {"a.arc": ARC, "b.arc.gz": ARC_GZ, "c.arc.gz": gzip.compress(ARC)}.items():
        (tmp_path / name).write_bytes(data)
        tools.convert(tmp_path / name, tmp_path / f"{name}.warc.zst")
    made = {content(path) for path in tmp_path.glob("*.warc.zst")}
    assert len(made) == 1
    with seekwarc.open(made.pop()) as archive:
        assert len({it.id for it in archive}) == 3
    assert holds_same(str(tmp_path / "a.arc"), str(tmp_path / "b.arc.gz.warc.zst"))
    (tmp_path / "a.arc").write_bytes(ARC.replace(b"You", b"Yes"))
    assert not holds_same(str(tmp_path / "a.arc"), str(tmp_path / "b.arc.gz.warc.zst"))


def test_what_is_not_http_is_a_resource_and_chunks_are_undone(tmp_path: Path) -> None:
    data = first_record() + DNS + arc_record(b"http://example.org/", CHUNKED)
    tools.convert(data, tmp_path / "new.warc")
    with seekwarc.open(tmp_path / "new.warc", strict=True) as archive:
        _, dns, page = archive
        assert (dns.type, dns.content_type, dns.payload.read()) == ("resource", "text/dns", b"192.0.2.1\n")
        assert (page.payload.read(), page.block.read()) == (b"abc", CHUNKED)
    assert tools.verify(tmp_path / "new.warc").deviations == 0


@pytest.mark.needs("module:warcio", "odd samples")
@pytest.mark.parametrize("name", ["example.arc", "example.arc.gz"])
def test_a_converted_file_has_the_records_that_warcio_makes(name: str, tmp_path: Path) -> None:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    source = ODD_SAMPLES.parent / "warcio-test-data" / name
    tools.convert(source, tmp_path / "new.warc")
    fields = ("WARC-Type", "WARC-Target-URI", "WARC-IP-Address", "WARC-Date", "Content-Type")
    with source.open("rb") as old, (tmp_path / "new.warc").open("rb") as new:
        for theirs, ours in zip(ArchiveIterator(old, arc2warc=True), ArchiveIterator(new), strict=True):
            block = ours.raw_stream.read()
            if ours.rec_type == "warcinfo":
                assert block.startswith(b"1 0 LiveWeb Capture\nURL IP-address")
                continue
            assert block == theirs.raw_stream.read()
            assert ours.http_headers.headers == theirs.http_headers.headers
            for field in fields:
                assert ours.rec_headers.get_header(field) == theirs.rec_headers.get_header(field)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (ARC[:-10], TruncatedError, "the file ends inside this record"),
        (ARC.replace(b"html 27", b"html -1"), FormatError, "Archive-length '-1' is not a length"),
        (ARC.replace(b"html 26", b"html 20"), FormatError, "no ARC record starts here"),
        (ARC + b"what is this\n", FormatError, "no ARC record starts here"),
    ],
)
def test_damage_is_not_converted(data: bytes, error: type[FormatError], message: str, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(data)
    with pytest.raises(error, match=message):
        tools.convert(tmp_path / "old.arc", tmp_path / "new.warc.zst")
    assert [it.name for it in tmp_path.iterdir()] == ["old.arc"]
    result = tools.verify(tmp_path / "old.arc")
    assert not result.is_sound
    saved = tools.recover(tmp_path / "old.arc", tmp_path / "saved.warc.zst", partial=True)
    assert saved.losses
    assert tools.verify(tmp_path / "saved.warc.zst").is_sound
    with seekwarc.open(tmp_path / "saved.warc.zst", strict=True) as archive:
        assert PAGES[0] in [it.payload.read() for it in archive] or b"html 20" in data


def test_a_sidecar_leads_into_a_large_record(tmp_path: Path) -> None:
    body = b"".join(b"%d lines of text\n" % it for it in range(150_000))
    record = arc_record(b"http://example.org/", b"HTTP/1.0 200 OK\r\n\r\n" + body)
    parts = [first_record(), record, DNS]
    path = tmp_path / "old.arc.gz"
    path.write_bytes(b"".join(gzip.compress(it, 6, mtime=0) for it in parts))
    assert tools.sidecar(path, min_size=1 << 20, spacing=1 << 18).records == 1
    with seekwarc.open(path, cache_size=0) as archive:
        _, found, _ = archive
        again = archive.record_at(found.offset, found.length)
        assert again.seek_table_status is TableStatus.SIDECAR
        assert again.payload.pread(2_000_000, 30) == body[2_000_000:2_000_030]
        assert again.payload.pread(len(body) - 5, 5) == body[-5:]


def test_sound_files_are_sound(tmp_path: Path) -> None:
    for data in (ARC, ARC_GZ, first_record() + DNS):
        result = tools.verify(data)
        assert (result.damages, result.deviations) == (0, 0)
    damaged = bytearray(ARC_GZ)
    damaged[-6] ^= 1
    assert tools.verify(bytes(damaged)).damages == 1


def test_records_of_arc_files_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "old.arc.gz").write_bytes(ARC_GZ)
    (tmp_path / "old.warc").write_bytes(ARC)
    with pytest.raises(UnsupportedError, match="`seekwarc convert` makes a WARC file of it"):
        tools.concat([tmp_path / "old.arc.gz"], tmp_path / "new.warc.zst")
    with pytest.raises(UnsupportedError, match="`seekwarc convert`"):
        tools.split(tmp_path / "old.arc.gz", tmp_path / "piece", max_records=1)
    with pytest.raises(UnsupportedError, match="an ARC file cannot be continued"):
        seekwarc.open(tmp_path / "old.warc", "a")
    assert (tmp_path / "old.warc").read_bytes() == ARC


def test_the_command_reads_and_converts_them(run_cli: Any, tmp_path: Path) -> None:
    for name, data in {"a.arc": ARC, "b.arc.gz": ARC_GZ}.items():
        (tmp_path / name).write_bytes(data)
    done = run_cli("convert", ".", "--to-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"2 skipped" in run_cli("convert", ".", "--to-dir", "new", cwd=tmp_path).stdout
    offset = str(len(gzip.compress(first_record(), mtime=0)))
    assert run_cli("cat", "b.arc.gz", offset, cwd=tmp_path).stdout == PAGES[0]
    for command in (["ls", "a.arc", "b.arc.gz"], ["verify", "."], ["info", "a.arc"], ["index", "."]):
        done = run_cli(*command, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_record_with_a_wrong_date_is_converted_even_if_it_is_empty(tmp_path: Path) -> None:
    odd = arc_record(b"http://example.org/odd", b"", b"192.0.2.1", b"20011302000000", b"text/html")
    (tmp_path / "a.arc").write_bytes(ARC + odd)
    tools.convert(tmp_path / "a.arc", tmp_path / "a.warc.gz")
    with seekwarc.open(tmp_path / "a.warc.gz") as archive:
        last = [*archive][-1]
    assert (last.target_uri, last.date, last.content_length) == ("http://example.org/odd", None, 0)
