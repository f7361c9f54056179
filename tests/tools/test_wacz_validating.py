"""What a WACZ may have wrong with it: a sample of each fault."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest

from seekwarc import tools
from seekwarc.errors import SourceNotFoundError
from seekwarc.tools.wacz_validating import RULES
from tests.conftest import ODD_SAMPLES
from tests.support.waczs import FILM, HOME, warc

Members = dict[str, bytes]
PAGES, LINES, WARC = "pages/pages.jsonl", "indexes/index.cdxj", "archive/a.warc.gz"
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"


def listed(found: Members) -> Members:
    """Return members with a manifest of them."""
    rest = {name: data for name, data in found.items() if name not in (PACKAGE, DIGEST)}
    resources = [
        {"name": name, "path": name, "hash": sha256(data), "bytes": len(data)} for name, data in rest.items()
    ]
    package = {"profile": "data-package", "wacz_version": "1.1.1", "resources": resources}
    return digested({**rest, PACKAGE: json.dumps(package).encode()})


def digested(found: Members) -> Members:
    """Return members with the digest of their manifest."""
    digest = {"path": PACKAGE, "hash": sha256(found[PACKAGE])}
    return {**found, DIGEST: json.dumps(digest).encode()}


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def sound() -> Members:
    lines = io.BytesIO()
    tools.index({"a.warc.gz": io.BytesIO(warc("a.warc.gz"))}, lines)
    pages = (
        '{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}\n'
        f'{{"url": "{HOME}", "ts": "2026-11-17T06:00:00Z", "title": "Home", "size": 1}}\n'
    )
    return listed({WARC: warc("a.warc.gz"), LINES: lines.getvalue(), PAGES: pages.encode()})


SOUND = sound()


def stored(found: Members, **methods: int) -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as out:
        for name, data in found.items():
            out.writestr(name, data, methods.get(name.rpartition("/")[2].partition(".")[0], ZIP_STORED))
    return file.getvalue()


def replaced(name: str, old: bytes, new: bytes) -> Members:
    assert old in SOUND[name]
    return listed({**SOUND, name: SOUND[name].replace(old, new)})


def package(**changes: object) -> Members:
    """Return members with a changed manifest; a property that is None is left out."""
    fields = {**json.loads(SOUND[PACKAGE]), **changes}
    kept = {key: value for key, value in fields.items() if value is not None}
    return digested({**SOUND, PACKAGE: json.dumps(kept).encode()})


def resource(**changes: object) -> Members:
    """Return members whose first resource is changed."""
    first, *rest = json.loads(SOUND[PACKAGE])["resources"]
    changed = {key: value for key, value in {**first, **changes}.items() if value is not None}
    return package(resources=[changed, *rest])


def digest(**changes: object) -> Members:
    return {**SOUND, DIGEST: json.dumps({**json.loads(SOUND[DIGEST]), **changes}).encode()}


def without(name: str) -> Members:
    return {key: data for key, data in SOUND.items() if key != name}


def added(name: str, data: bytes = b"x") -> Members:
    return listed({**SOUND, name: data})


def longer_header() -> bytes:
    """Return a WACZ whose local headers have a field that its directory does not have."""
    file = io.BytesIO()
    with ZipFile(file, "w") as out:
        for name, data in SOUND.items():
            with out.open(ZipInfo(name), "w", force_zip64=True) as member:
                member.write(data)
    return file.getvalue()


def wrong_sum() -> bytes:
    data = bytearray(stored(SOUND))
    data[data.index(b"PK\1\2") + 16] ^= 1
    return bytes(data)


def damaged() -> Members:
    """Return members of which the second record cannot be read."""
    data = bytearray(SOUND[WARC])
    place = data.index(b"\x1f\x8b", 1)
    data[place + 30] ^= 0xFF
    return listed({**SOUND, WARC: bytes(data)})


OLD = b'"offset": "'
FAULTS: dict[str, list[Callable[[], Members] | bytes]] = {
    "W02 is not a ZIP archive": [b"no archive"],
    "W03 no WARC file is in archive/": [lambda: listed(without(WARC))],
    "W04 is not gzip, and named so": [lambda: listed({**SOUND, WARC: warc("a.warc")})],
    "W04 is gzip, and not named .warc.gz": [
        lambda: listed({**without(WARC), "archive/a.warc": SOUND[WARC]}),
    ],
    "W05 no player reads Zstandard": [lambda: added("archive/b.warc.zst", warc("b.warc.zst"))],
    "W06 has no index": [lambda: listed(without(LINES))],
    "W06 the index has no lines": [lambda: listed({**SOUND, LINES: b""})],
    "W06 not a line of an index": [lambda: listed({**SOUND, LINES: b"one\n"})],
    "W07 is not in archive/": [lambda: replaced(LINES, b"a.warc.gz", b"b.warc.gz")],
    "W07 the index has": [lambda: replaced(LINES, b"film.mp4", b"other.mp4")],
    "W07 no record": [lambda: replaced(LINES, OLD, OLD + b"1")],
    "W07 bytes, not": [lambda: replaced(LINES, b'"length": "', b'"length": "1')],
    "W08 is missing": [lambda: listed(without(PAGES))],
    "W08 is not JSON": [lambda: replaced(PAGES, b'"title": "Home"', b'"title": Home')],
    "W08 has no url": [lambda: replaced(PAGES, b'{"url"', b'{"uri"')],
    "W08 not a date": [
        lambda: replaced(PAGES, b"17T06", b"17 at 06"),
        lambda: replaced(PAGES, b"00Z", b"00"),
    ],
    "W08 the size of": [lambda: replaced(PAGES, b'"size": 1', b'"size": "1"')],
    "W09 is not in the index": [lambda: replaced(PAGES, HOME.encode(), FILM.encode() + b"/x")],
    "W10 is missing": [lambda: without(PACKAGE)],
    "W10 is not a JSON object": [lambda: digested({**SOUND, PACKAGE: b"[]"})],
    "W10 wacz_version is missing": [lambda: package(wacz_version=None)],
    "W10 profile is": [lambda: package(profile="other"), lambda: package(profile=None)],
    "W10 resources is not a list": [lambda: package(resources={})],
    "W11 has no path": [lambda: resource(path=None), lambda: package(resources=[1])],
    "W11 has no name": [lambda: resource(name=None)],
    "W11 is listed, and not in the WACZ": [lambda: resource(path="archive/other.warc")],
    "W11 is not listed": [lambda: {**SOUND, "extra.txt": b"x"}],
    "W11 is listed 2 times": [lambda: package(resources=json.loads(SOUND[PACKAGE])["resources"] * 2)],
    "W12 bytes, and 1 are listed": [lambda: resource(bytes=1)],
    "W12 has another SHA-256": [
        lambda: resource(hash="sha256:00"),
        lambda: {**SOUND, PAGES: SOUND[PAGES] + b"\n"},
    ],
    "W12 has the hash": [lambda: resource(hash="md5:00"), lambda: resource(hash=None)],
    "W13 created is": [lambda: package(created="yesterday")],
    "W13 title is": [lambda: package(title=1)],
    "W14 is missing": [lambda: without(DIGEST)],
    "W15 path is": [lambda: digest(path="other")],
    "W15 has another SHA-256": [lambda: digest(hash="sha256:00")],
    "W16 unknown property 'more'": [lambda: digest(more=1)],
    "W16 has a signature": [lambda: digest(signedData={})],
    "W17 only the specified files": [lambda: added("archive/notes.txt"), lambda: added("pages/a/b.jsonl")],
    "W18 is compressed by ZIP": [stored(SOUND, a=ZIP_DEFLATED)],
    "W19 the CRC-32 is": [wrong_sum()],
    "W21 has no line: http": [lambda: listed({**SOUND, LINES: SOUND[LINES].partition(b"\n")[2]})],
    "W22 damaged": [damaged],
    "W20 has fields in its local header": [longer_header()],
}


def test_a_sound_one_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    path.write_bytes(stored(SOUND, index=ZIP_DEFLATED, pages=ZIP_DEFLATED))
    report = tools.validate_wacz(path)
    assert report.is_valid
    assert not report.findings
    assert (report.members, report.lines, report.pages) == (5, 3, 1)


@pytest.mark.parametrize("expected", FAULTS)
def test_a_fault_is_found_and_named(tmp_path: Path, expected: str) -> None:
    rule, _, text = expected.partition(" ")
    for made in FAULTS[expected]:
        path = tmp_path / "x.wacz"
        path.write_bytes(made if isinstance(made, bytes) else stored(made()))
        report = tools.validate_wacz(path)
        assert [it for it in report.findings if it.rule == rule and text in str(it)], report.findings
        assert report.is_valid == (RULES[rule].severity == "warning"), report.findings


def test_each_rule_has_a_fault(tmp_path: Path) -> None:
    assert {it.partition(" ")[0] for it in FAULTS} == RULES.keys() - {"W01"}
    path = tmp_path / "x.zip"
    path.write_bytes(stored(SOUND))
    assert [str(it) for it in tools.validate_wacz(path).findings] == [
        "W01 error: the name does not end with .wacz (WACZ 1.1.1, Zip Format File Extension)"
    ]
    with pytest.raises(SourceNotFoundError):
        tools.validate_wacz(tmp_path / "missing.wacz")


def test_findings_are_limited_and_counted(tmp_path: Path) -> None:
    page = b'{"url": "http://example.org/missing", "ts": "2026-11-17T06:00:00Z"}\n'
    path = tmp_path / "x.wacz"
    path.write_bytes(stored(listed({**SOUND, PAGES: SOUND[PAGES] + page * 150})))
    report = tools.validate_wacz(path)
    assert report.counts == {"W09": 150}
    assert len(report.findings) == 100


@pytest.mark.needs("odd samples")
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("py-wacz-valid_signed_example_1", {"W16"}),
        ("py-wacz-valid_example_2", {"W04"}),
        ("py-wacz-invalid_example_1", {"W03", "W06", "W08", "W10", "W11", "W14"}),
    ],
)
def test_samples_of_py_wacz(name: str, rules: set[str]) -> None:
    assert tools.validate_wacz(ODD_SAMPLES / f"{name}.wacz").counts.keys() == rules
