"""`tools.dictionary`."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from tests.support.foreign import some_dictionary


def test_the_dictionary_of_a_file_is_read(tmp_path: Path) -> None:
    data = some_dictionary().as_bytes()
    (tmp_path / "raw.dict").write_bytes(data)
    dictionary = tools.dictionary(tmp_path / "raw.dict").dictionary
    assert dictionary.data == data
    with seekwarc.open(tmp_path / "new.warc.zst", "w", dictionary=dictionary) as out:
        out.write_resource("http://example.org/", b"x", "text/plain")
    found = tools.dictionary(tmp_path / "new.warc.zst")
    assert (found.dictionary.data, found.framed) == (data, True)


def test_a_file_without_a_dictionary_is_told(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "new.warc.zst", "w") as out:
        out.write_resource("http://example.org/", b"x", "text/plain")
    with pytest.raises(seekwarc.FormatError, match="new"):
        tools.dictionary(tmp_path / "new.warc.zst")
