"""The index in a WACZ, in all the forms that it may have."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import LimitError
from tests.support.waczs import FILM, FILM_BYTES, members, wacz, warc


def test_several_files_and_indexes_are_one(tmp_path: Path) -> None:
    both = members({"a.warc": warc("a.warc"), "b.warc.zst": warc("b.warc.zst")}, cluster=False)
    half = both["indexes/index.cdxj"].splitlines(keepends=True)
    both["indexes/index.cdxj"] = b"".join(half[::2])
    both["indexes/more.cdxj"] = b"".join(half[1::2])
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(both))
    with seekwarc.Wacz(path) as archive, seekwarc.Index(path) as index:
        assert len(archive.files) == 2
        assert len(archive.index.by_uri(FILM)) == len(list(index.lookup(FILM))) == 2


@pytest.mark.parametrize("ending", [".cdxj.gz", ".cdx.gz"])
def test_a_compressed_index_without_a_cluster_is_unpacked(tmp_path: Path, ending: str) -> None:
    found = members(cluster=False)
    found[f"indexes/index{ending}"] = gzip.compress(found.pop("indexes/index.cdxj"))
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(found))
    with seekwarc.Wacz(path) as archive:
        assert archive.open_record(uri=FILM).payload.size == len(FILM_BYTES)


def test_a_bomb_as_index_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.cdx.wacz_index.MAX_INDEX", 1 << 20)
    found = members(cluster=False)
    del found["indexes/index.cdxj"]
    found["indexes/index.cdx.gz"] = gzip.compress(bytes(8 << 20))
    path = tmp_path / "crawl.wacz"
    path.write_bytes(wacz(found))
    with pytest.raises(LimitError, match=r"crawl\.wacz!/indexes/index\.cdx\.gz: has more than"):
        seekwarc.Wacz(path)
