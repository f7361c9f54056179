"""What tools in JavaScript write, warcio.js and js-wacz, and whether every capture of it is found."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cdx.ranges import key_ranges
from seekwarc.format.post import indexed_uri
from seekwarc.format.surt import browser_key, surt
from tests.conftest import NODE_TOOLS
from tests.support.odd_uris import odd_uris

pytestmark = [pytest.mark.slow, pytest.mark.needs("node", "node tools")]

PROGRAMS = NODE_TOOLS / "node_modules" / ".bin"
KEYS = """
const {getSurt} = require(process.argv[1]);
const uris = JSON.parse(require("fs").readFileSync(0));
const href = (uri) => { try { return new URL(uri).href } catch { return null } };
console.log(JSON.stringify(uris.map((uri) => [href(uri), getSurt(uri)])));
"""


def in_node(uris: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return each URI as a browser writes it, None if it is invalid, and its key as it is."""
    module = NODE_TOOLS / "node_modules" / "warcio" / "dist" / "utils.cjs"
    done = subprocess.run(
        ["node", "-e", KEYS, str(module)], input=json.dumps(uris).encode(), capture_output=True, check=True
    )
    return [(href, key) for href, key in json.loads(done.stdout)]


def member(fields: dict[str, str], block: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    header = f"WARC/1.1\r\n{lines}Content-Length: {len(block)}\r\n\r\n"
    return gzip.compress(header.encode() + block + b"\r\n\r\n", mtime=0)


def stamp(number: int) -> str:
    return f"2026-04-{1 + number % 28:02}T07:{number % 60:02}:00Z"


def digits(number: int) -> str:
    return "".join(it for it in stamp(number) if it.isdigit())


def capture(uri: str, number: int) -> bytes:
    """Return the member of a capture, of whose payload its number is all."""
    kind, payload = "response" if uri.startswith("http") else "resource", b"%d" % number
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" if kind == "response" else b""
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:test:{number}>",
        "WARC-Target-URI": uri,
        "WARC-Date": stamp(number),
        "WARC-Payload-Digest": f"sha256:{hashlib.sha256(payload).hexdigest()}",
        "Content-Type": "application/http; msgtype=response" if head else "text/plain",
    }
    return member(fields, head + payload)


def indexes(folder: Path, members: Iterable[bytes]) -> list[Path]:
    """Return what warcio.js and js-wacz make of a WARC file: a CDXJ, which is sorted here, and a WACZ."""
    warc, lines, made = folder / "a.warc.gz", folder / "a.cdxj", folder / "a.wacz"
    warc.write_bytes(b"".join(members))
    command = [PROGRAMS / "warcio", "cdx-index", warc]
    found = subprocess.run(command, capture_output=True, check=True).stdout
    lines.write_bytes(b"".join(sorted(found.splitlines(keepends=True))))
    command = [PROGRAMS / "js-wacz", "create", "-f", warc, "-o", made, "--log-level", "error"]
    subprocess.run(command, capture_output=True, check=True)
    return [lines, made]


def check_all_found(path: Path, uris: Sequence[str]) -> None:
    with seekwarc.Index(path) as index:
        assert len(list(index)) == len(uris)
        for number, uri in enumerate(uris):
            date = digits(number)

            def has(found: Iterable[seekwarc.cdx.index.Capture], wanted: int = number) -> bool:
                at = (it for it in found if it.timestamp == digits(wanted))
                return any(it.open().payload.read() == b"%d" % wanted for it in at)

            assert has(index.lookup(uri)), uri
            assert has(index.lookup(uri, closest=date)), uri
            assert has(index.lookup(uri, since=date[:8], until=date[:8])), uri
            assert has([index.latest(uri, date)]), uri
            assert has(index.lookup(uri, match="prefix")), uri
            if uri.startswith("http"):
                assert has(index.lookup(uri, match="host")), uri
                assert has(index.lookup(uri, match="domain")), uri
                above = uri.partition("?")[0].partition("#")[0].rpartition("/")[0]
                if above.count("/") > 2 and "/.." not in uri and "/%2e%2e" not in uri:
                    assert has(index.lookup(above + "/", match="prefix")), uri


@pytest.mark.parametrize("seed", range(3))
def test_keys_are_those_of_warcio_js(seed: int) -> None:
    uris = odd_uris(3000, seed=seed)
    found = in_node(uris)
    # In an archive it reads other than ASCII otherwise.
    assert {uri: browser_key(uri, raw=True) for uri in uris} == {
        uri: key for uri, (_, key) in zip(uris, found, strict=True)
    }
    hrefs = [href for href, _ in found]
    assert None not in hrefs
    keys = [key for _, key in in_node([str(it) for it in hrefs])]
    assert {uri: browser_key(uri) for uri in uris} == dict(zip(uris, keys, strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_every_capture_is_found_as_a_browser_writes_its_uri(tmp_path: Path, seed: int) -> None:
    typed = odd_uris(320, seed=seed)
    hrefs = {str(href): uri for uri, (href, _) in zip(typed, in_node(typed), strict=True)}
    uris = list(hrefs)[:300]
    for path in indexes(tmp_path, (capture(uri, number) for number, uri in enumerate(uris))):
        check_all_found(path, uris)
        with seekwarc.Index(path) as index:
            for href, uri in hrefs.items():
                # As it was typed, unless that means another one, as `%2e%2e` does.
                if href in uris and surt(uri) == surt(href):
                    assert href in {it.uri for it in index.lookup(uri)}, uri


def test_every_capture_is_found_whose_uri_no_browser_wrote(tmp_path: Path) -> None:
    uris = [it for it in odd_uris(600, seed=9) if it.isascii()][:300]
    for path in indexes(tmp_path, (capture(uri, number) for number, uri in enumerate(uris))):
        check_all_found(path, uris)


def test_every_capture_is_found_in_an_index_of_several_blocks(tmp_path: Path) -> None:
    uris = [f"https://example.org/{number % 50}/{number}?a={number}" for number in range(3200)]
    _, made = indexes(tmp_path, (capture(uri, number) for number, uri in enumerate(uris)))
    with seekwarc.Index(made) as index:
        assert {it.uri for it in index} == set(uris)
        assert all([it.uri for it in index.lookup(uri)] == [uri] for uri in uris)
        assert len(list(index.lookup("https://example.org/7/", match="prefix"))) == 64


FORM, JSON, TEXT = "application/x-www-form-urlencoded", "application/json", "text/plain"
FORM_DATA = "multipart/form-data; boundary=x"
BODIES = [
    (FORM, b"a=1&b=%C3%BC+x%26y"),
    (FORM, b"b=2&a=\xc3\xbc"),
    (FORM + "; charset=utf-8", b"Q=Up&case=%zz"),
    (FORM, b"x=" + b"y" * 5000),
    (JSON, b'{"a":1,"b":[true,null,"x y"],"c":{"a":"\xc3\xbc"}}'),
    (JSON, b"[1,2"),
    (TEXT, b'{"q":"A&B"}'),
    (TEXT, b"hello world"),
    (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="f"\r\n\r\nv 1\r\n--x--\r\n',
    ),
    ("application/octet-stream", b"\x00\xff\x01"),
    ("", b""),
]


def test_every_answer_to_what_was_posted_is_found(tmp_path: Path) -> None:
    members = []
    for number, (kind, body) in enumerate(BODIES):
        for method in ("POST", "PUT", "PATCH"):
            for query in ("", "?x=1"):
                uri = f"https://www.example.org/Api/{number}{query}"
                name = f"{number}-{method}{query}"
                common = {"WARC-Target-URI": uri, "WARC-Date": stamp(number)}
                ids = {"WARC-Record-ID": f"<urn:test:{name}>"}
                fields = {"WARC-Type": "response", **ids, **common, "Content-Type": "application/http"}
                answer = member(fields, b"HTTP/1.1 200 OK\r\n\r\n" + name.encode())
                ids = {"WARC-Record-ID": f"<urn:test:{name}-q>", "WARC-Concurrent-To": f"<urn:test:{name}>"}
                fields = {"WARC-Type": "request", **ids, **common, "Content-Type": "application/http"}
                head = (
                    f"{method} /Api HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                asked = member(fields, head.encode() + body)
                members += [asked, answer] if query else [answer, asked]
    for path in indexes(tmp_path, members):
        with seekwarc.Index(path) as index:
            lines = list(index)
            assert len(lines) == 6 * len(BODIES)
            for line in lines:
                uri = indexed_uri(line.fields) or ""
                assert line.offset in {it.offset for it in index.lookup(uri)}, line.key
                assert line.offset in {it.offset for it in index.lookup("example.org", match="host")}


def test_ranges_of_keys_are_few() -> None:
    for uri in odd_uris(1000, seed=3):
        assert len([*key_ranges(uri, "exact")]) <= 7
