"""What comes in harms nobody: events that cannot be stored, that fail each time, that end the process (F39), and fields
and words that nobody has heard of (F47). What comes at another time than it says is refused (F36)."""

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import select

from bot.conversation import Customer, ThreadRef
from bot.ingest.lanes import Lanes
from bot.store import inbox, schema
from bot.store.database import Database
from bot.store.inbox import InboxItem
from tests.doubles.clock import ManualClock
from tests.faults.quiet import check_log, errors, read_log
from tests.patience import patience
from tests.stories.over_http import OverHttp, open_world_over_http
from tests.stories.world import Json, Post, Seen, World
from tests.turns.arrivals import arrival
from tests.turns.test_turn import untouched

pytestmark = pytest.mark.asyncio(loop_scope="module")

HALF = "\ud83d"
"""Half a character, which nothing can store; JSON writes it as an escape."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def over_http(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OverHttp]:
    async with open_world_over_http(tmp_path_factory.mktemp("http")) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def thread(over_http: OverHttp) -> Post:
    """A thread of Customer A, in which nobody waits for anything; its time is that of the last answer."""
    customer = over_http.world.customer
    asked = await customer.says("Thanks!")
    answer = await customer.reads(asked)
    return Post(asked.channel, answer.ts, asked.ts)


def message(thread: Post, text: str = "I want to talk to a real person", **fields: Any) -> Json:
    """A message of Customer A in the thread, as Slack writes it; `fields` are added or replace what is there."""
    ts = f"{time.time():.6f}"
    event = {"type": "message", "user": "U0CUSTOMERA", "channel": thread.channel, "channel_type": "im", "text": text}
    return {
        "type": "event_callback",
        "team_id": "T0FRONTDESK",
        "event_id": f"EvFAULT{ts}",
        "event": event | {"ts": ts, "thread_ts": thread.thread_ts, "team": "T0FRONTDESK"} | fields,
    }


async def dead_lines(world: World) -> list[Seen]:
    """What the agent channel was told of dead letters."""
    return [seen for seen in await world.posts("C0AGENTS") if "dead letter" in seen.text]


@pytest.mark.parametrize("text", [f"I want a real person {HALF}", "I want a real person \x00 please"])
async def test_a_message_with_what_cannot_be_stored_is_cleaned_and_answered(
    over_http: OverHttp, thread: Post, text: str
) -> None:
    assert await over_http.delivers(message(thread, text)) == 200
    assert "FD-" in (await over_http.world.customer.reads(thread, after=thread.ts)).text
    assert await dead_lines(over_http.world) == []
    await check_log(over_http.world)


async def test_an_event_that_names_nobody_and_nowhere_is_acknowledged_counted_and_logged_once(
    over_http: OverHttp, thread: Post
) -> None:
    world = over_http.world
    now = f"{time.time():.6f}"
    odd: list[Json] = [{"user": f"U0CUSTOMERA{HALF}"}, {"user": ["U0CUSTOMERA"]}, {"channel": 7}, {"ts": {}}]
    odd += [{"thread_ts": f"{now}{HALF}"}, {"user": {"id": "U0CUSTOMERA"}}]
    poison = [message(thread, **fields) for fields in odd]
    well = await world.other_customer.says("human please")
    for _ in range(3):
        assert await asyncio.gather(*(over_http.delivers(each) for each in poison)) == [200] * len(poison)
    # Others are served, and so is what comes next.
    assert "FD-" in (await world.other_customer.reads(well)).text
    assert await over_http.delivers(message(thread)) == 200
    assert "FD-" in (await world.customer.reads(thread, after=thread.ts)).text
    assert f'frontdesk_payloads_malformed_total{{kind="message"}} {3.0 * len(poison)}' in await world.metrics()
    shapes = [line["shape"] for line in errors(world, "form that is not known")]
    assert sorted(shapes) == [
        "event.channel string_type",
        "event.thread_ts string_unicode",
        "event.ts string_type",
        "event.user string_type",
        "event.user string_unicode",
    ]
    assert await dead_lines(world) == []
    await check_log(world)


@pytest.mark.parametrize(
    "fields",
    [
        {"files": None, "blocks": None, "edited": None, "new_field": {"deep": [1, None]}},
        {"files": [None, 7, {"name": None}, {"mode": "hologram"}]},
        {"team": None, "user_team": None, "channel_type": "planet"},
        {"blocks": [{"type": "hologram", "elements": "not a list"}], "attachments": 7},
    ],
)
async def test_fields_and_values_that_are_new_are_ignored(over_http: OverHttp, thread: Post, fields: Json) -> None:
    payload = message(thread, **fields) | {"is_hologram": True, "authorizations": None}
    assert await over_http.delivers(payload) == 200
    assert "FD-" in (await over_http.world.customer.reads(thread, after=thread.ts)).text
    await check_log(over_http.world)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "hologram_projected", "user": 7},
        {"type": "message", "subtype": "hologram", "user": "U0CUSTOMERA", "channel": "D0CUSTOMERA", "ts": "1.1"},
        {"type": "message", "user": "U0CUSTOMERA", "text": "no channel and no time"},
        {"type": "message", "user": {"id": "U0CUSTOMERA"}, "channel": ["D0CUSTOMERA"], "ts": 1.5, "text": 7},
        {"type": "message"},
    ],
)
async def test_an_event_in_a_form_that_is_not_known_is_acknowledged_and_left(
    over_http: OverHttp, thread: Post, event: Json
) -> None:
    # Anything else would be delivered again, and again not be understood.
    assert await over_http.delivers(message(thread) | {"event": event}) == 200
    await check_log(over_http.world)


@pytest.mark.parametrize("finish", ["stop", "hologram"])
async def test_what_is_new_in_a_models_reply_is_ignored(over_http: OverHttp, finish: str) -> None:
    world = over_http.world
    delta = {"role": "assistant", "content": "You are welcome, any time.", "hologram": {"deep": [1, None]}}
    chunks: list[Json] = [
        {"object": "hologram.chunk", "choices": [{"index": 0, "delta": delta, "mood": "fine"}], "new_field": [1]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": {"hologram_tokens": 7}},
    ]
    lines = [line for chunk in chunks for line in (f"data: {json.dumps(chunk)}", "")]
    await world.model_says(*[{"raw": ["event: hologram", *lines, "data: [DONE]", ""]}] * 3)
    asked = await world.customer.says("Thanks!")
    assert (await world.customer.reads(asked)).text.strip()
    await world.model_says()
    await check_log(world)


@pytest.mark.parametrize("jump", [-3_600.0, 3_600.0])
async def test_while_the_clocks_differ_nothing_is_taken_and_the_log_says_why(
    over_http: OverHttp, thread: Post, jump: float
) -> None:
    late = message(thread)
    for _ in range(2):
        assert await over_http.delivers(late, sent_at=time.time() + jump) == 401
    told: list[Json] = []
    async with asyncio.timeout(patience(20)):
        # The log is written by a thread of its own.
        while len(told) < 2:
            await asyncio.sleep(0.05)
            refused = [line for line in read_log(over_http.world) if "clock" in line["message"]]
            told = [line for line in refused if abs(line["seconds"] + jump) < 60]
    assert [line["level"] for line in refused] == ["error"] + ["warning"] * (len(refused) - 1)
    # Once they agree again, it is taken: nothing of it was kept.
    assert await over_http.delivers(late) == 200
    assert "FD-" in (await over_http.world.customer.reads(thread, after=thread.ts)).text
    await check_log(over_http.world)


async def test_what_cannot_be_stored_now_is_not_acknowledged_over_http_either(
    over_http: OverHttp, thread: Post
) -> None:
    world, asked = over_http.world, message(thread)
    with closing(sqlite3.connect(world.data / "frontdesk.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        assert await over_http.delivers(asked) == 503
        other.execute("rollback")
    assert await over_http.delivers(asked) == 200
    assert "FD-" in (await world.customer.reads(thread, after=thread.ts)).text
    await check_log(world)


class Poisonous:
    """Who writes is asked first, and for one person that fails each time; everybody else is a program."""

    async def identify(self, user: str, *, with_shop: bool = True) -> Customer | None:
        if user == "U0POISON":
            raise RuntimeError("poison")
        return None


@dataclass
class People:
    """Stands for what calls a person; the first `failures` calls fail."""

    failures: int = 0
    called: list[str] = field(default_factory=list)

    async def open(self, thread: ThreadRef, customer: Customer, *, reason: str, priority: str) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise RuntimeError("poison again")
        self.called.append(f"{customer.user} {reason}")

    async def close(self, item: InboxItem) -> None:
        """Nothing was begun."""

    async def save(self, tx: object, item: InboxItem, *, reason: str, may_return: bool) -> None:
        """Nothing was begun."""


class Waked:
    """An outbox whose sender sleeps."""

    def wake(self) -> None:
        """There is no sender."""


@pytest.mark.asyncio(loop_scope="function")
@pytest.mark.parametrize(("failures", "tries"), [(0, 4), (2, 6), (99, 7)])
async def test_a_row_that_fails_each_time_is_given_up_and_holds_up_nobody(
    database: Database, failures: int, tries: int
) -> None:
    people = People(failures)
    parts = replace(
        untouched(database),
        identities=Poisonous(),
        cases=people,
        leftovers=people,
        outbox=Waked(),
        relay=SimpleNamespace(agent_channel="C0AGENTS"),
    )
    turns = parts.build()
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("1.1", author="U0POISON"), now=1.0)
        await inbox.add(tx, arrival("1.2", thread_ts="1.1", author="U0OTHER"), now=1.0)
        await inbox.add(tx, arrival("2.1", author="U0OTHER"), now=1.0)
    closed: asyncio.Queue[int] = asyncio.Queue()

    async def take(item_id: int) -> None:
        await turns.take(item_id)
        closed.put_nowait(item_id)

    lanes = Lanes(take, ManualClock(), concurrent=1)
    assert await lanes.resume(database) == 3
    async with asyncio.timeout(patience(20)):
        assert sorted([await closed.get() for _ in range(3)]) == [1, 2, 3]
    async with database.transaction() as tx:
        table = schema.inbox
        found = (await tx.execute(select(table.c.state, table.c.reason, table.c.attempts).order_by(table.c.id))).all()
        lines = (await tx.execute(select(schema.outbox.c.key, schema.outbox.c.channel))).all()
    assert [tuple(row) for row in found] == [
        ("dead", "failed", tries),
        ("dropped", "not_a_person", 1),
        ("dropped", "not_a_person", 1),
    ]
    assert [tuple(line) for line in lines] == [(f"dead/1/{tries}", "C0AGENTS")]
    assert people.called == (["U0POISON technical"] if failures < 3 else [])
