"""A WACZ of odd files: what is damaged is left out and named, all else is in it, and it is valid."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.jobs.progress import no_progress
from seekwarc.jobs.work import Reading
from seekwarc.make.wacz_sources import look_through
from tests.support.writing import noise

SOUND = ("sound", "shared", "plain", "zst")
KINDS = (*SOUND, "cut", "digest", "flipped", "lengths", "short", "long", "undated", "misdated")


def record(uri: str, payload: bytes, *, digest: str | None = None, more: str = "") -> bytes:
    """Return a response record."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(payload)}\r\n\r\n"
    block = head.encode() + payload
    stated = f"WARC-Payload-Digest: {digest}\r\n" if digest is not None else ""
    fields = (
        "WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
        f"WARC-Record-ID: <urn:x:{uri}>\r\nWARC-Target-URI: {uri}\r\nWARC-Date: 2026-11-17T06:00:00Z\r\n"
        f"{stated}{more}Content-Length: {len(block)}\r\n\r\n"
    )
    return fields.encode() + block + b"\r\n\r\n"


def odd_file(folder: Path, name: str, kind: str, rnd: random.Random) -> tuple[Path, dict[str, bytes]]:
    """Write a file of a kind; return its path, and the payloads of what is intact by URI."""
    uris = [f"http://example.org/{name}/{it}" for it in range(4)]
    payloads = {it: noise(rnd.randrange(50, 4000), seed=rnd.getrandbits(30)) for it in uris}
    records = [record(uri, payload) for uri, payload in payloads.items()]
    ending = {"plain": ".warc", "zst": ".warc.zst"}.get(kind, ".warc.gz")
    path = folder / f"{name}{ending}"
    bad = rnd.randrange(4)
    uri = [*payloads][bad]
    if kind in ("digest", "lengths"):
        more = "Content-Length: 7\r\n" if kind == "lengths" else ""
        digest = "sha1:2JMJ7L5RSW3YVVLMLQCJ6YXKYVWU4QQY" if kind == "digest" else None
        records[bad] = record(uri, payloads.pop(uri), digest=digest, more=more)
    elif kind in ("short", "long"):
        size = len(records[bad].partition(b"\r\n\r\n")[2]) - len(b"\r\n\r\n")
        wrong = size + (-9 if kind == "short" else 5)
        records[bad] = records[bad].replace(b": %d\r\n\r\nHTTP" % size, b": %d\r\n\r\nHTTP" % wrong, 1)
        payloads.pop(uri)
    elif kind in ("undated", "misdated"):
        date = b"" if kind == "undated" else b"WARC-Date: 20261117060000\r\n"
        records[bad] = records[bad].replace(b"WARC-Date: 2026-11-17T06:00:00Z\r\n", date, 1)
        payloads.pop(uri)
    members = [gzip.compress(it, mtime=0) for it in records]
    if kind == "cut":
        payloads.pop([*payloads][-1])
        members[-1] = members[-1][: len(members[-1]) // 2]
    elif kind == "flipped":
        payloads.pop(uri)
        half = len(members[bad]) // 2
        members[bad] = members[bad][:half] + bytes(it ^ 0x55 for it in members[bad][half:])
    elif kind == "shared":
        members = [gzip.compress(b"".join(records), mtime=0)]
    if kind == "plain":
        path.write_bytes(b"".join(records))
    elif kind == "zst":
        source = folder / "source.warc.gz"
        source.write_bytes(b"".join(members))
        tools.convert(source, path)
        source.unlink()
    else:
        path.write_bytes(b"".join(members))
    return path, payloads


def check(path: Path, payloads: dict[str, bytes]) -> None:
    assert tools.validate_wacz(path).is_valid
    with seekwarc.Wacz(path) as archive:
        assert {it.uri for it in seekwarc.Index(path)} == payloads.keys()
        for uri, payload in payloads.items():
            assert archive.open_record(uri=uri).payload.read() == payload


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", ["gz", "none"])
def test_a_wacz_of_an_odd_file_is_valid_and_has_all_that_is_intact(
    tmp_path: Path, kind: str, compression: str
) -> None:
    path, payloads = odd_file(tmp_path, "a", kind, random.Random(kind))
    damage: list[FormatError] = []
    done = tools.create_wacz([path], tmp_path / "x.wacz", compression=compression, on_damage=damage.append)  # type: ignore[arg-type]
    assert done.left_out == len(damage) == (len(payloads) < 4)
    assert all(it.source == str(path) for it in damage)
    check(tmp_path / "x.wacz", payloads)
    assert sorted(it.name for it in tmp_path.iterdir()) == sorted([path.name, "x.wacz"])


@pytest.mark.parametrize("seed", [0, *(pytest.param(it, marks=pytest.mark.slow) for it in range(1, 60))])
def test_many_odd_files_together(tmp_path: Path, seed: int) -> None:
    rnd, payloads = random.Random(seed), {}
    for number in range(6):
        payloads.update(odd_file(tmp_path, f"f{number}", rnd.choice(KINDS), rnd)[1])
    tools.create_wacz([tmp_path], tmp_path / "x.wacz")
    check(tmp_path / "x.wacz", payloads)


def test_files_of_one_name_get_names_of_their_own(tmp_path: Path) -> None:
    rnd, payloads = random.Random(1), {}
    for folder, kind in (("a", "sound"), ("b", "plain"), ("c", "zst")):
        (tmp_path / folder).mkdir()
        path, found = odd_file(tmp_path / folder, f"crawl{folder}", kind, rnd)
        path.rename(path.with_name(path.name.replace(f"crawl{folder}", "crawl")))
        payloads.update(found)
    tools.create_wacz([tmp_path], tmp_path / "x.wacz")
    check(tmp_path / "x.wacz", payloads)


def test_what_is_no_archive_and_what_has_nothing_intact_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(b"this is text")
    with pytest.raises(FormatError, match="not a WARC file"):
        look_through(str(tmp_path / "a.warc"), "", print, Reading(no_progress, 1, {}))
    with pytest.raises(FormatError, match="not a WARC file"):
        tools.create_wacz([tmp_path / "a.warc"], tmp_path / "x.wacz")
    (tmp_path / "b.warc").write_bytes(record("http://a/", b"x", digest="sha1:" + "A" * 32))
    with pytest.raises(NotFoundError, match="no capture"):
        tools.create_wacz([tmp_path / "b.warc"], tmp_path / "x.wacz")
    assert sorted(it.name for it in tmp_path.iterdir()) == ["a.warc", "b.warc"]
