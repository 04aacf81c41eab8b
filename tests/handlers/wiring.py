"""Handlers behind the buttons, commands and dialogs of a local Slack, without the rest of the product.

Wiring   a transport of the local Slack that hands what people do to Bolt, as Socket Mode does
wire     put it together: the parts that are not named must not be needed
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from bot.cases.staff import Staff
from bot.clock import SystemClock
from bot.language.sentences import load_sentences
from bot.slack.api.directory import SlackUser
from bot.store.inbox import Arrival
from bot.telemetry import Metrics
from handlers import door
from handlers.desk import Desk
from local_slack.workspace import Ack, Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.turns.arrivals import TEAM


class Wiring:
    """The workspace's transport."""

    def __init__(self, bolt: AsyncApp) -> None:
        self.bolt = bolt
        self._door = door.Door(bolt, Metrics(), SystemClock())
        self._events = 0
        self._tasks: set[asyncio.Task[Ack]] = set()

    def connection_url(self) -> str:
        raise AssertionError("nobody connects")

    def event(self, event: Json, *, is_ext_shared: bool) -> None:
        self._events += 1
        payload = {"type": "event_callback", "event_id": f"Ev{self._events}", "team_id": TEAM, "event": event}
        task = asyncio.create_task(self._hand_over(payload))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def interact(self, kind: str, payload: Json) -> Ack:
        return await self._hand_over(payload)

    async def _hand_over(self, payload: Json) -> Ack:
        response = await self._door.take(payload)
        answer = json.loads(response.body) if (response.body or "").startswith("{") else {}
        return Ack(ok=response.status == 200, payload=answer)


class Profiles:
    """Identities without a database, in which nobody has chosen anything."""

    async def locale(self, user: SlackUser) -> str:
        """The profile's."""
        return user.locale


class Door:
    """An inbox that stores nothing."""

    async def is_first(self, arrival: Arrival) -> bool:
        """As Inbox.is_first, of a Slack that delivers once."""
        return True


async def wire(slack: LocalSlack, register: Callable[[AsyncApp, Desk], None], **parts: Any) -> Desk:
    """Let the handlers of `register` take what people do in the workspace; `parts` are fields of their Desk."""
    client = slack.client
    me = await client.api.auth()
    answer = AuthorizeResult(enterprise_id=None, team_id=me.team, bot_token="x", bot_id="B", bot_user_id=me.user)

    async def authorize() -> AuthorizeResult:
        return answer

    bolt = AsyncApp(client=client.api.web, authorize=authorize, request_verification_enabled=False)
    unneeded = dict.fromkeys((field.name for field in fields(Desk)), cast(Any, None))
    usual = {
        "me": me,
        "chat": client.chat,
        "directory": client.directory,
        "views": client.views,
        "clock": SystemClock(),
        "sentences": load_sentences(None),
        "inbox": Door(),
        "identities": Profiles(),
        "staff": Staff(client.directory, ManualClock(), agent_channel="C0AGENTS"),
    }
    desk = Desk(**(unneeded | usual | parts))
    register(bolt, desk)
    slack.workspace.transport = Wiring(bolt)
    return desk
