"""The samples of spec-notes/warc-zstd-seekable/samples, as another implementer would use them."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import nullcontext, suppress
from itertools import product, takewhile

import pytest
import zstandard

import seekwarc
from seekwarc.check.verifying import Verification, Verifier
from seekwarc.errors import FormatError, SeekWarcError
from tests.support.vectors import NOTES, SAMPLES, Vector, VectorRecord, manifest, sha256, vectors
from tests.support.writing import walk

VECTORS = vectors()
WITHOUT_PLACE = {"untrue-displacement"}
"""Section 9: a short read of a record by its place may be displaced, so no ranges are given."""
SHOWN_ON_USE = {
    "table-checksum-wrong",
    "untrue-displacement",
    "displaced-frame-beginning",
    "displaced-frame-end",
    "displaced-frame-end-of-another",
    "displaced-content-size",
    "displaced-content-size-less",
    "displaced-content-size-not-stated",
    "displaced-checksum",
    "displaced-checksum-not-stated",
}
"""A reader that goes to a record by its place sees only in a frame that it uses that the table is wrong."""
DECODED_BESIDES = {"dictionary-compressed", "large-first-lead-of-a-frame"}
"""Their dictionary is, and all of a frame that begins with a record header (R17)."""
REPORTED = {
    "table-unused-bits": {"table-end"},
    "table-reserved-bit": {"table-form"},
    "table-wrong-count": {"table-form"},
    "table-count-wraps": {"table-form"},
    "table-count-maximum": {"table-form"},
    "table-of-nothing": {"table-end", "table-frames"},
    "table-content-from-nothing": {"table-form"},
    "table-anchor-negative": {"table-form"},
    "table-anchor-elsewhere": {"table-end", "table-frames"},
    "table-sum-elsewhere": {"table-end", "table-frames"},
    "table-sizes-swapped": {"table-end", "table-frames"},
    "table-checksum-wrong": {"table-end", "table-frames"},
    "table-in-padding": {"table-end", "table-place"},
    "untrue-entry-swallows-frame": {"table-frames"},
    "untrue-first-frame": {"table-frames"},
    "untrue-entry-without-content": {"table-frames"},
    "untrue-displacement": {"table-frames"},
    "untrue-file-table": {"table-frames"},
    "large-concatenated": {"table-end"},
    "large-no-file-table": {"table-end"},
    "large-one-table-only": {"table-end"},
    "dictionary-two-frames": {"dictionary"},
    "dictionary-bytes-after": {"dictionary"},
    "dictionary-empty": {"dictionary"},
    "dictionary-no-magic-number": {"dictionary"},
    "dictionary-id-0": {"dictionary"},
    "damaged-next-record": {"damage"},
    "damaged-reserved-block": {"damage"},
    "damaged-block-too-large": {"damage"},
    "damaged-dictionary-missing": {"damage", "frame-dictionary"},
    "foreign-no-trailer": {"trailer"},
    "damaged-no-frame": {"damage"},
    "large-file-table-cut-off": {"damage", "table-form"},
    "foreign-other-use-of-magic-number": {"table-other"},
    "foreign-no-content-checksum": {"frame-checksum"},
    "foreign-no-content-size": {"frame-size"},
    "foreign-frame-of-more-than-8-mib": {"frame-window"},
    "foreign-every-header-not-alone": {"table-end"},
    "foreign-pzstd": {"first-frame"},
    "foreign-odd-trailer": {"table-end", "trailer"},
    "foreign-dictionary-no-size": {"frame-size"},
    "foreign-dictionary-not-named": {"frame-dictionary"},
    "foreign-dictionary-late": {"dictionary-place"},
    "foreign-shared-frame": {"shared"},
    "damaged-dictionary-other": {"damage", "frame-dictionary"},
    "damaged-cut-off": {"damage"},
    "damaged-checksum": {"damage"},
    "displaced-footer": {"table-form"},
    "displaced-reserved-bit": {"table-form"},
    "displaced-frame-size": {"table-other"},
    "displaced-from-nothing": {"table-form"},
    "displaced-anchor-after": {"table-frames"},
    "displaced-anchor-wraps": {"table-form"},
    "displaced-sum": {"table-frames"},
    "displaced-sum-wraps": {"table-frames"},
    "displaced-first-frame": {"table-frames"},
    "displaced-frame-beginning": {"table-frames"},
    "displaced-frame-end": {"table-frames"},
    "displaced-frame-end-of-another": {"table-frames"},
    "displaced-content-size": {"table-frames"},
    "displaced-content-size-less": {"table-frames"},
    "displaced-content-size-not-stated": {"table-frames", "frame-size"},
    "displaced-checksum": {"table-frames"},
    "displaced-checksum-not-stated": {"frame-checksum", "table-frames"},
    "displaced-anchor-negative": {"table-form"},
    "displaced-file-table-begin": {"table-frames"},
    "displaced-file-table-end": {"table-frames"},
    "displaced-anchor-before": {"table-frames"},
    "displaced-file-table-hides": {"table-frames"},
    "claimed-entries": {"table-form"},
    "claimed-content": {"frame-window", "limit"},
    "claimed-block": {"damage"},
    "claimed-dictionary": {"limit"},
    "claimed-dictionary-frame": {"limit"},
    "damaged-cut-between-frames": {"damage"},
    "damaged-cut-off-in-trailer": {"damage"},
    "damaged-bytes-at-end": {"damage"},
    "damaged-no-record": {"first-frame", "empty"},
    "foreign-long-trailer": {"trailer"},
    "foreign-dictionary-late-other": {"dictionary-place", "frame-checksum"},
    "large-two-content-lengths": {"length"},
    "foreign-last-extension-number": {"first-frame"},
    "foreign-stream": {"frame-checksum", "frame-size"},
    "foreign-pzstd-program": {"frame-size"},
}
"""What `seekwarc verify` says of a file; how frames are cut (W1, W6, W13) is for its profile to say."""

pytestmark = pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")


def each(found: list[Vector]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", found, ids=[vector.name for vector in found])


@pytest.mark.slow
def test_the_samples_are_what_their_script_makes() -> None:
    command = [sys.executable, str(NOTES / "make_vectors.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_manifest_lists_the_files_that_are_there() -> None:
    described = manifest()
    assert {name: described[name] for name in ("specification", "version", "license")} == {
        "specification": "warc-zstd-seekable",
        "version": "1.6",
        "license": "CC0-1.0",
    }
    files = {path.name for path in SAMPLES.iterdir()}
    assert {vector.file for vector in VECTORS} == {name for name in files if name.endswith(".warc.zst")}
    assert files - {vector.file for vector in VECTORS} == {
        "LICENSE",
        "README.md",
        "listing.md",
        "manifest.json",
    }
    assert len({vector.file for vector in VECTORS}) == len(VECTORS)


def test_all_samples_together_are_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.iterdir()) < 3_000_000
    assert sum(vector.size for vector in VECTORS if not vector.is_of_a_compressor) < 300_000


def test_there_are_samples_of_each_kind() -> None:
    assert {vector.mode for vector in VECTORS} == {"large", "every", "none", None}
    assert {vector.readable for vector in VECTORS} == {"all", "some", "none"}
    assert {record.table is None for vector in VECTORS for record in vector.records} == {True, False}


@each(VECTORS)
def test_the_manifest_is_true_of_the_file(vector: Vector) -> None:
    assert (len(vector.data), sha256(vector.data)) == (vector.size, vector.sha256)
    assert vector.valid == (not vector.breaks)
    assert vector.mode == (vector.writes if vector.valid else None)
    assert vector.title.endswith(".")
    for record in vector.records:
        assert record.offset + record.length <= vector.size
        assert record.complete or vector.readable != "all"
        if record.table:
            start, end = record.table.offset, record.table.offset + record.table.size
            assert record.offset < start < end <= record.offset + record.length
            assert vector.data[start:end].endswith(b"\xb1\xea\x92\x8f")
        for wanted in record.ranges:
            assert 0 <= wanted.start < wanted.end
            assert wanted.end <= record.size or wanted.sha256 is None or "over-the-end" in vector.name


def certain(vector: Vector) -> list[VectorRecord]:
    """Return the records that come before any damage; those after it may be found again."""
    return [*takewhile(lambda record: record.complete, vector.records)]


@each(VECTORS)
def test_records_are_those_of_the_manifest_in_order_and_with_lengths(vector: Vector) -> None:
    wanted = [(r.offset, r.type, r.size, r.sha256) for r in vector.records]
    found = []
    ending = nullcontext() if vector.readable == "all" else pytest.raises(FormatError)
    with ending, seekwarc.open(vector.data) as archive:
        for record in archive.in_order():
            offset, kind = record.offset, record.type
            block = record.block.read()
            listed = vector.records[len(found)]
            if not listed.complete:
                # What a frame that is cut off holds before the cut may be delivered, too.
                block = block[: listed.size]
            found.append((offset, kind, len(block), sha256(block)))
    assert found == wanted[: len(found)]
    assert len(found) >= len(certain(vector))
    assert_lengths_are_those_of_the_manifest(vector)


def assert_lengths_are_those_of_the_manifest(vector: Vector) -> None:
    wanted = [(r.offset, r.length, r.type) for r in certain(vector)]
    found: list[tuple[int, int | None, str]] = []
    ending = nullcontext() if vector.readable == "all" else suppress(FormatError)
    with ending, seekwarc.open(vector.data) as archive:
        found.extend((r.offset, r.length, r.type) for r in archive)
    assert found[: len(wanted)] == wanted
    assert len(found) <= len(vector.records)


def read_ranges(vector: Vector, wanted: VectorRecord, *, known: bool) -> None:
    with seekwarc.open(vector.data) as archive:
        record = archive.record_at(wanted.offset, wanted.length if known else None)
        assert record.type == wanted.type
        for part in wanted.ranges:
            same = archive.record_at(part.offset, part.length if known else None)
            assert sha256(same.block.pread(part.start, part.end - part.start)) == part.sha256, part
        if vector.name not in WITHOUT_PLACE:
            assert sha256(record.block.read()) == wanted.sha256


@each([vector for vector in VECTORS if vector.reached_by_place])
def test_ranges_are_those_of_the_manifest(vector: Vector) -> None:
    for wanted, known in product(vector.reached_by_place, (False, True)):
        refusable = wanted.table is None and not vector.valid
        with suppress(SeekWarcError) if refusable else nullcontext():
            read_ranges(vector, wanted, known=known)


@each([vector for vector in VECTORS if vector.readable == "some"])
def test_ranges_of_damaged_bytes_are_refused(vector: Vector) -> None:
    for part in (part for record in vector.records for part in record.ranges if part.sha256 is None):
        for length in (None, part.length):
            with pytest.raises(SeekWarcError), seekwarc.open(vector.data) as archive:
                archive.record_at(part.offset, length).block.pread(part.start, part.end - part.start)


@each([vector for vector in VECTORS if vector.reached_by_place])
def test_a_table_is_used_if_the_manifest_says_so(vector: Vector) -> None:
    for wanted in vector.reached_by_place:
        with seekwarc.open(vector.data) as archive, suppress(SeekWarcError):
            status = archive.record_at(wanted.offset, wanted.length).seek_table_status
            if wanted.table and wanted.table.frames > 1:
                assert status in ("record", "file")
            elif not wanted.table and vector.name not in SHOWN_ON_USE:
                assert status != "record"


def test_frames_are_decoded_only_where_a_range_lies() -> None:
    compared = 0
    for vector in VECTORS:
        if not vector.valid or vector.name in DECODED_BESIDES:
            continue
        dictionary = (
            vector.data[8 : 8 + int.from_bytes(vector.data[4:8], "little")]
            if "dictionary" in vector.name
            else None
        )
        frames = walk(vector.data, dictionary)
        for wanted in vector.reached_by_place:
            own = [frame for frame in frames if frame.offset >= wanted.offset]
            for part in (part for part in wanted.ranges if part.frames is not None):
                with seekwarc.open(vector.data) as archive:
                    record = archive.record_at(wanted.offset, wanted.length)
                    before = archive.stats.bytes_decoded
                    record.block.pread(part.start, part.end - part.start)
                    most = sum(len(own[number].content) for number in part.frames)
                    assert archive.stats.bytes_decoded - before <= most, (vector.name, part)
                    compared += 1
    assert compared > 100


def verified(target: bytes) -> Verification:
    verifier = Verifier(target)
    for _ in verifier:
        pass
    return verifier.result


@each(VECTORS)
def test_verify_reports_what_is_wrong_with_a_file(vector: Vector) -> None:
    result = verified(vector.data)
    wanted = REPORTED.get(vector.name, {"table-end"} if vector.mode == "every" else set())
    assert set(result.codes) == wanted
    if vector.readable != "all":
        assert not result.is_sound


@each([vector for vector in VECTORS if vector.valid and "dictionary" not in vector.name])
def test_a_valid_file_is_one_for_other_tools(vector: Vector) -> None:
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(vector.data), read_across_frames=True
    ) as reader:
        content = reader.read()
    with seekwarc.open(content) as archive:
        found = [(record.type, sha256(record.block.read())) for record in archive]
    assert found == [(record.type, record.sha256) for record in vector.records]
