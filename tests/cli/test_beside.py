"""The index beside a file: used without being named, and never for other bytes than those of the file."""

from __future__ import annotations

import os
import random
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main
from seekwarc.make.indexing import index
from seekwarc.make.text_indexing import index_text
from tests.cli.conftest import when_complete
from tests.support.processes import PATIENT
from tests.support.rangeserver import Content, RangeServer
from tests.support.s3 import FolderServer
from tests.support.writing import noise, text

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
URI = "http://example.org/page"
OTHER = "https://example.org/page"
FAR = "http://www.example.com:8080/film.mp4"
Server = Callable[..., tuple["subprocess.Popen[bytes]", str, int]]
ENDINGS = (".warc.zst", ".warc.gz", ".warc")


def write(path: Path, *, mode: str = "w", days: int = 3) -> None:
    with seekwarc.open(path, mode) as out:
        for day in range(1, days + 1):
            date = f"2026-01-{day:02}T00:00:00Z"
            for number, uri in enumerate((URI, OTHER, FAR)):
                body = text(500, seed=10 * day + number)
                found = out.write_response(uri, HEAD + body, date=date)
                out.write_metadata({"note": "it"}, target_uri=uri, date=date, refers_to=found.id)


def indexed(path: Path, name: str | None = None) -> Path:
    target = path.with_name(name or f"{path.name}.cdxj")
    index({path.name: path}, target)
    return target


@pytest.fixture(params=ENDINGS)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"crawl{request.param}"
    write(path)
    return path


class Run:
    """What the command printed, in this process."""

    def __init__(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        self._captured = capsysbinary

    def __call__(self, *words: object) -> tuple[bytes, str]:
        self.status = main([str(it) for it in words])
        out, err = self._captured.readouterr()
        return out, err.decode()

    def same(self, *words: object) -> str:
        """Assert that it is the same with and without the index; return what was said."""
        found, said = self(*words)
        assert found == self(*words, "--no-index")[0]
        assert found
        return said


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    return Run(capsysbinary)


RESPONSES = ("--type", "response", "--json")


def questions(path: Path) -> Iterator[tuple[object, ...]]:
    yield "cat", path, "--uri", URI
    yield "cat", path, "--uri", FAR, "--until", "2026-01-02"
    yield "ls", path, "--uri", URI, *RESPONSES
    yield "ls", path, "--host", "example.com", *RESPONSES
    yield "ls", path, "--uri", "*film*", "--since", "2026-01-02", *RESPONSES


@pytest.mark.parametrize("name", [None, "index.cdxj"])
def test_an_index_beside_the_file_is_used_and_said_once(run: Run, archive: Path, name: str | None) -> None:
    found = indexed(archive, name)
    for words in questions(archive):
        assert run.same(*words) == f"seekwarc: using index {found}; --no-index reads the files\n"


def test_without_an_index_nothing_is_said(run: Run, archive: Path) -> None:
    for words in questions(archive):
        assert run.same(*words) == ""


def test_a_list_of_other_records_is_read_from_the_file(run: Run, archive: Path) -> None:
    indexed(archive)
    for words in (["ls", archive], ["ls", archive, "--uri", URI], ["ls", archive, "--type", "response"]):
        assert run.same(*words) == ""


def test_one_index_is_of_all_files_in_its_folder(run: Run, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.warc.gz" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, days=number + 1)
    index({it.name: it for it in paths}, tmp_path / "index.cdxj")
    assert run.same("cat", tmp_path, "--uri", URI).count("using index") == 1
    assert run.same("ls", tmp_path, "--uri", URI, "--type", "response").count("using index") == 1


def test_a_note_of_a_crawler_is_no_capture_of_its_uri(run: Run, archive: Path) -> None:
    with seekwarc.open(archive, "a") as out:
        out.write_resource("urn:note", b"note: it\r\n", "application/warc-fields")
    indexed(archive)
    for words in ([], ["--no-index"]):
        found, said = run("cat", archive, "--uri", "urn:note", *words)
        assert (run.status, found) == (1, b"")
        assert "no response, resource or revisit has the URI urn:note" in said


def test_an_index_is_not_used_once_the_file_has_grown(run: Run, archive: Path) -> None:
    found = indexed(archive)
    write(archive, mode="a", days=4)
    os.utime(found)
    for words in questions(archive):
        said = run.same(*words)
        assert f"{found} is not used: crawl" in said
        assert "using index" not in said


def test_an_index_is_not_used_once_the_file_is_newer(run: Run, archive: Path) -> None:
    found = indexed(archive)
    os.utime(archive, ns=(0, found.stat().st_mtime_ns + 1))
    assert f"{found} is not used: it is older than" in run.same("cat", archive, "--uri", URI)


@pytest.mark.parametrize("days", [1, 2, 5])
def test_the_index_of_another_file_is_not_used(run: Run, archive: Path, days: int) -> None:
    found = indexed(archive)
    write(archive, days=days) if archive.unlink() is None else None
    os.utime(found)
    for words in questions(archive):
        if not (days == 1 and "--since" in words):
            assert f"{found} is not used" in run.same(*words)


def test_the_index_of_another_folder_is_not_used(run: Run, archive: Path) -> None:
    archive.with_name("other.warc.gz").write_bytes(archive.read_bytes())
    indexed(archive.with_name("other.warc.gz"), "index.cdxj")
    said = run.same("cat", archive, "--uri", URI)
    assert f"index.cdxj is not used: it does not list {archive.name}" in said


def test_a_line_that_leads_to_another_record_is_not_followed(run: Run, archive: Path) -> None:
    found = indexed(archive)
    lines = found.read_bytes().splitlines()
    ends = [it.partition(b'"length"')[2] for it in lines]
    swapped = [
        it.partition(b'"length"')[0] + b'"length"' + end
        for it, end in zip(lines, reversed(ends), strict=True)
    ]
    found.write_bytes(b"\n".join(swapped) + b"\n")
    said = run.same("cat", archive, "--uri", URI)
    assert "the file is read instead" in said
    run("ls", archive, "--uri", FAR, *RESPONSES)
    assert run.status == 1


def test_a_damaged_index_is_said_and_not_used(run: Run, archive: Path) -> None:
    found = indexed(archive)
    lines = found.read_bytes()
    for damage in (
        b"\x00" * 50,
        lines[:-30],
        lines[: len(lines) // 2] + b"\n" + lines,
        b"<html>no</html>\n",
        b"",
    ):
        found.write_bytes(damage)
        for words in questions(archive):
            assert f"{found}" in run.same(*words)


@pytest.mark.parametrize("examples", [60, pytest.param(20_000, marks=pytest.mark.slow)])
def test_no_flipped_byte_of_an_index_changes_what_comes_out(run: Run, tmp_path: Path, examples: int) -> None:
    path = tmp_path / "crawl.warc.gz"
    write(path)
    found = indexed(path)
    sound = found.read_bytes()
    rnd = random.Random(44)
    wanted = {uri: run("cat", path, "--uri", uri, "--no-index")[0] for uri in (URI, OTHER, FAR)}
    for _ in range(examples):
        data = bytearray(sound)
        data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
        found.write_bytes(data)
        uri = rnd.choice([*wanted])
        assert run("cat", path, "--uri", uri)[0] == wanted[uri], bytes(data)


@pytest.mark.needs("module:resiliparse")
class TestSearch:
    """The search index beside what is searched."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "crawls"
        (folder / "sub").mkdir(parents=True)
        for number, name in enumerate(("a.warc.gz", "b.warc.zst", "sub/c.warc")):
            with seekwarc.open(folder / name, "w") as out:
                page = HEAD + f"Earl Grey, number {number}".encode()
                out.write_response(f"{URI}/{number}", page, date="2026-01-01")
        return folder

    @pytest.mark.parametrize("target", ["", "a.warc.gz", "sub/c.warc"])
    def test_it_is_used_and_said(self, run: Run, folder: Path, target: str) -> None:
        path = folder / target if target else folder
        said = run.same("search", path, "earl", "--json")
        assert f"the pages of {path} are read" in said
        for name in (f"{path}.fts", (path if path.is_dir() else path.parent) / "index.fts"):
            index_text(folder, name)
            said = run.same("search", path, "earl", "--json")
            assert said == f"seekwarc: using index {name}; --no-index reads the files\n"
            Path(name).unlink()

    def test_it_is_not_used_once_a_file_has_changed(self, run: Run, folder: Path) -> None:
        index_text(folder, folder / "index.fts")
        with seekwarc.open(folder / "b.warc.zst", "a") as out:
            out.write_response(f"{URI}/4", HEAD + b"an earl", date="2026-01-02")
        assert "b.warc.zst has changed since it was indexed; `seekwarc index --text`" in run.same(
            "search", folder, "earl", "--json"
        )
        assert len(run("search", folder, "earl", "--json")[0].splitlines()) == 4

    def test_another_file_of_its_name_is_not_used(self, run: Run, folder: Path) -> None:
        (folder / "index.fts").write_bytes(b"no index")
        assert "index.fts is not used: is not a search index" in run.same("search", folder, "earl", "--json")

    def test_a_missing_file_is_all_that_is_said(self, run: Run, folder: Path) -> None:
        said = run("search", folder / "none.warc.gz", "earl")[1]
        assert (run.status, said.count("\n"), "cannot be opened" in said) == (2, 1, True)


@pytest.mark.needs("module:starlette", "module:uvicorn")
class TestServe:
    """The indexes beside what is served."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write(tmp_path / "a.warc.gz")
        index(tmp_path / "a.warc.gz", tmp_path / "index.cdxj")
        return tmp_path

    @pytest.mark.parametrize(("words", "records"), [((), 9), (("--no-index",), 18)])
    def test_what_it_lists_is_shown_without_a_scan(
        self, serve: Server, folder: Path, words: tuple[str, ...], records: int
    ) -> None:
        if not words:
            index_text(folder / "a.warc.gz", folder / "a.warc.gz.fts")
        process, address, _ = serve("--port", 0, folder / "a.warc.gz", *words)
        summary = when_complete(address)
        assert (summary["records"], summary["search"]) == (records, not words)
        assert fetch(f"{address}payload?uri={FAR}") == text(500, seed=32)
        process.terminate()
        said = process.communicate()[1].decode()
        assert said.count("using index") == (0 if words else 2)

    def test_a_stale_index_is_not_used(self, serve: Server, folder: Path) -> None:
        write(folder / "a.warc.gz", mode="a", days=4)
        os.utime(folder / "index.cdxj")
        process, address, _ = serve("--port", 0, folder)
        summary = when_complete(address)
        assert summary["records"] == 18 + 24
        process.terminate()
        assert "index.cdxj is not used: a.warc.gz has captures" in process.communicate()[1].decode()

    def test_a_line_of_another_record_opens_nothing(self, serve: Server, folder: Path) -> None:
        name = folder / "index.cdxj"
        name.write_bytes(name.read_bytes().replace(b'"url": "http://www', b'"url": "http://web'))
        _, address, _ = serve("--port", 0, folder)
        when_complete(address)
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetch(f"{address}payload?uri={FAR.replace('www', 'web')}")
        assert b"make the index again" in caught.value.read()


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=PATIENT) as answer:
        return answer.read()


class Folder(RangeServer):
    """Serves the files of a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(b"")
        self.folder = folder

    def content_of(self, target: str) -> Content | None:
        path = self.folder / target.removeprefix("/")
        return Content(path.read_bytes()) if path.is_file() else None

    def targets(self) -> list[str]:
        return [it.target for it in self.asked]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Folder]:
    with seekwarc.open(tmp_path / "far.warc.gz", "w", compression="gz") as out:
        for number in range(12):
            out.write_response(f"http://example.org/{number}", HEAD + noise(400_000, seed=number))
    with Folder(tmp_path) as server:
        yield server


@pytest.mark.needs("module:obstore")
class TestRemote:
    URI = "http://example.org/7"

    def test_a_missing_index_costs_two_requests_and_no_word(self, run: Run, server: Folder) -> None:
        url = f"{server.root}/far.warc.gz"
        assert run.same("cat", url, "--uri", self.URI) == ""
        asked = server.targets()
        assert sorted(it for it in asked if "cdxj" in it) == ["/far.warc.gz.cdxj", "/index.cdxj"]

    @pytest.mark.parametrize("name", [None, "index.cdxj"])
    def test_an_index_saves_reading_the_file(self, run: Run, server: Folder, name: str | None) -> None:
        indexed(server.folder / "far.warc.gz", name)
        url = f"{server.root}/far.warc.gz"
        words = ("cat", url, "--uri", self.URI, "--range", ":1000")
        wanted = run(*words, "--no-index")[0]
        server.forget()
        found, said = run(*words)
        assert found == wanted
        assert f"using index {server.root}/{name or 'far.warc.gz.cdxj'}" in said
        assert len(server.asked) <= 6, [(it.target, it.range, it.status) for it in server.asked]

    def test_a_stale_index_is_not_used(self, run: Run, server: Folder) -> None:
        path = server.folder / "far.warc.gz"
        indexed(path)
        with seekwarc.open(path, "a", compression="gz") as out:
            out.write_response(self.URI, HEAD + b"later")
        assert "is not used" in run.same("cat", f"{server.root}/far.warc.gz", "--uri", self.URI)

    def test_an_answer_that_is_no_index_is_said(self, run: Run, server: Folder) -> None:
        (server.folder / "index.cdxj").write_bytes(b"<!doctype html>\n")
        assert "index.cdxj" in run.same("cat", f"{server.root}/far.warc.gz", "--uri", self.URI)

    def test_a_large_index_is_left_to_index(
        self, run: Run, server: Folder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        indexed(server.folder / "far.warc.gz")
        monkeypatch.setattr("seekwarc.cdx.beside.MAX_FETCHED", 100)
        assert "only if --index names it" in run.same("cat", f"{server.root}/far.warc.gz", "--uri", self.URI)


@pytest.mark.needs("module:obstore")
@pytest.mark.parametrize("name", ["index.cdxj", None])
def test_a_remote_file_is_known_by_its_name_without_escapes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str | None
) -> None:
    path = tmp_path / "a b.warc.gz"
    write(path)
    indexed(path, name)
    with FolderServer(tmp_path) as server:
        assert main(["cat", f"{server.root}/a%20b.warc.gz", "--uri", FAR]) == 0
    assert "using index http" in capfd.readouterr().err
