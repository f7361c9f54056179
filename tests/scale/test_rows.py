"""Rows of a file: they hold what is wanted of a record, and nothing else is read for them."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.errors import SeekWarcError
from seekwarc.read.options import DEFAULTS
from seekwarc.read.selection import Selection
from seekwarc.scale.rows import Row, Rows, Wanted
from seekwarc.scale.split import Split
from tests.support.writing import noise

BODY = noise(5000, seed=3)
PLACE_ONLY = {
    "http": False,
    "payload_size": False,
    "payload": False,
    "text": False,
    "text_only": False,
    "fields": False,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = io.BytesIO()
    with seekwarc.open(out, "w") as writer:
        writer.write_warcinfo({"software": "crawler/1.0"})
        writer.write_response("http://a.org/", BODY, status=200, http_headers={"Server": "nginx"})
    path = tmp_path_factory.mktemp("rows") / "a.warc.zst"
    path.write_bytes(out.getvalue())
    return str(path)


def rows_of(path: str, selection: Selection | None = None, **wanted: bool) -> list[Row]:
    made = Wanted(**{**PLACE_ONLY, **wanted}, max_payload=len(BODY), decoded=False, main=False)
    return list(Rows(made, selection, "row", DEFAULTS).of(Split(path, "records", 0)))


def test_rows_hold_what_is_wanted_of_a_record(path: str) -> None:
    _, bare = rows_of(path)
    assert (bare.http, bare.payload_size, bare.payload, bare.error) == (None, None, None, None)
    assert bare.header is not None
    assert bare.length is not None
    with seekwarc.open(path) as archive:
        assert archive.record_at(bare.offset or 0, bare.length).header.raw == bare.header
    _, full = rows_of(path, http=True, payload_size=True, payload=True)
    assert full.http is not None
    assert full.http["server"] == "nginx"
    assert (full.payload_size, full.payload) == (len(BODY), BODY)


def test_rows_weigh_all_that_they_hold(path: str) -> None:
    _, bare = rows_of(path)
    _, full = rows_of(path, http=True, payload=True)
    _, fields = rows_of(path, http=True, payload=True, fields=True)
    assert bare.header is not None
    assert bare.weight > len(bare.header)
    assert full.weight - bare.weight > len(BODY)
    assert fields.weight > full.weight


def test_only_rows_that_are_selected_come(path: str) -> None:
    assert [row.offset for row in rows_of(path, Selection.of(type="warcinfo"))] == [0]


def test_a_row_keeps_the_text_of_an_error_only(tmp_path) -> None:
    (row,) = rows_of(str(tmp_path / "missing.warc"))
    assert row.header is None
    assert row.problem is None
    assert row.error is not None
    assert row.error.startswith("SourceNotFoundError: ")
    missing = Split(str(tmp_path / "missing.warc"), "records", 0)
    wanted = Wanted(**PLACE_ONLY, max_payload=0, decoded=False, main=False)
    with pytest.raises(SeekWarcError):
        list(Rows(wanted, None, "raise", DEFAULTS).of(missing))
