"""Keys of requests with a body: what a POST or PUT sent becomes part of the URI that is indexed.

    http://example.org/search + POST + q=cats  ->  http://example.org/search?__wb_method=POST&q=cats

Source: cdxj-indexer, and Webrecorder's "Canonicalization of non-GET requests". Bodies in AMF, the format of
Flash, are not parsed but treated as binary.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote_plus, urlencode

__all__ = ["MAX_BODY_SIZE", "MAX_QUERY", "bare_uri", "body_query", "indexed_uri", "with_query"]

MAX_QUERY: Final = 4096
"""Characters of a body's query that are kept."""
MAX_BODY_SIZE: Final = 4 << 20
"""Bytes of a body that are read. JSON and forms that are longer cannot be parsed."""

_METHOD = re.compile(r"[?&]__wb_method=")
_BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^\s;"]+))')
_FORM_NAME = re.compile(rb'(?i:\r\ncontent-disposition:[^\r\n]*?[; ]name=)"([^"\r\n]*)"')


def with_query(uri: str, method: str, query: str) -> str:
    """Return the URI under which the response to such a request is indexed."""
    added = f"__wb_method={method}" + (f"&{query}" if query else "")
    return f"{uri}{'&' if '?' in uri else '?'}{added}"


def indexed_uri(fields: Mapping[str, str]) -> str | None:
    """Return the URI under which the capture of a line of CDXJ is found; None if the line has no URI."""
    uri, method = fields.get("url"), fields.get("method", "GET")
    # The answer to what was posted is not one to GET of the same URI.
    return uri if uri is None or method == "GET" else with_query(uri, method, fields.get("requestBody", ""))


def bare_uri(uri: str | None) -> str | None:
    """Return the URI that was asked for, of one that `indexed_uri` returns."""
    return _METHOD.split(uri, maxsplit=1)[0] if uri is not None else None


def body_query(content_type: str, body: bytes) -> str:
    """Turn a request body, or its first `MAX_BODY_SIZE` bytes, into a query: name=value pairs, or base64."""
    return _query(content_type, body)[:MAX_QUERY]


def _query(content_type: str, body: bytes) -> str:
    try:
        if content_type.startswith("application/x-www-form-urlencoded"):
            return unquote_plus(body.decode("utf-8"))
        if content_type.startswith("multipart/"):
            return urlencode(_multipart_fields(content_type, body))
        if content_type.startswith(("application/json", "text/plain")):
            return urlencode(_json_fields(body))
    except (ValueError, RecursionError):
        if content_type.startswith("application/json"):
            return ""
    # The query is cut to MAX_QUERY, so no more bytes than that can matter.
    return "__wb_post_data=" + base64.b64encode(body[:MAX_QUERY]).decode("ascii")


def _json_fields(body: bytes) -> dict[str, str]:
    """Return every number, string and boolean that has a name, however deeply it is nested."""
    try:
        values = [json.loads(body)]
    except json.JSONDecodeError:
        if b"\n" not in body:
            raise
        values = [json.loads(line) for line in body.split(b"\n")]
    found: dict[str, str] = {}
    times: dict[str, int] = {}
    for name, value in _leaves(values):
        times[name] = times.get(name, 0) + 1
        found[name if times[name] == 1 else f"{name}.{times[name]}_"] = str(value)
    return found


def _leaves(values: list[object]) -> Iterator[tuple[str, object]]:
    waiting: list[tuple[str, object]] = [("", value) for value in reversed(values)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((name, it) for it in reversed(value))
        elif name:
            yield name, value


def _multipart_fields(content_type: str, body: bytes) -> list[tuple[bytes, bytes]]:
    """Return (name, value) of each part of a form (RFC 7578)."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise ValueError("the parts have no boundary")
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode("utf-8", "surrogateescape")
    _, *parts = (b"\r\n" + body).split(delimiter)
    if not parts or not parts[-1].startswith(b"--"):
        raise ValueError("the last part has no end")
    found = []
    for part in parts[:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        name = _FORM_NAME.search(head)
        if name is not None:
            found.append((name[1], value))
    return found
