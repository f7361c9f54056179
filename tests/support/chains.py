"""Chains of WACZ as Browsertrix makes them: a crawl leaves out what an earlier one has."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import seekwarc
from seekwarc import tools
from tests.support.waczs import members, wacz

START = datetime(2026, 4, 1, 7, tzinfo=UTC)
NO_HASH = "0" * 64
MIN_SIZE = 1024
"""What `dedupe` takes for worth a revisit."""
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def stamp(number: int, *, whole: bool = False) -> str:
    """Return the date of the capture with a number: 125 milliseconds after a second."""
    date = (START + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{date}.{'000' if whole else '125'}Z"


def written(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the files of a chain; return their paths."""
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def digest_of(payload: bytes) -> str:
    """Return a payload digest as Browsertrix writes it."""
    return f"sha256:{hashlib.sha256(payload).hexdigest()}"


def response(uri: str, payload: bytes, number: int) -> bytes:
    """Return the member of a response."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\nContent-Length: %d\r\n\r\n" % len(payload)
    fields = {"WARC-Type": "response", "Content-Type": "application/http; msgtype=response"}
    return _member(fields, uri, payload, number, head + payload)


def revisit(uri: str, payload: bytes, number: int, container: str, *, of: str, date: str) -> bytes:
    """Return the member of a revisit; `of` and `date` are those of its original."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/svg+xml\r\nContent-Length: %d\r\n\r\n" % len(payload)
    fields = {
        "WARC-Type": "revisit",
        "WARC-Profile": PROFILE,
        "WARC-Refers-To-Target-URI": of,
        "WARC-Refers-To-Date": date,
        "WARC-Refers-To-Container": f"file://{container}",
        "Content-Type": "application/http; msgtype=response",
    }
    return _member(fields, uri, payload, number, head)


def _member(fields: Mapping[str, str], uri: str, payload: bytes, number: int, block: bytes) -> bytes:
    record_id = hashlib.sha256(f"{uri} {number}".encode()).hexdigest()[:32]
    header = {
        **fields,
        "WARC-Record-ID": f"<urn:test:{record_id}>",
        "WARC-Target-URI": uri,
        "WARC-Date": stamp(number),
        "WARC-Payload-Digest": digest_of(payload),
        "Content-Length": str(len(block)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in header.items())
    return gzip.compress(b"WARC/1.1\r\n" + lines.encode() + b"\r\n" + block + b"\r\n\r\n", mtime=0)


def packed(warcs: Mapping[str, bytes], requires: Sequence[object] = ()) -> bytes:
    """Return a WACZ of some WARC files, whose manifest requires others."""
    manifest = {"profile": "data-package", "resources": [], "wacz_version": "1.1.1"}
    relation = {"relation": {"requires": list(requires)}} if requires else {}
    found = {**members(warcs, cluster=False), "datapackage.json": json.dumps(manifest | relation).encode()}
    return wacz(found)


def required(name: str, data: bytes) -> dict[str, object]:
    """Return how a manifest lists a file."""
    return {
        "filename": name,
        "hash": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "crawlId": name[:8],
    }


@dataclass(frozen=True)
class Capture:
    """A response, or a revisit whose `holder` is the file of its original."""

    uri: str
    payload: bytes
    holder: str
    date: str
    fault: str | None = None


@dataclass
class Chain:
    """WACZ files by name, the oldest first, and the payload of each capture."""

    files: dict[str, bytes] = field(default_factory=dict)
    payloads: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    """By the name of a file and of a capture's kind, "response" or "revisit": payloads by URI."""
    revisits: dict[str, list[Capture]] = field(default_factory=dict)
    requires: dict[str, dict[str, dict[str, object]]] = field(default_factory=dict)
    """By the name of a file, what its manifest lists, by name."""
    gaps: set[tuple[str, str, str]] = field(default_factory=set)
    """What is wrong: its kind, the file that has it, and a URI or the name of a required file."""


def chain(crawls: int = 3, pages: int = 4, *, seed: int = 0, gaps: float = 0) -> Chain:
    """Return crawls of the same site, each a WACZ: what an earlier one has is a revisit, a part is new.

    Args:
        crawls: How many there are.
        pages: New pages of each, and pages that it leaves out at most.
        seed: Of what is random.
        gaps: How many of the revisits and files have something wrong, of seven kinds.
    """
    random, found = Random(seed), Chain()
    known: list[Capture] = []
    number = 0
    for crawl in range(crawls):
        name = f"202604{crawl:03}-crawl{crawl}.wacz"
        out = io.BytesIO()
        news, again = [], []
        needed: dict[str, dict[str, object]] = {}
        for page in range(pages):
            number += 1
            one = Capture(f"https://t.example/{crawl}/{page}", random.randbytes(400), name, stamp(number))
            out.write(response(one.uri, one.payload, number))
            news.append(one)
        for one in random.sample(known, min(pages, len(known))):
            number += 1
            fault = random.choice(["date", "uri", "sibling"]) if random.random() < gaps else None
            others = sorted({*found.files, name} - {one.holder})
            container = random.choice(others) if fault == "sibling" else one.holder
            of = one.uri + "/other" if fault == "uri" else one.uri
            date = one.date.replace(".125", ".000") if fault == "date" else one.date
            out.write(revisit(one.uri, one.payload, number, container, of=of, date=date))
            if container != name:
                needed[container] = required(container, found.files[container])
            again.append(replace(one, fault=fault))
        for listed in needed.values():
            if random.random() < gaps:
                listed["hash"] = NO_HASH
        found.files[name] = packed({"data.warc.gz": out.getvalue()}, list(needed.values()))
        found.payloads[name, "response"] = {it.uri: it.payload for it in news}
        found.payloads[name, "revisit"] = {it.uri: it.payload for it in again}
        found.revisits[name], found.requires[name] = again, needed
        known += news
    kinds = ["gone", "renamed", "overwritten"]
    _break(found, {name: random.choice(kinds) for name in found.files if random.random() < gaps})
    return found


def _break(found: Chain, lost: Mapping[str, str]) -> None:
    """Take files away, rename or overwrite them, and note all gaps."""
    other = packed({"data.warc.gz": response("https://t.example/", b"other", 1)})
    for name, fault in lost.items():
        data = found.files.pop(name)
        if fault == "overwritten":
            found.files[name] = other
        elif fault == "renamed":
            found.files[f"renamed-{name}"] = data
    for name, revisits in found.revisits.items():
        if lost.get(name, "renamed") != "renamed":
            continue
        file = f"renamed-{name}" if name in lost else name
        for one in revisits:
            if lost.get(one.holder, "renamed") != "renamed":
                found.gaps.add(("missing", file, one.uri))
            elif one.fault is not None or one.holder in lost:
                found.gaps.add(("elsewhere", file, one.uri))
        for holder, listed in found.requires[name].items():
            if holder in lost or listed["hash"] == NO_HASH:
                found.gaps.add(("requires", file, holder))


@dataclass
class Apart:
    """Crawls that know nothing of each other, and what each capture of them has."""

    files: dict[str, bytes] = field(default_factory=dict)
    """By name, in no order."""
    payloads: dict[str, bytes] = field(default_factory=dict)
    """By the ID of the record."""
    shared: int = 0
    """Responses whose payload a file has that is older."""


def apart(crawls: int = 3, pages: int = 6, *, seed: int = 0, kind: str = "wacz") -> Apart:
    """Return crawls of the same site that were made apart, at times that overlap: some payloads are the same.

    Args:
        crawls: How many there are.
        pages: Captures of each WARC file.
        seed: Of what is random.
        kind: "wacz", or how the WARC files are compressed: "gz", "none" or "zst".
    """
    random, found = Random(seed), Apart()
    payloads = [random.randbytes(random.choice([10, 1500, 3000])) for _ in range(pages * 2)]
    older: set[bytes] = set()
    for crawl in range(crawls):
        warcs: dict[str, bytes] = {}
        own: list[bytes] = []
        name = f"{random.randrange(100):02}-crawl{crawl}" + {"wacz": ".wacz", "none": ".warc"}.get(
            kind, f".warc.{kind}"
        )
        compression = "gz" if kind == "wacz" else kind
        for warc in range(1 + random.randrange(2) * (kind == "wacz")):
            out = io.BytesIO()
            dedup = seekwarc.Duplicates() if random.random() < 0.5 else None
            with seekwarc.open(out, "w", compression=compression, dedup=dedup) as file:
                if random.random() < 0.5:
                    file.write_warcinfo({"software": "none"})
                for page in range(pages):
                    payload = random.choice(payloads)
                    name_of = f"urn:test:{crawl}-{warc}-{page}"
                    # Crawls begin one after the other, and go on while others do.
                    date = stamp(crawl + len(own) * 5)
                    written = file.write_response(
                        f"https://t.example/{random.randrange(pages)}",
                        payload,
                        status=200,
                        http_headers={"Content-Type": "image/png", "X-Crawl": str(crawl)},
                        date=date,
                        record_id=name_of,
                    )
                    found.payloads[name_of] = payload
                    own.append(payload)
                    is_large = len(payload) >= MIN_SIZE and written.type == "response"
                    found.shared += is_large and payload in older
            warcs[f"{warc}.warc.gz"] = out.getvalue()
        older.update(own)
        found.files[name] = created(warcs) if kind == "wacz" else out.getvalue()
    return found


def created(warcs: Mapping[str, bytes]) -> bytes:
    """Return a WACZ of some WARC files, as we make it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in warcs.items():
            Path(folder, name).write_bytes(data)
        tools.create_wacz(folder, Path(folder, "made"), title="A crawl")
        return Path(folder, "made").read_bytes()
