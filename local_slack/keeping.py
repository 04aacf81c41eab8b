"""A workspace kept in one SQLite file over a restart, for who asks for it.

Kept are people and their groups, channels, messages, files, sessions, prompts, Home tabs, the app's tokens and whether
it is installed.
Not kept is what a restart of a client ends too (ephemerals, modals, status lines), and what waits in the process:
deliveries, trigger ids, response_urls and scheduled messages. A stream that was running has ended as of age.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from local_slack import streams
from local_slack.agent_status import set_session
from local_slack.changes import Change
from local_slack.workspace import Channel, Json, Stream, User, Usergroup, Workspace

VERSION = 1
WRITE_EVERY_SECONDS = 0.2
"""So much is lost at most when the process is killed."""

_TABLES = """
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    channel TEXT, ts TEXT, body TEXT NOT NULL, stream TEXT, PRIMARY KEY (channel, ts)
);
CREATE TABLE IF NOT EXISTS uploads (file TEXT PRIMARY KEY, content BLOB NOT NULL);
"""
_BY_NAME = ("homes", "files", "emoji")
_BY_THREAD = ("sessions", "prompts", "last_read", "made_of")
TOKENS = ("bot_token", "app_token", "signing_secret", "secret")


@asynccontextmanager
async def kept(workspace: Workspace, path: Path) -> AsyncIterator[None]:
    """Take up what the file holds, and write every change into it until the block ends.

    Raises ValueError when the file holds something else.
    """
    try:
        database = await asyncio.to_thread(_open, path)
    except sqlite3.DatabaseError as fault:
        raise ValueError(f"{path} cannot be used: {fault}") from fault
    try:
        keeper = _Keeper(workspace, database)
        keeper.load()
        unsubscribe = workspace.subscribe(keeper.heard)
        writing = asyncio.create_task(keeper.run())
        try:
            yield
        finally:
            unsubscribe()
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            await keeper.write()
    finally:
        database.close()


def kept_tokens(path: Path) -> dict[str, str]:
    """The tokens and secrets of the workspace in this file; none when there is no such file yet."""
    if not path.exists():
        return {}
    try:
        database = _open(path)
    except sqlite3.DatabaseError as fault:
        raise ValueError(f"{path} cannot be used: {fault}") from fault
    try:
        row = database.execute("SELECT body FROM state WHERE name = 'tokens'").fetchone()
    finally:
        database.close()
    found: dict[str, str] = json.loads(row[0]) if row else {}
    return found


class _Keeper:
    """Knows what has changed since it was last written."""

    def __init__(self, workspace: Workspace, database: sqlite3.Connection) -> None:
        self._workspace = workspace
        self._database = database
        self._messages: set[tuple[str, str]] = set()
        self._uploads: set[str] = set()
        """The files whose content is written."""
        self._woken = asyncio.Event()

    def heard(self, change: Change) -> None:
        """Something changed; what the log says alone is not kept."""
        if change.kind in ("message", "removed"):
            self._messages.add((change.channel, change.ts))
        if change.kind != "log":
            self._woken.set()

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            await asyncio.sleep(WRITE_EVERY_SECONDS)
            await self.write()

    async def write(self) -> None:
        """Write what has changed, in one transaction. The workspace is read here, the file is written in a thread."""
        self._woken.clear()
        changed, self._messages = self._messages, set()
        rows = [self._row(*each) for each in changed]
        new = [(file, content) for file, content in self._workspace.uploads.items() if file not in self._uploads]
        gone = self._uploads - self._workspace.uploads.keys()
        self._uploads = set(self._workspace.uploads)
        state = [(name, json.dumps(body)) for name, body in self._state().items()]
        writing = asyncio.create_task(asyncio.to_thread(_write, self._database, rows, state, new, gone))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing
            raise

    def load(self) -> None:
        """Put everything in its place. An empty file changes nothing."""
        workspace = self._workspace
        state = {name: json.loads(body) for name, body in self._database.execute("SELECT name, body FROM state")}
        if not state:
            return
        workspace.users |= {each["id"]: User(**each) for each in state["users"]}
        workspace.channels = {each["id"]: Channel(**each) for each in state["channels"]}
        workspace.usergroups |= {each["id"]: Usergroup(**each) for each in state.get("usergroups", ())}
        workspace.is_installed = state["is_installed"]
        for name in _BY_NAME:
            getattr(workspace, name).update(state[name])
        for name in _BY_THREAD:
            getattr(workspace, name).update({(one, other): body for one, other, body in state.get(name, ())})
        workspace.uploads |= dict(self._database.execute("SELECT file, content FROM uploads"))
        self._uploads = set(workspace.uploads)
        for channel, ts, body, stream in self._database.execute("SELECT * FROM messages ORDER BY ts"):
            workspace.messages.setdefault(channel, {})[ts] = json.loads(body)
            if stream:
                workspace.streams[channel, ts] = Stream(**json.loads(stream))
        self._go_on()

    def _go_on(self) -> None:
        """End what was running, and wait again for what ends by itself."""
        workspace = self._workspace
        for stream in list(workspace.streams.values()):
            if stream.state == "in_progress":
                self._messages.add((stream.channel, stream.ts))
                streams.finish(workspace, stream, "expired")
        for (channel, thread_ts), session in list(workspace.sessions.items()):
            set_session(workspace, channel, thread_ts, status=session["status"])

    def _row(self, channel: str, ts: str) -> tuple[str, str, str | None, str | None]:
        """A message as it is written; None: it is gone."""
        message = self._workspace.messages.get(channel, {}).get(ts)
        stream = self._workspace.streams.get((channel, ts))
        body = json.dumps(message) if message is not None else None
        return channel, ts, body, json.dumps(asdict(stream)) if stream is not None else None

    def _state(self) -> Json:
        workspace = self._workspace
        state: dict[str, Any] = {name: getattr(workspace, name) for name in _BY_NAME}
        for name in _BY_THREAD:
            state[name] = [[*key, body] for key, body in getattr(workspace, name).items()]
        return state | {
            "users": [asdict(user) for user in workspace.users.values()],
            "usergroups": [asdict(group) for group in workspace.usergroups.values()],
            "channels": [asdict(channel) for channel in workspace.channels.values()],
            "is_installed": workspace.is_installed,
            "tokens": {name: getattr(workspace, name) for name in TOKENS},
        }


def _open(path: Path) -> sqlite3.Connection:
    # One thread at a time uses it, not always the same.
    database = sqlite3.connect(path, check_same_thread=False)
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version != VERSION and (version or tables):
            raise sqlite3.DatabaseError("it is not a workspace of this version")  # noqa: TRY301
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(_TABLES)
        database.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def _write(
    database: sqlite3.Connection,
    rows: Iterable[tuple[str, str, str | None, str | None]],
    state: Iterable[tuple[str, str]],
    new: Iterable[tuple[str, bytes]],
    gone: Iterable[str],
) -> None:
    with database:
        for channel, ts, body, stream in rows:
            if body is None:
                database.execute("DELETE FROM messages WHERE channel = ? AND ts = ?", (channel, ts))
            else:
                database.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", (channel, ts, body, stream))
        database.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", state)
        database.executemany("INSERT OR REPLACE INTO uploads VALUES (?, ?)", new)
        database.executemany("DELETE FROM uploads WHERE file = ?", [(file,) for file in gone])
