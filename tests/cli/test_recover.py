"""`seekwarc recover`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import NotFoundError
from seekwarc.frames.dictionary import Dictionary
from tests.cli.conftest import FILM_URI, FORMS, Answer, assert_well_behaved
from tests.support.foreign import Foreign, some_dictionary, text
from tests.support.processes import PATIENT
from tests.support.writing import noise

pytestmark = pytest.mark.slow


@pytest.fixture
def command(run_cli) -> Callable[..., Answer]:
    """Run the command as elsewhere, but what it finds is told on standard output."""

    def run(*args: object, status: int = 0, **options: object) -> Answer:
        done = run_cli(*args, **options)
        assert_well_behaved(done.returncode if not done.stdout else 0, done.stderr)
        assert done.returncode == status, done.stderr.decode()
        return Answer(done.returncode, done.stdout, done.stderr.decode())

    return run


def left_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def contents(path: Path) -> list[tuple[bytes, bytes]]:
    with seekwarc.open(path) as archive:
        return [(record.header.raw, record.block.read()) for record in archive]


def without_the_film(crawl) -> list[tuple[bytes, bytes]]:
    return [(put.header, put.block) for put in crawl.made["warc"].records if put.block != crawl.put(3).block]


# What comes out.


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_file_is_saved_whole(command, crawl, tmp_path, form) -> None:
    target = tmp_path / "saved.warc.zst"
    answer = command("recover", crawl.path(form), target)
    assert answer.out == "5 records saved; 0 B lost\n"
    assert answer.stderr == ""
    assert contents(target) == contents(crawl.path(form))
    assert left_in(tmp_path) == [target.name]


def test_what_is_intact_is_saved_and_the_rest_reported(command, crawl, damaged, tmp_path) -> None:
    before = damaged.read_bytes()
    target = tmp_path / "saved.warc.zst"
    answer = command("recover", damaged, target, status=1)
    lost, saved = answer.out.splitlines()
    put = crawl.film_put
    assert lost.startswith(f"lost: {put.offset} to {put.stop}, ")
    assert f"({FILM_URI})" in lost
    assert saved.startswith("4 records saved; ")
    assert saved.endswith(" lost")
    assert contents(target) == without_the_film(crawl)
    assert damaged.read_bytes() == before
    assert "sound" in command("verify", target).out


def test_json_tells_everything(command, crawl, damaged, tmp_path) -> None:
    put = crawl.film_put
    data = command("recover", damaged, tmp_path / "saved.warc.zst", "--json", status=1).json
    [loss] = data["losses"]
    reason = loss.pop("reason")
    assert "damaged" in reason
    assert loss == {
        "offset": put.offset,
        "end": put.stop,
        "uri": FILM_URI,
        "kept": None,
        "missing": None,
        "gaps": [],
        "severity": "damage",
    }
    assert data == {
        "file": str(damaged),
        "target": str(tmp_path / "saved.warc.zst"),
        "status": "problems",
        "error": None,
        "dry_run": False,
        "records": 4,
        "stored_size": damaged.stat().st_size,
        "target_size": (tmp_path / "saved.warc.zst").stat().st_size,
        "truncated": 0,
        "kept": 0,
        "missing": 0,
        "lost": put.length,
        "unread": 0,
        "losses": [loss],
        "suspect": [],
    }


def test_what_is_intact_of_a_record_is_kept_when_asked_for(command, crawl, damaged, tmp_path) -> None:
    target = tmp_path / "saved.warc.zst"
    answer = command("recover", damaged, target, "--partial", status=1)
    assert answer.out.startswith("damaged: ")
    assert " of its block were kept, " in answer.out
    assert "4 records saved, and parts of 1 (" in answer.out
    assert answer.out.endswith(" missing); 0 B lost\n")
    data = command("recover", damaged, target, "--partial", "--json", "--force", status=1).json
    assert (data["records"], data["truncated"]) == (4, 1)
    [loss] = data["losses"]
    [[start, stop]] = loss["gaps"]
    whole = crawl.put(3).block
    with seekwarc.open(target) as archive:
        film = list(archive)[3]
        assert film.header.get("WARC-Truncated") == "unspecified"
        assert film.header.get("X-Missing-Bytes") == f"{start}-{stop - 1}"
        assert film.target_uri == FILM_URI
        assert film.block.read() == whole[:start] + bytes(stop - start) + whole[stop:]
    assert (loss["kept"], loss["missing"]) == (len(whole) - (stop - start), stop - start)
    assert (data["kept"], data["missing"], data["lost"]) == (loss["kept"], loss["missing"], 0)


def test_what_a_limit_keeps_from_being_read_is_not_lost(command, tmp_path) -> None:
    made = Foreign().record(b"one").record(text(3 << 20), window_log=21).record(b"three")
    path, target = tmp_path / "a.warc.zst", tmp_path / "saved.warc.zst"
    path.write_bytes(made.bytes())
    put = made.records[1]
    answer = command("recover", path, target, "--max-window", "1M", status=1)
    assert answer.out.startswith(f"not read: {put.offset} to {put.stop}, ")
    assert answer.out.endswith(" not read\n")
    assert "2 records saved; 0 B lost, " in answer.out
    data = command("recover", path, target, "--max-window", "1M", "--json", "--force", status=1).json
    assert (data["records"], data["lost"], data["unread"]) == (2, 0, put.length)
    assert [loss["severity"] for loss in data["losses"]] == ["limit"]
    assert command("recover", path, target, "--force").out == "3 records saved; 0 B lost\n"


def test_a_suspect_record_is_reported(command, tmp_path) -> None:
    block = b"right"
    raw = Foreign().record(block).records[0].header
    raw = raw.replace(b"Content-Length", b"WARC-Block-Digest: sha1:%b\r\nContent-Length" % (b"A" * 32))
    source, target = tmp_path / "a.warc.zst", tmp_path / "saved.warc.zst"
    source.write_bytes(Foreign().record(block, header=raw).bytes())
    answer = command("recover", source, target, status=1)
    told, saved = answer.out.splitlines()
    assert told.startswith("suspect: 0 urn:uuid:00000000-0000-4000-8000-000000000000: ")
    assert saved == "1 record saved; 0 B lost"
    data = command("recover", source, target, "--json", "--force", status=1).json
    assert data["suspect"] == [{"offset": 0, "id": "urn:uuid:00000000-0000-4000-8000-000000000000"}]
    assert contents(target) == [(raw, block)]


def test_options_of_writing_are_obeyed(command, damaged, tmp_path) -> None:
    target = tmp_path / "saved.warc.zst"
    words = ("--tables", "every", "--level", "1", "--frame-size", "64K", "--threads", "1")
    command("recover", damaged, target, *words, status=1)
    with seekwarc.open(target) as archive:
        assert [record.seek_table_status for record in archive] == [*["record"] * 3, "single"]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_dictionary_can_be_given(command, tmp_path, compressed) -> None:
    made = Foreign().dictionary(compressed=compressed).record(text(500)).record(text(900, seed=1))
    data = bytearray(made.bytes())
    data[40 if compressed else 9] ^= 1
    source, target, dictionary = (tmp_path / name for name in ("a.warc.zst", "saved.warc.zst", "dictionary"))
    source.write_bytes(data)
    answer = command("recover", source, target, status=1)
    assert answer.stderr == f"seekwarc: {source}: no record in it is intact\n"
    dictionary.write_bytes(some_dictionary().as_bytes())
    command("recover", source, target, "--source-dictionary", dictionary)
    assert contents(target) == [(put.header, put.block) for put in made.records]
    with seekwarc.open(target) as archive:
        assert archive.dictionary.id == Dictionary(some_dictionary().as_bytes()).id


def test_what_is_hostile_does_nothing_to_the_terminal(command, hostile, tmp_path) -> None:
    data = bytearray(hostile.read_bytes())
    data[-3] ^= 1
    source = tmp_path / "hostile and damaged"
    source.write_bytes(data)
    for words in ((), ("--partial",), ("--json",)):
        answer = command("recover", source, tmp_path / "saved.warc.zst", "--force", *words, status=1)
        assert "\x1b" not in answer.out
        assert "\x9b" not in answer.out


# Nothing comes out.


@pytest.mark.parametrize(
    "data", [b"", b"<!doctype html>", noise(3000), bytes(3000)], ids=["empty", "page", "noise", "zeros"]
)
def test_where_nothing_is_intact_there_is_no_file(command, tmp_path, data) -> None:
    source, target = tmp_path / "source", tmp_path / "saved.warc.zst"
    source.write_bytes(data)
    answer = command("recover", source, target, status=1)
    assert answer.stderr == f"seekwarc: {source}: no record in it is intact\n"
    assert answer.out == ""
    assert left_in(tmp_path) == ["source"]


def test_an_older_file_stays_where_nothing_is_intact(command, tmp_path) -> None:
    source, target = tmp_path / "source", tmp_path / "saved.warc.zst"
    source.write_bytes(b"nothing")
    target.write_bytes(b"older")
    command("recover", source, target, "--force", status=1)
    assert target.read_bytes() == b"older"


def test_a_missing_dictionary_is_reported(command, damaged, tmp_path) -> None:
    words = ("--source-dictionary", tmp_path / "none")
    stderr = command("recover", damaged, tmp_path / "saved.warc.zst", *words, status=2).stderr
    assert f"{tmp_path / 'none'}: cannot be opened: No such file" in stderr
    assert not (tmp_path / "saved.warc.zst").exists()


def test_what_is_not_a_dictionary_is_refused_by_name(command, damaged, tmp_path) -> None:
    dictionary = tmp_path / "dictionary"
    dictionary.write_bytes(b"no dictionary")
    words = ("--source-dictionary", dictionary)
    stderr = command("recover", damaged, tmp_path / "saved.warc.zst", *words, status=1).stderr
    assert str(dictionary) in stderr


def test_standard_output_gets_what_a_file_would(command, damaged, tmp_path) -> None:
    command("recover", damaged, tmp_path / "saved.warc.zst", status=1)
    for output in (("-",), ("-o", "-"), ("/dev/stdout",)):
        answer = command("recover", damaged, *output, "--json", status=1, cwd=tmp_path)
        assert answer.stdout == (tmp_path / "saved.warc.zst").read_bytes()
        told = json.loads(answer.stderr)
        assert (told["target"], told["status"]) == (output[-1], "problems")
        assert told["target_size"] == len(answer.stdout)
    assert sorted(os.listdir(tmp_path)) == ["damaged.warc.zst", "saved.warc.zst"]


def test_standard_output_gets_nothing_where_nothing_is_whole(command, tmp_path) -> None:
    (tmp_path / "noise.warc.zst").write_bytes(noise(5000))
    assert command("recover", tmp_path / "noise.warc.zst", "-", status=1).stdout == b""


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_recovered_like_a_file(command, damaged, tmp_path, name) -> None:
    command("recover", damaged, tmp_path / "of a file.warc.zst", status=1)
    command("recover", name, tmp_path / "of a pipe.warc.zst", status=1, stdin=damaged.read_bytes())
    expected = (tmp_path / "of a file.warc.zst").read_bytes()
    assert (tmp_path / "of a pipe.warc.zst").read_bytes() == expected


def test_a_pipe_of_something_else_is_refused_while_it_is_open(start, tmp_path) -> None:
    process = start("recover", "-", "-o", tmp_path / "saved.warc.zst")
    process.stdin.write(bytes(1000))
    process.stdin.flush()
    assert process.wait(timeout=60) == 1
    stderr = process.stderr.read()
    assert stderr.startswith(b"seekwarc: <stdin>, offset 0: not a WARC file")
    assert stderr.endswith(b"store it in a file first\n")
    assert os.listdir(tmp_path) == []


def test_the_damaged_file_is_never_the_target(command, damaged) -> None:
    before = damaged.read_bytes()
    assert "same file" in command("recover", damaged, damaged, status=2).stderr
    assert damaged.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "see `seekwarc recover --help`"),
        (("a", "b", "--level", "x"), "--level"),
        (("a", "b", "--none"), "--none"),
        (("a.warc.zst",), "name the new file too"),
        (("a", "b", "c"), "2 files cannot become one"),
    ],
)
def test_wrong_words_are_refused(command, words, told) -> None:
    assert told in command("recover", *words, status=2).stderr


def test_wrong_values_are_refused(command, damaged, tmp_path) -> None:
    stderr = command("recover", damaged, tmp_path / "b.warc.zst", "--level", "99", status=2).stderr
    assert "level" in stderr
    assert not (tmp_path / "b.warc.zst").exists()


# How it runs.


def test_nobody_who_reads_the_report_is_no_traceback(start, damaged, tmp_path) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start("recover", damaged, tmp_path / "saved.warc.zst", stdout=write)
    os.close(write)
    stderr = process.communicate(timeout=PATIENT)[1]
    assert_well_behaved(process.returncode, stderr)
    assert process.returncode == 141
    assert (tmp_path / "saved.warc.zst").exists()


def test_nothing_found_is_the_library_s_not_found(tmp_path) -> None:
    from seekwarc.check.recovering import recover  # noqa: PLC0415

    with pytest.raises(NotFoundError):
        recover(b"nothing", tmp_path / "saved.warc.zst")
