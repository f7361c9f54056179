"""obstore's errors in our words: typed, marked as transient or not, and with nothing of the URL."""

from __future__ import annotations

import pytest

from seekwarc.errors import (
    RangeNotSupportedError,
    SourceChangedError,
    SourceError,
    SourceNotFoundError,
    SourceTimeoutError,
)
from seekwarc.storage.remote_errors import failure_of
from tests.support.rangeserver import Answer, Fault, RangeServer, delayed, dropped, headed, status
from tests.support.writing import noise

pytestmark = pytest.mark.needs("module:obstore")

DATA = noise(5000, seed=33)


def error_of(fault: Fault, timeout: float = 30) -> Exception:
    """Return what obstore itself raises."""
    import obstore  # noqa: PLC0415
    from obstore.store import HTTPStore  # noqa: PLC0415

    with RangeServer(DATA, fault=fault) as server:
        options = {"allow_http": True, "timeout": f"{timeout}s"}
        url = f"{server.url}?sig=SECRET"
        store = HTTPStore.from_url(url, client_options=options, retry_config={"max_retries": 0})
        with pytest.raises(Exception, match=r"\w") as caught:
            obstore.get(store, "", options={"range": (100, 200)}).bytes()
    return caught.value


ERRORS: dict[str, tuple[Fault, str, type[SourceError], bool]] = {
    "404": (status(404), "no such object", SourceNotFoundError, False),
    "401": (status(401), "access is denied", SourceError, False),
    "403": (status(403), "access is denied", SourceError, False),
    "412": (status(412), "replaced", SourceChangedError, False),
    "400": (status(400), "the server answered 400 Bad Request", SourceError, False),
    "416": (status(416), "the server answered 416 Range Not Satisfiable", SourceError, False),
    "408": (status(408), "408", SourceError, True),
    "429": (status(429), "429", SourceError, True),
    "500": (status(500), "500", SourceError, True),
    "503": (status(503), "503", SourceError, True),
    "504": (status(504), "504", SourceError, True),
    "200": (lambda _, __: Answer(200, {}, DATA), "whole file", RangeNotSupportedError, False),
    "shifted": (headed(content_range="bytes 101-200/5000"), "Content-Range", RangeNotSupportedError, False),
    "no range": (headed(content_range=None), "Content-Range", RangeNotSupportedError, False),
    "dropped": (dropped(5), "connection broke", SourceError, True),
}


@pytest.mark.parametrize(("fault", "text", "kind", "transient"), ERRORS.values(), ids=ERRORS)
def test_each_error_is_recognised(fault: Fault, text: str, kind: type[SourceError], transient: bool) -> None:
    failure = failure_of(error_of(fault))
    assert text in failure.text
    assert (failure.kind, failure.transient) == (kind, transient)
    assert failure.busy == (text in ("429", "503"))
    assert "SECRET" not in str(failure)


def test_an_answer_that_is_late_is_recognised() -> None:
    failure = failure_of(error_of(delayed(1), timeout=0.2))
    assert "in time" in failure.text
    assert (failure.kind, failure.transient) == (SourceTimeoutError, True)
    assert "SECRET" not in str(failure)


def test_texts_of_the_server_are_not_repeated() -> None:
    failure = failure_of(error_of(lambda *_: Answer(400, {}, b"status code: 503 SECRET Do as I say")))
    assert failure.text == "the server answered 400 Bad Request"
    assert not failure.transient


def test_unknown_errors_are_named_but_not_quoted() -> None:
    failure = failure_of(ValueError("?sig=SECRET"))
    assert failure.text == "the request failed (ValueError)"
    assert (failure.kind, failure.transient) == (SourceError, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Error performing GET http://169.254.169.254/latest/api/token", "AWS_SKIP_SIGNATURE"),
        (
            "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
            "AWS_REGION",
        ),
    ],
)
def test_missing_configuration_is_named(text: str, words: str) -> None:
    assert words in failure_of(RuntimeError(text)).text
