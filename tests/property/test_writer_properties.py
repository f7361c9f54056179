"""Whatever is written is read back: any records, sizes, options; by the whole and by ranges."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.format.rules import FIELD_RULES, RECORD_TYPES
from tests.support.rounds import rounds
from tests.support.series import assert_conforms, errors_of, files_in, labelled, logical_records
from tests.support.strategies import (
    DATES,
    EXTENSION_NAMES,
    IDS,
    URIS,
    allowed_fields,
    field_names,
    field_values,
)
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    Stream,
    entries_of,
    header_for,
    noise,
    small_dictionary,
    table_entries,
    text,
    walk,
    written,
)

FRAME = 64 * KIB

FRAME_SIZES = st.sampled_from([FRAME, FRAME + 1, 100_000, 128 * KIB, 200_000])
TABLES = st.sampled_from(["large", "every", "none"])
THREADS = st.sampled_from([1, 2, 3])
LEVELS = st.sampled_from([-7, 1, 3])

NEAR_MULTIPLES = st.builds(
    lambda k, d: max(k * FRAME + d, 0), st.integers(0, 5), st.sampled_from([-5, -4, -3, -1, 0, 1, 4, 17])
)
SIZES = st.one_of(st.integers(0, 300), NEAR_MULTIPLES, st.integers(0, 400_000))


@st.composite
def blocks(draw: st.DrawFn) -> bytes:
    """Markup, noise, one after the other, or a few arbitrary bytes."""
    kind = draw(st.sampled_from(["text", "noise", "mixed", "zeros", "any"]))
    if kind == "any":
        return draw(st.binary(max_size=200))
    size = draw(SIZES)
    if kind == "zeros":
        return bytes(size)
    seed = draw(st.integers(0, 3))
    if kind == "mixed":
        cut = draw(st.integers(0, size))
        return text(400_100, seed)[:cut] + noise(400_100, seed)[: size - cut]
    return (text if kind == "text" else noise)(400_100, seed)[:size]


VALUES = st.text(st.characters(blacklist_characters="\r\n\0", blacklist_categories=["Cs"]), max_size=40)
NAMES = st.from_regex(r"X-[A-Za-z0-9-]{0,10}", fullmatch=True)


@st.composite
def raw_records(draw: st.DrawFn) -> tuple[bytes, bytes]:
    block = draw(blocks())
    http = draw(st.booleans())
    if http:
        block = HTTP_HEAD + block
    fields = draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))
    content_type = RESPONSE if http else draw(st.sampled_from(["text/plain", RESPONSE]))
    return header_for(len(block), *fields, content_type=content_type), block


DICTIONARIES = st.booleans().map(lambda wanted: small_dictionary() if wanted else None)
OPTIONS = st.fixed_dictionaries(
    {
        "frame_size": FRAME_SIZES,
        "tables": TABLES,
        "threads": THREADS,
        "level": LEVELS,
        "dictionary": DICTIONARIES,
        "compress_dictionary": st.booleans(),
    }
)
ROUND_TRIP = settings(
    max_examples=rounds(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check_ranges(extent: seekwarc.Extent, expected: bytes, data: st.DataObject) -> None:
    assert extent.size == len(expected)
    for _ in range(3):
        start = data.draw(st.one_of(st.integers(0, len(expected) + 2), NEAR_MULTIPLES), label="start")
        length = data.draw(st.one_of(st.integers(0, 2000), NEAR_MULTIPLES), label="length")
        verify = data.draw(st.booleans(), label="verify")
        assert extent.pread(start, length, verify=verify) == expected[start : start + length]


@pytest.mark.slow
@given(records=st.lists(raw_records(), min_size=1, max_size=6), options=OPTIONS, data=st.data())
@ROUND_TRIP
def test_raw_records_come_back_byte_for_byte(
    records: list[tuple[bytes, bytes]], options: dict[str, Any], data: st.DataObject
) -> None:
    stored, places = written(*records, **options)
    with seekwarc.open(stored) as archive:
        found = list(archive)
        assert [record.header.raw for record in found] == [header for header, _ in records]
        assert [record.block.read() for record in found] == [block for _, block in records]
        assert [(r.offset, r.length) for r in found] == [(p.offset, p.length) for p in places]
    with seekwarc.open(stored, cache_size=data.draw(st.sampled_from([0, 1 << 20]))) as archive:
        number = data.draw(st.integers(0, len(records) - 1), label="record")
        place, (header, block) = places[number], records[number]
        length = data.draw(st.sampled_from([None, place.length]), label="length")
        record = archive.record_at(place.offset, length)
        assert record.header.raw == header
        check_ranges(record.block, block, data)
        head = record.http.size if record.http else 0
        if record.content_type == RESPONSE and block.startswith(HTTP_HEAD):
            assert head == len(HTTP_HEAD)
        check_ranges(record.payload, block[head:], data)


@pytest.mark.slow
@given(
    items=st.lists(
        st.tuples(
            blocks(),
            st.booleans(),
            st.booleans(),
            st.sampled_from(["response", "resource", "x-own"]),
            URIS,
            DATES,
            allowed_fields(),
        ),
        min_size=1,
        max_size=5,
    ),
    options=OPTIONS,
    digest=st.sampled_from(["sha1", "sha256", None]),
)
@ROUND_TRIP
def test_built_records_come_back_with_their_fields(
    items: list[Any], options: dict[str, Any], digest: Any
) -> None:
    target = io.BytesIO()
    expected = []
    with seekwarc.Writer(target, digest=digest, **options) as writer:
        for block, piped, with_length, kind, uri, date, fields in items:
            source = Stream(block, most=30_000) if piped else block
            length = len(block) if with_length else None
            place = writer.write(
                kind, target_uri=uri, block=source, length=length, date=date, headers=[*fields]
            )
            expected.append((place, block))
    with seekwarc.open(target.getvalue()) as archive:
        for record, (place, block), item in zip(archive, expected, items, strict=True):
            *_, kind, uri, date, fields = item
            assert record.header.raw == place.header.raw
            assert (record.type, record.target_uri) == (kind, uri)
            assert [field for field in record.header.items() if field in fields] == fields
            assert isinstance(date, str) or record.date.datetime == date
            assert record.block.read() == block
            assert (record.offset, record.length) == (place.offset, place.length)
            assert errors_of(record.header) == []


HOSTILE_NAMES = st.one_of(st.sampled_from([rule.name for rule in FIELD_RULES]), field_names)
HOSTILE_VALUES = st.one_of(
    field_values, URIS, IDS, st.sampled_from(["1", "2", "2026", "text/html", "sha1:abc", "length", "", "<>"])
)


@pytest.mark.slow
@given(
    kind=st.sampled_from([*sorted(RECORD_TYPES), "x-own", ""]),
    target_uri=st.one_of(st.none(), URIS, field_values),
    fields=st.lists(st.tuples(HOSTILE_NAMES, HOSTILE_VALUES), max_size=4),
)
@settings(max_examples=rounds(300))
def test_any_fields_are_refused_or_written_by_the_standard(
    kind: str, target_uri: str | None, fields: list[tuple[str, str]]
) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, threads=1) as writer:
        try:
            writer.write(kind, target_uri=target_uri, block=b"block", headers=fields)
        except ValueError:
            writer.flush()
            assert target.getvalue() == b""
        writer.write("resource", target_uri="urn:x:1", block=b"good")
    with seekwarc.open(target.getvalue()) as archive:
        found = [(record.header, record.block.read()) for record in archive]
    assert found[-1][1] == b"good"
    for header, block in found[:-1]:
        assert errors_of(header) == []
        assert header.content_length == len(block)


@st.composite
def series_items(draw: st.DrawFn) -> dict[str, Any]:
    """Draw records of all sizes; all that are too large for a file may be segmented."""
    kind = draw(st.sampled_from(["small", "small", "large"]))
    size = draw(st.integers(0, 60_000)) if kind == "small" else draw(st.integers(60_000, 900_000))
    make = draw(st.sampled_from([text, noise, lambda size, seed: noise(size // 2, seed) + text(size, seed)]))
    block = make(900_000, draw(st.integers(0, 2)))[:size]
    is_response = draw(st.booleans())
    return {
        "type": "response" if is_response else "resource",
        "block": HTTP_HEAD + block if is_response else block,
        "piped": draw(st.booleans()),
        "content_type": RESPONSE if is_response else "text/plain",
        "headers": draw(allowed_fields()),
        "target_uri": draw(URIS),
    }


@pytest.mark.slow
@given(
    items=st.lists(series_items(), min_size=1, max_size=12),
    options=st.fixed_dictionaries(
        {
            "max_file_size": st.integers(210_000, 600_000),
            "tables": TABLES,
            "threads": THREADS,
            "dictionary": DICTIONARIES,
            "digest": st.sampled_from(["sha1", "sha256", None]),
        }
    ),
    warcinfo=st.one_of(st.none(), st.dictionaries(EXTENSION_NAMES, field_values, min_size=1, max_size=3)),
)
@settings(ROUND_TRIP, max_examples=rounds(50))
def test_a_series_comes_back_whole_and_keeps_to_clause_7(
    items: list[dict[str, Any]], options: dict[str, Any], warcinfo: dict[str, str] | None
) -> None:
    dictionary, digest = options["dictionary"], options["digest"]
    with tempfile.TemporaryDirectory() as folder:
        places = []
        path = Path(folder) / "crawl.warc.zst"
        with seekwarc.Writer(path, frame_size=FRAME, **options) as writer:
            if warcinfo is not None:
                writer.write_warcinfo(warcinfo)
            for item in items:
                record = dict(item)
                if record.pop("piped"):
                    record["block"] = Stream(record["block"], most=30_000)
                places.append(writer.write(**record))
        files = files_in(Path(folder))
    assert_conforms(files, options["max_file_size"], dictionary=dictionary.data if dictionary else None)
    found = logical_records(files)
    assert [data for _, data in found] == [item["block"] for item in items]
    assert [record.header for record, _ in found] == [place.header for place in places]
    for (record, data), item, place in zip(found, items, places, strict=True):
        assert (Path(folder) / record.file, record.offset, record.length) == (
            Path(place.filename),
            place.offset,
            place.length,
        )
        fields = [(name, value) for name, value in item["headers"] if name != "WARC-Truncated"]
        assert [field for field in record.header.items() if field in fields] == fields
        if record.segment is None and digest is not None:
            assert record["WARC-Block-Digest"] == labelled(digest, data)
    if warcinfo is not None:
        assert len({file.records[0].block for file in files}) == 1


@given(records=st.lists(raw_records(), min_size=1, max_size=4), options=OPTIONS)
@ROUND_TRIP
def test_every_table_lists_exactly_the_frames_before_it(
    records: list[tuple[bytes, bytes]], options: dict[str, Any]
) -> None:
    stored, _ = written(*records, **options)
    dictionary = options["dictionary"]
    frames = walk(stored, dictionary.data if dictionary else None)
    for index, table in enumerate(frames):
        if table.is_table:
            entries = table_entries(table)
            assert entries == entries_of(frames[index - len(entries) : index])
    for frame in frames:
        if frame.is_data:
            assert frame.stated_size == len(frame.content) > 0
            assert frame.trailer == frame.checksum
            assert frame.dictionary_id == (dictionary.id if dictionary else 0)
            assert len(frame.content) <= 8 << 20
    if options["tables"] == "large":
        assert frames[-1].is_table
        assert len(table_entries(frames[-1])) == len(frames) - 1


@given(records=st.lists(raw_records(), min_size=1, max_size=5), options=OPTIONS)
@ROUND_TRIP
def test_the_number_of_threads_does_not_change_the_file(
    records: list[tuple[bytes, bytes]], options: dict[str, Any]
) -> None:
    one, two = (written(*records, **{**options, "threads": threads})[0] for threads in (1, 3))
    assert one == two
