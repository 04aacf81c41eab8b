"""What became of the files of a message that is relayed.

A row is noted when its file is with Slack a second time and before that copy is shared: the message that shares it
bears no mark of ours, and is known again by the copies in it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from bot.store import schema
from bot.store.statements import insert_new


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file of a post."""

    source: str
    """Slack's id of the file that somebody shared."""
    copy: str = ""
    """The id of the app's own copy; empty when there is none, and then `refusal` says why, in one stable word."""
    refusal: str = ""
    shared: bool = False
    """True: Slack has said that the message with the copy is there, or will be."""


async def of_post(tx: AsyncConnection, post: str) -> list[FileCopy]:
    """What is noted for the post with this key."""
    table = schema.file_copy
    rows = await tx.execute(select(table).where(table.c.post == post).order_by(table.c.source))
    return [FileCopy(row.source, row.copy, row.refusal, row.shared) for row in rows]


async def note(tx: AsyncConnection, post: str, copies: Sequence[FileCopy]) -> list[FileCopy]:
    """Note what became of a post's files; what counts is what was noted first."""
    for each in sorted(copies, key=lambda copy: copy.source):
        values = {"post": post, "source": each.source, "copy": each.copy, "refusal": each.refusal}
        await insert_new(tx, schema.file_copy, values)
    return await of_post(tx, post)


async def note_shared(tx: AsyncConnection, post: str) -> None:
    """Say that Slack shares the post's copies."""
    table = schema.file_copy
    await tx.execute(update(table).where(table.c.post == post, table.c.copy != "").values(shared=True))


async def note_refused(tx: AsyncConnection, post: str, refusal: str) -> None:
    """Say that Slack shares none of the post's copies."""
    table = schema.file_copy
    await tx.execute(update(table).where(table.c.post == post, table.c.copy != "").values(copy="", refusal=refusal))


async def forget(tx: AsyncConnection, post: str, sources: Collection[str]) -> None:
    """Drop what is noted of files whose copies are gone."""
    table = schema.file_copy
    await tx.execute(delete(table).where(table.c.post == post, table.c.source.in_(sources)))
