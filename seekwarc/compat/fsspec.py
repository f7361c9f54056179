"""Records as files: `warc://`, a file system for fsspec, and so for all that reads files through fsspec.

    fsspec.open("warc://http://example.org/film.mp4", fo="s3://bucket/crawl.warc.zst")

A range of such a file costs what `Extent.pread` costs: the frames that hold it. Nothing is unpacked first.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from glob import has_magic
from typing import Any, Final, NoReturn, cast

from fsspec.spec import AbstractFileSystem
from fsspec.utils import tokenize

from seekwarc.closing import Recent
from seekwarc.collection.collection import Target
from seekwarc.collection.entry import Entry
from seekwarc.collection.parts import JoinedParts
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.compat.captures import Captures, IndexedCaptures, ScannedCaptures
from seekwarc.compat.entries import folder_info, listed_info, record_info
from seekwarc.compat.file import WarcFile
from seekwarc.compat.paths import SELF, CapturePath, folder_prefix, folders_of, name_of, uri_of
from seekwarc.compat.targets import absolute, is_index, targets_of
from seekwarc.errors import NotFoundError, UnsupportedError
from seekwarc.read.extent import Extent
from seekwarc.read.options import ReaderOptions
from seekwarc.read.record import Record
from seekwarc.scale.ranges import WantedRange, read_ranges
from seekwarc.storage.source import Stats

__all__ = ["WarcFileSystem"]

MAX_SHOWN: Final = 200
"""Characters of a URI in a message."""
MAX_RECORDS: Final = 256
"""Open records that are kept, with what is known of their frames."""


class WarcFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The records of WARC files, each as a file that holds its payload.

    A path is a URI (its latest capture), `YYYYMMDDhhmmss/URI` (the nearest one), `urn:uuid:...` (a
    WARC-Record-ID), or `@offset` or `@offset+length` in the stored file, as an index has it; of several files
    one is named, `crawl-00001.warc.zst@offset`. Revisits have the payload of their original, and segments
    are joined. Folders are those of the URIs, and a listing escapes what would be misread in a URI: see
    `seekwarc.compat.paths`. A URI without a capture means one that differs in scheme, `www.` or
    the order of arguments alone.

    A file is scanned once, when a URI, an ID or a listing is first asked for, and never for `@offset`; with
    an index nothing is scanned. Safe to use from several threads. A pickle opens the files again.

    Args:
        fo: What `seekwarc.open` takes, a list of that, a pattern of files or objects, or a URL of fsspec.
        index: An index, as `seekwarc.Index` takes it, instead of `fo`. A name that ends with .cdxj or .idx is
            taken for one as `fo` as well.
        files: Folder or URL of the files that the index names; that of the index by default.
        decoded: Undo content codings (gzip, deflate, br, zstd). A file that has one can only be read forwards
            then, and its size is None.
        joined: Give parts (206 Partial Content) the payload of the whole; see `Collection.open_record`. A
            listing has the sizes of the parts. Not with an index.
        target_protocol: File system of `fo`, where fsspec passes one: in a chained URL.
        target_options: Options of that file system.
        **options: Options of `seekwarc.open`, and those of every fsspec file system.

    Raises:
        SourceError: A file cannot be opened.
        TypeError: Neither `fo` nor `index` is given, or both, or an option is unknown.
        LimitError: More than 8 archives are chained.

    Example:
        >>> import fsspec
        >>> archive = fsspec.filesystem("warc", fo="crawl.warc.zst")
        >>> archive.ls("http://example.org", detail=False)
        ['http://example.org/%2F', 'http://example.org/film.mp4']
        >>> archive.cat_file("20261117/http://example.org/", 0, 11)
        b'<p>The same'
        >>> info = archive.info("http://example.org/film.mp4")
        >>> info["size"], info["content_type"], info["record_id"]
        (3145728, 'video/mp4', 'urn:x:2')
        >>> archive.close()
    """

    protocol = "warc"
    root_marker = ""
    # Files may be replaced, and an instance that fsspec keeps is never closed.
    cachable = False

    def __init__(
        self,
        fo: Target | Sequence[Target] = "",
        *,
        index: Target | None = None,
        files: str | os.PathLike[str] | None = None,
        decoded: bool = False,
        joined: bool = False,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        **options: Any,  # noqa: ANN401 - fsspec passes its own too
    ) -> None:
        common = {name: options.pop(name) for name in _OPTIONS_OF_FSSPEC & options.keys()}
        super().__init__(**common)
        if unknown := sorted(options.keys() - ReaderOptions.__annotations__.keys()):
            raise TypeError(f"warc:// has no option {unknown[0]}")
        if index is None and is_index(fo, target_protocol):
            fo, index = "", cast("Target", fo)
        if (fo == "") == (index is None):
            raise TypeError("warc:// takes the files (fo=...) or an index of them (index=...)")
        self.fo = fo if index is None else index
        self._decoded = decoded
        self._records: Recent[tuple[str, int], Record] = Recent(MAX_RECORDS)
        reading = cast("ReaderOptions", options)
        if index is not None:
            if joined:
                raise TypeError("joined=True takes the files (fo=...), not an index of them")
            self._captures: Captures = IndexedCaptures(index, files, **reading)
        else:
            targets = targets_of(fo, target_protocol, target_options or {})
            self._captures = ScannedCaptures(targets, joined=joined, **reading)

    def __reduce__(self) -> tuple[Any, ...]:
        options = dict(self.storage_options)
        for name in ("fo", "index", "files"):
            if name in options:
                options[name] = absolute(options[name])
        return _made, (type(self), tuple(map(absolute, self.storage_args)), options)

    def close(self) -> None:
        """Close the files; anything opened from them can no longer be read. Idempotent."""
        self._captures.close()
        self._records.clear()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:  # noqa: ANN401 - as fsspec has it
        if isinstance(path, list):
            return [cls._strip_protocol(it) for it in path]
        # A slash at the end is a part of the URI.
        return os.fspath(path).removeprefix("warc://")

    @property
    def stats(self) -> Stats:
        """What reading the files that are open, and their index, has cost so far."""
        return self._captures.stats

    def record(self, path: str) -> Record:
        """Return the record of a path, to read more of it than its payload.

        Raises:
            FileNotFoundError: A path that names nothing.
            IsADirectoryError: A folder.
        """
        path = self._strip_protocol(path)
        return self._opened(self._found(path), path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return what is known of a record or a folder.

        A record has `size` of the payload, `mtime` and `date` (WARC-Date as a timestamp and as text),
        `content_type`, `status` of HTTP, `digest` of the payload, `uri`, `record_id`, `record_type`, and its
        place: `file` and `offset`.
        """
        path = self._strip_protocol(path)
        found = self._found_or_folder(path)
        if found is None:
            return folder_info(path)
        return record_info(path, self._opened(found, path), decoded=self._decoded)

    def isdir(self, path: str) -> bool:
        """Return whether a path is a folder; no record is opened."""
        try:
            return self._found_or_folder(self._strip_protocol(path)) is None
        except (FileNotFoundError, UnsupportedError):
            return False

    def ls(self, path: str = "", detail: bool = True, **_: Any) -> list[Any]:  # noqa: ANN401, FBT001, FBT002
        """List a folder: the latest capture of each URI. A size that would have to be looked up is None."""
        path = self._strip_protocol(path)
        files, folders = self._below(folder_prefix(CapturePath.parse(path).name), 1)
        found = files | {name: folder_info(name) for name in folders} or {path: self.info(path)}
        return [found[name] for name in sorted(found)] if detail else sorted(found)

    def _below(self, prefix: str, depth: int | None) -> tuple[dict[str, dict[str, Any]], set[str]]:
        """Return the files below a folder, with what a listing says of them, and the folders."""
        files: dict[str, dict[str, Any]] = {}
        folders: set[str] = set()
        for entry in self._captures.below(prefix):
            info = listed_info(entry, decoded=self._decoded)
            above = folders_of(info["name"], prefix)
            folders.update(above[:depth])
            if depth is None or len(above) < depth:
                files[info["name"]] = info
        # A capture that is also a folder is listed in the folder.
        for name in folders & files.keys():
            info, own = files.pop(name), f"{name}/{SELF}"
            if depth is None or len(folders_of(own, prefix)) < depth:
                files[own] = {**info, "name": own}
        name = prefix.removesuffix("/")
        if (files or folders) and name and not name.endswith(":/") and name_of(uri_of(name)) == name:
            found, own = self._captures.exact(uri_of(name), None), f"{name}/{SELF}"
            if found is not None:
                files[own] = record_info(own, self._opened(found, own), decoded=self._decoded)
        return files, folders

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,  # noqa: FBT001, FBT002 - as fsspec has it
        detail: bool = False,  # noqa: FBT001, FBT002
        **_: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """List everything below a path, in one pass; see `ls`."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path = self._strip_protocol(path)
        prefix = folder_prefix(CapturePath.parse(path).name)
        found, folders = self._below(prefix, maxdepth)
        if withdirs and prefix and (found or folders):
            folders.add(prefix.rstrip("/"))
        if not found and not folders and self.exists(path):
            found[path] = self.info(path)
        if withdirs:
            found |= {name: folder_info(name) for name in folders}
        return {name: found[name] for name in sorted(found)} if detail else sorted(found)

    def get(
        self,
        rpath: Any,  # noqa: ANN401 - as fsspec has it
        lpath: Any,  # noqa: ANN401
        recursive: bool = False,  # noqa: FBT001, FBT002
        **options: Any,  # noqa: ANN401
    ) -> None:
        """Copy payloads to local files; see fsspec. Local names are those of a listing."""
        if recursive and isinstance(rpath, str) and not has_magic(rpath):
            prefix = folder_prefix(CapturePath.parse(self._strip_protocol(rpath)).name)
            names = [name for name in self.find(rpath) if name.startswith(prefix)]
            if names:
                folder = os.fspath(lpath)
                if not rpath.endswith("/") and os.path.isdir(folder):
                    folder = os.path.join(folder, prefix.rstrip("/").rpartition("/")[2])
                rpath, lpath = names, [os.path.join(folder, name[len(prefix) :]) for name in names]
        super().get(rpath, lpath, **options)

    def glob(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:  # noqa: ANN401
        """Find paths by a pattern. An existing URI with a `?` or `[` is taken literally."""
        bare = self._strip_protocol(path)
        if has_magic(bare) and "*" not in bare and self._exact(CapturePath.parse(bare)) is not None:
            return {bare: self.info(bare)} if options.get("detail") else [bare]
        return super().glob(path, maxdepth=maxdepth, **options)

    def ukey(self, path: str) -> str:
        """Return a key of the bytes of a path, for caches: it changes if the record does."""
        record = self.record(path)
        digest = record.payload_digest
        if digest is not None:
            return cast("str", tokenize(str(digest), record.payload.known_size, self._decoded))
        return cast("str", tokenize(record.source, record.offset, record.header.raw, self._decoded))

    def checksum(self, path: str) -> int:
        """Return `ukey` as a number."""
        return int(self.ukey(path), 16)

    def created(self, path: str) -> datetime:
        """Return when a record was captured."""
        date = self.record(path).date
        if date is None:
            raise FileNotFoundError(errno.ENOENT, "the record has no valid date", path)
        return date.datetime.astimezone(UTC)

    modified = created

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        **_: Any,  # noqa: ANN401
    ) -> bytes:
        """Return the bytes [start, end) of a payload; negative positions count from its end."""
        return self._read(self.record(path), start, end)

    def _read(self, record: Record, start: int | None, end: int | None) -> bytes:
        payload = record.payload
        begin, stop = self._bounds(payload, start, end)
        return payload.pread(begin, max(stop - begin, 0), decoded=self._decoded)

    def _bounds(self, payload: Extent, start: int | None, end: int | None) -> tuple[int, int]:
        begin, stop = start or 0, _EVERYTHING if end is None else end
        if begin < 0 or stop < 0:
            size = len(payload.read(decoded=True)) if self._decoded and payload.codings else payload.size
            begin = max(begin + size, 0) if begin < 0 else begin
            stop = stop + size if stop < 0 else stop
        return begin, stop

    def cat_ranges(
        self,
        paths: list[str],
        starts: int | list[int | None] | None,
        ends: int | list[int | None] | None,
        max_gap: int | None = None,
        on_error: str = "return",
        **_: Any,  # noqa: ANN401
    ) -> list[Any]:
        """Return many ranges of many payloads, with few requests: neighbours are fetched together.

        Args:
            paths: The paths.
            starts: First byte of each; one for all, or None for the beginning.
            ends: End of each; one for all, or None for the end.
            max_gap: Has no effect: the storage says what gap is cheaper to read than to leave out.
            on_error: "return" to have the error of a range in its place, "raise" to raise it.
        """
        del max_gap
        if not isinstance(paths, list):
            raise TypeError("`paths` is not a list")
        first = starts if isinstance(starts, list) else [starts] * len(paths)
        last = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(first) == len(last):
            raise ValueError(f"{len(paths)} paths, {len(first)} starts and {len(last)} ends")
        found: dict[int, Any] = {}
        wanted: dict[WantedRange, int] = {}
        for number, it in enumerate(zip(paths, first, last, strict=True)):
            try:
                wanted[self._wanted(*it)] = number
            except Exception as error:  # noqa: BLE001 - each path has its own
                found[number] = error
        for range_, outcome in read_ranges(list(wanted), self._captures.reader):
            found[wanted[range_]] = outcome
        in_order = [found[number] for number in range(len(paths))]
        if on_error == "raise" and (errors := [it for it in in_order if isinstance(it, Exception)]):
            raise errors[0]
        return in_order

    def _wanted(self, path: str, start: int | None, end: int | None) -> WantedRange:
        path = self._strip_protocol(path)
        found = self._found(path)

        def span() -> tuple[int, int] | None:
            record = self._opened(found, path)
            payload = record.payload
            # The bytes of some are in other files than the record.
            elsewhere = isinstance(record, JoinedParts | JoinedRecord | ResolvedRevisit)
            if elsewhere or (self._decoded and payload.codings):
                return None
            begin, stop = self._bounds(payload, start, end)
            stored = payload.plan(begin, max(begin, stop)).ranges
            return (stored[0][0], stored[-1][1]) if stored else None

        place = found.filename, found.offset, found.length
        return WantedRange(*place, lambda: self._read(self._opened(found, path), start, end), span)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        **_: Any,  # noqa: ANN401
    ) -> WarcFile:
        if mode != "rb":
            self._refuse()
        path = self._strip_protocol(path)
        payload = self.record(path).payload
        return WarcFile(self, path, payload, decoded=self._decoded, buffer_size=block_size)

    def _exact(self, address: CapturePath) -> Entry | None:
        if address.offset is not None:
            try:
                return self._captures.at(address.offset, address.length, address.file)
            except NotFoundError as error:
                raise FileNotFoundError(errno.ENOENT, str(error), address.name) from None
        found = next(filter(None, (self._captures.exact(uri, address.date) for uri in address.uris)), None)
        if found is None and address.record_id is not None:
            found = self._captures.by_id(address.record_id)
        return found

    def _found_or_folder(self, path: str) -> Entry | None:
        if not path.strip("/"):
            return None
        address = CapturePath.parse(path)
        if address.is_mounted and self._is_folder(address):
            return None
        found = self._exact(address)
        if found is None and self._is_folder(address):
            return None
        return found or self._similar(address, path)

    def _is_folder(self, address: CapturePath) -> bool:
        if address.offset is not None or address.date is not None:
            return False
        return next(self._captures.below(folder_prefix(address.name)), None) is not None

    def _found(self, path: str) -> Entry:
        address = CapturePath.parse(path)
        return self._exact(address) or self._similar(address, path)

    def _similar(self, address: CapturePath, path: str) -> Entry:
        """Return the record of a URI with the same key."""
        for uri in address.uris:
            if (found := self._captures.similar(uri, address.date)) is not None:
                return found
        if address.record_id is not None:
            raise FileNotFoundError(errno.ENOENT, "no record has this ID", path)
        if self._is_folder(address):
            raise IsADirectoryError(errno.EISDIR, "this is a folder of URIs", path)
        near = self._captures.near(address.uris[0])
        hint = f"; the nearest are {', '.join(it[:MAX_SHOWN] for it in near)}" if near else ""
        raise FileNotFoundError(errno.ENOENT, f"no capture has this URI{hint}", path)

    def _opened(self, found: Entry, path: str) -> Record:
        """Return a record; the latest ones are kept, with their tables."""
        key = found.filename, found.offset
        try:
            return self._records.get(key) or self._records.put(key, self._captures.open(found))
        except NotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, str(error), path) from error

    # Methods that would write.

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:  # noqa: ANN401
        raise OSError(errno.EROFS, "warc:// only reads; write records with seekwarc.open(path, 'w')")

    mkdir = makedirs = rmdir = touch = rm = rm_file = _rm = cp_file = copy = mv = _refuse
    pipe = pipe_file = put = put_file = start_transaction = _refuse


_EVERYTHING: Final = 1 << 62
_OPTIONS_OF_FSSPEC: Final = frozenset(
    {"asynchronous", "batch_size", "listings_expiry_time", "loop", "max_paths", "use_listings_cache"}
)


def _made(kind: type[WarcFileSystem], args: tuple[Any, ...], options: dict[str, Any]) -> WarcFileSystem:
    return kind(*args, **options)
