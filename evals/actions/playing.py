"""Plays a scenario in the demo: what the customer says and presses, what staff decide, and what the shop did."""

import asyncio
import copy
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo.model.script import read_rounds
from demo.model.server import StandIn
from demo.shop.faults import Fault
from demo.shop.records import Records
from demo.shop.server import Shop
from evals.conversations.reading import Json, Seen, is_from_app, read_message
from evals.conversations.world import PEOPLE, STAFF_CHANNEL, Refused, World

STAFF = "U0AGENTA"
QUIET_LOOKS = 6
"""Looks in a row without a change after which a reply is whole."""
_TABLES = ("customers", "orders", "parcels", "products", "methods", "addresses", "pieces")


@dataclass(slots=True)
class Played:
    """A scenario as it went."""

    scenario: Json
    root: str = ""
    """The timestamp of the customer's message."""
    offers: Sequence[Json] = ()
    """What was offered: the rows of the product's own table, without those that were not shown."""
    seen: Sequence[Seen] = ()
    """Everything that the app said in the thread."""
    before_yes: int = 0
    """Changes that the shop had made before anybody pressed."""
    done: Sequence[Json] = ()
    """What the shop did, from its own books."""
    changed: Mapping[str, Json] = field(default_factory=dict)
    """The orders that are no longer as they were, as they are now."""
    besides: Sequence[str] = ()
    """The other tables of the shop that changed."""
    fault: str = ""
    """Why it could not be played."""

    @property
    def text(self) -> str:
        """All that the customer read."""
        return "\n".join(each.text for each in self.seen)


@dataclass(slots=True)
class Stage:
    """Where scenarios are played, one after the other."""

    shop: Shop
    stand_in: StandIn | None
    """None: a real model answers."""
    people: World
    database: Path

    async def play(self, scenario: Json) -> Played:
        """Play it, and put the shop back to how it was."""
        played, before = Played(scenario), _copy(self.shop.records)
        known = self._newest()
        try:
            await self._converse(scenario, played)
        except (Refused, LookupError, TimeoutError) as fault:
            said = [read_message(each).text for each in await self._messages(PEOPLE["A"][1], played.root)]
            played.fault = f"{type(fault).__name__}: {fault} {said}"
        played.offers = self._offers(known)
        records = self.shop.records
        played.done = list(records.ledger)
        played.changed = {
            name: dict(order) for name, order in records.orders.items() if before["orders"][name] != order
        }
        # The pieces are how the shop counts for an order what the order itself says.
        others = [name for name in _TABLES if name not in ("orders", "pieces")]
        played.besides = [name for name in others if before[name] != getattr(records, name)]
        _restore(records, before)
        self.shop.faults.clear()
        return played

    async def _converse(self, scenario: Json, played: Played) -> None:
        user, channel = PEOPLE["A"]
        if self.stand_in:
            self.stand_in.script.rounds.clear()
            self.stand_in.script.rounds.extend(read_rounds(_rounds(scenario)))
        played.root = root = str(
            (await self.people.act("send", user=user, channel=channel, text=scenario["says"]))["ts"]
        )
        wanted = len(scenario.get("offers", ()))
        await self._until(channel, root, lambda seen: len(_with_button(seen, "act.yes")) >= wanted)
        if "then" in scenario:
            await self.people.act("send", user=user, channel=channel, text=scenario["then"], thread_ts=root)
            await self._quiet(channel, root)
        played.before_yes = len(self.shop.records.ledger)
        if scenario.get("fault"):
            self.shop.add_fault(Fault(scenario["fault"], path="/actions"))
        if "presses" in scenario:
            await self._press(scenario, channel, root)
        if told := scenario.get("told"):
            await self._until(channel, root, lambda seen: any(told in read_message(each).text for each in seen))
        played.seen = await self._quiet(channel, root)

    async def _press(self, scenario: Json, channel: str, root: str) -> None:
        """Press the button of the offer, and decide for staff where they are asked."""
        name = f"act.{scenario['presses']}"
        message = _with_button(await self._messages(channel, root), name)[-1]
        by, _ = PEOPLE[scenario.get("by", "A")]
        with suppress(Refused):
            # Slack shows nobody else a direct message. That they press all the same changes nothing.
            await self._click(by, message, name)
        if "approves" in scenario:
            choice = "appr.yes" if scenario["approves"] else "appr.no"
            cards = await self._until(STAFF_CHANNEL, "", lambda seen: bool(_with_button(seen, choice)))
            await self._click(STAFF, _with_button(cards, choice)[-1], choice)
            if not scenario["approves"]:
                await self._submit(STAFF, "submit.refusal")

    async def _click(self, user: str, message: Json, name: str) -> None:
        body = {"channel": message["channel"], "ts": message["ts"], "action_id": name, "value": _value(message, name)}
        await self.people.act("click", user=user, **body)

    async def _submit(self, user: str, callback: str) -> None:
        async with asyncio.timeout(self.people.patience):
            while True:
                views = (await self.people.state(STAFF_CHANNEL))["modals"].get(user, ())
                if found := next((view for view in views if view["callback_id"] == callback), None):
                    await self.people.act("submit_view", user=user, view_id=found["id"])
                    return
                await asyncio.sleep(0.1)

    async def _messages(self, channel: str, root: str) -> list[Json]:
        messages = (await self.people.state(channel))["messages"].get(channel, ())
        mine = [each for each in messages if is_from_app(each) and (not root or each.get("thread_ts") == root)]
        return [{**each, "channel": channel} for each in mine]

    async def _until(self, channel: str, root: str, holds: Callable[[Sequence[Json]], bool]) -> list[Json]:
        """The app's messages, once they are so. Raises TimeoutError."""
        async with asyncio.timeout(self.people.patience):
            while True:
                found = await self._messages(channel, root)
                if holds(found):
                    return found
                await asyncio.sleep(0.1)

    async def _quiet(self, channel: str, root: str) -> list[Seen]:
        """What the app has said once it says no more."""
        last, looks = "", 0
        async with asyncio.timeout(self.people.patience):
            while looks < QUIET_LOOKS:
                state = await self.people.state(channel)
                busy = any(each.get("status") for each in state["statuses"] if each["thread_ts"] == root)
                found = await self._messages(channel, root)
                now = json.dumps(found)
                looks = looks + 1 if found and not busy and now == last else 0
                last = now
                await asyncio.sleep(0.25)
        return [read_message(each) for each in found]

    def _newest(self) -> int:
        with closing(sqlite3.connect(self.database)) as opened:
            return int(opened.execute("select coalesce(max(id), 0) from action").fetchone()[0])

    def _offers(self, known: int) -> list[Json]:
        query = "select kind, subject, arguments, money, state from action where id > ? order by id"
        with closing(sqlite3.connect(self.database)) as opened:
            rows = opened.execute(query, (known,)).fetchall()
        return [
            {"kind": kind, "order": subject.partition("/")[2], "money": money, "state": state, **json.loads(arguments)}
            for kind, subject, arguments, money, state in rows
        ]


def _rounds(scenario: Json) -> list[Json]:
    """What a scripted model does."""
    if "calls" in scenario:
        return [{"calls": scenario["calls"]}, {"text": scenario.get("text", "Please see below.")}]
    return [{"text": scenario["text"]}] if "text" in scenario else []


def _with_button(messages: Sequence[Json], name: str) -> list[Json]:
    return [each for each in messages if _value(each, name)]


def _value(message: Json, name: str) -> str:
    """The value of a button. Empty if the message has none of this name."""
    elements = (element for block in message.get("blocks") or () for element in block.get("elements") or ())
    return next((str(each.get("value", "")) for each in elements if each.get("action_id") == name), "")


def _copy(records: Records) -> dict[str, Any]:
    return {name: copy.deepcopy(getattr(records, name)) for name in _TABLES}


def _restore(records: Records, before: Mapping[str, Any]) -> None:
    for name in _TABLES:
        table = getattr(records, name)
        table.clear()
        table.update(before[name])
    records.ledger.clear()
    records.before.clear()
