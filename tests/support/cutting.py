"""Parts and pictures of films: what tests of them share."""

from __future__ import annotations

import io

import pytest

from seekwarc.errors import ChecksumError
from tests.support.films import packets_of


class Watched(io.BytesIO):
    """A file that logs its reads, and fails in places."""

    def __init__(
        self, data: bytes, damaged: tuple[int, int] = (0, 0), error: Exception | None = None
    ) -> None:
        super().__init__(data)
        self.reads: list[tuple[int, int]] = []
        self._damaged = damaged
        self._error = error or ChecksumError("damaged")

    def read(self, size: int = -1) -> bytes:
        start = self.tell()
        self.reads.append((start, start + size))
        if start < self._damaged[1] and start + size > self._damaged[0]:
            raise self._error
        return super().read(size)


def assert_is_part_of(clip: bytes, film: bytes) -> None:
    """Compare packets: those of the clip follow each other in the film, and none is missing."""
    whole = packets_of(film)
    for kind, found in packets_of(clip).items():
        first = whole[kind].index(found[0])
        assert whole[kind][first : first + len(found)] == found, kind


def pictures_of(film: bytes) -> list[bytes]:
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(film)) as container:
        return [bytes(frame.reformat(format="gray").planes[0]) for frame in container.decode(video=0)]


def opened_picture(data: bytes, form: str):
    """Decode a picture file."""
    av = pytest.importorskip("av")
    with av.open(io.BytesIO(data), format=f"{form}_pipe") as container:
        return next(container.decode(video=0))
