"""Errors as answers."""

from __future__ import annotations

import json

import pytest
from starlette.exceptions import HTTPException

from seekwarc import errors
from seekwarc.serve.error_handlers import HANDLERS, problem_response


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.NotFoundError("gone"), 404),
        (errors.RangeError("wrong"), 400),
        (errors.UnsupportedError("strange"), 501),
        (errors.ChecksumError("damaged", source="a.warc.zst", offset=7), 502),
        (errors.SourceError("unreadable"), 502),
    ],
)
def test_each_error_has_its_status_and_message(error, status) -> None:
    response = HANDLERS[errors.SeekWarcError](None, error)
    assert response.status_code == status
    assert json.loads(response.body)["error"]["message"] == str(error)


def test_an_error_answer_is_harmless() -> None:
    response = problem_response(None, HTTPException(404, "<script>"))
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert response.headers["cache-control"] == "no-store"
