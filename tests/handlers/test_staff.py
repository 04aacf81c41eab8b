"""Presses in the agent channel of somebody who is not surely staff, in a local Slack."""

from typing import Any, cast

import pytest
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.socket_mode.request import SocketModeRequest

from bot.cases.staff import Staff
from bot.sentences import load_sentences
from bot.slack import staff_cards
from demo.slack.workspace import Ack, Json
from handlers import staff
from handlers.desk import Desk
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack


class Wired:
    """Slack, with the staff's buttons behind it; nothing of a press is stored."""

    def __init__(self, slack: LocalSlack) -> None:
        self.slack = slack
        self.bolt: AsyncApp | None = None

    def connection_url(self) -> str:
        raise AssertionError("nobody connects")

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        """Nobody listens to events."""

    async def interact(self, kind: str, payload: Json) -> Ack:
        """Hand a press to Bolt, as Socket Mode does."""
        assert self.bolt is not None
        response = await run_async_bolt_app(self.bolt, SocketModeRequest(kind, "1", payload))
        return Ack(ok=response.status == 200)

    async def open(self) -> None:
        client, nothing = self.slack.client, cast(Any, None)
        me = await client.auth()
        answer = AuthorizeResult(enterprise_id=None, team_id=me.team, bot_token="x", bot_id="B", bot_user_id=me.user)

        async def authorize() -> AuthorizeResult:
            return answer

        self.bolt = AsyncApp(client=client.web, authorize=authorize, request_verification_enabled=False)
        desk = Desk(
            me=me,
            agent_channel="C0AGENTS",
            slack=client,
            database=nothing,
            clock=ManualClock(),
            sentences=load_sentences(None),
            inbox=nothing,
            staff=Staff(client, ManualClock(), agent_channel="C0AGENTS"),
            library=nothing,
            refreshes=nothing,
            start=nothing,
        )
        staff.register(self.bolt, desk)
        self.slack.workspace.transport = self


@pytest.mark.parametrize("is_in_thread", [True, False])
async def test_whoever_is_not_surely_staff_is_told_so_where_they_pressed(slack: LocalSlack, is_in_thread: bool) -> None:
    wired = Wired(slack)
    await wired.open()
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
