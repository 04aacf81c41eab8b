"""Dead letters: rows that failed too often, and events that could not be stored as they came.

Each such row is closed, so it does not hold up others. A customer who waits for an answer gets a person
(`bot.turns.dead_letters`). The agent channel gets a line with the number under which operators find the row.
"""

from bot.store.inbox import InboxItem, Kind
from bot.store.outbox import Outgoing
from bot.store.persons import REQUEST

_WHAT: dict[Kind, str] = {
    "message": "A customer's message",
    "staff": "A message in this channel",
    "interaction": "A press of a button",
    "stop": "A press of Stop",
    "edit": "An edit of a message",
    "delete": "The deletion of a message",
}


def dead_line(item: InboxItem, *, agent_channel: str) -> Outgoing:
    """Return the post about a dead letter: for a message of staff to its channel, else to the agent channel."""
    what = _WHAT[item.kind]
    why = "could not be stored as it came" if item.body.unstorable else f"failed {item.failures} times"
    text = (
        f"{what} {why} and is set aside as dead letter {item.id}. Nothing else waits for it. "
        f"To look at it: `frontdesk dead list`, `frontdesk turns show {item.id}`."
    )
    if item.kind == "delete":
        text += (
            " *The deleted text is still stored.* "
            f"Once the cause is mended, erase it with `frontdesk dead retry {item.id}`."
        )
    if item.kind == "interaction" and item.interaction.action == REQUEST:
        text += (
            " *A customer wants their data erased, and it is still stored.* "
            f"Once the cause is mended, erase it with `frontdesk dead retry {item.id}`."
        )
    # A dead letter that is retried and fails again is reported again: the fence makes a new key.
    channel = item.thread.channel if item.kind == "staff" else agent_channel
    return Outgoing(f"dead/{item.id}/{item.fence}", "post", channel, {"text": text})
