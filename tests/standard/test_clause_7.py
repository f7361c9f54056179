"""Clause 7: records in segments."""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import seekwarc
from tests.standard.clauses import shall
from tests.standard.material import (
    DATE,
    HTTP_HEAD,
    OTHER_ID,
    UNKNOWN_TYPE,
    URI,
    assert_found,
    assert_refused,
    collected,
    fields_of,
    findings,
    record,
    urn,
    write,
)
from tests.support.writing import KIB, noise, sha1, walk

FRAME = 64 * KIB
MAX = 300 * KIB
LARGE = noise(1000 * KIB)
ID = f"<{urn(1)}>"


@dataclass(frozen=True)
class Found:
    """A record as it stands in a file of a series."""

    file: Path
    header: seekwarc.RecordHeader
    block: bytes

    @property
    def type(self) -> str:
        return self.header["WARC-Type"]


def series(
    folder: Path, *blocks: bytes, max_size: int = MAX, kind: str = "resource", **more: object
) -> list[Found]:
    """Write records into files of a size, the first block last, as record 1, and return what is in them."""
    folder.mkdir(exist_ok=True)
    with seekwarc.Writer(
        folder / "crawl.warc.zst", frame_size=FRAME, max_file_size=max_size, **more
    ) as writer:
        for number in range(len(blocks), 0, -1):
            block = io.BytesIO(blocks[number - 1])
            writer.write(kind, target_uri=URI, block=block, record_id=urn(number), date=DATE)
    found = []
    for path in sorted(folder.iterdir()):
        with seekwarc.open(path) as archive:
            found += [Found(path, it.header, it.block.read()) for it in archive]
    return found


def segments(found: list[Found]) -> list[Found]:
    """Return the records that are not about the file that they are in."""
    return [it for it in found if it.type != "warcinfo"]


def segment(number: int, block: bytes, **more: str | None) -> bytes:
    """Return a segment of record 1, as another tool might have written it."""
    fields = {"warc_record_id": f"<{urn(number)}>", "warc_segment_number": str(number)}
    if number > 1:
        fields["warc_segment_origin_id"] = ID
    return record("continuation" if number > 1 else "resource", block, **(fields | more))


FIRST = (
    "The first segment of a segmented series shall carry the original record type (not 'continuation'), and "
    'a WARC-Segment-Number field with a value of "1".'
)


@shall("7", FIRST)
@pytest.mark.parametrize("kind", ["response", "resource", "request", "metadata", "conversion", UNKNOWN_TYPE])
def test_the_first_segment_has_the_type_of_the_record_and_number_1(kind: str, tmp_path: Path) -> None:
    first, *others = segments(series(tmp_path, LARGE, kind=kind))
    assert first.type == kind
    assert first.header.get_all("WARC-Segment-Number") == ("1",)
    assert first.header.uri("WARC-Record-ID") == urn(1)
    assert {it.type for it in others} == {"continuation"}
    with seekwarc.Collection(sorted(tmp_path.iterdir())) as collection:
        whole = collection.open_record(urn(1))
        assert whole.type == kind
        assert whole.block.read() == LARGE
        assert whole.segment_number is None


@shall("7", FIRST)
def test_a_continuation_numbered_1_is_refused_and_found() -> None:
    more = {"WARC-Segment-Number": "1"}
    assert_refused(write("continuation", more), "WARC-Segment-Number", "'continuation'")
    assert_found(fields_of("continuation", more), "condition", "WARC-Segment-Number", "5.20")


SUBSEQUENT = (
    "All subsequent segments shall have a record type of 'continuation', with an incremented "
    "WARC-Segment-Number field."
)


@shall("7", SUBSEQUENT)
def test_later_segments_are_continuations_numbered_in_order(tmp_path: Path) -> None:
    found = segments(series(tmp_path, LARGE))
    assert [it.type for it in found] == ["resource", *["continuation"] * (len(found) - 1)]
    assert [it.header["WARC-Segment-Number"] for it in found] == [str(n) for n in range(1, len(found) + 1)]
    assert len(found) == 4
    assert b"".join(it.block for it in found) == LARGE
    assert [findings(list(it.header.items())) for it in found] == [[]] * 4


@shall("7", SUBSEQUENT)
@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ((1, 2, 3), None),
        ((1, 3, 4), "number 2 is missing"),
        ((1, 2, 4), "number 3 is missing"),
        ((1, 2, 9), "number 3, 4, 5, 6, 7, 8 is missing"),
        ((1, 2, 2), "number 2 is there twice"),
        ((1, 2, 1), "is a continuation, and its WARC-Segment-Number is 1"),
        ((2, 3, 4), "is the first, and its number is 2"),
    ],
)
def test_segments_are_joined_if_their_numbers_rise_by_one(
    numbers: tuple[int, ...], problem: str | None
) -> None:
    files = [
        segment(place, b"part", warc_segment_number=str(number)) for place, number in enumerate(numbers, 1)
    ]
    files[-1] = files[-1].replace(b"Content-Length", b"WARC-Segment-Total-Length: 12\r\nContent-Length")
    with collected(*files) as collection:
        if problem is None:
            assert collection.open_record(urn(1)).block.read() == b"part" * 3
        else:
            with pytest.raises(seekwarc.SegmentError, match=problem):
                collection.open_record(urn(1))


ORIGIN = (
    "They shall also include a WARC-Segment-Origin-ID field with a value of the WARC-Record-ID of the record "
    "containing the first segment of the set."
)


@shall("7", ORIGIN)
def test_the_segments_that_follow_name_the_first(tmp_path: Path) -> None:
    first, *others = segments(series(tmp_path, LARGE))
    assert {it.header["WARC-Segment-Origin-ID"] for it in others} == {first.header["WARC-Record-ID"]} == {ID}
    assert "WARC-Segment-Origin-ID" not in first.header
    ids = [it.header["WARC-Record-ID"] for it in (first, *others)]
    assert len(set(ids)) == len(ids)


@shall("7", ORIGIN)
def test_segments_that_name_another_record_are_no_part_of_the_set() -> None:
    mine = segment(2, b"more", warc_segment_total_length="8")
    other = segment(
        3, b"else", warc_segment_number="2", warc_segment_origin_id=OTHER_ID, warc_segment_total_length="8"
    )
    with collected(segment(1, b"some"), other, mine) as collection:
        assert collection.open_record(urn(1)).block.read() == b"somemore"
    with collected(segment(1, b"some"), other) as collection, pytest.raises(seekwarc.SegmentError):
        collection.open_record(urn(1))
    with collected(mine) as collection, pytest.raises(seekwarc.NotFoundError, match=urn(1)):
        collection.open_record(urn(2))


SAME_URI = "All segments of a set shall have identical target-URI values."


@shall("7", SAME_URI)
def test_the_segments_that_are_written_have_one_target_uri(tmp_path: Path) -> None:
    found = segments(series(tmp_path, LARGE))
    assert [it.header.get_all("WARC-Target-URI") for it in found] == [(URI,)] * 4


@shall("7", SAME_URI)
@pytest.mark.parametrize("uri", ["http://example.org/other", URI.upper(), None])
def test_segments_of_another_target_uri_are_not_joined(uri: str | None) -> None:
    other = segment(2, b"more", warc_target_uri=uri, warc_segment_total_length="8")
    files = [segment(1, b"some"), other]
    with collected(*files) as collection, pytest.raises(seekwarc.SegmentError, match="another target URI"):
        collection.open_record(urn(1))


TOTAL = (
    "The last segment shall contain a WARC-Segment-Total-Length field specifying the total length, in bytes, "
    "of all segment content blocks, if reassembled."
)


@shall("7", TOTAL)
@pytest.mark.parametrize("truncated", [None, "time"])
def test_the_last_segment_that_is_written_has_the_length_of_all(
    truncated: str | None, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    with seekwarc.Writer(folder / "crawl.warc.zst", frame_size=FRAME, max_file_size=MAX) as writer:
        writer.write_response(
            URI,
            io.BytesIO(HTTP_HEAD + LARGE),
            record_id=urn(1),
            **({"truncated": truncated} if truncated else {}),
        )
    with seekwarc.Collection(sorted(folder.iterdir())) as collection:
        *others, last = [it for it in collection if it.type != "warcinfo"]
        assert last.segment_total_length == len(HTTP_HEAD + LARGE)
        assert last.truncated == truncated
        assert not any(it.segment_total_length or it.truncated for it in others)
        # "The resulting assembled record adopts as its Content-Length the total", and the reason of the last.
        whole = collection.open_record(urn(1))
        assert whole.content_length == len(HTTP_HEAD + LARGE)
        assert whole.truncated == truncated
        assert whole.header.get_all("Content-Length") == (str(len(HTTP_HEAD + LARGE)),)
        assert not {"WARC-Segment-Number", "WARC-Block-Digest"} & set(whole.header)
        assert str(whole.payload_digest) == sha1(LARGE)
        assert whole.payload.read() == LARGE


@shall("7", TOTAL)
@pytest.mark.parametrize("total", ["0", "7", "9", "4", None])
def test_segments_of_another_length_than_the_last_says_are_not_joined(total: str | None) -> None:
    files = [segment(1, b"some"), segment(2, b"more", warc_segment_total_length=total)]
    problem = "states no total length" if total is None else f"8 bytes, and should hold {total}"
    with collected(*files) as collection, pytest.raises(seekwarc.SegmentError, match=problem):
        collection.open_record(urn(1))


@shall("7", TOTAL)
@pytest.mark.parametrize("first", [None, "length"])
@pytest.mark.parametrize("last", [None, "disconnect"])
def test_the_reason_of_the_last_segment_is_that_of_the_whole(first: str | None, last: str | None) -> None:
    files = [
        segment(1, b"some", warc_truncated=first),
        segment(2, b"more", warc_truncated=last, warc_segment_total_length="8"),
    ]
    with collected(*files) as collection:
        whole = collection.open_record(urn(1))
        assert whole.header.get_all("WARC-Truncated") == ((last,) if last else ())
        assert whole.content_length == 8


NO_OTHER_WAY = (
    "Segmentation shall not be used if there is another way to store the record within the desired WARC file "
    "target size."
)


@shall("7", NO_OTHER_WAY)
def test_a_record_that_fits_when_it_is_compressed_is_not_segmented(tmp_path: Path) -> None:
    block = b"%08d the same again\n" * 200_000
    (found,) = segments(series(tmp_path, block))
    assert len(block) > 10 * MAX > 10 * found.file.stat().st_size
    assert "WARC-Segment-Number" not in found.header
    assert found.block == block


@shall("7", NO_OTHER_WAY)
def test_a_record_whose_payload_is_there_already_is_not_segmented(tmp_path: Path) -> None:
    found = segments(series(tmp_path, LARGE, LARGE, dedup=seekwarc.Duplicates()))
    assert [it.type for it in found] == ["resource", *["continuation"] * 3, "revisit"]
    assert "WARC-Segment-Number" not in found[-1].header


@shall("7", NO_OTHER_WAY)
def test_a_record_is_not_segmented_where_files_may_have_any_size(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    for target in (path, io.BytesIO()):
        with seekwarc.Writer(target, frame_size=FRAME) as writer:
            writer.write("resource", target_uri=URI, block=io.BytesIO(LARGE))
        with seekwarc.open(target if target is path else target.getvalue()) as archive:
            (found,) = archive
            assert found.segment_number is None
            assert found.block.read() == LARGE


@shall("7", NO_OTHER_WAY)
def test_a_record_that_fits_after_others_is_not_segmented_or_moved(tmp_path: Path) -> None:
    found = segments(series(tmp_path, noise(150 * KIB), b"small"))
    assert len({it.file for it in found}) == 1
    assert all("WARC-Segment-Number" not in it.header for it in found)


NEW_FILE = (
    "Specifically, if a record could be stored without segmentation by starting a new WARC file, "
    "segmentation shall not be used."
)


@shall("7", NEW_FILE)
@pytest.mark.parametrize("size", [250, 400])
@pytest.mark.parametrize("leeway", [400, 8 * KIB])
@pytest.mark.parametrize("before", [(), (noise(100 * KIB, seed=2),)], ids=["first", "after another"])
def test_a_record_that_fits_into_a_new_file_is_not_segmented(
    size: int, leeway: int, before: tuple[bytes, ...], tmp_path: Path
) -> None:
    block = noise(size * KIB)
    (alone,) = segments(series(tmp_path / "alone", block, max_size=1 << 30))
    # All that a file with this record needs; IDs and dates compress a little better or worse each time.
    needed = alone.file.stat().st_size
    found = segments(series(tmp_path / "series", block, *before, max_size=needed + leeway))
    assert [it.type for it in found] == ["resource"] * (1 + len(before))
    assert found[-1].block == block
    assert found[-1].file.stat().st_size <= needed + leeway


MAXIMIZED = "Further, when segmentation is used, the size of the first segment shall be maximized."


@shall("7", MAXIMIZED)
@pytest.mark.parametrize("max_size", [MAX, MAX + 20 * KIB, MAX + 50 * KIB])
def test_no_further_frame_fits_into_the_file_of_the_first_segment(max_size: int, tmp_path: Path) -> None:
    found = segments(series(tmp_path, LARGE, max_size=max_size))
    sizes = [it.file.stat().st_size for it in found]
    assert max(sizes) <= max_size
    # And so for all but the last: nothing is gained by a file that is not full.
    for size, (_, following) in zip(sizes, pairwise(found), strict=False):
        frames = [it for it in walk(following.file.read_bytes()) if it.is_data]
        start = next(n for n, it in enumerate(frames) if it.content == following.header.raw)
        assert size + frames[start + 1].size + 8 * KIB > max_size


@shall("7", MAXIMIZED)
@pytest.mark.parametrize("leeway", [400, 8 * KIB])
def test_the_first_segment_fills_a_file_of_the_size(leeway: int, tmp_path: Path) -> None:
    first, *_ = segments(series(tmp_path / "one", LARGE))
    room = first.file.stat().st_size
    same, *_ = segments(series(tmp_path / "other", LARGE, max_size=room + leeway))
    assert same.file.stat().st_size <= room + leeway
    assert len(same.block) >= len(first.block)


OWN_FILE = (
    "Specifically, the origin segment shall be placed in a new WARC file, preceded only by a 'warcinfo' "
    "record (if any)."
)


@shall("7", OWN_FILE)
@pytest.mark.parametrize(
    "before", [(), (b"small",), (b"small", b"small"), (noise(100 * KIB, seed=2),)], ids=len
)
def test_the_first_segment_follows_warcinfo_in_a_new_file(before: tuple[bytes, ...], tmp_path: Path) -> None:
    found = series(tmp_path, LARGE, *before)
    (first,) = (it for it in found if it.header.get("WARC-Segment-Number") == "1")
    inside = [it for it in found if it.file == first.file]
    assert [it.type for it in inside] == ["warcinfo", "resource"]
    assert sum(it.type == "resource" for it in found) == 1 + len(before)


@shall("7", OWN_FILE)
def test_the_first_segment_may_follow_a_new_warcinfo_record(tmp_path: Path) -> None:
    with seekwarc.Writer(tmp_path / "crawl.warc.zst", frame_size=FRAME, max_file_size=MAX) as writer:
        writer.write_warcinfo({"software": "test"})
        first = writer.write("resource", target_uri=URI, block=io.BytesIO(LARGE))
        following = writer.write("resource", target_uri=URI, block=b"after")
    paths = sorted(tmp_path.iterdir())
    assert Path(first.filename) == paths[0]
    assert Path(following.filename) == paths[-1]
    for path in paths:
        with seekwarc.open(path) as archive:
            warcinfo, *_ = archive
            assert warcinfo.warc_fields == (("software", "test"),)
