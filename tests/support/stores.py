"""Google Cloud Storage and Azure, as far as an upload goes: what no server here speaks."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

BEGUN = b"<InitiateMultipartUploadResult><UploadId>one</UploadId></InitiateMultipartUploadResult>"
COMPLETE = b'<CompleteMultipartUploadResult><ETag>"made"</ETag></CompleteMultipartUploadResult>'


class Store(ThreadingHTTPServer):
    """Objects by their paths, and the parts of uploads that are neither complete nor aborted."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, bytes] = {}
        self.root = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Store

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", size: int | None = None) -> None:
        self.send_response(status)
        self.send_header("ETag", '"made"')
        self.send_header("Last-Modified", "Mon, 23 Nov 2026 12:00:00 GMT")
        self.send_header("Content-Length", str(len(body) if size is None else size))
        self.end_headers()
        self.wfile.write(body)

    def _asked(self) -> tuple[str, dict[str, list[str]], bytes]:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return unquote(parts.path), parse_qs(parts.query, keep_blank_values=True), body

    def do_HEAD(self) -> None:
        found = self.server.objects.get(self._asked()[0])
        self._answer(404 if found is None else 200, size=len(found or b""))

    def do_PUT(self) -> None:
        path, query, body = self._asked()
        number = query.get("partNumber", query.get("blockid"))
        if number is not None:
            self.server.parts[number[0]] = body
        elif query.get("comp") == ["blocklist"]:
            names = re.findall(r"<(?:Latest|Uncommitted)>([^<]+)<", body.decode())
            self.server.objects[path] = b"".join(self.server.parts.pop(name) for name in names)
        else:
            self.server.objects[path] = body
        self._answer(201 if "x-ms-version" in self.headers else 200)

    def do_POST(self) -> None:
        path, query, body = self._asked()
        if "uploads" in query:
            self._answer(200, BEGUN)
            return
        names = re.findall(r"<PartNumber>([0-9]+)<", body.decode())
        self.server.objects[path] = b"".join(self.server.parts.pop(name) for name in names)
        self._answer(200, COMPLETE)

    def do_DELETE(self) -> None:
        self._asked()
        self.server.parts.clear()
        self._answer(204)


@contextlib.contextmanager
def store() -> Iterator[Store]:
    """Run a store."""
    with Store() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()
