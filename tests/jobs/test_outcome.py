"""Outcomes: kinds of failures, exit statuses."""

from __future__ import annotations

import pytest

from seekwarc import errors
from seekwarc.jobs.outcome import KINDS, Failure, Job, Outcome, Status

ERRORS = [
    (errors.TruncatedError("cut", source="a", offset=7), "truncated", 7, 1),
    (errors.ChecksumError("wrong"), "checksum", None, 1),
    (errors.LimitError("large"), "limit", None, 1),
    (errors.UnsupportedError("arc"), "unsupported", None, 1),
    (errors.SegmentError("gap"), "segment", None, 1),
    (errors.FormatError("bad", offset=0), "format", 0, 1),
    (errors.NotFoundError("none"), "not-found", None, 1),
    (errors.TargetExistsError("there"), "exists", None, 2),
    (errors.SourceChangedError("other"), "changed", None, 2),
    (errors.RangeNotSupportedError("no"), "range-not-supported", None, 2),
    (errors.SourceTimeoutError("late"), "timeout", None, 2),
    (errors.SourceError("gone"), "io", None, 2),
    (FileNotFoundError(2, "No such file", "a"), "io", None, 2),
    (errors.SeekWarcError("two files"), "usage", None, 2),
    (ValueError("level is 99"), "usage", None, 2),
]


@pytest.mark.parametrize(("error", "kind", "offset", "status"), ERRORS, ids=[it[1] for it in ERRORS])
def test_a_failure_has_kind_offset_message_and_status(error, kind, offset, status) -> None:
    failure = Failure.of(error)
    assert failure == Failure(kind, str(error), offset, status)
    assert failure.as_json() == {"kind": kind, "offset": offset, "message": str(error)}
    assert kind in KINDS
    assert Outcome(Job("a"), Status.FAILED, failure=failure).exit_status == status


def test_every_error_of_the_package_has_a_kind() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        if issubclass(kind, errors.SeekWarcError):
            assert Failure.of(kind("x")).kind in KINDS


@pytest.mark.parametrize(
    ("status", "expected"),
    [(Status.DONE, 0), (Status.SKIPPED, 0), (Status.NOT_RUN, 0), (Status.PROBLEMS, 1)],
)
def test_an_outcome_without_failure_has_an_exit_status(status, expected) -> None:
    assert Outcome(Job("a"), status).exit_status == expected
