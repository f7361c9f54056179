"""The examples in docstrings: each public class has one, and all of them run."""

from __future__ import annotations

import doctest
import importlib
import os
import random
import shutil
from pathlib import Path
from types import ModuleType

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.serve.served import ServedRecord
from tests.support.conformance import make_samples
from tests.support.extras import skip_if_missing
from tests.support.repository import MODULES
from tests.support.waczs import members, wacz

FILM = random.Random(4).randbytes(3 << 20)
PAGE = b"<p>The same every day.\n" * 1000
HTML, VIDEO = {"Content-Type": "text/html"}, {"Content-Type": "video/mp4"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what examples speak of: a crawl, its index, a large record in a series, parts, samples."""
    folder = tmp_path_factory.mktemp("examples")
    with seekwarc.open(folder / "crawl.warc.zst", "w", dedup=seekwarc.Duplicates()) as out:
        out.write_warcinfo({"software": "crawler/1.0"})
        uri = "http://example.org/"
        out.write_response(
            uri, PAGE, status=200, http_headers=HTML, date="2026-11-16T06:00:00Z", record_id="urn:x:1"
        )
        out.write_response(
            f"{uri}film.mp4",
            FILM,
            status=200,
            http_headers=VIDEO,
            date="2026-11-16T06:00:01Z",
            record_id="urn:x:2",
        )
        out.write_metadata(
            {"via": uri}, refers_to="urn:x:2", record_id="urn:x:3", date="2026-11-16T06:00:02Z"
        )
        out.write_response(
            uri, PAGE, status=200, http_headers=HTML, date="2026-11-17T06:00:00Z", record_id="urn:x:4"
        )
    tools.index([folder / "crawl.warc.zst"], folder / "crawl.cdxj")
    tools.index_text(folder / "crawl.warc.zst", folder / "crawl.fts")
    with seekwarc.open(folder / "large.warc.zst", "w", max_file_size=4 << 20) as out:
        out.write_resource("http://example.org/film.mp4", FILM * 2, "video/mp4", record_id="urn:x:5")
    with seekwarc.open(folder / "parts.warc.zst", "w") as out:
        for start, stop in ((2_500_000, len(FILM)), (0, 2_000_000)):
            part = {"Content-Range": f"bytes {start}-{stop - 1}/{len(FILM)}", "ETag": '"1"', **VIDEO}
            out.write_response(f"{uri}film.mp4", FILM[start:stop], status=206, http_headers=part)
    (folder / "crawl.wacz").write_bytes(
        wacz(members({"crawl.warc.zst": (folder / "crawl.warc.zst").read_bytes()}))
    )
    make_samples(folder / "samples")
    return folder


def with_examples() -> list[str]:
    return [name for name, path in MODULES.items() if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", with_examples())
def test_examples_of_module_run(
    name: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        skip_if_missing(error)
        raise
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(
        module, name, extraglobs={"seekwarc": seekwarc}
    ):
        folder = tmp_path / test.name
        shutil.copytree(files, folder, copy_function=os.link)  # Examples change no file.
        monkeypatch.chdir(folder)
        said: list[str] = []
        runner.run(test, out=said.append)
        assert runner.summarize(verbose=False).failed == 0, "".join(said)


def public_classes() -> dict[str, type]:
    """Return what is public and is a class, but for errors, of which the first speaks for all."""
    named = {f"seekwarc.{name}": getattr(seekwarc, name) for name in seekwarc.__all__}
    modules: list[ModuleType] = [importlib.import_module(name) for name in tools._HOMES.values()]
    page = (Path(__file__).parents[1] / "spec-notes" / "api.md").read_text()
    named |= {
        f"{it.__name__}.{name}": getattr(it, name)
        for it in modules
        for name in it.__all__
        if f"\n### `{name}`\n" in page
    }
    named["seekwarc.serve.served.ServedRecord"] = ServedRecord
    return {
        name: it
        for name, it in named.items()
        if isinstance(it, type) and (it is seekwarc.SeekWarcError or not issubclass(it, BaseException))
    }


@pytest.mark.parametrize("name", sorted(public_classes()))
def test_public_class_has_an_example(name: str) -> None:
    assert ">>> " in (public_classes()[name].__doc__ or "")
