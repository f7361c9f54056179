"""`seekwarc cat`."""

from __future__ import annotations

import base64
import gzip
import hashlib
import random
import subprocess
import sys

import pytest

import seekwarc
from tests.cli.conftest import FILM_URI, FORMS, HTTP_HEAD
from tests.support.foreign import CRLF2, Foreign, text, warc_header
from tests.support.partial import URI, PartsWriter


@pytest.mark.parametrize("form", FORMS)
def test_the_payload_comes_out(command, crawl, form) -> None:
    path, offset = crawl.path(form), crawl.put(3, form).offset
    assert command("cat", path, offset).stdout == crawl.film


@pytest.mark.parametrize("number", range(5))
def test_a_part_is_the_record_or_its_block_or_its_payload(command, crawl, number) -> None:
    offset, block = crawl.put(number).offset, crawl.put(number).block
    payload = block.partition(b"\r\n\r\n")[2] if b"HTTP/1.1" in block else block
    assert command("cat", crawl.zst, offset).stdout == payload
    assert command("cat", crawl.zst, offset, "--part", "payload").stdout == payload
    assert command("cat", crawl.zst, offset, "--part", "block").stdout == block
    assert command("cat", crawl.zst, offset, "--part", "record").stdout == crawl.whole(number)


@pytest.mark.parametrize("form", ["gz", "warc"])
def test_a_record_that_is_cut_off_comes_out_as_far_as_it_goes(command, tmp_path, form) -> None:
    block = text(900)
    made = Foreign().record(b"first").record(block)
    made = made.plain() if form == "warc" else made.gzip()
    path, offset = tmp_path / f"cut.{form}", made.records[1].offset
    path.write_bytes(made.bytes()[:-77])
    for part in ("block", "payload"):
        done = command("cat", path, offset, "--part", part, status=1)
        assert block.startswith(done.stdout)
        assert len(done.stdout) == 827 if form == "warc" else len(done.stdout) > 500
        assert f"offset {offset}: the file ends inside this" in done.stderr


SLICES = [
    slice(None, None),
    slice(0, 0),
    slice(0, 1),
    slice(1000, 2000),
    slice(None, 100),
    slice(1_000_000, None),
    slice(-4096, None),
    slice(None, -1_500_000),
    slice(-5000, -4000),
    slice(1_599_990, 2_000_000),
    slice(2_000_000, 3_000_000),
    slice(-2_000_000, 10),
    slice(10**17, None),
    slice(65_535, 65_537),
]


def status_of(part: slice, crawl) -> int:
    """Return the exit status of a range, which is an error if it begins after the end."""
    return 2 if part.start is not None and part.start >= len(crawl.film) else 0


def written(part: slice) -> str:
    return ":".join("" if bound is None else str(bound) for bound in (part.start, part.stop))


@pytest.mark.parametrize("part", SLICES, ids=written)
def test_a_range_means_what_a_python_slice_means(command, crawl, part) -> None:
    offset = crawl.film_put.offset
    answer = command("cat", crawl.zst, offset, f"--range={written(part)}", status=status_of(part, crawl))
    assert answer.stdout == crawl.film[part]


@pytest.mark.parametrize("text", ["-4096:", "-5000:-4000", ":-1500000"])
def test_a_range_from_the_end_is_taken_as_the_help_writes_it(command, crawl, text) -> None:
    part = slice(*(int(bound) if bound else None for bound in text.split(":")))
    found = command("cat", crawl.zst, crawl.film_put.offset, "--range", text).stdout
    assert found == crawl.film[part]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0+0", slice(0, 0)),
        ("1000+65536", slice(1000, 66_536)),
        ("1599999+10", slice(1_599_999, None)),
        ("9999999+10", slice(0, 0)),
        ("0+999999999999999999", slice(None)),
    ],
)
def test_a_range_may_be_a_start_and_a_length(command, crawl, text, part) -> None:
    status = 2 if text.startswith("9999999") else 0
    answer = command("cat", crawl.zst, crawl.film_put.offset, "--range", text, status=status)
    assert answer.stdout == crawl.film[part]


@pytest.mark.parametrize(
    "text", ["", "5", "a:b", "1:2:3", "+5", "5+", "5+-1", "1.5:2", "٣:٤", "1" * 30 + ":", " 1:2"]
)
def test_nonsense_is_refused_with_what_to_write(command, crawl, text) -> None:
    stderr = command("cat", crawl.zst, crawl.film_put.offset, f"--range={text}", status=2).stderr
    assert "START:STOP" in stderr
    assert "START+LENGTH" in stderr


def test_numbers_of_a_range_may_be_sizes(command, crawl) -> None:
    offset = crawl.film_put.offset
    assert command("cat", crawl.zst, offset, "--range", "-0.5M:").stdout == crawl.film[-(512 << 10) :]
    assert command("cat", crawl.zst, offset, "--range", "1M+1K").stdout == crawl.film[1 << 20 :][:1024]


def test_several_ranges_are_printed_one_after_another(command, crawl, tmp_path) -> None:
    words = ("cat", crawl.zst, crawl.film_put.offset, "--range")
    film = crawl.film
    expected = film[1000:1100] + film[:11] + film[-64 << 10 :]
    assert command(*words, "1000+100,0-10,-64K:").stdout == expected
    assert command(*words, "0-10,nonsense", status=2).stdout == b""
    path = tmp_path / "coded.warc.gz"
    with seekwarc.open(path, "w") as out:
        body = gzip.compress(b"0123456789")
        head = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
        out.write_response("http://e.org/", body, status=200, http_headers=head)
    words = ("cat", path, "--uri", "http://e.org/", "--decoded", "--range", "5-6,0+2")
    assert command(*words).stdout == b"5601"


def test_dates_tell_captures_of_a_uri_apart(command, tmp_path) -> None:
    path = tmp_path / "twice.warc.zst"
    with seekwarc.open(path, "w") as out:
        for year in ("2025", "2026"):
            date = f"{year}-01-02T03:04:05Z"
            out.write_resource("http://e.org/", year.encode(), "text/plain", date=date)
    words = ("cat", path, "--uri", "http://e.org/")
    assert command(*words, "--since", "2026").stdout == b"2026"
    assert command(*words, "--until", "2025").stdout == b"2025"
    command(*words, "--since", "2027", status=1)
    found = command("info", path, "--uri", "http://e.org/", "--since", "2026", "--json").json
    assert found["date"].startswith("2026")
    command("index", path, "-o", tmp_path / "twice.cdxj")
    words = ("cat", "--index", tmp_path / "twice.cdxj", "--uri", "http://e.org/")
    assert command(*words, "--until", "2025-06").stdout == b"2025"
    assert command(*words, "--since", "20250101", "--until", "20251231").stdout == b"2025"
    stderr = command(*words, "--since", "2025", "--date", "2026", status=2).stderr
    assert "name the capture by --date, or by --since and --until" in stderr


def test_ranges_count_in_the_part_that_is_asked_for(command, crawl) -> None:
    offset = crawl.film_put.offset
    block, whole = crawl.film_put.block, crawl.whole(3)
    assert command("cat", crawl.zst, offset, "--part", "block", "--range", "40:100").stdout == block[40:100]
    assert command("cat", crawl.zst, offset, "--part", "record", "--range=-10:").stdout == whole[-10:]


def test_without_verification_the_bytes_are_the_same(command, crawl) -> None:
    offset = crawl.film_put.offset
    for _ in range(3):
        start = random.Random(3).randrange(1_500_000)
        answer = command("cat", crawl.zst, offset, "--no-verify", "--range", f"{start}+1000")
        assert answer.stdout == crawl.film[start : start + 1000]


def test_a_uri_means_the_response_and_not_the_request(command, crawl) -> None:
    assert command("cat", crawl.zst, "--uri", FILM_URI, "--range", ":10").stdout == crawl.film[:10]


def test_an_id_means_that_record_with_or_without_brackets(command, crawl) -> None:
    name = "urn:uuid:00000000-0000-4000-8000-000000000002"
    for written_as in (name, f"<{name}>"):
        answer = command("cat", crawl.zst, "--id", written_as, "--part", "block")
        assert answer.stdout == crawl.put(2).block


def test_a_length_from_an_index_is_taken(command, crawl) -> None:
    put = crawl.film_put
    answer = command("cat", crawl.zst, put.offset, "--length", put.length, "--range", "800000+1000")
    assert answer.stdout == crawl.film[800_000:801_000]


@pytest.mark.parametrize("words", [("--uri", "http://example.org/none"), ("--id", "urn:uuid:none")])
def test_what_is_not_there_is_not_found(command, crawl, words) -> None:
    answer = command("cat", crawl.zst, *words, status=1)
    assert answer.stdout == b""
    assert answer.stderr.startswith(f"seekwarc: {crawl.zst}: no ")
    assert words[1] in answer.stderr


def test_one_has_to_say_which_record(command, crawl) -> None:
    assert "OFFSET" in command("cat", crawl.zst, status=2).stderr


@pytest.mark.parametrize("offset", ["-1", "ten", "1e3", "1" * 30, "٣"])
def test_an_offset_is_a_number_of_bytes(command, crawl, offset) -> None:
    command("cat", crawl.zst, offset, status=2)


def test_two_ways_to_say_which_record_are_one_too_many(command, crawl) -> None:
    command("cat", crawl.zst, "0", "--uri", FILM_URI, status=2)


@pytest.mark.parametrize("form", FORMS)
def test_an_offset_where_no_record_starts_is_reported(command, crawl, form) -> None:
    for offset in (crawl.put(3, form).offset + 1, 10**12):
        stderr = command("cat", crawl.path(form), offset, status=1).stderr
        assert f"{crawl.path(form)}, offset {offset}: " in stderr


def test_output_ends_before_a_damaged_frame(command, damaged, crawl) -> None:
    offset = crawl.film_put.offset
    stderr = command("cat", damaged, offset, status=1).stderr
    assert stderr.startswith(f"seekwarc: {damaged}, offset ")
    assert stderr.count("\n") == 1
    assert command("cat", damaged, offset, "--range", ":1000").stdout == crawl.film[:1000]
    assert command("cat", damaged, offset, "--range=-1000:").stdout == crawl.film[-1000:]
    assert command("cat", damaged, offset, "--range", "449000:452000", status=1).stdout == b""


def test_a_record_of_a_pipe_is_found(command, crawl) -> None:
    for form in FORMS:
        answer = command("cat", "-", "--uri", FILM_URI, stdin=crawl.path(form).read_bytes())
        assert answer.stdout == crawl.film


def test_a_pipe_in_one_gzip_member_fails_only_if_that_is_damaged(command) -> None:
    blocks = [text(size, seed=size) for size in (3000, 2_000_000)]
    records = (warc_header(len(it), number) + it + CRLF2 for number, it in enumerate(blocks))
    sound = gzip.compress(b"".join(records), 1)
    damaged = sound[:-8] + bytes([sound[-8] ^ 1]) + sound[-7:]
    for data, status in ((sound, 0), (damaged, 1)):
        answer = command("cat", "-", "--uri", "http://example.org/0", stdin=data, status=status)
        assert answer.stdout == (b"" if status else blocks[0])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"5\r\nfirst\r\n", "the last chunk is missing"),
        (b"5\r\nfirst\r\n0\r\n\r\nmore", "bytes follow the last chunk"),
    ],
)
def test_a_payload_that_may_not_be_whole_is_said(command, tmp_path, body: bytes, problem: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    path = tmp_path / "a.warc.gz"
    fields = f"WARC-Type: response\r\nContent-Type: application/http\r\nContent-Length: {len(head + body)}"
    path.write_bytes(gzip.compress(f"WARC/1.1\r\n{fields}\r\n\r\n".encode() + head + body + b"\r\n\r\n"))
    answer = command("cat", path, 0, status=1)
    assert answer.stdout == b"first"
    assert problem in answer.stderr
    assert f"{path}, offset 0: " in answer.stderr
    for words in (("--range", ":5"), ("--part", "block")):
        assert command("cat", path, 0, *words).stdout[-len(body) :] in (b"first", body)


def test_standard_input_may_be_a_file(crawl) -> None:
    run = [sys.executable, "-m", "seekwarc", "cat", "-", str(crawl.film_put.offset), "--range", "900000+10"]
    with crawl.zst.open("rb") as file:
        done = subprocess.run(run, stdin=file, capture_output=True, check=True)
    assert done.stdout == crawl.film[900_000:900_010]


def test_an_empty_payload_is_nothing(command, tmp_path) -> None:
    path = tmp_path / "empty.warc.zst"
    path.write_bytes(Foreign().record(b"").bytes())
    assert command("cat", path, "0").stdout == b""


def test_a_payload_larger_than_one_step_comes_whole(command, tmp_path) -> None:
    data = b"0123456789abcdef" * (9 << 16)  # 9 MiB
    made = Foreign().record(data, cuts=1 << 20, table=True)
    path = tmp_path / "large.warc.zst"
    path.write_bytes(made.bytes())
    assert command("cat", path, "0").stdout == data


# By an index.


@pytest.fixture
def indexed(command, crawl, tmp_path):
    """A folder with the crawl, the same a year later, a revisit a year after that, and their index."""
    (tmp_path / "crawl.warc.zst").write_bytes(crawl.zst.read_bytes())
    later = crawl.content.replace(b"WARC-Date: 2026", b"WARC-Date: 2027")
    (tmp_path / "later.warc").write_bytes(later)
    with seekwarc.open(tmp_path / "revisit.warc.zst", "w") as out:
        out.write_revisit(
            FILM_URI,
            HTTP_HEAD,
            date="2028-01-02T03:04:05Z",
            payload_digest="sha1:" + base64.b32encode(hashlib.sha1(crawl.film).digest()).decode(),
        )
    command("index", "--all", *sorted(tmp_path.iterdir()), "-o", tmp_path / "all.cdxj")
    return tmp_path


def test_an_index_leads_from_a_uri_to_bytes(command, crawl, indexed) -> None:
    answer = command(
        "cat", "--index", indexed / "all.cdxj", "--uri", FILM_URI, "--date", "2026", "--range", "800000+1000"
    )
    assert answer.stdout == crawl.film[800_000:801_000]


def test_of_several_captures_the_last_or_that_of_the_date_is_taken(command, indexed) -> None:
    def date_of(*words: str) -> str:
        words = ("--index", indexed / "all.cdxj", "--uri", FILM_URI, "--part", "record", *words)
        return command("cat", *words).stdout.partition(b"WARC-Date: ")[2][:4].decode()

    assert date_of() == "2028"
    assert date_of("--date", "2027-01") == "2027"
    assert date_of("--date", "20260102030405") == "2026"
    assert date_of("--date", "2026-12-01", "--closest") == "2027"
    assert date_of("--date", "1999", "--closest") == "2026"


def test_a_revisit_is_resolved_through_the_index(command, crawl, indexed) -> None:
    words = ("cat", "--index", indexed / "all.cdxj", "--uri", FILM_URI, "--date", "2028")
    assert command(*words, "--range", "-1000:").stdout == crawl.film[-1000:]
    assert command(*words, "--part", "block").stdout == HTTP_HEAD, "what is stored"


def test_the_files_may_be_elsewhere_than_the_index(command, crawl, indexed, tmp_path_factory) -> None:
    index = tmp_path_factory.mktemp("index") / "all.cdxj"
    (indexed / "all.cdxj").rename(index)
    words = ("cat", "--index", index, "--uri", FILM_URI, "--date", "2026", "--range", ":10")
    assert command(*words, "--files", indexed).stdout == crawl.film[:10]
    assert "crawl.warc.zst: cannot be opened" in command(*words, status=2).stderr


def test_what_the_index_has_not_got_is_not_found(command, indexed) -> None:
    stderr = command("cat", "--index", indexed / "all.cdxj", "--uri", "http://none.org/", status=1).stderr
    assert f"{indexed / 'all.cdxj'}: no capture of http://none.org/" in stderr
    stderr = command(
        "cat", "--index", indexed / "all.cdxj", "--uri", FILM_URI, "--date", "2025", status=1
    ).stderr
    assert "--closest takes the nearest" in stderr


def test_metadata_is_not_what_a_uri_means(command, indexed) -> None:
    command("cat", "--index", indexed / "all.cdxj", "--uri", "http://example.org/", status=1)


@pytest.mark.parametrize(
    "words",
    [
        ("--index", "{index}", "--id", "urn:x"),
        ("--index", "{index}", "0"),
        ("crawl.warc.zst", "--index", "{index}", "--uri", FILM_URI),
        ("--index", "{index}", "--uri", FILM_URI, "--closest"),
        ("--index", "{index}", "--uri", FILM_URI, "--date", "soon"),
        ("--index", "{index}", "--uri", FILM_URI, "--with", "a.warc"),
        ("--uri", FILM_URI),
        ("crawl.warc.zst", "--uri", FILM_URI, "--date", "2026"),
        ("crawl.warc.zst", "--uri", FILM_URI, "--files", "."),
        (),
    ],
)
def test_file_and_index_do_not_go_together(command, indexed, words) -> None:
    words = [word.format(index=indexed / "all.cdxj") for word in words]
    answer = command("cat", *words, status=2, cwd=indexed)
    assert answer.stdout == b""


@pytest.mark.parametrize("which", ["--uri", "--id"])
def test_a_record_after_damage_is_found(command, crawl, tmp_path, which) -> None:
    with seekwarc.open(crawl.zst) as archive:
        film = archive.record_at(crawl.film_put.offset)
        name = film.target_uri if which == "--uri" else film.id
    data = bytearray(crawl.zst.read_bytes())
    data[crawl.put(1).offset] ^= 1
    path = tmp_path / "damaged.warc.zst"
    path.write_bytes(data)
    answer = command("cat", path, which, name, "--range", ":1000", status=1)
    assert answer.stdout == crawl.film[:1000]
    assert f"{path}, offset {crawl.put(1).offset}: " in answer.stderr
    assert "film" in command("info", path, which, name, status=1).out


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["warc", "warc.gz", "warc.zst"])
@pytest.mark.parametrize("chunked", [True, False])
def test_a_record_of_a_pipe_is_found_by_its_offset(command, tmp_path, form: str, chunked: bool) -> None:
    # More than is kept of a pipe.
    parts = [random.Random(number).randbytes(10_000) for number in range(200)]
    body, coding = b"".join(parts), b""
    if chunked:
        body, coding = b"".join(b"%x\r\n%s\r\n" % (len(it), it) for it in [*parts, b""]), CHUNKED
    path = tmp_path / f"a.{form}"
    options = {"dictionary": small_dictionary(), "frame_size": 64 << 10} if form == "warc.zst" else {}
    with seekwarc.open(path, "w", **options) as out:
        out.write_resource("urn:example:first", b"first", "text/plain")
        place = out.write_response("http://example.org/", b"HTTP/1.1 200 OK\r\n" + coding + b"\r\n" + body)
        out.write_resource("urn:example:last", b"last", "text/plain")
    answer = command("cat", "-", str(place.offset), stdin=path.read_bytes())
    assert answer.stdout == b"".join(parts)
    answer = command(
        "cat", "-", str(place.offset), "--range", "5+10,1000000:9999999", stdin=path.read_bytes()
    )
    assert answer.stdout == parts[0][5:15] + b"".join(parts)[1_000_000:]


CHUNKED = b"Transfer-Encoding: chunked\r\n"


def small_dictionary() -> seekwarc.Dictionary:
    samples = [f"WARC-Type: response, WARC-Record-ID: <urn:x:{n}>".encode() * 4 for n in range(999)]
    return seekwarc.Dictionary.train(samples, size=4096)


def test_a_uri_is_looked_for_in_all_files_of_a_folder_or_pattern(command, tmp_path) -> None:
    originals = tmp_path / "a.warc.zst"
    with seekwarc.open(originals, "w") as out:
        page = out.write_response("http://e.org/a", b"page", status=200)
    with seekwarc.open(tmp_path / "b.warc.zst", "w") as out:
        out.write_resource("http://e.org/b", b"note", "text/plain")
        out.write_revisit("http://e.org/c", refers_to=page, payload_digest=page.payload_digest)
    with seekwarc.open(tmp_path / "b.warc.zst") as archive:
        revisit = next(archive.records(type="revisit")).id
    for named in (tmp_path, tmp_path / "*.zst"):
        assert command("cat", named, "--uri", "http://e.org/b").stdout == b"note"
        assert command("cat", named, "--uri", "http://e.org/a").stdout == b"page"
        assert command("cat", named, "--id", revisit).stdout == b"page", "its original is in another file"
        stderr = command("cat", named, "--uri", "urn:x", status=1).stderr
        assert f"{named}: no response, resource or revisit has the URI urn:x" in stderr
    assert "OFFSET names a record of one file" in command("cat", tmp_path, 0, status=2).stderr
    assert "no file matches" in command("cat", tmp_path / "*.gz", "--uri", "urn:x", status=2).stderr


@pytest.mark.parametrize("bad", [b"", b"<!DOCTYPE html>", gzip.compress(b"a log", mtime=0)])
def test_files_that_cannot_be_read_are_passed_over(command, tmp_path, bad) -> None:
    (tmp_path / "a.warc.gz").write_bytes(bad)
    with seekwarc.open(tmp_path / "b.warc.zst", "w") as out:
        page = out.write_response("http://e.org/a", b"page", status=200)
    with seekwarc.open(tmp_path / "c.warc.zst", "w") as out:
        revisit = out.write_revisit("http://e.org/c", refers_to=page, payload_digest=page.payload_digest)
    path = str(tmp_path / "a.warc.gz")
    for words in (
        (tmp_path, "--uri", "http://e.org/a"),
        (tmp_path, "--uri", "http://e.org/c"),
        (tmp_path, "--uri", "http://e.org/a", "--joined"),
        (tmp_path / "c.warc.zst", revisit.offset, "--with", path, tmp_path / "b.warc.zst"),
    ):
        answer = command("cat", *words, status=1)
        assert answer.stdout == b"page"
        assert answer.stderr.count(path) == 1, "what is wrong is said once"
    stderr = command("cat", tmp_path, "--uri", "urn:x", status=1).stderr
    assert stderr.count(path) == 1
    assert ("1 of 3 files passed over" in stderr) is (bad[:1] != b"\x1f"), "damage is said where it is"
    for words in (("--uri", "urn:x"), ("--uri", "urn:x", "--joined")):
        command("cat", path, *words, status=1)


@pytest.fixture
def parts(tmp_path):
    """A film whose parts are in two files, but for its last 1,000 bytes."""
    film = random.Random(3).randbytes(30_000)
    for name, spans in (("a", ((20_000, 29_000),)), ("b", ((0, 10_000), (10_000, 20_000)))):
        out = PartsWriter(film)
        for span in spans:
            out.part(*span)
        (tmp_path / f"{name}.warc.zst").write_bytes(out.done())
    return film, tmp_path


def test_parts_of_a_film_are_joined(command, parts) -> None:
    film, folder = parts
    a, b = folder / "a.warc.zst", folder / "b.warc.zst"
    for files in ((folder,), (b, "--with", a)):
        done = command("cat", *files, "--uri", URI, "--joined", "--range", ":29000")
        assert done.stdout == film[:29_000]
    done = command("cat", a, 0, "--joined", "--range", "20000:29000", "--with", b)
    assert done.stdout == film[20_000:29_000]
    assert command("cat", a, "--uri", URI).stdout == film[20_000:29_000]


def test_parts_are_joined_of_the_files_that_can_be_opened(command, parts, tmp_path) -> None:
    film, folder = parts
    a, b, gone = folder / "a.warc.zst", folder / "b.warc.zst", tmp_path / "gone.warc.zst"
    for words in (
        (b, "--uri", URI, "--with", gone, a),
        (b, 0, "--with", gone, a),
        (gone, "--uri", URI, "--with", b, a),
    ):
        done = command("cat", *words, "--joined", "--range", ":29000", status=1)
        assert done.stdout == film[:29_000]
        said = done.stderr.splitlines()
        assert said[0].startswith(f"seekwarc: {gone}: cannot be opened: ")
        assert said[1:] == ["seekwarc: 1 of 3 files passed over"]
    command("cat", gone, "--uri", URI, "--joined", status=2)


def test_bytes_that_no_part_has_are_named(command, parts) -> None:
    done = command("cat", parts[1], "--uri", URI, "--joined", "--range", "-10:", status=1)
    assert "no record has bytes 29000 to 29999" in done.stderr
    assert done.stdout == b""
    assert "--joined" in command("cat", "--index", "a.cdxj", "--uri", URI, "--joined", status=2).stderr


def test_a_revisit_is_followed_in_a_wacz_as_in_its_files(command, tmp_path) -> None:
    page = text(500)
    digest = "sha1:" + base64.b32encode(hashlib.sha1(page).digest()).decode()
    with seekwarc.open(tmp_path / "a.warc.gz", "w") as out:
        original = out.write_response("http://e.org/original", HTTP_HEAD + page).id
        for name, named in (("by-digest", {}), ("by-id", {"refers_to": original})):
            profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            out.write_revisit(
                f"http://e.org/{name}", HTTP_HEAD, profile=profile, payload_digest=digest, **named
            )
    seekwarc.tools.create_wacz(tmp_path / "a.warc.gz", tmp_path / "a.wacz")
    for name in ("by-digest", "by-id"):
        uri = ("--uri", f"http://e.org/{name}")
        for file in ("a.warc.gz", "a.wacz"):
            for more in ([], ["--no-index"]):
                assert command("cat", tmp_path / file, *uri, *more).stdout == page
    command("index", tmp_path / "a.warc.gz", "-o", tmp_path / "a.cdxj")
    done = command("cat", "--index", tmp_path / "a.cdxj", *uri, status=1)
    assert "the record that this revisit refers to was not found" in done.stderr
