"""`seekwarc redact`: what is gone, what is kept, and what is said of it."""

from __future__ import annotations

import os
import signal

import pytest

import seekwarc
from tests.support.captures import SITES, related
from tests.support.foreign import Foreign
from tests.support.processes import PATIENT, wait_until
from tests.support.writing import noise


@pytest.fixture
def path(tmp_path):
    (tmp_path / "crawl.warc.zst").write_bytes(related())
    return tmp_path / "crawl.warc.zst"


def left_in(folder) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_new_file_is_made_without_the_records(command, path, tmp_path) -> None:
    target = tmp_path / "rest.warc.zst"
    answer = command("redact", path, "--uri", SITES[1], "--reason", "request 17", "-o", target)
    lines = answer.out.splitlines()
    assert lines[0] == "3 of 14 records matched, 3 removed"
    assert lines[1].startswith(f"{target}: 11 records kept and compared, 1 stub: ")
    assert answer.stderr == ""
    with seekwarc.open(target) as archive:
        assert SITES[1] not in [record.target_uri for record in archive.records(type="response")]


@pytest.mark.slow
def test_other_uris_with_the_same_key_are_said_to_be_left(command, tmp_path) -> None:
    path, asked = tmp_path / "a.warc.zst", "http://example.org/a"
    with seekwarc.open(path, "w") as out:
        for uri in (
            asked,
            *["http://example.org/A"] * 2,
            *[f"http://www{it}.example.org/a" for it in range(22)],
        ):
            out.write("resource", block=b"x", target_uri=uri)
    words = ("redact", path, "--uri", asked, "--dry-run")
    (line,) = [it for it in command(*words).out.splitlines() if it.startswith("also here")]
    assert line.startswith(
        "also here, with the same key, and left: http://example.org/A (2 records), http://www"
    )
    assert line.endswith(".example.org/a (1 record), 3 more URIs")
    found = command(*words, "--json").json
    assert (len(found["others"]), found["further_others"]) == (20, 3)
    assert found["others"]["http://example.org/A"] == 2


def test_each_file_becomes_one_in_a_folder(command, path, tmp_path) -> None:
    other = tmp_path / "other.warc.zst"
    other.write_bytes(path.read_bytes())
    words = ("redact", path, other, "--uri", SITES[1], "--no-stubs", "--to-dir", tmp_path / "new")
    found = command(*words, "--json").json
    assert (found["removed"], found["written"], found["files"]) == (6, 2, [str(path), str(other)])
    assert left_in(tmp_path / "new") == ["crawl.warc.zst", "other.warc.zst"]


def test_what_still_mentions_them_is_said(command, path, tmp_path) -> None:
    words = ("redact", path, "--uri", SITES[1], "--type", "response", "--no-closure", "--no-uri", "--json")
    answer = command(*words, "-o", tmp_path / "rest.warc.zst", status=1)
    assert answer.stderr.count(" record mentions a removed ") == 4
    found = answer.json
    assert (found["status"], found["removed"], found["stubs"], len(found["mentions"])) == ("done", 1, 1, 4)
    assert set(found["mentions"][0]) == {"file", "offset", "type", "what", "text", "kind"}


def test_a_file_is_replaced_in_place(command, path, tmp_path) -> None:
    size = path.stat().st_size
    command("redact", path, "--uri", SITES[1], "--in-place", "--no-stubs")
    assert path.stat().st_size < size
    assert left_in(tmp_path) == ["crawl.warc.zst"]
    command("verify", path)


def test_a_dry_run_says_what_would_be_removed(command, path, tmp_path) -> None:
    before = path.read_bytes()
    words = ("redact", path, "--uri", SITES[0], "--with-revisits", "-n")
    answer = command(*words, "--to-dir", tmp_path / "new")
    lines = answer.out.splitlines()
    assert lines[0] == "3 of 14 records matched, 4 to be removed, 1 revisit among them"
    assert f"{path}: would be written: 4 records removed, 10 kept" in lines
    assert sum(line.startswith("  to be removed: ") for line in lines) == 4
    assert lines[-1] == "still mentioned by: nothing that was searched"
    assert (path.read_bytes(), left_in(tmp_path)) == (before, ["crawl.warc.zst"])


@pytest.fixture
def collection(tmp_path):
    """A host with two files of its own, and a mixed one with a revisit of a record in one of them."""
    folder = tmp_path / "crawls"
    (folder / "own").mkdir(parents=True)
    for number in range(2):
        with seekwarc.open(folder / "own" / f"{number}.warc.zst", "w") as out:
            original = out.write_response(
                f"http://gone.example/{number}", noise(900, seed=number), status=200
            )
            out.write_response(f"http://gone.example/nothing-{number}", b"", status=200)
    with seekwarc.open(folder / "mixed.warc.zst", "w") as out:
        out.write_response("http://kept.example/nothing", b"", status=200)
        digest = original.header.get("WARC-Payload-Digest")
        out.write_revisit("http://kept.example/", refers_to=original, payload_digest=digest)
        out.write_metadata({"via": "http://gone.example/0"}, target_uri="http://kept.example/note")
    (tmp_path / "hosts.txt").write_text("gone.example\n")
    return folder


def test_a_dry_run_says_all_that_a_run_would_meet(command, collection, tmp_path) -> None:
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--in-place")
    answer = command(*words, "-n", status=2)
    own = [str(collection / "own" / f"{number}.warc.zst") for number in range(2)]
    assert f"nothing but warcinfo would be left of: {', '.join(own)}" in answer.out
    assert "asked: hosts: gone.example\n" in answer.out
    assert "still mentioned by: 1 revisit, 1 link\n" in answer.out
    assert "mixed.warc.zst: the payload of the revisit at offset" in answer.stderr
    found = command(*words, "-n", "--json", status=2).json
    assert (found["status"], len(found["lost_revisits"]), found["empty_files"]) == ("problems", 1, own)
    assert [it["uri"] for it in found["removed_records"]][::2] == [
        f"http://gone.example/{it}" for it in (0, 1)
    ]
    assert "--promote keeps the payloads" in command(*words, status=2).stderr


def test_old_files_are_kept_and_empty_ones_deleted(command, collection, tmp_path) -> None:
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--in-place", "--promote")
    damaged = collection / "damaged.warc.zst"
    damaged.write_bytes(b"not an archive")
    answer = command(*words, "--delete-empty", "--backup", tmp_path / "old", "-k", status=1)
    assert left_in(collection) == ["damaged.warc.zst", "mixed.warc.zst", "own"]
    assert left_in(collection / "own") == []
    assert left_in(tmp_path / "old" / "own") == ["0.warc.zst", "1.warc.zst"]
    assert f"not searched: {damaged}: " in answer.out
    assert f"  kept as {tmp_path / 'old' / 'mixed.warc.zst'}\n" in answer.out


def test_a_folder_has_no_file_that_would_be_empty(command, collection, tmp_path) -> None:
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--with-revisits", "--json")
    found = command(*words, "--since", "2020", "--to-dir", tmp_path / "new", status=1).json
    assert left_in(tmp_path / "new") == ["mixed.warc.zst"]
    outcomes = {os.path.basename(it["file"]): it["outcome"] for it in found["file_reports"]}
    assert outcomes == {"0.warc.zst": "left out", "1.warc.zst": "left out", "mixed.warc.zst": "written"}
    assert not any(it["target"] for it in found["file_reports"] if it["outcome"] == "left out")
    assert found["mentioned_by"] == {"link": 1}
    assert found["asked"]["since"] == "2020-01-01T00:00:00+00:00"


def test_a_dry_run_names_places_in_the_files_that_are_there(command, collection, tmp_path) -> None:
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--with-revisits", "-n", "--json")
    for where in ([], ["--in-place"], ["--to-dir", tmp_path / "new"]):
        (found,) = command(*words, *where, status=1).json["mentions"]
        with seekwarc.open(found["file"]) as archive:
            assert archive.record_at(found["offset"]).type == "metadata"


@pytest.mark.parametrize("verb", ["redact", "dedupe"])
def test_a_dry_run_refuses_what_a_run_would_for_files_that_exist(command, collection, tmp_path, verb) -> None:
    taken = tmp_path / "new" / "mixed.warc.zst"
    taken.parent.mkdir()
    taken.write_bytes(b"mine")
    asked = ("--hosts", tmp_path / "hosts.txt", "--with-revisits") if verb == "redact" else ()
    words = (verb, collection, *asked, "--to-dir", taken.parent)
    told = f"{taken}: exists already"
    assert told in command(*words, "--dry-run", status=2).stderr
    assert left_in(taken.parent) == ["mixed.warc.zst"], "no folder is made"
    assert told in command(*words, status=2).stderr
    assert taken.read_bytes() == b"mine"


def test_the_file_of_an_earlier_run_that_is_deleted_is_named(command, collection, tmp_path) -> None:
    stale = tmp_path / "new" / "own" / "0.warc.zst"
    stale.parent.mkdir(parents=True)
    stale.write_bytes((collection / "own" / "0.warc.zst").read_bytes())
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--with-revisits", "--force")
    words = (*words, "--to-dir", tmp_path / "new")
    assert f"  to be deleted: {stale}, of an earlier run\n" in command(*words, "--dry-run", status=1).out
    assert stale.exists()
    assert f"  deleted: {stale}, of an earlier run\n" in command(*words, status=1).out
    assert left_in(tmp_path / "new") == ["mixed.warc.zst"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--uri", "a"), "or use --in-place"),
        (("--uri", "a", "-o", "new.warc.zst", "--in-place"), "or use --in-place"),
        (("-o", "new.warc.zst"), "every record would be removed"),
        (("--uri", "a", "-o", "new.warc.zst"), "no record matches"),
        (("--uri", SITES[0], "-o", "new.warc.zst"), "--with-revisits also removes such revisits"),
        (("--uri", SITES[1], "-o", "-"), "can be a pipe"),
        (("--uri", SITES[1], "-o", "new.warc"), "is a .warc.zst; name it so"),
        (("--uri", SITES[1], "-o", "none/new.warc.zst"), "cannot be written"),
    ],
)
def test_wrong_usage_is_reported_and_leaves_nothing(command, path, tmp_path, words, told) -> None:
    before = path.read_bytes()
    status = 1 if "no record" in told else 2
    assert told in command("redact", path.name, *words, status=status, cwd=tmp_path).stderr
    assert (path.read_bytes(), left_in(tmp_path)) == (before, ["crawl.warc.zst"])


def test_damage_is_reported_and_changes_nothing(command, damaged) -> None:
    before = damaged.read_bytes()
    stderr = command("redact", damaged, "--type", "request", "--in-place", status=1).stderr
    assert stderr.startswith(f"seekwarc: {damaged}, offset ")
    assert damaged.read_bytes() == before


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_the_file(start, tmp_path, number) -> None:
    made = Foreign()
    for seed in range(300):
        made.record(noise(60_000, seed=seed))
    source = tmp_path / "source.warc.zst"
    # On a busy machine the signal may come too late.
    for _ in range(20):
        source.write_bytes(made.bytes())
        process = start("redact", source, "--uri", "*/1", "--in-place")
        wait_until(lambda process=process: list(tmp_path.glob(".source*")) or process.poll() is not None)
        process.send_signal(number)
        process.communicate(timeout=PATIENT)
        if process.returncode != 0:
            break
    assert process.returncode == (143 if number == signal.SIGTERM else -9)
    assert source.read_bytes() == made.bytes()


def test_indexes_beside_files_changed_in_place_are_named(command, collection, tmp_path) -> None:
    name = collection / "own" / "0.warc.zst"
    beside = [f"{name}.cdxj", f"{name}.fts"]
    command("index", name, "-o", beside[0])
    command("index", "--text", name, "-o", beside[1])
    words = ("redact", collection, "--hosts", tmp_path / "hosts.txt", "--with-revisits", "--in-place")
    dry = command(*words, "-n", "--json", status=1).json
    assert dry["indexes_beside"] == beside
    other = command(*words, "-n", "--json", "--index", beside[0], status=1).json
    assert other["indexes_beside"] == beside[1:]
    answer = command(*words, "--delete-empty", status=1)
    assert all(f"not searched: {it}: an index of what was there before" in answer.out for it in beside)


def test_a_dry_run_searches_the_lines_that_a_run_searches(command, tmp_path) -> None:
    for name, uris in (("a", ("http://e.org/gone", "http://e.org/a")), ("b", ("http://e.org/b",))):
        with seekwarc.open(tmp_path / f"{name}.warc.zst", "w") as out:
            for uri in uris:
                out.write_response(uri, b"the same", status=200)
    command("index", tmp_path, "-o", tmp_path / "all.cdxj")
    words = ("redact", tmp_path, "--uri", "http://e.org/gone", "--in-place", "--index", tmp_path / "all.cdxj")
    dry, done = command(*words, "-n", "--json", status=1).json, command(*words, "--json", status=1).json
    kinds = [it["kind"] for it in done["mentions"]]
    assert "index line" in kinds
    assert [it["kind"] for it in dry["mentions"]] == kinds
