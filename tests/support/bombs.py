"""Small bodies whose content codings give very much, and a count of what comes out of decoders."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard

from seekwarc.format.zstd import PADDING_MAGIC, skippable_frame
from seekwarc.frames import codings

MIB = 1 << 20
SIZE = 80 * MIB
"""More than any tool reads of a page, and than a coding may hide."""


def in_zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(content)


def in_brotli(content: bytes) -> bytes:
    import brotli  # noqa: PLC0415 - may not be there

    return brotli.compress(content, quality=1)


ENCODE: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, 1, mtime=0),
    "deflate": lambda content: zlib.compress(content, 1),
    "zstd": in_zstd,
    "br": in_brotli,
}


def bomb(chance: random.Random, layers: int, beginning: bytes) -> tuple[bytes, str]:
    """Return a body and its Content-Encoding; it gives `SIZE` bytes, in the end or on the way there."""
    names = [chance.choice(list(ENCODE)) for _ in range(layers)]
    body = beginning + bytes(SIZE)
    if layers > 1 and chance.random() < 0.5:
        # Decoded by all, it is small.
        names[0] = "zstd"
        body = skippable_frame(PADDING_MAGIC, bytes(SIZE)) + in_zstd(beginning)
    else:
        body = ENCODE[names[0]](body)
    for name in names[1:]:
        body = ENCODE[name](body)
    return body, ", ".join(names)


class DecoderCounts:
    """Counts the bytes that each decoder of a content coding gives.

    Attributes:
        given: Bytes of each decoder, in the order in which they were made.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        import brotli  # noqa: PLC0415 - may not be there

        self.given: list[int] = []
        of_zlib = SimpleNamespace(
            error=zlib.error,
            DEFLATED=zlib.DEFLATED,
            MAX_WBITS=zlib.MAX_WBITS,
            decompressobj=lambda wbits: Counted(zlib.decompressobj(wbits), self.count()),
        )
        stream = codings.LIBRARY.stream
        of_brotli = brotli.Decompressor

        def new() -> Any:
            return Counted(of_brotli(), self.count())

        new.can_accept_more_data = of_brotli.can_accept_more_data  # type: ignore[attr-defined]
        patch.setattr(codings, "zlib", of_zlib)
        patch.setattr(brotli, "Decompressor", new)
        patch.setattr(
            codings, "LIBRARY", SimpleNamespace(stream=lambda it: counting(stream(it), self.count()))
        )

    def count(self) -> Callable[[bytes], bytes]:
        number = len(self.given)
        self.given.append(0)

        def add(data: bytes) -> bytes:
            self.given[number] += len(data)
            return data

        return add


def counting(decode: Callable[[bytes], bytes], add: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: add(decode(data))


class Counted:
    """A decoder whose output is counted."""

    def __init__(self, decoder: Any, add: Callable[[bytes], bytes]) -> None:
        self._decoder, self._add = decoder, add

    def decompress(self, *args: Any) -> bytes:
        return self._add(self._decoder.decompress(*args))

    def process(self, *args: Any, **options: Any) -> bytes:
        return self._add(self._decoder.process(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)
