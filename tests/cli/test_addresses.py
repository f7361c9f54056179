"""`seekwarc lookup --url`."""

from __future__ import annotations

import urllib.request

import pytest

import seekwarc
from tests.support.processes import PATIENT

URI = "http://example.org/film.mp4"
START = "http://127.0.0.1:8090/payload?uri=http%3A%2F%2Fexample.org%2Ffilm.mp4&date="


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.warc.zst"
    with seekwarc.open(path, "w") as out:
        for day in (10, 20, 12):
            date = f"2026-11-{day}T01:02:03Z"
            out.write_resource(URI, b"film of %d" % day, content_type="video/mp4", date=date)
    return path


@pytest.mark.parametrize(
    ("date", "digits"),
    [
        ([], "20261120010203"),
        (["--closest", "20261113"], "20261112010203"),
        (["--closest", "2026-11-10T01:02:03Z"], "20261110010203"),
    ],
)
@pytest.mark.parametrize("through", ["archive", "index"])
def test_the_latest_or_the_nearest_capture(command, days, date, digits, through) -> None:
    target = days
    if through == "index":
        target = days.with_name("days.cdxj")
        command("index", days, "-o", target)
    assert command("lookup", target, URI, "--url", *date).out == START + digits + "\n"


def test_another_server(command, days) -> None:
    out = command("lookup", days, URI, "--url", "--server", "http://[::1]:8099").out
    assert out.startswith("http://[::1]:8099/payload?uri=")


def test_what_is_not_there_is_reported_with_the_next_command(command, days) -> None:
    answer = command("lookup", days, "http://example.org/gone", "--url", status=1)
    assert "http://example.org/gone" in answer.stderr
    assert "seekwarc ls" in answer.stderr
    index = days.with_name("days.cdxj")
    command("index", days, "-o", index)
    assert "no such capture" in command("lookup", index, "http://example.org/gone", "--url", status=1).stderr


@pytest.mark.parametrize(
    "words",
    [(), (URI, "--closest", "soon"), (URI, "--server", "x"), (URI, "--match", "host"), (URI, "--limit", "2")],
)
def test_wrong_usage(command, days, words) -> None:
    command("lookup", days, "--url", *words, status=2)


def test_the_address_works_where_it_is_served(command, serve, days) -> None:
    _, _, port = serve("--port", 0, days)
    address = command(
        "lookup", days, URI, "--url", "--closest", "20261110", "--server", f"http://127.0.0.1:{port}/"
    ).out.strip()
    with urllib.request.urlopen(address, timeout=PATIENT) as response:
        assert response.read() == b"film of 10"
