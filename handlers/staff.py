"""The buttons of staff. The server checks each press: the person must be staff in the channel. In doubt it refuses.

An interaction goes through the inbox, in order with the messages under the card. If staff reply and then press Resolve,
the reply is delivered first. An interaction that takes long has a lane of its own.
"""

from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.actions.dialogs import CHOOSE
from bot.actions.dialogs import DIALOGS as OF_ACTIONS
from bot.cases.buttons import BUTTONS, SUBMISSIONS, Button
from bot.cases.dialogs import DIALOGS
from bot.errors import StoreUnavailable
from bot.slack.blocks import Card
from bot.turns.interactions.replies import interaction_thread
from bot.views.queue_cards import VIEWS
from handlers.actions import in_its_lane, log_unknown, read_interaction
from handlers.desk import Desk
from handlers.dialogs import open_dialog
from handlers.payloads import Action, BlockActions

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the buttons and menus of the cards in the team channels."""

    async def press(ack: Ack, body: BlockActions, action: Action) -> None:
        arrival = read_interaction(body, action, team=desk.me.team)
        button = BUTTONS.get(arrival.interaction.action)
        if button is None:
            await ack()
            log_unknown(arrival.interaction.action)
        elif button.dialog:
            await ack()
            await open_dialog(desk, arrival, trigger_id=body["trigger_id"])
        elif await desk.is_staff_in(arrival.thread.channel, arrival.author):
            await desk.inbox.accept(in_its_lane(arrival, button))
            await ack()
        else:
            await ack()
            await desk.refuse(arrival.thread.channel, arrival.author, thread_ts=interaction_thread(arrival))

    @app.action("queue.filter")
    async def show_list(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        chosen = read_interaction(body, action, team=desk.me.team)
        channel, view = chosen.thread.channel, chosen.interaction.value
        if await desk.admits(chosen) and view in VIEWS:
            at = desk.staff.desk_in(channel)
            try:
                card = await desk.overview.cases(view, user=chosen.author, at=at, chooses=True)
            except StoreUnavailable:
                card = Card("The database isn't answering right now. Try again in a minute.", ())
            blocks = card.blocks or None
            if not await desk.chat.respond(body.get("response_url") or "", text=card.text, blocks=blocks):
                await desk.chat.post_ephemeral(channel, chosen.author, text=card.text, blocks=blocks)

    for action_id in {button.action_id for button in BUTTONS.values() if _is_pressed_here(button)}:
        app.action(action_id)(press)


def _is_pressed_here(button: Button) -> bool:
    """Whether it is a button of staff that is stored, or opens a dialog about a case or a change of an order."""
    is_answered_elsewhere = button.lane == "at_once" and button.dialog not in DIALOGS.keys() | OF_ACTIONS.keys() | {
        CHOOSE
    }
    return button.who == "staff" and button.id not in SUBMISSIONS and not is_answered_elsewhere
