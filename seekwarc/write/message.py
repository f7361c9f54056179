"""Building an HTTP message from a status, header fields and a body.

Source: RFC 9112, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.format.header_fields import is_token
from seekwarc.options import shown
from seekwarc.storage.streams import read_some
from seekwarc.write.block_reader import Block, as_stream

__all__ = ["refuse_message_fields", "response_head", "with_head"]

STEP: Final = 1 << 20
OF_MESSAGES: Final = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding", "set-cookie", "location"}
)
"""Fields of HTTP messages that are not meant for a WARC record."""

PHRASES: Final = {int(status): status.phrase for status in HTTPStatus}

_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def response_head(
    status: object,
    reason: object,
    pairs: list[tuple[str, str]],
    body: Block,
    length: int | None,
) -> bytes:
    """Return the head; Content-Length is added if `length` is known and no field delimits the body."""
    if not isinstance(status, int) or isinstance(status, bool):
        raise TypeError(f"status must be an int, not {type(status).__name__}")
    if not 100 <= status <= 999:
        raise ValueError(f"status is {status}, not within 100 to 999")
    if reason is None:
        reason = PHRASES.get(status, "")
    elif not isinstance(reason, str):
        raise TypeError(f"reason must be text, not {shown(reason)}")
    names = {name.lower() for name, _ in pairs}
    if isinstance(body, Buffer):
        length = memoryview(body).nbytes
    if length is not None and not names & {"content-length", "transfer-encoding"}:
        pairs = [*pairs, ("Content-Length", str(length))]
    lines = [f"HTTP/1.1 {status} {reason}", *[f"{name}: {value}" for name, value in pairs], "\r\n"]
    for name in names:
        if not is_token(name):
            raise ValueError(f"{name!r} is not a valid name of an HTTP field")
    if not "".join(lines[:-1]).isprintable():
        _refuse_control(lines[:-1])
    return "\r\n".join(lines).encode("utf-8", "surrogateescape")


def _refuse_control(lines: list[str]) -> None:
    for line in lines:
        if _UNFIT.search(line):
            raise ValueError(f"an HTTP field holds a control character: {line[:80]!r}")


def refuse_message_fields(record_fields: Iterable[tuple[str, str]]) -> None:
    """Refuse fields of a message among those of a record: the caller meant them for `http_headers`."""
    for name, _ in record_fields:
        if name.lower() in OF_MESSAGES:
            raise TypeError(f"headers are fields of the WARC record; {name} belongs in http_headers")


def with_head(head: bytes, body: Block) -> Buffer | Iterator[bytes]:
    """Return a message: its head and its body. The type of the body is checked at once."""
    stream = as_stream(body)
    if isinstance(stream, Buffer):
        return b"".join((head, stream))
    # Pieces are passed on as they come: what came before an interruption must not be lost here.
    return chain((head,), iter(partial(read_some, stream, STEP), b""))
