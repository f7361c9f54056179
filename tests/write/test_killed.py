"""A writer that is killed at any write leaves whole records, and at most one that is plainly cut off."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from tests.support.writing import FILM_HEAD, KILLED_BLOCKS, URI

ROOT = Path(__file__).parents[2]

CHILD = """
import io, json, os, signal, sys
import seekwarc
from seekwarc.write import output
from tests.support.writing import FRAME, KILLED_BLOCKS, RESPONSE, URI

folder, name, mode, options = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
write_all, calls = output.write_all, 0

def write(path, stage, eighths):
    def watched(file, data):
        global calls
        calls += 1
        if calls == stage:
            write_all(file, data[: len(data) * eighths // 8])
            os.kill(os.getpid(), signal.SIGKILL)
        write_all(file, data)

    output.write_all = watched
    # So that every frame is a write of its own.
    output.BUFFER_SIZE = 1
    with seekwarc.open(path, mode, frame_size=FRAME, threads=1, **options) as out:
        for block in KILLED_BLOCKS:
            stream = io.BytesIO(block)
            out.write("response", target_uri=URI, block=stream, length=len(block), content_type=RESPONSE)

before = sys.stdin.buffer.read()
def path_for(stage):
    path = f"{folder}/{stage}/{name}"
    os.mkdir(os.path.dirname(path))
    if before:
        with open(path, "wb") as file:
            file.write(before)
    return path

write(path_for("whole"), None, 0)
stages, calls = calls, 0
for stage in range(1, stages + 1):
    # Before the write, and in the middle of it.
    for eighths in (0, 6):
        path = path_for(f"{stage}-{eighths}")
        child = os.fork()
        if not child:
            write(path, stage, eighths)
            os._exit(3)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, status
print(stages)
"""


def killed(folder: Path, name: str, before: bytes, **options: object) -> Iterator[Path]:
    """Yield the file that each kill has left."""
    mode = "a" if before else "w"
    command = [sys.executable, "-c", CHILD, str(folder), name, mode, json.dumps(options)]
    done = subprocess.run(command, input=before, capture_output=True, cwd=ROOT, check=True)
    assert int(done.stdout) > len(KILLED_BLOCKS)
    for stage in sorted(folder.iterdir()):
        yield from stage.iterdir()


def read(path: Path) -> tuple[list[bytes], seekwarc.FormatError | None]:
    """The blocks of all records that can be read, and what is wrong with the next one."""
    blocks: list[bytes] = []
    try:
        with seekwarc.open(path, strict=True) as archive:
            for record in archive:
                stated = record.block_digest, record.payload_digest
                block = record.block.read()
                assert None not in stated, "a record without digests looks whole"
                assert {it.verdict for it in record.check_digests()} == {"valid"}
                blocks.append(block)
    except seekwarc.FormatError as error:
        return blocks, error
    return blocks, None


def old_file(folder: Path, name: str, **options: object) -> bytes:
    path = folder / f"old-{name}"
    with seekwarc.open(path, "w", **options) as out:
        out.write("response", target_uri=URI, block=FILM_HEAD + b"old", content_type="application/http")
    return path.read_bytes()


FORMS = [
    ("a.warc.zst", {}),
    ("a.warc.zst", {"tables": "every"}),
    ("a.warc.zst", {"tables": "none", "digest": "sha256"}),
    ("a.warc.gz", {}),
    ("a.warc", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("appends", [False, True])
@pytest.mark.parametrize(("name", "options"), FORMS)
def test_a_writer_killed_at_any_write(name: str, options: dict, appends: bool, tmp_path: Path) -> None:
    before = old_file(tmp_path, name, **options) if appends else b""
    old = [FILM_HEAD + b"old"] if appends else []
    stages = tmp_path / "stages"
    stages.mkdir()
    found = set()
    for path in killed(stages, name, before, **options):
        is_whole = path.parent.name == "whole"
        if not path.stat().st_size:
            continue
        assert path.read_bytes().startswith(before)
        blocks, problem = read(path)
        assert blocks == [*old, *KILLED_BLOCKS][: len(blocks)], path
        assert len(blocks) >= len(old)
        assert not is_whole or (problem is None and len(blocks) == len(old) + len(KILLED_BLOCKS))
        found.add(len(blocks))
        assert tools.verify(path).is_sound == (problem is None), path
        if problem is None:
            continue
        # The last member of a .warc.gz may lack its checksum, and the last record of a .warc its line breaks.
        sure = blocks if name.endswith("zst") else blocks[:-1]
        if sure:
            saved = path.with_name(f"saved.{name}")
            tools.recover(path, saved)
            kept, problem = read(saved)
            assert problem is None
            assert kept == [*old, *KILLED_BLOCKS][: len(kept)]
            assert len(kept) == len(sure) if sure is blocks else len(kept) >= len(sure)
        partial = path.with_name(f"partial.{name}")
        try:
            with warnings.catch_warnings():
                # The length that a torn record states is wrong.
                warnings.simplefilter("ignore", seekwarc.FormatWarning)
                tools.recover(path, partial, partial=True)
        except seekwarc.NotFoundError:
            assert not sure
        else:
            # Only a .warc.zst shows that a header was torn while it was completed.
            assert tools.verify(partial).is_sound or not name.endswith("zst"), path
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", seekwarc.FormatWarning)
            with seekwarc.open(path.with_name(name), "a", repair=True) as out:
                out.write(
                    "response", target_uri=URI, block=FILM_HEAD + b"new", content_type="application/http"
                )
        continued, problem = read(path.with_name(name))
        assert problem is None
        assert continued[-1] == FILM_HEAD + b"new"
        assert continued[:-1] in (blocks, sure), path
        assert tools.verify(path.with_name(name)).is_sound
    assert found >= set(range(len(old) or 1, len(old) + len(KILLED_BLOCKS) + 1)), found
