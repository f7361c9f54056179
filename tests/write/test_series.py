"""Series of files with a maximum size, and records in segments (WARC 1.1, clause 7)."""

from __future__ import annotations

import errno
import io
import itertools
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.file_layout import FileLayout
from seekwarc.write.opening import open_output
from tests.support.failing import Disk
from tests.support.series import (
    FRAME,
    MAX,
    SLACK,
    Found,
    assert_conforms,
    errors_of,
    files_in,
    labelled,
    logical_records,
    next_frame_size,
    segmented,
    series_of,
    user_records,
    write_series,
)
from tests.support.writing import (
    DATE,
    DICTIONARY_FRAME_MAGIC,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    Stream,
    header_for,
    noise,
    record_id,
    small_dictionary,
    text,
)

MODES = ("large", "every", "none")
BIG = {"block": noise(700_000), "content_type": "video/mp4"}
"""A record of three segments."""
CLOSE = 400
"""IDs, dates and digests, which are not known yet when a segment ends, take more bytes or fewer."""


def small(number: int = 0, size: int = 20_000) -> dict[str, Any]:
    return {"block": noise(size, number), "content_type": "text/plain"}


def opened(folder: Path, *, name: str = "crawl.warc.zst", **options: Any) -> seekwarc.Writer:
    return seekwarc.Writer(folder / name, **{"frame_size": FRAME, "max_file_size": MAX, **options})


def put(writer: seekwarc.Writer, **record: Any) -> seekwarc.Written:
    return writer.write(**{"type": "resource", "target_uri": URI, **record})


# Names and heads of files.


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("crawl.warc.zst", ["crawl-00000.warc.zst", "crawl-00001.warc.zst"]),
        ("my.crawl.warc.zst", ["my.crawl-00000.warc.zst", "my.crawl-00001.warc.zst"]),
        ("crawl.warc", ["crawl-00000.warc", "crawl-00001.warc"]),
        ("crawl.zst", ["crawl-00000.zst", "crawl-00001.zst"]),
        ("crawl", ["crawl-00000", "crawl-00001"]),
        ("späße 2.warc.zst", ["späße 2-00000.warc.zst", "späße 2-00001.warc.zst"]),
    ],
)
def test_the_number_is_put_before_the_extension(given: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.folder").mkdir()
    with opened(tmp_path / "a.folder", name=given) as writer:
        for number in range(20):
            put(writer, **small(number))
    assert sorted(os.listdir(tmp_path / "a.folder")) == names
    assert os.listdir(tmp_path) == ["a.folder"]


def test_a_name_without_a_folder_is_relative_to_the_cwd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with seekwarc.Writer("crawl.warc.zst", max_file_size=4 * MIB) as writer:
        place = put(writer)
    assert os.listdir(tmp_path) == [place.filename] == ["crawl-00000.warc.zst"]


def test_the_writer_names_its_current_file(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        assert writer.name == str(tmp_path / "crawl-00000.warc.zst")
        put(writer, **BIG)
        assert writer.name == str(tmp_path / "crawl-00002.warc.zst")
        assert writer.name in repr(writer)


def test_a_file_gets_its_name_when_the_next_one_is_begun(tmp_path: Path) -> None:
    def seen() -> list[str]:
        return sorted(os.listdir(tmp_path))

    with opened(tmp_path) as writer:
        for number in range(10):
            put(writer, **small(number))
        assert seen() == ["crawl-00000.warc.zst.open"]
        for number in range(10):
            put(writer, **small(number))
        assert seen() == ["crawl-00000.warc.zst", "crawl-00001.warc.zst.open"]
    assert seen() == sorted(os.listdir(tmp_path)) == ["crawl-00000.warc.zst", "crawl-00001.warc.zst"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("make", [text, noise])
def test_small_records_continue_in_the_next_file(
    tables: str, threads: int, make: Callable[[int, int], bytes], tmp_path: Path
) -> None:
    count = 30 if make is noise else 150
    blocks = [make(20_000, number % 50) for number in range(count)]
    files = series_of(tmp_path, *({"block": block} for block in blocks), tables=tables, threads=threads)
    assert_conforms(files)
    assert len(files) > 1
    assert [record.block for record in user_records(files)] == blocks
    assert all(record.segment is None for record in user_records(files))
    for file, following in itertools.pairwise(files):
        # A record counts as large as it is, and may turn out smaller when it is compressed.
        assert file.size + 20_000 + 2 * KIB > MAX
        assert following.records[1].length < 21_000


def test_each_record_knows_its_file_and_offset(tmp_path: Path) -> None:
    records = [*(small(number) for number in range(16)), BIG, *(small(number) for number in range(16))]
    places = write_series(tmp_path, *records)
    assert len({place.filename for place in places}) > 3
    for number, place in enumerate(places):
        with seekwarc.open(place.filename) as archive:
            record = archive.record_at(place.offset, place.length)
            assert record.id == record_id(number)
            assert record.header == place.header
            assert record.length == place.length


def test_an_offset_is_known_before_the_series_is_closed(tmp_path: Path) -> None:
    with opened(tmp_path, threads=4) as writer:
        places = [put(writer, **small(number)) for number in range(20)]
        found = [(place.filename, place.offset, place.length) for place in places]
    assert found == [(place.filename, place.offset, place.length) for place in places]
    assert found == [(str(tmp_path / r.file), r.offset, r.length) for r in user_records(files_in(tmp_path))]


def test_each_file_begins_with_a_warcinfo_record(tmp_path: Path) -> None:
    files = series_of(tmp_path, small(), BIG, small())
    assert_conforms(files)
    for file in files:
        info = file.records[0]
        assert b"software: seekwarc" in info.block
        assert b"format: WARC File Format 1.1\r\n" in info.block
        assert info["Content-Type"] == "application/warc-fields"
        assert info["WARC-Block-Digest"] == labelled("sha1", info.block)
        assert [record.type for record in file.records].count("warcinfo") == 1


def test_a_given_warcinfo_record_is_repeated_in_each_file(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        fields = {"software": "crawler/1", "robots": "obey"}
        first = writer.write_warcinfo(fields, headers=[("X-Crawl", "7")])
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    assert len(files) == 3
    for file in files:
        assert file.records[0].block == b"software: crawler/1\r\nrobots: obey\r\n"
        assert file.records[0]["X-Crawl"] == "7"
    assert files[0].records[0].header == first.header


def test_fields_given_as_an_iterator_are_repeated_too(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        writer.write_warcinfo(iter([("a", "1"), ("a", "2")]), headers=iter([("X-Crawl", "7")]))
        put(writer, **BIG)
    for file in files_in(tmp_path):
        assert file.records[0].block == b"a: 1\r\na: 2\r\n"
        assert file.records[0]["X-Crawl"] == "7"


@pytest.mark.parametrize("how", ["argument", "header"])
def test_a_given_file_name_is_used_for_one_file_only(how: str, tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        if how == "argument":
            writer.write_warcinfo({"a": "1"}, filename="other.warc.zst")
        else:
            writer.write_warcinfo({"a": "1"}, headers={"WARC-Filename": "other.warc.zst"})
        put(writer, **BIG)
    names = [file.records[0]["WARC-Filename"] for file in files_in(tmp_path)]
    assert names == ["other.warc.zst", "crawl-00001.warc.zst", "crawl-00002.warc.zst"]


def test_a_given_file_name_stays_if_a_new_file_begins_with_it(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        for number in range(13):
            put(writer, **small(number))
        info = writer.write_warcinfo({"a": noise(50_000).hex()}, filename="other.warc.zst")
    *_, last = files_in(tmp_path)
    assert [record["WARC-Filename"] for record in last.records] == ["other.warc.zst"]
    assert last.records[0].header == info.header


def test_no_two_warcinfo_records_have_one_id(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        writer.write_warcinfo({"a": "1"}, headers={"WARC-Record-ID": "<urn:x:1>"})
        put(writer, **BIG)
    ids = [file.records[0]["WARC-Record-ID"] for file in files_in(tmp_path)]
    assert ids[0] == "<urn:x:1>"
    assert len(set(ids)) == len(ids) == 3


def test_a_warcinfo_record_may_be_written_like_any_other(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        mine = {"block": b"software: mine\r\n", "content_type": "application/warc-fields"}
        writer.write("warcinfo", **mine)
        put(writer, **small())
    (file,) = files_in(tmp_path)
    assert [record.type for record in file.records] == ["warcinfo", "resource"]
    assert file.records[0].block == b"software: mine\r\n"


def test_a_raw_warcinfo_record_is_the_head_of_its_file(tmp_path: Path) -> None:
    header = header_for(0).replace(b"resource", b"warcinfo")
    with opened(tmp_path) as writer:
        writer.write_raw(header, b"")
        put(writer, **small())
    (file,) = files_in(tmp_path)
    assert [record.type for record in file.records] == ["warcinfo", "resource"]


def test_a_refused_warcinfo_record_is_not_repeated(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        writer.write_warcinfo({"software": "good"})
        with pytest.raises(seekwarc.RuleError, match=r"WARC-Target-URI.*warcinfo"):
            writer.write_warcinfo({"software": "bad"}, headers={"WARC-Target-URI": URI})
        with pytest.raises(ValueError, match="cannot name a field"):
            writer.write_warcinfo({"a field": "bad"})
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    assert {file.records[0].block for file in files} == {b"software: good\r\n"}


def test_a_refused_first_warcinfo_record_is_not_repeated(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        with pytest.raises(seekwarc.RuleError):
            writer.write_warcinfo({"software": "bad"}, headers={"WARC-Target-URI": URI})
        put(writer, **small())
    assert_conforms(files_in(tmp_path))


def test_a_later_warcinfo_record_counts_in_later_file_sizes(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        writer.write_warcinfo({"software": "a"})
        put(writer, **small())
        writer.write_warcinfo({"software": noise(50_000).hex()})
        put(writer, **BIG)
        for number in range(20):
            put(writer, **small(number))
    files = files_in(tmp_path)
    assert [file.name for file in files if file.size > MAX] == []
    assert_conforms(files)


def test_a_later_warcinfo_record_keeps_the_maximum_size(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        for number in range(14):
            put(writer, **small(number))
        writer.write_warcinfo({"software": noise(50_000).hex()})
    assert max(file.size for file in files_in(tmp_path)) <= MAX


def test_only_warcinfo_records_precede_a_first_segment(
    tmp_path: Path,
) -> None:
    """Files do not all begin with as many bytes as the first."""
    with opened(tmp_path) as writer:
        writer.write_warcinfo({"software": noise(10_000).hex()})
        writer.write_warcinfo({"software": "short"})
        for number in range(13):
            put(writer, **small(number))
        put(writer, **small(size=15_000))
        while writer.name.endswith("0.warc.zst"):
            put(writer, **small(size=5000))
        put(writer, **BIG)
    files = files_in(tmp_path)
    (segments,) = segmented(files)
    for segment in segments:
        file = next(file for file in files if file.name == segment.file)
        assert [record.type for record in file.records[: file.records.index(segment)]] == ["warcinfo"]


def test_a_file_with_a_longer_warcinfo_record_is_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = (f"<urn:x:{noise(30, number).hex() * bool(number)}:{number}>" for number in itertools.count())
    monkeypatch.setattr("seekwarc.write.record_file.new_id", lambda: next(ids))
    with opened(tmp_path) as writer:
        for number in range(14):
            put(writer, **small(number))
        with pytest.raises(seekwarc.FormatError):
            writer.write_raw(header_for(100_000), io.BytesIO(b"short"))
        put(writer, **BIG)
    assert_conforms(files_in(tmp_path))


# Segments.


@pytest.mark.one_in(5)
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("kind", ["response", "resource"])
@pytest.mark.parametrize("wrap", [bytes, io.BytesIO, Stream])
@pytest.mark.parametrize("before", [0, 1])
def test_a_record_too_large_for_a_file_becomes_segments(
    tables: str, kind: str, wrap: Callable[[bytes], Any], before: int, tmp_path: Path
) -> None:
    payload = text(500_000) + noise(600_000) + text(900_000, seed=1)
    block = (HTTP_HEAD if kind == "response" else b"") + payload
    record = {
        "type": kind,
        "block": wrap(block),
        "content_type": RESPONSE if kind == "response" else "video/mp4",
    }
    files = series_of(tmp_path, *[small()] * before, record, small(), tables=tables, threads=3)
    assert_conforms(files)
    assert [len(segments) for segments in segmented(files)] == [4]
    found = logical_records(files)
    assert [data for _, data in found] == [small()["block"]] * before + [block, small()["block"]]
    first = found[before][0]
    assert first.type == kind
    assert first["Content-Type"] == record["content_type"]
    assert first["WARC-Payload-Digest"] == (labelled("sha1", payload) if kind == "response" else None)
    for segment in segmented(files)[0]:
        assert segment["WARC-Block-Digest"] == labelled("sha1", segment.block)
    last = segmented(files)[0][-1]
    assert last["WARC-Segment-Total-Length"] == str(len(block))
    assert first["WARC-Record-ID"] == f"<{record_id(before)}>"


def test_the_first_segment_is_returned(tmp_path: Path) -> None:
    small_one, place = write_series(tmp_path, small(), BIG)
    (segments,) = segmented(files_in(tmp_path))
    assert place.header == segments[0].header
    assert (place.filename, place.offset) == (str(tmp_path / segments[0].file), segments[0].offset)
    assert place.filename != small_one.filename
    assert place.header["WARC-Segment-Number"] == "1"


@pytest.mark.parametrize("digest", ["sha1", "sha256", None])
def test_segments_have_block_digests_and_one_payload_digest(digest: Any, tmp_path: Path) -> None:
    body = noise(700_000)
    coded = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:300_000], body[300_000:]))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    record = {
        "type": "response",
        "block": Stream(head + coded + b"0\r\n\r\n"),
        "content_type": RESPONSE,
    }
    files = series_of(tmp_path, record, digest=digest)
    assert_conforms(files)
    (segments,) = segmented(files)
    assert segments[0]["WARC-Payload-Digest"] == (labelled(digest, body) if digest else None)
    for segment in segments:
        assert segment["WARC-Block-Digest"] == (labelled(digest, segment.block) if digest else None)
    assert all("WARC-Payload-Digest" not in segment.header for segment in segments[1:])


def test_given_fields_are_in_the_first_segment_only(tmp_path: Path) -> None:
    given = {
        "WARC-IP-Address": "192.0.2.1",
        "WARC-Concurrent-To": "<urn:x:9>",
        "WARC-Warcinfo-ID": "<urn:x:8>",
        "WARC-Identified-Payload-Type": "video/mp4",
        "WARC-Payload-Digest": labelled("sha256", b"what it is"),
        "X-Own": "kept",
    }
    files = series_of(tmp_path, {**BIG, "type": "response", "headers": given})
    assert_conforms(files)
    (segments,) = segmented(files)
    for name, value in given.items():
        assert segments[0][name] == value
        assert all(name not in segment.header for segment in segments[1:])


def test_a_given_block_digest_is_not_that_of_a_segment(tmp_path: Path) -> None:
    block = BIG["block"]
    given = {"warc-block-digest": labelled("sha256", block)}
    files = series_of(tmp_path, {**BIG, "headers": given}, {**small(), "headers": given})
    (segments,) = segmented(files)
    assert [one["WARC-Block-Digest"] for one in segments] == [labelled("sha1", one.block) for one in segments]
    assert list(user_records(files))[-1]["WARC-Block-Digest"] == given["warc-block-digest"]


def test_a_given_content_length_is_that_of_the_whole_record(tmp_path: Path) -> None:
    length = {"headers": {"content-length": str(len(BIG["block"]))}}
    files = series_of(tmp_path, {**BIG, **length}, {**BIG, **length, "block": Stream(BIG["block"] + b"more")})
    assert_conforms(files)
    assert [data for _, data in logical_records(files)] == [BIG["block"]] * 2


def test_warc_truncated_is_in_the_last_segment(tmp_path: Path) -> None:
    headers = {"WARC-Truncated": "time"}
    files = series_of(tmp_path, {**BIG, "headers": headers}, {**small(), "headers": headers})
    assert_conforms(files)
    (segments,) = segmented(files)
    assert [one["WARC-Truncated"] for one in segments] == [None, None, "time"]
    assert list(user_records(files))[-1]["WARC-Truncated"] == "time"


def test_all_segments_have_the_given_date(tmp_path: Path) -> None:
    files = series_of(tmp_path, {**BIG, "date": "2026-11-05T12:00:00.123456789Z"})
    (segments,) = segmented(files)
    assert {one["WARC-Date"] for one in segments} == {"2026-11-05T12:00:00.123456789Z"}


@pytest.mark.parametrize("before", [0, 1, 10])
def test_a_record_that_fits_into_a_new_file_is_not_segmented(before: int, tmp_path: Path) -> None:
    block = noise(MAX - SLACK - KIB)
    files = series_of(tmp_path, *map(small, range(before)), {"block": block})
    assert_conforms(files)
    assert segmented(files) == []
    assert files[-1].records[1].block == block
    assert len(files) == 1 + bool(before)


def test_a_large_record_that_fits_goes_into_the_current_file(tmp_path: Path) -> None:
    files = series_of(tmp_path, small(), {"block": noise(200_000)}, small(1))
    assert_conforms(files)
    assert len(files) == 1


def test_records_after_segments_go_into_the_last_file(tmp_path: Path) -> None:
    files = series_of(tmp_path, BIG, small(), small(1))
    assert_conforms(files)
    assert [record.type for record in files[-1].records] == [
        "warcinfo",
        "continuation",
        "resource",
        "resource",
    ]


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("make", [text, noise])
def test_a_record_that_just_fits_into_a_file_is_not_segmented(tables: str, make: Any, tmp_path: Path) -> None:
    """Clause 7: "if a record could be stored without segmentation by starting a new WARC file"."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    record = {"block": make(2 * MIB)}
    (file,) = series_of(tmp_path / "one", record, max_file_size=10 * MIB, tables=tables)
    files = series_of(tmp_path / "two", record, max_file_size=file.size + CLOSE, tables=tables)
    assert len(files) == 1
    assert segmented(files) == []


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("make", [text, noise])
def test_a_first_segment_takes_all_frames_that_just_fit(tables: str, make: Any, tmp_path: Path) -> None:
    """Clause 7: "the size of the first segment shall be maximized"."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    record = {"block": make(4 * MIB)}
    first, *_ = series_of(tmp_path / "one", record, max_file_size=MIB // 2, tables=tables)
    again, *_ = series_of(tmp_path / "two", record, max_file_size=first.size + CLOSE, tables=tables)
    assert len(again.records[1].block) == len(first.records[1].block)


@pytest.mark.parametrize("make", [text, noise])
@pytest.mark.parametrize("tables", MODES)
def test_no_further_frame_fits_into_the_first_segment(make: Any, tables: str, tmp_path: Path) -> None:
    files = series_of(tmp_path, small(), {"block": make(8 * MAX if make is text else 2 * MAX)}, tables=tables)
    assert_conforms(files)
    (segments,) = segmented(files)
    by_name = {file.name: file for file in files}
    for one, other in itertools.pairwise(segments):
        file, following = by_name[one.file], by_name[other.file]
        assert file.size + next_frame_size(following) + SLACK > MAX
        assert file.size > MAX * 0.75
    if make is noise:
        assert files[1].size + next_frame_size(files[2]) > MAX


@pytest.mark.parametrize(
    "record",
    [
        pytest.param({"type": "metadata", "target_uri": None}, id="no target URI"),
        pytest.param({"type": "x-own", "target_uri": None}, id="no target URI, unknown type"),
        pytest.param(
            {
                "type": "continuation",
                "headers": {"WARC-Segment-Number": "2", "WARC-Segment-Origin-ID": "<urn:x:1>"},
            },
            id="continuation",
        ),
        pytest.param({"type": "response", "headers": {"WARC-Segment-Number": "1"}}, id="first segment"),
    ],
)
def test_a_record_without_segments_makes_a_larger_file(record: dict[str, Any], tmp_path: Path) -> None:
    whole = {"block": Stream(BIG["block"]), **record}
    files = series_of(tmp_path, small(), whole, small(1), {"block": noise(100_000)})
    assert [[r.type for r in file.records] for file in files] == [
        ["warcinfo", "resource"],
        ["warcinfo", record["type"]],
        ["warcinfo", "resource", "resource"],
    ]
    assert files[1].records[1].block == BIG["block"]
    assert [file.size <= MAX for file in files] == [True, False, True]
    assert all(errors_of(record.header) == [] for file in files for record in file.records)


@pytest.mark.parametrize("kind", ["metadata", "request", "conversion", "x-own"])
def test_all_types_with_a_target_uri_are_segmented(kind: str, tmp_path: Path) -> None:
    files = series_of(tmp_path, {**BIG, "type": kind})
    assert_conforms(files)
    assert [one.type for one in segmented(files)[0]] == [kind, "continuation", "continuation"]


@pytest.mark.parametrize("threads", [1, 4])
def test_raw_records_are_not_segmented_or_changed(threads: int, tmp_path: Path) -> None:
    raw = [(header_for(size), noise(size)) for size in (100_000, 700_000, 200_000, 150_000)]
    with opened(tmp_path, threads=threads) as writer:
        for header, block in raw:
            writer.write_raw(header, io.BytesIO(block))
    files = files_in(tmp_path)
    assert [(r.header.raw, r.block) for r in user_records(files)] == raw
    assert [len(file.records) - 1 for file in files] == [1, 1, 1, 1]
    assert [file.size <= MAX for file in files] == [True, False, True, True]


def test_every_file_has_the_dictionary(tmp_path: Path) -> None:
    dictionary = small_dictionary()
    files = series_of(tmp_path, small(), BIG, small(), dictionary=dictionary)
    assert_conforms(files, dictionary=dictionary.data)
    assert len(files) == 4
    for file in files:
        frames = file.frames(dictionary.data)
        assert frames[0].magic == DICTIONARY_FRAME_MAGIC
        assert all(frame.dictionary_id == dictionary.id for frame in frames if frame.is_data)


def test_segments_of_text_end_where_frames_end(tmp_path: Path) -> None:
    files = series_of(tmp_path, {"block": text(4 * MIB)})
    (segments,) = segmented(files)
    for segment in segments[:-1]:
        assert len(segment.block) % FRAME == 0


def test_segments_of_http_payload_end_where_frames_end(tmp_path: Path) -> None:
    record = {"type": "response", "content_type": RESPONSE, "block": HTTP_HEAD + text(4 * MIB)}
    files = series_of(tmp_path, record)
    assert_conforms(files)
    first, *others = segmented(files)[0]
    assert (len(first.block) - len(HTTP_HEAD)) % FRAME == 0
    assert {len(segment.block) % FRAME for segment in others[:-1]} == {0}


def test_every_segment_can_be_read_by_range(tmp_path: Path) -> None:
    write_series(tmp_path, small(), BIG)
    for name in sorted(os.listdir(tmp_path))[1:]:
        with seekwarc.open(tmp_path / name) as archive:
            record = list(archive)[1]
            assert record.seek_table_status in ("record", "file")
            block = record.block.read()
            assert record.block.pread(100_001, 1000) == block[100_001:101_001]
            assert record.block.plan(100_001, 101_001).frames == 1


def fixed_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [f"<urn:uuid:{uuid.UUID(int=number)}>" for number in range(1000)]
    monkeypatch.setattr("seekwarc.write.header._ids", numbers)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_the_number_of_threads_does_not_change_the_file(
    tables: str, with_dictionary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        *(small(number) for number in range(16)),
        {**BIG, "block": text(2 * MIB)},
        *({"block": text(3000, number)} for number in range(50)),
        {"block": noise(250_000)},
        BIG,
        *(small(number) for number in range(16)),
    ]
    dictionary = small_dictionary() if with_dictionary else None
    contents = []
    for threads in (1, 4):
        with monkeypatch.context() as patch:
            fixed_ids(patch)
            folder = tmp_path / str(threads)
            folder.mkdir()
            with opened(folder, threads=threads, tables=tables, dictionary=dictionary) as writer:
                writer.write_warcinfo({"a": "1"}, headers={"WARC-Date": DATE})
                for number, record in enumerate(records):
                    put(writer, **record, record_id=record_id(number), date=DATE)
        contents.append([(file.name, file.data) for file in files_in(folder)])
    assert len(contents[0]) > 6
    assert contents[0] == contents[1]


# Options.


@pytest.mark.parametrize("size", [-1, 0, 1000, 2 * FRAME])
def test_a_file_size_without_room_for_some_frames_is_refused(size: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"max_file_size is {size}, not within"):
        opened(tmp_path, max_file_size=size)
    assert os.listdir(tmp_path) == []


def test_the_minimum_file_size_works(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not within") as refused:
        opened(tmp_path, max_file_size=FRAME)
    least = int(str(refused.value).split()[-3])
    assert least < 4 * FRAME
    with pytest.raises(ValueError, match="not within"):
        opened(tmp_path, max_file_size=least - 1)
    record = {"type": "response", "content_type": RESPONSE, "block": HTTP_HEAD + noise(500_000)}
    files = series_of(tmp_path, small(), record, small(), max_file_size=least)
    assert_conforms(files, least)
    assert len(files) > 3


def test_a_dictionary_counts_in_the_minimum_file_size(tmp_path: Path) -> None:
    dictionary = small_dictionary()
    size = 3 * FRAME + 4 * KIB
    opened(tmp_path, max_file_size=size).abort()
    with pytest.raises(ValueError, match="max_file_size"):
        opened(tmp_path, max_file_size=size, dictionary=dictionary, compress_dictionary=False)


def test_a_header_too_large_for_a_file_is_refused_unread(tmp_path: Path) -> None:
    stream = io.BytesIO(BIG["block"])
    with opened(tmp_path) as writer:
        with pytest.raises(ValueError, match=r"max_file_size is 300000: .* must be \d+ bytes more"):
            put(writer, block=stream, headers={"X-Long": noise(200_000).hex()})
        assert stream.tell() <= FRAME + 1
        put(writer, **BIG)
    assert_conforms(files_in(tmp_path))


@pytest.mark.parametrize("target", [io.BytesIO, lambda: open_output(io.BytesIO())])
def test_max_file_size_needs_a_path(target: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"max_file_size.* needs a path"):
        seekwarc.Writer(target(), max_file_size=MIB)


def test_a_missing_folder_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(seekwarc.TargetError, match=r"crawl-00000.*cannot be written"):
        opened(tmp_path / "missing")


# Ends and failures.


def test_without_a_record_no_file_is_made(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    with pytest.warns(UserWarning, match="no record"):
        writer.close()
    assert os.listdir(tmp_path) == []


def test_an_exception_keeps_all_files(tmp_path: Path) -> None:
    def write() -> None:
        with opened(tmp_path, threads=4) as writer:
            for number in range(20):
                put(writer, **small(number))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    files = files_in(tmp_path)
    assert_conforms(files)
    assert len(files) == 2
    assert [record.block for record in user_records(files)] == [small(n)["block"] for n in range(20)]


def test_close_is_idempotent_and_then_writing_is_refused(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    put(writer, **BIG)
    for _ in range(2):
        writer.close()
        writer.abort()
    with pytest.raises(ValueError, match="closed"):
        put(writer, **small())
    assert_conforms(files_in(tmp_path))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("before", [0, 1, 10])
def test_a_failing_stream_leaves_no_segment(threads: int, before: int, tmp_path: Path) -> None:
    with opened(tmp_path, threads=threads) as writer:
        for number in range(before):
            put(writer, **small(number))
        with pytest.raises(ConnectionResetError):
            put(writer, block=Stream(noise(MIB), fails_after=900_000))
        with pytest.raises(seekwarc.FormatError, match="ended after 700000 bytes"):
            put(writer, block=Stream(BIG["block"]), length=MIB)
        put(writer, **BIG)
        put(writer, **small())
    files = files_in(tmp_path)
    assert_conforms(files)
    assert [data for _, data in logical_records(files)] == [
        *(small(number)["block"] for number in range(before)),
        BIG["block"],
        small()["block"],
    ]


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("room", [10, 100_000, 270_000, 350_000, 400_000])
def test_a_full_disk_amid_segments_leaves_none(threads: int, room: int, disk: Disk, tmp_path: Path) -> None:
    """As there is a record in the current file, all segments are in new ones."""
    with opened(tmp_path, threads=threads) as writer:
        put(writer, **small())
        writer.flush()
        disk.room = room
        with pytest.raises(seekwarc.TargetError, match="No space left"):
            put(writer, **BIG)
        assert len(os.listdir(tmp_path)) == 1, "the current one, and no part of others"
        disk.room = 1 << 60
        put(writer, **small(1))
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    assert [data for _, data in logical_records(files)] == [
        small()["block"],
        small(1)["block"],
        BIG["block"],
    ]


@pytest.mark.parametrize("room", [300_000, 500_000])
def test_a_failed_segment_removes_the_first_one(room: int, disk: Disk, tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        writer.write_warcinfo({"a": "1"})
        disk.room = room
        with pytest.raises(seekwarc.TargetError, match="No space left"):
            put(writer, **BIG)
        disk.room = 1 << 60
        put(writer, **small())
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    assert [data for _, data in logical_records(files)] == [small()["block"], BIG["block"]]


def test_after_failed_segments_no_file_is_left_with_a_head_alone(disk: Disk, tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        disk.room = 500_000
        for _ in range(2):
            with pytest.raises(seekwarc.TargetError, match="No space left"):
                put(writer, **BIG)
        disk.room = 1 << 60
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    with seekwarc.open(tmp_path / "crawl-00000.warc.zst") as first:
        assert [record.type for record in first] == ["warcinfo", "resource"]


@pytest.mark.parametrize("on_error", ["keep", "discard"])
def test_a_file_whose_first_record_failed_is_not_made(on_error: str, tmp_path: Path) -> None:
    with opened(tmp_path, on_error=on_error) as writer:
        put(writer, **small(size=250_000))
        with pytest.raises(ConnectionResetError):
            writer.write_raw(header_for(100_000), Stream(noise(100_000), fails_after=50_000))
    files = files_in(tmp_path)
    assert_conforms(files)
    assert len(files) == 1


@pytest.mark.parametrize("leaves", [False, True])
def test_a_series_whose_first_record_failed_is_not_made(leaves: bool, tmp_path: Path) -> None:
    def write() -> None:
        with opened(tmp_path) as writer:
            try:
                put(writer, block=Stream(noise(200_000), fails_after=100_000), length=200_000)
            except ConnectionResetError:
                if leaves:
                    raise

    with pytest.raises(ConnectionResetError) if leaves else pytest.warns(match="no record was written"):
        write()
    assert os.listdir(tmp_path) == []


def test_a_warcinfo_record_of_the_caller_is_kept_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        put(writer, **small(size=250_000))
        with pytest.raises(ConnectionResetError):
            writer.write_raw(header_for(100_000), Stream(noise(100_000), fails_after=50_000))
        writer.write_warcinfo({"a": "1"})
    assert [record.type for file in files_in(tmp_path) for record in file.records] == [
        "warcinfo",
        "resource",
        "warcinfo",
        "warcinfo",
    ]


@pytest.mark.parametrize("room", [10, 100_000])
def test_the_current_file_continues_when_there_is_room(room: int, disk: Disk, tmp_path: Path) -> None:
    writer = opened(tmp_path)
    for number in range(20):
        put(writer, **small(number))
    writer.flush()
    assert sorted(os.listdir(tmp_path)) == ["crawl-00000.warc.zst", "crawl-00001.warc.zst.open"]
    disk.room = room
    with pytest.raises(seekwarc.TargetError, match="No space left"):
        put(writer, block=noise(250_000))
        writer.flush()
    disk.room = 1 << 60
    put(writer, **small())
    writer.close()
    files = files_in(tmp_path)
    assert_conforms(files)
    blocks = [record.block for record in user_records(files)]
    assert blocks[:20] == [small(number)["block"] for number in range(20)]
    assert blocks[-1] == small()["block"]


def test_a_full_disk_in_the_spool_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.size = 0

        def write(self, data: bytes) -> int:
            self.size += len(data)
            if self.size > 400_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return len(data)

        def close(self) -> None:
            pass

    def write() -> None:
        with opened(tmp_path) as writer:
            for number in range(20):
                put(writer, **small(number))
            monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
            put(writer, **BIG)

    with pytest.raises(seekwarc.TargetError, match=r"temporary file cannot be written: No space left"):
        write()
    assert_conforms(files_in(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["crawl-00000.warc.zst", "crawl-00001.warc.zst"]


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_within_a_segment_keeps_earlier_records(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file is removed, and so is what was being compressed for it."""
    note = FileLayout.note

    def interrupted(layout: FileLayout, *frame: int) -> None:
        if not interrupts and len(os.listdir(tmp_path)) == 3:
            interrupts.append(1)
            raise KeyboardInterrupt
        note(layout, *frame)

    interrupts: list[int] = []
    monkeypatch.setattr(FileLayout, "note", interrupted)
    with pytest.raises(KeyboardInterrupt), opened(tmp_path, threads=threads) as writer:
        put(writer, **small())
        put(writer, **BIG)
    files = files_in(tmp_path)
    assert_conforms(files)
    assert [data for _, data in logical_records(files)] == [small()["block"]]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_file_that_cannot_be_finished_leaves_none(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, count = os.link, itertools.count(1)

    def link(old: str, new: str) -> None:
        if next(count) == failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        original(old, new)

    def rename(old: str, new: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def write() -> None:
        with opened(tmp_path, on_error="discard") as writer:
            put(writer, **small())
            put(writer, block=noise(1_000_000))

    with monkeypatch.context() as patch:
        patch.setattr("os.link", link)
        patch.setattr("os.rename", rename)
        with pytest.raises(seekwarc.TargetError, match="Input/output error"):
            write()
    assert os.listdir(tmp_path) == []


def test_a_file_that_failed_to_open_leaves_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as writer:
        put(writer, **small())
        for failing in (1, 2):
            count = itertools.count(1)

            def create(_: Any, path: str, flags: int, count: Any = count, failing: int = failing) -> int:
                if next(count) == failing:
                    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
                return os.open(path, flags, 0o600)

            with monkeypatch.context() as patch:
                patch.setattr("seekwarc.write.output.OpenOutput._open_new", create)
                with pytest.raises(seekwarc.TargetError, match="Too many open files"):
                    put(writer, **BIG)
            assert len(os.listdir(tmp_path)) == 1
        put(writer, **BIG)
    assert_conforms(files_in(tmp_path))


def test_records_continue_after_a_file_failed_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with opened(tmp_path) as writer:
        blocks = []
        for number in range(14):
            put(writer, **small(number))
            blocks.append(small(number)["block"])
        with monkeypatch.context() as patch:
            patch.setattr("seekwarc.write.output.OpenOutput._open_new", fails)
            with pytest.raises(seekwarc.TargetError, match="Too many open files"):
                put(writer, **small(99))
        put(writer, **small(100))
        blocks.append(small(100)["block"])
    files = files_in(tmp_path)
    assert_conforms(files)
    assert [record.block for record in user_records(files)] == blocks


def test_a_failed_raw_record_in_a_series_is_rolled_back(tmp_path: Path) -> None:
    with opened(tmp_path) as writer:
        put(writer, **small())
        with pytest.raises(seekwarc.FormatError):
            writer.write_raw(header_for(400_000), io.BytesIO(noise(200_000)))
        put(writer, **small(1))
    found: list[Found] = list(user_records(files_in(tmp_path)))
    assert [record.block for record in found] == [small()["block"], small(1)["block"]]
