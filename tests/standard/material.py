"""Records of every type, and the ways in which a writer, a checker and a reader meet them.

Records to read are put together byte by byte: nothing of seekwarc is used, so that what a reader finds is
compared with the standard and not with the writer.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import seekwarc
from seekwarc.format.rules import Severity, check_fields, check_header
from seekwarc.format.warc import parse_record_header
from tests.support.sources import RecordingSource

TYPES = (
    "warcinfo",
    "response",
    "resource",
    "request",
    "metadata",
    "revisit",
    "conversion",
    "continuation",
)
UNKNOWN_TYPE = "x-snapshot"
URI = "http://example.org/"
DATE = "2026-01-02T03:04:05Z"
ID = "<urn:uuid:00000000-0000-4000-8000-000000000001>"
OTHER_ID = "<urn:uuid:00000000-0000-4000-8000-000000000002>"
DIGEST = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
UNKNOWN_PROFILE = "http://example.org/profiles/diff"
HTTP_TYPE = "application/http; msgtype=response"
HTTP_HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "1"\r\n\r\n'

VALUES = {
    "WARC-Record-ID": ID,
    "Content-Length": "0",
    "WARC-Date": DATE,
    "Content-Type": "text/plain",
    "WARC-Concurrent-To": OTHER_ID,
    "WARC-Block-Digest": DIGEST,
    "WARC-Payload-Digest": DIGEST,
    "WARC-IP-Address": "192.0.2.1",
    "WARC-Refers-To": OTHER_ID,
    "WARC-Refers-To-Target-URI": URI,
    "WARC-Refers-To-Date": DATE,
    "WARC-Target-URI": URI,
    "WARC-Truncated": "length",
    "WARC-Warcinfo-ID": OTHER_ID,
    "WARC-Filename": "crawl.warc",
    "WARC-Profile": IDENTICAL,
    "WARC-Identified-Payload-Type": "text/plain",
    "WARC-Segment-Number": "1",
    "WARC-Segment-Origin-ID": OTHER_ID,
    "WARC-Segment-Total-Length": "8",
}
"""A value of each field that is of its form."""

Fields = list[tuple[str, str]]


def fields_of(kind: str, more: dict[str, str | None] | None = None) -> Fields:
    """Return the fields of a record that breaks no rule, with those in `more` added, changed or left out."""
    fields: dict[str, str | None] = {
        "WARC-Type": kind,
        "WARC-Record-ID": ID,
        "WARC-Date": DATE,
        "WARC-Target-URI": None if kind in ("warcinfo", "metadata") else URI,
        "Content-Length": "0",
    }
    if kind == "revisit":
        fields |= {"WARC-Profile": IDENTICAL, "WARC-Payload-Digest": DIGEST, "WARC-Truncated": "length"}
    if kind == "continuation":
        fields |= {"WARC-Segment-Number": "2", "WARC-Segment-Origin-ID": OTHER_ID}
    return [(name, value) for name, value in (fields | (more or {})).items() if value is not None]


def stored(fields: Fields, block: bytes = b"", *, version: str = "1.1") -> bytes:
    """Return a record as it stands in a file; its Content-Length is that of the block."""
    lines = [f"WARC/{version}"]
    lines += [f"{name}: {value if name != 'Content-Length' else len(block)}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


def record(kind: str, block: bytes = b"", **more: str | None) -> bytes:
    """Return a record as it stands in a file. `warc_date="2026"` gives it a WARC-Date."""
    return stored(fields_of(kind, {_field(name): value for name, value in more.items()}), block)


def _field(name: str) -> str:
    return next(known for known in (*VALUES, "WARC-Type") if known.lower() == name.replace("_", "-").lower())


def urn(number: int) -> str:
    """Return a record ID without brackets."""
    return f"urn:uuid:00000000-0000-4000-8000-{number:012}"


# A checker.


def findings(fields: Fields, *, version: str = "1.1") -> list[seekwarc.Finding]:
    """Return what the checker finds wrong with a header: errors only."""
    raw = stored(fields, version=version).removesuffix(b"\r\n\r\n")
    if "Content-Length" not in dict(fields):
        # Such a header cannot be parsed at all.
        return _errors(check_fields(fields, version=version))
    found = _errors(check_header(parse_record_header(raw)))
    assert found == _errors(check_fields(fields, version=version))
    return found


def _errors(found: list[seekwarc.Finding]) -> list[seekwarc.Finding]:
    return [finding for finding in found if finding.severity is Severity.ERROR]


def assert_found(fields: Fields, code: str, field: str, clause: str) -> None:
    """Assert that the checker finds one thing wrong, and says what, where and by which clause."""
    found = findings(fields)
    kind = dict(fields).get("WARC-Type", "")
    assert [(it.code, it.field, it.type, it.clause) for it in found] == [(code, field, kind, clause)]
    assert field in str(found[0])
    assert f"clause {clause}" in str(found[0])


# A writer.


def write(kind: str, more: dict[str, str | None] | None = None, **options: object) -> Callable[..., object]:
    """Return what writes a record with these fields and whatever the writer adds to them."""
    fields = fields_of(kind, {"Content-Length": None} | (more or {}))
    return lambda writer: writer.write(kind, headers=fields, **options)


def assert_refused(
    attempt: Callable[[seekwarc.Writer], object],
    *naming: str,
    error: type[Exception] = seekwarc.RuleError,
) -> None:
    """Assert that a writer refuses a record, says why, leaves nothing of it in the file and goes on."""
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_resource(URI, b"before", "text/plain", record_id=urn(8))
        writer.flush()
        before = target.getvalue()
        with pytest.raises(error) as raised:
            attempt(writer)
        writer.flush()
        assert target.getvalue() == before
        writer.write_resource(URI, b"after", "text/plain", record_id=urn(9))
    for name in naming:
        assert name in str(raised.value)
    with seekwarc.open(target.getvalue()) as archive:
        assert [it.id for it in archive] == [urn(8), urn(9)]


def written(attempt: Callable[[seekwarc.Writer], object], **options: object) -> seekwarc.RecordHeader:
    """Return the header of a record as it stands in the file that a writer made; the checker approves it."""
    target = io.BytesIO()
    with seekwarc.Writer(target, **options) as writer:
        attempt(writer)
    with seekwarc.open(target.getvalue()) as archive:
        (found,) = archive
        assert _errors(check_header(found.header)) == []
        return found.header


# A reader.


@contextmanager
def reading(*records: bytes) -> Iterator[list[seekwarc.Record]]:
    """Read consecutive records, with a record before and one after them that must be found."""
    around = [record("resource", name.encode(), warc_record_id=f"<urn:{name}>") for name in ("first", "last")]
    with seekwarc.open(around[0] + b"".join(records) + around[1]) as archive:
        first, *found, last = archive
        assert (first.id, last.id) == ("urn:first", "urn:last")
        assert last.block.read() == b"last"
        yield found


@contextmanager
def collected(*files: bytes) -> Iterator[seekwarc.Collection]:
    """Open files as a collection."""
    named = [RecordingSource(data, f"{number}.warc") for number, data in enumerate(files)]
    with seekwarc.Collection(named) as collection:
        yield collection


# All three, for fields that some types of record may not have.


def assert_allowed(field: str, kind: str) -> None:
    """Assert that a type of record may have a field."""
    more = {field: VALUES[field]}
    if field.startswith("WARC-Segment") and kind == "continuation":
        more = {field: dict(fields_of(kind)).get(field, VALUES[field])}
    assert findings(fields_of(kind, more)) == []
    header = written(write(kind, more))
    assert header.get_all(field) == (more[field],)


def assert_forbidden(field: str, kind: str, clause: str) -> None:
    """Assert that a writer refuses a field, that a checker finds it, and that a reader reads it still."""
    more = {field: VALUES[field]}
    assert_refused(write(kind, more), field, repr(kind), "forbidden")
    assert_found(fields_of(kind, more), "forbidden", field, clause)
    with reading(stored(fields_of(kind, more), b"block")) as (found,):
        assert found.type == kind
        assert found.header[field] == VALUES[field]
        assert found.block.read() == b"block"


def assert_required(field: str, kind: str, clause: str) -> None:
    """Assert that a checker misses a field, and that a reader does without."""
    fields = fields_of(kind, {field: None})
    assert_found(fields, "missing", field, clause)
    if field == "Content-Length":
        return
    with reading(stored(fields, b"block")) as (found,):
        assert field not in found.header
        assert found.block.read() == b"block"


def assert_form(field: str, kind: str, value: str, clause: str) -> None:
    """Assert that a value is refused by a writer and found by a checker, and that a reader has its text."""
    more = {field: value}
    assert_refused(write(kind, more), field, repr(kind))
    assert_found(fields_of(kind, more), "form", field, clause)
    with reading(stored(fields_of(kind, more), b"block")) as (found,):
        assert found.header[field] == value
        assert found.block.read() == b"block"
