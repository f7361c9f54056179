"""Choosing records: each is in one part or the other, byte for byte, with what belongs to it."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.edit.copy_inputs import parts_of
from seekwarc.errors import NotFoundError, SourceError, TargetError, TargetExistsError
from seekwarc.format.profiles import SERVER_NOT_MODIFIED
from seekwarc.read.options import ReadOptions
from tests.support.captures import SITES, related
from tests.support.foreign import Foreign, warc_header
from tests.support.joined import assert_right
from tests.support.reading import contents_of, uris_in
from tests.support.rounds import rounds
from tests.support.strategies import layouts
from tests.support.writing import noise, walk

KINDS = ["response", "request", "metadata"]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.warc.zst"
    path.write_bytes(related())
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "new.warc.zst"


# Which records.


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({"uris": [SITES[0], SITES[3]]}, [0, 3]),
        ({"hosts": ["example.org"]}, [0, 1, 2]),
        ({"hosts": ["www.example.org"]}, [1]),
        ({"hosts": ["EXAMPLE.org.", "", "ample.org"]}, [0, 1, 2]),
        ({"not_hosts": ["https://sub.example.org:444/y", "other.net"]}, [0, 1]),
        ({"not_uris": SITES[:3]}, [3]),
        ({"hosts": ["example.org"], "status": 201}, [1]),
        ({"hosts": ["example.org"], "not_uris": [SITES[0]], "uri": "http:*"}, [1]),
        ({"status": 203}, [3]),
    ],
)
def test_conditions_and_lists_choose_records(crawl, target, conditions, found) -> None:
    done = tools.filter(crawl, target, type="response", closure=False, **conditions)
    assert uris_in(target) == [SITES[number] for number in found]
    assert (done.matched, done.records, done.read) == (len(found), len(found), 14)
    tools.filter(
        crawl, target, type="response", closure=False, invert=True, existing="overwrite", **conditions
    )
    assert uris_in(target) == [uri for number, uri in enumerate(SITES) if number not in found]


def test_lists_are_read_from_files(crawl, target, tmp_path) -> None:
    with seekwarc.open(crawl) as archive:
        ids = [record.id for record in archive]
    (tmp_path / "ids.txt").write_text(f"<{ids[1]}>\r\n\n{ids[4]}\n")
    tools.filter(crawl, target, ids=tmp_path / "ids.txt", closure=False)
    assert uris_in(target) == [SITES[0], SITES[1]]
    with pytest.raises(SourceError, match=r"none\.txt: cannot be read"):
        tools.filter(crawl, target, uris=tmp_path / "none.txt", existing="overwrite")


def test_the_lines_of_an_index_name_records(crawl, target, tmp_path) -> None:
    tools.index([crawl], tmp_path / "all.cdxj")
    lines = (tmp_path / "all.cdxj").read_text().splitlines(keepends=True)
    chosen = [line for line in lines if "sub.example" in line or "film" in line]
    (tmp_path / "some.cdxj").write_text("".join(chosen))
    tools.filter(crawl, target, cdxj=tmp_path / "some.cdxj", closure=False)
    assert sorted(uris_in(target)) == sorted(SITES[1:3])
    tools.filter(
        crawl, target, not_cdxj=tmp_path / "some.cdxj", type="response", closure=False, existing="overwrite"
    )
    assert uris_in(target) == [SITES[0], SITES[3]]


# What belongs to them.


def test_what_belongs_to_a_record_comes_along(crawl, target) -> None:
    done = tools.filter(crawl, target, uri=SITES[1], type="response")
    assert done.belonging == {"warcinfo": 1, "concurrent": 2, "segment": 0, "original": 0}
    with seekwarc.open(target) as archive:
        assert [record.type for record in archive] == ["warcinfo", *KINDS]
    assert set(contents_of(target)) < set(contents_of(crawl))
    assert contents_of(target)[1:] == contents_of(crawl)[4:7]


@pytest.mark.parametrize("kind", ["request", "metadata"])
def test_a_request_brings_its_response_along(crawl, target, kind) -> None:
    done = tools.filter(crawl, target, uri=SITES[2], type=kind)
    assert (done.records, uris_in(target)) == (4, [SITES[2]])


def test_the_original_of_a_revisit_comes_along_from_another_file(crawl, target, tmp_path) -> None:
    other = tmp_path / "later.warc.zst"
    tools.filter(crawl, other, type="revisit", closure=False)
    done = tools.filter([other, crawl], target, type="revisit", uri="*/again")
    assert (done.matched, done.belonging["original"], done.dangling) == (2, 1, 0)
    assert uris_in(target) == [SITES[0]]
    alone = tools.filter(other, target, existing="overwrite")
    assert (alone.belonging["original"], alone.dangling, alone.records) == (0, 1, 1)


def test_a_container_is_not_looked_at_in_a_file_of_another_name(tmp_path, target) -> None:
    """The record that a revisit names by its ID comes along, not that of the same date in the container."""
    day = "2026-01-01"
    for name in "ab":
        with seekwarc.open(tmp_path / f"{name}.warc.zst", "w") as out:
            out.write_resource(SITES[0], name.encode(), "text/plain", date=day, record_id=f"urn:x:{name}")
            if name == "a":
                names = {"refers_to": "urn:x:a", "refers_to_target_uri": SITES[0], "refers_to_date": day}
                names |= {"record_id": "urn:x:r", "profile": SERVER_NOT_MODIFIED}
                container = [("WARC-Refers-To-Container", "file://b.warc.zst")]
                out.write_revisit(SITES[1], b"", headers=container, **names)
    done = tools.filter([tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"], target, ids=["urn:x:r"])
    assert (done.belonging["original"], done.dangling) == (1, 0)
    with seekwarc.Collection([target]) as crawl:
        assert crawl.open_record(uri=SITES[1]).payload.read() == b"a"


def test_all_segments_of_a_record_come_along(tmp_path, target) -> None:
    source = tmp_path / "crawl.warc.zst"
    with seekwarc.open(source, "w") as out:
        first = out.write_resource(SITES[0], b"one", "text/plain", headers=[("WARC-Segment-Number", "1")])
        out.write_resource(SITES[1], b"other", "text/plain")
        out.write_continuation(SITES[0], b"two", origin_id=first, segment_number=2)
        out.write_continuation(SITES[0], b"three", origin_id=first, segment_number=3, total_length=11)
    done = tools.filter(source, target, ids=[content_id(source, 2)])
    assert done.belonging["segment"] == 2
    assert contents_of(target) == [it for n, it in enumerate(contents_of(source)) if n != 1]


def content_id(path: Path, number: int) -> str:
    with seekwarc.open(path) as archive:
        return [record.id or "" for record in archive][number]


# How they are copied.


@settings(max_examples=rounds(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=layouts(), chosen=st.sets(st.integers(0, 3)), form=st.sampled_from(["zst", "gz", "plain"]))
def test_every_record_is_in_one_part_or_the_other(tmp_path, made: Foreign, chosen, form) -> None:
    source, ours, others = (tmp_path / name for name in ("made", "a.warc.zst", "b.warc.zst"))
    source.write_bytes({"zst": made, "gz": made.gzip(), "plain": made.plain()}[form].bytes())
    ids = [f"urn:uuid:00000000-0000-4000-8000-{number:012}" for number in chosen]
    with parts_of([source], None, ReadOptions()) as (part,):
        tables = "every" if part.has_table_each else "large"
    found: Counter[bytes] = Counter()
    for path, inverse in ((ours, False), (others, True)):
        path.unlink(missing_ok=True)
        try:
            tools.filter(source, path, ids=ids, invert=inverse, closure=False)
        except NotFoundError:
            assert not path.exists()
        else:
            found.update(contents_of(path))
            dictionary = seekwarc.open(path).dictionary
            assert_right(path.read_bytes(), tables=tables, dictionary=dictionary.data if dictionary else None)
    assert found == Counter(contents_of(source))


def test_frames_are_copied_as_they_are(crawl, target) -> None:
    done = tools.filter(crawl, target, type="response")
    before = {frame.data for frame in walk(crawl.read_bytes()) if frame.is_data}
    assert {frame.data for frame in walk(target.read_bytes()) if frame.is_data} <= before
    assert (done.bytes_recompressed, done.recompressed) == (0, ())
    assert done.size == done.bytes_copied


def test_records_that_share_a_frame_are_parted(tmp_path, target) -> None:
    blocks = [noise(500, seed=number) for number in range(6)]
    whole = b"".join(warc_header(500, n) + block + b"\r\n\r\n" for n, block in enumerate(blocks))
    shared = tmp_path / "shared.warc.gz"
    shared.write_bytes(gzip.compress(whole))
    with pytest.warns(seekwarc.FormatWarning, match="share"):
        ids = [content_id(shared, number) for number in (1, 2, 5)]
    with pytest.warns(seekwarc.FormatWarning, match="share"):
        done = tools.filter(shared, target, ids=ids)
    assert [it.split(b"\r\n\r\n", 1)[1] for it in contents_of(target)] == [blocks[n] for n in (1, 2, 5)]
    assert done.records == 3


@pytest.mark.parametrize("large", [0, 300_000])
@pytest.mark.parametrize("form", ["zst", "gz"])
def test_a_damaged_record_is_left_out_and_reported(tmp_path, target, form, large) -> None:
    made = Foreign()
    for number in range(5):
        block = noise(large + 2000, seed=number)
        cuts = tuple(range(1000, large, 64 << 10)) if form == "zst" else ()
        made.record(block, header=warc_header(len(block), number), cuts=cuts)
    made = made.gzip() if form == "gz" else made
    data = bytearray(made.bytes())
    data[made.records[3].offset - 300] ^= 0x55
    source = tmp_path / "crawl"
    source.write_bytes(data)
    said: list[object] = []
    done = tools.filter(source, target, min_size=1, on_damage=said.append)
    assert done.records == 4
    assert len(done.damaged) == len(said) >= 1
    assert [it[-9:] for it in contents_of(target)] == [
        made.records[number].block[-9:] for number in (0, 1, 3, 4)
    ]
    assert tools.verify(target).is_sound


def test_no_file_of_a_series_is_larger_than_the_maximum(tmp_path) -> None:
    source = tmp_path / "crawl.warc.zst"
    with seekwarc.open(source, "w") as out:
        info = out.write_warcinfo({"software": "test"})
        for number in range(60):
            out.write_resource(SITES[0], noise(500 + 37 * number), "text/plain", warcinfo_id=info)
    for size in (4000, 5001, 9999):
        folder = tmp_path / str(size)
        folder.mkdir()
        done = tools.filter(source, folder / "part", type="resource", max_size=size)
        assert [piece.size for piece in done.pieces] == [
            os.path.getsize(folder / name) for name in sorted(os.listdir(folder))
        ]
        assert max(piece.size for piece in done.pieces) <= size
        assert done.records == 61
        held = [it for name in sorted(os.listdir(folder)) for it in contents_of(folder / name)[1:]]
        assert held == contents_of(source)[1:]


def test_a_record_that_exceeds_the_maximum_alone_is_named(tmp_path, crawl) -> None:
    exact = tools.filter(crawl, tmp_path / "a.warc.zst", uris=[SITES[1]], type="response", closure=False)
    size = exact.pieces[0].size
    options = {"uris": [SITES[1]], "type": "response", "closure": False}
    assert tools.filter(crawl, tmp_path / "b", max_size=size, **options).pieces[0].size == size
    with pytest.raises(ValueError, match=f"record {SITES[1]} has {size} bytes, more than .* {size - 1}"):
        tools.filter(crawl, tmp_path / "c", max_size=size - 1, **options)
    assert sorted(os.listdir(tmp_path)) == ["a.warc.zst", "b-00000.warc.zst", "crawl.warc.zst"]


# What is refused.


def test_a_dry_run_writes_nothing(crawl, tmp_path) -> None:
    done = tools.filter(crawl, None, hosts=["example.org"], type="response", dry_run=True)
    assert (done.matched, done.belonging["concurrent"], done.records, done.pieces) == (3, 6, 0, ())
    assert 0 < done.size < crawl.stat().st_size
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"uri": "none"}, NotFoundError("no record matches")),
        ({"hosts": ["/"]}, ValueError("'/' is not a host")),
        ({"type": "respons"}, ValueError("did you mean response")),
        ({"target": None}, ValueError("name the new file")),
        ({"target": "new.warc.gz"}, ValueError("copied into a .warc.zst")),
        ({"target": "crawl.warc.zst", "existing": "overwrite"}, TargetError("same file")),
        ({"target": "taken.warc.zst"}, TargetExistsError("exists")),
        ({"sources": []}, ValueError("no files")),
        ({"sources": ["missing"]}, SourceError("missing")),
        ({"not_cdxj": "missing"}, SourceError("missing")),
        ({"wrong": 1}, TypeError("wrong")),
    ],
)
def test_wrong_arguments_leave_nothing(crawl, tmp_path, monkeypatch, arguments, error) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.warc.zst").write_bytes(b"mine")
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    with pytest.raises(type(error), match=str(error)):
        tools.filter(**{"sources": "crawl.warc.zst", "target": "new.warc.zst", **arguments})
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before
