"""A crawl by GNU Wget, with a film of 200 MB in it, becomes seekable."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc.scale.columns import COLUMNS
from tests.support.rangeserver import RangeServer

pytestmark = [pytest.mark.slow, pytest.mark.needs("wget", "ffmpeg")]

MIN_FILM = 200_000_000
PAGES = 12
STEP = 1 << 20


def run(*command: object, statuses: tuple[int, ...] = (0,), **options) -> subprocess.CompletedProcess:
    done = subprocess.run([*map(str, command)], capture_output=True, check=False, **options)
    assert done.returncode in statuses, done.stderr.decode(errors="replace")[-2000:]
    return done


def make_film(path: Path) -> None:
    """Make a film with moving shapes, fractals and noise: varied, as films are, and made in seconds."""
    clip = path.with_name("clip.mp4")
    sources = {
        "testsrc2=size=1280x720:rate=25": "noise=alls=12:allf=t",
        "mandelbrot=size=1280x720:rate=25": "noise=alls=6:allf=t",
        "life=size=640x360:rate=25:mold=10:ratio=0.1": "scale=1280:720,format=yuv420p",
    }
    inputs = [word for source in sources for word in ("-f", "lavfi", "-t", "4", "-i", source)]
    chains = [f"[{n}:v]{chain},format=yuv420p,setsar=1[v{n}]" for n, chain in enumerate(sources.values())]
    joined = "".join(f"[v{n}]" for n in range(len(sources)))
    graph = ";".join([*chains, f"{joined}concat=n={len(sources)}:v=1[out]"])
    # Cheap to make, but with the entropy coder that films in the wild have.
    encode = (
        "-map",
        "[out]",
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-x264-params",
        "cabac=1",
        "-crf",
        "9",
    )
    quiet = ("ffmpeg", "-nostdin", "-v", "error", "-y")
    run(*quiet, *inputs, "-filter_complex", graph, *encode, clip)
    # The same clip over and over would be a film that looks the same from many places, so that a wrong
    # range might be right by chance; the time stamps in the file differ, and the test looks at long ranges.
    again = MIN_FILM // clip.stat().st_size
    run(*quiet, "-stream_loop", again, "-i", clip, "-c", "copy", path)
    clip.unlink()


def make_site(folder: Path) -> Path:
    make_film(folder / "film.mp4")
    chance = random.Random(11)
    for number in range(PAGES):
        words = " ".join(chance.choices(["archive", "record", "range", "frame", "page"], k=900))
        links = "".join(f"<a href='{n}.html'>{n}</a>" for n in range(PAGES))
        more = "<a href='film.mp4'>film</a>" if number == 5 else ""
        page = (
            f"<!doctype html><title>{number}</title><img src='{number % 3}.png'>{links}{more}<p>{words}</p>"
        )
        (folder / f"{number}.html").write_text(page)
    for number in range(3):
        source = f"mandelbrot=size=320x240:start_scale={number + 1}"
        image = folder / f"{number}.png"
        run("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-frames:v", "1", image)
    return folder / "film.mp4"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the site; return its address and the film."""
    folder = tmp_path_factory.mktemp("site")
    film = make_site(folder)
    print(f"film: {film.stat().st_size / 1e6:.0f} MB")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", film
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass(frozen=True)
class Crawled:
    gz: Path
    zst: Path
    film: Path
    film_uri: str


@pytest.fixture(scope="module")
def crawled(site: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Crawl the site with Wget, and convert what it wrote."""
    address, film = site
    folder = tmp_path_factory.mktemp("crawl")
    wget = ("wget", "-q", "-r", "-l", "3", "-e", "robots=off", "--warc-file", "crawl", "--delete-after")
    # 8: the server has no robots.txt, no favicon, or the like.
    run(*wget, f"{address}/0.html", cwd=folder, statuses=(0, 8))
    made = Crawled(folder / "crawl.warc.gz", folder / "crawl.warc.zst", film, f"{address}/film.mp4")
    done = run(sys.executable, "-m", "seekwarc", "convert", made.gz, made.zst)
    assert b"Traceback" not in done.stderr
    print(
        f"wget: {made.gz.stat().st_size / 1e6:.1f} MB .warc.gz; "
        f"convert: {made.zst.stat().st_size / 1e6:.1f} MB .warc.zst\n"
        f"{done.stdout.decode()}"
    )
    return made


def the_film_is_large_and_varied(crawled: Crawled) -> None:
    size = crawled.film.stat().st_size
    assert size >= MIN_FILM
    with crawled.film.open("rb") as film:
        film.seek(size // 2)
        data = film.read(STEP)
    assert len(zstandard.compress(data)) / STEP > 0.5, "video, not something flat"


def film_record(archive: seekwarc.Reader, uri: str) -> seekwarc.Record:
    return next(r for r in archive if r.type == "response" and r.target_uri == uri)


def ranges_of_the_film_are_the_bytes_of_its_file(crawled: Crawled) -> None:
    size = crawled.film.stat().st_size
    chance = random.Random(5)
    starts = [0, size // 2, size - 65536, *(chance.randrange(size - 65536) for _ in range(20))]
    with seekwarc.open(crawled.zst) as archive, crawled.film.open("rb") as film:
        payload = film_record(archive, crawled.film_uri).payload
        assert payload.size == size
        for start in starts:
            film.seek(start)
            assert payload.pread(start, 65536) == film.read(65536)


def a_range_costs_little(crawled: Crawled) -> None:
    with seekwarc.open(crawled.zst) as archive:
        record = film_record(archive, crawled.film_uri)
        offset, length = record.offset, record.length
    for given in (length, None):
        with seekwarc.open(crawled.zst) as archive, crawled.film.open("rb") as film:
            middle = crawled.film.stat().st_size // 2
            data = archive.record_at(offset, given).payload.pread(middle, 65536)
            film.seek(middle)
            assert data == film.read(65536)
            stats = archive.stats
            assert stats.bytes_decoded < STEP
            assert stats.bytes_fetched < STEP
            assert stats.requests <= (3 if given else 5)
            known = "known" if given else "not known"
            print(f"64 KiB from the middle, length {known}: {stats}")


def columns_without_payload_fetch_two_percent_of_it(crawled: Crawled) -> None:
    import pyarrow as pa  # noqa: PLC0415

    columns = [name for name in COLUMNS if name != "payload"]
    with RangeServer(crawled.zst.read_bytes()) as server:
        found = pa.table(seekwarc.batches(server.url, columns))
        fetched, requests = sum(asked.sent for asked in server.asked), len(server.asked)
    size = crawled.zst.stat().st_size
    print(f"{found.num_rows} rows: {fetched} of {size} bytes ({fetched / size:.2%}) in {requests} requests")
    with seekwarc.open(crawled.zst) as archive:
        assert found["record_id"].to_pylist() == [record.id for record in archive]
        assert found["payload_size"].to_pylist() == [record.payload.size for record in archive]
    assert found["error"].null_count == found.num_rows
    assert fetched < 0.02 * size


def the_command_reads_a_range(crawled: Crawled) -> None:
    middle = crawled.film.stat().st_size // 2
    words = ("cat", crawled.zst, "--uri", crawled.film_uri, "--range", f"{middle}+100000")
    found = run(sys.executable, "-m", "seekwarc", *words).stdout
    with crawled.film.open("rb") as film:
        film.seek(middle)
        assert found == film.read(100_000)


def gzip_digest(path: Path) -> str:
    """SHA-256 of all members' content, with zlib alone."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        inflater, data = zlib.decompressobj(31), file.read(STEP)
        while data:
            digest.update(inflater.decompress(data))
            data = inflater.unused_data or file.read(STEP)
            if inflater.eof and data:
                inflater = zlib.decompressobj(31)
    assert inflater.eof
    return digest.hexdigest()


def zstandard_digest(path: Path) -> str:
    """SHA-256 of all frames' content, with libzstd alone."""
    digest = hashlib.sha256()
    with (
        path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as reader,
    ):
        while data := reader.read(STEP):
            digest.update(data)
    return digest.hexdigest()


def the_whole_stream_is_what_wget_wrote(crawled: Crawled) -> None:
    assert zstandard_digest(crawled.zst) == gzip_digest(crawled.gz)


def fastwarc_finds_the_same_records(crawled: Crawled) -> None:
    from fastwarc.warc import ArchiveIterator  # noqa: PLC0415

    def seen(path: Path) -> list[tuple]:
        records = []
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                digest = hashlib.sha256()
                while data := record.reader.read(STEP):
                    digest.update(data)
                records.append((list(record.headers.items()), record.content_length, digest.digest()))
        return records

    of_gzip, of_zstd = seen(crawled.gz), seen(crawled.zst)
    assert of_zstd == of_gzip
    assert len(of_gzip) >= 2 * (PAGES + 4)
    with seekwarc.open(crawled.zst) as archive:
        assert [dict(fields)["WARC-Record-ID"] for fields, _, _ in of_zstd] == [f"<{r.id}>" for r in archive]


def every_page_and_image_is_there(crawled: Crawled) -> None:
    found = set()
    with seekwarc.open(crawled.zst) as archive:
        for record in archive:
            name = (record.target_uri or "").rpartition("/")[2]
            path = crawled.film.parent / name
            if record.type == "response" and record.http.status == 200 and path.suffix in (".html", ".png"):
                assert record.payload.read() == path.read_bytes()
                found.add(name)
    assert len(found) == PAGES + 3


CHECKS = [
    the_film_is_large_and_varied,
    ranges_of_the_film_are_the_bytes_of_its_file,
    a_range_costs_little,
    columns_without_payload_fetch_two_percent_of_it,
    the_command_reads_a_range,
    the_whole_stream_is_what_wget_wrote,
    fastwarc_finds_the_same_records,
    every_page_and_image_is_there,
]


@pytest.mark.needs("module:obstore", "module:pyarrow", "module:fastwarc")
def test_a_crawl_with_a_film_becomes_seekable(crawled: Crawled) -> None:
    # One test: pytest-xdist would give several to several workers, each of which would crawl the site.
    for check in CHECKS:
        check(crawled)
