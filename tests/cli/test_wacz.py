"""Verbs that are given a WACZ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seekwarc.cli import main
from tests.support.chains import chain
from tests.support.waczs import FILM, FILM_BYTES, HOME, members, wacz, warc


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("x.wacz").write_bytes(wacz(members({"a.warc.gz": warc("a.warc.gz"), "b.warc": warc("b.warc")})))
    return "x.wacz"


def test_verbs_take_the_files_of_a_wacz(crawl: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", crawl]) == 0
    assert main(["ls", crawl, "--type", "response"]) == 0
    assert capfd.readouterr().out.count(FILM) == 2
    assert main(["index", crawl, "-o", "x.cdxj"]) == 0
    assert len(Path("x.cdxj").read_text().splitlines()) == 6
    assert main(["extract", crawl, "-o", "out"]) == 0
    assert Path("out", "example.org_film.mp4").read_bytes() == FILM_BYTES
    assert main(["lookup", crawl, HOME]) == 0
    assert capfd.readouterr().out.count("a.warc.gz  http://example.org/\n") == 2


def test_info_lists_the_pages(crawl: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["info", crawl]) == 0
    assert "page         2026-11-17T06:00:00Z http://example.org/ Home\n" in capfd.readouterr().out
    assert main(["info", "--json", crawl]) == 0
    last = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert [page["uri"] for page in last["pages"]] == [HOME]


def test_cat_uses_the_index(crawl: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["cat", crawl, "--uri", FILM, "--range", "100:200"]) == 0
    assert capfdbinary.readouterr().out == FILM_BYTES[100:200]
    assert main(["cat", crawl, "--uri", HOME, "--date", "2026-11-17"]) == 0
    assert main(["cat", crawl, "--uri", FILM, "--joined", "--range", ":9"]) == 0
    assert main(["cat", crawl, "--uri", "http://example.org/missing"]) == 1


@pytest.mark.parametrize("way", [["-o", "new/"], ["--to-dir", "new"]])
def test_convert_unpacks_it_into_a_folder(crawl: str, way: list[str]) -> None:
    assert main(["convert", crawl, *way]) == 0
    assert {path.name for path in Path("new").iterdir()} == {"a.warc.zst", "b.warc.zst"}


def test_convert_takes_a_wacz_of_one_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, new = tmp_path / "x.wacz", tmp_path / "new.warc"
    path.write_bytes(wacz(members()))
    assert main(["convert", str(path), str(new)]) == 0
    assert FILM_BYTES in new.read_bytes()


def test_create_makes_one(crawl: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("pages.txt").write_text(
        f'{{"format": "json-pages-1.0"}}\n{{"url": "{HOME}"}}\n\n{FILM}\nhttp://missing/\n'
    )
    assert main(["wacz", "create", crawl, "-o", "new.wacz", "--title", "T", "--pages", "pages.txt"]) == 0
    said = capfd.readouterr()
    assert said.out.startswith("2 WARC files, 6 lines of the index, 4 pages: ")
    assert said.err == "seekwarc: no capture of the page http://missing/\n"
    assert main(["wacz", "create", crawl, "-o", "new.wacz"]) == 2
    assert main(["wacz", "create", crawl, "-o", "new.wacz", "-f", "--to", "none", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["lines"] == 6
    Path("pages.txt").write_text("{\n")
    assert main(["wacz", "create", crawl, "-o", "y.wacz", "--pages", "pages.txt"]) == 2
    assert "pages.txt: line 1 is not JSON" in capfd.readouterr().err


def test_validate_prints_findings(crawl: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["wacz", "validate", crawl]) == 1
    said = capfd.readouterr().out.splitlines()
    assert said[0].startswith("x.wacz: W10 error: datapackage.json: profile is None")
    assert said[-1] == "x.wacz: not valid: 6 members, 6 lines of the index, 1 page; 4 findings"
    assert main(["wacz", "merge", crawl, crawl, "-o", "new.wacz"]) == 0
    assert main(["wacz", "validate", "new.wacz"]) == 0
    assert main(["wacz", "validate", "new.wacz", crawl, "--json"]) == 1
    one, other = map(json.loads, capfd.readouterr().out.splitlines()[-2:])
    assert (one["valid"], other["valid"]) == (True, False)
    assert other["findings"][0]["rule"] == "W10"
    assert main(["wacz", "merge", crawl]) == 2
    assert main(["wacz", "validate", crawl, "-o", "x"]) == 2
    assert main(["wacz", "validate", "missing.wacz"]) == 2


def test_a_chain_is_checked_and_made_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = chain(3)
    for name, data in found.files.items():
        Path(name).write_bytes(data)
    first, second, last = found.files
    assert main(["verify", "--closed", first, second, last]) == 0
    assert capfd.readouterr().out.endswith("8 revisits: each has its original\n")
    assert main(["wacz", "merge", "--closure", last, "-o", "whole.wacz", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["originals"] == 4
    Path(first).rename("renamed.wacz")
    lost = sum(it.holder == first for it in found.revisits[last])
    assert lost
    assert (
        main(["cat", last, "--uri", next(it.uri for it in found.revisits[last] if it.holder == first)]) == 1
    )
    assert f"in {first}" in capfd.readouterr().err
    assert main(["verify", "--closed", last]) == 1
    assert f"{lost} revisits without an original should be in {first}\n" in capfd.readouterr().out
    assert main(["verify", "--closed", "--json", last]) == 1
    assert json.loads(capfd.readouterr().out.splitlines()[-1]) == {
        "revisits": 4,
        "closed": False,
        "missing": {first: lost},
    }
    for more, severity in ((), "warning"), (("--closed",), "error"):
        main(["wacz", "validate", last, *more])
        said = capfd.readouterr().out
        assert said.count(f"W26 {severity}") == lost
        assert said.count(f"W27 {severity}") == 1
    assert main(["wacz", "validate", last, "renamed.wacz"]) == 1
    assert "renamed.wacz is the same file" in capfd.readouterr().out
    assert main(["wacz", "merge", "--closure", last, "-o", "whole.wacz", "-f"]) == 1
    assert (
        f"{lost} revisits without an original, in {first}, which is not beside them" in capfd.readouterr().err
    )
