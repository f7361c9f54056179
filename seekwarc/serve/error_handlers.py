"""Turns errors into answers of Starlette applications."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from seekwarc.compiling import override
from seekwarc.errors import SeekWarcError
from seekwarc.serve.error_answers import REFUSAL_FIELDS, json_bytes, refusal_text, status_of

__all__ = ["HANDLERS", "JsonAnswer", "problem_response"]


class JsonAnswer(JSONResponse):
    """JSON that may contain any text of archives."""

    @override
    def render(self, content: Any) -> bytes:
        return json_bytes(content)


def problem_response(status: int, message: str) -> Response:
    """Return an answer that says what went wrong."""
    return Response(refusal_text(status, message), status, dict(REFUSAL_FIELDS))


def _archive_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, SeekWarcError)
    return problem_response(status_of(error), str(error))


def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = problem_response(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


def _our_mistake(_: Request, error: Exception) -> Response:
    # Starlette raises the error again once this was sent, and uvicorn logs its traceback.
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, f"seekwarc failed: {type(error).__name__}")


HANDLERS: Final = {
    SeekWarcError: _archive_problem,
    HTTPException: _http_problem,
    Exception: _our_mistake,
}
"""For the `exception_handlers` of an application."""
