"""One step of a case: in one transaction the case is changed, its messages are queued and its audit entry is written.

step          make a step
  change      the first half, for a step that has more to do in the same transaction
  say         queue a step's messages, and the updates that remove useless buttons
  done        wake the outbox when the transaction is committed
current_case  the case that a step starts from
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from bot.cases import case as steps
from bot.cases.buttons import taken_away
from bot.cases.case import MovedOn
from bot.cases.handing_back import begin_anew
from bot.cases.hours import Targets
from bot.cases.messages import CaseMessages, session_status
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.errors import FrontdeskError
from bot.failpoints import failpoint
from bot.slack.outbox import Outbox
from bot.store import audit, cases, interrupts, outbox
from bot.store.cases import Case
from bot.store.database import Database, Transaction
from bot.store.outbox import Outgoing
from bot.store.statements import lock


class UnknownCase(FrontdeskError):
    """A button names a case that does not exist."""


def lock_of(thread: ThreadRef) -> str:
    """The name of the lock that guards whether a thread has an open case."""
    return f"case/{thread.key}"


async def the_case(tx: Transaction, ref: str) -> Case:
    """The case with this reference. Raises UnknownCase."""
    case_id = cases.id_of(ref)
    case = None if case_id is None else await cases.find(tx, case_id)
    if case is None:
        raise UnknownCase(ref[:20])
    return case


async def held_case(tx: Transaction, ref: str) -> Case:
    """The case with this reference, locked until the transaction ends. Raises UnknownCase."""
    await lock(tx, lock_of((await the_case(tx, ref)).thread))
    return await the_case(tx, ref)


async def current_case(tx: Transaction, ref: str, *, version: int | None = None) -> Case:
    """Like `held_case`, but raises MovedOn if the thread has another open case by now, or the case another version."""
    case = await held_case(tx, ref)
    if version not in (None, case.version):
        raise MovedOn(case)
    other = await cases.find_open(tx, case.thread)
    if other is not None and other.id != case.id:
        raise MovedOn(case if case.state == cases.MERGED else other)
    return case


Change = Callable[[Case, float], Case]
"""A step of bot/cases/case.py: from a case and the present time to the case that it becomes."""


@dataclass(frozen=True, slots=True)
class Stepping:
    """Makes the steps of cases. `bot.app` puts the parts together."""

    database: Database
    outbox: Outbox
    clock: Clock
    messages: CaseMessages

    @property
    def targets(self) -> Targets:
        """The SLA targets for a claim, and the opening hours."""
        return self.messages.targets

    async def step(
        self,
        ref: str,
        actor: str,
        action: str,
        change: Change,
        *,
        say: Callable[[Case], Sequence[Outgoing]] | None = None,
        note: str | None = None,
        once: Callable[[Case], str] | None = None,
        used: Collection[str] = (),
        start: Callable[[Transaction, str], Awaitable[Case]] = current_case,
        **detail: str,
    ) -> Case:
        """Change the case and queue its messages: those that the table of announcements has for `action`, or `say`.

        With a `note` the thread goes back to the assistant, and a new episode begins with the note. `once` gives the
        key of the message that a former step of this kind queued; if it exists, MovedOn is raised. `used` are the
        buttons that the step uses up. `start` reads the case. `detail` is for the audit trail.

        Raises:
            MovedOn: The case is not in a state that allows this step, or another person was faster.
            UnknownCase: There is no such case.
        """
        async with self.database.transaction() as tx:
            before = await start(tx, ref)
            if once is not None and await outbox.by_key(tx, once(before)) is not None:
                raise MovedOn(before)
            after = await self.change(tx, before, actor, action, change, **detail)
            if after.state == "human" and before.waits:
                await interrupts.claim(tx, after.thread)
            rows = self.messages.announce(action, after, before=before, by=actor) if say is None else say(after)
            await self.say(tx, before, after, rows, used=used)
            if note is not None:
                await self.back_to_assistant(tx, before, note)
        self.done()
        return after

    async def change(
        self, tx: Transaction, before: Case, actor: str, action: str, change: Change, **detail: str
    ) -> Case:
        """Make the step and write its audit entry. Raises MovedOn."""
        after = await self.put(tx, before, change(before, self.clock.now()))
        await self.note(tx, actor, action, after, **detail)
        failpoint("case_changed")
        return after

    async def put(self, tx: Transaction, before: Case, after: Case) -> Case:
        """Save the changed case. Raises MovedOn if it has changed since it was read."""
        changed = await cases.change(tx, before, after)
        if changed is None:
            raise MovedOn(await the_case(tx, before.ref))
        return changed

    async def say(
        self, tx: Transaction, before: Case, after: Case, rows: Sequence[Outgoing], *, used: Collection[str] = ()
    ) -> None:
        """Queue a step's messages, and after them the updates that remove buttons which are now useless or `used`."""
        away = await taken_away(tx, before, after, agent_channel=self.messages.agent_channel, used=used)
        has_changed = session_status(before) != session_status(after)
        shown = [self.messages.session(after)] if has_changed else []
        await outbox.add(tx, *rows, *away, *shown, now=self.clock.now())

    async def note(self, tx: Transaction, actor: str, action: str, case: Case, **detail: str) -> None:
        """Write the audit entry of a step."""
        await audit.note(
            tx, actor=actor, action=f"case.{action}", subject=case.ref, detail=detail, now=self.clock.now()
        )

    def done(self) -> None:
        """Wake the outbox. Call this after the transaction of a step."""
        failpoint("case_stepped")
        self.outbox.wake()

    async def back_to_assistant(self, tx: Transaction, before: Case, note: str) -> None:
        """Begin a new episode in the case's thread, and in the threads of the cases that were merged into it."""
        now = self.clock.now()
        await begin_anew(tx, before, note, now=now)
        for each in await cases.merged_into(tx, before.id):
            unmerged = await self.put(tx, each, steps.unmerge(each, now=now))
            await begin_anew(tx, replace(each, owner_name=before.owner_name), note, now=now)
            rows = self.messages.announce("unmerged", unmerged)
            await outbox.add(tx, *rows, self.messages.session(unmerged), now=now)
