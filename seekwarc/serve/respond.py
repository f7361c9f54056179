"""Answers to range requests for any framework: status, fields, and an iterator of bytes.

    status, fields, body = seekwarc.serve.answer(record, request.headers)

This needs only seekwarc. Archived content is sent so that it can do no harm in your origin: see
`seekwarc.serve.headers`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus

from seekwarc.errors import SeekWarcError, TruncatedError
from seekwarc.read.record import Record
from seekwarc.serve.error_answers import REFUSAL_FIELDS, refusal_text, status_of
from seekwarc.serve.headers import Part
from seekwarc.serve.ranges import Answer
from seekwarc.serve.representation import Representation
from seekwarc.serve.served import ServedRecord

__all__ = ["answer"]


def answer(
    record: Record, request_headers: Mapping[str, str], *, method: str = "GET", part: Part = "payload"
) -> tuple[int, list[tuple[str, str]], Iterator[bytes]]:
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
        Status; fields as (lower-case name, value); the body, up to 1 MiB at a time. The body of a HEAD
        request is empty. If the record cannot be sent, such as a revisit whose payload is in another record
        (404) or a damaged one (502), the body is JSON that says why.

    Raises:
        SeekWarcError: By the iterator, when it reaches damage. Close the connection, so that the client
            notices that the body is incomplete.
    """
    if method not in ("GET", "HEAD"):
        fields = [*REFUSAL_FIELDS, ("allow", "GET, HEAD")]
        return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered here", fields)
    asked: dict[str, str] = {}
    for name, value in request_headers.items():
        key = name.lower()
        asked[key] = f"{asked[key]}, {value}" if key in asked else value
    try:
        representation = ServedRecord(record).representation(part)
        while (made := representation.answer(asked)) is None:
            pass
        body = _body(representation, made) if method == "GET" else iter(())
        first = next(body, b"")
    except SeekWarcError as error:
        return _refused(status_of(error), str(error), [*REFUSAL_FIELDS])
    return int(made.status), [*representation.fields(made)], _with_first(first, body)


def _refused(
    status: HTTPStatus, message: str, fields: list[tuple[str, str]]
) -> tuple[int, list[tuple[str, str]], Iterator[bytes]]:
    text = refusal_text(status, message)
    return int(status), [*fields, ("content-length", str(len(text)))], iter((text,))


def _body(representation: Representation, made: Answer) -> Iterator[bytes]:
    for position, length in representation.steps(made):
        data = representation.read(position, length)
        yield data
        if len(data) < length:
            if made.stop is not None:
                raise TruncatedError(f"the record ends at byte {position + len(data)} of an answer")
            return


def _with_first(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
        yield from rest
