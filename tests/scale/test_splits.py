"""Parts of files: read one after the other, they hold the records of a plain loop, each once."""

from __future__ import annotations

import gc
import os
import random
import re
import shutil
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import FormatError, FormatWarning, RangeError, SourceChangedError, SourceError, Split
from seekwarc.storage.plan import REMOTE
from tests.support.foreign import Foreign, text, warc_header
from tests.support.mutants import Maker
from tests.support.rangeserver import Content, RangeServer, after, well
from tests.support.rounds import rounds
from tests.support.sources import Endless
from tests.support.writing import noise

Found = tuple[int, bytes]


def found_in(records: object) -> list[Found]:
    return [(record.offset, record.whole.read()) for record in records]


def plain_loop(path: Path, **options: object) -> list[Found]:
    with seekwarc.open(path, **options) as archive:
        return found_in(archive)


def all_parts(path: Path, target: int, **options: object) -> list[Found]:
    return [
        it
        for split in seekwarc.splits([path], target_bytes=target)
        for it in found_in(seekwarc.read_split(split, **options))
    ]


def written(path: Path, *, count: int = 60, seed: int = 0, **options: object) -> Path:
    """Write pages, and records of several frames among them."""
    rng = random.Random(seed)
    with seekwarc.open(path, "w", frame_size=64 << 10, **options) as out:
        for number in range(count):
            size = rng.choice((200, 2_000, 3_000, 170_000))
            out.write_resource(f"http://e.org/{number}", noise(size, seed=number), "text/plain")
    return path


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("splits") / "crawl.warc.zst")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("target", [1, 1_000, 50_000, 300_000, 900_000, 1 << 40])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_parts_hold_the_records_of_a_plain_loop(tmp_path: Path, tables: str, target: int) -> None:
    path = written(tmp_path / "a.warc.zst", count=30, tables=tables)
    assert all_parts(path, target) == plain_loop(path)
    parts = list(seekwarc.splits(path, target_bytes=target))
    assert (len(parts) > 1) == (target < path.stat().st_size)
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert {part.note for part in parts} == {None}


def test_parts_are_of_about_the_size_asked_for(crawl: Path) -> None:
    size = crawl.stat().st_size
    parts = list(seekwarc.splits(crawl, target_bytes=200_000))
    sizes = [(part.stop or size) - part.start for part in parts]
    assert max(sizes) < 200_000 + 180_000
    assert len(parts) >= size // 380_000


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_other_files_are_cut_as_well(tmp_path: Path, form: str) -> None:
    made = Foreign()
    for number in range(20):
        made.record(noise(3_000, seed=number))
    path = tmp_path / "a.warc"
    path.write_bytes(getattr(made, form)().bytes())
    assert all_parts(path, 10_000) == plain_loop(path)
    assert len(list(seekwarc.splits(path, target_bytes=10_000))) > 4


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Draw a file as others write them: any frames, tables that list them or not, dictionaries, padding."""
    made = Foreign()
    if draw(st.booleans()):
        made.dictionary(compressed=draw(st.booleans()))
    for number in range(draw(st.integers(1, 8))):
        block = text(draw(st.sampled_from([0, 50, 3_000])), seed=number)
        cuts = draw(st.sampled_from([(), 300, 1_000]))
        if draw(st.integers(0, 3)) == 0:
            block, cuts = archive_in_a_record(len(made.records))
        tables, sizes = draw(st.integers(0, 2)) > 0, draw(st.integers(0, 9)) > 0
        made.record(block, cuts=cuts, table=tables, content_size=sizes)
        if draw(st.integers(0, 3)) == 0:
            made.extension(data=bytes(draw(st.sampled_from([0, 12, 21, 24]))))
    if draw(st.booleans()):
        made.file_table()
    form = draw(st.sampled_from([None, None, None, "gzip", "plain"]))
    return made.bytes() if form is None else getattr(made, form)().bytes()


def archive_in_a_record(number: int) -> tuple[bytes, tuple[int, ...]]:
    """Return a block that is an archive, and where its records begin in the record: there frames may, too."""
    inner = Foreign().record(b"inner").record(text(400)).record(b"more").plain()
    begin = len(warc_header(len(inner.data) + 2, number)) + 2
    return b"x\n" + bytes(inner.data), tuple(begin + it.offset for it in inner.records)


def outcome(read: Callable[[], list[Found]]) -> tuple[list[Found] | None, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read(), ""
        except FormatError as error:
            return None, str(error)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drawn") / "a.warc.zst"


@given(data=st.data(), target=st.sampled_from([1, 400, 1_500, 5_000]))
def test_no_part_of_any_file_loses_or_repeats_a_record(drawn: Path, data: st.DataObject, target: int) -> None:
    drawn.write_bytes(data.draw(files()))
    expected, _ = outcome(lambda: plain_loop(drawn))
    found, error = outcome(lambda: all_parts(drawn, target))
    assert found == expected or (found is None and "ends inside this record" in error)


def check_false_tables(path: Path, numbers: range) -> None:
    for number in numbers:
        path.write_bytes(Maker(number).mutant().data)
        expected, _ = outcome(lambda: plain_loop(path))
        for target in (1, 700):
            found, _ = outcome(lambda target=target: all_parts(path, target))
            assert found is None or found == expected, number


def test_false_tables_lose_and_repeat_nothing(tmp_path: Path) -> None:
    check_false_tables(tmp_path / "a.warc.zst", range(40))


@pytest.mark.slow
def test_hundreds_of_false_tables_lose_and_repeat_nothing(tmp_path: Path) -> None:
    check_false_tables(tmp_path / "a.warc.zst", range(1_000, 1_000 + rounds(300)))


# What planning and reading ask for, and what they refuse.


def test_a_small_object_is_planned_with_one_request(crawl: Path) -> None:
    with RangeServer(crawl.read_bytes()) as server:
        (split,) = seekwarc.splits(server.url)
        assert len(server.asked) == 1
        assert split.identity is not None
        server.forget()
        assert found_in(seekwarc.read_split(split)) == plain_loop(crawl)


def test_a_large_object_is_planned_with_one_request_and_one_for_each_cut(crawl: Path) -> None:
    with RangeServer(crawl.read_bytes()) as server:
        parts = list(seekwarc.splits(server.url, target_bytes=1 << 20))
        assert len(parts) >= 3
        assert len(server.asked) <= 1 + 3 * (len(parts) - 1)
        assert [it for part in parts for it in found_in(seekwarc.read_split(part))] == plain_loop(crawl)


@pytest.mark.slow
def test_a_chain_of_very_many_tables_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", tables="every") as out:
        for number in range(100):
            out.write_resource(f"http://e.org/{number}", noise(6_000, seed=number), "text/plain")
    with RangeServer(path.read_bytes()) as server:
        parts = list(seekwarc.splits(server.url, target_bytes=100_000))
        assert len(server.asked) < 90
        assert "no table lists all" in (parts[0].note or "")
        assert [it for part in parts for it in found_in(seekwarc.read_split(part))] == plain_loop(path)
    assert len(list(seekwarc.splits(path, target_bytes=100_000))) > len(parts)


def test_planning_that_is_abandoned_waits_for_no_answer(crawl: Path) -> None:
    with RangeServer(crawl.read_bytes()) as server:
        planned = seekwarc.splits(f"{server.root}/{number}.warc.zst" for number in range(200))
        next(planned)
        server.latency = 600
        planned.close()
        assert len(server.asked) < 200


def test_a_part_of_an_object_is_read_without_the_rest(crawl: Path) -> None:
    with RangeServer(crawl.read_bytes()) as server:
        part = list(seekwarc.splits(server.url, target_bytes=1 << 20))[1]
        server.forget()
        records = list(found_in(seekwarc.read_split(part, threads=1)))
        size = (part.stop or crawl.stat().st_size) - part.start
        assert len(records) > 3
        assert sum(asked.sent for asked in server.asked) < 1.4 * size + (192 << 10)


@pytest.mark.slow
def test_a_worker_that_reads_many_parts_does_not_grow(versions: tuple[Path, Path]) -> None:
    grown = []
    with RangeServer(versions[0].read_bytes()) as server:
        part = replace(of_both_kinds(server.url)[1], stop=None)
        gc.collect()
        # It counts objects, and what is large here is few.
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(6):
                assert sum(map(len, stepwise(part))) == 3_000_000
                grown.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
            gc.enable()
    # The frames of each time are 3 MB. What a thread reads ahead while an archive is closed may be left.
    assert grown[-1] - grown[1] < 4_000_000


def test_an_object_that_was_replaced_is_refused(crawl: Path) -> None:
    with RangeServer(crawl.read_bytes()) as server:
        parts = list(seekwarc.splits(server.url, target_bytes=1 << 20))
        server.content = Content(crawl.read_bytes(), etag='"second"')
        for part in parts:
            with pytest.raises(SourceChangedError, match="replaced"):
                next(seekwarc.read_split(part))


def test_a_local_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.warc.zst", count=5)
    parts = list(seekwarc.splits(path, target_bytes=100_000))
    assert len(found_in(seekwarc.read_split(parts[0]))) > 0
    os.utime(path, ns=(1, 1))
    for part in parts:
        with pytest.raises(SourceChangedError, match="replaced"):
            next(seekwarc.read_split(part))


TAGS = {
    "tag": ('"first"', '"second"'),
    "tag that the server does not compare": ('"first"', '"second"'),
    "weak tag": ('W/"first"', 'W/"second"'),
    "date alone": (None, None),
}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write two files in which all is at the same places, and only what the records hold differs."""
    folder = tmp_path_factory.mktemp("versions")
    for seed in (1, 2):
        with seekwarc.open(folder / f"{seed}.warc.zst", "w", frame_size=64 << 10, digest=None) as out:
            for number, size in enumerate((400, 3_000_000, 3_000, 2_900_000, 5_000)):
                about = {"date": "2026-11-22T06:00:00Z", "record_id": f"urn:uuid:{number:036}"}
                block = noise(size, seed=10 * seed + number)
                out.write_resource(f"urn:{number}", block, "text/plain", **about)
    first, second = (folder / f"{seed}.warc.zst" for seed in (1, 2))
    assert first.stat().st_size == second.stat().st_size
    return first, second


def stepwise(part: Split) -> Iterator[bytes]:
    """Yield what a worker gets of a part: the bytes of each record, or some of a payload at a time."""
    for found in seekwarc.read_split(part, threads=1):
        if part.kind == "records":
            yield found.whole.read()
            continue
        position = 0
        while data := found.pread(position, 300_000):
            yield data
            position += len(data)


def of_both_kinds(url: str | Path) -> tuple[Split, Split]:
    """Return a part that holds records, and one that holds a half of a payload."""
    whole = next(seekwarc.splits(url))
    parts = seekwarc.splits(url, target_bytes=1_500_000, inside_records=True)
    return whole, next(part for part in parts if part.kind == "payload")


@pytest.mark.parametrize("told", TAGS)
def test_an_object_replaced_amid_a_read_is_refused(versions: tuple[Path, Path], told: str) -> None:
    first, second = (
        Content(path.read_bytes(), tag, 1_750_000_000 + number)
        for number, (path, tag) in enumerate(zip(versions, TAGS[told], strict=True))
    )
    with RangeServer(b"") as server:
        server.content = first
        server.honours_if_match = "not compare" not in told
        for part in of_both_kinds(server.url):
            server.forget()
            whole = list(stepwise(part))
            count = len(server.asked)
            assert count > 3
            for number in range(1, count, 2):
                server.forget()
                server.fault = after(number, lambda asked, _: server.well_answered(asked, second))
                pieces, error = [], None
                try:
                    for piece in stepwise(part):
                        pieces.append(piece)
                except SourceChangedError as raised:
                    error = raised
                    assert "crawl.warc.zst" in str(error)
                    assert "replaced" in str(error)
                server.fault = well
                assert pieces == whole[: len(pieces)]
                # How much is asked for in advance differs from run to run.
                assert error or (number > 1 and pieces == whole)
                assert len(server.asked) < count + REMOTE.in_flight, "asking again would be in vain"


def test_a_local_file_written_over_amid_a_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    first, second = (
        # Nothing but the bytes of the records differs, and no checksum tells.
        Foreign().record(noise(3_000_000, seed=seed)).record(noise(9_000, seed=seed)).plain().bytes()
        for seed in (1, 2)
    )
    for place in (0, 1):
        path.write_bytes(first)
        os.utime(path, ns=(1, 1))
        part = of_both_kinds(path)[place]
        whole = list(stepwise(part))
        assert len(whole) > 1

        pieces = stepwise(part)
        got = [next(pieces)]
        (tmp_path / "new").write_bytes(second)
        (tmp_path / "new").replace(path)
        assert got + list(pieces) == whole, "what another takes the place of can be read to its end"

        path.write_bytes(first)
        os.utime(path, ns=(1, 1))
        pieces = stepwise(part)
        next(pieces)
        path.write_bytes(second)
        with pytest.raises(SourceChangedError, match=r"a\.warc: .* changed or replaced"):
            list(pieces)


@pytest.mark.slow
def test_a_file_that_cannot_be_read_does_not_stop_the_others(crawl: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.warc.zst"
    bad.write_bytes(b"not an archive " * 9_000)
    names = ["http://127.0.0.1:1/a.warc.zst", crawl, bad]
    parts = list(seekwarc.splits(names, target_bytes=100_000))
    assert len(parts) > len(names)
    noted = [part for part in parts if part.note]
    assert [os.path.basename(part.filename) for part in noted] == ["a.warc.zst", bad.name]
    for part in noted:
        with pytest.raises((SourceError, FormatError)):
            next(seekwarc.read_split(part))


@pytest.mark.parametrize("name", ["missing.warc.zst", "*.warc.gz", "ftp://example.org/a", "empty"])
def test_a_name_that_names_nothing_raises_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=re.escape(name)):
        seekwarc.splits(name if "://" in name else tmp_path / name)


def test_folders_and_patterns_are_cut_file_by_file(crawl: Path, tmp_path: Path) -> None:
    for name in ("b.warc.zst", "a.warc.zst"):
        shutil.copy(crawl, tmp_path / name)
    for named in (tmp_path, tmp_path / "[ab].*"):
        names = [os.path.basename(part.filename) for part in seekwarc.splits(named)]
        assert names == ["a.warc.zst", "b.warc.zst"]


def test_damage_in_a_part_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.warc.zst")
    with seekwarc.open(path) as archive:
        small = [record for record in archive if record.length < 4_000][3::5]
    data = bytearray(path.read_bytes())
    for record in small:
        data[record.offset + record.length // 2] ^= 0x55
    path.write_bytes(data)
    expected: list[FormatError] = []
    whole = plain_loop(path, on_error=expected.append)
    assert len(expected) == len(small)
    for target in (1, 300_000):
        errors: list[FormatError] = []
        assert all_parts(path, target, on_error=errors.append) == whole
        assert [(error.offset, error.message) for error in errors] == [
            (error.offset, error.message) for error in expected
        ]
        assert all_parts(path, target, on_error="skip") == whole
        with pytest.raises(FormatError):
            all_parts(path, target)


def test_a_cut_inside_a_record_is_told(crawl: Path) -> None:
    made = Foreign().record(b"first")
    block, cuts = archive_in_a_record(1)
    made.record(block, cuts=cuts).record(b"last")
    path = crawl.with_name("inner.warc.zst")
    path.write_bytes(made.bytes())
    inner = made.records[1].offset + sum(entry[0] for entry in made.entries[1:2])
    for on_error in ("raise", "skip"):
        with pytest.raises(FormatError, match="ends inside this record"):
            found_in(seekwarc.read_split(Split(str(path), "records", 0, inner), on_error=on_error))
    told: list[FormatError] = []
    found = found_in(seekwarc.read_split(Split(str(path), "records", 0, inner), on_error=told.append))
    assert [offset for offset, _ in found] == [it.offset for it in made.records[:2]]
    assert [error.offset for error in told] == [made.records[1].offset]


def test_many_files_come_in_their_order(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{number}.warc.zst", count=2, seed=number) for number in range(70)]
    assert [split.filename for split in seekwarc.splits(map(str, paths))] == list(map(str, paths))


def test_names_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "a.warc.zst", count=2)
    monkeypatch.chdir(tmp_path)
    (split,) = seekwarc.splits("a.warc.zst")
    monkeypatch.chdir("/")
    assert len(list(seekwarc.read_split(split))) == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"target_bytes": 0}, RangeError),
        ({"delimiter": b"\n"}, ValueError),
        ({"delimiter": b"", "inside_records": True}, ValueError),
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        seekwarc.splits("/a.warc.zst", **options)


def test_what_has_no_name_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes"):
        list(seekwarc.splits([b"a.warc"]))


@pytest.mark.parametrize("form", ["plain", "gzip", "file_table"])
def test_a_server_that_claims_any_size_is_planned_with_a_few_reads(form, monkeypatch) -> None:
    made = Foreign()
    for number in range(5):
        made.record(noise(3000, seed=number), cuts=1000)
    data = getattr(made, form)().bytes()
    source = Endless(data, b"nonsense")
    monkeypatch.setattr("seekwarc.scale.splits.open_source", lambda _: source)
    for inside_records in (False, True):
        assert len(list(seekwarc.splits(source.name, inside_records=inside_records))) == 1
    assert source.bytes_sent < 4 << 20
    assert source.requests < 20


@pytest.mark.parametrize("bad", [b"", b"<!DOCTYPE html>", bytes(100)])
def test_a_file_that_is_no_archive_has_no_records_if_wanted(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a.warc.gz").write_bytes(bad)
    written(tmp_path / "b.warc.zst")
    foreign, sound = seekwarc.splits(tmp_path)
    with pytest.raises(FormatError, match=r"a\.warc\.gz"):
        list(seekwarc.read_split(foreign))
    with pytest.warns(FormatWarning, match=r"a\.warc\.gz.*passed over"):
        assert not list(seekwarc.read_split(foreign, on_error="skip"))
    told: list[FormatError] = []
    assert not list(seekwarc.read_split(foreign, on_error=told.append))
    assert [it.source for it in told] == [foreign.filename]
    assert list(seekwarc.read_split(sound, on_error="skip"))
