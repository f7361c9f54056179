"""Rows of a columnar index: columns as Common Crawl has them, and lines of CDXJ made of them again."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.cdx.columnar import COLUMNS, READ, line_of, row_of, schema_of, timestamp_at
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.surt import surt
from tests.conftest import ROOT

# Names and types of cc-index-schema-flat.json, and the columns that may be null there.
COMMON_CRAWL = """
url_surtkey string, url string, url_host_name string, url_host_tld string?, url_host_2nd_last_part string?,
url_host_3rd_last_part string?, url_host_4th_last_part string?, url_host_5th_last_part string?,
url_host_registry_suffix string?, url_host_registered_domain string?, url_host_private_suffix string?,
url_host_private_domain string?, url_host_name_reversed string?, url_protocol string, url_port int32?,
url_path string, url_query string?, fetch_time timestamp[ms, tz=UTC], fetch_status int16,
fetch_redirect string?,
content_digest string?, content_mime_type string?, content_mime_detected string?, content_charset string?,
content_languages string?, content_truncated string?, warc_record_id fixed_size_binary[16]?,
warc_filename string,
warc_record_offset int64, warc_record_length int64, warc_segment string
"""
DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_columns_are_those_of_common_crawl_and_then_ours() -> None:
    schema = schema_of(COLUMNS)
    listed = " ".join(COMMON_CRAWL.split()).replace("ms, tz", "ms; tz").split(", ")
    expected = [it.split(" ", 1) for it in listed]
    found = [[it.name, f"{it.type}{'?' * it.nullable}".replace(", ", "; ")] for it in schema]
    assert found[: len(expected)] == expected
    assert [name for name, _ in found[len(expected) :]] == [
        "record_type",
        "payload_size",
        "payload_offset",
        "frames",
        "seek_table",
        "refers_to_target_uri",
        "refers_to_date",
    ]


def test_the_statement_for_athena_ends_as_the_columns_do() -> None:
    page = (ROOT / "spec-notes/indexes.md").read_text("utf-8")
    statement = page.partition("```sql\n")[2].partition(")\n")[0]
    listed = [tuple(it.split()) for it in statement.split(",")]
    kinds = {"string": "STRING", "int32": "INT", "int64": "BIGINT"}
    columns = [(it.name, kinds[str(it.type)]) for it in [*schema_of(COLUMNS)][-len(listed) :]]
    assert listed == columns
    assert listed[:2] == [("warc_record_offset", "BIGINT"), ("warc_record_length", "BIGINT")]


def line(**fields: str) -> CdxjLine:
    about = {"url": "http://example.org/a?b", "filename": "a.warc.zst", "offset": "5", "length": "7"}
    return CdxjLine("org,example)/a?b", "20261121093000", {**about, **fields})


def values(made: CdxjLine) -> dict[str, object]:
    return dict(zip(COLUMNS, row_of(made), strict=True))


def test_values_are_those_of_the_line() -> None:
    row = values(
        line(
            status="200",
            mime="text/html",
            digest=f"sha1:{DIGEST}",
            recordId="<urn:uuid:00000000-0000-4000-8000-0000000000ff>",
            payloadSize="5000000000",
            redirect="http://example.org/c",
        )
    )
    assert row["url_surtkey"] == "org,example)/a?b"
    assert (row["url_host_name"], row["url_path"], row["url_query"]) == ("example.org", "/a", "b")
    assert row["fetch_time"] == 1795253400000
    assert (row["fetch_status"], row["content_digest"]) == (200, DIGEST)
    assert row["warc_record_id"] == bytes.fromhex("000000000000400080000000000000ff")
    assert (row["warc_record_offset"], row["warc_record_length"]) == (5, 7)
    assert (row["payload_size"], row["fetch_redirect"]) == (5_000_000_000, "http://example.org/c")
    assert row["warc_segment"] == ""


def test_what_is_unknown_has_no_value() -> None:
    row = values(line(status="-", digest="sha256:00", recordId="id", frames="many"))
    assert row["fetch_status"] == -1
    assert row["content_digest"] == "sha256:00"
    assert row["warc_record_id"] is row["frames"] is row["content_mime_type"] is None


def test_segments_are_found_in_names_of_common_crawl() -> None:
    name = "crawl-data/CC-MAIN-2026-30/segments/1783.7/warc/CC-MAIN-1.warc.gz"
    assert values(line(filename=name))["warc_segment"] == "1783.7"


@pytest.mark.parametrize("field", ["url", "filename", "offset"])
def test_a_line_that_leads_nowhere_is_refused(field: str) -> None:
    made = line()
    fields = {name: value for name, value in made.fields.items() if name != field}
    with pytest.raises(FormatError):
        row_of(CdxjLine(made.key, made.timestamp, fields))


@given(st.binary(max_size=30))
def test_uris_of_any_bytes_keep_their_key(tail: bytes) -> None:
    uri = "http://example.org/" + tail.decode("utf-8", "surrogateescape")
    stored = values(line(url=uri))["url"]
    assert isinstance(stored, str)
    stored.encode()
    assert surt(stored) == surt(uri)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
NUMBER = st.integers(0, 10**9).map(str)
FIELDS = st.fixed_dictionaries(
    {"url": TEXT, "filename": TEXT, "offset": NUMBER, "length": NUMBER},
    optional={
        **dict.fromkeys(["mime", "mime-detected", "charset", "languages", "truncated", "warc-type"], TEXT),
        **dict.fromkeys(["redirect", "refersToDate", "seekTable", "refersToUri"], TEXT),
        **dict.fromkeys(["payloadSize", "payloadOffset", "frames"], NUMBER),
        "status": st.integers(100, 999).map(str),
        "digest": st.sampled_from([f"sha1:{DIGEST}", "md5:00"]),
        "recordId": st.uuids().map(lambda it: f"urn:uuid:{it}"),
    },
)


@given(FIELDS)
def test_lines_come_back_from_rows(fields: dict[str, str]) -> None:
    made = CdxjLine("org,example)/", "20261121093000", fields)
    row = values(made)
    schema = schema_of(COLUMNS)
    batch = pa.RecordBatch.from_pylist([row], schema=schema)
    stored = batch.to_pylist()[0]
    back = line_of(made.key, made.timestamp, {name: stored[name] for name in READ})
    assert dict(back.fields) == fields


def test_instants_outside_of_all_years_are_refused() -> None:
    assert timestamp_at(1795253400999) == "20261121093000"
    with pytest.raises(FormatError):
        timestamp_at(1 << 62)
