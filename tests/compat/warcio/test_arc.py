"""ARC files become WARC files: through warcio, but nothing is lost quietly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.compat.warcio.arc import warc_of_arc
from seekwarc.errors import FormatError, TruncatedError
from tests.support.arc import ARC, ARC_GZ

PAGES = [b"<p>Hi\r\n", b"<p>You\r\n"]


@pytest.mark.parametrize("data", [ARC, ARC_GZ])
def test_records_get_headers_of_warc(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(data)
    with warc_of_arc(tmp_path / "old.arc") as file, seekwarc.open(file, strict=True) as archive:
        info, *responses = archive
        assert (info.type, info.header.get("WARC-Filename"), info.ip_address) == ("warcinfo", "old.arc", None)
        assert [it.payload.read() for it in responses] == PAGES
        assert [it.target_uri for it in responses] == ["http://example.org/", "http://example.org/a"]
        assert [str(it.date) for it in responses] == ["2001-01-01T00:00:00Z", "2001-01-01T00:00:01Z"]
        assert all(check.verdict.value != "wrong" for it in responses for check in it.check_digests())


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (ARC[:-10], TruncatedError, "the file ends inside this record"),
        (ARC.replace(b"html 27", b"html -1"), FormatError, "'-1', is not a number"),
        (ARC.replace(b"html 26", b"html 20"), FormatError, "longer than its header says"),
        (ARC + b"what is this\n", FormatError, "Unknown archive format|longer than"),
        (b"neither", FormatError, "Unknown archive format"),
    ],
)
def test_damage_is_told_of(data: bytes, error: type[FormatError], message: str, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(data)
    with pytest.raises(error, match=message), warc_of_arc(tmp_path / "old.arc"):
        pass


def test_the_command_converts_and_tells_what_to_do(run_cli: Any, tmp_path: Path) -> None:
    for name, data in {"a.arc": ARC, "b.arc.gz": ARC_GZ}.items():
        (tmp_path / name).write_bytes(data)
        done = run_cli("convert", name, f"{name}.warc.zst", cwd=tmp_path)
        assert (done.returncode, b"3 records" in done.stdout) == (0, True), done.stderr
        with seekwarc.open(tmp_path / f"{name}.warc.zst", strict=True) as archive:
            assert [it.payload.read() for it in archive][1:] == PAGES
        for command in (["ls", name], ["cat", name, "0"], ["verify", name], ["info", name]):
            done = run_cli(*command, cwd=tmp_path)
            said = (done.stdout + done.stderr).decode()
            assert done.returncode == 1
            assert "this is an ARC file" in said
            assert "seekwarc convert old.arc.gz new.warc.zst" in said


def test_a_damaged_arc_file_leaves_no_target(run_cli: Any, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(ARC[:-10])
    done = run_cli("convert", "old.arc", "new.warc.zst", cwd=tmp_path)
    assert done.returncode == 1
    assert b"old.arc, offset" in done.stderr
    assert [it.name for it in tmp_path.iterdir()] == ["old.arc"]
    assert b"seekwarc recover" not in done.stderr
    # What the message says to do works.
    said = re.search(r"`python (-m [^`]+)`", done.stderr.decode())
    assert said is not None
    subprocess.run([sys.executable, *said[1].split()], cwd=tmp_path, check=True, capture_output=True)
    with seekwarc.open(tmp_path / "new.warc.zst") as archive:
        assert [it.payload.read() for it in archive][1:] == [PAGES[0], b""]
