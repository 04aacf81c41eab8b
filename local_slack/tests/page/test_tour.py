"""Journeys that play by themselves, watched without a browser."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from local_slack import agent_status, streams, views
from local_slack.page import guide
from local_slack.page.guide import Guide, Journey, Tour
from local_slack.page.loose import Json
from local_slack.tests.page import scene
from local_slack.tests.page.desk import Desk, Visitor, open_desk
from tests.patience import patience

CUSTOMER, AGENT, DM, AGENTS = scene.CUSTOMER, scene.AGENT, scene.DM, scene.AGENTS


async def _ask(hands: Guide) -> None:
    await hands.shows("left", CUSTOMER, DM)
    hands.tells("Somebody asks.")
    await hands.writes("left", "Where is <it>?")
    hands.tells("It is answered.")
    await hands.is_answered("left")
    await hands.writes("left", "Thanks")


async def _claim(hands: Guide) -> None:
    await hands.shows("right", AGENT, AGENTS)
    await hands.presses("right", "case.claim")


async def _resolve(hands: Guide) -> None:
    await hands.shows("right", AGENT, AGENTS)
    await hands.submits("right")


class Outage:
    """Takes something away and puts it back, whatever happens."""

    def __init__(self) -> None:
        self.is_on = asyncio.Event()
        self.is_over = asyncio.Event()

    async def play(self, hands: Guide) -> None:
        self.is_on.set()
        try:
            await hands.sees(lambda: False)
        finally:
            await asyncio.sleep(0)
            self.is_over.set()


OUTAGE = Outage()


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    OUTAGE.__init__()  # type: ignore[misc]
    journeys = (
        Journey("ask", "A question", "The <answer> in the thread.", _ask),
        Journey("claim", "A claim", "The card.", _claim),
        Journey("resolve", "An end", "The dialog.", _resolve),
        Journey("outage", "An outage", "The light.", OUTAGE.play),
    )
    async with open_desk(tour=Tour(journeys, "In two minutes", pace=0)) as opened:
        yield opened


async def played(visitor: Visitor, name: str) -> str:
    """The strip when a journey is through."""
    while True:
        html: str = (await visitor.sees("fill", "tour-journeys"))["html"]
        if f'data-name="{name}" data-state="played"' in html:
            return html


async def test_a_page_without_journeys_offers_none() -> None:
    async with open_desk() as desk:
        written = await (await desk.client.get("/", params=desk.query)).text()
        assert 'data-panel="tour"' not in written
        async with desk.visit() as visitor:
            await visitor.does("tour")
            await visitor.sees("done")


async def test_a_journey_is_what_the_person_would_have_done(desk: Desk) -> None:
    async with desk.visit(left=f"U0CUSTOMERB:{scene.SUPPORT}") as visitor:
        await visitor.does("tour", name="ask")
        assert "The &lt;answer&gt; in the thread." in (await visitor.sees("fill", "tour-journeys"))["html"]
        await visitor.sees("type")
        while not desk.workspace.messages.get(DM):
            await visitor.sees("fill")
        (root,) = desk.workspace.messages[DM]
        agent_status.set_status(desk.workspace, DM, root, "is looking that up...", [])
        stream = scene.start(desk.workspace, DM, root)
        streams.grow(desk.workspace, stream, [scene.markdown("On its way")])
        streams.finish(desk.workspace, stream, "completed")
        await played(visitor, "ask")
    said = list(desk.workspace.messages[DM].values())
    assert [each["text"] for each in said if each.get("user") == CUSTOMER] == ["Where is &lt;it&gt;?", "Thanks"]
    assert {each["thread_ts"] for each in said} == {root}


async def test_a_journey_presses_what_came_after_its_beginning(desk: Desk) -> None:
    scene.post(desk.workspace, AGENTS, blocks=scene.case_card(0))
    async with desk.visit() as visitor:
        await visitor.does("tour", name="claim")
        await visitor.sees("front")
        newer = scene.post(desk.workspace, AGENTS, blocks=scene.case_card(0))
        assert (await visitor.sees("point"))["ts"] == newer
        await desk.app.hears(1)
    ((_, payload),) = desk.app.interactions
    assert (payload["user"]["id"], payload["message"]["ts"]) == (AGENT, newer)


async def test_a_journey_submits_the_dialog_that_is_open_as_it_is(desk: Desk) -> None:
    async with desk.visit() as visitor:
        await visitor.does("tour", name="resolve")
        await visitor.sees("front")
        ticks = scene.MODAL | {"blocks": scene.MODAL["blocks"][2:]}
        view = views.show(desk.workspace, AGENT, ticks, on_top=False)
        await desk.app.hears(1)
    ((_, payload),) = desk.app.interactions
    assert (payload["type"], payload["user"]["id"], payload["view"]["id"]) == ("view_submission", AGENT, view["id"])


async def test_a_journey_that_is_broken_off_puts_back_what_it_took(desk: Desk) -> None:
    async with desk.visit() as visitor:
        await visitor.does("tour", name="outage")
        await OUTAGE.is_on.wait()
        await visitor.does("tour_stop")
        await visitor.sees("done")
        assert (await visitor.sees("done"))["n"] == 2
        assert OUTAGE.is_over.is_set()


async def test_a_journey_ends_with_its_page(desk: Desk) -> None:
    async with desk.visit() as visitor:
        await visitor.does("tour", name="outage")
        await OUTAGE.is_on.wait()
    async with asyncio.timeout(patience(10)):
        await OUTAGE.is_over.wait()


async def test_a_journey_that_waits_in_vain_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "PATIENCE_SECONDS", 0.05)
    async with desk.visit() as visitor:
        await visitor.does("tour", name="outage")
        told: Json = {"html": ""}
        while "longer than it should" not in told["html"]:
            told = await visitor.sees("fill", "tour-told")
