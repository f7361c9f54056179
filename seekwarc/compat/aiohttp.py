"""A connector of aiohttp that records: requests and responses as they were sent and received, in WARC files.

async with seekwarc.AsyncWriter("crawl.warc.zst") as out:
    async with aiohttp.ClientSession(connector=RecordingConnector(out)) as session:
        async with session.get("https://example.org/") as response:
            await response.read()
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import aiohttp

from seekwarc.compat.exchanges import Conversation, Exchange, Recorder, keep_in_thread
from seekwarc.compiling import override

if TYPE_CHECKING:
    from aiohttp.client_proto import ResponseHandler
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.tracing import Trace

__all__ = ["RecordingConnector"]


class RecordingConnector(aiohttp.TCPConnector):
    """A connector that writes what passes over its connections to a WARC file.

    Each response becomes a record when it was received or its connection closed, and its request another;
    redirects are responses of their own. Bytes are those of the connection: chunked and compressed as the
    server sent them. A response that is cut off is kept, with WARC-Truncated. Closing the session waits until
    all is written, and raises the first error of that.

    Args:
        out: A `seekwarc.AsyncWriter`, or a `seekwarc.Writer`; with `dedup=` payloads that were recorded
            before become revisits. It must stay open until the session is closed.
        **options: Options of `aiohttp.TCPConnector`, such as `ssl` and `limit`.

    Example:
        async with (
            seekwarc.AsyncWriter("crawl.warc.zst") as out,
            aiohttp.ClientSession(connector=RecordingConnector(out)) as session,
            session.get("http://example.org/") as response,
        ):
            print(len(await response.read()))
    """

    def __init__(self, out: Recorder, **options: Any) -> None:  # noqa: ANN401 - aiohttp checks them
        super().__init__(**options)
        self._out = out
        self._writing: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []

    @override
    async def _create_connection(
        self, req: ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        protocol = await super()._create_connection(req, traces, timeout)
        transport = protocol.transport
        if transport is None:
            # The connection is lost already, which aiohttp reports when it is used.
            return protocol
        scheme = "https" if transport.get_extra_info("sslcontext") is not None else "http"
        address = transport.get_extra_info("peername") if req.proxy is None else None
        ip_address = address[0] if isinstance(address, tuple) else None
        conversation = Conversation(scheme, ip_address, req.url.host or "")
        transport.set_protocol(_Protocol(protocol, conversation, self))
        protocol.transport = cast("asyncio.Transport", _Transport(transport, conversation, self))
        return protocol

    def keep(self, exchange: Exchange | None) -> None:
        """Write an exchange, in the background."""
        if exchange is not None:
            task = asyncio.get_running_loop().create_task(
                keep_in_thread(exchange, self._out, asyncio.to_thread)
            )
            self._writing.add(task)
            task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._writing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)

    @override
    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        if self._writing:
            await asyncio.wait(list(self._writing))
        if self._errors:
            raise self._errors.pop(0)


class _Transport:
    def __init__(
        self, transport: asyncio.Transport, conversation: Conversation, connector: RecordingConnector
    ) -> None:
        self._transport = transport
        self._conversation = conversation
        self._connector = connector

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._transport, name)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(data)
        self._connector.keep(self._conversation.sent(bytes(data)))

    def writelines(self, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(pieces))


class _Protocol(asyncio.Protocol):
    def __init__(
        self, protocol: ResponseHandler, conversation: Conversation, connector: RecordingConnector
    ) -> None:
        self._protocol = protocol
        self._conversation = conversation
        self._connector = connector

    @override
    def data_received(self, data: bytes) -> None:
        self._connector.keep(self._conversation.received(data))
        self._protocol.data_received(data)

    @override
    def eof_received(self) -> bool | None:
        self._connector.keep(self._conversation.received(b""))
        self._protocol.eof_received()
        return None

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._connector.keep(self._conversation.closed(exc))
        self._protocol.connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    @override
    def resume_writing(self) -> None:
        self._protocol.resume_writing()
