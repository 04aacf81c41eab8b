"""The case as a state machine: pure functions that take a case and return the changed case.

            claim                resolve                after a week
  waiting ────────► human ────────────────► resolved ────────────────► closed
     │                │                        │
     │ cancel         │ hand_back              │ reopen
     ▼                ▼                        ▼
    bot              bot                    waiting

A colleague can assign a case to a person, whether somebody has it or not, and unassign it, so that it waits again.

An open case can be marked as spam. It is then closed, and nothing reopens it. It can be transferred to another desk,
where it waits. It can be merged into another open case; when that one ends, the assistant has this one again ("bot").
Any case is closed when its customer's data is erased.

While the desk is closed, "out_of_hours" takes the place of "waiting": the same steps are allowed, but no SLA time
passes. At the opening the case becomes "waiting". A waiting case has SLA steps: at `due` the next one is breached, and
bot/cases/sla.py notifies staff, the lead and the customer.

While a person has a case, either a reply to the customer is due (`reply_due`), or the customer is to answer. The person
can put the case aside until a time (`snoozed_until`). The customer's next message ends both.

A step that the present state does not allow raises `MovedOn`. The person who pressed the button sees the present state.
"""

from dataclasses import replace
from typing import Literal

from bot.cases.hours import Targets
from bot.clock import DAY, WEEK
from bot.errors import FrontdeskError
from bot.store.cases import ERASED, MERGED, WAITING, Case, Helper

State = Literal["waiting", "out_of_hours", "human", "resolved", "closed", "merged", "bot"]
Priority = Literal["low", "medium", "high"]

DANGERS = {"crisis": 5, "harm": 4, "threat": 3, "fraud": 2, "legal": 1}
"""Reasons that bot/desk/danger finds -> their gravity. Every other reason has gravity 0."""
URGENT = frozenset({*DANGERS, "upset", "billing", "security"})
"""Reasons for which a case has high priority, whether a person or the assistant opens it."""

REOPEN_SECONDS = WEEK
"""How long after its resolution the customer's words reopen a case. Later they can only open a new one."""

SLA_STEPS = (1, 2, 4)
"""When each SLA step is breached, in multiples of the target for a first reply. Only open hours count."""
SNOOZE_SECONDS = 600.0
"""How long after a snooze the next SLA step is due."""
REMIND_SECONDS = 3 * DAY
"""How long a customer can leave a person's words unanswered before the person is reminded."""
RAISED: dict[str, Priority] = {"low": "medium", "medium": "high", "high": "high"}


class MovedOn(FrontdeskError):
    """The case's present state does not allow the step. `case` is the case as it is now."""

    def __init__(self, case: Case) -> None:
        self.case = case
        super().__init__(f"{case.ref} is {case.state}")


def wait(case: Case, *, now: float, targets: Targets) -> Case:
    """No one is on the case from now on: it waits for the first SLA step, or for the desk to open."""
    opening = targets.hours.next_opening(now)
    state: State = "waiting" if opening == now else "out_of_hours"
    due = _step_due(opening, 1, case.priority, targets) if state == "waiting" else opening
    return replace(case, state=state, waiting_since=now, due=due, step=0, keeps_helping=False)


def open_up(case: Case, *, targets: Targets) -> Case:
    """The desk has opened, at `due`."""
    _must_be(case, "out_of_hours")
    opening = case.due or 0.0
    due = _step_due(opening, 1, case.priority, targets)
    return replace(case, state="waiting", waiting_since=opening, due=due, step=0)


def breach(case: Case, *, now: float, targets: Targets) -> Case:
    """Breach every SLA step that is due by now. The second step raises the priority."""
    _must_be(case, "waiting")
    step, due, priority = case.step, case.due, case.priority
    while due is not None and due <= now:
        step += 1
        # Measured from the step before, so that a snooze delays every later step too.
        due = (
            _step_due(due, SLA_STEPS[step] - SLA_STEPS[step - 1], case.priority, targets)
            if step < len(SLA_STEPS)
            else None
        )
        priority = RAISED[priority] if step == 2 else priority
    if step == case.step:
        raise MovedOn(case)
    return replace(case, step=step, due=due, priority=priority)


def snooze(case: Case, *, now: float, targets: Targets) -> Case:
    """The next SLA step is due SNOOZE_SECONDS from now. Before the first step there is none to delay."""
    _must_be(case, "waiting")
    if case.due is None or not case.step:
        raise MovedOn(case)
    return replace(case, due=targets.hours.after(now, SNOOZE_SECONDS))


def keep_helping(case: Case) -> Case:
    """The assistant answers while the case waits."""
    _must_be(case, *WAITING)
    if case.keeps_helping:
        raise MovedOn(case)
    return replace(case, keeps_helping=True)


def can_wait(case: Case) -> Case:
    """The customer waits for the desk to open, which changes nothing."""
    _must_be(case, "out_of_hours")
    return case


def urge(case: Case) -> Case:
    """The case cannot wait for the desk to open. It is the one SLA step of an out-of-hours case, so it happens once."""
    _must_be(case, "out_of_hours")
    if case.step:
        raise MovedOn(case)
    return replace(case, priority="high", step=1)


def claim(case: Case, owner: str, owner_name: str, *, now: float) -> Case:
    """A person takes a waiting case, whether the desk is open or not."""
    _must_be(case, *WAITING)
    return replace(
        case, state="human", owner=owner, owner_name=owner_name, claimed_at=now, due=None, keeps_helping=False
    )


def take_over(case: Case, owner: str, owner_name: str, *, now: float) -> Case:
    """Another person takes a claimed case."""
    _must_be(case, "human")
    if case.owner == owner:
        raise MovedOn(case)
    helpers = tuple(helper for helper in case.helpers if helper.person != owner)
    return replace(case, owner=owner, owner_name=owner_name, claimed_at=now, helpers=helpers)


def join(case: Case, person: str, name: str, *, now: float) -> Case:
    """Another person helps the owner. Raises MovedOn for the owner and for people who help already."""
    _must_be(case, "human")
    if case.speaker(person) is not None:
        raise MovedOn(case)
    return replace(case, helpers=(*case.helpers, Helper(person, name, now)))


def owe_reply(case: Case, *, now: float, targets: Targets) -> Case:
    """The customer waits for a reply of the person who has the case from now on: for the first one, or the next."""
    _must_be(case, "human")
    due = targets.hours.after(now, targets.reply_seconds(case.priority, is_first=case.replied_at is None))
    return replace(case, reply_due=due, reply_missed=False, snoozed_until=None, due=due)


def hear(case: Case, *, now: float, targets: Targets) -> Case:
    """The customer wrote to the person who has the case. If a reply is due already, it stays due when it was."""
    if case.reply_due is None:
        return owe_reply(case, now=now, targets=targets)
    return case if case.snoozed_until is None else wake(case, now=now)


def answer(case: Case, *, now: float) -> Case:
    """A person answered, or wants to hear from the customer first. A case that was put aside stays so."""
    _must_be(case, "human")
    if case.reply_due is None:
        return case
    return replace(case, reply_due=None, reply_missed=False, due=case.snoozed_until or now + REMIND_SECONDS)


def await_customer(case: Case, *, now: float) -> Case:
    """The person says that the customer is to answer. Raises MovedOn if that is so already."""
    if case.state == "human" and case.reply_due is None:
        raise MovedOn(case)
    return answer(case, now=now)


def put_aside(case: Case, until: float, *, now: float) -> Case:
    """The person comes back to the case at a time, which must not be past."""
    _must_be(case, "human")
    if until <= now:
        raise MovedOn(case)
    return replace(case, snoozed_until=until, due=until)


def wake(case: Case, *, now: float) -> Case:
    """A case that was put aside is there again. A reply that was due meanwhile is due now.

    While the customer is to answer, the person is reminded as after an answer.
    """
    _must_be(case, "human")
    if case.snoozed_until is None:
        raise MovedOn(case)
    due = now + REMIND_SECONDS if case.reply_due is None else max(now, case.reply_due)
    return replace(case, snoozed_until=None, due=None if case.reply_missed else due)


def miss_reply(case: Case, *, now: float) -> Case:
    """The reply that was due is late."""
    _must_be(case, "human")
    if case.reply_due is None or case.reply_missed or case.reply_due > now:
        raise MovedOn(case)
    return replace(case, reply_missed=True, due=None)


def remind(case: Case) -> Case:
    """The person was reminded that the customer has not answered."""
    _must_be(case, "human")
    return replace(case, due=None)


def assign(case: Case, owner: str, owner_name: str, *, now: float, targets: Targets) -> Case:
    """A colleague gives the case to a person, whether somebody has it or not."""
    _must_be(case, "human", *WAITING)
    if not case.waits:
        return take_over(case, owner, owner_name, now=now)
    return owe_reply(claim(case, owner, owner_name, now=now), now=now, targets=targets)


def unassign(case: Case, *, now: float, targets: Targets) -> Case:
    """The case goes back into the queue, where it waits to be claimed."""
    _must_be(case, "human")
    return wait(replace(case, owner=None, owner_name=None, claimed_at=None), now=now, targets=targets)


def transfer(case: Case, desk: str, *, now: float, targets: Targets) -> Case:
    """The case waits at another desk. `desk` is that desk's channel, empty for the agent channel."""
    if not case.is_open or case.desk == desk:
        raise MovedOn(case)
    there = replace(case, desk=desk, owner=None, owner_name=None, claimed_at=None)
    return wait(there, now=now, targets=targets)


def merge(case: Case, into: Case, *, now: float) -> Case:
    """People continue the case in another one. Both must be open."""
    if not case.is_open:
        raise MovedOn(case)
    if not into.is_open:
        raise MovedOn(into)
    return replace(case, state=MERGED, merged_into=into.id, ended_at=now, due=None, keeps_helping=False)


def unmerge(case: Case, *, now: float) -> Case:
    """The case that this one was merged into has ended."""
    _must_be(case, "merged")
    return replace(case, state="bot", ended_at=now)


def resolve(
    case: Case, *, now: float, outcome: str = "solved", cause: str = "", tags: tuple[str, ...] | None = None
) -> Case:
    """The matter is settled. Everyone at the desk may resolve a claimed case. With None, the tags stay."""
    _must_be(case, "human")
    tagged = case if tags is None else tag(case, tags)
    return replace(tagged, state="resolved", ended_at=now, due=now + REOPEN_SECONDS, outcome=outcome, cause=cause)


def close(case: Case) -> Case:
    """From now on the case can't be reopened."""
    _must_be(case, "resolved")
    return replace(case, state="closed", due=None)


def hand_back(case: Case, *, now: float) -> Case:
    """The assistant answers again."""
    _must_be(case, "human", *WAITING)
    return _with_assistant(case, now=now)


def cancel(case: Case, *, now: float) -> Case:
    """The customer no longer wants a person."""
    _must_be(case, *WAITING)
    return _with_assistant(case, now=now)


def reopen(case: Case, *, now: float, targets: Targets) -> Case:
    """The customer says that it is not solved. Everyone at the desk may claim it, and the last owner is mentioned."""
    if not may_be_reopened(case, now=now):
        raise MovedOn(case)
    again = replace(
        case,
        owner=None,
        owner_name=None,
        claimed_at=None,
        ended_at=None,
        outcome="",
        cause="",
        reopened=case.reopened + 1,
        last_owner=case.owner,
    )
    return wait(again, now=now, targets=targets)


def may_be_reopened(case: Case, *, now: float) -> bool:
    """Whether the case is resolved and the customer can still reopen it."""
    return case.state == "resolved" and now - (case.ended_at or 0.0) <= REOPEN_SECONDS


def mark_spam(case: Case, *, now: float) -> Case:
    """The team won't reply, and the case is closed."""
    _must_be(case, "human", *WAITING)
    return replace(case, state="closed", ended_at=now, due=None, keeps_helping=False, outcome="spam")


def erase(case: Case, *, now: float) -> Case:
    """The customer's data is erased. What remains of the case still counts in the metrics."""
    return replace(case, state="closed", ended_at=case.ended_at or now, due=None, keeps_helping=False, outcome=ERASED)


def prioritize(case: Case, priority: Priority, *, now: float, targets: Targets) -> Case:
    """Set the priority. If one of the first two SLA steps is next, its due time moves to fit, but not into the past.

    A reply that is due is due within the target of a higher priority from now on. It is never due later.
    """
    _must_be(case, "human", *WAITING)
    due = case.due
    if case.state == "waiting" and case.step < 2:
        due = max(now, _step_due(case.waiting_since or case.opened_at, SLA_STEPS[case.step], priority, targets))
    sooner = replace(case, priority=priority, due=due)
    return sooner if case.reply_due is None or case.reply_missed else _owing_by(sooner, now=now, targets=targets)


def tag(case: Case, tags: tuple[str, ...]) -> Case:
    """Staff give the case these tags, in place of those that it has."""
    _must_be(case, "human", *WAITING)
    return replace(case, tags=tags)


def endanger(case: Case, reason: str, *, now: float, targets: Targets) -> Case:
    """The customer's later words show a graver danger than the case's reason. Raises MovedOn if it is not graver."""
    _must_be(case, "human", *WAITING)
    if DANGERS.get(reason, 0) <= DANGERS.get(case.reason, 0):
        raise MovedOn(case)
    return replace(prioritize(case, "high", now=now, targets=targets), reason=reason)


def owned(case: Case, user: str) -> Case:
    """The case, if the user is its owner. Raises MovedOn otherwise."""
    if not case.is_with(user):
        raise MovedOn(case)
    return case


def speaking(case: Case, user: str) -> str:
    """The name under which the user speaks for the case, as its owner or a helper. Raises MovedOn for other people."""
    name = case.speaker(user)
    if name is None:
        raise MovedOn(case)
    return name


def _owing_by(case: Case, *, now: float, targets: Targets) -> Case:
    target = targets.reply_seconds(case.priority, is_first=case.replied_at is None)
    reply_due = min(case.reply_due or now, targets.hours.after(now, target))
    return replace(case, reply_due=reply_due, due=case.due if case.snoozed_until is not None else reply_due)


def _step_due(since: float, targets_later: int, priority: str, targets: Targets) -> float:
    return targets.hours.after(since, targets_later * targets.seconds(priority))


def _with_assistant(case: Case, *, now: float) -> Case:
    return replace(case, state="bot", ended_at=now, due=None, keeps_helping=False)


def _must_be(case: Case, *states: str) -> None:
    if case.state not in states:
        raise MovedOn(case)
