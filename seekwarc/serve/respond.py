"""Answers to range requests for any framework: status, fields, and an iterator of bytes.

    status, fields, body = seekwarc.serve.answer(record, request.headers)

This needs only seekwarc. Archived content is sent so that it can do no harm in your origin: see
`seekwarc.serve.headers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus

from seekwarc.errors import SeekWarcError
from seekwarc.read.record import Record
from seekwarc.serve.error_answers import REFUSAL_FIELDS, message_of, refusal_text, status_of
from seekwarc.serve.headers import Part
from seekwarc.serve.ranges import joined
from seekwarc.serve.served import ServedRecord

__all__ = ["answer"]


def answer(
    record: Record, request_headers: Mapping[str, str], *, method: str = "GET", part: Part = "payload"
) -> tuple[int, dict[str, str], Iterator[bytes]]:
    """Answer a request for a record's payload: ranges, conditions, safe fields.

        status, fields, body = answer(record, request.headers)
        return flask.Response(body, status, fields)

    This function blocks, and so does the iterator: with asyncio, call both in a thread. A server that stops
    early may close the iterator or drop it: bytes are read only as the iterator is advanced.

    Args:
        record: The record. If it may be a revisit, get it from `Collection.open_record` or `Capture.open`.
        request_headers: The request's fields; case of the names does not matter.
        method: "GET" or "HEAD".
        part: "payload" or "block".

    Returns:
        Status; fields, whose names are in lower case; the body, up to 1 MiB at a time. The body of a HEAD
        request is empty. If the record cannot be sent, such as a revisit whose payload is in another record
        (404) or a damaged one (502), the body is JSON that says why.

    Raises:
        SeekWarcError: By the iterator, when it reaches damage. Close the connection, so that the client
            notices that the body is incomplete.
    """
    if method not in ("GET", "HEAD"):
        status, fields, body = _refused(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered here")
        return status, {**fields, "allow": "GET, HEAD"}, body
    try:
        representation = ServedRecord(record).representation(part)
        while (begun := representation.begin(joined(request_headers.items()), method)) is None:
            pass
    except SeekWarcError as error:
        return _refused(status_of(error), message_of(error))
    return begun.status, dict(begun.fields), _with_first(begun.first, begun.rest)


def _refused(status: HTTPStatus, message: str) -> tuple[int, dict[str, str], Iterator[bytes]]:
    text = refusal_text(status, message)
    return int(status), {**dict(REFUSAL_FIELDS), "content-length": str(len(text))}, iter((text,))


def _with_first(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
        yield from rest
