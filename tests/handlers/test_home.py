"""The Home tab in a local Slack: what customers and staff see, and what they do there."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest

from bot.cases.availability import Availability
from bot.cases.cases import Cases
from bot.cases.hours import Hours
from bot.cases.messages import CaseMessages
from bot.cases.staff import Staff
from bot.conversation import ThreadRef
from bot.desk.identity import Identities
from bot.desk_file.model import DeskFile
from bot.home.home import Home
from bot.home.staff_commands import Overview
from bot.language.sentences import load_sentences
from bot.reporting.desk_metrics import CASES_BUTTON, DeskMetrics
from bot.store import inbox
from bot.store.database import Database
from bot.store.inbox import Arrival
from handlers import frontdesk, home
from handlers.desk import Desk
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import Door, wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, build_answers
from tests.turns.arrivals import TEAM

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)
DESK = DeskFile.model_validate({"cases": {"tags": {"refund": {"label": "Refund"}, "vip": {"label": "VIP"}}}})
MESSAGES = CaseMessages(load_sentences(), "C0AGENTS", desk_file=lambda: DESK)


class Shelf:
    """A library with nothing to say."""

    async def status(self) -> str:
        return "Generation 1 serves."


@dataclass
class Wired(Door):
    """A workspace with the tab and the command behind it."""

    slack: LocalSlack
    cases: Cases
    clock: ManualClock
    work: list[asyncio.Task[None]] = field(default_factory=list)
    stored: list[Arrival] = field(default_factory=list)

    async def accept(self, arrival: Arrival) -> None:
        """As Inbox.accept."""
        self.stored.append(arrival)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.work.append(asyncio.create_task(work))

    async def opens(self, user: str) -> str:
        """Open the Home tab; every text of it."""
        await self.slack.workspace.act.open_home(user)
        return await self.sees(user)

    async def sees(self, user: str) -> str:
        """The tab's texts, once everything that was begun is done."""
        workspace = self.slack.workspace
        async with asyncio.timeout(PATIENCE):
            while not self.work or user not in workspace.homes:
                await workspace.wait_for_change(workspace.counter, timeout=0.05)
            await asyncio.gather(*self.work)
        return str(workspace.homes[user]["blocks"])

    async def is_done(self) -> None:
        """Whatever was begun is done, and something was."""
        workspace = self.slack.workspace
        async with asyncio.timeout(PATIENCE):
            while not self.work:
                await workspace.wait_for_change(workspace.counter, timeout=0.05)
            await asyncio.gather(*self.work)

    async def does(self, user: str, action_id: str, value: Any = None) -> str:
        """Use an element of the tab; the tab afterwards."""
        self.work.clear()
        await self.slack.workspace.act.click_view(user, self.view(user)["id"], action_id, value=value)
        return await self.sees(user)

    def view(self, user: str) -> Json:
        found: Json = self.slack.workspace.homes[user]
        return found

    async def runs(self, line: str, user: str = AGENT, channel: str = "C0AGENTS") -> str:
        """Run a command; what only its author reads then."""
        workspace = self.slack.workspace
        before = len(workspace.ephemerals)
        await workspace.act.command(user, channel, line)
        async with asyncio.timeout(PATIENCE):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(workspace.ephemerals[-1]["text"])

    async def opened(self, text: str, channel: str = "D0CUSTOMERA") -> str:
        """A case of Customer A's about this; its number."""
        thread = ThreadRef(TEAM, channel, await self.slack.client.chat.post(channel, text="root"))
        return (await self.cases.open(thread, CUSTOMER, reason="upset", priority="high", summary=text)).ref


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Wired:
    client, clock = slack.client, ManualClock()
    answers, me = build_answers(database, client, clock), await client.api.auth()
    cases = replace(answers.cases, stepping=replace(answers.cases.stepping, messages=MESSAGES))
    wired = Wired(slack, cases, clock)
    staff, identities = (
        Staff(client.directory, clock, agent_channel="C0AGENTS"),
        Identities(client.directory, None, database),
    )
    metrics = DeskMetrics(me, database, clock, Hours())
    parts: dict[str, Any] = {
        "staff": staff,
        "identities": identities,
        "home": Home(
            me,
            client.views,
            database,
            clock,
            answers.sentences,
            identities,
            staff,
            cast(Any, Shelf()),
            Hours(),
            partial(metrics.show, in_short=True),
            lambda: DESK,
        ),
        "overview": Overview(
            me,
            database,
            clock,
            Hours(),
            Availability(database, slack.client.directory, clock),
            metrics.show,
            lambda: DESK,
        ),
        "metrics": metrics,
        "start": wired.start,
        "inbox": wired,
    }

    def register(app: Any, desk: Desk) -> None:
        home.register(app, desk)
        frontdesk.register(app, desk)

    await wire(slack, register, **parts)
    return wired


async def test_a_customer_sees_their_open_and_past_cases_and_nobody_elses(wired: Wired) -> None:
    assert "You have no open cases" in await wired.opens(CUSTOMER.user)
    first, second = await wired.opened("A lamp that broke"), await wired.opened("Boots that leak")
    await wired.cases.claim(first, AGENT)
    await wired.cases.resolve(first, AGENT)
    await wired.cases.claim(second, AGENT)
    wired.work.clear()
    seen = await wired.opens(CUSTOMER.user)
    assert seen.index(second) < seen.index("Your past cases") < seen.index(first)
    assert "Agent A is on it" in seen
    wired.work.clear()
    theirs = await wired.opens("U0CUSTOMERB")
    assert first not in theirs
    assert second not in theirs


async def test_a_customer_chooses_the_language_and_it_is_kept(wired: Wired) -> None:
    await wired.opens(CUSTOMER.user)
    assert "Sie haben keine offenen" in await wired.does(CUSTOMER.user, "home.language", "de")
    identities = Identities(wired.slack.client.directory, None, wired.cases.stepping.database)
    customer = await identities.identify(CUSTOMER.user)
    assert customer is not None
    assert customer.locale == "de"
    assert "You have no open cases" in await wired.does(CUSTOMER.user, "home.language", "slack")


async def test_a_customers_request_to_be_erased_is_stored_before_slack_gets_an_ok(wired: Wired) -> None:
    await wired.opens(CUSTOMER.user)
    view = wired.view(CUSTOMER.user)
    (button,) = [block["accessory"] for block in view["blocks"] if "Delete my data" in str(block)]
    assert (button["style"], button["confirm"]["style"]) == ("danger", "danger")
    assert load_sentences().say("en", "erase_confirm") == button["confirm"]["text"]["text"]
    ack = await wired.slack.workspace.act.click_view(CUSTOMER.user, view["id"], "home.erase", value=None)
    assert ack.ok
    (interaction,) = wired.stored
    assert (interaction.kind, interaction.author, interaction.interaction.action) == (
        "interaction",
        CUSTOMER.user,
        "home.erase",
    )
    assert CUSTOMER.user not in interaction.thread.key
    async with wired.cases.stepping.database.transaction() as tx:
        row = await inbox.add(tx, interaction, now=1.0)
        assert await inbox.add(tx, interaction, now=1.0) is None
    assert row is not None
    wired.work.clear()
    assert "home.erase" not in await wired.opens(AGENT)


async def test_staff_see_the_queue_the_figures_and_the_knowledge_base(wired: Wired) -> None:
    mine, theirs, waiting = [await wired.opened(f"Matter {number}") for number in (1, 2, 3)]
    await wired.cases.claim(mine, AGENT)
    await wired.cases.claim(theirs, "U0AGENTB")
    seen = await wired.opens(AGENT)
    assert seen.index(waiting) < min(seen.index(mine), seen.index(theirs))
    assert "1 waiting · 0 late · 1 with you · 1 with colleagues" in seen
    assert "Last 7 days" in seen
    assert "*Open now*\\n*3*" in seen
    assert "Generation 1 serves." in seen
    await wired.cases.hand_back(waiting, AGENT)
    assert waiting not in await wired.does(AGENT, "home.refresh")


async def test_the_command_lists_cases(wired: Wired) -> None:
    assert await wired.runs("/frontdesk cases") == "No cases (all open)."
    lamp, boots = await wired.opened("A lamp that broke"), await wired.opened("Boots that leak")
    await wired.cases.claim(boots, AGENT)
    everything = await wired.runs("/frontdesk cases")
    assert everything.index(lamp) < everything.index(boots)
    assert boots not in await wired.runs("/frontdesk cases unassigned")
    assert lamp not in await wired.runs("/frontdesk cases mine")


async def test_the_cases_behind_a_metric_are_those_of_the_persons_desks(wired: Wired) -> None:
    lamp, boots = await wired.opened("A lamp that broke"), await wired.opened("Boots that leak")
    await wired.cases.claim(boots, AGENT)
    assert "Open now: 2" in await wired.runs("/frontdesk metrics 14")
    workspace = wired.slack.workspace
    await wired.opens(AGENT)
    view = wired.view(AGENT)["id"]
    await workspace.act.click_view(AGENT, view, CASES_BUTTON, value=f"person/{AGENT}/7")
    async with asyncio.timeout(PATIENCE):
        while not workspace.modals.get(AGENT):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
    (dialog,) = workspace.modals.pop(AGENT)
    assert dialog["title"]["text"] == "1 case"
    assert boots in str(dialog["blocks"])
    assert lamp not in str(dialog["blocks"])
    # Who has left the team's channel sees nothing more.
    workspace.channels["C0AGENTS"].members.remove(AGENT)
    wired.clock.advance(61)
    await workspace.act.click_view(AGENT, view, CASES_BUTTON, value=f"person/{AGENT}/7")
    assert "support team" in await wired.runs("/frontdesk metrics", channel="C0SUPPORT")
    assert not workspace.modals.get(AGENT)


async def test_lists_and_the_tab_are_narrowed_to_a_tag_and_stay_so(wired: Wired) -> None:
    lamp, boots = await wired.opened("A lamp that broke"), await wired.opened("Boots that leak")
    await wired.cases.tag(lamp, AGENT, ["refund"])
    for line in ("/frontdesk cases tag:refund", "/frontdesk cases unassigned tag:refund"):
        listed = await wired.runs(line)
        assert (lamp in listed, boots in listed, "Refund" in listed) == (True, False, True), line
    assert await wired.runs("/frontdesk cases mine tag:vip") == "No cases (with me, VIP)."
    assert (await wired.runs("/frontdesk cases tag:lost")).endswith("no tag `lost`. Its tags: `refund`, `vip`.")
    assert boots in await wired.opens(AGENT)
    assert boots not in await wired.does(AGENT, "home.tag", "refund")
    assert boots not in await wired.does(AGENT, "home.view", "unassigned")
    narrowed = await wired.does(AGENT, "home.refresh")
    assert (lamp in narrowed, boots in narrowed) == (True, False)
    assert boots in await wired.does(AGENT, "home.tag", "*")


async def test_a_channel_is_silenced_and_speaks_again(wired: Wired) -> None:
    assert "now paused in <#C0SUPPORT>" in await wired.runs("/frontdesk pause <#C0SUPPORT|support>")
    assert "already paused in <#C0SUPPORT>" in await wired.runs("/frontdesk pause", channel="C0SUPPORT")
    assert "<#C0SUPPORT>" in await wired.opens(AGENT)
    assert "answers in <#C0SUPPORT> again" in await wired.runs("/frontdesk resume", channel="C0SUPPORT")
    assert "it wasn't paused" in await wired.runs("/frontdesk resume <#C0SUPPORT|>")


async def test_people_say_that_they_are_away_and_back(wired: Wired) -> None:
    assert "You're away until <!date" in await wired.runs("/frontdesk away 2h")
    assert await wired.runs("/frontdesk back") == "Welcome back."
    assert "`/frontdesk back` ends it" in await wired.runs("/frontdesk away")
    assert await wired.runs("/frontdesk back") == "Welcome back."
    assert await wired.runs("/frontdesk back") == "You weren't away."


@pytest.mark.parametrize(
    "line",
    [
        "/frontdesk away 0h",
        "/frontdesk away soon",
        "/frontdesk away 61d",
        "/frontdesk",
        "/frontdesk help",
        "/frontdesk search",
        "/frontdesk metrics 0",
        "/frontdesk cases theirs",
        "/frontdesk cases minetag:vip",
    ],
)
async def test_whatever_is_not_understood_is_answered_with_the_usage(wired: Wired, line: str) -> None:
    assert await wired.runs(line) == frontdesk.USAGE


async def test_the_command_is_for_staff(wired: Wired) -> None:
    assert "support team" in await wired.runs("/frontdesk cases", CUSTOMER.user, "C0SUPPORT")
