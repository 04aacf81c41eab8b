"""What staff press. Each press is checked on the server: members of the agent channel count, and in doubt nobody."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.cases.case import MovedOn
from bot.cases.cases import UnknownCase
from handlers.desk import Desk

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]
Press = Callable[[Desk, str, str], Awaitable[None]]


async def _claim(desk: Desk, user: str, value: str) -> None:
    await desk.cases.claim(value, user)


async def _take_over(desk: Desk, user: str, value: str) -> None:
    await desk.cases.take_over(value, user)


async def _resolve(desk: Desk, user: str, value: str) -> None:
    await desk.cases.resolve(value, user)


async def _hand_back(desk: Desk, user: str, value: str) -> None:
    await desk.cases.hand_back(value, user)


async def _claim_and_send(desk: Desk, user: str, value: str) -> None:
    ref, _, ts = value.partition("/")
    await desk.cases.claim(ref, user)
    await desk.relay.send(ref, user, ts)


PRESSES: dict[str, Press] = {
    "case.claim": _claim,
    "case.takeover": _take_over,
    "case.resolve": _resolve,
    "case.handback": _hand_back,
    "relay.claim_send": _claim_and_send,
}


def register(app: AsyncApp, desk: Desk) -> None:
    """The buttons of the cards in the agent channel."""

    async def press(ack: Ack, body: dict[str, Any], action: dict[str, Any]) -> None:
        await ack()
        user = body["user"]["id"]
        channel = body["container"]["channel_id"]
        if channel != desk.agent_channel or not await desk.staff.includes(user):
            await desk.slack.ephemeral(channel, user, text=await desk.words(user, "not_staff"))
            return
        try:
            await PRESSES[action["action_id"]](desk, user, action.get("value", ""))
        except MovedOn as error:
            await desk.cases.tell_moved_on(error.case, user, action["action_id"])
            return
        except UnknownCase:
            logger.warning("a press names no case of ours", extra={"user": user})
            return
        if action["action_id"] == "relay.claim_send":
            await desk.slack.respond(body["response_url"], text="Claimed, and on its way.", replace=True)

    for action_id in PRESSES:
        app.action(action_id)(press)

    @app.action("relay.note")
    async def keep_inside(ack: Ack, body: dict[str, Any]) -> None:
        await ack()
        await desk.slack.respond(body["response_url"], text="Kept as an internal note.", replace=True)
