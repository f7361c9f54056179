"""Turns errors into answers of Starlette applications."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from seekwarc.errors import SeekWarcError
from seekwarc.serve.error_answers import REFUSAL_FIELDS, message_of, refusal_text, status_of

__all__ = ["HANDLERS", "problem_response"]


def problem_response(_: Request, error: Exception) -> Response:
    """Return an answer that says what went wrong."""
    fields = dict(REFUSAL_FIELDS)
    if isinstance(error, HTTPException):
        status, message = error.status_code, error.detail
        fields |= error.headers or {}
    elif isinstance(error, SeekWarcError):
        status, message = status_of(error), message_of(error)
    else:
        # Starlette raises the error again once this was sent, and uvicorn logs its traceback.
        status, message = HTTPStatus.INTERNAL_SERVER_ERROR, f"seekwarc failed: {type(error).__name__}"
    return Response(refusal_text(status, message), status, fields)


HANDLERS: Final = dict.fromkeys((SeekWarcError, HTTPException, Exception), problem_response)
"""For the `exception_handlers` of an application."""
