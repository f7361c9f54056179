"""What an earlier version has made is read by this one, for ever. These tests and files are never changed.

`make.py` makes such a folder.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import random
import shutil
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from tests.frozen.make import FILM, SITE, SIZE, words

FOLDERS = sorted(path for path in Path(__file__).parent.iterdir() if (path / "contents.json").exists())
KETTLES = b"<title>Kettles</title><p>" + words(3000, seed=1)


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the files of a version, which is the current folder."""
    folder = tmp_path / "made"
    shutil.copytree(request.param, folder)
    monkeypatch.chdir(folder)
    return folder


def test_there_are_files() -> None:
    assert FOLDERS


def test_every_record_of_every_archive_is_there(made: Path) -> None:
    contents = json.loads(Path("contents.json").read_text())
    assert len(contents) >= 7
    for name, expected in contents.items():
        with seekwarc.open(name) as archive:
            found = [
                [it.offset, it.type, it.target_uri, hashlib.sha256(it.block.read()).hexdigest()]
                for it in archive
            ]
        assert found == expected, name
        assert tools.verify(name).is_sound, name


@pytest.mark.parametrize("name", ["crawl.warc.zst", "dictionary.warc.zst", "every.warc.zst", "crawl.warc.gz"])
def test_ranges_are_read_by_what_lists_them(made: Path, name: str) -> None:
    film = words(SIZE, seed=9)
    with seekwarc.open(name) as archive:
        record = next(archive.records(uri=FILM))
        assert record.payload.pread(1_150_000, 1000) == film[1_150_000:1_151_000]
        kind = "sidecar" if name.endswith(".gz") else "record"
        assert record.seek_table_status.value == kind
        revisit = next(archive.records(type="revisit"))
    with seekwarc.Collection(name) as collection:
        assert collection.open_record(uri=SITE, date=revisit.date).payload.read() == KETTLES


def test_a_series_is_read_as_one(made: Path) -> None:
    with seekwarc.Collection("series") as collection:
        assert (
            collection.open_record(uri=FILM).payload.pread(200_000, 99)
            == random.Random(9).randbytes(300_000)[200_000:200_099]
        )


def test_what_was_not_finished_goes_on(made: Path) -> None:
    with seekwarc.open("unfinished.warc.zst", "a", repair=True) as out:
        out.write_resource("urn:example:2", b"written later", "text/plain")
    with seekwarc.open("unfinished.warc.zst") as archive:
        blocks = [it.block.read() for it in archive.records(type="resource")]
    assert blocks == [b"written before the end", b"written later"]


@pytest.mark.parametrize("name", ["crawl.cdxj", "cluster/cluster.idx", "crawl.parquet", "crawl.wacz"])
def test_an_index_finds_the_records(made: Path, name: str) -> None:
    if name == "crawl.parquet":
        pytest.importorskip("pyarrow")
    if name == "crawl.wacz":
        with seekwarc.Collection(name) as collection:
            assert collection.open_record(uri=SITE).payload.read() == KETTLES
        return
    with seekwarc.Index(name, files=made) as index:
        captures = list(index.lookup(SITE))
        assert [it.open().payload.read() for it in captures] == [KETTLES, KETTLES]


def test_words_are_found(made: Path) -> None:
    pytest.importorskip("resiliparse")
    hits = tools.search("crawl.fts", "kettles").hits
    assert [it.uri for it in hits] == [SITE]


@pytest.mark.parametrize("form", ["pickle", "json"])
def test_splits_are_read(made: Path, form: str) -> None:
    if form == "pickle":
        splits = pickle.loads(Path("splits.pickle").read_bytes())
    else:
        lines = Path("splits.json").read_text().splitlines()
        splits = [seekwarc.Split.from_json(json.loads(line)) for line in lines]
    assert {it.kind for it in splits} == {"records", "payload"}
    # This is a copy of the file that was cut.
    splits = [dataclasses.replace(it, identity=None) for it in splits]
    film = b"".join(part.read() for it in splits if it.kind == "payload" for part in seekwarc.read_split(it))
    assert film == words(SIZE, seed=9)


def keys(value: object, name: str = "") -> list[str]:
    """Return the names of fields in order, those of objects within after that of the field."""
    found: list[str] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += [f"{name}.{key}", *keys(inner, f"{name}.{key}")]
    elif isinstance(value, list) and value:
        found += keys(value[0], f"{name}[]")
    return found


def test_json_has_its_fields_in_their_order(made: Path, run_cli) -> None:
    for command, lines in json.loads(Path("printed.json").read_text()).items():
        done = run_cli(*command.removesuffix(" --json").split(), "--json", cwd=made)
        assert done.returncode == 0, done.stderr
        for line, before in zip(done.stdout.splitlines(), lines, strict=True):
            now, then = json.loads(line), json.loads(before)
            stayed = iter(keys(now))
            # Fields may be added, between the others as well.
            assert all(key in stayed for key in keys(then)), (command, keys(now), keys(then))
            assert {
                key: now[key] for key in ("file", "offset", "uri", "digest") if key in then
            }.items() <= then.items()
