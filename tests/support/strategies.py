"""What hypothesis draws: record headers, fields to write, blocks, seek tables, layouts of frames."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from datetime import UTC

from hypothesis import strategies as st

from seekwarc import SeekTable
from tests.support import foreign
from tests.support.writing import noise

TOKEN = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

field_names = st.one_of(
    st.sampled_from(["WARC-Type", "WARC-Target-URI", "WARC-Concurrent-To", "warc-date", "X-Some"]),
    st.text(TOKEN, min_size=1, max_size=12).filter(lambda name: name.lower() != "content-length"),
)
field_values = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=40
).map(lambda value: value.strip(" \t"))
"""Values as they are meant: one line, no blanks round them."""


@dataclass
class DrawnHeader:
    """A header as bytes, and what its fields say."""

    raw: bytes
    fields: list[tuple[str, str]]
    content_length: int


@st.composite
def record_headers(draw: st.DrawFn, content_length: int | None = None) -> DrawnHeader:
    """Draw headers as they are found: folded, repeated, not UTF-8, with bare LF, in any order."""
    newline = draw(st.sampled_from([b"\r\n", b"\n"]))
    version = draw(st.sampled_from([b"1.0", b"1.1", b"0.18"]))
    length = draw(st.integers(0, 10**6)) if content_length is None else content_length
    fields = draw(st.lists(st.tuples(field_names, field_values), max_size=6))
    if fields and draw(st.booleans()):
        fields.append(fields[0])
    fields.insert(draw(st.integers(0, len(fields))), ("Content-Length", str(length)))
    lines = [b"WARC/" + version]
    meant = []
    for name, plain in fields:
        value, stored = plain, plain.encode()
        folds = name != "Content-Length" and draw(st.integers(0, 9)) == 0
        if folds:
            more = draw(st.sampled_from([b"more", b"a: b"]))
            stored += newline + draw(st.sampled_from([b" ", b"\t", b"  "])) + more
            value = (value + " " + more.decode()).strip(" \t")
        elif name != "Content-Length" and draw(st.integers(0, 9)) == 0:
            stored += b"\xff\xfe"
            value += "\udcff\udcfe"
        lines.append(name.encode() + b":" + draw(st.sampled_from([b" ", b"", b"\t "])) + stored)
        meant.append((name, value))
    return DrawnHeader(newline.join(lines) + newline * 2, meant, length)


URIS = st.sampled_from(
    ["https://example.org/", "http://example.org/%C3%A4?a=b#c", "urn:x:1", "file:///a%20b", "ftp://[::1]/"]
)
IDS = st.uuids().map(lambda value: f"<urn:uuid:{value}>")
DATES = st.one_of(
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from(["2026", "2026-11", "2026-11-05", "2026-11-05T12:00Z", "2026-11-05T12:00:00.123456789Z"]),
)
EXTENSION_NAMES = st.from_regex(r"X-[A-Za-z0-9-]{0,10}", fullmatch=True)
OPTIONAL = {
    "WARC-Concurrent-To": IDS,
    "WARC-IP-Address": st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str),
    "WARC-Truncated": st.sampled_from(["length", "time", "disconnect", "unspecified", "of-an-extension"]),
    "WARC-Warcinfo-ID": IDS,
    "WARC-Identified-Payload-Type": st.sampled_from(["text/html", 'text/plain; charset="utf-8"']),
    "WARC-Payload-Digest": st.binary(min_size=20, max_size=20).map(lambda raw: f"sha1:{raw.hex()}"),
}
"""Fields that the standard allows in responses and resources, where they must be of a form."""


@st.composite
def allowed_fields(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Draw what the user of a writer may say of a response or resource beyond what every record has."""
    names = draw(st.lists(st.sampled_from(sorted(OPTIONAL)), unique=True, max_size=3))
    fields = [(name, draw(OPTIONAL[name])) for name in names]
    if "WARC-Concurrent-To" in names:
        fields.append(("warc-concurrent-to", draw(IDS)))
    return fields + draw(st.lists(st.tuples(EXTENSION_NAMES, field_values), max_size=3))


def blocks(most: int = 4000) -> st.SearchStrategy[bytes]:
    """Draw blocks: empty, compressible, not compressible, or looking like what they are not."""
    seeds = st.integers(0, 1000)
    sizes = st.integers(0, most)
    return st.one_of(
        st.just(b""),
        st.builds(foreign.text, sizes, seeds),
        st.builds(noise, sizes, seeds),
        st.binary(max_size=60),
        st.sampled_from(
            [
                foreign.CRLF2,
                b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
                foreign.zstd_frame(b"inner"),
                foreign.seek_table([(20, 5, 0)]),
            ]
        ),
    )


@st.composite
def seek_tables(draw: st.DrawFn, most: int = 30, largest: int = 2**32 - 1) -> SeekTable:
    """Draw tables that are well formed; entries without stored bytes have no content."""
    sizes = st.one_of(st.integers(0, 20), st.integers(0, largest))
    entries = draw(st.lists(st.tuples(sizes, sizes), max_size=most))
    stored = array("I", [stored for stored, _ in entries])
    contents = array("I", [content if stored else 0 for stored, content in entries])
    checksums = None
    if draw(st.booleans()):
        count = len(entries)
        checksums = array("I", draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)))
    return SeekTable(stored, contents, checksums)


@st.composite
def layouts(draw: st.DrawFn, most_records: int = 4) -> foreign.Foreign:
    """Draw whole .warc.zst files that keep the grammar, with cuts, extensions and empty frames anywhere."""
    made = foreign.Foreign()
    if draw(st.booleans()):
        made.dictionary(compressed=draw(st.booleans()), name=draw(st.booleans()))
    made.frame_options |= {"content_size": draw(st.booleans()), "checksum": draw(st.booleans())}
    mixed = draw(st.booleans())
    fillers = st.lists(
        st.one_of(
            st.just(None),
            st.tuples(st.sampled_from(foreign.EXTENSIONS), st.binary(max_size=30)),
        ),
        max_size=2,
    )

    def fill(to: foreign.Foreign, _: int = 0) -> None:
        for filler in draw(fillers):
            if filler is None:
                to.empty()
            else:
                to.extension(*filler)

    if draw(st.booleans()):
        made.empty()
        fill(made)
    for number in range(draw(st.integers(1, most_records))):
        block = draw(blocks())
        header = foreign.warc_header(len(block), number)
        size = len(header) + len(block) + 4
        cuts = sorted(draw(st.sets(st.integers(1, size - 1), max_size=4)))
        own = draw(st.sampled_from([None, True, {"checksums": False}]))
        options = {"content_size": draw(st.booleans())} if mixed else {}
        made.record(block, header=header, cuts=tuple(cuts), between=fill, table=own, **options)
        fill(made)
    if draw(st.booleans()):
        made.file_table(checksums=draw(st.booleans()))
    return made
