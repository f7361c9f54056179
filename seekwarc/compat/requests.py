"""An adapter of requests that records: requests and responses as they were sent and received, in WARC files.

with seekwarc.open("crawl.warc.zst", "w") as out, requests.Session() as session:
    session.mount("http://", RecordingAdapter(out))
    session.mount("https://", RecordingAdapter(out))
    session.get("https://example.org/")
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from seekwarc.compat.exchanges import Conversation, Exchange
from seekwarc.compiling import override
from seekwarc.write.writer import Writer

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["RecordingAdapter"]


class RecordingAdapter(HTTPAdapter):
    """An adapter that writes what passes over its connections to a WARC file.

    Each response becomes a record when it was read to its end or closed, and its request another; redirects
    are responses of their own. Bytes are those of the connection: chunked and compressed as the server sent
    them. A response that is cut off is kept, with WARC-Truncated.

    Args:
        out: The writer; with `dedup=` payloads that were recorded before become revisits. It must stay open
            until the session is closed.
        **options: Options of `requests.adapters.HTTPAdapter`, such as `max_retries`.

    Example:
        import requests, seekwarc
        from seekwarc.compat.requests import RecordingAdapter

        with seekwarc.open("crawl.warc.zst", "w") as out, requests.Session() as session:
            session.mount("http://", RecordingAdapter(out))
            session.get("http://example.org/")
    """

    def __init__(self, out: Writer, **options: Any) -> None:  # noqa: ANN401 - requests checks them
        self._out = out
        super().__init__(**options)

    @override
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _pools(self._out)

    @override
    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _pools(self._out)
        return manager


def _pools(out: Writer) -> dict[str, type[HTTPConnectionPool]]:
    class Connection(HTTPConnection):
        @override
        def connect(self) -> None:
            super().connect()
            self.sock = _recording(self, "http", out)

    class SecureConnection(HTTPSConnection):
        @override
        def connect(self) -> None:
            super().connect()
            self.sock = _recording(self, "https", out)

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    return {"http": Pool, "https": SecurePool}


def _recording(connection: HTTPConnection, scheme: str, out: Writer) -> Any:  # noqa: ANN401
    address = connection.sock.getpeername() if connection.proxy is None else None
    ip_address = address[0] if isinstance(address, tuple) else None
    return _Socket(connection.sock, Conversation(scheme, ip_address, connection.host), out)


class _Socket:
    """A socket that records what `http.client` sends and receives."""

    def __init__(self, sock: Any, conversation: Conversation, out: Writer) -> None:  # noqa: ANN401
        self._sock = sock
        self._conversation = conversation
        self._out = out

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._sock, name)

    def sendall(self, data: bytes) -> None:
        self._sock.sendall(data)
        self.keep(self._conversation.sent(bytes(data)))

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Received(self._sock.makefile(mode, buffering=0), self._conversation, self))

    def keep(self, exchange: Exchange | None) -> None:
        if exchange is not None:
            exchange.write_to(self._out)


class _Received(io.RawIOBase):
    """The bytes of one response; closed at its end, or where the program stops reading it."""

    def __init__(self, file: io.RawIOBase, conversation: Conversation, sock: _Socket) -> None:
        super().__init__()
        self._file = file
        self._conversation = conversation
        self._sock = sock

    @override
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        with memoryview(buffer).cast("B") as view:
            try:
                count = self._file.readinto(view) or 0
            except Exception as error:
                self._sock.keep(self._conversation.closed(error))
                raise
            self._sock.keep(self._conversation.received(bytes(view[:count])))
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._sock.keep(self._conversation.closed())
        super().close()
