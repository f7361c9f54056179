"""`seekwarc info`."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import seekwarc
from tests.cli.conftest import FILM_URI, FORMS, FRAME, HTTP_HEAD
from tests.support.chunks import made
from tests.support.foreign import Foreign, text
from tests.support.partial import URI, PartsWriter
from tests.support.writing import noise

COMPRESSION = {"warc": "none", "warc.gz": "gz", "warc.zst": "zst"}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_in_numbers(command, crawl, form) -> None:
    path = crawl.path(form)
    summary = command("info", "--json", path).json
    assert summary["file"] == str(path)
    assert summary["compression"] == COMPRESSION[form]
    assert summary["stored_size"] == path.stat().st_size
    assert summary["dictionary"] is None
    assert summary["records"] == 5
    assert summary["content_size"] == len(crawl.content)
    assert summary["types"] == {"warcinfo": 1, "response": 2, "request": 1, "metadata": 1}
    assert sum(summary["table_status"].values()) == 5
    film = crawl.put(3, form)
    assert summary["largest"][0] == {"size": len(film.block), "offset": film.offset, "uri": FILM_URI}


def test_several_files_and_those_in_folders(command, crawl, tmp_path) -> None:
    for form in ("warc", "warc.zst"):
        (tmp_path / f"crawl.{form}").write_bytes(crawl.path(form).read_bytes())
    found = command("info", crawl.path("warc.gz"), tmp_path, "--json").json_lines
    assert [line["file"] for line in found] == [
        str(crawl.path("warc.gz")),
        str(tmp_path / "crawl.warc"),
        str(tmp_path / "crawl.warc.zst"),
    ]
    assert {line["content_size"] for line in found} == {len(crawl.content)}


def test_records_outside_of_the_dates_do_not_count(command, tmp_path) -> None:
    path = tmp_path / "dated.warc.zst"
    with seekwarc.open(path, "w") as out:
        for month in ("10", "11", "12"):
            out.write_resource("http://e.org/", b"x", "text/plain", date=f"2026-{month}-01T00:00:00Z")
    assert command("info", path, "--json", "--since", "2026-11").json["types"] == {"resource": 2}
    assert command("info", path, "--json", "--since", "2026-11", "--until", "2026-11").json["records"] == 1


@pytest.fixture(scope="module")
def sites(tmp_path_factory) -> Path:
    """A folder with two files: three pages of two sites, one of them captured again as a revisit."""
    folder = tmp_path_factory.mktemp("sites")
    page = {"http_headers": {"Content-Type": "text/html; charset=utf-8"}, "date": "2026-10-31T12:00:00Z"}
    with seekwarc.open(folder / "a.warc.gz", "w") as out:
        out.write_response("http://user@A.example:80/", noise(3000), status=200, **page)
        out.write_response("https://b.example/x", noise(2000, 1), status=404, **page)
    with seekwarc.open(folder / "b.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        for day in ("01", "02"):
            date = f"2026-11-{day}T00:00:00Z"
            out.write_response("http://a.example/y", noise(9000, 2), status=200, date=date)
    return folder


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("host", {"a.example": 3, "b.example": 1}),
        ("month", {"2026-11": 2, "2026-10": 2}),
        ("status", {"200": 3, "404": 1}),
        ("mime", {None: 2, "text/html": 2}),
        ("type", {"response": 3, "revisit": 1}),
    ],
)
def test_records_of_all_files_are_counted_by_what_they_have_in_common(command, sites, by, names) -> None:
    *files, found = command("info", sites, "--by", by, "--json").json_lines
    assert {it["name"]: it["records"] for it in found["groups"]} == names
    for total in ("content_size", "stored_size"):
        assert sum(it[total] for it in found["groups"]) <= sum(it[total] for it in files)
    assert sum(it["content_size"] for it in found["groups"]) == sum(it["content_size"] for it in files)
    assert (found["by"], found["files"], found["others"], found["damaged"]) == (by, 2, None, [])
    with seekwarc.open(sites / "b.warc.zst") as archive:
        original, revisit = [record.length for record in archive]
    assert (found["revisits"], found["saved_by_revisits"]) == (1, original - revisit)


@pytest.mark.slow
def test_groups_beyond_the_top_are_one(command, sites) -> None:
    found = command("info", sites, "--by", "host", "--limit", "1", "--json", "--jobs", "2").json_lines[-1]
    assert [it["name"] for it in found["groups"]] == ["a.example"]
    assert (found["others"]["name"], found["others"]["records"]) == (None, 1)
    text = command("info", sites, "--by", "host", "--limit", "1").out
    assert "  a.example\n" in text
    assert "(all others)" in text
    assert "1 revisit save" in text


def test_the_lines_of_an_index_are_counted_and_no_file_is_opened(command, sites, tmp_path) -> None:
    index = tmp_path / "only.cdxj"
    command("index", sites, "-o", index)
    first, found = command("info", index, "--by", "month", "--json").json_lines
    assert (first["records"], first["types"]) == (4, {"response": 3, "revisit": 1})
    assert {it["name"]: it["records"] for it in found["groups"]} == {"2026-10": 2, "2026-11": 2}
    assert {it["content_size"] for it in found["groups"]} == {None}
    assert (
        found["saved_by_revisits"]
        == command("info", sites, "--by", "type", "--json").json_lines[-1]["saved_by_revisits"]
    )


def test_damage_does_not_hide_the_other_groups(command, tmp_path) -> None:
    made = Foreign()
    for number in range(3):
        made.record(noise(5000, number))
    data = bytearray(made.gzip().bytes())
    data[6000] ^= 1
    path = tmp_path / "damaged.warc.gz"
    path.write_bytes(data)
    done = command("info", path, "--by", "type", "--json", status=1)
    found = done.json_lines[-1]
    assert [it["records"] for it in found["groups"]] == [2]
    assert [it["file"] for it in found["damaged"]] == [str(path)]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("{crawl}", "{crawl}", "--uri", "http://example.org/"), "one file"),
        (("{crawl}", "0", "--uri", "http://example.org/"), "one way"),
        (("{crawl}", "0", "--by", "host"), "leave out the offset"),
        (("{crawl}", "not a number"), "not a number: cannot be opened"),
    ],
)
def test_a_record_is_named_in_one_way_in_one_file(command, crawl, words, told) -> None:
    words = [word.format(crawl=crawl.zst) for word in words]
    assert told in command("info", *words, status=2).stderr


@pytest.mark.parametrize("form", FORMS)
def test_a_file_for_people(command, crawl, form) -> None:
    out = command("info", crawl.path(form)).out
    assert str(crawl.path(form)) in out
    assert "records      5, 2 response, 1 warcinfo, 1 request, 1 metadata" in out
    assert FILM_URI in out


def test_a_file_on_a_pipe(command, crawl) -> None:
    summary = command("info", "-", stdin=crawl.path("warc.gz").read_bytes()).out
    assert "records      5" in summary


def test_a_record_in_numbers(command, crawl) -> None:
    put = crawl.film_put
    about = command("info", "--json", crawl.zst, put.offset).json
    wanted = {
        "offset": put.offset,
        "length": put.length,
        "type": "response",
        "id": "urn:uuid:00000000-0000-4000-8000-000000000003",
        "date": "2026-01-02T03:04:05Z",
        "uri": FILM_URI,
        "content_type": "application/http; msgtype=response",
        "block_size": len(put.block),
        "payload_size": len(crawl.film),
        "table_problem": None,
        "frames": 2 + -(-len(crawl.film) // FRAME),
    }
    assert wanted.items() <= about.items()
    assert about["plan"]["bytes_decoded"] <= 2 * FRAME


@pytest.mark.parametrize(
    "words", [("--uri", FILM_URI), ("--id", "urn:uuid:00000000-0000-4000-8000-000000000003")]
)
def test_a_record_is_found_by_uri_and_id(command, crawl, words) -> None:
    assert command("info", "--json", crawl.zst, *words).json["offset"] == crawl.film_put.offset


def test_what_is_not_there_is_not_found(command, crawl) -> None:
    assert "http://none" in command("info", crawl.zst, "--uri", "http://none", status=1).stderr


def test_frames_are_listed(command, crawl) -> None:
    put = crawl.film_put
    frames = command("info", "--json", "--frames", crawl.zst, put.offset).json["frame_list"]
    wanted = crawl.made["warc.zst"].entries[3 : 3 + len(frames)]
    assert [(f["stored_size"], f["content_size"], f["checksum"]) for f in frames] == wanted
    assert sum(frame["content_size"] for frame in frames) == len(crawl.whole(3))
    out = command("info", "--frames", crawl.zst, put.offset).out
    lines = out.partition("CHECKSUM\n")[2].splitlines()
    assert len(lines) == len(frames)
    assert lines[0].split()[:3] == ["0", str(put.offset), str(wanted[0][0])]
    assert lines[-1].split()[-1] == f"{wanted[-1][2]:08x}"


def test_a_record_for_people_shows_its_frames_as_a_picture(command, crawl) -> None:
    out = command("info", crawl.zst, crawl.film_put.offset).out
    assert f"record       response at {crawl.film_put.offset}, {crawl.film_put.length} bytes stored" in out
    assert f"URI          {FILM_URI}" in out
    assert f"payload      1.5 MiB ({len(crawl.film)} bytes)" in out
    picture = next(line for line in out.splitlines() if "███" in line).strip()
    assert set(picture) <= set("█▓▒░")
    assert picture.startswith("█" * 20), "the film begins with what does not compress"
    assert picture.endswith(("░" * 10, "▒" * 10)), "and ends with what does"
    assert "cost         64 KiB from its middle: " in out


@pytest.mark.one_in(3)
@pytest.mark.parametrize("columns", ["1", "20", "40", "100", "300"])
def test_the_picture_fits_the_terminal(command, crawl, columns) -> None:
    environment = {**os.environ, "COLUMNS": columns}
    out = command("info", crawl.zst, crawl.film_put.offset, env=environment).out
    pictures = [line for line in out.splitlines() if line.strip() and set(line.strip()) <= set("█▓▒░")]
    assert all(len(picture) <= min(int(columns), 100) for picture in pictures)


def test_a_range_has_a_price(command, crawl) -> None:
    offset = crawl.film_put.offset
    plan = command("info", "--json", crawl.zst, offset, "--range", f"{FRAME}+1").json["plan"]
    assert plan["frames"] == 1
    assert plan["bytes_decoded"] == FRAME
    assert plan["bytes_fetched"] == sum(stop - start for start, stop in plan["ranges"])
    out = command("info", crawl.zst, offset, "--range", f"{FRAME}+1").out
    assert f"payload range {FRAME}+1: 1 frame, " in out
    assert "64.0 KiB decompressed" in out


@pytest.mark.parametrize("text", ["1:", ":", "0:0", "-10:", "5000000:"])
def test_any_range_that_cat_takes_has_one(command, crawl, text) -> None:
    command("info", "--json", crawl.zst, crawl.film_put.offset, f"--range={text}")


def test_a_range_that_is_invalid_is_refused(command, crawl) -> None:
    assert "START:STOP" in command("info", crawl.zst, "0", "--range", "x", status=2).stderr


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", range(5))
def test_every_record_can_be_described(command, crawl, form, number) -> None:
    put = crawl.put(number, form)
    about = command("info", "--json", "--frames", crawl.path(form), put.offset).json
    assert (about["length"], about["block_size"]) == (put.length, len(put.block))
    assert command("info", "--frames", crawl.path(form), put.offset).out.startswith("record ")


def test_an_unusable_table_is_reported_with_its_fault(command, tmp_path) -> None:
    made = Foreign().record(b"x" * 1000, cuts=200, table={"change": lambda entries: [(1, 1, 0), *entries]})
    path = tmp_path / "table.warc.zst"
    path.write_bytes(made.record(b"y").bytes())
    out = command("info", path, "0", "--length", made.records[0].length).out
    assert "seek table not usable" in out


def test_a_table_above_the_limit_is_not_loaded(command, tmp_path) -> None:
    block = text(9000)
    made = Foreign().record(block, cuts=1000, table=True).record(b"y").file_table()
    path = tmp_path / "table.warc.zst"
    path.write_bytes(made.bytes())
    put = made.records[0]
    size = 17 + 12 * 10
    for limit, status in ((size, "record"), (size - 1, "none")):
        about = command("info", "--json", path, "0", "--length", put.length, "--max-table", limit).json
        assert about["table_status"] == status
    listed = command("ls", "--json", path, "--max-table", "0").json_lines
    assert [line["offset"] for line in listed] == [it.offset for it in made.records]
    assert command("cat", path, "0", "--range", "4000+100", "--max-table", "0").stdout == block[4000:4100]
    told = command("info", path, "0", "--max-table", "much", status=2).stderr
    assert "--max-table" in told


def test_control_characters_are_shown_and_not_obeyed(command, hostile) -> None:
    for words in ((), ("0",)):
        out = command("info", hostile, *words).out
        assert "\\x1b[2J" in out
        assert all(character.isprintable() for line in out.splitlines() for character in line)


def test_what_follows_damage_is_counted(command, crawl, tmp_path) -> None:
    offset = crawl.put(1).offset
    data = bytearray(crawl.zst.read_bytes())
    data[offset] ^= 1
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    whole = command("info", "--json", crawl.zst).json
    told = command("info", "--json", path, status=1).json
    assert (told["status"], told["damaged"], told["records"]) == ("problems", [offset], whole["records"] - 1)
    assert f"1 place damaged (offset {offset})" in command("info", path, status=1).out


def test_damage_is_reported_with_its_place(command, crawl, tmp_path) -> None:
    path = tmp_path / "cut.warc.zst"
    path.write_bytes(crawl.zst.read_bytes()[: crawl.film_put.offset + 5000])
    told = command("info", path, status=1)
    assert f"seekwarc: warning: {path}, offset " in told.stderr
    assert f"{'records':<12} " in told.out
    assert command("info", "--json", path, status=1).json["status"] == "problems"


def test_a_head_of_http_is_not_payload(command, crawl) -> None:
    about = command("info", "--json", crawl.zst, crawl.put(1).offset).json
    assert about["block_size"] - about["payload_size"] == len(HTTP_HEAD)


def test_a_body_of_many_chunks_is_described_without_its_size(command, tmp_path) -> None:
    path = tmp_path / "tiny.warc.zst"
    file = made(b"1\r\nx\r\n" * 500_000 + b"0\r\n\r\n", cuts=1 << 20, table=True)
    path.write_bytes(file.bytes())
    offset = file.records[1].offset
    assert "not counted" in command("info", path, offset).out
    assert command("info", path, offset, "--json").json["payload_size"] is None
    counted = command("info", path, offset, "--range", "-10:").out
    assert "500000 bytes" in counted
    assert "payload range -10:" in counted


def test_a_blosc2_payload_is_described(command, tmp_path) -> None:
    chunk = bytes.fromhex("05018504801a06000040000084000000000000000001050000000000000000000000")[
        :32
    ] + bytes(100)
    path = tmp_path / "chunk.warc.zst"
    with seekwarc.open(path, "w") as out:
        kind = "application/octet-stream"
        offset = out.write_resource("http://e.org/api/chunk/a?nchunk=0", chunk, kind).offset
        other = out.write_resource("http://e.org/other", b"x" * 132, kind).offset
    text = "Blosc2 chunk of 400000 bytes: items of 4, blocks of 16384, zstd, shuffle"
    assert f"format       {text}" in command("info", path, offset).out
    assert command("info", "--json", path, offset).json["payload_format"] == text
    assert command("info", "--json", path, other).json["payload_format"] is None


def test_the_coverage_of_joined_parts(command, tmp_path) -> None:
    out = PartsWriter(bytes(1000))
    out.part(0, 400, etag=None)
    out.part(300, 900, etag=None)
    path = tmp_path / "parts.warc.zst"
    path.write_bytes(out.done())
    about = command("info", path, "--uri", URI, "--joined", "--json").json
    assert about["joined"] == {"parts": 2, "held": 900, "holes": [[900, 1000]], "is_proved": False}
    assert about["payload_size"] == 1000
    text = command("info", path, 0, "--joined").stdout.decode()
    assert "2 parts, not proved: 900 bytes of 1000 (90.0%)" in text
    assert "missing      900-999" in text
    assert command("info", path, 0, "--json").json["joined"] is None


def test_files_that_cannot_be_read_are_passed_over(command, crawl, tmp_path) -> None:
    (tmp_path / "empty.warc.gz").touch()
    answer = command("info", tmp_path, crawl.zst, status=1)
    assert "records      5" in answer.out
    empty, count = answer.stderr.splitlines()
    assert f"{tmp_path}/empty.warc.gz, offset 0: the file is empty" in empty
    assert count == "seekwarc: 1 of 2 files passed over"
    empty, sound = command("info", "--json", tmp_path, crawl.zst, status=1).json_lines
    assert (empty["status"], empty["records"], empty["error"]["kind"]) == ("failed", None, "unsupported")
    assert (sound["status"], sound["records"]) == ("done", 5)


def test_groups_of_a_folder_count_each_stored_byte_once(command, tmp_path) -> None:
    (tmp_path / "a-empty.warc.gz").touch()
    content = Foreign().record(text(9000)).record(text(5000)).plain().bytes()
    (tmp_path / "b.warc.gz").write_bytes(gzip.compress(content, mtime=0))
    (tmp_path / "c.warc").write_bytes(content)
    answer = command("info", tmp_path, "--by", "type", "--json", status=1)
    stored = len(gzip.compress(content, mtime=0)) + len(content)
    assert [it["stored_size"] for it in answer.json_lines[-1]["groups"]] == [stored]
    assert answer.json_lines[-1]["files"] == 2


def test_pages_are_printed_of_the_wacz_files_that_can_be_opened(command, crawl, tmp_path) -> None:
    good, bad = tmp_path / "a.wacz", tmp_path / "b.wacz"
    command("wacz", "create", crawl.path("warc.gz"), "-o", good)
    bad.write_bytes(b"not a ZIP archive")
    answer = command("info", tmp_path / "*.wacz", status=1)
    assert f"of {good}\n" in answer.out
    assert answer.stderr.count(str(bad)) == 1
    assert [
        it.get("wacz", it.get("file")) for it in command("info", "--json", bad, good, status=1).json_lines
    ] == [
        str(bad),
        f"{good}!/archive/crawl.warc.gz",
        str(good),
    ]


def test_without_a_file_that_can_be_read_there_is_no_table(command, tmp_path) -> None:
    (tmp_path / "notes.warc.gz").write_bytes(b"not an archive")
    answer = command("info", tmp_path / "notes.warc.gz", "--by", "host", status=1)
    assert answer.stdout == b""
    assert "notes.warc.gz" in answer.stderr
