"""Records that are seen at once to be right: verification finds the same as by looking at each closely."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

import pytest

from seekwarc.check.verifying import Problem, Verification, Verifier
from seekwarc.format.rules import known_shapes
from seekwarc.read.record import Record
from tests.support.foreign import CRLF2, checksum, gzip_member, seek_table, skippable, zstd_frame

COUNT = 8
CHANGED = 4
"""The record that a case changes."""
BODY = b"<html>hello</html>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
FORMS = {"gz": gzip_member, "zst": zstd_frame}


def sha1(data: bytes) -> bytes:
    return b"sha1:" + base64.b32encode(hashlib.sha1(data).digest())


def record(
    block: bytes = HEAD + BODY,
    *fields: bytes,
    kind: bytes = b"response",
    length: bytes | None = None,
    digests: tuple[bytes | None, bytes | None] = (sha1(HEAD + BODY), sha1(BODY)),
    date: bytes = b"2026-11-21T09:30:00Z",
    media_type: bytes = b"application/http; msgtype=response",
    end: bytes = CRLF2,
) -> bytes:
    named = [b"WARC-Block-Digest: %b" % digests[0]] if digests[0] is not None else []
    named += [b"WARC-Payload-Digest: %b" % digests[1]] if digests[1] is not None else []
    lines = [
        b"WARC/1.1",
        b"WARC-Type: " + kind,
        b"WARC-Record-ID: <urn:uuid:9e1f5f6c-1b1c-4b5e-8f2e-3f0a3f1f2a10>",
        b"WARC-Date: " + date,
        b"WARC-Target-URI: http://example.org/",
        b"Content-Type: " + media_type,
        *named,
        *fields,
        b"Content-Length: " + (b"%d" % len(block) if length is None else length),
    ]
    return b"\r\n".join(lines) + CRLF2 + block + end


CHUNKED = HEAD[:-2] + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
CASES = {
    "nothing": record(),
    "no digest": record(digests=(None, None)),
    "block digest alone": record(digests=(sha1(HEAD + BODY), None)),
    "wrong block digest": record(digests=(sha1(b"x"), sha1(BODY))),
    "wrong payload digest": record(digests=(sha1(HEAD + BODY), sha1(b"x"))),
    "payload digest of the block": record(digests=(sha1(HEAD + BODY), sha1(HEAD + BODY))),
    "digest in base16": record(digests=(b"sha1:" + hashlib.sha1(HEAD + BODY).hexdigest().encode(), None)),
    "digest of an unknown algorithm": record(digests=(b"new:AAAA", None)),
    "chunked": record(CHUNKED, digests=(sha1(CHUNKED), sha1(b"hello"))),
    "chunked, as transferred": record(CHUNKED, digests=(sha1(CHUNKED), sha1(CHUNKED[-15:]))),
    "a block that is no message": record(BODY, digests=(sha1(BODY), sha1(BODY))),
    "a request where a response should be": record(b"GET / HTTP/1.1\r\n\r\n", digests=(None, sha1(b""))),
    "another type": record(kind=b"resource", digests=(sha1(HEAD + BODY), sha1(HEAD + BODY))),
    "a revisit": record(HEAD, kind=b"revisit", digests=(sha1(HEAD), sha1(BODY))),
    "a segment": record(HEAD, b"WARC-Segment-Number: 1", digests=(sha1(HEAD), sha1(BODY))),
    "too short a length": record(length=b"3"),
    "too large a length": record(length=b"300"),
    "a very long length": record(length=b"0" * 5000 + b"62"),
    "a date that is none": record(date=b"2026-13-21T09:30:00Z"),
    "another media type": record(media_type=b"text/html", digests=(None, sha1(HEAD + BODY))),
    "no line breaks at the end": record(end=b""),
    "other line breaks": record(end=b"\n\n"),
    "more line breaks": record(end=CRLF2 * 2),
    "line breaks before": CRLF2 + record(),
    "two records": record() + record(),
    "line breaks alone": CRLF2,
    "nothing at all": b"",
    "no record": b"hello",
}


@pytest.fixture(autouse=True)
def _no_known_shapes() -> Iterator[None]:
    known, known_shapes._known = known_shapes._known, ()
    yield
    known_shapes._known = known


class Silent:
    """Listens, so that each record is looked at closely."""

    def on_audit(self, window, dictionary_id):
        return None

    def on_problem(self, problem: Problem) -> None:
        pass

    def on_record(self, record: Record) -> None:
        pass

    on_intact = on_damage = on_end = on_problem


class Counting(Verifier):
    checked = 0

    def _check(self, record, finish) -> None:
        self.checked += 1
        super()._check(record, finish)


def verified(data: bytes, listener: Silent | None = None) -> tuple[list[Problem], Verification]:
    verifier = Verifier(data, listener=listener)
    return list(verifier), verifier.result


def stored(form: str, changed: bytes) -> list[bytes]:
    pack = FORMS[form]
    return [pack(changed if number == CHANGED else record()) for number in range(COUNT)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_a_record_between_right_ones_is_judged_as_by_itself(case: str, form: str) -> None:
    data = b"".join(stored(form, CASES[case]))
    assert verified(data) == verified(data, Silent())


@pytest.mark.parametrize("form", FORMS)
def test_damage_between_right_records_begins_where_it_does(form: str) -> None:
    parts = stored(form, record())
    begin = len(b"".join(parts[:CHANGED]))
    for place in range(begin, begin + len(parts[CHANGED]), 23):
        data = bytearray(b"".join(parts))
        data[place] ^= 0x55
        assert verified(bytes(data)) == verified(bytes(data), Silent())


def test_frames_between_right_records_are_judged() -> None:
    parts = stored("zst", record())
    for between in (
        skippable(0x184D2A50, b"note"),
        zstd_frame(b""),
        seek_table([(len(parts[0]), len(record()), checksum(record()))]),
    ):
        data = b"".join([*parts[:CHANGED], between, *parts[CHANGED:]])
        assert verified(data) == verified(data, Silent())


@pytest.mark.parametrize("form", FORMS)
def test_right_records_are_not_looked_at_closely(form: str) -> None:
    verifier = Counting(b"".join(stored(form, record())))
    assert list(verifier) == []
    assert (verifier.result.records, verifier.result.digests) == (COUNT, 2 * COUNT)
    # The first, of which the shape is learnt, and the last, after which nothing follows.
    assert verifier.checked == 2
