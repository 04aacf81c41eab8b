"""manifest.yml asks for what the code uses, nothing more and nothing less, and is a manifest that Slack takes."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import jsonschema
import pytest
import yaml
from slack_bolt.async_app import AsyncApp

import handlers
from bot.language.sentences import load_sentences
from bot.slack.api.transport import Identity
from handlers import commands as kb_command
from handlers import frontdesk
from handlers.desk import Desk
from handlers.messages import read_event
from tests.contracts.tree import ROOT, Source, calls, read, sources
from tools.guest_manifest import AGENT_EVENTS, AGENT_SCOPES, guest_manifest_text

pytestmark = pytest.mark.contract

SCHEMA = ROOT.parent / "shared" / "data" / "slack-manifest" / "manifest.schema.1.0.0.json"
"""Slack's own schema, which is no part of this repository; github.com/slackapi/manifest-schema has it."""

CHANNEL_READ = frozenset({"channels:read", "groups:read"})
HISTORY = frozenset({"channels:history", "groups:history", "im:history"})

SCOPES: dict[str, frozenset[str]] = {
    "agents.sessions.rename": frozenset({"chat:write"}),
    "agents.sessions.setStatus": frozenset({"chat:write"}),
    "apps.connections.open": frozenset(),  # connections:write, which belongs to the app-level token
    "assistant.threads.setStatus": frozenset({"chat:write"}),
    "assistant.threads.setSuggestedPrompts": frozenset({"assistant:write"}),
    "auth.test": frozenset(),
    "chat.appendStream": frozenset({"chat:write"}),
    "chat.delete": frozenset({"chat:write"}),
    "chat.getPermalink": frozenset(),
    "chat.postEphemeral": frozenset({"chat:write"}),
    "chat.postMessage": frozenset({"chat:write"}),
    "chat.startStream": frozenset({"chat:write"}),
    "chat.stopStream": frozenset({"chat:write"}),
    "chat.update": frozenset({"chat:write"}),
    "conversations.history": HISTORY,
    "conversations.info": CHANNEL_READ,  # asked of the agent channel alone, which may be private
    "conversations.members": CHANNEL_READ,  # likewise
    "conversations.open": frozenset({"im:write"}),
    "conversations.replies": HISTORY,
    "dnd.info": frozenset({"dnd:read"}),
    "files.completeUploadExternal": frozenset({"files:write"}),
    "files.delete": frozenset({"files:write"}),
    "files.getUploadURLExternal": frozenset({"files:write"}),
    "files.info": frozenset({"files:read"}),
    "pins.add": frozenset({"pins:write"}),
    "reactions.add": frozenset({"reactions:write"}),
    "reactions.remove": frozenset({"reactions:write"}),
    "users.conversations": CHANNEL_READ,  # public and private channels; direct messages would need im:read
    "usergroups.users.list": frozenset({"usergroups:read"}),
    "users.getPresence": frozenset({"users:read"}),
    "users.info": frozenset(
        {"users:read", "users:read.email"}
    ),  # the e-mail address is what a shop customer is found by
    "views.open": frozenset(),
    "views.publish": frozenset(),
    "views.update": frozenset(),
}
"""Web API method -> what Slack's reference asks of a bot token, for the conversations it is used on."""

SUBSCRIPTIONS: dict[str, dict[str, frozenset[str]]] = {
    "agent_session_stopped": {"agent_session_stopped": frozenset()},
    "app_home_opened": {"app_home_opened": frozenset()},
    "app_mention": {"app_mention": frozenset({"app_mentions:read"})},
    "message": {
        "message.channels": frozenset({"channels:history"}),
        "message.groups": frozenset({"groups:history"}),
        "message.im": frozenset({"im:history"}),
    },
}
"""Event type in a payload -> the subscriptions that bring it, each with the scope it needs."""

OTHER_EVENTS = ("member_joined_channel", "reaction_added", "team_join", "user_change", "link_shared", "file_shared")
"""A sample of what Slack could tell and nobody here listens to."""


class RecordingApp:
    """Takes registrations in Bolt's place and keeps what was registered."""

    def __init__(self) -> None:
        self.registered: dict[str, list[str | re.Pattern[str]]] = {}

    def use(self, middleware: object) -> object:
        return middleware

    def __getattr__(self, kind: str) -> Callable[[str | re.Pattern[str]], Callable[[object], object]]:
        def register(what: str | re.Pattern[str]) -> Callable[[object], object]:
            self.registered.setdefault(kind, []).append(what)
            return lambda listener: listener

        return register

    def named(self, kind: str) -> set[str]:
        """What was registered by name; catch-alls and patterns left out."""
        return {what for what in self.registered.get(kind, ()) if isinstance(what, str)}


def registered() -> RecordingApp:
    app = RecordingApp()
    handlers.register(cast(AsyncApp, app), cast(Desk, object()))
    return app


CLIENT = "bot/slack/api/"


def client() -> list[Source]:
    """The modules that call Slack."""
    return [source for source in sources() if source.name.startswith(CLIENT)]


def called_methods() -> set[str]:
    """The Web API methods that the Slack client names."""
    return {
        node.args[0].value
        for source in client()
        for node, name in calls(source)
        if name in ("call", "pages") and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }


def heard_events() -> set[str]:
    """The event types that a listener names or that are stored as something somebody said."""
    me = Identity("T0FRONTDESK", "U0FRONTDESK", "B0FRONTDESK", "https://frontdesk.slack.com/", "Frontdesk")
    candidates = {*SUBSCRIPTIONS, *OTHER_EVENTS}
    stored = {kind for kind in candidates if read_event(payload(kind), me, team_channels={"C0AGENTS"}) is not None}
    return stored | registered().named("event")


def payload(kind: str) -> dict[str, Any]:
    ts = "1700000000.000100"
    event = {"type": kind, "user": "U0CUSTOMERA", "channel": "C0SUPPORT", "ts": ts, "text": "Hi", "event_ts": ts}
    event |= {"thread_ts": ts} if kind == "agent_session_stopped" else {}
    return {"type": "event_callback", "event_id": "Ev0", "team_id": "T0FRONTDESK", "event": event}


def manifest(name: str = "manifest.yml") -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(read(name))
    return loaded


def bot_scopes(given: dict[str, Any]) -> list[str]:
    scopes: list[str] = given["oauth_config"]["scopes"]["bot"]
    return scopes


def bot_events(given: dict[str, Any]) -> list[str]:
    events: list[str] = given["settings"]["event_subscriptions"]["bot_events"]
    return events


def writes_under_other_names() -> bool:
    """Whether anybody posts under a name or picture that is not the app's."""
    fields = {"username", "icon_emoji", "icon_url"}
    for source in sources():
        if source.name.startswith(CLIENT):
            continue
        for node in ast.walk(source.tree):
            keys = node.keys if isinstance(node, ast.Dict) else []
            if any(isinstance(key, ast.Constant) and key.value in fields for key in keys):
                return True
            if isinstance(node, ast.keyword) and node.arg in fields:
                return True
    return False


def test_the_table_of_scopes_knows_each_method_that_the_client_calls() -> None:
    assert called_methods() <= SCOPES.keys()


def test_each_sdk_method_is_called_under_its_own_name() -> None:
    used = {
        node.attr
        for source in client()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "web"
    } - {"session", "proxy", "token", "base_url", "api_call"}
    named = {method.replace(".", "_") for method in called_methods()}
    assert used <= named


def test_only_the_client_speaks_to_slack() -> None:
    def past_the_client(source: Source) -> Iterator[str]:
        for node in ast.walk(source.tree):
            match node:
                case ast.Attribute(value=ast.Attribute(attr="web")):
                    yield source.at(node)
                case ast.arg(arg="say" | "client" | "respond") if source.name.startswith("handlers/"):
                    yield source.at(node)

    assert not [
        place for source in sources() if not source.name.startswith(CLIENT) for place in past_the_client(source)
    ]


def test_scopes_are_what_the_calls_the_events_and_the_commands_need() -> None:
    needed = {scope for method in called_methods() for scope in SCOPES[method]}
    needed |= {scope for kind in heard_events() for scopes in SUBSCRIPTIONS[kind].values() for scope in scopes}
    if registered().named("command"):
        needed.add("commands")
    if writes_under_other_names():
        needed.add("chat:write.customize")
    assert bot_scopes(manifest()) == sorted(needed)


def test_subscriptions_are_what_the_code_listens_to() -> None:
    assert bot_events(manifest()) == sorted(event for kind in heard_events() for event in SUBSCRIPTIONS[kind])


def test_commands_are_what_the_code_answers() -> None:
    commands = manifest()["features"]["slash_commands"]
    assert {command["command"] for command in commands} == registered().named("command")
    usages = {"/kb": kb_command.USAGE, "/frontdesk": frontdesk.USAGE}
    for command in commands:
        for use in re.split(r" \| (?![^\[]*\])", command["usage_hint"]):
            assert f"`{command['command']} {use}`" in usages[command["command"]]


def test_interactivity_is_on_because_buttons_are_answered() -> None:
    assert manifest()["settings"]["interactivity"]["is_enabled"] is bool(registered().named("action"))


def test_shortcuts_are_what_the_code_answers() -> None:
    shortcuts = manifest()["features"].get("shortcuts", [])
    assert {shortcut["callback_id"] for shortcut in shortcuts} == registered().named("shortcut")


def test_the_home_tab_is_off_because_nothing_fills_it() -> None:
    fills = [source.at(node) for source in sources() for node, name in calls(source) if name == "publish_home"]
    assert manifest()["features"]["app_home"]["home_tab_enabled"] is bool(fills)


def test_the_suggested_prompts_are_the_ones_that_the_app_offers() -> None:
    assert manifest()["features"]["agent_view"]["suggested_prompts"] == load_sentences().prompts("en")


def test_the_variant_for_guests_is_generated() -> None:
    assert read("manifest.guests.yml") == guest_manifest_text(read("manifest.yml")), "run `make manifest`"


def test_the_variant_for_guests_lacks_the_agent_view_and_only_what_needs_it() -> None:
    whole, variant = manifest(), manifest("manifest.guests.yml")
    assert whole["features"].keys() - variant["features"].keys() == {"agent_view"}
    assert set(bot_scopes(whole)) - set(bot_scopes(variant)) == AGENT_SCOPES
    assert set(bot_events(whole)) - set(bot_events(variant)) == AGENT_EVENTS
    users = {method for method in called_methods() if SCOPES[method] & AGENT_SCOPES}
    assert users == {"assistant.threads.setSuggestedPrompts"}


@pytest.mark.parametrize("name", ["manifest.yml", "manifest.guests.yml"])
def test_slacks_own_schema_takes_it(name: str) -> None:
    if not SCHEMA.exists():
        pytest.skip(f"NOT CHECKED against Slack's schema: there is no {SCHEMA}")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    errors = jsonschema.Draft7Validator(schema).iter_errors(manifest(name))
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


@pytest.mark.parametrize("name", ["manifest.yml", "manifest.guests.yml"])
def test_texts_keep_to_slacks_lengths(name: str) -> None:
    given = manifest(name)
    display = given["display_information"]
    assert len(display["name"]) <= 35
    assert len(display["description"]) <= 140
    assert 175 <= len(display["long_description"]) <= 4_000
    assert re.fullmatch(r"#[0-9a-f]{6}", display["background_color"])
    assert re.fullmatch(r"[a-z0-9._-]{1,80}", given["features"]["bot_user"]["display_name"])
    for command in given["features"]["slash_commands"]:
        assert re.fullmatch(r"/[a-z0-9_-]{1,31}", command["command"])
        assert 1 <= len(command["description"]) <= 2_000
        assert len(command["usage_hint"]) <= 1_000
    view = given["features"].get("agent_view", {"agent_description": "-", "suggested_prompts": []})
    assert 1 <= len(view["agent_description"]) <= 300
    assert len(view["suggested_prompts"]) <= 4


@pytest.mark.parametrize("name", ["manifest.yml", "manifest.guests.yml"])
def test_it_asks_for_no_rights_of_a_person_and_no_public_address(name: str) -> None:
    given = manifest(name)
    assert given["oauth_config"].keys() == {"scopes"}
    assert given["oauth_config"]["scopes"].keys() == {"bot"}
    assert given["settings"]["socket_mode_enabled"] is True
    assert "url" not in read(name).lower()


def test_people_are_told_that_answers_come_from_a_language_model() -> None:
    notice = manifest()["display_information"]["long_description"]
    assert "artificial intelligence" in notice
    assert "can be wrong" in notice
