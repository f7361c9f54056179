"""Chains of WACZ as Browsertrix makes them: a crawl leaves out what an earlier one has."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from tests.support.waczs import members, wacz

START = datetime(2026, 4, 1, 7, tzinfo=UTC)
PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def stamp(number: int, *, whole: bool = False) -> str:
    """Return the date of the capture with a number: 125 milliseconds after a second."""
    date = (START + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{date}.{'000' if whole else '125'}Z"


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


@dataclass
class Chain:
    """WACZ files by name, the oldest first, and the payload of each capture."""

    files: dict[str, bytes] = field(default_factory=dict)
    payloads: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    """By the name of a file and of a capture's kind, "response" or "revisit": payloads by URI."""


def chain(crawls: int = 3, pages: int = 4, *, seed: int = 0) -> Chain:
    """Return crawls of the same site, each a WACZ: what an earlier one has is a revisit, a part is new."""
    random, found = Random(seed), Chain()
    known: list[tuple[str, bytes, str, str]] = []
    number = 0
    for crawl in range(crawls):
        name = f"2026040{crawl + 1}070000000-crawl{crawl}.wacz"
        out, needed = io.BytesIO(), set[str]()
        news: list[tuple[str, bytes, str, str]] = []
        payloads: dict[str, dict[str, bytes]] = {"response": {}, "revisit": {}}
        for page in range(pages):
            number += 1
            payload = random.randbytes(random.randrange(200, 2000))
            uri = f"https://town.example/{crawl}/{page}.svg"
            out.write(response(uri, payload, number))
            news.append((uri, payload, name, stamp(number)))
            payloads["response"][uri] = payload
        for uri, payload, holder, date in random.sample(known, min(pages, len(known))):
            number += 1
            out.write(revisit(uri, payload, number, holder, of=uri, date=date))
            needed.add(holder)
            payloads["revisit"][uri] = payload
        known += news
        requires = [required(it, found.files[it]) for it in sorted(needed)]
        found.files[name] = packed({"data.warc.gz": out.getvalue()}, requires)
        found.payloads.update({(name, kind): these for kind, these in payloads.items()})
    return found
