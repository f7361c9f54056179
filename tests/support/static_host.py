"""The reader in JavaScript on a plain web host, with an archive of a film and a page that means harm."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import seekwarc
from seekwarc.make.indexing import index
from tests.conftest import ROOT
from tests.support.nginx import nginx

URI = "http://example.org/film.mp4"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
HOSTILE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<script>parent.document.title = 'ran'</script>"
LINES = """\
log_format counted '$uri $status $body_bytes_sent';
  access_log {folder}/access.log counted;
  types {{ text/html html; text/javascript js; }}
"""


@dataclass
class Host:
    """nginx with the reader, an archive and its index."""

    address: str
    folder: Path
    seen: int = 0

    def asked(self) -> list[tuple[int, int]]:
        """Return status and bytes of what was asked of the archive since the last call."""
        lines = re.findall(
            r"^/crawl\.warc\.zst (\d+) (\d+)$", (self.folder / "access.log").read_text(), re.MULTILINE
        )
        new, self.seen = lines[self.seen :], len(lines)
        return [(int(status), int(sent)) for status, sent in new]

    def address_of_page(self) -> str:
        """Return where the demo's worker has the page that means harm."""
        lines = (self.folder / "root" / "crawl.cdxj").read_text().splitlines()
        (line,) = (it for it in lines if "bad.html" in it)
        found = re.search(r'"offset": "(\d+)"', line)
        assert found is not None
        return f"film?file=crawl.warc.zst&offset={found[1]}"


@contextmanager
def static_host(folder: Path, film: Path) -> Iterator[Host]:
    """Start nginx on a folder with the reader, an archive of the film, and its index."""
    root = folder / "root"
    shutil.copytree(ROOT / "spec-notes" / "reader", root)
    archive = root / "crawl.warc.zst"
    with seekwarc.open(archive, "w") as out:
        out.write_response(URI, HEAD + film.read_bytes())
        out.write_response("http://example.org/bad.html", HOSTILE)
    index([archive], root / "crawl.cdxj")
    with nginx(folder, LINES.format(folder=folder), root=root) as port:
        yield Host(f"http://127.0.0.1:{port}/", folder)
