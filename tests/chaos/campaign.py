"""A campaign: customers write, the product is killed and started again, and in the end everything is looked at.

open_campaign   the world, a database, and the product not yet started
Campaign        say, kill in one way or another, settle
  sweep           once at every place of bot/failpoints.py, several passings of each
  random_kills    at random moments, sometimes again right after the start
  polite_stop     SIGTERM under load
  quiet           nothing is killed, and the counters are compared with the database
"""

import asyncio
import json
import logging
import random
import re
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from sqlalchemy import func, select

from bot.failpoints import PLACES
from bot.store import schema
from bot.store.database import Database, open_database
from bot.store.leases import FROZEN_STATUS, LEASE_SECONDS
from demo.ports import free_port
from demo.slack.changes import Change
from tests.chaos.invariants import Findings, is_answered, look
from tests.chaos.outside import Outside, open_outside
from tests.chaos.script import ORDERS, Kind, Line, file_of
from tests.chaos.victims import ROOT, Victim, Victims, open_victims
from tests.doubles.postgres import Postgres, open_postgres

logger = logging.getLogger(__name__)

ANSWERED_SECONDS = 60.0
"""From a kill until everything that was acknowledged before is answered."""
PATIENCE = 120.0
"""After this long without an answer nobody waits any more."""
STOP_SECONDS = 25.0
"""From SIGTERM to the end."""
QUIET_SECONDS = 2.0
"""After everything is answered, what has not happened for so long does not happen."""
FREEZE_SECONDS = 15.0
"""How long a worker may take to come to the place at which it freezes."""
AWAKE_SECONDS = 5.0
"""For how long one that woke is watched."""
IN_A_ROW = 8
"""Kills in a fleet before everything is waited for. They fall within one lease, so that they hit a message once."""
AT_ONCE = 0.5
"""The share of them after which the dead are started at once."""
ZOMBIES = ("turn_begun", "call_done", "stream_opened", "stream_grown", "answer_shown", "post_marked")
"""Places at which a worker freezes."""
AT_THE_DOOR = frozenset({"after_insert", "before_ack"})
"""Places that events pass; the others are passed by turns."""
STARTING_SECONDS = 5.0
"""For so long after its start a process may have no handler for SIGTERM yet."""
REACH_SECONDS = 30.0
"""How long a place may take to be reached."""
TWICE = 0.25
"""The share of random kills that are followed by another right after the start."""
ROLES = {"sqlite": ("serve",), "postgres": ("ingress", "work", "work")}
"""Engine -> the product's processes."""
PRESSED = {"case_changed", "case_stepped"}
"""Places that only presses reach, and nobody presses here; tests/turns/test_moving_cases.py cuts the power at them."""
PLACES_AGAIN = {
    "after_insert": (1, 2),
    "before_ack": (1, 3),
    "round_done": (1, 2, 3, 4),
    "round_kept": (1, 2, 3, 4),
    "call_done": (1, 2, 3),
    "call_kept": (1, 2, 3),
    "stream_grown": (1, 2),
    "post_marked": (1, 2, 3),
    "post_sent": (1, 2, 3),
    "post_kept": (1, 2, 3),
}
"""Place -> the passings at which the long sweep kills; elsewhere the first."""


@dataclass(slots=True)
class Member:
    """One of the product's processes, in its present life."""

    role: str
    port: int = field(default_factory=free_port)
    victim: Victim | None = None
    started_at: float = 0.0
    """Wall clock of the present life's start."""

    @property
    def lives(self) -> bool:
        return self.victim is not None and self.victim.lives

    @property
    def works(self) -> bool:
        return self.role != "ingress"


@dataclass(slots=True)
class Campaign:
    """The world, the product's processes, and what has been said so far."""

    engine: str
    outside: Outside
    victims: Victims
    folder: Path
    database_url: str
    chance: random.Random
    members: list[Member]
    server: Postgres | None
    """None on SQLite."""
    lines: list[Line] = field(default_factory=list)
    kills: int = 0
    ended_by_themselves: int = 0
    """Processes that stood still for so long, on a busy machine, that others might have had their work."""
    findings: Findings = field(default_factory=Findings)
    """What is found while the campaign runs."""
    without: str = ""
    """A safeguard that is taken out of the product."""
    _waiting: dict[str, Line] = field(default_factory=dict)
    """By mark: said and not yet answered."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    # What people do.

    async def say(self, kind: Kind, *, thread: Line | None = None) -> Line:
        """A customer writes, in a new thread or in that of an earlier message."""
        user = thread.user if thread else self.chance.choice(sorted(ORDERS))
        channel = thread.channel if thread else ("C0SUPPORT" if kind == "aside" else f"D0{user.removeprefix('U0')}")
        line = Line(f"m{len(self.lines) + 1:05}", kind, user, channel)
        self.lines.append(line)
        self._waiting[line.mark] = line
        act, thread_ts = self.outside.workspace.act, thread.thread_ts if thread else None
        if kind == "follow":
            name, content = file_of(line.mark)
            line.ts = await act.upload(user, channel, name, content, text=line.text, thread_ts=thread_ts)
        else:
            line.ts = await act.send(user, channel, line.text, thread_ts=thread_ts)
        line.thread_ts = thread.thread_ts if thread else line.ts
        return line

    async def say_some(self) -> list[Line]:
        """A few conversations at once: one goes on before it is answered, one calls a person and writes to them."""
        first = await self.say("work")
        said = [first, await self.say("work", thread=first)]
        broken = await self.say("escalate")
        said += [broken, await self.say("follow", thread=broken)]
        if self.chance.random() < 0.5:
            said.append(await self.say("aside"))
        older = [line for line in self.lines[:-5] if line.kind == "work" and line.answered_at]
        if older and self.chance.random() < 0.5:
            said.append(await self.say("work", thread=self.chance.choice(older[-8:])))
        return said

    async def settle(self) -> None:
        """Wait until everything is answered."""
        began = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._waiting:
                    self._changed.clear()
                    await self._supervise()
                    self._look()
                    if self._waiting:
                        with suppress(TimeoutError):
                            async with asyncio.timeout(1.0):
                                await self._changed.wait()
        for line in tuple(self._waiting.values()):
            self.findings.wrong(f"{line.mark} ({line.kind}) is not answered after {time.monotonic() - began:.0f} s")
            self._waiting.pop(line.mark)

    # What happens to the product.

    async def start(self, *members: Member, failpoint: str = "", how: signal.Signals = signal.SIGKILL) -> None:
        """Start those of the processes that do not live. They are not ready yet."""
        for member in members:
            if member.lives:
                continue
            environment = self._environment(member)
            if failpoint:
                environment |= {"FRONTDESK_FAILPOINT": failpoint, "FRONTDESK_FAILPOINT_SIGNAL": how.name}
            member.started_at = time.time()
            member.victim = await self.victims.start(member.role, environment, self.log)
            logger.info("%s starts as %s", member.role, member.victim.pid)

    async def ready(self) -> None:
        """Wait until all say so."""
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            for member in self.members:
                while not await _is_ready(session, f"http://127.0.0.1:{member.port}/healthz"):
                    assert member.lives, f"the product ended at its start: {self.last_lines()}"
                    await asyncio.sleep(0.05)

    async def kill(self, *members: Member) -> None:
        """End processes without warning."""
        self._look()
        for member in members:
            if member.victim is not None:
                member.victim.signal(signal.SIGKILL)
        for member in members:
            if member.victim is not None:
                await member.victim.ended
                self.kills += 1
        self._hit()

    async def sweep(self, places: Sequence[tuple[str, int]]) -> None:
        """A kill at each place. What the dead process had, others take over; then it is there again."""
        for place, passing in places:
            role = self._role_at(place)
            armed, *others = sorted((each for each in self.members if each.role == role), key=lambda each: each.lives)
            # The others of the role are away, so that this one passes the place.
            await self.stop(armed, *others)
            await self.start(*(each for each in self.members if each.role != role))
            await self.start(armed, failpoint=f"{place}:{passing}")
            await self.say_some()
            if await self._ends(armed):
                self.kills += 1
                self._hit()
            elif passing == 1:
                self.findings.wrong(f"{place} was not reached")
            await self.start(*self.members)
            await self.settle()

    async def freeze(self, place: str) -> bool:
        """A worker stands still at the place for longer than its lease, and wakes when its work was done by another.

        Whether it was frozen: the other may be so fast that it has nothing to do.
        """
        await self.start(*self.members)
        armed = next(member for member in self.members if member.role == "work")
        await self.stop(armed)
        await self.start(armed, failpoint=f"{place}:1", how=signal.SIGSTOP)
        await self.ready()
        await self.say_some()
        await self.say_some()
        assert armed.victim is not None
        stood = await armed.victim.stands_still(FREEZE_SECONDS)
        if stood:
            over = time.monotonic() + LEASE_SECONDS + AWAKE_SECONDS
            self._hit()
            await self.settle()
            # The lease must be over in any case, also when nothing waited for the frozen one.
            await asyncio.sleep(max(0.0, over - time.monotonic()))
            armed.victim.signal(signal.SIGCONT)
            # It ends by itself, since it missed its beats; if not, it goes on as one that knows.
            await self._ends(armed, seconds=AWAKE_SECONDS)
        await self.settle()
        await self.start(*self.members)
        return stood

    async def outage(self, seconds: float) -> None:
        """Postgres dies under load and comes back."""
        assert self.server is not None
        await self.ready()
        await self.say_some()
        await asyncio.sleep(self.chance.uniform(0.1, 1.0))
        await asyncio.to_thread(self.server.stop, crash=True)
        self._look()
        self._hit()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.server.start)
        await self.settle()

    async def kill_at_ack(self) -> None:
        """A kill the moment an event has been acknowledged."""
        door = next(member for member in self.members if member.role != "work")
        victim = door.victim
        assert victim is not None
        self.outside.deliveries.on_ack = lambda ts: victim.signal(signal.SIGKILL)
        await self.say_some()
        assert await self._ends(door)
        self.outside.deliveries.on_ack = lambda ts: None
        self.kills += 1
        self._hit()
        await self.start(*self.members)
        await self.settle()

    async def random_kills(self, count: int) -> None:
        """Kills at U(0.1, 1.5) seconds after customers wrote, some of them again during the start."""
        end = self.kills + count
        while self.kills < end:
            await self.say_some()
            await asyncio.sleep(self.chance.uniform(0.1, 1.5))
            await self.kill(*self.members)
            await self.start(*self.members)
            if self.chance.random() < TWICE and self.kills < end:
                await asyncio.sleep(self.chance.uniform(0.0, 0.8))
                await self.kill(*self.members)
                await self.start(*self.members)
            await self.settle()

    async def random_fleet_kills(self, count: int) -> None:
        """The same in a fleet: a worker, both, or the door; some stay away until others have done their work."""
        end = self.kills + count
        while self.kills < end:
            for _ in range(min(IN_A_ROW, end - self.kills)):
                await self.say_some()
                await asyncio.sleep(self.chance.uniform(0.1, 1.5))
                doors = [member for member in self.members if not member.works and member.lives]
                workers = [member for member in self.members if member.works and member.lives]
                one = [self.chance.choice(workers)]
                await self.kill(*self.chance.choice([one, one, one, workers, doors]))
                if self.chance.random() < AT_ONCE or not any(each.works and each.lives for each in self.members):
                    await self.start(*self.members)
                else:
                    await self.start(*(member for member in self.members if not member.works))
            await self.settle()
            await self.start(*self.members)

    async def polite_stop(self) -> None:
        """SIGTERM under load: it ends in time and in good order, and nothing is done twice."""
        await self.ready()
        await self.say_some()
        await asyncio.sleep(self.chance.uniform(0.1, 1.0))
        await self.stop()
        await self.start(*self.members)
        await self.settle()

    async def stop(self, *members: Member) -> None:
        """SIGTERM to those of the processes that live, all if none is told, and see that they end."""
        living = [member for member in members or self.members if member.lives]
        began = time.monotonic()
        for member in living:
            assert member.victim is not None
            member.victim.signal(signal.SIGTERM)
        for member in living:
            assert member.victim is not None
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + STOP_SECONDS):
                    status = await asyncio.shield(member.victim.ended)
            except TimeoutError:
                self.findings.wrong(f"{member.role} did not end within {STOP_SECONDS:g} s of SIGTERM")
                await member.victim.kill()
                continue
            # A signal during the first moments finds no handler yet.
            if status != 0 and not (status == -signal.SIGTERM and time.time() - member.started_at < STARTING_SECONDS):
                took = time.monotonic() - began
                self.findings.wrong(f"{member.role} ended with status {status} {took:.1f} s after SIGTERM")

    async def quiet(self) -> None:
        """A fresh life in which nothing is killed: the counters say what the database says."""
        await self.stop()
        since = time.time()
        await self.start(*self.members)
        await self.ready()
        await self.say_some()
        await self.settle()
        async with open_database(self.database_url) as database:
            await self._until_closed(database)
            counted = [await _page(f"http://127.0.0.1:{member.port}/metrics") for member in self.members]
            inbox, kase = schema.inbox, schema.kase
            async with database.transaction() as tx:
                for name, column in (
                    ("frontdesk_turns_total", inbox.c.finished_at),
                    ("frontdesk_events_stored_total", inbox.c.received_at),
                    ("frontdesk_cases_total", kase.c.opened_at),
                ):
                    there = select(func.count()).select_from(column.table).where(column >= since)
                    rows = (await tx.execute(there)).scalar_one()
                    number = sum(_sum_of(page, name) for page in counted)
                    if rows != number:
                        self.findings.wrong(f"{name} is {number:g}, and the database has {rows}")

    async def look(self) -> Findings:
        """Stop the product and look at everything."""
        await self.stop()
        for line in self.lines:
            line.acked_at = line.acked_at or self.outside.deliveries.acked.get(line.ts)
        workspace = self.outside.workspace
        secrets = [workspace.bot_token, workspace.app_token, workspace.signing_secret, self.outside.shop.token]
        async with open_database(self.database_url) as database:
            found = await look(self.outside, self.lines, database, [self.log], secrets)
        found.violations[:0] = self.findings.violations
        for late in self._late():
            if late > ANSWERED_SECONDS:
                found.wrong(f"an answer came {late:.0f} s after the kill that held it up")
        return found

    @property
    def log(self) -> Path:
        """All lives' log."""
        return self.folder / f"{self.engine}.log"

    def last_lines(self) -> str:
        """The end of it."""
        return "\n".join(self.log.read_text("utf-8", errors="replace").splitlines()[-12:]) if self.log.exists() else ""

    def summary(self, found: Findings) -> str:
        """The engine's line of JSON."""
        return json.dumps(
            {
                "engine": self.engine,
                "kills": self.kills,
                "acked": found.acked,
                "lost": found.lost,
                "doubled": found.doubled,
                "repeated_writes": found.repeated_writes,
                "resume_max_s": round(max(self._late(), default=0.0), 1),
            }
        )

    def hear(self, change: Change) -> None:
        """Something is new in Slack."""
        if change.kind in ("message", "removed"):
            self._look()
            self._changed.set()

    def _look(self) -> None:
        for line in tuple(self._waiting.values()):
            if line.acked_at is None:
                line.acked_at = self.outside.deliveries.acked.get(line.ts)
            if not line.thread_ts or not is_answered(self.outside, line):
                continue
            line.read_at = line.read_at or time.monotonic()
            if line.acked_at is not None:
                line.answered_at = time.monotonic()
                del self._waiting[line.mark]

    async def _supervise(self) -> None:
        """Start again who ended by itself since it could not keep its lease, as those do who run a fleet."""
        for member in self.members:
            if member.victim is not None and not member.lives and member.victim.ended.result() == FROZEN_STATUS:
                self.ended_by_themselves += 1
                self._hit()
                await self.start(member)

    def _hit(self) -> None:
        """What waits for its answer now was hit."""
        for line in self._waiting.values():
            if line.acked_at is not None and line.hit_at is None:
                line.hit_at = time.monotonic()

    def _late(self) -> list[float]:
        """For each message that was hit, the seconds until its answer."""
        return [line.answered_at - line.hit_at for line in self.lines if line.hit_at and line.answered_at]

    def _role_at(self, place: str) -> str:
        """Who passes the place: events come in at one kind of process, turns are at another."""
        if len(self.members) == 1:
            return self.members[0].role
        return "ingress" if place in AT_THE_DOOR else "work"

    async def _ends(self, member: Member, *, seconds: float = REACH_SECONDS) -> bool:
        """Whether its present life ends by itself, before everything has been quiet for a while."""
        assert member.victim is not None
        deadline = time.monotonic() + seconds
        quiet_since = time.monotonic()
        while member.lives and time.monotonic() < min(deadline, quiet_since + QUIET_SECONDS):
            if self._waiting:
                quiet_since = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await asyncio.shield(member.victim.ended)
        return not member.lives

    async def _until_closed(self, database: Database) -> None:
        """An answer is read a moment before its row is closed."""
        inbox = schema.inbox
        async with asyncio.timeout(PATIENCE):
            while True:
                async with database.transaction() as tx:
                    left = select(func.count()).select_from(inbox).where(inbox.c.state == "new")
                    if not (await tx.execute(left)).scalar_one():
                        return
                await asyncio.sleep(0.05)

    def _environment(self, member: Member) -> dict[str, str]:
        workspace, shop = self.outside.workspace, self.outside.shop
        return {
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "SLACK_BOT_TOKEN": workspace.bot_token,
            "SLACK_SIGNING_SECRET": workspace.signing_secret,
            "SLACK_API_URL": self.outside.slack_url,
            "AGENT_CHANNEL": "C0AGENTS",
            "OPEN_CASES": "1000",
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": self.outside.model_url,
            "OPENAI_API": "chat",
            "SHOP_URL": shop.url,
            "SHOP_TOKEN": shop.token,
            "DATA_DIR": str(self.folder / f"{member.role}-{member.port}"),
            "DATABASE_URL": self.database_url,
            "TOOL_CALLS_PER_MINUTE": "10000",
            "SLACK_RATE": "100",
            "PORT": str(member.port),
            "LEDGER_URL": self.outside.ledger.url,
            "CHAOS_WITHOUT": self.without,
        }


@asynccontextmanager
async def open_campaign(engine: str, folder: Path, *, seed: int, without: str = "") -> AsyncIterator[Campaign]:
    """Everything but a running product. `seed` decides on all that is random here, as far as time allows."""
    chance = random.Random(seed)  # noqa: S311
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(open_postgres()) if engine == "postgres" else None
        url = await server.create() if server else f"sqlite+aiosqlite:///{folder / 'frontdesk.db'}"
        outside = await stack.enter_async_context(open_outside(chance))
        victims = await stack.enter_async_context(open_victims())
        members = [Member(role) for role in ROLES[engine]]
        campaign = Campaign(engine, outside, victims, folder, url, chance, members, server, without=without)
        outside.deliveries.targets = [
            f"http://127.0.0.1:{member.port}/slack/events" for member in members if member.role != "work"
        ]
        hanging_up = outside.workspace.subscribe(campaign.hear)
        try:
            yield campaign
        finally:
            hanging_up()


def places(*, again: bool) -> list[tuple[str, int]]:
    """Every place with the passing at which it kills; with `again` several passings of some."""
    reached = [place for place in PLACES if place not in PRESSED]
    return [(place, passing) for place in reached for passing in (PLACES_AGAIN.get(place, (1,)) if again else (1,))]


async def _is_ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url, timeout=aiohttp.ClientTimeout(total=2)) as answer:
            return answer.status == 200
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


async def _page(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


def _sum_of(page: str, name: str) -> float:
    """A counter over all its labels."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:\{{[^}}]*\}})? ([0-9.e+]+)$", page, re.MULTILINE))
