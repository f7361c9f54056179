"""WACZ files that require others."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cdx.chain import MAX_REQUIRED, required_by
from seekwarc.cdx.places import is_wacz_name
from seekwarc.errors import NotFoundError
from seekwarc.storage.opening import open_stored
from seekwarc.storage.zip_members import open_zip
from tests.support.chains import chain, packed, required, response, revisit, stamp, written
from tests.support.s3 import FolderServer
from tests.support.waczs import wacz

URI, OTHER, LOGO = "https://town.example/logo.svg", "https://town.example/new.svg", b"<svg>logo</svg>" * 20


@pytest.fixture
def april(tmp_path: Path) -> bytes:
    """The WACZ that has the original."""
    data = packed({"data.warc.gz": response(URI, LOGO, 1)})
    (tmp_path / "april.wacz").write_bytes(data)
    return data


def may(
    folder: Path, april: bytes, *, container: str = "april.wacz", of: str = URI, whole: bool = False
) -> Path:
    """Write a WACZ with a revisit."""
    member = revisit(OTHER, LOGO, 9, container, of=of, date=stamp(1, whole=whole))
    path = folder / "may.wacz"
    path.write_bytes(packed({"data.warc.gz": member}, [required("april.wacz", april)]))
    return path


@pytest.mark.parametrize("seed", range(5))
def test_every_payload_of_a_chain_is_found_from_the_file_that_has_its_revisit(
    tmp_path: Path, seed: int
) -> None:
    found = chain(4, seed=seed)
    for path in written(found.files, tmp_path):
        with seekwarc.Wacz(path) as archive:
            for kind in ("response", "revisit"):
                for uri, payload in found.payloads[path.name, kind].items():
                    record = archive.open_record(uri=uri)
                    assert (record.type, record.payload.read()) == (kind, payload)


@pytest.mark.parametrize(
    "how", [{}, {"container": "other.wacz"}, {"of": "https://town.example/moved.svg"}, {"whole": True}]
)
def test_an_original_is_found_by_its_digest_where_the_revisit_is_wrong(
    tmp_path: Path, april: bytes, how: dict[str, str | bool]
) -> None:
    path = may(tmp_path, april, **how)  # type: ignore[arg-type]
    with seekwarc.Wacz(path) as archive:
        assert archive.open_record(uri=OTHER).payload.read() == LOGO
    with seekwarc.Index(path) as index:
        assert next(index.lookup(OTHER)).open().payload.read() == LOGO
        for other in (copy.copy(index), pickle.loads(pickle.dumps(index))):
            with other:
                assert next(other.lookup(OTHER)).open().payload.read() == LOGO


def test_a_missing_file_is_named(tmp_path: Path, april: bytes) -> None:
    path = may(tmp_path, april)
    (tmp_path / "april.wacz").write_bytes(b"this is no WACZ")
    with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError, match=r"in april\.wacz"):
        archive.open_record(uri=OTHER)
    (tmp_path / "april.wacz").unlink()
    with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError, match=r"in april\.wacz"):
        archive.open_record(uri=OTHER)


def test_another_payload_under_the_named_uri_and_date_is_not_taken(tmp_path: Path, april: bytes) -> None:
    path = may(tmp_path, april)
    (tmp_path / "april.wacz").write_bytes(packed({"data.warc.gz": response(URI, b"overwritten", 1)}))
    with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError):
        archive.open_record(uri=OTHER)


@pytest.mark.parametrize(
    "name",
    [
        *("../april.wacz", "/tmp/april.wacz", "a\\april.wacz", "https://evil.example/april.wacz"),
        *("c:april.wacz", "april.wacz#!/x", "april.zip", "", "a" * 300 + ".wacz", "a\nb.wacz", 5, None),
    ],
)
def test_a_required_file_is_never_looked_for_where_an_archive_says(tmp_path: Path, name: object) -> None:
    assert not is_wacz_name(name)
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "april.wacz").write_bytes(packed({"data.warc.gz": response(URI, LOGO, 1)}))
    member = revisit(OTHER, LOGO, 9, str(name).replace("\n", " "), of=URI, date=stamp(1))
    path = folder / "may.wacz"
    path.write_bytes(packed({"data.warc.gz": member}, [{"filename": name}, 7]))
    problems: list[str] = []
    assert required_by(open_zip(str(path), open_stored(path)), problems.append) == []
    assert len(problems) == 2
    with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError):
        archive.open_record(uri=OTHER)


def test_hostile_manifests_are_bounded(tmp_path: Path, april: bytes) -> None:
    # A circle, the file itself, the same name twice, and many names.
    path = tmp_path / "may.wacz"
    many = [{"filename": f"{number}.wacz"} for number in range(MAX_REQUIRED + 5)]
    requires = [{"filename": "may.wacz"}, {"filename": "may.wacz"}, *many]
    (tmp_path / "0.wacz").write_bytes(
        packed({"data.warc.gz": revisit(OTHER, LOGO, 2, "may.wacz", of=URI, date=stamp(1))}, requires[:2])
    )
    path.write_bytes(
        packed({"data.warc.gz": revisit(OTHER, LOGO, 9, "0.wacz", of=OTHER, date=stamp(2))}, requires)
    )
    assert len(required_by(open_zip(str(path), open_stored(path)))) < MAX_REQUIRED
    with seekwarc.Wacz(path) as archive, pytest.raises(NotFoundError):
        archive.open_record(uri=OTHER)


@pytest.mark.parametrize("relation", [[], "x", {"requires": {}}, {"requires": None}, None])
def test_other_manifests_require_nothing(tmp_path: Path, april: bytes, relation: object) -> None:
    path = tmp_path / "may.wacz"
    path.write_bytes(
        wacz({"datapackage.json": json.dumps({"relation": relation}).encode(), "archive/a": b""})
    )
    assert required_by(open_zip(str(path), open_stored(path))) == []


def test_a_remote_file_is_opened_when_a_revisit_names_it(tmp_path: Path, april: bytes) -> None:
    path = may(tmp_path, april)
    own = revisit(OTHER, LOGO, 9, "april.wacz", of=URI, date=stamp(1)) + response(URI + "2", b"own", 3)
    path.write_bytes(packed({"data.warc.gz": own}, [required("april.wacz", april)]))
    with FolderServer(tmp_path) as server, seekwarc.Wacz(server.root + "/may.wacz") as archive:
        assert archive.open_record(uri=URI + "2").payload.read() == b"own"
        assert {it.target for it in server.asked} == {"/may.wacz"}
        assert archive.open_record(uri=OTHER).payload.read() == LOGO
        asked = [it.target for it in server.asked]
        assert asked.count("/april.wacz") <= 4
        server.forget()
        assert archive.open_record(uri=OTHER).payload.read() == LOGO
        assert len(server.asked) <= 2
