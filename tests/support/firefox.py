"""Debian's Firefox, driven by WebDriver BiDi, which it speaks by itself."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE = 60
"""Seconds that Firefox may take to start, and a page to be as a test wants it."""
SETTINGS = """
user_pref("app.update.disabledForTesting", true);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("media.autoplay.default", 0);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
"""


@dataclass
class Window:
    """The one window of a Firefox."""

    socket: aiohttp.ClientWebSocketResponse
    context: str = ""
    _numbers: itertools.count = field(default_factory=itertools.count)

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method of WebDriver BiDi."""
        number = next(self._numbers)
        await self.socket.send_json({"id": number, "method": method, "params": params})
        while True:
            answer = await self.socket.receive_json(timeout=PATIENCE)
            if answer.get("id") == number:
                return answer.get("result", {})

    async def open(self, address: str) -> None:
        await self.call("browsingContext.navigate", context=self.context, url=address, wait="complete")

    async def framed(self, expression: str) -> Any:
        """Evaluate JavaScript in the frame of the page until it is true; return what it is then."""
        return await self._evaluated(expression, lambda page: page["children"])

    async def said(self, expression: str) -> Any:
        """Evaluate JavaScript in the page until it is true; return what it is then."""
        return await self._evaluated(expression, lambda page: [page])

    async def _evaluated(self, expression: str, within: Callable[[Any], list[Any]]) -> Any:
        end = time.monotonic() + PATIENCE
        while True:
            tree = await self.call("browsingContext.getTree", root=self.context)
            for frame in within(tree["contexts"][0]):
                target = {"context": frame["context"]}
                answer = await self.call(
                    "script.evaluate", expression=expression, target=target, awaitPromise=True
                )
                if found := answer.get("result", {}).get("value"):
                    return found
            assert time.monotonic() < end, f"never true in {tree}: {expression}"
            await asyncio.sleep(0.05)


@asynccontextmanager
async def firefox(profile: Path) -> AsyncIterator[Window]:
    """Start Firefox with a new profile."""
    (profile / "user.js").write_text(SETTINGS)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(profile)]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--remote-debugging-port",
        str(port),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(profile)},
    )
    try:
        async with aiohttp.ClientSession() as session:
            window = Window(await _connected(session, f"ws://127.0.0.1:{port}/session"))
            await window.call("session.new", capabilities={})
            tree = await window.call("browsingContext.getTree")
            window.context = tree["contexts"][0]["context"]
            yield window
    finally:
        process.terminate()
        await process.wait()


async def _connected(session: aiohttp.ClientSession, address: str) -> aiohttp.ClientWebSocketResponse:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return await session.ws_connect(address, max_msg_size=0)
        except aiohttp.ClientError:
            assert time.monotonic() < end, "Firefox does not start"
            await asyncio.sleep(0.2)
