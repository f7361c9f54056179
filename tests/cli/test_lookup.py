"""`seekwarc lookup`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.cdx import cdxj_line, columnar, many_lines, wacz_cluster

URI = "http://example.org/"


def line(date: str, **more: str) -> bytes:
    fields = {"url": URI, "mime": "text/html", "status": "200", "digest": "sha1:AAAA", "length": "10"}
    return cdxj_line("org,example)/", date, **{**fields, "offset": "20", "filename": "a.warc.gz", **more})


LINES = [
    line("20200101000000"),
    line("20210101000000", status="404"),
    line("20220101000000", mime="warc/revisit"),
    cdxj_line("org,example)/film", "20220101000000", url=f"{URI}film", mime="video/mp4"),
    cdxj_line("org,example,sub)/", "20220101000000", url="http://sub.example.org/"),
]


@pytest.fixture
def index(tmp_path):
    path = tmp_path / "a.cdxj"
    path.write_bytes(b"".join(LINES))
    return path


@pytest.fixture
def asked(run_main, capsys, index):
    """Run the verb within this process, which is faster; return its status and what it lists."""

    def run(*words: str) -> tuple[int, list[dict]]:
        try:
            status = run_main("lookup", index, *words)
        except SystemExit as stop:
            status = stop.code
        return status, [json.loads(row) for row in capsys.readouterr().out.splitlines()]

    return run


def test_captures_are_listed_in_columns(command, index) -> None:
    found = [row.split() for row in command("lookup", index, URI).out.splitlines()]
    assert found[0] == ["DATE", "STATUS", "MIME", "LENGTH", "OFFSET", "FILE", "URI"]
    assert found[1] == ["20200101000000", "200", "text/html", "10", "20", "a.warc.gz", URI]
    assert len(found) == 4
    bare = command("lookup", index, f"{URI}film").out.splitlines()[1].split()
    assert bare == ["20220101000000", "-", "video/mp4", "-", "-", "-", f"{URI}film"]


def test_captures_are_listed_as_json(command, index) -> None:
    first = command("lookup", index, URI, "--json").json_lines[0]
    assert first == {
        "urlkey": "org,example)/",
        "timestamp": "20200101000000",
        "url": URI,
        "mime": "text/html",
        "status": "200",
        "digest": "sha1:AAAA",
        "length": "10",
        "offset": "20",
        "filename": "a.warc.gz",
    }


def test_captures_are_listed_as_they_are_stored(command, index) -> None:
    assert command("lookup", index, URI, "--cdxj").stdout == b"".join(LINES[:3])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--from", "2021"), ["2021", "2022"]),
        (("--to", "2021-06"), ["2020", "2021"]),
        (("--from", "2021", "--to", "2021"), ["2021"]),
        (("--closest", "2021-01-02"), ["2021", "2022", "2020"]),
        (("--closest", "2023", "--limit", "1"), ["2022"]),
        (("--limit", "2"), ["2020", "2021"]),
        (("--filter", "status:0"), ["2020", "2021", "2022"]),
        (("--filter", "=status:40"), None),
        (("--filter", "=status:404"), ["2021"]),
        (("--filter", "!=status:404"), ["2020", "2022"]),
        (("--filter", "~mime:text/.*"), ["2020", "2021"]),
        (("--filter", "!~mime:text"), ["2022"]),
        (("--filter", "mime:html", "--filter", "=status:200"), ["2020"]),
        (("--filter", "timestamp:2021"), ["2021"]),
        (("--filter", "robot:x"), None),
        (("--filter", "!robot:x", "--limit", "1"), ["2020"]),
    ],
)
def test_what_is_listed_can_be_chosen(asked, words, expected) -> None:
    status, found = asked(URI, "--json", *words)
    assert [it["timestamp"][:4] for it in found if "status" not in it or "urlkey" in it] == (expected or [])
    assert status == (0 if expected else 1)


@pytest.mark.parametrize(("match", "count"), [("exact", 3), ("prefix", 4), ("host", 4), ("domain", 5)])
def test_the_match_may_be_wider(asked, match, count) -> None:
    assert len(asked(URI, "--match", match, "--json")[1]) == count


def test_a_cluster_is_looked_up_in_like_a_file(command, tmp_path) -> None:
    path = wacz_cluster(tmp_path, many_lines(300))
    found = command("lookup", path, "http://site5.org/page/0000005", "--json").json_lines
    assert [it["timestamp"][:4] for it in found] == ["2020", "2021", "2022"]


def test_the_limit_of_a_clusters_blocks_can_be_set(command, tmp_path) -> None:
    path = wacz_cluster(tmp_path, many_lines(300))
    words = ("lookup", path, "http://site5.org/page/0000005")
    stderr = command(*words, "--max-block", "300", status=1).stderr
    assert stderr.startswith(f"seekwarc: {tmp_path / 'index.cdx.gz'}, offset ")
    assert "--max-block" in stderr
    assert command(*words, "--max-block", "1M").stdout


@pytest.mark.one_in(3)
@pytest.mark.parametrize("option", ["--max-cell", "--max-group"])
def test_the_limits_of_a_columnar_index_can_be_set(command, tmp_path, option) -> None:
    path = tmp_path / "a.parquet"
    with pytest.MonkeyPatch.context() as patch:
        path.write_bytes(columnar(many_lines(300), patch))
    words = ("lookup", path, "http://site5.org/page/0000005")
    stderr = command(*words, option, "10", status=1).stderr
    assert stderr.startswith(f"seekwarc: {path}, offset ")
    assert option in stderr
    assert command(*words, option, "1M").stdout


def test_what_is_not_there_is_not_found(command, index) -> None:
    answer = command("lookup", index, "http://example.com/", status=1)
    assert answer.stdout == b""
    assert answer.stderr == f"seekwarc: {index}: no such capture of http://example.com/\n"


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("http://example.org/*", "http://example.org/ --match prefix"),
        ("*.example.org", "example.org --match domain"),
    ],
)
def test_an_asterisk_is_answered_with_what_it_means(command, index, uri, hint) -> None:
    answer = command("lookup", index, uri, status=1)
    assert hint in answer.stderr
    assert command("lookup", index, *hint.split()).out


@pytest.mark.parametrize(
    "words",
    [
        ("--limit", "0"),
        ("--limit", "x"),
        ("--from", "soon"),
        ("--to", "20261399"),
        ("--closest", "1"),
        ("--closest", "2020", "--match", "prefix"),
        ("--match", "some"),
        ("--filter", "status"),
        ("--filter", "~status:("),
        ("--json", "--cdxj"),
    ],
)
def test_wrong_usage_is_reported(asked, words) -> None:
    assert asked(URI, *words) == (2, [])


def test_an_index_that_is_not_there_is_reported(command, tmp_path) -> None:
    assert "cannot be opened" in command("lookup", tmp_path / "none.cdxj", URI, status=2).stderr
    assert "is a directory" in command("lookup", tmp_path, URI, status=2).stderr


def test_an_index_that_is_not_sorted_is_reported_with_the_place(command, tmp_path) -> None:
    path = tmp_path / "a.cdxj"
    path.write_bytes(LINES[1] + LINES[0])
    stderr = command("lookup", path, URI, status=1).stderr
    assert stderr.startswith(f"seekwarc: {path}, offset {len(LINES[1])}: the index is not sorted")
    path.write_bytes(b"<html>\n")
    assert f"{path}: is not an index: it begins with" in command("lookup", path, URI, status=2).stderr


def test_what_a_terminal_would_obey_is_escaped(command, tmp_path) -> None:
    path = tmp_path / "a.cdxj"
    path.write_bytes(line("2020", mime="\x1b[2J", filename="\x07\n"))
    for words in ((), ("--json",), ("--cdxj",)):
        out = command("lookup", path, URI, *words).out
        assert "\x1b" not in out
        assert "\x07" not in out
        assert out.count("\n") == (1 if words else 2)


def test_a_reader_that_has_enough_is_no_error(tmp_path) -> None:
    (tmp_path / "a.cdxj").write_bytes(b"".join(many_lines(20_000)))
    script = (
        f"{sys.executable} -m seekwarc lookup a.cdxj org --match domain | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True, cwd=tmp_path)
    assert done.stderr == b""
    assert done.stdout.endswith(b"\n141\n")


def test_standard_input_is_searched_like_a_file(command, index) -> None:
    command_line = [sys.executable, "-m", "seekwarc", "lookup", "-", URI, "--cdxj"]
    with subprocess.Popen(["cat", index], stdout=subprocess.PIPE) as cat:
        done = subprocess.run(command_line, stdin=cat.stdout, capture_output=True, check=True)
    assert done.stdout == command("lookup", index, URI, "--cdxj").stdout
