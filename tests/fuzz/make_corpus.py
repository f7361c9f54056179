"""Make the stored inputs, corpus/TARGET/NAME, from the test vectors and from what tests/support builds.

    python -m tests.fuzz.make_corpus            make the files again
    python -m tests.fuzz.make_corpus --check    exit with 1 unless the files are what would be made

An input that once broke something goes into `BROKE`, with what it broke for its name.
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Final

from tests.support import foreign
from tests.support.foreign import CRLF2, Foreign, gzip_member, seek_table, skippable, text, zstd_frame
from tests.support.vectors import vectors
from tests.support.writing import header_for

CORPUS: Final = Path(__file__).parent / "corpus"
TABLE_MAGIC: Final = bytes.fromhex("5e2a4d18")

DIGEST_RECORD = b"WARC/1.1\r\nWARC-Block-Digest: %s\r\nContent-Length: 0\r\n\r\n"

BROKE: Final[dict[str, dict[str, bytes]]] = {
    "header": {
        "broke-blake2-of-0-bytes": DIGEST_RECORD % b"blake2b_7:=",
        "broke-blake2-of-124-bytes": DIGEST_RECORD % (b"blake2b_999:" + b"00" * 124),
        "broke-blake2s-of-64-bytes": DIGEST_RECORD % (b"blake2s_512:" + b"00" * 64),
        "broke-blanks-in-front-of-the-first-field": b"WARC/1.1\r\n X-Extra: y\r\nContent-Length: 0\r\n\r\n",
    },
    "http": {
        "broke-blanks-in-front-of-the-first-field": b"HTTP/1.1 200 OK\r\n Set-Cookie: a\r\n b\r\n\r\n",
        "broke-folded-name": b"HTTP/1.1 200 OK\r\nSet-Cookie\r\n : a\r\n b: c\r\n\r\n",
    },
    "reader": {
        "broke-blake2-of-0-bytes": zstd_frame(DIGEST_RECORD % b"blake2b_7:=" + CRLF2),
        "broke-content-length-too-large": Foreign()
        .record(b"abc")
        .record(b"")
        .record(b"a: b")
        .plain()
        .bytes()
        .replace(b"Content-Length: 0", b"Content-Length: 5"),
    },
}

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
CHUNKED = b"5\r\nabcde\r\n1a;name=value\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nX: y\r\n\r\n"


def files() -> dict[str, bytes]:
    """Return small files of every layout."""
    page = RESPONSE + b"\r\n" + text(1500)
    chunked = RESPONSE + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED
    http = b"Content-Type: application/http; msgtype=response"
    typed = [header(len(page), http), header(len(chunked), http)]
    small = Foreign().record(b"abc").record(b"").record(b"a: b\r\n")
    made = {
        "a-frame-a-record": small,
        "plain": small.plain(),
        "gzip": small.gzip(),
        "response-in-frames": Foreign().record(page, header=typed[0], cuts=500, table=True).record(b"x"),
        "response-chunked": Foreign().record(chunked, header=typed[1], cuts=400),
        "chunked-plain": Foreign().record(chunked, header=typed[1]).plain(),
        "chunked-gzip": Foreign().record(chunked, header=typed[1]).gzip(),
        "file-table": Foreign().record(text(900), cuts=300).record(b"x").file_table(),
        "no-checksums": Foreign().record(text(900), cuts=300, table={"checksums": False}).record(b"x"),
        "no-size": Foreign({"content_size": False}).record(text(900), cuts=300).record(b"x"),
        "no-frame-checksum": Foreign({"checksum": False})
        .record(text(900), cuts=300, table=True)
        .record(b"x"),
        "extensions": Foreign().record(text(900), cuts=300, between=lambda to, _: to.extension().empty()),
        "table-of-a-neighbour": Foreign().record(text(900), cuts=300, table=True).table().record(b"x"),
        "shared-frame": Foreign().frame(small.plain().bytes()).frame(small.plain().bytes()),
        "damaged": Foreign().record(text(900), cuts=300).raw(b"garbage").record(b"x"),
        "segments": segments(),
        "revisit": revisit(),
        "digests": digests(),
    }
    found = {name: it.bytes() for name, it in made.items()}
    dictionary = small_dictionary()
    framed = skippable(foreign.DICTIONARY_FRAME, dictionary)
    packed = skippable(foreign.DICTIONARY_FRAME, zstd_frame(dictionary))
    found["dictionary"] = framed + small.bytes()
    found["dictionary-compressed"] = packed + small.bytes()
    found["cat"] = found["file-table"] * 2
    found["cut"] = found["response-in-frames"][:-60]
    found["cut-gzip"] = found["gzip"][:-9]
    found["long-content-length"] = zstd_frame(header(10**17) + b"abc") + found["a-frame-a-record"]
    found["shared-member"] = gzip_member(small.plain().bytes())
    return found


def small_dictionary() -> bytes:
    """Return the dictionary of the test vectors, which is about as small as one can be."""
    return next(vector for vector in vectors() if vector.name == "dictionary").data[8:52]


def header(length: int, *fields: bytes, kind: bytes = b"response") -> bytes:
    lines = [
        b"WARC/1.1",
        b"WARC-Type: " + kind,
        b"WARC-Record-ID: <urn:x:1>",
        b"WARC-Date: 2026-01-02T03:04:05.678Z",
        b"WARC-Target-URI: http://example.org/",
        *fields,
        b"Content-Length: %d" % length,
    ]
    return b"\r\n".join([*lines, b"", b""])


def segments() -> Foreign:
    first = header(3, b"WARC-Segment-Number: 1")
    origin = (
        b"WARC-Segment-Origin-ID: <urn:x:1>",
        b"WARC-Segment-Number: 2",
        b"WARC-Segment-Total-Length: 6",
    )
    second = header(3, *origin, kind=b"continuation").replace(b"<urn:x:1>", b"<urn:x:2>", 1)
    return Foreign().record(b"abc", header=first).record(b"def", header=second)


def revisit() -> Foreign:
    digest = b"WARC-Payload-Digest: sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"
    profile = b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    named = (b"WARC-Refers-To: <urn:x:2>", b"WARC-Concurrent-To: <urn:x:2>")
    original = header(3, digest, kind=b"resource").replace(b"<urn:x:1>", b"<urn:x:2>", 1)
    made = Foreign().record(b"abc", header=header(3, digest, kind=b"resource").replace(b":1>", b":3>", 1))
    return made.record(b"", header=header(0, digest, profile, *named, kind=b"revisit")).record(
        b"x", header=original
    )


def digests() -> Foreign:
    made = Foreign()
    for value in (
        b"sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5",
        b"sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
        b"md5:kAFQmDzST7DWlj99KOF/cg==",
        b"blake2b_256:" + b"00" * 32,
        b"sha1:wrong",
    ):
        made.record(b"abc", header=header(3, b"WARC-Block-Digest: " + value, kind=b"resource"))
    return made


def corpus() -> dict[str, dict[str, bytes]]:
    """Return all inputs by target and name."""
    layouts = files()
    spec = {f"vector-{vector.name}": vector.data for vector in vectors()}
    short = {name: data for name, data in spec.items() if len(data) < 450}
    tables = {name: data[data.rindex(TABLE_MAGIC) :] for name, data in short.items() if "-table-" in name}
    entries = [(20, 300, 1), (9, 0, 2), (4_000_000_000, 4_000_000_000, 3)]
    page = text(600)
    gzipped, deflated = gzip_member(page), zlib.compress(page)
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    return {
        "frames": short
        | {
            "sizes": b"".join(zstd_frame(bytes(size)) for size in (0, 1, 300, 70_000)),
            "no-sizes": b"".join(zstd_frame(bytes(size), content_size=False) for size in (0, 1, 70_000)),
            "text": zstd_frame(page) + skippable(0x184D2A5F, b"x" * 9) + zstd_frame(page, checksum=False),
            "huge-skippable": struct.pack("<II", 0x184D2A50, 0xFFFF_FFFF),
            "dictionary-compressed": layouts["dictionary-compressed"],
        },
        "table": tables
        | {
            "large": seek_table(entries),
            "large-no-checksums": seek_table(entries, checksums=False),
            "empty": seek_table([]),
            "many": seek_table([(30, 40, number) for number in range(100)]),
            "zeros": seek_table([(0, 0, 0)] * 5 + [(8, 0, 0)] * 5),
            "huge-count": seek_table(entries, count=2**32 - 1),
        },
        "header": headers(),
        "http": heads(),
        "chunks": {
            "right": CHUNKED,
            "bare-lf": CHUNKED.replace(b"\r\n", b"\n"),
            "cut": CHUNKED[:-20],
            "no-last": CHUNKED[:-11],
            "plain": b"<html>not chunked</html>",
            "zeros": b"000000000000000005\r\nabcde\r\n00000000000\r\n\r\n",
            "huge": b"fffffffffffffff\r\nabc",
            "too-huge": b"1fffffffffffffff\r\nabc",
            "broken": b"3\r\nabc\r\nxyz\r\n",
            "long-extension": b"3;" + b"x" * 5000 + b"\r\nabc\r\n0\r\n\r\n",
            "tiny": b"1\r\nx\r\n" * 40 + b"0\r\n\r\n",
        },
        "codings": {
            "gzip": b"\0" + gzipped * 2,
            "deflate": b"\1" + deflated,
            "deflate-raw": b"\1" + raw.compress(page) + raw.flush(),
            "brotli": b"\2" + bytes.fromhex("8b0280616263646503"),
            "zstd": b"\3"
            + zstd_frame(page)
            + skippable(0x184D2A50, b"x")
            + zstd_frame(page, content_size=False),
            "gzip-zstd": b"\4" + zstd_frame(gzipped),
            "identity": b"\6" + gzipped + b"rest",
            "not-coded": b"\0" + page[:200],
            "json": b'\1{"a": [1, 2, 3]}',
            "cut": b"\0" + gzipped[:-30],
            "empty": b"\3",
        },
        "reader": spec | layouts,
        "tools": short | layouts,
    }


def headers() -> dict[str, bytes]:
    fields = (
        b"WARC-Block-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        b"WARC-Payload-Digest: sha256:" + b"00" * 32,
        b"WARC-IP-Address: 2001:db8::1",
        b"WARC-Concurrent-To: <urn:x:2>",
        b"warc-concurrent-to : <urn:x:3>",
        b"WARC-Filename: =?utf-8?q?caf=C3=A9?=",
        b'Content-Type: application/http; msgtype="res\\"ponse"',
        b"WARC-Truncated: length",
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        b"X-Extra: folded\r\n\tover\r\n  lines",
    )
    return {
        "plain": header_for(10),
        "all": header(5, *fields),
        "bare-lf": header(5, *fields).replace(b"\r\n", b"\n"),
        "not-utf-8": header(5, b"X-Extra: \xff\xfe"),
        "blake2": header(5, b"WARC-Block-Digest: blake2b_256:" + b"00" * 32),
        "no-colon": header(5, b"X-Extra", b": no name", b"X-Extra :"),
        "repeated-length": header(5, b"Content-Length: 7"),
        "dates": header(5, b"WARC-Refers-To-Date: 2026", b"WARC-Date: 2026-01-02T03:04:05+14:00"),
        "segment": header(5, b"WARC-Segment-Number: 2", b"WARC-Segment-Total-Length: 99"),
        "version": b"WARC/0.18\r\nContent-Length: 1\r\n\r\n",
    }


def heads() -> dict[str, bytes]:
    return {
        "response": RESPONSE + b"\r\nbody",
        "chunked": RESPONSE + b"Transfer-Encoding: gzip, chunked\r\nContent-Encoding: br\r\n\r\n" + CHUNKED,
        "request": b"GET /a%20b?c HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\nabc",
        "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        + RESPONSE
        + b"\r\n",
        "switching": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "bare-lf": RESPONSE.replace(b"\r\n", b"\n") + b"\nbody",
        "icy": b"ICY 200 OK\r\nicy-name: x\r\n\r\n",
        "http-2": b"HTTP/2 200\r\nX: folded\r\n over\r\n\r\n",
        "no-end": RESPONSE,
        "blank-lines": b"\r\n\r\n" + RESPONSE + b"\r\n",
        "no-fields": b"HTTP/1.0 404 Not Found\r\n\r\n",
        "no-http": b"<html>" + CRLF2,
    }


def main() -> int:
    wanted = {
        CORPUS / target / name: data
        for made in (corpus(), BROKE)
        for target, inputs in made.items()
        for name, data in inputs.items()
    }
    if "--check" in sys.argv[1:]:
        found = {path: path.read_bytes() for path in CORPUS.glob("*/*")}
        return int(found != wanted)
    for path in CORPUS.glob("*/*"):
        path.unlink()
    for path, data in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(wanted)} inputs, {sum(map(len, wanted.values()))} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
