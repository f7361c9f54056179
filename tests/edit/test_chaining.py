"""Files that were crawled apart, as a chain in which each leaves out what an older one has."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import random
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import (
    FormatError,
    NotFoundError,
    SeekWarcError,
    TargetError,
    UnsupportedError,
)
from seekwarc.storage.opening import open_source
from tests.support.chains import apart, chain, created, packed, required, response, stamp, written
from tests.support.waczs import wacz

KINDS = ["wacz", "gz", "none", "zst"]
URI, LOGO = "https://t.example/logo.svg", b"<svg>logo</svg>" * 100


def archived(folder: Iterable[Path] | Path) -> dict[str | None, tuple[object, ...]]:
    """Return what all captures say of themselves, and their payloads, by ID."""
    found = {}
    with seekwarc.open(folder) as crawl:
        for stored in crawl:
            if stored.type in ("response", "resource", "revisit"):
                record = crawl.open_record(stored)
                head = record.http.raw if record.http is not None else b""
                said = record.target_uri, stored.header.get("WARC-Date"), head
                found[stored.id] = (*said, record.payload.read())
    return found


def stored_records(folder: Path) -> dict[str | None, tuple[str | None, bytes]]:
    """Return types and stored bytes of all records, by ID."""
    found = {}
    with seekwarc.open(folder) as crawl:
        for reader in crawl.files:
            for record in reader:
                source = open_source(reader.name)
                found[record.id] = record.type, source.read(record.offset, record.offset + record.length)
                source.close()
    return found


def contents(folder: Path) -> dict[str, object]:
    """Return the bytes of the files in a folder; of a WACZ, those of its members but the manifest."""
    found: dict[str, object] = {}
    for path in folder.iterdir():
        found[path.name] = path.read_bytes()
        if path.suffix == ".wacz":
            with ZipFile(path) as file:
                found[path.name] = {it: file.read(it) for it in file.namelist() if "datapackage" not in it}
    return found


def manifest(path: Path) -> dict[str, object]:
    with ZipFile(path) as file:
        return json.loads(file.read("datapackage.json"))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_a_chain_has_all_that_was_crawled_and_each_payload_once(tmp_path: Path, kind: str, seed: int) -> None:
    found = apart(4, 8, seed=seed, kind=kind)
    paths = written(found.files, tmp_path / "in")
    old, new = tmp_path / "in", tmp_path / "new"
    done = tools.dedupe(paths, new, between=True)
    assert (done.files, done.revisits) == (4, found.shared)
    assert found.shared
    have = archived(new)
    assert have == archived(old)
    assert {name: it[-1] for name, it in have.items()} == found.payloads
    assert tools.check_chain(new).is_closed
    assert sum(map(os.path.getsize, new.iterdir())) == done.target_size
    for path in new.iterdir():
        assert tools.check_chain(path).is_closed or kind != "wacz"
        assert kind != "wacz" or tools.validate_wacz(path, closed=True).is_valid

    # The order of the files changes nothing.
    tools.dedupe(paths[::-1], tmp_path / "again", between=True)
    assert contents(tmp_path / "again") == contents(new)
    # What did not change is as it was stored.
    before, after = stored_records(old), stored_records(new)
    changed = {name for name in before if before[name] != after[name]}
    assert before.keys() == after.keys()
    if kind != "zst":
        assert len(changed) == done.revisits + done.repointed
    if kind in ("gz", "none"):
        assert done.bytes_copied == sum(len(before[name][1]) for name in before if name not in changed)

    undone = tools.dedupe(new, tmp_path / "undone", between=True, undo=True)
    assert undone.restored == done.revisits + done.repointed
    assert archived(tmp_path / "undone") == archived(old)
    again = stored_records(tmp_path / "undone")
    assert all(again[name][0] == "response" for name, (type_, _) in before.items() if type_ == "response")
    assert "requires" not in str([manifest(it) for it in (tmp_path / "undone").glob("*.wacz")])
    assert tools.check_chain(tmp_path / "undone").is_closed


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
def test_closure_of_a_chain_is_the_chain(tmp_path: Path, seed: int) -> None:
    found = apart(4, 8, seed=seed)
    old, new = tmp_path / "old", tmp_path / "new"
    written(found.files, old)
    tools.dedupe(old, new, between=True)
    whole = archived(old)
    for path in new.iterdir():
        own = archived(old / path.name)
        target = tmp_path / f"closed-{path.name}"
        assert not tools.merge_wacz([path], target, closure=True).missing_originals
        assert own.items() <= archived(target).items() <= whole.items()
        assert tools.check_chain(target).is_closed
    tools.merge_wacz(sorted(new.iterdir()), tmp_path / "all.wacz", closure=True)
    assert archived(tmp_path / "all.wacz") == whole


def two(folder: Path, **more: bytes) -> list[Path]:
    """Write two WACZ that have a logo, each a page of its own, and the later one also other members."""
    april = response(URI, LOGO, 1) + response(URI + "2", b"april" * 400, 2)
    may = response(URI, LOGO, 3) + response(URI + "3", b"may" * 400, 4)
    files = {"april.wacz": created({"a.warc.gz": april}), "may.wacz": created({"m.warc.gz": may})}
    with ZipFile(changed := io.BytesIO(files["may.wacz"]), "a") as file:
        for name, data in more.items():
            file.writestr(name.replace("_", "/"), data)
    return written({**files, "may.wacz": changed.getvalue()}, folder)


def test_a_revisit_names_its_original_as_browsertrix_does(tmp_path: Path) -> None:
    paths = two(tmp_path / "old", logs_a=b"a log", pages_more=b"a page")
    done = tools.dedupe(paths, tmp_path / "new", between=True)
    assert (done.revisits, done.left) == (1, {})
    new = tmp_path / "new"
    assert (new / "april.wacz").read_bytes() == paths[0].read_bytes()
    with seekwarc.open(new / "may.wacz") as crawl:
        again = next(iter(crawl))
    assert again.type == "revisit"
    assert again.header.get("WARC-Refers-To-Container") == "file://april.wacz"
    assert again.header.get("WARC-Refers-To-Target-URI") == URI
    assert again.header.get("WARC-Refers-To-Date") == stamp(1)
    with seekwarc.open(new / "april.wacz") as crawl:
        assert again.refers_to_id == next(iter(crawl)).id
    data = paths[0].read_bytes()
    listed = {"filename": "april.wacz", "hash": hashlib.sha256(data).hexdigest(), "size": len(data)}
    package = manifest(new / "may.wacz")
    assert package["relation"] == {"requires": [listed]}
    assert package["title"] == "A crawl"
    with ZipFile(paths[1]) as old, ZipFile(new / "may.wacz") as file:
        for name in ("logs/a", "pages/more", "pages/pages.jsonl"):
            assert file.read(name) == old.read(name)
        assert sorted(file.namelist()) == sorted(old.namelist())
    with seekwarc.Wacz(new / "may.wacz") as archive:
        assert archive.open_record(uri=URI).payload.read() == LOGO


def test_what_a_crawl_requires_already_is_listed_as_it_is_now(tmp_path: Path) -> None:
    found = chain(3, 4, seed=1)
    *_, last = found.files
    other = created({"o.warc.gz": response(URI, LOGO, -9)})
    found.files["older.wacz"] = other
    for number, name in enumerate(it for it in list(found.files) if it != "older.wacz"):
        with ZipFile(io.BytesIO(found.files[name])) as file:
            data = file.read("archive/data.warc.gz") + response(URI, LOGO, 500 + number)
            listed = found.requires[name]
        for it in listed.values():
            it.update(required(str(it["filename"]), found.files[str(it["filename"])]))
        found.files[name] = packed({"data.warc.gz": data}, list(listed.values()))
    written(found.files, tmp_path / "old")
    before = archived(tmp_path / "old")
    assert tools.check_chain(tmp_path / "old").is_closed
    done = tools.dedupe(tmp_path / "old", tmp_path / "new", between=True)
    assert done.revisits == 3
    assert tools.check_chain(tmp_path / "new").is_closed
    assert archived(tmp_path / "new") == before
    listed = manifest(tmp_path / "new" / last)["relation"]["requires"]
    assert {it["filename"] for it in listed} == {"older.wacz", *found.requires[last]}
    assert {it["crawlId"] for it in listed if "crawlId" in it} == {it[:8] for it in found.requires[last]}


@pytest.mark.parametrize("kind", ["gz", "zst", "none"])
def test_a_damaged_record_is_left_out_and_nothing_refers_to_it(tmp_path: Path, kind: str) -> None:
    ends = {"gz": ".warc.gz", "zst": ".warc.zst", "none": ".warc"}
    for number, day in enumerate(["a", "b"]):
        with seekwarc.open(tmp_path / (day + ends[kind]), "w") as out:
            for name, payload in ((URI, LOGO), (URI + "2", LOGO[::-1])):
                out.write_response(
                    name,
                    payload,
                    status=200,
                    http_headers={},
                    date=stamp(number),
                    record_id=f"urn:{day}:{name}",
                )
    path = tmp_path / ("a" + ends[kind])
    with seekwarc.open(path) as archive:
        first = next(iter(archive))
        middle = first.offset + first.length - (8 if kind != "none" else 200)
    data = bytearray(path.read_bytes())
    data[middle] ^= 255
    path.write_bytes(data)
    found: list[FormatError] = []
    done = tools.dedupe(tmp_path, tmp_path / "new", between=True, on_damage=found.append)
    new = archived(tmp_path / "new")
    assert done.revisits == 1
    assert new[f"urn:b:{URI}"][-1] == LOGO
    if kind != "none":
        assert len(found) == len(done.damaged) == 1
        assert set(new) == {f"urn:a:{URI}2", f"urn:b:{URI}", f"urn:b:{URI}2"}


def test_damage_inside_a_large_record_that_is_not_compared_is_found(tmp_path: Path) -> None:
    paths = [tmp_path / "a.warc.zst", tmp_path / "b.warc.zst"]
    for number, path in enumerate(paths):
        with seekwarc.open(path, "w", frame_size=1 << 16) as out:
            out.write_response(URI, LOGO, status=200, http_headers={}, date=stamp(number))
            large = out.write_metadata(random.Random(1).randbytes(1 << 19), target_uri=URI)
    data = bytearray(paths[0].read_bytes())
    data[large.offset + large.length // 2] ^= 255
    paths[0].write_bytes(data)
    found: list[FormatError] = []
    done = tools.dedupe(paths, tmp_path / "new", between=True, on_damage=found.append)
    assert len(found) == len(done.damaged) == 1
    with seekwarc.open(tmp_path / "new/a.warc.zst") as archive:
        assert [record.type for record in archive] == ["response"]


@pytest.mark.filterwarnings("ignore:.*share one:seekwarc.errors.FormatWarning")
def test_records_of_one_gzip_member_get_members_of_their_own(tmp_path: Path) -> None:
    shared = [gzip.decompress(response(URI + str(it), LOGO + b"%d" % it, 9 + it)) for it in range(2)]
    files = {
        "a.warc.gz": b"".join(response(URI + str(it), LOGO + b"%d" % it, it) for it in range(3)),
        "b.warc.gz": gzip.compress(b"".join(shared)) + response(URI + "2", LOGO + b"2", 20),
    }
    written(files, tmp_path / "old")
    before = archived(tmp_path / "old")
    # What cannot be opened by itself stays.
    assert tools.dedupe(tmp_path / "old", tmp_path / "new", between=True).revisits == 1
    assert archived(tmp_path / "new") == before
    with seekwarc.open(tmp_path / "new" / "b.warc.gz") as archive:
        assert [(it.type, it.skip) for it in archive] == [("response", 0), ("response", 0), ("revisit", 0)]


def test_nothing_is_written_if_something_fails(tmp_path: Path) -> None:
    paths = two(tmp_path / "old")
    new = tmp_path / "new"
    new.mkdir()
    (new / "may.wacz").write_bytes(b"")
    with pytest.raises(TargetError, match="exists already"):
        tools.dedupe(paths, new, between=True)
    assert os.listdir(new) == ["may.wacz"]

    def fail(source, label):
        if label == "packing":
            raise KeyboardInterrupt
        return source

    with pytest.raises(KeyboardInterrupt):
        tools.dedupe(paths, new, between=True, existing="overwrite", on_progress=fail)
    assert os.listdir(new) == ["may.wacz"]
    assert (new / "may.wacz").read_bytes() == b""


def test_a_dry_run_counts_the_same_and_writes_nothing(tmp_path: Path) -> None:
    found = apart(3, 8, seed=3)
    paths = written(found.files, tmp_path / "old")
    counted = tools.dedupe(paths, tmp_path / "new", between=True, dry_run=True)
    assert not (tmp_path / "new").exists()
    done = tools.dedupe(paths, tmp_path / "new", between=True)
    for name in ("files", "records", "revisits", "repointed", "content_saved", "stored_saved", "left"):
        assert getattr(counted, name) == getattr(done, name)


def refused(tmp_path: Path, error: type[SeekWarcError], match: str, **files: bytes) -> None:
    folder = tmp_path / "old"
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    with pytest.raises(error, match=match):
        tools.dedupe(folder, tmp_path / "new", between=True)
    assert not (tmp_path / "new").exists()


def test_files_that_no_revisit_can_tell_apart_are_refused(tmp_path: Path) -> None:
    one = response(URI, LOGO, 1)
    refused(
        tmp_path, TargetError, "rename one of the files", a__x_warc_gz=one, b__x_warc=gzip.decompress(one)
    )


def test_wacz_and_warc_files_are_not_mixed(tmp_path: Path) -> None:
    one = response(URI, LOGO, 1)
    refused(
        tmp_path,
        UnsupportedError,
        "either all files are WACZ",
        a_warc_gz=one,
        b_wacz=created({"b.warc.gz": one}),
    )


def test_files_that_require_each_other_are_refused(tmp_path: Path) -> None:
    a = packed({"a.warc.gz": response(URI, LOGO, 1)}, [{"filename": "b.wacz"}])
    b = packed({"b.warc.gz": response(URI, LOGO, 2)}, [{"filename": "a.wacz"}])
    refused(tmp_path, FormatError, "requires a file that requires it", a_wacz=a, b_wacz=b)


def test_a_file_without_intact_records_is_refused(tmp_path: Path) -> None:
    broken = bytearray(response(URI, LOGO, 1))
    broken[-8] ^= 255
    one = response(URI, LOGO, 2)
    refused(tmp_path, NotFoundError, "no record is intact", a_warc_gz=bytes(broken), b_warc_gz=one)


def test_a_file_that_is_no_archive_is_left_out_where_asked(tmp_path: Path) -> None:
    paths = [*two(tmp_path / "old"), tmp_path / "old" / "bad.wacz"]
    paths[-1].write_bytes(wacz({"archive/a.warc.gz": b"nothing", "datapackage.json": b"{}"}))
    with pytest.raises(FormatError):
        tools.dedupe(paths, tmp_path / "new", between=True)
    errors: list[object] = []
    assert tools.dedupe(paths, tmp_path / "new", between=True, on_error=errors.append).revisits == 1
    assert len(errors) == 1
    assert sorted(os.listdir(tmp_path / "new")) == ["april.wacz", "may.wacz"]


def test_records_of_a_crawl_that_have_no_response_stay(tmp_path: Path) -> None:
    for day in (1, 2):
        with seekwarc.open(tmp_path / f"{day}.warc.gz", "w") as out:
            out.write_resource("urn:text:https://t.example/", LOGO, "text/plain", date=stamp(day))
    assert tools.dedupe(tmp_path, dry_run=True, between=True).revisits == 0


def test_the_earliest_capture_puts_a_file_in_its_place_whatever_its_warcinfo_says(tmp_path: Path) -> None:
    for name, info, number in (("new.warc.gz", -9, 5), ("old.warc.gz", 9, 1)):
        with seekwarc.open(tmp_path / name, "w") as out:
            head = f"WARC-Type: warcinfo\r\nWARC-Date: {stamp(info)}\r\nContent-Length: 0"
            out.write_raw(f"WARC/1.1\r\n{head}\r\n\r\n".encode(), b"")
            out.write_response(URI, LOGO, status=200, http_headers={}, date=stamp(number))
    tools.dedupe(tmp_path, tmp_path / "out", between=True)
    with seekwarc.open(tmp_path / "out" / "new.warc.gz") as archive:
        assert [it.header.get("WARC-Refers-To-Container") for it in archive] == [None, "file://old.warc.gz"]
