"""`seekwarc clip`."""

from __future__ import annotations

import pytest

import seekwarc
from tests.support.cutting import assert_is_part_of
from tests.support.films import film_archive, small_film
from tests.support.partial import URI as PART_URI
from tests.support.partial import PartsWriter

URI = "http://example.org/first.mp4"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.warc.zst"
    film_archive(path, "first.mp4", "film.webm")
    with seekwarc.open(path, "a") as out:
        out.write_resource("http://example.org/page", b"<html>", content_type="text/html")
    return path


def test_a_part_is_cut_and_what_was_done_is_said(command, films, tmp_path) -> None:
    answer = command("clip", films, "--uri", URI, "--from", "0:02.3", "--to", "4", "-o", tmp_path / "cut.mp4")
    assert answer.out.startswith("copied 0:02 to 0:04.16, 0.300 s before 0:02.3: h264, aac in mp4, ")
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), small_film("first.mp4"))


def test_json_has_times_and_cost(command, films, tmp_path) -> None:
    words = ("--uri", URI, "--from", "2.3", "--to", "3", "--exact", "-o", tmp_path / "cut.mkv", "--json")
    (line,) = command("clip", films, *words).json_lines
    assert (line["start"], line["begin"], line["stop"], line["exact"]) == (2.3, 2.3, 3.0, True)
    assert (line["status"], line["format"], line["early"]) == ("done", "mkv", 0.0)
    assert line["target_size"] == (tmp_path / "cut.mkv").stat().st_size
    assert 0 < line["bytes_fetched"] <= films.stat().st_size
    assert 0 < line["payload_read"] <= line["payload_size"] == len(small_film("first.mp4"))


def test_standard_output_gets_the_clip(command, films) -> None:
    answer = command("clip", films, "0", "--from", "1", "--to", "2", "-o", "-")
    assert_is_part_of(answer.stdout, small_film("first.mp4"))
    assert "copied 0:01" in answer.stderr


def test_an_index_leads_to_the_film(command, films, tmp_path) -> None:
    command("index", films, "-o", tmp_path / "films.cdxj")
    words = ("--uri", URI, "--files", films.parent, "--from", "1", "--to", "2", "-o", tmp_path / "cut.mp4")
    command("clip", "--index", tmp_path / "films.cdxj", *words)
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), small_film("first.mp4"))


def test_a_revisit_has_the_film_of_its_original(command, tmp_path) -> None:
    path = tmp_path / "twice.warc.zst"
    with seekwarc.open(path, "w", dedup=seekwarc.Duplicates()) as out:
        block = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n" + small_film("first.mp4")
        out.write_response(URI, block)
        again = out.write_response(URI, block)
    command("clip", path, again.offset, "--from", "1", "--to", "2", "-o", tmp_path / "cut.mp4")
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), small_film("first.mp4"))


def test_a_part_of_a_film_names_the_option_that_joins_parts(command, tmp_path) -> None:
    film, path = small_film("first.mp4"), tmp_path / "parts.warc.zst"
    out = PartsWriter(film)
    half = len(film) // 2
    out.part(0, half)
    out.part(half, len(film))
    path.write_bytes(out.done())
    words = ("clip", path, "--uri", PART_URI, "--from", "1", "--to", "2", "-o", tmp_path / "cut.mp4")
    held = f"bytes {half} to {len(film) - 1} of {len(film)}"
    assert f"{held}: with FILE, --joined takes all parts" in command(*words, status=1).stderr
    command(*words, "--joined")
    assert_is_part_of((tmp_path / "cut.mp4").read_bytes(), film)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--uri", URI, "--from", "3", "--to", "2"], (2, "--to is 0:02, not after --from, 0:03")),
        (
            ["--uri", URI, "--from", "75", "--to", "80"],
            (2, "offset 0: the clip would begin at 1:15, but the film"),
        ),
        (["--uri", URI, "--from", "1:75", "--to", "80"], (2, "'1:75' is not a time")),
        (["--uri", "http://example.org/page", "--from", "1", "--to", "2"], (1, "is HTML or XML, not a film")),
        (
            ["--uri", "http://example.org/none", "--from", "1", "--to", "2"],
            (1, "no response, resource or revisit"),
        ),
    ],
)
def test_what_is_wrong_is_said(command, films, tmp_path, words, answer) -> None:
    status, message = answer
    assert message in command("clip", films, *words, "-o", tmp_path / "cut.mp4", status=status).stderr
    assert list(tmp_path.iterdir()) == []


def test_damage_in_the_part_is_an_error(command, films, tmp_path) -> None:
    data = bytearray(films.read_bytes())
    with seekwarc.open(films) as archive:
        ranges = archive.record_at(0).payload.plan(400_000, 400_001).ranges
    data[ranges[0][0] + 100] ^= 255
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    words = ("--from", "1", "--to", "5", "-o", tmp_path / "cut.mp4")
    assert "offset" in command("clip", path, "0", *words, status=1).stderr
    assert not (tmp_path / "cut.mp4").exists()
    command("clip", path, "0", "--from", "5", "--to", "6", "-o", tmp_path / "cut.mp4")
