"""Each manifest is installed and played: what it subscribes to arrives, and what the app listens to is called."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from bot.language.sentences import load_sentences
from bot.store.persons import REQUEST
from demo.world import ROOT
from local_slack.manifest import read_manifest
from tests.contracts.test_manifest import registered
from tests.patience import patience
from tests.stories.stage import Stage
from tests.stories.world import Json, Person, Seen, World, seen_in

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOT_PLAYED = frozenset(
    {
        *("act.again", "act.no", "act.undo", "act.was_done", "act.was_not", "act.yes"),
        *("appr.change", "appr.no", "appr.take", "appr.yes"),
        *(
            "case.draft",
            "case.handback",
            "case.assign",
            "case.await",
            "case.customer",
            "case.join",
            "case.later",
            "case.more",
            "case.prepare",
            "case.reopen",
            "case.saved",
            "case.snooze",
            "case.tags",
            "case.takeover",
            "case.unassign",
            "case.wake",
        ),
        *("csat.words", "submit.csat"),
        *("draft.edit", "draft.send"),
        *("esc.accept", "esc.cancel", "esc.decline", "esc.keep", "esc.undo", "esc.urgent", "esc.wait"),
        *("fix.done", "fix.write"),
        *("home.refresh", "home.tag", "home.view", "metrics.cases"),
        *("queue.choose", "queue.filter", "queue.next", "queue.search"),
        *("search.next", "search.previous"),
        *("kb.discard", "kb.edit", "kb.new", "kb.progress", "kb.suggest", "kb.update"),
        *("relay.claim_send", "relay.edit", "relay.join_send", "relay.note", "relay.send"),
        *(
            "choose.cases",
            "choose.change",
            "choose.saved",
            "submit.amount",
            "submit.article",
            "submit.assign",
            "submit.cases",
            "submit.change",
            "submit.draft",
            "submit.edit",
            "submit.handback",
            "submit.later",
            "submit.merge",
            "submit.priority",
            "submit.refusal",
            "submit.saved",
            "submit.search",
            "submit.spam",
            "submit.tags",
            "submit.transfer",
        ),
    }
)
"""Buttons and dialogs that the journeys below do without: no manifest concerns one of them, and other tests press
them. The entries of the card's menu, `case.more.*`, arrive as `case.more`."""
GUEST = "U0GUEST"
QUESTION = "How many days do I have to return an item?"


@dataclass
class Played:
    """A world under one manifest, after its journeys."""

    name: str
    world: World
    config: Json
    fired: set[str] = field(default_factory=set)
    called: dict[str, set[str]] = field(default_factory=dict)
    heard_of_guest: set[tuple[str, str]] = field(default_factory=set)
    """What arrived of a guest's doing, and from which channel; "" where that is a tab or a dialog."""

    async def look(self) -> None:
        """Read from the workspace's log what was delivered."""
        for entry in await self.world.log("delivery"):
            payload = (entry["detail"] or {}).get("payload") or {}
            event = payload.get("event") or {}
            if GUEST in (event.get("user"), payload.get("user_id"), (payload.get("user") or {}).get("id")):
                place = payload.get("channel") or {}
                channel = event.get("channel") or payload.get("channel_id") or place.get("id", "")
                self.heard_of_guest.add((event.get("type") or payload.get("type") or "command", channel))
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
        customer = world.customer if is_agent else world.guest
        await play(world, customer, is_agent=is_agent)
        if is_agent:
            await play_closed(world)
        await play_order(world, to="C0SUPPORT" if is_agent else world.guest.direct)
        await play_home(world, customer)
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


async def play_closed(world: World) -> None:
    """What a guest can do with an app that is closed to them: ask it in a channel, where people can be called too."""
    guest = world.guest
    asked = await guest.says(f"<@U0FRONTDESK> {QUESTION}", to="C0SUPPORT")
    answer = await guest.reads(asked, having=lambda seen: "30 days" in seen.text)
    in_channel = {"user": guest.user, "channel": asked.channel}
    pressed = {"ts": answer.ts, "action_id": "esc.customer", "value": answer.buttons["esc.customer"]}
    over = {"channel": asked.channel, "ts": asked.ts, "callback_id": "case.escalate"}
    uses = {
        "open_home": {"user": guest.user},
        "open_dm_tab": {"user": guest.user},
        "send": {"user": guest.user, "channel": guest.direct, "text": QUESTION},
        "command": in_channel | {"command": "/frontdesk", "text": "cases"},
        "message_shortcut": in_channel | over,
        "click": in_channel | pressed,
    }
    refused = {what: await world.refusal(what, body) for what, body in uses.items()}
    assert refused == dict.fromkeys(uses, "user_is_restricted")

    await world.act("message_shortcut", {"user": world.staff.user, **over})
    card = await world.card(having=guest.user)
    await world.staff.presses(card, "case.claim")
    await guest.reads(asked, having=lambda seen: "joined" in seen.text)
    await world.staff.says("It is 30 days, as it says.", to=card)
    await guest.reads(asked, having=lambda seen: "as it says" in seen.text)
    await world.staff.resolves(await with_button(world, card, "case.resolve"))
    await guest.reads(asked, having=lambda seen: "csat.5" in seen.buttons)
    told = [seen.text for seen in await world.replies(asked)]
    assert len(set(told)) == len(told), "said twice"


async def play_order(world: World, *, to: str) -> None:
    """A guest asks for an order that is theirs at the shop, and is told nothing of it."""
    asked = await world.guest.says("<@U0FRONTDESK> Where is my order ORD-33333?", to=to)
    answer = await world.guest.reads(asked)
    assert "ORD-33333" in str(await world.model_requests()), "asked of the model"
    for known in ("Head torch", "RR123456785AT", "Graz"):
        assert known not in answer.text


async def play_home(world: World, customer: Person) -> None:
    """A customer chooses a language at the Home tab, and then has everything deleted."""
    say = load_sentences().say

    def german(state: Json) -> Json | None:
        view: Json = state["homes"][customer.user]
        return view if say("de", "home_language") in str(view) else None

    view = (await world.state())["homes"][customer.user]
    here = {"user": customer.user, "view_id": view["id"]}
    await world.act("click_view", here | {"action_id": "home.language", "value": "de"})
    view = await world.until(german, what="a Home tab in German")
    await world.act("click_view", here | {"view_id": view["id"], "action_id": REQUEST})

    def is_told(state: Json) -> bool | None:
        return any(say("de", "erased") in seen.text for seen in seen_in(state, customer.direct)) or None

    await world.until(is_told, what="the end of an erasure", channel=customer.direct)


async def with_button(world: World, card: Seen, action_id: str) -> Seen:
    """The card as soon as it has the button."""

    def find(state: Json) -> Seen | None:
        shown = (seen for seen in seen_in(state, card.channel) if seen.ts == card.ts)
        return next((seen for seen in shown if action_id in seen.buttons), None)

    return await world.until(find, what=action_id, channel=card.channel)


async def test_every_subscription_fires(played: Played) -> None:
    never = set(played.config["events"]) - played.fired
    assert not never, f"{played.name}: subscriptions that never fired"


async def test_every_handler_is_called(played: Played) -> None:
    app = registered()
    never = {name for kind in app.registered for name in app.named(kind) - played.called.get(kind, set())}
    assert never == NOT_PLAYED, f"{played.name}: handlers never called, or played after all"


async def test_what_the_manifest_offers_is_used(played: Played) -> None:
    offered = {
        "command": {command["command"] for command in played.config["commands"]},
        "shortcut": {shortcut["callback_id"] for shortcut in played.config["shortcuts"]},
    }
    for kind, names in offered.items():
        assert played.called[kind] == names, f"{played.name}: {kind}"


async def test_a_guest_is_heard_everywhere_or_in_channels_alone(played: Played) -> None:
    in_channel = {("app_mention", "C0SUPPORT"), ("message", "C0SUPPORT")}
    elsewhere = {("app_home_opened", "D0GUEST"), ("message", "D0GUEST"), ("block_actions", "D0GUEST")}
    elsewhere |= {("block_actions", "")}
    is_agent = played.config["kind"] == "agent"
    assert played.heard_of_guest == (in_channel if is_agent else in_channel | elsewhere)


async def test_nothing_is_sent_where_a_guest_cannot_read_it(played: Played) -> None:
    state = await played.world.state()
    is_agent = played.config["kind"] == "agent"
    assert (GUEST in state["homes"], bool(state["messages"].get("D0GUEST"))) == (not is_agent, not is_agent)


async def test_only_an_agent_has_sessions_and_prompts(played: Played) -> None:
    state = await played.world.state()
    is_agent = played.config["kind"] == "agent"
    assert bool(state["sessions"]) is is_agent
    assert bool(state["prompts"]) is is_agent
    calls = [entry for entry in await played.world.log("call") if not entry["ok"]]
    refused = Counter((entry["name"], entry["detail"]["answer"]["error"]) for entry in calls)
    of_agents = {
        ("agents.sessions.setStatus", "not_authorized"): 1,
        ("assistant.threads.setSuggestedPrompts", "missing_scope"): 1,
    }
    told = {each: count for each, count in refused.items() if each[1] != "ratelimited"}
    assert told == ({} if is_agent else of_agents), "not asked for again and again"


async def test_no_session_looks_busy_at_the_end(played: Played) -> None:
    async with asyncio.timeout(patience(60)):
        while any(each["status"] == "processing" for each in (await played.world.state())["sessions"]):
            await played.world.next_change()
