"""The command as a user runs it, and a small crawl in all three forms."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
import zstandard

from tests.support.foreign import Foreign, Put, text
from tests.support.processes import PATIENT, wait_until
from tests.support.warm import run_here
from tests.support.writing import noise

FRAME = 64 << 10
HTTP_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
FILM_URI = "http://example.org/film.mp4"
FORMS = ("warc", "warc.gz", "warc.zst")


@dataclass(frozen=True)
class Answer:
    """What a command printed."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def json_lines(self) -> list[dict]:
        return [json.loads(line) for line in self.out.splitlines()]


def assert_well_behaved(status: int, stderr: bytes) -> None:
    """Assert what holds for every run whatever it was asked: no traceback, and a failure says why."""
    assert b"Traceback" not in stderr
    assert b"Exception ignored" not in stderr
    if status in (1, 2):
        assert b"seekwarc" in stderr, "a failure must have a message"


@pytest.fixture
def command(run_cli, request: pytest.FixtureRequest) -> Callable[..., Answer]:
    """Run the command, assert its exit status and that it shows no traceback.

    It is a process of its own where it has a standard input, and with `--cold`.
    """
    cold = request.config.getoption("--cold")

    def run(*args: object, status: int = 0, stdin: bytes | None = None, **options: Any) -> Answer:
        is_apart = cold or stdin is not None or options.keys() - {"cwd"}
        done = run_cli(*args, stdin=stdin, **options) if is_apart else run_here(*args, **options)
        assert_well_behaved(done.returncode, done.stderr)
        assert done.returncode == status, done.stderr.decode()
        return Answer(done.returncode, done.stdout, done.stderr.decode())

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen]]:
    """Start the command and leave it running; whatever still runs at the end is killed."""
    started = []

    def run(*args: object, **options: Any) -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(
            [sys.executable, "-m", "seekwarc", *map(str, args)], **{**pipes, **options}
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        with process:
            pass


@pytest.fixture
def only_readable(tmp_path: Path) -> Iterator[Path]:
    """A folder that nothing can be written to, for root neither."""
    folder = tmp_path / "read only"
    folder.mkdir()
    folder.chmod(0o555)
    immutable = os.geteuid() == 0
    if immutable:
        skip_unless(subprocess.run(["chattr", "+i", folder], capture_output=True, check=False))
    yield folder
    if immutable:
        subprocess.run(["chattr", "-i", folder], check=True)
    folder.chmod(0o755)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "small disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]
    skip_unless(subprocess.run(["mount", *options], capture_output=True, check=False))
    yield folder
    subprocess.run(["umount", folder], check=True)


def skip_unless(done: subprocess.CompletedProcess) -> None:
    if done.returncode:
        pytest.skip(f"{done.args[0]} is not permitted here: {done.stderr.decode().strip()}")


@dataclass(frozen=True)
class Crawl:
    """A crawl with a film in it, made without seekwarc: what is on disk, and what must be found there."""

    folder: Path
    film: bytes
    made: dict[str, Foreign]

    def path(self, form: str = "warc.zst") -> Path:
        return self.folder / f"crawl.{form}"

    @property
    def zst(self) -> Path:
        return self.path()

    def put(self, number: int, form: str = "warc.zst") -> Put:
        return self.made[form].records[number]

    @property
    def film_put(self) -> Put:
        return self.put(3)

    @property
    def content(self) -> bytes:
        """What all three files decompress to."""
        return self.made["warc"].bytes()

    def whole(self, number: int) -> bytes:
        """A record with its header, and the line breaks behind it."""
        return self.put(number).header + self.put(number).block + b"\r\n\r\n"


def record_header(kind: str, length: int, number: int, *fields: tuple[str, str]) -> bytes:
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012d}>",
        "WARC-Date: 2026-01-02T03:04:05Z",
        *(f"{name}: {value}" for name, value in fields),
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def response(made: Foreign, uri: str, payload: bytes, **options: Any) -> Foreign:
    block = HTTP_HEAD + payload
    number = len(made.records)
    fields = (("WARC-Target-URI", uri), ("Content-Type", "application/http; msgtype=response"))
    return made.record(block, header=record_header("response", len(block), number, *fields), **options)


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """Return warcinfo, a page, a request for the film, the film in its frames, an empty record."""
    made = Foreign()
    info = b"software: by hand\r\n"
    made.record(
        info, header=record_header("warcinfo", len(info), 0, ("Content-Type", "application/warc-fields"))
    )
    response(made, "http://example.org/page.html", text(2000))
    request = b"GET /film.mp4 HTTP/1.1\r\nHost: example.org\r\n\r\n"
    fields = (("WARC-Target-URI", FILM_URI), ("Content-Type", "application/http; msgtype=request"))
    made.record(request, header=record_header("request", len(request), 2, *fields))
    film = noise(900_000) + text(700_000, seed=1)
    fields = (("WARC-Target-URI", FILM_URI), ("Content-Type", "application/http; msgtype=response"))
    head = len(record_header("response", len(HTTP_HEAD) + len(film), 3, *fields))
    begin = head + len(HTTP_HEAD)
    response(made, FILM_URI, film, cuts=(head, *range(begin, begin + len(film), FRAME)), table=True)
    made.record(b"", header=record_header("metadata", 0, 4, ("WARC-Target-URI", "http://example.org/")))
    forms = {"warc.gz": made.gzip(), "warc": made.plain()}
    made.file_table()
    crawl = Crawl(tmp_path_factory.mktemp("crawl"), film, {"warc.zst": made, **forms})
    for form, file in crawl.made.items():
        crawl.path(form).write_bytes(file.bytes())
    return crawl


@pytest.fixture
def damaged(crawl: Crawl, tmp_path: Path) -> Path:
    """The crawl with one bit of the film's middle turned round."""
    data = bytearray(crawl.zst.read_bytes())
    data[crawl.film_put.offset + 450_000] ^= 1
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    return path


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A file whose fields would do things to a terminal."""
    uri = "http://example.org/\x1b[2J\x1b]0;owned\x07\x9b31m\x08"
    made = Foreign()
    made.record(b"x", header=record_header("resource\x1b[1m", 1, 0, ("WARC-Target-URI", uri)))
    made.record(b"y", header=record_header("resource", 1, 1).replace(b"2026", b"\xff\xfe26"))
    path = tmp_path / "hostile.warc.zst"
    path.write_bytes(made.bytes())
    return path


def decompressed(path: Path) -> bytes:
    """Everything a file decompresses to, by the libraries that everybody has."""
    data = path.read_bytes()
    if path.name.endswith(".gz"):
        return gzip.decompress(data)
    if path.name.endswith(".zst"):
        reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
        with reader:
            return reader.read()
    return data


def wait_until_read(pipe: IO[bytes]) -> None:
    """Wait until the process at the other end of a pipe has taken all that was written to it."""
    fcntl, termios = map(pytest.importorskip, ("fcntl", "termios"))
    wait_until(lambda: fcntl.ioctl(pipe.fileno(), termios.FIONREAD, bytes(4)) == bytes(4))


def run_on_terminal(*words: object) -> tuple[int, bytes]:
    """Run the command with standard error on a terminal; return status and what the terminal got."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "seekwarc", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # Linux: nobody has the other side open any more.
                break
            if not data:
                break
            shown += data
        process.stdout.read()
    os.close(ours)
    return process.returncode, shown


def when_complete(address: str, page: str = "api/summary") -> dict[str, Any]:
    """Wait until a server has read its files, and return what it says of them."""
    said: list[dict[str, Any]] = []

    def is_complete() -> bool:
        with urllib.request.urlopen(address + page, timeout=PATIENT) as answer:
            said.append(json.load(answer))
        return said[-1]["complete"]

    wait_until(is_complete)
    return said[-1]


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[subprocess.Popen, str, int]]]:
    """Start the server and wait for its address; whatever still runs at the end is killed."""
    started = []

    def run(*arguments: object) -> tuple[subprocess.Popen, str, int]:
        command = [sys.executable, "-m", "seekwarc", "serve", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        said = process.stdout.readline().decode()
        address = re.search(r"http://\S+:(\d+)/", said)
        assert address, said + process.stderr.read().decode()
        return process, address[0], int(address[1])

    yield run
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENT)
