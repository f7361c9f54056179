"""A host is taken out of collections of all kinds: it is gone, and everything else is as it was."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, SourceError
from tests.support.writing import noise

GONE, KEPT = "gone.example", "kept.example"
ODD = [
    b"http://[::1/",
    b"http://gone.example:99999/",
    b"http://\xff\xfe/",
    b"http://gone.example/%zz%",
    b"//x y",
]
Records = dict[str, tuple[bytes, bytes]]


def odd_file(path: Path, uri: bytes) -> None:
    block = b"odd"
    head = b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: " + uri
    head += b"\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:x:odd>\r\nContent-Length: 3\r\n\r\n"
    path.write_bytes(head + block + b"\r\n\r\n")


def make(folder: Path, rng: random.Random) -> None:
    """Write files of one host and of both, with revisits of earlier records, a damaged and an odd file."""
    folder.mkdir()
    originals = []
    for number in range(rng.randint(2, 5)):
        hosts = rng.choice([[GONE], [KEPT], [GONE, KEPT]])
        sub = folder / rng.choice(["a", "b"])
        sub.mkdir(exist_ok=True)
        with seekwarc.open(sub / f"{number}.warc.zst", "w") as out:
            info = out.write_warcinfo({"software": "test"}) if rng.random() < 0.6 else None
            for each in range(rng.randint(1, 4)):
                uri = f"http://{rng.choice(hosts)}/{number}-{each}"
                if originals and rng.random() < 0.3:
                    original = rng.choice(originals)
                    digest = original.header.get("WARC-Payload-Digest")
                    out.write_revisit(uri, refers_to=original, payload_digest=digest, warcinfo_id=info)
                    continue
                page = noise(rng.choice([0, 60, 3000]), seed=rng.randrange(10**6))
                done = out.write_response(uri, page, status=200, warcinfo_id=info)
                originals.append(done)
                out.write_request(uri, b"GET / HTTP/1.1\r\n\r\n", concurrent_to=done)
                if rng.random() < 0.3:
                    via = rng.choice(originals).target_uri
                    out.write_metadata({"via": via}, target_uri=f"http://{KEPT}/note-{number}-{each}")
    sure = folder / "sure.warc.zst"
    with seekwarc.open(sure, "w") as out:
        out.write_response(f"http://{GONE}/sure", noise(500, seed=1), status=200)
    odd_file(folder / "odd.warc", rng.choice(ODD))
    data = bytearray(sure.read_bytes())
    data[len(data) // 2] ^= 0x55
    (folder / "damaged.warc.zst").write_bytes(data)


def records(path: Path) -> Records:
    with seekwarc.open(path) as archive:
        return {record.id or "": (record.header.raw, record.block.read()) for record in archive}


def check(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    make(folder / "crawl", rng)
    names = sorted(str(it) for it in (folder / "crawl").rglob("*.warc*"))
    damaged = str(folder / "crawl" / "damaged.warc.zst")
    before = {name: records(Path(name)) for name in names if name != damaged}
    in_place, promote, delete = (rng.random() < 0.5 for _ in range(3))
    passed: list[FormatError | SourceError] = []
    target_of = {name: folder / f"{number}.warc.zst" for number, name in enumerate(names)}
    if in_place:
        names.remove(str(folder / "crawl" / "odd.warc"))
        target_of = {name: Path(name) for name in names}
    options = {
        "hosts": [GONE],
        "in_place": in_place,
        "promote": promote,
        "with_revisits": True,
        "stub_uris": False,
        "delete_empty": delete and in_place,
        "backup": folder / "old" if in_place else None,
        "on_error": passed.append,
    }
    sources = [it for it in names if it != damaged]
    dry = tools.redact(names, dry_run=True, **options)
    done = tools.redact(names, None if in_place else list(target_of.values()), **options)
    assert [str(it.source) for it in passed] == [damaged] * 2
    assert dry.removed_records == done.removed_records
    assert (dry.mentioned_by, dry.empty_files) == (done.mentioned_by, done.empty_files)
    assert [it.file for it in done.file_reports] == sources

    gone = {it.id for it in done.removed_records}
    saved = done.promoted + done.repointed
    removed = {key: one for name in sources for key, one in before[name].items() if key in gone}
    kept_pages = b"".join(one[1] for name in sources for key, one in before[name].items() if key not in gone)
    mentioned = {(it.file, it.text) for it in done.mentions}
    for it in done.file_reports:
        made = target_of[it.file]
        assert (it.sha256_after is not None) == (it.outcome not in ("left out", "deleted"))
        if it.sha256_after is None:
            assert it.file in done.empty_files
            assert not made.exists()
            continue
        if in_place and it.outcome != "unchanged":
            assert records(folder / "old" / Path(it.file).name) == before[it.file]
        after = records(made)
        assert not gone & after.keys()
        stubs = after.keys() - before[it.file].keys()
        wanted = {key: one for key, one in before[it.file].items() if key not in gone}
        changed = [key for key, one in wanted.items() if after[key] != one]
        assert len(changed) <= saved
        for key, (head, block) in after.items():
            if f"http://{GONE}/".encode() in head + block and key not in stubs:
                named = {text for file, text in mentioned if file == str(made)}
                assert any(text.encode() in head + block for text in named), key
            for name, (_, page) in removed.items():
                payload = page.partition(b"\r\n\r\n")[2]
                if len(payload) >= 32 and payload not in kept_pages and not promote:
                    assert payload[:32] not in block, name


@pytest.mark.parametrize("seed", range(6))
def test_a_host_is_taken_out_and_nothing_else(tmp_path, seed) -> None:
    check(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 306))
def test_a_host_is_taken_out_and_nothing_else_of_many(tmp_path, seed) -> None:
    check(tmp_path, seed)
