"""The erasure of what actions hold of customers: of one message, or of everything about a person.

What nobody has sent is withdrawn first. A request that has left goes on to its end, because a refund half made is worse
than a row that is emptied a minute later. So its row keeps what is needed to find its outcome until that is known.

erase_turns     empty what was prepared for messages that are deleted
withdraw        withdraw everything of a person that nobody has sent
are_leaving     whether a request of theirs is on its way right now
erase_some      empty some of a person's actions
"""

from collections import Counter
from collections.abc import Collection

from bot.actions import action as steps
from bot.actions.stepping import note
from bot.store import actions, erasure, forgetting
from bot.store.actions import Action
from bot.store.database import Transaction

REASON = "erased"
"""Why an action of somebody who had their data erased was withdrawn."""


async def erase_turns(tx: Transaction, turns: Collection[int]) -> None:
    """Empty what was prepared for these turns, and the posts that showed it. What is unsent is withdrawn by then."""
    found = await actions.of_turns(tx, turns)
    for each in found:
        await actions.change(tx, each, steps.erase(each))
    await erasure.blank(tx, [], below=[f"act/{each.ref}/{card}/" for each in found for card in ("offer", "approval")])


async def withdraw(tx: Transaction, customer: str, *, now: float) -> None:
    """Withdraw what the person was offered or has confirmed, and nobody has sent."""
    for each in await actions.of_customer(tx, customer, states=("offered", "approving", "ready")):
        await _withdraw(tx, each, now=now)


async def are_leaving(tx: Transaction, customer: str) -> bool:
    """Whether a request of the person is on its way and has no answer yet."""
    return bool(await actions.of_customer(tx, customer, states=("executing",), limit=1))


async def erase_some(tx: Transaction, customer: str, *, limit: int, now: float) -> Counter[str] | None:
    """Empty some of the person's actions, and delete our posts about them. None if there are no more."""
    found = await actions.of_customer(tx, customer, limit=limit)
    if not found:
        return None
    counts: Counter[str] = Counter()
    for each in found:
        unsent = await _withdraw(tx, each, now=now)
        if await actions.change(tx, unsent, steps.erase_person(unsent, now=now)) is None:
            # Somebody has just made a step. It is found again.
            continue
        await actions.unsign(tx, unsent, customer)
        counts += await forgetting.erase_posts_below(tx, customer, f"act/{each.ref}/", now=now)
        counts["actions"] += 1
    return counts


async def _withdraw(tx: Transaction, action: Action, *, now: float) -> Action:
    """Withdraw it if nobody has sent it. Nobody is told: everything that was posted about it is deleted."""
    try:
        after = steps.withdraw(action, REASON, now=now)
    except steps.ActionMovedOn:
        return action
    changed = await actions.change(tx, action, after)
    if changed is None:
        return action
    await note(tx, changed, "ended", "frontdesk", now=now)
    return changed
