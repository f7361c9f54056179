"""Files that go forward are read again from their beginning, and sources are files."""

from __future__ import annotations

import io

from seekwarc.compat.warcio.sources import MAX_KEPT, ForwardFile
from seekwarc.storage.source_file import SourceFile
from tests.support.sources import Pipe, RecordingSource


def test_a_file_that_goes_forward_is_read_again_once() -> None:
    file = ForwardFile(Pipe(bytes(range(100)), most=30))
    assert file.read(10) == bytes(range(10))
    file.rewind()
    assert file.tell() == 0
    assert b"".join(iter(lambda: file.read(7), b"")) == bytes(range(100))
    assert file.tell() == 100


def test_only_the_beginning_of_a_pipe_is_kept() -> None:
    file = ForwardFile(io.BytesIO(bytes(3 * MAX_KEPT)))
    while file.read(1000):
        pass
    assert len(file.head) == MAX_KEPT


def test_positions_go_on_from_that_of_the_file() -> None:
    inner = io.BytesIO(b"0123456789")
    inner.seek(4)
    file = ForwardFile(inner)
    assert (file.tell(), file.read(3), file.tell(), file.seekable()) == (4, b"456", 7, False)


def test_a_file_without_a_position_begins_at_0() -> None:
    class Socket(io.RawIOBase):
        def tell(self) -> int:
            raise OSError("not seekable")

    assert ForwardFile(Socket()).tell() == 0


def test_closing_a_file_closes_what_it_reads() -> None:
    source = RecordingSource(b"")
    ForwardFile(SourceFile(source)).close()
    assert source.closed
