"""The case as a state machine: pure functions from a case to the case it becomes.

            claim                resolve
  waiting ────────► human ────────────────► resolved
     │                │                        │
     │ cancel         │ hand_back              │ reopen
     ▼                ▼                        ▼
    bot              bot                    waiting

An open case can be marked as spam, and is closed: nothing opens it again.

A step that the present state does not allow raises `MovedOn`; whoever pressed the button is told what is so now.
"""

from dataclasses import replace
from typing import Literal

from bot.errors import FrontdeskError
from bot.store.cases import Case

State = Literal["waiting", "human", "resolved", "closed", "bot"]
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
    return replace(case, owner=owner, owner_name=owner_name, claimed_at=now)


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


def _must_be(case: Case, *states: State) -> None:
    if case.state not in states:
        raise MovedOn(case)
