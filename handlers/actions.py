"""What customers press. A press that must not be lost goes through the inbox, in its thread's order."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.conversation import ThreadRef
from bot.store.inbox import Arrival
from bot.turns.presses import CALLS, CUSTOMER_PRESSES
from handlers.desk import Desk

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """The buttons under answers and in the case's sentences."""

    async def store_press(ack: Ack, body: dict[str, Any], action: dict[str, Any]) -> None:
        await desk.inbox.accept(read_press(body, action, team=desk.me.team))
        await ack()

    for action_id in CUSTOMER_PRESSES:
        app.action(action_id)(store_press)

    @app.action("esc.decline")
    async def rephrase(ack: Ack, body: dict[str, Any], action: dict[str, Any]) -> None:
        await ack()
        if not await desk.is_first(body, reads=True):
            return
        press = read_press(body, action, team=desk.me.team)
        language = await desk.language(press.author)
        # Who has called a person since is not asked to say it again.
        words = await desk.cases.standing(press.thread, language) or desk.sentences.say(language, "rephrase")
        await desk.slack.respond(body["response_url"], text=words)


def register_rest(app: AsyncApp) -> None:
    """Acknowledge every other press, shortcut and dialog, as link buttons are."""

    async def acknowledge(ack: Ack) -> None:
        await ack()

    anything = re.compile(".*")
    app.action(anything)(acknowledge)
    app.shortcut(anything)(acknowledge)
    app.view(anything)(acknowledge)
    app.options(anything)(acknowledge)


def read_press(body: dict[str, Any], action: dict[str, Any], *, team: str) -> Arrival:
    """The arrival in a block_actions payload."""
    channel = body["container"]["channel_id"]
    message_ts = body["container"]["message_ts"]
    root = body["container"].get("thread_ts") or body.get("message", {}).get("thread_ts") or message_ts
    name, value = _chosen(action)
    return Arrival(
        event_id=f"press/{body['trigger_id']}",
        kind="press",
        thread=ThreadRef(team, channel, root),
        ts=action.get("action_ts") or message_ts,
        author=body["user"]["id"],
        author_team=body["user"].get("team_id") or team,
        body={
            "action": name,
            "value": value,
            "message_ts": message_ts,
            "response_url": body.get("response_url", ""),
            "text": "",
        },
        addressed=True,
        calls=name in CALLS,
    )


def read_home_press(body: dict[str, Any], action: dict[str, Any], *, team: str) -> Arrival:
    """The same for a press in somebody's Home tab, which stands in no channel: the tab is its lane."""
    tab = body["container"]["view_id"]
    return Arrival(
        event_id=f"press/{body['trigger_id']}",
        kind="press",
        thread=ThreadRef(team, tab, tab),
        ts=action["action_ts"],
        author=body["user"]["id"],
        author_team=body["user"].get("team_id") or team,
        body={"action": action["action_id"], "value": "", "message_ts": tab, "response_url": "", "text": ""},
        addressed=True,
    )


def _chosen(action: dict[str, Any]) -> tuple[str, str]:
    """What was pressed, and its value; the entry `priority/FD-1042` of the menu `case.more` is `case.more.priority`."""
    if "selected_option" not in action:
        return action["action_id"], action.get("value", "")
    entry, _, value = action["selected_option"]["value"].partition("/")
    return f"{action['action_id']}.{entry}", value
