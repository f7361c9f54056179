"""Asking an ASGI application without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import anyio
import anyio.lowlevel
from anyio.from_thread import BlockingPortal

ORIGIN = "127.0.0.1:8090"


@dataclass
class Answer:
    """What an application sent."""

    status: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    messages: int = 0
    """How many messages had a part of the body."""
    ended: bool = False

    @property
    def headers(self) -> dict[str, str]:
        names = [name for name, _ in self.fields]
        assert len(names) == len(set(names)), "a field was sent twice"
        return dict(self.fields)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def scope_of(
    method: str, path: str, query: Mapping[str, object], headers: Mapping[str, str]
) -> dict[str, Any]:
    """Return the scope of a request."""
    fields = {"host": ORIGIN, **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": urlencode(query).encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in fields.items()],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8090),
        "state": {},
    }


async def ask(
    app: Any,
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    body: bytes = b"",
    hang_up_after: int | None = None,
) -> Answer:
    """Send a request and return the answer.

    With `hang_up_after` the client takes that many parts of the body and then goes away.
    """
    answer = Answer()
    gone = anyio.Event()
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert not answer.status, "an answer began twice"
            answer.status = message["status"]
            answer.fields = [
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]
            ]
            return
        answer.body += message.get("body", b"")
        answer.messages += 1
        answer.ended = not message.get("more_body", False)
        if answer.messages == hang_up_after:
            gone.set()
        await anyio.lowlevel.checkpoint()

    await app(scope_of(method, path, query or {}, headers or {}), receive, send)
    return answer


class Client:
    """Asks one application, from a thread without an event loop."""

    def __init__(self, app: Any, portal: BlockingPortal, *, host: str = ORIGIN) -> None:
        self.app = app
        self._host = {"host": host}
        self._portal = portal

    def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        **query: object,
    ) -> Answer:
        fields = {**self._host, **(headers or {})}
        return self._portal.call(partial(ask, self.app, method, path, query, fields, body=body))

    def get(self, path: str, *, headers: Mapping[str, str] | None = None, **query: object) -> Answer:
        return self.ask("GET", path, headers=headers, **query)
