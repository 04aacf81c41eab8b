"""What travels to the app: event envelopes, their one id, and the order of their redeliveries."""

import asyncio
from dataclasses import dataclass, field

from demo.slack.workspace import Ack, Json, Workspace

WAITING = 1_000
"""Deliveries kept for an app that does not take them; the oldest is dropped for the newest."""

NEVER_SENT = "dispatch_failed"
UNANSWERED = "operation_timeout"


@dataclass(slots=True)
class Delivery:
    """One payload on its way until it is acknowledged or given up."""

    id: str
    kind: str
    """`events_api`, `interactive` or `slash_commands`."""
    payload: Json
    attempts: int = 0
    """How often it was sent."""
    failures: int = 0
    """How often the app was there and did not acknowledge; the retry schedule counts these."""
    reason: str = ""
    """Why it is sent again, as Slack names it."""
    answer: asyncio.Future[Ack] | None = None
    """Where the answer of an interaction is awaited; None for events."""
    timer: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What the inspector calls it."""
        event = self.payload.get("event", {})
        if self.kind == "slash_commands":
            return str(self.payload["command"])
        return ".".join(part for part in (event.get("type"), event.get("subtype")) if part) or self.payload["type"]

    def settle(self, ack: Ack) -> None:
        """Answer whoever waits for this interaction."""
        if self.timer is not None:
            self.timer.cancel()
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(ack)


def event_delivery(workspace: Workspace, event: Json, *, is_ext_shared: bool) -> Delivery:
    """An Events API callback. Its event_id is the same on every redelivery."""
    team = workspace.team.id
    authorization = {
        "enterprise_id": None,
        "team_id": team,
        "user_id": workspace.app.user_id,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    if event["type"] == "app_context_changed":
        # Slack tells alone by the authorization who turned to something else.
        authorization |= {"user_id": event.pop("user"), "is_bot": False}
    payload = {
        "token": "unused-verification-token",
        "team_id": team,
        "context_team_id": team,
        "context_enterprise_id": None,
        "api_app_id": workspace.app.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": workspace.new_id("Ev", length=10),
        "event_time": int(workspace.clock.time()),
        "authorizations": [authorization],
        "is_ext_shared_channel": is_ext_shared,
        "event_context": f"4-{workspace.new_id('', length=24)}",
    }
    return Delivery(workspace.new_id("", length=24), "events_api", payload)


def interaction_delivery(
    workspace: Workspace, kind: str, payload: Json, *, answer: asyncio.Future[Ack] | None = None
) -> Delivery:
    """An interaction: it is sent once, and a person waits for the answer."""
    return Delivery(workspace.new_id("", length=24), kind, payload, answer=answer)
