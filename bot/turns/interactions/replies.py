"""What only the person who pressed sees, and how the values of a button and a dialog are read."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, get_args

from bot.cases.buttons import BUTTONS
from bot.slack.api.chat import Chat
from bot.store.inbox import Arrival, InboxItem

Step = Callable[[InboxItem, str], Awaitable[object]]
"""Carries out an interaction, given the button's value. It can return how that ended, in one stable word."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers the person who pressed."""

    chat: Chat

    async def tell(self, item: InboxItem, words: str) -> None:
        """Show an ephemeral message where the button is."""
        await self.chat.post_ephemeral(item.thread.channel, item.author, text=words, thread_ts=interaction_thread(item))

    async def replace(self, item: InboxItem, words: str) -> None:
        """Show the words in place of the ephemeral message that has the button."""
        await self.chat.respond(item.interaction.response_url, text=words, replace=True)


def interaction_thread(pressed: Arrival | InboxItem) -> str | None:
    """Return the thread of the button. None if it is in the channel itself, such as on a card."""
    # The thread of an interaction with its own lane is only that lane. It is not a thread in the channel.
    has_own_lane = BUTTONS[pressed.interaction.action].lane == "own"
    is_root = has_own_lane or pressed.interaction.message_ts == pressed.thread.ts
    return None if is_root else pressed.thread.ts


def field(item: InboxItem, name: str) -> str:
    """Return what was filled in or chosen in the field. Empty if nothing was."""
    return str(item.interaction.fields.get(name) or "")


def chosen_of(item: InboxItem, name: str) -> list[str]:
    """Return what was chosen in a field that takes several. Empty if nothing was."""
    chosen = item.interaction.fields.get(name)
    return chosen if isinstance(chosen, list) else []


def one_of(closed: Any, value: object) -> Any:
    """Return the chosen value if it is one of the values of a Literal, else None."""
    return value if value in get_args(closed) else None


def number(text: str) -> int:
    """Return the number of a row. For anything else return 0, which no row has."""
    return int(text) if is_number(text) else 0


def is_number(text: str) -> bool:
    """Whether the text from a button's value can be the number of a row."""
    return text.isascii() and text.isdigit() and len(text) <= 12
