"""`python -m seekwarc.compat.warcio PROGRAM`: programs of others read and write .warc.zst."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.compat.warcio.__main__ import main
from tests.conftest import VECTORS

GZ = VECTORS / "warcio-example.warc.gz"


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "seekwarc.compat.warcio", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, encoding="latin-1", **options)


@pytest.fixture(scope="module")
def zst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programs") / "warcio-example.warc.zst"
    tools.convert(str(GZ), str(path))
    return path


@pytest.mark.slow
def test_cdxj_indexer_lists_the_same(zst: Path) -> None:
    def lines(path: Path) -> list[dict[str, str]]:
        done = run("cdxj-indexer", path)
        assert done.stderr == ""
        found = [json.loads(line[line.index("{") :]) for line in done.stdout.splitlines()]
        return [{key: it[key] for key in it if key not in ("filename", "offset", "length")} for it in found]

    assert lines(zst) == lines(GZ) != []
    assert run("cdxj-indexer", zst).stdout == run("cdxj-indexer", zst.parent).stdout


@pytest.mark.slow
def test_warcio_lists_and_extracts_the_same(zst: Path) -> None:
    fields = "warc-type,warc-target-uri,http:status,http:content-type,offset,length"
    found = [json.loads(line) for line in run("warcio", "index", zst, "-f", fields).stdout.splitlines()]
    expected = [json.loads(line) for line in run("warcio", "index", GZ, "-f", fields).stdout.splitlines()]
    with seekwarc.open(zst) as archive:
        places = [(str(record.offset), str(record.length)) for record in archive]
    assert [(it.pop("offset"), it.pop("length")) for it in found] == places
    gz_places = [(it.pop("offset"), it.pop("length")) for it in expected]
    assert found == expected
    extracted = run("warcio", "extract", "--payload", zst, places[2][0]).stdout
    assert extracted == run("warcio", "extract", "--payload", GZ, gz_places[2][0]).stdout
    assert "<h1>Example Domain" in extracted


@pytest.mark.slow
def test_warcio_makes_a_zst_file(tmp_path: Path) -> None:
    done = run("warcio", "recompress", GZ, tmp_path / "a.warc.zst")
    assert "6 records read" in done.stdout
    with seekwarc.open(tmp_path / "a.warc.zst", strict=True) as new, seekwarc.open(GZ) as old:
        assert [it.block.read() for it in new] == [it.block.read() for it in old]


@pytest.mark.slow
def test_a_program_of_ones_own_runs(zst: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import sys\nfrom warcio import ArchiveIterator\n"
        "print(sum(1 for _ in ArchiveIterator(open(sys.argv[1], 'rb'))))\n"
    )
    assert run(tmp_path / "own.py", zst).stdout == "6\n"


@pytest.mark.parametrize(("arguments", "code"), [((), 2), (("--help",), 0), (("no-such-program",), 2)])
def test_how_it_is_used_is_told(
    arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == code
    said = "".join(capsys.readouterr())
    assert ("usage" if code == 0 or not arguments else "no such command") in said


@pytest.mark.slow
def test_a_file_that_is_damaged_is_told_of_in_a_line(zst: Path, tmp_path: Path) -> None:
    data = bytearray(zst.read_bytes())
    data[1000] ^= 255
    (tmp_path / "a.warc.zst").write_bytes(data)
    done = run("warcio", "index", tmp_path / "a.warc.zst")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "a.warc.zst, offset " in done.stderr
    assert run("warcio", "extract", zst, 1001).stderr.count("no frame starts here") == 1


@pytest.mark.posix
@pytest.mark.slow
def test_a_closed_pipe_ends_it_quietly(zst: Path) -> None:
    command = f"{sys.executable} -m seekwarc.compat.warcio warcio index {zst} | head -c 1 >&2"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, text=True)
    assert done.stderr == "{"
