"""The file of a search index: which pages have which words, and where they were captured. Making one.

It is a database of SQLite. Texts are not in it: what FTS5 keeps (contentless, `detail=none`) is which words
each page has, a few bytes for each; their order would take three times as much. A word that is in the title
of a page, or several times in its text, is in the index once more, with a mark before it.

A text that was captured many times is one page with many captures. The captures of a revisit record are
those of the page that has its digest, in whatever file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.closing import Closing
from seekwarc.compiling import override
from seekwarc.errors import TargetError, UnsupportedError
from seekwarc.format.uri import host_of
from seekwarc.inside.query import IN_TITLE, OFTEN
from seekwarc.inside.words import words_of

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "APPLICATION_ID",
    "KINDS",
    "SCHEMA",
    "VERSION",
    "Builder",
    "Captured",
    "Page",
    "connected",
    "digest_key",
    "host_key",
    "text_key",
]

APPLICATION_ID: Final = 0x73777466
"""In the head of the file: "swtf"."""
VERSION: Final = 2
SCHEMA: Final = (
    "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, version TEXT)",
    "CREATE TABLE page (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, title TEXT)",
    "CREATE TABLE mime (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE host (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    (
        "CREATE TABLE capture (page INTEGER, file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER, "
        "date INTEGER, kind INTEGER NOT NULL, mime INTEGER, host INTEGER NOT NULL, digest INTEGER, "
        "uri TEXT NOT NULL)"
    ),
    "CREATE TABLE dead (page INTEGER PRIMARY KEY)",
    "CREATE INDEX page_hash ON page (hash)",
    "CREATE INDEX capture_page ON capture (page, date, host)",
    "CREATE INDEX capture_host ON capture (host, page)",
    "CREATE INDEX capture_file ON capture (file)",
    "CREATE INDEX capture_digest ON capture (digest)",
    (
        "CREATE VIRTUAL TABLE words USING fts5(word, content='', columnsize=0, detail=none, "
        f"tokenize=\"ascii tokenchars '{IN_TITLE}{OFTEN}'\")"
    ),
)
NAMED: Final = {
    "mime": ("INSERT OR IGNORE INTO mime (name) VALUES (?)", "SELECT id FROM mime WHERE name = ?"),
    "host": ("INSERT OR IGNORE INTO host (key) VALUES (?)", "SELECT id FROM host WHERE key = ?"),
}
KINDS: Final = ("response", "resource", "conversion", "revisit")
"""Types of records, each stored as its number."""
REVISIT: Final = KINDS.index("revisit")
FINISHING: Final = (
    (
        "UPDATE capture SET page = (SELECT it.page FROM capture AS it WHERE it.digest = capture.digest AND "  # noqa: S608
        f"it.kind != {REVISIT} LIMIT 1) WHERE kind = {REVISIT}"
    ),
    # FTS5 cannot remove a page without its text.
    "DELETE FROM dead",
    (
        "INSERT INTO dead SELECT id FROM page WHERE id NOT IN "
        "(SELECT page FROM capture WHERE page IS NOT NULL)"
    ),
)
MIN_OFTEN: Final = 3
"""How many times a word that is marked is on the page."""
MAX_TITLE: Final = 200
"""Characters of a title that are kept."""
OPTIMIZED: Final = 10
"""The index is put in order if one in so many pages is new: it takes as long as writing all of it."""
CACHE: Final = 64 << 10
"""KiB of the file that are held in memory while it is made."""
BITS: Final = 64


class Page(NamedTuple):
    """A text, as the index has it."""

    key: int
    """Tells texts apart; see `text_key`."""
    title: str | None
    words: str

    @classmethod
    def of(cls, text: str, title: str | None) -> Page:
        """Prepare a text for the index."""
        counts = Counter(words_of(text))
        titled = set(words_of(title or ""))
        often = [OFTEN + word for word, count in counts.items() if count >= MIN_OFTEN]
        words = [*counts, *(titled - counts.keys()), *often, *(IN_TITLE + word for word in titled)]
        return cls(text_key(text, title), title[:MAX_TITLE] if title else None, " ".join(words))


class Captured(NamedTuple):
    """A record that has a text, or is a revisit of one that has."""

    offset: int
    length: int | None
    date: int | None
    """Seconds since 1970."""
    kind: str
    """One of `KINDS`."""
    mime: str | None
    digest: int | None
    """Tells payloads apart; see `digest_key`."""
    uri: str


class Builder(Closing):
    """Makes the file of an index, or adds to one, which nothing else may open meanwhile.

    Args:
        path: The file: an empty one, or an index.
        name: What errors call it; None for its path.
    """

    def __init__(self, path: str, *, name: str | None = None) -> None:
        self._name = name or path
        self._new = 0
        self._ids: dict[tuple[str, str], int] = {}
        with self._writing():
            self._database = connected(path)
            # An unfinished file is thrown away whatever happens to it.
            for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
                self._database.execute(f"PRAGMA {pragma}")
            self._database.execute(f"PRAGMA cache_size = -{CACHE}")
            if not self._database.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in SCHEMA:
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._database.execute(f"PRAGMA user_version = {VERSION}")
            self._database.execute("BEGIN")

    @override
    def close(self) -> None:
        """Close the file, which is of no use unless `finish` was called. Idempotent."""
        self._database.close()

    def version_of(self, path: str) -> str | None:
        """Return which version of a file is in the index; None if it is not, or unknown."""
        with self._writing():
            row = self._database.execute("SELECT version FROM file WHERE path = ?", (path,)).fetchone()
        return row[0] if row is not None and isinstance(row[0], str) else None

    def begin_file(self, path: str, version: str | None) -> int:
        """Make room for the captures of a file, and remove what the index has of an earlier version."""
        with self._writing():
            found = self._number("SELECT id FROM file WHERE path = ?", path)
            if found is None:
                cursor = self._database.execute(
                    "INSERT INTO file (path, version) VALUES (?, ?)", (path, version)
                )
                return cursor.lastrowid or 0
            self._database.execute("DELETE FROM capture WHERE file = ?", (found,))
            self._database.execute("UPDATE file SET version = ? WHERE id = ?", (version, found))
            return found

    def add(self, file: int, captured: Captured, page: Page | int | None) -> None:
        """Add a capture, with its page, or the key of one that was added before; None for a revisit."""
        with self._writing():
            number = self._page(page) if page is not None else None
            mime = self._id("mime", captured.mime) if captured.mime is not None else None
            host = self._id("host", host_key(host_of(captured.uri)))
            offset, length, date, kind, _, digest, uri = captured
            values = (number, file, offset, length, date, KINDS.index(kind), mime, host, digest, uri)
            self._database.execute("INSERT INTO capture VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def finish(self, path: str) -> tuple[int, int]:
        """Write the finished index to a new file; return the numbers of its pages and of their captures."""
        with self._writing():
            for statement in FINISHING:
                self._database.execute(statement)
            self._database.execute("COMMIT")
            counting = "SELECT count(DISTINCT page), count(page) FROM capture"
            pages, captures = self._database.execute(counting).fetchone()
            if self._new * OPTIMIZED >= pages:
                self._database.execute("INSERT INTO words (words) VALUES ('optimize')")
            self._database.execute("VACUUM INTO ?", (path,))
            self.close()
        return pages, captures

    def _page(self, page: Page | int) -> int:
        key = page if isinstance(page, int) else page.key
        found = self._number("SELECT id FROM page WHERE hash = ?", key)
        if found is not None:
            return found
        assert isinstance(page, Page)
        cursor = self._database.execute("INSERT INTO page (hash, title) VALUES (?, ?)", (key, page.title))
        number = cursor.lastrowid or 0
        self._database.execute("INSERT INTO words (rowid, word) VALUES (?, ?)", (number, page.words))
        self._new += 1
        return number

    def _id(self, table: str, text: str) -> int:
        """Return the number of a media type or a host."""
        known = self._ids.get((table, text))
        if known is None:
            add, find = NAMED[table]
            self._database.execute(add, (text,))
            known = self._ids[table, text] = self._number(find, text) or 0
        return known

    def _number(self, statement: str, *values: object) -> int | None:
        row = self._database.execute(statement, values).fetchone()
        return row[0] if row is not None and isinstance(row[0], int) else None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        import sqlite3

        try:
            yield
        except sqlite3.DatabaseError as error:
            if "no such module" in str(error):
                raise UnsupportedError("SQLite was built without FTS5, which search indexes need") from error
            raise TargetError(f"the index cannot be written: {error}", source=self._name) from error


def connected(path: str, *, uri: bool = False) -> sqlite3.Connection:
    """Open a database without transactions of its own."""
    import sqlite3

    return sqlite3.connect(path, check_same_thread=False, isolation_level=None, uri=uri)


def text_key(text: str, title: str | None) -> int:
    """Return a number that distinguishes texts: 64 bits of a hash, as SQLite stores them."""
    return _hashed(f"{title or ''}\0{text}")


def digest_key(digest: str) -> int:
    """Return a number that distinguishes digests, as header fields state them."""
    return _hashed(digest.lower())


def host_key(host: str) -> str:
    """Return a host so that those of a domain follow each other: "org,example," for example.org."""
    return "".join(f"{label}," for label in reversed(host.split(".")))


def _hashed(text: str) -> int:
    data = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=BITS // 8).digest()
    return int.from_bytes(data, "big", signed=True)
