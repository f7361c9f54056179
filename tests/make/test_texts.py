"""`seekwarc.make.texts`."""

from __future__ import annotations

import gzip
import io
import json
import random
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import SourceError, TargetError, TargetExistsError
from seekwarc.jobs import parts
from tests.support.pages import PROSE, answer, crawl_of, html, pdf, shown

DATE = "2026-11-21T12:00:00Z"


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]


def texts_of(sources, target: Path, **options) -> list[str]:
    tools.text(sources, target, **options)
    return [line["text"] for line in lines_of(target)]


@pytest.fixture(params=["warc", "warc.gz", "warc.zst"])
def site(request, tmp_path: Path) -> Path:
    path = tmp_path / f"site.{request.param}"
    with seekwarc.open(path, "w") as out:
        out.write_warcinfo({"software": "by hand"})
        out.write_request("http://a.org/", b"GET / HTTP/1.1\r\n\r\n")
        page = answer(gzip.compress(html('A "page"\\')), "text/html", "Content-Encoding: gzip")
        out.write_response("http://a.org/", page, date=DATE)
        out.write_response(
            "http://a.org/paper", answer(pdf([shown("A paper")]), "application/pdf"), date=DATE
        )
        out.write_resource("http://a.org/note", b"A\tnote\r\n", "text/plain", date=DATE)
        out.write_response("http://a.org/none", answer(html("Not here"), status=404), date=DATE)
        out.write_response("http://a.org/pic", answer(b"\x89PNG", "image/png"), date=DATE)
        out.write_response("http://a.org/empty", answer(b"<html> </html>"), date=DATE)
        out.write_revisit(
            "http://a.org/", refers_to_target_uri="http://a.org/", payload_digest=f"sha1:{'A' * 32}"
        )
    return path


def test_each_page_with_text_becomes_a_line(site, tmp_path) -> None:
    done = tools.text(site, tmp_path / "new.jsonl")
    lines = lines_of(tmp_path / "new.jsonl")
    assert [(it["uri"], it["text"], it["mime"]) for it in lines] == [
        ("http://a.org/", 'A "page"\\', "text/html"),
        ("http://a.org/paper", "A paper", "application/pdf"),
        ("http://a.org/note", "A\tnote\n", "text/plain"),
    ]
    assert (lines[0]["title"], lines[0]["lang"], lines[0]["date"], lines[0]["whole"]) == (
        "Page",
        "en",
        DATE,
        True,
    )
    assert (done.pages, done.characters, done.problems) == (3, sum(len(it["text"]) for it in lines), 0)
    with seekwarc.open(site) as archive:
        for line in lines:
            record = archive.record_at(line["offset"])
            assert (line["uri"], line["file"]) == (record.target_uri, str(site))
            assert record.payload.text().text == line["text"]


def test_conditions_choose_other_records(site, tmp_path) -> None:
    assert texts_of(site, tmp_path / "1.jsonl", status=404) == ["Not here"]
    assert texts_of(site, tmp_path / "2.jsonl", type="resource") == ["A\tnote\n"]
    assert texts_of(site, tmp_path / "3.jsonl", mime="*/pdf") == ["A paper"]


def test_names_tell_the_form_of_the_file(site, tmp_path) -> None:
    wanted = texts_of(site, tmp_path / "new.jsonl")
    tools.text(site, tmp_path / "new.jsonl.gz")
    assert gzip.decompress((tmp_path / "new.jsonl.gz").read_bytes()) == (tmp_path / "new.jsonl").read_bytes()
    tools.text(site, tmp_path / "new.parquet")
    rows = pq.read_table(tmp_path / "new.parquet").to_pylist()
    assert [row["text"] for row in rows] == wanted
    assert [f"{row['date']:%FT%TZ}" for row in rows] == [DATE] * 3
    assert {name: rows[0][name] for name in ("uri", "title", "lang", "offset", "whole")} == {
        name: lines_of(tmp_path / "new.jsonl")[0][name]
        for name in ("uri", "title", "lang", "offset", "whole")
    }
    with pytest.raises(TargetError, match="unsupported file type"):
        tools.text(site, tmp_path / "new.jsonl.zst")


def test_duplicates_are_left_out_over_all_files(tmp_path) -> None:
    same, other = answer(html("same")), answer(html("other"))
    one, two = (
        crawl_of(tmp_path / "1.warc.zst", [same, same]),
        crawl_of(tmp_path / "2.warc.gz", [other, same]),
    )
    assert texts_of([one, two], tmp_path / "all.jsonl") == ["same", "same", "other", "same"]
    done = tools.text([one, two], tmp_path / "new.jsonl", dedupe=True)
    assert [it["uri"] for it in lines_of(tmp_path / "new.jsonl")] == ["http://example.org/0"] * 2
    assert (done.pages, done.duplicates, done.characters) == (2, 2, 9)


def test_pages_without_a_stated_digest_are_compared_by_text(tmp_path) -> None:
    path = tmp_path / "a.warc"
    for _ in range(2):
        page = answer(html("same"))
        head = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: {DATE}\r\n"
        head += (
            f"WARC-Target-URI: http://a.org/\r\nContent-Type: application/http\r\nContent-Length: {len(page)}"
        )
        with path.open("ab") as file:
            file.write(head.encode() + b"\r\n\r\n" + page + b"\r\n\r\n")
    assert texts_of(path, tmp_path / "new.jsonl", dedupe=True) == ["same"]
    assert lines_of(tmp_path / "new.jsonl")[0]["payload_digest"] is None


def test_a_wrong_digest_hides_no_other_page(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        for number, words in enumerate(("one", "other")):
            fields = [
                ("WARC-Type", "response"),
                ("WARC-Record-ID", f"<urn:x:{number}>"),
                ("WARC-Date", DATE),
                ("WARC-Target-URI", "http://a.org/"),
                ("WARC-Payload-Digest", f"sha1:{'A' * 32}"),
                ("Content-Type", "application/http"),
                ("Content-Length", str(len(answer(html(words))))),
            ]
            header = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
            out.write_raw(header.encode(), answer(html(words)))
    assert texts_of(path, tmp_path / "new.jsonl", dedupe=True) == ["one", "other"]
    tools.index_text(path, tmp_path / "a.fts")
    assert len(tools.search(tmp_path / "a.fts", "one OR other").hits) == 2


@pytest.mark.parametrize("form", ["warc.gz", "warc.zst"])
def test_a_damaged_record_does_not_stop_the_others(tmp_path, form) -> None:
    path = crawl_of(
        tmp_path / f"a.{form}",
        [answer(html(f"page {it} " + random.Random(it).randbytes(999).hex())) for it in range(5)],
    )
    with seekwarc.open(path) as archive:
        damaged = [record.offset for record in archive][2]
    data = bytearray(path.read_bytes())
    data[damaged + 400] ^= 0xFF
    path.write_bytes(data)
    problems: list = []
    done = tools.text(path, tmp_path / "new.jsonl", on_problem=problems.append)
    assert [it["uri"][-1] for it in lines_of(tmp_path / "new.jsonl")] == ["0", "1", "3", "4"]
    assert [(it.source, it.offset) for it in problems] == [(str(path), damaged)]
    assert (done.pages, done.problems) == (4, 1)


def test_pages_that_cannot_be_decoded_or_parsed_are_problems(tmp_path) -> None:
    bad = [
        answer(gzip.compress(html("x" * 5000))[:40] + b"\xff" * 99, "text/html", "Content-Encoding: gzip"),
        answer(html("x"), "text/html", "Content-Encoding: compress"),
        answer(b"%PDF-1.7 nothing", "application/pdf"),
    ]
    path = crawl_of(tmp_path / "a.warc.zst", [bad[0], answer(html("fine")), *bad[1:]])
    problems: list = []
    assert texts_of(path, tmp_path / "new.jsonl", on_problem=problems.append) == ["fine"]
    assert len(problems) == 3
    assert all(it.offset is not None for it in problems)


def test_a_bomb_in_a_content_coding_is_read_up_to_the_limit(tmp_path) -> None:
    packer = zlib.compressobj(wbits=31)
    body = packer.compress(b"<!doctype html><p>") + b"".join(
        packer.compress(b"word " * 200_000) for _ in range(60)
    )
    path = crawl_of(
        tmp_path / "a.warc.zst", [answer(body + packer.flush(), "text/html", "Content-Encoding: gzip")]
    )
    done = tools.text(path, tmp_path / "new.jsonl", max_size=1 << 20, max_text=1000)
    line = lines_of(tmp_path / "new.jsonl")[0]
    assert (len(line["text"]), line["whole"], done.cut) == (1000, False, 1)


def test_a_truncated_record_is_not_whole(tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_response("http://a.org/", answer(html("x")), truncated="length")
    tools.text(tmp_path / "a.warc.zst", tmp_path / "new.jsonl")
    assert lines_of(tmp_path / "new.jsonl")[0]["whole"] is False


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dedupe", [False, True])
def test_parts_of_a_file_give_what_one_process_gives(tmp_path, monkeypatch, dedupe) -> None:
    monkeypatch.setattr(parts, "MIN_SIZE", 1000)
    monkeypatch.setattr(parts, "MIN_PART", 30_000)
    chance = random.Random(1)
    pages = [
        answer(html(f"{number % 90} {chance.randbytes(600).hex() if number < 90 else ''}"))
        for number in range(120)
    ]
    path = crawl_of(tmp_path / "a.warc.zst", pages)
    one = tools.text(path, tmp_path / "one.jsonl", dedupe=dedupe)
    two = tools.text(path, tmp_path / "two.jsonl", dedupe=dedupe, processes=2)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert one == two


def test_a_file_object_can_be_read(site, tmp_path) -> None:
    with site.open("rb") as file:
        assert len(texts_of(io.BytesIO(file.read()), tmp_path / "new.jsonl", name="here")) == 3
    assert lines_of(tmp_path / "new.jsonl")[0]["file"] == "here"


def test_nothing_is_left_under_the_name_of_a_file_that_failed(site, tmp_path) -> None:
    with pytest.raises(SourceError):
        tools.text([site, tmp_path / "missing.warc"], tmp_path / "new.jsonl")
    with pytest.raises(ValueError, match="not an HTTP status"):
        tools.text(site, tmp_path / "new.jsonl", status="nonsense")
    with pytest.raises(TargetError):
        tools.text(site, site, existing="overwrite")
    assert not (tmp_path / "new.jsonl").exists()
    tools.text(site, tmp_path / "new.jsonl")
    with pytest.raises(TargetExistsError):
        tools.text(site, tmp_path / "new.jsonl")


@pytest.mark.parametrize("lang", PROSE)
def test_the_language_of_a_page_is_detected(tmp_path, lang) -> None:
    path = crawl_of(tmp_path / "a.warc.zst", [answer(html(PROSE[lang] * 4, lang=""))])
    tools.text(path, tmp_path / "new.jsonl")
    assert lines_of(tmp_path / "new.jsonl")[0]["lang"] == lang
