"""What a WACZ may have wrong with it: a sample of each fault."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.check.wacz_rules import RULES
from seekwarc.errors import FormatError, SourceNotFoundError
from seekwarc.storage import zip_members
from seekwarc.storage.zip_members import DeflatedMember
from tests.conftest import ODD_SAMPLES
from tests.support.chains import revisit
from tests.support.rounds import rounds
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


def changed(place: int, value: bytes, data: bytes = b"") -> bytes:
    """Return a WACZ of which some bytes are replaced; a negative place counts from its end."""
    found = bytearray(data or stored(SOUND))
    begin = place % len(found)
    found[begin : begin + len(value)] = value
    return bytes(found)


def streamed() -> bytes:
    """Return a WACZ whose sizes follow its members."""
    file = io.BytesIO()
    with ZipFile(Unseekable(file), "w") as out:  # type: ignore[call-overload]
        for name, data in SOUND.items():
            out.writestr(name, data)
    return file.getvalue()


class Unseekable:
    """A file that cannot seek."""

    def __init__(self, file: io.BytesIO) -> None:
        self.write, self.tell, self.flush = file.write, file.tell, file.flush


def between() -> bytes:
    """Return a WACZ that has bytes of no member between two members."""
    file = io.BytesIO()
    with ZipFile(file, "w") as out:
        for name, data in SOUND.items():
            out.writestr(name, data)
            file.write(b"hidden")
            out.start_dir = file.tell()
    return file.getvalue()


def commented() -> bytes:
    file = io.BytesIO(stored(SOUND))
    with ZipFile(file, "a") as out:
        out.comment = b"hidden"
    return file.getvalue()


def stuffed() -> bytes:
    """Return a WACZ with bytes after the compressed data of a member, which count as such."""
    data = bytearray(stored(SOUND, pages=ZIP_DEFLATED))
    with ZipFile(io.BytesIO(data)) as made:
        info = made.getinfo(PAGES)
        begin = info.header_offset
    central = data.rindex(b"PK\1\2", 0, data.rindex(PAGES.encode()))
    for place in (begin + 18, central + 20):
        data[place : place + 4] = (info.compress_size - 1).to_bytes(4, "little")
    return bytes(data)


def cluster(**changes: object) -> Members:
    """Return members whose index is a cluster of two blocks; the line of the second is changed."""
    first, *rest = SOUND[LINES].splitlines(keepends=True)
    blocks = [gzip.compress(it, mtime=0) for it in (first, b"".join(rest))]
    rows = ['!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}']
    for lines, block, offset in zip((first, rest[0]), blocks, (0, len(blocks[0])), strict=True):
        fields = {
            "offset": offset,
            "length": len(block),
            "digest": sha256(block),
            **(changes if offset else {}),
        }
        rows.append(f"{lines.partition(b'{')[0].decode()}{json.dumps(fields)}")
    if changes.get("length") is None and "length" in changes:
        rows.pop()
    parts = {"indexes/index.cdx.gz": b"".join(blocks), "indexes/index.idx": "\n".join(rows).encode()}
    return listed({**without(LINES), **parts})


def lied(field: bytes) -> Members:
    """Return members of which a record states another digest than it has; lines agree with the record."""
    data = gzip.decompress(SOUND[WARC])
    begin = data.index(field) + len(field)
    data = data[:begin] + b"A" * 32 + data[begin + 32 :]
    lines = io.BytesIO()
    compressed = b"".join(gzip.compress(it, mtime=0) for it in records_in(data))
    tools.index({"a.warc.gz": io.BytesIO(compressed)}, lines)
    return listed({**SOUND, WARC: compressed, LINES: lines.getvalue()})


def records_in(data: bytes) -> list[bytes]:
    begins = [it.start() for it in re.finditer(rb"WARC/1\.1\r\n", data)]
    return [data[begin:end] for begin, end in zip(begins, [*begins[1:], len(data)], strict=True)]


def damaged() -> Members:
    """Return members of which the second record cannot be read."""
    data = bytearray(SOUND[WARC])
    place = data.index(b"\x1f\x8b", 1)
    data[place + 30] ^= 0xFF
    return listed({**SOUND, WARC: bytes(data)})


OLD = b'"offset": "'


def dangling() -> Members:
    """Return members with a revisit whose original another WACZ has."""
    data = SOUND[WARC] + revisit(HOME + "x", b"text", 9, "april.wacz", of=HOME, date="2026-11-17T06:00:00Z")
    lines = io.BytesIO()
    tools.index({"a.warc.gz": io.BytesIO(data)}, lines)
    return listed({**SOUND, WARC: data, LINES: lines.getvalue()})


APRIL = {"requires": [{"filename": "april.wacz"}]}

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
    "W20 another date in its local header": [changed(10, b"\1\1")],
    "W02 the local header has the CRC-32": [changed(14, b"\1\2\3\4")],
    "W02 the local header has the compressed size": [changed(18, b"\5\0\0\0")],
    "W02 the local header has the size": [changed(22, b"\5\0\0\0")],
    "W02 the local header has the name": [changed(30, b"archive/evil")],
    "W02 the local header has the flags": [changed(6, b"\1")],
    "W02 the local header has the compression method": [changed(8, b"\x08")],
    "W02 has no local header": [changed(0, b"QK")],
    "W02 the data descriptor": [changed(streamed().index(b"PK\7\x08") + 4, b"\1\2\3\4", streamed())],
    "W02 bytes after its end": [stored(SOUND) + b"hidden"],
    "W02 as offset of its directory": [b"hidden" + stored(SOUND)],
    "W02 as number of members": [changed(-12, b"\x09"), changed(-14, b"\x09")],
    "W02 has fewer bytes than": [stuffed()],
    "W23 belong to no member": [between()],
    "W23 has a comment": [commented()],
    "W23 in case only": [lambda: listed({**added("pages.txt"), "PAGES.txt": b"x"})],
    "W06 is not in order": [
        lambda: listed({**SOUND, LINES: b"".join(reversed(SOUND[LINES].splitlines(keepends=True)))})
    ],
    "W06 is not that of": [lambda: replaced(LINES, b"org,example)/film", b"org,example)/filn")],
    "W06 NaN": [lambda: replaced(LINES, b'"mime": "video/mp4"', b'"mime": NaN')],
    "W06 a name twice": [lambda: replaced(LINES, b'"mime": "video/mp4"', b'"url": "video/mp4"')],
    "W06 has no url": [
        lambda: replaced(LINES, b'"url": "http://example.org/film', b'"uri": "http://example.org/film')
    ],
    "W06 where the next block is not": [
        lambda: cluster(length=1),
        lambda: cluster(offset=1),
        lambda: cluster(filename="other.cdx.gz"),
    ],
    "W06 has another SHA-256 than its block": [lambda: cluster(digest="sha256:00")],
    "W06 does not list 1 blocks": [lambda: cluster(length=None)],
    "W07 has the date": [lambda: replaced(LINES, b" 20261117060000 ", b" 20261117060001 ")],
    "W07 has the status": [lambda: replaced(LINES, b'"status": "200"', b'"status": "404"')],
    "W07 of the type": [
        lambda: replaced(LINES, b"video/mp4", b"video/mp3"),
        lambda: replaced(LINES, b"warc/revisit", b"text/html"),
    ],
    "W07 has the payload digest": [lambda: replaced(LINES, b'"digest": "sha1:', b'"digest": "sha1:AAAA')],
    "W24 has no status": [lambda: replaced(LINES, b'"status"', b'"state"')],
    "W24 twice": [
        lambda: listed({**SOUND, LINES: SOUND[LINES] + SOUND[LINES].splitlines(keepends=True)[-1]})
    ],
    "W08 has no header": [
        lambda: replaced(
            PAGES, b'{"format"', b'{"url": "http://example.org/", "ts": "2026-11-17T06:00:00Z", "format"'
        )
    ],
    "W08 has the format": [lambda: replaced(PAGES, b"json-pages-1.0", b"json-pages-9.0")],
    "W09 no capture of its date": [lambda: replaced(PAGES, b"2026-11-17T06:00:00Z", b"2025-11-17T06:00:00Z")],
    "W10 which is not known": [lambda: package(wacz_version="99")],
    "W22 is not that of the bytes": [
        lambda: lied(b"WARC-Payload-Digest: sha1:"),
        lambda: lied(b"WARC-Block-Digest: sha1:"),
    ],
    "W25 cannot be computed here": [lambda: lied(b"WARC-Block-Digest: s")],
    "W26 the revisit has no original here": [dangling],
    "W27 requires april.wacz, which is not here": [lambda: package(relation=APRIL)],
    "W27 requires april.wacz, which no revisit": [lambda: package(relation=APRIL)],
    "W27 is not the name of a WACZ": [lambda: package(relation={"requires": [{"filename": "../a.wacz"}]})],
    "W27 is not a list": [lambda: package(relation={"requires": {}})],
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


def given(path: Path) -> object:
    """Return what a reader gets of a WACZ: its pages, captures and their bytes."""
    try:
        with seekwarc.Index(path) as index, seekwarc.Wacz(path) as archive:
            pages = [(page.uri, page.date) for page in archive.pages()]
            captures = [
                (it.uri, it.timestamp, it.status, it.mime, it.length, it.open(resolve=False).block.read())
                for it in index
            ]
            return pages, captures
    except FormatError as error:
        return type(error)


def mutants(chance: random.Random, count: int) -> Iterator[bytes]:
    """Yield WACZ with one fault: a bit of the archive, or a byte of a member before all is hashed."""
    whole = [stored(SOUND), streamed(), stored(cluster(), index=ZIP_DEFLATED, pages=ZIP_DEFLATED)]
    for _ in range(count):
        found = chance.choice((SOUND, cluster()))
        name = chance.choice([it for it in found if it not in (PACKAGE, DIGEST)])
        data = bytearray(found[name])
        place = chance.randrange(len(data))
        match chance.randrange(6):
            case 0:
                data[place] ^= 1 << chance.randrange(8)
            case 1:
                del data[place]
            case 2:
                data.insert(place, chance.randrange(256))
            case 3:
                data[place] = chance.choice(b'019azAZ\n"{},: ')
            case _:
                archive = bytearray(chance.choice(whole))
                # Headers and the directory are a small part of it.
                near = [it.start() + chance.randrange(46) for it in re.finditer(b"PK", archive)]
                place = chance.choice([*near, chance.randrange(len(archive))]) % len(archive)
                archive[place] ^= 1 << chance.randrange(8)
                yield bytes(archive)
                continue
        yield stored(listed({**found, name: bytes(data)}))


def check_mutants(path: Path, seed: int, count: int) -> None:
    chance = random.Random(seed)
    right = set()
    for whole in (stored(SOUND), stored(cluster())):
        path.write_bytes(whole)
        assert not tools.validate_wacz(path).counts
        right.add(repr(given(path)))
    for number, mutant in enumerate(mutants(chance, count)):
        path.write_bytes(mutant)
        if not tools.validate_wacz(path).counts:
            assert repr(given(path)) in right, f"mutant {number} of seed {seed}"


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_a_mutant_without_findings_reads_as_before(tmp_path: Path) -> None:
    check_mutants(tmp_path / "x.wacz", 41, 50)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("seed", range(8))
def test_many_mutants_without_findings_read_as_before(tmp_path: Path, seed: int) -> None:
    check_mutants(tmp_path / "x.wacz", seed, rounds(50))


def test_a_record_is_read_once_however_many_lines_lead_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    inflate = DeflatedMember.read
    monkeypatch.setattr(zip_members, "MAX_DECODED", 0)
    monkeypatch.setattr(
        DeflatedMember, "read", lambda it, start, stop: steps.append(start) or inflate(it, start, stop)
    )
    reads = []
    for count in (1, 200):
        steps.clear()
        lines = SOUND[LINES].splitlines(keepends=True)
        more = [lines[-1].replace(b"}", b', "n": "%03d"}' % it) for it in range(count)]
        found = listed({**SOUND, LINES: b"".join([*lines, *more])})
        (tmp_path / "x.wacz").write_bytes(stored(found, a=ZIP_DEFLATED))
        assert tools.validate_wacz(tmp_path / "x.wacz").lines == 3 + count
        reads.append(len(steps))
    assert reads[0] == reads[1]


@pytest.mark.parametrize("name", [PAGES, LINES, "indexes/index.cdx.gz"])
def test_much_work_of_a_small_file_is_refused(tmp_path: Path, name: str) -> None:
    data = SOUND[PAGES if name == PAGES else LINES] + b" " * (9 << 20)
    rest = without(LINES) if name.endswith(".gz") else SOUND
    found = listed({**rest, name: gzip.compress(data) if name.endswith(".gz") else data})
    path = tmp_path / "x.wacz"
    path.write_bytes(stored(found, **{} if name.endswith(".gz") else {"index": 8, "pages": 8}))
    report = tools.validate_wacz(path)
    assert not report.is_valid
    assert "is compressed more than 200 to 1" in " ".join(map(str, report.findings))


def test_a_digest_that_only_the_index_states_is_compared(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    with seekwarc.open(tmp_path / "a.warc.gz", "w", digest=None) as out:
        out.write_response(
            "http://example.org/", head + b"5\r\nhello\r\n0\r\n\r\n", date="2026-11-21T12:00:00Z"
        )
    tools.create_wacz(tmp_path / "a.warc.gz", tmp_path / "a.wacz")
    assert tools.validate_wacz(tmp_path / "a.wacz").is_valid


def test_a_package_of_ours_has_no_findings_though_responses_state_no_type(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.gz", "w") as out:
        out.write_response(HOME, b"HTTP/1.1 204 No Content\r\n\r\n")
        out.write("response", target_uri=HOME, block=b"no HTTP", content_type="application/http")
    tools.create_wacz(tmp_path / "a.warc.gz", tmp_path / "a.wacz")
    assert tools.validate_wacz(tmp_path / "a.wacz").counts == {}
