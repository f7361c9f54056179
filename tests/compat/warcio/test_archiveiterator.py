"""`ArchiveIterator` reads what warcio's reads, knows places beforehand, and raises where warcio is silent."""

from __future__ import annotations

import gzip
import io
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator as TheirIterator
from warcio.exceptions import ArchiveLoadFailed

import seekwarc
from seekwarc import tools
from seekwarc.compat.warcio import ArchiveIterator, ARCIterator, WARCIterator
from tests.conftest import SAMPLES, VECTORS
from tests.support.arc import ARC, ARC_RECORDS
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import MIB, noise

PAGES = 20


@pytest.fixture(scope="module")
def stored() -> bytes:
    """Return an archive of small records, a large one, and small ones again."""
    file = io.BytesIO()
    with seekwarc.open(file, "w", frame_size=64 << 10) as out:
        for number in range(PAGES):
            body = noise(4 * MIB) if number == 10 else b"<p>%d" % number
            out.write_response(f"http://example.org/{number}", body, status=200)
    return file.getvalue()


# Against warcio.


class Read(NamedTuple):
    """All that programs ask of a record."""

    type: str
    protocol: str
    fields: list[tuple[str, str]]
    http: tuple[str, str, list[tuple[str, str]]] | None
    content_type: str
    length: int
    payload_length: int
    content: bytes
    passed: bool | None
    offset: int
    stored_length: int


def read(iterator: Any) -> tuple[list[Read], str]:
    """Return the records up to the end, or to the first error, and its kind."""
    found = []
    try:
        for record in iterator:
            head = record.http_headers
            http = (head.protocol, head.statusline, head.headers) if head is not None else None
            about = (record.rec_type, record.rec_headers.protocol, record.rec_headers.headers, http)
            sizes = (record.content_type, record.length, record.payload_length)
            content = record.content_stream().read()
            place = (iterator.get_record_offset(), iterator.get_record_length())
            found.append(Read(*about, *sizes, content, record.digest_checker.passed, *place))
    except ArchiveLoadFailed:
        return found, "ArchiveLoadFailed"
    return found, f"{iterator.err_count} errors"


class Difference(NamedTuple):
    """What differs from warcio in a file, and why."""

    fields: set[str]
    reason: str


DIFFERENT = {
    "warcio-example-bad-non-chunked.warc.gz": Difference(
        {"stored_length"}, "warcio counts a length below 0 where several records share a gzip member"
    ),
    "warcio-example-wrong-chunks.warc.gz": Difference(
        {"content", "passed", "stored_length"}, "warcio reads no record that is in several gzip members"
    ),
}
"""Files with which not all is as with warcio; of all others everything is."""
NAMES = sorted(path.name for path in SAMPLES.glob("*.warc*"))
OPTIONS = [{}, {"check_digests": True}, {"no_record_parse": True}, {"ensure_http_headers": True}]


@pytest.fixture
def _decodes_brotli(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let neither undo br: with brotli 1.2 warcio fails."""
    from warcio.bufferedreaders import BufferedReader  # noqa: PLC0415

    monkeypatch.delitem(BufferedReader.DECOMPRESSORS, "br", raising=False)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda it: next(iter(it), "default"))
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.usefixtures("_decodes_brotli")
def test_records_are_those_of_warcio(name: str, options: dict[str, bool]) -> None:
    with (SAMPLES / name).open("rb") as file:
        expected, their_end = read(TheirIterator(file, **options))
        file.seek(0)
        found, our_end = read(ArchiveIterator(file, **options))
    differing = {
        field
        for ours, theirs in zip(found, expected, strict=False)
        for field in Read._fields
        if getattr(ours, field) != getattr(theirs, field)
    }
    known = DIFFERENT.get(name, Difference(set(), ""))
    assert differing == known.fields - (set() if "check_digests" in options else {"passed"})
    assert our_end == their_end or known.fields


def test_all_differences_are_of_files_that_are_there() -> None:
    assert set(DIFFERENT) <= {path.name for path in VECTORS.glob("*.warc*")}


@pytest.mark.parametrize("name", [it for it in NAMES if it not in DIFFERENT and "trunc" not in it])
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.usefixtures("_decodes_brotli")
def test_converted_files_have_the_same_records(name: str, tmp_path: Path) -> None:
    tools.convert(str(SAMPLES / name), str(tmp_path / "a.warc.zst"))
    with (SAMPLES / name).open("rb") as file:
        expected, _ = read(TheirIterator(file))
    found, end = read(ArchiveIterator(tmp_path / "a.warc.zst"))
    assert [it[:-2] for it in found] == [it[:-2] for it in expected]
    assert end == "0 errors"
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [it[-2:] for it in found] == [(it.offset, it.length) for it in archive]


# What is read.


class OnlyRead:
    """A file object as some libraries have them: `read`, and nothing else."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


OPENERS: dict[str, Callable[[bytes, Path], Any]] = {
    "path": lambda _, path: path,
    "name": lambda _, path: str(path),
    "file": lambda _, path: path.open("rb"),
    "bytes": lambda data, _: data,
    "memory": lambda data, _: io.BytesIO(data),
    "source": lambda data, _: RecordingSource(data),
    "pipe": lambda data, _: Pipe(data),
    "only read": lambda data, _: OnlyRead(data),
    "gzip file": lambda data, _: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data))),
}


@pytest.mark.parametrize("opener", OPENERS)
def test_all_that_can_be_read_is_taken(opener: str, stored: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(stored)
    target = OPENERS[opener](stored, path)
    archive = ArchiveIterator(target)
    found = [(archive.get_record_offset(), record.rec_headers["WARC-Target-URI"]) for record in archive]
    with seekwarc.open(stored) as reader:
        assert found == [(record.offset, record.target_uri) for record in reader]
    archive.close()
    if opener == "file":
        assert not target.closed
        target.close()


@pytest.mark.parametrize("make", [bytes, io.BytesIO, Pipe, OnlyRead])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_arc_files_are_read_by_warcio(
    make: Callable[[bytes], Any], compress: Callable[[bytes], bytes]
) -> None:
    archive = ArchiveIterator(make(b"".join(map(compress, ARC_RECORDS))), arc2warc=True)
    found = [(it.rec_type, it.rec_headers["WARC-Date"], it.content_stream().read()) for it in archive]
    assert [it[0] for it in found] == ["warcinfo", "response", "response"]
    assert found[1][1:] == ("2001-01-01T00:00:00Z", b"<p>Hi\r\n")
    assert archive.reader is None


@pytest.mark.parametrize("make", [io.BytesIO, Pipe])
def test_nothing_is_an_archive_without_records(make: Callable[[bytes], Any]) -> None:
    assert list(ArchiveIterator(make(b""))) == []


@pytest.mark.parametrize("data", [b"neither WARC nor ARC", b"\x1f\x8bno gzip", b"WARC/x\r\n", b"\0" * 100])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(ArchiveLoadFailed):
        list(ArchiveIterator(io.BytesIO(data)))


def test_a_path_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot be opened"):
        ArchiveIterator(tmp_path / "none.warc.zst")


def test_each_iterator_refuses_the_other_format(stored: bytes) -> None:
    with pytest.raises(ArchiveLoadFailed):
        list(ARCIterator(io.BytesIO(stored)))
    with pytest.raises(ArchiveLoadFailed):
        list(WARCIterator(io.BytesIO(ARC)))
    assert len(list(WARCIterator(io.BytesIO(stored)))) == PAGES


def test_a_file_is_read_from_where_it_is(stored: bytes) -> None:
    with seekwarc.open(stored) as reader:
        offsets = [record.offset for record in reader]
    for index in (3, 10, 11):
        file = io.BytesIO(stored)
        file.seek(offsets[index])
        archive = ArchiveIterator(file)
        assert [archive.get_record_offset() for _ in archive] == offsets[index:]
    with pytest.raises(ArchiveLoadFailed):
        file.seek(offsets[3] + 1)
        list(ArchiveIterator(file))


# Places and payloads.


def test_places_are_known_before_a_record_is_read(stored: bytes) -> None:
    source = RecordingSource(stored)
    archive = ArchiveIterator(source)
    places = []
    for record in archive:
        places.append((archive.get_record_offset(), archive.get_record_length()))
        assert record.raw_stream.read(3)
        assert archive.get_record_offset() == places[-1][0]
        assert record.raw_stream.tell() == 3
    with seekwarc.open(stored) as reader:
        assert places == [(record.offset, record.length) for record in reader]


def test_payloads_that_nobody_reads_are_stepped_over(stored: bytes) -> None:
    source, direct = RecordingSource(stored), RecordingSource(stored)
    assert len(list(ArchiveIterator(source))) == len(list(seekwarc.open(direct))) == PAGES
    assert source.bytes_asked == direct.bytes_asked < len(stored) // 10


@pytest.mark.parametrize("form", ["zst", "gz", "none"])
def test_places_in_a_pipe_are_those_in_a_file(form: Any, stored: bytes) -> None:
    file = io.BytesIO()
    with seekwarc.open(file, "w", compression=form) as out:
        for number in range(5):
            out.write_resource("urn:x", b"%d" % number * 100_000, "text/plain")

    def places(target: Any) -> list[tuple[int, int]]:
        archive = ArchiveIterator(target)
        return [(archive.get_record_offset(), archive.get_record_length()) for _ in archive]

    assert places(Pipe(file.getvalue())) == places(file.getvalue())


def test_places_in_a_pipe_count_from_where_it_is(stored: bytes) -> None:
    class Answer(io.BytesIO):
        """A response of which part was read, as urllib3 has it."""

        def seekable(self) -> bool:
            return False

    answer = Answer(b"x" * 1000 + stored)
    answer.seek(1000)
    archive = ArchiveIterator(answer)
    next(archive)
    assert archive.get_record_offset() == 1000


def test_records_stay_readable_after_the_iteration(stored: bytes) -> None:
    records = list(ArchiveIterator(io.BytesIO(stored)))
    assert [it.content_stream().read() for it in records[:3]] == [b"<p>0", b"<p>1", b"<p>2"]
    records[10].raw_stream.seek(3 * MIB)
    assert records[10].raw_stream.read(10) == noise(4 * MIB)[3 * MIB :][:10]


def test_closing_ends_the_iteration(stored: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.warc.zst").write_bytes(stored)
    archive = ArchiveIterator(tmp_path / "a.warc.zst")
    large = next(record for record in archive if record.length > MIB)
    archive.close()
    assert list(archive) == []
    assert (archive.record, archive.reader, archive.read_to_end()) == (None, None, None)
    with pytest.raises(OSError, match="closed"):
        large.raw_stream.read()
    archive.close()


# What is wrong.


def test_a_file_that_is_cut_off_is_told_of(stored: bytes) -> None:
    archive = ArchiveIterator(io.BytesIO(stored[: len(stored) // 2]))
    with pytest.warns(seekwarc.FormatWarning), pytest.raises(ArchiveLoadFailed) as caught:
        found = [record.rec_type for record in archive]
    assert isinstance(caught.value, seekwarc.TruncatedError)
    archive = ArchiveIterator(io.BytesIO(stored[: len(stored) // 2]))
    found = []
    with pytest.warns(seekwarc.FormatWarning), pytest.raises(ArchiveLoadFailed):
        found.extend(iter(archive))
    assert len(found) == 11


def test_a_damaged_frame_is_told_of(stored: bytes) -> None:
    with seekwarc.open(stored) as reader:
        offset = [record.offset for record in reader][5]
    data = bytearray(stored)
    data[offset + 60] ^= 255
    archive = ArchiveIterator(io.BytesIO(bytes(data)))
    found = []
    with pytest.raises(ArchiveLoadFailed) as caught:
        found.extend(iter(archive))
    assert isinstance(caught.value, seekwarc.FormatError)
    assert (len(found), caught.value.offset) == (5, offset)


def test_records_that_share_a_frame_are_refused(stored: bytes) -> None:
    import zstandard  # noqa: PLC0415

    data = zstandard.compress(b"".join(r.header.raw + r.block.read() + b"\r\n\r\n" for r in small(stored)))
    with pytest.warns(seekwarc.FormatWarning), pytest.raises(ArchiveLoadFailed, match="seekwarc convert"):
        list(ArchiveIterator(io.BytesIO(data)))


def small(data: bytes) -> list[seekwarc.Record]:
    return [record for record in seekwarc.open(data) if record.content_length < MIB]


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_lengths_that_are_wrong_are_counted() -> None:
    with (VECTORS / "warcio-example-trunc.warc").open("rb") as file:
        archive = ArchiveIterator(file)
        assert len(list(archive)) == 4
    assert archive.err_count == 1


DIGEST = VECTORS / "warcio-example-digest.warc"


def test_digests_are_checked_as_the_program_asks(capsys: pytest.CaptureFixture[str]) -> None:
    def passed(**options: Any) -> list[bool | None]:
        with DIGEST.open("rb") as file:
            archive = ArchiveIterator(file, **options)
            return [(it.content_stream().read(), it.digest_checker.passed)[1] for it in archive]

    assert passed() == [None] * 4
    assert passed(check_digests=True) == [False, True, True, True]
    assert capsys.readouterr().err == ""
    assert passed(check_digests="log") == [False, True, True, True]
    assert "payload digest failed" in capsys.readouterr().err
    with pytest.raises(ArchiveLoadFailed, match="payload digest failed"):
        passed(check_digests="raise")


def test_digests_of_what_was_not_read_are_checked_too() -> None:
    with DIGEST.open("rb") as file:
        records = list(ArchiveIterator(file, check_digests=True))
        assert [it.digest_checker.passed for it in records] == [False, True, True, True]
    with (VECTORS / "warcio-example.warc.gz").open("rb") as file:
        data = gzip.decompress(file.read()).replace(b"sha1:DR5M", b"sha1:AAAA")
    archive = ArchiveIterator(data, check_digests="raise")
    assert [next(archive).rec_type for _ in range(3)][2] == "response"
    with pytest.raises(ArchiveLoadFailed, match="block digest failed"):
        next(archive)


@pytest.mark.posix
def test_a_named_pipe_is_read(stored: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb") as out:
            out.write(stored)

    thread = threading.Thread(target=write)
    thread.start()
    archive = ArchiveIterator(path)
    assert sum(1 for _ in archive) == PAGES
    archive.close()
    thread.join()
