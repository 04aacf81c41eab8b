"""What has been kept long enough goes, day by day and in short transactions, by whichever process is due.

The figures of a day are computed and stored before anything of it goes, so the report stays the same. A process that
ends in between leaves nothing half done: the day is gone over again.
"""

import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from math import inf
from typing import Protocol, TypeVar

from bot.clock import DAY, HOUR, WEEK, Clock
from bot.failpoints import failpoint
from bot.privacy.retention import Retention
from bot.reporting import metrics
from bot.reporting.metrics import Between, all_the_time
from bot.store import daily, fixes, retention, schedule, spending
from bot.store.database import Database, Transaction
from bot.store.retention import Ended, Kind
from bot.turns.batches import Steps

logger = logging.getLogger(__name__)

SWEEP = "retention"
"""The name of the sweep's row in the schedule."""
LOOKED_AT = 200
"""The number of rows of one reading."""
CONVERSATIONS = 20
"""The number of conversations that are swept together."""
PAUSE_SECONDS = 0.01
"""The pause after each transaction, in seconds, for those who wait for the database."""
DELIVERY, WORDS_LEFT, RECORDS_LEFT = "delivery", "words/posts", "records/posts"
"""The names of sweeps over all posts, by their number."""

Item = TypeVar("Item")


class DeleteSome(Protocol):
    """Deletes some of what is older than that, and returns how much."""

    def __call__(self, tx: Transaction, before: float, *, limit: int) -> Awaitable[int]: ...


@dataclass(frozen=True, slots=True)
class Due:
    """What goes if a sweep runs now."""

    words: Counter[str]
    records: Counter[str]
    delivery: Counter[str]


class RetentionSweep:
    """Sweeps one database by one rule."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        rule: Retention,
        *,
        between: Between = all_the_time,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """`between` counts the waiting times of the report. `wake` has the outbox sent."""
        self._database = database
        self._clock = clock
        self._rule = rule
        self._between = between
        self._wake = wake
        self._steps = Steps(database, clock)

    async def look(self) -> None:
        """Sweep if it is due and no other process does it."""
        now = self._clock.now()
        async with self._database.transaction() as tx:
            if await schedule.due(tx, SWEEP) is None:
                await schedule.plan(tx, SWEEP, rule="daily", due=now)
            if not await schedule.take(tx, SWEEP, now=now, then=now + HOUR):
                return
        swept = await self.sweep()
        async with self._database.transaction() as tx:
            # The next one comes after midnight (UTC), when another day is over.
            then = now - now % DAY + DAY + HOUR
            await schedule.forget(tx, SWEEP)
            await schedule.plan(tx, SWEEP, rule="daily", due=then)
        if swept.total():
            logger.info("what was kept long enough is gone", extra={"rows": dict(swept), "kept": str(self._rule)})

    async def sweep(self) -> Counter[str]:
        """Sweep everything that is due. Returns how much of each kind went."""
        swept: Counter[str] = Counter()
        if self._rule.delivery:
            swept["delivery"] = await self._old_posts(DELIVERY, self._before(self._rule.delivery))
        if self._rule.words:
            await self._by_day("words", self._rule.words, swept)
            await self._old_posts(WORDS_LEFT, self._before(self._rule.words))
            await self._delete_all(retention.delete_suggestions, self._before(self._rule.words))
            self._wake()
        if self._rule.records:
            await self._by_day("records", self._rule.records, swept)
            await self._old_records(self._before(self._rule.records))
        if swept.total():
            await self._database.scrub()
        return swept

    async def due(self) -> Due:
        """Count what a sweep would take now. Nothing is changed."""
        words, records, delivery = Counter[str](), Counter[str](), Counter[str]()
        kinds: tuple[tuple[Kind, int, Counter[str]], ...] = (
            ("words", self._rule.words, words),
            ("records", self._rule.records, records),
        )
        for kind, days, counted in kinds:
            if not days:
                continue
            quiet_until = 0.0
            for start in await self._days(kind, days):
                if start < quiet_until:
                    continue
                async with aclosing(self._ended_on(start)) as batches:
                    async for ended in batches:
                        counted += await self._counted(ended)
                async with self._database.transaction() as tx:
                    following = await retention.happens_next(tx, start + DAY)
                quiet_until = inf if following is None else following - following % DAY
        if self._rule.delivery:
            async with aclosing(self._posts_before(DELIVERY, self._before(self._rule.delivery))) as batches:
                async for _, posts in batches:
                    delivery["posts"] += len(posts)
        return Due(+words, +records, +delivery)

    async def _counted(self, ended: Ended) -> Counter[str]:
        async with self._database.transaction() as tx:
            rows = await retention.rows_of(tx, ended)
            files = len(await retention.files_of(tx, rows.posts))
        counted = {"conversations": len(ended.threads), "cases": len(ended.cases), "messages": len(rows.messages)}
        return Counter(counted | {"answers": len(rows.answers), "posts": len(rows.posts), "files": files})

    def _before(self, days: int) -> float:
        """The midnight (UTC) before which rows have been kept for so many days."""
        now = self._clock.now()
        return now - now % DAY - days * DAY

    async def _days(self, kind: Kind, days: int) -> Sequence[float]:
        """The beginnings of the days that are to be swept, oldest first."""
        async with self._database.transaction() as tx:
            reached, oldest = await retention.reached(tx, kind), await retention.begins(tx)
        start = daily.start_of(reached) if reached else oldest
        if start is None:
            return ()
        start -= start % DAY
        return [start + number * DAY for number in range(round((self._before(days) - start) / DAY))]

    async def _by_day(self, kind: Kind, days: int, swept: Counter[str]) -> None:
        """Sweep the conversations that ended on each day."""
        for start in await self._days(kind, days):
            if kind == "words":
                await self._roll_up(start)
            async with aclosing(self._ended_on(start)) as batches:
                async for ended in batches:
                    swept[kind] += await (self._empty(ended) if kind == "words" else self._delete(ended))
            async with self._database.transaction() as tx:
                await retention.reach(tx, kind, daily.day_of(start + DAY), now=self._clock.now())
                # While it goes on, no other process begins.
                await schedule.plan(
                    tx, SWEEP, rule=f"until {int(self._clock.now() + HOUR)}", due=self._clock.now() + HOUR
                )
            failpoint("day_swept")

    async def _roll_up(self, start: float) -> None:
        """Store the figures of the week that begins then, unless those of this day are stored."""
        async with self._database.transaction() as tx:
            newest = await daily.newest(tx, "report")
        if newest is None or newest < daily.day_of(start):
            end = min(start + WEEK, self._before(self._rule.words))
            await metrics.roll_up(self._database, start, max(end, start + DAY), between=self._between)

    async def _ended_on(self, start: float) -> AsyncGenerator[Ended]:
        """The conversations of which the last thing happened on the day that begins then, some at a time."""
        after, done = None, Ended()
        while True:
            async with self._database.transaction() as tx:
                happened = await retention.happened_on(tx, start, after=after, limit=LOOKED_AT)
            for some in happened.parts(CONVERSATIONS):
                async with self._database.transaction() as tx:
                    ended = (await retention.ended_by(tx, some, start + DAY)).besides(done)
                if ended.threads:
                    done = Ended(done.threads | ended.threads, done.cases | ended.cases)
                    yield ended
            after = happened.after
            if after is None:
                return

    async def _empty(self, ended: Ended) -> int:
        """Take the words of conversations."""
        async with self._database.transaction() as tx:
            rows = await retention.rows_of(tx, ended)
        for messages in self._parts(rows.messages):
            async with self._steps.transaction() as tx:
                await retention.empty_messages(tx, messages)
        for answers in self._parts(rows.answers):
            async with self._steps.transaction() as tx:
                await retention.empty_answers(tx, ended, answers)
        for posts in self._parts(rows.posts):
            async with self._steps.transaction() as tx:
                await retention.empty_posts(tx, posts, now=self._clock.now())
        async with self._steps.transaction() as tx:
            await retention.empty_rest(tx, ended)
        await self._clock.sleep(PAUSE_SECONDS)
        return len(rows.messages)

    async def _delete(self, ended: Ended) -> int:
        """Delete conversations. What they are found by goes last, and at once."""
        async with self._database.transaction() as tx:
            rows = await retention.rows_of(tx, ended, unsent=True)
        for messages in self._parts([each for each in rows.messages if each not in rows.last]):
            async with self._steps.transaction() as tx:
                await retention.delete_messages(tx, messages)
        for posts in self._parts([each for each in rows.posts if each.id not in rows.cards]):
            async with self._steps.transaction() as tx:
                await retention.delete_posts(tx, posts)
        async with self._steps.transaction() as tx:
            await retention.delete_posts(tx, [each for each in rows.posts if each.id in rows.cards])
            await retention.delete_cases(tx, ended)
            await retention.delete_messages(tx, sorted(rows.last))
            await retention.delete_threads(tx, ended)
        await self._clock.sleep(PAUSE_SECONDS)
        return len(rows.messages)

    def _parts(self, items: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """The items in parts that fit into a short transaction each."""
        at = 0
        while at < len(items):
            size = self._steps.next_size()
            yield items[at : at + size]
            at += size

    async def _posts_before(self, name: str, before: float) -> AsyncGenerator[tuple[int, list[retention.Post]]]:
        """Posts that were made before then, some at a time, each with how far was looked."""
        async with self._database.transaction() as tx:
            after = int(await retention.reached(tx, name) or 0)
        while True:
            async with self._database.transaction() as tx:
                after, posts = await retention.old_posts(
                    tx, before, after=after, limit=LOOKED_AT, delivery=name == DELIVERY
                )
            if not after:
                return
            yield after, posts

    async def _old_posts(self, name: str, before: float) -> int:
        """Sweep posts by their number: delete them, or take the words of those that belong to no conversation."""
        count = 0
        async with aclosing(self._posts_before(name, before)) as batches:
            async for reached, posts in batches:
                for some in self._parts(posts):
                    async with self._steps.transaction() as tx:
                        if name == WORDS_LEFT:
                            await retention.empty_posts(tx, some, now=self._clock.now())
                        else:
                            await retention.delete_posts(tx, some)
                count += len(posts)
                async with self._database.transaction() as tx:
                    await retention.reach(tx, name, str(reached), now=self._clock.now())
                await self._clock.sleep(PAUSE_SECONDS)
        return count

    async def _old_records(self, before: float) -> None:
        """Delete what belongs to no conversation: costs, whose totals are stored first, posts, and others."""
        await self._roll_up_costs(before)
        await self._old_posts(RECORDS_LEFT, before)
        for delete_some in (
            spending.delete_before,
            retention.delete_audit,
            retention.delete_feedback,
            retention.delete_procedures,
            fixes.delete_before,
        ):
            await self._delete_all(delete_some, before)

    async def _delete_all(self, delete_some: DeleteSome, before: float) -> None:
        while True:
            async with self._steps.transaction() as tx:
                if not await delete_some(tx, before, limit=LOOKED_AT):
                    break
            await self._clock.sleep(PAUSE_SECONDS)

    async def _roll_up_costs(self, before: float) -> None:
        """Store what each day has cost."""
        async with self._database.transaction() as tx:
            newest, oldest = await daily.newest(tx, "spending"), await retention.oldest_use(tx)
        start = daily.start_of(newest) + DAY if newest else oldest
        while start is not None and start - start % DAY < before:
            async with self._database.transaction() as tx:
                await spending.roll_up(tx, start - start % DAY)
            start += DAY
