"""Deduplication of whole files: identical payloads become revisits, and full records again."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, NotFoundError, SourceChangedError, TargetError
from tests.conftest import ODD_SAMPLES, SAMPLES
from tests.support.days import CHUNKED, FILM, PAGE, URI, archive, date, day_of, payloads, types
from tests.support.leaks import open_below
from tests.support.rounds import rounds
from tests.support.writing import chunked, noise


@pytest.fixture
def days(tmp_path: Path) -> list[Path]:
    """Three days of the same pages, the oldest in the middle."""
    return [
        day_of(tmp_path / f"{day}.warc.zst", day, PAGE, FILM, b"small", noise(2000, day)) for day in (2, 1, 3)
    ]


def test_identical_payloads_become_revisits_of_the_oldest_capture(days, tmp_path) -> None:
    done = tools.dedupe(days, tmp_path / "new.warc.zst")
    assert (done.files, done.records, done.revisits, done.repointed, done.left) == (3, 12, 4, 0, {})
    assert types(tmp_path / "new.warc.zst") == [
        *["revisit", "revisit", "response", "response"],
        *["response"] * 4,
        *["revisit", "revisit", "response", "response"],
    ]
    with seekwarc.open(tmp_path / "new.warc.zst") as opened:
        again = next(iter(opened))
        assert again.header.get("WARC-Refers-To") == "<urn:x:1-0>"
        assert again.refers_to_target_uri == f"{URI}0"
        assert str(again.refers_to_date) == date(1)
        assert again.profile == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
        assert again.http.get("X-Day") == "2"
        assert again.block.size == again.http.size
    assert payloads(tmp_path / "new.warc.zst") == payloads(*days)
    assert tools.verify(tmp_path / "new.warc.zst").is_sound
    assert done.stored_saved == pytest.approx(2 * (len(PAGE) + len(FILM)), rel=0.01)
    sizes = sum(path.stat().st_size for path in days) - (tmp_path / "new.warc.zst").stat().st_size
    assert done.stored_saved == pytest.approx(sizes, rel=0.01)
    assert done.target_size == (tmp_path / "new.warc.zst").stat().st_size


def test_frames_of_other_records_are_copied(days, tmp_path) -> None:
    done = tools.dedupe(days, tmp_path / "new.warc.zst")
    old, new = days[1].read_bytes(), (tmp_path / "new.warc.zst").read_bytes()
    with seekwarc.open(days[1]) as opened:
        for record in opened:
            stored = old[record.offset : record.offset + min(record.length, 60_000)]
            assert record.size > 100_000 or stored in new
    assert done.bytes_recompressed < 200_000


def test_counting_writes_nothing_and_counts_the_same(days, tmp_path) -> None:
    before = sorted(os.listdir(tmp_path))
    counted = tools.dedupe(days, dry_run=True)
    assert sorted(os.listdir(tmp_path)) == before
    done = tools.dedupe(days, tmp_path / "new.warc.zst")
    for name in ("records", "revisits", "content_saved", "stored_saved", "left"):
        assert getattr(counted, name) == getattr(done, name)
    assert counted.target_size is None


def test_undoing_gives_the_records_back(days, tmp_path) -> None:
    tools.dedupe(days, tmp_path / "new.warc.zst")
    done = tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    assert (done.restored, done.revisits, done.left, done.stored_saved) == (4, 0, {}, None)
    assert done.content_saved < -len(FILM)
    assert set(types(tmp_path / "full.warc.zst")) == {"response"}
    with seekwarc.open(tmp_path / "full.warc.zst") as new:
        found = [(dict(record.header), record.block.read()) for record in new]
    with seekwarc.Collection([str(path) for path in days]) as old:
        assert found == [(dict(record.header), record.block.read()) for record in old]


def test_one_file_for_each_source_are_made_together(days, tmp_path) -> None:
    targets = [tmp_path / f"new-{path.name}" for path in days]
    done = tools.dedupe(days, targets)
    assert done.revisits == 4
    assert payloads(*targets) == payloads(*days)
    targets[2].unlink()
    with pytest.raises(TargetError, match="exists"):
        tools.dedupe(days, targets)
    assert not targets[2].exists()


@pytest.mark.parametrize("suffix", ["gz", "warc"])
def test_other_compressions_are_taken(days, tmp_path, suffix) -> None:
    others = []
    for path in days:
        others.append(path.with_suffix(f".{suffix}"))
        tools.convert(path, others[-1])
    done = tools.dedupe(others, tmp_path / "new.warc.zst")
    assert done.revisits == 4
    assert payloads(tmp_path / "new.warc.zst") == payloads(*days)


def test_what_is_missing_stays(tmp_path) -> None:
    day = day_of(tmp_path / "1.warc.zst", 1, PAGE, PAGE)
    with archive(tmp_path / "other.warc.zst") as out:
        out.write_revisit(
            f"{URI}x", payload_digest="sha1:2JMJ7L5RSW3YVVLMLQCJ6YXKYVWU4QQY", refers_to="urn:x:9"
        )
    tools.dedupe(day, tmp_path / "new.warc.zst")
    done = tools.dedupe(
        [tmp_path / "new.warc.zst", tmp_path / "other.warc.zst"], tmp_path / "full.warc.zst", undo=True
    )
    assert (done.restored, done.left) == (1, {"the original is not in these files": 1})
    assert types(tmp_path / "full.warc.zst") == ["response", "response", "revisit"]


# Bodies in chunks, resources, records without a stated digest.


def test_bodies_in_other_chunks_have_the_same_payload(tmp_path) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        for size in (1000, 700):
            out.write_response(URI, chunked(PAGE, size), status=200, http_headers=CHUNKED)
    tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert types(tmp_path / "new.warc.zst") == ["response", "revisit"]
    tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    assert types(tmp_path / "full.warc.zst") == ["response", "response"]
    assert payloads(tmp_path / "full.warc.zst") == payloads(tmp_path / "a.warc.zst")
    assert tools.verify(tmp_path / "full.warc.zst").is_sound


def test_a_revisit_with_a_chunked_head_gets_one_chunk(tmp_path) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        first = out.write_response(URI, PAGE, status=200)
        digest = first.header.get("WARC-Payload-Digest")
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        out.write_revisit(URI, head, payload_digest=digest, refers_to=first)
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "full.warc.zst", undo=True)
    assert done.restored == 1
    with seekwarc.open(tmp_path / "full.warc.zst") as full:
        _, again = list(full)
        assert again.block.read() == head + b"bb8\r\n" + PAGE + b"\r\n0\r\n\r\n"
        assert again.payload.read() == PAGE
        assert all(check.verdict == "valid" for check in again.check_digests())


def test_a_digest_of_the_body_as_it_was_transferred_is_right(tmp_path) -> None:
    body = chunked(PAGE, 700)
    stated = str(seekwarc.Digest.of("sha1", hashlib.sha1(body).digest()))
    with archive(tmp_path / "a.warc.zst") as out:
        for _ in range(2):
            fields = {"WARC-Payload-Digest": stated}
            out.write_response(URI, body, status=200, http_headers=CHUNKED, headers=fields)
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert done.revisits == 1
    done = tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    assert done.restored == 1
    with seekwarc.open(tmp_path / "full.warc.zst") as full:
        assert [record.block.read()[-len(body) :] for record in full] == [body, body]


def test_a_resource_becomes_a_revisit_only_of_its_own_type(tmp_path) -> None:
    with archive(tmp_path / "a.warc.zst") as out:
        out.write_response(URI, PAGE, status=200, date=date(1))
        out.write_resource(URI, PAGE, "text/plain", date=date(2))
        out.write_resource(URI, PAGE, "text/html", date=date(3))
        out.write_resource(URI, PAGE, "text/plain", date=date(4))
        out.write_response(URI, PAGE, status=200, date=date(5))
    done = tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst")
    assert types(tmp_path / "new.warc.zst") == ["response", "resource", "resource", "revisit", "revisit"]
    assert done.left == {"other bytes with the same digest, or of another type": 2}
    tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    with seekwarc.open(tmp_path / "full.warc.zst") as full, seekwarc.open(tmp_path / "a.warc.zst") as old:
        kinds = [[(it.type, it.content_type, it.payload.read()) for it in opened] for opened in (full, old)]
    assert kinds[0] == kinds[1]


def test_a_missing_digest_is_computed(tmp_path) -> None:
    with archive(tmp_path / "a.warc.zst", digest=None) as out:
        for _ in range(2):
            out.write_response(URI, PAGE, status=200)
    assert tools.dedupe(tmp_path / "a.warc.zst", tmp_path / "new.warc.zst").revisits == 1
    with seekwarc.open(tmp_path / "new.warc.zst") as new:
        _, again = list(new)
        assert again.payload_digest == seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest())


# Damage, and what else goes wrong.


@pytest.mark.parametrize("is_many", [True, False])
@pytest.mark.parametrize("place", [100, 500_000])
def test_a_damaged_record_is_left_out_and_no_original(days, tmp_path, place, is_many) -> None:
    """In a large record, damage is found when it is compared or copied."""
    whole = payloads(*days)
    data = bytearray(days[1].read_bytes())
    data[place] ^= 1
    days[1].write_bytes(data)
    targets = [tmp_path / f"new-{path.name}" for path in days] if is_many else [tmp_path / "new.warc.zst"]
    found: list[FormatError] = []
    done = tools.dedupe(days, targets if is_many else targets[0], on_damage=found.append)
    assert list(done.damaged) == found
    assert [error.source for error in found] == [str(days[1])]
    assert (done.records, done.revisits) == (11, 3)
    damaged = f"urn:x:1-{int(place > 3000)}"
    assert payloads(*targets) == [capture for capture in whole if capture[0] != damaged]
    assert all(tools.verify(target).is_sound for target in targets)
    assert open_below(tmp_path) == []


def test_a_damaged_gzip_member_is_left_out(days, tmp_path) -> None:
    tools.convert(days[1], tmp_path / "gz.warc.gz")
    data = bytearray((tmp_path / "gz.warc.gz").read_bytes())
    data[500_000] ^= 1
    (tmp_path / "gz.warc.gz").write_bytes(data)
    done = tools.dedupe([days[0], tmp_path / "gz.warc.gz"], tmp_path / "new.warc.zst")
    assert (len(done.damaged), done.records, done.revisits) == (1, 7, 1)
    assert tools.verify(tmp_path / "new.warc.zst").is_sound


def test_a_file_that_changes_meanwhile_is_reported(days, tmp_path) -> None:
    def change(source: Any, label: str) -> Any:
        if label == "copying":
            day_of(days[1], 9, PAGE)
        return source

    with pytest.raises((SourceChangedError, FormatError)):
        tools.dedupe(days[:2], tmp_path / "new.warc.zst", on_progress=change)
    assert not (tmp_path / "new.warc.zst").exists()


def test_wrong_calls_are_refused(days, tmp_path) -> None:
    with pytest.raises(ValueError, match="set dry_run"):
        tools.dedupe(days)
    with pytest.raises(ValueError, match="no file to read"):
        tools.dedupe([], tmp_path / "new.warc.zst")
    with pytest.raises(ValueError, match="3 files and 1 names"):
        tools.dedupe(days, [tmp_path / "new.warc.zst"])
    with pytest.raises(TargetError, match="itself a file to be read"):
        tools.dedupe(days, days[0], existing="overwrite")
    with pytest.raises(TargetError, match=r"\.warc\.zst"):
        tools.dedupe(days, tmp_path / "new.warc.gz")


# Properties.


@st.composite
def crawls(draw: st.DrawFn) -> list[tuple[str, int, bytes, bool]]:
    """Draw captures: how each is written, its day, its payload."""
    bodies = st.sampled_from([b"", b"a", b"other", b"x" * 2000, PAGE, PAGE[:-1] + b"!", noise(200_000)])
    kinds = st.sampled_from(["response", "chunked", "resource", "dedup", "metadata"])
    return draw(
        st.lists(st.tuples(kinds, st.integers(1, 28), bodies, st.booleans()), min_size=1, max_size=12)
    )


def stored(crawl: list[tuple[str, int, bytes, bool]]) -> bytes:
    made, seen = io.BytesIO(), seekwarc.Duplicates()
    with seekwarc.open(made, "w", frame_size=64 << 10, dedup=seen) as out:
        for kind, day, body, has_digest in crawl:
            uri = f"{URI}{len(body) % 3}"
            headers = {} if kind == "dedup" or not has_digest else {"X-Any": "1"}
            if kind == "metadata":
                out.write_metadata(body, content_type="text/plain")
            elif kind == "resource":
                out.write_resource(uri, body, "text/plain", date=date(day), headers=headers)
            elif kind == "chunked":
                out.write_response(
                    uri, chunked(body, 999), status=200, http_headers=CHUNKED, date=date(day), headers=headers
                )
            else:
                out.write_response(uri, body, status=200, date=date(day), headers=headers)
    return made.getvalue()


@settings(max_examples=rounds(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=crawls(), second=crawls(), min_size=st.sampled_from([0, 1, 1024]))
def test_deduplicating_and_undoing_gives_all_payloads_back(tmp_path_factory, first, second, min_size) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    paths = [folder / "a.warc.zst", folder / "b.warc.zst"]
    for path, crawl in zip(paths, (first, second), strict=True):
        path.write_bytes(stored(crawl))
    before = payloads(*paths)
    done = tools.dedupe(paths, folder / "new.warc.zst", min_size=min_size)
    assert payloads(folder / "new.warc.zst") == before
    assert tools.dedupe(folder / "new.warc.zst", dry_run=True, min_size=min_size).revisits == 0
    again = tools.dedupe(folder / "new.warc.zst", folder / "full.warc.zst", undo=True)
    assert again.restored >= done.revisits
    assert payloads(folder / "full.warc.zst") == before
    assert "revisit" not in types(folder / "full.warc.zst")
    assert tools.verify(folder / "full.warc.zst").is_sound


FOLDERS = {SAMPLES, ODD_SAMPLES, ODD_SAMPLES.parent / "warcio-test-data"}
FILES = {path.name: path for folder in FOLDERS if folder.is_dir() for path in folder.glob("*.warc*")}


FAILURES = (b"NotFoundError", b"FormatError")


def resolved(path: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    with seekwarc.Collection([str(path)]) as crawl:
        for record in crawl:
            try:
                payload = crawl.open_record(record).payload.read()
            except NotFoundError:
                payload = FAILURES[0]
            except FormatError:
                payload = FAILURES[1]
            found.append((record.id, record.target_uri, str(record.date), payload))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("name", sorted(FILES))
def test_files_of_other_tools_keep_their_payloads(name: str, tmp_path: Path) -> None:
    try:
        tools.dedupe(FILES[name], tmp_path / "new.warc.zst", min_size=1)
    except FormatError:
        return
    before = resolved(FILES[name])
    tools.dedupe(tmp_path / "new.warc.zst", tmp_path / "full.warc.zst", undo=True)
    for made in ("new.warc.zst", "full.warc.zst"):
        after = resolved(tmp_path / made)
        assert len(after) == len(before)
        # What could not be resolved since records shared a gzip member can be now.
        assert [now for now, old in zip(after, before, strict=True) if old[-1] not in FAILURES] == [
            old for old in before if old[-1] not in FAILURES
        ]


IN_A_PROCESS = """
import re, sys
from pathlib import Path
from seekwarc import tools
done = tools.dedupe(sys.argv[1], *sys.argv[2:], dry_run=not sys.argv[2:], min_size=1)
# ru_maxrss is at least that of the process that started this one.
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(done.records, done.revisits, int(peak) // 1024)
"""
RECORD = b"""WARC/1.1\r
WARC-Type: resource\r
WARC-Target-URI: http://host-%d.example.org/page/%d\r
WARC-Date: 2026-01-01T00:00:00Z\r
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>\r
WARC-Payload-Digest: sha1:%b\r
Content-Type: text/plain\r
Content-Length: 32\r
\r
%032d\r
\r
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
@pytest.mark.parametrize(("suffix", "is_written"), [("warc", False), ("warc.zst", True)], ids=str)
def test_memory_does_not_grow_with_the_number_of_records(
    suffix: str, is_written: bool, tmp_path: Path
) -> None:
    path = tmp_path / "many.warc"
    peaks = []
    # The caches of the table of records are full after some 40,000.
    for count in (30_000, 60_000):
        with open(path, "wb") as file:
            for number in range(count):
                content = number - (number % 10 == 9)
                digest = base64.b32encode(hashlib.sha1(b"%032d" % content).digest())
                file.write(RECORD % (number % 5000, number, number, digest, content))
        source = path.with_suffix("." + suffix)
        if source != path:
            tools.convert(path, source, existing="overwrite")
        new = [str(tmp_path / f"{count}.warc.zst")] if is_written else []
        words = [sys.executable, "-c", IN_A_PROCESS, str(source), *new]
        found = subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()
        assert found[:2] == [str(count), str(count // 10)]
        peaks.append(int(found[2]))
    assert peaks[1] - peaks[0] < 10
    assert peaks[1] < 100


def test_records_with_trailer_fields_stay(tmp_path) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
    path = tmp_path / "old.warc.zst"
    with seekwarc.open(path, "w") as out:
        for trailer in (b"", b"Expires: never\r\n", b""):
            out.write(
                "response", target_uri=URI, content_type="application/http", block=head + trailer + b"\r\n"
            )
    done = tools.dedupe(path, tmp_path / "new.warc.zst", min_size=1)
    assert done.revisits == 1
    assert sum(done.left.values()) == 1
    assert "trailer" in next(iter(done.left))
    assert types(tmp_path / "new.warc.zst") == ["response", "response", "revisit"]
