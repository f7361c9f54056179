"""Crawls as .warc.gz by `gzip -6`, with pages as the web has them: what differs is mostly their words."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from pydoc_data.topics import topics

from tests.support.foreign import gzip_member

__all__ = ["CRAWLS", "film", "gzipped", "page", "small_pages"]

CHANCE = random.Random(20260101)
WORDS = sorted({word for text in topics.values() for word in text.split() if word.isalpha()})
"""English ones: in words of random letters, gzip finds less than in those of people."""
CHANCE.shuffle(WORDS)
OFTEN = [*accumulate(1 / (number + 5) for number in range(len(WORDS)))]
"""As often as the words of a language are used."""
SITES = [
    "".join(
        f'<li class="menu"><a href="/{word}/">{word.title()}</a></li>' for word in CHANCE.sample(WORDS, 12)
    )
    for _ in range(20)
]


def _record(number: int, path: str, content_type: bytes, body: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (
        content_type,
        len(body),
        body,
    )
    header = (
        "WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
        f"WARC-Record-ID: <urn:uuid:{number * 7919:08x}-0000-4000-8000-{number * 104729:012x}>\r\n"
        f"WARC-Date: 2026-11-05T12:{number // 60 % 60:02}:{number % 60:02}Z\r\n"
        f"WARC-Target-URI: http://www.site{number % 20}.example.org/{path}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return header.encode() + block + b"\r\n\r\n"


@cache
def page(number: int, size: int) -> bytes:
    """Return a record of a page with about that many bytes of text."""
    chance = random.Random(number)
    text = [f"<title>Page {number}</title><nav><ul>{SITES[number % 20]}</ul></nav>"]
    while size > 0:
        text.append(f"<p>{' '.join(chance.choices(WORDS, cum_weights=OFTEN, k=30)).capitalize()}.</p>")
        size -= len(text[-1])
    return _record(number, f"{number}.html", b"text/html", "\n".join(text).encode())


def film(number: int, size: int) -> bytes:
    """Return a record of that many bytes that do not compress."""
    return _record(number, f"{number}.mp4", b"video/mp4", random.Random(number).randbytes(size))


def small_pages(count: int) -> Iterator[bytes]:
    return (page(number, 2000 + 1500 * (number % 4)) for number in range(count))


def _films() -> Iterator[bytes]:
    yield from small_pages(10)
    yield film(1, 5 << 20)


def _mixed() -> Iterator[bytes]:
    for number in range(90):
        yield page(number, 1000 * (1 << number % 9))
        if number % 5 == 0:
            yield film(number, 3000 * (1 << number % 5))


CRAWLS: dict[str, Callable[[], Iterator[bytes]]] = {
    "small pages": lambda: small_pages(400),
    "films": _films,
    "mixed": _mixed,
}


@cache
def gzipped(name: str) -> bytes:
    """Return one of the crawls, a member for each record."""
    return b"".join(map(gzip_member, CRAWLS[name]()))
