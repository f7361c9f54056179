"""The service worker of a replay: wabac.js, which users bring, since it is under the AGPL."""

from __future__ import annotations

import os
import re
import tarfile
from pathlib import Path
from typing import Final

from seekwarc.errors import SeekWarcError, UnsupportedError

__all__ = ["HOW_TO_GET", "read_worker"]

HOW_TO_GET: Final = (
    "get the service worker by `npm pack @webrecorder/wabac`, and name the .tgz that it leaves: "
    "`seekwarc serve --replay webrecorder-wabac-2.27.3.tgz FILE`"
)
OLDEST: Final = (2, 27)
"""With older versions, the second visit hangs: a collection that the browser knows cannot be set again."""
MAX_SIZE: Final = 32 << 20
MAX_MEMBERS: Final = 10_000
PLACES: Final = ("sw.js", "dist/sw.js", "package/dist/sw.js", "node_modules/@webrecorder/wabac/dist/sw.js")
"""Where the script may be in a folder."""

_VERSION = re.compile(rb"wabac\.js ([0-9]{1,6})\.([0-9]{1,6})")


def read_worker(path: str | os.PathLike[str]) -> bytes:
    """Return the script of a published package: its .tgz, its folder, or `sw.js` itself.

    Raises:
        SeekWarcError: There is no script of wabac.js, or it is too old; the message says how to get one.
    """
    place = Path(path)
    try:
        script = _unpacked(place)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise SeekWarcError(f"cannot read {path}: {error}; {HOW_TO_GET}") from error
    found = _VERSION.search(script[:1000])
    if found is None or len(script) > MAX_SIZE:
        raise SeekWarcError(f"{path} does not have the script sw.js of wabac.js; {HOW_TO_GET}")
    version = int(found[1]), int(found[2])
    if version < OLDEST:
        raise UnsupportedError(
            f"{path} is wabac.js {version[0]}.{version[1]}; replay needs {OLDEST[0]}.{OLDEST[1]} or later: "
            f"{HOW_TO_GET}"
        )
    return script


def _unpacked(place: Path) -> bytes:
    if place.is_dir():
        place = next((it for name in PLACES if (it := place / name).is_file()), place / PLACES[0])
    if not place.name.endswith((".tgz", ".tar.gz")):
        with place.open("rb") as file:
            return file.read(MAX_SIZE + 1)
    with tarfile.open(place, "r:gz") as package:
        for _, member in zip(range(MAX_MEMBERS), package, strict=False):
            content = package.extractfile(member) if member.isfile() and member.name in PLACES else None
            if content is not None:
                return content.read(MAX_SIZE + 1)
    return b""
