"""Archives on real servers: nginx, moto's S3, and the range server that adds latency and misbehaves.

What a read costs is taken from the servers' own logs.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.errors import SeekWarcError, SourceChangedError
from seekwarc.storage import remote
from tests.support.foreign import Foreign
from tests.support.nginx import nginx as running_nginx
from tests.support.processes import PATIENT, settles
from tests.support.rangeserver import (
    Answer,
    Asked,
    Content,
    Fault,
    RangeServer,
    delayed,
    dropped,
    headed,
    round_trips,
    status,
)
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    Repeated,
    frame_end,
    noise,
    small_dictionary,
    text,
)

pytestmark = [pytest.mark.slow, pytest.mark.needs("module:obstore")]

GIB = 1 << 30
SMALL = 40
LATENCY = 0.4
"""Seconds in which a thread begins its request even where the processors have other work."""
"""Where round trips are counted: requests made together must overlap on a busy machine, too."""


class Headed:
    """A stream with an HTTP head in front."""

    def __init__(self, stream: Any) -> None:
        self._head = io.BytesIO(HTTP_HEAD)
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._stream.read(size)


@dataclass(frozen=True)
class Crawl:
    """A file of small records with two large ones among them."""

    stored: bytes
    large: tuple[seekwarc.Written, seekwarc.Written]
    content: Callable[[int, int], bytes]
    """Tells the payload's bytes [start, stop), which both large records have."""
    size: int


def made(page: bytes, size: int, **options: Any) -> Crawl:
    target = io.BytesIO()
    large = []
    stream = Repeated(page, size)
    with seekwarc.Writer(target, digest=None, level=1, **options) as writer:
        for part in range(2):
            for number in range(SMALL):
                block = noise(20 * KIB, seed=100 * part + number)
                writer.write("resource", target_uri=f"{URI}{number}", block=block, date=DATE)
            large.append(
                writer.write(
                    "response",
                    target_uri=f"{URI}large{part}",
                    block=Headed(Repeated(page, size)),
                    length=size + len(HTTP_HEAD),
                    content_type=RESPONSE,
                )
            )
    return Crawl(target.getvalue(), (large[0], large[1]), stream.content, size)


KINDS: dict[str, Callable[[], Crawl]] = {
    "noise": lambda: made(noise(4 * MIB + 7), 16 * MIB),
    "text": lambda: made(text(MIB), 64 * MIB),
    "dictionary": lambda: made(text(MIB), 40 * MIB, dictionary=small_dictionary()),
    "gigabyte": lambda: made(text(MIB), GIB),
}


@pytest.fixture(
    scope="module",
    params=["noise", "text", "dictionary", pytest.param("gigabyte", marks=pytest.mark.large)],
)
def crawl(request: pytest.FixtureRequest) -> Crawl:
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def noisy() -> Crawl:
    return KINDS["noise"]()


# Servers.


class Served:
    """A file on a server: its URL, and what the server was asked since the log was emptied."""

    def __init__(self, url: str, log: Callable[[], list[Asked]], put: Callable[[bytes], None]) -> None:
        self.url = url
        self.put = put
        self._log = log
        self._passed = 0

    @property
    def asked(self) -> list[Asked]:
        return self._log()[self._passed :]

    def forget(self) -> None:
        self._passed = len(self._log())


@contextlib.contextmanager
def range_server(stored: bytes, _: Path) -> Iterator[Served]:
    with RangeServer(stored) as server:

        def put(data: bytes) -> None:
            server.content = Content(data, '"second"')

        yield Served(server.url, lambda: server.asked, put)


LINES = """\
log_format asked escape=json '{{"method": "$request_method", "target": "$request_uri", "status": $status, '
    '"range": "$http_range", "sent": $body_bytes_sent, "match": "$http_if_match"}}';
  access_log {folder}/asked.log asked;
  keepalive_timeout 5;
"""


@contextlib.contextmanager
def nginx(stored: bytes, folder: Path) -> Iterator[Served]:
    (folder / "files").mkdir()
    path = folder / "files" / "crawl.warc.zst"
    path.write_bytes(stored)
    log = folder / "asked.log"
    log.touch()

    def asked() -> list[Asked]:
        found = [json.loads(line) for line in log.read_text().splitlines()]
        return [
            Asked(
                number,
                one["method"],
                one["target"],
                {"range": one["range"], "if-match": one["match"]},
                0.0,
                0.0,
                one["status"],
                one["sent"],
            )
            for number, one in enumerate(found)
        ]

    def put(data: bytes) -> None:
        new = folder / "files" / "new"
        new.write_bytes(data)
        # nginx makes its ETag of time and size.
        os.utime(new, (1_700_000_000, 1_700_000_000))
        new.rename(path)

    with running_nginx(folder, LINES.format(folder=folder), root=folder / "files") as port:
        yield Served(f"http://127.0.0.1:{port}/crawl.warc.zst", asked, put)


class Logged:
    """A WSGI application with each request taken down."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._lock = threading.Lock()
        self.asked: list[Asked] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        headers = {"range": environ.get("HTTP_RANGE"), "if-match": environ.get("HTTP_IF_MATCH")}
        target = environ["PATH_INFO"]
        with self._lock:
            one = Asked(len(self.asked), environ["REQUEST_METHOD"], target, headers, time.monotonic())
            self.asked.append(one)

        def started(answer: str, *rest: Any) -> Any:
            one.status = int(answer.split(maxsplit=1)[0])
            return start_response(answer, *rest)

        found = self._application(environ, started)
        one.ended = time.monotonic()
        return found


@contextlib.contextmanager
def moto(stored: bytes, _: Path) -> Iterator[Served]:
    import obstore  # noqa: PLC0415
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: Any) -> None:
            pass

    application = Logged(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "anyone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        patch.setenv("AWS_REGION", "us-east-1")
        bucket = f"bucket{random.randrange(10**9)}"
        import urllib.request  # noqa: PLC0415

        made = urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")
        urllib.request.urlopen(made, timeout=PATIENT).close()
        store = S3Store(bucket, client_options={"allow_http": True, "timeout": "60s"})

        def put(data: bytes) -> None:
            obstore.put(store, "crawls/crawl.warc.zst", data, use_multipart=False)

        try:
            put(stored)
            application.asked.clear()
            yield Served(f"s3://{bucket}/crawls/crawl.warc.zst", lambda: application.asked, put)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


SERVERS = {"range server": range_server, "nginx": nginx, "moto": moto}


@pytest.fixture(
    scope="module",
    params=[
        "range server",
        pytest.param("nginx", marks=pytest.mark.needs("nginx")),
        pytest.param("moto", marks=pytest.mark.needs("module:moto", "module:flask_cors")),
    ],
)
def server(request: pytest.FixtureRequest) -> Callable[[bytes, Path], Any]:
    return SERVERS[request.param]


@pytest.fixture(scope="module")
def served(
    crawl: Crawl, server: Callable[[bytes, Path], Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with server(crawl.stored, folder) as one:
        yield one
    shutil.rmtree(folder)


@pytest.fixture
def asked(served: Served) -> Served:
    served.forget()
    return served


# What reading costs, by the servers' own logs.


def test_a_cold_read_by_offset_and_length(asked: Served, crawl: Crawl) -> None:
    place = crawl.large[1]
    with seekwarc.open(asked.url) as archive:
        record = archive.record_at(place.offset, place.length)
        assert record.payload.pread(crawl.size // 2, KIB) == crawl.content(
            crawl.size // 2, crawl.size // 2 + KIB
        )
        assert settles(lambda: len(asked.asked) == archive.stats.requests)
        log = asked.asked
        assert len(log) <= 4
        assert {one.method for one in log} == {"GET"}
        assert {one.status for one in log} == {206}
        assert log[-1].headers["if-match"], "what came first decides which version is read"
        assert all(one.range.startswith("bytes=") and not one.range.startswith("bytes=-") for one in log)
        # Dictionary or not, the head of the file; the record's; its table; one frame.
        assert archive.stats.bytes_fetched <= (128 + 32 + 256) * KIB + MIB

        asked.forget()
        for start in (crawl.size // 3, 100, crawl.size - KIB):
            before = archive.stats.requests
            assert record.payload.pread(start, KIB) == crawl.content(start, start + KIB)
            assert archive.stats.requests - before <= 1
        assert settles(lambda: len(asked.asked) <= 3)


def test_only_the_frames_of_the_range_are_fetched(asked: Served, crawl: Crawl) -> None:
    place = crawl.large[0]
    with seekwarc.open(asked.url) as archive:
        payload = archive.record_at(place.offset, place.length).payload
        payload.pread(0, 1)
        for start, length in ((crawl.size // 2 + 17, 3 * MIB), (crawl.size // 4, 10)):
            plan = payload.plan(start, start + length)
            fetched, decoded = archive.stats.bytes_fetched, archive.stats.bytes_decoded
            assert payload.pread(start, length) == crawl.content(start, start + length)
            assert archive.stats.bytes_fetched - fetched == plan.bytes_fetched
            assert archive.stats.bytes_decoded - decoded == plan.bytes_decoded
            for begin, end in plan.ranges:
                position = begin
                while position < end:
                    position = frame_end(crawl.stored, position)
                assert position == end, "whole frames, and nothing after them"


def test_without_a_length_the_file_table_is_used(asked: Served, crawl: Crawl) -> None:
    place = crawl.large[0]
    with seekwarc.open(asked.url) as archive:
        record = archive.record_at(place.offset)
        assert record.payload.pread(5 * MIB, KIB) == crawl.content(5 * MIB, 5 * MIB + KIB)
        assert record.seek_table_status == "file"
        assert settles(lambda: len(asked.asked) == archive.stats.requests)
        # Heads of file and record and the end of the file; a look at the record's last frame; the frame.
        assert len(asked.asked) <= 5
        assert archive.stats.bytes_fetched <= (128 + 32 + 256) * KIB + MIB


def test_listing_fetches_no_payload_of_a_large_record(asked: Served, crawl: Crawl) -> None:
    with seekwarc.open(asked.url) as archive:
        records = list(archive)
        assert [record.offset for record in records if record.type == "response"] == [
            place.offset for place in crawl.large
        ]
        assert len(records) == 2 * SMALL + 2
        small = 2 * SMALL * 21 * KIB
        assert archive.stats.bytes_fetched <= small + 4 * MIB
        assert settles(lambda: len(asked.asked) == archive.stats.requests)
        assert len(asked.asked) <= 30
    middle = [place.offset + place.length // 2 for place in crawl.large]
    for one in asked.asked:
        first, last = (
            map(int, one.range.removeprefix("bytes=").split("-")) if "=-" not in one.range else (0, 0)
        )
        assert not any(first <= position <= last for position in middle)


def test_reading_everything_fetches_everything_once(asked: Served, crawl: Crawl) -> None:
    place = crawl.large[0]
    with seekwarc.open(asked.url) as archive:
        record = archive.record_at(place.offset, place.length)
        with record.payload.open() as file:
            position = 0
            while data := file.read(300_000):
                assert data == crawl.content(position, position + len(data))
                position += len(data)
        assert position == crawl.size
        assert archive.stats.bytes_fetched <= place.length + MIB
        # Several frames a request, once it is seen that one follows the other.
        assert archive.stats.requests < len(record.body.frames) // 3 + 12


def test_many_threads_read_at_random(asked: Served, crawl: Crawl) -> None:
    with seekwarc.open(asked.url) as archive:

        def read(seed: int) -> bool:
            chance = random.Random(seed)
            place = chance.choice(crawl.large)
            payload = archive.record_at(place.offset, place.length).payload
            for _ in range(2):
                start = chance.randrange(crawl.size)
                stop = min(start + chance.choice([1, 1000, 200_000]), crawl.size)
                if payload.pread(start, stop - start) != crawl.content(start, stop):
                    return False
            return True

        with ThreadPoolExecutor(64) as pool:
            assert all(pool.map(read, range(64)))


@pytest.mark.parametrize("form", ["warc.zst", "warc.gz", "warc"])
def test_sampling_headers_costs_little_more_than_the_records(
    server: Callable[[bytes, Path], Any], tmp_path: Path, form: str
) -> None:
    chance = random.Random(3)
    made = Foreign()
    for number in range(400):
        made.record(noise(chance.randrange(9000), seed=number))
    if form != "warc.zst":
        made = made.gzip() if form == "warc.gz" else made.plain()
    sampled = chance.sample(made.records, 100)
    with server(made.bytes(), tmp_path) as one, seekwarc.open(one.url) as archive:
        for put in sampled:
            assert archive.record_at(put.offset, put.length).type == "resource"
        size = sum(put.length for put in sampled)
        print(f"{size} bytes of records, {archive.stats.bytes_fetched} fetched")
        assert archive.stats.bytes_fetched <= 1.2 * size
        assert len(one.asked) <= 101


def test_a_replaced_object_is_noticed(
    server: Callable[[bytes, Path], Any], noisy: Crawl, tmp_path: Path
) -> None:
    place = noisy.large[0]
    other = noisy.stored[:-1] + b"x"
    with server(noisy.stored, tmp_path) as one, seekwarc.open(one.url) as archive:
        payload = archive.record_at(place.offset, place.length).payload
        payload.pread(5 * MIB, KIB)
        one.put(other)
        with pytest.raises(SourceChangedError):
            payload.pread(9 * MIB, KIB)
        assert payload.pread(5 * MIB, KIB) == noisy.content(5 * MIB, 5 * MIB + KIB), "what is cached stays"
        with seekwarc.open(one.url) as again:
            payload = again.record_at(place.offset, place.length).payload
            assert payload.pread(9 * MIB, KIB) == noisy.content(9 * MIB, 9 * MIB + KIB)


@pytest.mark.parametrize("kind", ["records", "payload"])
def test_parts_of_an_object_replaced_amid_a_read_are_refused(
    server: Callable[[bytes, Path], Any], noisy: Crawl, tmp_path: Path, kind: str
) -> None:
    with server(noisy.stored, tmp_path) as one:
        parts = seekwarc.splits(one.url, target_bytes=8 * MIB, inside_records=kind == "payload")
        reading = seekwarc.read_split(next(part for part in parts if part.kind == kind))
        found = next(reading)
        if kind == "payload":
            assert found.pread(0, KIB) == noisy.content(0, KIB)
        before = len(one.asked)
        one.put(noisy.stored[:-1] + b"x")
        with pytest.raises(SourceChangedError, match=r"crawl\.warc\.zst: .* replaced"):
            if kind == "payload":
                found.pread(5 * MIB, KIB)
            for record in reading:
                record.payload.read()
        assert len(one.asked) - before < 16, "asking again would be in vain"


def test_the_command_takes_urls(
    server: Callable[[bytes, Path], Any], noisy: Crawl, tmp_path: Path, run_cli: Any
) -> None:
    place = noisy.large[1]
    with server(noisy.stored, tmp_path) as one:
        done = run_cli("cat", one.url, place.offset, "--length", place.length, "--range", "5000000+65536")
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == noisy.content(5_000_000, 5_065_536)
        done = run_cli("ls", one.url, "--json")
        assert done.returncode == 0
        assert len(done.stdout.splitlines()) == 2 * SMALL + 2


def test_the_command_says_what_is_wrong_and_keeps_secrets(run_cli: Any) -> None:
    for answer, words in ((404, b"no such object"), (403, b"access is denied"), (200, b"the whole file")):
        with RangeServer(b"", fault=status(answer)) as server:
            done = run_cli("ls", f"{server.url}?sig=SECRET")
        assert done.returncode == 2
        assert words in done.stderr
        assert b"SECRET" not in done.stderr + done.stdout
        assert b"Traceback" not in done.stderr


# Latency.


def test_round_trips(crawl: Crawl) -> None:
    place = crawl.large[1]
    middle = crawl.size // 2
    with RangeServer(crawl.stored, latency=LATENCY) as server, seekwarc.open(server.url) as archive:
        payload = archive.record_at(place.offset, place.length).payload
        assert payload.pread(middle, KIB) == crawl.content(middle, middle + KIB)
        assert round_trips(server.asked) == 2
        assert len(server.asked) <= 4

        server.forget()
        assert payload.pread(100, KIB) == crawl.content(100, 100 + KIB)
        assert round_trips(server.asked) == len(server.asked) <= 1

        server.forget()
        place = crawl.large[0]
        payload = archive.record_at(place.offset, place.length).payload
        assert payload.pread(middle, KIB) == crawl.content(middle, middle + KIB)
        assert (len(server.asked), round_trips(server.asked)) == (3, 2), "the file's head is known by now"


def test_a_long_read_takes_few_round_trips(noisy: Crawl) -> None:
    place = noisy.large[0]
    with RangeServer(noisy.stored, latency=LATENCY) as server, seekwarc.open(server.url) as archive:
        payload = archive.record_at(place.offset, place.length).payload
        assert payload.read() == noisy.content(0, noisy.size)
        assert round_trips(server.asked) <= 3


def test_small_records_take_one_round_trip(noisy: Crawl) -> None:
    with seekwarc.open(noisy.stored) as archive:
        small = [(one.offset, one.length, one.block.read()) for one in archive if one.type == "resource"]
    with RangeServer(noisy.stored, latency=LATENCY) as server, seekwarc.open(server.url) as archive:
        for offset, length, block in small[-3:]:
            server.forget()
            assert archive.record_at(offset, length).block.read() == block
            assert round_trips(server.asked) == 1


def test_the_disk_cache_saves_what_was_fetched_before(noisy: Crawl, tmp_path: Path) -> None:
    place = noisy.large[0]
    fetched = []
    with RangeServer(noisy.stored) as server:
        for _ in range(2):
            cache = seekwarc.DiskCache(tmp_path, limit=64 * MIB)
            with seekwarc.open(server.url, disk_cache=cache) as archive:
                payload = archive.record_at(place.offset, place.length).payload
                assert payload.pread(5 * MIB, 4 * MIB) == noisy.content(5 * MIB, 9 * MIB)
                fetched.append(archive.stats.bytes_fetched)
        server.content = Content(noisy.stored, '"second"')
        server.forget()
        cache = seekwarc.DiskCache(tmp_path, limit=64 * MIB)
        with seekwarc.open(server.url, disk_cache=cache) as archive:
            archive.record_at(place.offset, place.length).payload.pread(5 * MIB, 4 * MIB)
            fetched.append(archive.stats.bytes_fetched)
    # Which of two requests side by side comes first decides whether a block that both touch is fetched twice.
    assert min(fetched[0], fetched[2]) > 4 * MIB, "another version is another object"
    assert fetched[1] < 512 * KIB


# Misbehaviour: the right bytes or a typed error.


MISBEHAVIOUR: dict[str, Fault] = {
    "ignores Range": lambda asked, answer: Answer(200, answer.headers, bytes(1000), cut=1000),
    "shifted": headed(content_range="bytes 1-2/3"),
    "shortened": lambda _, answer: replace(answer, body=answer.body[: len(answer.body) // 2 + 1]),
    "503": status(503),
    "503 with Retry-After": status(503, retry_after="0"),
    "drops midway": dropped(10_000),
    "other ETag": headed(etag='"other"'),
    "other date": headed(last_modified="Thu, 01 Jan 2015 00:00:00 GMT"),
    "Content-Encoding": headed(content_encoding="br"),
    "no Content-Range": headed(content_range=None),
    "late": delayed(0.02),
    "other bytes": lambda _, answer: Answer(answer.status, answer.headers, bytes(len(answer.body))),
}


@pytest.mark.parametrize("name", MISBEHAVIOUR)
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_no_misbehaving_server_gives_wrong_bytes(
    noisy: Crawl, name: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(remote, "BUSY_WAIT", 0.001)
    chance = random.Random(name)

    def sometimes(asked: Asked, answer: Answer) -> Answer:
        return MISBEHAVIOUR[name](asked, answer) if chance.random() < share else answer

    right = refused = 0
    with RangeServer(noisy.stored, fault=sometimes) as server:
        for _ in range(8):
            try:
                with seekwarc.open(server.url) as archive:
                    place = chance.choice(noisy.large)
                    payload = archive.record_at(place.offset, chance.choice([place.length, None])).payload
                    for _ in range(3):
                        start = chance.randrange(noisy.size - MIB)
                        assert payload.pread(start, 300_000) == noisy.content(start, start + 300_000)
                        right += 1
            except SeekWarcError:
                refused += 1
    recovered = {"shortened", "drops midway", "late", "other date"}
    if name in recovered:
        assert refused == 0
    elif share == 1.0 and name != "other ETag":
        assert right == 0
    else:
        assert right + refused > 0
