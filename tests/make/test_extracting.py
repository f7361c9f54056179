"""`seekwarc.make.extracting`."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import TargetExistsError
from seekwarc.make.extracting import MANIFEST, Extracted, Extractor
from seekwarc.read.selection import Selection
from tests.support.foreign import Foreign
from tests.support.writing import Repeated


def http(body: bytes, *fields: str, status: int = 200) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


def extract(folder: Path, *files: Path, **options) -> tuple[dict[str, bytes], list[dict]]:
    """Extract; return the files made, and the lines of the manifest."""
    selection = options.pop("selection", Selection())
    names = [str(path) for path in files]
    with Extractor(names, str(folder), selection, **options) as extractor:
        told = [it for name in names for it in extractor.extract(name)]
    lines = [json.loads(line) for line in (folder / MANIFEST).read_text().splitlines()]
    assert lines == [it.as_json() for it in told if isinstance(it, Extracted)]
    made = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}
    assert set(made) == {line["target"] for line in lines} - {None}
    for line in lines:
        if line["target"] is not None:
            data = made[line["target"]]
            assert (line["size"], line["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    return made, lines


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.warc.gz"
    with seekwarc.open(path, "w") as out:
        out.write_warcinfo({"software": "by hand"})
        out.write_request("http://a.org/", b"GET / HTTP/1.1\r\n\r\n")
        page = http(gzip.compress(b"<p>page"), "Content-Type: text/html", "Content-Encoding: gzip")
        out.write_response("http://a.org/", page, date="2026-11-21T12:00:00Z")
        chunked = http(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Type: x/y")
        out.write_response("http://a.org/chunked", chunked)
        out.write_resource("http://a.org/pic", b"\x89PNG", "image/png")
        out.write_response("http://a.org/none", http(b"sorry", "Content-Type: text/plain", status=404))
    return path


def test_payloads_become_files_without_content_codings(site, tmp_path) -> None:
    made, lines = extract(tmp_path / "new", site)
    assert made == {
        "a.org.html": b"<p>page",
        "a.org_chunked": b"abcde",
        "a.org_pic.png": b"\x89PNG",
        "a.org_none.txt": b"sorry",
    }
    with seekwarc.open(site) as archive:
        record = list(archive)[2]
    assert {name: lines[0][name] for name in lines[0] if name not in ("size", "sha256")} == {
        "file": str(site),
        "offset": record.offset,
        "target": "a.org.html",
        "status": "done",
        "type": "response",
        "uri": "http://a.org/",
        "date": "2026-11-21T12:00:00Z",
        "mime": "text/html",
        "http_status": 200,
        "problem": None,
        "truncated": None,
        "error": None,
    }


def test_content_codings_can_be_kept(site, tmp_path) -> None:
    made, _ = extract(tmp_path / "new", site, decoded=False)
    assert gzip.decompress(made["a.org.html"]) == b"<p>page"
    assert made["a.org_chunked"] == b"abcde"


def test_only_selected_records_are_written(site, tmp_path) -> None:
    made, _ = extract(tmp_path / "new", site, selection=Selection.of(mime="image/*"))
    assert set(made) == {"a.org_pic.png"}
    made, _ = extract(tmp_path / "other", site, selection=Selection.of(type="request"))
    assert set(made) == {"a.org"}


def test_a_revisit_gets_its_payload_from_another_file(tmp_path) -> None:
    first, second = tmp_path / "1.warc.zst", tmp_path / "2.warc.zst"
    with seekwarc.open(first, "w") as out:
        told = out.write_response(
            "http://a.org/x.png", http(b"\x89PNG", "Content-Type: image/png"), date="2026-01-01T00:00:00Z"
        )
    with seekwarc.open(first) as archive:
        record = next(iter(archive))
        digest = str(record.payload_digest)
    assert told is not None
    with seekwarc.open(second, "w") as out:
        out.write_revisit(
            "http://a.org/x.png",
            http(b"", "Content-Type: image/png"),
            payload_digest=digest,
            refers_to_target_uri="http://a.org/x.png",
            refers_to_date="2026-01-01T00:00:00Z",
        )
    made, lines = extract(tmp_path / "both", second, first)
    assert made == {"a.org_x.png": b"\x89PNG", "a.org_x-2.png": b"\x89PNG"}
    assert [line["type"] for line in lines] == ["revisit", "response"]
    made, lines = extract(tmp_path / "alone", second)
    assert made == {}
    assert (lines[0]["status"], lines[0]["error"]["kind"]) == ("failed", "not-found")


def test_segments_become_one_file(tmp_path) -> None:
    film = random.Random(1).randbytes(8 << 20)
    with seekwarc.open(tmp_path / "f.warc.zst", "w", max_file_size=4 << 20) as out:
        out.write_response("http://a.org/f.mp4", http(film, "Content-Type: video/mp4"))
    pieces = sorted(tmp_path.glob("f*.warc.zst"))
    assert len(pieces) > 1
    made, lines = extract(tmp_path / "new", *pieces)
    assert made == {"a.org_f.mp4": film}
    assert len(lines) == 1


@pytest.mark.parametrize("suffix", ["warc", "warc.gz", "warc.zst"])
def test_a_damaged_record_does_not_stop_the_others(tmp_path, suffix) -> None:
    path = tmp_path / f"broken.{suffix}"
    with seekwarc.open(path, "w") as out:
        for number in range(5):
            body = bytes(range(256)) * 40 + str(number).encode()
            out.write_response(f"http://a.org/{number}", http(body, "Content-Type: a/b"))
    with seekwarc.open(path) as archive:
        records = list(archive)
        at, length = records[2].offset, records[2].length
    data = bytearray(path.read_bytes())
    if suffix == "warc":
        data[at : at + 9] = b"WARC/9.9\0"
    else:
        data[at + length // 2] ^= 0xFF
    path.write_bytes(data)
    made, lines = extract(tmp_path / "new", path)
    assert set(made) >= {"a.org_0", "a.org_1", "a.org_3", "a.org_4"}
    assert "a.org_2" not in made
    failed = [line for line in lines if line["status"] == "failed"]
    assert len(failed) == 1
    assert failed[0]["file"] == str(path)
    assert at <= failed[0]["offset"] < at + length


def test_a_decompression_bomb_is_not_written(tmp_path) -> None:
    path = tmp_path / "bomb.warc.zst"
    bomb = gzip.compress(bytes(50 << 20))
    with seekwarc.open(path, "w") as out:
        fields = ("Content-Type: a/b", "Content-Encoding: gzip")
        out.write_response("http://a.org/bomb", http(bomb, *fields))
        out.write(
            "resource", block=Repeated(bytes(1 << 16), 64 << 20), length=64 << 20, target_uri="http://a.org/0"
        )
        out.write_resource("http://a.org/good", b"good", "a/b")
    made, lines = extract(tmp_path / "new", path, max_size=1 << 20)
    assert made == {"a.org_good": b"good"}
    assert [line["error"] and line["error"]["kind"] for line in lines] == ["limit", "limit", None]
    assert "--max-size" in lines[0]["error"]["message"]


def test_a_folder_that_is_not_empty_is_refused(site, tmp_path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.org_pic.png").write_bytes(b"mine")
    with pytest.raises(TargetExistsError, match="--force"):
        extract(tmp_path / "new", site)
    assert (tmp_path / "new" / "a.org_pic.png").read_bytes() == b"mine"
    assert extract(tmp_path / "new", site, force=True)[0]["a.org_pic.png"] == b"\x89PNG"


def test_links_in_the_folder_are_replaced_and_not_followed(site, tmp_path) -> None:
    (tmp_path / "new").mkdir()
    outside = tmp_path / "outside"
    outside.write_bytes(b"mine")
    for name in (MANIFEST, "a.org_pic.png", ".extract.part"):
        (tmp_path / "new" / name).symlink_to(outside)
    extract(tmp_path / "new", site, force=True)
    assert outside.read_bytes() == b"mine"


def test_no_payload_is_written_outside_the_folder(tmp_path) -> None:
    path = tmp_path / "hostile.warc.zst"
    uris = ["../../up", "/etc/passwd", "http://../..%2f..%2fx", "manifest.jsonl", ".extract.part", "NUL"]
    foreign = Foreign()
    for uri in uris * 2:
        header = (
            f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {uri}\r\n"
            f"Content-Type: ../x\r\nContent-Length: {len(uri)}\r\n\r\n"
        )
        foreign.record(uri.encode(), header=header.encode())
    path.write_bytes(foreign.bytes())
    before = set(tmp_path.iterdir())
    made, lines = extract(tmp_path / "new", path)
    assert set(tmp_path.iterdir()) - before == {tmp_path / "new"}
    assert len(made) == len(uris) * 2
    assert [made[line["target"]].decode() for line in lines] == uris * 2


def test_an_unreadable_file_does_not_stop_the_others(site, tmp_path) -> None:
    with Extractor(["missing.warc", str(site)], str(tmp_path / "new"), Selection()) as extractor:
        ends = [list(extractor.extract(name))[-1] for name in extractor.files]
    assert [(end.status, end.exit_status) for end in ends] == [("failed", 2), ("done", 0)]
