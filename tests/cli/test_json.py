"""`--json` of every verb against the schema, where all is well and where it fails."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

from seekwarc.cli.verbs import VERBS
from seekwarc.jobs.outcome import KINDS, Status
from tests.support.foreign import Foreign
from tests.support.jobs import make_sources
from tests.support.partial import PartsWriter

NOTES = Path(__file__).parents[2] / "spec-notes"
SCHEMA = json.loads((NOTES / "json.schema.json").read_text())
SIZES = ("records", "stored_size", "target_size", "content_size")

WELL = {
    "convert": ("convert a.warc.zst new.warc.gz", {"file", "target", *SIZES}),
    "convert many": ("convert a.warc.zst b.warc.gz --to-dir new", {"file", "target", *SIZES}),
    "convert with a dictionary": ("convert pages.warc new.warc.zst --dictionary train", {"dictionary"}),
    "recover": ("recover a.warc.zst -o new.warc.zst", {"file", "target", *SIZES[:3]}),
    "recover damage": ("recover damaged.warc.zst new.warc.zst --partial", {"kept", "losses", *SIZES[:3]}),
    "verify": ("verify a.warc.zst damaged.warc.zst", {"file", "records", "stored_size"}),
    "index": ("index a.warc.zst b.warc.gz -o new.cdxj", {"file", "target"}),
    "index each": ("index a.warc.zst b.warc.gz --to-dir new", {"file", "target"}),
    "index of texts": ("index --text a.warc.zst b.warc.gz -o new.fts", {"file"}),
    "info": ("info a.warc.zst b.warc.gz", {"file", "records", "stored_size", "content_size"}),
    "concat": ("concat a.warc.zst b.warc.gz -o new.warc.zst", {"files", "target", "records", "target_size"}),
    "join": ("join parts.warc.zst -o new.warc.zst", {"files", "target", "target_size", "resources"}),
    "join what is missing": ("join short.warc.zst --dry-run", {"files", "resources"}),
    "dedupe": ("dedupe a.warc.zst b.warc.gz -o new.warc.zst", {"files", "target", "records", "target_size"}),
    "split": ("split a.warc.zst -o part --records 1", {"file", "records"}),
    "train": ("dictionary train pages.warc -o new.dict", {"files", "target", "stored_size"}),
    "dictionary show": ("dictionary show with.warc.zst", {"file", "stored_size"}),
    "dictionary extract": ("dictionary extract with.warc.zst -o new.dict", {"file", "target"}),
    "pack": ("pack things -o new.warc.zst", {"file", "target"}),
    "extract": ("extract a.warc.zst b.warc.gz -o new", {"file", "target"}),
    "text": ("text pages.warc a.warc.zst -o new.jsonl", {"file", "target", "pages"}),
}
FAILING = {
    "convert": ("convert cut.warc.gz new.warc.zst", "truncated"),
    "convert to what is there": ("convert a.warc.zst b.warc.gz", "exists"),
    "convert what is missing": ("convert missing.warc new.warc.zst", "io"),
    "convert with a wrong level": ("convert a.warc.zst new.warc.zst --level 99", "usage"),
    "convert what collides": ("convert a.warc.zst sub/a.warc.zst --to-dir new", "io"),
    "recover": ("recover notes.txt new.warc.zst", "not-found"),
    "verify": ("verify missing.warc", "io"),
    "index": ("index missing.warc -o new.cdxj", "io"),
    "info": ("info notes.txt", "unsupported"),
    "ls": ("ls notes.txt", "unsupported"),
    "index of texts": ("index --text missing.warc -o new.fts", "io"),
    "search": ("search notes.txt tea", "usage"),
    "lookup": ("lookup missing.cdxj http://example.org/", "io"),
    "concat": ("concat cut.warc.gz -o new.warc.zst", "truncated"),
    "join": ("join missing.warc -o new.warc.zst", "io"),
    "dedupe": ("dedupe missing.warc -o new.warc.zst", "io"),
    "split": ("split missing.warc -o part --records 1", "io"),
    "train": ("dictionary train missing.warc -o new.dict", "io"),
    "dictionary": ("dictionary show b.warc.gz", "format"),
    "extract": ("extract missing.warc -o new", "io"),
    "text": ("text missing.warc -o new.jsonl", "io"),
    "clip": ("clip missing.warc 0 --from 1 --to 2 -o new.mp4", "io"),
    "clip of times in the wrong order": ("clip a.warc.zst 0 --from 2 --to 1 -o new.mp4", "usage"),
    "pictures": ("pictures missing.warc 0 --every 1 -o new", "io"),
    "pack": ("pack missing -o new.warc.zst", "io"),
    "filter": ("filter missing.warc --type response -o new.warc.zst", "io"),
    "redact": ("redact missing.warc --uri http://example.org/ -o new.warc.zst", "io"),
    "redact with an index": ("redact missing.warc --uri http://a/ -o new.warc.zst --index a.cdxj", "io"),
    "wacz create": ("wacz create missing.warc -o new.wacz", "io"),
    "wacz validate": ("wacz validate missing.wacz", "io"),
    "wacz merge": ("wacz merge missing.wacz -o new.wacz", "io"),
    "demo": ("demo notes.txt", "io"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_sources(folder)
    (folder / "cut.warc.gz").write_bytes(Foreign().record(b"x" * 3000).gzip().bytes()[:-9])
    (folder / "notes.txt").write_text("no archive at all\n" * 9)
    for name, spans in (("parts", ((0, 50), (40, 100))), ("short", ((0, 50),))):
        parts = PartsWriter(bytes(100))
        for span in spans:
            parts.part(*span)
        (folder / f"{name}.warc.zst").write_bytes(parts.done())
    (folder / "sub").mkdir()
    shutil.copy(folder / "a.warc.zst", folder / "sub")
    return folder


@pytest.fixture
def told(run_main, capsys, made, tmp_path, monkeypatch):
    """Run a command where the sources are; return the exit status and the objects of files."""
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")

    def run(words: str) -> tuple[int, list[dict]]:
        status = run_main(*words.split(), "--json")
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return status, [line for line in lines if "status" in line]

    return run


@pytest.mark.parametrize("name", WELL)
def test_what_was_done_is_reported_in_the_words_of_the_schema(told, name) -> None:
    words, expected = WELL[name]
    status, lines = told(words)
    assert lines
    for line in lines:
        jsonschema.validate(line, SCHEMA)
        assert line["status"] in ("done", "problems")
        assert expected <= set(line)
        assert all(line[word] is not None for word in expected - {"content_size"})
    assert status == any(line["status"] == "problems" for line in lines)


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_is_reported_in_the_words_of_the_schema(told, name) -> None:
    words, kind = FAILING[name]
    status, lines = told(words)
    jsonschema.validate(lines[-1], SCHEMA)
    assert lines[-1]["status"] == "failed"
    assert lines[-1]["error"]["kind"] == kind
    assert status in (1, 2)


def test_each_verb_with_json_has_a_failure_here() -> None:
    verbs = {words.split()[0] for words, _ in FAILING.values()}
    others = {"dictionary"}
    has_json = {name for name, it in VERBS.items() if "--json" in it.parser().format_help()}
    assert has_json - others == verbs - others


def test_the_schema_knows_every_status_and_kind() -> None:
    properties = SCHEMA["properties"]
    assert properties["status"]["enum"] == list(Status)
    assert SCHEMA["$defs"]["error"]["properties"]["kind"]["enum"] == list(KINDS)


def test_the_page_explains_every_word_of_the_schema() -> None:
    explained = set(re.findall(r"^\| `([a-z_-]+)`", (NOTES / "json.md").read_text(), re.MULTILINE))
    words = set(SCHEMA["properties"]) - {"offset"}
    assert words <= explained
    assert {*Status, *KINDS} <= explained


@pytest.mark.parametrize(
    "line",
    [
        {"file": "a", "status": "done"},
        {"status": "done", "error": None},
        {"file": "a", "status": "failed", "error": None},
        {"file": "a", "status": "done", "error": {"kind": "io", "offset": None, "message": "x"}},
        {"file": "a", "status": "fine", "error": None},
        {"file": "a", "status": "done", "error": None, "records": -1},
    ],
)
def test_the_schema_refuses_what_is_not_meant(line) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(line, SCHEMA)
