"""Removing records: nothing of them is left, and nothing else is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.edit.comparing import Comparison
from seekwarc.errors import FormatError, NotFoundError, TargetError, TargetExistsError, UnsupportedError
from seekwarc.write.output import PathOutput
from tests.support.captures import SITES, related
from tests.support.foreign import Foreign, warc_header, zstd_frame
from tests.support.framed import film
from tests.support.joined import assert_right, decompressed
from tests.support.reading import contents_of
from tests.support.rounds import rounds
from tests.support.writing import noise, small_dictionary, text, walk

STUB = "a record was removed from this file"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    path = tmp_path / "crawl.warc.zst"
    path.write_bytes(related())
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "rest.warc.zst"


# What is removed.


@pytest.fixture
def spelled(tmp_path: Path) -> Path:
    """A file with two spellings of a URI, and 30 others that have its key."""
    path = tmp_path / "spelled.warc.zst"
    with seekwarc.open(path, "w") as out:
        others = ["https://example.org/~a"] * 3 + [f"http://www{it}.example.org/~a" for it in range(29)]
        for uri in [
            "http://example.org/~a",
            "http://example.org:80/%7Ea#b",
            *others,
            "http://example.org/~ab",
        ]:
            out.write("resource", block=b"x", target_uri=uri)
    return path


@pytest.mark.parametrize(
    "asked", ["http://example.org/~a", "http://EXAMPLE.org/%7ea", "http://example.org/~a#c"]
)
@pytest.mark.parametrize("name", ["uri", "uris"])
def test_all_spellings_go_and_what_has_the_same_key_is_named(spelled, target, asked, name) -> None:
    for options in ({"dry_run": True}, {"processes": 2}):
        done = tools.redact(spelled, target, **{name: [asked]}, **options)
        assert (done.removed, len(done.others), done.further_others) == (2, 20, 10)
        assert next(iter(done.others.items())) == ("https://example.org/~a", 3)
    with seekwarc.open(target) as archive:
        assert sum(record.type == "resource" for record in archive) == 33


def test_what_has_the_same_key_and_goes_too_is_not_named(spelled, target) -> None:
    asked = ["http://example.org/~a", "*://www*"]
    assert tools.redact(spelled, dry_run=True, uri=asked).others == {"https://example.org/~a": 3}
    assert tools.redact(spelled, dry_run=True, uri="*/~a").others == {}


def test_a_uri_that_is_missing_is_said_to_have_the_key_of_another(spelled) -> None:
    with pytest.raises(NotFoundError, match=r"but http://example\.org/~a has the same key"):
        tools.redact(spelled, dry_run=True, uri="http://example.org/~A")


def test_a_record_is_removed_with_what_belongs_to_it(crawl, target) -> None:
    done = tools.redact(crawl, target, uri=SITES[1], type="response", stubs=False)
    assert (done.read, done.matched, done.removed, done.records) == (14, 1, 3, 11)
    before = contents_of(crawl)
    assert contents_of(target) == before[:4] + before[7:]
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
    assert len(contents_of(target)) == done.records + 1
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


@pytest.mark.parametrize("options", [{}, {"retrain": True}])
def test_no_32_bytes_are_left_in_a_dictionary(tmp_path, target, options) -> None:
    secret = noise(64, seed=7)
    source = tmp_path / "crawl.warc.zst"
    dictionary = seekwarc.Dictionary(small_dictionary().data[:-64] + secret)
    with seekwarc.open(source, "w", dictionary=dictionary) as out:
        for number in range(60):
            out.write_resource(f"{SITES[0]}{number}", text(2000, seed=number), "text/plain")
        out.write_resource(SITES[1], secret + noise(400, seed=8), "text/plain")
    left = tools.redact(source, target, uri=SITES[1], keep_dictionary=True)
    assert [(it.type, it.what) for it in left.mentions] == [("dictionary", "payload")]
    done = tools.redact(source, target, uri=SITES[1], existing="overwrite", **options)
    assert done.mentions == []
    with seekwarc.open(target) as archive:
        assert (archive.dictionary is not None) == bool(options)
        known = archive.dictionary.data if archive.dictionary is not None else b""
    for found in (target.read_bytes(), decompressed(target.read_bytes(), dictionary=known), known):
        assert not any(secret[at : at + 32] in found for at in range(33))
    assert contents_of(target)[:60] == contents_of(source)[:60]


def test_a_file_with_the_dictionary_of_another_is_made_again(tmp_path) -> None:
    one, two, other = (tmp_path / f"{name}.warc.zst" for name in ("one", "two", "other"))
    for path in (one, two):
        path.write_bytes(related(dictionary=small_dictionary()))
    other.write_bytes(related())
    before = other.read_bytes()
    with seekwarc.open(one) as archive:
        wanted = [record.id for record in archive if record.target_uri == SITES[1]]
    done = tools.redact([one, two, other], in_place=True, ids=wanted, stubs=False)
    assert (done.files, done.written, done.removed) == (3, 2, 3)
    assert all(seekwarc.open(path).dictionary is None for path in (one, two))
    assert other.read_bytes() == before


# Where it goes.


def test_a_file_is_replaced_when_the_new_one_is_complete(crawl, tmp_path) -> None:
    before = contents_of(crawl)
    crawl.chmod(0o640)
    tools.redact(crawl, in_place=True, uri=SITES[1], stubs=False)
    assert contents_of(crawl) == before[:4] + before[7:]
    assert crawl.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["crawl.warc.zst"]


def test_a_copy_that_differs_gets_no_name(crawl, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Comparison, "is_equal", lambda *_: False)
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


@pytest.mark.parametrize("name", ["all.idx", pytest.param("all.parquet", marks=pytest.mark.slow)])
def test_clusters_and_columnar_indexes_are_replaced(crawl, tmp_path, name) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    other = tmp_path / "other.warc.zst"
    other.write_bytes(crawl.read_bytes())
    options = {"parquet": name.endswith("parquet"), "all_records": True}
    tools.index([crawl, other], tmp_path / name, **options)
    done = tools.redact(crawl, in_place=True, indexes=[tmp_path / name], uri=SITES[1], stubs=False)
    again = tmp_path / f"again.{name.rpartition('.')[2]}"
    tools.index([crawl, other], again, **options)
    with seekwarc.Index(tmp_path / name) as one, seekwarc.Index(again) as two:
        assert sorted(line.build() for line in one) == sorted(line.build() for line in two)
    assert {(it.file, it.type, it.what) for it in done.mentions} >= {(str(tmp_path / name), "line", "uri")}


def test_a_cluster_whose_blocks_would_stay_is_refused(crawl, tmp_path) -> None:
    tools.index([crawl], tmp_path / "all.idx")
    blocks = tmp_path / "all.cdx.gz"
    index = (tmp_path / "all.idx").read_text().replace("all.cdx.gz", "part-0.gz")
    (tmp_path / "all.idx").write_text(index)
    blocks.rename(tmp_path / "part-0.gz")
    with pytest.raises(UnsupportedError, match="blocks of this cluster"):
        tools.redact(crawl, in_place=True, indexes=[tmp_path / "all.idx"], uri=SITES[1])
    assert sorted(os.listdir(tmp_path)) == ["all.idx", "crawl.warc.zst", "part-0.gz"]


def test_several_files_are_replaced_or_none(crawl, tmp_path, monkeypatch) -> None:
    later = tmp_path / "later.warc.zst"
    tools.filter(crawl, later, type="revisit", closure=False)
    tools.redact(crawl, in_place=True, type="revisit", closure=False, stubs=False)
    before = {path: path.read_bytes() for path in (crawl, later)}
    with pytest.raises(ValueError, match=r"later.*revisit at offset"):
        tools.redact([crawl, later], in_place=True, uri=SITES[0])
    targets = [tmp_path / "new-1.warc.zst", tmp_path / "new-2.warc.zst"]
    monkeypatch.setattr(Comparison, "is_equal", lambda _, copy, *__: copy.type != "revisit")
    with pytest.raises(FormatError, match="not equal"):
        tools.redact(tmp_path, targets, uri=SITES[1])
    assert sorted(tmp_path.iterdir()) == [crawl, later]
    assert {path: path.read_bytes() for path in (crawl, later)} == before
    monkeypatch.undo()
    done = tools.redact(tmp_path, targets, uri=SITES[1], reason="request 17")
    assert (done.files, done.written, done.stubs) == (2, 2, 1)
    assert contents_of(targets[1]) == contents_of(later)


def test_a_sidecar_that_is_stale_goes_with_the_old_file(crawl, tmp_path, target) -> None:
    beside = Path(f"{crawl}.seek")
    beside.write_bytes(b"windows of what was removed")
    tools.redact(crawl, target, uri=SITES[1])
    assert beside.exists()
    assert not Path(f"{target}.seek").exists()
    tools.redact(crawl, in_place=True, uri=SITES[1])
    assert not beside.exists()


def test_the_sidecar_of_a_target_that_is_replaced_goes_with_it(crawl, target) -> None:
    beside = Path(f"{target}.seek")
    beside.write_bytes(b"windows of what was removed")
    tools.redact(crawl, target, uri=SITES[1])
    assert beside.exists(), "nothing is replaced unless that is asked for"
    tools.redact(crawl, target, uri=SITES[1], existing="overwrite")
    assert not beside.exists()


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_link_is_not_changed_in_place(crawl, tmp_path, dry_run) -> None:
    link, before = tmp_path / "link.warc.zst", crawl.read_bytes()
    link.symlink_to(crawl)
    with pytest.raises(ValueError, match=r"link\.warc\.zst: is a link to .*crawl\.warc\.zst"):
        tools.redact(link, in_place=True, delete_empty=True, uri=SITES[1], dry_run=dry_run)
    assert crawl.read_bytes() == before
    assert link.is_symlink()
    assert tools.redact(link, tmp_path / "rest.warc.zst", uri=SITES[1]).written == 1


@pytest.mark.parametrize(("step", "stays"), [("seal", True), ("commit", False)])
def test_a_sidecar_goes_when_all_new_files_are_complete(crawl, monkeypatch, step, stays) -> None:
    beside, before = Path(f"{crawl}.seek"), crawl.read_bytes()
    beside.write_bytes(b"windows of what was removed")

    def fail(_: object) -> None:
        raise TargetError("no space left")

    monkeypatch.setattr(PathOutput, step, fail)
    with pytest.raises(TargetError, match="no space left"):
        tools.redact(crawl, in_place=True, uri=SITES[1])
    assert crawl.read_bytes() == before
    assert beside.exists() == stays


@pytest.mark.slow
def test_a_sidecar_that_is_needed_is_made_again_and_named(tmp_path) -> None:
    source, index = tmp_path / "crawl.warc.zst", tmp_path / "all.cdxj"
    source.write_bytes(film(1, content_size=True).data)
    assert tools.sidecar(source).records == 1
    tools.index([source], index, all_records=True, sidecars={source.name: f"{source}.seek"})
    with seekwarc.open(source) as archive:
        first, large, _ = archive
        expected, wanted = large.payload.pread(20 << 20, 1000), first.id
    before = Path(f"{source}.seek").read_bytes()
    tools.redact(source, in_place=True, indexes=[index], ids=[wanted], stubs=False)
    assert Path(f"{source}.seek").read_bytes() != before
    with seekwarc.Index(index) as lines:
        found = [line.open() for line in lines if "seekTable" in line.fields]
        assert [record.payload.pread(20 << 20, 1000) for record in found] == [expected]
        assert found[0].seek_table_status == "sidecar"


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
        ({"uri": SITES[1], "target": None}, ValueError("set dry_run")),
        ({"uri": SITES[1], "target": "crawl.warc.zst"}, TargetError("itself a file to be read")),
        ({"uri": SITES[1], "target": "taken.warc.zst"}, TargetExistsError("exists")),
        ({"uri": SITES[1], "target": "new.warc.gz"}, TargetError("is a .warc.zst")),
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
