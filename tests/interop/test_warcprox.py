"""Films that warcprox has recorded in parts, read as a whole."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc import tools
from tests.support.proxy import fetched, recording_proxy
from tests.support.rangeserver import RangeServer
from tests.support.writing import noise

pytestmark = [pytest.mark.slow, pytest.mark.needs("warcprox")]

FILM = noise(3_000_000)
SPANS = ((2_500_000, 3_000_000), (0, 1_200_000), (1_000_000, 2_000_000), (1_000_000, 2_000_000))


def test_parts_recorded_by_warcprox_are_one_film(tmp_path) -> None:
    folder = tmp_path / "warcs"
    folder.mkdir()
    with RangeServer(FILM) as server, recording_proxy(folder) as proxy:
        uri = f"{server.root}/film.mp4"
        for start, stop in SPANS:
            assert fetched(uri, proxy, start, stop) == FILM[start:stop]
    archives = sorted(folder.glob("*.warc.gz"))
    with seekwarc.Collection(archives) as crawl:
        film = crawl.open_record(uri=uri, joined=True)
        assert film.payload.holes == ((2_000_000, 2_500_000),)
        assert film.payload.pread(0, 2_000_000) == FILM[:2_000_000]
        assert film.payload.pread(2_500_000, 500_000) == FILM[2_500_000:]
        film.check_overlaps()
        assert film.is_proved
        requests = [it for part in film.parts for it in part.concurrent if it.type == "request"]
        assert [it.http.method for it in requests] == ["GET"] * 4
    (resource,) = tools.join(archives, dry_run=True).resources
    assert (resource.parts, resource.held) == (4, 2_500_000)
