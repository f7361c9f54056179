"""Removing records: nothing of them is left, and nothing else is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, NotFoundError, TargetError, TargetExistsError, UnsupportedError
from tests.support.captures import SITES, related
from tests.support.foreign import Foreign, warc_header, zstd_frame
from tests.support.joined import assert_right, decompressed
from tests.support.rounds import rounds
from tests.support.writing import noise, small_dictionary, walk

STUB = "a record was removed from this file"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.warc.zst"
    path.write_bytes(related())
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "rest.warc.zst"


def content_of(path: Path) -> list[bytes]:
    with seekwarc.open(path) as archive:
        return [record.header.raw + record.block.read() for record in archive]


# What is removed.


def test_a_record_is_removed_with_what_belongs_to_it(crawl, target) -> None:
    done = tools.redact(crawl, target, uri=SITES[1], type="response", stubs=False)
    assert (done.read, done.matched, done.removed, done.records) == (14, 1, 3, 11)
    before = content_of(crawl)
    assert content_of(target) == before[:4] + before[7:]
    assert (done.bytes_recompressed, done.recompressed, done.mentions) == (0, (), [])
    assert {f.data for f in walk(target.read_bytes()) if f.is_data} < {
        f.data for f in walk(crawl.read_bytes()) if f.is_data
    }


def test_what_belongs_to_it_is_kept_without_closure_and_named(crawl, target) -> None:
    done = tools.redact(crawl, target, uri=SITES[1], type="response", closure=False, stubs=False)
    assert done.removed == 1
    assert {(it.type, it.what) for it in done.mentions} == {
        ("request", "id"),
        ("request", "uri"),
        ("metadata", "id"),
        ("metadata", "uri"),
    }
    with seekwarc.open(target) as archive:
        kinds = {record.offset: record.type for record in archive}
    assert all(kinds[it.offset] == it.type for it in done.mentions)


@pytest.mark.parametrize(("options", "uri"), [({}, SITES[1]), ({"stub_uris": False}, None)])
def test_a_stub_says_when_and_why(crawl, target, options, uri) -> None:
    done = tools.redact(crawl, target, uri=SITES[1], reason="request 17", **options)
    assert done.stubs == 1
    with seekwarc.open(target) as archive:
        stub = list(archive)[-1]
        assert (stub.type, stub.target_uri) == ("metadata", uri)
        assert dict(stub.warc_fields or ()) == {"removed": STUB, "reason": "request 17"}
        assert stub.date is not None
    assert len(content_of(target)) == done.records + 1
    assert tools.verify(target).is_sound


def test_revisits_of_what_is_removed_are_refused_or_removed(crawl, target) -> None:
    with pytest.raises(ValueError, match=r"the revisit at offset .* --with-revisits"):
        tools.redact(crawl, target, uri=SITES[0])
    assert not target.exists()
    done = tools.redact(crawl, target, uri=SITES[0], with_revisits=True, stubs=False)
    assert (done.removed, done.revisits, done.records) == (4, 1, 10)
    with seekwarc.open(target) as archive:
        assert "revisit" not in [record.type for record in archive]


def test_other_records_with_the_payload_or_uri_are_named(tmp_path, target) -> None:
    source = tmp_path / "crawl.warc.zst"
    with seekwarc.open(source, "w") as out:
        first = out.write_response(SITES[0], b"page", status=200)
        out.write_response(SITES[1], b"page", status=200)
        out.write_metadata({"via": SITES[0], "note": f"see <{first.id}>"}, target_uri=SITES[2])
        out.write_response(SITES[2], SITES[0].encode(), status=200)
    done = tools.redact(source, target, ids=[first.id], stubs=False)
    assert [(it.type, it.what) for it in done.mentions] == [
        ("response", "payload digest"),
        ("metadata", "uri"),
        ("metadata", "id"),
    ]


@pytest.mark.filterwarnings("ignore:.*several records share")
@settings(max_examples=rounds(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.lists(st.sampled_from([40, 700, 5000, 200_000]), min_size=2, max_size=5),
    form=st.sampled_from(["zst", "gz", "plain", "one frame"]),
    data=st.data(),
)
def test_no_32_bytes_of_what_is_removed_are_left(tmp_path, sizes, form, data) -> None:
    chosen = data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=len(sizes) - 1))
    made = Foreign()
    blocks = [noise(size, seed=number) for number, size in enumerate(sizes)]
    for number, block in enumerate(blocks):
        made.record(block, header=warc_header(len(block), number), cuts=(30, 90) if number % 2 else ())
    files = {"zst": made, "gz": made.gzip(), "plain": made.plain()}
    stored = files[form].bytes() if form in files else zstd_frame(files["plain"].bytes())
    source, target = tmp_path / "made", tmp_path / "rest.warc.zst"
    source.write_bytes(stored)
    ids = [f"urn:uuid:00000000-0000-4000-8000-{number:012}" for number in chosen]
    done = tools.redact(source, target, ids=ids, existing="overwrite")
    assert (done.removed, done.stubs) == (len(chosen), len(chosen))
    left = decompressed(target.read_bytes())
    for number, block in enumerate(blocks):
        if number in chosen:
            assert not any(block[at : at + 32] in left for at in range(0, len(block) - 31, 16))
        else:
            assert block in left
    assert_right(target.read_bytes())


def test_a_dictionary_is_left_out_unless_it_is_to_be_kept(tmp_path, target) -> None:
    source, dictionary = tmp_path / "crawl.warc.zst", small_dictionary()
    source.write_bytes(related(dictionary=dictionary))
    done = tools.redact(source, target, uri=SITES[1])
    assert "dictionary" in done.recompressed[0].reason
    with seekwarc.open(target) as archive:
        assert archive.dictionary is None
    assert dictionary.data not in decompressed(target.read_bytes())
    done = tools.redact(source, target, uri=SITES[1], keep_dictionary=True, existing="overwrite")
    assert done.recompressed == ()
    with seekwarc.open(target) as archive:
        assert archive.dictionary == dictionary


# Where it goes.


def test_a_file_is_replaced_when_the_new_one_is_complete(crawl, tmp_path) -> None:
    before = content_of(crawl)
    crawl.chmod(0o640)
    tools.redact(crawl, in_place=True, uri=SITES[1], stubs=False)
    assert content_of(crawl) == before[:4] + before[7:]
    assert crawl.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


def test_a_copy_that_differs_gets_no_name(crawl, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.tools.redacting._same_block", lambda *_: False)
    before = crawl.read_bytes()
    with pytest.raises(FormatError, match="not equal"):
        tools.redact(crawl, in_place=True, uri=SITES[1])
    assert crawl.read_bytes() == before
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


def test_an_index_is_replaced_together_with_the_file(crawl, tmp_path) -> None:
    other = tmp_path / "other.warc.zst"
    other.write_bytes(crawl.read_bytes())
    index = tmp_path / "all.cdxj"
    tools.index([crawl, other], index, all_records=True)
    tools.redact(crawl, in_place=True, indexes=[index], uri=SITES[1], stubs=False)
    tools.index([crawl, other], tmp_path / "again.cdxj", all_records=True)
    assert index.read_bytes() == (tmp_path / "again.cdxj").read_bytes()
    with seekwarc.Index(index) as lines:
        found = list(lines.lookup(SITES[1]))
        assert {line.fields["filename"] for line in found} == {"other.warc.zst"}
        assert [it.open().type for it in lines.lookup(SITES[2]) if it.is_capture] == ["response"] * 2


@pytest.mark.parametrize("text", [b"CDX N b a m s k r M S V g\n", b'a)/ 20260101000000 {"filename": "b"}\n'])
def test_nothing_is_changed_if_an_index_cannot_be_replaced(crawl, tmp_path, text) -> None:
    good, bad = tmp_path / "good.cdxj", tmp_path / "bad.cdxj"
    tools.index([crawl], good)
    bad.write_bytes(text)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UnsupportedError, match=r"bad\.cdxj"):
        tools.redact(crawl, in_place=True, indexes=[good, bad], uri=SITES[1])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", [300, 1000, -600])
def test_a_damaged_file_is_left_alone(crawl, tmp_path, place) -> None:
    data = bytearray(crawl.read_bytes())
    data[place] ^= 0x55
    crawl.write_bytes(data)
    with pytest.raises(FormatError):
        tools.redact(crawl, in_place=True, uri=SITES[3])
    assert crawl.read_bytes() == data
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


def test_a_dry_run_changes_nothing(crawl, tmp_path) -> None:
    before = crawl.read_bytes()
    done = tools.redact(crawl, uri=SITES[0], with_revisits=True, dry_run=True, in_place=True)
    assert (done.removed, done.revisits, done.records, done.target_size) == (4, 1, 10, 0)
    assert crawl.read_bytes() == before
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ValueError("every record would be removed")),
        ({"min_size": 0, "invert": True}, NotFoundError("no record matches")),
        ({"type": ["warcinfo", "response", "request", "metadata", "revisit"]}, ValueError("no record would")),
        ({"uri": "none"}, NotFoundError("no record matches")),
        ({"uri": SITES[1], "target": None}, ValueError("set in_place or dry_run")),
        ({"uri": SITES[1], "target": "crawl.warc.zst"}, TargetError("same file")),
        ({"uri": SITES[1], "target": "taken.warc.zst"}, TargetExistsError("exists")),
        ({"uri": SITES[1], "target": "new.warc.gz"}, ValueError("is a .warc.zst")),
        ({"uri": SITES[1], "target": "s3://bucket/new.warc.zst"}, TargetError("not a URL")),
    ],
)
def test_wrong_arguments_leave_nothing(crawl, tmp_path, monkeypatch, arguments, error) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken.warc.zst").write_bytes(b"mine")
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    with pytest.raises(type(error), match=str(error)):
        tools.redact("crawl.warc.zst", **{"target": "new.warc.zst", **arguments})
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before
