"""The door of the Web API: `/api/{method}`.

`handle` reads the arguments, checks token, scope and rate, runs the method and writes the answer. Failures on
demand (local_slack.faults) take effect here.
"""

import time
from typing import Any

from aiohttp import web

from local_slack.faults import CallRule, Faults
from local_slack.methods import (
    agents,
    channels,
    chat,
    conversations,
    files,
    membership,
    people,
    pins,
    reactions,
    scheduled,
    unfurls,
    usergroups,
    validation,
    views,
)
from local_slack.methods.call import Call, Method, decoded
from local_slack.rate_limits import RateLimits
from local_slack.workspace import Bot, Grant, Json, SlackError, Workspace

METHODS: dict[str, Method] = {
    **agents.METHODS,
    **channels.METHODS,
    **chat.METHODS,
    **conversations.METHODS,
    **files.METHODS,
    **membership.METHODS,
    **people.METHODS,
    **pins.METHODS,
    **reactions.METHODS,
    **scheduled.METHODS,
    **unfurls.METHODS,
    **usergroups.METHODS,
    **validation.METHODS,
    **views.METHODS,
}

_CHARSETS = ("utf-8", "iso-8859-1")
_POST_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_QUIET = frozenset({"api.test"})
_SERVER_ERRORS = {"500": 500, "503": 503}


class WebApi:
    """Answers the calls of one app."""

    def __init__(self, workspace: Workspace, faults: Faults) -> None:
        self._workspace = workspace
        self._faults = faults
        self._limits = RateLimits(workspace.clock, enabled=workspace.rules.rate_limits)

    def routes(self) -> list[web.RouteDef]:
        """To be served at the root of the workspace's address."""
        return [web.route("*", "/api/{method}", self.handle)]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call. Slack says no with HTTP 200; only limits and outages have a status of their own."""
        started = time.monotonic()
        method = request.match_info["method"]
        try:
            args, warning = await _arguments(request)
        except SlackError as refusal:
            return self._answer(_token(request, {}), method, {}, _refused(refusal), started=started)
        rule = self._faults.take_call(method, str(args.get("channel") or args.get("channel_id") or ""))
        if rule is not None and (early := await self._fail(request, method, args, rule)):
            return early
        token = _token(request, args)
        answer = self._run(token, method, args)
        if warning and answer["ok"]:
            answer |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
        response = self._answer(token, method, args, answer, started=started)
        return response if rule is None else await self._lose(request, response, rule)

    def _run(self, token: str, name: str, args: Json) -> Json:
        try:
            return {"ok": True} | self._call(name, token, args)
        except SlackError as refusal:
            return _refused(refusal)
        except RecursionError:
            # Blocks in blocks in blocks.
            return _refused(SlackError("invalid_arguments"))

    def _call(self, name: str, token: str, args: Json) -> Json:
        """Check who calls and how often, then call."""
        method = METHODS.get(name)
        if method is None:
            raise SlackError("unknown_method", req_method=name)
        self._authorize(method, token)
        grant = self._workspace.user_tokens.get(token)
        installation = self._installation(token, grant)
        if wait := self._limits.wait_for_call(name, method.tier, team=installation.team if installation else ""):
            raise SlackError("ratelimited", retry_after=wait)
        call = Call(self._workspace, name, args, self._limits, grant, installation)
        if method.scope:
            call.need(*method.scope.split(","))
        return method.run(call)

    def _authorize(self, method: Method, token: str) -> None:
        """Raises SlackError when this token may not call this method at all."""
        workspace = self._workspace
        if method.caller == "anyone":
            return
        if not token:
            raise SlackError("not_authed")
        bots = (workspace.bot_token, *workspace.installations)
        if token not in (*bots, workspace.app_token, *workspace.user_tokens):
            raise SlackError("invalid_auth")
        if method.caller in ("bot", "member") and not workspace.is_installed:
            raise SlackError("account_inactive")
        allowed = {"member": token in (*bots, *workspace.user_tokens), "bot": token in bots}
        if not allowed.get(method.caller, token == workspace.app_token):
            raise SlackError("not_allowed_token_type")

    def _installation(self, token: str, grant: Grant | None) -> Bot | None:
        """Where the app is installed for the caller; None for the home workspace."""
        if grant is not None:
            return self._workspace.bot_for(grant.user)
        return self._workspace.installations.get(token)

    async def _lose(self, request: web.Request, response: web.Response, rule: CallRule) -> web.Response:
        """What arrives of the answer to a call that was made."""
        match rule.do:
            case "lost":
                return _hang_up(request)
            case "lost-500":
                return web.Response(status=500, text="upstream connect error")
            case "late":
                await self._workspace.clock.sleep(rule.seconds)
        return response

    async def _fail(self, request: web.Request, method: str, args: Json, rule: CallRule) -> web.StreamResponse | None:
        """The failure instead of the call; None when the call shall still be made."""
        if rule.do in ("slow", "lost", "lost-500", "late"):
            await self._workspace.clock.sleep(rule.seconds if rule.do == "slow" else 0)
            return None
        self._workspace.note("call", method, ok=False, detail={"args": _shown(args), "fault": rule.do})
        match rule.do:
            case "drop":
                return _hang_up(request)
            case "429":
                error = _refused(SlackError("ratelimited"))
                wait = f"{rule.seconds:g}" if rule.retry_after is None else rule.retry_after
                return web.json_response(error, status=429, headers={"Retry-After": wait} if wait else {})
            case "500" | "503":
                return web.Response(status=_SERVER_ERRORS[rule.do], text="upstream connect error")
            case "html":
                return web.Response(text="<!doctype html><title>Slack</title>", content_type="text/html")
            case error_name:
                return web.json_response({"ok": False, "error": error_name})

    def _answer(self, token: str, method: str, args: Json, answer: Json, *, started: float) -> web.Response:
        """Write the call down and its answer out."""
        retry_after = answer.pop("retry_after", None)
        milliseconds = round((time.monotonic() - started) * 1000, 1)
        if method not in _QUIET:
            detail = {"args": _shown(args), "answer": answer, "milliseconds": milliseconds}
            self._workspace.note("call", method, ok=answer["ok"], detail=detail)
        known = METHODS.get(method)
        grant = self._workspace.user_tokens.get(token)
        scopes = grant.scopes if grant else self._workspace.scopes
        headers = {
            "x-slack-req-id": self._workspace.new_id("", length=16),
            "x-oauth-scopes": ",".join(sorted(scopes)),
            "x-accepted-oauth-scopes": known.scope if known else "",
        }
        if retry_after is not None:
            return web.json_response(answer, status=429, headers=headers | {"Retry-After": str(retry_after)})
        return web.json_response(answer, headers=headers)


async def _arguments(request: web.Request) -> tuple[Json, str]:
    """Query and body together, and the warning that Slack attaches to odd content types."""
    args: dict[str, Any] = dict(request.query)
    if request.method != "POST":
        return args, ""
    if request.charset and request.charset.lower() not in _CHARSETS:
        raise SlackError("invalid_charset")
    if request.can_read_body and request.content_type not in _POST_TYPES:
        raise SlackError("invalid_post_type")
    if request.content_type == "application/json":
        try:
            body = await request.text()
            given = decoded(body) if body.strip() else {}
        except ValueError:
            raise SlackError("invalid_json") from None
        if not isinstance(given, dict):
            raise SlackError("json_not_object")
        return args | given, "" if request.charset else "missing_charset"
    try:
        form = await request.post()
    except ValueError:
        raise SlackError("invalid_form_data") from None
    args |= {name: value for name, value in form.items() if isinstance(value, str)}
    return args, "superfluous_charset" if request.charset and form else ""


def _token(request: web.Request, args: Json) -> str:
    """The bearer token; a header counts before an argument."""
    argument = str(args.pop("token", ""))
    scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
    return bearer.strip() if scheme.lower() == "bearer" else argument


def _refused(refusal: SlackError) -> Json:
    return {"ok": False, "error": refusal.error, **refusal.extra}


def _shown(args: Json) -> Json:
    return {name: value for name, value in args.items() if name != "token"}


def _hang_up(request: web.Request) -> web.Response:
    """End the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
