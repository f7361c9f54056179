"""The advice to make an index, where it would save requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seekwarc.cli import advice, main
from tests.support.foreign import Foreign
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

pytestmark = pytest.mark.needs("module:obstore")

URI = "http://example.org/1"


@pytest.fixture(scope="module")
def server() -> Iterator[RangeServer]:
    made = Foreign()
    for _ in range(4):
        made.record(noise(400_000))
    with RangeServer(made.gzip().bytes()) as server:
        yield server


def advised(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(words)
    return [line for line in capsys.readouterr().err.splitlines() if "requests were made" in line]


@pytest.mark.parametrize("words", [["ls"], ["ls", "--json"], ["cat", "--range", ":0", "--uri", URI]])
def test_after_many_requests_an_index_is_named_once(
    words: list[str], server: RangeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advice, "MAX_REQUESTS", 2)
    url = f"{server.root}/crawls/a.warc.gz"
    said = advised([words[0], url, *words[1:]], capsys)
    assert len(said) == 1
    assert f"`seekwarc index {url} -o a.warc.gz.cdxj`" in said[0]
    assert f"--files {server.root}/crawls/" in said[0]


@pytest.mark.parametrize("words", [["ls"], ["cat", "--range", ":0", "--uri", URI]])
def test_few_requests_are_not_worth_a_word(
    words: list[str], server: RangeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert advised([words[0], f"{server.root}/a.warc.gz", *words[1:]], capsys) == []


def test_requests_of_all_files_count(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.forget()
    names = [f"{server.root}/{number}.warc.gz" for number in range(5)]
    assert advised(["ls", *names], capsys) == []
    monkeypatch.setattr(advice, "MAX_REQUESTS", len(server.asked) // 5 + 1)
    assert len(advised(["ls", *names], capsys)) == 1


def test_a_local_file_takes_no_requests(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advice, "MAX_REQUESTS", 1)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(server.content.data)
    assert advised(["ls", str(path)], capsys) == []
