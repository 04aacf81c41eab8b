"""Copies files to the other side of a conversation: they are fetched from Slack, uploaded as the app's own, and
shared there.

share      one message with the copies of a post's files; or the text to post if there are no copies
give_up    note that none of a post's copies is shared
known      the copies that identify the message of a post
withdraw   delete copies

The content of files is never stored: after a crash it is fetched again. The ids of the copies are stored before they
are shared. So the message is looked for by these ids and not made twice.

A file can also be the app's own. Then it is not fetched but written, with its content at that time."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from bot.alerts import Alerts
from bot.clock import Clock
from bot.failpoints import failpoint
from bot.slack.api.errors import DEAD_TOKEN, SlackRefused, SlackUnanswered
from bot.slack.api.files import NotPassedOn, Refusal, SlackFiles
from bot.slack.api.transport import Ready
from bot.store import files, outbox
from bot.store.database import Database, Transaction
from bot.store.files import FileCopy
from bot.store.outbox import OutboxRow, Outgoing

logger = logging.getLogger(__name__)

MEGABYTES = 25
"""The size limit, in megabytes, of a file that is passed on."""
FILES_TIMEOUT = 60.0
"""How long a message waits for files that Slack does not hand over or take. After that its text goes without them."""
NAME_LIMIT = 250
OWN = "own"
"""The id, among a post's files, of the file that the app writes itself."""

_REFUSALS: Mapping[str, Refusal] = {
    "file_deleted": "gone",
    "file_not_found": "gone",
    "file_too_large": "too_large",
}


class Notes(Protocol):
    """Knows what posts with files are about."""

    async def content(self, tx: Transaction, row: OutboxRow) -> bytes:
        """The content of the row's own file. Empty if there should be none."""
        ...

    async def not_passed_on(
        self, tx: Transaction, row: OutboxRow, refused: Mapping[str, Refusal]
    ) -> Sequence[Outgoing]:
        """What is posted about files that are not passed on, in the transaction that notes them. `refused` are such
        files of the row's payload, by id.
        """
        ...


class FileCopies:
    """Copies the files of the outbox's posts. `places` limits how many are held in memory at a time."""

    def __init__(
        self,
        database: Database,
        slack_files: SlackFiles,
        clock: Clock,
        notes: Notes,
        *,
        places: asyncio.Semaphore,
        megabytes: int = MEGABYTES,
    ) -> None:
        self._database = database
        self._slack_files = slack_files
        self._clock = clock
        self._notes = notes
        self._places = places
        self._limit = megabytes * 1_000_000
        self._alerts = Alerts(now=clock.monotonic)

    async def share(self, row: OutboxRow, *, thread_ts: str | None, ready: Ready) -> str:
        """Share copies of the row's files under its text. Returns "" if that is done, else the text to post without
        them.

        Raises SlackRefused and SlackUnanswered as a post does.
        """
        copies = await self._copies(row)
        by_source = {each.source: each for each in copies}
        in_order = (by_source.get(source) for source in _sources(row))
        made = [{"id": each.copy} for each in in_order if each and each.copy]
        text = _text(row, is_whole=len(made) == len(copies))
        if not made:
            return text
        if not any(each.shared for each in copies):
            await self._slack_files.share(row.channel, made, text=text, thread_ts=thread_ts, ready=ready)
            failpoint("files_shared")
            async with self._database.transaction() as tx:
                await files.note_shared(tx, row.key)
        return ""

    async def give_up(self, row: OutboxRow, error: SlackRefused) -> str:
        """Note that Slack shares none of the row's copies. Returns the text to post without them."""
        refusal = self._refusal(row, error)
        async with self._database.transaction() as tx:
            copies = await files.of_post(tx, row.key)
            await files.note_refused(tx, row.key, refusal)
            refused = {each.source: refusal for each in copies if each.copy}
            await outbox.add(tx, *await self._notes.not_passed_on(tx, row, refused), now=self._clock.now())
        return _text(row, is_whole=False)

    async def known(self, post: str) -> frozenset[str]:
        """The ids of the copies in the message of a post."""
        async with self._database.transaction() as tx:
            return frozenset(each.copy for each in await files.of_post(tx, post) if each.copy)

    async def withdraw(self, post: str, sources: Collection[str]) -> None:
        """Delete the copies of these files, or all copies if `sources` is empty. It is no error if they are already
        gone.
        """
        async with self._database.transaction() as tx:
            noted = await files.of_post(tx, post)
        gone = [each for each in noted if each.copy and (not sources or each.source in sources)]
        for each in gone:
            await self._slack_files.delete(each.copy)
        async with self._database.transaction() as tx:
            await files.forget(tx, post, [each.source for each in gone])

    async def _copies(self, row: OutboxRow) -> list[FileCopy]:
        """The copies of the row's files: as stored, or else made now."""
        async with self._database.transaction() as tx:
            noted = await files.of_post(tx, row.key)
        if noted:
            return noted
        copies = [await self._copy(row, source) for source in _sources(row)]
        failpoint("files_sent")
        async with self._database.transaction() as tx:
            noted = await files.note(tx, row.key, copies)
            refused: dict[str, Refusal] = {each.source: each.refusal for each in noted if each.refusal}  # type: ignore[misc]
            if refused:
                await outbox.add(tx, *await self._notes.not_passed_on(tx, row, refused), now=self._clock.now())
        failpoint("files_noted")
        return noted

    async def _copy(self, row: OutboxRow, source: str) -> FileCopy:
        try:
            async with self._places:
                return FileCopy(source, await (self._write(row) if source == OWN else self._carry(source)))
        except NotPassedOn as no:
            refusal = no.refusal
        except SlackRefused as error:
            if error.error in DEAD_TOKEN:
                raise
            refusal = self._refusal(row, error)
        except SlackUnanswered as failure:
            if self._clock.now() - row.created_at < FILES_TIMEOUT:
                raise
            refusal = "unanswered"
            logger.warning("Slack does not carry a file", extra={"key": row.key, "reason": str(failure)})
        logger.warning("a file is not passed on", extra={"key": row.key, "file": source, "refusal": refusal})
        return FileCopy(source, refusal=refusal)

    def _refusal(self, row: OutboxRow, error: SlackRefused) -> Refusal:
        if error.error == "missing_scope":
            self._alerts.tell(logger, "files are not passed on", about=error.method, slack=str(error), key=row.key)
            return "no_read" if error.method == "files.info" else "no_write"
        return _REFUSALS.get(error.error, "refused")

    async def _carry(self, source: str) -> str:
        """Fetch a file and upload it to Slack again. Returns the id of the copy."""
        file = await self._slack_files.find(source)
        if file.mode == "tombstone":
            raise NotPassedOn("gone")
        if file.is_external or not file.url:
            raise NotPassedOn("outside")
        if file.size > self._limit:
            raise NotPassedOn("too_large")
        return await self._upload(file.name, await self._slack_files.fetch(file, limit=self._limit))

    async def _write(self, row: OutboxRow) -> str:
        """Upload the row's own file to Slack. Returns its id."""
        async with self._database.transaction() as tx:
            content = await self._notes.content(tx, row)
        if len(content) > self._limit:
            raise NotPassedOn("too_large")
        return await self._upload(next(file["name"] for file in row.payload["files"] if file["id"] == OWN), content)

    async def _upload(self, name: str, content: bytes) -> str:
        if not content:
            raise NotPassedOn("empty")
        name = " ".join(name.split())[:NAME_LIMIT] or "file"
        return await self._slack_files.upload(name, content)


def _sources(row: OutboxRow) -> list[str]:
    """The ids of the files that belong to the row."""
    return list(dict.fromkeys(each["id"] for each in row.payload["files"]))


def _text(row: OutboxRow, *, is_whole: bool) -> str:
    """What the row says. If files are missing, it says so."""
    text = str(row.payload["text"])
    missing = row.payload.get("if_missing", "")
    return text if is_whole or not missing else f"{text}\n{missing}"
