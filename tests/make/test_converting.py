"""Conversion as a function, and of every sample file of other tools."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from functools import cache
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc.check.verifying import verify
from seekwarc.errors import ChecksumError, FormatError, SourceError, TargetError, UnsupportedError
from seekwarc.frames.encoder import FrameEncoder
from seekwarc.make.converting import Conversion, content_digest, convert
from seekwarc.storage.local import BytesSource
from seekwarc.storage.streams import PipeSource
from tests.conftest import SAMPLES, VECTORS
from tests.support.foreign import Foreign, gzip_member, text, zstd_frame
from tests.support.generated import CRAWLS, gzipped
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import FailingFile, WriteOnly, noise

MODES = ("large", "every", "none")


@cache
def some_records() -> Foreign:
    """Return records that are never changed, two of them large."""
    made = Foreign()
    made.record(b"").record(text(3000)).record(noise(1_400_000)).record(text(1_400_000, seed=1))
    return made.record(b"\r\n\r\nWARC/1.1\r\n")


def inflated(data: bytes) -> bytes:
    """Everything that gzip members decompress to, with zlib alone."""
    content = bytearray()
    while data:
        inflater = zlib.decompressobj(31)
        content += inflater.decompress(data) + inflater.flush()
        data = inflater.unused_data
    return bytes(content)


def decompressed(data: bytes) -> bytes:
    """Everything that Zstandard frames decompress to, with libzstd alone."""
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        return reader.read()


# What a conversion says of itself.


def test_a_conversion_returns_its_counts(tmp_path) -> None:
    made = some_records()
    source, target = tmp_path / "a.warc.gz", tmp_path / "b.warc.zst"
    source.write_bytes(made.gzip().bytes())
    content = made.plain().bytes()
    assert convert(source, target, "zst") == Conversion(
        records=5,
        source_size=source.stat().st_size,
        target_size=target.stat().st_size,
        content_size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        verified=True,
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["none", "gz", "zst", "zst with a dictionary"])
@pytest.mark.parametrize("pipe", [False, True])
def test_sizes_are_those_of_the_files(form, pipe) -> None:
    made = some_records()
    with_dictionary = Foreign().dictionary(compressed=True).record(text(3000)).record(noise(200_000))
    make = {
        "none": lambda: made.plain().bytes(),
        "gz": lambda: made.gzip().bytes(),
        "zst": made.bytes,
        "zst with a dictionary": with_dictionary.bytes,
    }
    data = make[form]()
    target = io.BytesIO()
    done = convert(Pipe(data) if pipe else data, target, "gz")
    assert done.source_size == len(data)
    assert done.target_size == len(target.getvalue())


def test_an_unverified_conversion_says_so() -> None:
    assert convert(some_records().bytes(), io.BytesIO(), "none", verify=False).verified is False


# Which bytes come out.


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("frame_size", [64 << 10, 1 << 20, 8 << 20])
def test_content_is_kept_whatever_the_frames(tables, frame_size) -> None:
    made, target = some_records(), io.BytesIO()
    convert(made.bytes(), target, "zst", tables=tables, frame_size=frame_size, threads=2)
    assert decompressed(target.getvalue()) == made.plain().bytes()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("trailer", [b"", b"\r\n", b"\n\n", b"\r\n" * 5, b"\n"])
@pytest.mark.parametrize("form", ["plain", "gzip"])
@pytest.mark.parametrize("to", ["zst", "gz", "none"])
def test_wrong_line_breaks_are_kept(trailer, form, to) -> None:
    made = Foreign().record(b"one").record(noise(2_000_000)).record(b"three")
    source, target = getattr(made, form)(trailer=trailer).bytes(), io.BytesIO()
    content = made.plain(trailer=trailer).bytes()
    done = convert(source, target, to)
    undo = {"zst": decompressed, "gz": inflated, "none": bytes}[to]
    assert undo(target.getvalue()) == content
    assert done.sha256 == hashlib.sha256(content).hexdigest()


def test_a_gzip_target_has_a_member_for_each_record() -> None:
    made, target = some_records(), io.BytesIO()
    convert(made.bytes(), target, "gz")
    with seekwarc.open(target.getvalue()) as archive:
        records = list(archive)
        assert [record.skip for record in records] == [0] * 5
        for record, put in zip(records, made.records, strict=True):
            stored = target.getvalue()[record.offset : record.offset + record.length]
            assert gzip.decompress(stored) == put.header + put.block + b"\r\n\r\n"


def test_a_pipe_gets_the_same_bytes_and_is_checked() -> None:
    made, target, pipe = some_records(), io.BytesIO(), WriteOnly()
    for to in ("zst", "gz", "none"):
        target, pipe = io.BytesIO(), WriteOnly()
        convert(made.bytes(), target, to)
        assert convert(Pipe(made.bytes()), pipe, to).verified
        assert bytes(pipe.data) == target.getvalue()


# What is refused, and what is left then.


def test_a_faulty_encoder_is_detected(tmp_path, monkeypatch) -> None:
    encode = FrameEncoder.encode_each
    monkeypatch.setattr(
        FrameEncoder,
        "encode_each",
        lambda self, contents: encode(self, [it.replace(b"archive", b"ARCHIVE") for it in contents]),
    )
    source = Foreign().record(text(2000)).bytes()
    with pytest.raises(ChecksumError, match=r"decompresses to .* the original to"):
        convert(source, tmp_path / "new.warc.zst", "zst")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ChecksumError, match=r"decompresses to .* the original to"):
        convert(source, WriteOnly(), "zst")


def test_a_faulty_target_is_detected(tmp_path) -> None:
    class Forgetful(io.FileIO):
        def write(self, data) -> int:
            return super().write(bytes(data).replace(b"WARC-Date", b"WARC-Dote"))

    # Into an object of the caller's, what is written is checked as it goes by, not as it lies on a disk.
    with Forgetful(tmp_path / "new.warc", "w") as target:
        assert convert(Foreign().record(b"x").bytes(), target, "none").verified


@pytest.mark.parametrize("to", ["zst", "gz", "none"])
def test_a_source_that_fails_leaves_nothing(tmp_path, to) -> None:
    data = some_records().gzip().bytes()
    with pytest.raises(SourceError, match="gone"):
        convert(FailingFile(data, 500_000), tmp_path / "new", to)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("to", ["zst", "gz", "none"])
@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
@pytest.mark.parametrize("length", [0, 1, 30, 400, 1_000_000, -1000])
def test_a_cut_source_is_an_error_and_leaves_nothing(tmp_path, to, form, length) -> None:
    made = some_records() if form == "bytes" else getattr(some_records(), form)()
    offsets = {put.offset for put in made.records}
    data = made.bytes()[: length + (length in offsets)]
    with pytest.raises(FormatError) as raised:
        convert(RecordingSource(data, "cut.warc"), tmp_path / "new", to)
    assert str(raised.value).startswith("cut.warc, offset ")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("to", "options"),
    [
        ("none", {"level": 3}),
        ("none", {"tables": "none"}),
        ("gz", {"frame_size": 1 << 20}),
        ("gz", {"level": 77}),
        ("zst", {"level": 77}),
        ("zst", {"frame_size": 1}),
        ("zst", {"tables": "some"}),
        ("zst", {"threads": 0}),
        ("zst", {"dictionary": b"none"}),
    ],
    ids=str,
)
def test_wrong_options_are_refused_and_leave_nothing(tmp_path, to, options) -> None:
    with pytest.raises(ValueError, match=next(iter(options)).split("_")[0]):
        convert(some_records().bytes(), tmp_path / "new", to, **options)
    assert os.listdir(tmp_path) == []


def test_a_file_is_not_written_over_itself(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(some_records().bytes())
    for source in (path, str(path), seekwarc.storage.local.LocalFileSource(path)):
        with pytest.raises(TargetError, match="the same file"):
            convert(source, path, "zst")
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_file_objects_of_the_caller_stay_open() -> None:
    source, target = io.BytesIO(some_records().bytes()), io.BytesIO()
    convert(source, target, "gz")
    assert not source.closed
    assert not target.closed


# The digest of a file's content.


@pytest.mark.parametrize("form", ["plain", "gzip", "bytes"])
def test_the_digest_is_that_of_other_tools_output(form) -> None:
    made = some_records()
    data = made.bytes() if form == "bytes" else getattr(made, form)().bytes()
    undo = {"plain": bytes, "gzip": inflated, "bytes": decompressed}[form]
    assert content_digest(BytesSource(data)) == hashlib.sha256(undo(data)).hexdigest()
    assert content_digest(PipeSource(Pipe(data))) == hashlib.sha256(undo(data)).hexdigest()


def test_the_digest_needs_neither_records_nor_tables() -> None:
    lying = Foreign().record(b"x" * 5000, cuts=600, table={"change": lambda entries: entries[1:]})
    lying.file_table(change=lambda entries: [(1, 9, 9)] * 5)
    assert content_digest(BytesSource(lying.bytes())) == hashlib.sha256(lying.plain().bytes()).hexdigest()
    assert content_digest(BytesSource(zstd_frame(b"no record"))) == hashlib.sha256(b"no record").hexdigest()
    assert content_digest(BytesSource(gzip_member(b"none"))) == hashlib.sha256(b"none").hexdigest()


@pytest.mark.parametrize("compressed", [True, False])
def test_the_digest_uses_the_dictionary_of_the_file(compressed) -> None:
    made = Foreign().dictionary(compressed=compressed).record(text(3000)).record(text(200_000), cuts=50_000)
    assert content_digest(BytesSource(made.bytes())) == hashlib.sha256(made.plain().bytes()).hexdigest()


def test_the_digest_of_damage_is_an_error() -> None:
    data = bytearray(some_records().bytes())
    data[1_000_000] ^= 1
    with pytest.raises(FormatError, match=r"^<bytes>, offset \d+: "):
        content_digest(BytesSource(bytes(data)))
    with pytest.raises(UnsupportedError):
        content_digest(BytesSource(b"some text"))


# Files by other tools.

BROKEN = {"warcio-example-trunc.warc": (FormatError, "offset 2560: no WARC record starts here")}
"""Samples that cannot be converted, and why: a block of that one is longer than its Content-Length."""
READABLE = [
    pytest.param(name, marks=() if (VECTORS / name).exists() else pytest.mark.needs("samples"))
    for name in sorted(path.name for path in SAMPLES.glob("*"))
    if ".warc" in name and name not in BROKEN
]


@pytest.mark.parametrize("trailer", [b"\r\n", b"\n\n", b"\r\n\r\n\r\n"])
@pytest.mark.parametrize("size", [0, 100, 3_000_000])
def test_a_record_with_another_trailer_stays_sound(tmp_path: Path, trailer: bytes, size: int) -> None:
    made = Foreign().record(noise(size)).gzip(trailer=trailer)
    convert(made.bytes(), tmp_path / "new.warc.zst")
    result = verify(tmp_path / "new.warc.zst")
    assert (result.is_sound, set(result.codes)) == (True, {"trailer"})


@pytest.mark.filterwarnings("error")
def test_what_converting_mends_is_not_warned_of(tmp_path: Path) -> None:
    made = Foreign()
    shared = b"".join(it.header + it.block + b"\r\n\r\n" for it in some_records().records)
    made.frame(shared)
    convert(made.bytes(), tmp_path / "new.warc.zst")
    assert verify(tmp_path / "new.warc.zst").codes == {}


@pytest.mark.parametrize("name", CRAWLS)
def test_a_new_file_is_no_larger_than_that_of_gzip(name: str) -> None:
    stored = gzipped(name)
    new = io.BytesIO()
    assert convert(BytesSource(stored), new, "zst").target_size <= len(stored) * 1.01
    assert gzip.decompress(stored) == decompressed(new.getvalue())


@pytest.mark.needs("samples")
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_samples_are_no_larger_than_by_gzip(samples: Path) -> None:
    by_gzip = new = 0
    for path in samples.glob("*.warc*"):
        if path.name not in BROKEN:
            by_gzip += convert(path, io.BytesIO(), "gz", level=6).target_size
            new += convert(path, io.BytesIO(), "zst").target_size
    assert new <= by_gzip * 1.01


@pytest.mark.needs("samples")
def test_there_are_samples() -> None:
    assert len(READABLE) >= 20


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", READABLE)
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_sample_keeps_every_byte(samples: Path, tmp_path: Path, name: str) -> None:
    stored = (samples / name).read_bytes()
    content = inflated(stored) if stored.startswith(b"\x1f\x8b") else stored  # names may lie
    for tables in MODES:
        new, back = tmp_path / f"{tables}.warc.zst", tmp_path / f"{tables}.warc"
        done = convert(samples / name, new, "zst", tables=tables)
        assert decompressed(new.read_bytes()) == content
        assert done.sha256 == hashlib.sha256(content).hexdigest()
        assert convert(new, back, "none").records == done.records
        assert back.read_bytes() == content


@pytest.mark.needs("samples")
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("to", ["zst", "gz", "none"])
def test_a_broken_sample_is_refused(samples: Path, tmp_path: Path, name: str, to: str) -> None:
    error, message = BROKEN[name]
    with pytest.raises(error, match=f"^{samples / name}, {message}"):
        convert(samples / name, tmp_path / "new", to)
    assert os.listdir(tmp_path) == []
