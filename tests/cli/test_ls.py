"""`seekwarc ls`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import pytest

import seekwarc
from seekwarc.cli import ls, main
from tests.cli.conftest import FORMS
from tests.support.foreign import Foreign, text
from tests.support.rangeserver import RangeServer
from tests.support.waczs import FILM, members, wacz, warc
from tests.support.writing import Repeated

SCHEMA = json.loads((Path(__file__).parents[2] / "spec-notes" / "json.schema.json").read_text())


@pytest.mark.parametrize("form", FORMS)
def test_json_says_where_each_record_lies(command, crawl, form) -> None:
    lines = command("ls", "--json", crawl.path(form)).json_lines
    puts = crawl.made[form].records
    assert [line["offset"] for line in lines] == [put.offset for put in puts]
    assert [line["length"] for line in lines] == [put.length for put in puts]
    assert [line["size"] for line in lines] == [len(put.block) for put in puts]
    assert [line["type"] for line in lines] == ["warcinfo", "response", "request", "response", "metadata"]


def test_json_has_the_fields_of_the_header(command, crawl) -> None:
    line = command("ls", "--json", crawl.zst).json_lines[3]
    put = crawl.film_put
    assert line == {
        "file": str(crawl.zst),
        "offset": put.offset,
        "length": put.length,
        "type": "response",
        "id": "urn:uuid:00000000-0000-4000-8000-000000000003",
        "date": "2026-01-02T03:04:05Z",
        "uri": "http://example.org/film.mp4",
        "content_type": "application/http; msgtype=response",
        "size": len(put.block),
        "frames": 2 + -(-len(crawl.film) // (64 << 10)),
    }


def test_a_table_for_people_has_a_heading_and_a_line_a_record(command, crawl) -> None:
    heading, *lines = command("ls", crawl.zst).out.splitlines()
    assert heading.split() == ["OFFSET", "LENGTH", "TYPE", "DATE", "SIZE", "FRAMES", "URI"]
    assert [line.split()[0] for line in lines] == [str(put.offset) for put in crawl.made["warc.zst"].records]
    assert lines[3].split()[-1] == "http://example.org/film.mp4"
    assert lines[0].split()[-1] == "-", "a warcinfo record has no URI"


def test_records_are_selected_by_date(command, tmp_path) -> None:
    path = tmp_path / "dated.warc.zst"
    dates = ["2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z", "2026-11-30T23:59:59.9Z", "2026-12-01T00:00:00Z"]
    with seekwarc.open(path, "w") as out:
        for date in dates:
            out.write_resource("http://example.org/", b"x", "text/plain", date=date)
    lines = command("ls", "--json", "--since", "2026-11", "--until", "2026-11", path).json_lines
    assert [line["date"] for line in lines] == dates[1:3]


@pytest.mark.parametrize("form", FORMS)
def test_a_pipe_gives_the_same_as_the_file(command, crawl, form) -> None:
    path = crawl.path(form)
    of_file = command("ls", "--json", path).json_lines
    of_pipe = command("ls", "--json", "-", stdin=path.read_bytes()).json_lines
    for line in of_file + of_pipe:
        del line["file"], line["frames"]
    assert of_pipe == of_file


def test_standard_input_may_be_a_file(crawl) -> None:
    run = [sys.executable, "-m", "seekwarc", "ls", "--json", "-"]
    with crawl.zst.open("rb") as file:
        done = subprocess.run(run, stdin=file, capture_output=True, check=True)
    offsets = [json.loads(line)["offset"] for line in done.stdout.splitlines()]
    assert offsets == [put.offset for put in crawl.made["warc.zst"].records]


def test_several_files_are_listed_in_turn(command, crawl) -> None:
    lines = command("ls", "--json", crawl.path("warc"), crawl.zst).json_lines
    assert [line["file"] for line in lines] == [str(crawl.path("warc"))] * 5 + [str(crawl.zst)] * 5


def test_control_characters_are_shown_and_not_obeyed(command, hostile) -> None:
    out = command("ls", hostile).out
    assert "\\x1b[2J" in out
    assert all(character.isprintable() for line in out.splitlines() for character in line)
    assert command("ls", "--json", hostile).json_lines[0]["uri"].startswith("http://example.org/\x1b")


def test_records_before_damage_are_listed(command, crawl, tmp_path) -> None:
    path = tmp_path / "cut.warc.zst"
    path.write_bytes(crawl.zst.read_bytes()[: crawl.film_put.offset + 5000])
    answer = command("ls", path, status=1)
    # The last of them is the one that is cut off.
    assert len(answer.out.splitlines()) in (1 + 3, 1 + 4)
    warning = re.escape(f"seekwarc: warning: {path}, offset ") + r"([0-9]+): .*\n"
    place = re.fullmatch(
        warning + r"seekwarc: 4 records, 1 place damaged \(offset ([0-9]+)\)\n", answer.stderr
    )
    assert crawl.film_put.offset <= int(place[1]) <= path.stat().st_size
    assert int(place[2]) == crawl.film_put.offset


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("within", ["header", "block"])
def test_json_of_a_cut_file_ends_with_the_error(command, crawl, tmp_path, form, within) -> None:
    film = crawl.put(3, form)
    path = tmp_path / f"cut.{form}"
    path.write_bytes(crawl.path(form).read_bytes()[: film.offset + (30 if within == "header" else 200_000)])
    answer = command("ls", "--json", path, crawl.path(form), status=1)
    records = [line for line in answer.json_lines if "status" not in line and line["file"] == str(path)]
    # A record whose header is whole is listed, with what is there of it.
    assert [record["offset"] for record in records] == [
        crawl.put(number, form).offset for number in range(3 + (within == "block"))
    ]
    (end,) = [line for line in answer.json_lines if "status" in line]
    jsonschema.validate(end, SCHEMA)
    assert (end["file"], end["status"]) == (str(path), "failed")
    assert (end["error"]["kind"], end["error"]["offset"]) == ("truncated", film.offset)
    assert f"{path}, offset {film.offset}: " in answer.stderr


def test_records_after_damage_are_listed(command, crawl, tmp_path) -> None:
    offset = crawl.put(2).offset
    data = bytearray(crawl.zst.read_bytes())
    data[offset : offset + 4] = b"\0\0\0\0"
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    answer = command("ls", "--json", path, status=1)
    *records, end = answer.json_lines
    with seekwarc.open(crawl.zst) as archive:
        offsets = [record.offset for record in archive]
    assert [record["offset"] for record in records] == [it for it in offsets if it != offset]
    assert (end["status"], end["error"]["offset"], end["damaged"]) == ("failed", offset, [offset])
    jsonschema.validate(end, SCHEMA)
    assert f"{path}, offset {offset}: " in answer.stderr
    stderr = command("ls", path, crawl.zst, status=1).stderr
    counts = f"{2 * len(offsets) - 1} records, 1 place damaged (offset {offset})"
    assert stderr.splitlines()[1:] == [f"seekwarc: {counts}"]


def test_a_missing_file_is_an_error_and_the_others_are_listed(command, crawl) -> None:
    answer = command("ls", "--json", "not-there.warc", crawl.zst, status=2)
    end, *records = answer.json_lines
    assert {record["file"] for record in records} == {str(crawl.zst)}
    assert len(records) == 5
    assert (end["file"], end["status"], end["error"]["kind"]) == ("not-there.warc", "failed", "io")
    assert "not-there.warc" in answer.stderr


def test_large_records_are_not_decompressed(monkeypatch, capsys, tmp_path) -> None:
    size = 64 << 20
    with seekwarc.open(tmp_path / "large.warc.zst", "w", digest=None) as out:
        out.write("resource", block=b"in front", target_uri="http://example.org/front")
        film = Repeated(b"0123456789abcdef" * 4096, size)
        out.write("resource", block=film, length=size, target_uri="http://example.org/film")
        out.write("resource", block=b"behind", target_uri="http://example.org/behind")
    opened = []
    monkeypatch.setattr(ls, "open_archive", lambda name: opened.append(seekwarc.open(name)) or opened[0])
    names = ("type", "status", "mime", "uri", "host", "since", "until", "sidecar", "limit")
    wanted = dict.fromkeys(names) | {"min_size": 0, "no_index": False}
    ls.run(argparse.Namespace(files=[str(tmp_path / "large.warc.zst")], json=False, sort=None, **wanted))
    assert capsys.readouterr().out.count("\n") == 4
    assert opened[0].stats.bytes_decoded < 100_000
    assert opened[0].stats.bytes_fetched < 1 << 20


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["--type", "request", "--type", "metadata"], [2, 4]),
        (["--status", "2xx", "--mime", "video/*"], [1, 3]),
        (["--mime", "VIDEO/MP4", "--uri", "*.mp4"], [3]),
        (["--min-size", "1M"], [3]),
        (["--uri", "http://example.org/*", "--type", "response"], [1, 3]),
    ],
)
def test_records_are_listed_by_what_they_are_like(command, crawl, conditions, expected) -> None:
    lines = command("ls", "--json", crawl.zst, *conditions).json_lines
    assert [line["offset"] for line in lines] == [crawl.put(number).offset for number in expected]


def test_no_match_is_reported(command, crawl) -> None:
    answer = command("ls", crawl.zst, "--status", "404", status=1)
    assert (answer.out, answer.stderr.count("\n")) == ("", 1)
    assert "no record matches" in answer.stderr


@pytest.mark.parametrize("code", ["20", "ok", "2x", "200-299"])
def test_what_is_not_a_status_is_refused(command, crawl, code) -> None:
    assert "is not an HTTP status" in command("ls", crawl.zst, "--status", code, status=2).stderr


def test_several_files_have_a_column_and_folders_expand(command, crawl) -> None:
    heading, *lines = command("ls", crawl.folder, "--type", "response").out.splitlines()
    assert heading.split()[:2] == ["FILE", "OFFSET"]
    paths = [str(crawl.path(form)) for form in ("warc", "warc.gz", "warc.zst")]
    assert [line.split()[0] for line in lines] == [path for path in paths for _ in range(2)]
    assert len({line.index("http://") for line in lines}) == 1, "the columns are in line"


def test_what_a_limit_keeps_from_being_read_is_not_damaged(command, tmp_path) -> None:
    made = Foreign().record(b"one").record(text(3 << 20), window_log=21).record(b"three")
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made.bytes())
    offset = made.records[1].offset
    answer = command("ls", path, "--max-window", "1M", status=1)
    assert answer.stderr.endswith(f"seekwarc: 2 records, 1 place above a limit (offset {offset})\n")
    assert "damaged" not in answer.stderr
    end = command("ls", path, "--max-window", "1M", "--json", status=1).json_lines[-1]
    assert (end["status"], end["error"]["kind"], end["damaged"]) == ("failed", "limit", [])


def test_a_head_that_is_damaged_keeps_no_other_from_the_list(command, crawl, tmp_path) -> None:
    with seekwarc.open(crawl.zst) as archive:
        head = archive.record_at(crawl.film_put.offset).body.frames[1]
    data = bytearray(crawl.zst.read_bytes())
    data[crawl.film_put.offset + head.stored_stop - 1] ^= 0xFF
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    asked = ("ls", "--json", "--status", "200")
    sound = [line["offset"] for line in command(*asked, crawl.zst).json_lines]
    answer = command(*asked, path, status=1)
    listed = [line["offset"] for line in answer.json_lines if "status" not in line]
    assert listed == [offset for offset in sound if offset != crawl.film_put.offset] != []
    assert f"{path}, offset {crawl.film_put.offset}: " in answer.stderr


@pytest.fixture
def mixed(tmp_path: Path) -> list[Path]:
    """Two files of records in no order, one of which has neither a URI nor a date."""
    records = [
        [("http://b.org/", "2026-03-01T00:00:00Z", 30), ("http://a.org/\xe9", "2026-01-01T00:00:00Z", 10)],
        [("http://a.org/", "2025-01-01T00:00:00Z", 2000), (None, "never", 20)],
    ]
    paths = []
    for number, some in enumerate(records):
        made = Foreign()
        for uri, date, size in some:
            lines = ["WARC/1.1", "WARC-Type: resource", f"WARC-Date: {date}", f"Content-Length: {size}"]
            lines += [] if uri is None else [f"WARC-Target-URI: {uri}"]
            made.record(bytes(size), header="\r\n".join([*lines, "", ""]).encode())
        paths.append(tmp_path / f"{number}.warc.zst")
        paths[-1].write_bytes(made.bytes())
    return paths


@pytest.mark.parametrize(
    ("order", "sizes"),
    [("size", [2000, 30, 20, 10]), ("date", [2000, 10, 30, 20]), ("uri", [2000, 10, 30, 20])],
)
def test_records_of_all_files_are_sorted_together(command, mixed, order, sizes) -> None:
    lines = command("ls", "--sort", order, "--json", *mixed).json_lines
    assert [line["size"] for line in lines] == sizes
    heading, *table = command("ls", "--sort", order, *mixed).out.splitlines()
    assert heading.split()[0] == "FILE"
    assert [int(line.split()[5]) for line in table if "never" not in line] == [it for it in sizes if it != 20]


@pytest.mark.parametrize("order", [[], ["--sort", "size"], ["--sort", "uri"]])
def test_a_limit_takes_the_first_lines(command, crawl, order) -> None:
    every = command("ls", crawl.zst, crawl.path("warc"), *order, "--json").out.splitlines()
    for limit in (1, 2, len(every), 100):
        words = ["ls", crawl.zst, crawl.path("warc"), *order, "--json", "--limit", limit]
        assert command(*words).out.splitlines() == every[:limit]
    assert "'0' is not a number of records" in command("ls", crawl.zst, "--limit", 0, status=2).stderr


@pytest.mark.parametrize("order", [[], ["--sort", "size"]])
def test_damage_before_a_limit_is_said_and_makes_the_status_1(command, damaged, tmp_path, order) -> None:
    cut = tmp_path / "cut.warc.zst"
    cut.write_bytes(b"\0" * 100 + damaged.read_bytes())
    answer = command("ls", cut, damaged, *order, "--limit", 1, "--json", status=1)
    listed = [it for it in answer.json_lines if "status" not in it or it["status"] != "failed"]
    assert len(listed) == 1
    assert str(cut) in answer.stderr


def test_records_of_one_size_are_listed_as_they_are_stored(command, crawl) -> None:
    paths = [crawl.path("warc"), crawl.zst]
    lines = command("ls", "--sort", "size", "--json", *paths).json_lines
    assert [line["file"] for line in lines] == [str(path) for _ in range(5) for path in paths]


def test_what_came_before_damage_is_sorted_too(command, damaged, mixed) -> None:
    answer = command("ls", "--sort", "size", "--json", damaged.with_name("missing.warc"), status=2)
    assert answer.json_lines[-1]["error"]["kind"] == "io"
    cut = mixed[0].with_name("cut.warc.zst")
    cut.write_bytes(mixed[0].read_bytes() + b"WARC/1.1\r\n nothing else")
    answer = command("ls", "--sort", "size", "--json", cut, status=1)
    assert [line["size"] for line in answer.json_lines[:2]] == [30, 10]
    assert answer.json_lines[-1]["status"] == "failed"


def test_sorting_takes_temporary_files_for_many_records(run_main, mixed, capsys, monkeypatch) -> None:
    made = []
    real = tempfile.TemporaryFile
    monkeypatch.setattr(ls, "MEMORY", 1)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **how: made.append(how) or real(**how))
    assert run_main("ls", "--sort", "size", "--json", *mixed) == 0
    assert len(made) == 4
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["size"] for line in lines] == [2000, 30, 20, 10]


def test_a_misspelt_type_is_told(command, crawl) -> None:
    stderr = command("ls", crawl.zst, "--type", "respons", status=2).stderr
    assert "argument --type: 'respons' is not a WARC-Type; did you mean response?" in stderr
    assert len(command("ls", "--json", crawl.zst, "--type", "RESPONSE").json_lines) == 2
    stderr = command("ls", crawl.zst, "--type", "screenshot", status=1).stderr
    assert "no record matches (screenshot: not a type of the standard)" in stderr


def test_dates_are_taken_as_an_index_has_them(command, mixed) -> None:
    lines = command("ls", "--json", "--since", "202601", "--until", "20260101", *mixed).json_lines
    assert [line["size"] for line in lines] == [10]


def test_a_size_may_have_a_fraction(command, mixed) -> None:
    lines = command("ls", "--json", "--min-size", "1.5K", *mixed).json_lines
    assert [line["size"] for line in lines] == [2000]


@pytest.mark.parametrize("sort", [(), ("--sort", "size")])
def test_files_that_cannot_be_read_are_passed_over(command, crawl, tmp_path, sort) -> None:
    (tmp_path / "empty.warc.gz").touch()
    (tmp_path / "page.warc").write_bytes(b"<!DOCTYPE html>")
    words = ("ls", *sort, tmp_path, crawl.zst)
    answer = command(*words, status=1)
    assert len(answer.out.splitlines()) == 1 + 5, "the header, and the records of the last file"
    empty, page, count = answer.stderr.splitlines()
    assert f"{tmp_path}/empty.warc.gz, offset 0: the file is empty" in empty
    assert f"{tmp_path}/page.warc, offset 0: not a WARC file" in page
    assert count == "seekwarc: 5 records, 2 of 3 files passed over"
    failed = [it for it in command(*words, "--json", status=1).json_lines if "status" in it]
    for line in failed:
        jsonschema.validate(line, SCHEMA)
        assert (line["status"], line["error"]["kind"], line["damaged"]) == ("failed", "unsupported", [])
    assert [Path(it["file"]).name for it in failed] == ["empty.warc.gz", "page.warc"]
    answer = command("ls", "--uri", "urn:x", "not-there.warc", crawl.zst, status=2)
    assert answer.stderr.splitlines()[-1] == "seekwarc: 0 records, 1 of 2 files passed over"


@pytest.mark.needs("module:obstore")
@pytest.mark.parametrize("ending", ["gz", "zst"])
@pytest.mark.parametrize("count", [1, 18])
def test_a_remote_wacz_is_listed_with_few_requests(
    count: int, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = wacz(members({f"{number:02}.warc.{ending}": warc(f"a.warc.{ending}") for number in range(count)}))
    with RangeServer(data) as server:
        assert main(["ls", f"{server.root}/crawl.wacz"]) == 0
        assert capsys.readouterr().out.count(FILM) == count
        assert len(server.asked) <= 6
        assert sum(it.sent for it in server.asked) <= 65_536 + 1.05 * len(data)


def test_what_crawlers_make_of_a_page_is_named(command, tmp_path: Path) -> None:
    page = "https://example.org/?a=1"
    with seekwarc.open(tmp_path / "a.warc.gz", "w") as out:
        for part in ("text", "view", "thumbnail", "pageinfo"):
            out.write_resource(f"urn:{part}:{page}", b"x", "text/plain")
        out.write_resource("urn:other:x", b"x", "text/plain")
    rows = [line.split() for line in command("ls", tmp_path / "a.warc.gz").out.splitlines()[1:]]
    assert [row[2] for row in rows] == ["text", "screenshot", "thumbnail", "page-info", "resource"]
    assert rows[0][-1] == f"urn:text:{page}"
    found = command("ls", tmp_path / "a.warc.gz", "--json").json_lines
    assert [(it["type"], it.get("page_part"), it.get("page")) for it in found][1:] == [
        ("resource", "screenshot", page),
        ("resource", "thumbnail", page),
        ("resource", "page-info", page),
        ("resource", None, None),
    ]
