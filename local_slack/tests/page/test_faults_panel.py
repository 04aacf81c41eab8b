"""The faults menu: what it arms, and what it tells of it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest

from local_slack.faults import (
    DELIVERY_FAULTS,
    DISCONNECT_REASONS,
    NEW_SOCKET_FAULTS,
    SOCKET_FAULTS,
    CallFault,
    CallRule,
    Faults,
)
from local_slack.local import LocalApi
from local_slack.page import faults_panel
from local_slack.page.faults_panel import Breaking
from local_slack.tests.page import scene
from local_slack.tests.page.desk import Desk, open_desk
from local_slack.tests.page.reading import Reading


class Line:
    """Where the sockets are broken."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.broken: list[str] = []
        self.local: LocalApi | None = None

    def arm(self, given: dict[str, Any]) -> None:
        assert self.local is not None
        self.local.arm(given)


@asynccontextmanager
async def at_the_desk(line: Line) -> AsyncIterator[Desk]:
    async with open_desk(breaking=Breaking(line.faults, line.arm)) as desk:
        line.local = LocalApi(desk.workspace, line.faults, break_sockets=line.broken.append)
        yield desk


async def test_the_panel_offers_the_controls_that_are_served() -> None:
    async with at_the_desk(Line()) as desk:
        written = await (await desk.client.get("/", params=desk.query)).text()
    assert 'data-world="kill"' in written
    assert 'data-world="restart"' in written
    assert 'data-world="stop"' not in written


async def test_a_page_without_faults_has_no_menu_for_them() -> None:
    async with open_desk() as desk:
        assert 'data-panel="faults"' not in await (await desk.client.get("/", params=desk.query)).text()
        async with desk.visit() as visitor:
            await visitor.does("fault", fault={"deliveries": "drop"})
            await visitor.sees("done")


async def test_what_is_armed_is_said_and_happens_and_is_said_no_more() -> None:
    line = Line()
    async with at_the_desk(line) as desk, desk.visit() as visitor:
        await visitor.does("fault", fault={"method": "chat.update", "do": "429", "count": "3"})
        armed = Reading((await visitor.sees("fill", "faults-armed"))["html"]).words
        assert "The next 3 calls of chat.update are told to slow down (429)." in armed
        assert line.faults.calls == [CallRule("chat.update", "429", count=3, seconds=2)]
        await visitor.does("fault", fault={"deliveries": "duplicate", "count": "1"})
        armed = Reading((await visitor.sees("fill", "faults-armed"))["html"]).words
        assert "The next delivery arrives twice." in armed
        line.faults.take_delivery()
        desk.workspace.note("delivery", "message", detail={"fault": "duplicate"})
        assert "twice" not in (await visitor.sees("fill", "faults-armed"))["html"]
        await visitor.does("fault_clear")
        assert "everything works" in (await visitor.sees("fill", "faults-armed"))["html"]
    assert line.faults.calls == []


async def test_a_connection_is_cut_at_once() -> None:
    line = Line()
    async with at_the_desk(line) as desk, desk.visit() as visitor:
        await visitor.does("fault", fault={"sockets": "cut"})
        await visitor.sees("done")
    assert line.broken == ["cut"]


async def test_answers_break_off_only_while_there_are_some() -> None:
    async with at_the_desk(Line()) as desk, desk.visit() as visitor:
        await visitor.does("fault", fault={"stream": "*"})
        assert "can't be broken now" in (await visitor.sees("toast"))["text"]
        root = await desk.workspace.act.send(scene.CUSTOMER, scene.DM, "Where is it?")
        stream = scene.start(desk.workspace, scene.DM, root)
        await visitor.does("fault", fault={"stream": "*"})
        await visitor.sees("done")
    assert stream.state == "expired"


async def test_what_followed_is_told_newest_first() -> None:
    async with at_the_desk(Line()) as desk, desk.visit() as visitor:
        workspace = desk.workspace
        workspace.note("act", "kill")
        workspace.note("delivery", "sockets", detail={"open": 0})
        workspace.note("delivery", "sockets", detail={"open": 1})
        workspace.note("retry", "message", detail={})
        workspace.note("call", "chat.update", ok=False, detail={"fault": "500"})
        workspace.note("call", "chat.update", ok=False, detail={"fault": "500"})
        workspace.note("call", "chat.update", detail={})
        workspace.note("call", "chat.update", detail={})
        html = (await visitor.sees("fill", "faults-followed"))["html"]
    assert [Reading(each).words for each in re.findall(r"</time>(<span>.*?</span>)</li>", html)] == [
        "chat.update succeeded.",
        "chat.update failed: 500 × 2",
        "message was delivered again.",
        "Frontdesk is connected.",
        "Frontdesk is not connected.",
        "Frontdesk is killed.",
    ]


@pytest.mark.parametrize("fault", [{}, {"do": "nonsense"}, {"deliveries": "x"}, {"sockets": ""}, {"do": []}, []])
async def test_nonsense_arms_nothing(fault: object) -> None:
    line = Line()
    async with at_the_desk(line) as desk, desk.visit() as visitor:
        await visitor.does("fault", fault=fault)
        assert "could not do that" in (await visitor.sees("toast"))["text"]
    assert (line.faults.calls, +line.faults.deliveries, line.broken) == ([], {}, [])


def test_every_fault_has_its_words() -> None:
    assert set(faults_panel.DELIVERIES) == set(DELIVERY_FAULTS)
    assert set(faults_panel.SOCKETS) == {*NEW_SOCKET_FAULTS, *SOCKET_FAULTS, *DISCONNECT_REASONS}
    assert set(faults_panel.CALLS) >= set(get_args(CallFault))


def test_a_fault_that_was_armed_elsewhere_is_said_too() -> None:
    workspace, _ = scene.build_scene()
    faults = Faults()
    faults.calls.append(CallRule("chat.delete", "cant_delete_message", channel="D1"))
    faults.sockets["mute"] += 2
    words = Reading(faults_panel.draw(workspace, faults)["faults-armed"]).words
    assert "The next call of chat.delete in D1 is refused with cant_delete_message." in words
    assert "is not greeted, the next time (2 times)" in words
