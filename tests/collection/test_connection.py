"""A connection to SQLite that several threads use."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from seekwarc.collection.connection import BATCH, Connection
from seekwarc.errors import TargetError


def test_rows_of_several_threads_are_all_there() -> None:
    with Connection(":memory:") as connection:
        connection.script("CREATE TABLE numbers (n)")

        def add(first: int) -> None:
            with connection.transaction() as run:
                run("INSERT INTO numbers VALUES (?)", [(first + n,) for n in range(BATCH)])

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(0, 4 * BATCH, BATCH)))
        text = "SELECT n FROM numbers WHERE n >= ? ORDER BY n"
        assert list(connection.numbers(text, (0,))) == list(range(4 * BATCH))
        assert [n for (n,) in connection.some_rows(text, (BATCH,))] == list(range(BATCH, 4 * BATCH))


def test_a_transaction_that_fails_leaves_nothing(tmp_path) -> None:
    with Connection(":memory:") as connection:
        connection.script("CREATE TABLE numbers (n)")
        with pytest.raises(KeyError), connection.transaction() as run:
            run("INSERT INTO numbers VALUES (?)", [(1,)])
            raise KeyError
        assert connection.rows("SELECT n FROM numbers", ()) == []
        with pytest.raises(TargetError, match="set TMPDIR"):
            connection.script("INSERT INTO missing VALUES (1)")
