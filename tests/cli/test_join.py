"""`seekwarc join`."""

from __future__ import annotations

import random

import pytest

import seekwarc
from tests.support.partial import URI, PartsWriter

FILM = random.Random(6).randbytes(200_000)


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "crawls"
    folder.mkdir()
    for number, start in enumerate((100_000, 0)):
        out = PartsWriter(FILM)
        out.part(start, start + 100_000)
        out.part(0, 10 + number, uri=f"{URI}?short")
        (folder / f"{number}.warc.zst").write_bytes(out.done())
    return folder


def test_a_film_is_joined(command, parts, tmp_path) -> None:
    target = tmp_path / "films.warc.zst"
    assert b"2 parts" in command("join", parts, "--dry-run").stdout
    assert not target.exists()
    said = command("join", parts, "-o", target).stdout.decode()
    assert f"of 2 parts: {URI}\n" in said
    assert "bytes 11-199999 are in no part" in said
    assert "1 resource joined" in said
    with seekwarc.open(target) as archive:
        assert next(archive.records(type="conversion")).payload.read() == FILM
    assert b"cat" not in command("cat", target, "--id", next(iter(seekwarc.open(target))).id).stdout[:3]


def test_a_dry_run_refuses_a_target_that_exists_as_a_run_does(command, parts, tmp_path) -> None:
    target = tmp_path / "films.warc.zst"
    target.write_bytes(b"mine")
    for more in (["--dry-run"], []):
        assert "exists already" in command("join", parts, "-o", target, *more, status=2).stderr
        command("join", parts, "-o", target, "--uri", f"{URI}?short", *more, status=1)
    command("join", parts, "-o", target, "--dry-run", "--force")
    assert target.read_bytes() == b"mine"


def test_what_was_joined_as_json(command, parts, tmp_path) -> None:
    target = tmp_path / "films.warc.zst"
    done = command("join", parts, "-o", target, "--json").json
    assert done["status"] == "done"
    assert done["target_size"] == target.stat().st_size
    film, short = sorted(done["resources"], key=lambda it: it["uri"])
    assert (film["uri"], film["parts"], film["held"], film["problem"]) == (URI, 2, 200_000, None)
    assert film["id"].startswith("urn:uuid:")
    assert (short["holes"], short["id"]) == ([[11, 200_000]], None)


def test_the_exit_status(command, parts, tmp_path) -> None:
    target = tmp_path / "films.warc.zst"
    command("join", parts, "--uri", f"{URI}?short", "-o", target, status=1)
    assert not target.exists()
    command("join", parts, status=2)
    command("join", parts / "0.warc.zst", "-", "-o", target, status=2)
    target.touch()
    assert "--force" in command("join", parts, "-o", target, status=2).stderr
    command("join", parts, "-o", target, "--force")


def test_a_resource_with_the_key_of_the_one_asked_for_is_named(command, parts) -> None:
    asked = URI.replace("http:", "https:")
    answer = command("join", parts, "--uri", asked, "--dry-run", "--json", status=1)
    said = f"no capture of {asked} in parts; {URI} has the same key"
    assert answer.json["not_found"] == [said]
    assert f"seekwarc: {said}\n" in answer.stderr
