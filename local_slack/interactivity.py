"""Interactions: the payloads that clicks, commands and views send, and the response_url they carry."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from local_slack import timeline, views
from local_slack.blocks import elements
from local_slack.deliveries import VERIFICATION_TOKEN
from local_slack.methods.call import Call
from local_slack.methods.content import content
from local_slack.rate_limits import RateLimits
from local_slack.shapes import by_app, interaction_user, readable
from local_slack.workspace import Bot, Channel, Json, SlackError, Team, User, Workspace

URLS_KEPT = 1_000


@dataclass(slots=True)
class Place:
    """Where an interaction happened, and so where its answers appear."""

    channel: str
    user: str
    bot: Bot
    """Who answers."""
    thread_ts: str = ""
    message_ts: str = ""
    """The message with the button; "" for a command."""
    is_ephemeral: bool = False


@dataclass(slots=True)
class _ResponseUrl:
    place: Place
    until: float
    uses: int


class Interactivity:
    """Builds payloads, and shows what the app answers to them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._limits = RateLimits(workspace.clock, enabled=False)
        self._urls: OrderedDict[str, _ResponseUrl] = OrderedDict()

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/commands/{id}", self.respond), web.post("/actions/{id}", self.respond)]

    def block_actions(
        self, user: User, channel: Channel, message: Json, action: Json, *, state: Json, is_ephemeral: bool
    ) -> Json:
        """The payload of an element in a message. An ephemeral message is not in it, as in Slack."""
        bot = self._workspace.bot_by_id(message.get("bot_id", ""))
        place = Place(channel.id, user.id, bot, message.get("thread_ts", ""), message["ts"], is_ephemeral)
        return (
            self._common("block_actions", user, bot, channel.id)
            | self.container(channel, message, is_ephemeral=is_ephemeral)
            | {
                "state": {"values": state},
                "response_url": self._new_url("actions", place),
                "actions": [action],
            }
        )

    def container(self, channel: Channel, message: Json, *, is_ephemeral: bool) -> Json:
        """Where in which message something was done."""
        container = {
            "type": "message",
            "message_ts": message["ts"],
            "channel_id": channel.id,
            "is_ephemeral": is_ephemeral,
        }
        if thread_ts := message.get("thread_ts"):
            container["thread_ts"] = thread_ts
        where: Json = {"container": container, "channel": {"id": channel.id, "name": _channel_name(channel)}}
        return where if is_ephemeral else where | {"message": readable(message)}

    def view_actions(self, user: User, view: Json, action: Json) -> Json:
        """The payload of an element in a modal or a Home tab."""
        container = {"type": "view", "view_id": view["id"]}
        return self._of_view("block_actions", user, view) | {"container": container, "actions": [action]}

    def view_submission(self, user: User, view: Json) -> Json:
        urls = self._response_urls(user, view)
        return self._of_view("view_submission", user, view) | {"response_urls": urls}

    def view_closed(self, user: User, view: Json, *, is_cleared: bool) -> Json:
        return self._of_view("view_closed", user, view) | {"is_cleared": is_cleared}

    def suggestion(self, user: User, element: Json, block_id: str, query: str, *, bot_id: str, **where: Json) -> Json:
        """What asks for the options of an external select; `where` is its container and its message or view."""
        asked = {"action_id": element["action_id"], "block_id": block_id, "value": query}
        payload = self._common("block_suggestion", user, self._workspace.bot_by_id(bot_id)) | asked | where
        del payload["trigger_id"]
        return payload

    def global_shortcut(self, user: User, callback_id: str) -> Json:
        action = {"callback_id": callback_id, "action_ts": self._workspace.new_ts()}
        return self._common("shortcut", user, self._workspace.bot_for(user.id)) | action

    def message_shortcut(self, user: User, channel: Channel, message: Json, callback_id: str) -> Json:
        """A shortcut in a message's menu. Its response_url answers beside the message."""
        bot = self._workspace.bot_for(user.id)
        place = Place(channel.id, user.id, bot, message.get("thread_ts", ""))
        return self._common("message_action", user, bot, channel.id) | {
            "callback_id": callback_id,
            "action_ts": self._workspace.new_ts(),
            "channel": {"id": channel.id, "name": _channel_name(channel)},
            "message_ts": message["ts"],
            "message": readable(message),
            "response_url": self._new_url("actions", place),
        }

    def slash_command(self, user: User, channel: Channel, command: str, text: str) -> Json:
        """Flat fields, as Slack posts them."""
        bot = self._workspace.bot_for(user.id)
        place, team = Place(channel.id, user.id, bot), self._team(user, bot, channel.id)
        enterprise = {"enterprise_id": team.enterprise_id, "enterprise_name": team.enterprise_name}
        return {
            "token": VERIFICATION_TOKEN,
            "team_id": team.id,
            "team_domain": team.domain,
            **(enterprise if team.enterprise_id else {}),
            "channel_id": channel.id,
            "channel_name": _channel_name(channel),
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text,
            "api_app_id": bot.app_id,
            "is_enterprise_install": str(bot.is_enterprise_install).lower(),
            "response_url": self._new_url("commands", place),
            "trigger_id": self._workspace.triggers.issue(user.id),
        }

    def action(self, element: Json, block_id: str, value: Any) -> Json:
        """What was done with an element. Raises `option_not_found`."""
        action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id}
        action["action_ts"] = self._workspace.new_ts()
        if element["type"] == "feedback_buttons":
            pressed = next(each for each in _feedback(element) if value in (None, each["value"]))
            return action | {"value": pressed["value"], "text": pressed["text"]}
        if element["type"] == "overflow":
            chosen = next((each for each in element["options"] if each["value"] == value), None)
            if chosen is None:
                raise SlackError("option_not_found")
            return action | {"selected_option": chosen}
        held = views.holding(element, value)
        if held is not None:
            return action | held
        return action | {name: element[name] for name in ("text", "value", "style", "url", "icon") if name in element}

    async def respond(self, request: web.Request) -> web.Response:
        """The app answers by response_url: five times within half an hour."""
        url = self._urls.get(request.match_info["id"])
        if url is None or self._workspace.clock.time() > url.until:
            return self._responded(request, {}, status=404, text="expired_url" if url else "no_such_url")
        if url.uses >= self._workspace.rules.response_url_uses:
            return self._responded(request, {}, status=404, text="used_url")
        try:
            payload = json.loads(await request.text() or "null")
        except ValueError:
            payload = None
        if not isinstance(payload, dict):
            return self._responded(request, {}, status=400, text="invalid_payload")
        url.uses += 1
        try:
            self.show(url.place, payload)
        except SlackError as refusal:
            return self._responded(request, payload, status=400, text=refusal.error)
        return self._responded(request, payload, status=200, text="ok")

    def show(self, place: Place, payload: Json) -> None:
        """Show an answer of the app where the interaction happened: a new ephemeral or message, or in place of the
        one with the button. Raises SlackError for content that Slack refuses."""
        channel = self._workspace.channel(place.channel)
        if payload.get("delete_original") and place.message_ts:
            self._delete(channel, place)
            return
        call = Call(self._workspace, "response_url", payload, self._limits)
        given = content(call)
        thread_ts = call.text("thread_ts") or place.thread_ts
        message = by_app(self._workspace, place.bot) | given | ({"thread_ts": thread_ts} if thread_ts else {})
        if call.flag("replace_original") and place.message_ts and not place.is_ephemeral:
            edited = {"edited": {"user": place.bot.user_id, "ts": self._workspace.new_ts()}}
            timeline.change(self._workspace, channel, place.message_ts, given | edited)
        elif payload.get("response_type") == "in_channel":
            timeline.post(self._workspace, channel, message)
        else:
            replaced = call.flag("replace_original") and place.is_ephemeral
            ts = place.message_ts if replaced else self._workspace.new_ts()
            address = {"ts": ts, "channel": channel.id, "user": place.user, "is_ephemeral": True}
            self._workspace.keep_ephemeral(message | address)

    def slackbot_says(self, place: Place, text: str) -> None:
        """A line by Slack itself, for one person."""
        line = {"type": "message", "user": "USLACKBOT", "username": "Slackbot", "text": text, "is_ephemeral": True}
        address = {"ts": self._workspace.new_ts(), "channel": place.channel}
        self._workspace.keep_ephemeral(line | address | {"user": place.user, "author": "USLACKBOT", "blocks": []})

    def _delete(self, channel: Channel, place: Place) -> None:
        if place.is_ephemeral:
            self._workspace.forget_ephemeral(place.message_ts)
        else:
            timeline.delete(self._workspace, channel, place.message_ts)

    def _of_view(self, kind: str, user: User, view: Json) -> Json:
        return self._common(kind, user, self._workspace.bot_by_id(view["bot_id"])) | {"view": view}

    def _common(self, kind: str, user: User, bot: Bot, channel: str = "") -> Json:
        team = self._team(user, bot, channel)
        enterprise = {"id": team.enterprise_id, "name": team.enterprise_name} if team.enterprise_id else None
        named = {f"enterprise_{name}": value for name, value in (enterprise or {}).items()}
        return {
            "type": kind,
            "user": interaction_user(user),
            "api_app_id": bot.app_id,
            "token": VERIFICATION_TOKEN,
            "trigger_id": self._workspace.triggers.issue(user.id),
            "team": {"id": team.id, "domain": team.domain, **named},
            "enterprise": enterprise,
            "is_enterprise_install": bot.is_enterprise_install,
        }

    def _team(self, user: User, bot: Bot, channel: str) -> Team:
        """Where it happened: in the workspace of the installation, and in an org in that of the channel, without a
        channel in the person's own one."""
        if bot.team:
            return self._workspace.home_of(bot)
        if channel:
            return self._workspace.team_of(channel)
        own = self._workspace.teams.get(user.team, self._workspace.team)
        return own if own.enterprise_id == self._workspace.team.enterprise_id else self._workspace.team

    def _response_urls(self, user: User, view: Json) -> list[Json]:
        """One for each chosen conversation of a select that asks for it."""
        urls = []
        for block_id, element in elements(view["blocks"]):
            if not element.get("response_url_enabled"):
                continue
            held = view["state"]["values"].get(block_id, {}).get(element["action_id"], {})
            chosen = held.get("selected_conversation") or held.get("selected_channel")
            if chosen:
                bot = self._workspace.bot_by_id(view["bot_id"])
                url = self._new_url("actions", Place(chosen, user.id, bot))
                named = {"block_id": block_id, "action_id": element["action_id"], "channel_id": chosen}
                urls.append(named | {"response_url": url})
        return urls

    def _new_url(self, kind: str, place: Place) -> str:
        key = self._workspace.new_id("", length=24)
        until = self._workspace.clock.time() + self._workspace.rules.response_url_seconds
        self._urls[key] = _ResponseUrl(place, until, uses=0)
        while len(self._urls) > URLS_KEPT:
            self._urls.popitem(last=False)
        return f"{self._workspace.url}/{kind}/{key}"

    def _responded(self, request: web.Request, payload: Json, *, status: int, text: str) -> web.Response:
        detail = {"args": payload, "answer": text, "path": request.path}
        self._workspace.note("call", "response_url", ok=status == 200, detail=detail)
        return web.Response(status=status, text=text)


def _feedback(element: Json) -> tuple[Json, Json]:
    return element["positive_button"], element["negative_button"]


def _channel_name(channel: Channel) -> str:
    if channel.is_im:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name
