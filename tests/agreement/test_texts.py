"""Text of archives that is not Unicode: every output spells it the same way, and any program reads it."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from anyio.from_thread import start_blocking_portal

import seekwarc
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from tests.serve.asgi import Client
from tests.support.rounds import rounds
from tests.support.verbs import Ran, run

pytestmark = pytest.mark.needs("module:pyarrow", "module:resiliparse")

SITE = b"http://example.org/"
ODD = (
    b"caf\xe9",
    b"\xff\xfe",
    b"\xc3\xa9",
    b"\xc3",
    b"%E9",
    b"%e9%",
    b"\xed\xa0\x80",
    b"\xed\xb0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xf5\x80\x80\x80",
    b"\0",
    b"\x01\x1b[2J",
    b"\x7f\xc2\x85",
    b" a  b\tc",
    b"\xc2\xa0\xe2\x80\xa8",
    b'"<>',
    b"\\udce9\\",
    b"'`{|}^",
    b"?a=\xe9&\xff=%FF&b",
    b"#\xe9",
    b"//../\xe9/.",
    b"\xe2\x80\xae\xe2\x80\x8f",
    b"\xef\xbb\xbf\xef\xbf\xbf",
    b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
    b"x" * 20_000 + b"\xe9",
)
"""What odd URIs are made of."""
HOSTS = (b"caf\xe9.example", "bücher.example".encode(), b"\xff.example:80", b"user\xe9@example.com", b"[::1]")


def odd_uris(chance: random.Random, count: int) -> Iterator[bytes]:
    """Yield URIs of which no two have the same key."""
    for number in range(count):
        rest = b"".join(chance.choices(ODD[:-1], k=chance.randint(1, 4)))
        rest = ODD[number] if number < len(ODD) else rest
        site = b"http://%b/" % chance.choice(HOSTS) if number % 4 == 3 else SITE
        yield (site + b"%d-" % number + rest).strip(b" \t")


def odd_archive(uris: list[bytes]) -> bytes:
    """Return a .warc.gz with a page for each URI; other texts are odd, too."""
    members = []
    for number, uri in enumerate(uris):
        body = b"<title>caf\xe9 %d</title><p>tea \xe9 %d" % (number, number)
        head = b"HTTP/1.1 200 d\xe9\r\nContent-Type: text/html; charset=iso-8859-1\r\nX-\xe9: \xff\r\n\r\n"
        members.append(member(number, uri, head + body))
    return b"".join(members)


def member(number: int, uri: bytes, block: bytes) -> bytes:
    """Return a response as a gzip member."""
    fields = [
        b"WARC/1.1",
        b"WARC-Type: response",
        b"WARC-Record-ID: <urn:x:%d>" % number,
        b"WARC-Date: 2026-11-16T12:00:00Z",
        b"WARC-Target-URI: " + uri,
        b"Content-Type: application/http;msgtype=response",
        b"Content-Length: %d" % len(block),
    ]
    return gzip.compress(b"\r\n".join(fields) + b"\r\n\r\n" + block + b"\r\n\r\n", 1)


@pytest.mark.slow
def test_outputs_over_odd_uris_are_unicode_that_leads_back(tmp_path: Path) -> None:
    agreed(tmp_path, 30, cats=3)


@pytest.mark.slow
def test_outputs_over_many_odd_uris_are(tmp_path: Path) -> None:
    agreed(tmp_path, rounds(300), cats=100)


def test_parts_are_joined_by_the_written_uri_under_the_stored_one(tmp_path: Path) -> None:
    source, new = tmp_path / "a.warc.gz", tmp_path / "b.warc.zst"
    uri = SITE + b"film\xe9.mp4"
    head = b'HTTP/1.1 206 Partial Content\r\nETag: "1"\r\nContent-Range: bytes %d-%d/6\r\n\r\n%b'
    source.write_bytes(
        member(1, uri, head % (0, 2, b"abc"))
        + member(2, SITE, b"HTTP/1.1 204 x\r\n\r\n")
        + member(3, uri, head % (3, 5, b"def"))
    )
    (joined,) = rows(done("join", source, "--uri", SITE.decode() + "film%E9.mp4", "-o", new, "--json").out)
    assert [it["uri"] for it in joined["resources"]] == [SITE.decode() + "film%E9.mp4"]
    with seekwarc.open(new) as archive:
        made = [it.header.raw for it in archive if it.type == "conversion"]
    assert len(made) == 1
    assert b"\r\nWARC-Target-URI: " + uri + b"\r\n" in made[0]


@pytest.mark.needs("module:starlette")
def test_a_server_finds_records_by_the_uris_that_it_lists(tmp_path: Path) -> None:
    raw = [*odd_uris(random.Random(1), 30)]
    (tmp_path / "a.warc.gz").write_bytes(odd_archive(raw))
    with Library([tmp_path / "a.warc.gz"]) as library, start_blocking_portal() as portal:
        library.read()
        client = Client(application(library), portal)
        listed = rows(client.get("/api/records", limit=30).body.decode())[0]["records"]
        assert [it["uri"] for it in listed] == [as_utf8(it.decode(errors="surrogateescape")) for it in raw]
        for number, it in enumerate(listed):
            for uri in (it["uri"], raw[number]):
                assert client.get("/payload", uri=uri).body.endswith(b" %d" % number), uri


WRONG = (
    (b"response", b"WARC-Payload-Digest: sha1:\xe9", b"WARC-Block-Digest: \xe9:1", b"WARC-Truncated: \xe9"),
    (b"response", b"WARC-Payload-Digest: s\xe9:1"),
    (b"response", b"WARC-IP-Address: \xe9", b"WARC-Concurrent-To: <\xe9>", b"WARC-Warcinfo-ID: \xe9"),
    (b"revisit", b"WARC-Profile: http://\xe9", b"WARC-Refers-To: <urn:\xe9>", b"WARC-Refers-To-Date: 2\xe9"),
    (b"continuation", b"WARC-Segment-Origin-ID: \xe9", b"WARC-Segment-Number: \xe9"),
    (b"r\xe9", b"WARC-Identified-Payload-Type: \xe9/\xe9", b"WARC-Filename: \xe9"),
)
"""The types of records, and more fields."""


@pytest.mark.parametrize("date", [b"2026-11-16T12:00:00Z", b"2026\xe9"])
def test_what_is_said_of_wrong_fields_has_no_surrogates(tmp_path: Path, date: bytes) -> None:
    source, index, wacz = tmp_path / "a.warc.gz", tmp_path / "a.cdxj", tmp_path / "a.wacz"
    head = b"HTTP/1.1 200 d\xe9\r\nContent-Type: text/\xe9\r\nContent-Encoding: \xe9\r\n\r\n"
    members = [member(number, SITE + b"\xe9", head) for number in range(len(WRONG))]
    source.write_bytes(
        b"".join(
            gzip.compress(
                gzip.decompress(it)
                .replace(b"WARC-Type: response", b"\r\n".join((b"WARC-Type: " + kind, *fields)), 1)
                .replace(b"2026-11-16T12:00:00Z", date, 1)
                .replace(b"<urn:x:", b"<urn:\xe9:", 1)
            )
            for it, (kind, *fields) in zip(members, WRONG, strict=True)
        )
    )
    offsets = [it["offset"] for it in rows(run(["ls", str(source), "--json"]).out)]
    assert len(offsets) == len(WRONG)
    runs = [
        ("index", source, "-o", index),
        ("index", "--all", source, "-o", tmp_path / "all.cdxj"),
        ("wacz", "create", source, "-o", wacz),
        ("wacz", "validate", wacz),
        ("text", source, "-o", tmp_path / "t.jsonl"),
        ("ls", source),
        ("redact", source, "--uri", "*", "--dry-run"),
        ("lookup", index, SITE.decode() + "\udce9other"),
        ("cat", source, "--uri", SITE.decode() + "\udce9other"),
        *(("verify", source, *more) for more in ((), ("--all", "--profile"), ("--all", "--json"))),
        *(("info", source, it, *more) for it in offsets for more in ((), ("--json",))),
    ]
    for words in runs:
        ran = run([str(it) for it in words])
        assert not re.search(r"\\ud[89a-f]|[\ud800-\udfff]", ran.out + ran.err), ran
        assert words[:2] != ("wacz", "validate") or "W07" not in ran.out, ran


def test_an_index_leads_to_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    source = tmp_path / os.fsdecode(b"caf\xe9.warc.gz")
    try:
        source.write_bytes(odd_archive([SITE + b"\xe9"]))
    except OSError:
        pytest.skip("names are UTF-8 on this file system")
    for name in ("a.cdxj", "a.parquet"):
        index = tmp_path / name
        done("index", *(["--parquet"] if name == "a.parquet" else []), source, "-o", index)
        with seekwarc.Index(index) as found:
            assert [it.fields["filename"] for it in found] == ["caf%E9.warc.gz"]
            assert [it.open().offset for it in found] == [0]
        (it,) = rows(done("filter", source, "--cdxj", index, "-n", "--json").out)
        assert it["files"] == [str(tmp_path / "caf%E9.warc.gz")]
        assert it["matched"] == 1
    (it,) = rows(done("ls", source, "--json").out)
    assert it["file"] == str(tmp_path / "caf%E9.warc.gz")
    for name in (f"{source}.cdxj", tmp_path / "index.cdxj"):
        said = done("index", source, "-o", name)
        assert "udce9" not in said.out + said.err
        found = done("cat", source, "--uri", SITE.decode() + "%E9")
        assert f"using index {as_utf8(str(name))}" in found.err
        assert found.out.endswith(" 0")
        Path(name).unlink()


def test_surrogates_in_the_index_of_another_program_are_not_passed_on(tmp_path: Path) -> None:
    index = tmp_path / "a.cdxj"
    for name in ("a.warc.zst", "b.warc.zst"):
        (tmp_path / "a.warc.gz").write_bytes(odd_archive([SITE + b"\xe9", SITE + b"\xff"]))
        done("convert", tmp_path / "a.warc.gz", "-o", tmp_path / name)
    done("index", tmp_path / "a.warc.zst", tmp_path / "b.warc.zst", "-o", index)
    text = index.read_text("ascii")
    index.write_text(text.replace("/%E9", "/\\udce9").replace("/%FF", "/\\ud800"), "ascii", newline="\n")
    found = rows(done("lookup", index, "example.org", "--match", "host", "--json").out)
    assert {it["url"] for it in found} == {f"{SITE.decode()}%E9", f"{SITE.decode()}%ED%A0%80"}
    archive = tmp_path / "a.warc.zst"
    done("redact", archive, "--uri", "*/%E9", "--index", index, "--in-place", "--json", status=1)
    assert [checked(it.split(" ", 2)[2])["url"] for it in index.read_text("ascii").splitlines()] == [
        f"{SITE.decode()}%E9",
        f"{SITE.decode()}%ED%A0%80",
        f"{SITE.decode()}%FF",
    ]


def agreed(folder: Path, count: int, *, cats: int) -> None:
    chance = random.Random(count)
    raw = [*odd_uris(chance, count)]
    source = folder / "a.warc.gz"
    source.write_bytes(odd_archive(raw))
    uris = [as_utf8(it.decode("utf-8", "surrogateescape")) for it in raw]
    outputs = indexed(folder, source, uris, cats=chance.sample(uris, cats))
    outputs |= inside(folder, source, uris)
    copied(folder, source, raw, chosen=set(chance.sample(range(count), count // 2)))
    for name, text in outputs.items():
        tables_agree(folder / f"{name}.jsonl", text, "url" if name in ("cdxj", "pages") else "uri")
    columns_agree(source, folder / "a.parquet", uris)


def indexed(folder: Path, source: Path, uris: list[str], *, cats: list[str]) -> dict[str, str]:
    """Assert that lists of records and indexes agree, and lead to the records; return their JSON."""
    listed = done("ls", source, "--json").out
    assert [it["uri"] for it in rows(listed)] == uris
    printed = done("ls", source).out.splitlines()[1:]
    assert [uri for uri, line in zip(uris, printed, strict=True) if line.endswith(f"  {uri}")] == [
        it for it in uris if it.isprintable()
    ]
    offsets = dict(zip(uris, (it["offset"] for it in rows(listed)), strict=True))
    index, columnar, cluster = folder / "a.cdxj", folder / "a.parquet", folder / "a.idx"
    done("index", source, "-o", index)
    done("index", source, "-o", cluster)
    done("index", "--parquet", source, "-o", columnar)
    for path in (index, columnar, cluster):
        with seekwarc.Index(path) as found:
            assert sorted(it.fields["url"] for it in found) == sorted(uris)
            for uri, offset in offsets.items():
                assert [it.open().offset for it in found.lookup(uri)] == [offset], uri
    for uri in cats:
        assert done("cat", "--index", index, "--uri", uri).out.endswith(f" {uris.index(uri)}"), uri
    of_host = {it for it in uris if it.startswith(SITE.decode())}
    words = ("lookup", index, "example.org", "--match", "host")
    assert {it["url"] for it in rows(done(*words, "--json").out)} == of_host
    lines = index.read_text("ascii")
    assert set(done(*words, "--cdxj").out.splitlines()) <= set(lines.splitlines())
    pairs = {"target_uri": uris, "content_type": None, "http_mime": None, "record_id": None}
    table = seekwarc.batches(source, [*pairs, "headers", "http_headers"]).to_reader().read_all()
    assert table["target_uri"].to_pylist() == uris
    assert "\ufffd" not in str(table.to_pylist())
    assert gzip.decompress((folder / "a.cdx.gz").read_bytes()).decode("ascii") == lines
    return {"ls": listed, "cdxj": "".join(it.split(" ", 2)[2] for it in lines.splitlines(keepends=True))}


def inside(folder: Path, source: Path, uris: list[str]) -> dict[str, str]:
    """Assert that verbs that look into payloads agree; return their JSON."""
    texts, search, wacz = folder / "t.jsonl", folder / "t.fts", folder / "a.wacz"
    done("text", source, "-o", texts)
    text = texts.read_text("utf-8")
    assert [it["uri"] for it in rows(text)] == uris
    done("extract", source, "-o", folder / "files")
    manifest = (folder / "files" / "manifest.jsonl").read_text("ascii")
    assert [it["uri"] for it in rows(manifest)] == uris
    done("index", "--text", source, "-o", search)
    found = done("search", search, "tea", "--json", "--limit", 1000).out
    assert sorted(it["uri"] for it in rows(found)) == sorted(it for it in uris if len(it) < 16_000)
    done("wacz", "create", source, "-o", wacz)
    done("wacz", "merge", wacz, "-o", folder / "b.wacz")
    for name in ("a.wacz", "b.wacz"):
        with zipfile.ZipFile(folder / name) as archive:
            lines = archive.read("indexes/index.cdxj").decode("ascii").splitlines()
            assert sorted(checked(it.split(" ", 2)[2])["url"] for it in lines) == sorted(uris)
            pages = archive.read("pages/pages.jsonl").decode().partition("\n")[2]
            assert [it["url"] for it in rows(pages)] == uris
    for words in (("info", source, "--by", "host"), ("info", wacz), ("wacz", "validate", wacz)):
        rows(done(*words, "--json").out)
    rows(done("verify", source, "--all", "--profile", "--json", status=1).out)
    return {"text": text, "manifest": manifest, "search": found, "pages": pages}


def copied(folder: Path, source: Path, raw: list[bytes], chosen: set[int]) -> None:
    """Assert that verbs that copy records choose them by what is printed, and keep their bytes."""
    uris = folder / "uris"
    some = [raw[it] for it in sorted(chosen)]
    others = [it for number, it in enumerate(raw) if number not in chosen]
    written = [as_utf8(it.decode("utf-8", "surrogateescape")) for it in some]
    uris.write_text("\n".join(written), "utf-8", newline="\n")
    new = folder / "new.warc.zst"
    for verb, expected in (
        (("filter", source, "--uris", uris), some),
        (("redact", source, "--uris", uris), [*others, *(it.replace(b"\0", b"%00") for it in some)]),
        (("convert", source), raw),
        (("concat", source, source), raw * 2),
        (("dedupe", source), raw),
        (("recover", source), raw),
    ):
        rows(done(*verb, "-o", new, "--json").out)
        with seekwarc.open(new) as archive:
            stored = [it.header.raw for it in archive]
        for header, uri in zip(stored, expected, strict=True):
            assert b"\r\nWARC-Target-URI: " + uri + b"\r\n" in header
        new.unlink()


def tables_agree(path: Path, text: str, name: str) -> None:
    """Assert that programs for tables read JSON Lines, and find the same URIs."""
    uris = [it[name] for it in rows(text)]
    path.write_text(text, "utf-8", newline="\n")
    pandas, polars, duckdb = map(pytest.importorskip, ("pandas", "polars", "duckdb"))
    assert pandas.read_json(path, lines=True)[name].to_list() == uris
    assert polars.read_ndjson(path)[name].to_list() == uris
    found = duckdb.sql(f"SELECT {name} FROM read_json('{path}', maximum_object_size=100000000)")
    assert [it for (it,) in found.fetchall()] == uris


def columns_agree(source: Path, index: Path, uris: list[str]) -> None:
    """Assert that programs for tables read Parquet and Arrow, and find the same URIs."""
    pandas, polars, duckdb = map(pytest.importorskip, ("pandas", "polars", "duckdb"))
    assert sorted(pandas.read_parquet(index)["url"]) == sorted(uris)
    assert sorted(polars.read_parquet(index)["url"]) == sorted(uris)
    assert sorted(it for (it,) in duckdb.sql(f"SELECT url FROM '{index}'").fetchall()) == sorted(uris)
    table = seekwarc.batches(source, ["target_uri", "headers"]).to_reader().read_all()
    assert polars.from_arrow(table)["target_uri"].to_list() == uris
    assert table.to_pandas()["target_uri"].to_list() == uris
    with duckdb.connect() as connection:
        connection.register("batches", table)
        found = connection.sql("SELECT target_uri FROM batches").fetchall()
    assert [it for (it,) in found] == uris


PYWB = """
import json, sys
from pywb.warcserver.index.cdxobject import CDXObject
lines = map(CDXObject, sys.stdin.buffer.read().splitlines())
print(json.dumps([(line["urlkey"], line["url"], int(line["offset"])) for line in lines]))
"""


@pytest.mark.needs("wayback")
def test_pywb_reads_the_lines_of_an_index(tmp_path: Path) -> None:
    source, index = tmp_path / "a.warc.gz", tmp_path / "a.cdxj"
    raw = [*odd_uris(random.Random(2), rounds(60))]
    source.write_bytes(odd_archive(raw))
    offsets = [it["offset"] for it in rows(done("ls", source, "--json").out)]
    done("index", source, "-o", index)
    python = Path(shutil.which("wayback") or "").with_name("python")
    ran = subprocess.run([python, "-c", PYWB], input=index.read_bytes(), capture_output=True, check=True)
    found = {offset: (key, uri) for key, uri, offset in json.loads(ran.stdout)}
    assert sorted(found) == offsets
    with seekwarc.Index(index) as lines:
        for offset, stored in zip(offsets, raw, strict=True):
            uri = as_utf8(stored.decode("utf-8", "surrogateescape"))
            # pywb escapes what follows the scheme, and so escapes in it a second time.
            scheme, _, rest = uri.partition("//")
            assert found[offset] == (surt(uri), uri if uri.isascii() else f"{scheme}//{quote(rest)}")
            # A tab, which browsers leave out of a URI, it escapes, too.
            if (uri.isascii() or "%" not in uri) and "\t" not in uri:
                assert [it.open().offset for it in lines.lookup(found[offset][1])] == [offset]


def rows(text: str) -> list[dict[str, Any]]:
    """Return the values of JSON Lines."""
    return [checked(it) for it in text.split("\n") if it]


def checked(line: str) -> dict[str, Any]:
    """Return the value of JSON, whose text is all Unicode."""
    value: dict[str, Any] = json.loads(line)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def done(*words: object, status: int = 0) -> Ran:
    """Run a verb, and assert how it ends."""
    ran = run([str(it) for it in words])
    assert ran.status == status, ran.err
    assert not re.search(r"\\ud[89a-f]", ran.err)
    return ran
