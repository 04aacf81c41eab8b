"""What staff wrote below a card before somebody had the case: its author was asked about it, and it was held."""

from collections.abc import Mapping

from bot.cases.messages import CaseMessages, payload
from bot.conversation import ThreadRef
from bot.store import inbox, outbox
from bot.store.cases import Case, card_key
from bot.store.database import Transaction
from bot.store.outbox import Outgoing
from bot.views import staff_cards

KEPT = "memo"
"""The reaction on a held message that stays internal."""


async def offered(tx: Transaction, messages: CaseMessages, case: Case) -> list[Outgoing]:
    """Somebody has the case now: the rows that ask them about each message that they wrote before.

    What others wrote before stays internal, and is marked so. Repeating it asks and marks nothing twice.
    """
    card = await outbox.by_key(tx, card_key(case))
    if case.state != "human" or card is None or card.ts is None:
        return []
    desk, rows = messages.desk(case), []
    for author, ts, body in await inbox.held_in(tx, ThreadRef(case.thread.team, desk, card.ts)):
        keys = (copy_key(desk, ts), f"{copy_key(desk, ts)}/kept")
        if [key for key in keys if await outbox.by_key(tx, key) is not None]:
            continue
        row = kept(messages, case, ts)
        if case.speaker(author) is not None:
            asked = staff_cards.held_prompt(case, ts=ts, words=body.words)
            row = aside(messages, case, f"held/{ts}", user=author, said=payload(asked))
        rows.append(row)
    return rows


def kept(messages: CaseMessages, case: Case, ts: str) -> Outgoing:
    """The row that marks a held message as internal."""
    desk = messages.desk(case)
    return Outgoing(f"{copy_key(desk, ts)}/kept", "react", desk, {"ts": ts, "name": KEPT}, case_id=case.id)


async def unmarked(tx: Transaction, messages: CaseMessages, case: Case, ts: str) -> list[Outgoing]:
    """The rows that take that mark away, because the message is sent after all."""
    mark = kept(messages, case, ts)
    if await outbox.by_key(tx, mark.key) is None:
        return []
    return [Outgoing(f"{mark.key}/undone", "unreact", mark.channel, mark.payload, case_id=case.id)]


def copy_key(desk: str, ts: str) -> str:
    """The key of the customer's copy of what staff wrote at `ts`."""
    return f"relay/{desk}/{ts}"


def aside(messages: CaseMessages, case: Case, name: str, *, user: str, said: Mapping[str, object]) -> Outgoing:
    """A message in the thread of the case's card that only one member of staff sees."""
    shown = {**said, "user": user}
    key = f"case/{case.id}/{name}"
    return Outgoing(key, "ephemeral", messages.desk(case), shown, parent=card_key(case), case_id=case.id)
