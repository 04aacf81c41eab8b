"""Dead letters: rows that failed too often, and events that could not be stored as they came.

Each is closed, so that it holds up nobody; who waits for an answer gets a person (`bot.turns.turn`), and the agent
channel gets this line, with the number under which operators find it.
"""

from bot.store.inbox import InboxItem, Kind
from bot.store.outbox import Outgoing
from bot.store.persons import REQUEST

UNSTORABLE = "unstorable"
"""In a row's body: the event could not be stored as it came, and what could not is left out."""

_WHAT: dict[Kind, str] = {
    "message": "A customer's message",
    "staff": "A message in this channel",
    "interaction": "A press of a button",
    "stop": "A press of Stop",
    "edit": "An edit of a message",
    "delete": "The deletion of a message",
}


def dead_line(item: InboxItem, *, agent_channel: str) -> Outgoing:
    """What is told of a row that is closed as dead: where staff wrote it, else in the agent channel."""
    what = _WHAT[item.kind]
    why = "could not be stored as it came" if item.body.get(UNSTORABLE) else f"failed {item.failures} times"
    text = (
        f"{what} {why} and is set aside as dead letter {item.id}. Nothing else waits for it. "
        f"To look at it: `frontdesk dead list`, `frontdesk turns show {item.id}`."
    )
    if item.kind == "delete":
        text += (
            " *The deleted text is still stored.* "
            f"Once the cause is mended, erase it with `frontdesk dead retry {item.id}`."
        )
    if item.body.get("action") == REQUEST:
        text += (
            " *A customer wants their data erased, and it is still stored.* "
            f"Once the cause is mended, erase it with `frontdesk dead retry {item.id}`."
        )
    # One that is tried again and fails again is told again.
    channel = item.thread.channel if item.kind == "staff" else agent_channel
    return Outgoing(f"dead/{item.id}/{item.fence}", "post", channel, {"text": text})
