"""Presses in the agent channel of somebody who is not surely staff, in a local Slack."""

import asyncio
from typing import Any, cast

import pytest
from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import OPENED_BY, SUBMISSIONS, About
from bot.conversation import ThreadRef
from bot.slack import staff_cards
from bot.slack.client import SlackUser
from bot.store.inbox import Arrival
from bot.turns.presses import STAFF_PRESSES
from handlers import dialogs, learning, staff
from handlers.desk import Desk
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import Wiring, wire
from tests.turns.arrivals import TEAM

PATIENCE = 20.0
AGENT, CUSTOMER = "U0AGENTA", "U0CUSTOMERA"


class Taken:
    """Whatever is stored or opened, as Inbox.accept and Dialogs.open would, and who is refused in their language."""

    def __init__(self) -> None:
        self.names: asyncio.Queue[str] = asyncio.Queue()
        self.refused: asyncio.Queue[str] = asyncio.Queue()

    async def locale(self, user: SlackUser) -> str:
        await self.refused.put(user.id)
        return user.locale

    async def accept(self, press: Arrival) -> None:
        await self.names.put(press.body["action"])

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        await self.names.put(action)


def register_all(app: AsyncApp, desk: Desk) -> None:
    for each in (staff, dialogs, learning):
        each.register(app, desk)


def press(name: str, user: str, channel: str) -> tuple[str, dict[str, Any]]:
    """What Slack sends when the button is pressed, or the dialog of that name is submitted."""
    thread = ThreadRef(TEAM, channel, "1.1")
    common = {"team": {"id": TEAM}, "user": {"id": user, "team_id": TEAM}, "trigger_id": f"t/{name}"}
    if name in SUBMISSIONS:
        about = str(About("FD-1001", thread, "1.1"))
        view = {"id": f"V{name}", "type": "modal", "callback_id": name, "private_metadata": about}
        return "interactive", {**common, "type": "view_submission", "view": {**view, "state": {"values": {}}}}
    action: dict[str, Any] = {
        "action_id": name,
        "block_id": "b",
        "type": "button",
        "value": "FD-1001",
        "action_ts": "2.1",
    }
    if name.startswith("case.more."):
        entry = {"text": {"type": "plain_text", "text": "x"}, "value": f"{name.removeprefix('case.more.')}/FD-1001"}
        action = {**action, "action_id": "case.more", "type": "overflow", "selected_option": entry}
    container = {"type": "message", "channel_id": channel, "message_ts": "1.1"}
    return "interactive", {
        **common,
        "type": "block_actions",
        "channel": {"id": channel},
        "container": container,
        "response_url": "",
        "actions": [action],
    }


EVERYTHING = sorted(STAFF_PRESSES | SUBMISSIONS | set(OPENED_BY) | {"kb.edit"})


@pytest.mark.parametrize(
    ("user", "channel", "is_down"),
    [(CUSTOMER, "C0AGENTS", False), (AGENT, "C0SUPPORT", False), (AGENT, "C0AGENTS", True)],
    ids=["a customer", "staff elsewhere", "staff of whom Slack does not say so"],
)
async def test_no_press_and_no_dialog_of_staff_is_taken_from_anybody_else(
    slack: LocalSlack, user: str, channel: str, is_down: bool
) -> None:
    taken = Taken()
    await wire(slack, register_all, inbox=taken, dialogs=taken, identities=taken)
    if is_down:
        await slack.breaks(method="conversations.members", do="internal_error", count=10 * len(EVERYTHING))
    async with asyncio.timeout(PATIENCE):
        for name in EVERYTHING:
            assert (await cast(Wiring, slack.workspace.transport).interact(*press(name, user, channel))).ok
            assert await taken.refused.get() == user
    assert taken.names.empty()


async def test_every_press_and_dialog_is_taken_from_staff(slack: LocalSlack) -> None:
    taken = Taken()
    await wire(slack, register_all, inbox=taken, dialogs=taken, identities=taken)
    async with asyncio.timeout(PATIENCE):
        for name in [name for name in EVERYTHING if name != "kb.edit"]:
            assert (await cast(Wiring, slack.workspace.transport).interact(*press(name, AGENT, "C0AGENTS"))).ok
            assert await taken.names.get() == name
    assert taken.refused.empty()


@pytest.mark.parametrize("is_in_thread", [True, False])
async def test_whoever_is_not_surely_staff_is_told_so_where_they_pressed(slack: LocalSlack, is_in_thread: bool) -> None:
    await wire(slack, staff.register)
    card = await slack.client.post("C0AGENTS", text="the card")
    button = staff_cards.lost_race(case="FD-1001", staff="U0AGENTB", staff_name="Agent B")
    thread_ts = card if is_in_thread else None
    ts = await slack.client.post("C0AGENTS", text=button.text, blocks=button.blocks, thread_ts=thread_ts)
    await slack.breaks(method="conversations.members", do="internal_error")
    await slack.workspace.act.click("U0AGENTA", "C0AGENTS", ts, "case.takeover")
    while not slack.workspace.ephemerals:
        await slack.workspace.wait_for_change(slack.workspace.counter, timeout=20.0)
    (told,) = slack.workspace.ephemerals
    assert "support team" in told["text"]
    assert told.get("thread_ts") == thread_ts
