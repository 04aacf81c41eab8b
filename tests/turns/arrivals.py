"""Arrivals for tests."""

from sqlalchemy.ext.asyncio import AsyncConnection

from bot.conversation import ThreadRef
from bot.slack.api.transport import Identity
from bot.store import inbox
from bot.store.bodies import Body, DeleteBody, EditBody, InteractionBody, MessageBody, StopBody
from bot.store.inbox import Arrival, InboxItem, Kind

TEAM = "T0FRONTDESK"
ME = Identity(TEAM, "U0FRONTDESK", "B0FRONTDESK", "https://frontdesk-local.slack.com/", "Frontdesk Local")


def arrival(
    ts: str,
    *,
    text: str = "Where is my order?",
    thread_ts: str | None = None,
    channel: str = "D0CUSTOMERA",
    kind: Kind = "message",
    addressed: bool = True,
    event_id: str | None = None,
    author: str = "U0CUSTOMERA",
) -> Arrival:
    """A message, if nothing else is said of Customer A."""
    return Arrival(
        event_id=event_id or f"Ev{channel}{ts}{kind}",
        kind=kind,
        thread=ThreadRef(TEAM, channel, thread_ts or ts),
        ts=ts,
        author=author,
        author_team=TEAM,
        body=body_of(kind, text),
        addressed=addressed,
    )


def body_of(kind: Kind, text: str) -> Body:
    """The body of an arrival of this kind, with these words if it can hold any."""
    match kind:
        case "message" | "staff":
            return MessageBody(text)
        case "edit":
            return EditBody(text)
        case "delete":
            return DeleteBody()
        case "stop":
            return StopBody()
    return InteractionBody()


async def begin(tx: AsyncConnection, arrived: Arrival) -> InboxItem:
    """Store an arrival and begin to work on its row."""
    row = await inbox.add(tx, arrived, now=1.0)
    assert row is not None
    item = await inbox.start(tx, row)
    assert item is not None
    return item
