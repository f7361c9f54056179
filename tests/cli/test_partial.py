"""`--partial` of `cat` and `extract`: what is intact of a damaged record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import FILM_URI
from tests.support.writing import walk


@pytest.fixture
def damaged(crawl, tmp_path: Path) -> Path:
    """A crawl with a damaged frame in the middle of its film."""
    data = bytearray(crawl.zst.read_bytes())
    put = crawl.film_put
    frames = [it for it in walk(bytes(data)) if put.offset <= it.offset < put.stop and it.is_data]
    data[frames[len(frames) // 2].end - 1] ^= 1
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    return path


@pytest.fixture
def damaged_member(crawl, tmp_path: Path) -> Path:
    data = bytearray(crawl.path("warc.gz").read_bytes())
    put = crawl.put(3, "warc.gz")
    middle = (put.offset + put.stop) // 2
    data[middle : middle + 20] = bytes(20)
    path = tmp_path / "damaged.warc.gz"
    path.write_bytes(data)
    return path


def names_in(folder: Path) -> list[str]:
    return sorted(it for it in os.listdir(folder) if it != "manifest.jsonl")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("part", ["payload", "block", "record"])
def test_cat_goes_on_after_damage(command, crawl, damaged, part) -> None:
    film = ("--uri", FILM_URI, "--part", part)
    command("cat", damaged, *film, status=1)
    answer = command("cat", damaged, *film, "--partial", status=1)
    sound = command("cat", crawl.zst, *film).stdout
    assert len(answer.stdout) == len(sound)
    pairs = zip(answer.stdout, sound, strict=True)
    differing = [at for at, (one, other) in enumerate(pairs) if one != other]
    first, last = differing[0], differing[-1]
    assert not any(answer.stdout[first : last + 1])
    assert "of the block are damaged, and zero bytes here: " in answer.stderr
    before = command("cat", damaged, *film, "--partial", "--range", f":{first - 10}")
    assert before.stdout == sound[: first - 10]


def test_extract_writes_a_film_with_its_gap(command, crawl, damaged, tmp_path) -> None:
    film = ("--uri", FILM_URI)
    command("extract", damaged, *film, "-o", tmp_path / "no", status=1)
    assert names_in(tmp_path / "no") == []
    answer = command("extract", damaged, *film, "-o", tmp_path / "films", "--partial", "--json", status=1)
    listed, total = answer.json_lines
    assert (listed["status"], total["status"], total["records"]) == ("problems", "problems", 1)
    assert "zero bytes here" in listed["problem"]
    made = (tmp_path / "films" / listed["target"]).read_bytes()
    sound = command("cat", crawl.zst, *film).stdout
    assert len(made) == len(sound)
    assert 0 < sum(one != other for one, other in zip(made, sound, strict=True)) < len(sound) / 2


def test_only_the_beginning_of_a_gzip_member_is_intact(command, crawl, damaged_member, tmp_path) -> None:
    film = ("--uri", FILM_URI)
    sound = command("cat", crawl.zst, *film).stdout
    answer = command("cat", damaged_member, *film, "--partial", status=1)
    assert "what comes before it was printed" in answer.stderr
    quarter = len(sound) // 4
    assert answer.stdout[:quarter] == sound[:quarter]
    command("extract", damaged_member, *film, "-o", tmp_path / "films", "--partial", status=1)
    [name] = names_in(tmp_path / "films")
    made = (tmp_path / "films" / name).read_bytes()
    # What is read in order and what is read by offset is decoded in steps that begin elsewhere.
    assert made[: len(answer.stdout)] == answer.stdout[: len(made)]
    assert abs(len(made) - len(answer.stdout)) <= 64 << 10


def test_a_sound_record_is_the_same_with_partial(command, crawl) -> None:
    film = ("cat", crawl.zst, "--uri", FILM_URI)
    assert command(*film, "--partial").stdout == command(*film).stdout
