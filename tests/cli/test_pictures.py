"""`seekwarc pictures`."""

from __future__ import annotations

import pytest

import seekwarc
from tests.support.films import film_archive

URI = "http://example.org/first.mp4"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.warc.zst"
    film_archive(path, "first.mp4", "sound.mp3")
    return path


def test_pictures_are_named_by_their_times(command, films, tmp_path) -> None:
    answer = command("pictures", films, "--uri", URI, "--every", "2.5s", "-o", tmp_path / "new")
    names = ["00-00-00.000.jpg", "00-00-02.500.jpg", "00-00-05.000.jpg"]
    assert sorted(it.name for it in (tmp_path / "new").iterdir()) == names
    assert answer.out.splitlines()[:3] == names
    assert answer.out.splitlines()[3].startswith("3 pictures, ")


def test_json_lists_each_picture(command, films, tmp_path) -> None:
    words = ("--every", "2.5", "-o", tmp_path, "--format", "png", "--width", "64", "--json")
    *pictures, film = command("pictures", films, "--uri", URI, *words).json_lines
    assert [(it["target"], it["wanted"], it["time"], it["keyframe"]) for it in pictures] == [
        ("00-00-00.000.png", 0, 0, 0),
        ("00-00-02.500.png", 2.5, 2.48, 2),
        ("00-00-05.000.png", 5, 5, 5),
    ]
    assert all(it["size"] == (tmp_path / it["target"]).stat().st_size for it in pictures)
    assert (film["status"], film["pictures"], film["complete"], film["duration"]) == ("done", 3, True, 6)


def test_a_sheet_needs_no_folder(command, films, tmp_path) -> None:
    command("pictures", films, "--uri", URI, "--every", "1", "--sheet", tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_the_number_is_limited_and_that_is_said(command, films, tmp_path) -> None:
    answer = command("pictures", films, "--uri", URI, "--every", "0.1", "--limit", "4", "-o", tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    assert "only the first 4 pictures were made; --limit allows more" in answer.stderr


def test_existing_pictures_are_kept(command, films, tmp_path) -> None:
    words = ("pictures", films, "--uri", URI, "--every", "3", "-o", tmp_path)
    command(*words)
    assert "exists already" in command(*words, status=2).stderr
    command(*words, "--force")


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--uri", URI, "--every", "1"], (2, "name a folder with -o, a sheet with --sheet, or both")),
        (["--uri", URI, "--every", "0", "-o", "new"], (2, "pictures cannot be 0 seconds apart")),
        (
            ["--uri", "http://example.org/sound.mp3", "--every", "1", "-o", "new"],
            (1, "has sound and no pictures"),
        ),
    ],
)
def test_what_is_wrong_is_said(command, films, tmp_path, words, answer) -> None:
    status, message = answer
    assert message in command("pictures", films, *words, status=status, cwd=tmp_path).stderr


def test_damage_does_not_stop_other_pictures(command, films, tmp_path) -> None:
    data = bytearray(films.read_bytes())
    with seekwarc.open(films) as archive:
        ranges = archive.record_at(0).payload.plan(400_000, 400_001).ranges
    data[ranges[0][0] + 100] ^= 255
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    words = ("--every", "0.5", "-o", tmp_path / "new", "--json")
    *pictures, film = command("pictures", path, "0", *words, status=1).json_lines
    assert film["status"] == "problems"
    assert 0 < film["failed"] <= 3
    assert film["pictures"] == 12 - film["failed"] == len(list((tmp_path / "new").iterdir()))
    assert {it["error"]["kind"] for it in pictures if it["error"]} == {"checksum"}
