"""The tools as functions."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.cli.verbs import VERBS
from seekwarc.errors import FormatError, SeekWarcError
from tests.support.captures import related
from tests.support.foreign import Foreign, text
from tests.support.reading import blocks_of
from tests.support.writing import noise

BLOCKS = [b"first", noise(3000), b"last"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = Foreign()
    for block in BLOCKS:
        made.record(block)
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(made.gzip().bytes())
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    made = Foreign()
    for block in BLOCKS:
        made.record(block)
    data = bytearray(made.bytes())
    data[made.records[1].offset + 300] ^= 1
    path = tmp_path / "broken.warc.zst"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["new.warc.zst", "new.warc.gz", "new.warc"])
def test_the_target_name_determines_the_compression(tmp_path: Path, source: Path, name: str) -> None:
    done = tools.convert(source, tmp_path / name)
    assert (done.records, done.verified) == (3, True)
    assert blocks_of(tmp_path / name) == BLOCKS
    with seekwarc.open(tmp_path / name) as archive:
        assert archive.compression == {"zst": "zst", ".gz": "gz"}.get(name[-3:], "none")
    with pytest.raises(SeekWarcError, match=name):
        tools.convert(source, tmp_path / name)
    tools.convert(source, tmp_path / name, existing="overwrite")


def test_a_name_without_a_compression_is_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(ValueError, match=r"name it \.warc\.zst"):
        tools.convert(source, tmp_path / "new")
    tools.convert(source, tmp_path / "new", compression="gz")
    assert blocks_of(tmp_path / "new") == BLOCKS


def test_a_file_is_verified(source: Path, broken: Path) -> None:
    assert tools.verify(source).is_sound
    found = []
    result = tools.verify(broken, on_problem=found.append)
    assert [problem.code for problem in found] == ["damage"]
    assert (result.is_sound, result.damages, result.records) == (False, 1, 2)


def test_an_index_opens_its_records(tmp_path: Path, source: Path) -> None:
    done = tools.index([source], tmp_path / "crawl.cdxj")
    assert (done.lines, done.problems) == (3, 0)
    with seekwarc.Index(tmp_path / "crawl.cdxj") as found:
        assert next(found.lookup("http://example.org/1")).open().block.read() == BLOCKS[1]


def test_problems_of_indexing_are_raised_without_on_problem(tmp_path: Path, broken: Path) -> None:
    target = tmp_path / "crawl.cdxj"
    with pytest.raises(FormatError):
        tools.index([broken], target)
    assert not target.exists()
    found: list[FormatError] = []
    done = tools.index([broken], target, on_problem=found.append)
    assert (done.lines, done.problems) == (2, 1)
    assert len(found) == 1


def test_two_files_of_one_name_are_refused(tmp_path: Path, source: Path) -> None:
    (tmp_path / "sub").mkdir()
    other = tmp_path / "sub" / source.name
    other.write_bytes(source.read_bytes())
    with pytest.raises(ValueError, match="two files"):
        tools.index([source, other], tmp_path / "crawl.cdxj")


def test_intact_records_are_recovered(tmp_path: Path, broken: Path) -> None:
    done = tools.recover(broken, tmp_path / "saved.warc.zst")
    assert done.records == 2
    assert done.lost > 3000
    assert blocks_of(tmp_path / "saved.warc.zst") == [BLOCKS[0], BLOCKS[2]]


def test_files_are_joined(tmp_path: Path, source: Path) -> None:
    done = tools.concat(iter([source, source]), tmp_path / "all.warc.zst")
    assert (done.files, done.records) == (2, 6)
    assert blocks_of(tmp_path / "all.warc.zst") == BLOCKS * 2


VERBS_OF_THE_LIBRARY = {"ls", "cat", "clip", "lookup", "serve", "completion", "demo"}
"""What programs do without `tools`; spec-notes/converting.md says how."""


def test_every_verb_for_whole_files_is_a_function() -> None:
    # `sidecar` and `index_text` are options of the verb `index`, and `check_chain` is one of `verify`; `wacz`
    # and `dictionary` are several verbs.
    names = {"train": "dictionary"}
    named = {"wacz" if it.endswith("_wacz") else names.get(it, it) for it in tools.__all__}
    others = {"sidecar", "index_text", "SearchIndex", "check_chain"}
    assert set(VERBS) - VERBS_OF_THE_LIBRARY == named - others


def test_a_file_is_described(source: Path) -> None:
    assert tools.info(source).records == 3
    assert tools.info(source, min_size=100, largest=1).largest[0][0] == 3000


def test_payloads_are_extracted(tmp_path: Path, broken: Path) -> None:
    found: list[object] = []
    done = tools.extract(broken, tmp_path / "new", on_result=found.append)
    assert (done.written, done.failed, done.exit_status) == (2, 1, 1)
    assert done.size == len(BLOCKS[0] + BLOCKS[2])
    assert len(found) == 4
    with pytest.raises(SeekWarcError, match="not empty"):
        tools.extract([broken], str(tmp_path / "new"))
    assert tools.extract(broken, tmp_path / "new", min_size=5, existing="overwrite").written == 1
    with pytest.raises(ValueError, match="did you mean resource"):
        tools.extract(broken, tmp_path / "other", type="resourse")


def test_files_and_folders_are_packed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "in" / name).write_text(name)
    tools.pack(tmp_path / "in", tmp_path / "one.warc.zst")
    tools.pack([str(tmp_path / "in" / "a.txt"), tmp_path / "in"], tmp_path / "two.warc.zst")
    assert blocks_of(tmp_path / "one.warc.zst")[1:] == [b"a.txt", b"b.txt"]
    assert blocks_of(tmp_path / "two.warc.zst")[1:] == [b"a.txt", b"a.txt", b"b.txt"]


def test_a_file_is_split(tmp_path: Path, source: Path) -> None:
    done = tools.split(source, tmp_path / "part", max_records=2)
    assert [piece.records for piece in done.pieces] == [2, 1]


def test_a_dictionary_is_trained(tmp_path: Path) -> None:
    made = Foreign()
    for number in range(300):
        made.record(text(3000, seed=number))
    path = tmp_path / "pages.warc"
    path.write_bytes(made.plain().bytes())
    dictionary = tools.train(path).dictionary
    tools.convert(path, tmp_path / "pages.warc.zst", dictionary=dictionary)
    assert tools.dictionary(tmp_path / "pages.warc.zst").dictionary.id == dictionary.id


@pytest.mark.parametrize("name", tools.__all__)
def test_functions_keep_their_names_when_modules_are_imported(name: str) -> None:
    function = getattr(tools, name)
    assert vars(importlib.import_module(function.__module__))[name] is function
    assert function is getattr(tools, name)
    assert ":\n" in function.__doc__
    assert f"tools.{name}(" in function.__doc__, "there is an example"


@pytest.mark.parametrize("name", ["extract", "filter", "redact", "text"])
def test_a_condition_of_another_name_is_called_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.warc.zst").write_bytes(related())
    with pytest.raises(TypeError, match=r"unknown option: mimetype; did you mean mime\?"):
        getattr(tools, name)(tmp_path / "a.warc.zst", tmp_path / "new", mimetype="image/png")
    with pytest.raises(TypeError, match=r"unknown option: mimetype; did you mean mime\?"):
        tools.info(tmp_path / "a.warc.zst", mimetype="image/png")  # type: ignore[call-arg]


def test_a_single_name_need_not_be_in_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.warc.zst").write_bytes(related())
    tools.index("a.warc.zst", "a.cdxj")
    tools.create_wacz("a.warc.zst", "a.wacz")
    assert tools.merge_wacz("a.wacz", "b.wacz").files == 1
    assert tools.join("a.warc.zst", uris="http://example.org/none", dry_run=True).not_found == [
        "no capture of http://example.org/none in parts"
    ]
    redact = partial(tools.redact, "a.warc.zst", "c.warc.zst", type="response", with_revisits=True)
    assert redact(indexes="a.cdxj", dry_run=True).matched > 0
