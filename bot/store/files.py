"""What became of the files of a message that is relayed.

A row is stored when the file's copy is uploaded and before the copy is shared. The message that shares it has no mark
of ours, and is recognised by its copies.
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
    """Slack's id of the file that a person shared."""
    copy: str = ""
    """The id of the app's own copy. Empty if there is none; then `refusal` says why, in one stable word."""
    refusal: str = ""
    shared: bool = False
    """True: Slack has confirmed the message with the copy. It may still take a while to appear."""


async def of_post(tx: AsyncConnection, post: str) -> list[FileCopy]:
    """What is stored for the post with this key."""
    table = schema.file_copy
    rows = await tx.execute(select(table).where(table.c.post == post).order_by(table.c.source))
    return [FileCopy(row.source, row.copy, row.refusal, row.shared) for row in rows]


async def note(tx: AsyncConnection, post: str, copies: Sequence[FileCopy]) -> list[FileCopy]:
    """Store what became of a post's files. The first entry of a file counts. Returns the entries that count."""
    for each in sorted(copies, key=lambda copy: copy.source):
        values = {"post": post, "source": each.source, "copy": each.copy, "refusal": each.refusal}
        await insert_new(tx, schema.file_copy, values)
    return await of_post(tx, post)


async def note_shared(tx: AsyncConnection, post: str) -> None:
    """Note that Slack shares the post's copies."""
    table = schema.file_copy
    await tx.execute(update(table).where(table.c.post == post, table.c.copy != "").values(shared=True))


async def note_refused(tx: AsyncConnection, post: str, refusal: str) -> None:
    """Note that Slack shares none of the post's copies."""
    table = schema.file_copy
    await tx.execute(update(table).where(table.c.post == post, table.c.copy != "").values(copy="", refusal=refusal))


async def forget(tx: AsyncConnection, post: str, sources: Collection[str]) -> None:
    """Delete the entries of files whose copies are deleted."""
    table = schema.file_copy
    await tx.execute(delete(table).where(table.c.post == post, table.c.source.in_(sources)))
