"""Writing a WACZ: members one after another, then the lists of their hashes.

The ZIP archive is streamed: sizes and checksums follow each member, and are in the directory. What is
compressed already is stored. Only those of 2 GiB and more have ZIP64 fields, since players that read the
directory alone take a member without them to begin right after its name.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Final, cast
from zipfile import ZIP64_LIMIT, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import seekwarc
from seekwarc.cdx.wacz import pieces_of
from seekwarc.format.json_text import json_text
from seekwarc.make.sinks import OutputFile, Writable
from seekwarc.make.zipnum import ClusterOutput
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ARCHIVE

__all__ = ["PAGES", "WaczOutput", "WaczWriting", "pages_header"]

WACZ_VERSION: Final = "1.1.1"
PAGES: Final = {"pages": "All Pages", "extraPages": "Extra Pages"}
"""The lists of pages and their titles."""
MAX_PLAIN: Final = 10_000
"""Lines of an index that is not compressed; players load it whole."""
STEP: Final = 1 << 20
FIRST_YEAR: Final = 1980


@dataclass(frozen=True, slots=True)
class WaczWriting:
    """What was written into a WACZ.

    Example:
        >>> done = seekwarc.tools.create_wacz(["crawl.warc.zst"], "new.wacz")
        >>> print(done.files, done.lines, done.pages)
        1 3 0
    """

    files: int
    """WARC files."""
    lines: int
    """Lines of the index."""
    pages: int
    extra_pages: int
    size: int
    """Size of the WACZ, in bytes."""
    originals: int = 0
    """Records that were brought along, as revisits refer to them."""
    missing_originals: dict[str, int] = field(default_factory=dict)
    """How many revisits have no original, of those that were looked for, by the container that they name."""
    left_out: int = 0
    """Damaged places of the files, whose records were left out."""


class _Zip(ZipFile):
    def __del__(self) -> None:
        """Do nothing: that of ZipFile ends an archive that failed, in a file that is closed and removed."""


class WaczOutput:
    """A WACZ that is being written: `seconds` after 1970, or now."""

    def __init__(self, output: Writable, seconds: float | None = None) -> None:
        self._file = OutputFile(output)
        self._zip = _Zip(cast("IO[bytes]", self._file), "w")
        self._resources: list[dict[str, object]] = []
        self._now = time.gmtime(seconds)

    def _info(self, path: str) -> ZipInfo:
        info = ZipInfo(path, (max(self._now.tm_year, FIRST_YEAR), *self._now[1:6]))
        is_packed = path.startswith(ARCHIVE) or path.endswith(".gz")
        info.compress_type = ZIP_STORED if is_packed else ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        return info

    def add(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a member of a known size."""
        info = self._info(path)
        digest, written = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=size > ZIP64_LIMIT) as file:
            for data in pieces:
                digest.update(data)
                file.write(data)
                written += len(data)
        name = re.sub(r"[^a-z0-9._-]", "-", path.rpartition("/")[2].lower())
        hashed = f"sha256:{digest.hexdigest()}"
        self._resources.append({"name": name, "path": path, "hash": hashed, "bytes": written})

    def add_virtual(self, path: str, size: int) -> None:
        """Leave out the bytes of a member, which are served from elsewhere, and its checksums."""
        info = self._info(path)
        info.file_size = info.compress_size = size
        info.CRC = 0
        info.header_offset = self._file.size
        self._file.write(info.FileHeader(zip64=size > ZIP64_LIMIT))
        self._file.size += size
        self._zip.start_dir = self._file.size
        self._zip.filelist.append(info)
        self._zip.NameToInfo[path] = info

    def add_source(self, path: str, source: RangeSource) -> None:
        """Write a member that is a copy of a source."""
        self.add(path, pieces_of(source), source.size or 0)

    def add_file(self, path: str, file: IO[bytes]) -> None:
        """Write a member that is a copy of a file, from its beginning."""
        size = file.seek(0, 2)
        file.seek(0)
        self.add(path, iter(lambda: file.read(STEP), b""), size)

    def add_index(self, file: IO[bytes], count: int, folder: str) -> None:
        """Write the index: `count` sorted lines of a file, as a cluster if they are many."""
        if count <= MAX_PLAIN:
            self.add_file("indexes/index.cdxj", file)
            return
        file.seek(0)
        cluster = ClusterOutput(f"{folder}/index.idx")
        for line in file:
            cluster.write(line)
        cluster.commit()
        for name in ("index.cdx.gz", "index.idx"):
            with open(f"{folder}/{name}", "rb") as part:
                self.add_file(f"indexes/{name}", part)

    def finish(self, metadata: Mapping[str, object]) -> int:
        """Write the manifest with these members, and the directory; return the size of the file."""
        package = {
            "profile": "data-package",
            "resources": self._resources,
            "wacz_version": WACZ_VERSION,
            "software": f"seekwarc {seekwarc.__version__}",
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", self._now),
            **{name: text for name, text in metadata.items() if text is not None},
        }
        data = json_text(package, indent=2).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(data).hexdigest()}"}
        self.add("datapackage.json", [data], len(data))
        data = json_text(digest, indent=2).encode()
        self.add("datapackage-digest.json", [data], len(data))
        self._zip.close()
        return self._file.size


def pages_header(name: str, *, text: bool = False) -> bytes:
    """Return the first line of a list of pages, which says whether they have text."""
    has_text = {"hasText": True} if text else {}
    head = {"format": "json-pages-1.0", "id": name, "title": PAGES[name], **has_text}
    return json_text(head).encode() + b"\n"
