"""The reader in JavaScript, of spec-notes/reader: samples, ranges beside ours, bad hosts, damaged frames."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from conformance.answers import judged, meets
from conformance.batch_command import BatchCommand

import seekwarc
from seekwarc.make.indexing import index
from tests.conftest import ROOT
from tests.interop.faulty_decoders import OF_COMPRESSORS
from tests.interop.implementations import ADAPTERS, samples
from tests.support.processes import PATIENT
from tests.support.rangeserver import Answer, Content, RangeServer, after, dropped, headed, status
from tests.support.rounds import one_in, rounds
from tests.support.vectors import SAMPLES
from tests.support.writing import HTTP_HEAD, KIB, RESPONSE, header_for, noise, small_dictionary, text, written

pytestmark = pytest.mark.needs("node")

READER = ROOT / "spec-notes" / "reader"
SIZES = {"reader.js": 450, "sources.js": 120, "zstd.js": 300, "xxh64.js": 80, "worker.js": 60, "page.js": 60}
"""Lines that each file may have."""
RANGES = 35_000
FRAMES = 4_000
MAX_STORED, MAX_CODE = 13_100, 12_000
"""Bytes of the reader with gzip, and without its comments."""
DEMO = {"worker.js", "page.js"}
COMMENT = re.compile(rb"(?m:^\s*/?[/*]\*? .*\n| // .*\n|\n\s+)")
LINE = 115


class Asked:
    """The reader in a process of its own, which answers questions by the line."""

    def __init__(self) -> None:
        script = Path(__file__).parent / "javascript" / "questions.mjs"
        self.process = subprocess.Popen(
            ["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, **question: Any) -> str:
        return self.ask_all([question])[0]

    def ask_all(self, questions: list[dict[str, Any]]) -> list[str]:
        assert self.process.stdin
        assert self.process.stdout
        answers = []
        for start in range(0, len(questions), 20):  # So few fit into the pipes.
            some = questions[start : start + 20]
            self.process.stdin.write("".join(json.dumps(it) + "\n" for it in some))
            self.process.stdin.flush()
            answers += [self.process.stdout.readline().rstrip("\n") for _ in some]
        return answers


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    reader = Asked()
    yield reader
    reader.process.kill()
    reader.process.communicate()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_files_are_short_and_import_each_other_alone() -> None:
    stored = code = b""
    for name, most in SIZES.items():
        lines = (READER / name).read_text().splitlines()
        assert len(lines) <= most, name
        assert max(map(len, lines)) <= LINE, name
        imported = [it.split(' from "')[1] for it in lines if it.startswith(("import ", "export {"))]
        assert {it.rstrip('";') for it in imported} <= {f"./{it}" for it in SIZES}, name
        stored += b"" if name in DEMO else (READER / name).read_bytes()
        code += b"" if name in DEMO else COMMENT.sub(b"\n", (READER / name).read_bytes())
    assert len(gzip.compress(stored, 9)) <= MAX_STORED
    assert len(gzip.compress(code, 9)) <= MAX_CODE
    assert len((READER / "README.md").read_text().split()) <= 400


@pytest.mark.parametrize("share", one_in(2, [4, 1]))
def test_it_answers_all_that_the_samples_ask(share: int) -> None:
    """Those of compressors, which try its decoder, and a share of the others."""
    manifest = samples()
    shared = manifest.samples[::share]
    some = [it for it in manifest.samples if it in shared or it.file.startswith(OF_COMPRESSORS)]
    command = BatchCommand(["node", str(ADAPTERS / "javascript_reader.mjs")], timeout=PATIENT)
    try:
        answers = list(judged(replace(manifest, samples=tuple(some)), command.run))
    finally:
        command.stop()
    assert [it for it in answers if not it.allowed] == []
    assert meets(answers, "seeks")
    assert {it.verdict for it in answers if it.question == "records"} == {"right"}
    assert Counter(it.verdict for it in answers)["refused"] <= 30, "what may be refused is an exception"


@dataclass(frozen=True)
class Made:
    """A file, and what an index says of its records."""

    path: Path
    lines: list[dict[str, Any]]

    def question(self, line: dict[str, Any], file: str | None = None) -> dict[str, Any]:
        place = {name: int(line[name]) for name in ("offset", "length")}
        return {"file": file or str(self.path), **place, "seekTable": line.get("seekTable")}


WAYS: list[dict[str, Any]] = [
    {"tables": "large", "level": 3},
    {"tables": "large", "level": 19},
    {"tables": "every", "level": 1},
    {"tables": "none", "level": 9},
    {"tables": "large", "level": 6, "dictionary": small_dictionary()},
]
COMMAS = b"".join(b"%d,%d,%.3f\n" % (n, n * n % 977, n / 7) for n in range(30_000))
BLOCKS = [
    text(300),
    HTTP_HEAD + text(700_000),
    noise(500_000),
    text(1_500_000, seed=5),
    bytes(900_000),
    HTTP_HEAD + COMMAS,
]


def record(number: int, block: bytes) -> tuple[bytes, bytes]:
    kind = RESPONSE if block.startswith(HTTP_HEAD) else "text/plain"
    uri = ("WARC-Target-URI", f"http://example.org/{number}")
    return header_for(len(block), uri, content_type=kind), block


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    """Files of each mode, of several levels, with and without a dictionary."""
    folder = tmp_path_factory.mktemp("ranges")
    made = []
    for number, options in enumerate(WAYS):
        path, cdxj = folder / f"{number}.warc.zst", folder / f"{number}.cdxj"
        records = [record(n, block) for n, block in enumerate(BLOCKS)]
        path.write_bytes(written(*records, frame_size=128 * KIB, threads=1, **options)[0])
        index([path], cdxj)
        made.append(Made(path, [json.loads(it.split(" ", 2)[2]) for it in cdxj.read_text().splitlines()]))
    return made


def assert_same_ranges(count: int, files: list[Made], asked: Asked) -> None:
    """Ask for ranges of records by what an index says of them, in full, in part or not at all."""
    chance = random.Random(count)
    questions, wanted = [], []
    opened = {made.path: seekwarc.open(made.path) for made in files}
    for _ in range(count):
        made = chance.choice(files)
        line = chance.choice(made.lines)
        block = opened[made.path].record_at(int(line["offset"])).block
        start = chance.randrange(block.size)
        stop = min(block.size, start + int(2 ** chance.uniform(0, 17.6)))
        known = chance.choice([{}, {}, {"seekTable": None}, {"seekTable": None, "length": None}])
        questions.append({**made.question(line), **known, "start": start, "stop": stop})
        wanted.append(sha256(block.pread(start, stop - start)))
    for archive in opened.values():
        archive.close()
    found = asked.ask_all(questions)
    assert [it for it in zip(questions, found, wanted, strict=True) if it[1] != it[2]] == []


def test_ranges_are_those_that_the_package_reads(files: list[Made], asked: Asked) -> None:
    assert_same_ranges(150, files, asked)


@pytest.mark.slow
def test_35_000_ranges_are_those_that_the_package_reads(files: list[Made], asked: Asked) -> None:
    assert_same_ranges(rounds(RANGES), files, asked)


@pytest.mark.parametrize("field", ["none", f"{{}} {{}} sha256:{'0' * 64}"])
def test_no_other_table_is_used_than_the_one_that_an_index_names(field: str, asked: Asked) -> None:
    """The table of this record displaces an intact frame, which a short read by place does not find."""
    path = SAMPLES / "untrue-displacement.warc.zst"
    with seekwarc.open(path) as archive:
        record = [*archive][1]
        block, place = record.block.read(), {"file": str(path), "offset": record.offset}
    [sample] = (it for it in samples().samples if it.file == path.name)
    length = sample.records[1].length
    assert length is not None
    misled = 0
    for start in range(0, len(block) - 100, 10_000):
        part = {**place, "length": length, "start": start, "stop": start + 100}
        wanted = sha256(block[start : start + 100])
        answer = asked.ask(**part)
        misled += answer != wanted and not answer.startswith("damaged: ")
        assert asked.ask(**part, seekTable=field.format(record.offset + length - 65, 65)) == wanted
    assert misled, "without the field"


def test_http_heads_are_those_that_the_package_finds(files: list[Made], asked: Asked) -> None:
    for made in files:
        with seekwarc.open(made.path) as archive:
            for line in made.lines:
                head = archive.record_at(int(line["offset"])).http
                found = asked.ask(**made.question(line), http=True)
                assert found == ("none" if head is None else f"{head.status} {head.size}")


def test_a_place_costs_four_requests_and_the_next_one_or_none(files: list[Made], asked: Asked) -> None:
    """Dictionary, header and table are asked for together; the frame comes after them."""
    made = files[0]
    line = max(made.lines, key=lambda it: int(it["length"]))
    with RangeServer(made.path.read_bytes()) as server:
        place = made.question(line, server.url)
        sizes = []
        for start in (10, 200_000, 200_100, 400_000):
            assert asked.ask(**place, start=start, stop=start + 100) == sha256(BLOCKS[2][start : start + 100])
            sizes.append(len(server.asked))
        assert sizes == [4, 5, 5, 6]
        assert sum(it.sent for it in server.asked) < 1_000_000
        ranges = {it.range for it in server.asked}
        assert None not in ranges
        assert len(ranges) == len(server.asked), "no range is asked for twice"


BAD_HOSTS = {
    "a whole file": (lambda _, answer: Answer(200, answer.headers, bytes(1 << 20)), "no-ranges"),
    "no range stated": (headed(content_range=None), "http"),
    "another range": (headed(content_range="bytes 1-18/100"), "http"),
    "a content coding": (headed(content_encoding="gzip"), "http"),
    "not found": (status(404), "http"),
    "not allowed": (status(403), "http"),
    "dropped": (dropped(5), "http"),
    "another ETag": (after(1, headed(etag='"second"')), "changed"),
    "another date": (after(1, headed(etag=None, last_modified="Fri, 01 Jan 2021 00:00:00 GMT")), "changed"),
}


@pytest.mark.parametrize("name", BAD_HOSTS)
def test_a_bad_host_is_refused_with_a_typed_error(name: str, files: list[Made], asked: Asked) -> None:
    made, (fault, kind) = files[0], BAD_HOSTS[name]
    place = made.question(made.lines[2])
    with RangeServer(made.path.read_bytes(), fault=fault) as server:
        found = asked.ask(**{**place, "file": server.url}, start=400_000, stop=400_100)
        assert found.startswith(f"{kind}: "), found


def test_a_file_that_changes_between_requests_is_refused(files: list[Made], asked: Asked) -> None:
    made = files[0]
    data = made.path.read_bytes()
    for changed in (
        Content(data, etag='"second"'),
        Content(data + b"x"),
        Content(data, etag=None, modified=7),
    ):
        with RangeServer(data) as server:
            place = made.question(made.lines[2], f"{server.url}?{len(changed.data)}{changed.etag}")
            assert len(asked.ask(**place, start=0, stop=9)) == 64
            server.content = changed
            assert asked.ask(**place, start=400_000, stop=400_009).startswith("changed: ")


def frames() -> list[bytes]:
    """Frames of all kinds of blocks, without a checksum: the decoder has to find the damage."""
    made = []
    for level in (1, 3, 9, 19):
        compressor = zstandard.ZstdCompressor(level=level, write_checksum=False)
        made += [compressor.compress(it[:size]) for it in (*BLOCKS[1:4], COMMAS) for size in (300, 20_000)]
    return made


def test_damaged_frames_end_with_a_typed_error_or_what_libzstd_decodes(asked: Asked) -> None:
    chance = random.Random(7)
    sound, damaged = frames(), []
    for _ in range(rounds(FRAMES)):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(4, len(data))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(data[: chance.choice([len(data), len(data), chance.randrange(len(data))])]))
    questions = [{"frame": base64.b64encode(it).decode()} for it in [*sound, *damaged]]
    found = asked.ask_all(questions)
    assert all(len(it) == 64 for it in found[: len(sound)])
    assert [it for it in found if not (len(it) == 64 or it.startswith(("damaged: ", "limit: ")))] == []
    both = 0
    for data, said in zip([*sound, *damaged], found, strict=True):
        try:
            content = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj().decompress(data)
        except zstandard.ZstdError:
            continue
        if len(said) == 64:
            assert said == sha256(content)
            both += 1
    assert both > len(sound)
