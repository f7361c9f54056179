"""Pictures of films, through the library; what the verb does is in tests/cli/test_pictures.py."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc import tools
from tests.support.films import small_film
from tests.support.writing import response


@pytest.fixture(scope="module")
def payload():
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        out.write_response("http://example.org/film", response(small_film("film.webm"), "video/webm"))
    with seekwarc.open(file.getvalue()) as archive:
        yield next(archive.records(type="response")).payload


def test_pictures_and_a_sheet_are_made_in_one_go(payload, tmp_path) -> None:
    saved = []
    sheet = tmp_path / "sheet.png"
    done = tools.pictures(payload, tmp_path / "a" / "b", every="0:02.5", sheet=sheet, on_picture=saved.append)
    assert (done.pictures, done.failed, done.is_complete) == (3, 0, True)
    assert [it.wanted for it in saved] == [0, 2.5, 5]
    files = [*(tmp_path / "a" / "b").iterdir(), sheet]
    assert done.size == sum(it.stat().st_size for it in files)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"every": 0}, "0 seconds apart"),
        ({"every": "x"}, "is not a time"),
        ({"limit": 0}, "limit is 0"),
        ({"width": 0}, "width"),
        ({"width": 100_000}, "width is 100000"),
        ({"form": "gif"}, "form is 'gif'"),
        ({"folder": None}, "neither a folder nor a sheet"),
    ],
)
def test_wrong_arguments_are_refused(payload, tmp_path, change, message) -> None:
    with pytest.raises(ValueError, match=message):
        tools.pictures(payload, **{"folder": tmp_path, "every": 1, **change})
    assert list(tmp_path.iterdir()) == []


def test_a_url_is_no_folder(payload) -> None:
    with pytest.raises(seekwarc.TargetError, match="must be a path on this machine"):
        tools.pictures(payload, "s3://bucket/pictures", every=1)
