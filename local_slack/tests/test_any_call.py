"""Whatever an app sends, the Web API answers as Slack does: in JSON, and when it refuses with a documented error."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from local_slack.seed import USER_SCOPES
from local_slack.server import open_workspace
from local_slack.web_api import METHODS
from local_slack.workspace import Grant, Workspace

REFERENCE: dict[str, dict[str, str]] = yaml.safe_load(Path(__file__).with_name("reference.yml").read_text())
OBSERVED = {"conversations.open": {"cannot_dm_bot"}}
"""Errors that Slack gives although the method's page does not list them."""
ANYWHERE = {
    *REFERENCE["*"]["errors"].split(),
    *("invalid_arguments", "invalid_auth", "invalid_json", "json_not_object"),
    *("cannot_reply_to_message", "invalid_cursor", "invalid_thread_ts", "not_in_channel", "thread_not_found"),
    *("invalid_attachments", "is_archived", "user_not_found"),
}
"""What every method can answer. The last two lines are known of Slack, though not each method's page names them."""
CHANNELS = ("C0SUPPORT", "C0GENERAL", "C0AGENTS", "D0CUSTOMERA", "#support", "C0NONE")
PEOPLE = ("U0CUSTOMERA", "U0AGENTA", "U0FRONTDESK", "U0NONE")
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(("0", "-1", "1e999", "nan", "true", "null", "[]", "{}", "[1]", '{"type": []}', "[" * 2_000))
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("type", "id", "text", "title", "blocks", "event_type", "x")), inner)
    ),
    max_leaves=6,
)
MODAL: Any = {"type": "modal", "title": {"type": "plain_text", "text": "Ask"}, "blocks": []}
FITTING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("channel", "channel_id", "channels"), CHANNELS),
    **dict.fromkeys(("user", "user_id", "users", "recipient_user_id", "initiator_user_id"), PEOPLE),
    **dict.fromkeys(("ts", "thread_ts", "timestamp", "message_ts"), ("ROOT", "REPLY", "OWN", "STREAM", "1.1")),
    "blocks": ([{"type": "divider"}], [{"type": "section", "text": {"type": "mrkdwn", "text": "x"}}]),
    "chunks": ([{"type": "markdown_text", "text": "x"}], [{"type": "task_update", "id": "1", "title": "x"}]),
    "file": ("FILE", "F0NONE"),
    "files": ([{"id": "FILE"}], ["FILE"]),
    "metadata": ({"event_type": "x", "event_payload": {}},),
    "post_at": (1_900_000_000, 1),
    "prompts": ([{"title": "a", "message": "b"}],),
    "recipient_team_id": ("T0FRONTDESK",),
    "status": ("active", "asleep", "is thinking"),
    "text": ("x",),
    "trigger_id": ("TRIGGER", "1.x"),
    "unfurls": ({"https://shop.example.com": {"text": "x"}},),
    "usergroup": ("S0ONCALL", "S0NONE"),
    "view": (MODAL, {"type": "home", "blocks": []}),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], str]:
    """A method, arguments of the names that it takes, and how they are sent."""
    method = draw(st.sampled_from(sorted(METHODS)))
    names = REFERENCE[method].get("arguments", "").split()
    given = {}
    for name in draw(st.sets(st.sampled_from(names))) if names else ():
        fitting = st.sampled_from(FITTING[name]) if name in FITTING else ANYTHING
        given[name] = draw(fitting | ANYTHING)
    return method, given, draw(st.sampled_from(("json", "form", "query")))


async def known(workspace: Workspace) -> dict[str, str]:
    """What the words in FITTING stand for."""
    act = workspace.act
    root = await act.send("U0CUSTOMERA", "C0SUPPORT", "hello")
    reply = await act.send("U0CUSTOMERA", "C0SUPPORT", "again", thread_ts=root)
    await act.upload("U0CUSTOMERA", "C0SUPPORT", "a.txt", "x")
    file = next(iter(workspace.files))
    return {"ROOT": root, "REPLY": reply, "FILE": file, "TRIGGER": workspace.triggers.issue("U0CUSTOMERA")}


async def answer(
    http: aiohttp.ClientSession, workspace: Workspace, method: str, given: dict[str, Any], how: str, token: str
) -> dict[str, Any]:
    url, headers = f"{workspace.url}/api/{method}", {"Authorization": f"Bearer {token}"}
    if how == "json":
        sent: dict[str, Any] = {"json": given}
    else:
        flat = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
        flat = {name: value.encode(errors="replace").decode()[:2_000] for name, value in flat.items()}
        sent = {"data": flat} if how == "form" else {"params": {name: value[:300] for name, value in flat.items()}}
    async with http.request("GET" if how == "query" else "POST", url, headers=headers, **sent) as response:
        assert response.status == 200, await response.text()
        told: dict[str, Any] = json.loads(await response.text(), parse_constant=pytest.fail)
    return told


@given(st.lists(calls(), min_size=1, max_size=12), st.sampled_from(("bot", "person")))
async def test_every_refusal_is_one_that_slack_documents(asked: list[tuple[str, dict[str, Any], str]], by: str) -> None:
    async with open_workspace(rate_limits=False) as workspace, aiohttp.ClientSession() as http:
        workspace.user_tokens["xoxp-1"] = Grant("U0AGENTA", USER_SCOPES)
        token = workspace.bot_token if by == "bot" else "xoxp-1"
        words = await known(workspace)
        own = {"channel": "C0SUPPORT", "text": "x"}
        words["OWN"] = (await answer(http, workspace, "chat.postMessage", own, "json", token))["ts"]
        stream = {"channel": "C0SUPPORT", "thread_ts": words["ROOT"], "recipient_team_id": "T0FRONTDESK"}
        stream["recipient_user_id"] = "U0CUSTOMERA"
        bot_token = workspace.bot_token
        words["STREAM"] = (await answer(http, workspace, "chat.startStream", stream, "json", bot_token))["ts"]
        for method, given_, how in asked:
            replaced = json.loads(json.dumps(given_), object_hook=lambda each: _named(each, words))
            told = await answer(http, workspace, method, _named(replaced, words), how, token)
            if told["ok"] or method == "api.test" or told.get("not_in_channel"):
                continue
            documented = ANYWHERE | OBSERVED.get(method, set()) | set(REFERENCE[method].get("errors", "").split())
            assert told["error"] in documented, (method, given_)


async def test_a_body_that_says_nothing_is_refused(workspace: Workspace, http: aiohttp.ClientSession) -> None:
    table = [
        (b"{", "application/json; charset=utf-8", "invalid_json"),
        (b'{"a": NaN}', "application/json; charset=utf-8", "invalid_json"),
        (b'{"a": "\\ud800"}', "application/json; charset=utf-8", "invalid_json"),
        (b'"\xff"', "application/json; charset=utf-8", "invalid_json"),
        (b"[" * 100_000, "application/json; charset=utf-8", "invalid_json"),
        (b"[]", "application/json; charset=utf-8", "json_not_object"),
        (b"{}", "application/json; charset=klingon", "invalid_charset"),
        (b"x", "application/pdf", "invalid_post_type"),
        (b"x", "multipart/form-data", "invalid_form_data"),
        (b"channel=%ff", "application/x-www-form-urlencoded", "channel_not_found"),
    ]
    misses = []
    for body, content_type, error in table:
        headers = {"Authorization": f"Bearer {workspace.bot_token}", "Content-Type": content_type}
        async with http.post(f"{workspace.url}/api/conversations.info", data=body, headers=headers) as response:
            if response.status != 200 or (await response.json())["error"] != error:
                misses.append((body, content_type, error))
    assert misses == []


async def test_blocks_within_blocks_without_an_end_are_refused(
    workspace: Workspace, http: aiohttp.ClientSession
) -> None:
    block: Any = {"type": "divider"}
    for _ in range(200):
        block = {"type": "container", "child_blocks": [block]}
    given_ = {"channel": "C0SUPPORT", "blocks": [block]}
    told = await answer(http, workspace, "chat.postMessage", given_, "json", workspace.bot_token)
    assert told["error"] in ("invalid_blocks", "invalid_arguments")


def _named(given_: dict[str, Any], words: dict[str, str]) -> dict[str, Any]:
    return {name: words.get(each, each) if isinstance(each, str) else each for name, each in given_.items()}
