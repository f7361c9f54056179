"""Random archives full of revisits: no verb takes a payload from a record that it keeps."""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Collection, Digest, tools
from seekwarc.errors import FormatError, NotFoundError
from tests.support.foreign import Foreign
from tests.support.rounds import rounds

EXAMPLES, MORE = 10, rounds(100)
SHARES = 20
URIS = [f"http://example.org/{name}" for name in "abc"]
DAYS = [f"2026-01-0{day}T00:00:00" for day in range(1, 7)]
PAYLOADS = [b"", b"one" * 20, b"two" * 700, b"three" * 9]
PROFILES = [
    f"http://netpreserve.org/warc/1.1/revisit/{name}"
    for name in ("identical-payload-digest", "identical-payload-digest", "server-not-modified", "other")
]
FORMS = {"warc": Foreign.plain, "warc.gz": Foreign.gzip, "warc.zst": lambda made: made}
KEY = "X-Key"
Payloads = dict[str, bytes | None]


@dataclass
class Made:
    """Files with their records, and the IDs of these."""

    records: list[list[tuple[bytes, bytes]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


def spelt(rng: random.Random, payload: bytes) -> str:
    """State a digest in one of its spellings, or that of another algorithm; now and then a wrong one."""
    if rng.random() < 0.12:
        payload = rng.choice(PAYLOADS)
    if rng.random() < 0.1:
        return str(Digest.of("sha256", hashlib.sha256(payload).digest()))
    raw = hashlib.sha1(payload).digest()
    usual = str(Digest.of("sha1", raw))
    return rng.choice([usual, usual, usual.replace("sha1", "SHA1"), f"sha1:{raw.hex()}", usual.lower()])


def dated(rng: random.Random, day: str) -> str:
    return day + rng.choice(["Z", "Z", ".000Z", "+00:00"])


def made(rng: random.Random) -> Made:
    """Make one to three files of captures, revisits of all kinds, and a few other records."""
    it = Made([[] for _ in range(rng.randint(1, 3))])
    known: list[tuple[str, str, str, bytes]] = []
    for number in range(1, rng.randint(5, 17)):
        name = rng.choice(it.ids) if it.ids and rng.random() < 0.12 else f"urn:x:{number}"
        uri, day, payload = rng.choice(URIS), rng.choice(DAYS), rng.choice(PAYLOADS)
        head = b"HTTP/1.1 200 OK\r\n"
        if rng.random() < 0.4:
            head += b'ETag: "%x"\r\n' % (rng.choice(PAYLOADS) == payload)
        kind, fields, block = "response", list[tuple[str, str]](), head + b"\r\n" + payload
        if known and rng.random() < 0.55:
            kind, fields, block = revisit(rng, known, head)
        elif rng.random() < 0.25:
            kind, block = rng.choice(["resource", "resource", "metadata", "request", "conversion"]), payload
        if kind != "revisit" and rng.random() < 0.75:
            fields.append(("WARC-Payload-Digest", spelt(rng, payload)))
        http = kind in ("response", "revisit")
        stated = [
            ("WARC-Type", kind),
            ("WARC-Record-ID", f"<{name}>"),
            ("WARC-Date", dated(rng, day)),
            ("WARC-Target-URI", respelt(rng, uri)),
            ("Content-Type", "application/http; msgtype=response" if http else "text/plain"),
            (KEY, str(number)),
            *fields,
        ]
        it.ids.append(name)
        known.append((name, uri, day, payload))
        target = rng.choice(it.records)
        if http and kind == "response" and payload and rng.random() < 0.08:
            target += in_segments(rng, stated, block, name, number)
        else:
            target.append(record(stated, block))
    rng.shuffle(it.records[0])
    it.records = [records for records in it.records if records]
    return it


def respelt(rng: random.Random, uri: str) -> str:
    """Return a URI in one spelling or another."""
    host, path = uri[7:].split("/")
    path = f"%{ord(path):02x}" if rng.random() < 0.2 else path
    return f"http://{host}{rng.choice(['', '', ':80'])}/{path}{rng.choice(['', '', '', '#f'])}"


def record(fields: Iterable[tuple[str, str]], block: bytes) -> tuple[bytes, bytes]:
    lines = [f"{name}: {value}" for name, value in [*fields, ("Content-Length", str(len(block)))]]
    return ("WARC/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode(), block


def in_segments(
    rng: random.Random, fields: list[tuple[str, str]], block: bytes, name: str, number: int
) -> list[tuple[bytes, bytes]]:
    """Cut a record into two; now and then the second is missing."""
    cut = len(block) - 5
    rest = [
        ("WARC-Type", "continuation"),
        ("WARC-Record-ID", f"<urn:segment:{number}>"),
        ("WARC-Date", "2026-01-01T00:00:00Z"),
        ("WARC-Segment-Number", "2"),
        ("WARC-Segment-Origin-ID", f"<{name}>"),
        ("WARC-Segment-Total-Length", str(len(block))),
        (KEY, f"{number}-2"),
    ]
    one = record([*fields, ("WARC-Segment-Number", "1")], block[:cut])
    return [one, record(rest, block[cut:])][: 1 if rng.random() < 0.2 else 2]


def revisit(
    rng: random.Random, known: Sequence[tuple[str, str, str, bytes]], head: bytes
) -> tuple[str, list[tuple[str, str]], bytes]:
    name, uri, day, payload = rng.choice(known)
    profile = rng.choice(PROFILES[: 4 if rng.random() < 0.1 else 3])
    fields = [("WARC-Profile", profile)]
    if rng.random() < 0.6:
        fields.append(("WARC-Truncated", "length"))
    if profile.endswith("modified"):
        head = head.replace(b"200 OK", b"304 Not Modified")
    elif rng.random() < 0.85:
        fields.append(("WARC-Payload-Digest", spelt(rng, payload)))
    if rng.random() < 0.4:
        other = name if rng.random() < 0.8 else rng.choice(known)[0]
        fields.append(("WARC-Refers-To", f"<{other}>" if rng.random() < 0.8 else other))
    if rng.random() < 0.4:
        fields.append(("WARC-Refers-To-Date", dated(rng, day)))
        if rng.random() < 0.8:
            fields.append(("WARC-Refers-To-Target-URI", respelt(rng, uri)))
    if rng.random() < 0.3:
        # Often of a file that has none of what it refers to.
        fields.append(("WARC-Refers-To-Container", f"file://{rng.randrange(3)}.warc.gz"))
    return "revisit", fields, head + b"\r\n" if rng.random() < 0.85 else b""


def stored(folder: Path, rng: random.Random, records: Iterable[Sequence[tuple[bytes, bytes]]]) -> list[Path]:
    """Write each list of records into a file of one form or another."""
    paths = []
    for number, one in enumerate(records):
        if not one:
            continue
        form = rng.choice([*FORMS])
        file = Foreign()
        for header, block in one:
            file.record(block, header=header)
        paths.append(folder / f"{number}.{form}")
        paths[-1].write_bytes(FORMS[form](file).bytes())
    return paths


def payloads(paths: Sequence[Path]) -> Payloads:
    """Open each record; None if its payload is not there."""
    found: Payloads = {}
    with Collection(paths) as crawl:
        for stored_record in crawl:
            key = stored_record.header.get(KEY)
            if key is None:
                continue
            try:
                found[key] = crawl.open_record(stored_record).payload.read()
            except (NotFoundError, FormatError):
                found[key] = None
    return found


def assert_kept(before: Payloads, after: Payloads) -> None:
    lost = {key: (before[key], now) for key, now in after.items() if before[key] not in (None, now)}
    assert not lost


def key_of(one: tuple[bytes, bytes]) -> str:
    return one[0].partition(KEY.encode() + b": ")[2].partition(b"\r\n")[0].decode()


def named_alike(folder: Path, paths: Sequence[Path]) -> list[Path]:
    """Return new files in a folder with the names of others, by which revisits mean them."""
    folder.mkdir()
    return [folder / f"{path.name.partition('.')[0]}.warc.zst" for path in paths]


def check_filter(folder: Path, paths: list[Path], before: Payloads, chosen: list[str]) -> None:
    done = tools.filter(paths, folder / "part.warc.zst", ids=chosen)
    after = payloads([folder / "part.warc.zst"])
    # A file of another name is not the container that a revisit names, and two may have the same ID.
    others = [shutil.copy(path, folder / f"other-{path.name}") for path in paths]
    by_no_container = payloads(others)
    assert_kept(before, {key: now for key, now in after.items() if now != by_no_container[key]})
    with seekwarc.open(folder / "part.warc.zst") as archive:
        revisits = [it.header.get(KEY) for it in archive if it.type == "revisit"]
    assert done.dangling == sum(after[key or ""] is None for key in revisits)


def check_refusal(
    folder: Path,
    message: str,
    it: Made,
    before: Payloads,
    gone: set[str],
    *,
    with_revisits: bool = False,
    promote: bool = False,
) -> None:
    """Check that a revisit is named, and that without the removed records one has lost its payload."""
    assert not with_revisits
    assert "the payload of the revisit at offset" in message
    assert ("--promote keeps" in message) == (not promote)
    rest = [[one for one in records if key_of(one) not in gone] for records in it.records]
    (folder / "rest").mkdir()
    left = payloads(stored(folder / "rest", random.Random(0), rest))
    assert {key for key, now in left.items() if before[key] not in (None, now)}


def check_redact(
    folder: Path, paths: list[Path], it: Made, before: Payloads, chosen: list[str], **options: bool
) -> None:
    names = {f"<{name}>".encode() for name in chosen}
    gone = {
        key_of(one)
        for records in it.records
        for one in records
        if any(b"WARC-Record-ID: " + name + b"\r\n" in one[0] for name in names)
    }
    gone |= {key for key in before for name in gone if key.startswith(f"{name}-")}
    targets = named_alike(folder / "redacted", paths)
    try:
        tools.redact(paths, targets, ids=chosen, stubs=False, **options)
    except ValueError as error:
        check_refusal(folder, str(error), it, before, gone, **options)
        return
    after = payloads([target for target in targets if target.exists()])
    assert_kept(before, after)
    if not options.get("with_revisits"):
        assert after.keys() >= before.keys() - gone


def check_dedupe(folder: Path, paths: list[Path], before: Payloads) -> None:
    smaller = named_alike(folder / "small", paths)
    tools.dedupe(paths, smaller, min_size=1)
    after = payloads(smaller)
    assert after.keys() == before.keys()
    assert_kept(before, after)
    for name, sources in (("again", smaller), ("full", paths)):
        targets = named_alike(folder / name, paths)
        tools.dedupe(sources, targets, undo=True)
        restored = payloads(targets)
        assert restored.keys() == before.keys()
        assert_kept(payloads(sources), restored)


CHECKS = ("filter", "redact", "with_revisits", "promote", "both", "dedupe")


def survives(folder: Path, seed: int) -> None:
    """Check one random archive with each verb."""
    rng = random.Random(seed)
    it = made(rng)
    paths = stored(folder, rng, it.records)
    before = payloads(paths)
    chosen = rng.sample(it.ids, rng.randint(1, max(1, len(it.ids) // 3)))
    redact = partial(check_redact, paths=paths, it=it, before=before, chosen=chosen)
    options: dict[str, dict[str, bool]] = {
        "redact": {},
        "with_revisits": {"with_revisits": True},
        "promote": {"promote": True},
        "both": {"promote": True, "with_revisits": True},
    }
    for check in CHECKS:
        own = folder / check
        own.mkdir()
        if check == "filter":
            check_filter(own, paths, before, chosen)
        elif check == "dedupe":
            check_dedupe(own, paths, before)
        else:
            redact(own, **options[check])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_payloads_of_kept_records_stay(tmp_path: Path, seed: int) -> None:
    survives(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", range(SHARES))
def test_payloads_of_kept_records_stay_in_many_archives(tmp_path: Path, share: int) -> None:
    for seed in range(EXAMPLES + share, EXAMPLES + MORE, SHARES):
        folder = tmp_path / str(seed)
        folder.mkdir()
        survives(folder, seed)
