"""Building an HTTP message from a status, header fields and a body.

Source: RFC 9112, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from seekwarc.format.buffer import Buffer
from seekwarc.format.header_fields import TOKEN
from seekwarc.write.block_reader import Block, BlockSource, as_stream
from seekwarc.write.header import Headers, pairs_of

__all__ = ["refuse_message_fields", "response_head", "with_head"]

STEP: Final = 1 << 20

_NAME = re.compile(TOKEN)
_UNFIT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def response_head(
    status: int,
    reason: str | None,
    fields: Headers,
    body: Block,
    length: int | None,
) -> bytes:
    """Return a status line and header fields.

    Content-Length is added if the length is known and no field states how the body is delimited.

    Raises:
        TypeError: `status` is not an int.
        ValueError: The status or a field is not valid in an HTTP message.
    """
    if not isinstance(status, int) or isinstance(status, bool):
        raise TypeError(f"status must be an int, not {type(status).__name__}")
    if not 100 <= status <= 999:
        raise ValueError(f"status is {status}, not within 100 to 999")
    if reason is None:
        reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    pairs = pairs_of(fields)
    names = {name.lower() for name, _ in pairs}
    if isinstance(body, bytes | bytearray | memoryview):
        length = memoryview(body).nbytes
    if length is not None and not names & {"content-length", "transfer-encoding"}:
        pairs.append(("Content-Length", str(length)))
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in pairs), ""]
    _check(names, lines)
    return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape")


def _check(names: set[str], lines: list[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of an HTTP field")
    for line in lines:
        if _UNFIT.search(line):
            raise ValueError(f"an HTTP field holds a control character: {line[:80]!r}")


def refuse_message_fields(record_fields: Headers) -> None:
    """Refuse HTTP fields among the fields of a record: the caller meant them for `http_headers`.

    Raises:
        TypeError: There is one.
    """
    for name, _ in pairs_of(record_fields):
        if not name.lower().startswith("warc-"):
            raise TypeError(f"headers are fields of the WARC record; {name} belongs in http_headers")


def with_head(head: bytes, body: Block) -> Buffer | Iterator[bytes]:
    """Return a message: its head and its body. The type of the body is checked at once."""
    if isinstance(body, bytes | bytearray | memoryview):
        return b"".join((head, body))
    return _pieces(head, BlockSource(as_stream(body), None))


def _pieces(head: bytes, body: BlockSource) -> Iterator[bytes]:
    yield head
    while data := body.read(STEP):
        yield data
