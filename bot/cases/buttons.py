"""Buttons of messages that stand: what does not fit the case any more goes from them.

A card is written anew with each step. Everything else that bears buttons, in the customer's thread and under the card,
was said once and stays: it is updated in the transaction of the step that makes a button of it useless.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bot.slack.blocks import Block, context
from bot.store import outbox
from bot.store.cases import Case, card_key
from bot.store.database import Transaction
from bot.store.outbox import Outgoing, lane_of_thread, lane_under

TO_CLAIM = frozenset({"case.claim", "case.snooze"})
FOR_WHO_WAITS = frozenset({"esc.cancel", "esc.keep", "esc.urgent", "esc.wait"})
OF_THE_OWNER = frozenset({"case.takeover", "draft.send", "draft.edit"})


async def taken_away(
    tx: Transaction, before: Case, after: Case, *, agent_channel: str, used: Collection[str] = ()
) -> list[Outgoing]:
    """The updates by which messages lose the buttons that the step has made useless; `used` are pressed once."""
    useless = _useless(after) | frozenset(used)
    has_moved = before.desk != after.desk
    if useless == _useless(before) and not has_moved:
        return []
    thread, there = after.thread, useless | TO_CLAIM | OF_THE_OWNER if has_moved else useless
    theirs = await outbox.standing(tx, after.id, thread.channel, lane_of_thread(thread.ts))
    team_channel = before.stands_in(agent_channel)
    ours = await outbox.standing(tx, after.id, team_channel, lane_under(card_key(before)))
    ours.pop(card_key(before), None)
    is_claim = before.waits and after.state == "human"
    claimed = [context(f":white_check_mark: Claimed by <@{after.owner}>")] if is_claim else []
    return [
        *_updates(after, thread.channel, theirs, useless),
        *_updates(after, team_channel, ours, there, instead=claimed),
    ]


def _useless(case: Case) -> frozenset[str]:
    """What no button does any more, or does not do now."""
    gone = frozenset({"case.reopen"}) if case.is_open else frozenset()
    if case.state != "human":
        gone |= OF_THE_OWNER
    if not case.waits:
        return gone | TO_CLAIM | FOR_WHO_WAITS
    if case.keeps_helping:
        gone |= {"esc.keep"}
    if case.state == "waiting":
        gone |= {"esc.urgent", "esc.wait"}
    return gone | {"esc.urgent"} if case.step else gone


def _updates(
    case: Case,
    channel: str,
    standing: Mapping[str, Mapping[str, Any]],
    useless: frozenset[str],
    *,
    instead: Sequence[Block] = (),
) -> Iterator[Outgoing]:
    for key, payload in standing.items():
        blocks = payload.get("blocks") or []
        left = _without(blocks, useless)
        if left != blocks:
            kept = {name: payload[name] for name in ("text", "link_to") if name in payload}
            name = f"{key}/buttons/{case.version}"
            yield Outgoing(name, "update", channel, {**kept, "blocks": [*left, *instead]}, parent=key, case_id=case.id)


def _without(blocks: Sequence[Block], useless: frozenset[str]) -> list[Block]:
    left = []
    for block in blocks:
        if block["type"] != "actions":
            left.append(block)
        elif elements := [each for each in block["elements"] if each["action_id"] not in useless]:
            left.append({**block, "elements": elements})
    return left
