"""`seekwarc pack`."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc.format.uri import as_utf8
from tests.cli.conftest import run_on_terminal
from tests.support.foreign import text
from tests.support.writing import noise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with folders in it, and names that are hard on who writes URIs and lines."""
    root = tmp_path / "things"
    contents = {
        "page.html": text(3000),
        "empty.txt": b"",
        "film.mp4": noise(2_500_000),
        "deep/er/notes": b"no extension\n",
        "deep/data.tar.gz": b"\x1f\x8b pretended",
        "with blank.txt": b"1",
        "späße, 写真.jpg": b"2",
        "new\nline.txt": b"3",
        "per%41cent?#.txt": b"4",
        "\x1b[2J.txt": b"5",
    }
    for name, data in contents.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000.5, 1_700_000_000.5))
    (root / os.fsdecode(b"not utf-8 \xff.txt")).write_bytes(b"6")
    return root


def packed(path: Path) -> dict[str, bytes]:
    with seekwarc.open(path) as archive:
        return {r.target_uri: r.payload.read() for r in archive if r.type == "resource"}


def files_in(root: Path) -> dict[str, bytes]:
    return {path.as_uri(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_folder_is_packed_with_all_that_is_below_it(command, folder, tmp_path) -> None:
    answer = command("pack", folder, "-o", tmp_path / "new.warc.zst")
    assert packed(tmp_path / "new.warc.zst") == files_in(folder)
    assert len(answer.out.splitlines()) == 11, "a line a file, whatever its name"
    assert all(character.isprintable() for line in answer.out.splitlines() for character in line)


def test_json_says_where_each_file_went(command, folder, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    lines = command("pack", folder, "-o", path, "--json").json_lines
    names = [line["file"] for line in lines]
    at_the_top = sorted(str(path) for path in folder.iterdir() if path.is_file())
    paths = [*at_the_top, str(folder / "deep/data.tar.gz"), str(folder / "deep/er/notes")]
    assert names == [as_utf8(it) for it in paths]
    with seekwarc.open(path) as archive:
        for line, name in zip(lines, paths, strict=True):
            record = archive.record_at(line["offset"], line["length"])
            assert (record.id, record.target_uri, record.content_length) == (
                line["id"],
                line["uri"],
                line["size"],
            )
            assert record.payload.read() == Path(name).read_bytes()


def test_records_say_when_a_file_changed_and_what_it_is(command, folder, tmp_path) -> None:
    command("pack", folder, "-o", tmp_path / "new.warc.zst")
    with seekwarc.open(tmp_path / "new.warc.zst") as archive:
        first, *records = archive
        assert first.type == "warcinfo"
        assert f"seekwarc/{seekwarc.__version__}".encode() in first.block.read()
        types = {record.target_uri.rpartition("/")[2]: record.content_type for record in records}
        dates = {str(record.date) for record in records if not record.target_uri.endswith("FF.txt")}
    assert types["page.html"] == "text/html"
    assert types["film.mp4"] == "video/mp4"
    assert types["notes"] == "application/octet-stream"
    assert types["data.tar.gz"] == "application/gzip"
    assert dates == {"2023-11-14T22:13:20Z"}


def test_digests_are_those_of_the_files(command, folder, tmp_path) -> None:
    command("pack", folder, "-o", tmp_path / "new.warc.zst")
    with seekwarc.open(tmp_path / "new.warc.zst") as archive:
        for record in archive:
            digest = base64.b32encode(hashlib.sha1(record.block.read()).digest()).decode()
            assert record.headers.get("WARC-Block-Digest") == f"sha1:{digest}"


def test_a_range_of_a_packed_file_is_cheap(command, folder, tmp_path) -> None:
    path, film = tmp_path / "new.warc.zst", folder / "film.mp4"
    command("pack", film, "-o", path)
    answer = command("cat", path, "--uri", film.as_uri(), "--range", "1000000+1000")
    assert answer.stdout == film.read_bytes()[1_000_000:1_001_000]
    plan = command("info", "--json", path, "--uri", film.as_uri(), "--range", "1000000+1000").json["plan"]
    assert plan["bytes_decoded"] <= 256 << 10


@pytest.mark.parametrize("base", ["http://example.org/a", "http://example.org/a/"])
def test_uris_may_begin_with_something_else(command, folder, tmp_path, base) -> None:
    command("pack", "things/with blank.txt", "./things/deep", folder / "page.html", "-o", "new.warc.zst",
            "--base-uri", base, cwd=tmp_path)  # fmt: skip
    whole = folder.as_uri().removeprefix("file://")
    assert list(packed(tmp_path / "new.warc.zst")) == [
        "http://example.org/a/things/with%20blank.txt",
        "http://example.org/a/things/deep/data.tar.gz",
        "http://example.org/a/things/deep/er/notes",
        f"http://example.org/a{whole}/page.html",
    ]


def test_standard_input_is_packed_under_a_name(command, folder, tmp_path) -> None:
    target = tmp_path / "new.warc.zst"
    words = ("--stdin-name", "dump.sql", "--base-uri", "http://example.org", "-o", target)
    command("pack", folder / "page.html", "-", *words, stdin=b"select 1;\n" * 100_000)
    payloads = list(packed(target).items())
    assert len(payloads) == 2
    assert payloads[1] == ("http://example.org/dump.sql", b"select 1;\n" * 100_000)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-",), "--stdin-name"),
        (("-", "--stdin-name", ""), "--stdin-name"),
        (("-", "-", "--stdin-name", "a"), "once"),
        (("",), "name is empty"),
        (("page.html", ""), "name is empty"),
    ],
)
def test_what_has_no_name_is_refused(command, folder, tmp_path, words, told) -> None:
    target = tmp_path / "new.warc.zst"
    stderr = command("pack", *words, "-o", target, status=2, cwd=folder, stdin=b"data").stderr
    assert told in stderr
    assert not target.exists()


def test_a_path_cannot_climb_out_of_the_base(command, folder, tmp_path) -> None:
    (tmp_path / "here").mkdir()
    words = ("../things/page.html", "-o", "../new.warc.zst", "--base-uri", "http://example.org")
    command("pack", *words, cwd=tmp_path / "here")
    assert list(packed(tmp_path / "new.warc.zst")) == ["http://example.org/things/page.html"]


def test_a_pipe_gets_the_archive_and_standard_error_the_list(command, folder, tmp_path) -> None:
    answer = command("pack", folder / "page.html", "-o", "-")
    with seekwarc.open(io.BytesIO(answer.stdout)) as archive:
        assert [record.type for record in archive] == ["warcinfo", "resource"]
    assert "page.html" in answer.stderr


def test_the_output_is_not_packed_into_itself(command, folder) -> None:
    path = folder / "new.warc.zst"
    for _ in range(2):
        command("pack", folder, "-o", path, "--force")
        assert path.as_uri() not in packed(path)
        assert len(packed(path)) == 11
    assert [name for name in os.listdir(folder) if "partial" in name] == []


def test_options_of_writing_are_obeyed(command, folder, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    words = ("--tables", "every", "--frame-size", "64K", "--level", "1", "--threads", "2")
    command("pack", folder / "film.mp4", "-o", path, *words)
    with seekwarc.open(path) as archive:
        film = list(archive)[1]
        assert film.seek_table_status == "record"
        assert max(film.body.frames.content_sizes) <= (64 << 10) + 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--level", "99"), "level"),
        (("--frame-size", "1"), "frame_size"),
        (("--tables", "x"), "--tables"),
        (("--threads", "0"), "threads"),
    ],
)
def test_a_wrong_value_is_refused_and_leaves_nothing(command, folder, tmp_path, words, told) -> None:
    stderr = command("pack", folder, "-o", "new.warc.zst", *words, status=2, cwd=tmp_path).stderr
    assert told in stderr
    assert os.listdir(tmp_path) == ["things"]


def test_a_file_that_is_not_there_is_reported_before_anything_is_written(command, folder, tmp_path) -> None:
    stderr = command("pack", folder, "not there", "-o", "new.warc.zst", status=2, cwd=tmp_path).stderr
    assert stderr == "seekwarc: not there: no such file\n"
    assert os.listdir(tmp_path) == ["things"]


def test_a_file_that_cannot_be_read_is_reported_and_leaves_nothing(command, folder, tmp_path) -> None:
    # Not even root can read the beginning of that.
    stderr = command("pack", folder, "/proc/self/mem", "-o", "new.warc.zst", status=2, cwd=tmp_path).stderr
    assert stderr.startswith("seekwarc: /proc/self/mem: cannot be read: ")
    assert os.listdir(tmp_path) == ["things"]


@pytest.mark.parametrize("seconds", [2**40, -(2**35)])
def test_a_file_of_an_impossible_age_is_packed_or_named(run_cli, folder, tmp_path, seconds) -> None:
    path = folder / "page.html"
    os.utime(path, (seconds, seconds))
    done = run_cli("pack", path, "-o", tmp_path / "new.warc.zst")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0 or b"page.html" in done.stderr
    assert os.listdir(tmp_path).count("new.warc.zst") == (done.returncode == 0)


def test_nothing_to_pack_is_reported(command, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    stderr = command("pack", "empty", "-o", "new.warc.zst", status=2, cwd=tmp_path).stderr
    assert "no files to pack" in stderr
    assert os.listdir(tmp_path) == ["empty"]


@pytest.mark.parametrize("words", [(), ("things",), ("-o", "new.warc.zst")])
def test_files_and_output_have_to_be_named(command, tmp_path, words) -> None:
    assert "see `seekwarc pack --help`" in command("pack", *words, status=2, cwd=tmp_path).stderr


def test_what_need_not_end_is_refused_before_anything_is_read(command, folder, tmp_path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for name in (fifo, "/dev/zero"):
        stderr = command("pack", folder, name, "-o", tmp_path / "new.warc.zst", status=2).stderr
        assert f"{name}: is a pipe or a device, not a file" in stderr
    assert sorted(os.listdir(tmp_path)) == ["fifo", "things"]


def test_a_terminal_is_shown_how_far_it_is(folder, tmp_path) -> None:
    status, shown = run_on_terminal("pack", folder, "-o", tmp_path / "new.warc.zst")
    assert status == 0
    assert b"packing" in shown
    assert b"%|" in shown
    assert packed(tmp_path / "new.warc.zst") == files_in(folder)


def test_elsewhere_no_progress_is_shown(command, folder, tmp_path) -> None:
    assert command("pack", folder, "-o", tmp_path / "new.warc.zst").stderr == ""


# A series of files.

OPTIONS = ("--max-file-size", "1M", "--frame-size", "64K")


@pytest.fixture
def series(command, folder, tmp_path) -> list[Path]:
    """A series of files that is there already, with a gap in it."""
    options = (*OPTIONS, "-o", tmp_path / "out.warc.zst")
    command("pack", folder, *options)
    made = sorted(tmp_path.glob("out-*.warc.zst"))
    assert len(made) == 4
    made.pop(1).unlink()
    return made


def test_a_series_goes_on_after_its_last_number_when_asked(command, folder, series, tmp_path) -> None:
    before = {path: path.read_bytes() for path in series}
    words = ("pack", folder / "page.html", "-o", tmp_path / "out.warc.zst", *OPTIONS)
    told = command(*words, "--existing", "number", "--json").json_lines
    new = tmp_path / "out-00004.warc.zst"
    assert [it["target"] for it in told] == [str(new)]
    assert list(packed(new).values()) == [text(3000)]
    assert {path: path.read_bytes() for path in series} == before
    assert sorted(tmp_path.glob("out-*")) == [*series, new]


def test_a_series_that_is_there_is_refused_with_what_to_say(command, folder, series, tmp_path) -> None:
    words = ("pack", folder, "-o", tmp_path / "out.warc.zst", *OPTIONS)
    for more in ((), ("--existing", "error")):
        stderr = command(*words, *more, status=2).stderr
        assert "out-00000.warc.zst: exists already (and 2 more" in stderr
        assert "--existing number" in stderr
    assert sorted(tmp_path.glob("out-*")) == series
    for more in (("--existing", "overwrite"), ("--force",), ("-f", "--existing=overwrite")):
        command(*words, *more)
        assert len(list(tmp_path.glob("out-*"))) == 4


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            ("--existing", "number"),
            "--existing number needs a series: give its file size with --max-file-size",
        ),
        (("--existing", "number", "-f", "--max-file-size=1M"), "--force replaces existing files, --existing"),
        (("--existing", "numbr"), "did you mean number?"),
        (("--exsting", "number"), "did you mean --existing?"),
    ],
)
def test_what_contradicts_itself_is_reported_in_one_line(command, folder, tmp_path, more, told) -> None:
    stderr = command("pack", folder, "-o", tmp_path / "new.warc.zst", *more, status=2).stderr
    assert told in stderr
    assert len(stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["things"]


def test_one_file_may_be_replaced_or_refused(command, folder, tmp_path) -> None:
    path = tmp_path / "new.warc.zst"
    path.write_bytes(b"before")
    command("pack", folder, "-o", path, "--existing", "error", status=2)
    assert path.read_bytes() == b"before"
    command("pack", folder, "-o", path, "--existing", "overwrite")
    assert packed(path) == files_in(folder)
