"""Clause 5: the named fields, each with what it may say and where it may stand."""

from __future__ import annotations

import datetime as dt
import io
import time
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

import pytest

import seekwarc
from seekwarc.format.rules import check_header
from tests.standard.clauses import shall
from tests.standard.material import (
    DATE,
    DIGEST,
    HTTP_HEAD,
    HTTP_TYPE,
    IDENTICAL,
    NOT_MODIFIED,
    OTHER_ID,
    TYPES,
    UNKNOWN_PROFILE,
    UNKNOWN_TYPE,
    URI,
    VALUES,
    assert_allowed,
    assert_forbidden,
    assert_form,
    assert_found,
    assert_refused,
    assert_required,
    collected,
    fields_of,
    findings,
    reading,
    record,
    stored,
    urn,
    write,
    written,
)
from tests.support.writing import KIB, Stream, noise, sha1

ANY_TYPE = [*TYPES, UNKNOWN_TYPE]
OF_AN_EVENT = ("request", "response", "resource", "metadata", "revisit")


def all_but(*kinds: str) -> list[str]:
    return [kind for kind in TYPES if kind not in kinds]


# Which types of record may have which fields.

WELL_DEFINED_PAYLOAD = all_but("warcinfo", "metadata")
REFERS_TO = (
    "The WARC-Refers-To field shall not be used in 'warcinfo', 'response', 'resource', 'request', and "
    "'continuation' records."
)
ORIGIN = "This field is mandatory on all 'continuation' records, and shall not be used in other records."
TOTAL = (
    "This field is mandatory on the last 'continuation' record of a series, and shall not be used elsewhere."
)
ALLOWED_IN = {
    "WARC-Concurrent-To": (
        "5.7",
        (
            "The WARC-Concurrent-To field shall not be used in 'warcinfo', 'conversion', and 'continuation' "
            "records."
        ),
        OF_AN_EVENT,
    ),
    "WARC-Payload-Digest": (
        "5.9",
        (
            "The WARC-Payload-Digest field may be used on WARC records with a well-defined payload and "
            "shall not be used on records without a well-defined payload."
        ),
        WELL_DEFINED_PAYLOAD,
    ),
    "WARC-IP-Address": (
        "5.10",
        (
            "The WARC-IP-Address field may be used on 'response', 'resource', 'request', 'metadata', and "
            "'revisit' records, but shall not be used on 'warcinfo', 'conversion' or 'continuation' records."
        ),
        OF_AN_EVENT,
    ),
    "WARC-Refers-To": ("5.11", REFERS_TO, ("metadata", "revisit", "conversion")),
    "WARC-Refers-To-Target-URI": (
        "5.12",
        (
            "The WARC-Refers-To-Target-URI field may be used in 'revisit' records and shall not be used in "
            "'warcinfo', 'response', 'metadata', 'conversion', 'resource', 'request', and 'continuation' "
            "records."
        ),
        ("revisit",),
    ),
    "WARC-Refers-To-Date": (
        "5.13",
        (
            "The WARC-Refers-To-Date field may be used in 'revisit' records and shall not be used in "
            "'warcinfo', 'response', 'metadata', 'conversion', 'resource', 'request', and 'continuation' "
            "records."
        ),
        ("revisit",),
    ),
    "WARC-Filename": (
        "5.17",
        (
            "The WARC-Filename field may be used in 'warcinfo' type records and shall not be used for other "
            "record types."
        ),
        ("warcinfo",),
    ),
    "WARC-Identified-Payload-Type": (
        "5.19",
        (
            "The WARC-Identified-Payload-Type field may be used on WARC records with a well-defined payload "
            "and shall not be used on records without a well-defined payload."
        ),
        WELL_DEFINED_PAYLOAD,
    ),
    "WARC-Segment-Origin-ID": ("5.21", ORIGIN, ("continuation",)),
    "WARC-Segment-Total-Length": ("5.22", TOTAL, ("continuation",)),
}
"""Fields, each with the clause and the sentence that say which types of record may have it, and those."""


@pytest.mark.parametrize("field", ALLOWED_IN)
@pytest.mark.parametrize("kind", TYPES)
def test_a_field_is_allowed_in_some_types_of_record_and_forbidden_in_others(field: str, kind: str) -> None:
    clause, _, allowed = ALLOWED_IN[field]
    if kind in allowed:
        assert_allowed(field, kind)
    else:
        assert_forbidden(field, kind, clause)


for _clause, _sentence, _ in ALLOWED_IN.values():
    shall(_clause, _sentence)(test_a_field_is_allowed_in_some_types_of_record_and_forbidden_in_others)


# 5.1 General.

NOT_REPEATED = (
    "WARC named fields of the same type shall not be repeated in the same WARC record (for example, a WARC "
    "record shall not have several WARC-Date or several WARC-Target-URI), except as noted (e.g. "
    "WARC-Concurrent-To)."
)
KIND_WITH = {
    "WARC-Refers-To": "metadata",
    "WARC-Refers-To-Target-URI": "revisit",
    "WARC-Refers-To-Date": "revisit",
    "WARC-Filename": "warcinfo",
    "WARC-Profile": "revisit",
    "WARC-Segment-Origin-ID": "continuation",
    "WARC-Segment-Total-Length": "continuation",
}
"""A type of record that may have a field; others may stand in a response."""


@shall("5.1", NOT_REPEATED)
@pytest.mark.parametrize("field", ["WARC-Type", *(name for name in VALUES if name != "WARC-Concurrent-To")])
def test_a_field_is_not_repeated(field: str) -> None:
    kind = KIND_WITH.get(field, "response")
    value = {"WARC-Type": kind, "WARC-Segment-Number": "1"}.get(field) or VALUES[field]
    once = fields_of(kind, {field: value})
    assert findings(once) == []
    twice = [*once, (field.upper(), value)]
    assert_found(twice, "repeated", field, "5.1")
    assert_refused(lambda writer: writer.write(kind, headers=twice), field, repr(kind), "2 times")
    with reading(stored([*once, (field, "another")] if field != "Content-Length" else twice)) as (found,):
        # The first counts, as it does for those who read no further.
        assert found.header[field] == (value if field != "Content-Length" else "0")
        assert len(found.header.get_all(field)) == 2


@shall("5.1", NOT_REPEATED)
def test_concurrent_to_may_be_repeated() -> None:
    fields = [*fields_of("request"), ("WARC-Concurrent-To", OTHER_ID), ("WARC-Concurrent-To", "<urn:x:3>")]
    assert findings(fields) == []
    header = written(lambda writer: writer.write("request", headers=fields))
    assert header.get_all("WARC-Concurrent-To") == (OTHER_ID, "<urn:x:3>")
    with reading(stored(fields)) as (found,):
        assert found.concurrent_to == (OTHER_ID.strip("<>"), "urn:x:3")


UNKNOWN_NAMES = (
    "Because new fields may be defined in extensions to the core WARC format, WARC processing software shall "
    "ignore fields with unrecognized names."
)


@shall("5.1", UNKNOWN_NAMES)
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_fields_of_unknown_names_are_ignored_and_kept(kind: str) -> None:
    unknown = [
        ("X-WARC-Type", "nonsense"),
        ("WARC-Type-Of", "nonsense"),
        ("WARC-Date-Of-Birth", "nonsense"),
        ("WARC-Refers-To-Whom", "nonsense"),
        ("Length", "-1"),
    ]
    fields = [*unknown, *fields_of(kind), *unknown]
    known = fields_of(kind)
    assert findings(fields) == []
    header = written(lambda writer: writer.write(kind, headers=fields))
    assert [pair for pair in header.fields if pair in unknown] == unknown * 2
    with reading(stored(fields, b"block"), stored(known, b"block")) as (found, plain):
        assert [pair for pair in found.header.fields if pair in unknown] == unknown * 2
        for name in ("id", "type", "date", "target_uri", "refers_to_id", "profile", "segment_number"):
            assert getattr(found, name) == getattr(plain, name)
        assert found.block.read() == b"block"


# 5.2 WARC-Record-ID.

LEGAL_ID = (
    "No identifier scheme is mandated by this specification, but each WARC-Record-ID shall be a legal URI "
    "and clearly indicate a documented and registered scheme to which it conforms (e.g. via a URI scheme "
    'prefix such as "http:" or "urn:").'
)


@shall("5.2", LEGAL_ID)
@pytest.mark.parametrize(
    "uri",
    [
        "urn:uuid:0b1c9bd3-70a5-4ec4-a1ff-0f9a4a0a4a5e",
        "http://example.org/r/1?a=b#c",
        "info:x/%C3%BC",
        "tag:a,b:c",
    ],
)
def test_an_identifier_of_any_scheme_may_be_written(uri: str) -> None:
    for given in (uri, f"<{uri}>"):
        header = written(lambda writer, given=given: writer.write_resource(URI, b"", None, record_id=given))
        assert header["WARC-Record-ID"] == f"<{uri}>"
    assert findings(fields_of("resource", {"WARC-Record-ID": f"<{uri}>"})) == []
    with reading(record("resource", warc_record_id=f"<{uri}>")) as (found,):
        assert found.id == uri


@shall("5.2", LEGAL_ID)
def test_identifiers_that_are_not_given_are_legal_and_differ() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        ids = [writer.write_resource(URI, b"", None).header["WARC-Record-ID"] for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(it.startswith("<urn:uuid:") for it in ids)
    assert findings(fields_of("resource", {"WARC-Record-ID": ids[0]})) == []


@shall("5.2", LEGAL_ID)
@pytest.mark.parametrize(
    "value",
    [
        "<no-scheme>",
        "<urn:>",
        "<:x>",
        "<1x:y>",
        "<urn:a b>",
        "<urn:a\tb>",
        "<urn:b\u00fccher>",
        "<urn:%zz>",
        "<urn:a>b>",
        "<>",
        "urn:x:1",
    ],
)
def test_what_is_not_a_legal_identifier_is_refused_found_and_read(value: str) -> None:
    assert_form("WARC-Record-ID", "resource", value, "5.2")


@shall("5.2", "All records shall have a WARC-Record-ID field.")
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_every_record_has_an_identifier(kind: str) -> None:
    assert len(written(write(kind, {"WARC-Record-ID": None})).get_all("WARC-Record-ID")) == 1
    assert_required("WARC-Record-ID", kind, "5.2")


# 5.3 Content-Length.


@shall("5.3", 'If no block is present, a value of "0" (zero) shall be used.')
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_the_length_of_no_block_is_zero(kind: str) -> None:
    for options in ({}, {"block": b""}, {"block": io.BytesIO()}, {"block": Stream(b"")}):
        assert written(write(kind, **options)).get_all("Content-Length") == ("0",)
    with reading(record(kind)) as (found,):
        assert found.content_length == found.block.size == 0
        assert found.block.read() == b""


@shall("5.3", 'If no block is present, a value of "0" (zero) shall be used.')
@pytest.mark.parametrize("value", ["", "-0", "none", "0x0"])
def test_what_is_not_a_length_is_refused_and_cannot_be_read(value: str) -> None:
    assert_refused(write("resource", {"Content-Length": value}), "Content-Length", "'resource'")
    good, bad = record("resource"), record("resource").replace(b"Length: 0", b"Length: " + value.encode())
    with seekwarc.open(good + bad) as archive:
        found = iter(archive)
        next(found)
        with pytest.raises(seekwarc.FormatError, match=rf"offset {len(good)}.*Content-Length"):
            next(found)


@shall("5.3", "All records shall have a Content-Length field.")
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_every_record_has_a_length(kind: str) -> None:
    for block in (b"block", Stream(b"block")):
        assert written(write(kind, block=block)).get_all("Content-Length") == ("5",)
    assert_required("Content-Length", kind, "5.3")


# 5.4 WARC-Date.

INSTANT = "The timestamp shall represent the instant that data capture for record creation began."


class SlowStream(io.BytesIO):
    """A stream that takes more than a second, and knows when it was first read."""

    begun: dt.datetime | None = None

    def read(self, size: int | None = -1) -> bytes:
        if self.begun is None:
            self.begun = dt.datetime.now(dt.UTC)
            time.sleep(1.01)
        return super().read(size)


@shall("5.4", INSTANT)
def test_the_default_date_is_when_writing_began() -> None:
    stream = SlowStream(noise(200 * KIB))
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    header = written(
        lambda writer: writer.write("resource", target_uri=URI, block=stream), frame_size=64 * KIB
    )
    assert stream.begun is not None
    assert before <= seekwarc.WarcDate.parse(header["WARC-Date"]).datetime <= stream.begun


@shall("5.4", INSTANT)
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1996", "1996"),
        ("2016-01", "2016-01"),
        ("2016-01-11", "2016-01-11"),
        ("2016-01-11T23:24Z", "2016-01-11T23:24Z"),
        ("2016-01-11T23:24:25Z", "2016-01-11T23:24:25Z"),
        ("2016-02-29T23:24:25.412030Z", "2016-02-29T23:24:25.412030Z"),
        (dt.datetime(2016, 1, 11, 23, 24, 25, tzinfo=dt.UTC), "2016-01-11T23:24:25Z"),
        (dt.datetime(2016, 1, 11, 23, 24, 25, 412030, tzinfo=dt.UTC), "2016-01-11T23:24:25.412030Z"),
        (
            dt.datetime(2016, 1, 12, 0, 24, 25, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            "2016-01-11T23:24:25Z",
        ),
        (seekwarc.WarcDate.parse("2016-01-11T23:24:25.5Z"), "2016-01-11T23:24:25.5Z"),
    ],
)
def test_a_date_that_is_given_is_the_instant_that_is_written_and_read(given: object, text: str) -> None:
    header = written(lambda writer: writer.write("resource", target_uri=URI, date=given))
    assert header["WARC-Date"] == text
    with reading(record("resource", warc_date=text)) as (found,):
        assert str(found.date) == text
        if isinstance(given, dt.datetime):
            assert found.date.datetime == given


@shall("5.4", INSTANT)
@pytest.mark.parametrize(
    "value",
    [
        "",
        "now",
        "20160111232425",
        "2016-01-11T23:24:25",
        "2016-01-11 23:24:25Z",
        "2016-01-11T23:24:25+01:00",
        "2016-1-11",
        "16-01-11",
        "2016-01-11T23Z",
        "2016-01-11T23:24:25Z ago",
    ],
)
def test_what_is_not_a_utc_date_is_refused_found_and_read(value: str) -> None:
    assert_form("WARC-Date", "resource", value, "5.4")


@shall("5.4", INSTANT)
@pytest.mark.parametrize(
    "value",
    ["2016-13", "2016-00", "2015-02-29", "2016-01-32", "2016-01-11T24:01:00Z", "2016-01-11T23:60:00Z"],
)
def test_what_is_not_an_instant_is_refused_found_and_read_as_text(value: str) -> None:
    with reading(record("resource", warc_date=value)) as (found,):
        assert found.header["WARC-Date"] == value
        assert found.date is None
    assert_form("WARC-Date", "resource", value, "5.4")


SAME_DATE = (
    "Multiple records written as part of a single capture event (see section 5.7) shall use the same "
    "WARC-Date, even though the times of their writing will not be exactly synchronized."
)


@shall("5.4", SAME_DATE)
@pytest.mark.parametrize(
    "date", ["2016-01-11T23:24:25Z", dt.datetime(2016, 1, 11, 23, 24, 25, 412030, tzinfo=dt.UTC)]
)
def test_records_of_one_event_keep_the_date_that_they_are_given(date: object) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        first = writer.write_response(URI, HTTP_HEAD + b"body", date=date)
        both = {"date": first.date, "concurrent_to": first.id}
        writer.write_request(URI, b"GET / HTTP/1.1\r\n\r\n", **both)
        writer.write_metadata({"via": URI}, target_uri=URI, **both)
        again = writer.write_response(URI, HTTP_HEAD + b"body", **both)
    assert again.type == "revisit"
    with seekwarc.open(target.getvalue()) as archive:
        dates = [found.header["WARC-Date"] for found in archive]
    assert dates == [str(first.date)] * 4


@shall("5.4", SAME_DATE)
def test_the_segments_of_a_record_have_one_date(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        writer.write_resource(URI, io.BytesIO(noise(600 * KIB)), None, date="2016-01-11T23:24:25.5Z")
    with seekwarc.Collection(sorted(tmp_path.iterdir())) as collection:
        dates = [it.header["WARC-Date"] for it in collection if it.type != "warcinfo"]
    assert dates == ["2016-01-11T23:24:25.5Z"] * 3


FRACTION = (
    "If WARC-Date includes a decimal fraction of a second, the decimal fraction of a second shall have a "
    "minimum of 1 digit and a maximum of 9 digits."
)


@shall("5.4", FRACTION)
@pytest.mark.parametrize("digits", range(1, 10))
def test_fractions_of_one_to_nine_digits_are_written_and_read(digits: int) -> None:
    date = "2016-01-11T23:24:25." + "123456789"[:digits] + "Z"
    assert findings(fields_of("resource", {"WARC-Date": date})) == []
    header = written(lambda writer: writer.write("resource", target_uri=URI, date=date))
    assert header["WARC-Date"] == date
    with reading(record("resource", warc_date=date)) as (found,):
        assert found.date.precision == "fraction"
        assert found.date.nanoseconds % 10**9 == int("123456789"[:digits].ljust(9, "0"))


@shall("5.4", FRACTION)
@pytest.mark.parametrize("field", ["WARC-Date", "WARC-Refers-To-Date"])
@pytest.mark.parametrize("fraction", [".", ".1234567890", ".123456789012", ",5", ".5.5", ".x"])
def test_other_fractions_are_refused_and_found(field: str, fraction: str) -> None:
    clause = "5.4" if field == "WARC-Date" else "5.13"
    assert_form(field, "revisit", f"2016-01-11T23:24:25{fraction}Z", clause)


@shall("5.4", FRACTION)
def test_a_fraction_of_more_digits_is_cut_where_it_is_read() -> None:
    with reading(record("resource", warc_date="2016-01-11T23:24:25.123456789999Z")) as (found,):
        assert found.date == seekwarc.WarcDate.parse("2016-01-11T23:24:25.123456789Z")


@shall("5.4", "All records shall have a WARC-Date field.")
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_every_record_has_a_date(kind: str) -> None:
    assert len(written(write(kind, {"WARC-Date": None})).get_all("WARC-Date")) == 1
    assert_required("WARC-Date", kind, "5.4")
    with reading(record(kind, warc_date=None)) as (found,):
        assert found.date is None


# 5.5 WARC-Type.


@shall("5.5", "All records shall have a WARC-Type field.")
@pytest.mark.parametrize("kind", ANY_TYPE)
def test_every_record_has_a_type(kind: str) -> None:
    assert written(write(kind, {"WARC-Type": None})).get_all("WARC-Type") == (kind,)
    fields = [(name, value) for name, value in fields_of(kind) if name != "WARC-Type"]
    assert ("missing", "WARC-Type") in [(it.code, it.field) for it in findings(fields)]
    assert_refused(lambda writer: writer.write(None, headers=fields), "WARC-Type", "missing")
    with reading(stored(fields, b"block")) as (found,):
        assert found.type is None
        assert found.block.read() == b"block"


IGNORED_TYPES = "WARC processing software shall ignore records of unrecognized type."


@shall("5.5", IGNORED_TYPES)
def test_a_record_of_unknown_type_is_neither_capture_nor_original() -> None:
    digest = sha1(b"body")
    # Later than the response, and with a payload digest of its own.
    unknown = record(
        UNKNOWN_TYPE,
        b"other",
        warc_record_id=f"<{urn(1)}>",
        warc_date="2026-02-02T00:00:00Z",
        warc_payload_digest=digest,
    )
    response = record(
        "response",
        HTTP_HEAD + b"body",
        content_type=HTTP_TYPE,
        warc_record_id=f"<{urn(2)}>",
        warc_payload_digest=digest,
    )
    revisit = record("revisit", warc_record_id=f"<{urn(3)}>", warc_payload_digest=digest, warc_date="2020")
    with collected(unknown, response, revisit) as collection:
        assert collection.open_record(uri=URI).id == urn(2)
        assert collection.open_record(uri=URI, date="2026-02-02T00:00:00Z").id == urn(2)
        assert collection.open_record(urn(3)).payload.read() == b"body"
    with seekwarc.open(unknown + response) as archive:
        known = seekwarc.Duplicates()
        known.add_archive(archive)
        assert known.find(seekwarc.Digest.parse(digest)).id == urn(2)


@shall("5.5", IGNORED_TYPES)
@pytest.mark.parametrize(
    "field", [name for name in VALUES if name not in ("WARC-Record-ID", "Content-Length")]
)
def test_a_record_of_unknown_type_needs_only_four_fields(field: str) -> None:
    fields = fields_of(UNKNOWN_TYPE, {"WARC-Target-URI": None, field: VALUES[field]})
    assert findings(fields) == []
    assert written(lambda writer: writer.write(UNKNOWN_TYPE, headers=fields))[field] == VALUES.get(field)


# 5.7 WARC-Concurrent-To.

BIDIRECTIONAL = (
    "(When so used, any WARC-Concurrent-To association shall be considered bidirectional even if the header "
    "only appears on one record.)"
)


@shall("5.7", BIDIRECTIONAL)
@pytest.mark.parametrize("named", OF_AN_EVENT)
@pytest.mark.parametrize("naming", OF_AN_EVENT)
def test_concurrent_records_know_each_other_whichever_has_the_field(naming: str, named: str) -> None:
    one = record(named, warc_record_id=f"<{urn(1)}>")
    other = record(naming, warc_record_id=f"<{urn(2)}>", warc_concurrent_to=f"<{urn(1)}>")
    alone = record("response", warc_record_id=f"<{urn(3)}>")
    for files in ([one + other + alone], [other + alone, one], [alone, one, other]):
        with collected(*files) as collection:
            around = {it.id: [also.id for also in it.concurrent] for it in collection}
        assert around == {urn(1): [urn(2)], urn(2): [urn(1)], urn(3): []}


@shall("5.7", BIDIRECTIONAL)
def test_what_is_written_as_concurrent_is_found_from_both_sides(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path) as writer:
        response = writer.write_response(URI, HTTP_HEAD, date=DATE)
        request = writer.write_request(URI, b"GET / HTTP/1.1\r\n\r\n", date=DATE, concurrent_to=response.id)
        metadata = writer.write_metadata({"via": URI}, date=DATE, concurrent_to=[response.id])
    with seekwarc.Collection([path]) as collection:
        for record_id, others in (
            (response.id, {request.id, metadata.id}),
            (request.id, {response.id, metadata.id}),
            (metadata.id, {response.id, request.id}),
        ):
            found = collection.open_record(record_id)
            assert {it.id for it in collection.concurrent(found)} == others


# 5.9 WARC-Payload-Digest.

DIGEST_OF_THE_WHOLE = (
    "In contrast to WARC-Block-Digest, the WARC-Payload-Digest field may also be used for data not actually "
    "present in the current record block, for example when a block is left off in accordance with a "
    "'revisit' profile (see 6.7), or when a record is segmented (the WARC-Payload-Digest recorded in "
    "the segments of a segmented record shall be the digest of the payload of the logical record)."
)


def verdicts(found: seekwarc.Record) -> dict[str, str]:
    return {check.field: check.verdict.value for check in found.check_digests()}


def segments_of(body: bytes, *cuts: int, digests: Iterable[str | None]) -> list[bytes]:
    """Return a response as segments, each in a file of its own, each with a payload digest or without."""
    block = HTTP_HEAD + body
    edges = [0, *cuts, len(block)]
    files = []
    for number, digest in enumerate(digests, 1):
        part = block[edges[number - 1] : edges[number]]
        more = {"warc_segment_number": str(number), "warc_payload_digest": digest}
        more |= {"warc_record_id": f"<{urn(number)}>", "warc_block_digest": sha1(part)}
        if number == 1:
            files.append(record("response", part, content_type=HTTP_TYPE, **more))
        else:
            last = str(len(block)) if number == len(edges) - 1 else None
            more |= {"warc_segment_origin_id": f"<{urn(1)}>", "warc_segment_total_length": last}
            files.append(record("continuation", part, **more))
    return files


@shall("5.9", DIGEST_OF_THE_WHOLE)
@pytest.mark.parametrize("in_each", [False, True])
def test_the_payload_digest_of_segments_is_that_of_the_whole(*, in_each: bool) -> None:
    body = noise(1000)
    right = sha1(body)
    files = segments_of(body, 300, 700, digests=[right, *([right] * 2 if in_each else [None] * 2)])
    with collected(*files) as collection:
        for found in collection:
            assert findings(list(found.header.items())) == []
            # The payload is not in the segment, so there is nothing to say of its digest.
            stated = "WARC-Payload-Digest" in found.header
            payload = {"WARC-Payload-Digest": "elsewhere"} if stated else {}
            assert verdicts(found) == {"WARC-Block-Digest": "valid", **payload}
        whole = collection.open_record(urn(1))
        assert whole.payload.read() == body
        assert verdicts(whole) == {"WARC-Payload-Digest": "valid"}
    with collected(*segments_of(body, 300, digests=[sha1(body[:100]), None])) as collection:
        assert verdicts(collection.open_record(urn(2))) == {"WARC-Payload-Digest": "invalid"}


@shall("5.9", DIGEST_OF_THE_WHOLE)
def test_the_written_payload_digest_of_segments_is_of_the_whole(tmp_path: Path) -> None:
    body = noise(600 * KIB)
    with seekwarc.Writer(tmp_path / "crawl.warc.zst", frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        written = writer.write_response(URI, io.BytesIO(HTTP_HEAD + body))
    with seekwarc.Collection(sorted(tmp_path.iterdir())) as collection:
        segments = [found for found in collection if found.type != "warcinfo"]
        assert len(segments) == 3
        assert {str(found.payload_digest) for found in segments if found.payload_digest} == {sha1(body)}
        assert segments[0].payload_digest is not None
        for found in segments:
            assert found.block_digest == seekwarc.Digest.parse(sha1(found.block.read()))
        assert verdicts(collection.open_record(written.id)) == {"WARC-Payload-Digest": "valid"}


@shall("5.9", DIGEST_OF_THE_WHOLE)
def test_the_payload_digest_of_a_revisit_is_of_its_original(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, dedup=seekwarc.Duplicates()) as writer:
        first = writer.write_response(URI, HTTP_HEAD + b"body")
        again = writer.write_response(URI, HTTP_HEAD + b"body")
    assert again.header["WARC-Payload-Digest"] == first.header["WARC-Payload-Digest"] == sha1(b"body")
    with seekwarc.Collection([path]) as collection:
        _, stored_revisit = collection
        assert verdicts(stored_revisit)["WARC-Payload-Digest"] == "elsewhere"
        assert verdicts(collection.open_record(again.id))["WARC-Payload-Digest"] == "valid"


# 5.10 WARC-IP-Address.

ADDRESSES = (
    'An IPv4 address shall be written as a "dotted quad"; an IPv6 address shall be written as specified in '
    "[RFC4291]."
)


@shall("5.10", ADDRESSES)
@pytest.mark.parametrize(
    "address",
    [
        "192.0.2.1",
        "0.0.0.0",
        "255.255.255.255",
        "2001:DB8:0:0:8:800:200C:417A",
        "2001:db8::1",
        "::",
        "::1",
        "::ffff:192.0.2.1",
        "64:ff9b::192.0.2.33",
    ],
)
def test_addresses_are_written_and_read(address: str) -> None:
    header = written(lambda writer: writer.write_response(URI, HTTP_HEAD, ip_address=address))
    assert header["WARC-IP-Address"] == address
    with reading(record("response", warc_ip_address=address)) as (found,):
        assert found.ip_address == ip_address(address)


@shall("5.10", ADDRESSES)
@pytest.mark.parametrize(
    "value",
    [
        "",
        "192.0.2",
        "192.0.2.256",
        "192.0.2.1.1",
        "192.0.02.1",
        "0x7f.0.0.1",
        "3221225985",
        "192.0.2.1:80",
        "[2001:db8::1]",
        "2001:db8::1::2",
        "2001:db8:::1",
        "12345::",
        "2001:db8::1/64",
        "example.org",
        "192.0.2.1 192.0.2.2",
        "fe80::1%eth0",
    ],
)
def test_what_is_not_an_address_is_refused_found_and_read(value: str) -> None:
    assert_form("WARC-IP-Address", "response", value, "5.10")
    if "%" not in value:
        bad = record("response", warc_ip_address=value)
        with reading(bad) as (found,):
            assert found.ip_address is None


# 5.11 WARC-Refers-To.


@shall("5.11", REFERS_TO)
@pytest.mark.parametrize("kind", ["metadata", "revisit", "conversion"])
def test_refers_to_leads_there_and_back(kind: str) -> None:
    with collected(
        record("response", warc_record_id=OTHER_ID), record(kind, warc_refers_to=OTHER_ID)
    ) as collection:
        original, about = collection
        assert about.refers_to.id == original.id
        assert [it.id for it in original.referring_to] == [about.id]


@shall("5.1", UNKNOWN_NAMES)
@pytest.mark.parametrize("field", ["WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"])
def test_fields_of_version_1_1_are_extensions_in_version_1_0(field: str) -> None:
    fields = fields_of("response", {field: VALUES[field]})
    assert [it.code for it in findings(fields)] == ["forbidden"]
    assert findings(fields, version="1.0") == []


# 5.14 WARC-Target-URI.

LEGAL_URI = "The URI in this value shall be written as specified in [RFC 3986]."


@shall("5.14", LEGAL_URI)
@pytest.mark.parametrize(
    "uri",
    [
        "http://example.org/",
        "HTTPS://user:pw@example.org:8080/a/b;c=1,2?d=e&f=%C3%BC#g",
        "http://[2001:db8::1]:80/~a/(b)/'c'/*!$",
        "ftp://example.org/a",
        "dns:example.org",
        "urn:isbn:0451450523",
        "file:///a/b",
        "metadata://seekwarc/log.txt",
        "mailto:a@example.org",
    ],
)
def test_target_uris_are_written_and_read(uri: str) -> None:
    header = written(lambda writer: writer.write_resource(uri, b"x", "text/dns"))
    assert header["WARC-Target-URI"] == uri
    assert findings(fields_of("response", {"WARC-Target-URI": uri})) == []
    with reading(record("response", warc_target_uri=uri)) as (found,):
        assert found.target_uri == uri


@shall("5.14", LEGAL_URI)
@pytest.mark.parametrize("field", ["WARC-Target-URI", "WARC-Refers-To-Target-URI"])
@pytest.mark.parametrize(
    "value",
    [
        "",
        "example.org",
        "/path",
        "//example.org/",
        ":x",
        "1http://example.org/",
        "http://example.org/a b",
        "http://example.org/b\u00fccher",
        "http://b\u00fccher.example/",
        "http://example.org/%",
        "http://example.org/%zz",
        "http://example.org/<a>",
        'http://example.org/"a"',
        "http://example.org/a|b",
        "http://example.org/a\\b",
        "http://example.org/{a}",
        "http://example.org/a^b`",
        "<http://example.org/>",
        "http://example.org/#a#b",
        "http://example.org:port/",
    ],
)
def test_what_is_not_a_uri_is_refused_found_and_read(field: str, value: str) -> None:
    assert_form(field, "revisit", value, "5.14" if field == "WARC-Target-URI" else "5.12")


@shall("5.14", LEGAL_URI)
def test_a_uri_in_brackets_is_read_without_them() -> None:
    # As WARC 1.0 asked for, which is right there.
    fields = fields_of("response", {"WARC-Target-URI": f"<{URI}>"})
    assert findings(fields, version="1.0") == []
    for version in ("1.0", "1.1"):
        with reading(stored(fields, version=version)) as (found,):
            assert found.target_uri == URI


WITH_URI = (
    "All 'response', 'resource', 'request', 'revisit', 'conversion' and 'continuation' records shall have a "
    "WARC-Target-URI field."
)
HARVESTED = ["response", "resource", "request", "revisit", "conversion", "continuation"]


@shall("5.14", WITH_URI)
@pytest.mark.parametrize("kind", HARVESTED)
def test_a_target_uri_is_required_in(kind: str) -> None:
    assert_refused(write(kind, {"WARC-Target-URI": None}), "WARC-Target-URI", repr(kind), "missing")
    assert_required("WARC-Target-URI", kind, "5.14")
    with reading(record(kind, warc_target_uri=None)) as (found,):
        assert found.target_uri is None


@shall("5.14", WITH_URI)
@pytest.mark.parametrize("kind", ["metadata", UNKNOWN_TYPE])
def test_a_target_uri_is_optional_in(kind: str) -> None:
    assert "WARC-Target-URI" not in written(write(kind, {"WARC-Target-URI": None}))
    assert findings(fields_of(kind, {"WARC-Target-URI": None})) == []


@shall("5.14", "A 'warcinfo' record shall not have a WARC-Target-URI field.")
def test_a_target_uri_is_forbidden_in_a_warcinfo_record() -> None:
    assert_forbidden("WARC-Target-URI", "warcinfo", "5.14")
    assert_refused(
        lambda writer: writer.write_warcinfo({"software": "x"}, headers={"WARC-Target-URI": URI}),
        "WARC-Target-URI",
        "'warcinfo'",
    )
    header = written(lambda writer: writer.write_warcinfo({"software": "x"}))
    assert "WARC-Target-URI" not in header
    assert_allowed("WARC-Target-URI", "metadata")


@shall("5.14", "A 'warcinfo' record shall not have a WARC-Target-URI field.")
def test_a_refused_warcinfo_record_does_not_stop_a_series_of_files(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        with pytest.raises(seekwarc.RuleError, match="WARC-Target-URI"):
            writer.write_warcinfo({"software": "x"}, headers={"WARC-Target-URI": URI})
        writer.write_resource(URI, b"block", "text/plain")
    (path,) = tmp_path.iterdir()
    with seekwarc.open(path) as archive:
        assert [(it.type, it.target_uri) for it in archive] == [("warcinfo", None), ("resource", URI)]


# 5.15 WARC-Truncated.

ACTUAL_LENGTH = (
    "The WARC Content-Length field shall still report the actual truncated size of the record block."
)
REASONS = ["length", "time", "disconnect", "unspecified", "x-own"]


@shall("5.15", ACTUAL_LENGTH)
@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("kind", TYPES)
def test_the_length_of_a_truncated_block_is_that_of_what_is_there(kind: str, reason: str) -> None:
    reason = "length" if kind == "revisit" else reason
    # The message says that it was longer; the record does not.
    block = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart"
    for given in (block, io.BytesIO(block), Stream(block)):
        header = written(
            write(kind, {"WARC-Truncated": reason}, block=given, content_type="application/http")
        )
        assert header.content_length == len(block)
        assert header["WARC-Truncated"] == reason
    with reading(
        record(kind, block, warc_truncated=reason, content_type="application/http"), record("resource", b"x")
    ) as (found, following):
        assert found.content_length == found.block.size == len(block)
        assert found.truncated == reason
        assert found.block.read() == block
        assert following.block.read() == b"x"


@shall("5.15", ACTUAL_LENGTH)
def test_the_length_of_a_stream_that_is_cut_is_what_was_taken_of_it() -> None:
    header = written(
        lambda writer: writer.write_response(
            URI, io.BytesIO(HTTP_HEAD + noise(1000)), length=len(HTTP_HEAD) + 300, truncated="length"
        )
    )
    assert header.content_length == len(HTTP_HEAD) + 300
    assert header["WARC-Payload-Digest"] == sha1(noise(1000)[:300])


# 5.18 WARC-Profile.

UNKNOWN_HANDLING = (
    "If reading software does not recognize the given URI as a supported kind of handling, it shall not "
    "attempt to interpret the associated record block."
)


@shall("5.18", UNKNOWN_HANDLING)
@pytest.mark.parametrize("profile", [UNKNOWN_PROFILE, IDENTICAL + "/2", NOT_MODIFIED.upper(), "", None])
@pytest.mark.parametrize("content_type", ["application/http", HTTP_TYPE, "application/warc-fields"])
def test_the_block_of_a_revisit_of_unknown_profile_is_not_interpreted(
    profile: str | None, content_type: str
) -> None:
    block = HTTP_HEAD.replace(b"text/plain", b"text/plain\r\nContent-Encoding: gzip") + b"body"
    with reading(record("revisit", block, warc_profile=profile, content_type=content_type)) as (found,):
        assert found.http is None
        assert found.warc_fields is None
        assert found.payload.codings == ()
        # Its bytes are there for those who know more.
        assert found.profile == profile
        assert found.block.read() == block


@shall("5.18", UNKNOWN_HANDLING)
@pytest.mark.parametrize("profile", [IDENTICAL, NOT_MODIFIED])
def test_the_block_of_a_revisit_of_known_profile_is_interpreted(profile: str) -> None:
    with reading(record("revisit", HTTP_HEAD, warc_profile=profile, content_type=HTTP_TYPE)) as (found,):
        assert found.http.status == 200
        assert found.http.get("ETag") == '"1"'


@shall("5.18", UNKNOWN_HANDLING)
def test_a_revisit_of_unknown_profile_may_be_written() -> None:
    header = written(lambda writer: writer.write_revisit(URI, b"diff", profile=UNKNOWN_PROFILE))
    assert header["WARC-Profile"] == UNKNOWN_PROFILE
    assert "WARC-Truncated" not in header
    assert findings(fields_of("revisit", {"WARC-Profile": UNKNOWN_PROFILE})) == []


PROFILE = (
    "The WARC-Profile field is mandatory on 'revisit' type records and undefined for other record types."
)


@shall("5.18", PROFILE)
def test_a_revisit_has_a_profile() -> None:
    assert_refused(write("revisit", {"WARC-Profile": None}), "WARC-Profile", "'revisit'", "missing")
    assert_required("WARC-Profile", "revisit", "5.18")
    header = written(lambda writer: writer.write_revisit(URI, payload_digest=DIGEST))
    assert header["WARC-Profile"] == IDENTICAL


@shall("5.18", PROFILE)
@pytest.mark.parametrize("kind", all_but("revisit"))
def test_a_profile_has_no_meaning_elsewhere(kind: str) -> None:
    assert findings(fields_of(kind, {"WARC-Profile": None})) == []
    fields = fields_of(kind, {"WARC-Profile": UNKNOWN_PROFILE})
    with reading(stored([*fields, ("Content-Type", HTTP_TYPE)], HTTP_HEAD)) as (found,):
        (warning,) = check_header(found.header)
        assert (warning.severity, warning.field, warning.clause) == ("warning", "WARC-Profile", "5.18")
        # What it says is nothing to the reader.
        with reading(record(kind, HTTP_HEAD, content_type=HTTP_TYPE)) as (plain,):
            assert (found.http is None) == (plain.http is None)


# 5.19 WARC-Identified-Payload-Type.

NOT_PROMOTED = (
    "This string shall not be arrived at by blindly promoting an HTTP Content-Type value up from a record "
    "block into the WARC header without direct analysis of the payload, as such values may often be "
    "unreliable."
)


@shall("5.19", NOT_PROMOTED)
def test_the_servers_content_type_is_not_in_the_header() -> None:
    target = io.BytesIO()
    message = HTTP_HEAD + b"body"
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        writer.write_response(URI, message)
        writer.write_response(URI, message)
        writer.write_response(URI, HTTP_HEAD + b"other", identified_payload_type="image/png")
        writer.write_request(URI, b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\nbody")
        writer.write_resource(URI, b"resource", "text/plain")
        writer.write_conversion(URI, b"conversion", "text/plain")
        writer.write_metadata(message, content_type=HTTP_TYPE)
    with seekwarc.open(target.getvalue()) as archive:
        found = list(archive)
        identified = [it.header.get("WARC-Identified-Payload-Type") for it in found]
        assert identified == [None, None, "image/png", None, None, None, None]
        assert [it.type for it in found[:2]] == ["response", "revisit"]


@shall("5.19", NOT_PROMOTED)
def test_the_servers_content_type_is_not_the_identified_one() -> None:
    message = HTTP_HEAD + b"body"
    with reading(
        record("response", message, content_type=HTTP_TYPE),
        record("response", message, content_type=HTTP_TYPE, warc_identified_payload_type="image/png"),
    ) as (plain, identified):
        assert plain.http.get("Content-Type") == identified.http.get("Content-Type") == "text/plain"
        assert plain.identified_payload_type is None
        assert str(identified.identified_payload_type) == "image/png"


# 5.20 WARC-Segment-Number.

FIRST_NUMBER = (
    "In the first segment of any record that is completed in one or more later 'continuation' WARC records, "
    "this parameter is mandatory."
)


@shall("5.20", FIRST_NUMBER)
@pytest.mark.parametrize("kind", all_but("continuation"))
def test_the_number_of_a_first_segment_is_one(kind: str) -> None:
    assert_allowed("WARC-Segment-Number", kind)
    for number in ("0", "2", "17"):
        more = {"WARC-Segment-Number": number}
        assert_refused(write(kind, more), "WARC-Segment-Number", "not 1")
        assert_found(fields_of(kind, more), "condition", "WARC-Segment-Number", "5.20")
    for number in ("", "one", "-1", "1.0"):
        assert_form("WARC-Segment-Number", kind, number, "5.20")


@shall("5.20", FIRST_NUMBER)
@pytest.mark.parametrize("number", [None, "0", "2", "x"])
@pytest.mark.parametrize("asked", [1, 2])
def test_a_first_segment_without_number_is_not_the_whole(number: str | None, asked: int) -> None:
    more = {"warc_record_id": f"<{urn(1)}>", "warc_segment_number": number}
    first = record("resource", b"some", **more)
    last = record(
        "continuation",
        b"more",
        warc_record_id=f"<{urn(2)}>",
        warc_segment_origin_id=f"<{urn(1)}>",
        warc_segment_total_length="8",
    )
    with collected(first, last) as collection, pytest.raises(seekwarc.FormatError):
        collection.open_record(urn(asked))


CONTINUATION_NUMBER = "In a 'continuation' record, this parameter is also mandatory."


@shall("5.20", CONTINUATION_NUMBER)
def test_a_continuation_has_a_number() -> None:
    more = {"WARC-Segment-Number": None}
    assert_refused(write("continuation", more), "WARC-Segment-Number", "'continuation'", "missing")
    assert_required("WARC-Segment-Number", "continuation", "5.20")
    for number in ("0", "1"):
        more = {"WARC-Segment-Number": number}
        assert_refused(write("continuation", more), "WARC-Segment-Number", "'continuation'")
        assert_found(fields_of("continuation", more), "condition", "WARC-Segment-Number", "5.20")
    header = written(
        lambda writer: writer.write_continuation(URI, b"x", origin_id=OTHER_ID, segment_number=3)
    )
    assert header["WARC-Segment-Number"] == "3"


@shall("5.20", CONTINUATION_NUMBER)
@pytest.mark.parametrize("number", [None, "0", "x"])
def test_a_continuation_without_its_number_is_not_joined(number: str | None) -> None:
    same = {"warc_segment_origin_id": f"<{urn(1)}>"}
    first = record("resource", b"one", warc_record_id=f"<{urn(1)}>", warc_segment_number="1")
    odd = record("continuation", b"two", warc_record_id=f"<{urn(2)}>", warc_segment_number=number, **same)
    last = record(
        "continuation", b"three", warc_record_id=f"<{urn(3)}>", warc_segment_total_length="11", **same
    )
    with collected(first, odd, last) as collection, pytest.raises(seekwarc.FormatError):
        collection.open_record(urn(1))


# 5.21 and 5.22 WARC-Segment-Origin-ID, WARC-Segment-Total-Length.


@shall("5.21", ORIGIN)
def test_a_continuation_has_an_origin_id() -> None:
    more = {"WARC-Segment-Origin-ID": None}
    assert_refused(write("continuation", more), "WARC-Segment-Origin-ID", "'continuation'", "missing")
    assert_required("WARC-Segment-Origin-ID", "continuation", "5.21")
    orphan = record("continuation", b"x", warc_record_id=f"<{urn(2)}>", warc_segment_origin_id=None)
    with collected(orphan) as collection, pytest.raises(seekwarc.NotFoundError, match="segment 1"):
        collection.open_record(urn(2))


@shall("5.22", TOTAL)
@pytest.mark.parametrize(
    ("totals", "problem"),
    [
        (("12", "12"), "not the last"),
        (("12", None), "states no total length"),
        ((None, None), "states no total length"),
        ((None, "12"), None),
    ],
)
def test_the_last_continuation_alone_has_a_total_length(
    totals: tuple[str | None, str | None], problem: str | None
) -> None:
    files = [record("resource", b"some", warc_record_id=f"<{urn(1)}>", warc_segment_number="1")]
    files += [
        record(
            "continuation",
            b"more",
            warc_record_id=f"<{urn(number)}>",
            warc_segment_number=str(number),
            warc_segment_origin_id=f"<{urn(1)}>",
            warc_segment_total_length=total,
        )
        for number, total in enumerate(totals, 2)
    ]
    with collected(*files) as collection:
        if problem is None:
            assert collection.open_record(urn(3)).block.read() == b"somemoremore"
        else:
            with pytest.raises(seekwarc.SegmentError, match=problem):
                collection.open_record(urn(1))


@shall("5.22", TOTAL)
def test_a_total_length_may_be_written_into_a_continuation() -> None:
    header = written(
        lambda writer: writer.write_continuation(
            URI, b"x", origin_id=OTHER_ID, segment_number=2, total_length=8
        )
    )
    assert header["WARC-Segment-Total-Length"] == "8"
    for value in ("", "-1", "much"):
        assert_form("WARC-Segment-Total-Length", "continuation", value, "5.22")
