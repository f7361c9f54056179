"""Transports of httpx that record: requests and responses as they were sent and received, in WARC files.

with seekwarc.open("crawl.warc.zst", "w") as out:
    with httpx.Client(transport=RecordingTransport(out)) as client:
        client.get("https://example.org/")
"""

from __future__ import annotations

from typing import Any

import anyio
import httpcore
import httpx

from seekwarc.compat.exchanges import Conversation, Exchange, Recorder, keep_in_thread
from seekwarc.compiling import override
from seekwarc.write.writer import Writer

__all__ = ["AsyncRecordingTransport", "RecordingTransport"]


class RecordingTransport(httpx.HTTPTransport):
    """A transport that writes what passes over its connections to a WARC file.

    Each response becomes a record when it was read to its end or closed, and its request another; redirects
    are responses of their own. Bytes are those of the connection: chunked and compressed as the server sent
    them. A response that is cut off is kept, with WARC-Truncated. Requests go over HTTP/1.1.

    Args:
        out: The writer; with `dedup=` payloads that were recorded before become revisits. It must stay open
            until the client is closed.
        **options: Options of `httpx.HTTPTransport`, such as `verify`, `proxy` and `retries`.

    Example:
        import httpx, seekwarc
        from seekwarc.compat.httpx import RecordingTransport

        with seekwarc.open("crawl.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
            with httpx.Client(transport=RecordingTransport(out), follow_redirects=True) as client:
                client.get("http://example.org/")
    """

    def __init__(self, out: Writer, **options: Any) -> None:  # noqa: ANN401 - httpx checks them
        super().__init__(**options, http2=False)
        pool: Any = self._pool
        pool._network_backend = _Backend(pool._network_backend, out)  # noqa: SLF001 - httpx has no argument for it


class _Recorded:
    """A connection, and what passes over it; `before` is what passed before it was encrypted."""

    def __init__(self, stream: Any, out: Any, before: Conversation | None = None) -> None:  # noqa: ANN401
        address = stream.get_extra_info("server_addr")
        is_known = isinstance(address, tuple) and not (before is not None and before.has_tunnel)
        self._stream = stream
        self._out = out
        self._conversation = Conversation(
            "http" if before is None else "https", address[0] if is_known else None
        )

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401
        return self._stream.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend, out: Writer) -> None:
        self._backend = backend
        self._out = out

    @override
    def connect_tcp(self, host: str, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_tcp(host, *args, **options), self._out)

    @override
    def connect_unix_socket(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return _Stream(self._backend.connect_unix_socket(*args, **options), self._out)

    @override
    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(_Recorded, httpcore.NetworkStream):
    def _keep(self, exchange: Exchange | None) -> None:
        if exchange is not None:
            exchange.write_to(self._out)

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data: bytes = self._stream.read(max_bytes, timeout)
        except Exception as error:
            self._keep(self._conversation.closed(error))
            raise
        self._keep(self._conversation.received(data))
        return data

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)
        self._keep(self._conversation.sent(buffer))

    @override
    def close(self) -> None:
        self._stream.close()
        self._keep(self._conversation.closed())

    @override
    def start_tls(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **options), self._out, self._conversation)


class AsyncRecordingTransport(httpx.AsyncHTTPTransport):
    """A `RecordingTransport` for `httpx.AsyncClient`; records are written without blocking the event loop.

    Args:
        out: A `seekwarc.AsyncWriter`, or a `seekwarc.Writer`.
        **options: Options of `httpx.AsyncHTTPTransport`.

    Example:
        async with (
            seekwarc.AsyncWriter("crawl.warc.zst") as out,
            httpx.AsyncClient(transport=AsyncRecordingTransport(out)) as client,
        ):
            await client.get("http://example.org/")
    """

    def __init__(self, out: Recorder, **options: Any) -> None:  # noqa: ANN401 - httpx checks them
        super().__init__(**options, http2=False)
        pool: Any = self._pool
        pool._network_backend = _AsyncBackend(pool._network_backend, out)  # noqa: SLF001 - see above


class _AsyncBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, backend: httpcore.AsyncNetworkBackend, out: Recorder) -> None:
        self._backend = backend
        self._out = out

    @override
    async def connect_tcp(self, host: str, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        return _AsyncStream(await self._backend.connect_tcp(host, *args, **options), self._out)

    @override
    async def connect_unix_socket(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        return _AsyncStream(await self._backend.connect_unix_socket(*args, **options), self._out)

    @override
    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _AsyncStream(_Recorded, httpcore.AsyncNetworkStream):
    async def _keep(self, exchange: Exchange | None) -> None:
        if exchange is not None:
            await keep_in_thread(exchange, self._out, anyio.to_thread.run_sync)

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            data: bytes = await self._stream.read(max_bytes, timeout)
        except Exception as error:
            await self._keep(self._conversation.closed(error))
            raise
        await self._keep(self._conversation.received(data))
        return data

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)
        await self._keep(self._conversation.sent(buffer))

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()
        await self._keep(self._conversation.closed())

    @override
    async def start_tls(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        return _AsyncStream(await self._stream.start_tls(*args, **options), self._out, self._conversation)
