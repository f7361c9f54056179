"""Answers to requests that cannot be met."""

from __future__ import annotations

import json

import pytest

from seekwarc.errors import (
    ChecksumError,
    NotFoundError,
    RangeError,
    SeekWarcError,
    SourceError,
    UnsupportedError,
)
from seekwarc.serve.error_answers import json_bytes, refusal_text, status_of


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFoundError, 404),
        (RangeError, 400),
        (UnsupportedError, 501),
        (ChecksumError, 502),
        (SourceError, 502),
        (SeekWarcError, 502),
    ],
)
def test_each_error_has_a_status(error, status) -> None:
    assert status_of(error("why")) == status


def test_bytes_that_are_not_utf8_are_escaped() -> None:
    assert json.loads(json_bytes({"caf\udce9": ["\ud800", 1]})) == {"caf%E9": ["%ED%A0%80", 1]}


def test_an_error_answer_has_kind_and_message() -> None:
    assert json.loads(refusal_text(404, "no film")) == {"error": {"kind": "not found", "message": "no film"}}
