"""`expand`: from a folder or a pattern to the files that it means.

Every function and command that takes several files takes both, and finds the same files.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from seekwarc.errors import FormatWarning, SeekWarcError, SourceError, SourceNotFoundError

__all__ = ["UNFINISHED", "expand", "index_ending", "refuse_empty", "walk"]

T = TypeVar("T")

UNFINISHED: Final = ".open"
"""Ending of a file's name while it is written, as crawlers use it."""
INDEX_ENDINGS: Final = (".cdxj", ".idx", ".parquet")
"""How the names of a CDXJ file, the index of a cluster and a columnar index end."""
_ARCHIVE: Final = r"(?i)\.((mega)?warc(\.(gz|zstd?))?|arc(\.gz)?)$"
_WILD: Final = "*?["


def expand(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | T],
    *,
    leave_out: str | None = None,
    repeat: bool = False,
) -> Iterator[str | T]:
    """Yield the given files, those in the given folders, and those that match the given patterns.

    In a folder and its subfolders, WARC and ARC files are recognized by name: .warc, .warc.gz, .warc.zst,
    .arc, .arc.gz. Hidden files are skipped. In a pattern (`crawls/*.warc.zst`), `**` means folders at any
    depth; a file that has this very name is taken instead. In an object store, a URL that ends with a slash
    is a folder. A WACZ that is named, or matches a pattern, means the WARC files in it:
    `crawl.wacz!/archive/data.warc.gz`. One in a folder is skipped: crawlers leave its WARC files beside it.
    A WACZ that has others as members means the WARC files in these, and so does a list of WACZ files in JSON
    (`resources`, each with a `path` in the folder of the list), as replayweb.page takes them.

    A folder in a folder that cannot be listed is yielded itself, as a file that cannot be opened.

    A file that is still being written (`crawl.warc.gz.open`) is skipped with a `FormatWarning`, unless it is
    named, or matches a pattern that ends with `.open`.

    Each file comes once unless `repeat`, those of a folder or pattern in path order. A plain name need not
    exist; what is not a name is yielded as it is.
    """
    seen: set[str] = set()
    for target in [targets] if isinstance(targets, str | os.PathLike) else targets:
        if not isinstance(target, str | os.PathLike):
            yield target
            continue
        for file in _members(_files(os.fspath(target), leave_out)):
            key = file if "://" in file or file == "-" else os.path.abspath(file)
            if repeat or key not in seen:
                seen.add(key)
                yield file


def index_ending(target: object) -> str | None:
    """Return how the name of an index ends, of `.cdxj`, `.idx` and `.parquet`; None if it is not one's name.

    The query of a URL does not count.
    """
    if not isinstance(target, str | os.PathLike):
        return None
    name = os.fspath(target)
    path = re.split("[?#]", name, maxsplit=1)[0] if "://" in name else name
    return next((it for it in INDEX_ENDINGS if path.lower().endswith(it)), None)


def _members(files: Iterable[str]) -> Iterator[str]:
    """Yield files, and instead of each WACZ its WARC files; if it cannot be opened, its own name."""
    for file in files:
        if not file.lower().partition("?")[0].endswith((".wacz", ".json")) or os.path.isdir(file):
            yield file
            continue
        from seekwarc.storage.packages import warc_files_in

        # Code that opens the names meanwhile shares the directory, which costs requests to read.
        found = False
        try:
            for name in warc_files_in(file):
                found = True
                yield name
        except SeekWarcError:
            if found or not file.lower().endswith(".wacz"):
                raise
        if not found:
            yield file


def _files(name: str, leave_out: str | None) -> list[str]:
    refuse_empty(name)
    if "://" in name:
        return _objects(name) if _is_listed(name) else [name]
    if os.path.isdir(name):
        return _checked(_archives_below(name, leave_out), name)
    if not _is_pattern(name) or os.path.exists(name):
        return [name]
    from glob import glob

    found = sorted(glob(name, recursive=True))
    if not name.endswith(UNFINISHED):
        found = _finished(found)
    if not found:
        raise SourceNotFoundError("no file matches this pattern", source=name)
    return [file for it in found for file in (_archives_below(it, leave_out) if os.path.isdir(it) else [it])]


def _archives_below(folder: str, leave_out: str | None) -> list[str]:
    """Return the archives in a folder, and then each folder in it that cannot be listed, as `expand` does."""
    unlisted: list[str] = []
    found = _finished(walk(folder, leave_out, lambda error: unlisted.append(error.filename)))
    return [path for path in found if _is_archive(os.path.basename(path))] + unlisted


def _finished(paths: Iterable[str]) -> list[str]:
    """Return the paths without those of archives that are still being written, and warn of these."""
    found: list[str] = []
    unfinished: list[str] = []
    for path in paths:
        is_open = path.endswith(UNFINISHED) and _is_archive(os.path.basename(path).removesuffix(UNFINISHED))
        (unfinished if is_open else found).append(path)
    if unfinished:
        more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        warnings.warn(
            f"{unfinished[0]}{more}: passed over, still being written or left by a crash; "
            "to read such a file, name it",
            FormatWarning,
            stacklevel=2,
        )
    return found


def refuse_empty(name: str) -> None:
    """Refuse the name that a script with an unset variable gives; it does not mean the current folder."""
    if not name:
        raise SourceError("a name is empty; name a file or a folder (`.` for the current one)")


def _fail(error: OSError) -> None:
    raise SourceError(f"cannot be read: {error.strerror}", source=error.filename) from error


def walk(
    folder: str, leave_out: str | None = None, on_error: Callable[[OSError], object] = _fail
) -> Iterator[str]:
    """Yield the files in a folder and its subfolders but one, in path order; others go to `on_error`."""
    for path, folders, files in os.walk(folder, onerror=on_error):
        folders[:] = sorted(it for it in folders if not _is_same(os.path.join(path, it), leave_out))
        yield from (os.path.join(path, file) for file in sorted(files))


def _is_pattern(name: str) -> bool:
    return any(it in name for it in _WILD)


def _is_archive(name: str) -> bool:
    return re.search(_ARCHIVE, name) is not None and not name.startswith(".")


def _is_same(path: str, other: str | None) -> bool:
    return other is not None and os.path.exists(other) and os.path.samefile(path, other)


def _checked(found: list[str], folder: str) -> list[str]:
    if not found:
        raise SourceError("no .warc, .warc.gz or .warc.zst is in this folder", source=folder)
    return found


def _is_listed(url: str) -> bool:
    """Tell whether a URL is a folder or pattern in a store. In that of a web server, `?` begins the query."""
    from seekwarc.storage.remote_url import SCHEMES

    scheme = url.partition("://")[0]
    is_store = scheme in SCHEMES and not scheme.startswith("http")
    return is_store and "::" not in url and (_is_pattern(url) or url.endswith("/"))


def _objects(url: str) -> list[str]:
    """Return the URLs of the objects that match a pattern, or of the WARC files in a folder."""
    from seekwarc.storage.remote_url import open_store, shown_url

    literal = url[: min(url.index(it) for it in _WILD if it in url)] if _is_pattern(url) else url
    folder = literal.rpartition("/")[0] + "/"
    store, key = open_store(folder)
    import obstore

    try:
        paths = [it["path"] for batch in obstore.list(store, key) for it in batch]
    except Exception as error:  # noqa: BLE001 - each store has errors of its own, whose texts may hold secrets
        raise SourceError(f"cannot be listed: {type(error).__name__}", source=shown_url(folder)) from None
    root = folder.removesuffix(key)
    if literal == url:
        return _checked(
            [root + it for it in sorted(paths) if _is_archive(it.rpartition("/")[2])], shown_url(url)
        )
    pattern = url.removeprefix(root).split("/")
    found = [root + it for it in sorted(paths) if _matches(it.split("/"), pattern)]
    if not found:
        raise SourceNotFoundError("no object matches this pattern", source=shown_url(url))
    return found


def _matches(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[begin:], pattern[1:]) for begin in range(len(parts) + 1))
    from fnmatch import fnmatchcase

    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
