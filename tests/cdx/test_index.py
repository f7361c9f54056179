"""Looking captures up in an index, and opening their records."""

from __future__ import annotations

import gc
import hashlib
import io
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Index, Stats
from seekwarc.cdx import index as module
from seekwarc.errors import FormatError, SeekWarcError, SourceError, UnsupportedError
from seekwarc.format.seektable import TableReference, TableTrust
from seekwarc.format.surt import browser_key
from seekwarc.make.indexing import index
from seekwarc.read.zstd_body import table_choice
from tests.support.cdx import browsers_cluster, cdxj_line, many_lines, tabbed_cluster, wacz_cluster
from tests.support.foreign import CRLF2, Entry, Foreign, cut, warc_header
from tests.support.leaks import open_below
from tests.support.rangeserver import RangeServer
from tests.support.sources import Pipe, RecordingSource
from tests.support.work import at_most_calls
from tests.support.writing import KIB, MIB, noise, text

PAGE = "http://example.org/page"
DATES = ["20200101000000", "20210101000000", "20210601120000", "20220101000000", "20260101000000"]
HOSTS = [
    ("org,example)/", "http://example.org/"),
    ("org,example)/a", "http://example.org/a"),
    ("org,example)/a/b", "http://example.org/a/b"),
    ("org,example)/ab", "http://example.org/ab"),
    ("org,example,sub)/", "http://sub.example.org/"),
    ("org,example-2)/", "http://example-2.org/"),
    ("org,example:8080)/", "http://example.org:8080/"),
    ("org,exampled)/", "http://exampled.org/"),
    ("urn:uuid:5", "urn:uuid:5"),
]


def by_date(*dates: str) -> bytes:
    lines = [cdxj_line("org,example)/page", date, url=PAGE, digest=f"sha1:{date}") for date in dates]
    around = [cdxj_line("org,example)/pag", "2021"), cdxj_line("org,example)/page2", "2021")]
    return b"".join(sorted(lines + around))


def dates(source: bytes, **options: str) -> list[str]:
    with Index(source) as found:
        return [capture.timestamp for capture in found.lookup(PAGE, **options)]


def test_captures_come_in_the_order_of_their_dates() -> None:
    assert dates(by_date(*DATES)) == DATES


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2021", None, DATES[1:]),
        (None, "2021", DATES[:3]),
        ("2021", "2021", DATES[1:3]),
        ("2021-01-02", "2022", DATES[2:4]),
        ("20210601120000", "20210601120000", DATES[2:3]),
        ("20210601120001", "2021", []),
        ("2021-06-01T12:00:00Z", "2021-06-01T12:00:00Z", DATES[2:3]),
        ("2022", "2021", []),
        ("1999", "1999", []),
        ("2099", None, []),
    ],
)
def test_dates_are_bounds_and_short_ones_include_the_whole_period(
    since: str, until: str, expected: list[str]
) -> None:
    given = {name: date for name, date in {"since": since, "until": until}.items() if date is not None}
    assert dates(by_date(*DATES), **given) == expected
    assert sorted(dates(by_date(*DATES), closest="2021", **given)) == expected
    with Index(by_date(*DATES)) as found:
        captures = found.lookup(PAGE, match="prefix", **given)
        assert [it.timestamp for it in captures if it.uri == PAGE] == expected


@pytest.mark.parametrize("closest", ["1999", "2021", "20210317", "2021-06-01T12:00:00Z", "2024", "9999"])
def test_the_closest_come_first(closest: str) -> None:
    found = dates(by_date(*DATES), closest=closest)
    wanted = seekwarc.format.dates.date_of_digits(seekwarc.format.cdxj.date_digits(closest)).nanoseconds

    def distance(date: str) -> int:
        return abs(seekwarc.format.dates.date_of_digits(date).nanoseconds - wanted)

    assert found == sorted(DATES, key=distance)


def test_the_closest_of_very_many_take_few_reads() -> None:
    moments = [f"{2000 + n // 3600}010100{n // 60 % 60:02}{n % 60:02}" for n in range(72_000)]
    lines = [cdxj_line("org,example)/page", moment, url=PAGE) for moment in moments]
    source = RecordingSource(b"".join(lines), "a.cdxj")
    assert lines == sorted(lines)
    with Index(source) as found:
        captures = found.lookup(PAGE, closest="2010", since="2005", until="2015")
        assert next(captures).timestamp == "20100101000000"
        assert len(source.requests) < 14


@pytest.mark.parametrize(
    ("uri", "match", "expected"),
    [
        ("http://example.org/a", "exact", [1]),
        ("https://www.EXAMPLE.org:443/A/", "exact", [1]),
        ("http://example.org/a", "prefix", [1, 2, 3]),
        ("http://example.org/a/", "prefix", [2]),
        ("http://example.org/", "prefix", [0, 1, 2, 3]),
        ("http://example.org/a/b", "host", [0, 1, 2, 3]),
        ("example.org", "host", [0, 1, 2, 3]),
        ("example.org", "domain", [0, 1, 2, 3, 4]),
        ("sub.example.org", "domain", [4]),
        ("org", "domain", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("http://example.org:8080/", "host", [6]),
        ("urn:uuid:5", "exact", [8]),
        ("http://example.org/none", "exact", []),
        ("http://zzz.zz/", "prefix", []),
    ],
)
def test_a_match_may_be_wider_than_the_uri(uri: str, match: str, expected: list[int]) -> None:
    data = b"".join(sorted(cdxj_line(key, "2020", url=url) for key, url in HOSTS))
    with Index(data) as found:
        answer = {capture.uri for capture in found.lookup(uri, match=match)}
    assert answer == {HOSTS[number][1] for number in expected}


def test_wrong_arguments_are_refused() -> None:
    with Index(by_date(*DATES)) as found:
        with pytest.raises(ValueError, match="exact"):
            found.lookup(PAGE, match="prefix", closest="2020")
        with pytest.raises(ValueError, match="match is 'regex'"):
            found.lookup(PAGE, match="regex")
        with pytest.raises(ValueError, match="no host"):
            found.lookup("urn:uuid:5", match="host")
        for name in ("since", "until", "closest"):
            with pytest.raises(ValueError, match="not a date") as caught:
                found.lookup(PAGE, **{name: "soon"})
            assert not isinstance(caught.value, SeekWarcError), "nothing is wrong with the file"


@pytest.mark.parametrize("make", [tabbed_cluster, wacz_cluster])
def test_a_cluster_answers_as_the_plain_file(make: Callable, tmp_path: Path) -> None:
    lines = many_lines(600)
    (tmp_path / "plain.cdxj").write_bytes(b"".join(lines))
    with Index(make(tmp_path, lines)) as cluster, Index(tmp_path / "plain.cdxj") as plain:
        for number in range(0, 200, 17):
            uri = f"http://site{number % 97}.org/page/{number:07}"
            for options in ({}, {"closest": "2021"}, {"match": "host"}, {"since": "2021", "until": "2021"}):
                found = [it.fields for it in cluster.lookup(uri, **options)]
                assert found
                assert found == [it.fields for it in plain.lookup(uri, **options)]
        assert cluster.stats.requests > 0


@pytest.mark.parametrize("how", ["dateless", "overlapping", "no meta", "second"])
def test_a_cluster_of_the_tools_of_browsers_answers_as_the_plain_file(how: str, tmp_path: Path) -> None:
    rng = random.Random(how)
    heads = sorted((f"org,a)/{rng.randrange(8)}", f"20{n:02}0101000000") for n in range(90))
    lines = [
        cdxj_line(key, date, url=f"http://a.org/{key[-1]}", offset=n, filename="a.warc.gz")
        for n, (key, date) in enumerate(heads)
    ]
    plain = seekwarc.Index(b"".join(lines))
    with seekwarc.Index(browsers_cluster(tmp_path, lines, how=how, per_block=7)) as cluster:
        for number in range(8):
            uri = f"http://a.org/{number}"
            for options in ({}, {"since": "2040"}, {"until": "2040"}, {"closest": "2050"}):
                found = [line.fields["offset"] for line in cluster.lookup(uri, **options)]
                assert found == [line.fields["offset"] for line in plain.lookup(uri, **options)], options
        found = [line.fields["offset"] for line in cluster.lookup("a.org", match="host")]
        assert sorted(found, key=int) == [str(number) for number in range(90)]
        assert len(list(cluster)) == 90


KEYS = {
    "https://example.org/blog/": "org,example)/blog/",
    "https://example.org/": "org,example)/",
    "https://www.example.org/A/?u=https%3A%2F%2Fb.org%2F": "org,example)/a/?u=https%3a%2f%2fb.org%2f",
    "https://example.org//img/x%28y%29.png": "org,example)//img/x%28y%29.png",
    "https://example.org/p?a-b=2&a=1": "org,example)/p?a-b=2&a=1",
    "https://example.org/;jsessionid=0123456789abcdef0123456789abcdef": (
        "org,example)/;jsessionid=0123456789abcdef0123456789abcdef"
    ),
    "https://web.example/web/2020/https://a.example/": "example,web)/web/2020/https://a.example/",
}
"""URIs, and their keys as warcio.js makes them."""


def test_captures_are_found_by_the_keys_of_browsers() -> None:
    lines = [
        cdxj_line(key, f"202{day}0101000000", url=uri, offset=100 * n + day, filename="a.warc.gz")
        for n, (uri, key) in enumerate(KEYS.items())
        for day in (1, 2)
    ]
    index = seekwarc.Index(b"".join(sorted(lines)))
    for uri, key in KEYS.items():
        assert browser_key(uri) == key
        assert [line.uri for line in index.lookup(uri)] == [uri] * 2
        assert [line.uri for line in index.lookup(uri, until="2021")] == [uri]
        assert next(index.lookup(uri, closest="2022")).timestamp == "20220101000000"
        assert {line.uri for line in index.lookup(uri, match="prefix")} >= {uri}
    assert [line.uri for line in index.lookup("http://example.org/blog")] == ["https://example.org/blog/"] * 2
    assert len(list(index.lookup("example.org", match="host"))) == 12


def test_a_place_that_two_lines_name_is_one_capture() -> None:
    fields = {"url": "http://a.org/b/", "offset": 1, "filename": "a.warc.gz"}
    lines = [cdxj_line(key, "20200101000000", **fields) for key in ("org,a)/b", "org,a)/b/")]
    assert len(list(seekwarc.Index(b"".join(lines)).lookup("http://a.org/b"))) == 1


def test_an_empty_index_has_no_captures() -> None:
    assert dates(b"") == []


def test_header_lines_do_not_matter() -> None:
    assert dates(b'!meta 0 {"format": "cdxj"}\n' + by_date(*DATES)) == DATES


def test_a_malformed_line_is_reported_with_its_offset() -> None:
    data = by_date(*DATES)
    bad = data.replace(b'{"url": "http://example.org/page", "digest": "sha1:2022', b'{"url: "sha1:2022')
    with Index(bad) as found:
        captures = found.lookup(PAGE)
        assert [next(captures).timestamp for _ in range(3)] == DATES[:3]
        with pytest.raises(FormatError, match="malformed JSON") as caught:
            next(captures)
        assert bad[caught.value.offset or 0 :].startswith(b"org,example)/page 2022")
        assert caught.value.source == "<bytes>"


def test_a_date_that_is_invalid_is_reported_where_it_counts() -> None:
    data = by_date("20201399000000", "20210101000000")
    assert len(dates(data)) == 2
    with pytest.raises(FormatError, match="this line has an invalid date") as caught:
        dates(data, closest="2020")
    assert caught.value.offset is not None


def test_targets_that_cannot_be_searched_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"\.idx") as caught:
        Index(b"\x1f\x8b\x08rest")
    assert caught.value.source == "<bytes>"
    with pytest.raises(UnsupportedError, match="cdxj-gzip-9") as caught:
        Index(cdxj_line("!meta", "0", format="cdxj-gzip-9"))
    assert caught.value.source == "<bytes>"
    with pytest.raises(SourceError, match="cannot be searched"):
        Index(Pipe(b"a 2020 {}\n"))
    with pytest.raises(SourceError, match="cannot be opened"):
        Index(tmp_path / "none.cdxj")


# Records.


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A folder with two files and their index, made by seekwarc."""
    for number in (1, 2):
        with seekwarc.open(tmp_path / f"crawl-{number}.warc.zst", "w", frame_size=64 * KIB) as out:
            out.write_warcinfo({"software": "test"})
            for page in range(3):
                body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + text(500, seed=page)
                out.write_response(f"http://example.org/{page}", body, date=f"202{number}-01-01T00:00:00Z")
            film = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n" + noise(2_000_000, seed=number)
            out.write_response("http://example.org/film", film, date=f"202{number}-01-01T00:00:00Z")
    make_index(tmp_path)
    return tmp_path


def make_index(folder: Path) -> None:
    files = {path.name: path for path in sorted(folder.glob("*.warc*"))}
    problems: list[FormatError] = []
    index(files, folder / "crawl.cdxj", on_problem=problems.append)
    assert problems == []


def test_a_capture_opens_its_record(crawl: Path) -> None:
    with Index(crawl / "crawl.cdxj") as found:
        first, second = found.lookup("http://example.org/film")
        assert first.open().payload.pread(1_000_000, 100) == noise(2_000_000, seed=1)[1_000_000:1_000_100]
        assert second.open().payload.read() == noise(2_000_000, seed=2)
        assert (first.source, second.place > first.place) == (str(crawl / "crawl.cdxj"), True)


def test_a_capture_is_a_value(crawl: Path) -> None:
    with Index(crawl / "crawl.cdxj") as found:
        one, again = (next(found.lookup("http://example.org/0")) for _ in range(2))
        assert one == again
        assert one != next(found.lookup("http://example.org/1"))
        with pytest.raises(AttributeError):
            one.key = again.key  # type: ignore[misc]
        assert "_opened" not in repr(one)


def test_an_index_opens_records_of_entries(crawl: Path) -> None:
    with Index(crawl / "crawl.cdxj") as found:
        capture = next(iter(found))
        place = capture.filename, capture.offset, capture.length
        assert found.readers() == ()
        assert found.record(seekwarc.Entry(*place)).id == capture.open().id
        assert found.readers() == (found.reader(capture.filename),)
        with pytest.raises(FormatError, match="the index has http://elsewhere/ here"):
            found.record(seekwarc.Entry(*place, uri="http://elsewhere/"))


def test_the_files_may_be_elsewhere(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("index") / "moved.cdxj"
    (crawl / "crawl.cdxj").rename(other)
    with Index(other) as found, pytest.raises(SourceError, match=r"crawl-1\.warc\.zst"):
        next(found.lookup("http://example.org/0")).open()
    for files in (crawl, str(crawl) + "/"):
        with Index(other, files=files) as found:
            assert next(found.lookup("http://example.org/0")).open().payload.read() == text(500, seed=0)
    with (
        Index(other.read_bytes()) as found,
        pytest.raises(SeekWarcError, match=r"cannot locate .*; pass `files=`"),
    ):
        next(found.lookup("http://example.org/0")).open()
    with Index(io.BytesIO(other.read_bytes()), files=crawl) as found:
        assert next(found.lookup("http://example.org/0")).open().payload.read() == text(500, seed=0)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../a.warc",
        "a/../../b.warc",
        "http://10.0.0.1/a.warc",
        "a\0b",
        "a\\..\\b",
        "\\\\host\\a",
    ],
)
def test_an_index_opens_no_file_outside_its_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.cdxj"
    path.write_bytes(cdxj_line("org,example)/page", "2020", url=PAGE, offset="0", filename=name))
    with Index(path) as found, pytest.raises(FormatError, match="is outside the folder of its files"):
        next(found.lookup(PAGE)).open()


def test_a_part_of_a_cluster_is_in_its_folder_too(tmp_path: Path) -> None:
    path = tmp_path / "cluster.idx"
    path.write_bytes(b"a 2020\t/etc/passwd\t0\t10\t1\n")
    with Index(path) as found, pytest.raises(FormatError, match="is outside the folder of its files"):
        next(found.lookup("http://example.org/"))


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("https://example.org/a/b/crawl.cdxj", "https://example.org/a/b"),
        ("https://example.org/a/crawl.cdxj?X-Signature=abc#x", "https://example.org/a"),
        ("s3://bucket/crawl.cdxj", "s3://bucket"),
        ("folder/crawl.cdxj", "folder"),
        ("crawl.cdxj", "."),
        (b"", None),
    ],
)
def test_files_are_expected_beside_the_index(target: object, folder: str | None) -> None:
    assert module.folder_of(target) == folder


def test_a_line_with_the_place_of_another_record_is_reported(crawl: Path) -> None:
    data = (crawl / "crawl.cdxj").read_bytes()
    lines = [
        line.replace(b"org,example)/0 ", b"org,example)/0x ").replace(b"example.org/0", b"example.org/0x")
        for line in data.splitlines(keepends=True)
    ]
    with Index(b"".join(lines), files=crawl) as found:
        with pytest.raises(FormatError, match="the index is not of this file") as caught:
            next(found.lookup("http://example.org/0x")).open()
        assert caught.value.source == f"{crawl}/crawl-1.warc.zst"
    with Index(cdxj_line("org,example)/page", "2020", url=PAGE), files=crawl) as found:
        with pytest.raises(FormatError, match="names no file") as caught:
            next(found.lookup(PAGE)).open()
        assert (caught.value.source, caught.value.offset) == ("<bytes>", 0)
    with (
        Index(
            cdxj_line("org,example)/page", "2020", filename="crawl-1.warc.zst", offset="7"), files=crawl
        ) as found,
        pytest.raises(FormatError),
    ):
        next(found.lookup(PAGE)).open()


def test_opening_costs_what_a_reader_with_offset_and_length_costs(crawl: Path) -> None:
    with Index(crawl / "crawl.cdxj", cache_size=0) as found:
        capture = next(found.lookup("http://example.org/film"))
        record = capture.open()
        assert record.payload.pread(1_500_000, 1000) == noise(2_000_000, seed=1)[1_500_000:1_501_000]
        stats: Stats = found.reader("crawl-1.warc.zst").stats
        assert stats.requests <= 4
        assert stats.bytes_fetched < 500_000
        assert found.stats.requests <= 2


def test_records_stay_usable_when_many_files_were_opened_since(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_READERS", 2)
    for number in range(8):
        with seekwarc.open(tmp_path / f"{number}.warc.zst", "w") as out:
            out.write_resource(f"http://example.org/{number}", text(5000, seed=number), "text/plain")
    make_index(tmp_path)
    with Index(tmp_path / "crawl.cdxj") as found:
        records = [next(found.lookup(f"http://example.org/{number}")).open() for number in range(8)]
        assert [record.payload.read() for record in records] == [
            text(5000, seed=number) for number in range(8)
        ]
        del records
        gc.collect()
        assert len(open_below(tmp_path)) <= 3
    assert open_below(tmp_path) == []


def test_a_closed_index_gives_nothing_more(crawl: Path) -> None:
    found = Index(crawl / "crawl.cdxj")
    record = next(found.lookup("http://example.org/film")).open()
    found.close()
    found.close()
    with pytest.raises(SourceError, match="closed"):
        record.payload.pread(1_000_000, 10)


def test_one_index_serves_several_threads(crawl: Path) -> None:
    wrong: list[object] = []

    def run(seed: int) -> None:
        try:
            for turn in range(30):
                page = (seed + turn) % 3
                for capture in found.lookup(f"http://example.org/{page}"):
                    if capture.open().payload.read() != text(500, seed=page):
                        wrong.append(capture)
        except Exception as error:  # noqa: BLE001
            wrong.append(error)

    with Index(crawl / "crawl.cdxj") as found:
        threads = [threading.Thread(target=run, args=[seed]) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.needs("module:obstore")
def test_a_remote_index_is_searched_without_a_download(crawl: Path) -> None:
    lines = [*many_lines(30_000, filler=500), *(crawl / "crawl.cdxj").read_bytes().splitlines(keepends=True)]
    data = b"".join(sorted(lines))
    assert len(data) > 16 * MIB
    with RangeServer(data) as server, Index(server.url, files=crawl) as found:
        assert next(found.lookup("http://example.org/1")).open().payload.read() == text(500, seed=1)
        assert len(server.asked) <= 12
        assert sum(asked.sent for asked in server.asked) < MIB
        server.forget()
        assert next(found.lookup("http://example.org/2")).open().payload.read() == text(500, seed=2)
        assert len(server.asked) <= 1, "its neighbour"


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("crawls", "crawls/a b#1.warc.zst"),
        ("http://example.org/x", "http://example.org/x/a%20b%231.warc.zst"),
        ("s3://bucket/x", "s3://bucket/x/a b#1.warc.zst"),
    ],
)
def test_names_become_paths_or_urls(folder: str, place: str) -> None:
    assert module.located(folder, "a b#1.warc.zst", "x.cdxj") == place


# The seek table that a line names.


def displaced(entries: list[Entry]) -> list[Entry]:
    """Two contents are wrong, and their sum is right."""
    made = list(entries)
    made[2] = (made[2][0], made[2][1] + 10, made[2][2])
    made[6] = (made[6][0], made[6][1] - 10, made[6][2])
    return made


def index_of(folder: Path, made: Foreign) -> Path:
    (folder / "a.warc.zst").write_bytes(made.bytes())
    index({"a.warc.zst": folder / "a.warc.zst"}, folder / "a.cdxj", on_problem=print)
    return folder / "a.cdxj"


def large(**options: object) -> Foreign:
    made = Foreign().record(text(500))
    return made.record(text(40_000, seed=3), cuts=4000, table=options or True).record(text(700))


def test_the_table_that_a_line_names_is_the_one_that_is_read(tmp_path: Path) -> None:
    made = large()
    with Index(index_of(tmp_path, made)) as found:
        captures = [*found.lookup("http://example.org/", match="prefix")]
        assert [isinstance(it.table, TableReference) for it in captures] == [False, True, False]
        record = captures[1].open()
        assert record.seek_table_status == "record"
        assert record.block.pread(20_000, 100) == made.records[1].block[20_000:20_100]
        reference = captures[1].table
    put = made.records[1]
    stored = made.bytes()[reference.offset : reference.offset + reference.size]
    assert hashlib.sha256(stored).hexdigest() == reference.sha256
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        record = archive.record_at(put.offset, put.length, table=reference)
        assert record.block.pread(20_000, 100) == put.block[20_000:20_100]
        assert source.requests.count((reference.offset, reference.offset + reference.size)) == 1


def test_no_table_but_the_named_one_is_trusted(tmp_path: Path) -> None:
    with Index(index_of(tmp_path, large())) as found:
        capture = next(it for it in found.lookup("http://example.org/1"))
    made = large(change=displaced)
    put = made.records[1]
    with seekwarc.open(made.bytes()) as archive:
        # Without the index this is what cannot be seen by a short read.
        assert archive.record_at(put.offset, put.length).block.pread(20_000, 100) != put.block[20_000:20_100]
        record = archive.record_at(put.offset, put.length, table=capture.table)
        assert record.block.pread(20_000, 100) == put.block[20_000:20_100]
        assert record.seek_table_status == "unusable"
        assert "index" in record.body.table_problem


def test_a_strict_reader_rejects_a_table_of_other_frames(tmp_path: Path) -> None:
    made = large(change=displaced)
    put = made.records[1]
    (tmp_path / "a.warc.zst").write_bytes(made.bytes())
    with seekwarc.open(tmp_path / "a.warc.zst", strict=True) as archive:
        record = archive.record_at(put.offset, put.length)
        assert record.block.pread(20_000, 100) == put.block[20_000:20_100]
        assert record.seek_table_status == "unusable"


def only_the_file_table(**options: object) -> Foreign:
    made = Foreign().record(text(500)).record(text(40_000, seed=3), cuts=4000).record(text(700))
    return made.file_table(**options)


def one_silent_frame() -> Foreign:
    made = Foreign().record(text(500))
    header = warc_header(40_000, 1)
    block = text(40_000, seed=3)
    made.begin(header, block)
    pieces = cut(header + block + CRLF2, 4000)
    for number, piece in enumerate(pieces):
        made.frame(piece, content_size=number != len(pieces) - 1)
    return made.table(change=displaced).record(text(700))


def displaced_in_the_file(entries: list[Entry]) -> list[Entry]:
    return [entries[0], *displaced(entries[1:])]


NOT_NAMED = {
    "a false table": lambda: large(change=displaced),
    "a table of the file": only_the_file_table,
    "a false table of the file": lambda: only_the_file_table(change=displaced_in_the_file),
    "a frame without its content size": one_silent_frame,
}


@pytest.mark.parametrize("make", NOT_NAMED.values(), ids=list(NOT_NAMED))
def test_a_table_that_an_index_does_not_name_is_not_used_through_it(
    make: Callable[[], Foreign], tmp_path: Path
) -> None:
    made = make()
    put = made.records[1]
    with Index(index_of(tmp_path, made)) as found:
        captures = [*found.lookup("http://example.org/", match="prefix")]
        assert [it.table for it in captures] == [TableTrust.CLAIMED, TableTrust.SCANNED, TableTrust.CLAIMED]
        assert captures[1].open().block.pread(20_000, 100) == put.block[20_000:20_100]


def test_the_table_of_another_record_is_not_used() -> None:
    made = (
        Foreign().record(text(9000), cuts=1000, table=True).record(text(9000, seed=2), cuts=1000, table=True)
    )
    one = made.records[0]
    with seekwarc.open(made.bytes()) as archive:
        references = [table_choice(record) for record in archive]
        record = archive.record_at(one.offset, one.length, table=references[1])
        assert record.block.read() == one.block
        assert "another record" in record.body.table_problem


def test_a_named_table_above_the_limit_is_not_read() -> None:
    made = large()
    put = made.records[1]
    reference = TableReference(put.offset, 1 << 30, "0" * 64)
    with seekwarc.open(RecordingSource(made.bytes())) as archive:
        record = archive.record_at(put.offset, put.length, table=reference)
        assert record.block.read() == put.block
        assert "max_table_size" in record.body.table_problem


def test_a_malformed_table_reference_is_refused(tmp_path: Path) -> None:
    path = index_of(tmp_path, large())
    path.write_bytes(path.read_bytes().replace(b" sha256:", b" md5:"))
    with Index(path) as found, pytest.raises(FormatError, match="does not name a seek table"):
        next(it for it in found.lookup("http://example.org/1")).open()


def test_wrong_arguments_are_named(crawl: Path) -> None:
    with Index(crawl / "crawl.cdxj") as found:
        for uri in ("", " "):
            with pytest.raises(ValueError, match="uri is empty"):
                found.lookup(uri)
    with pytest.raises(TypeError, match="threadz"):
        Index(crawl / "crawl.cdxj", threadz=3)  # type: ignore[call-arg]


def test_a_look_up_makes_one_key_and_searches_little_for_the_other() -> None:
    # With a slash at its end, a path has another key for tools in JavaScript.
    found = Index(b"".join(cdxj_line(f"org,a)/{number:03}", "20200101000001") for number in range(300)))
    assert next(found.lookup("http://a.org/017")).key == "org,a)/017"
    with at_most_calls(220):
        assert next(found.lookup("http://a.org/170")).key == "org,a)/170"
