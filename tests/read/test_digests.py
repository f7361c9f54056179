"""Digests are checked in every spelling, against what they are of, and said to be what they are."""

from __future__ import annotations

import copy
import gzip
import hashlib
import itertools
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import FormatError
from seekwarc.format.chunked import ChunkedBody
from seekwarc.format.http import HttpHead, parse_http_head
from seekwarc.format.rules import check_header
from seekwarc.format.warc import parse_record_header
from seekwarc.read.digests import (
    BlockDigests,
    DigestCheck,
    DigestVerdict,
    check_digests,
    check_payload_digest,
    right_digests,
)
from tests.support.chunks import bodies, chunked, random_sizes, reference
from tests.support.foreign import Foreign, text
from tests.support.headers import SPELLINGS
from tests.support.rounds import rounds
from tests.support.sources import Pipe
from tests.support.writing import sha1

V = DigestVerdict
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
BLOCK, PAYLOAD = "WARC-Block-Digest", "WARC-Payload-Digest"

COMPUTED: dict[str, Callable[[bytes], bytes]] = {
    "md5": lambda data: hashlib.md5(data).digest(),
    "sha1": lambda data: hashlib.sha1(data).digest(),
    "SHA-1": lambda data: hashlib.sha1(data).digest(),
    "sha256": lambda data: hashlib.sha256(data).digest(),
    "sha-256": lambda data: hashlib.sha256(data).digest(),
    "SHA512": lambda data: hashlib.sha512(data).digest(),
    "sha3-256": lambda data: hashlib.sha3_256(data).digest(),
    "blake2b": lambda data: hashlib.blake2b(data).digest(),
    "blake2s": lambda data: hashlib.blake2s(data).digest(),
    "blake2b-256": lambda data: hashlib.blake2b(data, digest_size=32).digest(),
}


def header_of(
    length: int, *fields: tuple[str, str], kind: str = "response", content_type: str = "application/http"
) -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
        "WARC-Date: 2026-01-02T03:04:05Z",
        "WARC-Target-URI: http://example.org/",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in fields),
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def file_of(block: bytes, *fields: tuple[str, str], cuts: int = 50_000, **options: str) -> Foreign:
    return Foreign().record(block, header=header_of(len(block), *fields, **options), cuts=cuts, table=True)


def verdicts(block: bytes, *fields: tuple[str, str], **options: str) -> list[DigestVerdict]:
    """Return what comes of checking a record's digests, in the order of the checks."""
    with seekwarc.open(file_of(block, *fields, **options).bytes()) as archive:
        checks = next(iter(archive)).check_digests()
    stated = dict(fields)
    assert [check.field for check in checks] == [name for name in (BLOCK, PAYLOAD) if name in stated]
    assert [check.stated for check in checks] == [stated[check.field] for check in checks]
    return [check.verdict for check in checks]


@pytest.mark.parametrize("size", [1000, 2 << 20])
@pytest.mark.parametrize("line", [b"2024\r\n", b"%x\n", b"fffffff\r\n"], ids=["wrong", "LF", "longer"])
def test_a_digest_of_either_reading_of_a_doubtful_body_is_good(line: bytes, size: int) -> None:
    data = text(size)
    line = line % size if b"%" in line else line
    body = line + data
    chunks = b"".join(ChunkedBody().feed(body))
    assert V.INVALID not in verdicts(CHUNKED + body, (PAYLOAD, sha1(body)))
    assert V.INVALID not in verdicts(CHUNKED + body, (PAYLOAD, sha1(chunks)))
    assert verdicts(CHUNKED + body, (PAYLOAD, sha1(body + b"!"))) == [V.INVALID]


IDENTICAL = ("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest")
NOT_MODIFIED = ("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/server-not-modified")


@pytest.mark.parametrize(
    ("kind", "block", "fields", "expected"),
    [
        ("revisit", b"", [IDENTICAL], [V.ELSEWHERE]),
        ("revisit", b"", [IDENTICAL, (PAYLOAD, sha1(b"original"))], [V.ELSEWHERE, V.ELSEWHERE]),
        ("revisit", b"", [IDENTICAL, (PAYLOAD, sha1(b"another"))], [V.INVALID, V.ELSEWHERE]),
        ("revisit", b"x", [IDENTICAL], [V.INVALID]),
        ("revisit", b"", [NOT_MODIFIED], [V.INVALID]),
        ("resource", b"", [IDENTICAL], [V.INVALID]),
    ],
)
def test_a_revisit_without_a_block_may_state_the_digest_of_the_original(
    kind: str, block: bytes, fields: list[tuple[str, str]], expected: list[DigestVerdict]
) -> None:
    stated = [(BLOCK, sha1(b"original")), *fields]
    assert verdicts(block, *stated, kind=kind, content_type="application/octet-stream") == expected
    if block == b"":
        assert verdicts(b"", (BLOCK, sha1(b"")), IDENTICAL, kind=kind) == [V.VALID]


def test_a_body_that_begins_with_no_chunk_has_one_reading() -> None:
    assert verdicts(CHUNKED + b"no chunk", (PAYLOAD, sha1(b""))) == [V.INVALID]


# Every algorithm, in every spelling.


def assert_checked(label: str, spelling: str, compute: Callable[[bytes], bytes]) -> None:
    body = text(200_000)
    block = HTTP + body

    def written(data: bytes) -> str:
        return f"{label}:{SPELLINGS[spelling](compute(data)).decode()}"

    assert verdicts(block, (BLOCK, written(block)), (PAYLOAD, written(body))) == [V.VALID, V.VALID]
    # The digest of something else, though it is as well spelt.
    other = body + b"!"
    assert verdicts(block, (BLOCK, written(other)), (PAYLOAD, written(block))) == [V.INVALID, V.INVALID]
    damaged = block[:-1] + bytes([block[-1] ^ 1])
    assert verdicts(damaged, (BLOCK, written(block)), (PAYLOAD, written(body))) == [V.INVALID, V.INVALID]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("label", COMPUTED)
def test_a_digest_is_valid_for_its_own_bytes_only(label: str, spelling: str) -> None:
    assert_checked(label, spelling, COMPUTED[label])


@pytest.mark.needs("module:blake3")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_blake3_is_valid_for_its_own_bytes_only(spelling: str) -> None:
    from blake3 import blake3  # noqa: PLC0415

    assert_checked("blake3", spelling, lambda data: blake3(data).digest())


def test_without_its_package_blake3_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "blake3", None)
    assert verdicts(HTTP, (BLOCK, "blake3:" + "00" * 32)) == [V.UNKNOWN]
    assert verdicts(HTTP, (BLOCK, "blake3:" + "00" * 31)) == [V.INVALID]


def test_a_value_of_which_a_character_was_lost_or_changed_is_invalid() -> None:
    good = sha1(HTTP)
    assert verdicts(HTTP, (BLOCK, good)) == [V.VALID]
    for bad in (good[:-1], good + "A", good[:-1] + "!", good[:-1] + "1", "sha1:-", "sha256:" + good[5:]):
        assert verdicts(HTTP, (BLOCK, bad), (PAYLOAD, bad)) == [V.INVALID, V.INVALID], bad


@pytest.mark.parametrize(
    "stated", ["tiger:AAAA", "x:y", "sha1", "sha1:", "", "?", ":A", "sha1:A B", "blake2b-999:00"]
)
def test_an_algorithm_that_is_not_known_is_neither_good_nor_bad(stated: str) -> None:
    assert verdicts(HTTP + b"body", (BLOCK, stated), (PAYLOAD, stated)) == [V.UNKNOWN, V.UNKNOWN]


def test_without_digests_there_is_nothing_to_check() -> None:
    assert verdicts(HTTP) == []


def test_what_speaks_against_a_record() -> None:
    assert [it for it in V if not it.is_good] == [V.INVALID]


def test_a_check_says_what_was_stated() -> None:
    with seekwarc.open(file_of(HTTP, (BLOCK, sha1(HTTP))).bytes()) as archive:
        record = next(iter(archive))
        checks = check_digests(record, record.http, record.block)
        assert record.check_digests() == checks == (DigestCheck(BLOCK, sha1(HTTP), V.VALID),)


# What the payload is.


def test_the_payload_of_what_is_no_http_message_is_the_block() -> None:
    fields = [(BLOCK, sha1(HTTP + b"x")), (PAYLOAD, sha1(HTTP + b"x"))]
    for kind, content_type in (("response", "text/plain"), ("resource", "application/http")):
        options = {"kind": kind, "content_type": content_type}
        assert verdicts(HTTP + b"x", *fields, **options) == [V.VALID, V.VALID]
    assert verdicts(b"\0 no head", (PAYLOAD, sha1(b"\0 no head"))) == [V.VALID]


def test_the_payload_of_a_request_is_its_body() -> None:
    head = b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n"
    assert verdicts(head + b"body", (PAYLOAD, sha1(b"body")), kind="request") == [V.VALID]
    assert verdicts(head, (PAYLOAD, sha1(b"")), kind="request") == [V.VALID]


@pytest.mark.parametrize("length", [0, 3, 4, 5, 1000])
def test_the_length_that_the_head_states_does_not_matter(length: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length
    assert verdicts(head + b"body", (PAYLOAD, sha1(b"body"))) == [V.VALID]


def test_content_codings_stay_on_the_payload() -> None:
    body = gzip.compress(b"some text")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    assert verdicts(head + body, (PAYLOAD, sha1(body))) == [V.VALID]
    assert verdicts(head + body, (PAYLOAD, sha1(b"some text"))) == [V.INVALID]


def test_interim_responses_are_no_part_of_the_payload() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert verdicts(interim + HTTP + b"body", (PAYLOAD, sha1(b"body"))) == [V.VALID]
    body = b"4\r\nbody\r\n0\r\n\r\n"
    assert verdicts(interim + CHUNKED + body, (PAYLOAD, sha1(b"body"))) == [V.VALID]
    assert verdicts(interim + CHUNKED + body, (PAYLOAD, sha1(body))) == [V.TRANSFERRED]


@pytest.mark.parametrize("size", [0, 5, 1 << 20, (5 << 20) + 7])
def test_chunked_coding_is_no_part_of_the_payload_though_some_count_it(size: int) -> None:
    data = text(size)
    body = chunked(data, random_sizes(1, 60_000))
    block = CHUNKED + body
    assert verdicts(block, (BLOCK, sha1(block)), (PAYLOAD, sha1(data))) == [V.VALID, V.VALID]
    assert verdicts(block, (PAYLOAD, sha1(body))) == [V.TRANSFERRED]
    assert verdicts(block, (BLOCK, sha1(data)), (PAYLOAD, sha1(block))) == [V.INVALID, V.INVALID]
    assert V.TRANSFERRED.is_good


def test_a_body_that_is_not_chunked_has_one_digest() -> None:
    assert verdicts(CHUNKED + b"not chunked", (PAYLOAD, sha1(b"not chunked"))) == [V.VALID]
    assert verdicts(HTTP + b"1\r\na\r\n0\r\n\r\n", (PAYLOAD, sha1(b"a"))) == [V.INVALID]


@settings(max_examples=rounds(100))
@given(bodies())
def test_the_digest_of_what_can_be_read_is_valid(body: bytes) -> None:
    data = reference(body).data
    block = CHUNKED + body
    fields = [(BLOCK, sha1(block)), (PAYLOAD, sha1(data))]
    with seekwarc.open(file_of(block, *fields, cuts=200).bytes()) as archive:
        record = next(iter(archive))
        assert [check.verdict for check in record.check_digests()] == [V.VALID, V.VALID]
        assert record.payload.read() == data
    assert verdicts(block, (PAYLOAD, sha1(body))) == [
        V.VALID if reference(body, stated=body).data == body else V.TRANSFERRED
    ]


# Payloads that are not whole, or not there.


@pytest.mark.parametrize("reason", ["length", "time", "disconnect", "unspecified", "other"])
def test_a_truncated_record_may_have_the_digest_of_the_whole(reason: str) -> None:
    cut = ("WARC-Truncated", reason)
    whole, there = HTTP + b"all of it", HTTP + b"all"
    assert verdicts(there, cut, (PAYLOAD, sha1(b"all of it"))) == [V.TRUNCATED]
    assert verdicts(there, cut, (PAYLOAD, sha1(b"all"))) == [V.VALID]
    assert V.TRUNCATED.is_good
    # The block is what is there, cut off or not (clause 5.15).
    assert verdicts(there, cut, (BLOCK, sha1(whole))) == [V.INVALID]
    assert verdicts(there, cut, (BLOCK, sha1(there))) == [V.VALID]
    # What is no digest at all is not made one by that.
    assert verdicts(there, cut, (PAYLOAD, "sha1:AAAA")) == [V.INVALID]


def test_a_truncated_chunked_body() -> None:
    cut = ("WARC-Truncated", "length")
    body = chunked(b"all of it", itertools.repeat(4))
    there = body[:8]
    assert verdicts(CHUNKED + there, cut, (PAYLOAD, sha1(b"all of it"))) == [V.TRUNCATED]
    assert verdicts(CHUNKED + there, cut, (PAYLOAD, sha1(body))) == [V.TRUNCATED]
    assert verdicts(CHUNKED + there, cut, (PAYLOAD, sha1(there))) == [V.TRANSFERRED]
    assert verdicts(CHUNKED + there, cut, (PAYLOAD, sha1(b"all "))) == [V.VALID]


PROFILES = [
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
    "http://example.org/some-other-profile",
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("payload", [sha1(b"original"), "tiger:x", "nonsense", "sha1:AAAA"])
def test_the_payload_of_a_revisit_is_elsewhere(profile: str, payload: str) -> None:
    fields = [("WARC-Profile", profile), ("WARC-Truncated", "length")]
    for digest, expected in ((sha1(HTTP), V.VALID), (sha1(b"other"), V.INVALID)):
        found = verdicts(HTTP, *fields, (BLOCK, digest), (PAYLOAD, payload), kind="revisit")
        assert found == [expected, V.ELSEWHERE]
    assert verdicts(b"", *fields, (PAYLOAD, payload), kind="revisit") == [V.ELSEWHERE]
    assert verdicts(b"", *fields, kind="revisit") == []
    assert V.ELSEWHERE.is_good


@pytest.mark.parametrize(
    ("kind", "number"), [("response", "1"), ("continuation", "2"), ("continuation", "30")]
)
def test_the_payload_of_a_segment_is_elsewhere(kind: str, number: str) -> None:
    segment = ("WARC-Segment-Number", number)
    fields = [segment, (BLOCK, sha1(HTTP + b"part")), (PAYLOAD, sha1(b"part and rest"))]
    assert verdicts(HTTP + b"part", *fields, kind=kind) == [V.VALID, V.ELSEWHERE]
    assert verdicts(HTTP + b"part!", *fields, kind=kind) == [V.INVALID, V.ELSEWHERE]


def test_an_invalid_segment_number_does_not_stop_the_check() -> None:
    found = verdicts(HTTP, ("WARC-Segment-Number", "first"), (BLOCK, sha1(HTTP)))
    assert found == [V.VALID]


def test_a_payload_that_lies_elsewhere_can_be_checked_there() -> None:
    body = text(3_000_000)
    original = file_of(CHUNKED + chunked(body, random_sizes(1, 90_000)))
    for stated, expected in [
        (sha1(body), V.VALID),
        (sha1(b"other"), V.INVALID),
        ("tiger:x", V.UNKNOWN),
        ("sha1:AAAA", V.INVALID),
    ]:
        revisit = file_of(b"", (PAYLOAD, stated), kind="revisit")
        with seekwarc.open(original.bytes()) as one, seekwarc.open(revisit.bytes()) as other:
            found = next(iter(one))
            check = check_payload_digest(next(iter(other)), found, found.http, found.block)
        assert check == DigestCheck(PAYLOAD, stated, expected)
    with seekwarc.open(original.bytes()) as archive:
        record = next(iter(archive))
        assert check_payload_digest(record, record, record.http, record.block) is None


@pytest.mark.parametrize(
    ("http", "fields", "verdict"),
    [
        (CHUNKED, [], V.TRANSFERRED),
        (HTTP, [], V.VALID),
        (CHUNKED, [("WARC-Truncated", "length")], V.TRANSFERRED),
    ],
)
def test_the_digest_of_an_original_may_be_that_of_what_was_transferred(http, fields, verdict) -> None:
    body = chunked(text(5000), random_sizes(1, 900))
    original = file_of(http + body, *fields)
    for stated, expected in ((sha1(body), verdict), (sha1(b"other"), V.TRUNCATED if fields else V.INVALID)):
        revisit = file_of(b"", (PAYLOAD, stated), kind="revisit")
        with seekwarc.open(original.bytes()) as one, seekwarc.open(revisit.bytes()) as other:
            found = next(iter(one))
            check = check_payload_digest(next(iter(other)), found, found.http, found.block)
        assert check == DigestCheck(PAYLOAD, stated, expected)


# What it costs, and what stops it.


@pytest.mark.parametrize("pipe", [True, False])
def test_a_stream_is_decompressed_once(pipe: bool) -> None:
    data = text(2_500_000)
    body = chunked(data, random_sizes(1, 60_000))
    block = CHUNKED + body
    made = file_of(block, (BLOCK, sha1(block)), (PAYLOAD, sha1(body))).gzip()
    with seekwarc.open(Pipe(made.bytes()) if pipe else made.bytes()) as archive:
        for record in archive.in_order():
            assert [check.verdict for check in record.check_digests()] == [V.VALID, V.TRANSFERRED]
        assert archive.stats.bytes_decoded == len(made.records[0].header) + len(block) + 4


def test_nothing_is_read_for_digests_that_cannot_be_checked() -> None:
    made = file_of(HTTP + text(500_000), (BLOCK, "tiger:x"), (PAYLOAD, "sha1:AAAA"))
    with seekwarc.open(made.bytes()) as archive:
        record = archive.record_at(0, made.records[0].length)
        assert record.http is not None
        before = archive.stats.bytes_decoded
        assert [check.verdict for check in record.check_digests()] == [V.UNKNOWN, V.INVALID]
        assert archive.stats.bytes_decoded == before


def test_damage_in_the_file_is_an_error_that_names_the_place() -> None:
    made = file_of(HTTP + text(500_000), (BLOCK, sha1(b"")))
    stored = bytearray(made.bytes())
    stored[made.records[0].length // 2] ^= 1
    with (
        seekwarc.open(bytes(stored)) as archive,
        pytest.raises(FormatError, match=r"^<bytes>, offset 0: frame"),
    ):
        archive.record_at(0, made.records[0].length).check_digests()


# While a record goes by.


class Collected:
    """Takes the place of a digest: keeps what it is given."""

    def __init__(self) -> None:
        self.data = b""

    def update(self, data: object) -> None:
        self.data += bytes(data)  # type: ignore[call-overload]

    def digest(self) -> bytes:
        return self.data

    def copy(self) -> Collected:
        return copy.copy(self)


def parsed(block: bytes) -> HttpHead | None:
    return parse_http_head(block, whole=True)


@settings(max_examples=rounds(200))
@given(
    st.one_of(st.just(HTTP), st.just(CHUNKED), st.just(b"")),
    bodies(),
    st.lists(st.integers(0, 3000), max_size=10),
)
def test_each_digest_is_given_its_bytes_however_they_come(head: bytes, body: bytes, cuts: list[int]) -> None:
    http = parsed(head) if head else None
    block, payload, transferred = Collected(), Collected(), Collected()
    digests = BlockDigests(http, block=block, payload=payload, transferred=transferred)
    whole = head + body
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    for start, stop in itertools.pairwise(edges):
        buffer = bytearray(whole[start:stop])
        digests.add(memoryview(buffer))
        buffer[:] = bytes(len(buffer))
    expected = reference(body)
    came_to_an_end = digests.finish(truncated=False)
    assert block.data == whole
    assert transferred.data == body
    found = cast("Collected", digests.payload)
    if head == CHUNKED:
        assert found.data == expected.data
        assert came_to_an_end is (
            expected.complete or not expected.data or (expected.plain and not expected.is_doubtful)
        )
    else:
        assert found.data == body
        assert came_to_an_end
    assert digests.payload_size == len(found.data)


def test_digests_that_nobody_wants_are_not_computed() -> None:
    digests = BlockDigests(parsed(HTTP))
    digests.add(HTTP + b"body")
    assert digests.finish(truncated=False)
    assert (digests.block, digests.payload, digests.transferred) == (None, None, None)


def test_a_record_is_seen_at_once_to_be_right_with_its_end_alone() -> None:
    block = HTTP + b"body"
    header = header_of(len(block), (BLOCK, sha1(block)))
    parsed = parse_record_header(header)
    # A process that has met many shapes of headers learns one more only after some of it.
    for _ in range(100):
        assert check_header(parsed) == []
    content = header + block
    assert right_digests(content + b"\r\n\r\n") == 1
    for end in (b"", b"\r\n\r", b"\r\n\n\r", b"abcd"):
        assert right_digests(content + end) == -1


# Files by other tools.


@pytest.mark.needs("samples")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("warcio-example.warc.gz", {V.VALID, V.ELSEWHERE}),
        ("warcio-example-digest.warc", {V.VALID, V.INVALID}),
        ("warcio-example-iana.org-chunked.warc", {V.VALID, V.TRANSFERRED}),
        ("pywb-iana.warc.gz", {V.VALID, V.ELSEWHERE}),
        ("pywb-example-wpull.warc.gz", {V.VALID}),
        # Its writer changed HTTP heads, and gave their blocks the digests of the bodies.
        ("replayweb-netpreserve-twitter.warc", {V.VALID, V.TRANSFERRED, V.ELSEWHERE}),
    ],
)
def test_what_is_said_of_files_by_other_tools(samples: Path, name: str, expected: set[DigestVerdict]) -> None:
    with seekwarc.open(samples / name) as archive:
        found = [check.verdict for record in archive for check in record.check_digests()]
    assert set(found) == expected


def test_what_is_found_is_copied_and_pickled() -> None:
    header = parse_record_header(b"WARC/1.1\r\nWARC-Date: x\r\nContent-Length: 0\r\n\r\n")
    check = DigestCheck("WARC-Block-Digest", "sha1:AB", DigestVerdict.VALID)
    for found in [seekwarc.Digest("sha1", "AB"), check, *seekwarc.check_header(header)]:
        assert pickle.loads(pickle.dumps(found)) == copy.copy(found) == copy.deepcopy(found) == found
