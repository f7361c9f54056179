"""What is measured on: files made once, always of the same bytes, and kept.

All that tools are compared on holds the same content, stored the way each of them reads best.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import mmap
import random
import sysconfig
import uuid
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path

import blosc2
import indexed_gzip
import numpy as np
import pyzstd
import rapidgzip
import zstandard

import seekwarc
from seekwarc import tools
from tests.benchmarks.gzipped import write_member, write_members

__all__ = [
    "ARRAY_FRAME",
    "HEAD",
    "KIB",
    "LARGE_RECORDS",
    "LEVEL",
    "MIB",
    "PAGES",
    "SMALL_RECORDS",
    "VIDEO_FRAME",
    "Data",
    "content_of",
]

KIB = 1 << 10
MIB = 1 << 20
LEVEL = 3
HEAD = b"HTTP/1.1 200 OK\r\nServer: benchmark\r\nContent-Type: text/plain\r\n\r\n"
SMALL_RECORDS = 30_000
PAGES = {"0.9 KB": (856, 20_000), "12 KB": (12_700, 4_000)}
"""Bytes of a body, and how many of them."""
LARGE_RECORDS = 16
"""Of a sixteenth of the large payloads each: 64 MiB at full size."""
VIDEO_FRAME = 128 * KIB
"""What the writer cuts data into that do not compress."""
ARRAY_FRAME = 256 * KIB
"""Frame of ours and block of blosc2's."""
RECIPE = 2
"""Counted up when files are made in another way, so that no old ones are used."""
FIXED = (
    ("WARC-Record-ID", "<urn:uuid:00000000-0000-4000-8000-000000000000>"),
    ("WARC-Date", "2026-11-05T12:00:00Z"),
)
"""What would differ each time."""
RECORD_END = b"\r\n\r\n"


class Data:
    """The files, each made when it is first asked for.

    Args:
        folder: Where they are kept.
        size: Bytes of the large payloads.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.size = size
        self.folder = folder / f"{RECIPE}-{size // MIB}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        path = self.folder / name
        if not path.exists():
            print(f"making {path}", flush=True)
            unfinished = path.with_name(f"making-{name}")
            make(unfinished)
            unfinished.replace(path)
        return path

    @cached_property
    def text(self) -> Path:
        """The sources of Python's standard library, in another order each time round."""

        def make(path: Path) -> None:
            stdlib = Path(sysconfig.get_path("stdlib"))
            names = [name for name in sorted(stdlib.rglob("*.py")) if "-packages" not in str(name)]
            sources = [name.read_bytes() for name in names]
            chance = random.Random(1)
            left = self.size
            with path.open("wb") as file:
                while left:
                    chance.shuffle(sources)
                    for source in sources:
                        left -= file.write(source[:left])

        return self._made("text.bin", make)

    @cached_property
    def video(self) -> Path:
        """Bytes that do not compress."""

        def make(path: Path) -> None:
            chance = random.Random(2)
            with path.open("wb") as file:
                for _ in range(self.size // MIB):
                    file.write(chance.randbytes(MIB))

        return self._made("video.bin", make)

    @cached_property
    def array(self) -> Path:
        """A measured quantity: 32-bit floats, a slow wave with noise in the lower digits."""

        def make(path: Path) -> None:
            chance = np.random.default_rng(3)
            with path.open("wb") as file:
                for number in range(self.size // MIB):
                    steps = np.arange(number * (MIB // 4), (number + 1) * (MIB // 4))
                    wave = 280 + 15 * np.sin(steps / 5000) + chance.normal(0, 0.05, MIB // 4)
                    file.write(np.round(wave, 2).astype("<f4").tobytes())

        return self._made("array.bin", make)

    def beginning(self, plain: Path) -> Path:
        """Return a file of its first sixteenth, for what is stored in many ways."""

        def make(path: Path) -> None:
            path.write_bytes(content_of(plain)[: self.size // 16])

        return self._made(f"{plain.stem}-{self.size // 16 // MIB}-mib.bin", make)

    def warc(self, plain: Path, frame_size: int = MIB) -> Path:
        """Return the file as the payload of a record of a .warc.zst that our writer wrote."""

        def make(path: Path) -> None:
            with (
                plain.open("rb") as file,
                seekwarc.open(path, "w", level=LEVEL, frame_size=frame_size) as out,
            ):
                out.write_warcinfo({"software": "benchmark"}, filename=plain.name, headers=FIXED)
                content = content_of(plain)
                out.write_raw(_header(len(HEAD) + len(content), 0, content), _Joined(HEAD, file))

        return self._made(f"{plain.stem}-{frame_size // KIB}k.warc.zst", make)

    def seekable(self, plain: Path, frame_size: int | None = None) -> Path:
        """Return the file as pyzstd writes it, with frames of that size or of its default."""

        def make(path: Path) -> None:
            write_seekable(plain, path, frame_size)

        return self._made(f"{plain.stem}-{frame_size // KIB if frame_size else 'default'}k.zst", make)

    @cached_property
    def one_frame(self) -> Path:
        """A .warc.zst as others write it: a frame for each record."""

        def make(path: Path) -> None:
            with path.open("wb") as file, seekwarc.open(self.warc(self.text)) as archive:
                for record in archive:
                    with record.whole.open() as source:
                        codec = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
                        codec.copy_stream(source, file, size=record.whole.size, read_size=MIB)

        return self._made("text-one-frame.warc.zst", make)

    @cached_property
    def gzipped(self) -> Path:
        """A .warc.gz of the text: a member for each record."""
        return self._gzipped("text", self.text)

    @cached_property
    def gzipped_film(self) -> Path:
        """The same of what does not compress."""
        return self._gzipped("film", self.video)

    def _gzipped(self, name: str, plain: Path) -> Path:
        def make(path: Path) -> None:
            with path.open("wb") as file, seekwarc.open(self.warc(plain)) as archive:
                for record in archive:
                    with record.whole.open() as source:
                        write_member(source.read, file.write)

        return self._made(f"{name}.warc.gz", make)

    @cached_property
    def indexed_gzip_index(self) -> Path:
        """indexed_gzip's index of `gzipped`, a point for each MiB as we have a frame for each."""

        def make(path: Path) -> None:
            with indexed_gzip.IndexedGzipFile(str(self.gzipped), spacing=MIB) as file:
                file.build_full_index()
                file.export_index(str(path))

        return self._made("text.warc.gz.indexed_gzip", make)

    @cached_property
    def rapidgzip_index(self) -> Path:
        """rapidgzip's index of `gzipped`."""

        def make(path: Path) -> None:
            with rapidgzip.open(str(self.gzipped), parallelization=2) as file:
                file.export_index(str(path))

        return self._made("text.warc.gz.rapidgzip", make)

    def blosc2_frame(self, *, shuffle: bool) -> Path:
        """Return the array as blosc2 stores it, with the same codec, level and block size as ours."""

        def make(path: Path) -> None:
            filters = [blosc2.Filter.SHUFFLE if shuffle else blosc2.Filter.NOFILTER]
            # Its levels of zstd: 2 is the codec's 3.
            options = {"codec": blosc2.Codec.ZSTD, "clevel": 2, "typesize": 4, "blocksize": ARRAY_FRAME}
            target = blosc2.SChunk(
                chunksize=MIB,
                urlpath=str(path),
                mode="w",
                contiguous=True,
                cparams=options | {"filters": filters},
            )
            with self.array.open("rb") as file:
                while piece := file.read(MIB):
                    target.append_data(piece)

        return self._made(f"array-{'shuffle' if shuffle else 'plain'}.b2frame", make)

    def pages(self, name: str) -> list[tuple[str, bytes]]:
        """Return URIs and bodies of the responses of a size; see `PAGES`."""
        size, count = PAGES[name]
        content = content_of(self.text)
        places = random.Random(size).choices(range(len(content) - size), k=count)
        return [(f"http://example.org/{n}", content[at : at + size]) for n, at in enumerate(places)]

    def paged(self, name: str, kind: str) -> Path:
        """Return a file of these responses, .warc.zst or .warc.gz, with digests."""

        def make(path: Path) -> None:
            with seekwarc.open(path, "w", level=LEVEL) as out:
                for uri, body in self.pages(name):
                    out.write_response(uri, body, status=200, http_headers={"Content-Type": "text/html"})

        return self._made(f"pages-{PAGES[name][0]}.warc.{kind}", make)

    def indexed(self, file: Path) -> Path:
        """Return a CDXJ of one of these files."""

        def make(path: Path) -> None:
            tools.index([file], path)

        return self._made(f"{file.name}.cdxj", make)

    @cached_property
    def small(self) -> Path:
        """A .warc.zst of many small records."""

        def make(path: Path) -> None:
            with seekwarc.open(path, "w", level=LEVEL) as out:
                for header, block in self._small_records(SMALL_RECORDS):
                    out.write_raw(header, block)

        return self._made("small.warc.zst", make)

    @cached_property
    def small_gz(self) -> Path:
        """The same records as .warc.gz."""
        records = (header + block + RECORD_END for header, block in self._small_records(SMALL_RECORDS))
        return self._made("small.warc.gz", lambda path: write_members(path, records))

    @cached_property
    def films(self) -> Path:
        """A .warc.zst of large records as our writer makes them: text and what does not compress, in turn."""

        def make(path: Path) -> None:
            length = self.size // LARGE_RECORDS
            kinds = content_of(self.text), content_of(self.video)
            with seekwarc.open(path, "w", level=LEVEL) as out:
                for number in range(LARGE_RECORDS):
                    part = kinds[number % 2][number * length : (number + 1) * length]
                    out.write_raw(_header(len(HEAD) + length, number, part), HEAD + part)

        return self._made("films.warc.zst", make)

    @cached_property
    def crawl(self) -> Path:
        """A .warc.gz of half the size of the large payloads: pages, and images that do not compress."""
        return self._made("crawl.warc.gz", lambda path: write_members(path, self._crawl(), self.size // 2))

    def _small_records(self, count: int) -> Iterator[tuple[bytes, bytes]]:
        text = content_of(self.text)
        chance = random.Random(4)
        for number in range(count):
            start, length = chance.randrange(self.size - 8000), chance.randrange(400, 8000)
            payload = text[start : start + length]
            yield _header(len(HEAD) + length, number, payload), HEAD + payload

    def _crawl(self) -> Iterator[bytes]:
        text, video = content_of(self.text), content_of(self.video)
        chance = random.Random(5)
        for number in itertools.count():
            is_image = chance.random() < 0.4
            start, length = chance.randrange(self.size - 400_000), int(chance.lognormvariate(10, 1.2))
            payload = (video if is_image else text)[start : start + min(length, 400_000)]
            yield _header(len(HEAD) + len(payload), number, payload) + HEAD + payload + RECORD_END


@cache
def content_of(path: Path) -> mmap.mmap:
    """Return a file's bytes, mapped; the truth that reads are compared with."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def write_seekable(plain: Path, target: Path, frame_size: int | None = None) -> None:
    """Write with pyzstd as its documentation says is fastest: two threads of the codec's own."""
    options = {pyzstd.CParameter.compressionLevel: LEVEL, pyzstd.CParameter.nbWorkers: 2}
    frames = {"max_frame_content_size": frame_size} if frame_size else {}
    with (
        plain.open("rb") as file,
        pyzstd.SeekableZstdFile(str(target), "w", level_or_option=options, **frames) as out,
    ):
        while piece := file.read(MIB):
            out.write(piece)


def _header(length: int, number: int, payload: bytes | mmap.mmap) -> bytes:
    digest = base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
    fields = (
        "WARC/1.1",
        "WARC-Type: response",
        f"WARC-Record-ID: <urn:uuid:{uuid.UUID(int=number)}>",
        "WARC-Date: 2026-11-05T12:00:00Z",
        f"WARC-Target-URI: http://example.org/{number}",
        f"WARC-Payload-Digest: sha1:{digest}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {length}",
    )
    return "\r\n".join((*fields, "", "")).encode()


class _Joined:
    """A stream of some bytes and then those of a file."""

    def __init__(self, first: bytes, file: object) -> None:
        self._first = first
        self._file = file

    def read(self, size: int = -1) -> bytes:
        first, self._first = self._first, b""
        return first or self._file.read(size)
