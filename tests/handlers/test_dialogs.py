"""Dialogs of the desk in a local Slack: from the press to what is stored."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp

from bot.cases.buttons import BUTTONS
from bot.cases.dialogs import NO_SUCH_CASE, TOO_LATE, About, Dialogs
from bot.clock import SystemClock
from bot.conversation import ThreadRef
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Arrival
from bot.turns.message_body import filled
from bot.views import dialogs as staff_dialogs
from bot.views import staff_cards
from handlers import dialogs, staff
from handlers.actions import register_rest
from handlers.desk import Desk
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire
from tests.patience import patience
from tests.store.rows import a_case
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)


@dataclass
class Stored:
    """An inbox that only remembers."""

    arrivals: list[Arrival] = field(default_factory=list)

    async def accept(self, arrival: Arrival) -> None:
        self.arrivals.append(arrival)


@dataclass
class Wired:
    """A waiting case with its card in the agent channel."""

    slack: LocalSlack
    inbox: Stored
    case: Case
    card: str

    async def interactions(self, user: str, action: str = "case.handback", *, value: str | None = None) -> None:
        await self.slack.workspace.act.click(user, "C0AGENTS", self.card, action, value=value)

    async def told(self, user: str) -> str:
        """What only this person reads."""
        workspace = self.slack.workspace
        while not (texts := [each["text"] for each in workspace.ephemerals if each["user"] == user]):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(texts[-1])

    async def dialog(self, user: str) -> Json:
        """The dialog that the person sees."""
        workspace = self.slack.workspace
        while not workspace.modals.get(user):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        view: Json = workspace.modals[user][-1]
        return view


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Wired:
    answers, inbox = build_answers(database, slack.client, ManualClock()), Stored()
    cases: Any = answers.cases

    def register(app: AsyncApp, desk: Desk) -> None:
        staff.register(app, desk)
        dialogs.register(app, desk)
        register_rest(app)

    await wire(slack, register, inbox=inbox, dialogs=Dialogs(slack.client.chat, slack.client.views, cases))
    root = await slack.client.chat.post("C0SUPPORT", text="Where is my lamp?")
    case = await cases.open(ThreadRef(TEAM, "C0SUPPORT", root), CUSTOMER, reason="upset", priority="medium")
    card = staff_cards.case_card(case)
    ts = await slack.client.chat.post("C0AGENTS", text=card.text, blocks=card.blocks)
    return Wired(slack, inbox, case, ts)


async def test_what_is_filled_in_is_stored_as_a_press_of_the_case_where_it_was_pressed(wired: Wired) -> None:
    await wired.interactions(AGENT)
    view = await wired.dialog(AGENT)
    act = wired.slack.workspace.act
    await act.submit_view(AGENT, view["id"], {"note": {"note": "The lamp was replaced."}})
    (interaction,) = wired.inbox.arrivals
    assert (interaction.kind, interaction.author, interaction.thread) == (
        "interaction",
        AGENT,
        ThreadRef(TEAM, "C0AGENTS", wired.card),
    )
    assert interaction.interaction.action == "submit.handback"
    assert interaction.interaction.value == wired.case.ref
    assert interaction.interaction.fields == {"note": "The lamp was replaced."}
    assert AGENT not in wired.slack.workspace.modals


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Paid with 4242 4242 4242 4242", "Paid with [card number]"),
        ("42\u200b42424242424242", "[card number]"),
        ("Their password: hunter2!", "Their password: [secret]"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [bank account]"),
    ],
)
async def test_what_is_typed_into_a_dialog_is_masked_before_it_is_stored(wired: Wired, typed: str, kept: str) -> None:
    await wired.interactions(AGENT)
    view = await wired.dialog(AGENT)
    await wired.slack.workspace.act.submit_view(AGENT, view["id"], {"note": {"note": typed}})
    (interaction,) = wired.inbox.arrivals
    assert interaction.interaction.fields == {"note": kept}


def test_a_whole_article_and_what_is_chosen_are_kept_as_they_are() -> None:
    fields: dict[str, str | list[str]] = {
        "answer": "Yes. " * 590,
        "into": "FD-1002",
        "desk": "C0123ABCD",
        "kb": ["suggest"],
        "note": "",
    }
    assert filled(fields) == fields | {"answer": ("Yes. " * 590).strip()}


async def test_what_is_chosen_in_the_menu_opens_its_dialog(wired: Wired) -> None:
    await wired.interactions(AGENT, "case.more", value=f"priority/{wired.case.ref}")
    view = await wired.dialog(AGENT)
    await wired.slack.workspace.act.submit_view(AGENT, view["id"], {"priority": {"priority": "high"}})
    (interaction,) = wired.inbox.arrivals
    assert interaction.interaction.action == "submit.priority"
    assert interaction.interaction.value == wired.case.ref
    assert interaction.interaction.fields == {"priority": "high"}


@pytest.mark.parametrize("entry", ["spam", "priority"])
async def test_every_entry_of_the_menu_is_for_staff(wired: Wired, entry: str) -> None:
    await wired.slack.breaks(method="conversations.members", do="internal_error")
    await wired.interactions(AGENT, "case.more", value=f"{entry}/{wired.case.ref}")
    assert "support team" in await wired.told(AGENT)
    assert not wired.slack.workspace.modals


async def test_an_entry_that_is_not_in_the_table_is_neither_stored_nor_opened_and_logged_once(
    wired: Wired, caplog: pytest.LogCaptureFixture
) -> None:
    old = {"text": {"type": "plain_text", "text": "Old"}, "value": f"old/{wired.case.ref}"}
    menu = {"type": "actions", "elements": [{"type": "overflow", "action_id": "case.more", "options": [old]}]}
    wired.card = await wired.slack.client.chat.post("C0AGENTS", text="the card", blocks=[menu])
    await wired.interactions(AGENT, "case.more", value=f"old/{wired.case.ref}")
    assert (wired.inbox.arrivals, wired.slack.workspace.modals) == ([], {})
    assert [record.message for record in caplog.records] == ["an unknown button was pressed"]


def test_every_entry_of_the_menu_is_handled() -> None:
    assert {f"case.more.{name}" for name in staff_cards.MORE} <= BUTTONS.keys()


async def test_whoever_is_not_staff_gets_no_dialog(wired: Wired) -> None:
    await wired.slack.breaks(method="conversations.members", do="internal_error")
    await wired.interactions(AGENT)
    assert "support team" in await wired.told(AGENT)
    assert not wired.slack.workspace.modals


async def test_a_press_that_comes_too_late_for_a_dialog_says_so(wired: Wired) -> None:
    await wired.slack.breaks(method="views.open", do="expired_trigger_id")
    await wired.interactions(AGENT)
    assert await wired.told(AGENT) == TOO_LATE


async def test_a_case_that_is_not_there_any_more_gets_no_dialog(wired: Wired, database: Database) -> None:
    card = staff_cards.lost_race(a_case(id=8_999, owner="U0AGENTB", owner_name="Agent B"))
    blocks = [{**card.blocks[1], "elements": [{**card.blocks[1]["elements"][0], "action_id": "case.handback"}]}]
    wired.card = await wired.slack.client.chat.post("C0AGENTS", text=card.text, blocks=blocks)
    await wired.interactions(AGENT)
    assert await wired.told(AGENT) == NO_SUCH_CASE


async def test_who_is_not_on_the_desks_team_is_refused_in_the_open_dialog(wired: Wired) -> None:
    await wired.interactions(AGENT, "case.assign")
    view = await wired.dialog(AGENT)
    act, note = wired.slack.workspace.act, {"note": {"note": "Charged twice"}}
    refused = await act.submit_view(AGENT, view["id"], {"person": {"person": "U0CUSTOMERA"}, **note})
    assert "isn't on the desk's team" in refused.payload["errors"]["person"]
    assert wired.inbox.arrivals == []
    assert wired.slack.workspace.modals[AGENT], "the dialog stays open"
    await act.submit_view(AGENT, view["id"], {"person": {"person": "U0AGENTB"}, **note})
    (stored,) = wired.inbox.arrivals
    assert stored.interaction.fields == {"person": "U0AGENTB", "note": "Charged twice"}


async def test_a_snooze_until_a_time_that_is_past_is_refused_in_the_open_dialog(wired: Wired) -> None:
    await wired.interactions(AGENT, "case.claim")
    wired.inbox.arrivals.clear()
    view = staff_dialogs.later(wired.case, about=str(About(wired.case.ref, ThreadRef(TEAM, "C0AGENTS", "1.1"), "1.1")))
    act, workspace = wired.slack.workspace.act, wired.slack.workspace
    await wired.interactions(AGENT)
    opened = await wired.dialog(AGENT)
    await wired.slack.client.views.update(opened["id"], view)
    past = await act.submit_view(AGENT, opened["id"], {"when": {"when": "own"}, "own": {"own": 1_000_000_000}})
    assert "Choose a time from now on" in past.payload["errors"]["own"]
    assert workspace.modals[AGENT], "the dialog stays open"
    later = int(SystemClock().now()) + 3_600
    ack = await act.submit_view(AGENT, opened["id"], {"when": {"when": "own"}, "own": {"own": later}})
    assert ack.ok, ack
    (stored,) = wired.inbox.arrivals
    assert stored.interaction.fields == {"when": "own", "own": str(later)}
