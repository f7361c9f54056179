"""JSON that any reader takes: bytes of archives that are not UTF-8 are escaped as `as_utf8` does it."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring_ascii
from typing import Any

from seekwarc.format.uri import as_utf8

__all__ = ["json_text"]

_NOT_ASCII = re.compile("[^\x00-\x7e]+")


def json_text(value: object, *, ascii_only: bool = True, **options: Any) -> str:  # noqa: ANN401
    """Return a value as JSON, without surrogates; `options` are those of `json.dumps`."""
    text = json.dumps(value, ensure_ascii=ascii_only, **options)
    if not ascii_only:
        return as_utf8(text)
    if "\\ud" not in text:
        return text
    return _NOT_ASCII.sub(_escaped, as_utf8(json.dumps(value, ensure_ascii=False, **options)))


def _escaped(match: re.Match[str]) -> str:
    return encode_basestring_ascii(match[0])[1:-1]
