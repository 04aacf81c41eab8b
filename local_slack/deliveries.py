"""What travels to the app: event envelopes, their one id, and the order of their redeliveries."""

import asyncio
from dataclasses import dataclass, field

from local_slack.workspace import Ack, Bot, Json, Workspace

CONTEXTS_KEPT = 1_000
WAITING = 1_000
"""Deliveries kept for an app that does not take them; the oldest is dropped for the newest."""

HASTE = 0.1
"""The part of its time that is left to an app by the fault `hasty`."""

NEVER_SENT = "dispatch_failed"
UNANSWERED = "operation_timeout"


VERIFICATION_TOKEN = "unused-verification-token"  # noqa: S105
LEAST_TAKEN = 0.05
HOUR = 3_600
MINUTE = 60


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
    """An Events API callback. Its event_id is the same on every redelivery.

    What several installations can see comes once and names one of them, the one that came last into the channel (seen
    by users); `apps.event.authorizations.list` names them all.
    """
    bots = _receivers(workspace, event)
    team = workspace.home_of(bots[0]) if bots[0].team else workspace.team_of(_channel(event))
    authorization = _authorization(workspace, event, bots[0])
    context = f"4-{workspace.new_id('', length=24)}"
    workspace.event_contexts[context] = [_authorization(workspace, event, bot) for bot in bots]
    while len(workspace.event_contexts) > CONTEXTS_KEPT:
        workspace.event_contexts.popitem(last=False)
    if event["type"] == "app_context_changed":
        # Slack tells alone by the authorization who turned to something else.
        authorization |= {"user_id": event.pop("user"), "is_bot": False}
    payload = {
        "token": VERIFICATION_TOKEN,
        "team_id": team.id,
        **({"enterprise_id": team.enterprise_id} if team.enterprise_id else {}),
        "context_team_id": team.id,
        "context_enterprise_id": team.enterprise_id or None,
        "api_app_id": workspace.app.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": workspace.new_id("Ev", length=10),
        "event_time": int(workspace.clock.time()),
        "authorizations": [authorization],
        "is_ext_shared_channel": is_ext_shared,
        "event_context": context,
    }
    return Delivery(workspace.new_id("", length=24), "events_api", payload)


def interaction_delivery(
    workspace: Workspace, kind: str, payload: Json, *, answer: asyncio.Future[Ack] | None = None
) -> Delivery:
    """An interaction: it is sent once, and a person waits for the answer."""
    return Delivery(workspace.new_id("", length=24), kind, payload, answer=answer)


class EventBudget:
    """How many events an app gets in an hour. Those above are lost, and the app is told so once a minute; the reference
    describes that for requests, over Socket Mode it is believed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._minutes: dict[int, int] = {}
        self._told = 0

    def delivery(self, event: Json, *, is_ext_shared: bool) -> Delivery | None:
        """The event's delivery; the word that the budget is spent, or nothing, in its place."""
        rules, minute = self._workspace.rules, int(self._workspace.clock.time()) // MINUTE
        self._minutes = {each: n for each, n in self._minutes.items() if each > minute - HOUR // MINUTE}
        if not rules.rate_limits or sum(self._minutes.values()) < rules.events_per_hour:
            self._minutes[minute] = self._minutes.get(minute, 0) + 1
            return event_delivery(self._workspace, event, is_ext_shared=is_ext_shared)
        if self._told == minute:
            return None
        self._told = minute
        payload = {
            "token": VERIFICATION_TOKEN,
            "type": "app_rate_limited",
            "team_id": self._workspace.team.id,
            "minute_rate_limited": minute * MINUTE,
            "api_app_id": self._workspace.app.app_id,
        }
        return Delivery(self._workspace.new_id("", length=24), "events_api", payload)


class Health:
    """How the requests of the last hour went. Slack ends the subscription of an app that takes fewer than one in twenty
    of its events, unless it gets fewer than a thousand an hour."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._minutes: dict[int, tuple[int, int]] = {}
        """Minute -> requests and failures."""

    def count(self, *, ok: bool) -> None:
        """One request is over; too many failures switch the events off."""
        minute = int(self._workspace.clock.time()) // MINUTE
        self._minutes = {each: n for each, n in self._minutes.items() if each > minute - HOUR // MINUTE}
        requests, failures = self._minutes.get(minute, (0, 0))
        self._minutes[minute] = (requests + 1, failures + (not ok))
        requests, failures = (sum(each) for each in zip(*self._minutes.values(), strict=True))
        self._workspace.failed_deliveries = failures
        if requests >= self._workspace.rules.events_to_disable and requests - failures < requests * LEAST_TAKEN:
            self._minutes.clear()
            self._workspace.events_enabled = False
            self._workspace.note("error", "subscription", ok=False, detail={"requests": requests, "failures": failures})
            self._workspace.changed("presence")


def _receivers(workspace: Workspace, event: Json) -> list[Bot]:
    """The installations that can see the event, the one first by which it is told."""
    channel = workspace.channels.get(_channel(event))
    in_channel = workspace.bots_in(channel) if channel is not None else []
    person = event["user"].get("team_id", "") if isinstance(event.get("user"), dict) else ""
    of_team = [bot for bot in workspace.bots if bot.team and bot.team == person]
    return in_channel or of_team or [workspace.app]


def _authorization(workspace: Workspace, event: Json, bot: Bot) -> Json:
    team = workspace.home_of(bot) if bot.team else workspace.team_of(_channel(event))
    return {
        "enterprise_id": team.enterprise_id or None,
        # That an org's authorization names no workspace is believed.
        "team_id": None if bot.is_enterprise_install else team.id,
        "user_id": bot.user_id,
        "is_bot": True,
        "is_enterprise_install": bot.is_enterprise_install,
    }


def _channel(event: Json) -> str:
    """The id of the channel that an event is about, or nothing."""
    about = event.get("channel") or event.get("channel_id") or event.get("item", {}).get("channel") or ""
    return str(about["id"] if isinstance(about, dict) else about)
