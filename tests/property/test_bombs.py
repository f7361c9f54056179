"""Whatever content codings give, a tool stops at its limit and goes on with the other records."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.edit import joining
from seekwarc.errors import SeekWarcError
from seekwarc.frames.codings import MAX_AHEAD, MAX_CODINGS, MAX_OUTPUT
from seekwarc.inside.text import MAX_SIZE
from seekwarc.serve.markup import MAX_MARKUP, markup_of
from seekwarc.serve.served import ServedRecord
from tests.support.bombs import MIB, DecoderCounts, bomb
from tests.support.pages import answer, crawl_of, html
from tests.support.partial import PartsWriter
from tests.support.rounds import rounds
from tests.support.writing import DATE

pytestmark = [pytest.mark.needs("module:brotli"), pytest.mark.needs("module:pyarrow")]

SOUND = ["one", "two", "three"]
BEGINNING = b"<!doctype html><title>bomb</title><p>bang"
Found = list[str]


def named(path: Path) -> list[str]:
    """Return the words of the sound pages that an archive holds."""
    with seekwarc.open(path) as archive:
        pages = [it.payload.read() for it in archive if it.http is not None and not it.payload.codings]
    return [word for word in SOUND if html(word) in pages]


def by_text(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.text(crawl, folder / "a.jsonl", max_size=MIB, on_problem=lambda _: None)
    lines = [json.loads(line)["text"] for line in (folder / "a.jsonl").read_text().splitlines()]
    return [word for word in SOUND if word in lines], MIB


def by_index_text(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.index_text(crawl, folder / "a.fts", on_problem=lambda _: None)
    tools.search(folder / "a.fts", "bang")
    return [word for word in SOUND if tools.search(folder / "a.fts", word).hits], MAX_SIZE


def by_create_wacz(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.create_wacz(crawl, folder / "a.wacz", text=True)
    with zipfile.ZipFile(folder / "a.wacz") as archive:
        texts = [json.loads(line).get("text") for line in archive.read("pages/pages.jsonl").splitlines()]
    return [word for word in SOUND if word in texts], MAX_SIZE


def by_create_wacz_of_pages(crawl: Path, folder: Path) -> tuple[Found, int]:
    uris = [f"http://example.org/{number}" for number in range(5)]
    tools.create_wacz(crawl, folder / "a.wacz", pages=uris)
    with seekwarc.Wacz(folder / "a.wacz") as archive:
        found = [page.uri[-1] for page in archive.pages() if page.title == "Page"]
    return [word for number, word in enumerate(SOUND) if str(2 * number) in found], MIB


def by_dedupe(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.dedupe(crawl, folder / "a.warc.zst", min_size=1)
    return named(folder / "a.warc.zst"), 0


def by_extract(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.extract(crawl, folder / "files", max_size=MIB)
    files = [path.read_bytes() for path in (folder / "files").rglob("*") if path.is_file()]
    assert all(len(data) <= MIB for data in files)
    return [word for word in SOUND if html(word) in files], MIB


def by_redact(crawl: Path, folder: Path) -> tuple[Found, int]:
    tools.redact(crawl, folder / "a.warc.zst", uri="http://example.org/1")
    return named(folder / "a.warc.zst"), 0


def by_batches_of_text(crawl: Path, _: Path) -> tuple[Found, int]:
    rows = [row for batch in seekwarc.batches(crawl, columns=["text", "error"]) for row in batch.to_pylist()]
    return [word for word in SOUND if word in [row["text"] for row in rows]], MAX_SIZE


def by_batches_of_payloads(crawl: Path, _: Path) -> tuple[Found, int]:
    made = seekwarc.batches(crawl, columns=["payload", "error"], decoded=True, max_payload=MIB)
    rows = [row["payload"] for batch in made for row in batch.to_pylist()]
    return [word for word in SOUND if html(word) in rows], MIB


def by_serve(crawl: Path, _: Path) -> tuple[Found, int]:
    found = []
    with seekwarc.open(crawl) as archive:
        for record in archive.records(type="response"):
            try:
                found.append(markup_of(ServedRecord(record), None).data)
            except SeekWarcError:
                continue
    return [word for word in SOUND if any(word.encode() in data for data in found)], MAX_MARKUP


WAYS: dict[str, Callable[[Path, Path], tuple[Found, int]]] = {
    name.removeprefix("by_"): value for name, value in globals().items() if name.startswith("by_")
}


def layers_of(seed: int) -> int:
    return [1, 2, 3, 4, MAX_CODINGS, MAX_CODINGS + 1][seed % 6]


def assert_limited(counts: DecoderCounts, limit: int) -> None:
    """Brotli gives up to twice as much as it is asked for; a coding may hide some in another."""
    assert max(counts.given, default=0) <= min(limit, MAX_AHEAD) + 4 * MAX_OUTPUT


def check(way: str, seed: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    chance = random.Random(f"{way} {seed}")
    pages = [answer(html(SOUND[0]))]
    for number, word in enumerate(SOUND[1:]):
        body, names = bomb(chance, layers_of(seed + number), BEGINNING)
        pages += [answer(body, "text/html", f"Content-Encoding: {names}"), answer(html(word))]
    crawl = crawl_of(folder / "crawl.warc.zst", pages)
    counts = DecoderCounts(patch)
    found, limit = WAYS[way](crawl, folder)
    assert found == SOUND
    assert_limited(counts, limit)


@pytest.mark.parametrize("way", ["text", "extract", "batches_of_payloads"])
def test_a_bomb_is_stopped_and_the_other_records_are_there(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(way, 1, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(rounds(3)))
def test_bombs_of_all_kinds_are_stopped(
    way: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(way, seed, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(it, marks=pytest.mark.slow) for it in range(1, rounds(10)))]
)
def test_parts_of_a_bomb_are_not_joined(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, names = bomb(random.Random(seed), layers_of(seed), BEGINNING)
    data = b""
    for film, fields in ((b"before", ()), (body, [("Content-Encoding", names)]), (b"after", ())):
        out = PartsWriter(film)
        middle = len(film) // 2
        for span in ((0, middle), (middle, len(film))):
            out.part(*span, *fields, uri=f"http://example.org/{len(film)}")
        data += out.done()
    path, target = tmp_path / "a.warc.zst", tmp_path / "new.warc.zst"
    path.write_bytes(data)
    monkeypatch.setattr(joining, "MAX_DECODED", MIB)
    counts = DecoderCounts(monkeypatch)
    done = tools.join(path, target)
    assert [it.problem is None for it in done.resources] == [True, False, True]
    with seekwarc.open(target) as archive:
        films = [record.payload.read() for record in archive.records(type="conversion")]
    assert sorted(films) == [b"after", b"before"]
    assert_limited(counts, MIB)


def test_the_body_of_a_request_is_read_up_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, names = bomb(random.Random(5), 1, b"a=b&")
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        for number, (sent, fields) in enumerate(((b"a=b", ""), (body, f"Content-Encoding: {names}\r\n"))):
            uri = f"http://example.org/{number}"
            made = out.write_response(uri, answer(html("x")), date=DATE)
            kind = "Content-Type: application/x-www-form-urlencoded"
            head = f"POST / HTTP/1.1\r\n{kind}\r\n{fields}Content-Length: {len(sent)}\r\n\r\n"
            out.write_request(uri, head.encode() + sent, date=DATE, concurrent_to=made.id)
    (tmp_path / "a.warc.zst").write_bytes(file.getvalue())
    counts = DecoderCounts(monkeypatch)
    done = tools.index(tmp_path / "a.warc.zst", tmp_path / "a.cdxj", post_append=True)
    assert done.lines == 2
    assert_limited(counts, MIB)
