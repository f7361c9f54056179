"""Many small files of all kinds, as those who mine crawls have them."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import seekwarc
from tests.support.foreign import Foreign
from tests.support.writing import noise

PAGE_URI = "http://example.org/"
HERITRIX_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n"


def crawls(count: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents.

    Every third is a .warc.gz. The second has responses and the tables by which it is cut. Three are damaged.
    """
    for number in range(count):
        if number == 1:
            yield "001.warc.zst", _crawl()
            continue
        made = Foreign()
        for record in range(3):
            made.record(noise(3000, seed=1000 * number + record))
        suffix, data = ("gz", made.gzip().bytes()) if number % 3 == 0 else ("zst", made.bytes())
        if number in (3, 4):
            # In a record, after which others follow.
            data = data[:4000] + b"damage!!" + data[4008:]
        elif number == 5:
            data = data[:-100]
        yield f"{number:03}.warc.{suffix}", data


def heritrix() -> Foreign:
    """Return records as Heritrix 1 wrote them: a page, its request and notes, all with its URI and second.

    The last record is a note as others write it. The lines of both notes would be before that of the page.
    """
    made = Foreign()
    records = [
        ("response", "application/http; msgtype=response", HERITRIX_HEAD + b"<p>The page</p>"),
        ("request", "application/http; msgtype=request", b"GET / HTTP/1.0\r\n\r\n"),
        ("metadata", "text/anvl", b"via: http://example.com/\r\nhopsFromSeed: L\r\n"),
        ("metadata", "application/json", b'{"Envelope": {}}'),
    ]
    for number, (kind, content_type, block) in enumerate(records):
        lines = [
            "WARC/0.18",
            f"WARC-Type: {kind}",
            f"WARC-Target-URI: {PAGE_URI}",
            "WARC-Date: 2010-05-13T15:51:19Z",
            f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(block)}",
        ]
        made.record(block, header="\r\n".join([*lines, "", ""]).encode())
    return made


def _crawl() -> bytes:
    stored = io.BytesIO()
    with seekwarc.open(stored, "w", frame_size=64 << 10) as out:
        out.write_warcinfo({"software": "crawler/1.0"})
        for number in range(30):
            size = 150_000 if number % 10 == 5 else 3000
            out.write_response(
                f"http://example.org/{number}", noise(size, seed=number), status=404 if number % 3 else 200
            )
    return stored.getvalue()


def kill_once(frame: Any, marker: str) -> Any:
    """Kill the worker that gets there first; a module's function, for workers must find it."""
    if len(frame) and frame.filename.iloc[0].endswith("/008.warc.zst") and not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return frame
