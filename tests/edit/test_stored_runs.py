"""Small records that are copied together: the same file as if each were copied by itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc import tools
from seekwarc.errors import NotFoundError
from seekwarc.frames.codec import LIBRARY
from tests.support.foreign import Foreign, some_dictionary
from tests.support.rounds import rounds
from tests.support.strategies import layouts
from tests.support.work import at_most_calls

NO_LIMIT = 1 << 40
"""A series of one file: its records are copied one by one, since each might be the first of the next file."""


def alike(data: bytes, folder: Path, **conditions: object) -> tools.Filtering | None:
    """Filter a file into one and into a series, compare both, and return what was done."""
    path, whole = folder / "in.warc.zst", folder / "whole.warc.zst"
    path.write_bytes(data)
    options = {"closure": False, "existing": "overwrite", **conditions}
    try:
        done = tools.filter(path, whole, **options)
    except NotFoundError:
        return None
    apart = tools.filter(path, folder / "part", max_size=NO_LIMIT, **options)
    assert whole.read_bytes() == (folder / "part-00000.warc.zst").read_bytes()
    (folder / "part-00000.warc.zst").unlink()
    assert (done.records, done.bytes_copied) == (apart.records, apart.bytes_copied)
    assert (done.recompressed, list(map(str, done.damaged))) == (
        apart.recompressed,
        list(map(str, apart.damaged)),
    )
    return done


def many(seed: int, count: int = 60, *, misfits: bool = True) -> Foreign:
    """Small records, most of one frame that can be copied, with others among them."""
    chance, made = Random(seed), Foreign()
    for number in range(count):
        kind = chance.randrange(12) if misfits else 11
        options: dict[str, object] = (
            [{"checksum": False}, {"content_size": False}, {"cuts": 40}][kind] if kind < 3 else {}
        )
        made.record(chance.randbytes(chance.choice([3, 700, 70_000])), **options)
        if kind == 3:
            made.extension(data=b"between %d" % number)
        elif kind == 4:
            made.empty()
        elif kind == 5:
            made.table()
    return made


@given(layouts(12), st.sampled_from([0, 30, 1000]))
@settings(max_examples=rounds(60), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_layouts_are_copied_alike(layout: Foreign, min_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alike(layout.bytes(), Path(folder), min_size=min_size)


@pytest.mark.parametrize("seed", range(8))
def test_frames_that_cannot_be_copied_end_a_run(seed: int, tmp_path: Path) -> None:
    done = alike(many(seed).bytes(), tmp_path, min_size=100)
    assert done is not None
    assert done.records


def test_frames_with_a_dictionary_are_copied_alike(tmp_path: Path) -> None:
    made = Foreign().dictionary(compressed=False, dictionary=some_dictionary())
    for number in range(40):
        made.record(b"a record with a dictionary %d" % number, name_dictionary=number % 7 != 3)
    done = alike(made.bytes(), tmp_path, type="resource")
    assert done is not None
    assert sum(it.records for it in done.recompressed) == 6


@pytest.mark.parametrize("place", [0.2, 0.5, 0.97])
def test_a_damaged_record_is_left_out_of_both(place: float, tmp_path: Path) -> None:
    data = bytearray(many(1, misfits=False).bytes())
    data[int(place * len(data))] ^= 0xFF
    done = alike(bytes(data), tmp_path, type="resource")
    assert done is not None
    assert len(done.damaged) == 1


def test_what_changes_between_the_passes_is_not_written(tmp_path: Path) -> None:
    """The bytes that are written are those that are decoded to check them."""
    path, target = tmp_path / "in.warc.zst", tmp_path / "new.warc.zst"
    made = many(2, misfits=False)
    path.write_bytes(made.bytes())

    class Changing:
        """Reports progress, and damages the file when it is opened to be copied."""

        def __call__(self, source, label):
            if label == "copying" and not self.done:
                self.done = True
                data = bytearray(path.read_bytes())
                data[len(data) // 2] ^= 0xFF
                path.write_bytes(data)
            return source

        done = False

    done = tools.filter(path, target, type="resource", verify=False, on_progress=Changing())
    with seekwarc.open(target) as archive:
        assert sum(1 for _ in archive) == 59
    assert len(done.damaged) == 1


def test_copying_a_record_of_a_run_takes_few_calls(tmp_path: Path) -> None:
    path, target = tmp_path / "in.warc.zst", tmp_path / "new.warc.zst"
    made = Foreign()
    for number in range(2000):
        made.record(b"%d" % number)
    path.write_bytes(made.bytes())
    options = {"closure": False, "existing": "overwrite", "type": "resource", "threads": 1}
    tools.filter(path, None, dry_run=True, **options)
    # Without python-zstandard, frames are not decoded by one call.
    with at_most_calls(2000 * (100 if "zstandard" in LIBRARY.NAME else 105)):
        tools.filter(path, target, **options)
