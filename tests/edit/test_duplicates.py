"""Which records become revisits, which stay, and what revisits of them refer to."""

from __future__ import annotations

import hashlib

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.format.profiles import SERVER_NOT_MODIFIED
from tests.support.days import FILM, PAGE, URI, archive, date, day_of, payloads, types
from tests.support.foreign import Foreign, gzip_member
from tests.support.writing import noise, response

# What stays.


def test_small_payloads_stay(tmp_path) -> None:
    day_of(tmp_path / "1.warc.zst", 1, b"x" * 1023, b"x" * 1023, b"y" * 1024, b"y" * 1024, b"", b"")
    assert tools.dedupe(tmp_path / "1.warc.zst", dry_run=True).revisits == 1
    assert tools.dedupe(tmp_path / "1.warc.zst", dry_run=True, min_size=1023).revisits == 2
    assert tools.dedupe(tmp_path / "1.warc.zst", dry_run=True, min_size=0).revisits == 2


def test_a_lying_digest_merges_nothing(tmp_path) -> None:
    """Other payloads that state the same digest, the oldest among them."""
    right = str(seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest()))
    bodies = [noise(3000, 9), PAGE, noise(3000, 8), PAGE, noise(3000, 9), noise(2000, 7)]
    with archive(tmp_path / "a.warc.zst") as out:
        for day, body in enumerate(bodies, 1):
            fields = {"WARC-Payload-Digest": right}
            out.write_response(URI, body, status=200, date=date(day), headers=fields)
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert types(tmp_path / "new.warc.zst") == ["response"] * 3 + ["revisit", "response", "response"]
    assert done.left == {
        "other bytes with the same digest, or of another type": 3,
        "damaged, or a digest is wrong": 1,
    }
    with seekwarc.Collection([tmp_path / "new.warc.zst"]) as crawl:
        assert [crawl.open_record(record).payload.read() for record in crawl] == bodies


@pytest.mark.parametrize("leads_astray", [False, True])
def test_undoing_heeds_a_lying_digest_only_if_a_revisit_gets_its_bytes(tmp_path, leads_astray) -> None:
    right = str(seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest()))
    days = [day_of(tmp_path / f"{day}.warc.zst", day, PAGE) for day in (1, 2)]
    tools.dedupe(days, tmp_path / "slim.warc.zst")
    with archive(tmp_path / "other.warc.zst") as out:
        fields = {"WARC-Payload-Digest": right}
        out.write_response("http://lies.example/", noise(3000, 9), status=200, date=date(3), headers=fields)
        if leads_astray:
            out.write_revisit("http://lies.example/", payload_digest=right, date=date(4))
    paths = [tmp_path / "slim.warc.zst", tmp_path / "other.warc.zst"]
    done = tools.dedupe(paths, tmp_path / "full.warc.zst", undo=True)
    left = {"other bytes with the same digest, or of another type": 1, "damaged, or a digest is wrong": 1}
    assert (done.restored, done.left) == ((0, left) if leads_astray else (1, {}))
    assert payloads(tmp_path / "full.warc.zst") == payloads(*paths)


def test_truncated_and_segmented_records_stay(tmp_path) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        for _ in range(2):
            out.write_response(URI, PAGE, status=200, truncated="length")
        for _ in range(2):
            out.write_resource(URI, PAGE, "text/plain", headers={"WARC-Segment-Number": "1"})
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert (done.revisits, done.left) == (0, {})


def test_records_that_share_an_id_stay(tmp_path) -> None:
    days = [day_of(tmp_path / "1.warc.zst", 1, PAGE, FILM, noise(2000))]
    copy = tmp_path / "copy.warc.zst"
    copy.write_bytes(days[0].read_bytes())
    done = tools.dedupe([days[0], copy], dry_run=True)
    assert (done.revisits, done.left) == (0, {"another record has the same ID": 3})


@pytest.mark.parametrize("spelled", [URI, "HTTP://EXAMPLE.ORG:80/", "http://example.org"])
def test_captures_that_were_validated_stay(tmp_path, spelled) -> None:
    """A server-not-modified revisit is resolved by the HTTP head of what it refers to."""
    with archive(tmp_path / "a.warc.zst") as out:
        head = {"ETag": '"1"'}
        for day, uri in enumerate(("http://example.org/other", URI), 1):
            out.write_response(uri, PAGE, status=200, http_headers=head, date=date(day))
        unchanged = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'
        out.write_revisit(spelled, unchanged, profile=SERVER_NOT_MODIFIED, date=date(3))
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert done.left == {"a revisit without an HTTP head, or server-not-modified, refers to it or its URI": 1}
    assert payloads(tmp_path / "new.warc.zst") == payloads(tmp_path / "a.warc.zst")


def test_a_capture_stays_that_one_without_a_head_leads_to_by_its_digest(tmp_path) -> None:
    """What was not modified had the ETag of that capture, which is of another URI."""
    digest = str(seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest()))
    with archive(tmp_path / "a.warc.zst") as out:
        for day, tag in enumerate(('"0"', '"1"'), 5):
            uri = f"http://example.org/{day}"
            out.write_response(uri, PAGE, status=200, http_headers={"ETag": tag}, date=date(day))
        out.write_revisit(URI, b"", payload_digest=digest, date=date(3))
        unchanged = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'
        out.write_revisit(URI, unchanged, profile=SERVER_NOT_MODIFIED, date=date(4))
    tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    with seekwarc.Collection([tmp_path / "new.warc.zst"]) as crawl:
        unchanged = [it for it in crawl if it.profile == SERVER_NOT_MODIFIED]
        assert [crawl.open_record(it).payload.read() for it in unchanged] == [PAGE]


def test_a_capture_stays_whose_head_a_revisit_has_by_a_digest_that_an_older_one_does_not_state(
    tmp_path,
) -> None:
    digest = str(seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest()))
    blocks = [
        b"HTTP/1.1 404 Not Found\r\nX-Day: 1\r\n\r\n" + PAGE,
        b"HTTP/1.1 200 OK\r\nX-Day: 2\r\n\r\n" + PAGE,
    ]
    profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    stated = f"WARC-Payload-Digest: {digest}"
    path = stored(
        tmp_path / "a.warc.zst",
        put("urn:x:1", "response", f"{URI}1", date(1), blocks[0]),
        put("urn:x:2", "response", f"{URI}2", date(2), blocks[1], stated),
        put("urn:x:3", "revisit", f"{URI}3", date(1), b"", stated, profile),
    )
    tools.dedupe(path, tmp_path / "new.warc.zst", min_size=1)
    for name in ("a.warc.zst", "new.warc.zst"):
        with seekwarc.Collection([tmp_path / name]) as crawl:
            assert crawl.open_record(uri=f"{URI}3").http["X-Day"] == "2"


def test_a_header_that_breaks_the_rules_stays(tmp_path) -> None:
    made = Foreign()
    for number in range(2):
        block = response(PAGE, "text/html")
        lines = [
            "WARC/1.0",
            "WARC-Type: response",
            f"WARC-Record-ID: <urn:x:{number}>",
            f"WARC-Target-URI: {URI}",
            f"WARC-Date: {date(1)}",
            "WARC-Segment-Origin-ID: <urn:x:1>",
            "Content-Type: application/http; msgtype=response",
            f"Content-Length: {len(block)}",
        ]
        made.record(block, header="\r\n".join([*lines, "", ""]).encode())
    (tmp_path / "a.warc.zst").write_bytes(made.bytes())
    done = tools.dedupe(tmp_path / "a.warc.zst", dry_run=True)
    assert done.left == {"its header breaks a rule of the standard": 1}


# Revisits that are there already.


@pytest.mark.parametrize("named", ["id", "uri"])
def test_revisits_of_what_becomes_a_revisit_refer_to_its_original(tmp_path, named) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        second = out.write_response(URI, PAGE, status=200, date=date(2), record_id="urn:x:2")
        digest = second.header.get("WARC-Payload-Digest")
        given = {"refers_to": second} if named == "id" else {}
        again = b"HTTP/1.1 200 OK\r\nX-Day: 3\r\n\r\n"
        out.write_revisit(
            f"{URI}3",
            again,
            payload_digest=digest,
            refers_to_target_uri=URI,
            refers_to_date=date(2),
            date=date(3),
            **given,
        )
    day_of(tmp_path / "b.warc.zst", 1, PAGE)
    both = [tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"]
    done = tools.dedupe(both, tmp_path / "new.warc.zst")
    assert (done.revisits, done.repointed) == (1, 1)
    with seekwarc.Collection([tmp_path / "new.warc.zst"]) as crawl:
        for record in [it for it in crawl if it.type == "revisit"]:
            assert record.refers_to_id == "urn:x:1-0"
            assert (record.refers_to_target_uri, str(record.refers_to_date)) == (f"{URI}0", date(1))
            assert crawl.refers_to(record).type == "response"
    assert payloads(tmp_path / "new.warc.zst") == payloads(*both)
    assert tools.verify(tmp_path / "new.warc.zst").is_sound
    assert tools.dedupe(tmp_path / "new.warc.zst", dry_run=True).revisits == 0


RAW = hashlib.sha1(PAGE).digest()
DIGEST = str(seekwarc.Digest.of("sha1", RAW))


def put(name: str, kind: str, uri: str, day: str, block: bytes, *fields: str) -> tuple[bytes, bytes]:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <{name}>",
        f"WARC-Target-URI: {uri}",
        f"WARC-Date: {day}",
        "Content-Type: application/http; msgtype=response",
        *fields,
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode(), block


def again(name: str, *fields: str) -> tuple[bytes, bytes]:
    profile = "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    head = f"HTTP/1.1 200 OK\r\nX-Name: {name}\r\n\r\n".encode()
    return put(name, "revisit", f"{URI}again", date(9), head, profile, "WARC-Truncated: length", *fields)


def stored(path, *records: tuple[bytes, bytes]):
    made = Foreign()
    for header, block in records:
        made.record(block, header=header)
    path.write_bytes(made.bytes())
    return path


DAYS = [
    ("2026-11-02T06:00:00Z", "2026-11-02T06:00:00.000Z"),
    ("2026-11-02T06:00:00.000Z", "2026-11-02T06:00:00+00:00"),
    ("2026-11-02T06:00:00.500Z", "2026-11-02T06:00:00.5Z"),
    ("2026-11-02", "2026-11-02T00:00Z"),
]
SHA256 = str(seekwarc.Digest.of("sha256", hashlib.sha256(PAGE).digest()))


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("day", "given"), DAYS)
@pytest.mark.parametrize("digest", [DIGEST, DIGEST.lower(), f"SHA1:{RAW.hex()}", SHA256])
@pytest.mark.parametrize("named", ["WARC-Refers-To: urn:x:2", "WARC-Refers-To: <urn:x:2>", None])
def test_names_and_digests_may_be_spelt_in_any_way(tmp_path, day, given, digest, named) -> None:
    page, stated = response(PAGE, "text/html"), f"WARC-Payload-Digest: {DIGEST}"
    fields = [
        named or f"WARC-Refers-To-Target-URI: {URI}2",
        f"WARC-Refers-To-Date: {given}",
        f"WARC-Payload-Digest: {digest}",
    ]
    path = stored(
        tmp_path / "a.warc.zst",
        put("urn:x:1", "response", f"{URI}1", "2026-11-01T06:00:00+00:00", page, stated),
        put("urn:x:2", "response", f"{URI}2", day, page, stated),
        again("urn:x:3", *fields),
    )
    done = tools.dedupe(path, tmp_path / "new.warc.zst")
    assert (done.revisits, done.repointed) == (1, 1)
    with seekwarc.Collection([tmp_path / "new.warc.zst"]) as crawl:
        assert crawl.open_record("urn:x:3").refers_to_id == "urn:x:1"
    assert payloads(tmp_path / "new.warc.zst") == payloads(path)
    tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    assert payloads(tmp_path / "full.warc.zst") == payloads(path)


def test_a_revisit_that_names_two_records_stays_with_the_one_a_reader_finds(tmp_path) -> None:
    page, other = response(PAGE, "text/html"), response(noise(3000, 5), "text/html")
    fields = [
        "WARC-Refers-To: <urn:x:2>",
        f"WARC-Refers-To-Target-URI: {URI}3",
        f"WARC-Refers-To-Date: {date(3)}",
    ]
    # These cannot be compared with a payload.
    unknown = [f"WARC-Payload-Digest: unknown:{number}" for number in range(2)]
    one = [put(f"urn:x:{day}", "response", f"{URI}{day}", date(day), page) for day in (1, 2)]
    by_container = again("urn:x:5", *fields, unknown[1], "WARC-Refers-To-Container: file://b.warc.zst")
    (tmp_path / "old").mkdir()
    paths = [
        stored(tmp_path / "old/a.warc.zst", *one, again("urn:x:4", *fields, unknown[0]), by_container),
        stored(tmp_path / "old/b.warc.zst", put("urn:x:3", "response", f"{URI}3", date(3), other)),
    ]
    before = payloads(*paths)
    assert [payload == PAGE for *_, payload in before] == [True] * 3 + [False] * 2
    for folder, undo, counts in (("new", False, (1, 1, 0)), ("full", True, (0, 0, 1))):
        (tmp_path / folder).mkdir()
        targets = [tmp_path / folder / path.name for path in paths]
        done = tools.dedupe(paths, targets, undo=undo)
        assert (done.revisits, done.repointed, done.restored) == counts
        assert payloads(*targets) == before
        paths = targets


def test_the_container_of_another_original_is_removed(tmp_path) -> None:
    page = response(PAGE, "text/html")
    container = "WARC-Refers-To-Container: file://a.warc.zst"
    path = stored(
        tmp_path / "a.warc.zst",
        *[
            put(f"urn:x:{day}", "response", f"{URI}{day}", date(day), page, f"WARC-Payload-Digest: {DIGEST}")
            for day in (1, 2)
        ],
        again("urn:x:3", "WARC-Refers-To: <urn:x:2>", f"WARC-Payload-Digest: {DIGEST}", container),
    )
    new, full = tmp_path / "new.warc.zst", tmp_path / "full.warc.zst"
    assert tools.dedupe(path, new).repointed == 1
    assert tools.dedupe(path, full, undo=True).restored == 1
    for made in (new, full):
        with seekwarc.open(made) as archive:
            assert [it.header.get("WARC-Refers-To-Container") for it in archive] == [None] * 3


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_revisits_in_one_gzip_member_stay_what_they_are(tmp_path) -> None:
    page = response(PAGE, "text/html")
    stated = f"WARC-Payload-Digest: {DIGEST}"
    records = [
        put("urn:x:1", "response", f"{URI}1", date(1), page, stated),
        put("urn:x:2", "response", f"{URI}2", date(2), page, stated),
        *[again(f"urn:x:{number}", "WARC-Refers-To: <urn:x:2>", stated) for number in (3, 4)],
    ]
    contents = [header + block + b"\r\n\r\n" for header, block in records]
    members = [*contents[:2], b"".join(contents[2:])]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(map(gzip_member, members)))
    for undo in (False, True):
        done = tools.dedupe(tmp_path / "a.warc.gz", tmp_path / f"{undo}.warc.zst", undo=undo)
        assert (done.repointed, done.restored) == ((0, 1) if undo else (1, 0))
        with seekwarc.open(tmp_path / f"{undo}.warc.zst") as archive:
            assert [it.id for it in archive] == [f"urn:x:{number}" for number in range(1, 5)]
