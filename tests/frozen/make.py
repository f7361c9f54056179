"""Makes a file of each format that is written, with the version of the package that is on the path.

    PYTHONPATH=. python tests/frozen/make.py tests/frozen/VERSION

What a version has made stays as it is: test_read_for_ever.py reads it with each later one. Make a folder when
a format has something new, and never change an old one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import seekwarc
from seekwarc import tools

SITE = "http://example.org/"
FILM = SITE + "film.bin"
FRAME = 64 << 10
SIZE = 1_500_000
"""A sidecar is used for records of at least 1 MiB."""
DATE = "2026-11-%02dT06:00:00Z"
LISTED = ("ls crawl.warc.zst", "info crawl.warc.zst", "verify crawl.warc.zst")
LOOKED_UP = "lookup crawl.cdxj http://example.org/ --json"
"""What is printed as JSON, whose fields and their order stay."""


def words(size: int, seed: int) -> bytes:
    """Return text that compresses better than most."""
    chance = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = ["".join(chance.choices(letters, k=chance.randint(40, 90))) + " " for _ in range(60)]
    return "".join(chance.choices(known, k=size // 40 + 1)).encode()[:size]


def write(path: str, film: bytes = words(SIZE, seed=9), **options: object) -> None:
    """Write a small crawl with all types of records and one large record."""
    with seekwarc.open(path, "w", frame_size=FRAME, dedup=seekwarc.Duplicates(), **options) as out:
        out.write_warcinfo({"software": "frozen"})
        for day in (2, 3):
            html = {"Content-Type": "text/html"}
            page = b"<title>Kettles</title><p>" + words(3000, seed=1)
            out.write_response(SITE, page, status=200, http_headers=html, date=DATE % day)
        for number in range(8):
            page = b"<title>Page</title><p>earl grey " + words(2000, seed=number)
            uri = f"{SITE}{number}?a=1&b={number}"
            out.write_response(uri, page, status=200, http_headers=html, date=DATE % 4)
        out.write_resource(FILM, film, "video/mp4", date=DATE % 5)
        out.write_resource("urn:example:plan", b"a plan", "text/plain", date=DATE % 5)


def run(*words: str) -> bytes:
    """Run a verb in this folder."""
    return subprocess.run([sys.executable, "-m", "seekwarc", *words], capture_output=True, check=True).stdout


def left_open() -> None:
    """Leave a file that is being written, as a killed crawler does."""
    crawler = f"""
import os, seekwarc
out = seekwarc.open("unfinished.warc.zst", "w", frame_size={FRAME})
out.write_warcinfo({{"software": "frozen"}})
out.write_resource("urn:example:1", b"written before the end", "text/plain")
out.flush()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", crawler], check=True)


def contents() -> dict[str, list[list[object]]]:
    """Return offset, type, URI and SHA-256 of the block of each record."""
    found = {}
    for path in sorted([*Path().rglob("*.warc*"), *Path().rglob("*.open")]):
        if path.suffix in (".warc", ".gz", ".zst"):
            with seekwarc.open(path) as archive:
                found[str(path)] = [
                    [it.offset, it.type, it.target_uri, hashlib.sha256(it.block.read()).hexdigest()]
                    for it in archive
                ]
    return found


def make() -> None:
    write("crawl.warc.zst")
    write("every.warc.zst", tables="every")
    write("none.warc.zst", tables="none")
    trained = tools.train(["crawl.warc.zst"], size=4096).dictionary
    write("dictionary.warc.zst", dictionary=trained)
    os.mkdir("series")
    write("series/part.warc.zst", film=random.Random(9).randbytes(300_000), max_file_size=200_000)
    left_open()
    run("convert", "crawl.warc.zst", "crawl.warc.gz")
    run("index", "--sidecar", "--min-size", "100K", "--spacing", "64K", "crawl.warc.gz")
    run("index", "crawl.warc.zst", "-o", "crawl.cdxj")
    os.mkdir("cluster")
    run("index", "crawl.warc.zst", "-o", "cluster/cluster.idx")
    run("index", "--parquet", "crawl.warc.zst", "-o", "crawl.parquet")
    run("index", "--text", "crawl.warc.zst", "-o", "crawl.fts")
    run("wacz", "create", "crawl.warc.gz", "-o", "crawl.wacz")
    found = seekwarc.splits("crawl.warc.zst", target_bytes=400_000, inside_records=True)
    # Their names are absolute, which no other machine has.
    splits = [dataclasses.replace(it, filename=os.path.basename(it.filename)) for it in found]
    Path("splits.pickle").write_bytes(pickle.dumps(splits))
    Path("splits.json").write_text("".join(json.dumps(it.to_json()) + "\n" for it in splits))
    printed = {it: run(*it.split(), "--json").decode().splitlines() for it in LISTED}
    printed[LOOKED_UP] = run(*LOOKED_UP.split()).decode().splitlines()
    Path("printed.json").write_text(json.dumps(printed, indent=1) + "\n")
    Path("contents.json").write_text(json.dumps(contents(), indent=1) + "\n")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        map(os.path.abspath, os.environ.get("PYTHONPATH", ".").split(":"))
    )
    os.chdir(folder)
    make()
