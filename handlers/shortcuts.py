"""The shortcuts in a message's menu: a call for a person about the message. It goes through the inbox."""

from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.conversation import ThreadRef
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival
from bot.turns.handover_requests import CALL_OVER
from handlers.desk import Desk
from handlers.payloads import MessageAction

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the shortcuts."""

    @app.shortcut(CALL_OVER)
    async def call_over(ack: Ack, body: MessageAction) -> None:
        user = body["user"]["id"]
        is_staff = bool(await desk.staff.desks(user))
        await desk.inbox.accept(read_call(body, team=desk.me.team, by_staff=is_staff))
        await ack()


def read_call(body: MessageAction, *, team: str, by_staff: bool) -> Arrival:
    """Return the arrival of a message_action payload. It holds the place of the message, but not its words."""
    message, user = body["message"], body["user"]
    return Arrival(
        event_id=f"interaction/{body['trigger_id']}",
        kind="interaction",
        thread=ThreadRef(team, body["channel"]["id"], message.get("thread_ts") or body["message_ts"]),
        ts=body["action_ts"],
        author=user["id"],
        author_team=user.get("team_id") or team,
        body=InteractionBody(
            CALL_OVER,
            message_ts=body["message_ts"],
            response_url=body.get("response_url") or "",
            by_staff=by_staff,
        ),
        addressed=True,
    )
