"""Films that were captured in parts, written as one record each."""

from __future__ import annotations

import gzip
import random
import re
from datetime import timedelta

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import TargetExistsError
from tests.support.partial import BEGIN, TAG, URI, PartsWriter
from tests.support.parts import small_parts

FILM = random.Random(5).randbytes(3_000_000)


@pytest.fixture
def make(tmp_path):
    """Return a function that writes a file of parts; each is the arguments of `PartsWriter.part`."""

    def write(name: str, *parts, film: bytes = FILM, **options):
        out = PartsWriter(film, **options)
        for *span, more in ((*it, {}) if not isinstance(it[-1], dict) else it for it in parts):
            out.part(*span, **more)
        path = tmp_path / f"{name}.warc.zst"
        path.write_bytes(out.done())
        return path

    return write


def test_a_film_becomes_a_conversion_that_names_its_parts(make, tmp_path) -> None:
    one = make("one", (2_000_000, 3_000_000), (0, 900_000))
    two = make("two", (800_000, 2_100_000))
    target = tmp_path / "films.warc.zst"
    done = tools.join([one, two], target)
    (film,) = done.resources
    assert (film.uri, film.parts, film.size, film.held, film.holes) == (URI, 3, 3_000_000, 3_000_000, ())
    assert film.is_proved
    assert (done.files, done.joined, done.target_size) == (2, 1, target.stat().st_size)
    assert tools.verify(target).is_sound
    with seekwarc.open(target) as archive:
        _, made, about = archive
        assert (made.type, made.target_uri, made.content_type) == ("conversion", URI, "video/mp4")
        assert made.id == film.id
        assert not made.findings
        assert not about.findings
        assert made.payload.read() == FILM
        assert len(made.body.frames) > 2
        assert about.refers_to_id == made.id
        fields = about.warc_fields
    ids = [record.id for path in (one, two) for record in seekwarc.open(path)]
    assert made.refers_to_id == ids[1]
    assert fields == (
        ("joined-by", "strong entity tag"),
        ("part", f"<{ids[1]}> bytes 0-899999"),
        ("part", f"<{ids[2]}> bytes 800000-2099999"),
        ("part", f"<{ids[0]}> bytes 2000000-2999999"),
    )


def test_a_dry_run_writes_nothing(make, tmp_path) -> None:
    path = make("one", (0, 3_000_000 - 1), (2_000_000, 3_000_000))
    done = tools.join(path, dry_run=True)
    assert (done.joined, done.target_size, done.resources[0].id) == (1, None, None)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match="dry_run"):
        tools.join(path)


def test_what_cannot_be_joined_is_left_out_and_said(make, tmp_path) -> None:
    path = make(
        "mixed",
        *((start, start + 1_500_000, {"uri": f"{URI}?{'good'}"}) for start in (0, 1_500_000)),
        (0, 1_000_000, {"uri": f"{URI}?holes"}),
        (0, 2_000_000, {"uri": f"{URI}?differ"}),
        (1_000_000, 3_000_000, {"uri": f"{URI}?differ", "body": FILM[1_000_001:] + b"!"}),
    )
    target = tmp_path / "films.warc.zst"
    done = tools.join(path, target)
    problems = {it.uri.partition("?")[2]: (it.problem, it.is_damaged) for it in done.resources}
    assert problems["good"] == (None, False)
    assert problems["holes"] == ("bytes 1000000-2999999 are in no part", False)
    assert "bytes 1000000 to 1999999 differ" in problems["differ"][0]
    assert problems["differ"][1]
    assert [it.target_uri for it in seekwarc.open(target) if it.type == "conversion"] == [f"{URI}?good"]
    only = tools.join(path, uris=[f"{URI}?holes"], dry_run=True)
    assert [it.uri for it in only.resources] == [f"{URI}?holes"]


def test_a_part_that_is_damaged_takes_back_its_record_alone(make, tmp_path) -> None:
    path = make(
        "damaged",
        *((start, start + 1_500_000, {"uri": f"{URI}?{name}"}) for name in "ab" for start in (0, 1_500_000)),
    )
    with seekwarc.open(path) as archive:
        record = list(archive)[1]
        at = record.payload.plan(1_200_000, 1_200_001).ranges[0][0]
    data = bytearray(path.read_bytes())
    data[at + 5_000] ^= 0xFF
    path.write_bytes(data)
    target = tmp_path / "films.warc.zst"
    done = tools.join(path, target)
    assert [(it.problem is None, it.is_damaged) for it in done.resources] == [(False, True), (True, False)]
    assert tools.verify(target).is_sound
    assert [it.target_uri for it in seekwarc.open(target) if it.type == "conversion"] == [f"{URI}?b"]
    target.unlink()
    done = tools.join(path, target, uris=[f"{URI}?a"])
    assert (done.joined, done.target_size) == (0, None)
    assert list(tmp_path.iterdir()) == [path]


def test_content_codings_are_undone(make, tmp_path) -> None:
    coded = gzip.compress(FILM[:100_000], mtime=0)
    more = {"Content-Encoding": "gzip"}.items()
    out = PartsWriter(coded)
    for start in range(0, len(coded), 40_000):
        out.part(start, min(start + 40_000, len(coded)), *more)
    path, target = tmp_path / "coded.warc.zst", tmp_path / "films.warc.zst"
    path.write_bytes(out.done())
    tools.join(path, target)
    with seekwarc.open(target) as archive:
        assert next(archive.records(type="conversion")).payload.read() == FILM[:100_000]


def test_what_is_not_proved_says_so(make, tmp_path) -> None:
    parts = [(start, start + 1_500_000, {"etag": None}) for start in (0, 1_500_000)]
    late = (0, 1_500_000, {"etag": None, "date": BEGIN + timedelta(hours=2)})
    target = tmp_path / "films.warc.zst"
    done = tools.join(make("one", *parts, late), target)
    assert [(it.parts, it.is_proved, it.problem is None) for it in done.resources] == [
        (2, False, True),
        (1, True, False),
    ]
    fields = next(it.warc_fields for it in seekwarc.open(target) if it.type == "metadata")
    assert re.search("not proved", fields[0][1])


def test_a_resource_with_a_complete_capture_needs_no_joining(make, tmp_path) -> None:
    out = PartsWriter(FILM)
    out.part(0, 100)
    out.add(200, FILM, ("ETag", TAG), ("Content-Length", str(len(FILM))))
    path = tmp_path / "whole.warc.zst"
    path.write_bytes(out.done())
    assert tools.join(path, tmp_path / "films.warc.zst").resources == []
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_is_refused_and_kept(make, tmp_path) -> None:
    path = make("one", (0, 1_500_000), (1_500_000, 3_000_000))
    target = tmp_path / "films.warc.zst"
    target.write_bytes(b"kept")
    with pytest.raises(TargetExistsError):
        tools.join(path, target)
    assert target.read_bytes() == b"kept"
    with pytest.raises(seekwarc.SeekWarcError, match=r"itself|same"):
        tools.join(path, path, existing="overwrite")
    assert tools.join(path, target, existing="overwrite").joined == 1


def test_parts_are_found_in_parts_of_a_file(make, monkeypatch) -> None:
    counted = small_parts(monkeypatch, 100_000)
    path = make("one", *((start, start + 200_000) for start in range(0, len(FILM), 200_000)))
    done = tools.join(path, dry_run=True, processes=3)
    assert counted.done > 3
    assert done == tools.join(path, dry_run=True)
    assert [(film.parts, film.holes) for film in done.resources] == [(15, ())]


def test_a_uri_is_joined_in_any_spelling_and_one_with_its_key_is_named(make, tmp_path) -> None:
    path = make("one", (0, 1_500_000), (1_500_000, 3_000_000))
    found = tools.join(path, dry_run=True, uris=[URI.replace("film", "%66ilm") + "#t=1"])
    assert ([it.uri for it in found.resources], found.not_found) == ([URI], [])
    asked = [URI.replace("http:", "https:"), "http://example.org/no.mp4"]
    missing = tools.join(path, dry_run=True, uris=asked)
    assert (missing.resources, missing.not_found) == (
        [],
        [f"no capture of {asked[0]} in parts; {URI} has the same key", f"no capture of {asked[1]} in parts"],
    )
