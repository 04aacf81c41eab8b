"""Steps of a case that waits for a person, besides its SLA alerts (bot/cases/sla.py).

urge          The customer cannot wait for the desk to open.
can_wait      The customer can wait.
keep_helping  The customer wants the assistant to answer while the case waits.
snooze        Staff delay the next SLA step.
offer_end     The customer wrote as if they no longer need a person.
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
    """Makes these steps, each in one transaction.

    Raises:
        MovedOn: The step was made already, the case's state does not allow it, or a customer's button names another
            customer's case.
        UnknownCase: There is no such case.
    """

    cases: Cases

    async def urge(self, ref: str, user: str) -> Case:
        """The case becomes urgent, and the people on call are called if the settings say so."""
        messages = self.cases.messages
        return await self._step(ref, user, "urged", lambda case: steps.urge(own(case, user)), messages.urged)

    async def can_wait(self, ref: str, user: str) -> Case:
        """The case stays as it is, and the customer is offered answers from the assistant while it waits."""
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
        """The assistant answers until a person claims the case."""
        messages = self.cases.messages
        return await self._step(
            ref,
            user,
            "kept_helping",
            lambda case: steps.keep_helping(own(case, user)),
            lambda case: messages.announce("kept_helping", case),
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
        """Show the customer the button that ends the case, unless a person has claimed it."""
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
        """Change the case and queue the messages of `say`.

        `once` gives the key of the message that a former step of this kind queued; if it exists, MovedOn is raised.
        `used` are the buttons that the step uses up.
        """
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
