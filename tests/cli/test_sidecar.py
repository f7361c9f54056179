"""`seekwarc index --sidecar`."""

from __future__ import annotations

import gzip
import hashlib

import pytest

import seekwarc
from seekwarc.serve.library import Library
from tests.support.foreign import CRLF2, warc_header
from tests.support.framed import film
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


def test_a_file_that_cannot_be_read_stops_sidecars_and_index_unless_told(command, path, tmp_path):
    (path.parent / "b.warc.gz").touch()
    index = tmp_path / "all.cdxj"
    words = ("index", "--sidecar", path.parent, *SIZES, "-o", index, "--to-dir")
    answer = command(*words, tmp_path / "stopped", status=1)
    assert f"{path.parent / 'b.warc.gz'}, offset 0: the file is empty" in answer.stderr
    assert f"{index} was not made" in answer.stderr
    assert "1 not started" in answer.out
    assert not index.exists()
    command(*words, tmp_path / "made", "--keep-going", status=1)
    assert [it.name for it in (tmp_path / "made").iterdir()] == ["a.warc.gz.seek"]
    a, small = index.read_text().splitlines()
    assert '"seekTable": "sidecar ' in a
    assert "small.warc.gz" in small


def test_what_makes_no_sense_is_refused(command, path):
    assert "options of one" in command("index", "--sidecar", "--all", path, status=2).stderr
    assert "-o" in command("index", "--sidecar", "https://example.org/a.warc.gz", status=2).stderr
    assert "store it in" in command("index", "--sidecar", "-", stdin=b"", status=2).stderr
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
    plans = [command(*about, *more).json["plan"] for more in (given, ())]
    assert plans[0]["bytes_decoded"] < 1 << 17 < 1_000_000 < plans[1]["bytes_decoded"]
    assert [it["is_verified"] for it in plans] == [True, False]
    texts = [command("info", path, 0, *more).out for more in (given, ())]
    assert ["not verified" in it for it in texts] == [False, True]
    assert command("ls", path, *given, "--json").json_lines[0]["sidecar"] is True
    assert command("info", path, *given, "--json").json["table_status"] == {"sidecar": 1}
    assert command("info", path, "--json").json["table_status"] != {"sidecar": 1}


def test_a_sidecar_of_more_than_one_file_is_refused(command, path):
    given = ("--sidecar", path)
    assert "2 are named" in command("info", path.parent, *given, status=2).stderr
    assert "2 are named" in command("cat", path.parent, "--uri", "urn:x", *given, status=2).stderr
    other = ("--with", path.with_name("small.warc.gz"))
    assert "2 are named" in command("cat", path, 0, *other, *given, status=2).stderr
    assert "--sidecar" in command("cat", "--index", path, "--uri", "urn:x", *given, status=2).stderr


@pytest.fixture
def indexed(command, path, tmp_path):
    """Make an archive with a film in each compression, its sidecars, and an index that names these."""
    made = film(1)
    path.with_name("film.warc.zst").write_bytes(made.data)
    index = path.parent / "all.cdxj"
    answer = command("index", "--sidecar", path.parent, *SIZES, "-o", index)
    assert f"{index}: " in answer.out
    return index


def opened(index, **options):
    """Return the records of a film that the index leads to, and whether they are read right."""
    found = {}
    with seekwarc.Index(index, **options) as captures:
        for capture in captures:
            record = capture.open()
            if record.content_length > 1_000_000:
                name = capture.filename
                wanted = PAYLOAD if name == "a.warc.gz" else film(1).content.partition(CRLF2)[2]
                assert record.block.pread(1_000_000, 100) == wanted[1_000_000:1_000_100]
                found[name] = record.seek_table_status.value
    return found


BOTH = {"a.warc.gz": "sidecar", "film.warc.zst": "sidecar"}


def test_an_index_names_the_sidecars_that_are_made_with_it(command, indexed):
    named = [line for line in indexed.read_text().splitlines() if '"seekTable": "sidecar ' in line]
    assert len(named) == 2
    assert opened(indexed) == opened(indexed, strict=True) == BOTH
    assert set(opened(indexed, sidecar=False).values()) & {"sidecar"} == set()
    with seekwarc.Index(indexed) as captures:
        tables = {capture.filename: capture.table for capture in captures}
    for name in BOTH:
        data = indexed.with_name(f"{name}.seek").read_bytes()
        assert tables[name] == seekwarc.SidecarReference(len(data), hashlib.sha256(data).hexdigest())


def test_a_sidecar_beside_the_index_is_found_by_its_name(indexed, tmp_path):
    apart = tmp_path / "indexes"
    apart.mkdir()
    for file in [indexed, *indexed.parent.glob("*.seek")]:
        file.rename(apart / file.name)
    assert opened(apart / indexed.name, files=indexed.parent) == BOTH


def test_another_sidecar_than_the_one_that_is_named_is_refused(command, path, indexed):
    # It fits the archive, and would be used if the index did not name another one.
    command("index", "--sidecar", path, "--min-size", "1M", "--spacing", "300K", "--force")
    with pytest.warns(seekwarc.FormatWarning, match="not the one that the index names"):
        assert opened(indexed) == {**BOTH, "a.warc.gz": "stream"}
    with pytest.raises(seekwarc.FormatError, match="not the one that the index names"):
        opened(indexed, strict=True)
    with pytest.warns(seekwarc.FormatWarning, match="max_table_size"):
        assert "sidecar" not in opened(indexed, max_table_size=100).values()
    path.with_name("a.warc.gz.seek").unlink()
    assert opened(indexed) == {**BOTH, "a.warc.gz": "stream"}


def test_a_sidecar_that_was_there_before_is_not_named(command, path, indexed):
    again = indexed.with_name("again.cdxj")
    command("index", "--sidecar", path.parent, *SIZES, "-o", again)
    assert "sidecar " not in again.read_text()
    assert opened(again) == BOTH


def test_ls_tells_how_each_record_is_reached(command, path, tmp_path):
    named = tmp_path / "named"
    command("index", "--sidecar", path, *SIZES, "-o", named)
    assert "sidecar" not in command("ls", path, "--json").json
    line = command("ls", path, "--json", "--sidecar", named).json
    assert line["sidecar"] is True
    assert line["frames"] > 5
    assert "2 are named" in command("ls", path.parent, "--sidecar", named, status=2).stderr


def test_a_library_takes_the_sidecar_of_its_file(command, path, tmp_path):
    named = tmp_path / "named"
    command("index", "--sidecar", path, *SIZES, "-o", named)
    for sidecar, status in ((named, "sidecar"), (True, "stream")):
        with Library([path], sidecar=sidecar) as library:
            library.read()
            served = library.capture("http://example.org/0")
            assert served.extent("payload").pread(1_000_000, 9) == PAYLOAD[1_000_000:1_000_009]
            assert served.record.seek_table_status.value == status
    assert "2 are named" in command("serve", path.parent, "--sidecar", named, status=2).stderr
