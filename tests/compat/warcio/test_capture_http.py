"""HTTP traffic is recorded into .warc.zst. In a process of its own: importing it changes `http.client`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import seekwarc

PROGRAM = """
import http.server, sys, threading
from seekwarc.compat.warcio.capture_http import capture_http
import http.client

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2000000")
        self.end_headers()
        self.wfile.write(b"film" * 500000)
    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()

def fetch(path):
    connection = http.client.HTTPConnection(*server.server_address)
    connection.request("GET", path)
    assert len(connection.getresponse().read()) == 2000000
    connection.close()

with capture_http(sys.argv[1]):
    fetch("/first")
with capture_http(sys.argv[1]):
    fetch("/second")
fetch("/unseen")
with capture_http() as writer:
    fetch("/third")
assert writer.get_contents().startswith(b"WARC/1.0")
writer.out.close()
try:
    with capture_http(sys.argv[1], append=False):
        pass
except FileExistsError:
    print("refused")
server.shutdown()
server.server_close()
"""


def test_traffic_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr) == ("refused\n", "")
    with seekwarc.open(path, strict=True) as archive:
        records = list(archive)
        assert [it.type for it in records] == ["response", "request"] * 2
        assert [(it.target_uri or "").rpartition("/")[2] for it in records[::2]] == ["first", "second"]
        assert records[2].payload.pread(1_000_000, 4) == b"film"


LATE = """
import http.client, sys, warnings

class Connection(http.client.HTTPConnection):
    pass

Connection.__module__ = "client"
from seekwarc.compat.warcio.capture_http import capture_http

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with capture_http() as writer:
        pass
    writer.out.close()
print(*(str(it.message) for it in caught), sep="\\n")
"""


def test_what_was_imported_before_is_named() -> None:
    command = [sys.executable, "-c", LATE]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout.startswith("client: imported before seekwarc.compat.warcio.capture_http")
