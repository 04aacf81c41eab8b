"""What is said of a case while nobody is on it, besides its SLA alerts (bot/cases/sla.py).

urge          its customer cannot wait for the desk to open
can_wait      they can
keep_helping  they want the assistant to answer meanwhile
snooze        staff put off what is done next when nobody claims it
offer_end     the customer wrote as if nobody were needed any more
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from bot.cases import case as steps
from bot.cases.case import MovedOn
from bot.cases.cases import Cases, held_case, own, the_case
from bot.store import audit, cases, outbox
from bot.store.cases import Case
from bot.store.outbox import Outgoing


@dataclass(frozen=True, slots=True)
class Waiting:
    """Each is one transaction. Raises MovedOn for what was said already, and for what the case is past.

    Nobody says it of somebody else's case. UnknownCase: there is none.
    """

    cases: Cases

    async def urge(self, ref: str, user: str) -> Case:
        """It becomes urgent, and whoever is on duty is called if that is meant."""
        messages = self.cases.messages
        return await self._step(ref, user, "urged", lambda case: steps.urge(own(case, user)), messages.urged)

    async def can_wait(self, ref: str, user: str) -> Case:
        """Nothing changes, and the assistant is offered meanwhile."""
        messages = self.cases.messages
        return await self._step(
            ref,
            user,
            "can_wait",
            lambda case: steps.can_wait(own(case, user)),
            messages.can_wait,
            once=messages.key_of_waiting,
            used={"esc.wait"},
        )

    async def keep_helping(self, ref: str, user: str) -> Case:
        """The assistant answers until somebody claims it."""
        messages = self.cases.messages
        return await self._step(
            ref, user, "kept_helping", lambda case: steps.keep_helping(own(case, user)), messages.helping
        )

    async def snooze(self, ref: str, user: str, alert: str) -> Case:
        """Delay the next SLA step. `alert` is the version of the case in the last alert."""
        messages = self.cases.messages
        return await self._step(
            ref,
            user,
            "snoozed",
            lambda case: steps.snooze(case, targets=self.cases.targets),
            lambda case: [messages.snoozed(case, alert=alert, by=user)],
            once=lambda case: messages.key_of_snooze(case, alert),
        )

    async def offer_end(self, ref: str, *, key: str) -> None:
        """Show the customer the button that ends it, unless somebody has claimed it meanwhile."""
        async with self.cases.database.transaction() as tx:
            case = await held_case(tx, ref)
            if case.waits:
                await outbox.add(tx, self.cases.messages.settled(case, key=key), now=self.cases.clock.now())
        self.cases.outbox.wake()

    async def _step(
        self,
        ref: str,
        actor: str,
        action: str,
        change: Callable[[Case], Case],
        say: Callable[[Case], Sequence[Outgoing]],
        *,
        once: Callable[[Case], str] | None = None,
        used: Collection[str] = (),
    ) -> Case:
        """Change the case and queue what is said; `once` is the key of what was said when the step was made before, and
        `used` are buttons that serve once."""
        now = self.cases.clock.now()
        async with self.cases.database.transaction() as tx:
            before = await held_case(tx, ref)
            if once is not None and await outbox.by_key(tx, once(before)) is not None:
                raise MovedOn(before)
            after = await cases.change(tx, before, change(before))
            if after is None:
                raise MovedOn(await the_case(tx, ref))
            await self.cases.say(tx, before, after, say(after), used=used)
            await audit.note(tx, actor=actor, action=f"case.{action}", subject=ref, now=now)
        self.cases.outbox.wake()
        return after
