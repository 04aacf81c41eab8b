"""An action as a state machine: pure functions that take an action and return the changed one.

              confirm                    approve                 mark               settle
  offered ─────────────► approving ─────────────────► ready ─────────────► executing ─────────► done, refused,
     │  └──────────────────────────────────────────────►│                      │                failed, partly
     │ ◄──── offer_again ────┘                          │                      │
     │ decline, expire, withdraw      reject, expire,    │ withdraw             │ lose
     ▼                                withdraw           ▼                      ▼
  declined, expired, withdrawn, rejected                               unknown ──► ready (same key), done, …, stuck

`offered`: the customer sees a preview and has not said yes. `approving`: staff must agree, too. `ready`: everybody has.
`executing`: the stored request is marked as leaving. `unknown`: it left, and no one knows whether it took effect.
`stuck`: it could not be found out. Staff look at `stuck` and `partly`.

Of an action whose words are erased, what is left goes when its outcome is known.

A step that the present state does not allow raises `ActionMovedOn`. Who pressed sees how things stand.
"""

import base64
import secrets
from dataclasses import replace

from bot.errors import FrontdeskError
from bot.shops.actions import Outcome
from bot.store.actions import ERASED_PREVIEW, RUNNING, Action, State
from bot.store.cases import ERASED

LOOK_DELAYS = (2.0, 8.0, 30.0, 120.0, 600.0)
"""How long after a request without an answer, and after each question about it, the shop is asked again, in seconds."""
SENDING_SECONDS = 5.0
"""How long after its mark a request may still leave. Later another process may already be asking what became of it."""


class ActionMovedOn(FrontdeskError):
    """The action's present state does not allow the step. `action` is the action as it is now."""

    def __init__(self, action: Action) -> None:
        self.action = action
        super().__init__(f"{action.ref} is {action.state}")


def new_ref() -> str:
    """A reference that nobody can guess: 130 random bits."""
    return f"act_{base64.b32encode(secrets.token_bytes(17)).decode().lower()[:26]}"


def confirm(action: Action, *, now: float) -> Action:
    """The customer said yes, and nobody else needs to."""
    _must_be(action, "offered")
    return replace(action, state="ready", confirmed_at=now, due=now)


def ask_staff(action: Action, why: str, *, now: float, due: float, case: int) -> Action:
    """The customer said yes, and staff must agree until `due`. They are asked in the thread of the case, if it has one.

    `why` says to them why they are asked.
    """
    _must_be(action, "offered")
    rules = {**action.rules, "why": why}
    return replace(action, state="approving", confirmed_at=now, due=due, case_id=case, rules=rules)


def move(action: Action, case: int) -> Action:
    """People have a case in the thread by now, so staff are asked there."""
    _must_be(action, "approving")
    return replace(action, asked=action.asked + 1, case_id=case)


def show_again(action: Action) -> Action:
    """The same preview is posted once more, and the one before loses its buttons."""
    _must_be(action, "offered")
    return replace(action, shown=action.shown + 1)


def offer_again(action: Action, *, now: float, due: float) -> Action:
    """Staff would do something else than what the customer said yes to, so the customer is asked once more."""
    _must_be(action, "approving")
    return replace(
        action,
        state="offered",
        shown=action.shown + 1,
        asked=action.asked + 1,
        confirmed_at=None,
        offered_at=now,
        due=due,
    )


def approve(action: Action, *, now: float) -> Action:
    """Staff agreed."""
    _must_be(action, "approving")
    return replace(action, state="ready", decided_at=now, due=now)


def decline(action: Action, *, now: float) -> Action:
    """The customer said no, or took their yes back before the request left."""
    _must_be(action, "offered", "approving", "ready")
    if action.attempts:
        raise ActionMovedOn(action)
    return _ended(action, "declined", now=now)


def withdraw(action: Action, reason: str, *, now: float) -> Action:
    """It can no longer be done as it was shown, and nothing was sent."""
    _must_be(action, "offered", "approving", "ready")
    if action.attempts:
        raise ActionMovedOn(action)
    return _ended(action, "withdrawn", reason, now=now)


def expire(action: Action, *, now: float) -> Action:
    """Nobody said anything in time."""
    _must_be(action, "offered", "approving")
    return _ended(action, "expired", now=now)


def reject(action: Action, *, now: float) -> Action:
    """Staff said no."""
    _must_be(action, "approving")
    return replace(_ended(action, "rejected", now=now), decided_at=now)


def fail(action: Action, *, now: float) -> Action:
    """It could not be sent, and nothing was."""
    _must_be(action, "ready")
    if action.attempts:
        raise ActionMovedOn(action)
    return _ended(action, "failed", "unreachable", now=now)


def mark(action: Action, worker: str, *, now: float) -> Action:
    """The stored request is about to leave, from this process."""
    _must_be(action, "ready")
    sent_at = action.sent_at or now
    return replace(action, state="executing", attempts=action.attempts + 1, worker=worker, sent_at=sent_at, due=None)


def doubt(action: Action, *, now: float) -> Action:
    """The shop has forgotten the key by now, so the request is not repeated."""
    _must_be(action, "ready")
    if not action.attempts:
        raise ActionMovedOn(action)
    return replace(action, state="unknown", due=now)


def lose(action: Action, *, now: float) -> Action:
    """The process that was sending it is gone."""
    _must_be(action, "executing")
    return replace(action, state="unknown", worker="", due=now)


def look(action: Action, *, now: float, lease: float) -> Action:
    """Somebody asks the shop what became of it. If they fail, the next one does after `lease` seconds."""
    _must_be(action, "unknown")
    return replace(action, looks=action.looks + 1, due=now + lease)


def settle(action: Action, outcome: Outcome, *, now: float, has_key: bool) -> Action:
    """What follows from the shop's answer, to the request or to a question about it.

    With a key the same request is sent again if the shop never got it. Without one it is never sent twice.
    """
    _must_be(action, "executing", "unknown")
    reference = outcome.reference or action.reference
    match outcome.state:
        case "done" | "partly":
            return replace(_ended(action, outcome.state, now=now), reference=reference)
        case "refused" if outcome.reason == "key_reused":
            return _ended(action, "stuck", "key_reused", now=now)
        case "refused" if action.state == "executing" and action.attempts > 1:
            # The shop may refuse the repetition because the first request took effect meanwhile.
            return _unsettled(action, now=now)
        case "refused":
            return _ended(action, "refused", outcome.reason or "other", now=now)
        case "unavailable" if action.state == "executing" and action.attempts == 1:
            return _ended(action, "failed", "unreachable", now=now)
        case "not_found" if has_key and action.looks < len(LOOK_DELAYS):
            return replace(action, state="ready", worker="", due=now + _pause(action))
        case _:
            return _unsettled(action, now=now)


def answer_for(action: Action, *, was_done: bool, now: float) -> Action:
    """Staff found out what became of it."""
    if action.state not in ("stuck", "partly") or action.settled:
        raise ActionMovedOn(action)
    if action.state == "partly":
        return replace(action, settled=True, reason="rest_done" if was_done else "rest_not_done")
    ended = _ended(action, "done" if was_done else "failed", "found_by_staff", now=now)
    return replace(ended, settled=True)


def replace_by_undo(action: Action) -> Action:
    """Staff don't finish the rest: they offer to undo what went through."""
    if action.state != "partly" or action.settled:
        raise ActionMovedOn(action)
    return replace(action, settled=True, reason="undoing")


def erase(action: Action) -> Action:
    """Empty what the customer wrote and was shown.

    Kind, money, times, rules, hashes, and the shop's numbers of order and account stay for the books. While a request
    is out, its arguments and body stay, too: without them nobody could find out what became of it.
    """
    emptied = replace(action, preview=ERASED_PREVIEW)
    return emptied if action.state in RUNNING else replace(emptied, arguments={}, request={})


def erase_person(action: Action, *, now: float) -> Action:
    """Empty it, and forget whose it was. Staff are asked once more about one that nobody has settled."""
    is_unsettled = action.state in ("stuck", "partly") and not action.settled
    emptied = replace(erase(action), customer=ERASED, customer_name="", zone="")
    return replace(emptied, due=now) if is_unsettled else emptied


def differs_by_erasure(before: Action, after: Action) -> bool:
    """Whether all that has happened to an action since it was read is that its words were erased."""

    def step(action: Action) -> tuple[object, ...]:
        return action.state, action.attempts, action.looks, action.worker, action.settled

    return after.is_erased and step(before) == step(after)


def _unsettled(action: Action, *, now: float) -> Action:
    """Nobody knows yet. After the last question it is stuck."""
    if action.looks >= len(LOOK_DELAYS):
        return _ended(action, "stuck", now=now)
    return replace(action, state="unknown", worker="", due=now + _pause(action))


def _pause(action: Action) -> float:
    return LOOK_DELAYS[min(action.looks, len(LOOK_DELAYS) - 1)]


def _ended(action: Action, state: State, reason: str = "", *, now: float) -> Action:
    return replace(action, state=state, reason=reason, worker="", due=None, ended_at=now)


def _must_be(action: Action, *states: State) -> None:
    if action.state not in states:
        raise ActionMovedOn(action)
