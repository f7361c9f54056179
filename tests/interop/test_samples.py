"""Files by other tools say to seekwarc what they say to warcio, but for the differences that are listed.

The files are those of the samples folder: by Heritrix, Wget, wpull, pywb, warcio and Webrecorder.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import seekwarc
from seekwarc import Collection, ResolvedRevisit
from seekwarc.errors import FormatError, FormatWarning, NotFoundError
from seekwarc.make.converting import convert
from tests.conftest import SAMPLES

pytestmark = pytest.mark.needs("module:warcio", "module:brotli")

NAMES = sorted(path.name for path in SAMPLES.glob("*.warc*"))

ONE_MEMBER = "warcio-example-bad-non-chunked.warc.gz"
SPLIT_MEMBERS = "warcio-example-wrong-chunks.warc.gz"
CUT = "warcio-example-trunc.warc"
TWITTER = "replayweb-netpreserve-twitter.warc"


@dataclass(frozen=True)
class Difference:
    """What warcio says otherwise of some records of a file."""

    file: str
    records: frozenset[int]
    """Their numbers; none where it is about the file as a whole."""
    aspect: str
    why: str


def _difference(file: str, aspect: str, why: str, *records: int) -> Difference:
    return Difference(file, frozenset(records), aspect, why)


NO_CHECK = "warcio checks no digest of a revisit, not even that of the block which is there"
TWITTER_REVISITS = (42, 44, 48, 50, 58, 178, 180, 188, 190, 192, 196, 276)
TWITTER_PAYLOAD_DIGESTS = (
    60,
    66,
    70,
    72,
    82,
    86,
    88,
    216,
    218,
    220,
    222,
    224,
    226,
    228,
    230,
    232,
    234,
    236,
    238,
    240,
    252,
    254,
    256,
    260,
    268,
    270,
    274,
    282,
    292,
    294,
)

DIFFERENCES = [
    _difference(
        "warcio-example-space-in-target-uri.warc.gz",
        "uri",
        "warcio percent-encodes spaces; seekwarc gives what the header says",
        1,
    ),
    _difference(
        "warcio-example-iana.org-chunked.warc",
        "digests",
        "warcio takes the digest of a chunked body with the chunk sizes in it; the standard without, so "
        "that seekwarc calls this one 'transferred'",
        1,
    ),
    _difference(
        TWITTER,
        "content",
        "warcio cannot undo br with the brotli of today ('Decompressor' has no 'unused_data'), so it is "
        "kept from trying and gives the bytes as they are",
        76,
        226,
        230,
    ),
    _difference(TWITTER, "digests", NO_CHECK, *TWITTER_REVISITS),
    _difference(
        TWITTER,
        "digests",
        "the block digest is that of the payload: warcio calls it wrong, seekwarc 'transferred'",
        *TWITTER_PAYLOAD_DIGESTS,
    ),
    _difference("warcio-example.warc.gz", "digests", NO_CHECK, 4),
    _difference(
        ONE_MEMBER,
        "records",
        "several records are in one gzip member: warcio refuses the file, seekwarc reads it and warns",
    ),
    _difference(
        SPLIT_MEMBERS,
        "records",
        "a record is in two gzip members: warcio ends it with the first and takes the second for a record",
    ),
    *(
        _difference(SPLIT_MEMBERS, aspect, "warcio sees nothing of what is in the second gzip member", 0)
        for aspect in ("transferred", "payload", "content", "digests")
    ),
    _difference(
        CUT,
        "content",
        "the gzip coding of the body is cut off: seekwarc gives what there is and raises, warcio is silent",
        2,
    ),
]


@dataclass
class Seen:
    """A record as one of the two libraries gives it."""

    type: str | None
    id: str | None
    uri: str | None
    date: str | None
    start: tuple[str | None, ...]
    """Status, or method and target, of an HTTP message."""
    transferred: bytes
    """The bytes after the HTTP head."""
    payload: bytes
    """The same where chunked coding was undone, of warcio's where none is on it."""
    content: bytes | tuple[bytes, str]
    """The payload with its content codings undone, and what was raised."""
    digests: dict[str, str]


ASPECTS = ("type", "id", "uri", "date", "start", "transferred", "payload", "content", "digests")


def read_content(file: Any) -> bytes | tuple[bytes, str]:
    found = b""
    try:
        while data := file.read(1 << 16):
            found += data
    except FormatError as error:
        return found, type(error).__name__
    return found


def seen_by_us(record: seekwarc.Record) -> Seen:
    http = record.http
    start: tuple[str | None, ...] = ()
    if http is not None:
        start = (str(http.status),) if http.status is not None else (http.method, http.target)
    return Seen(
        record.type,
        record.id,
        record.target_uri,
        record.header.get("WARC-Date"),
        start,
        record.block.pread(http.size if http else 0, 1 << 40),
        record.payload.read(),
        read_content(record.payload.open(decoded=True)),
        {it.field: str(it.verdict) for it in record.check_digests()},
    )


def read_by_us(target: Any) -> tuple[list[Seen], str | None]:
    """Return all records, and what reading them ended with."""
    found = []
    with seekwarc.open(target) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        try:
            for record in archive:
                found.append(seen_by_us(record))
        except FormatError as error:
            return found, type(error).__name__
    return found, None


@contextlib.contextmanager
def quiet_warcio() -> Iterator[None]:
    """Keep warcio from writing to the terminal, and from its way with brotli."""
    from warcio.bufferedreaders import BufferedReader  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()):
        patch.delitem(BufferedReader.DECOMPRESSORS, "br", raising=False)
        yield


def seen_by_warcio(record: Any, again: Any) -> Seen:
    """Describe a record; `again` is the same record, since its stream can be read only once."""
    headers, http = record.rec_headers, record.http_headers
    start: tuple[str | None, ...] = ()
    if http is not None and record.rec_type == "request":
        start = (http.protocol, http.statusline.rpartition(" ")[0])
    elif http is not None:
        start = (http.get_statuscode(),)
    transferred = record.raw_stream.read()
    content = again.content_stream().read()
    is_chunked = http is not None and (http.get_header("Transfer-Encoding") or "").lower() == "chunked"
    identity = headers.get_header("WARC-Record-ID")
    return Seen(
        record.rec_type,
        identity[1:-1] if identity.startswith("<") else identity,
        headers.get_header("WARC-Target-URI"),
        headers.get_header("WARC-Date"),
        start,
        transferred,
        unchunked(transferred) if is_chunked else transferred,
        content,
        digests_by_warcio(record),
    )


def digests_by_warcio(record: Any) -> dict[str, str]:
    """Return what warcio's checker found, field by field, in our words."""
    checker, found = record.digest_checker, {}
    for name in ("WARC-Block-Digest", "WARC-Payload-Digest"):
        if record.rec_headers.get_header(name):
            what = name.split("-")[1].lower()
            failed = any(problem.startswith(what) for problem in checker.problems)
            unchecked = checker.passed is None
            found[name] = "elsewhere" if unchecked else "invalid" if failed else "valid"
    return found


def unchunked(body: bytes) -> bytes:
    """Undo chunked coding with warcio, content codings left on."""
    from warcio.bufferedreaders import ChunkedDataReader  # noqa: PLC0415

    return ChunkedDataReader(io.BytesIO(body)).read()


def read_by_warcio(file: BinaryIO) -> tuple[list[Seen], str | None]:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    data = file.read()
    found = []
    with quiet_warcio():
        pair = (ArchiveIterator(io.BytesIO(data), check_digests=check) for check in (True, False))
        try:
            for record, again in zip(*pair, strict=True):
                found.append(seen_by_warcio(record, again))
        except ArchiveLoadFailed as error:
            return found, type(error).__name__
    return found, None


def differences(
    ours: tuple[list[Seen], str | None], theirs: tuple[list[Seen], str | None]
) -> set[tuple[int | None, str]]:
    """Return (record, aspect) of all that differs, as far as both came."""
    found: set[tuple[int | None, str]] = set()
    if (len(ours[0]), ours[1]) != (len(theirs[0]), theirs[1]):
        found.add((None, "records"))
    for number, (one, other) in enumerate(zip(ours[0], theirs[0], strict=False)):
        found |= {(number, it) for it in ASPECTS if getattr(one, it) != getattr(other, it)}
    return found


def explained(name: str) -> set[tuple[int | None, str]]:
    listed = [it for it in DIFFERENCES if it.file == name]
    return {(number, it.aspect) for it in listed for number in it.records or [None]}


def names(*without: str) -> list[Any]:
    return [name for name in NAMES if name not in without]


@pytest.mark.parametrize("name", names())
def test_every_record_equals_warcios(name: str, samples: Path) -> None:
    with (samples / name).open("rb") as file:
        theirs = read_by_warcio(file)
    assert theirs[0], "warcio reads at least one record of each"
    assert differences(read_by_us(samples / name), theirs) == explained(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (CUT, ONE_MEMBER, SPLIT_MEMBERS)])
def test_every_record_is_where_warcio_finds_it(name: str, samples: Path) -> None:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    theirs = []
    with (samples / name).open("rb") as file, quiet_warcio():
        iterator = ArchiveIterator(file)
        for _ in iterator:
            theirs.append((iterator.get_record_offset(), iterator.get_record_length()))
    with seekwarc.open(samples / name) as archive:
        # In an uncompressed file, warcio does not count the line breaks after a record.
        uncounted = len(b"\r\n\r\n") if archive.compression == "none" else 0
        assert [(it.offset, it.length - uncounted) for it in archive] == theirs


@pytest.mark.needs("samples")
def test_every_difference_is_explained_and_of_a_file_that_is_there() -> None:
    assert {it.file for it in DIFFERENCES} <= set(NAMES)
    assert all(it.aspect in (*ASPECTS, "records") for it in DIFFERENCES)
    assert all(it.why for it in DIFFERENCES)


# The differences are what the table calls them.


def pair(samples: Path, name: str, number: int) -> tuple[Seen, Seen]:
    with (samples / name).open("rb") as file:
        return read_by_us(samples / name)[0][number], read_by_warcio(file)[0][number]


def test_a_space_in_a_uri_is_left_as_it_is(samples: Path) -> None:
    ours, theirs = pair(samples, "warcio-example-space-in-target-uri.warc.gz", 1)
    assert ours.uri == "file:///example with spaces.png"
    assert theirs.uri == "file:///example%20with%20spaces.png"


def test_brackets_that_wget_puts_around_uris_are_removed(samples: Path) -> None:
    with seekwarc.open(samples / "warcio-example-wget-bad-target-uri.warc.gz") as archive:
        record = next(record for record in archive if record.type == "response")
        assert record.header["WARC-Target-URI"] == "<http://example.com/>"
        assert record.target_uri == "http://example.com/"


def test_a_digest_with_chunk_sizes_in_it_is_distinguished(samples: Path) -> None:
    ours, theirs = pair(samples, "warcio-example-iana.org-chunked.warc", 1)
    assert ours.digests == {"WARC-Block-Digest": "valid", "WARC-Payload-Digest": "transferred"}
    assert theirs.digests == {"WARC-Block-Digest": "valid", "WARC-Payload-Digest": "valid"}
    assert len(ours.payload) < len(ours.transferred)


@pytest.mark.slow
@pytest.mark.needs("samples")
def test_warcio_does_not_decode_brotli(samples: Path) -> None:
    import brotli  # noqa: PLC0415

    for number in (76, 226, 230):
        ours, theirs = pair(samples, TWITTER, number)
        assert ours.payload == theirs.payload == theirs.content
        assert ours.content == brotli.decompress(theirs.content)


def test_a_truncated_coding_is_decoded_to_its_end(samples: Path) -> None:
    ours, theirs = pair(samples, CUT, 2)
    assert ours.content == (theirs.content, "TruncatedError")
    assert ours.digests == theirs.digests


def test_a_length_that_is_too_small_is_reported_or_refused(samples: Path) -> None:
    with seekwarc.open(samples / CUT) as archive:
        with pytest.warns(FormatWarning, match="offset 1197: Content-Length 973 is too small: 6 more bytes"):
            records = list(archive)
        assert [it.offset for it in records] == [0, 488, 1197, 2566]
        assert [it.problem is not None for it in records] == [False, False, True, False]
        assert archive.record_at(2566).type == "request"
    with seekwarc.open(samples / CUT, strict=True) as archive:
        found = []
        with pytest.raises(FormatError, match="offset 1197: Content-Length 973 is too small"):
            found.extend(it.offset for it in archive)
        assert found == [0, 488]


def unpacked(path: Path) -> bytes:
    """Return what all members of a .gz file hold, with zlib alone."""
    data, found = path.read_bytes(), b""
    while data:
        inflater = zlib.decompressobj(31)
        found += inflater.decompress(data) + inflater.flush()
        data = inflater.unused_data
    return found


@pytest.mark.parametrize(("name", "revisits"), [(ONE_MEMBER, [4]), (SPLIT_MEMBERS, [])])
def test_files_that_warcio_cannot_unpack_agree_once_unpacked(
    name: str, revisits: list[int], samples: Path
) -> None:
    data = unpacked(samples / name)
    theirs = read_by_warcio(io.BytesIO(data))
    assert theirs[1] is None
    assert len(theirs[0]) >= 2
    expected = {(number, "digests") for number in revisits}
    assert differences(read_by_us(samples / name), theirs) == expected
    assert differences(read_by_us(data), theirs) == expected


@pytest.mark.parametrize(
    ("name", "types", "warning"),
    [
        (ONE_MEMBER, ["warcinfo", "warcinfo", "response", "request", "revisit", "request"], "share"),
        (SPLIT_MEMBERS, ["response", "request"], "line breaks .* come before this record"),
    ],
)
def test_records_that_do_not_begin_their_members_are_read_with_a_warning(
    name: str, types: list[str], warning: str, samples: Path
) -> None:
    with seekwarc.open(samples / name) as archive, pytest.warns(FormatWarning, match=warning):
        assert [record.type for record in archive] == types


# Revisits, resolved among all samples.

READABLE = [name for name in NAMES if name not in (CUT, ONE_MEMBER, SPLIT_MEMBERS)]
"""Those whose records can all be gone to. Records that share a gzip member cannot be."""
MENDED = [name for name in NAMES if name != CUT]
"""Those whose records can all be gone to once they are converted."""

FAR = {
    "iipc-20130729-heritrix-revisit-with-http-headers.warc.gz": "iipc-20130729-heritrix-original.warc.gz",
    "iipc-20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz": (
        "iipc-20141129-heritrix-original.warc.gz"
    ),
    "pywb-example-url-agnostic-revisit.warc.gz": "pywb-example-url-agnostic-orig.warc.gz",
}
"""Files of one revisit each, and where its original is."""


def open_readable(folder: Path) -> Collection:
    return Collection(folder / name for name in READABLE)


def open_converted(folder: Path, names: list[str]) -> Collection:
    return Collection(folder / f"{name}.zst" for name in names)


@cache
def originals_by_warcio(folder: Path) -> dict[str, dict[str, Seen]]:
    """Return all responses in the samples, by the digest of their body as it was sent, and by ID."""
    found: dict[str, dict[str, Seen]] = {}
    for name in READABLE:
        with (folder / name).open("rb") as file:
            for record in read_by_warcio(file)[0]:
                if record.type == "response" and record.id is not None:
                    digest = "sha1:" + base64.b32encode(hashlib.sha1(record.transferred).digest()).decode()
                    found.setdefault(digest, {})[record.id] = record
    return found


def base_name(record: seekwarc.Record) -> str:
    return os.path.basename(record.source)


@pytest.mark.needs("samples")
@pytest.mark.parametrize(("name", "where"), FAR.items())
def test_a_revisit_resolves_to_the_original_in_another_file(name: str, where: str, samples: Path) -> None:
    with open_readable(samples) as collection:
        revisit = next(it for it in collection if base_name(it) == name and it.type == "revisit")
        record = collection.open_record(revisit)
        assert isinstance(record, ResolvedRevisit)
        assert base_name(record.original) == where
        with (samples / where).open("rb") as file:
            theirs = next(it for it in read_by_warcio(file)[0] if it.type == "response")
        assert record.original.id == theirs.id
        assert record.payload.read() == theirs.transferred
        assert len(theirs.transferred) > 1000
        assert record.http is not None
        assert record.http.raw == revisit.block.read(), "its own head"
        assert record.http.get("Date") != record.original.http.get("Date")
        assert [it.verdict for it in record.check_digests()] == ["valid"]


@pytest.mark.needs("samples")
def test_a_revisit_without_references_is_of_an_earlier_capture_of_its_uri(samples: Path) -> None:
    name = "iipc-20141124-heritrix-server-not-modified.warc.gz"
    with open_readable(samples) as collection:
        revisit = next(it for it in collection if base_name(it) == name)
        assert (revisit.content_length, revisit.refers_to_id, revisit.refers_to_date) == (0, None, None)
        resolved = collection.open_record(revisit)
        assert isinstance(resolved, ResolvedRevisit)
        assert resolved.original.target_uri == revisit.target_uri
        assert resolved.original.date.nanoseconds < revisit.date.nanoseconds
        assert resolved.payload.read() == resolved.original.payload.read() != b""


def resolve_all(collection: Collection, name: str, folder: Path) -> list[str]:
    """Resolve all revisits of a file, compare with warcio, and return where the originals are."""
    known = originals_by_warcio(folder)
    captures = {(it.uri, it.date): it.id for found in known.values() for it in found.values()}
    found = []
    for revisit in collection:
        if base_name(revisit).removesuffix(".zst") == name and revisit.type == "revisit":
            record = collection.open_record(revisit)
            assert isinstance(record, ResolvedRevisit)
            assert record.original.id is not None
            theirs = known[record.header["WARC-Payload-Digest"]][record.original.id]
            assert record.payload.read() == theirs.payload
            verdicts = {it.field: it.verdict for it in record.check_digests()}
            assert verdicts["WARC-Payload-Digest"] in ("valid", "transferred")
            named = record.refers_to_target_uri, record.header.get("WARC-Refers-To-Date")
            # Some name a capture under https that was one under http: only the digest leads there.
            assert captures.get(named, record.original.id) == record.original.id
            found.append(base_name(record.original))
    return found


RESOLVED = [
    pytest.param("pywb-dupes.warc.gz", {"pywb-iana.warc.gz": 8, "pywb-dupes.warc.gz": 1}, id="dupes"),
    pytest.param("pywb-iana.warc.gz", {"pywb-iana.warc.gz": 123}, id="iana"),
    pytest.param(TWITTER, {TWITTER: 12}, id="twitter"),
    pytest.param("warcio-example.warc.gz", {"warcio-example.warc.gz": 1}, id="warcio"),
]


@pytest.mark.needs("samples")
@pytest.mark.parametrize(("name", "where"), RESOLVED)
def test_all_revisits_of_a_crawl_resolve(name: str, where: dict[str, int], samples: Path) -> None:
    with open_readable(samples) as collection:
        found = resolve_all(collection, name, samples)
    assert {it: found.count(it) for it in found} == where


# The same, converted.


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    """All samples but that which is damaged, as .warc.zst files of small frames."""
    folder = tmp_path_factory.mktemp("converted")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for name in MENDED:
            convert(samples / name, folder / f"{name}.zst", "zst", frame_size=64 << 10)
    return folder


@pytest.mark.parametrize("name", MENDED)
def test_a_converted_sample_says_the_same(name: str, samples: Path, converted: Path) -> None:
    found, end = read_by_us(converted / f"{name}.zst")
    assert (found, end) == read_by_us(samples / name)
    assert end is None


def test_a_damaged_sample_cannot_be_converted(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError):
        convert(samples / CUT, tmp_path / "a.warc.zst", "zst")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs("samples")
@pytest.mark.parametrize(("name", "where"), RESOLVED)
def test_revisits_of_a_converted_crawl_resolve(
    name: str, where: dict[str, int], samples: Path, converted: Path
) -> None:
    with open_converted(converted, READABLE) as collection:
        found = resolve_all(collection, name, samples)
    assert {it.removesuffix(".zst"): found.count(it) for it in found} == where


@pytest.mark.slow
@pytest.mark.needs("samples")
def test_every_revisit_of_the_samples_resolves(samples: Path, converted: Path) -> None:
    def answers(collection: Collection, files: list[str]) -> dict[str | None, tuple[str, bytes] | None]:
        found: dict[str | None, tuple[str, bytes] | None] = {}
        for record in collection:
            name = base_name(record).removesuffix(".zst")
            if record.type == "revisit" and name in files:
                found[record.id] = None
                with contextlib.suppress(NotFoundError):
                    resolved = collection.open_record(record)
                    assert isinstance(resolved, ResolvedRevisit)
                    found[record.id] = resolved.original.id or "", resolved.payload.read()
        return found

    with open_readable(samples) as packed, open_converted(converted, MENDED) as seekable:
        found = answers(packed, READABLE)
        assert found == answers(seekable, READABLE)
    assert len(found) == 149
    assert None not in found.values()
