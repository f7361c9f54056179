"""`seekwarc dictionary`, and the limits of all verbs that read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.foreign import Foreign, some_dictionary, text, zstd_frame

pytestmark = pytest.mark.slow

DATA = some_dictionary().as_bytes()
ID = 0x1234_5678
MIB = 1 << 20


def file_with(path: Path, *, compressed: bool = True) -> Path:
    made = Foreign().dictionary(compressed=compressed)
    for number in range(20):
        made.record(text(700, seed=number))
    path.write_bytes(made.bytes())
    return path


def large_dictionary() -> bytes:
    """A dictionary beyond what every reader must support: whatever follows its tables is content."""
    return DATA + bytes(9 * MIB)


@pytest.mark.parametrize("compressed", [True, False])
def test_the_raw_dictionary_is_taken_out(command, tmp_path, compressed) -> None:
    path = file_with(tmp_path / "a.warc.zst", compressed=compressed)
    command("dictionary", "extract", path, "-o", tmp_path / "a.dict")
    assert (tmp_path / "a.dict").read_bytes() == DATA
    assert sorted(os.listdir(tmp_path)) == ["a.dict", "a.warc.zst"]


@pytest.mark.needs("zstd")
@pytest.mark.parametrize("compressed", [True, False])
def test_the_zstd_command_takes_what_comes_out(command, tmp_path, compressed) -> None:
    path = file_with(tmp_path / "a.warc.zst", compressed=compressed)
    command("dictionary", "extract", path, "-o", tmp_path / "a.dict")
    zstd = ["zstd", "-q", "-dc", "-D", tmp_path / "a.dict", path]
    content = subprocess.run(zstd, capture_output=True, check=True).stdout
    assert content == command("convert", path, "-", "--to", "none").stdout


@pytest.mark.parametrize("compressed", [True, False])
def test_what_there_is_to_tell(command, tmp_path, compressed) -> None:
    path = file_with(tmp_path / "a.warc.zst", compressed=compressed)
    told = command("dictionary", "show", path, "--json").json
    stored = int.from_bytes(path.read_bytes()[4:8], "little")
    assert told == {
        "file": str(path),
        "status": "done",
        "error": None,
        "id": ID,
        "size": len(DATA),
        "stored_size": stored,
        "framed": True,
        "compressed": compressed,
        "window_size": len(DATA) if compressed else None,
        "keeps_limits": True,
    }
    assert (stored < len(DATA)) == compressed
    out = command("dictionary", "show", path).out
    assert str(ID) in out
    assert f"{len(DATA)} bytes" in out
    assert ("not compressed" in out) != compressed


def test_a_bare_dictionary_is_described_too(command, tmp_path) -> None:
    (tmp_path / "a.dict").write_bytes(DATA)
    told = command("dictionary", "show", tmp_path / "a.dict", "--json").json
    assert (told["id"], told["framed"], told["stored_size"]) == (ID, False, len(DATA))


def test_an_id_outside_the_range_of_the_standard_is_reported(command, tmp_path) -> None:
    (tmp_path / "a.dict").write_bytes(DATA[:4] + b"\x07\0\0\0" + DATA[8:])
    assert "outside 32768 to 2147483647" in command("dictionary", "show", tmp_path / "a.dict").out


def test_pipes_work_at_both_ends(command, tmp_path) -> None:
    stored = file_with(tmp_path / "a.warc.zst").read_bytes()
    answer = command("dictionary", "extract", "-", "-o", "-", stdin=stored)
    assert answer.stdout == DATA
    assert str(ID) in answer.stderr
    assert command("dictionary", "show", "-", "--json", stdin=DATA).json["id"] == ID


def test_what_train_makes_comes_out_of_what_convert_makes(command, tmp_path) -> None:
    command("convert", file_with(tmp_path / "a.warc.zst"), tmp_path / "a.warc.gz")
    made = Foreign()
    for number in range(200):
        made.record(text(700, seed=number))
    (tmp_path / "b.warc").write_bytes(made.plain().bytes())
    command("dictionary", "train", "b.warc", "-o", "b.dict", cwd=tmp_path)
    limit = ("--max-table", "1M")
    command("convert", "a.warc.gz", "c.warc.zst", "--dictionary", "b.dict", *limit, cwd=tmp_path)
    command("dictionary", "extract", "c.warc.zst", "-o", "c.dict", *limit, cwd=tmp_path)
    assert (tmp_path / "c.dict").read_bytes() == (tmp_path / "b.dict").read_bytes()


# What has no dictionary, or none that can be read.


@pytest.mark.parametrize("action", ["extract", "show"])
@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst"])
def test_a_file_without_a_dictionary_is_reported(command, crawl, tmp_path, action, form) -> None:
    words = ("-o", "d") if action == "extract" else ()
    stderr = command("dictionary", action, crawl.path(form), *words, status=1, cwd=tmp_path).stderr
    assert f"{crawl.path(form)}, offset 0: the file has no dictionary" in stderr
    assert os.listdir(tmp_path) == []


BROKEN = {
    "nothing": b"",
    "text": b"no dictionary",
    "a table only": DATA[:8],
    "tables that are none": DATA[:8] + bytes(range(200)),
    "ID 0": DATA[:4] + bytes(4) + DATA[8:],
    "cut": Foreign().dictionary(compressed=True).bytes()[:-10],
    "a frame with tables that are none": b"\x5d\x2a\x4d\x18\xd0\0\0\0" + DATA[:8] + bytes(range(200)),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_a_dictionary_is_refused(command, tmp_path, kind) -> None:
    path = tmp_path / "broken"
    path.write_bytes(BROKEN[kind])
    for words in (("show", path), ("extract", path, "-o", "d")):
        stderr = command("dictionary", *words, status=1, cwd=tmp_path).stderr
        assert stderr.startswith(f"seekwarc: {path}, offset 0: ")
        assert stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["broken"]


@pytest.mark.parametrize("verb", ["ls", "info", "convert"])
def test_a_file_with_a_damaged_dictionary_is_no_traceback(command, tmp_path, verb) -> None:
    made = Foreign().dictionary(compressed=False).record(text(500))
    data = bytearray(made.bytes())
    data[16:60] = bytes(range(100, 144))
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    words = ("new.warc",) if verb == "convert" else ()
    stderr = command(verb, path, *words, status=1, cwd=tmp_path).stderr
    assert f"{path}, offset 0: the dictionary is damaged" in stderr


def test_wrong_words_are_wrong_usage(command) -> None:
    for words in ((), ("extract",), ("show",), ("extract", "a.warc.zst"), ("insert", "a")):
        assert "see `seekwarc dictionary" in command("dictionary", *words, status=2).stderr


def test_what_cannot_be_read_or_written_is_reported(command, tmp_path, only_readable) -> None:
    path = file_with(tmp_path / "a.warc.zst")
    assert "not-there" in command("dictionary", "show", "not-there", status=2).stderr
    assert str(tmp_path) in command("dictionary", "show", tmp_path, status=2).stderr
    stderr = command("dictionary", "extract", path, "-o", only_readable / "d", status=2).stderr
    assert f"{only_readable / 'd'}: cannot be written: " in stderr
    stderr = command("dictionary", "extract", path, "-o", "/dev/full", status=2).stderr
    assert stderr == "seekwarc: /dev/full: cannot be written: No space left on device\n"


def test_the_archive_is_never_written_over(command, tmp_path) -> None:
    path = file_with(tmp_path / "a.warc.zst")
    data = path.read_bytes()
    assert "the same file" in command("dictionary", "extract", path, "-o", path, status=2).stderr
    assert path.read_bytes() == data


# Limits.


READING = {
    "ls": ("ls", "{}"),
    "info": ("info", "{}"),
    "cat": ("cat", "{}", "--uri", "http://example.org/3"),
    "convert": ("convert", "{}", "new.warc"),
    "train": ("dictionary", "train", "{}", "-o", "new.dict"),
    "dictionary show": ("dictionary", "show", "{}"),
    "dictionary extract": ("dictionary", "extract", "{}", "-o", "new.dict"),
}


@pytest.mark.parametrize("verb", READING)
def test_the_dictionary_has_a_limit_that_can_be_moved(command, tmp_path, verb) -> None:
    path = file_with(tmp_path / "a.warc.zst", compressed=False)
    words = [word.format(path) for word in READING[verb]]
    stderr = command(*words, "--max-dictionary", "4K", status=1, cwd=tmp_path).stderr
    assert f"{path}, offset 0: a dictionary frame of {len(DATA)} bytes exceeds the limit of 4096" in stderr
    assert "--max-dictionary" in stderr
    assert os.listdir(tmp_path) == ["a.warc.zst"]
    done = command(*words, "--max-dictionary", "8K", cwd=tmp_path)
    assert "limit" not in done.stderr


@pytest.mark.parametrize("verb", [verb for verb in READING if "dictionary" not in verb])
def test_the_window_has_a_limit_that_can_be_moved(command, tmp_path, verb) -> None:
    made = Foreign()
    for number in range(20):
        made.record(text(3000, seed=number), content_size=False, window_log=20)
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made.bytes())
    words = [word.format(path) for word in READING[verb]]
    stderr = command(*words, "--max-window", "512K", status=1, cwd=tmp_path).stderr
    assert "needs a window of 1048576 bytes, the limit is 524288" in stderr
    done = command(*words, "--max-window", "1M", cwd=tmp_path)
    assert "window" not in done.stderr


def test_the_window_of_a_compressed_dictionary_has_a_limit_too(command, tmp_path) -> None:
    path = file_with(tmp_path / "a.warc.zst")
    stderr = command("dictionary", "show", path, "--max-window", "4K", status=1).stderr
    assert f"needs a window of {len(DATA)} bytes, the limit is 4096" in stderr


def test_limits_hold_for_other_files_of_cat_too(command, tmp_path) -> None:
    made = Foreign()
    uri = "http://example.org/film"
    made.record(
        b"one",
        header=(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Segment-Number: 1\r\n"
            f"WARC-Target-URI: {uri}\r\nContent-Length: 3\r\n\r\n"
        ).encode(),
    )
    (tmp_path / "first.warc.zst").write_bytes(made.bytes())
    other = file_with(tmp_path / "other.warc.zst", compressed=False)
    words = ("cat", tmp_path / "first.warc.zst", "--uri", uri, "--max-dictionary", "4K", "--with", other)
    assert f"{other}, offset 0: a dictionary frame" in command(*words, status=1).stderr


def test_a_dictionary_beyond_the_limit_is_written_with_a_warning(command, tmp_path) -> None:
    (tmp_path / "large.dict").write_bytes(large_dictionary())
    (tmp_path / "a.warc").write_bytes(Foreign().record(text(900)).plain().bytes())
    answer = command("convert", "a.warc", "a.warc.zst", "--dictionary", "large.dict", cwd=tmp_path)
    assert answer.stderr.startswith("seekwarc: warning: the dictionary has ")
    assert answer.stderr.count("\n") == 1
    assert "the new file holds the same" in answer.out
    assert "convert without it" in answer.out
    assert "--max-dictionary" in command("ls", tmp_path / "a.warc.zst", status=1).stderr
    command("ls", tmp_path / "a.warc.zst", "--max-dictionary", "10M")
    for name in ("large.dict", "a.warc.zst"):
        words = ("dictionary", "show", tmp_path / name, "--max-dictionary", "10M")
        assert command(*words, "--json").json["keeps_limits"] is False
        assert "above 8.0 MiB: readers need not support it" in command(*words).out


def test_a_dictionary_on_a_pipe_has_a_limit(command) -> None:
    data = large_dictionary()
    assert "exceeds the limit of 8388608" in command("dictionary", "show", "-", stdin=data, status=1).stderr
    assert command("dictionary", "show", "-", "--max-dictionary", "10M", "--json", stdin=data).json[
        "size"
    ] == len(data)


def test_a_bomb_is_not_unpacked(command, tmp_path) -> None:
    frame = zstd_frame(DATA + bytes(20 * MIB))
    path = tmp_path / "bomb.warc.zst"
    path.write_bytes(b"\x5d\x2a\x4d\x18" + len(frame).to_bytes(4, "little") + frame + zstd_frame(b"x"))
    assert "exceeds the limit of 8388608" in command("dictionary", "show", path, status=1).stderr
