"""No stored byte of a body that may be chunked is dropped in silence, and each way gives the same bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import warnings

import pytest

import seekwarc
from seekwarc.errors import FormatWarning
from seekwarc.tools import verify
from tests.support.chunks import HTTP, chunked, random_sizes, reference
from tests.support.foreign import Foreign
from tests.support.rounds import rounds
from tests.support.sources import Pipe

LINES = [
    b"2024",
    b"42",
    b"0",
    b"cafe",
    b"bad",
    b"ab;x",
    b"1",
    b"5",
    b"3",
    b"",
    b"a b",
    b"Key: value",
    b"fffff",
    b"deadbeef",
]
URI = "http://example.org/"


def decoded_body(chance: random.Random) -> bytes:
    end = chance.choice([b"\n", b"\r\n"])
    lines = [chance.choice([*LINES, b"x" * chance.randrange(90)]) for _ in range(chance.randrange(1, 9))]
    return end.join(lines) + chance.choice([b"", end])


def a_body(chance: random.Random) -> tuple[bytes, bytes | None]:
    """Make a body, and the payload that its digest states, if it does."""
    data = decoded_body(chance)
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        body = chunked(data, random_sizes(1, chance.choice([3, 20, 300]), chance.randrange(99)))
        trailer = chance.choice([b"", b"", b"Expires: never\r\n", b"garbage\r\n"])
        body = body[:-2] + trailer + b"\r\n"
        if chance.random() < 0.3:
            body = body[: chance.randrange(len(body) + 1)]
        stated = chance.choice([data, body, None])
        if chance.random() < 0.7:
            return body, stated
        data = body
    return data, chance.choice([data, data, None])


def spelled(data: bytes, chance: random.Random) -> str:
    name = chance.choice(["sha1", "md5", "sha256"])
    raw = hashlib.new(name, data).digest()
    values = [base64.b32encode(raw), raw.hex().encode(), base64.b64encode(raw), raw.hex().upper().encode()]
    return f"{chance.choice([name, name.upper()])}:{chance.choice(values).decode()}"


def a_record(body: bytes, stated: str | None, *, truncated: bool) -> bytes:
    lines = [
        "WARC/1.1",
        "WARC-Type: response",
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
        "WARC-Date: 2026-01-02T03:04:05Z",
        f"WARC-Target-URI: {URI}",
        "Content-Type: application/http; msgtype=response",
        *([f"WARC-Payload-Digest: {stated}"] if stated else []),
        *(["WARC-Truncated: length"] if truncated else []),
        f"Content-Length: {len(HTTP) + len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + HTTP + body + b"\r\n\r\n"


def read_in_every_way(stored: bytes, chance: random.Random) -> set[bytes]:
    found = set()
    with seekwarc.open(stored) as archive:
        payload = next(iter(archive)).payload
        size = payload.size
        found.add(payload.read())
        step = chance.randrange(1, 40)
        found.add(b"".join(payload.pread(start, step) for start in range(0, size, step)))
    with seekwarc.open(stored) as archive:
        start = chance.randrange(size + 1)
        payload = next(iter(archive)).payload
        end = payload.pread(start, size)
        found.add(payload.pread(0, start) + end)
    with seekwarc.open(Pipe(stored)) as archive, next(iter(archive)).payload.open() as file:
        found.add(file.readall())
    return found


def check(seed: int) -> None:
    chance = random.Random(seed)
    body, payload = a_body(chance)
    truncated = chance.random() < 0.2
    stated = spelled(payload, chance) if payload is not None else None
    plain = a_record(body, stated, truncated=truncated)
    expected = reference(body, truncated=truncated, stated=payload)
    begin = plain.index(HTTP)
    cuts = chance.choice([40, 100, 1000])
    framed = Foreign().record(HTTP + body, header=plain[:begin], cuts=cuts, table=True).bytes()
    for stored in (plain, gzip.compress(plain), framed):
        assert read_in_every_way(stored, chance) == {expected.data}, (seed, body)
        with seekwarc.open(stored) as archive:
            record = next(iter(archive))
            assert record.payload.size == len(expected.data)
            said = record.payload.problem
            assert (said is not None) is (expected.has_problem and bool(body)), (seed, body)
            checks = record.check_digests()
            assert all(it.verdict != "invalid" for it in checks) or payload not in (body, expected.data)
            if payload == expected.data:
                assert [it.verdict for it in checks] == ["valid"], (seed, body)
        chunks = [it.first.message for it in verify(stored).kinds.values() if it.first.code == "chunks"]
        expected_word = [said] if said is not None and not truncated else []
        assert [word.partition(": ")[2] for word in chunks] == expected_word, (seed, body)


@pytest.mark.parametrize("seed", range(40))
def test_no_byte_is_dropped_without_a_word(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        check(seed)


@pytest.mark.slow
def test_no_byte_of_thousands_of_bodies_is_dropped_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for seed in range(rounds(500)):
            check(seed)
