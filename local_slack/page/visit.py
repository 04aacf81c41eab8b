"""The page's routes, and one visit: what changes is painted, what the person asks is done."""

import asyncio
import hmac
import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import WSMsgType, web

from local_slack import files
from local_slack.changes import Change
from local_slack.page import compose, external, faults_panel
from local_slack.page.document import document
from local_slack.page.faults_panel import Breaking
from local_slack.page.guide import Tour
from local_slack.page.half import Half, first_place
from local_slack.page.loose import Json, mapping, string
from local_slack.page.screen import Screen
from local_slack.page.tour import Player
from local_slack.workspace import Ack, SlackError, Workspace

logger = logging.getLogger(__name__)

_COMMAND = re.compile(r"/[a-z]")
"""How a slash command begins; two slashes are words like any other."""

STATIC = Path(__file__).parent / "static"
FRAME_SECONDS = 0.03
"""Changes within this time are painted together."""
SEND_SECONDS = 10.0
LARGEST_MESSAGE = 64 * 1024
ACTS_AT_ONCE = 16
WORLD = ("kill", "restart", "stop")
NO_TOUR = Tour((), "")

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

_PROBLEMS = {
    "operation_timeout": "The app did not answer within 3 seconds.",
    "dispatch_failed": "The app is not connected, so this reached nobody.",
    "not_in_channel": "Only its members can open this conversation.",
    "msg_too_long": "This is too long for one message.",
    "user_is_restricted": "This app is closed to guests.",
}


def routes(
    workspace: Workspace,
    *,
    hint: str = "",
    notice: str = "",
    tour: Tour | None = None,
    breaking: Breaking | None = None,
) -> list[web.RouteDef]:
    """The page, its files and its socket. `hint` says in one line what one can do here, `notice` who really
    answers, as "Answers by …".

    Without `tour` and `breaking` the page has neither a guided tour nor a faults menu.
    """
    tour = tour or NO_TOUR

    async def page(request: web.Request) -> web.Response:
        _check_secret(request, workspace)
        screen = Screen(workspace, request.query)
        text = document(screen, hint=hint, notice=notice, world=_world(request.app), tour=tour, breaking=breaking)
        return web.Response(text=text, content_type="text/html", headers=HEADERS)

    async def socket(request: web.Request) -> web.WebSocketResponse:
        _check_secret(request, workspace)
        if request.headers.get("Origin") != f"{request.scheme}://{request.host}":
            raise web.HTTPForbidden(text="Only the page itself may open this socket.")
        answer = web.WebSocketResponse(heartbeat=20, max_msg_size=LARGEST_MESSAGE)
        await answer.prepare(request)
        await Visit(workspace, Screen(workspace, request.query), answer, tour, breaking).run()
        return answer

    async def file(request: web.Request) -> web.Response:
        """A file from the composer of `user`, with what was written to it; one of a modal goes without a channel."""
        _check_secret(request, workspace)
        if request.headers.get("Origin") != f"{request.scheme}://{request.host}":
            raise web.HTTPForbidden(text="Only the page itself may share files.")
        return await _share(workspace, request)

    async def static(request: web.Request) -> web.FileResponse:
        name = request.match_info["name"]
        if name not in {each.name for each in STATIC.iterdir() if each.suffix in {".js", ".css", ".svg"}}:
            raise web.HTTPNotFound
        return web.FileResponse(STATIC / name, headers=HEADERS | {"Cache-Control": "no-cache"})

    return [
        web.get("/", page),
        web.get("/page/ws", socket),
        web.post("/page/file", file),
        web.get("/static/{name}", static),
    ]


class Visit:
    """One open page: paints what changes, does what the person asks."""

    def __init__(
        self,
        workspace: Workspace,
        screen: Screen,
        socket: web.WebSocketResponse,
        tour: Tour,
        breaking: Breaking | None,
    ) -> None:
        self.workspace = workspace
        self.screen = screen
        self._player = Player(tour, screen, send=self._answer, paint=self._repaint)
        screen.panels.append(self._player.draw)
        self._breaking = breaking
        if breaking is not None:
            screen.panels.append(lambda: faults_panel.draw(workspace, breaking.faults))
        self._socket = socket
        self._changed = asyncio.Event()
        self._answers: deque[Json] = deque(maxlen=64)
        self._room = asyncio.Semaphore(ACTS_AT_ONCE)
        self._acts: dict[str, Callable[[Half, Json], Awaitable[bool | None]]] = {
            "act_as": self._act_as,
            "cancel_edit": self._cancel_edit,
            "click": self._click,
            "close_thread": self._close_thread,
            "close_view": self._close_view,
            "delete": self._delete,
            "dismiss": self._dismiss,
            "edit": self._edit,
            "edit_here": self._edit_here,
            "fault": self._fault,
            "fault_clear": self._fault_clear,
            "found": self._found,
            "global_shortcut": self._global_shortcut,
            "inspect": self._inspect,
            "join": self._join,
            "look": self._look,
            "new_chat": self._new_chat,
            "permalink": self._permalink,
            "prompt": self._prompt,
            "react": self._react,
            "search": self._search,
            "search_close": self._search_close,
            "search_open": self._search_open,
            "send": self._send,
            "shortcut": self._shortcut,
            "stop": self._stop,
            "submit": self._submit,
            "suggest": self._suggest,
            "tab_home": self._tab_home,
            "tab_messages": self._tab_messages,
            "thread": self._thread,
            "tour": self._tour,
            "tour_stop": self._tour_stop,
        }

    async def run(self) -> None:
        """Until the browser goes away."""
        unsubscribe = self.workspace.subscribe(self._on_change)
        self._changed.set()
        try:
            async with asyncio.TaskGroup() as tasks:
                painter = tasks.create_task(self._paint())
                for half in self.screen.halves.values():
                    await self._greet(half)
                async for message in self._socket:
                    if message.type is WSMsgType.TEXT:
                        await self._room.acquire()
                        tasks.create_task(self._do(message.data)).add_done_callback(lambda _: self._room.release())
                painter.cancel()
        finally:
            unsubscribe()
            await self._player.stop()

    async def _greet(self, half: Half) -> None:
        """Tell the app that somebody looks at its direct messages, as Slack does; it may suggest what to ask."""
        is_open = not self.workspace.keeps_out(self.workspace.user(half.user))
        if is_open and half.channel in self.workspace.channels and self.workspace.channel(half.channel).is_im:
            await self.workspace.act.open_dm_tab(half.user)

    def _on_change(self, change: Change) -> None:
        self.screen.note(change)
        self._changed.set()

    async def _paint(self) -> None:
        """Send the difference whenever there is one; a slow browser gets fewer and larger ones."""
        try:
            while not self._socket.closed:
                await self._changed.wait()
                self._changed.clear()
                answers = [self._answers.popleft() for _ in range(len(self._answers))]
                if patches := [*self.screen.update(), *answers]:
                    async with asyncio.timeout(SEND_SECONDS):
                        await self._socket.send_str(json.dumps(patches, ensure_ascii=False))
                await asyncio.sleep(FRAME_SECONDS)
        except (ConnectionError, TimeoutError):
            await self._socket.close()

    async def _do(self, written: str) -> None:
        """One act; the browser hears when it is over, whether it succeeded and what went wrong. An act that says False
        has told itself."""
        asked = _read(written)
        half = self.screen.halves.get(string(asked.get("half")))
        act = self._acts.get(string(asked.get("do")))
        if act is None or half is None:
            return
        ok = False
        try:
            ok = await act(half, asked) is not False
        except SlackError as error:
            self._say(half, _problem(error))
        except Exception:
            logger.exception("an act of the page failed: %s", asked.get("do"))
            self._say(half, "The workspace could not do that; its log says why.")
        self._answer({"op": "done", "n": asked.get("n"), "ok": ok})

    def _answer(self, answer: Json) -> None:
        self._answers.append(answer)
        self._repaint()

    def _repaint(self) -> None:
        self._changed.set()

    def _say(self, half: Half, words: str) -> None:
        self._answer({"op": "toast", "half": half.side, "text": words})

    def _tell(self, half: Half, ack: Ack) -> bool:
        """Say what the app did not do; whether it did it."""
        if not ack.ok:
            self._say(half, _PROBLEMS.get(ack.error, f"The app answered: {ack.error or 'an error'}."))
        return ack.ok

    # --- moving about

    async def _act_as(self, half: Half, asked: Json) -> None:
        self.screen.go(half, user=string(asked.get("value")))
        await self._greet(half)

    async def _look(self, half: Half, asked: Json) -> None:
        channel = string(asked.get("channel")) or first_place(self.workspace, half.user)
        is_new = channel != half.channel
        self.screen.go(half, channel=channel)
        if is_new:
            await self._greet(half)

    async def _thread(self, half: Half, asked: Json) -> None:
        self.screen.go(half, thread=string(asked.get("ts")))

    async def _new_chat(self, half: Half, asked: Json) -> None:
        self.screen.go(half, thread=await self.workspace.act.start_assistant(half.user))

    async def _close_thread(self, half: Half, asked: Json) -> None:
        self.screen.go(half, thread="")

    async def _tab_home(self, half: Half, asked: Json) -> None:
        half.tab = "home"
        await self.workspace.act.open_home(half.user)

    async def _tab_messages(self, half: Half, asked: Json) -> None:
        half.tab = "messages"
        await self.workspace.act.open_dm_tab(half.user)

    async def _inspect(self, half: Half, asked: Json) -> None:
        self.screen.is_inspecting = not self.screen.is_inspecting

    async def _permalink(self, half: Half, asked: Json) -> None:
        """A link to a message of this workspace: its thread is opened in the same half."""
        self.screen.go(half, channel=string(asked.get("channel")))
        self.screen.go(half, thread=string(asked.get("thread")))

    async def _tour(self, half: Half, asked: Json) -> None:
        await self._player.play(string(asked.get("name")))

    async def _tour_stop(self, half: Half, asked: Json) -> None:
        await self._player.stop()

    async def _search_open(self, half: Half, asked: Json) -> None:
        half.searched = ""

    async def _search(self, half: Half, asked: Json) -> None:
        half.searched = string(asked.get("text"))

    async def _search_close(self, half: Half, asked: Json) -> None:
        half.searched = None

    async def _found(self, half: Half, asked: Json) -> None:
        """Go where a hit leads: a person, a channel, or a message in either."""
        half.searched = None
        if user := string(asked.get("value")):
            await self._act_as(half, {"value": user})
            return
        channel, ts, thread = (string(asked.get(each)) for each in ("channel", "ts", "thread"))
        await self._look(half, {"channel": channel})
        if thread:
            self.screen.go(half, thread=thread)
        if ts:
            self._answer({"op": "reach", "id": f"{half.side}-{'t' if thread else 'm'}-{channel}-{ts}"})

    async def _fault(self, half: Half, asked: Json) -> None:
        if self._breaking is not None:
            fault = faults_panel.chosen(mapping(asked.get("fault")))
            try:
                self._breaking.arm(fault)
            except ValueError as refusal:
                self._say(half, f"That can't be broken now: {refusal}.")

    async def _fault_clear(self, half: Half, asked: Json) -> None:
        if self._breaking is not None:
            self._breaking.arm({"clear": True})

    # --- writing

    async def _send(self, half: Half, asked: Json) -> bool:
        """To the place for which the composer was drawn, even if the half has moved on."""
        typed, channel = string(asked.get("text")).strip(), string(asked.get("channel")) or half.channel
        thread = string(asked.get("thread")) or None
        if not typed:
            return False
        if not _COMMAND.match(typed):
            said = compose.to_mrkdwn(typed, self.workspace)
            return bool(await self.workspace.act.send(half.user, channel, said, thread_ts=thread))
        if thread:
            self._say(half, "Slack offers slash commands in channels only, not in threads.")
            return False
        # Slackbot tells what went wrong, in the channel.
        line = compose.to_command(typed, self.workspace)
        return (await self.workspace.act.command(half.user, channel, line)).ok

    async def _prompt(self, half: Half, asked: Json) -> None:
        said = compose.to_mrkdwn(string(asked.get("text")), self.workspace)
        await self.workspace.act.send(half.user, half.channel, said, thread_ts=half.thread or None)

    async def _edit_here(self, half: Half, asked: Json) -> None:
        half.editing = string(asked.get("element"))

    async def _cancel_edit(self, half: Half, asked: Json) -> None:
        half.editing = ""

    async def _edit(self, half: Half, asked: Json) -> None:
        if typed := string(asked.get("text")).strip():
            said = compose.to_mrkdwn(typed, self.workspace)
            await self.workspace.act.edit(half.user, half.channel, string(asked.get("ts")), said)
        half.editing = ""

    async def _delete(self, half: Half, asked: Json) -> None:
        await self.workspace.act.delete(half.user, half.channel, string(asked.get("ts")))

    async def _react(self, half: Half, asked: Json) -> None:
        await self.workspace.act.react(half.user, half.channel, string(asked.get("ts")), string(asked.get("name")))

    async def _dismiss(self, half: Half, asked: Json) -> None:
        self.workspace.forget_ephemeral(string(asked.get("ts")))

    async def _join(self, half: Half, asked: Json) -> None:
        await self.workspace.act.join(half.user, half.channel)

    async def _stop(self, half: Half, asked: Json) -> None:
        await self.workspace.act.stop(half.user, half.channel, half.thread)

    # --- using what the app made

    async def _click(self, half: Half, asked: Json) -> bool:
        """An element of a message, or of a view when `view_id` is there."""
        action_id, value = string(asked.get("action_id")), asked.get("value")
        named: Json = {"block_id": string(asked.get("block_id")), "value": value, "state": mapping(asked.get("state"))}
        if view_id := string(asked.get("view_id")):
            ack = await self.workspace.act.click_view(half.user, view_id, action_id, **named)
        else:
            ts = string(asked.get("ts"))
            if asked.get("keep"):
                self.screen.conversations.press(half.channel, ts, action_id, string(value))
                self._changed.set()
            ack = await self.workspace.act.click(half.user, half.channel, ts, action_id, **named)
        return self._tell(half, ack)

    async def _shortcut(self, half: Half, asked: Json) -> bool:
        ts, callback_id = string(asked.get("ts")), string(asked.get("name"))
        return self._tell(half, await self.workspace.act.message_shortcut(half.user, half.channel, ts, callback_id))

    async def _global_shortcut(self, half: Half, asked: Json) -> bool:
        half.searched = None
        return self._tell(half, await self.workspace.act.global_shortcut(half.user, string(asked.get("name"))))

    async def _suggest(self, half: Half, asked: Json) -> None:
        """What the app offers for what was typed into an external select; `field` tells the page which."""
        action_id, block_id, view_id = (string(asked.get(each)) for each in ("action_id", "block_id", "view_id"))
        place = {"view_id": view_id} if view_id else {"channel": half.channel, "ts": string(asked.get("ts"))}
        ack = await self.workspace.act.suggest(
            half.user, action_id, string(asked.get("text")), block_id=block_id, **place
        )
        self._tell(half, ack)
        options = external.offered(ack.payload) if ack.ok else []
        self._answer({"op": "offer", "field": asked.get("field"), "options": options})

    async def _submit(self, half: Half, asked: Json) -> bool:
        view_id = string(asked.get("view_id"))
        ack = await self.workspace.act.submit_view(half.user, view_id, mapping(asked.get("state")))
        errors = mapping(ack.payload.get("errors"))
        self._answer({"op": "errors", "id": f"{half.side}-{view_id}", "errors": errors})
        return self._tell(half, ack) if not errors else False

    async def _close_view(self, half: Half, asked: Json) -> None:
        await self.workspace.act.close_view(half.user, string(asked.get("view_id")))


def _world(app: web.Application) -> tuple[str, ...]:
    """The controls of the bot process that are served beside the page."""
    served = {resource.canonical for resource in app.router.resources()}
    return tuple(each for each in WORLD if f"/_world/{each}" in served)


async def _share(workspace: Workspace, request: web.Request) -> web.Response:
    """The id of a file that was kept for a modal, or `ok`. Refusals are answered in words."""
    try:
        given = await request.post()
    except web.HTTPRequestEntityTooLarge:
        return web.Response(status=400, text="This file is too large for the local workspace.")
    content = given.get("file")
    if not isinstance(content, web.FileField) or not content.filename:
        return web.Response(status=400, text="There is no file.")
    user, channel, thread, typed = (string(given.get(each)) for each in ("user", "channel", "thread", "text"))
    said = compose.to_mrkdwn(typed, workspace)
    kept = content.file.read()
    try:
        if not channel:
            return web.Response(text=files.keep(workspace, content.filename, kept, user=user)["id"])
        await workspace.act.upload(user, channel, content.filename, kept, text=said, thread_ts=thread or None)
    except SlackError as error:
        return web.Response(status=400, text=_problem(error))
    return web.Response(text="ok")


def _problem(error: SlackError) -> str:
    return _PROBLEMS.get(error.error, f"That did not work: {error.error.replace('_', ' ')}.")


def _check_secret(request: web.Request, workspace: Workspace) -> None:
    given = request.query.get("secret", "")
    if not hmac.compare_digest(given.encode("utf-8", "replace"), workspace.secret.encode()):
        raise web.HTTPForbidden(text="Open the page with the address printed at the start; it changes with every run.")


def _read(written: str) -> Json:
    try:
        return mapping(json.loads(written))
    except (ValueError, RecursionError):
        return {}
