"""Arguments of a wrong type: each method of a writer says which, in the same words in every build."""

from __future__ import annotations

import io
from typing import Any

import pytest

import seekwarc
from tests.support.writing import URI

RAW = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 1\r\n\r\n"
RIGHT: dict[str, dict[str, Any]] = {
    "write": {"type": "resource", "target_uri": URI, "block": b"x"},
    "write_response": {"target_uri": URI, "block": b"x", "status": 200},
    "write_request": {"target_uri": URI, "block": b"x"},
    "write_resource": {"target_uri": URI, "block": b"x", "content_type": "text/plain"},
    "write_metadata": {"block": {"via": URI}, "target_uri": URI},
    "write_revisit": {"target_uri": URI, "profile": "http://example.org/profile"},
    "write_conversion": {"target_uri": URI, "block": b"x", "content_type": "text/plain"},
    "write_continuation": {"target_uri": URI, "block": b"x", "origin_id": "urn:x:1", "segment_number": 2},
    "write_warcinfo": {"fields": {"software": "test"}},
    "write_raw": {"header": RAW, "block": b"x"},
}
"""Arguments of each method with which it writes a record."""
TYPED = [name for name in RIGHT if name not in ("write", "write_warcinfo", "write_raw")]

OF_BLOCKS = "block must be bytes, a binary file or an iterable of bytes, not int"
OF_IDS = "{} must be what write_* returned, or a record ID, not float"
OF_DATES = "date must be a datetime, a WarcDate or text, not 5"
OF_PAIRS = "headers must be a mapping, or pairs of a name and a value"
COMMON = [
    ("date", 5, OF_DATES),
    ("record_id", 5, "record_id must be text, not 5"),
    ("record_id", ["urn:x:1"], "record_id must be text, not list"),
    ("length", "5", "length must be an int, not '5'"),
    ("length", 1.5, "length must be an int, not 1.5"),
    ("headers", 5, OF_PAIRS),
    ("headers", {"X": 5}, "headers must hold names and values that are str or bytes, not 5"),
]
OF_TYPED = [
    *COMMON,
    ("concurrent_to", 1.5, OF_IDS.format("concurrent_to")),
    ("concurrent_to", [1.5], OF_IDS.format("concurrent_to")),
    ("warcinfo_id", 1.5, OF_IDS.format("warcinfo_id")),
]
OF_ONE = [
    ("write", "type", 5, "WARC-Type must be text, not 5"),
    ("write", "block", 5, OF_BLOCKS),
    ("write", "content_type", 5, "Content-Type must be text, not 5"),
    *(("write", *case) for case in COMMON),
    ("write_response", "block", 5, OF_BLOCKS),
    ("write_response", "status", "200", "status must be an int, not str"),
    ("write_response", "status", 200.0, "status must be an int, not float"),
    ("write_response", "reason", 5, "reason must be text, not 5"),
    ("write_response", "reason", b"OK", "reason must be text, not bytes"),
    ("write_response", "http_headers", 5, f"http_{OF_PAIRS}"),
    ("write_response", "content_type", 5, "Content-Type must be text, not 5"),
    ("write_request", "block", 5, OF_BLOCKS),
    ("write_request", "content_type", 5, "Content-Type must be text, not 5"),
    ("write_resource", "block", 5, OF_BLOCKS),
    ("write_resource", "content_type", 5, "Content-Type must be text, not 5"),
    ("write_metadata", "block", 5, OF_PAIRS),
    ("write_metadata", "content_type", 5, "Content-Type must be text, not 5"),
    ("write_metadata", "refers_to", 1.5, OF_IDS.format("refers_to")),
    ("write_revisit", "block", 5, OF_BLOCKS),
    ("write_revisit", "refers_to", 1.5, OF_IDS.format("refers_to")),
    ("write_revisit", "refers_to_date", 5, OF_DATES),
    ("write_conversion", "block", 5, OF_BLOCKS),
    ("write_conversion", "refers_to", 1.5, OF_IDS.format("refers_to")),
    ("write_continuation", "block", 5, OF_BLOCKS),
    ("write_continuation", "origin_id", 1.5, OF_IDS.format("origin_id")),
    ("write_warcinfo", "fields", 5, "fields must be a mapping, or pairs of a name and a value"),
    ("write_warcinfo", "filename", 5, "WARC-Filename must be text, not 5"),
    ("write_warcinfo", "headers", 5, OF_PAIRS),
    ("write_raw", "header", 5, "header must be bytes or a RecordHeader, not 5"),
    ("write_raw", "header", RAW.decode(), f"header must be bytes or a RecordHeader, not {RAW.decode()!r}"),
    ("write_raw", "block", 5, OF_BLOCKS),
    ("write_raw", "trailer", "\r\n", "trailer must be bytes or a function that returns them, not '\\r\\n'"),
    *((method, *case) for method in TYPED for case in OF_TYPED),
]


@pytest.mark.parametrize(("method", "argument", "value", "message"), OF_ONE)
def test_an_argument_of_a_wrong_type_is_named(method: str, argument: str, value: Any, message: str) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as out:
        with pytest.raises(TypeError) as caught:
            getattr(out, method)(**RIGHT[method] | {argument: value})
        assert str(caught.value) == message
        # Nothing of it is left, and the writer takes what follows.
        getattr(out, method)(**RIGHT[method])
    with seekwarc.open(target.getvalue()) as archive:
        assert len(list(archive)) == 1


@pytest.mark.parametrize("method", ["write", *TYPED])
def test_a_length_below_0_is_refused(method: str) -> None:
    with seekwarc.Writer(io.BytesIO()) as out:
        out.write_resource(URI, b"", None)
        with pytest.raises(ValueError, match=r"^length is -1, not 0 or more$"):
            getattr(out, method)(**RIGHT[method] | {"length": -1})


@pytest.mark.parametrize("method", ["write", *TYPED])
def test_what_to_do_when_interrupted_is_one_of_two_words(method: str) -> None:
    for value in ("keep", 5, ["discard"]):
        with seekwarc.Writer(io.BytesIO()) as out:
            out.write_resource(URI, b"", None)
            with pytest.raises(ValueError, match=r"^on_interrupt is .*, not "):
                getattr(out, method)(**RIGHT[method] | {"on_interrupt": value})
