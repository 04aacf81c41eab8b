"""Procedures that are on: code owns the place in them, and moves it on what was noted, on facts, and on actions' ends.

on_in          the one that is on in a thread
catch_up       the same, after what has happened to it since
begin          begin one
note           note a value, and go on as far as that leads
leave          end it, because the customer wants something else
give_up        call a person, because it has taken too long
move_due       move those that something has happened to since: an action's end, a case, a day of silence
run            the same, until cancelled

A step of a procedure and what follows from it are saved together. What comes before can be done twice: an action is
found by its origin, and a case by its thread.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, cast

from bot.actions.checking import NeedsMore
from bot.actions.preparing import ChangeRequest, Prepared, Preparing, origin_again
from bot.alerts import Alerts
from bot.cases.cases import Cases
from bot.clock import DAY, Clock
from bot.conversation import Customer, ThreadRef
from bot.errors import FrontdeskError
from bot.failpoints import failpoint
from bot.language.languages import Language
from bot.language.sentences import language_for
from bot.procedures.file import HandOver, Procedure, Procedures, Step, parse_procedure
from bot.procedures.graph import END, PEOPLE
from bot.procedures.values import Noted, WrongValue, lines_in, read_value, shown, swaps_in
from bot.procedures.walking import after_action, after_asking, after_check, is_waiting, kept_at
from bot.shops.actions import ActionKind, Arguments
from bot.shops.port import Address, ShopUnavailable
from bot.slack.mrkdwn import escape
from bot.store import actions, cases, procedures, threads
from bot.store.actions import Action
from bot.store.database import Database
from bot.store.procedures import OPEN_ACTIONS, ProcedureRun
from bot.telemetry import Metrics

logger = logging.getLogger(__name__)

MOST_ROUNDS = 12
"""The replies of a model that one procedure can take. After that, a person takes over."""
MOST_TRIES = 3
"""How many values in a row can be wrong. After that, a person takes over."""
SILENCE = DAY
"""The seconds without a word of the customer after which a procedure ends."""
STEPS_AT_ONCE = 100
"""The steps that are walked at most before something is saved."""
POLL_SECONDS = 1.0
MOST_MOVES = 50
RENEWAL_SECONDS = 60.0
"""How long the action that takes the place of another one may take to appear."""

Why = Literal["customer_stopped", "other_matter", "does_not_fit"]
"""Why the model leaves a procedure."""


class RunMoved(Exception):
    """The procedure has moved, or ended, since it was read."""


@dataclass(frozen=True, slots=True)
class Running:
    """A procedure that is on, or has just ended."""

    run: ProcedureRun
    procedure: Procedure
    words: str = ""
    """Why an action was refused, in the customer's language. Empty if none was."""

    @property
    def step(self) -> Step | None:
        """The step that is on. None at the end."""
        return self.procedure.step(self.run.step)

    @property
    def missing(self) -> tuple[str, ...]:
        """What the step still needs. What is optional counts until everything else is there."""
        needs = self.step.needs if self.step else ()
        return tuple(name for name in needs if name not in self.run.collected)


@lru_cache(maxsize=64)
def _parsed(source: str) -> Procedure:
    return parse_procedure(source)


@dataclass(frozen=True, slots=True)
class ProcedureRuns:
    """Walks procedures. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    procedures: Callable[[], Procedures]
    """The procedures in force. One that is on keeps the file with which it began."""
    preparing: Preparing
    cases: Cases
    identify: Callable[[str], Awaitable[Customer | None]]
    metrics: Metrics = field(default_factory=Metrics)
    alerts: Alerts = field(default_factory=Alerts)

    async def on_in(self, thread: ThreadRef) -> Running | None:
        """The one that is on in the thread. None while people have the thread."""
        async with self.database.transaction() as tx:
            run = await procedures.running_in(tx, thread)
            if run is None or await cases.find_open(tx, thread) is not None:
                return None
        return Running(run, _parsed(run.source))

    async def begin(self, wanted: ChangeRequest, name: str) -> Running:
        """Begin a procedure of the folder, unless one is on in the thread: then it is that one.

        Raises ShopUnavailable, and KeyError if there is no procedure of this name.
        """
        procedure, now = self.procedures()[name], self.clock.now()
        new = ProcedureRun(
            thread=wanted.thread,
            customer=wanted.customer.user,
            procedure=procedure.name,
            digest=procedure.digest,
            source=procedure.source,
            step=procedure.file.steps[0].id,
            started_at=now,
            touched_at=now,
            collected={},
            tries={},
        )
        async with self.database.transaction() as tx:
            begun = await procedures.begin(tx, new)
            run = begun or await procedures.running_in(tx, wanted.thread)
        if run is None:
            raise RunMoved
        if begun is None:
            return Running(run, _parsed(run.source))
        self.metrics.procedure_begun(procedure.name)
        return await self._go_on(wanted, run, run, procedure)

    async def note(
        self, wanted: ChangeRequest, running: Running, name: str, value: Noted, *, images: Sequence[str], turn: int
    ) -> Running:
        """Note a value, and go on as far as that leads. Another value than before has everything checked again.

        Raises:
            WrongValue: nothing is noted. After MOST_TRIES of them the procedure goes to a person instead.
            RunMoved: something else has moved it.
            ShopUnavailable: the shop does not say.
        """
        run, procedure = running.run, running.procedure
        spec = procedure.file.collect.get(name)
        if spec is None:
            raise WrongValue(f"There is no such name. Names are: {', '.join(procedure.file.collect)}.")
        if spec.of and spec.of not in run.collected:
            raise WrongValue(f"Note {spec.of} first: the lines are those of this order.")
        try:
            stored = await read_value(
                spec,
                value,
                collected=run.collected,
                shop=self.preparing.judging.shop,
                customer=wanted.shop,
                images=images,
            )
        except WrongValue:
            tried = await self._count_try(wanted, run, procedure, name)
            if tried is None:
                raise
            return tried
        turns = tuple(dict.fromkeys((*run.turns, turn)))
        tries = {key: number for key, number in run.tries.items() if key != name}
        collected = {**run.collected, name: stored}
        after = replace(run, collected=collected, tries=tries, turns=turns)
        if name in run.collected and run.collected[name] != stored:
            after = self._start_again(after, procedure, name)
        return await self._go_on(wanted, run, after, procedure)

    async def leave(self, running: Running, why: Why) -> None:
        """End it. An offer that waits for the customer's yes is withdrawn. Raises RunMoved."""
        logger.info("a procedure was left", extra={"procedure": running.run.procedure, "reason": why})
        await self._save(running.run, running.run.end("left", now=self.clock.now()))

    async def give_up(self, customer: Customer, running: Running) -> None:
        """Call a person, because it has taken too long."""
        after = replace(running.run, step=PEOPLE, action="")
        language = language_for(customer.locale)
        await self._hand_over(customer, language, running.run, after, running.procedure, "")

    async def run(self) -> None:
        """Move what is due until cancelled."""
        while True:
            try:
                await self.move_due()
            except FrontdeskError as error:
                self.alerts.tell(logger, "procedures could not be moved", about=type(error).__name__)
            await self.clock.sleep(POLL_SECONDS)

    async def move_due(self) -> None:
        """Move those that something has happened to since."""
        since = self.clock.now() - SILENCE
        async with self.database.transaction() as tx:
            if not await procedures.any_on(tx):
                return
            due = await procedures.to_move(tx, silent_since=since, limit=MOST_MOVES)
        for each in due:
            try:
                await self._move(each, silent_since=since)
            except RunMoved:
                logger.info("a procedure goes on elsewhere", extra={"procedure": each.procedure})
            except ShopUnavailable:
                # The next look tries again.
                logger.info("a procedure waits for the shop", extra={"procedure": each.procedure})
            except Exception:
                logger.exception("a procedure could not be moved", extra={"procedure": each.procedure})

    async def catch_up(self, thread: ThreadRef) -> Running | None:
        """The one that is on in the thread, after what has happened to it since: the customer writes before the next
        look.
        """
        async with self.database.transaction() as tx:
            run = await procedures.running_in(tx, thread)
        if run is None:
            return None
        with contextlib.suppress(RunMoved, ShopUnavailable):
            await self._move(run, silent_since=self.clock.now() - SILENCE)
        return await self.on_in(thread)

    async def _move(self, run: ProcedureRun, *, silent_since: float) -> None:
        now = self.clock.now()
        async with self.database.transaction() as tx:
            case = await cases.find_open(tx, run.thread)
            action = await actions.find(tx, run.action) if run.action else None
        if case is not None:
            await self._save(run, run.end("with_people", now=now))
        elif run.action and (action is None or action.state not in OPEN_ACTIONS):
            await self._follow(run, action)
        elif run.touched_at < silent_since:
            await self._save(run, run.end("silence", now=now))

    async def _follow(self, run: ProcedureRun, action: Action | None) -> None:
        """Move on the end of the action."""
        now = self.clock.now()
        if action is None or action.state in ("partly", "stuck"):
            # Staff are asked what became of it.
            await self._save(run, run.end("with_people", now=now))
            return
        if action.state == "withdrawn":
            await self._follow_withdrawn(run, action)
            return
        customer = await self.identify(run.customer)
        if customer is not None and customer.shop_silent:
            raise ShopUnavailable("who the customer is")
        if customer is None or customer.shop is None or not action.is_of(customer):
            await self._save(run, run.end("withdrawn", now=now))
            return
        procedure = _parsed(run.source)
        step = procedure.step(run.step)
        target = after_action(step, action.state)
        wanted = ChangeRequest(
            customer, customer.shop, action.thread, origin_again(action), language_for(action.language)
        )
        await self._go_on(wanted, run, _enter(run, procedure, target), procedure, shows=True)

    async def _follow_withdrawn(self, run: ProcedureRun, action: Action) -> None:
        """Wait for the action that takes the place of one whose order has changed. Any other withdrawal is the end."""
        now = self.clock.now()
        if action.reason == "changed":
            async with self.database.transaction() as tx:
                renewed = await actions.of_origin(tx, origin_again(action), states=OPEN_ACTIONS)
            if renewed:
                await self._save(run, replace(run, action=renewed[-1].ref))
                return
            if now - (action.ended_at or now) < RENEWAL_SECONDS:
                return
        await self._save(run, run.end("withdrawn", now=now))

    @staticmethod
    def _start_again(run: ProcedureRun, procedure: Procedure, name: str) -> ProcedureRun:
        """Everything is checked again, without what belonged to the value before."""
        gone = {key for key, spec in procedure.file.collect.items() if spec.of == name}
        kept = {key: value for key, value in run.collected.items() if key not in gone}
        return replace(run, collected=kept, step=procedure.file.steps[0].id, action="")

    async def _count_try(
        self, wanted: ChangeRequest, run: ProcedureRun, procedure: Procedure, name: str
    ) -> Running | None:
        """Count a wrong value. After too many, go to a person."""
        tries = {**run.tries, name: run.tries.get(name, 0) + 1}
        if tries[name] >= MOST_TRIES:
            return await self._go_on(wanted, run, replace(run, tries=tries, step=PEOPLE, action=""), procedure)
        await self._save(run, replace(run, tries=tries))
        return None

    async def _go_on(
        self,
        wanted: ChangeRequest,
        before: ProcedureRun,
        after: ProcedureRun,
        procedure: Procedure,
        *,
        shows: bool = False,
    ) -> Running:
        """Walk until the customer, a person or the end is needed, and save that.

        With `shows`, what is prepared is shown at once. Without, the turn shows it under its answer.
        """
        run, words = after, ""
        for _ in range(STEPS_AT_ONCE):
            step = procedure.step(run.step)
            if run.step == END:
                return Running(await self._save(before, run.end("done", now=self.clock.now())), procedure)
            if step is None or step.hand_over is not None:
                return await self._hand_over(wanted.customer, wanted.language, before, run, procedure, words)
            if step.needs:
                if is_waiting(procedure, step, run.collected):
                    break
                run = replace(run, step=after_asking(procedure, step, run.collected))
            elif step.check:
                run = replace(run, step=await self._checked(wanted, run, procedure, step))
            elif run.action:
                break
            else:
                prepared = await self._prepare(wanted, run, procedure, step)
                if prepared.action is not None:
                    run = replace(run, action=prepared.action.ref)
                    break
                words = prepared.words or words
                end = "refused" if prepared.state == "refused" else ""
                run = _enter(run, procedure, after_action(step, end))
        else:
            run = replace(run, step=PEOPLE)
            return await self._hand_over(wanted.customer, wanted.language, before, run, procedure, words)
        return Running(await self._save(before, run, shown=wanted if shows else None), procedure, words)

    async def _checked(self, wanted: ChangeRequest, run: ProcedureRun, procedure: Procedure, step: Step) -> str:
        """The step that follows a check. A fact that nobody knows leads to a person."""
        collect = procedure.file.collect
        number = next((run.collected[name] for name in run.collected if collect[name].type == "own_order"), "")
        named = next((run.collected[name] for name in run.collected if collect[name].type == "lines_of"), ())
        order = await self.preparing.judging.shop.get_order(wanted.shop, number) if number else None
        lines = lines_in(named)
        facts = await self.preparing.judging.facts(wanted.customer.user, wanted.shop, order, lines)
        return after_check(procedure, step, facts)

    async def _prepare(self, wanted: ChangeRequest, run: ProcedureRun, procedure: Procedure, step: Step) -> Prepared:
        kind, named = step.action
        name, collected = procedure.order_name(named), run.collected
        arguments = Arguments(
            order=collected.get(name, "") if kind != "change_customer_address" else "",
            lines=lines_in(collected.get(named.lines, ())),
            swaps=swaps_in(collected.get(named.swaps, ())),
            method=collected[named.method]["method"] if named.method in collected else "",
            address=Address(**collected[named.address]) if named.address else None,
            reason=collected.get(named.reason, named.reason),
        )
        try:
            return await self.preparing.prepare(wanted, cast("ActionKind", kind), arguments)
        except NeedsMore:
            return Prepared("missing")

    async def _hand_over(
        self,
        customer: Customer,
        language: Language,
        before: ProcedureRun,
        run: ProcedureRun,
        procedure: Procedure,
        words: str,
    ) -> Running:
        """Call a person, who sees what was collected, and end the procedure."""
        step = procedure.step(run.step)
        called = step.hand_over if step and step.hand_over else HandOver(priority="high")
        said = procedure.said(step, language, run.collected) if step and step.say else words
        await self.cases.open(
            run.thread,
            customer,
            reason=called.reason,
            priority=called.priority,
            summary=summary_of(run, procedure),
            said_first=escape(said),
        )
        failpoint("procedure_handed_over")
        ended = await self._save(before, run.end("handed_over", now=self.clock.now()))
        return Running(ended, procedure, words)

    async def _save(
        self, before: ProcedureRun, after: ProcedureRun, *, shown: ChangeRequest | None = None
    ) -> ProcedureRun:
        """Save it, withdraw an offer that it waits for no more, and show a new one.

        Raises RunMoved, also if the customer has said yes to that offer: then it comes to its end first.
        """
        now, is_dropped = self.clock.now(), bool(before.action) and before.action != after.action
        async with self.database.transaction() as tx:
            changed = await procedures.change(tx, before, after, now=now)
            if changed is None:
                raise RunMoved
            if after.ended_at is None and await cases.find_open(tx, after.thread) is not None:
                # People have the thread by now.
                raise RunMoved
            if is_dropped:
                await self.preparing.withdraw_offer(tx, before.action, "newer")
                action = await actions.find(tx, before.action)
                if after.ended_at is None and action is not None and action.state in OPEN_ACTIONS:
                    raise RunMoved
            if shown is not None:
                epoch = await threads.epoch_of(tx, shown.thread.key)
                await self.preparing.show(tx, shown.origin, shown.thread, epoch, language=shown.language)
        failpoint("procedure_moved")
        if is_dropped or shown is not None:
            self.preparing.stepping.outbox.wake()
        if changed.ended_at is not None:
            self.metrics.procedure_ended(changed.procedure, changed.why)
        return changed


def summary_of(run: ProcedureRun, procedure: Procedure) -> str:
    """What staff read on the card: how far it came, and what was collected."""
    lines = [f"Procedure {procedure.name}, version {procedure.file.version}, step {run.step}."]
    lines += [f"{name}: {shown(run.collected[name])}" for name in procedure.file.collect if name in run.collected]
    return "\n".join(lines)


def _enter(run: ProcedureRun, procedure: Procedure, target: str) -> ProcedureRun:
    """Go to a step after an action's end. If it asks, it asks again: what it needs is forgotten."""
    return replace(run, step=target, action="", collected=kept_at(procedure, target, run.collected))
