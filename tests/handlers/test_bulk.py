"""Several cases at once in a local Slack: from a list over the dialogs to what is stored."""

import asyncio
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp

from bot.cases.bulk import Bulk
from bot.cases.dialogs import Dialogs
from bot.cases.hours import Hours
from bot.cases.staff import Staff
from bot.home.search import CaseSearch
from bot.home.staff_commands import Overview
from bot.store.database import Database
from bot.store.inbox import Arrival
from handlers import bulk, dialogs, frontdesk
from handlers.desk import Desk
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.test_search import AGENT, DESK, PATIENCE, Wired
from tests.handlers.wiring import wire
from tests.turns.answering import NOTHING, build_answers


class Changing(Wired):
    """A workspace with lists of cases, from which several can be changed."""

    stored: list[Arrival]

    async def accept(self, arrival: Arrival) -> None:
        """As Inbox.accept."""
        self.stored.append(arrival)

    async def dialog(self, callback_id: str) -> Json:
        """The dialog that Agent A sees, once it is this one."""
        workspace = self.slack.workspace
        async with asyncio.timeout(PATIENCE):
            while not (views := workspace.modals.get(AGENT)) or views[-1]["callback_id"] != callback_id:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        view: Json = views[-1]
        return view

    async def chooses(self, refs: list[str], what: str) -> Any:
        """Press the button below a list, and fill in the first dialog; what Slack is told."""
        listed = await self.runs("/frontdesk cases")
        await self.slack.workspace.act.click(AGENT, "C0AGENTS", listed["ts"], "queue.choose")
        view = await self.dialog("choose.cases")
        state = {"cases": {"cases": refs}, "what": {"what": what}}
        return await self.slack.workspace.act.submit_view(AGENT, view["id"], state)


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Changing:
    client, clock = slack.client, ManualClock()
    answers, me = build_answers(database, client, clock), await client.api.auth()
    wired = Changing(slack, answers.cases, clock)
    wired.stored = []
    staff = Staff(client.directory, clock, agent_channel="C0AGENTS")

    def register(app: AsyncApp, desk: Desk) -> None:
        for each in (frontdesk, bulk, dialogs):
            each.register(app, desk)

    await wire(
        slack,
        register,
        staff=staff,
        search=CaseSearch(me, database, Hours(), staff),
        overview=Overview(me, database, clock, Hours(), NOTHING, NOTHING, lambda: DESK),
        bulk=Bulk(answers.cases, NOTHING, staff),
        dialogs=Dialogs(client.chat, client.views, answers.cases),
        inbox=wired,
    )
    return wired


async def test_the_number_is_shown_before_anything_happens_and_then_stored_as_one_press(wired: Changing) -> None:
    first, second, third = [await wired.opened(f"Lamp {number}") for number in range(3)]
    assert (await wired.chooses([first, third], "spam")).ok
    view = await wired.dialog("submit.cases")
    assert "*2 cases* to close as spam" in str(view["blocks"])
    assert (first in str(view), second in str(view), third in str(view)) == (True, False, True)
    assert wired.stored == []
    await wired.slack.workspace.act.submit_view(AGENT, view["id"], {})
    (press,) = wired.stored
    versions = [f"{ref}/{(await wired.cases.find(ref)).version}" for ref in (first, third)]
    assert (press.interaction.action, press.interaction.value) == ("submit.cases", " ".join(["spam", *versions]))
    assert (await wired.cases.find(first)).state == "waiting"


async def test_what_does_not_fit_a_case_is_said_before_it_happens(wired: Changing) -> None:
    waiting, claimed = await wired.opened("Lamp"), await wired.opened("Boots")
    await wired.cases.claim(claimed, AGENT)
    assert (await wired.chooses([waiting, claimed], "resolve")).ok
    view = await wired.dialog("submit.cases")
    assert "*1 case* to resolve" in str(view["blocks"])
    assert f"Left as they are: {waiting} (not claimed)" in str(view["blocks"])


async def test_a_choice_that_fits_none_of_the_cases_keeps_the_dialog_open(wired: Changing) -> None:
    waiting = await wired.opened("Lamp")
    refused = await wired.chooses([waiting], "resolve")
    assert "errors" in str(refused.payload)
    assert (await wired.dialog("choose.cases"))["callback_id"] == "choose.cases"
