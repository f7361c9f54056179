"""One WACZ that has the originals of its revisits."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import NotFoundError
from tests.support.chains import chain, digest_of, packed, required, response, revisit, stamp, written
from tests.support.waczs import members, wacz

URI, LOGO = "https://t.example/logo.svg", b"<svg>logo</svg>" * 20


def payloads_in(path: Path) -> dict[tuple[str, str], bytes]:
    """Return the payload of each capture, by URI and date; each WACZ that a test makes has originals only."""
    with seekwarc.Wacz(path) as archive:
        return {
            (line.uri or "", line.timestamp): archive.open_record(uri=line.uri, date=line.date).payload.read()
            for line in seekwarc.Index(path)
        }


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_has_each_payload_by_itself(tmp_path: Path, seed: int) -> None:
    found = chain(5, 5, seed=seed)
    *others, last = written(found.files, tmp_path)
    wanted = payloads_in(last)
    target = tmp_path / "alone" / "whole.wacz"
    target.parent.mkdir()
    done = tools.merge_wacz([last], target, closure=True)
    again = found.payloads[last.name, "revisit"]
    assert (done.originals, done.missing_originals) == (len(again), {})
    for path in others:
        path.unlink()
    have = payloads_in(target)
    assert wanted.items() <= have.items()
    assert len(have) == len(wanted) + done.originals
    assert tools.validate_wacz(target, closed=True).counts.keys() <= {"W09"}
    assert tools.check_chain(target).is_closed
    # Nothing is in it that is not needed.
    members = sum(len(response(uri, payload, 1)) for uri, payload in again.items())
    assert os.path.getsize(target) <= 1.05 * (os.path.getsize(last) + members) + 2000


def test_files_that_are_merged_need_no_originals_of_each_other(tmp_path: Path) -> None:
    found = chain(4)
    first, *_, last = written(found.files, tmp_path)
    done = tools.merge_wacz([first, last], tmp_path / "whole.wacz", closure=True)
    needed = {it.uri for it in found.revisits[last.name] if it.holder != first.name}
    assert done.originals == len(needed)
    assert tools.check_chain(tmp_path / "whole.wacz").counts.get("missing", 0) == 0
    done = tools.merge_wacz(written(found.files, tmp_path), tmp_path / "all.wacz", closure=True)
    assert done.originals == 0


def test_an_original_that_several_revisits_need_is_copied_once(tmp_path: Path) -> None:
    data = packed({"data.warc.gz": response(URI, LOGO, 1) + response(URI + "2", b"other", 2)})
    (tmp_path / "april.wacz").write_bytes(data)
    members = [revisit(URI + str(it), LOGO, it, "april.wacz", of=URI, date=stamp(1)) for it in range(3, 9)]
    path = tmp_path / "may.wacz"
    path.write_bytes(packed({"data.warc.gz": b"".join(members)}, [required("april.wacz", data)]))
    done = tools.merge_wacz([path], tmp_path / "whole.wacz", closure=True)
    assert (done.files, done.lines, done.originals) == (2, 7, 1)
    with seekwarc.Wacz(tmp_path / "whole.wacz") as archive:
        assert archive.files[1].size == len(response(URI, LOGO, 1))
        assert [it.target_uri for it in archive.files[1]] == [URI]


def test_revisits_without_an_original_are_counted(tmp_path: Path) -> None:
    found = chain(3)
    first, _, last = written(found.files, tmp_path)
    first.unlink()
    done = tools.merge_wacz([last], tmp_path / "whole.wacz", closure=True)
    lost = [it for it in found.revisits[last.name] if it.holder == first.name]
    assert done.missing_originals == ({first.name: len(lost)} if lost else {})
    assert tools.merge_wacz([last], tmp_path / "other.wacz").missing_originals == {}


def test_what_an_index_says_of_an_original_is_compared_with_its_bytes(tmp_path: Path) -> None:
    lie, truth = LOGO, b"another payload"
    found = members({"data.warc.gz": response(URI, truth, 1)}, cluster=False)
    line = found["indexes/index.cdxj"]
    for length in (b"1", b"99999"):
        stored = line.replace(digest_of(truth).encode(), digest_of(lie).encode())
        stored = re.sub(rb'"length": "\d+"', b'"length": "' + length + b'"', stored)
        data = wacz({**found, "indexes/index.cdxj": stored})
        (tmp_path / "april.wacz").write_bytes(data)
        member = revisit(URI, lie, 9, "april.wacz", of=URI, date=stamp(1))
        member += revisit(URI + "2", truth, 10, "april.wacz", of=URI, date=stamp(1))
        path = tmp_path / "may.wacz"
        path.write_bytes(packed({"data.warc.gz": member}, [required("april.wacz", data)]))
        with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError):
            archive.open_record(uri=URI)
        target = tmp_path / "whole.wacz"
        done = tools.merge_wacz([path], target, closure=True, existing="overwrite")
        # The line denies the one that fits, and leads to bytes that do not fit the other.
        assert done.originals == 0
        assert done.missing_originals == {"april.wacz": 2}


def test_the_length_of_an_original_is_measured(tmp_path: Path) -> None:
    found = members({"data.warc.gz": response(URI, LOGO, 1) + response(URI + "2", b"x", 2)}, cluster=False)
    stored = re.sub(rb'"length": "\d+"', b'"length": "7"', found["indexes/index.cdxj"])
    data = wacz({**found, "indexes/index.cdxj": stored})
    (tmp_path / "april.wacz").write_bytes(data)
    path = tmp_path / "may.wacz"
    member = revisit(URI, LOGO, 9, "april.wacz", of=URI, date=stamp(1))
    path.write_bytes(packed({"data.warc.gz": member}, [required("april.wacz", data)]))
    tools.merge_wacz([path], tmp_path / "whole.wacz", closure=True)
    with seekwarc.Wacz(tmp_path / "whole.wacz") as archive:
        assert archive.files[1].size == len(response(URI, LOGO, 1))
        assert archive.open_record(uri=URI).payload.read() == LOGO
