"""What obstore's errors mean, in messages that reveal nothing secret.

obstore has few classes of errors, so the cause has to be found in their texts. These contain the URL with its
signature, and are never passed on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from seekwarc.errors import (
    RangeNotSupportedError,
    SourceChangedError,
    SourceError,
    SourceNotFoundError,
    SourceTimeoutError,
)

__all__ = ["Failure", "failure_of"]

_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_BUSY = {429, 503}

_STATUS = re.compile(r"status code: ([0-9]{3})(?: ([A-Za-z' -]{1,40}))?")


class Failure(NamedTuple):
    """Why bytes did not come, in words that reveal nothing of the URL."""

    text: str
    kind: type[SourceError] = SourceError
    transient: bool = False
    busy: bool = False
    status: int | None = None


_DENIED = Failure(
    "access is denied; set credentials in the environment or configuration; for a public bucket set "
    "AWS_SKIP_SIGNATURE=true"
)
_OTHER_RANGE = Failure("Content-Range of the answer is missing, or is another range", RangeNotSupportedError)
_BY_NAME = {
    "FileNotFoundError": Failure("there is no such object (404)", SourceNotFoundError),
    "PreconditionError": Failure("the object was replaced", SourceChangedError),
    "PermissionDeniedError": _DENIED,
    "UnauthenticatedError": _DENIED,
}
_BY_TEXT = {
    "RangeNotSupported": Failure("it sends the whole file instead", RangeNotSupportedError),
    "UnexpectedRange": _OTHER_RANGE,
    "ContentRange": _OTHER_RANGE,
    "InvalidRangeRequest": _OTHER_RANGE,
    "kind: Timeout": Failure("the server did not answer in time", SourceTimeoutError, transient=True),
    "kind: Connect": Failure("the server cannot be reached", transient=True),
    "kind: Request": Failure("the connection broke", transient=True),
    "kind: Interrupted": Failure("the connection broke", transient=True),
    "kind: Decode": Failure("the connection broke", transient=True),
    "region": Failure("the bucket is in another region; name it in AWS_REGION"),
    "169.254.169.254": Failure(
        "no credentials were found in environment, configuration or the role of this machine; for a public "
        "bucket set AWS_SKIP_SIGNATURE=true"
    ),
}
"""What the texts of obstore's other errors contain."""


def failure_of(error: Exception) -> Failure:
    """Return what an error of obstore means."""
    found = _BY_NAME.get(type(error).__name__)
    if found is not None:
        return found
    text = str(error)
    if match := _STATUS.search(text):
        status = int(match[1])
        words = f"the server answered {match[1]} {match[2] or ''}".rstrip()
        return Failure(words, transient=status in _TRANSIENT, busy=status in _BUSY, status=status)
    for words, failure in _BY_TEXT.items():
        if words in text:
            return failure
    return Failure(f"the request failed ({type(error).__name__})")
