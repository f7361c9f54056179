"""All that takes a folder reads the same sound files in it, among empty, foreign, cut and unfinished ones."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import FormatWarning
from seekwarc.serve.library import Library
from tests.support.writing import noise, response

FOREIGN = (
    b"",
    b"<!DOCTYPE html><title>404</title>",
    bytes(1000),
    b"PK\x03\x04" + noise(200),
    gzip.compress(b"a log file\n" * 40, mtime=0),
    gzip.compress(b"", mtime=0),
)
SUFFIXES = ("warc", "warc.gz", "warc.zst")
Run = Callable[..., int]


def make_folder(folder: Path, seed: int) -> list[str]:
    """Fill a folder with files in random order; return the URIs of the captures in the sound ones.

    The last record of a cut file is damaged. A file that is being written has a sound capture, too.
    """
    chance = random.Random(seed)
    kinds = ["sound"] * 3 + ["foreign"] * 3 + ["cut", "open"]
    chance.shuffle(kinds)
    found = []
    for number, kind in enumerate(kinds):
        suffix = chance.choice(SUFFIXES)
        path = folder / f"{number}.{suffix}"
        if kind == "foreign":
            path.write_bytes(chance.choice(FOREIGN))
            continue
        uri = f"http://example.org/{number}"
        with seekwarc.open(path, "w") as out:
            page = response(f"<p>Page {number}.".encode(), "text/html")
            out.write("response", block=page, target_uri=uri, content_type="application/http")
            if kind == "cut":
                end = out.write_resource("http://example.org/cut", noise(3000), "text/plain").offset
        if kind == "cut":
            path.write_bytes(path.read_bytes()[: end + 10])
        if kind == "open":
            path.rename(f"{path}.open")
        else:
            found.append(uri)
    return found


def lines(text: str) -> list[dict]:
    return [json.loads(it) for it in text.splitlines()]


def looked_at(run_main: Run, capsys: pytest.CaptureFixture[str], folder: Path) -> dict[str, list[str]]:
    """Return the URIs of captures that each verb finds in a folder."""

    def told(*words: object) -> str:
        assert run_main(*words) == 1, words
        return capsys.readouterr().out

    made = folder.parent
    listed = lines(told("ls", "--json", folder))
    indexed = [json.loads(it.split(" ", 2)[2]) for it in told("index", folder).splitlines()]
    told("text", folder, "-o", made / "text.jsonl")
    told("extract", folder, "-o", made / "extracted")
    extracted = lines((made / "extracted" / "manifest.jsonl").read_text())
    return {
        "ls": [it["uri"] for it in listed if it.get("type") == "response"],
        "index": [it["url"] for it in indexed],
        "text": [it["uri"] for it in lines((made / "text.jsonl").read_text())],
        "extract": [it["uri"] for it in extracted if it["type"] == "response" and it["status"] == "done"],
    }


def read(folder: Path) -> dict[str, list[str]]:
    """Return the URIs of captures that each way of the library finds in a folder, past what is damaged."""
    with seekwarc.Collection(folder, on_error="skip") as collection:
        looped = [it.target_uri for it in collection if it.type == "response"]
    parts = seekwarc.splits(folder)
    split = [it.target_uri for part in parts for it in seekwarc.read_split(part, on_error="skip")]
    with Library([folder]) as library:
        library.read()
        served = [it.uri for it in library.catalogue.entries() if it.type == "response"]
    return {"Collection": looped, "splits": [it for it in split if not it.endswith("cut")], "serve": served}


SEEDS = [*range(2), *(pytest.param(it, marks=pytest.mark.slow) for it in range(2, 60))]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_look_at_the_same_sound_files(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    expected = make_folder(folder, seed)
    for name, found in looked_at(run_main, capsys, folder).items():
        assert sorted(found) == expected, name
    for name in ("info", "verify"):
        assert run_main(name, "--json", folder) == 1
        files = [it for it in lines(capsys.readouterr().out) if "status" in it]
        assert len(files) == 7, "each file has an object, but for that which is being written"
        assert [it["status"] for it in files].count("done") == 3
        assert all(it["status"] != "not-run" for it in files)
    for uri in expected:
        assert run_main("cat", folder, "--uri", uri) == 1
        assert f"Page {uri[-1]}." in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for name, found in read(folder).items():
            assert sorted(found) == expected, name


@pytest.mark.parametrize(
    "words", ["ls", "info", "verify", "index -k", "text -k -o {new}", "extract -o {new}"]
)
def test_a_folder_that_cannot_be_listed_is_passed_over(
    tmp_path: Path,
    run_main: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: str,
) -> None:
    scan = os.scandir

    def scandir(path: str | int) -> object:
        if str(path).endswith("private"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scan(path)

    (tmp_path / "crawl" / "private").mkdir(parents=True)
    with seekwarc.open(tmp_path / "crawl" / "z.warc", "w") as out:
        out.write_resource("http://example.org/", b"A page", "text/plain")
    monkeypatch.setattr(os, "scandir", scandir)
    assert run_main(*words.format(new=tmp_path / "new").split(), tmp_path / "crawl") == 2
    said = capsys.readouterr()
    assert f"{tmp_path / 'crawl' / 'private'}: cannot be listed: Permission denied" in said.err
    assert "z.warc" in said.out or "example.org" in said.out or (tmp_path / "new").exists()


@pytest.mark.parametrize("words", ["concat", "filter --status 200", "dedupe", "join", "wacz create"])
def test_what_makes_one_file_of_all_makes_none_if_one_is_no_archive(
    tmp_path: Path, run_main: Run, words: str
) -> None:
    folder = tmp_path / "crawl"
    folder.mkdir()
    make_folder(folder, 0)
    target = tmp_path / ("new.wacz" if "wacz" in words else "new.warc.zst")
    assert run_main(*words.split(), folder, "-o", target) == 1
    assert [it.name for it in tmp_path.iterdir()] == ["crawl"]
