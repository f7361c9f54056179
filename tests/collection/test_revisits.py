"""Revisits with the payload of the record that they refer to (WARC 1.1, clause 6.7)."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Collection, Duplicates, Entry, JoinedRecord, MemoryIndex, Record, ResolvedRevisit
from seekwarc.collection.entry import described
from seekwarc.errors import NotFoundError, SegmentError, UnsupportedError
from seekwarc.format.warc import build_record_header
from tests.support.foreign import Foreign
from tests.support.sources import RecordingSource
from tests.support.writing import KIB, RESPONSE, URI, chunked, noise, record_id, text

FORMS = ("warc.zst", "warc.gz", "warc")
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
IDENTICAL_SPELLINGS = [
    IDENTICAL,
    f"<{IDENTICAL}>",
    "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/1.1/revisit/uri-agnostic-identical-payload-digest",
    "http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest",
    "http://netpreserve.org/warc/1.1/identical-payload-digest",
]
OLD_SPELLINGS = [
    "http://netpreserve.org/warc/0.17/revisit/identical-payload-digest",
    "http://netpreserve.org/warc/0.18/revisit/identical-payload-digest",
]
NOT_MODIFIED_SPELLINGS = [
    NOT_MODIFIED,
    "http://netpreserve.org/warc/1.0/revisit/server-not-modified",
    "http://netpreserve.org/warc/1.1/server-not-modified",
]
UNKNOWN = [
    None,
    "",
    "http://example.org/some-profile",
    IDENTICAL + "/",
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digestion",
    "https://example.org/?" + IDENTICAL,
]
DATE, LATER, LATEST = "2026-01-02T03:04:05Z", "2026-02-02T00:00:00Z", "2026-03-02T00:00:00Z"
BODY = text(5000)
HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "one"\r\nX-Of: original\r\n\r\n'
OWN_HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "one"\r\nX-Of: revisit\r\n\r\n'
Stored = tuple[bytes, bytes]


def put(
    number: int,
    kind: str,
    block: bytes,
    *more: tuple[str, str | None],
    uri: str = URI,
    date: str = DATE,
    content_type: str | None = RESPONSE,
) -> Stored:
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id(number)}>"),
        ("WARC-Date", date),
        ("WARC-Target-URI", uri),
        ("Content-Type", content_type),
        *more,
        ("Content-Length", str(len(block))),
    ]
    return build_record_header([(name, value) for name, value in fields if value is not None]).raw, block


def sha1(data: bytes, spelling: str = "base32") -> str:
    raw = hashlib.sha1(data).digest()
    return {
        "base32": "sha1:" + base64.b32encode(raw).decode(),
        "base16": "SHA1:" + raw.hex(),
        "BASE16": "sha-1:" + raw.hex().upper(),
        "base64": "sha1:" + base64.b64encode(raw).decode(),
    }[spelling]


def original(
    number: int = 1, *more: tuple[str, str], body: bytes = BODY, head: bytes = HEAD, **options: str
) -> Stored:
    """Make a response; with a payload digest unless `more` says something of one."""
    fields = [field for field in more if field[1]]
    if not any(name == "WARC-Payload-Digest" for name, _ in more):
        fields.append(("WARC-Payload-Digest", sha1(body)))
    return put(number, "response", head + body, *fields, **options)


def revisit(
    number: int = 2,
    *,
    block: bytes = OWN_HEAD,
    profile: str | None = IDENTICAL,
    digest: str | None = sha1(BODY),
    refers_to: int | None = None,
    refers_uri: str | None = None,
    refers_date: str | None = None,
    container: str | None = None,
    date: str = LATER,
    uri: str = URI,
    content_type: str | None = RESPONSE,
) -> Stored:
    fields = [
        ("WARC-Profile", profile),
        ("WARC-Payload-Digest", digest),
        ("WARC-Truncated", "length"),
        ("WARC-Refers-To", f"<{record_id(refers_to)}>" if refers_to is not None else None),
        ("WARC-Refers-To-Target-URI", refers_uri),
        ("WARC-Refers-To-Date", refers_date),
        ("WARC-Refers-To-Container", container),
    ]
    return put(number, "revisit", block, *fields, uri=uri, date=date, content_type=content_type)


def files(*contents: Stored | Sequence[Stored], within: Sequence[str] = ()) -> list[RecordingSource]:
    """Make a file of each record, or list of them, in one form after the other; `within` folders or WACZ."""
    made = []
    for number, (content, form) in enumerate(zip(contents, itertools.cycle(FORMS), strict=False)):
        file = Foreign()
        for header, block in [content] if isinstance(content, tuple) else content:
            file.record(block, header=header, cuts=20_000, table=len(block) > 20_000)
        data = {"warc": file.plain, "warc.gz": file.gzip, "warc.zst": lambda file=file: file}[form]().bytes()
        folder = within[number] if within else ""
        made.append(RecordingSource(data, f"{folder}{number}.{form}"))
    return made


def resolved(*contents: Stored | Sequence[Stored], number: int = 2, within: Sequence[str] = ()) -> int:
    """Return the number of the record that a revisit resolves to, with its payload seen to be that one's."""
    with Collection(files(*contents, within=within)) as collection:
        record = collection.open_record(record_id(number))
        assert isinstance(record, ResolvedRevisit)
        assert record.id == record_id(number)
        assert record.type == "revisit"
        assert record.original.type != "revisit"
        assert record.payload.read() == record.original.payload.read()
        return int(record.original.id[-12:])


def assert_not_found(*contents: Stored | Sequence[Stored], number: int = 2) -> None:
    with Collection(files(*contents)) as collection:
        with pytest.raises(NotFoundError) as caught:
            collection.open_record(record_id(number))
        record = collection.record(collection.index.by_id(record_id(number))[0])
        assert f"{record.source}, offset {record.offset}" in str(caught.value)


OTHER = original(8, body=b"other", uri="http://other/")


# What the record becomes.


def test_a_resolved_revisit_has_its_own_header_and_head() -> None:
    header, block = revisit(refers_to=1)
    with Collection(files(original(), (header, block))) as collection:
        for which in (
            record_id(2),
            f"<{record_id(2)}>",
            [*collection][1],
            collection.index.by_id(record_id(2))[0],
        ):
            record = collection.open_record(which)
            assert isinstance(record, ResolvedRevisit)
            assert record.header.raw == header
            assert record.block.read() == block
            assert record.whole.read() == header + block + b"\r\n\r\n"
            assert record.http is not None
            assert record.http.get("X-Of") == "revisit"
            assert record.payload.read() == BODY
            assert record.payload.size == len(BODY)
            assert record.payload.pread(1000, 50) == BODY[1000:1050]
            assert (record.source, record.offset) == ("1.warc.gz", 0)
            assert record.original.source == "0.warc.zst"
            assert record.original.id == record_id(1)
            assert record.original.http.get("X-Of") == "original"


def test_the_stored_revisit_stays_what_it_is() -> None:
    with Collection(files(original(), revisit(refers_to=1))) as collection:
        collection.open_record(record_id(2))
        stored = [*collection][1]
        assert type(stored) is Record
        assert stored.payload.read() == b""
        assert stored.block.read() == OWN_HEAD
        assert [it.verdict for it in stored.check_digests()] == ["elsewhere"]


@pytest.mark.parametrize("content_type", [RESPONSE, None])
def test_without_a_head_of_its_own_it_has_that_of_the_original(content_type: str | None) -> None:
    bare = revisit(refers_to=1, block=b"", content_type=content_type)
    with Collection(files(original(), bare)) as collection:
        record = collection.open_record(record_id(2))
        assert record.http.get("X-Of") == "original"
        assert record.block.read() == b""
        assert record.payload.read() == BODY


def test_a_revisit_of_a_resource_has_its_block() -> None:
    resource = put(1, "resource", BODY, ("WARC-Block-Digest", sha1(BODY)), content_type="text/plain")
    with Collection(files(resource, revisit(block=b"", content_type=None))) as collection:
        record = collection.open_record(record_id(2))
        assert record.http is None
        assert record.payload.read() == BODY
    with Collection(files(resource, revisit())) as collection:
        assert collection.open_record(record_id(2)).http.get("X-Of") == "revisit"


def test_it_is_opened_by_its_uri_too() -> None:
    made = files(original(), revisit(date=LATER, refers_to=1, uri="http://again/"))
    with Collection(made) as collection:
        assert collection.open_record(uri="http://again/").payload.read() == BODY


def test_the_nearest_capture_of_a_uri_may_be_a_revisit() -> None:
    with Collection(files(original(), revisit(refers_to=1))) as collection:
        assert type(collection.open_record(uri=URI, date=DATE)) is Record
        assert isinstance(collection.open_record(uri=URI, date=LATER), ResolvedRevisit)
        assert isinstance(collection.open_record(uri=URI), ResolvedRevisit)


# How the original is found.


@pytest.mark.parametrize("profile", IDENTICAL_SPELLINGS)
@pytest.mark.parametrize(
    "way",
    [
        {"refers_to": 1},
        {"refers_uri": URI, "refers_date": DATE},
        {},
        {"refers_to": 1, "refers_uri": URI, "refers_date": DATE},
        {"refers_to": 99},
        {"refers_uri": "http://gone/", "refers_date": DATE},
    ],
)
def test_an_identical_payload_is_found_in_every_way(profile: str, way: dict) -> None:
    assert resolved([OTHER, original()], [revisit(profile=profile, **way)]) == 1


@pytest.mark.parametrize("profile", OLD_SPELLINGS)
def test_an_identical_payload_of_an_early_draft_is_found(profile: str) -> None:
    assert resolved([OTHER, original()], [revisit(profile=profile)]) == 1


@pytest.mark.parametrize("profile", NOT_MODIFIED_SPELLINGS)
@pytest.mark.parametrize("way", [{"refers_to": 1}, {"refers_uri": URI, "refers_date": DATE}, {}])
@pytest.mark.parametrize("digest", [None, sha1(b"")])
def test_not_modified_is_resolved_in_every_way(profile: str, way: dict, digest: str | None) -> None:
    not_modified = revisit(
        profile=profile, digest=digest, block=OWN_HEAD.replace(b"200 OK", b"304 Not Modified"), **way
    )
    later = original(8, body=b"later", date="2026-01-20")
    assert resolved([OTHER, later, original()], [not_modified]) == (1 if way else 8)
    assert resolved([original()], [not_modified]) == 1


def test_the_record_that_is_named_by_its_id_goes_first() -> None:
    same = [original(n, date=date) for n, date in ((3, DATE), (1, DATE), (4, LATER))]
    assert resolved(same, revisit(refers_to=1, refers_uri=URI, refers_date=LATER)) == 1
    assert resolved(same, revisit(refers_uri=URI, refers_date=LATER)) == 4


WITHIN = ["/data/april.wacz!/archive/", "https://example.org/m%C3%A4rz%201.wacz?sig=a/b!/archive/", "/data/"]


@pytest.mark.parametrize(
    ("container", "found"),
    [
        (None, 1),
        ("file://april.wacz", 1),
        ("file://märz 1.wacz", 3),
        ("märz 1.wacz", 3),
        ("https://other.example/crawls/märz 1.wacz", 3),
        ("file://1.warc.gz", 3),
        ("file://1.warc.zst", 3),
        ("file://may.wacz", 1),
        ("file://", 1),
        ("file:///etc/passwd", 1),
    ],
)
@pytest.mark.parametrize("digest", [sha1(BODY), None])
@pytest.mark.parametrize("way", [{"refers_to": 1}, {"refers_uri": URI, "refers_date": DATE}])
def test_the_container_says_which_of_equal_names_is_meant(container, found, digest, way) -> None:
    other = original(3) if "refers_uri" in way else original(1, head=HEAD.replace(b"original", b"other"))
    made = [original(), other, revisit(container=container, digest=digest, **way)]
    with Collection(files(*made, within=WITHIN)) as collection:
        at = collection.open_record(record_id(2)).original.source
        assert at.startswith(WITHIN[found == 3])


def test_in_the_container_a_date_counts_more_than_an_id_elsewhere() -> None:
    again = revisit(refers_to=1, refers_uri=URI, refers_date=LATEST, container="file://märz 1.wacz")
    assert resolved(original(), original(3, date=LATEST), again, within=WITHIN) == 3
    assert resolved(original(), original(3), again, within=WITHIN) == 1


def test_in_the_container_an_equal_digest_counts_more_than_the_date() -> None:
    """But not more than the same URI."""
    captures = [[original(3), original(4, uri="http://other/")], original(1, date="2026-01-20")]
    for container, found in ((None, 1), ("file://april.wacz", 3)):
        assert resolved(*captures, revisit(container=container), within=WITHIN) == found
    elsewhere = [original(4, uri="http://other/"), original(1)]
    assert resolved(*elsewhere, revisit(container="file://april.wacz"), within=WITHIN) == 1


def test_another_digest_is_not_taken_from_the_container() -> None:
    again = revisit(refers_uri=URI, refers_date=DATE, container="file://april.wacz")
    assert resolved(original(3, body=b"other"), original(), again, within=WITHIN) == 1


@pytest.mark.parametrize(
    ("stated", "referred"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.500Z", "2026-01-02T03:04:05.5Z"),
        ("2026-01-02", "2026-01-02T00:00:00Z"),
        ("2026-01-02T03:00:00Z", "2026-01-02T03:00Z"),
        ("2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05Z"),
    ],
)
def test_a_date_may_be_spelt_in_another_precision(stated: str, referred: str) -> None:
    # Without digests, nothing but URI and date can lead there.
    made = original(1, ("WARC-Payload-Digest", ""), date=stated)
    assert resolved([OTHER, made], revisit(refers_uri=URI, refers_date=referred)) == 1
    assert resolved([OTHER, made], revisit(refers_date=referred)) == 1, "the revisit's own URI is meant"


def test_another_date_or_uri_is_another_record() -> None:
    made = original(1, ("WARC-Payload-Digest", ""))
    assert_not_found(made, revisit(refers_uri=URI, refers_date="2026-01-02T03:04:05.1Z"))
    assert_not_found(made, revisit(refers_uri=URI + "x", refers_date=DATE))
    assert_not_found(made, revisit(refers_uri=URI))


def test_a_revisit_is_resolved_to_a_response_not_a_request() -> None:
    request = put(3, "request", b"GET / HTTP/1.1\r\n\r\n")
    metadata = put(4, "metadata", b"a: b\r\n", ("WARC-Payload-Digest", sha1(BODY)), content_type="text/x")
    made = original(1, ("WARC-Payload-Digest", ""))
    assert resolved([request, metadata, made], revisit(refers_uri=URI, refers_date=DATE)) == 1
    assert_not_found([request, metadata], revisit(refers_uri=URI, refers_date=DATE))


@pytest.mark.parametrize("of_original", ["base32", "base16", "BASE16", "base64"])
@pytest.mark.parametrize("of_revisit", ["base32", "base16", "BASE16", "base64"])
def test_a_digest_may_be_spelt_in_another_alphabet(of_original: str, of_revisit: str) -> None:
    made = original(1, ("WARC-Payload-Digest", sha1(BODY, of_original)))
    again = revisit(digest=sha1(BODY, of_revisit))
    assert resolved([OTHER, made], again) == 1
    with Collection(files(made, again)) as collection:
        verdicts = [it.verdict for it in collection.open_record(record_id(2)).check_digests()]
        assert verdicts == ["valid"]


def test_of_several_candidates_the_likeliest_is_used() -> None:
    elsewhere = original(3, uri="http://other/", date="2026-01-20")
    early, late = original(4, date=DATE), original(5, date="2026-01-10")
    after = original(6, date=LATEST)
    assert resolved([elsewhere, early, after, late], revisit()) == 5
    assert resolved([elsewhere, early, after], revisit()) == 4
    assert resolved([elsewhere, after], revisit()) == 6, "the same URI counts for more than the date"
    assert resolved([elsewhere], revisit()) == 3


def test_the_etag_counts_more_than_last_modified() -> None:
    def head(etag: str | None, changed: str | None, status: str = "200 OK") -> bytes:
        lines = [f"HTTP/1.1 {status}", f"ETag: {etag}" if etag else "", f"Last-Modified: {changed}"]
        return "\r\n".join(line for line in lines[: 3 if changed else 2] if line).encode() + b"\r\n\r\n"

    one, two = "Mon, 05 Jan 2026 00:00:00 GMT", "Tue, 06 Jan 2026 00:00:00 GMT"
    first = original(1, head=head('"a"', one), date="2026-01-10", body=b"first")
    second = original(3, head=head('"b"', one), date="2026-01-11", body=b"second")
    third = original(4, head=head(None, two), date="2026-01-12", body=b"third")
    fourth = original(5, head=head(None, None), date="2026-01-13", body=b"fourth")
    kept = [first, second, third, fourth]

    def answer(etag: str | None, changed: str | None) -> Stored:
        return revisit(profile=NOT_MODIFIED, digest=None, block=head(etag, changed, "304 Not Modified"))

    assert resolved(kept, answer('"a"', two)) == 1
    assert resolved(kept, answer('"b"', None)) == 3
    assert resolved(kept, answer(None, one)) == 3, "the latest of them"
    assert resolved(kept, answer(None, two)) == 4
    assert_not_found(kept, answer('"c"', one))
    assert resolved(kept, answer(None, None)) == 5, "the latest of all"
    assert resolved(kept, revisit(profile=NOT_MODIFIED, digest=None, block=b"")) == 5


def test_not_modified_is_resolved_at_its_own_uri() -> None:
    not_modified = revisit(profile=NOT_MODIFIED, digest=None)
    assert_not_found(original(uri="http://other/"), not_modified)
    assert resolved(original(), not_modified) == 1


# What is not the original after all.


def test_a_candidate_with_another_digest_is_skipped() -> None:
    wrong = original(3, body=b"something else")
    assert resolved([wrong, original()], revisit(refers_to=3)) == 1
    assert resolved([wrong, original(date=LATEST)], revisit(refers_uri=URI, refers_date=DATE)) == 1
    assert_not_found(wrong, revisit(refers_to=3, refers_uri=URI, refers_date=DATE))


def test_a_digest_of_a_304_says_nothing_of_the_payload_it_leads_to() -> None:
    empty = revisit(3, profile=NOT_MODIFIED, digest=sha1(b""), date=LATER)
    assert_not_found([original(), empty], revisit(digest=sha1(b""), date=LATEST))
    assert_not_found([original(), empty], revisit(digest=sha1(b""), date=LATEST, refers_to=3))
    right = revisit(3, profile=NOT_MODIFIED, digest=sha1(BODY), date=LATER)
    unstated = original(1, ("WARC-Payload-Digest", ""))
    assert resolved([unstated, right], revisit(date=LATEST, refers_to=3)) == 1
    assert resolved([unstated, right], revisit(date=LATEST)) == 1


def test_a_named_record_comes_before_what_a_304_of_the_same_digest_leads_to() -> None:
    named = original(4, ("WARC-Payload-Digest", ""), uri="http://other/")
    other = original(1, body=b"something else")
    not_modified = revisit(3, profile=NOT_MODIFIED, digest=sha1(BODY))
    assert resolved([other, named, not_modified], revisit(date=LATEST, refers_to=4)) == 4


def test_a_digest_of_another_algorithm_is_ignored() -> None:
    other = original(1, ("WARC-Payload-Digest", "sha256:" + hashlib.sha256(BODY).hexdigest()))
    assert resolved(other, revisit(refers_to=1)) == 1
    assert_not_found(other, revisit())


def test_a_named_record_without_a_digest_is_accepted() -> None:
    made = original(1, ("WARC-Payload-Digest", ""))
    assert resolved(made, revisit(refers_to=1)) == 1
    assert resolved([made, original(3)], revisit(refers_to=1, digest=None)) == 1


def test_a_missing_original_is_not_found() -> None:
    assert_not_found(revisit())
    assert_not_found([OTHER, revisit(refers_to=1)])
    assert_not_found(OTHER, revisit(refers_to=1, refers_uri=URI, refers_date=DATE))
    assert_not_found(OTHER, revisit(digest=None))


def test_the_message_names_the_missing_original() -> None:
    for made, expected in (
        (revisit(refers_to=7, refers_uri="http://a/"), record_id(7)),
        (revisit(refers_uri="http://a/"), "http://a/"),
        (revisit(uri="http://b/"), "http://b/"),
    ):
        with Collection(files(made)) as collection, pytest.raises(NotFoundError, match=expected):
            collection.open_record(record_id(2))


@pytest.mark.parametrize("profile", UNKNOWN)
@pytest.mark.parametrize("block", [OWN_HEAD, b""])
def test_a_revisit_of_an_unknown_profile_is_not_interpreted(profile: str | None, block: bytes) -> None:
    with Collection(files(original(), revisit(profile=profile, refers_to=1, block=block))) as collection:
        with pytest.raises(UnsupportedError, match="profile") as caught:
            collection.open_record(record_id(2))
        assert (caught.value.source, caught.value.offset) == ("1.warc.gz", 0)
        stored = [*collection][1]
        assert stored.http is None
        assert stored.block.read() == block
        assert stored.refers_to.id == record_id(1), "what its header says may be read"


@pytest.mark.parametrize("profile", [*IDENTICAL_SPELLINGS, *NOT_MODIFIED_SPELLINGS])
def test_the_head_in_a_revisit_of_a_known_profile_is_read(profile: str) -> None:
    with seekwarc.open(files(revisit(profile=profile))[0]) as archive:
        assert next(iter(archive)).http.get("X-Of") == "revisit"


@pytest.mark.parametrize(
    ("field", "value"), [("WARC-Payload-Digest", "no digest"), ("WARC-Refers-To-Date", "yesterday")]
)
def test_other_fields_are_used_if_one_is_damaged(field: str, value: str) -> None:
    good = {"WARC-Payload-Digest": None, "WARC-Refers-To-Date": None}
    given = {**good, field: value}
    again = revisit(
        refers_to=1, digest=given["WARC-Payload-Digest"], refers_date=given["WARC-Refers-To-Date"]
    )
    assert resolved(original(), again) == 1


# Revisits of revisits.


def test_a_revisit_of_a_revisit_resolves_to_the_original() -> None:
    middle = revisit(3, refers_to=1, digest=None)
    assert resolved(original(), middle, revisit(refers_to=3, digest=None)) == 1
    by_date = revisit(2, refers_uri=URI, refers_date=LATER, date=LATEST, digest=None)
    assert resolved(original(), middle, by_date) == 1


def test_a_chain_serves_ranges_of_an_original_in_another_file() -> None:
    body = noise(300_000)
    first = original(1, body=body)
    again = [
        revisit(number, refers_to=number - 1, digest=sha1(body), date=LATER, uri=f"{URI}{number}")
        for number in range(2, 5)
    ]
    sources = files([OTHER, first], again)
    with Collection(sources) as collection:
        record = collection.open_record(record_id(4))
        payload = record.payload
        assert payload.size == len(body)
        for source in sources:
            source.forget()
        assert payload.pread(200_000, 1000) == body[200_000:201_000]
        assert sources[1].requests == []
        assert len(sources[0].requests) <= 2
        assert sources[0].bytes_asked < 25 * KIB, "one frame, and a look at the last"
        for source in sources:
            source.forget()
        assert payload.pread(100_000, 1000) == body[100_000:101_000]
        assert [len(source.requests) for source in sources] == [1, 0]
        assert sources[0].bytes_asked < 21 * KIB
        assert payload.pread(100_100, 500) == body[100_100:100_600]
        assert [len(source.requests) for source in sources] == [1, 0]
        assert record.payload.plan(100_000, 101_000).frames == 1


def chain(length: int) -> list[Stored]:
    return [revisit(number, refers_to=number + 1, digest=None) for number in range(2, 2 + length)]


def test_a_long_chain_is_followed_but_not_for_ever() -> None:
    assert resolved([original(62)], chain(60)) == 62
    assert_not_found([original(502)], chain(500))


@pytest.mark.parametrize("digest", [sha1(BODY), None])
def test_revisits_in_a_circle_are_not_found(digest: str | None) -> None:
    circle = [revisit(2, refers_to=3, digest=digest), revisit(3, refers_to=4, digest=digest)]
    assert_not_found([*circle, revisit(4, refers_to=2, digest=digest)])
    assert_not_found(*circle, revisit(4, refers_to=2, digest=digest))


def test_a_circle_does_not_hide_the_original() -> None:
    circle = [revisit(2, refers_to=3), revisit(3, refers_to=2)]
    assert resolved(circle, original()) == 1
    assert resolved(circle, original(), number=3) == 1


def test_a_revisit_of_itself_is_not_found() -> None:
    for way in ({"refers_to": 2}, {"refers_uri": URI, "refers_date": LATER}, {}):
        assert_not_found(revisit(**way))
        assert_not_found(revisit(digest=None, **way))
    assert resolved(original(), revisit(refers_to=2)) == 1


def test_many_revisits_without_an_original_fail_fast() -> None:
    made = [revisit(number) for number in range(2, 300)]
    assert_not_found(made)


class BaseNames(MemoryIndex):
    """An index that knows files by their base names, as CDX files do."""

    def add(self, entry: Entry) -> None:
        fields = {name: getattr(entry, name) for name in Entry.__slots__}
        super().add(Entry(**{**fields, "filename": entry.filename.rpartition("/")[2]}))


@pytest.mark.parametrize("made", [[revisit(refers_to=2)], [revisit(refers_to=3), revisit(3, refers_to=2)]])
def test_circles_are_noticed_if_the_index_has_base_names(made: list[Stored]) -> None:
    (source,) = files(made)
    source.name = "folder/" + source.name
    index = BaseNames()
    with seekwarc.open(source) as archive:
        for it in described(archive):
            index.add(it)
    with Collection([source], index=index) as collection, pytest.raises(NotFoundError):
        collection.open_record(record_id(2))


def test_a_candidate_of_an_unknown_profile_is_skipped() -> None:
    odd = revisit(3, profile="http://example.org/some-profile")
    assert resolved([odd, original()], revisit(refers_to=3)) == 1


# Originals of every kind.


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("coding", ["chunked", "gzip", "chunked gzip"])
def test_the_content_coding_is_that_of_the_original(coding: str, own: bool) -> None:
    body = gzip.compress(BODY) if "gzip" in coding else BODY
    head = HEAD[:-2]
    if "gzip" in coding:
        head += b"Content-Encoding: gzip\r\n"
    if "chunked" in coding:
        head += b"Transfer-Encoding: chunked\r\n"
    head += b"\r\n"
    made = put(1, "response", head + (chunked(body) if "chunked" in coding else body))
    own_head = head.replace(b"original", b"revisit") if own else b""
    with Collection(files(made, revisit(refers_to=1, block=own_head, digest=sha1(body)))) as collection:
        record = collection.open_record(record_id(2))
        assert record.http.get("X-Of") == ("revisit" if own else "original")
        assert record.payload.read() == body
        assert record.payload.pread(len(body) - 10, 50) == body[-10:]
        with record.payload.open(decoded=True) as file:
            assert file.read() == BODY
        assert [it.verdict for it in record.check_digests()] == ["valid"]


def segments(*more: tuple[str, str]) -> list[Stored]:
    """Cut the original into three."""
    block = HEAD + BODY
    origin = ("WARC-Segment-Origin-ID", f"<{record_id(1)}>")
    total = ("WARC-Segment-Total-Length", str(len(block)))
    return [
        put(1, "response", block[:900], ("WARC-Segment-Number", "1"), *more),
        put(11, "continuation", block[900:2000], ("WARC-Segment-Number", "2"), origin, content_type=None),
        put(12, "continuation", block[2000:], ("WARC-Segment-Number", "3"), origin, total, content_type=None),
    ]


@pytest.mark.parametrize("way", [{"refers_to": 1}, {"refers_uri": URI, "refers_date": DATE}, {}])
def test_an_original_in_segments_is_joined(way: dict) -> None:
    made = segments(("WARC-Payload-Digest", sha1(BODY)))
    with Collection(files(*made, revisit(**way))) as collection:
        record = collection.open_record(record_id(2))
        assert isinstance(record, ResolvedRevisit)
        assert isinstance(record.original, JoinedRecord)
        assert record.payload.read() == BODY
        assert record.payload.pread(800, 1500) == BODY[800:2300]
        assert [it.verdict for it in record.check_digests()] == ["valid"]


def test_missing_segments_of_the_original_are_reported() -> None:
    one, _, three = segments(("WARC-Payload-Digest", sha1(BODY)))
    made = files(one, three, revisit(refers_to=1))
    with Collection(made) as collection, pytest.raises(SegmentError, match="number 2 is missing"):
        collection.open_record(record_id(2))


def test_a_revisit_in_segments_is_joined_and_resolved() -> None:
    header, block = revisit(refers_to=1)
    first = header.replace(
        b"Content-Length: %d" % len(block), b"Content-Length: 20\r\nWARC-Segment-Number: 1"
    )
    second = put(
        3,
        "continuation",
        block[20:],
        ("WARC-Segment-Number", "2"),
        ("WARC-Segment-Origin-ID", f"<{record_id(2)}>"),
        ("WARC-Segment-Total-Length", str(len(block))),
        content_type=None,
    )
    with Collection(files(original(), (first, block[:20]), second)) as collection:
        record = collection.open_record(record_id(2))
        assert record.block.read() == block
        assert record.payload.read() == BODY


# Digests.


def test_the_payload_digest_is_checked_against_the_original() -> None:
    own = [("WARC-Block-Digest", sha1(OWN_HEAD))]
    header, block = revisit(refers_to=1)
    header = header[:-2] + b"".join(f"{name}: {value}\r\n".encode() for name, value in own) + b"\r\n"
    with Collection(files(original(1, ("WARC-Payload-Digest", "")), (header, block))) as collection:
        found = collection.open_record(record_id(2)).check_digests()
        assert [(it.field, it.verdict) for it in found] == [
            ("WARC-Block-Digest", "valid"),
            ("WARC-Payload-Digest", "valid"),
        ]
    other = original(1, ("WARC-Payload-Digest", ""), body=BODY[:-1] + b"!")
    assert_not_found(other, (header, block))
    assert resolved([other, original(3, uri="http://other/")], (header, block)) == 3


def test_a_wrong_digest_of_its_own_block_is_noticed() -> None:
    header, block = revisit(refers_to=1)
    header = header[:-2] + b"WARC-Block-Digest: " + sha1(b"other").encode() + b"\r\n\r\n"
    with Collection(files(original(), (header, block))) as collection:
        found = {it.field: it.verdict for it in collection.open_record(record_id(2)).check_digests()}
        assert found == {"WARC-Block-Digest": "invalid", "WARC-Payload-Digest": "valid"}


@pytest.mark.parametrize(
    ("digest", "verdicts"), [(None, []), ("tiger:abcdef", ["unknown"]), ("sha1:short", ["invalid"])]
)
def test_a_digest_that_cannot_be_computed_is_distinguished(digest: str | None, verdicts: list[str]) -> None:
    made = original(1, ("WARC-Payload-Digest", ""))
    with Collection(files(made, revisit(refers_to=1, digest=digest))) as collection:
        assert [it.verdict for it in collection.open_record(record_id(2)).check_digests()] == verdicts


def test_a_digest_of_the_body_with_its_chunk_sizes_is_distinguished() -> None:
    """As warcio, Wget and pywb make them: of the original, and of each revisit of it."""
    head = HEAD[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
    digest = sha1(chunked(BODY))
    made = put(1, "response", head + chunked(BODY), ("WARC-Payload-Digest", digest))
    with Collection(files(made, revisit(digest=digest))) as collection:
        assert [it.verdict for it in next(iter(collection)).check_digests()] == ["transferred"]
        assert [it.verdict for it in collection.open_record(record_id(2)).check_digests()] == ["transferred"]


def test_a_digest_of_an_original_that_was_cut_off_is_distinguished() -> None:
    made = put(
        1, "response", HEAD + BODY[:90], ("WARC-Truncated", "time"), ("WARC-Payload-Digest", sha1(BODY))
    )
    with Collection(files(made, revisit(refers_to=1))) as collection:
        assert [it.verdict for it in next(iter(collection)).check_digests()] == ["truncated"]
        assert [it.verdict for it in collection.open_record(record_id(2)).check_digests()] == ["truncated"]


# Relations and the writer.


def test_a_resolved_revisit_has_the_relations_of_the_revisit() -> None:
    request = put(5, "request", b"GET / HTTP/1.1\r\n\r\n", ("WARC-Concurrent-To", f"<{record_id(2)}>"))
    with Collection(files(original(), [revisit(refers_to=1), request])) as collection:
        record = collection.open_record(record_id(2))
        assert [it.id for it in record.concurrent] == [record_id(5)]
        assert record.refers_to.id == record_id(1)
        assert [it.id for it in record.original.referring_to] == [record_id(2)]


def written(block: bytes, **options: object) -> tuple[list[bytes], list[seekwarc.Written]]:
    """Write the same response in two files, the second with what is known of the first."""
    known = Duplicates()
    places = []
    data = []
    for number in range(2):
        target = io.BytesIO()
        with seekwarc.Writer(target, dedup=known, **options) as writer:
            places.append(writer.write_response(f"{URI}{number}", block, date=f"2026-01-0{number + 1}"))
            places.append(writer.write_resource(f"{URI}r{number}", BODY, "text/plain"))
        data.append(target.getvalue())
    return data, places


@pytest.mark.parametrize("digest", ["sha1", "sha256"])
@pytest.mark.parametrize("size", [3000, 300_000])
@pytest.mark.parametrize("chunks", [False, True])
def test_revisits_by_the_writer_resolve(size: int, digest: str, chunks: bool) -> None:
    body = noise(size)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    block = head + chunked(body, 70_000) if chunks else HEAD + body
    data, places = written(block, digest=digest, frame_size=64 * KIB)
    assert [place.type for place in places] == ["response", "resource", "revisit", "revisit"]
    sources = [RecordingSource(it, f"{number}.warc.zst") for number, it in enumerate(data)]
    with Collection(sources) as collection:
        first, second = (collection.open_record(uri=f"{URI}{number}") for number in range(2))
        assert isinstance(second, ResolvedRevisit)
        assert second.original.id == first.id == places[0].id
        assert second.payload.read() == first.payload.read() == body
        assert second.http.raw == first.http.raw
        assert {it.verdict for it in second.check_digests()} == {"valid"}
        resource = collection.open_record(uri=f"{URI}r1")
        assert isinstance(resource, ResolvedRevisit)
        assert resource.payload.read() == BODY
    with Collection(sources[1:]) as collection, pytest.raises(NotFoundError):
        collection.open_record(uri=f"{URI}1")


def test_revisits_by_the_writer_resolve_to_segments(tmp_path: Path) -> None:
    body = noise(1 << 20)
    known = Duplicates()
    with seekwarc.Writer(
        tmp_path / "a.warc.zst", dedup=known, frame_size=64 * KIB, max_file_size=512 * KIB
    ) as writer:
        first = writer.write_response(URI, HEAD + body)
        second = writer.write_response(URI + "again", io.BytesIO(OWN_HEAD + body))
    assert (first.type, second.type) == ("response", "revisit")
    with Collection(sorted(tmp_path.iterdir())) as collection:
        record = collection.open_record(uri=URI + "again")
        assert isinstance(record, ResolvedRevisit)
        assert isinstance(record.original, JoinedRecord)
        assert record.payload.pread(600_000, 1000) == body[600_000:601_000]
        assert record.payload.read() == body
        assert record.http.get("X-Of") == "revisit"
        assert {it.verdict for it in record.check_digests()} == {"valid"}
