"""Members of ZIP archives, such as the WARC files in a WACZ, as sources.

A member is named as `crawl.wacz!/archive/data.warc.gz`, here or at a URL. A stored member is a range of the
archive, so it is read as a file of its own would be. A deflated one is decoded from its beginning each time
a read goes back.

Nothing in the directory is believed without a limit: `zipfile` parses it, from at most `MAX_DIRECTORY` bytes,
and the members must lie one after another, before the directory.
"""

from __future__ import annotations

import io
import os
import re
import struct
import threading
import zlib
from typing import IO, Final, cast
from urllib.parse import urlsplit
from weakref import WeakValueDictionary
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from seekwarc.closing import keep
from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, SourceError, SourceNotFoundError, UnsupportedError
from seekwarc.format.words import quoted
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource, SmallReads, closed_error
from seekwarc.storage.source_file import SourceFile
from seekwarc.storage.streams import FileObjectSource

__all__ = ["ARCHIVE", "SEPARATOR", "ZipArchive", "check_ratio", "is_wacz", "open_zip", "split_name"]

SEPARATOR: Final = "!/"
ARCHIVE: Final = "archive/"
"""Folder of the WARC files in a WACZ."""
MAX_NESTED: Final = 3
"""Archives in one another that a name may mean."""
MAX_DIRECTORY: Final = 8 << 20
"""Bytes of a directory: some 100,000 members, of which Python's objects take 100 MB."""
FIRST_READ: Final = 64 << 10
STEP: Final = 1 << 20
MAX_DECODED: Final = 8 << 20
"""Size of a deflated member that is decoded as a whole when it is opened."""
MAX_RATIO: Final = 200
"""Lists and indexes are compressed 5 to 30 to 1; DEFLATE reaches 1,032 to 1."""
MAX_FREE: Final = 8 << 20
"""Bytes that may be read of a compressed file whatever its ratio."""
FIRST_STRETCH: Final = 1 << 20
"""Bytes of members that are read in order which are fetched at once; doubled each time."""
MAX_STRETCH: Final = 8 << 20
MAX_WHOLE: Final = 1 << 20
"""Bytes of a member that is fetched whole though it may be read by its tables: it is not gzip."""
ENCRYPTED: Final = 1

_LOCAL = struct.Struct("<4s22xHH")
_MAGIC = b"PK\3\4"
_MEMBER = re.compile(r"(.+\.wacz(?:\?[^!]*)?)!/(.+)", re.IGNORECASE | re.DOTALL)
_BROKEN = (BadZipFile, NotImplementedError, struct.error, ValueError, EOFError, RuntimeError, zlib.error)
"""What `zipfile` raises for bytes that are not a ZIP archive."""


def is_wacz(name: str) -> bool:
    """Tell from its name whether a file or URL is a WACZ."""
    path = urlsplit(name).path if "://" in name else name
    return path.lower().endswith(".wacz") and not os.path.isdir(name)


def split_name(name: str) -> tuple[str, str] | None:
    """Return the archive and the member that a name means; None for any other name."""
    match = _MEMBER.fullmatch(name) if name.count(SEPARATOR) <= MAX_NESTED else None
    return (match[1], match[2]) if match is not None and not os.path.exists(name) else None


class ZipArchive:
    """The directory of a ZIP archive.

    Attributes:
        source: The archive.
        members: What the directory says of each member, by name, in the order of their offsets.
        directory: Where the directory begins.
    """

    def __init__(self, source: Fetcher) -> None:
        self.source = source
        self._stretch = FIRST_STRETCH
        try:
            self._zip = ZipFile(cast("IO[bytes]", _Directory(source)))
            found = sorted(self._zip.infolist(), key=lambda it: it.header_offset)
        except BadZipFile as error:
            if isinstance(error.__context__, SourceError):
                raise error.__context__ from None
            raise self._error(f"is not a ZIP archive: {error}") from error
        except _BROKEN as error:
            if isinstance(error, FormatError):
                raise
            raise self._error(f"the directory cannot be read: {error}") from error
        self.directory = stop = self._zip.start_dir
        self._next: dict[str, int] = {}
        for info in reversed(found):
            self._check(info, stop)
            self._next[info.filename] = stop
            stop = info.header_offset
        self.members = {info.filename: info for info in found}
        if len(self.members) < len(found):
            raise self._error("two members have the same name")

    def _check(self, info: ZipInfo, stop: int) -> None:
        name = info.filename
        if info.volume:
            raise UnsupportedError("is split into several files; join them", source=self.source.name)
        if not 0 <= info.header_offset <= stop - _LOCAL.size - len(name) - info.compress_size:
            raise self._error(
                f"the member {quoted(name)} overlaps what follows it, or lies outside of the file"
            )
        if info.compress_type == ZIP_STORED and info.compress_size != info.file_size:
            raise self._error(f"the member {quoted(name)} is stored, and has two sizes")
        parts = name.removesuffix("/").split("/")
        if not {"", ".", ".."}.isdisjoint(parts) or not name.isprintable() or "\\" in name:
            raise self._error(f"the member {quoted(name)} has a name that is not a path within the archive")

    def _error(self, message: str) -> FormatError:
        return FormatError(message, source=self.source.name)

    def __reduce__(self) -> tuple[type[ZipArchive], tuple[Fetcher]]:
        return ZipArchive, (self.source,)

    def open(self, name: str) -> RangeSource:
        """Return a member as a source.

        Raises:
            SourceNotFoundError: It is not in the archive.
            UnsupportedError: See `check_method`.
        """
        info = self.members.get(name)
        if info is None or info.is_dir():
            raise SourceNotFoundError(f"has no member {quoted(name)}", source=self.source.name)
        self.check_method(info)
        if info.compress_type == ZIP_STORED:
            return StoredMember(self, name)
        member = DeflatedMember(self, info)
        if info.file_size > MAX_DECODED:
            return member
        return BytesSource(member.read(0, info.file_size), member.name)

    def check_method(self, info: ZipInfo) -> None:
        """Refuse a member that cannot be read.

        Raises:
            UnsupportedError: It is encrypted, or compressed by another method than DEFLATE.
        """
        name = self.source.name + SEPARATOR + info.filename
        if info.flag_bits & ENCRYPTED:
            raise UnsupportedError("this member is encrypted", source=name)
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            text = f"this member has the compression method {info.compress_type}; 0 and 8 are supported"
            raise UnsupportedError(text, source=name)

    def prefetch_from(self, name: str) -> None:
        """Fetch a member afar with those that follow it in its folder, as long as all are small.

        Members that are read in order thus take few requests.
        """
        begin, stop = self.members[name].header_offset, self._next[name]
        if not self.source.policy.is_far or self.source.has(begin, stop) or not self._is_whole(name):
            return
        folder = name.rpartition("/")[0]
        for info in self.members.values():
            end = self._next[info.filename]
            if info.header_offset == stop and end - begin <= self._stretch:
                if info.filename.rpartition("/")[0] != folder or not self._is_whole(info.filename):
                    break
                stop = end
        self._stretch = min(2 * self._stretch, MAX_STRETCH)
        self.source.prefetch([(begin, stop)])

    def _is_whole(self, name: str) -> bool:
        all_is_read = name.lower().endswith(".gz") or self.directory <= MAX_STRETCH
        size = self._next[name] - self.members[name].header_offset
        return size <= (MAX_STRETCH if all_is_read else MAX_WHOLE)

    def end_of(self, info: ZipInfo) -> int:
        """Return where the next member begins, or the directory."""
        return self._next[info.filename]

    def start_of(self, info: ZipInfo) -> int:
        """Return where the bytes of a member begin.

        The local header may have other extra fields than the directory. It is read only if it leaves room
        for that between this member and the next: for most files of other tools, and of a WACZ of seekwarc
        only for members of 4 GiB or more.
        """
        begin = info.header_offset
        start = begin + _LOCAL.size + len(info.orig_filename.encode()) + len(info.extra)
        if start + info.compress_size == self._next[info.filename]:
            return start
        if self.source.policy.is_far:
            self.source.prefetch([(begin, begin + min(info.compress_size, FIRST_READ) + _LOCAL.size)])
        header = self.source.read(begin, begin + _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(_MAGIC):
            raise FormatError("a member has no header here", source=self.source.name, offset=begin)
        _, name_size, extra_size = _LOCAL.unpack(header)
        start = begin + _LOCAL.size + int(name_size) + int(extra_size)
        if start + info.compress_size > self._next[info.filename]:
            text = f"the member {quoted(info.filename)} overlaps what follows it"
            raise FormatError(text, source=self.source.name, offset=begin)
        return start

    def decoded(self, info: ZipInfo) -> IO[bytes]:
        """Return a member as a file."""
        return self._zip.open(info)


def check_ratio(size: int, compressed: int) -> None:
    """Refuse to decompress more than 200 to 1, which makes much work of a small file.

    Raises:
        LimitError: `size` bytes are above 8 MiB and that.
    """
    if size > max(MAX_FREE, compressed * MAX_RATIO):
        raise LimitError(
            f"is compressed more than {MAX_RATIO} to 1 ({compressed} to {size} bytes); "
            "unpack the archive if you trust it"
        )


class _Directory(SourceFile):
    """The archive as `zipfile` reads it, with a limit on single reads. Closing it leaves the archive open."""

    def read(self, size: int = -1) -> bytes:
        if size > MAX_DIRECTORY:
            text = f"the directory has {size} bytes, above the limit of {MAX_DIRECTORY}"
            raise LimitError(text, source=self._source.name)
        source, begin = self._source, self.tell()
        if isinstance(source, Fetcher) and source.policy.is_far and not source.has(begin, begin + size):
            # `zipfile` reads a deflated member in steps of 4 KiB.
            source.prefetch([(begin, begin + max(size, STEP))])
        return super().read(size) or b""

    def close(self) -> None:
        io.RawIOBase.close(self)


class StoredMember(RangeSource):
    """A member that is not compressed: a range of the archive."""

    size: int

    def __init__(self, archive: ZipArchive, member: str) -> None:
        info = archive.members[member]
        self.name = archive.source.name + SEPARATOR + member
        self.policy = archive.source.policy
        self.size = info.file_size
        self._archive: ZipArchive | None = archive
        self._member = member
        self._start: int | None = None

    def __reduce__(self) -> tuple[type[StoredMember], tuple[ZipArchive | None, str]]:
        return StoredMember, (self._archive, self._member)

    def _base(self) -> tuple[Fetcher, int]:
        archive = self._archive
        if archive is None:
            raise closed_error(self.name)
        if self._start is None:
            self._start = archive.start_of(archive.members[self._member])
        return archive.source, self._start

    @override
    def read(self, start: int, stop: int) -> bytes:
        source, base = self._base()
        stop = min(stop, self.size)
        return source.read(base + start, base + stop) if start < stop else b""

    @override
    def read_into(self, start: int, out: memoryview) -> int:
        source, base = self._base()
        return source.read_into(base + start, out[: max(self.size - start, 0)])

    @override
    def small_reads(self) -> SmallReads:
        source, base = self._base()
        read, keeps = source.small_reads()
        end = self.size
        return SmallReads(lambda size, start: read(max(min(size, end - start), 0), base + start), keeps)

    @override
    def beside(self, suffix: str) -> RangeSource | None:
        archive = self._archive
        name = self._member + suffix
        return archive.open(name) if archive is not None and name in archive.members else None

    @property
    @override
    def identity(self) -> str | None:
        identity = self._archive.source.identity if self._archive is not None else None
        return f"{identity}{SEPARATOR}{self._member}" if identity is not None else None

    @property
    @override
    def version(self) -> str | None:
        return self._archive.source.version if self._archive is not None else None

    @override
    def announce(self) -> None:
        if self._archive is not None:
            self._archive.prefetch_from(self._member)

    @override
    def check_unchanged(self) -> None:
        self._base()[0].check_unchanged()

    @override
    def close(self) -> None:
        # Other members may be in use. The archive is closed when none is.
        self._archive = None


class DeflatedMember(FileObjectSource):
    """A compressed member. Each read that goes back decodes it from its beginning."""

    def __init__(self, archive: ZipArchive, info: ZipInfo) -> None:
        self.name = archive.source.name + SEPARATOR + info.filename
        self._lock = threading.Lock()
        self.size = info.file_size
        self._compressed = info.compress_size
        try:
            self._file = archive.decoded(info)
        except _BROKEN as error:
            raise FormatError(f"cannot be read: {error}", source=self.name) from error

    @override
    def read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)
        try:
            check_ratio(stop, self._compressed)
        except LimitError as error:
            raise error.located(self.name, None) from None
        try:
            data = super().read(start, stop) if start < stop else b""
        except (*_BROKEN, SourceError) as error:
            if isinstance(error, SourceError) and not isinstance(error.__cause__, _BROKEN):
                raise
            raise FormatError(f"cannot be decompressed: {error}", source=self.name) from error
        if len(data) < stop - start:
            raise FormatError("has fewer bytes than the directory says", source=self.name)
        return data

    @override
    def close(self) -> None:
        self._file.close()


_SHARED: WeakValueDictionary[tuple[str, str | None], ZipArchive] = WeakValueDictionary()
"""Archives in use, so that many members of one read its directory once."""
_LOCK = threading.Lock()


def open_zip(name: str, source: RangeSource) -> ZipArchive:
    """Return the archive of a path or URL, which `source` reads unless it is open already.

    Raises:
        FormatError: It is not a ZIP archive, or one that contradicts itself.
        LimitError: Its directory has more than 8 MiB.
        SourceError: It cannot be read.
    """
    key = (name if "://" in name else os.path.abspath(name), source.version)
    with _LOCK:
        archive = _SHARED.get(key)
    if archive is None:
        fetcher = Fetcher(source)
        try:
            archive = ZipArchive(fetcher)
        except BaseException:
            fetcher.close()
            raise
        with _LOCK:
            archive = _SHARED.setdefault(key, archive)
    else:
        source.close()
    if archive.source.policy.is_far:
        keep(archive)
    return archive
