"""`seekwarc convert`."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc.cli.sizes import human_size
from seekwarc.frames.encoder import FrameEncoder
from seekwarc.write.output import PathOutput
from tests.cli.conftest import (
    FILM_URI,
    FORMS,
    assert_well_behaved,
    decompressed,
    run_on_terminal,
    wait_until_read,
)
from tests.support.foreign import Foreign, gzip_member, some_dictionary, text, warc_header
from tests.support.generated import film, page, small_pages
from tests.support.processes import PATIENT, wait_until
from tests.support.writing import noise

DIRECTIONS = [(source, target) for source in FORMS for target in FORMS]


def left_in(folder: Path) -> list[str]:
    """What a run left behind, hidden files too."""
    return sorted(os.listdir(folder))


# What comes out.


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_direction_keeps_every_byte(command, crawl, tmp_path, source, target) -> None:
    path = tmp_path / f"new.{target}"
    answer = command("convert", crawl.path(source), path, "--json")
    assert decompressed(path) == crawl.content
    assert answer.json == {
        "file": str(crawl.path(source)),
        "dry_run": False,
        "target": str(path),
        "status": "done",
        "error": None,
        "records": 5,
        "stored_size": crawl.path(source).stat().st_size,
        "target_size": path.stat().st_size,
        "content_size": len(crawl.content),
        "sha256": hashlib.sha256(crawl.content).hexdigest(),
        "verified": True,
    }
    assert left_in(tmp_path) == [path.name]
    offsets = [line["offset"] for line in command("ls", "--json", path).json_lines]
    lengths = [line["length"] for line in command("ls", "--json", path).json_lines]
    assert offsets[1:] == [offset + length for offset, length in zip(offsets, lengths, strict=True)][:-1]


def test_output_says_what_was_done(command, crawl, tmp_path) -> None:
    answer = command("convert", crawl.path("warc.gz"), tmp_path / "new.warc.zst")
    assert answer.out.startswith("5 records, 1.5 MiB: ")
    assert hashlib.sha256(crawl.content).hexdigest() in answer.out
    assert "the new file holds the same" in answer.out
    assert answer.stderr == "", "no progress where standard error is no terminal"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", FORMS)
@pytest.mark.parametrize("to", ["zst", "gz", "none"])
def test_pipes_work_at_both_ends(command, crawl, tmp_path, source, to) -> None:
    answer = command("convert", "-", "-", "--to", to, stdin=crawl.path(source).read_bytes())
    path = tmp_path / {"zst": "new.warc.zst", "gz": "new.warc.gz", "none": "new.warc"}[to]
    path.write_bytes(answer.stdout)
    assert decompressed(path) == crawl.content
    assert "the new file holds the same" in answer.stderr, "standard output is taken by the file"
    assert command("cat", path, "--uri", FILM_URI).stdout == crawl.film


def test_a_pipe_gets_the_same_bytes_as_a_path(command, crawl, tmp_path) -> None:
    command("convert", crawl.path("warc"), tmp_path / "new.warc.zst")
    answer = command("convert", crawl.path("warc"), "-")
    assert answer.stdout == (tmp_path / "new.warc.zst").read_bytes()


def test_standard_output_is_zst_by_default(command, crawl) -> None:
    answer = command("convert", crawl.path("warc.gz"), "-")
    assert answer.stdout.startswith(b"\x28\xb5\x2f\xfd")


def test_standard_input_and_output_may_be_files(crawl, tmp_path) -> None:
    run = [sys.executable, "-m", "seekwarc", "convert", "-", "-", "--json"]
    with crawl.path("warc.gz").open("rb") as source, (tmp_path / "new.warc.zst").open("wb") as target:
        subprocess.run(run, stdin=source, stdout=target, stderr=subprocess.PIPE, check=True)
    assert decompressed(tmp_path / "new.warc.zst") == crawl.content


def test_to_wins_over_the_name(command, crawl, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    command("convert", crawl.zst, path, "--to", "none")
    assert path.read_bytes() == crawl.content


@pytest.mark.parametrize("name", ["NEW.WARC.ZST", "new.warc.zstd", "new.megawarc.zst"])
def test_names_are_known_by_their_ends(command, crawl, tmp_path, name) -> None:
    command("convert", crawl.path("warc.gz"), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(b"\x28\xb5\x2f\xfd")


def test_the_source_is_known_by_its_content(command, crawl, tmp_path) -> None:
    source = tmp_path / "named wrongly.warc.zst"
    source.write_bytes(crawl.path("warc.gz").read_bytes())
    command("convert", source, tmp_path / "new.warc")
    assert (tmp_path / "new.warc").read_bytes() == crawl.content


def test_an_older_file_is_replaced_with_force_and_keeps_its_mode(command, crawl, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    path.write_bytes(b"old")
    path.chmod(0o640)
    command("convert", crawl.path("warc"), path, "--force")
    assert decompressed(path) == crawl.content
    assert path.stat().st_mode & 0o777 == 0o640


# What is written on the way to .warc.zst.


def test_options_of_writing_are_obeyed(command, crawl, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    words = ("--level", "1", "--frame-size", "64K", "--threads", "1", "--tables", "every")
    command("convert", crawl.path("warc.gz"), path, *words)
    with seekwarc.open(path) as archive:
        film = list(archive)[3]
        assert film.seek_table_status == "record"
        assert max(film.body.frames.content_sizes) <= (64 << 10) + 4
    assert decompressed(path) == crawl.content


def test_no_table_is_written_without_tables(command, crawl, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    command("convert", crawl.path("warc.gz"), path, "--tables", "none")
    assert b"\x5e\x2a\x4d\x18" not in path.read_bytes()
    assert decompressed(path) == crawl.content


def test_threads_do_not_change_the_file(command, crawl, tmp_path) -> None:
    for threads in (1, 2, 7):
        command("convert", crawl.path("warc"), tmp_path / f"{threads}.warc.zst", "--threads", threads)
    files = {(tmp_path / f"{threads}.warc.zst").read_bytes() for threads in (1, 2, 7)}
    assert len(files) == 1


def test_a_level_changes_the_size(command, crawl, tmp_path) -> None:
    sizes = {}
    for form in ("warc.zst", "warc.gz"):
        for level in (1, 9):
            path = tmp_path / f"{level}.{form}"
            command("convert", crawl.path("warc"), path, "--level", level)
            sizes[form, level] = path.stat().st_size
            assert decompressed(path) == crawl.content
    assert sizes["warc.zst", 9] < sizes["warc.zst", 1]
    assert sizes["warc.gz", 9] < sizes["warc.gz", 1]


def test_a_dictionary_is_used_and_stored(command, tmp_path) -> None:
    made = Foreign()
    for number in range(200):
        made.record(text(400, seed=number))
    (tmp_path / "pages.warc").write_bytes(made.plain().bytes())
    (tmp_path / "dictionary").write_bytes(some_dictionary().as_bytes())
    command("convert", "pages.warc", "with.warc.zst", "--dictionary", "dictionary", cwd=tmp_path)
    command("convert", "pages.warc", "without.warc.zst", cwd=tmp_path)
    with_it, without = ((tmp_path / f"{name}.warc.zst").stat().st_size for name in ("with", "without"))
    assert with_it < without
    info = command("info", "--json", "with.warc.zst", cwd=tmp_path).json
    assert info["dictionary"] == some_dictionary().dict_id()
    command("convert", "with.warc.zst", "back.warc", cwd=tmp_path)
    assert (tmp_path / "back.warc").read_bytes() == (tmp_path / "pages.warc").read_bytes()


WRONG_VALUES = [
    (("new.warc.zst", "--level", "23"), "level"),
    (("new.warc.zst", "--level", "-8"), "level"),
    (("new.warc.zst", "--level", "high"), "--level"),
    (("new.warc.zst", "--frame-size", "1K"), "frame_size"),
    (("new.warc.zst", "--frame-size", "9M"), "frame_size"),
    (("new.warc.zst", "--frame-size", "-1"), "--frame-size"),
    (("new.warc.zst", "--frame-size", "1T"), "--frame-size"),
    (("new.warc.zst", "--frame-size", ""), "--frame-size"),
    (("new.warc.zst", "--threads", "0"), "threads"),
    (("new.warc.zst", "--threads", "100000"), "threads"),
    (("new.warc.zst", "--tables", "some"), "--tables"),
    (("new.warc.zst", "--to", "xz"), "--to"),
    (("new.warc.zst", "--dictionary", "not-there"), "not-there"),
    (("new.warc.gz", "--level", "19"), "level"),
    # Options that would do nothing.
    (("new.warc.gz", "--frame-size", "1M"), "takes no frame_size"),
    (("new.warc.gz", "--tables", "none"), "takes no tables"),
    (("new.warc", "--level", "3"), "takes no level"),
]


@pytest.mark.parametrize(("words", "told"), WRONG_VALUES)
def test_a_wrong_value_is_refused_by_name(command, crawl, tmp_path, words, told) -> None:
    stderr = command("convert", crawl.zst, *words, status=2, cwd=tmp_path).stderr
    assert told in stderr
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    "data",
    [b"", b"no dictionary", bytes(1000), b"\x37\xa4\x30\xec" + bytes(60)],
    ids=["empty", "text", "zeros", "magic only"],
)
def test_a_file_that_is_no_dictionary_is_refused(command, crawl, tmp_path, data) -> None:
    dictionary = tmp_path / "dictionary"
    dictionary.write_bytes(data)
    done = command("convert", crawl.zst, "new.warc.zst", "--dictionary", dictionary, status=1, cwd=tmp_path)
    assert str(dictionary) in done.stderr, "it names the file"
    assert left_in(tmp_path) == ["dictionary"]


@pytest.mark.parametrize("name", ["new", "new.wacz", "new.warc.xz", "zst"])
def test_a_name_without_a_known_end_is_refused_with_what_to_do(command, crawl, tmp_path, name) -> None:
    stderr = command("convert", crawl.zst, name, status=2, cwd=tmp_path).stderr
    assert f"{name}: unknown compression: name it .warc.zst, .warc.gz or .warc, or give --to" in stderr


# What cannot be read or written.


def test_a_file_is_never_written_over_itself(command, crawl, tmp_path) -> None:
    path, link, hard = (tmp_path / name for name in ("a.warc.zst", "link.warc.zst", "hard.warc.zst"))
    data = crawl.zst.read_bytes()
    path.write_bytes(data)
    link.symlink_to(path)
    hard.hardlink_to(path)
    for target in (path, link, hard, f"{tmp_path}/../{tmp_path.name}/a.warc.zst"):
        stderr = command("convert", path, target, status=2).stderr
        assert "source and target are the same file" in stderr
    assert path.read_bytes() == data
    assert left_in(tmp_path) == ["a.warc.zst", "hard.warc.zst", "link.warc.zst"]


def test_standard_input_is_not_written_over_itself(crawl, tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(crawl.zst.read_bytes())
    run = [sys.executable, "-m", "seekwarc", "convert", "-", str(path)]
    with path.open("rb") as file:
        done = subprocess.run(run, stdin=file, capture_output=True, check=False)
    assert_well_behaved(done.returncode, done.stderr)
    assert decompressed(path) == crawl.content


def broken_sources(crawl) -> dict[str, bytes]:
    zst = crawl.zst.read_bytes()
    flipped = bytearray(zst)
    flipped[crawl.film_put.offset + 450_000] ^= 1
    gz = bytearray(crawl.path("warc.gz").read_bytes())
    gz[crawl.put(3, "warc.gz").offset + 450_000] ^= 1
    return {
        "flipped.warc.zst": bytes(flipped),
        "flipped.warc.gz": bytes(gz),
        "cut.warc.zst": zst[:800_000],
        "cut in front of a record.warc.zst": zst[: crawl.film_put.offset] + b"garbage, not a frame",
        "cut.warc.gz": crawl.path("warc.gz").read_bytes()[:800_000],
        "cut.warc": crawl.content[:800_000],
        "cut in a header.warc": crawl.content[:50],
        "garbage behind.warc": crawl.content + b"garbage\r\n\r\n",
        "no trailer.warc": crawl.content[:-4] + b"WARC/1.1\r\n",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "flipped.warc.zst",
        "flipped.warc.gz",
        "cut.warc.zst",
        "cut in front of a record.warc.zst",
        "cut.warc.gz",
        "cut.warc",
        "cut in a header.warc",
        "garbage behind.warc",
        "no trailer.warc",
    ],
)
@pytest.mark.parametrize("target", FORMS)
def test_a_damaged_source_leaves_nothing(command, crawl, tmp_path, name, target) -> None:
    source = tmp_path / name
    source.write_bytes(broken_sources(crawl)[name])
    stderr = command("convert", source, f"new.{target}", status=1, cwd=tmp_path).stderr
    assert stderr.startswith(f"seekwarc: {source}, offset ")
    assert stderr.count("\n") == 1
    assert left_in(tmp_path) == [name]


def test_a_damaged_source_keeps_the_older_file(command, damaged, tmp_path) -> None:
    target = tmp_path / "older.warc.gz"
    target.write_bytes(b"older")
    command("convert", damaged, target, "--force", status=1)
    assert target.read_bytes() == b"older"


def test_several_records_in_one_member_are_distinguished(command, crawl, tmp_path) -> None:
    source, target = tmp_path / "single.warc.gz", tmp_path / "new.warc.zst"
    source.write_bytes(gzip_member(crawl.content))
    answer = command("convert", source, target)
    assert answer.stderr == ""
    assert len(command("ls", "--json", target).json_lines) == 5
    assert decompressed(target) == crawl.content


def test_a_missing_folder_is_reported(command, crawl, tmp_path) -> None:
    path = tmp_path / "not there" / "new.warc.zst"
    assert (
        f"{path}: cannot be written: there is no folder {path.parent}"
        in command("convert", crawl.zst, path, status=2).stderr
    )


def test_a_folder_is_no_target(command, crawl, tmp_path) -> None:
    folder = tmp_path / "folder.warc.zst"
    folder.mkdir()
    assert f"{folder}: cannot be written: " in command("convert", crawl.zst, folder, status=2).stderr


@pytest.mark.parametrize("to", ["zst", "gz", "none"])
def test_a_full_device_is_reported(command, crawl, to) -> None:
    stderr = command("convert", crawl.zst, "/dev/full", "--to", to, status=2).stderr
    assert stderr == "seekwarc: /dev/full: cannot be written: No space left on device\n"


# That the new file holds the same is proved.


@pytest.fixture
def run_changed(run_main, monkeypatch, capsys):
    """Run the command on a disk that forgets: the new file is changed before it is read back."""

    def run(change, *words: object) -> tuple[int, str]:
        reopen = PathOutput.reopen

        def changed(output: PathOutput):
            reopen(output).close()
            temporary = Path(output.place)
            temporary.write_bytes(change(temporary.read_bytes()))
            return reopen(output)

        monkeypatch.setattr(PathOutput, "reopen", changed)
        return run_main(*words), capsys.readouterr().err

    return run


def flip_in_the_middle(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def without_the_first_unit(data: bytes) -> bytes:
    """Leave out a whole record, so that every checksum in the file stays right."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.compress(gzip.decompress(data)[100:])
    if data.startswith(b"WARC/"):
        return data[100:]
    size = zstandard.get_frame_parameters(data).content_size
    content = zstandard.ZstdDecompressor().decompress(data)
    assert len(content) == size
    return data[data.index(b"\x28\xb5\x2f\xfd", 4) :]


CHANGES = {"flip": flip_in_the_middle, "cut": lambda data: data[:-500_000], "less": without_the_first_unit}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", FORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_reads_back_otherwise_is_not_kept(run_changed, crawl, tmp_path, target, change) -> None:
    path = tmp_path / f"new.{target}"
    status, stderr = run_changed(CHANGES[change], "convert", crawl.path("warc.gz"), path)
    assert status == 1
    assert stderr.startswith(f"seekwarc: {path}: the new file ")
    assert left_in(tmp_path) == []


def test_what_goes_into_a_pipe_is_checked_too(run_main, monkeypatch, capfd, tmp_path) -> None:
    encode = FrameEncoder.encode_each
    monkeypatch.setattr(
        FrameEncoder,
        "encode_each",
        lambda self, contents: encode(self, [it.replace(b"hand", b"foot") for it in contents]),
    )
    source = tmp_path / "source.warc"
    source.write_bytes(Foreign().record(b"software: by hand").plain().bytes())
    assert run_main("convert", source, "-") == 1
    assert "the new file decompresses to" in capfd.readouterr().err


def test_the_check_can_be_left_out(run_main, capsys, monkeypatch, crawl, tmp_path) -> None:
    def never(output: PathOutput):
        raise AssertionError("read back")

    monkeypatch.setattr(PathOutput, "reopen", never)
    path = tmp_path / "new.warc.zst"
    assert run_main("convert", crawl.path("warc.gz"), path, "--no-verify") == 0
    assert "not checked" in capsys.readouterr().out
    assert decompressed(path) == crawl.content


def test_json_tells_that_nothing_was_checked(command, crawl, tmp_path) -> None:
    answer = command("convert", crawl.zst, tmp_path / "new.warc", "--no-verify", "--json")
    assert answer.json["verified"] is False


# Stopping it.


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_a_signal_while_nothing_has_come_yet_is_no_traceback(start, tmp_path, number, status) -> None:
    process = start("convert", "-", tmp_path / "new.warc.zst")
    process.stdin.write(b"W")
    process.stdin.flush()
    wait_until_read(process.stdin)
    process.send_signal(number)
    stderr = process.communicate(timeout=PATIENT)[1]
    assert process.returncode == status
    assert b"Traceback" not in stderr
    assert left_in(tmp_path) == []


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("number", "status"), SIGNALS)
def test_a_signal_ends_a_conversion_into_a_pipe(start, crawl, number, status) -> None:
    process = start("convert", "-", "-")
    process.stdin.write(crawl.path("warc").read_bytes()[:300_000])
    process.stdin.flush()
    wait_until_read(process.stdin)
    process.send_signal(number)
    stderr = process.communicate(timeout=PATIENT)[1]
    assert process.returncode == status
    assert b"Traceback" not in stderr


# Progress.


def test_a_terminal_is_shown_how_far_it_is(crawl, tmp_path) -> None:
    status, shown = run_on_terminal("convert", crawl.path("warc.gz"), tmp_path / "new.warc.zst")
    assert status == 0
    assert b"converting" in shown
    assert b"checking" in shown
    assert b"%|" in shown
    assert b"Traceback" not in shown
    assert not shown.rpartition(b"\r")[2].strip(), "the bar is taken away at the end"


def test_an_error_on_a_terminal_stands_on_a_line_of_its_own(damaged, tmp_path) -> None:
    status, shown = run_on_terminal("convert", damaged, tmp_path / "new.warc.gz")
    assert status == 1
    assert b"Traceback" not in shown
    assert shown.rstrip(b"\r\n").rpartition(b"\r")[2].startswith(b"seekwarc: ")


# Dictionaries.


def pages(count: int, first: int = 0) -> Foreign:
    made = Foreign()
    for number in range(first, first + count):
        made.record(text(300 + number % 200, seed=number))
    return made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of small records that are much alike."""
    path = tmp_path_factory.mktemp("site") / "site.warc.gz"
    path.write_bytes(pages(600).gzip().bytes())
    return path


@pytest.mark.slow
def test_a_dictionary_is_trained_on_the_way(command, site, tmp_path) -> None:
    path, plain = tmp_path / "new.warc.zst", tmp_path / "plain.warc.zst"
    done = command("convert", site, path, "--dictionary", "train", "--json").json
    command("convert", site, plain)
    told = done["dictionary"]
    found = command("dictionary", "show", path, "--json").json
    assert (found["id"], found["size"], found["stored_size"]) == (
        told["id"],
        told["size"],
        told["stored_size"],
    )
    assert told["measured"] == 60
    assert told["size_with"] < told["size_without"]
    saved = plain.stat().st_size - path.stat().st_size
    assert told["saving"] - told["stored_size"] == pytest.approx(saved, rel=0.25)
    assert saved > 0
    assert sorted(os.listdir(tmp_path)) == ["new.warc.zst", "plain.warc.zst"]
    assert command("convert", path, "-", "--to", "none").stdout == decompressed(site)


def test_output_says_what_a_dictionary_saves(command, site, tmp_path) -> None:
    lines = command("convert", site, tmp_path / "a.warc.zst", "--dictionary", "train").out.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("dictionary ")
    assert lines[3].startswith("60 records measured: ")
    assert "smaller" in lines[3]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pipe", [False, True])
def test_what_a_given_dictionary_saves_is_measured(command, site, tmp_path, pipe) -> None:
    (tmp_path / "other.warc").write_bytes(pages(400, first=5000).plain().bytes())
    command("dictionary", "train", tmp_path / "other.warc", "-o", tmp_path / "d")
    words = (tmp_path / "new.warc.zst", "--dictionary", tmp_path / "d", "--json")
    if pipe:
        told = command("convert", "-", *words, stdin=site.read_bytes()).json["dictionary"]
    else:
        told = command("convert", site, *words).json["dictionary"]
    assert told["measured"] == 600
    assert told["size_with"] < told["size_without"]
    stored = (tmp_path / "new.warc.zst").stat().st_size
    assert told["size_with"] + told["stored_size"] == pytest.approx(stored, rel=0.2)


def test_the_dictionary_of_an_archive_is_taken(command, site, tmp_path) -> None:
    command("convert", site, tmp_path / "a.warc.zst", "--dictionary", "train")
    command("convert", site, tmp_path / "b.warc.zst", "--dictionary", tmp_path / "a.warc.zst")
    assert (tmp_path / "a.warc.zst").read_bytes() == (tmp_path / "b.warc.zst").read_bytes()


@pytest.mark.slow
def test_standard_input_that_is_a_file_can_be_trained_on(site, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    run = [sys.executable, "-m", "seekwarc", "convert", "-", str(path), "--dictionary", "train"]
    with site.open("rb") as file:
        done = subprocess.run(run, stdin=file, capture_output=True, check=True)
    assert b"records measured" in done.stdout
    with seekwarc.open(path) as archive:
        assert archive.dictionary is not None
        assert len(list(archive)) == 600


@pytest.mark.parametrize("how", ["auto", "train"])
def test_a_pipe_cannot_be_trained_on(command, site, tmp_path, how) -> None:
    words = ("new.warc.zst", "--dictionary", how)
    told = command("convert", "-", *words, stdin=site.read_bytes(), status=2, cwd=tmp_path).stderr
    assert "-: a pipe cannot be read twice" in told
    assert "seekwarc dictionary train" in told
    os.mkfifo(tmp_path / "pipe")
    assert "pipe: a pipe cannot" in command("convert", "pipe", *words, status=2, cwd=tmp_path).stderr
    assert left_in(tmp_path) == ["pipe"]


def test_a_dictionary_that_does_not_pay_is_reported(command, tmp_path) -> None:
    (tmp_path / "a.warc").write_bytes(pages(3).plain().bytes())
    (tmp_path / "d").write_bytes(some_dictionary().as_bytes())
    out = command("convert", "a.warc", "a.warc.zst", "--dictionary", "d", cwd=tmp_path).out
    assert "larger: convert without it" in out


def test_too_little_to_train_on_is_reported_and_leaves_nothing(command, crawl, tmp_path) -> None:
    stderr = command(
        "convert", crawl.zst, "a.warc.zst", "--dictionary", "train", status=1, cwd=tmp_path
    ).stderr
    assert "too little to train a dictionary on" in stderr
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("name", ["a.warc.gz", "a.warc"])
@pytest.mark.parametrize("dictionary", ["auto", "train", "d"])
def test_other_compressions_take_no_dictionary(command, site, tmp_path, name, dictionary) -> None:
    (tmp_path / "d").write_bytes(some_dictionary().as_bytes())
    stderr = command("convert", site, name, "--dictionary", dictionary, status=2, cwd=tmp_path).stderr
    assert "takes no dictionary" in stderr
    assert left_in(tmp_path) == ["d"]


@pytest.fixture
def run_untrained(run_main, capsys, monkeypatch, tmp_path):
    """Run the command where training would be noticed."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(seekwarc.Dictionary, "train", never)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[object, str]:
        try:
            status = run_main(*words)
        except SystemExit as stop:  # as arguments that are invalid by themselves end it
            status = stop.code
        return status, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("{site}", "not there/a.warc.zst"), "cannot be written"),
        (("{site}", "{site}", "--to", "zst"), "source and target are the same file"),
        (("{site}", "a.warc.zst", "--frame-size", "1K"), "frame_size"),
        (("{site}", "a.warc.zst", "--level", "50"), "level"),
        (("not there", "a.warc.zst"), "not there"),
        (("{folder}", "a.warc.zst"), "is a directory"),
    ],
)
def test_what_cannot_be_done_is_reported_before_training(run_untrained, site, tmp_path, words, told) -> None:
    filled = [word.format(site=site, folder=tmp_path) for word in words]
    status, stderr = run_untrained("convert", *filled, "--dictionary", "train")
    assert status == 2
    assert told in stderr
    assert left_in(tmp_path) == []


@pytest.fixture(scope="module")
def crawl_of_pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of pages that is large enough for advice."""
    path = tmp_path_factory.mktemp("pages") / "pages.warc.gz"
    path.write_bytes(b"".join(map(gzip_member, small_pages(700))))
    return path


@pytest.mark.slow
def test_a_dictionary_of_a_sample_makes_the_same_file_each_time(command, crawl_of_pages, tmp_path) -> None:
    made = []
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.warc.zst"
        done = command("convert", crawl_of_pages, path, "--dictionary", "auto", "--jobs", jobs, "--json").json
        assert done["dictionary"]["size_with"] < done["dictionary"]["size_without"]
        made.append(path.read_bytes())
    assert made[0] == made[1]
    assert len(made[0]) < 0.8 * crawl_of_pages.stat().st_size
    assert command("convert", path, "-", "--to", "none").stdout == decompressed(crawl_of_pages)


def test_a_dictionary_of_a_sample_is_kept_only_if_it_pays(command, tmp_path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(b"".join(map(gzip_member, (film(1, 1 << 20), page(1, 5000)))))
    words = ("convert", "a.warc.gz", "a.warc.zst", "--dictionary", "auto")
    assert (
        "no dictionary: one made of a sample of the records saves none, too little"
        in command(*words, cwd=tmp_path).out
    )
    assert "dictionary" not in command(*words, "--force", "--json", cwd=tmp_path).json
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert archive.dictionary is None


def test_a_conversion_says_what_a_dictionary_would_save(command, crawl_of_pages, tmp_path) -> None:
    words = ("convert", crawl_of_pages, tmp_path / "a.warc.zst", "--force")
    advice = command(*words).out.splitlines()[-1]
    assert advice.startswith("with a dictionary it would be about ")
    assert advice.endswith(" smaller: --dictionary auto")
    for more in (["-q"], ["--json"], ["--dictionary", "auto"], ["--to", "gz"]):
        assert "would be" not in command(*words, *more).out
    folder = ("convert", crawl_of_pages, tmp_path / "b.warc.gz", "--to-dir", tmp_path / "new")
    shutil.copy(crawl_of_pages, tmp_path / "b.warc.gz")
    assert command(*folder).out.count("--dictionary auto") == 1


@pytest.mark.parametrize("how", ["auto", "train"])
def test_nothing_but_convert_can_train(command, site, tmp_path, how) -> None:
    words = ("pack", site, "-o", "a.warc.zst", "--dictionary", how)
    stderr = command(*words, status=2, cwd=tmp_path).stderr
    assert f"--dictionary {how} works only with `seekwarc convert`" in stderr
    assert left_in(tmp_path) == []


def test_a_file_of_the_name_train_can_still_be_named(command, site, tmp_path) -> None:
    (tmp_path / "train").write_bytes(some_dictionary().as_bytes())
    command("convert", site, "a.warc.zst", "--dictionary", "./train", cwd=tmp_path)
    told = command("dictionary", "show", "a.warc.zst", "--json", cwd=tmp_path).json
    assert told["id"] == some_dictionary().dict_id()


def test_a_folder_ends_with_what_was_saved(command, crawl, tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.warc").write_bytes(crawl.path("warc").read_bytes())
    words = ("convert", tmp_path / "a.warc", tmp_path / "b.warc", "--to-dir", tmp_path / "new")
    last = command(*words).out.splitlines()[-1]
    made = sum(it.stat().st_size for it in (tmp_path / "new").iterdir())
    before = 2 * crawl.path("warc").stat().st_size
    share = made / before
    assert last == (
        f"{human_size(before)} became {human_size(made)} ({share:.1%}): {human_size(before - made)} saved"
    )
    assert "saved" not in command(*words).out, "nothing was converted"
    assert len(command(*words, "--force", "--json").json_lines) == 2


def test_no_advice_is_given_that_is_being_followed(command, crawl, tmp_path) -> None:
    path = tmp_path / "one-member.warc.gz"
    path.write_bytes(gzip.compress(crawl.content))
    assert "`seekwarc convert` repairs that" in command("ls", path).stderr
    assert "repairs that" not in command("convert", path, tmp_path / "new.warc.zst").stderr
    assert decompressed(tmp_path / "new.warc.zst") == crawl.content


def half_written(start, target: Path) -> subprocess.Popen:
    """Start a conversion, and wait until a part of the new file has been written."""
    process = start("convert", "-", target)
    process.stdin.write(warc_header(9 << 20) + noise(8 << 20))
    process.stdin.flush()
    wait_until(
        lambda: any(f"-{process.pid}-" in it.name and it.stat().st_size for it in target.parent.iterdir())
    )
    return process


@pytest.mark.slow
def test_what_a_killed_one_left_is_removed_by_the_next(command, start, crawl, tmp_path) -> None:
    target = tmp_path / "new.warc.zst"
    killed, living = half_written(start, target), half_written(start, target)
    other = half_written(start, tmp_path / "other.warc.zst")
    for process in (killed, other):
        process.kill()
        process.wait()
    command("convert", crawl.path("warc.gz"), target)
    assert decompressed(target) == crawl.content
    left = [name for name in left_in(tmp_path) if name != target.name]
    assert [name.split("-")[1] for name in left if name.startswith(".new.")] == [str(living.pid)]
    assert [name.split("-")[1] for name in left if name.startswith(".other.")] == [str(other.pid)]
