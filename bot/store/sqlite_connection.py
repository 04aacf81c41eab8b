"""A connection to SQLite, on a thread of its own, with one visit to that thread for each statement.

aiosqlite's cursor visits the thread four times for a statement: to make the cursor, to execute, to read the rows, and
to close. Each visit wakes two threads, which costs more than most statements. Here a statement, its rows, and the
beginning of its transaction are one visit.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, Self

import aiosqlite

Rows = list[Any]
READ_AT_ONCE = 64
"""Rows that aiosqlite's own cursors read at once. No statement of ours goes through them."""


class Connection(aiosqlite.Connection):
    """One connection. SQLAlchemy's aiosqlite dialect uses it like aiosqlite's own."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], *, begin: str) -> None:
        """`begin` is the statement that begins a transaction. Without one, each statement is a transaction."""
        super().__init__(connect, READ_AT_ONCE)
        self._begin = begin
        self._is_to_begin = False
        # Otherwise the process would not end while a connection is open.
        self._thread.daemon = True

    def begin(self) -> None:
        """Begin a transaction when the next statement is executed, in the same visit."""
        self._is_to_begin = bool(self._begin)

    def cursor(self) -> Any:
        """A cursor, as `async with` and its `execute` make it. It does not visit the thread before that."""
        return Cursor(self)

    async def commit(self) -> None:
        """Commit, unless no transaction has begun."""
        self._is_to_begin = False
        if self.in_transaction:
            await super().commit()

    async def rollback(self) -> None:
        """Roll back, unless no transaction has begun."""
        self._is_to_begin = False
        if self.in_transaction:
            await super().rollback()

    async def visit(self, execute: Callable[[sqlite3.Cursor], object]) -> tuple[sqlite3.Cursor, Rows]:
        """Execute on the thread. Return the closed cursor and its rows."""
        begin, self._is_to_begin = self._is_to_begin, False

        def visit() -> tuple[sqlite3.Cursor, Rows]:
            if begin:
                self._conn.execute(self._begin)
            with closing(self._conn.cursor()) as cursor:
                execute(cursor)
                return cursor, cursor.fetchall() if cursor.description else []

        done: tuple[sqlite3.Cursor, Rows] = await self._execute(visit)  # type: ignore[no-untyped-call]
        return done


class Cursor:
    """What SQLAlchemy needs of a cursor: all rows are read when the statement is executed."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: Rows = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Execute the statement and read its rows."""
        await self._visit(lambda cursor: cursor.execute(statement, parameters))

    async def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute the statement once for each of the rows."""
        await self._visit(lambda cursor: cursor.executemany(statement, rows))

    async def fetchall(self) -> Rows:
        """The rows, once."""
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Forget the rows."""
        self._rows = []

    async def _visit(self, execute: Callable[[sqlite3.Cursor], object]) -> None:
        done, self._rows = await self._connection.visit(execute)
        self.description, self.rowcount, self.lastrowid = done.description, done.rowcount, done.lastrowid
