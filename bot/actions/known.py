"""What later turns know of a thread's actions: a note for the model, and what an answer may claim."""

from collections.abc import Mapping, Sequence

from bot.guard.claim_patterns import Kind
from bot.guard.claims import DoneAction, folded
from bot.shops.port import Money
from bot.store.actions import Action

SHOWN = 6
"""The latest actions of a thread that the model reads about."""
CLAIMED: Mapping[str, frozenset[Kind]] = {
    "cancel_order": frozenset({"cancelled", "refunded"}),
    "cancel_lines": frozenset({"cancelled", "refunded"}),
    "refund": frozenset({"refunded"}),
    "send_again": frozenset({"resent"}),
}
"""Kind of action -> what an answer may say was done once it is. Everything else was "changed": the money of a return
comes later, so a return is no refund."""
CHANGED: frozenset[Kind] = frozenset({"changed"})
ASKED: frozenset[Kind] = frozenset({"transferred"})
"""What may be said while a colleague has to approve it."""


def note_on(actions: Sequence[Action]) -> str:
    """How the changes in this thread stand, for the model. Empty if there are none."""
    undone = _undone(actions)
    lines = [_line(action, is_undone=action.ref in undone) for action in actions[-SHOWN:]]
    if not lines:
        return ""
    return "Changes of orders in this conversation, as our own records have them now:\n" + "\n".join(lines)


def may_be_claimed(actions: Sequence[Action]) -> list[DoneAction]:
    """What an answer may say was done."""
    known, undone = [], _undone(actions)
    for action in actions:
        order = folded(action.subject.partition("/")[2])
        if action.state == "done" and action.ref not in undone:
            moved = _hundredths(action)
            kinds = CLAIMED.get(action.kind, CHANGED)
            # Nothing was refunded if no money went back.
            kinds = kinds if action.money < 0 else kinds - {"refunded"}
            known.append(DoneAction(kinds, order, frozenset({moved}) if moved else frozenset()))
        elif action.state == "approving":
            known.append(DoneAction(ASKED, order, frozenset()))
    return known


def _undone(actions: Sequence[Action]) -> set[str]:
    """The references of those that another one has undone."""
    return {action.undoes for action in actions if action.undoes and action.state == "done"}


def _line(action: Action, *, is_undone: bool) -> str:
    money = f", {Money(action.money, action.currency)}" if action.money else ""
    reason = f" ({action.reason.replace('_', ' ')})" if action.reason else ""
    what = f"{action.kind.replace('_', ' ')} {action.subject.partition('/')[2]}"
    standing = "done, and undone later" if is_undone else _STANDING.get(action.state, action.state)
    return f"- {what}{money}: {standing}{reason}"


_STANDING: Mapping[str, str] = {
    "offered": "the customer is being asked; not done",
    "approving": "the customer said yes, a colleague has to approve it; not done",
    "ready": "confirmed, about to be sent; not done yet",
    "executing": "being sent; not known to be done",
    "unknown": "sent; it is not known whether it took effect",
    "stuck": "sent; people are finding out whether it took effect",
    "partly": "only a part was done; people look after the rest",
    "failed": "the shop could not be reached; not done",
    "refused": "the shop refused; not done",
    "rejected": "a colleague refused; not done",
    "declined": "the customer said no; not done",
    "expired": "nobody answered in time; not done",
    "withdrawn": "withdrawn; not done",
}
"""What the model reads of each state. `done` stands for itself."""


def _hundredths(action: Action) -> int:
    """The amount as it is written, in hundredths of the whole unit."""
    written = str(Money(abs(action.money), action.currency)).split()[0].replace(",", "")
    whole, _, part = written.partition(".")
    return int(whole) * 100 + int(f"{part:0<2}"[:2])
