"""A host means the same records wherever it is a condition."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import NotFoundError
from seekwarc.make.text_searching import SearchIndex
from tests.support.rounds import rounds
from tests.support.searching import build, captured

LABELS = ["a", "B", "org", "example", "m\u00fcnchen", "xn--mnchen-3ya", "stra\u00dfe", "1", "192"]
ODD = ["[2001:db8::1]", "192.0.2.1", "example.org.", "localhost", "%65xample.org"]

Ask = Callable[[str], set[str]]


def a_host(rng: random.Random) -> str:
    return rng.choice(ODD) if rng.random() < 0.2 else ".".join(rng.choices(LABELS, k=rng.randint(1, 3)))


def a_uri(rng: random.Random) -> str:
    user, port = rng.choice(["", "", "user:word@"]), rng.choice(["", "", ":8080"])
    return rng.choice([f"http://{user}{a_host(rng)}{port}/{rng.random()}", f"dns:{a_host(rng)}"])


def as_asked(rng: random.Random) -> str:
    host = a_host(rng)
    return rng.choice([host, host.upper(), f"*.{host}", f"{host}:443", f"https://{host}/page"])


def record_of(uri: str) -> bytes:
    lines = ["WARC/1.1", "WARC-Type: resource", f"WARC-Target-URI: {uri}", "WARC-Date: 2026-11-17T06:00:00Z"]
    return "\r\n".join([*lines, "Content-Type: text/plain", "Content-Length: 3", "", "tea", "", ""]).encode()


def ways_to_ask(folder: Path, uris: list[str]) -> Mapping[str, Ask]:
    """Return functions that give the URIs found at a host: of records, lines of an index, and pages."""
    crawl, index, target = folder / "crawl.warc", folder / "crawl.cdxj", folder / "new.warc.zst"
    crawl.write_bytes(b"".join(map(record_of, uris)))
    tools.index([crawl], index)
    known = [(captured(uri, 1, number), "tea") for number, uri in enumerate(uris)]
    pages = build(folder / "crawl.fts", known)

    def found_in(file: Path, **conditions: str) -> set[str]:
        with seekwarc.open(file) as archive:
            return {it.target_uri for it in archive.records(**conditions) if it.target_uri is not None}

    def filtered(source: Path, **conditions: object) -> set[str]:
        try:
            tools.filter(source, target, existing="overwrite", **conditions)
        except NotFoundError:
            return set()
        return found_in(target)

    def searched(query: str, **conditions: str) -> set[str]:
        with SearchIndex(pages) as opened:
            return {hit.uri for hit in opened.search(query, limit=100, snippets=False, **conditions).hits}

    def at_site(host: str) -> set[str]:
        # What a query takes has neither a colon nor a slash.
        return searched("tea", host=host) if {*":/"} & {*host} else searched(f"tea site:{host}")

    return {
        "records": lambda host: found_in(crawl, host=host),
        "a list": lambda host: filtered(crawl, hosts=[host]),
        "lines of an index": lambda host: filtered(index, host=host),
        "a list and an index": lambda host: filtered(index, hosts=[host]),
        "search": lambda host: searched("tea", host=host),
        "site:": at_site,
    }


def assert_agreed(folder: Path, seed: int, asked: int) -> None:
    rng = random.Random(seed)
    ways = ways_to_ask(folder, [a_uri(rng) for _ in range(60)])
    found = 0
    for host in [as_asked(rng) for _ in range(asked)]:
        answers = {way: ask(host) for way, ask in ways.items()}
        assert all(it == answers["records"] for it in answers.values()), (seed, host, answers)
        found += len(answers["records"])
    assert found


def test_a_host_means_the_same_records_everywhere(tmp_path) -> None:
    assert_agreed(tmp_path, 1, 8)


@pytest.mark.slow
def test_many_hosts_mean_the_same_records_everywhere(tmp_path) -> None:
    for seed in range(2, 2 + rounds(20)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert_agreed(folder, seed, 50)
