"""Wrong calls, and what their errors say: the argument, its value, and what is accepted."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import seekwarc
from seekwarc import tools

URI = "http://example.org/"


class Crawl(NamedTuple):
    """What the calls are made on."""

    folder: Path
    path: Path
    reader: seekwarc.Reader
    payload: seekwarc.Extent
    writer: seekwarc.Writer
    index: seekwarc.Index

    @property
    def new(self) -> Path:
        return self.folder / "new.warc.zst"


@pytest.fixture(name="crawl", scope="module")
def crawl_(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("crawl")
    path = folder / "crawl.warc.zst"
    with seekwarc.open(path, "w") as out:
        out.write_response(URI, b"A page.", status=200)
    (folder / "notes.txt").write_text("some text\n")
    tools.index(path, folder / "crawl.cdxj")
    with (
        seekwarc.open(path) as reader,
        seekwarc.open(folder / "other.warc.zst", "w") as writer,
        seekwarc.Index(folder / "crawl.cdxj") as index,
    ):
        writer.write_response(URI, b"A page.", status=200)
        yield Crawl(folder, path, reader, next(iter(reader)).payload, writer, index)


CALLS: list[tuple[Callable[[Crawl], object], type[Exception], str]] = [
    # Opening
    (
        lambda it: seekwarc.open(it.folder / "none.warc.zst"),
        FileNotFoundError,
        "none.warc.zst: cannot be open",
    ),
    (lambda _: seekwarc.open(""), FileNotFoundError, "cannot be opened"),
    (lambda _: seekwarc.open(None), TypeError, "target must be a path, a URL, bytes, a binary file"),
    (lambda _: seekwarc.open(5), TypeError, "target must be a path, .* not int"),
    (lambda it: seekwarc.open([it.path]), TypeError, "target must be a path, .* not list"),
    (lambda _: seekwarc.open(io.StringIO("WARC/1.1")), TypeError, "target is a text file.*binary mode"),
    (lambda it: seekwarc.open(it.path, "x"), ValueError, 'mode is \'x\', not "r", "w" or "a"'),
    (lambda it: seekwarc.open(it.path, "rb"), ValueError, "mode is 'rb'"),
    (lambda it: seekwarc.open(it.path, threads="2"), TypeError, "threads must be an int, not '2'"),
    (lambda it: seekwarc.open(it.path, thread=2), TypeError, "unknown option: thread; did you mean threads?"),
    (lambda it: seekwarc.open(it.path, level=3), TypeError, "unknown option: level; there are threads, "),
    (lambda it: seekwarc.open(it.path, cache_size=-1), ValueError, "cache_size is -1, not within 0 to"),
    (
        lambda it: seekwarc.open(it.path, cache_size="big"),
        ValueError,
        "cache_size: 'big' is not a size such as",
    ),
    (lambda it: seekwarc.open(it.path, max_window_size="1"), ValueError, "max_window_size is 1, not within"),
    (
        lambda it: seekwarc.open(it.path, max_window_size=1.5),
        TypeError,
        "max_window_size must be an int, not 1.5",
    ),
    (lambda it: seekwarc.open(it.path, max_table_size=None), TypeError, "max_table_size must be an int"),
    (lambda it: seekwarc.open(it.path, strict="no"), TypeError, "strict must be True or False, not 'no'"),
    (lambda it: seekwarc.open(it.path, on_error="ignore"), ValueError, "on_error is 'ignore', not \"raise\""),
    (lambda it: seekwarc.open(it.path, disk_cache="x"), TypeError, "disk_cache must be a seekwarc.DiskCache"),
    (
        lambda it: list(seekwarc.open(it.folder / "notes.txt")),
        ValueError,
        "notes.txt, offset 0: not a WARC file",
    ),
    # Records
    (lambda it: it.reader.record_at(-5), ValueError, "offset must be at least 0: -5"),
    (lambda it: it.reader.record_at(None), TypeError, "offset must be an int, not NoneType"),
    (lambda it: it.reader.record_at(1.0), TypeError, "offset must be an int, not 1.0"),
    (lambda it: it.reader.record_at(10**9), ValueError, "offset 1000000000: no record starts here"),
    (lambda it: it.reader.record_at(1), ValueError, "offset 1: no record starts here"),
    (lambda it: it.reader.record_at(0, -1), ValueError, "length must be at least 1: -1"),
    (lambda it: it.reader.records(typ="response"), TypeError, "typ"),
    (
        lambda it: it.reader.records(type="respons"),
        ValueError,
        "'respons' is not a WARC-Type; did you mean resp",
    ),
    (lambda it: it.reader.records(status="20"), ValueError, "'20' is not an HTTP status such as 404"),
    (lambda it: it.reader.records(since="yesterday"), ValueError, "since: 'yesterday' is not a date such as"),
    (lambda it: it.reader.records(since=datetime(2020, 1, 1)), ValueError, "since is 2020.*tzinfo=UTC"),  # noqa: DTZ001
    (lambda it: it.reader.records(until=20200101), TypeError, "until must be a datetime or a date such as"),
    (lambda it: it.reader.records(min_size="big"), ValueError, "min_size: 'big' is not a size such as"),
    (lambda it: it.reader.records(min_size=-1), ValueError, "min_size must not be negative: -1"),
    (lambda it: it.reader.records(mime=5), TypeError, "mime must be text or several of it, not 5"),
    (lambda it: it.reader.sample(-1), ValueError, "count must not be negative: -1"),
    (lambda it: it.reader.sample("x"), TypeError, "count must be an int, not 'x'"),
    # Payloads
    (lambda it: it.payload.pread("0", 5), TypeError, "start must be an int, not '0'"),
    (lambda it: it.payload.pread(0, 1.5), TypeError, "length must be an int, not 1.5"),
    (lambda it: it.payload.pread(0, None), TypeError, "length must be an int, not NoneType"),
    (lambda it: it.payload.pread(-1, 5), ValueError, "start is -1 and length 5: neither can be negative"),
    (lambda it: it.payload.read("5"), TypeError, "n must be an int, not '5'"),
    # Writing
    (lambda it: seekwarc.open(it.new, "w", level=99), ValueError, "level is 99, not within -7 to 22"),
    (lambda it: seekwarc.open(it.new, "w", level="3"), TypeError, "level must be an int, not '3'"),
    (lambda it: seekwarc.open(it.new, "w", frame_size=0), ValueError, "frame_size is 0, not within 65536"),
    (lambda it: seekwarc.open(it.new, "w", frame_size="1X"), ValueError, "frame_size: '1X' is not a size"),
    (lambda it: seekwarc.open(it.new, "w", frame_sise=1), TypeError, "frame_sise; did you mean frame_size?"),
    (lambda it: seekwarc.open(it.new, "w", tables="yes"), ValueError, "tables is 'yes', not \"large\""),
    (
        lambda it: seekwarc.open(it.new, "w", existing="replace"),
        ValueError,
        "existing is 'replace', not \"error\"",
    ),
    (
        lambda it: seekwarc.open(it.new, "w", dictionary="a.dict"),
        TypeError,
        "dictionary must be a seekwarc.Dict",
    ),
    (lambda it: seekwarc.open(it.new, "w", digest="md4"), ValueError, "digest is 'md4', not \"sha1\""),
    (
        lambda it: seekwarc.open(it.new, "w", compression="lz4"),
        ValueError,
        "compression is 'lz4', not \"zst\"",
    ),
    (lambda it: it.writer.write_warcinfo({"a": 1}), TypeError, "fields must hold names and values"),
    (lambda it: it.writer.write_warcinfo("a: b"), TypeError, "fields must be a mapping, or pairs"),
    (
        lambda it: it.writer.write_response(URI, "text"),
        TypeError,
        "block must be bytes, a binary file or an iter",
    ),
    (
        lambda it: it.writer.write_response(URI, io.StringIO("x")),
        TypeError,
        "block must be bytes.*not a text file",
    ),
    (lambda it: it.writer.write_response("no uri", b""), ValueError, "WARC-Target-URI is 'no uri'"),
    (lambda it: it.writer.write_response(None, b""), ValueError, "WARC-Target-URI is missing"),
    (lambda it: it.writer.write_response(URI, b"", status="ok"), TypeError, "status must be an int, not str"),
    (
        lambda it: it.writer.write_response(URI, b"", status=99),
        ValueError,
        "status is 99, not within 100 to 999",
    ),
    (
        lambda it: it.writer.write_response(URI, b"", status=200, http_headers="a: b"),
        TypeError,
        "http_headers must be a mapping, or pairs",
    ),
    (lambda it: it.writer.write_response(URI, b"", date="now"), ValueError, "WARC-Date is 'now'"),
    (
        lambda it: it.writer.write_response(URI, b"", payload_digest="sha1:bad"),
        ValueError,
        "WARC-Payload-Digest is 'sha1:bad', not a digest of the algorithm sha1",
    ),
    (lambda it: it.writer.write_response(URI, b"", length=-1), ValueError, "length is -1, not 0 or more"),
    (
        lambda it: it.writer.write_response(URI, io.BytesIO(), length="1"),
        TypeError,
        "length must be an int, not '1'",
    ),
    (lambda it: it.writer.write_response(URI, b"", headers={"X\n": "x"}), ValueError, "cannot name a field"),
    (
        lambda it: it.writer.write_resource(URI, b"", content_type=5),
        TypeError,
        "Content-Type must be text, not 5",
    ),
    # Indexes, collections, whole files
    (lambda it: seekwarc.Index(it.folder / "none.cdxj"), FileNotFoundError, "none.cdxj: cannot be opened"),
    (
        lambda it: seekwarc.Index(it.path, threadz=3),
        TypeError,
        "unknown option: threadz; did you mean threads?",
    ),
    (lambda it: list(it.index.lookup("")), ValueError, "uri is empty"),
    (lambda it: list(it.index.lookup(None)), TypeError, "uri must be text, not NoneType"),
    (
        lambda it: list(it.index.lookup(URI, closest="soon")),
        ValueError,
        "closest: 'soon' is not a date such as",
    ),
    (lambda it: list(it.index.lookup(URI, match="all")), ValueError, "match is 'all', not \"exact\""),
    (lambda _: seekwarc.Collection(5), TypeError, "files must be one target or several, not 5"),
    (
        lambda it: seekwarc.Collection([it.path, it.path]),
        ValueError,
        "two files of a collection have the name",
    ),
    (
        lambda it: seekwarc.Collection(it.folder / "none.warc.gz"),
        FileNotFoundError,
        "none.warc.gz: cannot be open",
    ),
    (
        lambda it: tools.index(it.folder / "o.cdxj", [it.path]),
        TypeError,
        "target must be a path or a file to wri",
    ),
    (lambda it: tools.index([], it.folder / "o.cdxj"), ValueError, "sources is empty"),
    (lambda it: tools.concat([], it.new), ValueError, "sources is empty"),
    (
        lambda it: tools.concat([it.path], 5),
        TypeError,
        "target must be a path or a binary file object, not int",
    ),
    (lambda it: tools.convert(it.path, it.path), OSError, "source and target are the same file"),
    (
        lambda it: tools.convert(it.path, it.new, levl=3),
        TypeError,
        "unknown option: levl; did you mean level?",
    ),
    (lambda it: tools.split(it.path, "p.warc.zst"), ValueError, "max_size or max_records is needed"),
    (lambda it: tools.train(it.path, size=5), ValueError, "size is 5, not within 256"),
    (
        lambda it: seekwarc.batches(f"{it.folder}/none*.warc"),
        FileNotFoundError,
        "none.*: no file matches this pat",
    ),
    (lambda it: seekwarc.batches(it.folder / "none.warc"), FileNotFoundError, "none.warc: no such file"),
    (
        lambda it: seekwarc.batches(it.path, columns=["urI"]),
        ValueError,
        "unknown column: 'urI'; the columns are",
    ),
    (
        lambda it: seekwarc.batches(it.path, columns="uri"),
        TypeError,
        "columns is the string 'uri'; pass a list",
    ),
    (
        lambda it: seekwarc.splits(it.path, target_bytes=0),
        ValueError,
        "target_bytes must be at least 1, not 0",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), CALLS)
def test_a_wrong_call_says_which_argument_is_wrong(
    crawl: Crawl, call: Callable[[Crawl], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        call(crawl)
    assert "\n" not in str(caught.value)
    assert not crawl.new.exists()
