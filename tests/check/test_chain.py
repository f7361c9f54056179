"""Whether archives have what their revisits refer to."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.check.chain import ChainReport
from seekwarc.errors import SourceNotFoundError
from tests.support.chains import chain, packed, required, response, revisit, stamp, written

URI, LOGO = "https://t.example/logo.svg", b"<svg>logo</svg>" * 20


def gaps_of(report: ChainReport) -> set[tuple[str, str, str]]:
    """Return what was found as `Chain.gaps` has it."""
    return {
        (
            it.kind,
            os.path.basename(it.file.partition("!/")[0]),
            (it.uri if it.uri is not None else it.container) or "",
        )
        for it in report.findings
    }


@pytest.mark.parametrize("seed", range(6))
def test_every_gap_is_named_and_none_that_is_not_there(tmp_path: Path, seed: int) -> None:
    found = chain(12, 6, seed=seed, gaps=0.15 if seed else 0)
    paths = written(found.files, tmp_path)
    report = tools.check_chain(paths)
    assert gaps_of(report) == found.gaps
    assert sum(report.counts.values()) == len(found.gaps)
    assert report.is_closed == (not found.gaps)
    assert sum(report.missing.values()) == report.counts.get("missing", 0)
    # The order of the files changes nothing.
    assert gaps_of(tools.check_chain(paths[::-1])) == found.gaps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_gap_of_a_hundred_files_is_named(tmp_path: Path, seed: int) -> None:
    found = chain(100, 20, seed=seed, gaps=0.03)
    assert found.gaps
    assert gaps_of(tools.check_chain(written(found.files, tmp_path))) == found.gaps


def test_a_file_alone_is_checked_with_those_beside_it(tmp_path: Path) -> None:
    found = chain(4)
    *others, last = written(found.files, tmp_path)
    report = tools.check_chain(last)
    assert (report.is_closed, report.revisits) == (True, len(found.payloads[last.name, "revisit"]))
    for path in others:
        path.unlink()
    report = tools.check_chain(last)
    assert report.counts["missing"] == report.revisits == sum(report.missing.values())
    assert set(report.missing) <= {it.name for it in others}


def test_what_is_listed_and_unused_or_used_and_unlisted(tmp_path: Path) -> None:
    for name in ("april.wacz", "march.wacz"):
        (tmp_path / name).write_bytes(packed({"data.warc.gz": response(URI, LOGO, 1)}))
    data = (tmp_path / "march.wacz").read_bytes()
    member = revisit(URI, LOGO, 2, "april.wacz", of=URI, date=stamp(1))
    (tmp_path / "may.wacz").write_bytes(packed({"data.warc.gz": member}, [required("march.wacz", data)]))
    report = tools.check_chain([tmp_path / "may.wacz", tmp_path / "april.wacz"])
    assert report.counts == {"requires": 2}
    assert {it.container for it in report.findings} == {"march.wacz", "april.wacz"}


@pytest.mark.parametrize(
    "change", [{"hash": "sha256:"}, {"hash": None}, {"size": None}, {"hash": None, "size": None}]
)
def test_hash_and_size_may_be_missing_or_have_a_prefix(tmp_path: Path, change: dict[str, str | None]) -> None:
    data = packed({"data.warc.gz": response(URI, LOGO, 1)})
    (tmp_path / "april.wacz").write_bytes(data)
    listed = required("april.wacz", data)
    if change.get("hash"):
        change = {"hash": f"sha256:{str(listed['hash']).upper()}"}
    member = revisit(URI, LOGO, 2, "april.wacz", of=URI, date=stamp(1))
    (tmp_path / "may.wacz").write_bytes(packed({"data.warc.gz": member}, [{**listed, **change}]))
    assert tools.check_chain(tmp_path / "may.wacz").is_closed


def test_other_archives_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(response(URI, LOGO, 1))
    (tmp_path / "b.warc.gz").write_bytes(revisit(URI, LOGO, 2, "a.warc.gz", of=URI, date=stamp(1)))
    assert tools.check_chain(tmp_path).is_closed
    path.unlink()
    report = tools.check_chain(tmp_path)
    assert (report.missing, report.is_closed) == ({"a.warc": 1}, False)
    assert "no original here" in str(report.findings[0])


def test_a_chain_of_originals_without_digests_is_closed(tmp_path: Path) -> None:
    paths = [tmp_path / f"{month}.warc.gz" for month in range(1, 4)]
    for month, path in enumerate(paths, 1):
        with seekwarc.open(tmp_path / "one.warc", "w") as out:
            out.write_response(URI, LOGO * 10, status=200, date=f"2026-0{month}-01T00:00:00Z")
        stored = (tmp_path / "one.warc").read_bytes()
        (tmp_path / "one.warc").unlink()
        path.write_bytes(gzip.compress(re.sub(rb"WARC-Payload-Digest: .*\r\n", b"", stored)))
    done = tools.dedupe(paths, tmp_path / "chain", between=True)
    assert done.revisits == 2
    report = tools.check_chain(tmp_path / "chain")
    assert ([*report.findings], report.is_closed) == ([], True)


def test_a_missing_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError):
        tools.check_chain(tmp_path / "a.wacz")
