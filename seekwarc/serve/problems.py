"""Errors as answers: a status, and JSON that says in words what is the matter."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from seekwarc.errors import NotFoundError, RangeError, SeekWarcError, UnsupportedError
from seekwarc.serve.policy import OTHER_POLICY, SAFE

__all__ = ["HANDLERS", "problem_response"]


def problem_response(status: int, message: str) -> JSONResponse:
    """Return an answer that says what is the matter."""
    headers = dict([*SAFE, ("content-security-policy", OTHER_POLICY), ("cache-control", "no-store")])
    kind = HTTPStatus(status).phrase.lower()
    return JSONResponse({"error": {"kind": kind, "message": message}}, status, headers)


def _archive_problem(_: Request, error: Exception) -> JSONResponse:
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


def _http_problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    response = problem_response(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


HANDLERS: Final = {SeekWarcError: _archive_problem, HTTPException: _http_problem}
"""For the `exception_handlers` of an application."""
