"""A sidecar that was forged changes ranges that are read by it, and nothing that a verb writes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.read import archive_file
from tests.support.foreign import CRLF2, cut
from tests.support.sidecars import Member, forged, gzip_member, member, mixed, sidecar_of

SPACING = 16 << 10
Verb = Callable[[list[str], Path], object]


def made(number: int, payload: bytes, digest: bytes) -> Member:
    """Make a response in a gzip member of its own, of which some digest is stated."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + payload
    header = (
        b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%d>\r\n"
        b"WARC-Date: 2026-01-0%dT00:00:00Z\r\n"
        b"WARC-Target-URI: http://example.org/film\r\nWARC-Payload-Digest: sha1:%b\r\n"
        b"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n"
    ) % (number, number, base64.b32encode(hashlib.sha1(digest).digest()), len(block))
    pieces = [header, *cut(block, 9_000), CRLF2]
    return member(0, gzip_member(pieces), b"".join(pieces))


@cache
def stored() -> tuple[bytes, bytes, bytes]:
    """Return two files and a sidecar of the second, which makes it look like the first to a range."""
    true = b"".join(mixed(3, 200_000))
    seen = b""
    for _ in range(2):
        # The digest that is stated is that of the forged payload, which is known then.
        real = made(2, true, seen)
        entry, content = forged(real.stored, real.record(SPACING))
        seen = content[-len(true) - 4 : -4]
    assert seen != true
    return made(1, seen, seen).stored, real.stored, sidecar_of(real.stored, [entry])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(archive_file, "MIN_SIDECAR_RECORD", 1)
    paths = [tmp_path / name for name in ("a.warc.gz", "b.warc.gz", "b.warc.gz.seek")]
    for path, data in zip(paths, stored(), strict=True):
        path.write_bytes(data)
    with seekwarc.open(paths[0]) as one, seekwarc.open(paths[1]) as other:
        payloads = [it.record_at(0).payload for it in (one, other)]
        assert payloads[0].pread(120_000, 50_000) == payloads[1].pread(120_000, 50_000)
        assert payloads[0].read() != payloads[1].read()
    return [*map(str, paths[:2])]


VERBS: dict[str, Verb] = {
    "convert": lambda names, out: [tools.convert(it, out / f"{n}.warc.zst") for n, it in enumerate(names)],
    "dedupe": lambda names, out: tools.dedupe(names, out / "x.warc.zst"),
    "extract": tools.extract,
    "filter": lambda names, out: tools.filter(names, out / "x.warc.zst", type="response"),
    "index": lambda names, out: tools.index(names, out / "x.cdxj"),
}


def written(folder: Path) -> dict[str, list[bytes]]:
    """Return what each file holds: of an archive its blocks, without what a writer says of itself."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(it for it in folder.rglob("*") if it.is_file()):
        if ".warc" not in path.name:
            found[path.name] = [path.read_bytes()] if path.suffix != ".jsonl" else []
            continue
        with seekwarc.open(path, sidecar=False) as archive:
            found[path.name] = [it.block.read() for it in archive if it.type != "warcinfo"]
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_a_forged_sidecar_changes_nothing_that_a_verb_writes(
    tmp_path: Path, files: list[str], verb: str
) -> None:
    outputs = []
    for name in ("with", "without"):
        folder = tmp_path / name
        folder.mkdir()
        VERBS[verb](files, folder)
        outputs.append(written(folder))
        tmp_path.joinpath("b.warc.gz.seek").unlink(missing_ok=True)
    assert outputs[0] == outputs[1]
    assert outputs[0]
