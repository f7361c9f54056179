"""Invalid options of a writer are refused when the file is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.options import WriteOptions, WriterOptions


def test_options_are_those_that_type_checkers_know() -> None:
    assert set(WriteOptions.known) == set(WriterOptions.__annotations__) | {"append"}
    assert not WriterOptions.__required_keys__


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dedup": True},
            r"dedup must have find\(\) and add\(\), like seekwarc.Duplicates\(\), not True",
        ),
        ({"dictionary": "site.dict"}, "dictionary must be .* not 'site.dict'"),
        ({"max_file_size": 20.5}, "max_file_size must be an int, not 20.5"),
        ({"max_file_size": 1e9}, "max_file_size must be an int, not 1000000000.0"),
        ({"level": "3"}, "level must be an int, not '3'"),
        ({"level": True}, "level must be an int, not True"),
        ({"threads": "2"}, "threads must be an int"),
        ({"frame_size": None}, "frame_size must be an int, not NoneType"),
        ({"compress_dictionary": "no"}, "compress_dictionary must be True or False, not 'no'"),
        ({"repair": 1, "mode": "a"}, "repair must be True or False, not 1"),
    ],
)
def test_options_of_a_wrong_type_are_refused(options: Any, message: str, tmp_path) -> None:
    mode = options.pop("mode", "w") if "mode" in options else "w"
    with pytest.raises(TypeError, match=message):
        seekwarc.open(tmp_path / "a.warc.zst", mode, **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        ("w", {"existing": "yes"}, 'existing is .yes., not "error", "number" or "overwrite"'),
        ("w", {"on_error": None}, 'on_error is None, not "keep" or "discard"'),
        ("w", {"tables": "all"}, 'tables is .all., not "large", "every" or "none"'),
        ("w", {"compression": "gzip"}, 'compression is .gzip., not "zst", "gz" or "none"'),
        ("w", {"existing": "number"}, "it needs max_file_size"),
        ("w", {"repair": True}, 'repair is for mode "a"'),
        ("a", {"existing": "overwrite"}, 'mode "a" continues the file that exists'),
        ("w", {"dedup": seekwarc.Duplicates(), "digest": None}, "dedup needs digests"),
        ("w", {"threads": 0}, "threads is 0, not within 1 to 1024"),
    ],
)
def test_options_out_of_range_are_refused(mode: Any, options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        seekwarc.open(tmp_path / "a.warc.zst", mode, **options)
    assert os.listdir(tmp_path) == []
