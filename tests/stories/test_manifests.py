"""Each manifest is installed and played: what it subscribes to arrives, and what the app listens to is called."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from bot.store.persons import REQUEST
from demo.slack.manifest import read_manifest
from demo.world import ROOT
from tests.contracts.test_manifest import registered
from tests.patience import patience
from tests.stories.stage import Stage
from tests.stories.world import Json, Person, Seen, World, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOT_PLAYED = frozenset({"message.groups"})
"""Subscriptions that the journeys below fire under another name: a private channel is a channel."""
QUESTION = "How many days do I have to return an item?"


@dataclass
class Played:
    """A world under one manifest, after its journeys."""

    name: str
    world: World
    config: Json
    fired: set[str] = field(default_factory=set)
    called: dict[str, set[str]] = field(default_factory=dict)

    async def look(self) -> None:
        """Read from the workspace's log what was delivered."""
        for entry in await self.world.log("delivery"):
            payload = (entry["detail"] or {}).get("payload") or {}
            event = payload.get("event") or {}
            if event:
                kind = str(event.get("channel_type"))
                kinds = {"im": "message.im", "channel": "message.channels", "group": "message.groups"}
                self.fired.add(kinds.get(kind, "message") if event["type"] == "message" else event["type"])
                self.note("event", event["type"])
            for action in payload.get("actions") or ():
                self.note("action", action["action_id"])
            if "command" in payload:
                self.note("command", payload["command"])
            if payload.get("type") in ("message_action", "shortcut"):
                self.note("shortcut", payload["callback_id"])
            if payload.get("type") == "view_submission":
                self.note("view", payload["view"]["callback_id"])

    def note(self, kind: str, name: str) -> None:
        self.called.setdefault(kind, set()).add(name)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["manifest.yml", "manifest.guests.yml"])
async def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stage: Stage
) -> AsyncIterator[Played]:
    manifest = ROOT / request.param
    if stage.in_fleet:
        pytest.skip("a fleet is installed with the same manifest")
    async with stage.open_world(tmp_path_factory.mktemp("world"), manifest=manifest) as world:
        played = Played(request.param, world, read_manifest(Path(manifest)))
        is_agent = played.config["kind"] == "agent"
        await play(world, world.customer if is_agent else world.guest, is_agent=is_agent)
        await played.look()
        yield played


async def play(world: World, customer: Person, *, is_agent: bool) -> None:
    """The journeys of a customer, of staff, and of what each manifest has beside them."""
    await world.act("open_dm_tab", {"user": customer.user})
    await world.act("open_home", {"user": customer.user})
    await world.until(lambda state: customer.user in state["homes"] or None, what="the Home tab")

    asked = await customer.says(QUESTION)
    answer = await customer.reads(asked, having=lambda seen: "30 days" in seen.text)
    await customer.presses(answer, "esc.customer")
    card = await world.card_of(asked)
    await world.staff.presses(card, "case.claim")
    await customer.reads(asked, having=lambda seen: "joined" in seen.text)
    await world.staff.says("I am on it.", to=card)
    await customer.reads(asked, having=lambda seen: "I am on it." in seen.text)
    await world.staff.resolves(await with_button(world, card, "case.resolve"))

    mentioned = await customer.says(f"<@U0FRONTDESK> {QUESTION}", to="C0SUPPORT")
    shown = await customer.reads(mentioned, having=lambda seen: "30 days" in seen.text)
    others = await world.other_customer.says("My lamp is broken", to="C0SUPPORT")
    for callback, channel, ts in (("case.escalate", others.channel, others.ts), ("kb.add", shown.channel, shown.ts)):
        await world.act("message_shortcut", {"user": "U0AGENTA", "channel": channel, "ts": ts, "callback_id": callback})
    await world.staff.runs("/kb status")
    await world.staff.runs("/frontdesk cases")
    if is_agent:
        running = await customer.says("Where is ORD-12345?")
        await world.act("stop", {"user": customer.user, "channel": running.channel, "thread_ts": running.ts})
        await customer.reads(running, having=lambda seen: "stopped" in seen.text)


async def with_button(world: World, card: Seen, action_id: str) -> Seen:
    """The card as soon as it has the button."""

    def find(state: Json) -> Seen | None:
        shown = (seen for seen in seen_in(state, card.channel) if seen.ts == card.ts)
        return next((seen for seen in shown if action_id in seen.buttons), None)

    return await world.until(find, what=action_id, channel=card.channel)


async def test_every_subscription_fires(played: Played) -> None:
    never = set(played.config["events"]) - played.fired - NOT_PLAYED
    assert not never, f"{played.name}: subscriptions that never fired"


async def test_every_handler_is_called_that_the_manifest_has_something_for(played: Played) -> None:
    offered = {
        "event": {event.partition(".")[0] for event in played.config["events"]},
        "command": {command["command"] for command in played.config["commands"]},
        "shortcut": {shortcut["callback_id"] for shortcut in played.config["shortcuts"]},
    }
    app = registered()
    for kind, names in offered.items():
        heard = played.called.get(kind, set())
        assert heard >= names, f"{played.name}: {kind} handlers never called"
        idle = app.named(kind) - heard
        assert not idle or (kind, played.config["kind"]) == ("event", "plain"), f"{played.name}: {kind}: {idle}"


async def test_the_home_tab_holds_what_customers_need_under_each_manifest(played: Played) -> None:
    customer = played.world.customer if played.config["kind"] == "agent" else played.world.guest
    home = str((await played.world.state())["homes"][customer.user])
    assert "home.language" in home
    assert REQUEST in home


async def test_only_an_agent_has_sessions_and_prompts(played: Played) -> None:
    state = await played.world.state()
    is_agent = played.config["kind"] == "agent"
    assert bool(state["sessions"]) is is_agent
    assert bool(state["prompts"]) is is_agent
    refused = [entry["name"] for entry in await played.world.log("call") if not entry["ok"]]
    if not is_agent:
        assert refused.count("agents.sessions.setStatus") == 1, "not asked for again and again"
        assert refused.count("assistant.threads.setSuggestedPrompts") <= 1


async def test_no_session_looks_busy_at_the_end(played: Played) -> None:
    async with asyncio.timeout(patience(60)):
        while any(each["status"] == "processing" for each in (await played.world.state())["sessions"]):
            await played.world.next_change()
