"""Which cases the staff of several desks see on the Home tab and by commands, in a local Slack."""

from dataclasses import replace
from typing import Any, cast

import pytest

from bot.cases.availability import Availability
from bot.cases.dialogs import NO_SUCH_CASE
from bot.cases.hours import Hours
from bot.cases.staff import Staff
from bot.desk.identity import Identities
from bot.home.home import Home
from bot.home.search import CaseSearch
from bot.home.staff_commands import Overview
from bot.reporting.desk_metrics import DeskMetrics
from bot.store import cases
from bot.store.database import Database
from handlers import commands, frontdesk, home
from handlers.desk import Desk
from local_slack.workspace import Channel
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.test_home import Shelf, Wired
from tests.handlers.wiring import wire
from tests.turns.answering import CUSTOMER, build_answers

BILLING = "C0BILLING"
FIRST, SECOND, BOTH = "U0AGENTA", "U0AGENTB", "U0CUSTOMERB"
MATTERS = {"lamp": "", "invoice": BILLING, "boots": "C0CLOSED"}
"""What cases are about, and where their cards stand; of the last desk nobody is any more."""

sees = pytest.mark.parametrize(
    ("user", "matters"),
    [
        pytest.param(FIRST, {"lamp", "boots"}, id="the first desk"),
        pytest.param(SECOND, {"invoice"}, id="another desk"),
        pytest.param(BOTH, {"lamp", "invoice", "boots"}, id="both"),
    ],
)


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Wired:
    """Two desks, and a case at each and at one that there was."""
    channels = slack.workspace.channels
    channels["C0AGENTS"].members[:] = [FIRST, BOTH, "U0FRONTDESK"]
    channels[BILLING] = Channel(BILLING, "billing", is_private=True, members=[SECOND, BOTH, "U0FRONTDESK"])
    client, clock = slack.client, ManualClock()
    answers, me = build_answers(database, client, clock), await client.api.auth()
    wired = Wired(slack, answers.cases, clock)
    staff = Staff(client.directory, clock, agent_channel="C0AGENTS", others=[BILLING])
    identities = Identities(client.directory, None, database)
    shelf = cast(Any, Shelf())
    metrics = DeskMetrics(me, database, clock, Hours())
    parts: dict[str, Any] = {
        "staff": staff,
        "identities": identities,
        "home": Home(
            me, client.views, database, clock, answers.sentences, identities, staff, shelf, Hours(), metrics.show
        ),
        "overview": Overview(
            me, database, clock, Hours(), Availability(database, slack.client.directory, clock), metrics.show
        ),
        "metrics": metrics,
        "search": CaseSearch(me, database, Hours(), staff),
        "library": shelf,
        "cases": answers.cases,
        "start": wired.start,
        "inbox": wired,
    }

    def register(app: Any, desk: Desk) -> None:
        for each in (home, frontdesk, commands):
            each.register(app, desk)

    await wire(slack, register, **parts)
    for matter, channel in MATTERS.items():
        case = await answers.cases.find(await wired.opened(f"About a {matter}"))
        async with database.transaction() as tx:
            assert await cases.change(tx, case, replace(case, desk=channel)) is not None
    return wired


def told_of(text: str) -> set[str]:
    return {matter for matter in MATTERS if f"About a {matter}" in text}


@sees
async def test_the_home_tab_shows_the_cases_of_the_persons_desks(wired: Wired, user: str, matters: set[str]) -> None:
    seen = await wired.opens(user)
    assert told_of(seen) == matters
    assert f"{len(matters)} waiting" in seen
    assert f"*Open now*\\n*{len(matters)}*" in seen


@sees
async def test_a_command_tells_of_the_cases_of_the_persons_desks(wired: Wired, user: str, matters: set[str]) -> None:
    misses = [
        (line, told)
        for line in ["cases", "search about"]
        if (told := told_of(await wired.runs(f"/frontdesk {line}", user, "C0SUPPORT"))) != matters
    ]
    assert misses == []


@sees
@pytest.mark.parametrize("matter", MATTERS)
async def test_an_article_is_suggested_from_a_case_of_the_persons_desks_alone(
    wired: Wired, user: str, matters: set[str], matter: str
) -> None:
    ref = f"FD-{1001 + list(MATTERS).index(matter)}"
    if matter not in matters:
        assert await wired.runs(f"/kb suggest {ref}", user, "C0SUPPORT") == NO_SUCH_CASE
        assert not wired.stored
        return
    await wired.slack.workspace.act.command(user, "C0SUPPORT", f"/kb suggest {ref}")
    await wired.is_done()
    assert [interaction.interaction.value for interaction in wired.stored] == [ref]


async def test_a_case_that_there_is_not_reads_as_one_of_another_desk(wired: Wired) -> None:
    assert await wired.runs("/kb suggest FD-9999", SECOND, "C0SUPPORT") == NO_SUCH_CASE


async def test_the_knowledge_base_is_every_desks(wired: Wired) -> None:
    assert await wired.runs("/kb status", SECOND, "C0SUPPORT") == "Generation 1 serves."
    assert "support team" in await wired.runs("/kb status", CUSTOMER.user, "C0SUPPORT")


async def test_while_slack_does_not_say_who_is_at_one_desk_its_cases_are_nobodys(wired: Wired) -> None:
    await wired.slack.breaks(method="conversations.members", do="internal_error", count=9)
    assert "support team" in await wired.runs("/frontdesk cases", SECOND, "C0SUPPORT")
