"""The search for cases in a local Slack: what people type or choose, and what they see."""

import asyncio
import json
from datetime import date
from typing import Any

import pytest

from bot.cases.cases import Cases
from bot.cases.hours import Hours
from bot.cases.staff import STAFF_CACHE_PERIOD, Staff
from bot.clock import DAY
from bot.conversation import ThreadRef
from bot.desk_file.model import DeskFile
from bot.home import search as searching
from bot.home.search import MAX_PAGES, CaseSearch, Place
from bot.home.search_terms import MOST_CHARACTERS, STATES, TERMS, NotUnderstood, Terms, read_terms, typed_as
from bot.home.staff_commands import Overview
from bot.slack.blocks import labels_in
from bot.store.case_search import CaseQuery
from bot.store.cases import OPEN_STATES
from bot.store.database import Database
from bot.views import dialogs, queue_cards
from handlers import frontdesk, search
from handlers.desk import Desk
from local_slack.blocks import view_faults
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import Door, wire
from tests.patience import patience
from tests.turns.answering import CUSTOMER, NOTHING, build_answers
from tests.turns.arrivals import TEAM

AGENT, OTHER = "U0AGENTA", "U0AGENTB"
PATIENCE = patience(20.0)
DESK = DeskFile.model_validate({"cases": {"tags": {"refund": {"label": "Refund"}}}})
BERLIN = Hours(zone="Europe/Berlin")


def read(text: str) -> Terms:
    return read_terms(text, user=AGENT, tags=DESK.cases.tags, hours=BERLIN)


def test_words_and_terms_are_told_apart() -> None:
    begun = BERLIN.start_of(date(2026, 11, 1))
    misses = [
        (text, found)
        for text, expected in (
            ("lamp broken", CaseQuery(words=("lamp", "broken"))),
            ("“money back” 10:30 http://x.y", CaseQuery(words=("money back", "10:30", "http://x.y"))),
            ('"state:open"', CaseQuery(words=("state:open",))),
            ("State:OPEN tag:refund", CaseQuery(states=OPEN_STATES, tag="refund")),
            ("from:<@U0CUSTOMERA|someone> owner:me", CaseQuery(customer="U0CUSTOMERA", owner=AGENT)),
            ("owner:none", CaseQuery(owner="")),
            ("owner:<@U0AGENTB>", CaseQuery(owner=OTHER)),
            (
                "since:2026-11-01 until:2026-11-01",
                CaseQuery(since=begun, before=begun + DAY),
            ),
        )
        if (found := read(text).query) != expected
    ]
    assert misses == []
    assert read("desk:<#C0BILLING|billing> lamp") == Terms(CaseQuery(words=("lamp",)), "C0BILLING")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["Write what to search for."]),
        ("colour:red", ["`colour:` is unknown. There are `state:`, `tag:`"]),
        ("state:broken", ["`state:broken` is unknown. There is `open`"]),
        ("tag:<b>", ["`tag:&lt;b&gt;` is unknown. There is `refund`"]),
        ("from:someone owner:@agent", ["`from:` needs a person", "`owner:` needs a person"]),
        ("desk:billing", ["`desk:` needs a channel"]),
        ("since:1.11.2026", ["`since:1.11.2026` is no date such as `since:2026-11-01`."]),
        ("until:9999-12-31", ["`until:9999-12-31` is no date"]),
        ("since:2026-11-02 until:2026-11-01", ["`since:` is later"]),
        ("tag: refund", ["`tag:` needs a value"]),
        ("tag:refund tag:refund", ["`tag:` is there twice."]),
        ("a b c d e f g h i", ["At most 8 words"]),
        ("x" * (MOST_CHARACTERS + 1), ["The search is too long"]),
    ],
)
def test_whatever_is_not_understood_is_said(text: str, faults: list[str]) -> None:
    with pytest.raises(NotUnderstood) as raised:
        read(text)
    assert [told.startswith(fault) for told, fault in zip(raised.value.faults, faults, strict=True)] == [True] * len(
        faults
    )


def test_what_the_dialog_asks_is_what_can_be_typed() -> None:
    view = dialogs.search(about="about", tags=DESK.cases.tags)
    assert view_faults(view) == []
    asked = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    assert asked == {"words", *TERMS} - {"desk"}
    assert dialogs.SEARCHED_STATES.keys() == STATES.keys()
    filled = {"words": "lamp", "from": "U0CUSTOMERA", "owner": "", "state": "open", "since": "2026-11-01"}
    typed = typed_as(filled)
    assert typed == "state:open from:<@U0CUSTOMERA> since:2026-11-01 lamp"
    assert read(typed).query.customer == "U0CUSTOMERA"


@pytest.mark.parametrize("value", ["", "[]", "[1]", '["x", "1"]', '["x", true]', '["x", -1]', '["x"', "null"])
def test_a_place_that_is_none_of_ours_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Place.of(value)


def test_a_button_can_hold_the_last_page_of_the_longest_search() -> None:
    place = Place("ä" * MOST_CHARACTERS)
    for _ in range(MAX_PAGES - 1):
        place = place.next(9_999_999)
    assert len(str(place)) < 2_000
    assert Place.of(str(place)) == place
    with pytest.raises(ValueError, match="one of ours"):
        Place.of(str(place.next(1)))


class Wired(Door):
    """A workspace with the search behind its command, its buttons and its dialog."""

    def __init__(self, slack: LocalSlack, cases: Cases, clock: ManualClock) -> None:
        self.slack, self.cases, self.clock = slack, cases, clock

    async def opened(self, text: str, channel: str = "D0CUSTOMERA") -> str:
        """A case of Customer A's about this; its number."""
        thread = ThreadRef(TEAM, channel, await self.slack.client.chat.post(channel, text="root"))
        return (await self.cases.open(thread, CUSTOMER, reason="upset", priority="high", subject=text)).ref

    async def sees(self, user: str, before: int) -> Json:
        """What the person alone sees next."""
        workspace = self.slack.workspace
        async with asyncio.timeout(PATIENCE):
            while len(workspace.ephemerals) == before:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        found: Json = workspace.ephemerals[-1]
        assert found["user"] == user
        return found

    async def runs(self, line: str, user: str = AGENT, channel: str = "C0AGENTS") -> Json:
        """Run a command; what only its author sees."""
        before = len(self.slack.workspace.ephemerals)
        await self.slack.workspace.act.command(user, channel, line)
        return await self.sees(user, before)

    async def turns(self, shown: Json, action: str, *, user: str = AGENT) -> Json:
        """Press a button below a page; what the message shows then."""
        workspace, text = self.slack.workspace, shown["text"]
        await workspace.act.click(user, "C0AGENTS", shown["ts"], action)
        async with asyncio.timeout(PATIENCE):
            while (now := next(each for each in workspace.ephemerals if each["ts"] == shown["ts"]))["text"] == text:
                await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return now


@pytest.fixture
async def wired(database: Database, slack: LocalSlack, monkeypatch: pytest.MonkeyPatch) -> Wired:
    monkeypatch.setattr(searching, "PAGE", 2)
    client, clock = slack.client, ManualClock()
    answers, me = build_answers(database, client, clock), await client.api.auth()
    wired = Wired(slack, answers.cases, clock)
    staff = Staff(client.directory, clock, agent_channel="C0AGENTS")
    overview = Overview(me, database, clock, Hours(), NOTHING, NOTHING, lambda: DESK)

    def register(app: Any, desk: Desk) -> None:
        frontdesk.register(app, desk)
        search.register(app, desk)

    await wire(
        slack,
        register,
        staff=staff,
        search=CaseSearch(me, database, Hours(), staff, lambda: DESK),
        overview=overview,
        inbox=wired,
        dialogs=NOTHING,
    )
    return wired


async def test_pages_of_what_is_found_lead_on_and_back(wired: Wired) -> None:
    refs = [await wired.opened(f"Lamp {number}") for number in range(3)]
    first = await wired.runs("/frontdesk search LAMP")
    assert (refs[2] in first["text"], refs[1] in first["text"], refs[0] in first["text"]) == (True, True, False)
    assert labels_in(first["blocks"]) == ["Next", "Choose cases…"]
    second = await wired.turns(first, "search.next")
    assert (refs[0] in second["text"], refs[1] in second["text"], "page 2" in second["text"]) == (True, False, True)
    assert labels_in(second["blocks"]) == ["Previous", "Choose cases…"]
    assert (await wired.turns(second, "search.previous"))["text"] == first["text"]


async def test_what_is_not_found_or_not_understood_is_said_to_the_person_alone(wired: Wired) -> None:
    assert (await wired.runs("/frontdesk search unicorn"))["text"] == "No cases found for “unicorn”."
    assert "`colour:` is unknown" in (await wired.runs("/frontdesk search colour:red"))["text"]
    assert "is none of your desks" in (await wired.runs("/frontdesk search desk:<#C0OTHER|other>"))["text"]
    assert "support team" in (await wired.runs("/frontdesk search lamp", CUSTOMER.user, "C0SUPPORT"))["text"]
    ref = await wired.opened("Lamp")
    assert (
        ref in (await wired.runs(f"/frontdesk search from:<@{CUSTOMER.user}|someone> desk:<#C0AGENTS|agents>"))["text"]
    )


async def test_each_page_asks_slack_anew_who_is_staff(wired: Wired) -> None:
    for number in range(3):
        await wired.opened(f"Lamp {number}")
    first = await wired.runs("/frontdesk search lamp")
    await wired.slack.breaks(method="conversations.members", do="internal_error", count=9)
    wired.clock.advance(2 * STAFF_CACHE_PERIOD)
    before = len(wired.slack.workspace.ephemerals)
    await wired.slack.workspace.act.click(AGENT, "C0AGENTS", first["ts"], "search.next")
    refused = await wired.sees(AGENT, before)
    assert ("support team" in refused["text"], "Lamp" in refused["text"]) == (True, False)


def test_the_queue_has_a_button_for_it() -> None:
    assert queue_cards.SEARCH in json.dumps(queue_cards.queue_message([], links={}).blocks)
