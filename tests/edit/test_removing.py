"""What becomes of whole files: empty ones, backups, and what is reported of each."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import NotFoundError, TargetError, TargetExistsError
from seekwarc.write.output import PathOutput
from tests.support.reading import types_in

GONE = "gone.example"


def write(path: Path, *hosts: str, info: bool = True, note: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with seekwarc.open(path, "w") as out:
        if info:
            out.write_warcinfo({"software": "test"})
        for number, host in enumerate(hosts):
            page = f"{path.name} {number} {host}".encode()
            out.write_response(f"http://{host}/{path.stem}-{number}", page, status=200)
        if note is not None:
            out.write_metadata({"via": note}, target_uri="http://kept.example/note")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files of a host of its own, one without a warcinfo record, a mixed one and one of another host."""
    crawls = tmp_path / "crawls"
    write(crawls / "2025" / "own.warc.zst", GONE, GONE)
    write(crawls / "2026" / "own.warc.zst", GONE, info=False)
    write(crawls / "2026" / "mixed.warc.zst", GONE, "kept.example", note=f"http://{GONE}/mixed.warc-0")
    write(crawls / "other.warc.zst", "kept.example")
    return crawls


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


OWN = ["2025/own.warc.zst", "2026/own.warc.zst"]


def test_a_dry_run_names_all_empty_files_and_mentions_at_once(folder) -> None:
    before = tree(folder)
    done = tools.redact(folder, hosts=[GONE], in_place=True, dry_run=True)
    assert [os.path.relpath(name, folder) for name in done.empty_files] == OWN
    assert done.mentioned_by == {"link": 1}
    assert len(done.removed_records) == done.removed == 4
    assert done.refusals == []
    assert tree(folder) == before


def test_a_list_of_targets_leaves_out_empty_files(folder, tmp_path) -> None:
    names = sorted(str(path) for path in folder.rglob("*.zst"))
    targets = [tmp_path / f"{number}.warc.zst" for number, _ in enumerate(names)]
    done = tools.redact(names, targets, hosts=[GONE])
    made = {os.path.relpath(it.file, folder): it for it in done.file_reports}
    assert {name for name, it in made.items() if it.outcome == "left out"} == {*OWN}
    assert all(made[name].target is made[name].sha256_after is None for name in OWN)
    assert sum(target.exists() for target in targets) == done.written == 2


def test_an_earlier_target_of_a_file_that_is_left_out_goes_if_it_may_be_replaced(folder, tmp_path) -> None:
    names = sorted(str(path) for path in folder.rglob("*.zst"))
    targets = [tmp_path / f"{number}.warc.zst" for number, _ in enumerate(names)]
    tools.redact(names, targets, uri=f"http://{GONE}/own.warc-1")
    assert all(target.exists() for target in targets)
    before = tree(tmp_path)
    with pytest.raises(TargetExistsError):
        tools.redact(names, targets, hosts=[GONE])
    dry = tools.redact(names, targets, hosts=[GONE], existing="overwrite", dry_run=True)
    assert tree(tmp_path) == before
    done = tools.redact(names, targets, hosts=[GONE], existing="overwrite")
    pairs = list(zip(done.file_reports, targets, strict=True))
    left = [target for it, target in pairs if it.outcome == "left out"]
    assert [it.target for it, _ in pairs] == [it.target for it in dry.file_reports] == [*map(str, targets)]
    assert len(left) == 2
    assert not any(target.exists() for target in left)
    assert sum(target.exists() for target in targets) == done.written == 2


def test_an_empty_file_keeps_its_warcinfo_and_stubs_in_place(folder) -> None:
    tools.redact(folder, hosts=[GONE], in_place=True)
    assert types_in(folder / OWN[0]) == ["warcinfo", "metadata", "metadata"]
    assert types_in(folder / OWN[1]) == ["metadata"]
    assert tools.verify(folder / OWN[1]).is_sound
    with pytest.raises(NotFoundError, match="no record matches"):
        tools.redact(folder, hosts=[GONE], in_place=True)


def test_a_file_that_would_have_no_record_is_refused_or_deleted(folder) -> None:
    before = tree(folder)
    with pytest.raises(ValueError, match=r"2026/own.*no record would be left; --delete-empty"):
        tools.redact(folder, hosts=[GONE], in_place=True, stubs=False)
    assert tree(folder) == before
    done = tools.redact(folder, hosts=[GONE], in_place=True, stubs=False, delete_empty=True)
    assert sorted(tree(folder)) == ["2026/mixed.warc.zst", "other.warc.zst"]
    assert sorted(it.outcome for it in done.file_reports) == ["deleted", "deleted", "replaced", "unchanged"]


def test_a_warcinfo_that_others_name_is_left(tmp_path) -> None:
    one, two = tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"
    with seekwarc.open(one, "w") as out:
        info = out.write_warcinfo({"software": "test"})
        out.write_response(f"http://{GONE}/", b"page", status=200)
    with seekwarc.open(two, "w") as out:
        out.write_response("http://kept.example/", b"other", status=200, warcinfo_id=info)
    done = tools.redact([one, two], hosts=[GONE], in_place=True, delete_empty=True, stubs=False)
    assert (done.empty_files, types_in(one)) == ([], ["warcinfo"])


def test_digests_and_backups_are_those_of_the_files(folder, tmp_path) -> None:
    before = tree(folder)
    kept = tmp_path / "old" / "files"
    done = tools.redact(folder, hosts=[GONE], in_place=True, delete_empty=True, backup=kept)
    after = tree(folder)
    assert tree(kept) == {name: before[name] for name in before if after.get(name) != before[name]}
    for it in done.file_reports:
        name = os.path.relpath(it.file, folder)
        assert it.sha256_before == hashlib.sha256(before[name]).hexdigest()
        assert it.size_before == len(before[name])
        assert it.backup == (None if it.outcome == "unchanged" else str(kept / name))
        data = after.get(name)
        assert it.size_after == (None if data is None else len(data))
        assert it.sha256_after == (None if data is None else hashlib.sha256(data).hexdigest())


def test_digests_of_long_files_are_of_all_their_bytes(tmp_path) -> None:
    old, new, kept = (tmp_path / name for name in ("old.warc.zst", "new.warc.zst", "kept"))
    with seekwarc.open(old, "w") as out:
        out.write_response("http://kept.example/", os.urandom(3 << 20), status=200)
        out.write_response(f"http://{GONE}/", b"page", status=200)
    (report,) = tools.redact(old, new, hosts=[GONE]).file_reports
    for path, *stated in (
        (old, report.size_before, report.sha256_before),
        (new, report.size_after, report.sha256_after),
    ):
        data = path.read_bytes()
        assert stated == [len(data), hashlib.sha256(data).hexdigest()]
    # A file that only begins like the old one is not a backup of it.
    kept.mkdir()
    (kept / old.name).write_bytes(other := old.read_bytes()[: 2 << 20])
    with pytest.raises(TargetExistsError):
        tools.redact(old, hosts=[GONE], in_place=True, backup=kept)
    assert (kept / old.name).read_bytes() == other


def test_a_backup_replaces_no_other_file(folder, tmp_path) -> None:
    before, taken = tree(folder), tmp_path / "old" / OWN[1]
    taken.parent.mkdir(parents=True)
    taken.write_bytes(b"mine")
    with pytest.raises(TargetExistsError, match="own"):
        tools.redact(folder, hosts=[GONE], in_place=True, backup=tmp_path / "old")
    assert tree(folder) == before
    assert tree(tmp_path / "old") == {OWN[1]: b"mine"}
    taken.write_bytes(before[OWN[1]])
    tools.redact(folder, hosts=[GONE], in_place=True, backup=tmp_path / "old")
    assert taken.read_bytes() == before[OWN[1]]


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_old_files_are_kept_before_one_is_replaced(folder, tmp_path, monkeypatch, fails_at) -> None:
    before, calls = tree(folder), iter(range(100))
    commit = PathOutput.commit

    def fail(output: PathOutput) -> None:
        if str(folder) in output.name and next(calls) == fails_at:
            raise TargetError("no space left")
        commit(output)

    monkeypatch.setattr(PathOutput, "commit", fail)
    options = {"hosts": [GONE], "in_place": True, "delete_empty": False, "backup": tmp_path / "old"}
    with pytest.raises(TargetError, match="no space left"):
        tools.redact(folder, **options)
    kept, left = tree(tmp_path / "old"), tree(folder)
    assert left.keys() == before.keys()
    assert all(data in (left[name], kept.get(name)) for name, data in before.items())
    monkeypatch.undo()
    tools.redact(folder, **options)
    assert tree(tmp_path / "old") == {name: before[name] for name in [*OWN, "2026/mixed.warc.zst"]}


@pytest.mark.parametrize("options", [{"delete_empty": True}, {"backup": "old"}])
def test_what_is_for_files_in_place_is_refused_for_others(folder, tmp_path, options) -> None:
    with pytest.raises(ValueError, match="in place"):
        tools.redact(folder / OWN[0], tmp_path / "new.warc.zst", hosts=[GONE], **options)


def test_equal_names_have_no_backups_in_one_folder(folder, tmp_path) -> None:
    with pytest.raises(ValueError, match="2 files would have this backup"):
        tools.redact([folder / it for it in OWN], hosts=[GONE], in_place=True, backup=tmp_path / "old")
    assert not (tmp_path / "old").exists()


def test_an_index_loses_the_lines_of_files_that_are_deleted(folder, tmp_path) -> None:
    index = tmp_path / "all.cdxj"
    renamed = folder / "2025" / "first.warc.zst"
    (folder / OWN[0]).rename(renamed)
    tools.index([*folder.rglob("*.zst")], index)
    dry = tools.redact(folder, hosts=[GONE], in_place=True, dry_run=True, indexes=[index])
    done = tools.redact(folder, hosts=[GONE], in_place=True, delete_empty=True, indexes=[index], stubs=False)
    assert dry.mentioned_by == done.mentioned_by == {"link": 1}
    with seekwarc.Index(index) as lines:
        assert {line.fields["filename"] for line in lines} == {"mixed.warc.zst", "other.warc.zst"}
