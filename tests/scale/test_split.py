"""Parts of files as values: they go through JSON and pickle, and what is no such value is refused."""

from __future__ import annotations

import json
import pickle

import pytest

from seekwarc import FormatError, RangeError, Split

PAYLOAD = Split("s3://b/a.warc.zst", "payload", 5, 9, record=784, length=4096, identity='"e" 5000')
RECORDS = Split("/a.warc.zst", "records", 0, None, note="only an index says")


@pytest.mark.parametrize("split", [PAYLOAD, RECORDS])
def test_a_split_comes_through_json_and_pickle(split: Split) -> None:
    assert Split.from_json(json.loads(json.dumps(split.to_json()))) == split
    assert pickle.loads(pickle.dumps(split)) == split
    assert len({split, Split.from_json(split.to_json())}) == 1


def test_fields_may_be_left_out() -> None:
    assert Split.from_json({"filename": "/a", "kind": "records", "start": 3}) == Split("/a", "records", 3)


@pytest.mark.parametrize(
    "change",
    [
        {"filename": None},
        {"filename": 5},
        {"kind": "frames"},
        {"kind": None},
        {"start": -1},
        {"start": "0"},
        {"start": True},
        {"start": 1.0},
        {"stop": 4},
        {"stop": []},
        {"record": None},
        {"record": -1},
        {"length": 0},
        {"kind": "records"},
        {"identity": {}},
        {"more": 1},
    ],
    ids=str,
)
def test_what_is_no_split_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="split"):
        Split.from_json(PAYLOAD.to_json() | change)


@pytest.mark.parametrize("value", [None, [], "split", {}, {"filename": "/a"}])
def test_other_json_is_refused(value: object) -> None:
    with pytest.raises(FormatError, match="split"):
        Split.from_json(value)


def test_numbers_that_are_no_range_are_refused() -> None:
    with pytest.raises(RangeError):
        Split("/a", "records", 5, 4)


def test_a_split_shows_no_signature() -> None:
    split = Split("https://b.example/a.warc.zst?X-Signature=secret", "payload", 0, 9, record=7)
    assert repr(split) == "<Split of https://b.example/a.warc.zst: payload [0, 9) of the record at 7>"
