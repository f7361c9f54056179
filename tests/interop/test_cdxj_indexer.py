"""Indexes have the lines that cdxj-indexer makes, but for the differences that are listed.

Unless told otherwise it lists metadata, too, but for those of a media type that it takes for crawlers' notes.

Its keys are those of the package `surt`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import subprocess
import sys
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import seekwarc
from seekwarc import Index
from seekwarc.check.verifying import Verifier
from seekwarc.errors import FormatError, FormatWarning
from seekwarc.format.cdxj import TABLE_FIELD, CdxjLine
from seekwarc.format.post import body_query
from seekwarc.format.surt import surt
from seekwarc.make.converting import convert
from seekwarc.make.indexing import index
from tests.conftest import SAMPLES
from tests.support.foreign import gzip_member

pytestmark = pytest.mark.needs("module:cdxj_indexer", "module:surt")

NAMES = sorted(path.name for path in SAMPLES.glob("*.warc*"))

ONE_MEMBER = "warcio-example-bad-non-chunked.warc.gz"
SPLIT_MEMBERS = "warcio-example-wrong-chunks.warc.gz"
CUT = "warcio-example-trunc.warc"
SPACES = "warcio-example-space-in-target-uri.warc.gz"


CAPTURES = "response,revisit,resource"


@dataclass(frozen=True)
class Difference:
    """What of the lines of a file is not as cdxj-indexer has it."""

    file: str
    field: str
    """The field; "lines" where the lines are not the same ones."""
    lines: int
    """Of how many lines."""
    why: str
    post_append: tuple[bool, ...] = (False, True)
    """With request bodies in the keys, without, or both."""


NOT_COUNTED = (
    "in an uncompressed file cdxj-indexer leaves out the two line breaks after a record: length "
    "is the stored bytes up to the next record here"
)
OF_NOTHING = (
    "where it looks for request bodies, cdxj-indexer has read a record before it makes the digest that no "
    "header states: that of nothing"
)
DIFFERENCES = [
    Difference("iipc-hello-world.warc", "length", 3, NOT_COUNTED),
    Difference("warcio-example-iana.org-chunked.warc", "length", 1, NOT_COUNTED),
    Difference(
        CUT,
        "length",
        1,
        "a Content-Length is two bytes too small: cdxj-indexer counts up to there, here the record goes on "
        "to the next one",
    ),
    Difference(SPACES, "url", 1, "warcio percent-encodes spaces; here `url` is what the header says"),
    Difference(
        SPLIT_MEMBERS,
        "lines",
        1,
        "a record is in two gzip members: cdxj-indexer gives up, it can be read here",
    ),
    Difference("iipc-hello-world.warc", "digest", 2, OF_NOTHING, (True,)),
    Difference("pywb-example-wpull.warc.gz", "digest", 1, OF_NOTHING, (True,)),
    Difference("warcio-example-wget-bad-target-uri.warc.gz", "digest", 2, OF_NOTHING, (True,)),
    Difference(SPACES, "digest", 1, OF_NOTHING, (True,)),
]

# In a process of their own: they leave files open, and warn of what is old in them.
INDEXER = """
import contextlib, io, json, sys
from cdxj_indexer.main import CDXJIndexer
from warcio.bufferedreaders import BufferedReader
from warcio.exceptions import ArchiveLoadFailed
# With the brotli of today warcio cannot undo it, and says so by an error.
BufferedReader.DECOMPRESSORS.pop("br", None)
found = []
for path, records, post_append in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.suppress(ArchiveLoadFailed):
        CDXJIndexer(out, [path], sort=True, records=records, post_append=post_append).process_all()
    found.append(out.getvalue())
json.dump(found, sys.stdout)
"""
SURT = """
import json, sys
from surt import surt
def key(uri):
    try:
        return surt(uri)
    except ValueError:
        return None
json.dump([key(uri) for uri in json.load(sys.stdin)], sys.stdout)
"""
BODIES = """
import base64, io, json, sys
from cdxj_indexer.postquery import query_extract
found = []
for content_type, body in json.load(sys.stdin):
    body = base64.b64decode(body)
    found.append(query_extract(content_type, str(len(body)), io.BytesIO(body), "http://example.org/"))
json.dump(found, sys.stdout)
"""


def oracle(script: str, given: Any) -> Any:
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, check=True)
    return json.loads(done.stdout)


def by_us(path: Path, **options: Any) -> tuple[list[bytes], list[FormatError]]:
    problems: list[FormatError] = []
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        index({path.name: path}, out, on_problem=problems.append, **options)
    return out.getvalue().splitlines(), problems


@cache
def by_cdxj_indexer(folder: Path) -> dict[tuple[str, str, bool], list[bytes]]:
    """Return its lines of samples, by name, types of records, and whether request bodies are in the keys."""
    cases = list(product(NAMES, (CAPTURES, "all"), (False, True)))
    found = oracle(INDEXER, [(str(folder / name), *rest) for name, *rest in cases])
    return {case: lines.encode().splitlines() for case, lines in zip(cases, found, strict=True)}


def without_table(line: CdxjLine) -> CdxjLine:
    """Leave out the one field that no other indexer knows."""
    fields = {name: value for name, value in line.fields.items() if name != TABLE_FIELD}
    return CdxjLine(line.key, line.timestamp, fields)


def differing(ours: list[bytes], theirs: list[bytes]) -> dict[str, int]:
    """Return how many lines differ in a field."""
    if len(ours) != len(theirs):
        return {"lines": abs(len(ours) - len(theirs))}
    found: dict[str, int] = {}
    for one, other in zip(ours, theirs, strict=True):
        if one != other:
            mine, yours = (without_table(CdxjLine.parse(line)) for line in (one, other))
            assert (mine.key, mine.timestamp, [*mine.fields]) == (yours.key, yours.timestamp, [*yours.fields])
            for name, value in mine.fields.items():
                if value != yours.fields[name]:
                    found[name] = found.get(name, 0) + 1
    return found


@pytest.mark.parametrize("post_append", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_the_lines_are_those_of_cdxj_indexer(name: str, post_append: bool, samples: Path) -> None:
    ours, _ = by_us(samples / name, post_append=post_append)
    theirs = by_cdxj_indexer(samples)[name, CAPTURES, post_append]
    listed = [it for it in DIFFERENCES if it.file == name and post_append in it.post_append]
    explained = {it.field: it.lines for it in listed}
    assert differing(ours, theirs) == explained
    assert ours == sorted(ours)


@pytest.mark.parametrize("post_append", [False, True])
@pytest.mark.parametrize("name", [it for it in NAMES if it not in (ONE_MEMBER, SPLIT_MEMBERS)])
def test_all_records_are_those_of_cdxj_indexer(name: str, post_append: bool, samples: Path) -> None:
    def facts(lines: list[bytes]) -> dict[int, list[str | None]]:
        found = [CdxjLine.parse(line) for line in lines]
        fields = ("mime", "status", "method", "requestBody")
        # It lists records without a URI as well.
        return {it.offset: [it.key, it.timestamp, *map(it.fields.get, fields)] for it in found if it.uri}

    ours = facts(by_us(samples / name, post_append=post_append, all_records=True)[0])
    assert ours == facts(by_cdxj_indexer(samples)[name, "all", post_append])


@pytest.mark.needs("samples")
def test_there_is_something_to_compare(samples: Path) -> None:
    assert sum(len(by_us(samples / name)[0]) for name in NAMES) > 300
    assert {it.file for it in DIFFERENCES} <= set(NAMES)
    requests = [
        line
        for line in by_us(samples / "warcio-post-test.warc.gz", post_append=True)[0]
        if b"requestBody" in line
    ]
    assert len(requests) == 3


HEADS = {
    "status of 0": b"HTTP/1.1 0 No Content\r\nContent-Type: text/plain\r\n\r\n",
    "two returns": b"HTTP/1.0 302 \r\r\nContent-Type: text/plain\r\r\nLocation: a\r\r\n\r\r\n",
}


@pytest.mark.needs("module:pyarrow")
@pytest.mark.parametrize("name", HEADS)
def test_all_agree_on_where_an_odd_head_ends(name: str, tmp_path: Path) -> None:
    """Index, digest and table, as cdxj-indexer and warcio have them."""
    head, body = HEADS[name], b"body"
    digest = "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()
    # The whole header as crawlers had it: by Browsertrix, or with two returns on every line.
    returns = b"\r\r\n" if b"\r\r\n" in head else b"\r\n"
    fields = (
        b"WARC/1.0\nWARC-Type: response\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\n"
        b"WARC-Date: 2024-01-01T00:00:00Z\nWARC-Target-URI: http://example.org/\n"
        b"WARC-Payload-Digest: %b\nContent-Type: application/http; msgtype=response\nContent-Length: %d\n\n"
    )
    header = (fields % (digest.encode(), len(head + body))).replace(b"\n", returns)
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(gzip_member(header + head + body + b"\r\n\r\n"))
    (line,), problems = by_us(path)
    assert [line] == oracle(INDEXER, [(str(path), CAPTURES, False)])[0].encode().splitlines()
    assert problems == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        with seekwarc.open(path) as archive:
            record = next(iter(archive))
            assert record.payload.read() == body
            assert [it.verdict.value for it in record.check_digests()] == ["valid"]
            assert record.http is not None
            status = record.http.status
        assert not [it for it in Verifier(path) if it.code == "digest"]
        (batch,) = seekwarc.batches(path, ["http_status", "payload", "payload_size"])
    assert CdxjLine.parse(line).fields["status"] == str(status)
    assert batch.to_pylist() == [{"http_status": status, "payload": body, "payload_size": len(body)}]


@pytest.mark.needs("samples")
def test_skipped_records_are_reported(samples: Path) -> None:
    problems = {name: by_us(samples / name)[1] for name in NAMES}
    assert {name for name, found in problems.items() if found} == {ONE_MEMBER}
    with pytest.warns(FormatWarning, match="offset 1197: Content-Length 973 is too small"):
        index({CUT: samples / CUT}, io.BytesIO(), on_problem=problems[CUT].append)
    assert problems[CUT] == [], "it is told, and nothing is left out"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (CUT, SPLIT_MEMBERS, ONE_MEMBER)])
def test_a_converted_file_has_the_same_lines_with_new_offsets(
    name: str, samples: Path, tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.zst"
    convert(samples / name, path, "zst", frame_size=64 << 10)
    ours, problems = by_us(path)
    assert problems == []
    assert set(differing(ours, by_us(samples / name)[0])) <= {"length", "offset", "filename"}
    # Where lines of one key and date stand in another order, all their fields differ.
    with seekwarc.open(path) as archive:
        places = {(record.offset, record.length): record.target_uri for record in archive}
    for line in map(CdxjLine.parse, ours):
        assert places[line.offset, line.length] == line.uri


@pytest.mark.needs("samples")
def test_every_capture_of_the_samples_opens(samples: Path, tmp_path: Path) -> None:
    files = {name: samples / name for name in NAMES if name != ONE_MEMBER}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        index(files, tmp_path / "all.cdxj", on_problem=print)
        lost = []
        with Index(tmp_path / "all.cdxj", files=samples) as found:
            lines = [CdxjLine.parse(line) for line in (tmp_path / "all.cdxj").read_bytes().splitlines()]
            for line in lines:
                capture = next(
                    it
                    for it in found.lookup(line.uri or "", since=line.timestamp)
                    if it.fields == line.fields
                )
                try:
                    record = capture.open()
                except seekwarc.NotFoundError:
                    lost.append(line.uri)
                    continue
                assert (record.target_uri, record.offset) == (line.uri, line.offset)
                if line.is_revisit:
                    assert isinstance(record, seekwarc.ResolvedRevisit)
                    assert record.payload.size > 0
    assert lost == []


# Keys.

PREFIXES = ["http://", "https://", "ftp://", "HTTP://", "", "urn:", "mailto:", "file:///", "rtsp://", "data:"]
PREFIXES += ["dns:", "warcinfo:"]
HOSTS = [
    "example.org",
    "www.Example.ORG",
    "www12.x.y",
    "münchen.de",
    "127.0.0.1",
    "10.1",
    "user:pw@h.org",
    "h.org:80",
]
HOSTS += [
    "h.org:443",
    "h.org:8080",
    "a..b",
    "xn--a.b",
    "%77ww.a",
    "ex%2541.org",
    "256.1.2.3",
    "0300.1",
    "1.2.3.09",
    ".a.",
]
PARTS = [
    "/",
    "a",
    "B",
    "..",
    ".",
    "//",
    "%20",
    "%41",
    "%25",
    "%2541",
    "?",
    "&",
    "=",
    "a=1",
    "b=2",
    "A=3",
    "#",
    "é",
]
PARTS += [
    " ",
    "+",
    ";",
    "~",
    "'",
    '"',
    "<",
    "|",
    "\\",
    "^",
    "{",
    "\x7f",
    "%2F",
    "%3F",
    "%26",
    "%",
    "%zz",
    "x.aspx",
]
PARTS += [
    f"jsessionid={'0aF4' * 8}",
    f"PHPSESSID={'a' * 32}",
    f"sid={'b' * 32}",
    f"ASPSESSIONIDABCDEFGH={'Q' * 24}",
]
PARTS += ["cfid=1&cftoken=2", "cfid=", "&cftoken=9", f"(S({'a1' * 12}))/", f"({'b2' * 12})/"]


def made_uris() -> list[str]:
    rng = random.Random(11)
    found = []
    for _ in range(5000):
        rest = "".join(rng.choice(PARTS) for _ in range(rng.randrange(7)))
        found.append(rng.choice(PREFIXES) + rng.choice(HOSTS) + rng.choice("/ ?").strip() + rest)
    return found


def test_keys_are_those_of_the_package_surt() -> None:
    # Those are of three dots in a row, out of which it makes two.
    uris = [uri for uri in made_uris() if "..." not in uri]
    found = oracle(SURT, uris)
    assert len(found) > 4500
    for uri, expected in zip(uris, found, strict=True):
        # It raises for an invalid port, and cdxj-indexer then takes the URI itself as key, with its blanks.
        assert surt(uri) == (expected if expected is not None else escaped(uri)), uri


def escaped(uri: str) -> str:
    return quote(uri.strip(), safe="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


# Request bodies.


def make_body(rng: random.Random) -> tuple[str, bytes]:
    kind = rng.choice(["form", "json", "text", "multipart", "binary"])
    words = [rng.choice(["a", "b", "é", "x y", "&", "=", "1", "%41", "+"]) for _ in range(rng.randrange(6))]
    if kind == "form":
        return "application/x-www-form-urlencoded", "&".join(words).encode()
    if kind in ("json", "text"):
        values = [
            rng.choice(['{"a": 1}', '{"a": {"b": [1, "x", null, {"a": true}]}}', "[]", "{", '"x"', ""])
            for _ in range(2)
        ]
        return {"json": "application/json", "text": "text/plain"}[kind], "\n".join(values).encode()
    if kind == "multipart":
        parts = [
            f'--XX\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{word}\r\n'
            for n, word in enumerate(words)
        ]
        return "multipart/form-data; boundary=XX", ("".join(parts) + "--XX--\r\n").encode()
    return "image/png", rng.randbytes(rng.randrange(5000))


def test_request_bodies_are_those_of_cdxj_indexer() -> None:
    rng = random.Random(5)
    cases = [make_body(rng) for _ in range(500)]
    found = oracle(BODIES, [(kind, base64.b64encode(body).decode()) for kind, body in cases])
    for (content_type, body), expected in zip(cases, found, strict=True):
        assert body_query(content_type, body) == expected, (content_type, body)


# Clusters.


@pytest.mark.slow
@pytest.mark.needs("samples")
def test_a_cluster_by_cdxj_indexer_is_looked_up_in(samples: Path, tmp_path: Path) -> None:
    name = "pywb-iana.warc.gz"
    command = [sys.executable, "-W", "ignore", "-m", "cdxj_indexer.main", "-s", "-l", "10"]
    options = ["-c", "index.cdx.gz", "-o", "index.idx", str(samples / name)]
    subprocess.run([*command, *options], check=True, capture_output=True, cwd=tmp_path)
    lines, _ = by_us(samples / name)
    with Index(tmp_path / "index.idx", files=samples) as found:
        assert [it.build().strip() for it in found.lookup("iana.org", match="domain")] == lines
        capture = next(found.lookup("http://www.iana.org/"))
        assert b"Internet Assigned Numbers" in capture.open().payload.open(decoded=True).read()
