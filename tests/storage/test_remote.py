"""Remote objects: right bytes or a typed error, whatever the server does."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seekwarc.errors import (
    RangeNotSupportedError,
    SeekWarcError,
    SourceChangedError,
    SourceError,
    SourceNotFoundError,
    SourceTimeoutError,
)
from seekwarc.read.reader import Reader
from seekwarc.storage import remote
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.remote import RemoteSource
from seekwarc.storage.source import RangeSource, Stats
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT, wait_until
from tests.support.rangeserver import (
    Answer,
    Content,
    Fault,
    RangeServer,
    after,
    delayed,
    dropped,
    first,
    headed,
    status,
)
from tests.support.writing import noise

pytestmark = pytest.mark.needs("module:obstore")

DATA = noise(400_000, seed=31)
OTHER = noise(400_000, seed=32)
START, STOP = 1000, 301_000


@pytest.fixture
def server() -> Any:
    with RangeServer(DATA) as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(remote, "BUSY_WAIT", 0.002)


def opened(server: RangeServer, **options: float) -> RemoteSource:
    return RemoteSource(server.url, **options)


# Requests.


def test_it_is_a_source(server: RangeServer) -> None:
    source = open_source(server.url)
    assert open_source(source) is source
    assert server.asked == [], "nothing is asked before the first read"
    assert isinstance(source, RangeSource)
    assert source.name == server.url


def test_ranges_are_read(server: RangeServer) -> None:
    source = opened(server)
    for start, stop in ((0, 10), (START, STOP), (5, 5), (len(DATA) - 1, len(DATA))):
        assert source.read(start, stop) == DATA[start:stop]
    assert [asked.range for asked in server.asked] == [
        "bytes=0-9",
        "bytes=1000-300999",
        "bytes=399999-399999",
    ]
    # Fewer bytes only at the end; and after it, once it is known, nothing is requested.
    assert source.read(len(DATA) - 5, len(DATA) + 5) == DATA[-5:]
    assert source.read(len(DATA), len(DATA) + 5) == b""
    assert len(server.asked) == 4


def test_only_gets_are_sent_and_without_accept_encoding(server: RangeServer) -> None:
    source = opened(server)
    assert source.size == len(DATA)
    source.read(0, 10)
    assert {asked.method for asked in server.asked} == {"GET"}
    assert all(asked.headers.get("accept-encoding") in (None, "identity") for asked in server.asked)
    assert all(asked.range for asked in server.asked)


def test_a_first_read_after_the_end_finds_out_the_size(server: RangeServer) -> None:
    source = opened(server)
    assert source.read(len(DATA) + 7, len(DATA) + 9) == b""
    assert source.read(0, 5) == DATA[:5]


def test_the_first_read_may_be_of_the_end(server: RangeServer) -> None:
    source = opened(server)
    assert source.read_end(100) == (len(DATA) - 100, DATA[-100:])
    assert len(server.asked) == 1
    assert source.known_size == source.size == len(DATA)
    assert source.read_end(10**9) == (0, DATA)
    assert len(server.asked) == 2


def test_a_server_without_suffixes_is_asked_for_its_first_byte(server: RangeServer) -> None:
    server.takes_suffixes = False
    assert opened(server).read_end(100) == (len(DATA) - 100, DATA[-100:])
    assert [asked.range for asked in server.asked] == ["bytes=-100", "bytes=0-0", "bytes=399900-399999"]


def test_an_empty_object(server: RangeServer) -> None:
    server.content = Content(b"")
    source = opened(server)
    assert source.read_end(100) == (0, b"")
    asked = len(server.asked)
    assert (source.size, source.read(0, 10)) == (0, b"")
    assert len(server.asked) == asked


@pytest.mark.parametrize("read", [lambda it: it.size, lambda it: it.read(0, 10)], ids=["size", "read"])
def test_416_to_all_ranges_is_not_an_empty_file(
    server: RangeServer, read: Callable[[RemoteSource], object]
) -> None:
    server.fault = lambda asked, answer: (
        status(416)(asked, answer) if asked.range else Answer(200, {"Content-Length": str(len(DATA))}, DATA)
    )
    source = opened(server)
    for _ in range(2):
        with pytest.raises(RangeNotSupportedError, match="416"):
            read(source)


def test_416_to_everything_is_refused(server: RangeServer) -> None:
    server.fault = status(416)
    with pytest.raises(SourceError, match="416"):
        _ = opened(server).size


def test_long_ranges_are_requested_in_bounded_parts(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "REMOTE", remote.REMOTE._replace(max_request=100_000))
    assert opened(server).read(START, STOP) == DATA[START:STOP]
    assert [asked.sent for asked in server.asked] == [100_000] * 3


def test_requests_in_flight_are_limited() -> None:
    with RangeServer(DATA, latency=0.02) as server:
        source = opened(server)
        with ThreadPoolExecutor(64) as pool:
            found = list(pool.map(lambda n: source.read(n * 100, n * 100 + 50), range(64)))
        assert found == [DATA[n * 100 : n * 100 + 50] for n in range(64)]
        times = sorted([(one.began, 1) for one in server.asked] + [(one.ended, -1) for one in server.asked])
        under_way = most = 0
        for _, change in times:
            under_way += change
            most = max(most, under_way)
        assert 2 <= most <= remote.REMOTE.in_flight


# Failures that are retried.


RECOVERED: dict[str, Fault] = {
    "drops midway": first(1, dropped(100_000)),
    "drops again and again": dropped(80_000),
    "drops early, again and again": dropped(20_000),
    "drops at once": first(3, dropped(0)),
    "shortened": first(1, lambda _, answer: replace(answer, body=answer.body[:100_000])),
    "500": first(1, status(500)),
    "502": first(1, status(502)),
    "503": first(2, status(503)),
    "503 with Retry-After": first(1, status(503, retry_after="1")),
    "429": first(1, status(429)),
    "408": first(1, status(408)),
    "503, then drops": first(2, lambda asked, answer: (status(503), dropped(9))[asked.number](asked, answer)),
}


@pytest.mark.parametrize("fault", RECOVERED.values(), ids=RECOVERED)
@pytest.mark.parametrize("pinned", [False, True])
def test_transient_failures_are_retried(server: RangeServer, fault: Fault, pinned: bool) -> None:
    source = opened(server)
    if pinned:
        source.read(0, 1)
        server.forget()
    server.fault = fault
    assert source.read(START, STOP) == DATA[START:STOP]
    assert len(server.asked) > 1


def test_a_retry_begins_at_the_first_missing_byte(server: RangeServer) -> None:
    server.fault = first(1, dropped(100_000))
    opened(server).read(START, STOP)
    again = int(re.fullmatch(r"bytes=(\d+)-300999", server.asked[1].range)[1])
    assert START < again <= START + 100_000
    assert server.asked[1].headers["if-match"] == '"first"'


def test_a_read_of_the_end_is_retried_too(server: RangeServer) -> None:
    server.fault = first(1, dropped(100_000))
    assert opened(server).read_end(300_000) == (100_000, DATA[100_000:])
    assert server.asked[0].range == "bytes=-300000"


def test_a_busy_server_is_given_more_time(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BUSY_WAIT", 0.1)
    server.fault = first(2, status(503))
    opened(server).read(0, 10)
    one, two, three = (asked.began for asked in server.asked)
    assert two - one >= 0.1
    assert three - two >= 0.2, "and more of it the second time"


def test_waits_differ_from_client_to_client(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []

    class Waiting(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            return False

    for _ in range(5):
        server.forget()
        server.fault = first(1, status(503))
        source = opened(server)
        monkeypatch.setattr(source, "_closed", Waiting())
        source.read(0, 10)
    assert len(set(waits)) == 5


# Answers that are refused.


REFUSED: dict[str, tuple[Fault, type[SourceError], str]] = {
    "ignores Range": (lambda _, __: Answer(200, {}, DATA), RangeNotSupportedError, "sends the whole file"),
    "shifted": (headed(content_range="bytes 1001-301000/400000"), RangeNotSupportedError, "Content-Range"),
    "says less": (headed(content_range="bytes 1000-2000/400000"), RangeNotSupportedError, "Content-Range"),
    "no Content-Range": (headed(content_range=None), RangeNotSupportedError, "Content-Range"),
    "no total": (headed(content_range="bytes 1000-300999/*"), RangeNotSupportedError, "Content-Range"),
    "impossible total": (
        headed(content_range="bytes 1000-300999/5"),
        RangeNotSupportedError,
        "Content-Range",
    ),
    "nonsense": (headed(content_range="lines 1-2/3"), RangeNotSupportedError, "Content-Range"),
    "too much": (
        lambda _, answer: replace(answer, body=bytes(answer.body) + b"x"),
        RangeNotSupportedError,
        "more bytes came than the 300000",
    ),
    "compressed": (headed(content_encoding="gzip"), RangeNotSupportedError, "'gzip'"),
    "404": (status(404), SourceNotFoundError, "no such object"),
    "401": (status(401), SourceError, "access is denied"),
    "403": (status(403), SourceError, "access is denied"),
    "400": (status(400), SourceError, "400 Bad Request"),
    "always 503": (status(503), SourceError, "503 Service Unavailable"),
    "always drops": (dropped(0), SourceError, "connection broke"),
}


@pytest.mark.parametrize(("fault", "kind", "text"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("pinned", [False, True])
def test_wrong_answers_are_refused(
    server: RangeServer, fault: Fault, kind: type[SourceError], text: str, pinned: bool
) -> None:
    source = opened(server)
    if pinned:
        source.read(0, 1)
    server.fault = fault
    with pytest.raises(SourceError, match=f"^{re.escape(server.url)}[:,] .*{re.escape(text)}") as caught:
        source.read(START, STOP)
    assert type(caught.value) is kind
    assert len(server.asked) <= remote.ATTEMPTS + pinned


@pytest.mark.parametrize("name", ["ignores Range", "shifted", "no Content-Range", "compressed", "404", "403"])
def test_lasting_failures_are_not_retried(server: RangeServer, name: str) -> None:
    server.fault = REFUSED[name][0]
    with pytest.raises(SourceError):
        opened(server).read(START, STOP)
    assert len(server.asked) == 1


def compressed_on_its_way(compress: Callable[[bytes], bytes], coding: str) -> Fault:
    return lambda _, answer: replace(answer, body=compress(bytes(answer.body))).but(content_encoding=coding)


LABELS = [
    ("a.warc.gz", "gzip"),
    ("a.warc.gz", "x-gzip"),
    ("A.WARC.GZ", "GZip"),
    ("a.warc.gz.seek", "x-gzip"),
    ("a.warc.gz?signature=x.zst", "gzip"),
    ("a.warc.zst", "zstd"),
]


@pytest.mark.parametrize(("name", "label"), LABELS)
def test_a_stored_file_is_read_that_is_labelled_with_its_coding(
    server: RangeServer, name: str, label: str
) -> None:
    server.fault = headed(content_encoding=label)
    source = RemoteSource(f"{server.root}/{name}")
    assert source.read_end(10) == (len(DATA) - 10, DATA[-10:])
    for start, stop in ((0, 10), (START, STOP), (0, len(DATA))):
        assert source.read(start, stop) == DATA[start:stop]
    assert all(asked.headers.get("accept-encoding") == "identity" for asked in server.asked)


@pytest.mark.parametrize(("name", "label"), LABELS)
@pytest.mark.parametrize("compress", [gzip.compress, lambda piece: piece[: len(piece) // 2]])
def test_an_answer_compressed_on_its_way_is_refused_once(
    server: RangeServer, name: str, label: str, compress: Callable[[bytes], bytes]
) -> None:
    server.fault = compressed_on_its_way(compress, label)
    with pytest.raises(RangeNotSupportedError, match=f"the answer is compressed \\('{label}'\\)"):
        RemoteSource(f"{server.root}/{name}").read(START, STOP)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("a.warc", "gzip"),
        ("a.warc.zst", "gzip"),
        ("a.warc.gz", "zstd"),
        ("a.warc.gz", "br"),
        ("a.warc.gz", "gzip, gzip"),
        ("a.gz/a.warc", "gzip"),
        ("a.warc?a.gz", "gzip"),
    ],
)
def test_a_label_that_the_name_does_not_explain_is_refused(
    server: RangeServer, name: str, label: str
) -> None:
    server.fault = headed(content_encoding=label)
    with pytest.raises(RangeNotSupportedError, match="the answer is compressed"):
        RemoteSource(f"{server.root}/{name}").read(START, STOP)


def test_a_file_compressed_twice_as_a_whole_is_refused(server: RangeServer) -> None:
    server.content = Content(gzip.compress(gzip.compress(DATA)))
    server.fault = headed(content_encoding="gzip")
    source = RemoteSource(f"{server.root}/a.warc.gz")
    assert source.read_end(8)[1] == server.content.data[-8:]
    with pytest.raises(RangeNotSupportedError, match="the answer is compressed"):
        source.read(0, 100)


@pytest.mark.parametrize("label", ["gzip", "x-gzip"])
def test_an_archive_with_a_label_is_read_like_one_without(server: RangeServer, label: str) -> None:
    record = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: %d\r\n\r\n" % len(DATA) + DATA + b"\r\n\r\n"
    server.content = Content(gzip.compress(record, mtime=0) * 2)
    server.fault = headed(content_encoding=label)
    with Reader(f"{server.root}/a.warc.gz", sidecar=False) as archive:
        assert [one.block.pread(START, 1000) for one in archive] == [DATA[START : START + 1000]] * 2


def test_a_whole_file_is_not_read_by_mistake(server: RangeServer) -> None:
    server.content = Content(bytes(50 << 20))
    server.fault = lambda _, __: Answer(200, {}, server.content.data, cut=1 << 20)
    with pytest.raises(RangeNotSupportedError, match="download the file"):
        opened(server).read(0, 100)


def test_a_server_that_cannot_be_reached_is_named() -> None:
    with RangeServer(DATA) as server:
        source = opened(server)
    with pytest.raises(SourceError, match="the server cannot be reached"):
        source.read(0, 10)


def test_a_server_that_never_answers_is_a_timeout(
    server: RangeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seekwarc.storage.remote_url.REQUEST_TIMEOUT", 0.1)
    server.fault = delayed(0.5)
    with pytest.raises(SourceTimeoutError, match="did not answer in time") as caught:
        opened(server, deadline=0.3).read(0, 10)
    assert isinstance(caught.value, TimeoutError)


def test_the_deadline_covers_all_retries(server: RangeServer) -> None:
    server.fault = status(503)
    with pytest.raises(SourceTimeoutError, match="503"):
        opened(server, deadline=0.0).read(0, 10)
    assert len(server.asked) == 1


# One version.


def replaced(etag: str | None = '"second"', *, data: bytes = OTHER, modified: int = 1) -> Content:
    return Content(data, etag, modified)


@pytest.mark.parametrize("honoured", [True, False], ids=["If-Match", "no If-Match"])
@pytest.mark.parametrize("data", [OTHER, OTHER[:-1], OTHER + b"x"], ids=["same size", "shorter", "longer"])
def test_a_replaced_object_is_detected(server: RangeServer, honoured: bool, data: bytes) -> None:
    server.honours_if_match = honoured
    source = opened(server)
    source.read(0, 10)
    server.content = replaced(data=data)
    for _ in range(2):
        with pytest.raises(SourceChangedError, match=r"replaced since it was opened; open it again"):
            source.read(START, STOP)
    assert len(server.asked) == 3, "it is not asked for again"
    assert opened(server).read(START, STOP) == data[START:STOP]


def test_an_object_that_became_shorter_was_replaced(server: RangeServer) -> None:
    server.honours_if_match = False
    source = opened(server)
    source.read(0, 10)
    server.content = Content(DATA[:500])
    with pytest.raises(SourceChangedError):
        source.read(START, STOP)


BEFORE = [Content(DATA, None), Content(DATA, 'W/"weak"'), Content(DATA, None, None)]


@pytest.mark.parametrize("before", BEFORE, ids=["date", "weak", "nothing"])
def test_without_a_strong_etag_date_and_size_count(server: RangeServer, before: Content) -> None:
    server.content = before
    source = opened(server)
    assert source.read(0, 10) == DATA[:10]
    assert source.read(START, STOP) == DATA[START:STOP]
    assert "if-match" not in server.asked[1].headers
    changes = [replace(before, data=OTHER[:-1]), replace(before, data=OTHER, etag='W/"other"')]
    if before.modified is not None:
        changes.append(replace(before, data=OTHER, modified=before.modified + 1))
    for change in changes:
        server.content = change
        with pytest.raises(SourceChangedError):
            source.read(START, STOP)


def test_a_replacement_within_a_range_is_detected(server: RangeServer) -> None:
    for server.honours_if_match in (True, False):
        server.forget()
        server.content = Content(DATA)

        def swap(asked: Any, answer: Answer) -> Answer:
            server.content = replaced()
            return replace(answer, cut=100_000) if asked.number == 0 else answer

        server.fault = swap
        with pytest.raises(SourceChangedError):
            opened(server).read(START, STOP)


def test_another_etag_alone_is_another_version(server: RangeServer) -> None:
    server.fault = after(1, headed(etag='"second"'))
    source = opened(server)
    source.read(0, 10)
    with pytest.raises(SourceChangedError):
        source.read(0, 10)


def test_another_size_alone_is_another_version(server: RangeServer) -> None:
    server.fault = after(1, headed(content_range="bytes 0-9/400001"))
    source = opened(server)
    source.read(0, 10)
    with pytest.raises(SourceChangedError):
        source.read(0, 10)


def test_threads_that_read_first_agree_on_one_version() -> None:
    contents = [Content(DATA), replaced()]
    with RangeServer(DATA, latency=0.01) as server:
        server.honours_if_match = False

        def flicker(_: Any, answer: Answer) -> Answer:
            contents.reverse()
            server.content = contents[0]
            return answer

        server.fault = flicker
        source = opened(server)

        def read(number: int) -> bytes | None:
            try:
                return source.read(number * 100, number * 100 + 100)
            except SourceChangedError:
                return None

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(read, range(100)))
        versions = {
            data == version.data[n * 100 : n * 100 + 100] and version.etag
            for n, data in enumerate(found)
            for version in contents
            if data is not None
        } - {False}
        assert None in found
        assert len(versions) == 1


def test_the_identity_names_a_version(server: RangeServer) -> None:
    def identity(content: Content, query: str = "") -> str | None:
        server.content = content
        source = RemoteSource(server.url + query)
        assert source.identity is None
        source.read(0, 1)
        return source.identity

    names = [
        identity(Content(DATA)),
        identity(Content(DATA, '"other"')),
        identity(Content(DATA[1:])),
        identity(Content(DATA, None)),
        identity(Content(DATA, None, 5)),
    ]
    assert len(set(names)) == len(names)
    assert None not in names
    assert identity(Content(DATA), "?sig=1") == names[0]
    assert identity(Content(DATA, None, None)) is None
    assert identity(Content(DATA, None), "?file=1") is None, "the query may say which file"


# Messages, closing, Ctrl-C.


@pytest.mark.parametrize("name", REFUSED)
def test_errors_reveal_no_signature(server: RangeServer, name: str) -> None:
    server.fault = REFUSED[name][0]
    source = RemoteSource(f"{server.url}?sig=SECRET&key=SECRET#SECRET")
    assert "SECRET" not in source.name + repr(source)
    with pytest.raises(SeekWarcError) as caught:
        source.read(START, STOP)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    assert "sig=SECRET" in server.asked[0].target


def test_a_closed_source_says_so(server: RangeServer) -> None:
    source = opened(server)
    source.close()
    source.close()
    with pytest.raises(SourceError, match="closed"):
        source.read(0, 10)
    assert server.asked == []


def test_closing_ends_a_wait_before_a_retry(server: RangeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BUSY_WAIT", 60)
    monkeypatch.setattr(remote, "DEADLINE", 1000)
    server.fault = status(503)
    source = opened(server)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(source.read, 0, 10)
        wait_until(lambda: server.asked)
        source.close()
        with pytest.raises(SourceError, match="closed"):
            reading.result(timeout=PATIENT)


def test_closing_ends_a_request_that_hangs(server: RangeServer) -> None:
    server.fault = delayed(600)
    source = opened(server)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(source.read, 0, 10)
        wait_until(lambda: server.asked)
        source.close()
        with pytest.raises(SourceError, match="closed"):
            reading.result(timeout=PATIENT)


def test_ctrl_c_ends_a_command_whose_server_hangs(server: RangeServer) -> None:
    server.fault = delayed(600)
    command = [sys.executable, "-m", "seekwarc", "cat", server.url, "5", "--length", "100"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        wait_until(lambda: server.asked)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENT)
    assert process.returncode == 130
    assert b"Traceback" not in errors


# Forks.


def _in_child(work: Callable[[], object]) -> str:
    """Fork, work, and return the error that it ends with."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            text = repr(work())
        except SourceError as error:
            text = str(error)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_gets_an_error_and_does_not_hang(server: RangeServer) -> None:
    source = opened(server)
    reading = Fetcher(source, Stats())
    reading.prefetch([(0, 10)], end=True)
    for work in (
        lambda: source.read(0, 10),
        lambda: opened(server).read(0, 10),
        lambda: reading.read(500, 600),
        lambda: list(reading.fetch([(0, 20), (390_000, 390_010)])),
    ):
        assert "spawn" in _in_child(work)
    assert source.read(0, 10) == DATA[:10], "the parent goes on"


def _read(url: str) -> bytes:
    return RemoteSource(url).read(0, 10)


def test_a_spawned_child_reads(server: RangeServer) -> None:
    _read(server.url)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read, (server.url,)) == DATA[:10]


def test_reading_local_files_does_not_import_obstore(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(Foreign().record(b"block").bytes())
    script = "import sys, seekwarc; print(len(list(seekwarc.open(sys.argv[1]))), 'obstore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"
