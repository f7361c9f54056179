"""`seekwarc convert --dry-run` of more than can be tried."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from seekwarc.cli import estimates, main
from seekwarc.make.estimating import Estimate

FOUND = Estimate(100 << 30, 60, 70 << 20, (61 << 30, 66 << 30), (11160.0, 12960.0))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What an estimate is asked for; it is not made."""
    asked: list[tuple[object, ...]] = []

    def estimate(sizes: object, compression: str, **options: object) -> Estimate:
        asked.append((sizes, compression, options))
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
    [(sizes, compression, options)] = asked
    assert (sizes, compression) == ([(str(path), path.stat().st_size)], "zst")
    assert options["verify"] is False
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
