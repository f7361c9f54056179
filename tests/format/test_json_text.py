"""JSON that any reader takes."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.json_text import json_text
from seekwarc.format.uri import as_utf8

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_unicode_is_written_as_the_standard_library_writes_it(value: object) -> None:
    assert json_text(value) == json.dumps(value)
    assert json_text(value, ascii_only=False, indent=1) == json.dumps(value, ensure_ascii=False, indent=1)


@given(st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=1))
def test_what_is_not_unicode_is_escaped(value: dict[str, str]) -> None:
    expected = {as_utf8(name): as_utf8(text) for name, text in value.items()}
    for text in (json_text(value), json_text(value, ascii_only=False)):
        assert json.loads(text) == expected
        assert json.loads(text.encode()) == expected
    assert json_text(value).isascii()
    json.dumps(expected, ensure_ascii=False).encode()
