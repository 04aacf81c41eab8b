"""The buttons of customers. An interaction that must not be lost goes through the inbox, in its thread's order."""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from slack_bolt.async_app import AsyncApp

from bot.cases.buttons import BUTTONS, Button
from bot.conversation import ThreadRef
from bot.store import turns
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival
from bot.turns.interactions.replies import is_number
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, Malformed

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the buttons under answers and in the messages about a case."""

    async def store_interaction(ack: Ack, body: BlockActions, action: Action) -> None:
        arrival = read_interaction(body, action, team=desk.me.team)
        button = BUTTONS[arrival.interaction.action]
        await desk.inbox.accept(in_its_lane(arrival, button))
        await ack()

    for button in BUTTONS.values():
        if button.who == "customer":
            app.action(button.id)(store_interaction)

    @app.action("esc.decline")
    async def rephrase(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        interaction = read_interaction(body, action, team=desk.me.team)
        if not await desk.is_first(
            body["trigger_id"], user=interaction.author, channel=interaction.thread.channel, reads=True
        ):
            return
        if not await _is_theirs(desk, chosen(action), interaction.author):
            await desk.chat.respond(
                body.get("response_url") or "", text=await desk.words(interaction.author, "not_yours")
            )
            return
        language = await desk.language(interaction.author)
        # A customer who has called a person by now is not asked to rephrase.
        status = await desk.cases.status.of_thread(interaction.thread, language)
        words = status or desk.sentences.say(language, "rephrase")
        await desk.chat.respond(body.get("response_url") or "", text=words)


async def _is_theirs(desk: Desk, turn: str, user: str) -> bool:
    """Whether the answer above the button was given to this person, or its customer is not known."""
    if not is_number(turn):
        return True
    async with desk.database.transaction() as tx:
        return await turns.customer_of(tx, int(turn)) in (user, None)


def register_rest(app: AsyncApp) -> None:
    """Acknowledge every other interaction and shortcut, such as a press of a link button."""

    async def ignore(ack: Ack, action: Action) -> None:
        await ack()
        if action["action_id"] not in BUTTONS:
            log_unknown(action["action_id"])

    async def acknowledge(ack: Ack) -> None:
        await ack()

    anything = re.compile(".*")
    app.action(anything)(ignore)
    app.shortcut(anything)(acknowledge)
    app.view(anything)(acknowledge)
    app.options(anything)(acknowledge)


def log_unknown(name: str) -> None:
    """Log a press of a button that is not in the table. Nothing else happens."""
    logger.warning("an unknown button was pressed", extra={"action": name})


def read_interaction(body: BlockActions, action: Action, *, team: str) -> Arrival:
    """Return the arrival of an interaction with a message. Raises Malformed if the button is in no message."""
    channel, message_ts = body["container"].get("channel_id"), body["container"].get("message_ts")
    if not (channel and message_ts):
        raise Malformed("block_actions", "container without a message")
    root = body["container"].get("thread_ts") or (body.get("message") or {}).get("thread_ts") or message_ts
    name, value = _chosen(action)
    return Arrival(
        event_id=f"interaction/{body['trigger_id']}",
        kind="interaction",
        thread=ThreadRef(team, channel, root),
        ts=action.get("action_ts") or message_ts,
        author=body["user"]["id"],
        author_team=body["user"].get("team_id") or team,
        body=InteractionBody(name, value, message_ts, body.get("response_url") or ""),
        addressed=True,
        calls=name in BUTTONS and BUTTONS[name].calls,
    )


def in_its_lane(interaction: Arrival, button: Button) -> Arrival:
    """Return the interaction, in a lane of its own if it must not wait for what is written in its thread."""
    if button.lane != "own":
        return interaction
    return replace(interaction, thread=replace(interaction.thread, ts=interaction.ts))


def read_home_interaction(body: BlockActions, action: Action, *, team: str) -> Arrival:
    """Return the arrival of an interaction in a person's Home tab. The tab is in no channel, so it is the lane."""
    tab = body["container"].get("view_id")
    if not tab:
        raise Malformed("block_actions", "container without a view")
    return Arrival(
        event_id=f"interaction/{body['trigger_id']}",
        kind="interaction",
        thread=ThreadRef(team, tab, tab),
        ts=action.get("action_ts") or tab,
        author=body["user"]["id"],
        author_team=body["user"].get("team_id") or team,
        body=InteractionBody(action["action_id"], message_ts=tab),
        addressed=True,
    )


def chosen(action: Action) -> str:
    """Return the value of a button or of the chosen entry of a menu. Raises Malformed if there is none."""
    option = action.get("selected_option")
    value = action.get("value") if option is None else option["value"]
    if value is None:
        raise Malformed("block_actions", "actions.value missing")
    return value


def _chosen(action: Action) -> tuple[str, str]:
    """Return the button's id and value. The entry `priority/FD-1042` of menu `case.more` is `case.more.priority`."""
    option = action.get("selected_option")
    if option is None:
        return action["action_id"], action.get("value") or ""
    entry, _, value = option["value"].partition("/")
    return f"{action['action_id']}.{entry}", value
