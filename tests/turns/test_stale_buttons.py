"""A button that fits no more, each of staff's in each state of its case: who pressed reads how things stand."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.cases.buttons import BUTTONS
from bot.store.bodies import InteractionBody
from tests.turns.arrivals import arrival
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, Channel, channel

__all__ = ["channel"]

TOLD = {
    "human": f"<@{AGENT_A}>",
    "waiting": "it's waiting to be claimed",
    "resolved": "it's solved",
    "closed": "it's closed",
    "bot": "the assistant has it again",
}
"""What is said of each state."""
NOT_YET = {"human": {"relay.claim_send", "relay.send"}, "waiting": {"case.snooze"}}
"""State -> what serves in it, but neither for Agent B nor before the first SLA step."""
SILENT = {"case.draft", "draft.send", "submit.draft", "submit.change"}
"""What speaks for a case by drafts, which tests/drafts/test_drafts.py looks at, and what needs a shop."""
ALL = [
    button
    for button in BUTTONS.values()
    if button.who == "staff" and button.lane != "at_once" and button.states and not button.anywhere
]


def unfit(state: str) -> set[str]:
    """What does not serve in this state, or not for Agent B."""
    return {button.id for button in ALL if state not in button.states} - SILENT | NOT_YET.get(state, set())


async def in_state(channel: Channel, state: str) -> None:
    """A case of that state; Agent A has it, or had it."""
    if state == "waiting":
        await channel.opens()
        return
    case = await channel.claimed()
    steps: dict[str, Callable[[str, str], Awaitable[object]]] = {
        "resolved": channel.cases.resolve,
        "bot": channel.cases.hand_back,
        "closed": channel.cases.mark_spam,
    }
    if state in steps:
        await steps[state](case.ref, AGENT_A)
    await channel.delivers()


@pytest.mark.parametrize("state", TOLD)
async def test_who_presses_what_fits_no_more_reads_how_the_case_stands(channel: Channel, state: str) -> None:
    await in_state(channel, state)
    await channel.opens()
    before = await channel.cases.find("FD-1001")
    said = channel.slack.texts("D0CUSTOMERA")
    for number, action in enumerate(sorted(unfit(state)), start=1):
        value = {"case.snooze": "FD-1001/1", "relay.send": "FD-1001/1.1", "relay.claim_send": "FD-1001/1.1"}
        interaction = arrival(
            f"9.{number}", thread_ts=channel.card["ts"], channel="C0AGENTS", kind="interaction", author=AGENT_B
        )
        fields = {"desk": "C0AGENTS", "into": "FD-1002", "outcome": "solved", "priority": "high", "text": "Hello!"}
        body = InteractionBody(action, value.get(action, "FD-1001"), channel.card["ts"], fields=fields)
        item = await channel.begins(replace(interaction, body=body))
        read = len(channel.ephemerals(AGENT_B))
        assert await channel.interactions.carry_out(item) == "moved_on", action
        (told,) = channel.ephemerals(AGENT_B)[read:]
        assert told["text"].startswith(("FD-1001 has moved on", f"<@{AGENT_A}> has claimed")), action
        assert TOLD[state] in told["text"], action
    await channel.delivers()
    assert await channel.cases.find("FD-1001") == before
    assert channel.slack.texts("D0CUSTOMERA") == said
