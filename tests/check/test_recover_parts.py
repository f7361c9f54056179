"""Recovering in parts: what comes of a damaged file is what one process makes of it."""

from __future__ import annotations

import os
import random
import signal

import pytest

from seekwarc.check import recovering
from seekwarc.check.recovering import RecoverPart, SavedPart
from seekwarc.errors import NotFoundError
from seekwarc.frames.dictionary import Dictionary
from seekwarc.jobs import parts as parts_of_files
from seekwarc.make.sinks import PartFile, PartsWriter
from seekwarc.scale.split import Split
from seekwarc.storage.source import RangeSource
from tests.support.foreign import Foreign, some_dictionary
from tests.support.parts import FORMS, Parts, archive, recovered, small_parts
from tests.support.writing import noise, small_dictionary


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    return small_parts(monkeypatch)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[PartFile]:
    """Parts of other processes that went into the new file."""
    found: list[PartFile] = []
    add = PartsWriter.add_part
    monkeypatch.setattr(PartsWriter, "add_part", lambda self, part: (found.append(part), add(self, part)))
    return found


LURES = (b"\r\n", b"WARC/1.0\r\n", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", noise(50))


def mutated(data: bytes, number: int) -> bytes:
    """Damage some data in several places: bytes flipped, zeroed, cut out, repeated, or put in."""
    out, chance = bytearray(data), random.Random(number)
    for _ in range(chance.choice([1, 1, 2, 3, 8, 40])):
        place = chance.randrange(max(len(out), 1))
        size = chance.choice([1, 30, 2000, 9000])
        match chance.randrange(12):
            case 0:
                del out[place:]
            case 1 | 2:
                del out[place : place + size]
            case 3 | 4:
                out[place:place] = out[max(0, place - size) : place]
            case 5 | 6:
                out[place:place] = chance.choice(LURES)
            case 7 | 8:
                out[place : place + size] = bytes(size)
            case _:
                out[place : place + 1] = bytes([out[place] ^ 1 << number % 8]) if out else b""
    return bytes(out)


def check(path, form: str, number: int) -> None:
    data = archive(FORMS[number % len(FORMS)] if form == "any" else form)
    path.write_bytes(mutated(data, number))
    to = ("zst", "zst", "gz", "warc")[number // 5 % 4]
    options = {"tables": (None, "every", "none")[number // 7 % 3]} if to == "zst" else {}
    partial = number % 3 == 0
    made = [recovered(path, processes, to, partial=partial, **options) for processes in (3, 1)]
    assert made[0] == made[1], number


def test_a_mutant_is_recovered_the_same_in_parts(tmp_path, parts) -> None:
    for number in range(8):
        check(tmp_path / "a.warc", "any", number)
    assert parts.done
    assert parts.failed


@pytest.mark.slow
@pytest.mark.parametrize("size", [1 << 10, 4 << 10, 16 << 10])
@pytest.mark.parametrize("form", FORMS)
def test_mutants_are_recovered_the_same_in_parts(tmp_path, monkeypatch, form, size) -> None:
    parts = small_parts(monkeypatch, size)
    for number in range(60):
        check(tmp_path / "a.warc", form, 1000 + number)
    assert parts.done
    assert parts.failed


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["zst", "gz", "none"])
@pytest.mark.parametrize("where", ["at a cut", "over a cut", "before a cut", "after a cut"])
def test_parts_after_damage_are_taken(tmp_path, parts, taken, form, where) -> None:
    made = Foreign()
    for number in range(60):
        made.record(noise(700, seed=number))
    made = made.gzip() if form == "gz" else made.plain() if form == "none" else made
    data, path = bytearray(made.bytes()), tmp_path / "a.warc"
    path.write_bytes(data)
    recovered(path, 3)
    sound = len(taken)
    cut = parts.starts[3]
    begin, end = {
        "at a cut": (cut, cut + 4),
        "over a cut": (cut - 300, cut + 300),
        "before a cut": (cut - 300, cut - 200),
        "after a cut": (cut + 300, cut + 400),
    }[where]
    data[begin:end] = bytes(end - begin)
    path.write_bytes(data)
    taken.clear()
    assert recovered(path, 3) == recovered(path, 1)
    assert sound - 3 <= len(taken) <= sound
    assert parts.failed or form == "none"


def test_the_first_record_of_the_new_file_is_not_from_a_later_part(tmp_path, parts, taken) -> None:
    made = Foreign().record(noise(9000))
    for number in range(5):
        made.record(noise(90_000, seed=number), cuts=64 << 10, table=True)
    data, path = bytearray(made.bytes()), tmp_path / "a.warc"
    data[200:300] = bytes(100)
    path.write_bytes(data)
    assert recovered(path, 3) == recovered(path, 1)
    assert len(taken) == 4


def test_one_large_record_needs_no_further_table(tmp_path, parts, taken) -> None:
    data = Foreign().record(noise(90_000), cuts=64 << 10).bytes()
    path = tmp_path / "a.warc"
    path.write_bytes(data + data[:-9])
    assert recovered(path, 3) == recovered(path, 1)
    assert len(taken) == 1


def test_the_dictionary_may_come_from_elsewhere(tmp_path, parts, taken) -> None:
    data = bytearray(archive("zst with a dictionary"))
    data[20] ^= 1
    path, dictionary = tmp_path / "a.warc", Dictionary(some_dictionary().as_bytes())
    path.write_bytes(data)
    given = {"source_dictionary": dictionary}
    assert recovered(path, 3, **given) == recovered(path, 1, **given)
    assert taken
    assert recovered(path, 3) == recovered(path, 1)
    other = {**given, "dictionary": small_dictionary()}
    assert recovered(path, 3, **other) == recovered(path, 1, **other)


def test_nothing_is_made_where_every_record_is_damaged(tmp_path, parts) -> None:
    data, path = bytearray(archive("gz")), tmp_path / "a.warc"
    for place in range(len(data)):
        if data.startswith(b"\x1f\x8b\x08", place):
            data[place + 9 : place + 30] = bytes(21)
    path.write_bytes(data)
    found = recovered(path, 3)
    assert found == recovered(path, 1)
    assert NotFoundError in found
    assert os.listdir(tmp_path) == ["a.warc"]


class Dying(RecoverPart):
    """Work whose process is killed in the middle of the file."""

    def __call__(self, part: Split, source: RangeSource, spool: str) -> SavedPart | None:
        if part.start > 30_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(part, source, spool)


@pytest.mark.slow
@pytest.mark.parametrize("work", [RecoverPart, Dying])
def test_processes_recover_the_same_even_if_one_is_killed(tmp_path, monkeypatch, work) -> None:
    for name, value in (("MIN_SIZE", 1), ("MIN_PART", 4096), ("MAX_PART", 4096)):
        monkeypatch.setattr(parts_of_files, name, value)
    monkeypatch.setattr(recovering, "RecoverPart", work)
    path = tmp_path / "a.warc"
    path.write_bytes(mutated(archive("zst with a dictionary"), 3))
    assert recovered(path, 2) == recovered(path, 1)
    assert os.listdir(tmp_path) == ["a.warc"]
    monkeypatch.undo()
