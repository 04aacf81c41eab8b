"""What Slack sends, one payload of each kind, as it looks with all the fields that Slack's documentation shows."""

import copy
from collections.abc import Iterator
from typing import Any

from bot.cases.dialogs import About
from bot.conversation import ThreadRef
from local_slack.workspace import Json
from tests.turns.arrivals import TEAM

TS = "1795000000.000100"
LATER = "1795000001.000200"
MISSING = object()
"""In the place of a field that is left out."""
ODD: tuple[Any, ...] = (
    None, MISSING, [], [7], {}, {"id": 7}, 7, -1.5, True, "", "x" * 40_000, "U0\ud83d", "U0\x00", "a/b", "../..",
)  # fmt: skip
"""What a field is replaced by."""


def _event(event: Json) -> Json:
    return {
        "token": "verification",
        "team_id": TEAM,
        "context_team_id": TEAM,
        "context_enterprise_id": None,
        "api_app_id": "A0FRONTDESK",
        "event": event,
        "type": "event_callback",
        "event_id": "Ev0PROPERTY",
        "event_time": 1795000000,
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": "U0FRONTDESK",
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": False,
        "event_context": "4-context",
    }


def _interaction(kind: str, **fields: Any) -> Json:
    return {
        "type": kind,
        "user": {"id": "U0AGENTA", "username": "agent", "name": "agent", "team_id": TEAM},
        "api_app_id": "A0FRONTDESK",
        "token": "verification",
        "trigger_id": "1.2.abc",
        "team": {"id": TEAM, "domain": "frontdesk-local"},
        "enterprise": None,
        "is_enterprise_install": False,
        **fields,
    }


def _press(action_id: str, value: str, **fields: Any) -> Json:
    message = {
        "type": "message",
        "user": "U0FRONTDESK",
        "bot_id": "B0FRONTDESK",
        "ts": TS,
        "thread_ts": TS,
        "text": "x",
    }
    action = {"type": "button", "action_id": action_id, "block_id": "b", "value": value, "action_ts": LATER, **fields}
    return _interaction(
        "block_actions",
        container={"type": "message", "message_ts": TS, "channel_id": "C0AGENTS", "is_ephemeral": False},
        channel={"id": "C0AGENTS", "name": "agents"},
        message=message,
        state={"values": {}},
        response_url="",
        actions=[action],
    )


_MESSAGE: Json = {
    "type": "message",
    "user": "U0CUSTOMERA",
    "team": TEAM,
    "user_team": TEAM,
    "channel": "D0CUSTOMERA",
    "channel_type": "im",
    "ts": LATER,
    "thread_ts": TS,
    "event_ts": LATER,
    "client_msg_id": "11111111-2222-3333-4444-555555555555",
    "text": "Where is my order?",
    "blocks": [{"type": "rich_text", "block_id": "b", "elements": []}],
    "files": [{"id": "F1", "name": "lamp.png", "mimetype": "image/png", "size": 7, "mode": "hosted"}],
}
_EARLIER: Json = {"type": "message", "user": "U0CUSTOMERA", "ts": TS, "thread_ts": TS, "team": TEAM, "text": "Hello"}
_EDITED: Json = {**_EARLIER, "text": "Hello again", "edited": {"user": "U0CUSTOMERA", "ts": LATER}}
_ABOUT = str(About("FD-1001", ThreadRef(TEAM, "C0AGENTS", TS), TS))
_CHOICE = {"text": {"type": "plain_text", "text": "x"}, "value": "priority/FD-1001"}
_CHANGE = {"type": "message", "channel": "D0CUSTOMERA", "ts": LATER, "event_ts": LATER, "hidden": True}

_OPENED = {"type": "app_home_opened", "user": "U0CUSTOMERA", "channel": "D0CUSTOMERA", "event_ts": LATER}

PAYLOADS: dict[str, Json] = {
    "message": _event(_MESSAGE),
    "a /me message": _event({**_MESSAGE, "subtype": "me_message"}),
    "mention": _event({**_MESSAGE, "type": "app_mention", "channel": "C0SUPPORT", "text": "<@U0FRONTDESK> Hello"}),
    "edit": _event({**_CHANGE, "subtype": "message_changed", "message": _EDITED, "previous_message": _EARLIER}),
    "deletion": _event({**_CHANGE, "subtype": "message_deleted", "deleted_ts": TS, "previous_message": _EARLIER}),
    "stop": _event(
        {"type": "agent_session_stopped", "channel": "D0CUSTOMERA", "user": "U0CUSTOMERA", "thread_ts": TS,
         "event_ts": LATER, "streaming_message_ts": [TS]}
    ),
    "home": _event({**_OPENED, "tab": "home"}),
    "messages tab": _event({**_OPENED, "tab": "messages"}),
    "another event": _event({"type": "reaction_added", "user": "U0CUSTOMERA", "reaction": "eyes", "item": {"ts": TS}}),
    "customer's press": _press("esc.cancel", "FD-1001"),
    "rephrase": _press("esc.decline", "7"),
    "staff's press": _press("case.claim", "FD-1001"),
    "menu": _press("case.more", "", selected_option=_CHOICE),
    "dialog's button": _press("case.resolve", "FD-1001"),
    "note": _press("relay.note", "FD-1001"),
    "verdict": _press("fb", "7/up"),
    "score": _press("csat.4", "FD-1001/4"),
    "what went wrong": _press("csat.slow", "FD-1001/slow"),
    "progress": _press("kb.progress", "7"),
    "suggestion": _press("kb.edit", "7"),
    "link": _press("some.link", "", url="https://example.com"),
    "home press": _interaction(
        "block_actions",
        container={"type": "view", "view_id": "V1"},
        view={"id": "V1", "type": "home"},
        actions=[{"type": "static_select", "action_id": "home.language", "block_id": "b", "action_ts": LATER,
                  "selected_option": {"text": {"type": "plain_text", "text": "x"}, "value": "de"}}],
    ),
    "home refresh": _interaction(
        "block_actions",
        container={"type": "view", "view_id": "V1"},
        view={"id": "V1", "type": "home"},
        actions=[{"type": "button", "action_id": "home.refresh", "block_id": "b", "action_ts": LATER, "value": "x"}],
    ),
    "submission": _interaction(
        "view_submission",
        view={
            "id": "V1", "type": "modal", "callback_id": "submit.resolve", "private_metadata": _ABOUT, "hash": "1.2",
            "state": {"values": {
                "outcome": {"outcome": {"type": "radio_buttons", "selected_option": {"value": "solved"}}},
                "kb": {"kb": {"type": "checkboxes", "selected_options": [{"value": "suggest"}]}},
                "note": {"note": {"type": "plain_text_input", "value": "Sent again."}},
            }},
        },
        response_urls=[],
    ),
    "words about a score": _interaction(
        "view_submission",
        view={
            "id": "V1", "type": "modal", "callback_id": "submit.csat", "private_metadata": "FD-1001",
            "state": {"values": {"words": {"words": {"type": "plain_text_input", "value": "It took a week."}}}},
        },
    ),
    "closed dialog": _interaction("view_closed", view={"id": "V1", "type": "modal", "callback_id": "submit.resolve"}),
    "shortcut": _interaction("shortcut", callback_id="anything", action_ts=LATER),
    "message's menu": _interaction(
        "message_action", callback_id="case.escalate", action_ts=LATER, channel={"id": "C0SUPPORT", "name": "support"},
        message=_EARLIER, message_ts=TS, response_url="",
    ),
    "article": _interaction(
        "message_action", callback_id="kb.add", action_ts=LATER, channel={"id": "C0AGENTS", "name": "agents"},
        message=_EARLIER, message_ts=TS, response_url="",
    ),
    "options": _interaction(
        "block_suggestion", action_id="a", block_id="b", value="q",
        container={"type": "message", "message_ts": TS, "channel_id": "C0AGENTS"},
    ),
    "rate limit": {
        "token": "verification", "type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 1795000000,
        "api_app_id": "A0FRONTDESK",
    },
    "address check": {"token": "verification", "type": "url_verification", "challenge": "abc"},
    "/kb": {
        "token": "verification", "team_id": TEAM, "team_domain": "frontdesk-local", "channel_id": "C0AGENTS",
        "channel_name": "agents", "user_id": "U0AGENTA", "user_name": "agent", "command": "/kb", "text": "learned",
        "api_app_id": "A0FRONTDESK", "is_enterprise_install": "false", "response_url": "", "trigger_id": "1.2.abc",
    },
    "/frontdesk": {
        "token": "verification", "team_id": TEAM, "channel_id": "C0AGENTS", "user_id": "U0AGENTA",
        "command": "/frontdesk", "text": "cases", "response_url": "", "trigger_id": "1.2.abc",
    },
}  # fmt: skip
"""A name for each -> the payload."""


def places(value: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where in a JSON value a field or an item stands, at every depth."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*before, key)
            yield from places(each, (*before, key))


def mutated(payload: Json, place: tuple[str | int, ...], odd: Any) -> Json:
    """The payload with something else at this place."""
    copied = copy.deepcopy(payload)
    parent: Any = copied
    for key in place[:-1]:
        parent = parent[key]
    if odd is not MISSING:
        parent[place[-1]] = odd
    else:
        del parent[place[-1]]
    return copied
