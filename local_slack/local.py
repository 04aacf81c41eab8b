"""`/_local/*`: the workspace's own door for tests and for the page: act as a person, look, break things.

Every path under `/_` wants the secret of this run (see local_slack.server); nothing here exists in Slack.
"""

import inspect
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web

from local_slack import streams
from local_slack.administration import Administration
from local_slack.faults import (
    DELIVERY_FAULTS,
    DISCONNECT_REASONS,
    DOWNLOAD_FAULTS,
    NEW_SOCKET_FAULTS,
    SOCKET_FAULTS,
    Faults,
    call_rule,
    count_of,
    one_of,
)
from local_slack.http_events import HttpEvents
from local_slack.web_api import METHODS
from local_slack.workspace import Ack, Acts, Json, SlackError, Workspace

LONG_POLL_SECONDS = 30.0


def _used(given: Json) -> Json:
    """Which element of that name was used, and what was done with it."""
    return {"block_id": given.get("block_id", ""), "value": given.get("value"), "state": given.get("state")}


_ACTS: dict[str, Callable[[Acts, Json], Awaitable[Any]]] = {
    "send": lambda act, given: act.send(
        given["user"],
        given["channel"],
        given["text"],
        thread_ts=given.get("thread_ts"),
        broadcast=given.get("broadcast") is True,
    ),
    "upload": lambda act, given: act.upload(
        given["user"],
        given["channel"],
        given["name"],
        b64decode(given["base64"]) if "base64" in given else given["content"],
        text=given.get("text", ""),
        thread_ts=given.get("thread_ts"),
    ),
    "edit": lambda act, given: act.edit(given["user"], given["channel"], given["ts"], given["text"]),
    "delete": lambda act, given: act.delete(given["user"], given["channel"], given["ts"]),
    "react": lambda act, given: act.react(given["user"], given["channel"], given["ts"], given["name"]),
    "click": lambda act, given: act.click(
        given["user"],
        given["channel"],
        given["ts"],
        given["action_id"],
        **_used(given),
    ),
    "click_view": lambda act, given: act.click_view(
        given["user"], given["view_id"], given["action_id"], **_used(given)
    ),
    "command": lambda act, given: act.command(
        given["user"], given["channel"], f"{given['command']} {given.get('text', '')}"
    ),
    "suggest": lambda act, given: act.suggest(
        given["user"],
        given["action_id"],
        given["query"],
        channel=given.get("channel", ""),
        ts=given.get("ts", ""),
        view_id=given.get("view_id", ""),
        block_id=given.get("block_id", ""),
    ),
    "global_shortcut": lambda act, given: act.global_shortcut(given["user"], given["callback_id"]),
    "message_shortcut": lambda act, given: act.message_shortcut(
        given["user"], given["channel"], given["ts"], given["callback_id"]
    ),
    "open_home": lambda act, given: act.open_home(given["user"]),
    "open_dm_tab": lambda act, given: act.open_dm_tab(given["user"]),
    "submit_view": lambda act, given: act.submit_view(given["user"], given["view_id"], given.get("state")),
    "close_view": lambda act, given: act.close_view(
        given["user"], given["view_id"], whole_stack=given.get("whole_stack") is True
    ),
    "stop": lambda act, given: act.stop(given["user"], given["channel"], given["thread_ts"]),
    "join": lambda act, given: act.join(given["user"], given["channel"]),
    "rename_session": lambda act, given: act.rename_session(
        given["user"], given["channel"], given["thread_ts"], given["title"]
    ),
    "look_at": lambda act, given: act.look_at(given["user"], given["channel"], thread_ts=given.get("thread_ts", "")),
    "start_assistant": lambda act, given: act.start_assistant(given["user"], channel=given.get("channel", "")),
}
"""What `Acts` offers."""

_ADMINISTRATION = [name for name in vars(Administration) if not name.startswith("_")]

_NOT_TEXT = frozenset(
    {"value", "state", "whole_stack", "broadcast", "is_private"}
    | {"is_restricted", "is_ultra_restricted", "is_stranger", "deleted"}
)


class LocalApi:
    """Answers JSON; refusals are `{"ok": false, "error": …}` with status 400."""

    def __init__(
        self,
        workspace: Workspace,
        faults: Faults,
        *,
        break_sockets: Callable[[str], None],
        behind: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        self._workspace = workspace
        self._faults = faults
        self._break_sockets = break_sockets
        self._behind = behind or {}
        self._administration = Administration(workspace)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/_local/act/{what}", self.act),
            web.get("/_local/state", self.state),
            web.get("/_local/log", self.log),
            web.get("/_local/changes", self.changes),
            web.post("/_local/fault", self.fault),
        ]

    async def act(self, request: web.Request) -> web.Response:
        """One act of a person; its fields are the arguments of `Acts` or of `Administration`, and a command comes as
        `command` and `text`."""
        what = request.match_info["what"]
        if what not in _ACTS and what not in _ADMINISTRATION:
            return _no(f"unknown act; known are {', '.join([*_ACTS, *_ADMINISTRATION])}")
        try:
            given = await _body(request)
            _check_strings(given)
            result = await self._act(what, given)
        except KeyError as missing:
            return _no(f"missing field: {missing.args[0]}")
        except (ValueError, TypeError) as wrong:
            return _no(f"not an act: {wrong}")
        except SlackError as refusal:
            return _no(refusal.error)
        if isinstance(result, Ack):
            return web.json_response(asdict(result))
        if isinstance(result, dict):
            return web.json_response({"ok": True} | result)
        return web.json_response({"ok": True} | ({"ts": result} if result else {}))

    async def _act(self, what: str, given: Json) -> Any:
        if what in _ACTS:
            return await _ACTS[what](self._workspace.act, given)
        act: Callable[..., Json] = getattr(self._administration, what)
        for name, parameter in inspect.signature(act).parameters.items():
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
                given[name]
        return act(**given)

    async def state(self, request: web.Request) -> web.Response:
        """Everything that can be seen, or with `channel` only what is in it. A message that is or was a stream
        carries it as `stream`."""
        workspace = self._workspace
        wanted = [request.query["channel"]] if "channel" in request.query else list(workspace.channels)
        return web.json_response(
            {
                "n": workspace.counter,
                "online": workspace.online,
                "events_enabled": workspace.events_enabled,
                "failed_deliveries": workspace.failed_deliveries,
                "is_installed": workspace.is_installed,
                "team": asdict(workspace.team),
                "app": asdict(workspace.app),
                "users": [asdict(user) for user in workspace.users.values()],
                "usergroups": [asdict(group) for group in workspace.usergroups.values()],
                "channels": [asdict(workspace.channels[each]) for each in wanted if each in workspace.channels],
                "messages": {channel: self._messages(channel) for channel in wanted},
                "ephemerals": [each for each in workspace.ephemerals if each["channel"] in wanted],
                "statuses": _by_thread(workspace.statuses, wanted),
                "sessions": _by_thread(workspace.sessions, wanted),
                "prompts": _by_thread(workspace.prompts, wanted),
                "homes": workspace.homes,
                "modals": workspace.modals,
            }
        )

    async def log(self, request: web.Request) -> web.Response:
        """The log's entries, oldest first, with id greater than `after` and of one `kind` if that is given."""
        after, kind = _number(request, "after", 0), request.query.get("kind")
        entries = [each for each in self._workspace.log if each["id"] > after and kind in (None, each["kind"])]
        return web.json_response({"ok": True, "entries": entries})

    async def changes(self, request: web.Request) -> web.Response:
        """Wait until something changes after number `after`, for at most `timeout` seconds."""
        timeout = min(_number(request, "timeout", 10), LONG_POLL_SECONDS)
        n = await self._workspace.wait_for_change(int(_number(request, "after", 0)), timeout=timeout)
        return web.json_response({"n": n})

    async def fault(self, request: web.Request) -> web.Response:
        """Break something; `said` may tell in words what is broken and has no effect. One of

        `{"method", "do", "count", "seconds", "channel", "retry_after"}`: calls, see CallRule;
        `{"deliveries", "count"}`: one of DELIVERY_FAULTS;
        `{"downloads", "count"}`: one of DOWNLOAD_FAULTS;
        `{"sockets", "count"}`: one of NEW_SOCKET_FAULTS, SOCKET_FAULTS and DISCONNECT_REASONS;
        `{"stream", "channel"}`: the running stream of this ts ("*": all of them, or all of the channel) ends as if of
        age; `{"behind"}`: what befalls something behind the app, in the words of `open_workspace(behind=…)`;
        `{"clear": true}`: what is still to come does not happen, but for what is behind the app.
        """
        try:
            given = await _body(request)
            self.arm(given)
        except (ValueError, TypeError) as wrong:
            return _no(f"not a fault: {wrong}")
        return web.json_response({"ok": True})

    def arm(self, given: Json) -> None:
        """As `fault`, and written to the log. Raises ValueError or TypeError for what is no fault."""
        self._arm(given)
        self._workspace.note("act", "fault", detail=given)

    def _arm(self, given: Json) -> None:
        given = {name: value for name, value in given.items() if name != "said"}
        kinds = given.keys() & {"method", "deliveries", "downloads", "sockets", "stream", "behind", "clear"}
        if len(kinds) != 1:
            raise ValueError("give one of method, deliveries, downloads, sockets, stream, behind, clear")
        match kinds.pop():
            case "clear":
                self._faults.clear()
            case "sockets":
                _only(given, "sockets", "count")
                if isinstance(self._workspace.transport, HttpEvents):
                    raise TypeError("the app is reached by signed HTTP and has no sockets")
                word = one_of(given["sockets"], (*NEW_SOCKET_FAULTS, *SOCKET_FAULTS, *DISCONNECT_REASONS))
                if word in NEW_SOCKET_FAULTS:
                    self._faults.sockets[word] += count_of(given)
                else:
                    self._break_sockets(word)
            case "deliveries":
                _only(given, "deliveries", "count")
                self._faults.deliveries[one_of(given["deliveries"], DELIVERY_FAULTS)] += count_of(given)
            case "downloads":
                _only(given, "downloads", "count")
                self._faults.downloads[one_of(given["downloads"], DOWNLOAD_FAULTS)] += count_of(given)
            case "behind":
                _only(given, "behind")
                self._behind[one_of(given["behind"], self._behind)]()
            case "stream":
                _only(given, "stream", "channel")
                self._end_streams(str(given["stream"]), given.get("channel"))
            case _:
                self._faults.calls.append(call_rule(given, METHODS))

    def _end_streams(self, ts: str, channel: str | None) -> None:
        running = [
            stream
            for stream in self._workspace.streams.values()
            if stream.state == "in_progress" and ts in ("*", stream.ts) and channel in (None, stream.channel)
        ]
        if not running:
            raise ValueError(f"no such stream is running: {ts!r}")
        for stream in running:
            streams.finish(self._workspace, stream, "expired")

    def _messages(self, channel: str) -> list[Json]:
        shown = []
        for ts, message in self._workspace.messages.get(channel, {}).items():
            stream = self._workspace.streams.get((channel, ts))
            shown.append(message | ({"stream": asdict(stream)} if stream else {}))
        return shown


def _by_thread(held: dict[tuple[str, str], Json], channels: list[str]) -> list[Json]:
    return [
        {"channel": channel, "thread_ts": thread_ts, **each}
        for (channel, thread_ts), each in held.items()
        if channel in channels
    ]


async def _body(request: web.Request) -> Json:
    given = await request.json()
    if not isinstance(given, dict):
        raise TypeError("the body must be a JSON object")
    return given


def _check_strings(given: Json) -> None:
    """Everything but `_NOT_TEXT` is text."""
    for name, value in given.items():
        if name not in _NOT_TEXT and value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be a string")


def _only(given: Json, *known: str) -> None:
    if unknown := given.keys() - set(known):
        raise ValueError(f"unknown field {min(unknown)!r}; known are {', '.join(known)}")


def _number(request: web.Request, name: str, default: float) -> float:
    try:
        return float(request.query.get(name, default))
    except ValueError:
        raise web.HTTPBadRequest(text=f"{name} must be a number") from None


def _no(error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=400)
