"""`expand`: from a folder or a pattern to the files that it means.

Every function and command that takes several files takes both, and finds the same files. `placed` also says
where each is below the folder that was named, and `noting` keeps what was passed over.
"""

from __future__ import annotations

import os
import posixpath
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final, TypeVar

from seekwarc.errors import FormatWarning, SeekWarcError, SourceError, SourceNotFoundError
from seekwarc.format.words import counted

__all__ = [
    "UNFINISHED",
    "Expanded",
    "each_of",
    "expand",
    "index_ending",
    "noting",
    "placed",
    "walk",
]

T = TypeVar("T")

UNFINISHED: Final = ".open"
"""Ending of a file's name while it is written, as crawlers use it."""
INDEX_ENDINGS: Final = (".cdxj", ".idx", ".parquet")
"""How the names of a CDXJ file, the index of a cluster and a columnar index end."""
COMPANIONS: Final = (*INDEX_ENDINGS, ".cdx.gz", ".seek", ".fts")
"""How the names of files that are made for archives end, and are kept beside them."""
LIST: Final = ".json"
WACZ: Final = ".wacz"
IS_UNFINISHED: Final = f"unfinished ({UNFINISHED})"
IS_BESIDE: Final = "in a WACZ and beside it"
IS_OTHER: Final = "not an archive"
REASONS: Final = (IS_UNFINISHED, IS_BESIDE, IS_OTHER)
_ARCHIVE: Final = r"(?i)\.((mega)?warc(\.(gz|zstd?))?|arc(\.gz)?|wacz)$"
_WILD: Final = "*?["
_DEEP = re.compile(
    r"(?:^|[/\\])(?P<any>\*\*)(?:[/\\]+|$)" if os.sep == "\\" else r"(?:^|/)(?P<any>\*\*)(?:/+|$)"
)


class Expanded:
    """What folders and patterns stood for.

    Attributes:
        files: The files that they and the other names meant.
        passed_over: Files in the folders that are not among them, each with the reason.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.passed_over: dict[str, str] = {}

    def __str__(self) -> str:
        """Return how many there are of each, such as "52 files; 2 others not read: 2 not an archive"."""
        reasons = Counter(self.passed_over.values())
        each = ", ".join(f"{reasons[it]} {it}" for it in REASONS if reasons[it])
        others = counted(reasons.total(), "other")
        return f"{counted(len(self.files), 'file')}; {others} not read: {each}"


_noted: ContextVar[Expanded | None] = ContextVar("_noted", default=None)


@contextmanager
def noting() -> Iterator[Expanded]:
    """Keep what all calls of `expand` within the block find and pass over, in whatever function they are."""
    expanded = Expanded()
    token = _noted.set(expanded)
    try:
        yield expanded
    finally:
        _noted.reset(token)


def _pass_over(name: str, why: str) -> None:
    if (expanded := _noted.get()) is not None:
        expanded.passed_over[name] = why


def expand(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | T],
    *,
    leave_out: str | None = None,
    repeat: bool = False,
) -> Iterator[str | T]:
    """Yield the given files, those in the given folders, and those that match the given patterns.

    In a folder and its subfolders, archives are recognized by name: .warc, .warc.gz, .warc.zst, .arc,
    .arc.gz, .wacz. Hidden files, pipes and sockets are skipped. In a pattern (`crawls/*.warc.zst`), `**`
    means folders at any depth; a file that has this very name is taken instead. In an object store, a URL
    that ends with a slash is a folder. A WACZ means the WARC files in it:
    `crawl.wacz!/archive/data.warc.gz`. Crawlers leave these in the folder `archive` beside the WACZ, too:
    one that is there, with the same size, comes once. A WACZ that has others as members means the WARC
    files in these, and so does a list of WACZ files in JSON that is named (`resources`, each with a `path`
    in the folder of the list), as replayweb.page takes them.

    A folder in a folder that cannot be listed is yielded itself, as a file that cannot be opened.

    A file that is still being written (`crawl.warc.gz.open`) is skipped with a `FormatWarning`, unless it is
    named, or matches a pattern that ends with `.open`.

    Each file comes once unless `repeat`, those of a folder or pattern in path order. A plain name need not
    exist; what is not a name is yielded as it is.
    """
    return (name for name, _ in placed(targets, leave_out=leave_out, repeat=repeat))


def placed(
    targets: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | T],
    *,
    leave_out: str | None = None,
    repeat: bool = False,
) -> Iterator[tuple[str | T, str | None]]:
    """Yield what `expand` does, each with its path below the folder that was named; None for a named file.

    The folder of a pattern is the last one before its first wildcard. The files in `sub/crawl.wacz` are in
    `sub/crawl`, and those of a named WACZ are below its `archive`. Slashes separate the parts of a path;
    those of a URL may be anything.
    """
    seen: set[str] = set()
    expanded = _noted.get()
    for target in [targets] if isinstance(targets, str | os.PathLike) else targets:
        if not isinstance(target, str | os.PathLike):
            yield target, None
            continue
        folder, files = _files(os.fspath(target), leave_out)
        for file, place in _members(folder, files):
            key = file if "://" in file or file == "-" else os.path.abspath(file)
            if repeat or key not in seen:
                seen.add(key)
                if expanded is not None:
                    expanded.files.add(file)
                yield file, place


def each_of(names: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the names that are given, as they are; a single one need not be in a list."""
    return [os.fspath(it) for it in ([names] if isinstance(names, str | os.PathLike) else names)]


def index_ending(target: object) -> str | None:
    """Return how the name of an index ends, of `.cdxj`, `.idx` and `.parquet`; None if it is not one's name.

    The query of a URL does not count.
    """
    if not isinstance(target, str | os.PathLike):
        return None
    name = os.fspath(target)
    path = re.split("[?#]", name, maxsplit=1)[0] if "://" in name else name
    return next((it for it in INDEX_ENDINGS if path.lower().endswith(it)), None)


def _members(folder: str | None, files: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield files of a folder and their places, and instead of each WACZ its WARC files.

    A WACZ that cannot be opened is yielded itself.
    """
    known: set[str] | None = None
    for file in files:
        place = _place(file, folder) if folder is not None else None
        if not file.lower().partition("?")[0].endswith((WACZ, LIST)) or os.path.isdir(file):
            yield file, place
            continue
        from seekwarc.storage.packages import warc_files_in
        from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR

        # Code that opens the names meanwhile shares the directory, which costs requests to read.
        is_empty = True
        try:
            for wacz, info in warc_files_in(file):
                is_empty = False
                name = wacz + SEPARATOR + info.filename
                beside = os.path.join(os.path.dirname(wacz), info.filename)
                if known is None:
                    known = set(files)
                if beside in known and os.path.isfile(beside) and os.path.getsize(beside) == info.file_size:
                    _pass_over(name, IS_BESIDE)
                    continue
                inner = info.filename.removeprefix(ARCHIVE)
                if wacz != file:
                    inner = f"{posixpath.basename(wacz)[: -len(WACZ)]}/{inner}"
                yield name, inner if place is None else f"{place[: -len(WACZ)]}/{inner}"
        except SeekWarcError:
            if not is_empty or not file.lower().endswith(WACZ):
                raise
        if is_empty:
            yield file, place


def _place(file: str, folder: str) -> str:
    """Return the path of a file below a folder in which it was found; never one that leads out of it."""
    path = file.removeprefix(folder)
    if "://" in file:
        from urllib.parse import unquote

        return unquote(path)
    place = posixpath.normpath(path.replace(os.sep, "/"))
    return place if not place.startswith(("/", "../")) else posixpath.basename(place)


def _files(name: str, leave_out: str | None) -> tuple[str | None, list[str]]:
    """Return the files that a name means, and the folder that they were found in, if it is not a file."""
    if not name:
        from seekwarc.storage.opening import refuse_empty

        refuse_empty(name)
    if "://" in name:
        return (_literal_folder(name), _objects(name)) if _is_listed(name) else (None, [name])
    if os.path.isdir(name):
        return os.path.join(name, ""), _checked(_archives_below(name, leave_out), name)
    if not _is_pattern(name) or os.path.exists(name) or _is_member(name):
        return None, [name]
    folder = _literal_folder(name)
    found = _outside(leave_out, sorted({*_matching(name)}), folder)
    if not name.endswith(UNFINISHED):
        found = _finished(found)
    if not found:
        raise SourceNotFoundError("no file matches this pattern", source=name)
    files = [file for it in found for file in (_archives_below(it, leave_out) if os.path.isdir(it) else [it])]
    return folder, files


def _matching(pattern: str) -> Iterator[str]:
    """Yield what matches a pattern, in which `**` means folders at any depth."""
    from glob import escape, glob

    deep = _DEEP.search(pattern)
    if deep is None:
        yield from glob(pattern)
        return
    # Not `recursive=True`, which follows links that lead up until the names are too long.
    begin, rest = pattern[: deep.start("any")], pattern[deep.end() :]
    for root in glob(begin) if _is_pattern(begin) else [begin]:
        for folder in _folders(root) if os.path.isdir(root or os.curdir) else ():
            if not rest and folder:
                yield folder
            found = _matching(os.path.join(escape(folder), rest or "*"))
            yield from (it for it in found if not (os.path.islink(it) and _leads_up(it)))


def _leads_up(link: str) -> bool:
    """Tell whether a link leads to a folder that it is in."""
    folder = os.path.join(os.path.realpath(os.path.dirname(link)), "")
    return folder.startswith(os.path.join(os.path.realpath(link), ""))


def _folders(root: str) -> Iterator[str]:
    """Yield a folder and those below it that are not hidden, each once, whatever links lead to it."""
    # The folders that it is in count as entered.
    seen, above = set[str](), os.path.realpath(root or os.curdir)
    while (parent := os.path.dirname(above)) != above:
        above = parent
        seen.add(above)
    folders, links = [root], list[str]()
    while folders or links:
        folder = (folders or links).pop()
        path = os.path.realpath(folder or os.curdir)
        if path in seen:
            continue
        seen.add(path)
        yield folder
        with suppress(OSError):
            for name in sorted(os.listdir(path)):
                below = os.path.join(folder, name)
                if not name.startswith(".") and os.path.isdir(below):
                    (links if os.path.islink(below) else folders).append(below)


def _outside(leave_out: str | None, found: list[str], folder: str) -> list[str]:
    """Return what a pattern matched in a folder, without what is in the one to leave out, unless all is."""
    if leave_out is None:
        return found
    inside = os.path.join(os.path.realpath(leave_out), "")
    if os.path.join(os.path.realpath(folder), "").startswith(inside):
        return found
    return [it for it in found if not os.path.join(os.path.realpath(it), "").startswith(inside)]


def _is_member(name: str) -> bool:
    from seekwarc.storage.zip_members import split_name

    return split_name(name) is not None


def _literal_folder(name: str) -> str:
    """Return the folder that all matches of a pattern are in, with a slash at its end, or nothing."""
    literal = name[: min(name.index(it) for it in _WILD if it in name)] if _is_pattern(name) else name
    separators = "/" if "://" in name else os.sep + (os.altsep or "")
    return literal[: max(literal.rfind(it) for it in separators) + 1]


def _archives_below(folder: str, leave_out: str | None) -> list[str]:
    """Return the archives in a folder, and then each folder in it that cannot be listed, as `expand` does."""
    unlisted: list[str] = []
    found = _finished(walk(folder, leave_out, lambda error: unlisted.append(error.filename)))
    return [path for path in found if _is_taken(path) and not _is_stream(path)] + unlisted


def _is_stream(path: str) -> bool:
    """Tell whether a path leads to a pipe, a socket or a device; opening one of those can wait for ever."""
    if os.path.isfile(path) or not os.path.exists(path):
        return False
    _pass_over(path, IS_OTHER)
    return True


def _is_taken(path: str) -> bool:
    """Tell whether a file in a folder is one of its archives; the others are passed over."""
    name = path.rpartition("/")[2] if "://" in path else os.path.basename(path)
    if _is_archive(name):
        return True
    if not name.startswith(".") and not name.lower().endswith(COMPANIONS):
        _pass_over(path, IS_OTHER)
    return False


def _finished(paths: Iterable[str]) -> list[str]:
    """Return the paths without those of archives that are still being written, and warn of these."""
    found: list[str] = []
    unfinished: list[str] = []
    for path in paths:
        is_open = path.endswith(UNFINISHED) and _is_archive(os.path.basename(path).removesuffix(UNFINISHED))
        (unfinished if is_open else found).append(path)
    for path in unfinished:
        _pass_over(path, IS_UNFINISHED)
    if unfinished:
        more = f" and {len(unfinished) - 1} more" if len(unfinished) > 1 else ""
        warnings.warn(
            f"{unfinished[0]}{more}: passed over, still being written or left by a crash; "
            "to read such a file, name it",
            FormatWarning,
            stacklevel=2,
        )
    return found


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
        raise SourceError("no .warc, .warc.gz, .warc.zst or .wacz is in this folder", source=folder)
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

    folder = _literal_folder(url)
    store, key = open_store(folder)
    import obstore

    try:
        paths = [it["path"] for batch in obstore.list(store, key) for it in batch]
    except Exception as error:  # noqa: BLE001 - each store has errors of its own, whose texts may hold secrets
        raise SourceError(f"cannot be listed: {type(error).__name__}", source=shown_url(folder)) from None
    root = folder.removesuffix(key)
    if not _is_pattern(url):
        urls = _finished(root + it for it in sorted(paths))
        return _checked([it for it in urls if _is_taken(it)], shown_url(url))
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
