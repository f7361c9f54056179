"""Every verb of the command over damaged and foreign input, within this process.

All that is done to an input follows from one number, so that a failure can be made again.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import re
import shlex
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import seekwarc
from seekwarc import tools
from seekwarc.cli import main
from seekwarc.cli.printing import printable
from tests.support.arc import arc_record, first_record
from tests.support.cdx import wacz_cluster
from tests.support.conformance import READER, make_samples
from tests.support.films import small_film
from tests.support.foreign import some_dictionary
from tests.support.partial import PartsWriter
from tests.support.writing import noise, response

URI = "http://example.org/page"
ARCHIVES = ("a.warc", "a.warc.gz", "a.warc.zst", "d.warc.zst", "a.arc", "a.arc.gz", "a.wacz", "a.warc.open")
INDEXES = ("a.cdxj", "index.idx", "index.cdx.gz", "a.parquet")
PICKY = ("index.idx", "index.cdx.gz", "manifest.json", "sound.warc.zst", "demo.warc.zst")
"""Files that are found by their names, in the folder that others of their kind are in."""
SAMPLES = ("manifest.json", "sound.warc.zst", "cut.warc.zst", "empty.warc.zst", "reader.py")
NAMES = ("", "é ", "\udcff", "new\nline", "%2F#?", "[x]*")
"""What the name of a file that is not in a folder of others begins with."""
NUMBERS = (b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\x80", b"\r\n\r\n", b"\0\0\0\x80")
DIGITS = (b"0", b"-1", b"99999999999999999999", b"2147483648", b"1e9", b"", b"x")

VERBS: dict[str, dict[str, tuple[str, ...]]] = {
    "convert": {"convert {file} {new}.warc.zst": ARCHIVES, "convert {file} {new}.warc": ARCHIVES},
    "pack": {
        "pack {file} -o {new}.warc.zst --dedup": ARCHIVES,
        "pack a.warc -o {new}.warc --dictionary {file}": ("dict",),
    },
    "ls": {"ls {file}": ARCHIVES, "ls --json --sort size {file}": ARCHIVES},
    "cat": {
        "cat {file} --uri " + URI: ARCHIVES,
        "cat {file} {offset}": ARCHIVES,
        "cat {file} {offset} --partial --decoded": ARCHIVES,
        "cat --index {file} --uri " + URI: INDEXES,
        "cat s.warc.gz --uri http://example.org/film.mp4 --range 5K+100 --sidecar {file}": (
            "s.warc.gz.seek",
        ),
    },
    "clip": {"clip {file} --uri http://example.org/film.mp4 --from 0 --to 1 -o {new}.mkv": ("film.warc",)},
    "pictures": {"pictures {file} --uri http://example.org/film.mp4 --every 2 -o {new}": ("film.warc",)},
    "extract": {"extract {file} -o {new}": ARCHIVES, "extract {file} -o {new} --partial": ARCHIVES},
    "text": {"text {file} -o {new}.jsonl": ARCHIVES},
    "info": {
        "info {file}": (*ARCHIVES, *INDEXES),
        "info {file} --json --by host": (*ARCHIVES, *INDEXES),
        "info {file} {offset} --frames": ARCHIVES,
    },
    "index": {
        "index {file} -o {new}.cdxj": ARCHIVES,
        "index --all --parquet {file} -o {new}.parquet": ARCHIVES,
        "index --text {file} -o {new}.fts": ARCHIVES,
        "index --text a.warc -o {file}": ("a.fts",),
        "index --sidecar {file} -o {new}.seek --min-size 1K": ("a.warc.gz", "s.warc.gz"),
    },
    "lookup": {
        "lookup {file} " + URI: INDEXES,
        "lookup {file} http://example.org/ --match domain --json": INDEXES,
        "lookup {file} --url " + URI: (*ARCHIVES, *INDEXES),
    },
    "search": {"search {file} tea": ("a.fts",), 'search {file} "earl grey" --order date --json': ("a.fts",)},
    "verify": {"verify {file}": ARCHIVES, "verify --all --profile --json {file}": ARCHIVES},
    "recover": {
        "recover {file} {new}.warc.zst": ARCHIVES,
        "recover --partial {file} {new}.warc.zst": ARCHIVES,
    },
    "concat": {"concat a.warc {file} -o {new}.warc.zst": ARCHIVES},
    "split": {"split {file} -o {new} --records 2": ARCHIVES},
    "filter": {
        "filter {file} --type response -o {new}.warc.zst": ARCHIVES,
        "filter a.warc --cdxj {file} -o {new}.warc.zst": ("a.cdxj",),
    },
    "redact": {
        "redact {file} --uri */page --reason x -o {new}.warc.zst": ARCHIVES,
        "redact a.warc --uris {file} --with-revisits -o {new}.warc.zst": ("uris",),
    },
    "join": {"join {file} -o {new}.warc.zst": ("parts.warc.zst", *ARCHIVES)},
    "dedupe": {
        "dedupe a.warc {file} -o {new}.warc.zst": ARCHIVES,
        "dedupe --undo {file} -o {new}.warc.zst": ARCHIVES,
    },
    "dictionary": {
        "dictionary train {file} -o {new}.dict": ARCHIVES,
        "dictionary show {file}": ("d.warc.zst", "dict", *ARCHIVES),
        "dictionary extract {file} -o {new}.dict": ("d.warc.zst", *ARCHIVES),
    },
    "serve": {"serve --port 0 {file}": (*ARCHIVES, *INDEXES), "serve --port 0 a.warc {file}": ("a.fts",)},
    "wacz": {
        "wacz validate {file}": ("a.wacz",),
        "wacz merge {file} a.wacz -o {new}.wacz": ("a.wacz",),
        "wacz create {file} -o {new}.wacz": ARCHIVES,
        "wacz create a.warc --pages {file} -o {new}.wacz": ("uris",),
    },
    "completion": {"completion bash": ("a.warc",)},
    "demo": {
        "demo -o {file} --size 64K": ("a.warc",),
        "demo {folder} --size 64K": ("a.warc", "demo.warc.zst"),
        "demo {folder} --size 64K --force --json": ("demo.warc.zst",),
    },
}
"""What is run, for each verb, and the kinds of its input. `{new}` is what may be made.

`{folder}` is the folder of the input.
"""


@cache
def inputs() -> dict[str, bytes]:
    """Make a sound file of each kind; their names are what others refer to them by."""
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(seekwarc.system.temporary_folder("inputs-")))
        html = b"<title>Tea</title><p>Earl Grey, hot."
        blocks = {
            URI: response(html, "text/html"),
            "http://example.org/chunked": response(
                b"5\r\nEarl \r\n4\r\nGrey\r\n0\r\n\r\n", "text/plain", "Transfer-Encoding: chunked"
            ),
            "http://other.example/again": response(html, "text/html"),
        }
        pages = b"".join(b"page %d of tea and cake\n" % it * 3 for it in range(200))
        (folder / "dict").write_bytes(some_dictionary().as_bytes())
        for name in ("a.warc", "a.warc.gz", "a.warc.zst", "d.warc.zst", "s.warc.gz", "film.warc"):
            options = {"dictionary": (folder / "dict").read_bytes()} if name.startswith("d") else {}
            options |= {"dedup": seekwarc.Duplicates()} if name == "a.warc.zst" else {}
            with seekwarc.open(folder / name, "w", threads=1, **options) as out:
                out.write_warcinfo({"software": "x"})
                for uri, block in blocks.items():
                    out.write_response(uri, block, date="2026-11-16T12:00:00Z")
                film = small_film("film.webm", 1) if name.startswith("film") else noise(60_000)
                out.write_resource("http://example.org/film.mp4", film, "video/mp4")
        data = {it.name: it.read_bytes() for it in folder.iterdir()}
        data["a.warc.open"] = data["a.warc"]
        data["a.arc"] = first_record() + arc_record(URI.encode(), blocks[URI]) * 2
        data["a.arc.gz"] = gzip.compress(first_record()) + gzip.compress(
            arc_record(URI.encode(), blocks[URI])
        )
        parts = PartsWriter(pages)
        parts.part(0, 5000)
        parts.part(4000, len(pages))
        data["parts.warc.zst"] = parts.done()
        index = folder / "a.cdxj"
        tools.index(folder / "a.warc.gz", index)
        data["a.cdxj"] = index.read_bytes()
        for words in (
            "index --text a.warc -o a.fts",
            "index --sidecar s.warc.gz --min-size 1K -o s.warc.gz.seek",
            "wacz create a.warc.gz -o a.wacz",
        ):
            ran = run([str(folder / it) if "." in it else it for it in words.split()])
            assert ran.status == 0, ran
        for name in ("a.fts", "s.warc.gz.seek", "a.wacz"):
            data[name] = (folder / name).read_bytes()
        wacz_cluster(folder, data["a.cdxj"].splitlines(keepends=True), per_block=1)
        for name in ("index.idx", "index.cdx.gz"):
            data[name] = (folder / name).read_bytes()
        make_samples(folder)
        for name in SAMPLES:
            data[name] = READER.encode() if name == "reader.py" else (folder / name).read_bytes()
    data["uris"] = f"{URI}\nhttp://other.example/again\n".encode()
    data["demo.warc.zst"] = data["a.warc.zst"]
    return data


@cache
def parquet() -> bytes:
    """Make a sound index in Parquet, apart from the others: what that imports takes seconds."""
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(seekwarc.system.temporary_folder("inputs-")))
        (folder / "a.warc").write_bytes(inputs()["a.warc"])
        ran = run(["index", "--parquet", str(folder / "a.warc"), "-o", str(folder / "a.parquet")])
        assert ran.status == 0, ran
        return (folder / "a.parquet").read_bytes()


def mutant(data: bytes, chance: random.Random) -> bytes:
    """Return data with some bytes, lengths or pieces changed; or as they are, empty, or of another kind."""
    match chance.randrange(16):
        case 0:
            return data
        case 1:
            return b""
        case 2:
            return data[: chance.randrange(len(data))]
        case 3:
            return chance.choice(sorted(inputs().values()))
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 30))):
        place = chance.randrange(len(made) + 1)
        match chance.randrange(5):
            case 0:
                made[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                made[place : place + chance.choice((1, 4, 8))] = chance.choice(NUMBERS)
            case 2:
                del made[place : place + chance.choice((1, 7, 100))]
            case 3:
                made[place:place] = made[place - 40 : place + 40]
            case _:
                digits = [*re.finditer(rb"[0-9]+", made)]
                if digits:
                    found = chance.choice(digits)
                    made[found.start() : found.end()] = chance.choice(DIGITS)
    return bytes(made)


@dataclass
class Ran:
    """What a run of the command said, and the folder that it ran in."""

    words: list[str]
    status: int
    out: str
    err: str


def run(words: list[str]) -> Ran:
    """Run the command within this process; only what is no exit status is raised."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
    said = [it.buffer.getvalue().decode(errors="replace") for it in (out, err)]  # type: ignore[attr-defined]
    return Ran(words, status, *said)


def try_verb(verb: str, seed: int, folder: Path, *, quick: bool) -> Ran:
    """Run a verb over a mutant of one of its inputs in an empty folder, and assert that it behaves.

    With `quick`, nothing that needs Parquet.
    """
    chance = random.Random(f"{verb} {seed}")
    choices = [(it, kind) for it, kinds in VERBS[verb].items() for kind in kinds]
    pattern, kind = chance.choice([it for it in choices if not quick or "parquet" not in "".join(it)])
    given = {name: folder / name for name in ("a.warc", "a.wacz", "s.warc.gz")}
    home = folder
    if chance.randrange(4) == 0:
        home = folder / (chance.choice(NAMES) + "folder")
        home.mkdir()
    beside = (*INDEXES[1:3], "a.warc.gz") if kind in INDEXES else ()
    given |= {name: home / name for name in beside}
    for name, path in given.items():
        path.write_bytes(inputs()[name])
    path = home / (kind if kind in PICKY else chance.choice(NAMES) + kind)
    path.write_bytes(mutant(parquet() if kind == "a.parquet" else inputs()[kind], chance))
    if chance.randrange(20) == 0:
        path.unlink()
        path.mkdir()
    named = home if home != folder and kind in ARCHIVES and chance.randrange(2) else path
    values = {
        "file": named,
        "folder": home,
        "new": folder / "new",
        "offset": chance.choice(("0", "1", "300", "99999999999999999999", "-1")),
        "python": sys.executable,
    }
    words = [str(given.get(it, it.format(**values))) for it in shlex.split(pattern)]
    words = [str(home / it) if it == "reader.py" else it for it in words]
    before = contents(folder)
    ran = run(words)
    after = contents(folder)
    assert ran.status in (0, 1, 2), ran
    assert "Traceback" not in ran.err, ran
    partial = [it for it in after if ".partial" in it or Path(it).name.startswith((".seekwarc-", ".index."))]
    assert partial == [], ran
    target = path if "-o {file}" in pattern else home / "demo.warc.zst" if "--force" in pattern else None
    kept = {it: data for it, data in before.items() if target is None or it != str(target)}
    assert {it: after.get(it) for it in kept} == kept, ran
    if ran.status:
        assert ran.err.strip() or ran.out.strip(), ran
    if ran.status == 2:
        assert_says_why(ran, *ran.words[1:], str(folder))
    return ran


def assert_says_why(ran: Ran, *arguments: str) -> None:
    """Assert that a verb that failed said so in a line, after its usage at most, which names an argument.

    One that goes on says so of each file, and then how many it passed over.
    """
    lines = [it for it in ran.err.splitlines() if not it.startswith("seekwarc: warning: ")]
    if re.fullmatch("seekwarc: [0-9]+ of [0-9]+ files passed over", lines[-1]):
        assert all(it.startswith("seekwarc: ") for it in lines), ran
        lines = lines[-2:-1]
    said = lines[-1]
    assert said.startswith("seekwarc"), ran
    # Damage that was passed on the way to a record is said before what is wrong with that.
    places = [it for it in lines[:-1] if it.startswith("seekwarc: ") and ", offset " in it]
    assert len(lines) == 1 + len(places) or lines[0].startswith("usage: "), ran
    parts = [part for it in arguments for part in (it, it.rpartition("/")[2])]
    assert any(len(it) > 1 and printable(it) in said for it in parts), ran


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all files, by their paths, and folders, as None, below a folder."""
    return {str(it): it.read_bytes() if it.is_file() else None for it in folder.rglob("*")}


def ask_some(client: Any) -> None:
    """Ask a server over a mutant for its page, its lists, a payload and a range of one."""
    for path, query, headers in REQUESTS:
        answer = client.get(path, headers=headers, **query)
        assert answer.status in (200, 206, *range(400, 500), 502, 503), (path, answer)


REQUESTS: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("/", {}, {}),
    ("/api/summary", {}, {}),
    ("/api/records", {}, {}),
    ("/api/records", {"q": "example"}, {}),
    ("/payload", {"uri": URI}, {}),
    ("/payload", {"uri": "http://example.org/film.mp4"}, {"Range": "bytes=5000-5099"}),
    ("/payload", {"uri": "http://example.org/chunked", "date": "20261116120000"}, {"Range": "bytes=0-1"}),
]
