"""Making search indexes of archives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, SeekWarcError, SourceError, TargetError
from seekwarc.make.text_indexing import IndexUpdate, path_of, spool_pages, stored_path, version_of
from tests.support.writing import response

DATE = "2026-11-16T12:00:00Z"


def page(text: str, title: str | None = None) -> bytes:
    head = f"<title>{title}</title>" if title is not None else ""
    return response(f"<html>{head}<body><p>{text}</p></body></html>".encode(), "text/html; charset=utf-8")


def write(path: Path, **pages: bytes) -> Path:
    with seekwarc.open(path, "w", existing="overwrite") as out:
        for name, block in pages.items():
            out.write_response(f"http://example.org/{name}", block, date=DATE)
    return path


def uris(index: Path, query: str) -> set[str]:
    return {it.uri.rpartition("/")[2] for it in tools.search(index, query, limit=50).hits}


def test_pages_are_found_by_their_words(tmp_path) -> None:
    crawl = write(tmp_path / "a.warc.zst", tea=page("Earl Grey, hot."), cake=page("Cake", "For tea"))
    done = tools.index_text(crawl, tmp_path / "a.fts")
    assert (done.pages, done.captures, done.files, done.problems) == (2, 2, 1, 0)
    assert uris(tmp_path / "a.fts", "earl") == {"tea"}
    assert uris(tmp_path / "a.fts", "tea") == {"cake"}
    assert os.listdir(tmp_path) == ["a.fts", "a.warc.zst"] or set(os.listdir(tmp_path)) == {
        "a.fts",
        "a.warc.zst",
    }


def test_only_pages_are_indexed(tmp_path) -> None:
    blocks = {
        "empty": page(""),
        "blank": response(b" \n ", "text/plain"),
        "title": page("", "Title alone"),
        "missing": page("word").replace(b"200 OK", b"404 Not Found"),
        "script": response(b"word = 1", "text/javascript"),
        "image": response(b"\x89PNG\r\n\x1a\n word", "image/png"),
        "plain": response(b"word\0 word", "text/plain"),
        "long": page("x" * 1_000_000 + " word"),
    }
    done = tools.index_text(write(tmp_path / "a.warc.zst", **blocks), tmp_path / "a.fts")
    assert done.problems == 0
    assert uris(tmp_path / "a.fts", "word") <= {"plain", "long"}
    assert "long" in uris(tmp_path / "a.fts", "word")
    assert uris(tmp_path / "a.fts", "alone") == {"title"}
    assert uris(tmp_path / "a.fts", "x" * 64) == {"long"}
    assert (tmp_path / "a.fts").stat().st_size < 200_000


def test_resources_and_conversions_are_indexed_and_requests_are_not(tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://example.org/resource", b"tea", "text/plain", date=DATE)
        out.write(
            "conversion", block=b"tea, too", content_type="text/plain", target_uri="http://example.org/wet"
        )
        out.write_request("http://example.org/request", b"GET /tea HTTP/1.1\r\n\r\n", date=DATE)
    tools.index_text(tmp_path / "a.warc.zst", tmp_path / "a.fts")
    assert uris(tmp_path / "a.fts", "tea") == {"resource", "wet"}


def test_duplicates_and_revisits_are_captures_of_one_page(tmp_path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        for day in range(1, 5):
            out.write_response("http://example.org/tea", page("Tea"), date=f"2026-11-0{day}T12:00:00Z")
    copies = {f"copy{number}": page("Tea") for number in range(5)}
    done = tools.index_text(
        [tmp_path / "a.warc.zst", write(tmp_path / "b.warc.zst", **copies)], tmp_path / "a.fts"
    )
    assert (done.pages, done.captures) == (1, 9)
    (hit,) = tools.search(tmp_path / "a.fts", "tea").hits
    assert hit.captures == 9
    (hit,) = tools.search(tmp_path / "a.fts", "tea", until="2026-11-04").hits
    assert (hit.type, hit.date, hit.captures) == ("revisit", "2026-11-04T12:00:00Z", 4)
    assert hit.snippet is not None
    assert hit.snippet.text == "Tea"


def test_an_index_is_brought_up_to_date(tmp_path) -> None:
    one, two = tmp_path / "one.warc.zst", tmp_path / "two.warc.gz"
    index = tmp_path / "a.fts"
    write(one, tea=page("tea"))
    assert tools.index_text(one, index).unchanged == 0
    before = index.stat().st_ino
    write(two, milk=page("milk"))
    done = tools.index_text(tmp_path, index)
    assert (done.files, done.unchanged, done.captures) == (1, 1, 2)
    assert uris(index, "tea OR milk") == {"tea", "milk"}
    assert index.stat().st_ino != before
    write(one, cake=page("cake, much later"))
    done = tools.index_text([one], index)
    assert (done.files, done.pages) == (1, 2)
    assert uris(index, "tea OR milk OR cake") == {"milk", "cake"}
    assert tools.index_text(one, index, rebuild=True).pages == 1
    assert uris(index, "milk OR cake") == {"cake"}


def test_files_below_the_index_may_move_with_it(tmp_path) -> None:
    folder = tmp_path / "here"
    (folder / "crawls").mkdir(parents=True)
    write(folder / "crawls" / "a.warc.zst", tea=page("tea"))
    tools.index_text(folder / "crawls", folder / "a.fts")
    shutil.move(folder, tmp_path / "there")
    (hit,) = tools.search(tmp_path / "there" / "a.fts", "tea").hits
    assert hit.snippet is not None
    assert hit.file == str(tmp_path / "there" / "crawls" / "a.warc.zst")


def test_names_in_an_index_are_relative_to_it_if_they_can_be(tmp_path) -> None:
    index = str(tmp_path / "in" / "a.fts")
    for source, stored in {
        str(tmp_path / "in" / "b" / "c.warc"): "b/c.warc",
        str(tmp_path / "inn" / "c.warc"): str(tmp_path / "inn" / "c.warc"),
        "https://example.org/c.warc": "https://example.org/c.warc",
    }.items():
        assert stored_path(source, index) == stored
        assert path_of(stored, index) == source


def damaged(path: Path) -> Path:
    """Write an archive of three pages, of which the second is damaged."""
    write(path, one=page("tea one"), two=page("tea two " * 3000), three=page("tea three"))
    with seekwarc.open(path) as archive:
        middle = [record.offset for record in archive if record.type == "response"][1]
    data = bytearray(path.read_bytes())
    data[middle + 60] ^= 0xFF
    path.write_bytes(data)
    return path


def test_a_damaged_record_does_not_stop_the_others(tmp_path) -> None:
    crawl = damaged(tmp_path / "a.warc.zst")
    problems: list[FormatError] = []
    done = tools.index_text(crawl, tmp_path / "a.fts", on_problem=problems.append)
    assert done.problems == len(problems) >= 1
    assert problems[0].source == str(crawl)
    assert uris(tmp_path / "a.fts", "tea") == {"one", "three"}


def test_without_a_handler_damage_leaves_the_old_index(tmp_path) -> None:
    index = tmp_path / "a.fts"
    tools.index_text(write(tmp_path / "b.warc.zst", b=page("tea b")), index)
    before = index.read_bytes()
    with pytest.raises(FormatError):
        tools.index_text(damaged(tmp_path / "a.warc.zst"), index)
    assert index.read_bytes() == before
    assert set(os.listdir(tmp_path)) == {"a.fts", "a.warc.zst", "b.warc.zst"}


def test_two_runs_at_once_are_refused(tmp_path) -> None:
    crawl, index = write(tmp_path / "a.warc.zst", a=page("tea")), tmp_path / "a.fts"
    tools.index_text(crawl, index)
    with IndexUpdate(index), pytest.raises(TargetError, match="another process is writing"):
        tools.index_text(crawl, index)
    with IndexUpdate(tmp_path / "new.fts") as one, IndexUpdate(tmp_path / "new.fts") as other:
        one.commit()
        with pytest.raises(TargetError, match="another process"):
            other.commit()


def test_an_interrupted_run_leaves_the_old_index(tmp_path) -> None:
    crawl, index = write(tmp_path / "a.warc.zst", a=page("tea")), tmp_path / "a.fts"
    tools.index_text(crawl, index)
    before = index.read_bytes()

    def interrupt(source, label):
        raise KeyboardInterrupt

    write(crawl, a=page("milk and more"))
    with pytest.raises(KeyboardInterrupt):
        tools.index_text(crawl, index, on_progress=interrupt)
    assert index.read_bytes() == before
    assert set(os.listdir(tmp_path)) == {"a.fts", "a.warc.zst"}
    assert tools.index_text(crawl, index).files == 1


def test_what_is_no_index_is_not_replaced(tmp_path) -> None:
    crawl, other = write(tmp_path / "a.warc.zst", a=page("tea")), tmp_path / "notes.txt"
    other.write_text("important")
    with pytest.raises(FormatError, match="is not a search index"):
        tools.index_text(crawl, other)
    with pytest.raises(TargetError, match="same file"):
        tools.index_text(crawl, crawl, rebuild=True)
    with pytest.raises(TargetError):
        tools.index_text(crawl, "s3://bucket/a.fts")
    assert other.read_text() == "important"


def test_a_file_that_is_missing_is_an_error(tmp_path) -> None:
    with pytest.raises(SourceError):
        tools.index_text(tmp_path / "a.warc.zst", tmp_path / "a.fts")
    assert os.listdir(tmp_path) == []


def test_a_pipe_is_refused(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe.warc")
    writer = os.open(tmp_path / "pipe.warc", os.O_RDWR)
    with pytest.raises(SeekWarcError, match="store it in a file"):
        version_of(str(tmp_path / "pipe.warc"))
    os.close(writer)


@pytest.mark.slow
def test_parts_of_a_large_file_give_the_same(tmp_path) -> None:
    path = tmp_path / "large.warc"
    with seekwarc.open(path, "w") as out:
        for number in range(1500):
            text = f"number{number} " + " ".join(f"w{number * it % 997}" for it in range(2400))
            out.write_response(f"http://example.org/{number}", page(text), date=DATE)
    assert path.stat().st_size > 16 << 20
    one = spool_pages(str(path), str(tmp_path / "one"), on_problem=pytest.fail)
    two = spool_pages(str(path), str(tmp_path / "two"), on_problem=pytest.fail, processes=2)
    assert one == two
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
