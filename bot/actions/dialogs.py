"""Dialogs of staff about an action that waits for their decision. The submission is an interaction of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bot.actions.deciding import Press
from bot.cases.buttons import BUTTONS
from bot.cases.dialogs import About, why_not_opened
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused
from bot.slack.api.views import Views
from bot.slack.blocks import Block
from bot.store import actions
from bot.store.actions import Action
from bot.store.database import Database
from bot.views import dialogs
from bot.views.action_cards import staff_standing

NO_SUCH_ACTION = "Frontdesk can't find this change. Nothing was done."


class _Builds(Protocol):
    def __call__(self, action: Action, *, about: str) -> Block: ...


DIALOGS: Mapping[str, _Builds] = {"submit.amount": dialogs.amount, "submit.refusal": dialogs.refusal}
"""Dialog id -> the function that builds the dialog about an action."""


@dataclass(frozen=True, slots=True)
class ActionDialogs:
    """Opens the dialogs about actions."""

    chat: Chat
    views: Views
    database: Database

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        """Open the button's dialog, or tell the user why it does not open. `trigger_id` is valid for three seconds."""
        channel = about.thread.channel
        press = Press(about.case, user, about.thread.team, channel, about.ts)
        async with self.database.transaction() as tx:
            found = await actions.find(tx, press.ref)
        told = ""
        if found is None:
            told = NO_SUCH_ACTION
        elif found.state != "approving" or found.version != press.version:
            told = staff_standing(found)
        else:
            try:
                await self.views.open(trigger_id, DIALOGS[BUTTONS[action].dialog](found, about=str(about)))
            except SlackRefused as refusal:
                told = why_not_opened(refusal)
        if told:
            in_thread = about.thread.ts if about.ts != about.thread.ts else None
            await self.chat.post_ephemeral(channel, user, text=told, thread_ts=in_thread)
