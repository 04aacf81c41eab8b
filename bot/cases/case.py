"""The case as a state machine: pure functions from a case to the case it becomes.

            claim                resolve
  waiting ────────► human ────────────────► resolved
     │                │                        │
     │ cancel         │ hand_back              │ reopen
     ▼                ▼                        ▼
    bot              bot                    waiting

An open case can be marked as spam, and is closed: nothing opens it again. It can be transferred to another desk, where
it waits; and it can be merged into another open one, with whose end it is the assistant's again.

A step that the present state does not allow raises `MovedOn`; whoever pressed the button is told what is so now.
"""

from dataclasses import replace
from typing import Literal

from bot.errors import FrontdeskError
from bot.store.cases import MERGED, Case, Helper

State = Literal["waiting", "human", "resolved", "closed", "merged", "bot"]
Priority = Literal["low", "medium", "high"]

Outcome = Literal["solved", "elsewhere", "spam", "assistant_could_have", "other"]
"""How a case ended, as whoever ended it says: `elsewhere` it was answered, the assistant could have answered it."""
Cause = Literal["delivery", "returns", "payment", "product", "account", "other"]
"""What it was about."""
REOPEN_SECONDS = 7 * 86_400.0
"""For so long after a case was resolved the customer's words open it again; later they are of another."""


class MovedOn(FrontdeskError):
    """The case is not where the button thought; `case` is how it stands now."""

    def __init__(self, case: Case) -> None:
        self.case = case
        super().__init__(f"{case.ref} is {case.state}")


def claim(case: Case, owner: str, owner_name: str, *, now: float) -> Case:
    """A person takes a waiting case."""
    _must_be(case, "waiting")
    return replace(case, state="human", owner=owner, owner_name=owner_name, claimed_at=now)


def take_over(case: Case, owner: str, owner_name: str, *, now: float) -> Case:
    """Another person takes a claimed case."""
    _must_be(case, "human")
    if case.owner == owner:
        raise MovedOn(case)
    helpers = tuple(helper for helper in case.helpers if helper.person != owner)
    return replace(case, owner=owner, owner_name=owner_name, claimed_at=now, helpers=helpers)


def join(case: Case, person: str, name: str, *, now: float) -> Case:
    """Another person helps whoever is on it."""
    _must_be(case, "human")
    if case.speaker(person) is not None:
        raise MovedOn(case)
    return replace(case, helpers=(*case.helpers, Helper(person, name, now)))


def transfer(case: Case, desk: str, *, now: float) -> Case:
    """It waits at another desk; `desk` is that one's channel, empty for the agent channel."""
    if not case.is_open or case.desk == desk:
        raise MovedOn(case)
    return replace(
        case, state="waiting", desk=desk, owner=None, owner_name=None, claimed_at=None, waiting_since=now, step=0
    )


def merge(case: Case, into: Case, *, now: float) -> Case:
    """People go on with it in another case."""
    if not case.is_open:
        raise MovedOn(case)
    if not into.is_open:
        raise MovedOn(into)
    return replace(case, state=MERGED, merged_into=into.id, ended_at=now)


def part(case: Case, *, now: float) -> Case:
    """The case that people had it in has ended."""
    _must_be(case, "merged")
    return replace(case, state="bot", ended_at=now)


def resolve(case: Case, *, now: float, outcome: Outcome = "solved", cause: Cause | None = None) -> Case:
    """The matter is settled; anybody of the desk may say so."""
    _must_be(case, "human")
    return replace(case, state="resolved", ended_at=now, outcome=outcome, cause=cause or "")


def hand_back(case: Case, *, now: float) -> Case:
    """The assistant answers again."""
    _must_be(case, "human", "waiting")
    return replace(case, state="bot", ended_at=now)


def cancel(case: Case, *, now: float) -> Case:
    """The customer does not want a person any more."""
    _must_be(case, "waiting")
    return replace(case, state="bot", ended_at=now)


def reopen(case: Case, *, now: float) -> Case:
    """The customer says it is not solved; anybody may claim it again, and who had it is called first."""
    if not may_be_reopened(case, now=now):
        raise MovedOn(case)
    return replace(
        case,
        state="waiting",
        owner=None,
        owner_name=None,
        claimed_at=None,
        ended_at=None,
        waiting_since=now,
        outcome="",
        cause="",
        reopened=case.reopened + 1,
        last_owner=case.owner,
    )


def may_be_reopened(case: Case, *, now: float) -> bool:
    """Whether the customer's words are still about this case."""
    return case.state == "resolved" and now - (case.ended_at or 0.0) <= REOPEN_SECONDS


def mark_spam(case: Case, *, now: float) -> Case:
    """Nobody answers it."""
    _must_be(case, "waiting", "human")
    return replace(case, state="closed", ended_at=now, outcome="spam")


def prioritize(case: Case, priority: Priority) -> Case:
    """It is more urgent than was thought, or less."""
    _must_be(case, "waiting", "human")
    return replace(case, priority=priority)


def owned(case: Case, user: str) -> Case:
    """The case, when the user is the person who is on it."""
    if not case.is_with(user):
        raise MovedOn(case)
    return case


def speaking(case: Case, user: str) -> str:
    """The name under which the user speaks for the case, as the person who is on it or as one who helps."""
    name = case.speaker(user)
    if name is None:
        raise MovedOn(case)
    return name


def _must_be(case: Case, *states: State) -> None:
    if case.state not in states:
        raise MovedOn(case)
