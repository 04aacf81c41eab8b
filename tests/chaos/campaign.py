"""A campaign: customers write, the product is killed and started again, and in the end everything is looked at.

open_campaign   the world, a database, and the product not yet started
Campaign        let people say and press something, kill in one way or another, settle
  sweep           once at every place of bot/failpoints.py, several passings of each
  strike          at one passing of one place
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
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp
from sqlalchemy import func, select

from bot.failpoints import FAILPOINTS
from bot.store import schema
from bot.store.database import Database, open_database
from bot.store.leases import FROZEN_STATUS, LEASE_SECONDS
from demo.ports import free_port
from demo.shop.server import Fault
from tests.chaos.invariants import Findings, look
from tests.chaos.outside import Outside, open_outside
from tests.chaos.people import People, open_people
from tests.chaos.script import Course, Json, Reply, decide
from tests.chaos.victims import ROOT, Victim, Victims, open_victims
from tests.doubles.postgres import Postgres, open_postgres
from tests.patience import patience, slowness

logger = logging.getLogger(__name__)

ANSWERED_SECONDS = slowness() * 60.0
"""From a kill until everything that was acknowledged before is answered."""
PATIENCE = patience(120.0)
"""How long the product may take to be ready, and rows to be closed;"""
SETTLED_SECONDS = patience(240.0)
"""and everything to be answered: longer than people wait for one thing."""
STOP_SECONDS = slowness() * 25.0
"""From SIGTERM to the end."""
QUIET_SECONDS = 2.0
"""After everything is answered, what has not happened for so long does not happen."""
FREEZE_SECONDS = patience(15.0)
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
STARTING_SECONDS = slowness() * 5.0
"""For so long after its start a process may have no handler for SIGTERM yet."""
REACH_SECONDS = patience(30.0)
"""How long a place may take to be reached."""
TWICE = 0.25
"""The share of random kills that are followed by another right after the start."""
ROLES = {"sqlite": ("serve",), "postgres": ("ingress", "work", "work")}
"""Engine -> the product's processes."""
IN_A_MATTER = 0.7
"""The share of random kills, where staff take cases up, that fall into one of these matters;"""
DEEDS = 6
"""after so many things were set about in it at the most."""
PASSED_BY: dict[str, Course] = {
    "case_changed": "not_solved",
    "case_stepped": "not_solved",
    "case_reopened": "written_again",
    "messages_taken_out": "erased",
    "person_erased": "erased",
}
"""Place -> the matter that passes it; others are passed by whatever is said."""
NOT_PASSED = frozenset(
    {
        *("action_stored", "action_confirmed", "vote_stored", "action_marked", "action_answered", "action_kept"),
        *("procedure_handed_over", "procedure_moved"),
        *("day_swept", "titles_taken"),
        *("backup_copied", "backup_described", "restore_copied", "table_copied", "rows_copied"),
    }
)
"""Places that only changes of orders pass (tests/chaos/actions.py), and procedures and days that are over, which this
desk has not; titles by a model, which are asked for beside the matters; and what commands pass
(tests/store/test_backups.py)."""
PLACES_AGAIN = {
    "case_changed": (1, 2, 3, 4),
    "case_stepped": (1, 2, 3, 4),
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
    people: People
    findings: Findings
    """What is found while the campaign runs."""
    is_staffed: bool = False
    """Whether the staff take up what customers call them for."""
    kills: int = 0
    ended_by_themselves: int = 0
    """Processes that stood still for so long, on a busy machine, that others might have had their work."""
    without: str = ""
    """A safeguard that is taken out of the product."""
    rules: Path | None = None
    """What may be changed in the shop; nothing if there are none."""

    async def say_some(self, *, course: Course | None = None) -> None:
        """People write and press; what becomes of it is left to them."""
        await self.people.say_some(course=course or (self.people.any_course() if self.is_staffed else None))

    async def settle(self) -> None:
        """Wait until everything is answered, and every matter over."""
        people, began = self.people, time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLED_SECONDS):
                while people.are_busy:
                    people.changed.clear()
                    await self._supervise()
                    people.look()
                    if people.are_busy:
                        with suppress(TimeoutError):
                            async with asyncio.timeout(1.0):
                                await people.changed.wait()
        await people.close()
        for line in tuple(people.waiting.values()):
            self.findings.wrong(f"{line.mark} ({line.kind}) is not answered after {time.monotonic() - began:.0f} s")
            people.waiting.pop(line.mark)

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
        await self.ready_of(*self.members)

    async def ready_of(self, *members: Member) -> None:
        """Wait until these say so."""
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as session:
            for member in members:
                while not await _is_ready(session, f"http://127.0.0.1:{member.port}/healthz"):
                    assert member.lives, f"the product ended at its start: {self.last_lines()}"
                    await asyncio.sleep(0.05)

    async def kill(self, *members: Member) -> None:
        """End processes without warning."""
        self.people.look()
        for member in members:
            if member.victim is not None:
                member.victim.signal(signal.SIGKILL)
        for member in members:
            if member.victim is not None:
                await member.victim.ended
                self.kills += 1
        self.people.hit()

    async def sweep(self, places: Sequence[tuple[str, int]]) -> None:
        """A kill at each place."""
        for place, passing in places:
            is_reached = await self.strike(place, passing, partial(self.say_some, course=PASSED_BY.get(place)))
            if passing == 1 and not is_reached:
                self.findings.wrong(f"{place} was not reached")

    async def strike(self, place: str, passing: int, load: Callable[[], Awaitable[object]]) -> bool:
        """A kill at one passing of the place, while people do what `load` begins; whether it was reached.

        What the dead process had, others take over; then it is there again.
        """
        role = self._role_at(place)
        armed, *others = sorted((each for each in self.members if each.role == role), key=lambda each: each.lives)
        # The others of the role are away, so that this one passes the place.
        await self.stop(armed, *others)
        await self.start(*(each for each in self.members if each.role != role))
        await self.start(armed, failpoint=f"{place}:{passing}")
        await load()
        is_reached = await self._ends(armed)
        if is_reached:
            self.kills += 1
            self.people.hit()
        await self.start(*self.members)
        await self.settle()
        return is_reached

    async def freeze(self, place: str, load: Callable[[], Awaitable[object]] | None = None) -> bool:
        """A worker stands still at the place for longer than its lease, and wakes when its work was done by another.

        Whether it was frozen. The other workers come when it stands, so that it has something to do.
        """
        await self.start(*self.members)
        armed, *others = (member for member in self.members if member.role == "work")
        await self.stop(armed, *others)
        await self.start(armed, failpoint=f"{place}:1", how=signal.SIGSTOP)
        await self.ready_of(*(member for member in self.members if member not in others))
        for _ in range(2):
            await (load or self.say_some)()
        assert armed.victim is not None
        stood = await armed.victim.stands_still(FREEZE_SECONDS)
        await self.start(*others)
        if stood:
            over = time.monotonic() + LEASE_SECONDS + AWAKE_SECONDS
            self.people.hit()
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
        self.people.look()
        self.people.hit()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.server.start)
        await self.settle()

    async def kill_at_ack(self) -> None:
        """A kill the moment an event has been acknowledged."""
        door = next(member for member in self.members if member.role != "work")
        victim = door.victim
        assert victim is not None
        self.outside.deliveries.on_ack = lambda: victim.signal(signal.SIGKILL)
        await self.say_some()
        assert await self._ends(door)
        self.outside.deliveries.on_ack = lambda: None
        self.kills += 1
        self.people.hit()
        await self.start(*self.members)
        await self.settle()

    async def random_kills(self, count: int) -> None:
        """Kills at U(0.1, 1.5) seconds after customers wrote, some of them again during the start."""
        end = self.kills + count
        while self.kills < end:
            await self.say_some()
            await self._moment()
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
                await self._moment()
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

    async def strike_shop(self, fault: Fault, load: Callable[[], Awaitable[object]]) -> None:
        """A kill the moment the shop has the request that this fault happens to."""
        await self.stop(*(member for member in self.members if member.works))
        others = [member for member in self.members if member.works][1:]
        await self.start(*(member for member in self.members if member not in others))
        await self.ready_of(*(member for member in self.members if member not in others))
        await load()
        self.outside.shop.add_fault(fault)
        async with asyncio.timeout(REACH_SECONDS):
            await fault.begun.wait()
        await self.kill(*(member for member in self.members if member.works and member.lives))
        await self.start(*self.members)
        await self.settle()

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
            await self.until_closed(database)
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
        if any(member.works and member.lives for member in self.members):
            async with open_database(self.database_url) as database:
                with suppress(TimeoutError):
                    await self.until_closed(database)
        await self.stop()
        self.people.look()
        workspace = self.outside.workspace
        secrets = [workspace.bot_token, workspace.app_token, workspace.signing_secret, self.outside.shop.token]
        async with open_database(self.database_url) as database:
            found = await look(self.outside, self.people.lines, self.people.matters, database, [self.log], secrets)
        found.violations[:0] = self.findings.violations
        for late in self.people.late():
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
                "resume_max_s": round(max(self.people.late(), default=0.0), 1),
            }
        )

    async def _supervise(self) -> None:
        """Start again who ended by itself since it could not keep its lease, as those do who run a fleet."""
        for member in self.members:
            if member.victim is not None and not member.lives and member.victim.ended.result() == FROZEN_STATUS:
                self.ended_by_themselves += 1
                self.people.hit()
                await self.start(member)

    async def _moment(self) -> None:
        """Wait until it is time for a kill: soon after people wrote, or in the middle of a matter."""
        if self.is_staffed and self.chance.random() < IN_A_MATTER:
            await self.people.set_about(self.people.matters[-1], self.chance.randint(1, DEEDS))
            await asyncio.sleep(self.chance.uniform(0.0, 0.4))
        else:
            await asyncio.sleep(self.chance.uniform(0.1, 1.5))

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
            if self.people.are_busy:
                quiet_since = time.monotonic()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await asyncio.shield(member.victim.ended)
        return not member.lives

    async def until_closed(self, database: Database) -> None:
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
            "CUSTOMER_MESSAGES_PER_MINUTE": "10000",
            "CUSTOMER_MESSAGES_PER_DAY": "100000",
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
            **({"POLICY_PATH": str(self.rules)} if self.rules else {}),
        }


@asynccontextmanager
async def open_campaign(
    engine: str,
    folder: Path,
    *,
    seed: int,
    is_staffed: bool = False,
    without: str = "",
    script: Callable[[Json], Reply] = decide,
    gather: Callable[[Outside, random.Random, Findings], AbstractAsyncContextManager[People]] = open_people,
    rules: str = "",
) -> AsyncIterator[Campaign]:
    """Everything but a running product. `seed` decides on all that is random here, as far as time allows.

    The model replies by `script`, `gather` brings the people, and `rules` say what may be changed in the shop.
    """
    chance = random.Random(seed)  # noqa: S311
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(open_postgres()) if engine == "postgres" else None
        url = await server.create() if server else f"sqlite+aiosqlite:///{folder / 'frontdesk.db'}"
        outside = await stack.enter_async_context(open_outside(chance, script=script))
        findings = Findings()
        people = await stack.enter_async_context(gather(outside, chance, findings))
        victims = await stack.enter_async_context(open_victims())
        members = [Member(role) for role in ROLES[engine]]
        campaign = Campaign(
            engine,
            outside,
            victims,
            folder,
            url,
            chance,
            members,
            server,
            people,
            findings,
            is_staffed=is_staffed,
            without=without,
        )
        if rules:
            campaign.rules = folder / "rules.yml"
            await asyncio.to_thread(campaign.rules.write_text, rules, "utf-8")
        outside.deliveries.targets = [
            f"http://127.0.0.1:{member.port}/slack/events" for member in members if member.role != "work"
        ]
        yield campaign


def places(*, again: bool) -> list[tuple[str, int]]:
    """Every place with the passing at which it kills; with `again` several passings of some."""
    passed = [place for place in FAILPOINTS if place not in NOT_PASSED]
    return [(place, passing) for place in passed for passing in (PLACES_AGAIN.get(place, (1,)) if again else (1,))]


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
