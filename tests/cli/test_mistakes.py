"""What newcomers type first, and what is said to it."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main
from seekwarc.errors import TargetError
from seekwarc.inside.search_file import APPLICATION_ID
from tests.support.captures import SITES, related


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("a.warc.zst").write_bytes(related())
    assert main(["index", "a.warc.zst", "-o", "a.cdxj"]) == 0
    assert main(["convert", "a.warc.zst", "b.warc.gz", "--quiet"]) == 0
    Path("notes.txt").write_text("just text\n")
    Path("a.fts").write_bytes(b"SQLite format 3\0" + bytes(52) + APPLICATION_ID.to_bytes(4, "big"))
    return "a.warc.zst"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["lookup", "a.warc.zst", SITES[0]], 2, "`seekwarc ls a.warc.zst --uri URI` looks for records in it"),
        (["cat", "a.warc.zst", "--uri", SITES[0], "--range", "99999999:"], 2, "after the end: there are"),
        (["ls", "a.warc.zst", "--uri", "www.iana.org"], 1, "try --uri '*www.iana.org*'"),
        (["ls", "a.warc.zst", "--mime", "html"], 1, "try --mime '*/html'"),
        (["filter", "a.warc.zst", "--mime", "pdf", "-o", "b.warc.zst"], 1, "try --mime '*/pdf'"),
        (["--json", "ls", "a.warc.zst"], 2, "--json goes after the verb: seekwarc ls --json a.warc.zst"),
        (["ls", "--js", "a.warc.zst"], 2, "did you mean --json?"),
        (["convert", "a.warc.zst", "-o", "o.txt"], 2, "o.txt"),
        (["convert", "a.warc.zst", "-o", "none/o.warc.gz"], 2, "there is no folder none; make it first"),
        (["convert", "a.warc.zst", ""], 2, "name the new file too"),
        (["convert", "a.warc.zst", "--to-dir", "notes.txt"], 2, "cannot be created: it is a file"),
        (["convert", "a.warc.zst", "b.warc.zst", "--level", "fast"], 2, "'fast' is not a whole number"),
        (["convert", "a.warc.zst", "b.warc.zst", "--level", "99"], 2, "level is 99, not within"),
        (["join", "a.warc.zst", "-o", "b.warc.zst", "--level", "99"], 2, "level is 99, not within"),
        # The wrong kind of file.
        (["ls", "a.cdxj"], 1, "an index, which `seekwarc lookup` reads"),
        (["ls", "a.fts"], 1, "a search index, which `seekwarc search` reads"),
        (["lookup", "notes.txt", SITES[0]], 2, "is not an index: it begins with b'just text'"),
        (["search", "notes.txt", "tea"], 2, "is neither a search index, as"),
        (["index", "a.warc.zst", "--text", "-o", "notes.txt"], 2, "exists and is not a search index"),
        (
            ["serve", "a.warc.zst", "--search", "notes.txt"],
            2,
            "is not a search index; `seekwarc index --text`",
        ),
        (["serve", "-"], 2, "standard input cannot be served"),
        (
            ["wacz", "create", "a.warc.zst", "-o", "a.zip"],
            2,
            "a.zip: is not a WACZ, whose name ends with .wacz",
        ),
        (["wacz", "merge", "a.warc.zst", "-o", "b.wacz"], 2, "a.warc.zst: is not a WACZ"),
        (["pack", "notes.txt", "-o", "notes.txt"], 2, "source and target are the same file"),
        (["verify", "b.warc.gz", "--report", "b.warc.gz"], 2, "exists and is not a report of `verify`"),
        (["verify", "a.warc.zst", "--report", "a.cdxj"], 2, "exists and is not a report of `verify`"),
        (["wacz", "validate", "."], 2, ".: is a folder: name the WACZ files in it"),
        (["wacz", "merge", ".", "-o", "b.wacz"], 2, ".: is a folder: name the WACZ files in it"),
        (["demo", "notes.txt"], 2, "notes.txt: the folder cannot be created: it is a file"),
        (["extract", "a.warc.zst", "-o", "notes.txt"], 2, "the folder cannot be created: it is a file"),
        (["extract", "a.warc.zst", "-o", "-"], 2, "-o/--output: is standard output, and a folder is wanted"),
        (["convert", "a.warc.zst", "--to-dir", "-"], 2, "--to-dir: is standard output, and a folder is"),
        # Of another command, or of nothing.
        (["wacz", "create", "a.warc.zst", "-o", "b.wacz", "--closure"], 2, "is for `seekwarc wacz merge`"),
        (["wacz", "merge", "a.wacz", "-o", "b.wacz", "--text"], 2, "--text is for `seekwarc wacz create`"),
        (["wacz", "create", "a.warc.zst", "-o", "b.wacz", "--strict"], 2, "is for `seekwarc wacz validate`"),
        (["index", "a.warc.zst", "-o", "b.cdxj", "--min-size", "1M"], 2, "is for sidecars: give --sidecar"),
        (["index", "a.warc.zst", "--text", "-o", "b.fts", "--spacing", "1M"], 2, "is for sidecars"),
        (["info", "a.warc.zst", "--range", "0-9"], 2, "--range is for a record: name it, by OFFSET"),
        (["info", "a.warc.zst", "--frames"], 2, "--frames is for a record: name it, by OFFSET"),
        (["cat", "a.warc.zst", "0", "--since", "2026"], 2, "choose a capture: name its --uri"),
        (["info", "a.warc.zst", "0", "--until", "2026"], 2, "choose a capture: name its --uri"),
        (["cat", "a.warc.zst", "--uri", SITES[0], "--length", "9"], 2, "is that of the record at OFFSET"),
        (["cat", "--index", "a.cdxj", "--uri", SITES[0], "--length", "9"], 2, "of the record at OFFSET"),
        (["cat", "--uri", SITES[0]], 2, "name a FILE or an --index"),
        (["lookup", "a.cdxj", SITES[0], "--server", "http://a.org/"], 2, "--server is for --url"),
        (["redact", "a.warc.zst", "-o", "b.warc.zst", "--no-stubs", "--no-uri"], 2, "is for the stubs"),
        # The wrong order, or what belongs elsewhere.
        (["cat", "0", "a.warc.zst"], 2, "'a.warc.zst' is not a number of bytes; OFFSET goes after FILE"),
        (["lookup", SITES[0], "a.cdxj"], 2, f"a.cdxj goes first: seekwarc lookup a.cdxj {SITES[0]}"),
        (["search", "tea", "a.fts"], 2, "a.fts goes first: seekwarc search a.fts tea"),
        (["a.warc.zst"], 2, "a verb goes before it: seekwarc ls a.warc.zst"),
        (["LS", "a.warc.zst"], 2, "did you mean ls?"),
        (["--verbose", "ls", "a.warc.zst"], 2, "unknown option --verbose"),
        (["extract", "a.warc.zst", "--to-dir", "new"], 2, "unknown option --to-dir; the following arguments"),
        (
            ["cat", "a.warc.zst", "--uri", SITES[0], "--date", "2026"],
            2,
            "--date: only with an --index; dates of",
        ),
        (["redact", "b.warc.gz", "--host", "a.org", "--in-place"], 2, "only a .warc.zst is changed in place"),
        # Values.
        (["cat", "a.warc.zst", "0", "--range", "10:5"], 2, "the range '10:5' ends before it begins"),
        (
            ["ls", "a.warc.zst", "--since", "2027", "--until", "2026"],
            2,
            "since is later than until",
        ),
        (["lookup", "a.cdxj", SITES[0], "--since", "x"], 2, "--since/--from: 'x' is not a date"),
        (["ls", "a.warc.zst", "--uri", ""], 2, "argument --uri: is empty"),
        (["index", "a.warc.zst", "--to-dir", ""], 2, "argument --to-dir: is empty"),
        (["filter", "a.warc.zst", "-o", ""], 2, "argument -o/--output: is empty"),
        (["cat", "--index", "a.cdxj", "--uri", SITES[0], "--date", "20269999"], 2, "argument --date: "),
        (["split", "a.warc.zst", "--size", "1K", "-o", "b.warc.zst"], 2, "--size is 1024, not 65536 or more"),
        (["split", "a.warc.zst", "--records", "0", "-o", "b.warc.zst"], 2, "'0' is not a number of records"),
        (["ls", "http//example.org/a.warc.gz"], 2, "did you mean http://example.org/a.warc.gz?"),
        (["ls", "s3:/bucket/a.warc.gz"], 2, "did you mean s3://bucket/a.warc.gz?"),
    ],
)
def test_a_mistake_is_named_with_the_way(
    crawl: str, capfd: pytest.CaptureFixture[str], words: list[str], status: int, said: str
) -> None:
    try:
        found = main(words)
    except SystemExit as stop:
        found = int(stop.code or 0)
    text = capfd.readouterr().err
    assert Path("notes.txt").read_text() == "just text\n"
    assert (found, said in text, "Traceback" in text) == (status, True, False), text


def test_names_of_other_packages_are_answered(crawl: str) -> None:
    for name, other in (("ArchiveIterator", "open"), ("WARCReader", "Reader")):
        with pytest.raises(AttributeError, match=rf"did you mean {other}\?"):
            getattr(seekwarc, name)
    with seekwarc.open(crawl) as archive:
        record = next(iter(archive.records(type="response")))
        assert (record.uri, record.url, record.status) == (record.target_uri, record.target_uri, 200)
        assert record.date is not None
        assert record.date.isoformat() == str(record.date)
        with pytest.raises(TypeError, match=r"unknown option: mimetype; did you mean mime\?"):
            archive.records(mimetype="html")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unknown option: types; did you mean type\?"):
        seekwarc.batches(crawl, types=["response"])  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "words",
    [
        ["cat", "cut.warc", "--uri", "http://example.com/none"],
        ["index", "cut.warc", "-o", "new.cdxj"],
        ["dedupe", "cut.warc", "--to-dir", "new"],
        ["redact", "cut.warc", "--to-dir", "new", "--host", "example.com"],
        ["verify", "cut.warc"],
    ],
)
def test_nothing_is_said_twice(crawl: str, capfd: pytest.CaptureFixture[str], words: list[str]) -> None:
    with seekwarc.open("cut.warc", "w") as out:
        for number in range(2):
            block = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100
            out.write_response(f"http://example.org/{number}", block, date="2026-01-01")
    Path("cut.warc").write_bytes(Path("cut.warc").read_bytes()[:-30])
    for _ in range(2):
        capfd.readouterr()
        assert main(words) in (1, 2)
        said = [it.replace("warning: ", "") for it in capfd.readouterr().err.splitlines()]
        assert len(said) == len({*said}), said
        assert said or words[0] == "verify"


def test_a_look_up_is_not_a_list(crawl: str) -> None:
    with seekwarc.Index("a.cdxj") as index:
        for dates in ({}, {"closest": "2026"}):
            found = index.lookup(SITES[0], **dates)
            with pytest.raises(TypeError, match=r"use next\(\.\.\.\) for the first, .*`latest\(uri\)`"):
                found[0]  # type: ignore[index]
            assert next(found).uri == SITES[0]


def test_a_loop_over_the_first_bytes_ends_with_a_word(crawl: str) -> None:
    with seekwarc.open(crawl) as archive:
        record = next(iter(archive.records(type="response")))
        with pytest.raises(ValueError, match=r"read\(5\) was called before.*payload\.open\(\)"):
            while record.block.read(5):
                pass
        assert record.block.read(6) == record.block.pread(0, 6) == record.block.pread(0, 6)
        assert (
            record.block.read() == record.block.read() == record.block.read(10**6) == record.block.read(10**6)
        )
        with record.block.open() as file:
            pieces = iter(lambda: file.read(5), b"")
            assert b"".join(pieces) == record.block.read()


@pytest.mark.parametrize("name", ["o.txt", "o.json", "o.CSV", "o.cdxj", "o.zip"])
def test_a_name_of_another_kind_of_file_is_refused_unless_a_compression_is_named(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(TargetError, match="a WARC file is not called"):
        seekwarc.open(tmp_path / name, "w")
    with seekwarc.open(tmp_path / name, "w", compression="none") as out:
        out.write("resource", block=b"x", target_uri="http://a/")
    with seekwarc.open(tmp_path / name) as archive:
        assert archive.compression == "none"
    with pytest.raises(TargetError, match=r"there is no folder .*missing; make it first"):
        seekwarc.open(tmp_path / "missing" / "a.warc.zst", "w")


def test_what_is_no_archive_is_not_called_damaged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mk.sh"
    path.write_text("echo x\n")
    assert main(["verify", str(path)]) == 1
    said = capfd.readouterr().out
    assert f"{path}: not an archive: 0 records" in said
    assert "damaged" not in said
