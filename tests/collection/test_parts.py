"""Resources that were captured in parts, read as a whole (RFC 9110, section 15.3.7.3)."""

from __future__ import annotations

import copy
import gzip
import pickle
import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import Collection, HoleError, JoinedParts, NotFoundError, SegmentError
from tests.support.partial import BEGIN, MODIFIED, TAG, URI, PartsWriter
from tests.support.rounds import rounds
from tests.support.work import at_most_calls
from tests.support.writing import noise

FILM = noise(40_000)
VIDEO = "https://r3---sn-4g5.googlevideo.com/videoplayback?id=o-A&itag=137&clen=40000"


def joined(data: bytes, uri: str = URI, **options) -> JoinedParts:
    """Return the joined record; the collection stays open as long as the record is used."""
    record = Collection(data).open_record(uri=uri, joined=True, **options)
    assert isinstance(record, JoinedParts)
    return record


def test_parts_out_of_order_are_the_film() -> None:
    out = PartsWriter(FILM)
    for start, stop in ((30_000, 40_000), (0, 10_000), (9_000, 30_500)):
        out.part(start, stop)
    film = joined(out.done())
    assert film.payload.size == film.held == len(FILM)
    assert film.payload.holes == ()
    assert film.payload.read() == FILM
    assert film.payload.pread(9_990, 20_020) == FILM[9_990:30_010]
    assert [it.http["Content-Range"].split("/")[0] for it in film.parts] == [
        "bytes 0-9999",
        "bytes 9000-30499",
        "bytes 30000-39999",
    ]
    assert film.is_proved
    assert film.payload.media_type.essence == "video/mp4"
    with film.payload.open() as file:
        assert file.seek(-100, 2) == len(FILM) - 100
        assert file.read() == FILM[-100:]
    film.check_overlaps()


def test_without_joined_a_part_is_what_is_stored() -> None:
    out = PartsWriter(FILM)
    out.part(0, 100)
    out.part(100, 200)
    data = out.done()
    assert Collection(data).open_record(uri=URI).payload.read() == FILM[100:200]
    assert joined(data).block.read() == Collection(data).open_record(uri=URI).block.read()


def test_a_read_of_a_hole_names_what_is_missing() -> None:
    out = PartsWriter(FILM)
    out.part(0, 10_000)
    out.part(20_000, 30_000)
    film = joined(out.done())
    assert film.payload.holes == ((10_000, 20_000), (30_000, 40_000))
    assert film.held == 20_000
    assert film.payload.pread(9_000, 1_000) == FILM[9_000:10_000]
    assert film.payload.pread(20_000, 10_000) == FILM[20_000:30_000]
    for start, length, hole in (
        (9_999, 2, (10_000, 20_000)),
        (15_000, 1, (10_000, 20_000)),
        (0, 40_000, (10_000, 20_000)),
        (29_000, 10**9, (30_000, 40_000)),
    ):
        with pytest.raises(HoleError, match=f"bytes {hole[0]} to {hole[1] - 1} of {URI}") as caught:
            film.payload.pread(start, length)
        assert (caught.value.start, caught.value.stop) == hole
    assert film.payload.plan(0, 40_000).bytes_fetched > 0
    with pytest.raises(HoleError):
        film.payload.read()


SPANS = st.lists(
    st.tuples(st.integers(0, 2_900), st.integers(1, 900)).map(lambda it: (it[0], min(sum(it), 3_000))),
    min_size=1,
    max_size=8,
)


@settings(max_examples=rounds(30))
@given(SPANS, st.data())
def test_every_range_is_the_films_or_a_hole(spans: list[tuple[int, int]], data: st.DataObject) -> None:
    film = FILM[:3_000]
    out = PartsWriter(film)
    for start, stop in spans:
        out.part(start, stop)
    made = out.done()
    with Collection(made) as crawl:
        record = crawl.open_record(uri=URI, joined=True)
        held = {byte for span in spans for byte in range(*span)}
        start = data.draw(st.integers(0, 3_000))
        stop = data.draw(st.integers(start, 3_000))
        if isinstance(record, JoinedParts):
            assert record.held == len(held)
        if held.issuperset(range(start, stop)):
            assert record.payload.pread(start, stop - start) == film[start:stop]
        else:
            with pytest.raises(HoleError):
                record.payload.pread(start, stop - start)


def test_parts_that_differ_where_both_have_bytes_are_refused() -> None:
    out = PartsWriter(FILM)
    out.part(0, 20_000)
    out.part(10_000, 40_000, body=FILM[10_000:15_000] + b"!" + FILM[15_001:])
    film = joined(out.done())
    # Opening compares nothing; what only one part has is read until the difference is found.
    assert film.payload.pread(0, 10_000) == FILM[:10_000]
    assert film.payload.pread(10_000, 5_000) == FILM[10_000:15_000]
    with pytest.raises(SegmentError, match="bytes 15000 to 15009 differ"):
        film.payload.pread(15_000, 10)
    with pytest.raises(SegmentError, match="differ"):
        film.payload.pread(0, 10)
    again = joined(_differing())
    with pytest.raises(SegmentError, match="differ"):
        again.check_overlaps()


def _differing() -> bytes:
    out = PartsWriter(FILM)
    out.part(0, 40_000 - 1)
    for _ in range(30):
        out.part(5, 50)
    out.part(5, 50, body=bytes(45))
    return out.done()


def test_a_complete_answer_wins_over_parts() -> None:
    out = PartsWriter(FILM)
    out.add(200, FILM, ("ETag", TAG), ("Content-Length", "40000"))
    out.part(0, 100, body=bytes(100))
    film = joined(out.done())
    assert film.payload.read() == FILM
    assert [it.http.status for it in film.parts] == [200]


@pytest.mark.parametrize(
    "options",
    [
        {"etag": '"two"'},
        {"etag": f"W/{TAG}"},
        {"total": 40_001},
        {"total": "*"},
        {"uri": URI + "2"},
        {"body": FILM[:9_999]},
        {"body": FILM[:10_001]},
        {"more": ("Content-Encoding", "br")},
    ],
)
def test_parts_of_something_else_are_left_out(options: dict) -> None:
    out = PartsWriter(FILM)
    more = options.pop("more", None)
    out.part(0, 10_000, *([more] if more else []), **options)
    out.part(10_000, 20_000)
    film = joined(out.done())
    assert film.payload.holes == ((0, 10_000), (20_000, 40_000))


def test_an_answer_of_several_ranges_is_several_parts() -> None:
    out = PartsWriter(FILM)
    out.several((30_000, 40_000), (0, 9_000), (8_000, 20_000))
    out.part(15_000, 31_000)
    data = out.done()
    film = joined(data, date=BEGIN.isoformat())
    assert film.payload.read() == FILM
    assert film.ranges == ((0, 9_000), (8_000, 20_000), (15_000, 31_000), (30_000, 40_000))
    assert film.payload.media_type.essence == "video/mp4"
    film.check_overlaps()
    assert pickle.loads(pickle.dumps(film)).payload.read() == FILM
    assert joined(data).payload.media_type.essence == "video/mp4"


@pytest.mark.parametrize(
    ("body", "held"),
    [
        (b"--xyz\r\nContent-Range: bytes 0-99/40000\r\n\r\n" + FILM[:100], []),
        (b"--xyz\r\nContent-Range: bytes 0-98/40000\r\n\r\n" + FILM[:100] + b"\r\n--xyz--", []),
        (b"--xyz\r\nContent-Range: bytes 0-99/40000\r\n\r\n" + FILM[:100] + b"\r\n--xy--", []),
        (
            b"preamble\r\n--xyz \r\ncontent-range:bytes 0-99/40000\r\n\r\n" + FILM[:100] + b"\r\n--xyz",
            [(0, 100)],
        ),
        (b"--xyz\r\nContent-Range: bytes 9-0/40000\r\n\r\n\r\n--xyz--", []),
        (b"--xyz\r\nContent-Type: video/mp4\r\n\r\n\r\n--xyz--", []),
        (b"--xyz" + bytes(9000), []),
        (b"", []),
    ],
)
def test_only_ranges_as_long_as_stated_are_parts(body: bytes, held: list[tuple[int, int]]) -> None:
    out = PartsWriter(FILM)
    out.several(body=body)
    out.part(20_000, 40_000)
    assert joined(out.done()).ranges == (*held, (20_000, 40_000))


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@given(st.data())
def test_several_ranges_with_a_changed_byte_give_no_other_bytes(data: st.DataObject) -> None:
    out = PartsWriter(FILM[:1000], compression="none")
    out.several((0, 300), (600, 1000))
    changed = bytearray(out.done())
    place = data.draw(st.integers(changed.index(b"--xyz"), len(changed) - 1))
    changed[place] ^= data.draw(st.integers(1, 255))
    try:
        film = Collection(bytes(changed)).open_record(uri=URI, joined=True)
    except seekwarc.SeekWarcError:
        return
    if isinstance(film, JoinedParts):
        for start, stop in film.ranges:
            pairs = zip(film.payload.pread(start, stop - start), FILM[start:stop], strict=True)
            differing = sum(one != other for one, other in pairs)
            assert differing <= 1


def test_without_a_strong_tag_only_captures_of_an_hour_belong_together() -> None:
    out = PartsWriter(FILM)
    for minute, start in ((0, 0), (59, 10_000), (61, 20_000)):
        out.part(start, start + 10_000, etag=None, date=BEGIN + timedelta(minutes=minute))
    data = out.done()
    late, early = joined(data), joined(data, date="2026-11-16T12:00:00Z")
    assert late.payload.holes == ((0, 20_000), (30_000, 40_000))
    assert early.payload.holes == ((20_000, 40_000),)
    assert not early.is_proved
    out = PartsWriter(FILM)
    out.part(0, 10, etag=None, modified=None)
    assert not isinstance(Collection(out.done()).open_record(uri=URI, joined=True), JoinedParts)


def test_an_answer_to_another_method_is_no_part() -> None:
    out = PartsWriter(FILM)
    for method, start in (("GET", 0), ("POST", 10_000)):
        part = out.part(start, start + 10_000)
        out.out.write_request(URI, f"{method} / HTTP/1.1\r\n\r\n".encode(), concurrent_to=part)
    assert joined(out.done(), date=BEGIN.isoformat()).payload.holes == ((10_000, 40_000),)


def test_parts_that_are_revisits_have_the_payload_of_their_original(tmp_path) -> None:
    out = PartsWriter(FILM, dedup=seekwarc.Duplicates())
    out.part(0, 20_000, etag='"old"')
    revisit = out.part(0, 20_000)
    assert revisit.type == "revisit"
    out.part(20_000, 40_000)
    film = joined(out.done())
    assert film.payload.read() == FILM
    assert pickle.loads(pickle.dumps(film)).payload.pread(19_999, 2) == FILM[19_999:20_001]


def test_a_film_in_the_uris_of_a_video_host() -> None:
    out = PartsWriter(FILM)
    for number, start in enumerate((20_000, 0, 10_000)):
        uri = f"{VIDEO}&range={start}-{start + 9_999}&rn={number}&rbuf=0"
        out.add(200, FILM[start : start + 10_000], ("Last-Modified", MODIFIED), uri=uri)
    data = out.done()
    film = joined(data, VIDEO)
    assert film.payload.holes == ((30_000, 40_000),)
    assert film.payload.pread(0, 30_000) == FILM[:30_000]
    assert not film.is_proved
    assert joined(data, f"{VIDEO}&range=0-9999&rn=1&rbuf=0").payload.pread(0, 30_000) == FILM[:30_000]
    with pytest.raises(NotFoundError):
        Collection(data).open_record(uri=VIDEO)


def test_bytestart_and_byteend_are_no_part_of_the_uri() -> None:
    out = PartsWriter(FILM)
    for start in (20_000, 0):
        out.part(start, start + 20_000, uri=f"{URI}?oh=1&bytestart={start}&byteend={start + 19_999}")
    assert joined(out.done(), f"{URI}?oh=1").payload.read() == FILM


def test_coded_parts_are_decoded_after_they_were_joined() -> None:
    coded = gzip.compress(FILM, mtime=0)
    out = PartsWriter(coded)
    for start in range(0, len(coded), 10_000):
        out.part(start, min(start + 10_000, len(coded)), ("Content-Encoding", "gzip"))
    film = joined(out.done())
    assert film.payload.codings == ("gzip",)
    assert film.payload.read(decoded=True) == FILM


def test_chunked_parts_have_the_length_of_their_data() -> None:
    out = PartsWriter(FILM)
    for start in (0, 20_000):
        body = b"4e20\r\n%s\r\n0\r\n\r\n" % FILM[start : start + 20_000]
        out.part(start, start + 20_000, ("Transfer-Encoding", "chunked"), body=body)
    assert joined(out.done()).payload.read() == FILM


def test_a_part_that_is_cut_off_is_a_hole() -> None:
    out = PartsWriter(FILM, compression=None)
    out.part(0, 20_000)
    out.part(20_000, 40_000)
    with pytest.warns(seekwarc.FormatWarning, match="damaged"):
        film = joined(out.done()[:-5_000])
    assert film.payload.holes == ((20_000, 40_000),)


def test_parts_in_several_files(tmp_path) -> None:
    for number, start in enumerate((0, 20_000)):
        out = PartsWriter(FILM)
        out.part(start, start + 20_000)
        (tmp_path / f"{number}.warc.zst").write_bytes(out.done())
    with Collection(sorted(tmp_path.iterdir())) as crawl:
        film = crawl.open_record(uri=URI, joined=True)
        assert film.payload.read() == FILM
        assert copy.deepcopy(film).payload.read() == FILM


def test_a_total_of_exabytes_costs_nothing() -> None:
    out = PartsWriter(FILM)
    out.part(0, 10_000, total=10**18 - 1)
    film = joined(out.done())
    assert film.payload.size == 10**18 - 1
    assert film.payload.holes == ((10_000, 10**18 - 1),)
    with pytest.raises(HoleError):
        film.payload.read()
    assert film.payload.pread(9_990, 10) == FILM[9_990:10_000]


@pytest.mark.slow
def test_thousands_of_parts_that_overlap_are_read_in_linear_time() -> None:
    count, length = 1_000, 700
    out = PartsWriter(FILM)
    for number in random.Random(1).sample(range(count), count):
        out.part(number, number + length)
    data = out.done()
    with at_most_calls(1500 * count):
        film = joined(data)
        assert film.payload.pread(0, count + length - 1) == FILM[: count + length - 1]
        film.check_overlaps()
