"""The ZIP archive that a WACZ is."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP64_LIMIT, ZipFile

import pytest

from seekwarc.make.wacz_writing import WaczOutput
from seekwarc.storage.opening import open_stored
from seekwarc.storage.zip_members import open_zip
from seekwarc.write.opening import committed


@pytest.mark.large
def test_members_and_offsets_above_4_gib_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    piece = bytes(64 << 20)
    sizes = {"archive/a": ZIP64_LIMIT // len(piece) + 1, "archive/b": 2, "archive/c": 40}
    with committed(path) as output:
        file = WaczOutput(output)
        for name, count in sizes.items():
            file.add(name, (piece for _ in range(count)), count * len(piece))
        file.finish({})
    archive = open_zip(str(path), open_stored(path))
    with ZipFile(path) as other:
        for name, count in sizes.items():
            assert archive.members[name].file_size == count * len(piece)
            begin = archive.start_of(archive.members[name])
            assert begin > other.getinfo(name).header_offset
            assert archive.open(name).read(0, 100) == bytes(100)
            assert bool(other.getinfo(name).extra) == (name != "archive/b" or begin > ZIP64_LIMIT)
