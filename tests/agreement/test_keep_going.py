"""Verbs that make something of several files stop at one that cannot be read, or leave all of it out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatWarning
from tests.conftest import ROOT
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise, response

Run = Callable[..., int]

BODY = noise(2000)
SECRET = "http://example.org/secret"
VERBS = {
    "concat": "concat {files} -o {new}.warc.zst",
    "dedupe": "dedupe {files} --to-dir {new}",
    "filter": "filter {files} --type response -o {new}.warc.zst",
    "redact": "redact {files} --uri */secret --no-stubs --to-dir {new}",
    "join": "join {files} -o {new}.warc.zst",
    "wacz": "wacz create {files} -o {new}.wacz",
}
LOOSE = ("dedupe", "filter", "join", "wacz")
"""Verbs that leave out damaged records only."""
DAMAGED = ("damaged", "cut", "unfinished")
KINDS = ("vanished", "empty", "foreign", *DAMAGED)
SUFFIXES = ("warc", "warc.gz", "warc.zst")


def make_file(path: Path, name: str, *, film: tuple[int, int] | None = None) -> None:
    """Make a file with a page, a secret, and a part of a film that several files share, or a film."""
    ranges, uri = ([film], "film") if film is not None else ([(0, 1000), (1000, 2000)], f"{name}/film")
    with seekwarc.open(path, "w") as out:
        out.write_warcinfo({"software": name})
        out.write_response(f"http://example.org/{name}", response(name.encode() + noise(3000), "text/plain"))
        for begin, end in ranges:
            fields = f'Content-Type: video/mp4\r\nETag: "1"\r\nContent-Range: bytes {begin}-{end - 1}/2000'
            block = f"HTTP/1.1 206 X\r\n{fields}\r\n\r\n".encode() + BODY[begin:end]
            out.write_response(f"http://example.org/{uri}", block)
        out.write_response(SECRET, response(name.encode() * 600, "text/plain"))


def make_files(folder: Path, kind: str, suffix: str) -> list[Path]:
    """Make two sound files, and between them one of a kind that cannot be read."""
    folder.mkdir()
    ending = f"{suffix}.open" if kind == "unfinished" else suffix
    first, bad, last = (folder / f"{it}" for it in (f"a.{suffix}", f"b.{ending}", f"c.{suffix}"))
    make_file(first, "a", film=(0, 1000))
    make_file(last, "c", film=(1000, 2000))
    if kind == "foreign":
        bad.write_bytes(b"<!DOCTYPE html><title>404</title>")
    elif kind == "empty":
        bad.touch()
    elif kind in DAMAGED:
        whole = folder / f"whole.{suffix}"
        make_file(whole, "b")
        with seekwarc.open(whole) as archive:
            offset = [it.offset for it in archive][-1]
        data = bytearray(whole.read_bytes())
        whole.unlink()
        if kind != "damaged":
            del data[offset + 100 :]
        elif suffix == "warc":
            data[offset : offset + 5] = b"?" * 5
        else:
            data[offset + 60] ^= 0xFF
        bad.write_bytes(data)
    return [first, bad, last]


def run(run_main: Run, verb: str, files: list[Path], new: Path, *more: str) -> int:
    words = [w for it in VERBS[verb].split() for w in (files if it == "{files}" else [it.format(new=new)])]
    return run_main(*words, *more)


def stored(path: Path) -> list[tuple[str | None, str | None]]:
    with seekwarc.open(path) as archive:
        return [(it.type, it.target_uri) for it in archive]


def found(verb: str, new: Path) -> list[tuple[str | None, str | None]]:
    """Return the types and URIs of the records that a verb wrote, but for what it says of itself."""
    if verb == "wacz":
        with seekwarc.Collection(f"{new}.wacz") as archive:
            return [(it.type, it.target_uri) for it in archive]
    if new.is_dir():
        assert sorted(it.name for it in new.iterdir()) == ["a.warc.zst", "c.warc.zst"]
        return [it for path in sorted(new.iterdir()) for it in stored(path)]
    return [it for it in stored(new.with_suffix(".warc.zst")) if it[0] != "metadata"]


def expected(verb: str, files: list[Path]) -> list[tuple[str | None, str | None]]:
    """Return what `found` returns if the result has exactly the records of some files."""
    records = [it for path in files for it in stored(path)]
    if verb == "join":
        return [("warcinfo", None), ("conversion", "http://example.org/film")]
    left = {"filter": (None,), "redact": (SECRET,)}.get(verb, ())
    return [it for it in records if it[1] not in left]


def contents(folder: Path) -> dict[str, bytes]:
    return {it.name: it.read_bytes() for it in folder.iterdir()}


@pytest.mark.parametrize("kind", DAMAGED)
@pytest.mark.parametrize("verb", LOOSE)
def test_only_damaged_records_are_left_out_where_the_others_are_right(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], verb: str, kind: str
) -> None:
    files = make_files(tmp_path / "crawl", kind, SUFFIXES[DAMAGED.index(kind)])
    results = []
    for more in ([], ["-k"]):
        new = tmp_path / f"new{len(more)}"
        # Damaged parts of films are not used.
        assert run(run_main, verb, files, new, *more) == (verb != "join")
        assert "passed over" not in capsys.readouterr().err
        ending = ".wacz" if verb == "wacz" else ".warc.zst"
        written = sorted(new.iterdir()) if new.is_dir() else [new.with_suffix(ending)]
        results.append([it for path in written for it in stored(path)])
    assert results[0] == results[1]
    assert any("b" in (uri or "") for _, uri in results[0])


CASES = [(verb, kind) for verb in VERBS for kind in KINDS if verb not in LOOSE or kind not in DAMAGED]


@pytest.mark.parametrize(("verb", "kind"), CASES)
def test_a_file_that_cannot_be_read_stops_a_verb_or_is_left_out_whole(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], verb: str, kind: str
) -> None:
    suffix = SUFFIXES[(KINDS.index(kind) + [*VERBS].index(verb)) % 3]
    folder = tmp_path / "crawl"
    files = make_files(folder, kind, suffix)
    first, bad, last = files
    before = contents(folder)

    assert run(run_main, verb, files, tmp_path / "new") == (2 if kind == "vanished" else 1)
    said = capsys.readouterr().err
    lines = [it for it in said.splitlines() if "compressed again" not in it and "warning" not in it]
    assert len(lines) == 1
    assert lines[0].startswith(f"seekwarc: {bad}")
    assert "; --keep-going leaves this file out" in lines[0]
    assert [it for it in tmp_path.rglob("*") if it.is_file() and folder not in it.parents] == []

    assert run(run_main, verb, files, tmp_path / "kept", "--keep-going", "--json") == 1
    answer = capsys.readouterr()
    assert found(verb, tmp_path / "kept") == expected(verb, [first, last])
    named = [it for it in answer.err.splitlines() if str(bad) in it]
    assert len(named) == 1
    assert "; the file is passed over" in named[0]
    assert answer.err.splitlines()[-1].startswith("seekwarc: 1 of 3 files passed over")
    done = json.loads(answer.out)
    assert done["status"] == "problems"
    jsonschema.validate(done, json.loads((ROOT / "spec-notes" / "json.schema.json").read_text()))
    (passed,) = done["passed_over"]
    assert passed["file"] == str(bad)
    assert passed["message"] in named[0]
    if verb == "redact":
        assert named[0].count("not searched: what was to be removed may still be there") == 1
        assert "not searched" in answer.err.splitlines()[-1]
    assert contents(folder) == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_unfinished_file_in_a_folder_is_never_read(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    folder = tmp_path / "crawl"
    first, bad, last = make_files(folder, "unfinished", "warc.gz")
    assert run(run_main, verb, [folder], tmp_path / "new", "-k") == 0
    assert capsys.readouterr().err.count(str(bad)) == 1
    assert found(verb, tmp_path / "new") == expected(verb, [first, last])


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_written_if_no_file_is_left(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    bad = [tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"]
    bad[0].touch()
    assert run(run_main, verb, bad, tmp_path / "new", "--keep-going") == 1
    assert [it for it in tmp_path.rglob("*") if it.is_file()] == bad[:1]
    assert "no file is left of 2 files, so nothing was written" in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_of_sound_files_is_done_as_without(tmp_path: Path, run_main: Run, verb: str) -> None:
    files = make_files(tmp_path / "crawl", "vanished", "warc.gz")
    assert run(run_main, verb, [files[0], files[2]], tmp_path / "new", "-k") == 0
    assert found(verb, tmp_path / "new") == expected(verb, [files[0], files[2]])


def test_a_damaged_pipe_is_passed_over(tmp_path: Path) -> None:
    first, bad, _ = make_files(tmp_path / "crawl", "cut", "warc.gz")
    passed: list[Exception] = []
    with bad.open("rb") as stream:
        done = tools.concat([stream, first], tmp_path / "new.warc.zst", on_error=passed.append)
    assert done.files == 1
    assert len(passed) == 1
    assert stored(tmp_path / "new.warc.zst") == stored(first)


@pytest.mark.parametrize("make", [tools.concat, tools.create_wacz])
def test_a_remote_file_is_named_by_its_address(tmp_path: Path, make: Callable[..., object]) -> None:
    kind = "foreign" if make is tools.create_wacz else "damaged"
    first, bad, _ = make_files(tmp_path / "crawl", kind, "warc.gz")
    passed: list[seekwarc.SeekWarcError] = []
    with RangeServer(bad.read_bytes()) as server:
        target = tmp_path / ("new.wacz" if make is tools.create_wacz else "new.warc.zst")
        make([str(first), server.url], target, on_error=passed.append)
        assert [it.source for it in passed] == [server.url]
    with seekwarc.Collection(target) as archive:
        assert [(it.type, it.target_uri) for it in archive] == stored(first)


def test_skip_warns_and_other_words_are_refused(tmp_path: Path) -> None:
    first, bad, _ = make_files(tmp_path / "crawl", "foreign", "warc.gz")
    with pytest.warns(FormatWarning, match="not a WARC file.*; the file is passed over"):
        assert tools.join([first, bad], dry_run=True, on_error="skip").files == 1
    with pytest.raises(ValueError, match='"raise", "skip" or a function'):
        tools.join([first], dry_run=True, on_error="ignore")


@pytest.fixture
def apart(tmp_path: Path) -> list[Path]:
    """Two files, of which the first has the original of a revisit in the second."""
    old, new = tmp_path / "old.warc.zst", tmp_path / "new.warc.zst"
    with seekwarc.open(old, "w", dedup=(seen := seekwarc.Duplicates())) as out:
        out.write_response("http://example.org/page", response(BODY, "text/plain"), date="2026-11-16")
        out.write_resource("http://example.org/film", BODY[1:], "video/mp4", date="2026-11-16")
        out.write_resource(SECRET, noise(2000), "text/plain")
    with seekwarc.open(new, "w", dedup=seen) as out:
        out.write_response("http://example.org/page", response(BODY, "text/plain"), date="2026-11-17")
        out.write_resource("http://example.org/more", noise(3000), "text/plain")
        out.write_resource(SECRET, noise(4000), "text/plain")
    with seekwarc.open(new, "a") as out:
        out.write_resource("http://example.org/film", BODY[1:], "video/mp4", date="2026-11-18")
    return [old, new]


def damage(path: Path) -> bytes:
    """Damage the last record of a file."""
    with seekwarc.open(path) as archive:
        offset = [it.offset for it in archive][-1]
    data = bytearray(path.read_bytes())
    data[offset + 60] ^= 0xFF
    path.write_bytes(data)
    return bytes(data)


def test_a_revisit_of_a_record_in_a_file_left_out_dangles(apart: list[Path], tmp_path: Path) -> None:
    done = tools.filter(apart, tmp_path / "kept.warc.zst", type="revisit")
    assert (done.belonging["original"], done.dangling) == (1, 0)
    apart[0].write_bytes(b"")
    passed: list[Exception] = []
    done = tools.filter(apart, tmp_path / "left.warc.zst", type="revisit", on_error=passed.append)
    assert (done.files, done.belonging["original"], done.dangling) == (1, 0, 1)
    assert len(passed) == 1
    assert stored(tmp_path / "left.warc.zst") == [("revisit", "http://example.org/page")]


def test_of_the_files_of_an_index_those_that_vanished_are_left_out(apart: list[Path], tmp_path: Path) -> None:
    index = tmp_path / "all.cdxj"
    tools.index(apart, index)
    apart[0].unlink()
    with pytest.raises(FileNotFoundError):
        tools.filter(index, tmp_path / "result.warc.zst", uri="*/page")
    passed: list[seekwarc.SeekWarcError] = []
    done = tools.filter(index, tmp_path / "result.warc.zst", uri="*/page", on_error=passed.append)
    assert (done.matched, done.belonging["original"], done.dangling) == (1, 0, 1)
    assert [it.source for it in passed] == [str(apart[0])]
    assert stored(tmp_path / "result.warc.zst") == [("revisit", "http://example.org/page")]
    apart[1].unlink()
    with pytest.raises(seekwarc.NotFoundError):
        tools.filter(index, tmp_path / "none.warc.zst", uri="*/page", on_error=passed.append)


def test_nothing_becomes_a_revisit_of_a_record_in_a_file_left_out(apart: list[Path], tmp_path: Path) -> None:
    assert tools.dedupe(apart, dry_run=True).revisits == 1
    apart[0].write_bytes(b"")
    done = tools.dedupe(apart, tmp_path / "both.warc.zst", on_error=[].append)
    assert (done.files, done.records, done.revisits) == (1, 4, 0)
    assert stored(tmp_path / "both.warc.zst") == stored(apart[1])


def test_redact_leaves_a_file_as_it_is_and_revisits_of_its_records(apart: list[Path]) -> None:
    before = damage(apart[0])
    passed: list[Exception] = []
    done = tools.redact(apart, in_place=True, uri=SECRET, on_error=passed.append)
    assert (done.files, done.removed, len(passed)) == (1, 1, 1)
    assert apart[0].read_bytes() == before
    assert [it for it, _ in stored(apart[1])] == ["revisit", "resource", "resource", "metadata"]


SEEDS = [*range(2), *(pytest.param(it, marks=pytest.mark.slow) for it in range(2, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_damage_stops_a_verb_that_keeps_going(
    tmp_path: Path, run_main: Run, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    chance = random.Random(seed)
    first, bad, last = make_files(tmp_path / "crawl", "vanished", chance.choice(SUFFIXES))
    make_file(bad, "b")
    data = bytearray(bad.read_bytes())
    for _ in range(chance.choice((1, 1, 3))):
        place = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                del data[place : place + chance.choice((1, 10, 1000))]
            case 2:
                data[place:place] = data[:place][-chance.choice((1, 100)) :]
            case _:
                del data[place + 1 :]
    bad.write_bytes(data)
    for verb in VERBS:
        status = run(run_main, verb, [first, bad, last], tmp_path / verb, "-k")
        is_left_out = "1 of 3 files passed over" in capsys.readouterr().err
        if is_left_out:
            assert status == 1
            assert found(verb, tmp_path / verb) == expected(verb, [first, last]), verb
        else:
            assert status in (0, 1), verb
            assert (tmp_path / verb).is_dir() or [*tmp_path.glob(f"{verb}.*")], verb
        if verb == "concat" and not is_left_out:
            assert found(verb, tmp_path / verb) == expected(verb, [first, bad, last])
    assert bad.read_bytes() == data
