"""`seekwarc index --sidecar`."""

from __future__ import annotations

import gzip

import pytest

import seekwarc
from tests.support.foreign import CRLF2, warc_header
from tests.support.sidecars import mixed

PAYLOAD = b"".join(mixed(9, 1_200_000))
SIZES = ("--min-size", "1M", "--spacing", "64K")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "crawls" / "a.warc.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(warc_header(len(PAYLOAD)) + PAYLOAD + CRLF2))
    (path.parent / "small.warc.gz").write_bytes(gzip.compress(warc_header(5) + b"small" + CRLF2))
    return path


def test_sidecars_are_made_beside_the_files_of_a_folder(command, path):
    answer = command("index", "--sidecar", path.parent, *SIZES)
    assert "1 record" in answer.out
    assert "2 files: 2 done" in answer.out
    assert sorted(it.name for it in path.parent.iterdir()) == [
        "a.warc.gz",
        "a.warc.gz.seek",
        "small.warc.gz",
    ]
    with seekwarc.open(path) as archive:
        assert next(iter(archive)).payload.pread(1_000_000, 9) == PAYLOAD[1_000_000:1_000_009]


def test_one_that_fits_is_skipped_and_one_that_does_not_is_kept(command, path):
    assert "span" in command("index", "--sidecar", path, *SIZES).out
    made = path.with_name("a.warc.gz.seek").read_bytes()
    assert command("index", "--sidecar", path, *SIZES, "--json").json["status"] == "skipped"
    path.write_bytes(path.read_bytes() + gzip.compress(warc_header(1) + b"." + CRLF2))
    assert "--force" in command("index", "--sidecar", path, *SIZES, status=2).stderr
    assert path.with_name("a.warc.gz.seek").read_bytes() == made
    assert command("index", "--sidecar", path, *SIZES, "--force", "--json").json["records"] == 1
    assert path.with_name("a.warc.gz.seek").read_bytes() != made


def test_a_sidecar_may_have_another_place(command, path, tmp_path):
    command("index", "--sidecar", path, *SIZES, "-o", tmp_path / "named")
    command("index", "--sidecar", path, *SIZES, "--to-dir", tmp_path / "all")
    assert (tmp_path / "named").read_bytes() == (tmp_path / "all" / "a.warc.gz.seek").read_bytes()


def test_what_makes_no_sense_is_refused(command, path):
    assert "options of one" in command("index", "--sidecar", "--all", path, status=2).stderr
    assert "-o" in command("index", "--sidecar", "https://example.org/a.warc.gz", status=2).stderr
    assert "-o" in command("index", "--sidecar", "-", stdin=b"", status=2).stderr
    answer = command("index", "--sidecar", path.parent, "--from-gzidx", "x", status=2)
    assert "of one file" in answer.stderr
    answer = command("index", "--sidecar", path, *SIZES, "--from-gzidx", path, status=1)
    assert "not a GZIDX index" in answer.stderr


def test_a_sidecar_in_another_place_is_named(command, path, tmp_path):
    named = tmp_path / "named"
    command("index", "--sidecar", path, *SIZES, "-o", named)
    given = ("--sidecar", named)
    answer = command("cat", path, 0, "--range", "1000000+9", *given)
    assert answer.stdout == PAYLOAD[1_000_000:1_000_009]
    about = ("info", path, 0, "--range", "1000000+9", "--json")
    costs = [command(*about, *more).json["plan"]["bytes_decoded"] for more in (given, ())]
    assert costs[0] < 1 << 17 < 1_000_000 < costs[1]
    assert command("info", path, *given, "--json").json["table_status"] == {"sidecar": 1}
    assert command("info", path, "--json").json["table_status"] != {"sidecar": 1}


def test_a_sidecar_of_more_than_one_file_is_refused(command, path):
    given = ("--sidecar", path)
    assert "2 are named" in command("info", path.parent, *given, status=2).stderr
    assert "2 are named" in command("cat", path.parent, "--uri", "urn:x", *given, status=2).stderr
    other = ("--with", path.with_name("small.warc.gz"))
    assert "2 are named" in command("cat", path, 0, *other, *given, status=2).stderr
    assert "--sidecar" in command("cat", "--index", path, "--uri", "urn:x", *given, status=2).stderr
