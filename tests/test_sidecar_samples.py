"""The samples of spec-notes/sidecar, read by seekwarc and by a reader made from the specification alone."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import subprocess
import sys
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import zstandard
from conformance.answers import Verdict, judged, meets
from conformance.command import Ended
from conformance.manifest import read_manifest

import seekwarc
from seekwarc.errors import FormatWarning, SeekWarcError
from tests.conftest import ROOT
from tests.interop.faulty_sidecar_readers import SIDECAR_FAULTS, SOURCE, SidecarFault, faulty
from tests.support import sidecar_reader
from tests.support.foreign import CRLF2
from tests.support.rounds import one_in
from tests.support.sidecar_reader import IndependentReader, RefusedError, WrongError
from tests.support.vectors import NOTES

SAMPLES = NOTES / "sidecar" / "samples"
CRASHES = (MemoryError, struct.error, IndexError, ValueError, TypeError, OverflowError, zstandard.ZstdError)
"""What ends a reader that has a fault."""
MANIFEST = json.loads(SAMPLES.joinpath("manifest.json").read_text())
MEMBER, FRAME, *_ = ARCHIVES = MANIFEST["archives"]
About = dict[str, Any]


def known_length(sample: About) -> int | None:
    """Return the length of the first record that a reader is given with a range of it."""
    record = sample["records"][0]
    return record["ranges"][0].get("length", record["length"])


CASES = [
    pytest.param(about, it["sidecar"]["file"], known_length(it), it["outcome"], id=it["sidecar"]["file"])
    for it in MANIFEST["files"]
    for about in ARCHIVES
    if about["archive"] == it["file"]
]


@cache
def stored(name: str) -> bytes:
    return SAMPLES.joinpath(name).read_bytes()


@cache
def content_of(name: str) -> bytes:
    data = stored(name)
    if name.endswith(".gz"):
        return zlib.decompress(data, 31)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def test_the_samples_are_what_their_script_makes() -> None:
    command = [sys.executable, str(NOTES / "make_sidecars.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_points_are_at_every_bit_before_every_type_of_block() -> None:
    pairs = {(point["bit"] % 8, point["block"]) for point in MEMBER["points"]}
    assert len(pairs) == 8 * 3
    assert {point["block"] for point in FRAME["points"]} == {"raw", "rle", "compressed"}
    for about in ARCHIVES:
        assert hashlib.sha256(content_of(about["archive"])).hexdigest() == about["content_sha256"]


def seekwarc_outcome(about: About, sidecar: str, length: int | None) -> str:
    """Read each span with seekwarc, which is right or an error."""
    content = content_of(about["archive"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        with seekwarc.open(SAMPLES / about["archive"], sidecar=SAMPLES / sidecar) as archive:
            # A copy has not read the beginning of the record, and does not know it without the sidecar.
            body = pickle.loads(pickle.dumps(archive.record_at(0, length))).body
            if body.table_status is not seekwarc.TableStatus.SIDECAR:
                assert body.read(500_000, 500_100) == content[500_000:500_100]
                return "refused"
            outcome = "used"
            for number in reversed(range(len(body.frames))):
                frame = body.frames[number]
                assert body.plan(frame.content_start, frame.content_stop).is_verified
                try:
                    found = body.read(frame.content_start, frame.content_stop)
                except SeekWarcError:
                    outcome = "error"
                else:
                    assert found == content[frame.content_start : frame.content_stop]
            return outcome


def independent_outcome(about: About, sidecar: str, length: int | None) -> str:
    content = content_of(about["archive"])
    try:
        reader = IndependentReader(stored(about["archive"]), stored(sidecar), 0, len(content), length)
    except RefusedError:
        return "refused"
    outcome = "used"
    # The last one is a long run, which the others do not need.
    for number in range(len(reader) - 1):
        start, stop = reader.bounds(number)
        try:
            assert reader.span(number) == content[start:stop]
        except WrongError:
            outcome = "error"
    return outcome


@pytest.mark.parametrize(("about", "sidecar", "length", "outcome"), CASES)
def test_a_sidecar_has_the_outcome_that_the_manifest_says(
    about: About, sidecar: str, length: int | None, outcome: str
) -> None:
    outcomes = seekwarc_outcome(about, sidecar, length), independent_outcome(about, sidecar, length)
    assert outcomes == (outcome, outcome)


@cache
def records_of(name: str) -> dict[int, tuple[int, bytes]]:
    """Return length and content of each record, by offset."""
    data, found, offset = stored(name), {}, 0
    if not name.endswith(".gz"):
        return {0: (len(data), content_of(name))}
    while offset < len(data):
        member = zlib.decompressobj(31)
        content = member.decompress(data[offset:])
        length = len(data) - offset - len(member.unused_data)
        found[offset] = length, content
        offset += length
    return found


def line_of(offset: int, content: bytes) -> bytes:
    block = content.partition(CRLF2)[2].removesuffix(CRLF2)
    digest = hashlib.sha256(block).hexdigest()
    return json.dumps({"offset": offset, "length": None, "size": len(block), "sha256": digest}).encode()


def read_by_specification(
    words: Sequence[str], *, is_checked: bool = True, module: ModuleType = sidecar_reader
) -> Ended:
    """Answer a question of the conformance kit by the independent reader; unchecked, as one that trusts."""
    question, path, *numbers = words
    records = records_of(Path(path).name)
    if question == "records":
        return Ended(0, b"\n".join(line_of(offset, it) for offset, (_, it) in records.items()), "")
    offset, length = int(numbers[0]), None if numbers[1] == "-" else int(numbers[1])
    content = records[offset][1]
    start, stop = (content.index(CRLF2) + len(CRLF2) + int(it) for it in numbers[2:4])
    try:
        archive, sidecar = stored(Path(path).name), Path(numbers[4]).read_bytes()
        reader = module.IndependentReader(
            archive, sidecar, offset, len(content), length, is_checked=is_checked
        )
        return Ended(0, reader.read(start, stop), "sidecar: used")
    except module.RefusedError:
        return Ended(0, content[start:stop], "sidecar: refused")
    except module.WrongError:
        return Ended(1, b"", "this span is wrong")
    except CRASHES as error:
        return Ended(134, b"", repr(error))


@pytest.mark.slow
def test_conform_judges_readers_of_sidecars() -> None:
    manifest = read_manifest(SAMPLES)
    answers = list(judged(manifest, lambda words, _: read_by_specification(words)))
    assert meets(answers, "seeks")
    assert {it.verdict for it in answers} == {Verdict.RIGHT, Verdict.REFUSED}
    answers = list(judged(manifest, lambda words, _: read_by_specification(words, is_checked=False)))
    assert not meets(answers, "reads")
    wrong = {it.file for it in answers if not it.allowed}
    lies = "windows-forged", "window-of-another", "content-offset-wrong", "frame-content-offset-wrong"
    lies += "record-over-next-entry", "record-over-next-member"
    assert wrong == {f"{lie}.seek" for lie in lies}


SIDECARS = read_manifest(SAMPLES)


def is_found(fault: SidecarFault) -> bool:
    """Tell whether the suite finds a fault of a reader."""
    module = faulty(fault)
    answers = judged(SIDECARS, lambda words, _: read_by_specification(words, module=module))
    return any(not it.allowed for it in answers)


def test_there_are_many_faults_of_readers_and_each_is_of_one_place() -> None:
    assert len({it.name for it in SIDECAR_FAULTS}) == len(SIDECAR_FAULTS) >= 100
    assert [it.name for it in SIDECAR_FAULTS if SOURCE.count(it.right) != 1] == []


@pytest.mark.parametrize("fault", one_in(25, SIDECAR_FAULTS), ids=lambda fault: fault.name)
def test_a_faulty_reader_of_sidecars_does_not_pass(fault: SidecarFault) -> None:
    assert is_found(fault)


def test_a_reader_that_does_not_say_whether_it_used_a_sidecar_is_mistaken() -> None:
    some = replace(SIDECARS, samples=SIDECARS.samples[:1])

    def silent(words: Sequence[str], _: int) -> Ended:
        ended = read_by_specification(words)
        return Ended(ended.status, ended.output, "")

    assert {it.verdict for it in judged(some, silent) if not it.allowed} == {Verdict.MISTAKEN}


@pytest.mark.slow
def test_seekwarc_meets_what_the_kit_asks() -> None:
    adapter = Path(__file__).parent / "interop" / "adapters" / "seekwarc_reader.py"
    kit = ROOT / "spec-notes" / "conform.py"
    asked = SAMPLES, "--class", "seeks", "--batch", "--", sys.executable, adapter
    assert subprocess.run([sys.executable, kit, *asked], check=False).returncode == 0


def test_the_command_tells_which_records_have_one(tmp_path: Path, run_main, capsys) -> None:
    path = tmp_path / "points.warc.gz"
    path.write_bytes(stored(MEMBER["archive"]))
    path.with_name("points.warc.gz.seek").write_bytes(stored("windows-whole.seek"))
    assert run_main("info", path) == 0
    assert "1 record: points listed by a sidecar" in capsys.readouterr().out
    assert run_main("info", path, "0", "--range", "500000-500099", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["table_status"], about["frames"]) == ("sidecar", len(MEMBER["points"]))
    assert about["plan"]["frames"] == 1
    assert run_main("ls", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["frames"] == len(MEMBER["points"])
    assert run_main("cat", path, "0", "--range", "500000-500099") == 0
    assert capsys.readouterr().out == "x" * 100
