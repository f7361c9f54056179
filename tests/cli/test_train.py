"""`seekwarc dictionary train`."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
import zstandard

import seekwarc
from tests.cli.conftest import assert_well_behaved, record_header, response
from tests.support.foreign import Foreign
from tests.support.writing import noise

pytestmark = pytest.mark.slow

PARTS = [b"<p>Seek and ye shall find.</p>", b"<a href='/'>Home</a>", b"<footer>By example.org</footer>"]


def page(number: int) -> bytes:
    chance = random.Random(number)
    return b"<html><title>%d</title>" % chance.randrange(10**9) + b"".join(chance.choices(PARTS, k=8))


def site(count: int, first: int = 0) -> Foreign:
    made = Foreign()
    for number in range(first, first + count):
        response(made, f"http://example.org/{number}.html", page(number))
    return made


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files with pages of one site, in all three forms."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "one.warc.zst").write_bytes(site(400).bytes())
    (folder / "two.warc.gz").write_bytes(site(300, first=1000).gzip().bytes())
    (folder / "three.warc").write_bytes(site(200, first=2000).plain().bytes())
    return folder


def test_a_dictionary_is_made_and_helps(command, pages, tmp_path) -> None:
    answer = command(
        "dictionary", "train", *pages.iterdir(), "-o", tmp_path / "site.dict", "--size", "8K", "--json"
    )
    assert answer.stderr == ""
    data = (tmp_path / "site.dict").read_bytes()
    assert data.startswith(b"\x37\xa4\x30\xec")
    assert answer.json["size"] == len(data) <= 8192
    assert answer.json["id"] == seekwarc.Dictionary(data).id
    assert 32_768 <= answer.json["id"] <= 2_147_483_647
    files = {Path(told["file"]).name: told for told in answer.json["files"]}
    assert {name: told["records"] for name, told in files.items()} == {
        "one.warc.zst": 400,
        "two.warc.gz": 300,
        "three.warc": 200,
    }
    for told in files.values():
        assert told["measured"] in range(told["records"] // 10 - 1, told["records"] // 10 + 2)
        assert 0 < told["size_with"] < told["size_without"] * 0.6
        assert told["saving"] > 0
    record = site(1, first=9999).plain().bytes()
    codec = zstandard.ZstdCompressionDict(data)
    assert len(zstandard.ZstdCompressor(dict_data=codec).compress(record)) < 0.6 * len(
        zstandard.ZstdCompressor().compress(record)
    )
    assert os.listdir(tmp_path) == ["site.dict"]


@pytest.mark.needs("zstd")
def test_the_zstd_command_takes_it(command, pages, tmp_path) -> None:
    command("dictionary", "train", pages / "one.warc.zst", "-o", "site.dict", cwd=tmp_path)
    words = ("convert", pages / "two.warc.gz", "two.warc.zst", "--dictionary", "site.dict")
    command(*words, "--tables", "none", cwd=tmp_path)
    with seekwarc.open(tmp_path / "two.warc.zst") as archive:
        record = list(archive)[100]
        stored = (tmp_path / "two.warc.zst").read_bytes()[record.offset : record.offset + record.length]
        whole = record.whole.read()
    zstd = ["zstd", "-q", "-d", "-c", "-D", "site.dict"]
    done = subprocess.run(zstd, input=stored, capture_output=True, check=True, cwd=tmp_path)
    assert done.stdout == whole
    without = subprocess.run(zstd[:-2], input=stored, capture_output=True, check=False, cwd=tmp_path)
    assert without.returncode != 0, "the frame cannot be read without it"


def test_output_tells_of_each_file_and_kind(command, pages, tmp_path) -> None:
    out = command(
        "dictionary", "train", pages / "one.warc.zst", pages / "three.warc", "-o", tmp_path / "site.dict"
    ).out
    lines = out.splitlines()
    assert lines[0].startswith("dictionary ")
    assert any(line.endswith("response video/mp4") for line in lines)
    for name, records in (("one.warc.zst", "400"), ("three.warc", "200")):
        [line] = [line for line in lines if line.endswith(str(pages / name))]
        assert line.split()[0] == records
        assert "%" in line


def test_pipes_work_at_both_ends(command, pages, tmp_path) -> None:
    answer = command(
        "dictionary", "train", "-", "-o", "-", "--json", stdin=(pages / "two.warc.gz").read_bytes()
    )
    dictionary = seekwarc.Dictionary(answer.stdout)
    assert f'"id": {dictionary.id}' in answer.stderr, "standard output is taken by the dictionary"


def test_size_level_and_samples_are_obeyed(command, pages, tmp_path) -> None:
    words = ("dictionary", "train", pages / "one.warc.zst", "-o", tmp_path / "d", "--force", "--json")
    small = command(*words, "--size", "1K").json
    assert small["size"] <= 1024
    few = command(*words, "--samples", "50").json
    assert few["samples"] == 50
    low, high = (command(*words, "--level", level).json["files"][0] for level in ("-7", "19"))
    assert high["size_without"] < low["size_without"]


def test_a_file_named_twice_is_taken_once(command, pages, tmp_path) -> None:
    path = pages / "three.warc"
    assert len(command("dictionary", "train", path, path, "-o", tmp_path / "d", "--json").json["files"]) == 1


def test_an_older_file_is_replaced_with_force_and_keeps_its_mode(command, pages, tmp_path) -> None:
    path = tmp_path / "site.dict"
    path.write_bytes(b"old")
    path.chmod(0o640)
    command("dictionary", "train", pages / "three.warc", "-o", path, "--force")
    seekwarc.Dictionary(path.read_bytes())
    assert path.stat().st_mode & 0o777 == 0o640


WRONG = [
    (("--size", "100"), "size"),
    (("--size", "2G"), "size"),
    (("--size", "many"), "--size"),
    (("--level", "23"), "level"),
    (("--level", "low"), "--level"),
    (("--samples", "0"), "samples"),
    (("--samples", "-1"), "samples"),
    (("--max-window", "1"), "--max-window"),
    (("--max-window", "3G"), "--max-window"),
    (("--max-dictionary", "x"), "--max-dictionary"),
]


@pytest.mark.parametrize(
    ("words", "told"), WRONG, ids=lambda it: " ".join(it) if isinstance(it, tuple) else it
)
def test_a_wrong_value_is_refused_by_name(command, pages, tmp_path, words, told) -> None:
    path = pages / "three.warc"
    assert told in command("dictionary", "train", path, "-o", "d", *words, status=2, cwd=tmp_path).stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        (
            "dictionary",
            "train",
        ),
        ("dictionary", "train", "a.warc"),
        ("dictionary", "train", "-o", "d"),
    ],
)
def test_what_is_needed_must_be_given(command, tmp_path, words) -> None:
    assert "required" in command(*words, status=2, cwd=tmp_path).stderr


def test_a_file_is_never_written_over(command, pages, tmp_path) -> None:
    path, link = tmp_path / "a.warc", tmp_path / "link"
    path.write_bytes((pages / "three.warc").read_bytes())
    link.symlink_to(path)
    for target in (path, link):
        stderr = command("dictionary", "train", pages / "one.warc.zst", path, "-o", target, status=2).stderr
        assert "source and target are the same file" in stderr
    assert path.read_bytes() == (pages / "three.warc").read_bytes()


def test_too_little_is_reported(command, crawl, tmp_path) -> None:
    stderr = command("dictionary", "train", crawl.zst, "-o", "d", status=1, cwd=tmp_path).stderr
    assert stderr.startswith("seekwarc: too little to train a dictionary on: ")
    assert os.listdir(tmp_path) == []


def test_what_helps_nothing_is_reported(command, tmp_path) -> None:
    made = Foreign()
    for number in range(200):
        made.record(noise(3000, seed=number), header=b"WARC/1.0\r\nContent-Length: 3000\r\n\r\n")
    (tmp_path / "noise.warc").write_bytes(made.plain().bytes())
    stderr = command("dictionary", "train", "noise.warc", "-o", "d", status=1, cwd=tmp_path).stderr
    assert "does not help here" in stderr
    assert os.listdir(tmp_path) == ["noise.warc"]


def test_a_damaged_file_leaves_nothing(command, pages, damaged, tmp_path) -> None:
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes((pages / "two.warc.gz").read_bytes()[:-20])
    stderr = command(
        "dictionary", "train", pages / "one.warc.zst", cut, "-o", "d", status=1, cwd=tmp_path
    ).stderr
    assert stderr.startswith(f"seekwarc: {cut}, offset ")
    assert "d" not in os.listdir(tmp_path)


@pytest.mark.parametrize(("name", "status"), [("not-there.warc", 2), ("folder", 2), ("text", 1)])
def test_what_cannot_be_read_is_reported(command, pages, tmp_path, name, status) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no WARC file")
    words = ("dictionary", "train", pages / "one.warc.zst", name, "-o", "d")
    assert name in command(*words, status=status, cwd=tmp_path).stderr
    assert sorted(os.listdir(tmp_path)) == ["folder", "text"]


def test_what_cannot_be_written_is_reported_before_anything_is_read(command, tmp_path) -> None:
    path = tmp_path / "not there" / "d"
    assert (
        f"{path}: cannot be written: "
        in command("dictionary", "train", "no.warc", "-o", path, status=2).stderr
    )


@pytest.mark.parametrize("target", ["/dev/full", "-"])
def test_a_full_device_is_reported(start, pages, target) -> None:
    with open("/dev/full", "wb") as full:
        process = start("dictionary", "train", pages / "three.warc", "-o", target, stdout=full)
        stderr = process.communicate()[1]
    assert_well_behaved(process.returncode, stderr)
    assert process.returncode == 2
    assert b"No space left on device" in stderr


def test_names_are_shown_and_not_obeyed(command, hostile, tmp_path) -> None:
    made = Foreign()
    for number in range(100):
        kind = "resource\x1b[1m" if number % 2 else "response"
        block = page(number)
        made.record(
            block, header=record_header(kind, len(block), number, ("Content-Type", "text/\x1b[2Jhtml\x9b"))
        )
    (tmp_path / "strange.warc.zst").write_bytes(made.bytes())
    out = command("dictionary", "train", tmp_path / "strange.warc.zst", "-o", tmp_path / "d").out
    assert "\\x1b[2j" in out
    assert all(character.isprintable() for line in out.splitlines() for character in line)
