"""What makes new files of a file adds no damage, and advice cures what it is given for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seekwarc import tools
from seekwarc.check.verifying import ProblemSeverity, Verification
from seekwarc.edit.splitting import split
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.make.extracting import Extracted, Extractor
from seekwarc.read.selection import Selection
from tests.conftest import ODD_SAMPLES, SAMPLES, VECTORS
from tests.support.foreign import Foreign
from tests.support.rounds import one_in, rounds
from tests.support.strategies import blocks, layouts
from tests.support.vectors import vectors

Made = list[Path]

FOLDERS = {SAMPLES, VECTORS, ODD_SAMPLES, ODD_SAMPLES.parent / "warcio-test-data"}
FILES = {path.name: path for folder in FOLDERS if folder.is_dir() for path in folder.glob("*.warc*")}
OF_VECTORS = {vector.name: vector.data for vector in vectors()}
TRAILERS = [b"\r\n\r\n", b"\r\n", b"\n\n", b"\r\n\r\n\r\n"]


def converted(name: str, **options: str) -> Callable[[Path, Path], Made]:
    def run(source: Path, folder: Path) -> Made:
        tools.convert(source, folder / name, **options)
        return [folder / name]

    return run


def joined(source: Path, folder: Path) -> Made:
    tools.concat([source], folder / "joined.warc.zst")
    return [folder / "joined.warc.zst"]


def divided(source: Path, folder: Path) -> Made:
    return [Path(piece.name) for piece in split(source, folder / "piece", max_records=1).pieces]


def recovered(source: Path, folder: Path, *, partial: bool = False) -> Made:
    tools.recover(source, folder / "saved.warc.zst", partial=partial)
    return [folder / "saved.warc.zst"]


COMMANDS: dict[str, Callable[[Path, Path], Made]] = {
    "convert": converted("new.warc.zst"),
    "convert, a table for each record": converted("new.warc.zst", tables="every"),
    "convert to gzip": converted("new.warc.gz"),
    "convert to plain": converted("new.warc"),
    "concat": joined,
    "split": divided,
    "recover": recovered,
    "recover --partial": lambda source, folder: recovered(source, folder, partial=True),
}
SAVES = {"recover", "recover --partial"}
"""What makes a file of a damaged one; others refuse it."""


def found(target: Path) -> tuple[Verification, Counter[str]]:
    result = tools.verify(target)
    return result, Counter({it.first.code: it.count for it in result.of(ProblemSeverity.DAMAGE)})


def check(source: Path, folder: Path, result: Verification, before: Counter[str]) -> None:
    for name, run in COMMANDS.items():
        made = folder / name
        made.mkdir()
        try:
            paths = run(source, made)
        except (FormatError, NotFoundError):
            assert not result.is_sound, f"{name} refuses a sound file"
            continue
        after = Counter[str]()
        for path in paths:
            after += found(path)[1]
        assert not after - before, f"{name}: damage that the source has not"
        assert name not in SAVES or set(after) <= {"digest", "length"}


def check_remedies(source: Path, folder: Path, result: Verification, _: Counter[str]) -> None:
    for code, remedy in {(it.first.code, it.first.remedy) for it in result.kinds.values()}:
        advised = re.findall(r"`seekwarc (\w+)", remedy)
        left = []
        for command in advised:
            made = folder / code / command
            made.mkdir(parents=True)
            try:
                [path] = COMMANDS[command](source, made)
            except (FormatError, NotFoundError):
                assert not result.is_sound
                continue
            left.append(code in found(path)[0].codes)
        assert not left or not all(left), f"{code}: {remedy}"


def check_extract(source: Path, folder: Path, result: Verification, _: Counter[str]) -> None:
    with Extractor([str(source)], str(folder / "payloads"), Selection.of()) as extractor:
        extracted = [it for it in extractor.extract(str(source)) if isinstance(it, Extracted)]
    failed = [it for it in extracted if it.failure is not None and it.failure.kind != "not-found"]
    # The original of a revisit cannot be told from others in its gzip member.
    assert not failed or not result.is_sound or "shared" in result.codes


CHECKS = [check, check_remedies, check_extract]


def check_all(source: Path, folder: Path) -> None:
    result, before = found(source)
    for checked in CHECKS:
        checked(source, folder, result, before)


FORMAT_WARNINGS = pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")


@FORMAT_WARNINGS
@pytest.mark.parametrize("name", one_in(3, sorted(FILES)))
def test_a_file_of_another_tool_gets_no_new_damage(name: str, tmp_path: Path) -> None:
    check_all(FILES[name], tmp_path)


@FORMAT_WARNINGS
@pytest.mark.parametrize("name", one_in(8, sorted(OF_VECTORS)))
def test_a_vector_gets_no_new_damage(name: str, tmp_path: Path) -> None:
    source = tmp_path / "source.warc.zst"
    source.write_bytes(OF_VECTORS[name])
    check_all(source, tmp_path)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    if draw(st.booleans()):
        return draw(layouts()).bytes()
    made = Foreign()
    for _ in range(draw(st.integers(1, 3))):
        made.record(draw(blocks()), trailer=draw(st.sampled_from(TRAILERS)))
    form = draw(st.sampled_from(["zst", "gz", "none"]))
    if form == "zst":
        return made.bytes()
    trailer = draw(st.sampled_from(TRAILERS))
    return (made.gzip(trailer=trailer) if form == "gz" else made.plain(trailer=trailer)).bytes()


@FORMAT_WARNINGS
@settings(max_examples=rounds(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=files(), checked=st.sampled_from(CHECKS))
def test_a_generated_file_gets_no_new_damage(data: bytes, checked, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("generated")
    (folder / "source").write_bytes(data)
    checked(folder / "source", folder, *found(folder / "source"))
