"""What staff press. Each press is checked on the server: who is staff in its channel counts, and in doubt nobody.

A press goes through the inbox, in the order of what is written under the card: reply, then Resolve, and the
reply is delivered first. A press that takes long has a lane of its own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import OPENED_BY
from bot.store.inbox import Arrival
from bot.turns.interactions import SLOW_BUTTONS, STAFF_BUTTONS, interaction_thread
from handlers.actions import read_interaction
from handlers.desk import Desk
from handlers.dialogs import open_dialog
from handlers.payloads import Action, BlockActions

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """The buttons of the cards in the team channels."""

    async def store_interaction(ack: Ack, body: BlockActions, action: Action) -> None:
        interaction = read_interaction(body, action, team=desk.me.team)
        if await desk.is_staff_in(interaction.thread.channel, interaction.author):
            await desk.inbox.accept(_in_its_lane(interaction))
            await ack()
            return
        await ack()
        await desk.refuse(interaction.thread.channel, interaction.author, thread_ts=interaction_thread(interaction))

    for action_id in STAFF_BUTTONS:
        app.action(action_id)(store_interaction)

    @app.action("case.more")
    async def choose(ack: Ack, body: BlockActions, action: Action) -> None:
        chosen = read_interaction(body, action, team=desk.me.team).body["action"]
        if chosen in OPENED_BY:
            await open_dialog(desk, ack, body, action)
        elif chosen in STAFF_BUTTONS:
            await store_interaction(ack, body, action)
        else:
            await ack()

    @app.action("relay.note")
    async def keep_inside(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        interaction = read_interaction(body, action, team=desk.me.team)
        if await desk.is_staff_in(interaction.thread.channel, interaction.author):
            await desk.slack.respond(body.get("response_url") or "", text="Kept as an internal note.", replace=True)
        else:
            await desk.refuse(interaction.thread.channel, interaction.author, thread_ts=interaction_thread(interaction))


def _in_its_lane(interaction: Arrival) -> Arrival:
    """The press as it came, or in a thread of its own when what is written under the card must not wait for it."""
    slow = interaction.body["action"] in SLOW_BUTTONS
    return replace(interaction, thread=replace(interaction.thread, ts=interaction.ts)) if slow else interaction
