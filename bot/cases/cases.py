"""Cases: opening, claiming, ending. Each step is one transaction (step.py) of a pure function (case.py).

open          A person is needed.
claim         A person takes the case. Of two claims one wins. A running answer of the assistant is interrupted.
take_over     Another person takes a claimed case.
join          Another person helps the owner.
transfer      Another desk gets the case.
merge         People continue it in another case of the same customer.
resolve       The matter is settled.
hand_back     The assistant continues, in a new episode.
cancel        The customer no longer wants a person.
reopen        The customer says that it is not solved.
mark_spam     The team won't reply.
prioritize    Staff change the priority.
tag           Staff give it tags.
endanger      A graver danger raises the priority to high.
urge          The customer cannot wait for the desk to open.
can_wait      The customer can wait.
keep_helping  The customer wants the assistant to answer while the case waits.
snooze        Staff delay the next SLA step.
await_customer  The customer is to answer before the team goes on.
put_aside     Staff snooze a claimed case until a time.
wake          The snooze ends.
retitle       The title says better what the matter is.
offer         The customer of a case that waits sees how it stands, or what they can do.
says_solved   The customer of a claimed case says that no person is needed any more.
end_erased    The customer's data is erased.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from bot.cases import case as steps
from bot.cases.case import MovedOn, Priority
from bot.cases.hours import Targets
from bot.cases.messages import CaseMessages
from bot.cases.opening import Opening, find_or_open, hides, permalink, usual_minutes
from bot.cases.scoring import Scoring
from bot.cases.staff import name_of
from bot.cases.status import CaseStatus
from bot.cases.step import Change, Stepping, UnknownCase, current_case, held_case, lock_of, the_case
from bot.cases.titles import title_in
from bot.conversation import Customer, ThreadRef
from bot.desk_file.model import MAX_TAGS
from bot.failpoints import failpoint
from bot.guard.guardrails import mask
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.store import cases, outbox, transcripts
from bot.store.cases import Case, card_key, ref_of
from bot.store.database import Transaction
from bot.store.statements import lock
from bot.telemetry import Metrics
from bot.views import staff_cards
from bot.views.announcements import Offer

OPEN_CASES = 5
MAIN_DESK = "Main desk"
"""The name of the agent channel in the list of desks."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Makes the changes of cases."""

    stepping: Stepping
    chat: Chat
    directory: Directory
    metrics: Metrics
    most: int = OPEN_CASES
    """The number of cases that one customer may have open. One customer who writes in ever more threads must not keep
    the whole desk busy."""
    desks: Mapping[str, str] = field(default_factory=dict)
    """The other desks that a case can be transferred to, channel -> name."""

    async def open(
        self,
        thread: ThreadRef,
        customer: Customer,
        *,
        reason: str,
        priority: Priority,
        subject: str = "",
        summary: str = "",
        one_a_customer: bool = False,
        called_by: str = "",
        said_first: str = "",
    ) -> Case:
        """Open a case for the thread and tell both sides. If the thread has an open case already, return that one.

        Without a `subject` the title is made from what the customer wrote. `called_by` is the name of the colleague who
        opened the case from the customer's message. `said_first` is what the customer reads before the sentence that
        the case was passed on; without it, the sentence of the reason.

        With `one_a_customer` an open case of another of the customer's threads is returned if it has the same reason.
        A customer with `most` open cases gets no further one: the thread is joined to the latest of these, and both
        sides are told.
        """
        opening = Opening(
            thread,
            customer,
            reason=reason,
            priority="high" if reason in steps.URGENT else priority,
            subject=mask(subject),
            summary=mask(summary).strip(),
            called_by=called_by,
            said_first=said_first,
            link=await permalink(self.chat, thread),
            usual=await usual_minutes(self.stepping),
        )
        async with self.stepping.database.transaction() as tx:
            case, is_new = await find_or_open(tx, opening, self.stepping, most=self.most, one_a_customer=one_a_customer)
        if is_new:
            failpoint("case_opened")
            self.metrics.case_opened(reason)
        self.stepping.outbox.wake()
        return case

    async def claim(self, ref: str, user: str) -> Case:
        """A person of the desk takes a waiting case. Raises MovedOn for everyone but the first."""
        name = await name_of(self.directory, user)
        return await self.stepping.step(
            ref,
            user,
            "claimed",
            lambda case, now: steps.owe_reply(steps.claim(case, user, name, now=now), now=now, targets=self.targets),
        )

    async def take_over(self, ref: str, user: str) -> Case:
        """Another person takes a claimed case. The customer is told once."""
        name = await name_of(self.directory, user)
        return await self.stepping.step(
            ref,
            user,
            "taken_over",
            lambda case, now: steps.take_over(case, user, name, now=now),
        )

    async def join(self, ref: str, user: str) -> Case:
        """Another person helps the owner."""
        name = await name_of(self.directory, user)
        return await self.stepping.step(
            ref,
            user,
            "joined",
            lambda case, now: steps.join(case, user, name, now=now),
        )

    @property
    def team_channels(self) -> frozenset[str]:
        """The channels of all desks."""
        return frozenset((self.messages.agent_channel, *self.desks))

    def other_desks(self, case: Case) -> dict[str, str]:
        """The desks that the case can be transferred to, channel -> name."""
        desks = {self.messages.agent_channel: MAIN_DESK, **self.desks}
        return {channel: name for channel, name in desks.items() if channel != self.messages.desk(case)}

    async def transfer(self, ref: str, user: str, channel: str) -> Case:
        """Move the case to another desk, where it waits. The customer is told once.

        Raises UnknownCase if `channel` is not a desk's, and MovedOn if the case is not open or is there already.
        """
        if channel not in self.team_channels:
            raise UnknownCase(channel[:20])
        desk = "" if channel == self.messages.agent_channel else channel
        async with self.stepping.database.transaction() as tx:
            before = await current_case(tx, ref)
            case = await self.stepping.change(
                tx,
                before,
                user,
                "transferred",
                lambda case, now: steps.transfer(case, desk, now=now, targets=self.targets),
                desk=desk,
            )
            lines = await transcripts.of_thread(tx, case.thread)
            is_known = await outbox.by_key(tx, card_key(case)) is not None
            rows = self.messages.transferred(case, lines, before=before, by=user, is_known=is_known)
            await self.stepping.say(tx, before, case, rows)
        self.stepping.done()
        return case

    async def mergeable(self, case: Case) -> list[Case]:
        """The open cases that this one can be merged into.

        They belong to the same customer, and a merge into them shows no private message to other people.
        """
        async with self.stepping.database.transaction() as tx:
            found = await cases.find_open_of(tx, case.thread.team, case.customer)
        return [each for each in found if _fits(case, each)]

    async def merge(self, ref: str, user: str, *, into: str, version: int | None = None) -> Case:
        """People continue the case in another one of the same customer, who is told once.

        Raises:
            MovedOn: One of the cases is no longer open, or the case has another version than the one that is given.
            UnknownCase: There is no such case, or `into` is not one of `mergeable`.
        """
        async with self.stepping.database.transaction() as tx:
            both = [await the_case(tx, each) for each in (ref, into)]
            for name in sorted(lock_of(each.thread) for each in both):
                await lock(tx, name)
            target = await the_case(tx, into)
            if not _fits(both[0], target):
                raise UnknownCase(into[:20])
            before = await current_case(tx, ref, version=version)
            case = await self.stepping.change(
                tx, before, user, "merged", lambda case, now: steps.merge(case, target, now=now), into=target.ref
            )
            for each in await cases.merged_into(tx, case.id):
                await self.stepping.put(tx, each, replace(each, merged_into=target.id))
            lines = await transcripts.of_thread(tx, case.thread)
            rows = self.messages.merged(case, lines, into=target, by=user)
            await self.stepping.say(tx, before, case, rows)
        self.stepping.done()
        return case

    async def resolve(
        self,
        ref: str,
        user: str,
        *,
        outcome: str = "solved",
        cause: str = "",
        tags: Collection[str] | None = None,
        suggest: bool = False,
        version: int | None = None,
    ) -> Case:
        """The matter is settled, and the assistant answers from now on.

        `outcome` and `cause` are what the person chose: an outcome that the desk has, and a cause or nothing. Without a
        cause, the one that its tags say. `tags` are None if the person was not asked for them. `suggest` records that
        staff want the answer in the help pages. With a `version`, a case that has another one stays as it is.
        """
        name, desk = await name_of(self.directory, user), self.messages.desk_file()
        chosen = None if tags is None else self._known_tags(tags)

        def resolve(case: Case, now: float) -> Case:
            known = cause or desk.cases.cause_of(case.tags if chosen is None else chosen)
            return steps.resolve(case, now=now, outcome=outcome, cause=known, tags=chosen)

        return await self.stepping.step(
            ref,
            user,
            "resolved",
            resolve,
            say=lambda case: self.messages.resolved(case, by=user, name=name),
            start=partial(current_case, version=version),
            note=f"They closed the case: {staff_cards.outcomes_of(desk)[outcome].lower()}.",
            outcome=outcome,
            cause=cause,
            suggest="yes" if suggest else "no",
            tags=" ".join(chosen or ()),
        )

    async def hand_back(self, ref: str, user: str, *, note: str = "") -> Case:
        """The assistant continues, and sees the `note`."""
        left = f' They left this note for you: "{mask(note).strip()}".' if note.strip() else ""
        return await self.stepping.step(
            ref,
            user,
            "handed_back",
            lambda case, now: steps.hand_back(case, now=now),
            note=f"They handed the conversation back to you.{left}",
        )

    async def cancel(self, ref: str, user: str, *, wrote: bool = False) -> Case:
        """The customer continues with the assistant. If they `wrote` so and pressed no button, they can undo it.

        Raises MovedOn for anyone but the customer, and after a claim.
        """
        return await self.stepping.step(
            ref,
            user,
            "cancelled",
            lambda case, now: steps.cancel(own(case, user), now=now),
            say=(lambda case: self.messages.announce("taken_back", case, by=user)) if wrote else None,
            note="The customer asked for a person, then chose to go on with you.",
        )

    async def reopen(self, ref: str, user: str, *, wrote: bool = False) -> Case:
        """The customer says that the case is not solved, or `wrote` again. The case waits again.

        Raises MovedOn for anyone but the customer, and when it is too late to reopen the case.
        """
        return await self.stepping.step(
            ref,
            user,
            "reopened",
            lambda case, now: steps.reopen(own(case, user), now=now, targets=self.targets),
            say=lambda case: self.messages.reopened(case, wrote=wrote),
        )

    async def mark_spam(self, ref: str, user: str, *, version: int | None = None) -> Case:
        """The team won't reply, and the customer is told. The assistant answers from now on.

        With a `version`, a case that has another one stays as it is.
        """
        return await self.stepping.step(
            ref,
            user,
            "spam",
            lambda case, now: steps.mark_spam(case, now=now),
            start=partial(current_case, version=version),
            note="The team closed it without an answer, as spam.",
        )

    async def prioritize(self, ref: str, user: str, priority: Priority) -> Case:
        """Set the priority, which the card shows. The same priority again changes nothing."""
        case = await self.find(ref)
        if case.priority == priority:
            return case
        return await self.stepping.step(
            ref,
            user,
            "prioritized",
            lambda case, now: steps.prioritize(case, priority, now=now, targets=self.targets),
            priority=priority,
        )

    async def tag(self, ref: str, user: str, tags: Collection[str], *, version: int | None = None) -> Case:
        """Give the case these tags of the desk file, in place of those that it has. The same again changes nothing.

        With a `version`, a case that has another one stays as it is.
        """
        chosen, case = self._known_tags(tags), await self.find(ref)
        if case.is_open and case.tags == chosen:
            return case
        return await self.stepping.step(
            ref,
            user,
            "tagged",
            lambda case, now: steps.tag(case, chosen),
            say=lambda case: self.messages.announce("marked", case),
            start=partial(current_case, version=version),
            tags=" ".join(chosen),
        )

    def _known_tags(self, tags: Collection[str]) -> tuple[str, ...]:
        """Those of the tags that the desk file has, in its order."""
        return tuple(tag for tag in self.messages.desk_file().cases.tags if tag in tags)[:MAX_TAGS]

    async def endanger(self, ref: str, user: str, reason: str) -> Case | None:
        """The customer's words in an open case show a graver danger. It becomes urgent, and the card says why.

        Returns None if the case already has a reason that is as grave, or is no longer open.
        """
        try:
            return await self.stepping.step(
                ref,
                user,
                "prioritized",
                lambda case, now: steps.endanger(case, reason, now=now, targets=self.targets),
                say=self.messages.endangered,
                priority="high",
                reason=reason,
            )
        except MovedOn:
            return None

    async def urge(self, ref: str, user: str) -> Case:
        """The customer cannot wait for the desk to open. The people on call are called if the settings say so."""
        return await self.stepping.step(
            ref,
            user,
            "urged",
            lambda case, now: steps.urge(own(case, user)),
            say=self.messages.urged,
            start=held_case,
        )

    async def can_wait(self, ref: str, user: str) -> Case:
        """The case stays as it is, and the customer is offered answers from the assistant while it waits.

        Raises MovedOn if the customer was offered them before.
        """
        return await self.stepping.step(
            ref,
            user,
            "can_wait",
            lambda case, now: steps.can_wait(own(case, user)),
            say=self.messages.can_wait,
            once=self.messages.key_of_waiting,
            used={"esc.wait"},
            start=held_case,
        )

    async def keep_helping(self, ref: str, user: str) -> Case:
        """The assistant answers until a person claims the case."""
        return await self.stepping.step(
            ref, user, "kept_helping", lambda case, now: steps.keep_helping(own(case, user)), start=held_case
        )

    async def snooze(self, ref: str, user: str, alert: str) -> Case:
        """Delay the next SLA step. `alert` is the version of the case in the last alert.

        Raises MovedOn if the step was delayed at this alert before.
        """
        return await self.stepping.step(
            ref,
            user,
            "snoozed",
            lambda case, now: steps.snooze(case, now=now, targets=self.targets),
            say=lambda case: [self.messages.snoozed(case, alert=alert, by=user)],
            once=lambda case: self.messages.key_of_snooze(case, alert),
            start=held_case,
        )

    async def await_customer(self, ref: str, user: str) -> Case:
        """The customer is to answer before the team goes on. Raises MovedOn if that is so already."""
        return await self._mark(ref, user, "awaits_customer", lambda case, now: steps.await_customer(case, now=now))

    async def put_aside(self, ref: str, user: str, until: float) -> Case:
        """The case is snoozed until a time. Raises MovedOn if the time is past."""
        return await self._mark(ref, user, "put_aside", lambda case, now: steps.put_aside(case, until, now=now))

    async def wake(self, ref: str, user: str) -> Case:
        """The snooze ends now. Raises MovedOn if there is none."""
        return await self._mark(ref, user, "woken", lambda case, now: steps.wake(case, now=now))

    async def _mark(self, ref: str, user: str, action: str, change: Change) -> Case:
        return await self.stepping.step(
            ref, user, action, change, say=lambda case: self.messages.announce("marked", case), start=held_case
        )

    async def name_matter(self, case: Case, words: str) -> None:
        """Give a case that has no title one, if the customer's words say what the matter is."""
        if not case.titled_by and (title := title_in([words])):
            await self.retitle(case, title, by="rule")

    async def retitle(self, case: Case, title: str, *, by: str) -> bool:
        """Give the case another title, which its card shows. False if it has another one by now, or is not open."""
        async with self.stepping.database.transaction() as tx:
            await lock(tx, lock_of(case.thread))
            titled = await cases.retitle(tx, case, title, by=by, now=self.stepping.clock.now())
            if titled is not None:
                await outbox.add(tx, self.messages.retitled(titled), now=self.stepping.clock.now())
        self.stepping.outbox.wake()
        return titled is not None

    async def offer(self, ref: str, offer: Offer, *, key: str) -> None:
        """Show the customer of a case that waits how it stands, or what they can do. Nothing after a claim."""
        usual = await usual_minutes(self.stepping) if offer == "status" else None
        async with self.stepping.database.transaction() as tx:
            case = await held_case(tx, ref)
            if case.waits:
                told = self.messages.offered(case, offer, key=key, usual=usual)
                await outbox.add(tx, told, now=self.stepping.clock.now())
        self.stepping.outbox.wake()

    async def says_solved(self, ref: str) -> None:
        """Ask the person who has the case to resolve it, once for each person. Nothing if no person has it."""
        async with self.stepping.database.transaction() as tx:
            case = await held_case(tx, ref)
            if case.state == "human":
                await outbox.add(tx, self.messages.says_solved(case), now=self.stepping.clock.now())
        self.stepping.outbox.wake()

    @property
    def scoring(self) -> Scoring:
        """The scores that customers give their cases."""
        return Scoring(self.stepping)

    @property
    def status(self) -> CaseStatus:
        """What people are told about the present status of a case."""
        return CaseStatus(self.stepping.database, self.chat, self.messages)

    def desk(self, case: Case) -> str:
        """The channel of the case's card."""
        return self.messages.desk(case)

    @property
    def messages(self) -> CaseMessages:
        """What is said about cases."""
        return self.stepping.messages

    @property
    def targets(self) -> Targets:
        """The SLA targets for a claim, and the opening hours."""
        return self.stepping.targets

    async def end_erased(self, tx: Transaction, case_id: int, team: str, *, by: str) -> None:
        """End a case whose customer's data is erased, once. `by` is the actor in the audit trail.

        Until the transaction ends, the customer gets no new case. `team` is the customer's own team, the same that
        `open` gets. Raises MovedOn if the case changed while this ran.
        """
        case = await the_case(tx, ref_of(case_id))
        await lock(tx, f"cases/{team}/{case.customer}")
        await lock(tx, lock_of(case.thread))
        before = await the_case(tx, case.ref)
        if before.outcome == cases.ERASED:
            return
        now = self.stepping.clock.now()
        after = await self.stepping.put(tx, before, steps.erase(before, now=now))
        if before.state in cases.OPEN_STATES:
            await outbox.add(tx, self.messages.erased(before), now=now)
        await self.stepping.note(tx, by, "erased", after)

    async def find(self, ref: str) -> Case:
        """The case with this reference. Raises UnknownCase."""
        async with self.stepping.database.transaction() as tx:
            return await the_case(tx, ref)


def _fits(case: Case, into: Case) -> bool:
    """Whether a case can be merged into another one: it has the same customer and is at least as private."""
    theirs = (into.thread.team, into.customer) == (case.thread.team, case.customer)
    return theirs and into.id != case.id and hides(into, case.thread)


def own(case: Case, user: str) -> Case:
    """The case, if the user is its customer. Raises MovedOn otherwise."""
    if case.customer != user:
        raise MovedOn(case)
    return case
