"""Presses in the agent channel of somebody who is not surely staff, in a local Slack."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest
from slack_bolt.async_app import AsyncApp

from bot.cases.buttons import BUTTONS, SUBMISSIONS
from bot.cases.dialogs import DIALOGS, About
from bot.conversation import ThreadRef
from bot.slack.api.directory import SlackUser
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival
from bot.turns.handover_requests import CALL_OVER
from bot.views import staff_cards
from handlers import bulk, commands, dialogs, fixing, frontdesk, learning, register, search, shortcuts, staff
from handlers.desk import Desk
from local_slack.workspace import User
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import Door, Wiring, wire
from tests.patience import patience
from tests.store.rows import a_case
from tests.turns.arrivals import TEAM

PATIENCE = patience(20.0)
AGENT, CUSTOMER = "U0AGENTA", "U0CUSTOMERA"


class Taken(Door):
    """Whatever is stored or opened, as Inbox.accept and Dialogs.open would, and who is refused in their language."""

    def __init__(self) -> None:
        self.names: asyncio.Queue[str] = asyncio.Queue()
        self.refused: asyncio.Queue[str] = asyncio.Queue()
        self.bodies: list[InteractionBody] = []
        self.work: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """As Desk.start."""
        self.work.append(asyncio.create_task(work))

    async def locale(self, user: SlackUser) -> str:
        await self.refused.put(user.id)
        return user.locale

    async def accept(self, interaction: Arrival) -> None:
        self.bodies.append(interaction.interaction)
        await self.names.put(interaction.interaction.action)

    async def open(self, action: str, about: About, *, user: str, trigger_id: str) -> None:
        await self.names.put(action)


def register_all(app: AsyncApp, desk: Desk) -> None:
    for each in (staff, dialogs, learning, commands, frontdesk, search, bulk, fixing):
        each.register(app, desk)


def interaction(name: str, user: str, channel: str) -> tuple[str, dict[str, Any]]:
    """What Slack sends when the button is pressed, the dialog of that name submitted, the command written, or the
    shortcut chosen."""
    if name.startswith("/"):
        command = {"command": name, "text": "", "user_id": user, "channel_id": channel, "team_id": TEAM}
        return "slash_commands", {**command, "trigger_id": f"t/{name}", "response_url": ""}
    thread = ThreadRef(TEAM, channel, "1.1")
    common = {"team": {"id": TEAM}, "user": {"id": user, "team_id": TEAM}, "trigger_id": f"t/{name}"}
    if name in SUBMISSIONS:
        about = str(About("FD-1001", thread, "1.1"))
        filled = {"person": {"person": {"selected_user": AGENT}}, "text": {"text": {"value": "Hello!"}}}
        view = {"id": "V" + name.replace(".", "0"), "type": "modal", "callback_id": name, "private_metadata": about}
        return "interactive", {
            **common,
            "type": "view_submission",
            "view": {**view, "state": {"values": filled}},
        }
    if name in ("kb.add", CALL_OVER):
        message = {"ts": "1.1", "thread_ts": "1.1", "user": CUSTOMER, "text": "x"}
        where = {"channel": {"id": channel}, "message": message, "message_ts": "1.1", "action_ts": "2.1"}
        return "interactive", {**common, **where, "type": "message_action", "callback_id": name, "response_url": ""}
    action: dict[str, Any] = {
        "action_id": name,
        "block_id": "b",
        "type": "button",
        "value": "FD-1001",
        "action_ts": "2.1",
    }
    if name in ENTRIES:
        menu, _, entry = name.rpartition(".")
        option = {"text": {"type": "plain_text", "text": "x"}, "value": f"{entry}/FD-1001"}
        action = {**action, "action_id": menu, "type": "overflow", "selected_option": option}
    container = {"type": "message", "channel_id": channel, "message_ts": "1.1"}
    return "interactive", {
        **common,
        "type": "block_actions",
        "channel": {"id": channel},
        "container": container,
        "response_url": "",
        "actions": [action],
    }


OF_STAFF = {button.id: button for button in BUTTONS.values() if button.who == "staff"}
ENTRIES = {button.id for button in BUTTONS.values() if button.action_id != button.id}
"""The entries of menus, which Slack calls by the menu's id."""
STORED = {button.id for button in OF_STAFF.values() if button.lane != "at_once"}
OPENS_A_CASES_DIALOG = {button.id for button in OF_STAFF.values() if button.dialog in DIALOGS}
ANYWHERE = {
    "/kb",
    "/frontdesk",
    "kb.add",
    "kb.progress",
    "fix.write",
    "search.next",
    "search.previous",
    "submit.search",
}
"""What counts for staff of the agent channel, wherever they are."""
EVERYTHING = sorted(OF_STAFF.keys() | ANYWHERE)
ACKNOWLEDGED = {"fix.page", "home.open"}
"""Links, which the browser opens."""


class Registered:
    """Notes what handlers attach to Bolt."""

    def __init__(self) -> None:
        self.names: set[str | re.Pattern[str]] = set()

    def use(self, middleware: object) -> None:
        """As AsyncApp.use."""

    def action(self, name: str | re.Pattern[str]) -> Callable[[object], object]:
        """As AsyncApp.action, and whatever else is attached by a name."""
        self.names.add(name)
        return lambda listener: listener

    view = shortcut = command = event = options = action


def test_everything_in_the_table_is_attached_and_everything_attached_is_in_it() -> None:
    registered = Registered()
    register(cast(AsyncApp, registered), cast(Desk, SimpleNamespace(staff=SimpleNamespace(channels=()))))
    patterns = [name for name in registered.names if isinstance(name, re.Pattern) and name.pattern != ".*"]
    names = {name for name in registered.names if isinstance(name, str)}
    ids = {button.action_id for button in BUTTONS.values()} - ACKNOWLEDGED
    assert {id_ for id_ in ids - names if not any(each.fullmatch(id_) for each in patterns)} == set()
    assert names - ids == {"/kb", "/frontdesk", "app_home_opened"}
    assert [each.pattern for each in patterns if not any(map(each.fullmatch, ids))] == []


@pytest.mark.parametrize(
    ("user", "channel", "is_down"),
    [
        (CUSTOMER, "C0AGENTS", False),
        (AGENT, "C0SUPPORT", False),
        (AGENT, "C0AGENTS", True),
        ("U0STRANGER", "C0AGENTS", False),
        ("U0OTHERAPP", "C0AGENTS", False),
        ("U0AGENTB", "C0AGENTS", False),
    ],
    ids=[
        "a customer",
        "staff elsewhere",
        "staff of whom Slack does not say so",
        "somebody of another organisation in the channel",
        "an app in the channel",
        "a colleague who has left",
    ],
)
async def test_nothing_of_staff_is_taken_from_anybody_else(
    slack: LocalSlack, user: str, channel: str, is_down: bool
) -> None:
    taken = Taken()
    await wire(slack, register_all, inbox=taken, dialogs=taken, identities=taken, start=taken.start)
    people, members = slack.workspace.users, slack.workspace.channels["C0AGENTS"].members
    people["U0OTHERAPP"] = User("U0OTHERAPP", "otherapp", "Another app", team=TEAM, is_bot=True)
    members += ["U0STRANGER", "U0OTHERAPP"]
    people["U0AGENTB"].deleted = True
    asked = [name for name in EVERYTHING if channel == "C0AGENTS" or name not in ANYWHERE]
    if is_down:
        await slack.breaks(method="conversations.members", do="internal_error", count=10 * len(asked))
    async with asyncio.timeout(PATIENCE):
        for name in asked:
            assert (await cast(Wiring, slack.workspace.transport).interact(*interaction(name, user, channel))).ok
            assert await taken.refused.get() == user
    assert taken.names.empty()


@pytest.mark.parametrize("user", ["U0STRANGER", "U0OTHERAPP", "U0AGENTB"])
async def test_who_is_no_staff_calls_nobody_for_others(slack: LocalSlack, user: str) -> None:
    taken = Taken()
    await wire(slack, shortcuts.register, inbox=taken, identities=taken)
    people = slack.workspace.users
    people["U0OTHERAPP"] = User("U0OTHERAPP", "otherapp", "Another app", team=TEAM, is_bot=True)
    slack.workspace.channels["C0AGENTS"].members += ["U0STRANGER", "U0OTHERAPP"]
    people["U0AGENTB"].deleted = True
    for name in (user, AGENT):
        assert (await cast(Wiring, slack.workspace.transport).interact(*interaction(CALL_OVER, name, "C0SUPPORT"))).ok
    assert [body.by_staff for body in taken.bodies] == [False, True]


async def test_every_press_and_dialog_is_taken_from_staff(slack: LocalSlack) -> None:
    taken = Taken()
    await wire(slack, register_all, inbox=taken, dialogs=taken, identities=taken)
    async with asyncio.timeout(PATIENCE):
        for name in sorted(STORED | OPENS_A_CASES_DIALOG):
            assert (await cast(Wiring, slack.workspace.transport).interact(*interaction(name, AGENT, "C0AGENTS"))).ok
            assert await taken.names.get() == name
    assert taken.refused.empty()


@pytest.mark.parametrize("is_in_thread", [True, False])
async def test_whoever_is_not_surely_staff_is_told_so_where_they_pressed(slack: LocalSlack, is_in_thread: bool) -> None:
    await wire(slack, staff.register)
    card = await slack.client.chat.post("C0AGENTS", text="the card")
    button = staff_cards.lost_race(a_case(id=1, owner="U0AGENTB", owner_name="Agent B"))
    thread_ts = card if is_in_thread else None
    ts = await slack.client.chat.post("C0AGENTS", text=button.text, blocks=button.blocks, thread_ts=thread_ts)
    await slack.breaks(method="conversations.members", do="internal_error")
    await slack.workspace.act.click("U0AGENTA", "C0AGENTS", ts, "case.takeover")
    while not slack.workspace.ephemerals:
        await slack.workspace.wait_for_change(slack.workspace.counter, timeout=patience(20.0))
    (told,) = slack.workspace.ephemerals
    assert "support team" in told["text"]
    assert told.get("thread_ts") == thread_ts
