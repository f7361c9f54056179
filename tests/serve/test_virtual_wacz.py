"""Archives offered as WACZ files that are not stored."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import LimitError, UnsupportedError
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.virtual_wacz import VirtualWacz
from seekwarc.storage.local import BytesSource
from tests.serve.asgi import Client
from tests.support.foreign import Foreign
from tests.support.waczs import FILM, FILM_BYTES, HOME, warc

PLAYER = "https://replayweb.page"
ENDINGS = (".warc.zst", ".warc.gz", ".warc")


@contextmanager
def served(tmp_path: Path, portal, *origins: str) -> Iterator[Client]:
    for ending in ENDINGS:
        (tmp_path / f"a{ending}").write_bytes(warc(f"a{ending}"))
    with Library([tmp_path / f"a{ending}" for ending in ENDINGS]) as library:
        yield Client(application(library, wacz_origins=origins), portal)


@pytest.mark.parametrize("ending", ENDINGS)
def test_it_is_a_wacz_whose_index_leads_to_its_records(tmp_path: Path, portal, ending: str) -> None:
    with served(tmp_path, portal, PLAYER) as client:
        answer = client.get(f"/wacz/a{ending}.wacz", headers={"origin": PLAYER})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/wacz")
    assert answer.headers["access-control-allow-origin"] == PLAYER
    path = tmp_path / "x.wacz"
    path.write_bytes(answer.body)
    with seekwarc.Wacz(path) as archive, ZipFile(path) as made:
        assert [it.compression for it in archive.files] == ["none"]
        assert archive.open_record(uri=FILM).payload.read() == FILM_BYTES
        assert archive.open_record(uri=HOME).type == "revisit"
        assert [page.title for page in archive.pages()] == ["Home & garden"]
        assert made.getinfo("archive/a.warc").CRC == 0
    report = tools.validate_wacz(path)
    assert report.lines == 3
    assert report.counts.keys() == {"W11", "W19"}, "only hash and checksum of the WARC file are missing"


@pytest.mark.parametrize("dates", [[], ["2026-11-17T06:00:00Z"], ["0001-01-01", "9999-12-31T23:59:59Z"]])
def test_it_has_the_same_bytes_whenever_it_is_made(dates: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    stored = io.BytesIO()
    with seekwarc.open(stored, "w", compression="none") as out:
        for date in ["2026-11-16T06:00:00Z", *dates]:
            out.write_response(HOME, b"<title>Home</title>", status=200, date=date)
    made = []
    for now in (1_000_000_000, 1_800_000_001):

        def gmtime(seconds: float | None = None, now: float = now) -> Any:
            return datetime.fromtimestamp(now if seconds is None else seconds, UTC).timetuple()

        monkeypatch.setattr("time.gmtime", gmtime)
        whole = VirtualWacz(BytesSource(stored.getvalue(), "a"), "a.warc")
        made.append((whole.etag, whole.pread(0, whole.known_size)))
    assert made[0] == made[1]


def test_ranges_cross_members_and_records(tmp_path: Path, portal) -> None:
    with served(tmp_path, portal, "*") as client:
        name = "a.warc.zst"
        whole = VirtualWacz(BytesSource((tmp_path / name).read_bytes(), name), name)
        data = whole.pread(0, whole.known_size + 10)
        assert len(data) == whole.known_size
        for start in range(0, whole.known_size, 7919):
            assert whole.pread(start, 2000) == data[start : start + 2000]
        for field, part in (("bytes=-65558", data[-65558:]), ("bytes=10-2000", data[10:2001])):
            answer = client.get("/wacz/a.warc.zst.wacz", headers={"range": field})
            assert answer.status == 206
            assert answer.body == part
        head = client.ask("HEAD", "/wacz/a.warc.zst.wacz")
        assert (head.status, head.body) == (200, b"")
        assert int(head.headers["content-length"]) == whole.known_size
        tag = {"if-none-match": head.headers["etag"]}
        assert client.get("/wacz/a.warc.zst.wacz", headers=tag).status == 304


def test_only_named_origins_may_read_it(tmp_path: Path, portal) -> None:
    asked = {"access-control-request-method": "GET", "access-control-request-headers": "range"}
    with served(tmp_path, portal, PLAYER) as client:
        answer = client.ask("OPTIONS", "/wacz/a.warc.wacz", headers={"origin": PLAYER, **asked})
        assert answer.status == 200
        assert "range" in answer.headers["access-control-allow-headers"].lower()
        other = {"origin": "https://example.org"}
        assert "access-control-allow-origin" not in client.get("/wacz/a.warc.wacz", headers=other).headers
        assert client.ask("OPTIONS", "/wacz/a.warc.wacz", headers={**other, **asked}).status == 400
        assert client.get("/wacz/b.warc.wacz").status == 404
        assert client.get("/wacz/..%2fa.warc.wacz").status == 404
    with served(tmp_path, portal) as client:
        assert client.get("/wacz/a.warc.wacz").status == 404


def test_what_has_no_offsets_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Foreign()
    for number in range(3):
        made.record(b"block %d" % number)
    shared = _one_member(made)
    with pytest.raises(UnsupportedError, match="convert it"), pytest.warns(seekwarc.FormatWarning):
        VirtualWacz(BytesSource(shared, "a.warc.gz"), "a.warc.gz")
    monkeypatch.setattr("seekwarc.serve.virtual_wacz.MAX_INDEX", 100)
    with pytest.raises(LimitError):
        VirtualWacz(BytesSource(warc("a.warc"), "a.warc"), "a.warc")


def _one_member(made: Foreign) -> bytes:

    with seekwarc.open(io.BytesIO(made.bytes())) as archive:
        return gzip.compress(b"".join(record.whole.read() for record in archive))


def test_all_of_them_are_one_for_players(tmp_path: Path, portal) -> None:
    with served(tmp_path, portal, PLAYER) as client:
        answer = client.get("/chain.json", headers={"origin": PLAYER})
        assert answer.headers["access-control-allow-origin"] == PLAYER
        listed = json.loads(answer.body)
        assert listed["profile"] == "multi-wacz-package"
        assert [it["name"] for it in listed["resources"]] == [f"a{ending}.wacz" for ending in ENDINGS]
        # The player has it in addresses of pages, and finds no originals if it has blanks.
        assert all(it["hash"].isalnum() for it in listed["resources"])
        for resource in listed["resources"]:
            (tmp_path / resource["name"]).write_bytes(client.get(f"/{resource['path']}").body)
    paths = [{**it, "path": it["name"]} for it in listed["resources"]]
    (tmp_path / "chain.json").write_text(json.dumps({**listed, "resources": paths}))
    with seekwarc.open(tmp_path / "chain.json") as archive:
        assert archive.open_record(uri=FILM).payload.read() == FILM_BYTES
    with served(tmp_path, portal) as client:
        assert client.get("/chain.json").status == 404
