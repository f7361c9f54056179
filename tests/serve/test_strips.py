"""Pictures of films for the strip under the player."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.serve import strips
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.strips import MAX_CACHED, PICTURES, Strips
from tests.serve.asgi import Client
from tests.support.cutting import opened_picture
from tests.support.films import film_archive
from tests.support.writing import response

pytest.importorskip("av")


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    path = tmp_path_factory.mktemp("films") / "films.warc.zst"
    film_archive(path, "first.mp4", "film.webm", "sound.mp3")
    with seekwarc.open(path, "a") as out:
        block = response(b"\0\0\0\x18ftypisom" + bytes(3000), "video/mp4")
        out.write_response("http://example.org/broken.mp4", block)
        out.write_response("http://example.org/page", response(b"<html>", "text/html"))
        out.write_response("http://example.org/lies.mp4", response(b"#EXTM3U\n/etc/passwd\n", "video/mp4"))
    return path


@pytest.fixture
def films_client(films, portal):
    with Library([films]) as library:
        library.read()
        yield Client(application(library), portal)


@pytest.fixture
def path_of(films_client):
    def find(words: str) -> str:
        (row,) = films_client.get("/api/records", q=words).json["records"]
        return f"/api/records/{row['id']}"

    return find


@pytest.mark.parametrize("name", ["first.mp4", "film.webm"])
def test_pictures_are_small_and_spread_over_the_film(films_client, path_of, name) -> None:
    path = path_of(name)
    assert films_client.get(path).json["pictures"]
    facts = films_client.get(f"{path}/pictures").json
    assert facts["duration"] == pytest.approx(6, abs=0.1)
    assert facts["pictures"] == pytest.approx([0.25 + number / 2 for number in range(12)], abs=0.1)
    answer = films_client.get(f"{path}/pictures/5")
    assert answer.headers["content-type"] == "image/jpeg"
    picture = opened_picture(answer.body, "jpeg")
    assert (picture.width, picture.height) == (192, 108)
    assert len(answer.body) < 20_000


def test_a_picture_is_made_once(films_client, path_of, monkeypatch) -> None:
    path = f"{path_of('first.mp4')}/pictures/3"
    first = films_client.get(path)
    monkeypatch.setattr(Strips, "picture", lambda *_: pytest.fail("made again"))
    again = films_client.get(path)
    assert (again.body, again.headers["etag"]) == (first.body, first.headers["etag"])
    known = films_client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (known.status, known.body) == (304, b"")


def test_pictures_differ_and_so_do_their_tags(films_client, path_of) -> None:
    path = path_of("first.mp4")
    answers = [films_client.get(f"{path}/pictures/{number}") for number in range(PICTURES)]
    assert len({it.body for it in answers}) == PICTURES
    assert len({it.headers["etag"] for it in answers}) == PICTURES


@pytest.mark.parametrize("number", ["12", "-1", "x", "9" * 30])
def test_there_are_no_others(films_client, path_of, number) -> None:
    assert films_client.get(f"{path_of('first.mp4')}/pictures/{number}").status == 404


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["broken.mp4", "lies.mp4", "sound.mp3", "page"])
def test_what_has_no_pictures_says_why(films_client, path_of, name) -> None:
    path = path_of(name)
    facts = films_client.get(f"{path}/pictures")
    assert facts.status == 200
    if name != "sound.mp3":
        assert facts.json["pictures"] == []
        assert facts.json["problem"]
    assert films_client.get(f"{path}/pictures/0").status in (404, 502)


def test_only_films_have_pictures(films_client, path_of) -> None:
    assert not films_client.get(path_of("page")).json["pictures"]
    assert not films_client.get(path_of("sound.mp3")).json["pictures"]


def test_without_the_package_no_film_has_pictures(films_client, path_of, monkeypatch) -> None:
    monkeypatch.setattr(strips.importlib.util, "find_spec", lambda _: None)
    assert films_client.get(path_of("first.mp4")).json["pictures"] is False


def test_the_view_is_charged(films_client, path_of) -> None:
    films_client.get(f"{path_of('first.mp4')}/pictures/1", view="v")
    assert films_client.get("/api/views/v").json["bytes_decoded"] > 0


def test_memory_for_pictures_is_limited(films_client, path_of, monkeypatch) -> None:
    assert MAX_CACHED <= 64 << 20
    monkeypatch.setattr(strips, "MAX_CACHED", 9000)
    path = path_of("first.mp4")
    for number in range(PICTURES):
        films_client.get(f"{path}/pictures/{number}")
    monkeypatch.setattr(Strips, "picture", lambda *_: b"again")
    made = [films_client.get(f"{path}/pictures/{number}").body != b"again" for number in range(PICTURES)]
    assert made[-1]
    assert not made[0]
