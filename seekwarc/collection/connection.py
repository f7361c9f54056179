"""A connection to a database of SQLite that several threads use."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from seekwarc.closing import Closing
from seekwarc.errors import TargetError

__all__ = ["BATCH", "Connection"]

BATCH: Final = 500
"""Entries that are converted, and rows that are fetched, at a time."""


class Connection(Closing):
    """A connection that several threads use, one at a time."""

    def __init__(self, path: str) -> None:
        import sqlite3

        self._error = sqlite3.OperationalError
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self) -> Iterator[Callable[[str, Iterable[Sequence[object]]], object]]:
        """Provide a function that runs a statement for each of some values; undo all if anything fails."""
        with self._writing(), self._connection:
            self._connection.execute("BEGIN")
            yield self._connection.executemany

    def script(self, text: str) -> None:
        """Run statements."""
        with self._writing():
            self._connection.executescript(text)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except self._error as error:
            raise TargetError(
                f"the table of records cannot be kept in a temporary file: {error}; set TMPDIR to a folder "
                "with space"
            ) from error

    def define(self, name: str, function: Callable[[Any], bytes]) -> None:
        """Make a function of one argument known to the statements."""
        self._connection.create_function(name, 1, function, deterministic=True)

    def rows(self, text: str, values: Sequence[object]) -> list[Any]:
        """Return the rows that a statement finds."""
        with self._lock:
            return self._connection.execute(text, values).fetchall()

    def some_rows(self, text: str, values: Sequence[object]) -> Iterator[Any]:
        """Yield rows, of which few are in memory at a time."""
        with self._lock:
            cursor = self._connection.execute(text, values)
        while True:
            with self._lock:
                rows = cursor.fetchmany(BATCH)
            if not rows:
                return
            yield from rows

    def numbers(self, text: str, values: Sequence[object]) -> array[int]:
        """Return the numbers that a statement finds, one in each row."""
        with self._lock:
            return array("I", (number for (number,) in self._connection.execute(text, values)))

    def close(self) -> None:
        """Close it. Idempotent."""
        with self._lock:
            self._connection.close()
