"""A web server that sends given bytes and keeps those that it receives, to compare recorded traffic with."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import seekwarc
from tests.support.writing import noise

BIG = noise(1 << 20, seed=9)
BIG_COUNT = 32
"""`/big` sends this many times `BIG`."""
_GZIPPED = gzip.compress(b"<p>compressed" * 100, mtime=0)
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
"""An interim response, which is not part of the response."""
ANSWERS = {
    "/plain": b"HTTP/1.1 200 Fine\r\ncontent-LENGTH: 5\r\nX-Odd:   two   spaces \r\n\r\nhello",
    "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"4;name=value\r\nWiki\r\n0005\r\npedia\r\n0\r\nX-Trailer: yes\r\n\r\n",
    "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n",
    "/gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_GZIPPED)
    + _GZIPPED,
    "/moved": b"HTTP/1.1 302 Found\r\nLocation: /plain\r\nContent-Length: 3\r\n\r\nno\n",
    "/head": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
    "/none": b"HTTP/1.1 204 No Content\r\n\r\n",
    "/hints": HINTS + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "/old": b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end",
    "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    "/short-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n20\r\nhalf",
    "/big": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (BIG_COUNT * len(BIG)),
}
CLOSED = {"/old", "/short", "/short-chunk"}
"""Answers after which the connection is closed."""
WHOLE = ("/plain", "/chunked", "/gzip", "/none", "/hints", "/old")


class WireServer:
    """Answers on any number of connections; `url` is its address, `requests` what it received."""

    def __init__(self, secure: ssl.SSLContext | None = None, *, proxy: bool = False) -> None:
        self._secure = secure
        self._is_proxy = proxy
        self.requests: list[bytes] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        scheme = "http" if secure is None or proxy else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        if self._secure is not None and not self._is_proxy:
            connection = self._secure.wrap_socket(connection, server_side=True)
        elif self._secure is not None:
            while connection.recv(1 << 16, socket.MSG_PEEK).find(b"\r\n\r\n") < 0:
                pass
            if connection.recv(7, socket.MSG_PEEK) == b"CONNECT":
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                connection = self._secure.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rb") as file:
            while line := file.readline():
                path = "/" + line.split()[1].decode().rpartition("/")[2]
                self.requests.append(line + self._rest(file))
                connection.sendall(ANSWERS[path])
                if path == "/big":
                    try:
                        for _ in range(BIG_COUNT):
                            connection.sendall(BIG)
                    except OSError:
                        return
                if path in CLOSED:
                    return

    @staticmethod
    def _rest(file) -> bytes:
        head = b""
        while (line := file.readline()) != b"\r\n":
            head += line
        fields = {
            name.lower(): value.strip() for name, _, value in (it.partition(b":") for it in head.splitlines())
        }
        body = b""
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            while not body.endswith(b"0\r\n\r\n"):
                body += file.readline()
        elif b"content-length" in fields:
            body = file.read(int(fields[b"content-length"]))
        return head + b"\r\n" + body


def certified(folder: Path) -> tuple[ssl.SSLContext, str]:
    """Return what a server on this machine is secured by, and a file of what its clients trust."""
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    return secure, certificate


@contextmanager
def wire_server(secure: ssl.SSLContext | None = None, *, proxy: bool = False) -> Iterator[WireServer]:
    """Serve; encrypted with `secure`, or as a proxy that encrypts what it tunnels."""
    server = WireServer(secure, proxy=proxy)
    try:
        yield server
    finally:
        server.close()


def blocks(path: Path, kind: str) -> list[tuple[str, bytes]]:
    """Return the path of the target URI and the block of each record of a type."""
    with seekwarc.open(path) as archive:
        return [
            (str(it.target_uri).partition("127.0.0.1")[2].partition("/")[2], it.block.read())
            for it in archive.records(type=kind)
        ]


def assert_recorded(path: Path, server: WireServer, names: list[str]) -> None:
    """Check that an archive has these responses and their requests, in this order and byte for byte."""
    assert blocks(path, "response") == [(it[1:], ANSWERS[it].removeprefix(HINTS)) for it in names]
    assert [block for _, block in blocks(path, "request")] == server.requests
    with seekwarc.open(path) as archive:
        records = [it for it in archive if it.type != "warcinfo"]
        for response, request in zip(records[::2], records[1::2], strict=True):
            assert request.concurrent_to == (response.id,)
            assert (request.date, request.target_uri) == (response.date, response.target_uri)
            assert response.header.get("WARC-IP-Address") == "127.0.0.1"
            assert str(response.target_uri).startswith(server.url)


def assert_recorded_through_a_proxy(path: Path) -> None:
    """Check that an archive has `/plain` of two servers, over http and https, and no addresses."""
    with seekwarc.open(path) as archive:
        found = list(archive.records(type="response"))
        assert [it.target_uri for it in found] == ["http://example.org/plain", "https://127.0.0.1/plain"]
        assert [it.block.read() for it in found] == [ANSWERS["/plain"]] * 2
        assert [it.header.get("WARC-IP-Address") for it in found] == [None, None]


def truncated(path: Path) -> list[tuple[str, str | None]]:
    """Return the path of each response's URI, and its WARC-Truncated."""
    with seekwarc.open(path) as archive:
        return [
            (str(it.target_uri).rpartition("/")[2], it.header.get("WARC-Truncated"))
            for it in archive.records(type="response")
        ]
