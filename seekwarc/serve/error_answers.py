"""Answers to requests that cannot be met: a status, and JSON with a message."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from seekwarc.errors import NotFoundError, RangeError, SeekWarcError, UnsupportedError
from seekwarc.format.json_text import json_text
from seekwarc.serve.headers import OTHER_POLICY, SAFE

__all__ = ["REFUSAL_FIELDS", "json_bytes", "message_of", "refusal_text", "short_name", "status_of"]

REFUSAL_FIELDS: Final = (
    *SAFE,
    ("content-security-policy", OTHER_POLICY),
    ("cache-control", "no-store"),
    ("content-type", "application/json"),
)


def json_bytes(content: object) -> bytes:
    """Return JSON in UTF-8, without the spaces that people like."""
    return json_text(content, ascii_only=False, allow_nan=False, separators=(",", ":")).encode()


def status_of(error: SeekWarcError) -> HTTPStatus:
    """Return the HTTP status for an error."""
    if isinstance(error, NotFoundError):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, RangeError):
        return HTTPStatus.BAD_REQUEST
    if isinstance(error, UnsupportedError):
        return HTTPStatus.NOT_IMPLEMENTED
    # To this server an archive is what an upstream server is to a gateway.
    return HTTPStatus.BAD_GATEWAY


def short_name(name: str) -> str:
    """Return the name of a file without its folder, or host and signature, which clients should not see."""
    return os.path.basename(urlsplit(name).path if "://" in name else name) or name


def message_of(error: SeekWarcError) -> str:
    """Return the message of an error, with the short name of its file."""
    source = short_name(error.source) if error.source is not None else None
    return str(SeekWarcError(error.message, source=source, offset=error.offset))


def refusal_text(status: int, message: str) -> bytes:
    """Return the JSON that says what went wrong."""
    return json_bytes({"error": {"kind": HTTPStatus(status).phrase.lower(), "message": message}})
