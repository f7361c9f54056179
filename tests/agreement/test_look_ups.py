"""Whatever is asked for a URI gives the same capture: files, indexes, a WACZ, the server, the replay."""

from __future__ import annotations

import gzip
import hashlib
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.collection.likeness import Likeness, Meant
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.format.uri import as_utf8
from seekwarc.serve.library import Library
from seekwarc.serve.replay_lookup import Asked, Captures
from tests.support.look_ups import make_indexes, named, record, served
from tests.support.rounds import rounds

HOSTS = ["example.org", "m\u00fcnchen.example", "a.b.example.net"]
PAIRS = [
    ("https://www.{h}/", "https://www2.{h}/"),
    ("https://{h}/AbCdEf", "https://{h}/abcdef"),
    ("http://{h}/a//b", "http://{h}/a/b"),
    ("http://{h}/p?id=Qa", "http://{h}/p?id=qA"),
    ("http://{h}/s;jsessionid=" + "a" * 32, "http://{h}/s"),
    ("http://{h}/%7Ex", "http://{h}/~x"),
    ("http://{h}/caf\udce9", "http://{h}/caf%E9"),
    ("http://{h}/caf\u00e9", "http://{h}/caf%C3%A9"),
    ("http://{h}:80/port", "http://{h}/port"),
    ("http://{h}/f#a", "http://{h}/f"),
    ("http://{h}/q?b=1&a=2", "http://{h}/q?a=2&b=1"),
    ("http://{h}/d/", "http://{h}/d"),
    ("http://{h}/s1", "https://{h}/s1"),
    ("http://{h}/long?" + "x=1&" * 400 + "y=2", "http://{h}/long?y=2&" + "x=1&" * 399 + "x=1"),
    ("http://{h}/blank a", "http://{h}/blank%20a"),
]
LEFT_OUT = {"http://{h}/one/A": "http://{h}/one/a", "http://{h}/two%2Eb": "http://{h}/two.b"}
"""What is asked for, and the only capture that there is."""


def uris() -> list[str]:
    return [uri.format(h=host) for host in HOSTS for pair in PAIRS for uri in pair]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    files = named(tmp_path_factory.mktemp("agreement"))
    only = [uri.format(h=host) for host in HOSTS for uri in LEFT_OUT.values()]
    with files["warc.gz"].open("wb") as out:
        for day, uri in enumerate([*uris(), *only]):
            for year in (2024, 2025):
                date = f"{year}-{1 + day % 12:02}-{1 + day // 12:02}T00:00:00Z"
                out.write(gzip.compress(record(uri, date, f"{year} {day}".encode()), mtime=0))
    make_indexes(files)
    return files


Way = Callable[[str], bytes]


def ways(files: dict[str, Path]) -> Iterator[tuple[str, Way]]:
    """Yield ways to ask for the latest capture of a URI."""
    with seekwarc.Collection(files["warc.gz"]) as collection:
        yield "Collection", lambda uri: collection.open_record(uri=uri).payload.read()
    with seekwarc.Wacz(files["wacz"]) as wacz:
        yield "Wacz", lambda uri: wacz.open_record(uri=uri).payload.read()
    for name in ("cdxj", "parquet"):
        with seekwarc.Index(files[name]) as index:
            yield name, lambda uri: next(index.lookup(uri, closest="9999")).open().payload.read()
    for library_of in ("warc.gz", "cdxj"):
        with Library([str(files[library_of])]) as library:
            library.read()
            find = Captures(library).find
            yield f"replay of {library_of}", lambda uri, find=find: served(find(Asked(uri, None)))
            yield f"server of {library_of}", lambda uri, find=library.capture: served(find(uri))


def test_all_ways_give_the_same_capture(crawl: dict[str, Path]) -> None:
    asked = [*uris(), *(uri.format(h=host) for host in HOSTS for uri in LEFT_OUT)]
    answers: dict[str, dict[str, bytes | str]] = {}
    for name, way in ways(crawl):
        for uri in asked:
            try:
                answers.setdefault(uri, {})[name] = way(uri)
            except SeekWarcError as error:
                answers.setdefault(uri, {})[name] = type(error).__name__
    written = [as_utf8(uri) for uri in asked]
    for number, uri in enumerate(asked):
        assert len(set(answers[uri].values())) == 1, (uri, answers[uri])
        if number < len(uris()):
            # A byte that is not UTF-8 is the same as its escape.
            expected = max(at for at, it in enumerate(written) if it == written[number])
            assert set(answers[uri].values()) == {f"2025 {expected}".encode()}, uri
        else:
            assert b"2025" in next(iter(answers[uri].values()))


CONNECTED = "e.org:443"
"""What an answer to CONNECT has as its URI, which is no capture of it."""


def test_what_has_no_valid_host_and_port_is_found_by_its_own_spelling_alone(tmp_path: Path) -> None:
    files = named(tmp_path)
    stored = ["http://e.org:99999/p", "http:///nohost"]
    made = [record(it, "2026-01-01T00:00:00Z", it.encode()) for it in [*stored, CONNECTED]]
    files["warc.gz"].write_bytes(b"".join(gzip.compress(it, 1) for it in made))
    make_indexes(files)
    for name, way in ways(files):
        assert [way(it) for it in stored] == [it.encode() for it in stored], name
        for uri in ("HTTP://E.org:99999/p", "http://e.org:99999/p#f", "http://:80/nohost", CONNECTED):
            with pytest.raises(NotFoundError if name not in ("cdxj", "parquet") else StopIteration):
                way(uri)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("host", HOSTS)
def test_the_command_gives_the_same_and_says_when_it_is_another(
    host: str, crawl: dict[str, Path], run_cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    first, second = (uri.format(h=host) for uri in PAIRS[1])
    asked, found = (uri.format(h=host) for uri in next(iter(LEFT_OUT.items())))
    for way in (
        [crawl["warc.gz"]],
        ["--index", crawl["cdxj"]],
        ["--index", crawl["parquet"]],
        [crawl["wacz"]],
    ):
        outputs = {run_cli("cat", *way, "--uri", uri).stdout for uri in (first, second)}
        assert len(outputs) == 2
        answer = run_cli("cat", *way, "--uri", asked)
        assert answer.stdout.startswith(b"2025")
        assert (Meant(asked).note(found) or "").encode() in answer.stderr
        assert b"no capture" not in run_cli("cat", *way, "--uri", asked.replace("A", "a")).stderr


IDENTICAL = (
    "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    f"WARC-Payload-Digest: sha1:{hashlib.sha1(b'original').hexdigest()}",
)
REVISITS = {
    "named": [*IDENTICAL, "WARC-Refers-To-Date: 2025-01-01T00:00:00Z", "WARC-Refers-To-Target-URI: %s"],
    "dated": [*IDENTICAL, "WARC-Refers-To-Date: 2025-01-01T00:00:00Z"],
    "validated": ["WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified"],
}


def test_a_revisit_finds_its_original_under_another_spelling(tmp_path: Path) -> None:
    head = b'HTTP/1.1 %s\r\nETag: "1"\r\nContent-Type: text/plain\r\n\r\n'
    files = named(tmp_path)
    with files["warc.gz"].open("wb") as out:
        for host, fields in REVISITS.items():
            made = [
                ("response", f"http://{host}.org/~", "2025-01-01", head % b"200 OK" + b"original", []),
                ("response", f"http://{host}.org/~", "2025-01-02", b"HTTP/1.1 200 OK\r\n\r\nanother", []),
                ("revisit", f"http://{host}.ORG:80/%7E", "2026-01-01", head % b"304 Not Modified", fields),
            ]
            for kind, uri, day, block, more in made:
                lines = [
                    "WARC/1.1",
                    f"WARC-Type: {kind}",
                    f"WARC-Record-ID: <urn:uuid:{uuid4()}>",
                    f"WARC-Date: {day}T00:00:00Z",
                    f"WARC-Target-URI: {uri}",
                    "Content-Type: application/http",
                    f"Content-Length: {len(block)}",
                    *[it.replace("%s", f"http://{host}.org:/%7e#a") for it in more],
                ]
                stored = "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"
                out.write(gzip.compress(stored, 1))
    make_indexes(files)
    kept = tools.filter(files["warc.gz"], tmp_path / "kept.warc.zst", type="revisit")
    assert (kept.records, kept.dangling) == (6, 0)
    assert tools.dedupe(files["warc.gz"], tmp_path / "full.warc.zst", undo=True).restored == 2
    for name, way in ways(files):
        for host in REVISITS:
            assert way(f"http://{host}.ORG:80/%7E") == b"original", (name, host)


PIECES = [
    "a",
    "A",
    "%41",
    "%7E",
    "~",
    "%e9",
    "%E9",
    "\udce9",
    "\u00e9",
    "%C3%A9",
    "/",
    "//",
    "%2F",
    "?x",
    "#f",
    " ",
]
SITES = [
    "http://e.org",
    "HTTP://E.org:80",
    "https://e.org",
    "http://www.e.org",
    "http://b\u00fc.e",
    "http://xn--b-xga.e",
]


def random_uri(chance: random.Random) -> str:
    return (chance.choice(SITES) + "/" + "".join(chance.choices(PIECES, k=chance.randint(0, 3)))).strip()


@pytest.mark.parametrize("seed", range(rounds(20)))
def test_what_selects_records_of_a_uri_takes_all_its_spellings(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    found = list(dict.fromkeys(random_uri(chance) for _ in range(100)))
    source = tmp_path / "a.warc.gz"
    records = [record(uri, "2026-01-01T00:00:00Z", b"x") for uri in found]
    source.write_bytes(b"".join(gzip.compress(it, 1) for it in records))
    for asked in chance.sample(found, 2):
        alike = [Meant(asked)(uri) for uri in found]
        same = [number for number, it in enumerate(alike) if it in (Likeness.SAME, Likeness.SPELLING)]
        with seekwarc.open(source) as archive:
            offsets = [it.offset for it in archive]
            assert [offsets.index(it.offset) for it in archive.records(uri=asked)] == same
        for wanted in ({"uri": asked}, {"uris": [asked]}):
            kept = tools.filter(source, None, dry_run=True, closure=False, **wanted)
            assert kept.matched == len(same), (asked, wanted)
            done = tools.redact(source, dry_run=True, **wanted)
            assert done.removed == len(same)
            others = [as_utf8(uri) for uri, it in zip(found, alike, strict=True) if it is Likeness.KEY]
            assert sum(done.others.values()) + done.further_others == len(others)
            assert set(done.others) <= set(others)


NOTES = (
    ("resource", "Content-Type: application/warc-fields"),
    ("resource", "Content-Type: Application/WARC-Fields; charset=utf-8"),
    ("metadata", "Content-Type: text/plain"),
    ("conversion", "Content-Type: text/plain"),
)
"""Records that say something of the page of their URI, but are no captures of it."""


@pytest.mark.parametrize(("kind", "field"), NOTES)
def test_a_later_note_on_a_page_is_not_taken_for_it(
    tmp_path: Path, kind: str, field: str, run_cli: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    files = named(tmp_path)
    uri = "http://e.org/page"
    note = record(uri, "2026-01-01T00:00:00Z", b"a note")
    note = note.replace(b"Content-Type: application/http", field.encode(), 1)
    note = note.replace(b"WARC-Type: response", f"WARC-Type: {kind}".encode(), 1)
    page = record(uri, "2025-01-01T00:00:00Z", b"the page")
    files["warc.gz"].write_bytes(b"".join(gzip.compress(it, 1) for it in (page, note)))
    make_indexes(files)
    for name, way in ways(files):
        assert way(uri) == b"the page", name
    for words in ([files["warc.gz"]], ["--index", files["cdxj"]], [files["wacz"]]):
        assert run_cli("cat", *words, "--uri", uri).stdout == b"the page"
