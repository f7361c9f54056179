"""Errors as answers: a status, and JSON that says in words what is the matter."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from seekwarc.errors import NotFoundError, RangeError, SeekWarcError, UnsupportedError
from seekwarc.serve.policy import OTHER_POLICY, SAFE, clean

__all__ = ["HANDLERS", "JsonAnswer", "problem_response"]


class JsonAnswer(JSONResponse):
    """JSON in which text of archives may stand as it is: what is not UTF-8 in it is replaced."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401
        """See `starlette.responses.Response.render`."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return clean(text).encode()


def problem_response(status: int, message: str) -> JsonAnswer:
    """Return an answer that says what is the matter."""
    headers = dict([*SAFE, ("content-security-policy", OTHER_POLICY), ("cache-control", "no-store")])
    kind = HTTPStatus(status).phrase.lower()
    return JsonAnswer({"error": {"kind": kind, "message": message}}, status, headers)


def _archive_problem(_: Request, error: Exception) -> JsonAnswer:
    if isinstance(error, NotFoundError):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, RangeError):
        status = HTTPStatus.BAD_REQUEST
    elif isinstance(error, UnsupportedError):
        status = HTTPStatus.NOT_IMPLEMENTED
    else:
        # The archive is to us what the server behind it is to a gateway.
        status = HTTPStatus.BAD_GATEWAY
    return problem_response(status, str(error))


def _http_problem(_: Request, error: Exception) -> JsonAnswer:
    assert isinstance(error, HTTPException)
    response = problem_response(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


def _our_mistake(_: Request, error: Exception) -> JsonAnswer:
    # It is raised again once this was sent, and logged with its traceback.
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, f"seekwarc failed: {type(error).__name__}")


HANDLERS: Final = {
    SeekWarcError: _archive_problem,
    HTTPException: _http_problem,
    Exception: _our_mistake,
}
"""For the `exception_handlers` of an application."""
