"""Splitting files: every record once and in order, valid pieces, sizes within the limit."""

from __future__ import annotations

import errno
import io
import os
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.edit.concatenating import concat
from seekwarc.edit.copy_inputs import parts_of, settings_of
from seekwarc.edit.copy_target import Recompressed
from seekwarc.edit.splitting import Piece, Splitting, split
from seekwarc.errors import ChecksumError, FormatError, TargetError, TargetExistsError
from seekwarc.read.options import ReadOptions
from tests.support.foreign import Foreign, text, warc_header
from tests.support.joined import FoundRecord, assert_right, decompressed
from tests.support.rounds import rounds
from tests.support.sources import Pipe
from tests.support.strategies import layouts
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    header_for,
    noise,
    plain,
    small_dictionary,
    walk,
    written,
)

FRAME = 64 * KIB
LEAST = 64 * KIB


def warcinfo(number: int) -> tuple[bytes, bytes]:
    block = b"software: test %d\r\n" % number
    return warc_header(len(block), number, kind="warcinfo"), block


INFO = warcinfo(1000)
SMALL = [(warc_header(9000 + n, n), noise(9000 + n, seed=n)) for n in range(20)]
LARGE = (header_for(400_000), noise(400_000))
HTTP = (header_for(len(HTTP_HEAD) + 300_000, content_type=RESPONSE), HTTP_HEAD + noise(300_000))
RECORDS = (INFO, *SMALL[:10], LARGE, *SMALL[10:15], HTTP, *SMALL[15:])


def stored(*records: tuple[bytes, bytes], **options) -> bytes:
    return written(*records, frame_size=FRAME, **options)[0]


def parts_in(folder: Path, **options) -> list[tuple[bytes, list[FoundRecord]]]:
    """The pieces, each of which must be valid."""
    found = []
    for number, name in enumerate(sorted(os.listdir(folder))):
        assert name == f"part-{number:05}.warc.zst"
        data = (folder / name).read_bytes()
        found.append((data, assert_right(data, **options)))
    return found


def own_records(pieces: list[list[FoundRecord]]) -> list[tuple[bytes, bytes]]:
    """The records of all pieces without the warcinfo records that begin all but the first."""
    records = [pieces[0], *(piece[1:] for piece in pieces[1:])]
    return [(record.header, record.block) for piece in records for record in piece]


def divide(folder: Path, source, **options) -> Splitting:
    return split(source, folder / "part.warc.zst", **options)


# What the pieces hold.


@pytest.mark.parametrize("size", [LEAST, 100_000, 200_000, 500_000, 10_000_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_hold_all_records_in_order_up_to_the_size(tmp_path, size, threads) -> None:
    done = divide(tmp_path, stored(*RECORDS), max_size=size, threads=threads)
    pieces = parts_in(tmp_path)
    assert own_records([found for _, found in pieces]) == list(RECORDS)
    for data, found in pieces:
        assert (found[0].header, found[0].block) == INFO
        assert len(data) <= size or len(found) == 2
    assert done.pieces == tuple(
        Piece(str(tmp_path / name), len(found), len(data))
        for name, (data, found) in zip(sorted(os.listdir(tmp_path)), pieces, strict=True)
    )
    assert done.records == len(RECORDS)
    assert (done.bytes_recompressed, done.recompressed, done.verified) == (0, (), True)


def test_pieces_are_as_full_as_they_can_be(tmp_path) -> None:
    divide(tmp_path, stored(*RECORDS), max_size=150_000)
    pieces = parts_in(tmp_path)
    for (data, _), (_, following) in pairwise(pieces):
        next_size = sum(frame.size for frame in [*following[1].frames, *following[1].following])
        assert len(data) + next_size + 24 * len(following[1].frames) + 24 > 150_000


def test_a_larger_record_gets_a_piece_of_its_own(tmp_path) -> None:
    divide(tmp_path, stored(*RECORDS), max_size=100_000)
    for data, found in parts_in(tmp_path):
        if len(data) > 100_000:
            assert len(found) == 2
            assert (found[1].header, found[1].block) in (LARGE, HTTP)


@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_pieces_have_the_given_number_of_records(tmp_path, count) -> None:
    divide(tmp_path, stored(*RECORDS), max_records=count)
    pieces = [found for _, found in parts_in(tmp_path)]
    assert own_records(pieces) == list(RECORDS)
    assert [len(pieces[0]), *(len(piece) - 1 for piece in pieces[1:])] == [
        min(count, len(RECORDS) - start) for start in range(0, len(RECORDS), count)
    ]


def test_whichever_limit_is_reached_first_counts(tmp_path) -> None:
    divide(tmp_path, stored(*RECORDS), max_records=4, max_size=100_000)
    pieces = parts_in(tmp_path)
    assert {len(found) for _, found in pieces[1:]} >= {5, 2}
    assert own_records([found for _, found in pieces]) == list(RECORDS)


@pytest.mark.parametrize("options", [{"max_size": 100_000}, {"max_records": 3}])
def test_pieces_without_repetition_join_to_the_file(tmp_path, options) -> None:
    whole = stored(*RECORDS)
    done = divide(tmp_path, whole, repeat_warcinfo=False, **options)
    pieces = [data for data, _ in parts_in(tmp_path)]
    assert b"".join(decompressed(data) for data in pieces) == plain(*RECORDS)
    assert sum(piece.records for piece in done.pieces) == len(RECORDS)
    target = io.BytesIO()
    concat(pieces, target)
    assert decompressed(target.getvalue()) == plain(*RECORDS)


def test_compressed_bytes_of_records_do_not_change(tmp_path) -> None:
    whole, places = written(*RECORDS, frame_size=FRAME)
    slices = {
        record: whole[p.offset : p.offset + p.length] for record, p in zip(RECORDS, places, strict=True)
    }
    divide(tmp_path, whole, max_size=100_000)
    for name in os.listdir(tmp_path):
        data = (tmp_path / name).read_bytes()
        with seekwarc.open(data) as archive:
            for record in archive:
                before = slices[record.header.raw, record.block.read()]
                assert data[record.offset : record.offset + record.length] == before


def test_a_file_that_fits_is_one_identical_piece(tmp_path) -> None:
    whole = stored(*RECORDS)
    done = divide(tmp_path, whole, max_size=1 << 30)
    assert len(done.pieces) == 1
    assert (tmp_path / "part-00000.warc.zst").read_bytes() == whole


# Warcinfo records.


def test_each_piece_begins_with_its_warcinfo_record(tmp_path) -> None:
    second = warcinfo(2000)
    records = [INFO, *SMALL[:4], second, *SMALL[4:10]]
    divide(tmp_path, stored(*records), max_records=3)
    pieces = [found for _, found in parts_in(tmp_path)]
    heads = [(piece[0].header, piece[0].block) for piece in pieces]
    # The second piece ends with the second warcinfo record.
    assert heads == [INFO, INFO, second, second]
    assert pieces[1][-1].block == second[1]
    assert own_records(pieces) == records


def test_a_piece_with_its_own_warcinfo_record_gets_no_other(tmp_path) -> None:
    records = [INFO, SMALL[0], warcinfo(2000), SMALL[1]]
    divide(tmp_path, stored(*records), max_records=2)
    pieces = [found for _, found in parts_in(tmp_path)]
    assert [(r.header, r.block) for piece in pieces for r in piece] == records


def test_without_a_warcinfo_record_none_is_repeated(tmp_path) -> None:
    divide(tmp_path, stored(*SMALL), max_records=7)
    pieces = [found for _, found in parts_in(tmp_path)]
    assert [(r.header, r.block) for piece in pieces for r in piece] == SMALL


def test_a_repeated_warcinfo_record_is_identical(tmp_path) -> None:
    whole = stored(*RECORDS)
    divide(tmp_path, whole, max_records=3)
    frame = walk(whole)[0].data
    assert all((tmp_path / name).read_bytes().startswith(frame) for name in os.listdir(tmp_path))


def test_extension_frames_of_a_warcinfo_are_not_repeated(tmp_path) -> None:
    header, block = INFO
    made = Foreign().record(block, header=header).extension(data=b"once").record(b"1").record(b"2")
    divide(tmp_path, made.bytes(), max_records=2)
    (_, first), (_, second) = parts_in(tmp_path)
    assert len(first[0].extensions) == 1
    assert [record.extensions for record in second] == [[], []]


def test_a_recompressed_warcinfo_record_is_repeated(tmp_path) -> None:
    header, block = INFO
    made = Foreign().record(block, header=header, checksum=False).record(b"1").record(b"2").record(b"3")
    done = divide(tmp_path, made.bytes(), max_records=1)
    pieces = [found for _, found in parts_in(tmp_path)]
    assert [[r.block for r in piece] for piece in pieces] == [
        [block],
        [block, b"1"],
        [block, b"2"],
        [block, b"3"],
    ]
    assert done.recompressed == (Recompressed("<bytes>", "a frame has no checksum", 1),)
    assert done.records == 4


def test_a_huge_warcinfo_record_is_not_repeated(tmp_path) -> None:
    large = (warc_header(2_000_000, kind="warcinfo"), text(2_000_000))
    divide(tmp_path, stored(INFO, SMALL[0], large, SMALL[1], SMALL[2]), max_records=1)
    pieces = [found for _, found in parts_in(tmp_path)]
    assert [len(piece) for piece in pieces] == [1, 2, 1, 1, 1]


# The first record of a piece.


@pytest.mark.parametrize("record", [LARGE, HTTP])
def test_a_piece_with_a_large_first_record_has_a_safe_table(tmp_path, record) -> None:
    """Its header must not have a frame of its own there (spec-notes, annex A.2)."""
    whole = stored(SMALL[0], record, SMALL[1])
    done = divide(tmp_path, whole, max_records=1)
    pieces = parts_in(tmp_path)
    assert [(r.header, r.block) for _, found in pieces for r in found] == [SMALL[0], record, SMALL[1]]
    large = pieces[1][1][0]
    assert large.frames[0].content != record[0]
    before = [frame.data for frame in walk(whole) if frame.is_data][1:-1]
    made_anew = 1 if record is HTTP else 2
    assert [frame.data for frame in large.frames][made_anew:] == before[2:]
    assert done.bytes_recompressed <= len(record[0]) + FRAME
    assert [it.records for it in done.recompressed] == [1]


def test_a_large_record_after_warcinfo_is_copied_unchanged(tmp_path) -> None:
    whole, places = written(INFO, LARGE, LARGE, frame_size=FRAME)
    done = divide(tmp_path, whole, max_records=1)
    assert done.bytes_recompressed == 0
    last = (tmp_path / "part-00002.warc.zst").read_bytes()
    assert whole[places[2].offset : places[2].offset + places[2].length] in last


# Other files.


@pytest.mark.parametrize("compress", [True, False])
def test_each_piece_has_the_dictionary(tmp_path, compress) -> None:
    dictionary = small_dictionary()
    whole = stored(*RECORDS, dictionary=dictionary, compress_dictionary=compress)
    divide(tmp_path, whole, max_size=100_000)
    pieces = parts_in(tmp_path, dictionary=dictionary.data)
    assert own_records([found for _, found in pieces]) == list(RECORDS)
    frame = dictionary.frame(compress=compress)
    assert all(data.startswith(frame) for data, _ in pieces)
    assert all(len(data) <= 100_000 or len(found) == 2 for data, found in pieces)


def test_tables_for_each_record_are_kept(tmp_path) -> None:
    divide(tmp_path, stored(*RECORDS, tables="every"), max_size=100_000)
    pieces = parts_in(tmp_path, tables="every")
    assert own_records([found for _, found in pieces]) == list(RECORDS)


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_other_compressions_become_pieces_too(tmp_path, form) -> None:
    made = Foreign()
    for header, block in RECORDS:
        made.record(block, header=header)
    said = []
    data = getattr(made, form)().bytes()
    done = divide(tmp_path, data, max_size=150_000, on_warning=said.append)
    pieces = parts_in(tmp_path)
    assert own_records([found for _, found in pieces]) == list(RECORDS)
    assert all(len(data) <= 150_000 or len(found) == 2 for data, found in pieces)
    assert said == ["<bytes>: the file is not a .warc.zst: its records will be compressed again"]
    assert [it.records for it in done.recompressed] == [len(RECORDS)]
    assert done.bytes_copied == 0


def test_invalid_frames_are_recompressed(tmp_path) -> None:
    made = Foreign({"content_size": False})
    for header, block in RECORDS:
        made.record(block, header=header)
    divide(tmp_path, made.bytes(), max_size=150_000)
    pieces = parts_in(tmp_path)
    assert own_records([found for _, found in pieces]) == list(RECORDS)
    assert all(len(data) <= 150_000 or len(found) == 2 for data, found in pieces)


def test_a_pipe_can_be_split(tmp_path) -> None:
    divide(tmp_path, Pipe(stored(*RECORDS)), max_size=100_000)
    assert own_records([found for _, found in parts_in(tmp_path)]) == list(RECORDS)


# Names.


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("a.warc.zst", "a-00000.warc.zst"),
        ("a.zst", "a-00000.zst"),
        ("A.WARC.ZST", "A-00000.WARC.ZST"),
        ("a.warc.zstd", "a-00000.warc.zstd"),
        ("a", "a-00000.warc.zst"),
        ("a.b", "a.b-00000.warc.zst"),
        ("2026-11", "2026-11-00000.warc.zst"),
        ("a.warc.zst.old", "a.warc.zst.old-00000.warc.zst"),
    ],
)
def test_pieces_are_numbered(tmp_path, monkeypatch, pattern, name) -> None:
    data = stored(*SMALL)
    monkeypatch.chdir(tmp_path)
    assert split(data, pattern, max_records=1000).pieces[0].name == name
    assert os.listdir() == [name]


@pytest.mark.parametrize("pattern", ["a.warc.gz", "a.gz", "a.warc", "A.WARC"])
def test_names_of_other_compressions_are_refused(tmp_path, pattern) -> None:
    with pytest.raises(ValueError, match=r"the pieces are \.warc\.zst files"):
        split(stored(*SMALL), tmp_path / pattern, max_records=1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("pattern", ["", "/"])
def test_a_folder_is_refused_as_pattern(tmp_path, pattern) -> None:
    with pytest.raises(ValueError, match="is a folder"):
        split(stored(*SMALL), f"{tmp_path}{pattern}", max_records=1)


@pytest.mark.parametrize("number", [0, 2])
def test_existing_pieces_are_refused(tmp_path, number) -> None:
    """Not even pieces of an earlier run, since pieces of both would pass for pieces of one."""
    path = tmp_path / f"part-{number:05}.warc.zst"
    path.write_bytes(b"mine")
    with pytest.raises(TargetError, match=f"{path}: exists already"):
        divide(tmp_path, stored(*RECORDS), max_records=3)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"mine"


def test_earlier_pieces_are_replaced_with_overwrite(tmp_path) -> None:
    divide(tmp_path, stored(*SMALL[:2]), max_records=1)
    before = [(tmp_path / name).read_bytes() for name in sorted(os.listdir(tmp_path))]
    divide(tmp_path, stored(*reversed(SMALL[:2])), max_records=1, existing="overwrite")
    after = [(tmp_path / name).read_bytes() for name in sorted(os.listdir(tmp_path))]
    assert after == before[::-1]


def test_left_over_pieces_of_a_longer_run_are_refused(tmp_path) -> None:
    divide(tmp_path, stored(*SMALL), max_records=1)
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    left_over = tmp_path / "part-00001.warc.zst"
    with pytest.raises(TargetExistsError, match=f"{left_over}: exists already; remove it"):
        divide(tmp_path, stored(SMALL[0]), max_records=1, existing="overwrite")
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_a_piece_that_another_process_made_meanwhile_stays(tmp_path, monkeypatch) -> None:
    path = tmp_path / "part-00001.warc.zst"
    link = os.link

    def late(source: str, target: str) -> None:
        if target == str(path):
            path.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(TargetExistsError):
        divide(tmp_path, stored(*SMALL), max_records=1)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"theirs"


# What goes wrong.


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "max_size or max_records"),
        ({"max_size": 0}, "max_size is 0, not 65536 or more"),
        ({"max_size": 1}, "max_size is 1, not 65536 or more"),
        ({"max_size": -5}, "max_size is -5"),
        ({"max_records": 0}, "max_records is 0, not 1 or more"),
        ({"max_records": -1}, "max_records is -1"),
    ],
    ids=str,
)
def test_invalid_limits_are_refused(tmp_path, options, told) -> None:
    with pytest.raises(ValueError, match=told):
        divide(tmp_path, stored(*RECORDS), **options)
    assert os.listdir(tmp_path) == []


def test_damage_leaves_no_piece(tmp_path) -> None:
    whole = bytearray(stored(*RECORDS))
    whole[300_000] ^= 1
    with pytest.raises(ChecksumError, match=r"^<bytes>, offset \d+: "):
        divide(tmp_path, bytes(whole), max_size=64 * KIB)
    assert os.listdir(tmp_path) == []
    divide(tmp_path, bytes(whole), max_size=64 * KIB, verify=False)
    assert len(os.listdir(tmp_path)) > 5


def test_a_cut_file_leaves_no_piece(tmp_path) -> None:
    with pytest.raises(FormatError):
        divide(tmp_path, stored(*RECORDS)[:-10_000], max_records=2)
    assert os.listdir(tmp_path) == []


class Watched(io.BytesIO):
    """A source that does something whenever it is read."""

    def __init__(self, data: bytes, do: Callable[[], object]) -> None:
        super().__init__(data)
        self._do = do

    def read(self, size: int | None = -1) -> bytes:
        self._do()
        return super().read(size)


def test_an_interruption_leaves_no_piece(tmp_path) -> None:
    def stop() -> None:
        if len(list(tmp_path.rglob(".part-*"))) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        divide(tmp_path, Watched(stored(*RECORDS), stop), max_size=64 * KIB)
    assert os.listdir(tmp_path) == []


def test_no_piece_has_its_name_before_all_are_finished(tmp_path) -> None:
    seen: set[str] = set()
    source = Watched(stored(*RECORDS), lambda: seen.update(os.listdir(tmp_path)))
    divide(tmp_path, source, max_records=1)
    assert [name for name in seen if not name.startswith(".")] == []
    assert len(os.listdir(tmp_path)) == len(RECORDS)


def test_a_file_that_appeared_meanwhile_is_not_replaced(tmp_path) -> None:
    def take() -> None:
        if list(tmp_path.rglob(".part-00003.*")):
            (tmp_path / "part-00002.warc.zst").write_bytes(b"mine")

    with pytest.raises(TargetError, match=r"part-00002\.warc\.zst: another process made a file of this name"):
        divide(tmp_path, Watched(stored(*RECORDS), take), max_size=64 * KIB)
    assert os.listdir(tmp_path) == ["part-00002.warc.zst"]
    assert (tmp_path / "part-00002.warc.zst").read_bytes() == b"mine"


def test_a_failed_rename_leaves_no_piece(tmp_path, monkeypatch) -> None:
    for name in ("link", "rename"):
        give_name = getattr(os, name)

        def refuse(source: str, target: str, give_name=give_name) -> None:
            if target.endswith("-00003.warc.zst"):
                raise OSError(errno.ENOSPC, "No space left on device")
            give_name(source, target)

        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(TargetError, match=r"part-00003\.warc\.zst: cannot be written: No space left"):
        divide(tmp_path, stored(*RECORDS), max_records=1)
    assert os.listdir(tmp_path) == []


def test_a_link_at_a_piece_s_name_is_not_followed(tmp_path) -> None:
    (tmp_path / "part.warc.zst").symlink_to(tmp_path / "missing" / "elsewhere")
    divide(tmp_path, stored(*SMALL), max_records=1000)
    assert sorted(os.listdir(tmp_path)) == ["part-00000.warc.zst", "part.warc.zst"]


def test_a_file_without_records_makes_no_piece(tmp_path) -> None:
    made = Foreign().empty().extension()
    with pytest.raises(FormatError, match="the file has no record"):
        divide(tmp_path, made.bytes(), max_records=1)
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_an_error(tmp_path) -> None:
    with pytest.raises(TargetError, match="cannot be written: No such file"):
        divide(tmp_path / "missing", stored(*RECORDS), max_records=1)


# Any files.


@pytest.mark.slow
@given(
    made=st.lists(layouts(), min_size=1, max_size=3),
    records=st.one_of(st.none(), st.integers(1, 5)),
    repeat=st.booleans(),
    infos=st.sets(st.integers(0, 10)),
)
@settings(max_examples=rounds(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_generated_file_can_be_split(
    made: list[Foreign], records: int | None, repeat: bool, infos: set[int]
) -> None:
    first = made[0]
    whole = first.bytes()
    if "dictionary" not in first.frame_options:
        for number, other in enumerate(made[1:]):
            if "dictionary" not in other.frame_options:
                header, block = warcinfo(number)
                whole += (
                    Foreign().record(block, header=header, checksum=number in infos).bytes() + other.bytes()
                )
    dictionary = first.frame_options.get("dictionary")
    codec = dictionary.as_bytes() if dictionary else None
    with tempfile.TemporaryDirectory() as folder:
        options = {"max_records": records} if records else {"max_size": LEAST}
        done = split(whole, Path(folder, "part"), repeat_warcinfo=repeat, **options)
        pieces = [Path(piece.name).read_bytes() for piece in done.pieces]
        assert [len(piece) for piece in pieces] == [piece.size for piece in done.pieces]
        assert sorted(os.listdir(folder)) == [Path(piece.name).name for piece in done.pieces]
    with seekwarc.open(whole) as archive:
        expected = [(record.header.raw, record.block.read()) for record in archive]
    with parts_of([whole], None, ReadOptions()) as parts:
        tables = settings_of(parts, lambda _: None, verify=True).tables
    found = [assert_right(data, dictionary=codec, tables=tables) for data in pieces]
    again = []
    governing = None
    for number, piece in enumerate(found):
        part = [(record.header, record.block) for record in piece]
        if number and governing and repeat and b"warcinfo" not in expected[len(again)][0]:
            assert part[0] == governing
            part = part[1:]
        assert len(part) <= (records or len(part))
        again += part
        infos_here = [record for record in part if b"WARC-Type: warcinfo" in record[0]]
        governing = infos_here[-1] if infos_here else governing
    assert again == expected
    assert done.records == len(expected)
