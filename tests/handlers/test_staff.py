"""Presses in the agent channel of somebody who is not surely staff, in a local Slack."""

import pytest

from bot.slack import staff_cards
from handlers import staff
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire


@pytest.mark.parametrize("is_in_thread", [True, False])
async def test_whoever_is_not_surely_staff_is_told_so_where_they_pressed(slack: LocalSlack, is_in_thread: bool) -> None:
    await wire(slack, staff.register)
    card = await slack.client.post("C0AGENTS", text="the card")
    button = staff_cards.lost_race(case="FD-1001", staff="U0AGENTB", staff_name="Agent B")
    thread_ts = card if is_in_thread else None
    ts = await slack.client.post("C0AGENTS", text=button.text, blocks=button.blocks, thread_ts=thread_ts)
    await slack.breaks(method="conversations.members", do="internal_error")
    await slack.workspace.act.click("U0AGENTA", "C0AGENTS", ts, "case.takeover")
    while not slack.workspace.ephemerals:
        await slack.workspace.wait_for_change(slack.workspace.counter, timeout=20.0)
    (told,) = slack.workspace.ephemerals
    assert "support team" in told["text"]
    assert told.get("thread_ts") == thread_ts
