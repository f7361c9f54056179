"""Work whose result is no longer wanted."""

from __future__ import annotations

import io
import threading
import zlib

import pytest

import seekwarc
from seekwarc.stopping import checkpoint, stoppable
from tests.support.foreign import warc_header
from tests.support.writing import noise


class _Gone(BaseException):
    pass


class _After:
    """Stops work at a given checkpoint."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise _Gone


def test_without_a_check_nothing_is_stopped() -> None:
    checkpoint()
    with stoppable(_After(1)):
        checkpoint()
    checkpoint()


def test_an_inner_check_replaces_the_outer_for_its_block() -> None:
    with stoppable(_After(0)):
        with stoppable(_After(5)):
            checkpoint()
        with pytest.raises(_Gone):
            checkpoint()


def test_other_threads_are_not_stopped() -> None:
    done = []
    with stoppable(_After(0)):
        thread = threading.Thread(target=lambda: done.append(checkpoint()))
        thread.start()
        thread.join()
    assert done == [None]


@pytest.mark.parametrize("form", ["gzip", "chunks"])
def test_a_stopped_record_can_be_read_again(form: str) -> None:
    body = noise(1_500_000)
    block = body
    header = warc_header(len(block))
    if form == "chunks":
        chunked = (
            b"".join(b"14\r\n%b\r\n" % body[at : at + 20] for at in range(0, len(body), 20)) + b"0\r\n\r\n"
        )
        block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked
        header = warc_header(len(block), kind="response").replace(b"text/plain", b"application/http")
    stored = header + block + b"\r\n\r\n"
    if form == "gzip":
        coder = zlib.compressobj(wbits=31)
        stored = coder.compress(stored) + coder.flush()
    with seekwarc.open(io.BytesIO(stored)) as archive:
        record = next(iter(archive))
        check = _After(4)
        with stoppable(check), pytest.raises(_Gone):
            record.payload.pread(len(body) - 10, 10)
        assert check.left < 0
        assert record.payload.pread(100, 50) == body[100:150]
        assert record.payload.read() == body
