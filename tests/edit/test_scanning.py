"""Records of several files, noted as chosen or not; see test_parts.py for several processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import seekwarc
from seekwarc.edit import scanning
from seekwarc.edit.choosing import Choice
from seekwarc.edit.copy_inputs import parts_of
from seekwarc.edit.mentions import REMOVED
from seekwarc.edit.scanning import scan
from seekwarc.errors import FormatError
from seekwarc.jobs.progress import no_progress
from seekwarc.read.options import ReadOptions
from tests.support.foreign import Foreign


@pytest.fixture
def two_files(tmp_path: Path) -> list[str]:
    names = [str(tmp_path / "a.warc.zst"), str(tmp_path / "b.warc.zst")]
    for file, name in enumerate(names):
        with seekwarc.open(name, "w") as out:
            for number in range(5 + file):
                out.write_resource(f"http://example.org/{file}/{number}", b"x", "text/plain")
    return names


@pytest.mark.parametrize("noted", [1, 2, 100])
def test_records_are_numbered_through_all_files(two_files, monkeypatch, noted) -> None:
    monkeypatch.setattr(scanning, "NOTED", noted)
    choice = Choice.of(uris=["http://example.org/0/4", "http://example.org/1/0", "http://example.org/1/5"])
    with parts_of(two_files, None, ReadOptions.of()) as parts:
        catalogue = scan(parts, choice, pytest.fail, no_progress)
    assert catalogue.starts == [0, 5, 11]
    assert [*catalogue.kept_in(0), *catalogue.kept_in(1)] == [4, 5, 10]


@pytest.mark.parametrize("noted", [1, 2, 100])
def test_without_relations_only_chosen_records_are_noted(two_files, monkeypatch, noted) -> None:
    monkeypatch.setattr(scanning, "NOTED", noted)
    choice = Choice.of(uris=["http://example.org/0/4", "http://example.org/1/0", "http://example.org/1/5"])
    found = []
    with parts_of(two_files, None, ReadOptions.of()) as parts:
        for linked in (False, True):
            catalogue = scan(parts, choice, pytest.fail, no_progress, linked=linked)
            assert catalogue.read == 11
            assert len(catalogue) == (11 if linked else 3)
            found.append([[*catalogue.places(0)], [*catalogue.places(1)]])
    assert found[0] == found[1]
    assert [*map(len, found[0])] == [1, 2]


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("check_all", [False, True])
def test_a_wrong_length_is_damage_of_a_chosen_record(tmp_path, check_all) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(Foreign().record(b"whole").record(b"cut off").plain().bytes()[:-6])
    for number, is_told in ((0, check_all), (1, True)):
        damage: list[FormatError] = []
        with parts_of([str(path)], None, ReadOptions.of()) as parts:
            choice = Choice.of(uris=[f"http://example.org/{number}"])
            catalogue = scan(parts, choice, damage.append, no_progress, check_all=check_all)
        assert bool(damage) == is_told
        assert catalogue.kept.count(1) == (number == 0)


def test_a_choice_is_sent_to_other_processes(two_files) -> None:
    lists = {"uris": ["http://example.org/0/1"], "hosts": ["example.org"], "not_ids": ["<urn:x>"]}
    choice = pickle.loads(pickle.dumps(Choice.of(**lists, type="resource", since="2020", uri="*/0/*")))
    with seekwarc.open(two_files[0]) as archive:
        assert [choice.matches(record) for record in archive] == [False, True, False, False, False]


def test_stubs_can_be_spared(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        for text in (REMOVED, "a note"):
            out.write_metadata({"removed": text}, target_uri="http://example.org/")
    choice = Choice.of(hosts=["example.org"])
    with parts_of([str(path)], None, ReadOptions.of()) as parts:
        for spare_stubs, chosen in ((True, [1]), (False, [0, 1])):
            catalogue = scan(parts, choice, pytest.fail, no_progress, spare_stubs=spare_stubs)
            assert [*catalogue.kept_in(0)] == chosen
