"""`--dry-run` of more than can be tried."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import estimates, main
from seekwarc.make.estimating import Estimate
from seekwarc.storage.local import BytesSource

FOUND = Estimate(100 << 30, 60, 70 << 20, (61 << 30, 66 << 30), (11160.0, 12960.0))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What an estimate is asked for; it is not made."""
    asked: list[tuple[object, ...]] = []

    def estimate(sizes: object, work: object, **options: object) -> Estimate:
        asked.append((sizes, work, options))
        return FOUND

    monkeypatch.setattr(estimates, "estimate", estimate)
    return asked


def test_sizes_and_hours_are_said_with_their_spread(asked, crawl, capsys, tmp_path: Path) -> None:
    path = crawl.path("warc.gz")
    assert (
        main(["convert", "-n", str(path), str(tmp_path / "new.warc.zst"), "--jobs", "1", "--no-verify"]) == 0
    )
    assert capsys.readouterr().out.splitlines()[0] == (
        "1 file, 100.0 GiB: would become about 61.0 GiB to 66.0 GiB (61.0% to 66.0%), in 3.1 to 3.6 hours "
        "with --jobs 1"
    )
    [(sizes, work, _)] = asked
    assert sizes == [(str(path), path.stat().st_size)]
    assert (work.compression, work.verify) == ("zst", False)
    assert list(tmp_path.iterdir()) == []


def test_json_has_the_ranges(asked, crawl, capsys, tmp_path: Path) -> None:
    words = ["convert", "-n", "--json", str(crawl.folder), "--to-dir", str(tmp_path), "--to", "gz"]
    assert main(words) in (0, 2)
    if not asked:
        return
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "estimate"
    assert found["target_size_range"] == [61 << 30, 66 << 30]
    assert found["seconds_range"] == [11160.0, 12960.0]


@pytest.fixture
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an archive of a page."""
    pytest.importorskip("resiliparse")
    path = tmp_path_factory.mktemp("page") / "page.warc.zst"
    with seekwarc.open(path, "w") as out:
        html = {"Content-Type": "text/html"}
        out.write_response("http://example.org/", b"<p>" + b"Hello. " * 300, status=200, http_headers=html)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["index", "-o", "new.cdxj"],
        ["index", "-o", "new.idx"],
        ["index", "--parquet", "-o", "new.parquet"],
        ["index", "--to-dir", "new"],
        ["text", "-o", "new.jsonl"],
    ],
)
def test_index_and_text_are_measured_too(asked, page: Path, capsys, here: Path, words: list[str]) -> None:
    assert main([*words, "-n", str(page)]) == 0
    assert "would become about 61.0 GiB" in capsys.readouterr().out
    [(_, work, _)] = asked
    assert list(here.iterdir()) == []
    size = work(BytesSource(page.read_bytes()))
    assert main([*words, str(page)]) == 0
    made = sum(it.stat().st_size for it in here.rglob("*") if it.is_file())
    # Names of files differ.
    assert size == pytest.approx(made, rel=0.2)


@pytest.mark.parametrize("words", [["index"], ["index", "--to-dir", "new"], ["text"]])
def test_what_is_small_is_tried(page: Path, capsys, here: Path, words: list[str]) -> None:
    given = [*words, *(["-o", "new.jsonl"] if "--to-dir" not in words else []), str(page)]
    assert main([*given, "-n"]) == 0
    assert list(here.iterdir()) == []
    said = capsys.readouterr().out
    assert "would be written: " in said
    assert main(given) == 0
    assert capsys.readouterr().out == said.replace("would be written: ", "")
    assert main([*given, "-n"]) == (0 if "--to-dir" in words else 2)


@pytest.mark.parametrize("other", ["--text", "--sidecar"])
def test_other_indexes_are_not_tried(crawl, capsys, tmp_path: Path, other: str) -> None:
    assert main(["index", other, "-n", str(crawl.zst), "-o", str(tmp_path / "a.fts")]) == 2
    assert "--dry-run" in capsys.readouterr().err


def test_files_that_exist_are_not_counted(asked, crawl, tmp_path: Path) -> None:
    (tmp_path / "crawl.warc.gz").touch()
    main(["convert", "-n", str(crawl.zst), "--to-dir", str(tmp_path), "--to", "gz"])
    assert [sizes for sizes, *_ in asked] in ([], [[]])


def test_an_existing_file_is_refused_as_in_the_run(asked, crawl, capsys, tmp_path: Path) -> None:
    (tmp_path / "new.warc.zst").touch()
    assert main(["convert", "-n", str(crawl.zst), str(tmp_path / "new.warc.zst")]) == 2
    assert "exists already" in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize("more", [["--quiet"], ["--dictionary", "train"]])
def test_what_an_estimate_does_not_say_is_tried(asked, crawl, tmp_path: Path, more: list[str]) -> None:
    main(["convert", "-n", str(crawl.zst), str(tmp_path / "new.warc.zst"), *more])
    assert asked == []


def test_small_files_have_exact_figures(crawl, capsys, tmp_path: Path) -> None:
    assert main(["convert", "-n", str(crawl.zst), str(tmp_path / "new.warc.gz")]) == 0
    assert re.search(r"would be written: 5 records, .* would become", capsys.readouterr().out)
