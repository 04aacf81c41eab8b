"""What people do: `People` implements `Acts` for the page, for `/_local/act/*` and for tests."""

import re
import uuid
from typing import Any

from local_slack import files, streams, timeline, views
from local_slack.agent_status import set_session
from local_slack.blocks import elements
from local_slack.interactivity import Interactivity, Place
from local_slack.shapes import by_app, by_person, channel_shape, readable, text_block
from local_slack.suggestions import Suggestions, check_query
from local_slack.workspace import Ack, Channel, Json, SlackError, User, Workspace

TEXT_CHARACTERS = 12_000
REQUIRED = "Please complete this required field."

_KEPT = re.compile(
    r"<[@#!][^<>\n]+>|<(?:https?://|mailto:)[^<>\n]+>|&(?:amp|lt|gt);|(?P<url>https?://[^\s<>]+[^\s<>.,;:!?)'\"])"
)


class People:
    """The people at their desks. Everything they do is written to the log."""

    def __init__(self, workspace: Workspace, interactivity: Interactivity) -> None:
        self._workspace = workspace
        self._interactivity = interactivity
        self._suggestions = Suggestions()

    async def send(
        self, user: str, channel: str, text: str, *, thread_ts: str | None = None, broadcast: bool = False
    ) -> str:
        author, place = self._member(user, channel)
        me = text.startswith("/me ")
        text = as_typed(text.removeprefix("/me "))
        if not text.strip():
            raise SlackError("no_text")
        if len(text) > TEXT_CHARACTERS:
            raise SlackError("msg_too_long")
        said: Json = {"text": text, "blocks": text_block(self._workspace, text), "client_msg_id": str(uuid.uuid4())}
        if me:
            said = {"text": text, "subtype": "me_message"}
        elif thread_ts and broadcast:
            said |= {"subtype": "thread_broadcast"}
        self._did("send", user, channel=place.id, text=text)
        return self._post(author, place, said, thread_ts)

    async def upload(
        self, user: str, channel: str, name: str, content: str | bytes, *, text: str = "", thread_ts: str | None = None
    ) -> str:
        author, place = self._member(user, channel)
        text = as_typed(text)
        self._did("upload", user, channel=place.id, name=name)
        file = files.keep(self._workspace, name, content.encode() if isinstance(content, str) else content, user=user)
        said = {"text": text, "blocks": text_block(self._workspace, text), "subtype": "file_share", "files": [file]}
        return self._post(author, place, said | {"upload": False}, thread_ts)

    async def edit(self, user: str, channel: str, ts: str, text: str) -> None:
        _, place = self._member(user, channel)
        self._own(user, place, ts, error="cant_update_message")
        text = as_typed(text)
        edited = {"edited": {"user": user, "ts": self._workspace.new_ts()}}
        self._did("edit", user, channel=place.id, ts=ts, text=text)
        said = {"text": text, "blocks": text_block(self._workspace, text)}
        timeline.change(self._workspace, place, ts, said | edited)

    async def delete(self, user: str, channel: str, ts: str) -> None:
        _, place = self._member(user, channel)
        self._own(user, place, ts, error="cant_delete_message")
        self._did("delete", user, channel=place.id, ts=ts)
        timeline.delete(self._workspace, place, ts)

    async def react(self, user: str, channel: str, ts: str, name: str) -> None:
        _, place = self._member(user, channel)
        reactions = self._workspace.message(place.id, ts).get("reactions", ())
        given = any(each["name"] == name and user in each["users"] for each in reactions)
        self._did("react", user, channel=place.id, ts=ts, name=name)
        timeline.react(self._workspace, place, ts, name, user=user, add=not given)

    async def click(
        self,
        user: str,
        channel: str,
        ts: str,
        action_id: str,
        *,
        block_id: str = "",
        value: Any = None,
        state: Json | None = None,
    ) -> Ack:
        person = self._admitted(user)
        _, place = self._member(user, channel)
        message, is_ephemeral = self._seen(user, place, ts)
        blocks = self._suggestions.filled(ts, message.get("blocks", []))
        element, block_id = _element(blocks, action_id, block_id, value)
        action = self._interactivity.action(element, block_id, value)
        payload = self._interactivity.block_actions(
            person,
            place,
            message,
            action,
            state=_state(blocks, state, action),
            is_ephemeral=is_ephemeral,
        )
        self._did("click", user, channel=place.id, ts=ts, action_id=action_id)
        return await self._workspace.transport.interact("interactive", payload)

    async def click_view(
        self,
        user: str,
        view_id: str,
        action_id: str,
        *,
        block_id: str = "",
        value: Any = None,
        state: Json | None = None,
    ) -> Ack:
        person = self._admitted(user)
        view = self._view_of(user, view_id)
        blocks = self._suggestions.filled(view_id, view["blocks"])
        element, block_id = _element(blocks, action_id, block_id, value)
        action = self._interactivity.action(element, block_id, value)
        view["state"] = {"values": self._with_files(user, _state(blocks, state, action))}
        self._did("click", user, view=view_id, action_id=action_id)
        payload = self._interactivity.view_actions(person, readable(view), action)
        return await self._workspace.transport.interact("interactive", payload)

    async def command(self, user: str, channel: str, line: str) -> Ack:
        person = self._admitted(user)
        _, place = self._member(user, channel)
        command, _, text = line.strip().partition(" ")
        if not re.fullmatch(r"/\S+", command):
            raise SlackError("invalid_command")
        self._did("command", user, channel=place.id, line=line)
        here = Place(place.id, user, self._workspace.bot_for(user))
        known = [each["command"] for each in self._workspace.commands]
        if (known and command not in known) or not self._workspace.is_installed:
            self._interactivity.slackbot_says(here, f"`{command}` is not a valid command.")
            return Ack(ok=False, error="invalid_command")
        payload = self._interactivity.slash_command(person, place, command, text.strip())
        ack = await self._workspace.transport.interact("slash_commands", payload)
        error = ack.error
        if ack.ok and ack.payload:
            try:
                self._interactivity.show(here, ack.payload)
            except SlackError as refusal:
                error = refusal.error
        if error:
            self._interactivity.slackbot_says(here, f'{command} failed with the error "{error}"')
        return Ack(ok=not error, payload=ack.payload, error=error)

    async def suggest(
        self,
        user: str,
        action_id: str,
        query: str,
        *,
        channel: str = "",
        ts: str = "",
        view_id: str = "",
        block_id: str = "",
    ) -> Ack:
        person = self._admitted(user)
        where: dict[str, Json]
        if view_id:
            held = view = self._view_of(user, view_id)
            blocks, where = view["blocks"], {"container": {"type": "view", "view_id": view_id}, "view": readable(view)}
        else:
            _, place = self._member(user, channel)
            held, is_ephemeral = self._seen(user, place, ts)
            blocks = held.get("blocks", [])
            where = self._interactivity.container(place, held, is_ephemeral=is_ephemeral)
        element, block_id = _element(blocks, action_id, block_id, None)
        check_query(element, query)
        self._did("suggest", user, action_id=action_id, query=query)
        bot_id = held.get("bot_id", "")
        payload = self._interactivity.suggestion(person, element, block_id, query, bot_id=bot_id, **where)
        ack = await self._workspace.transport.interact("interactive", payload)
        if not ack.ok:
            return ack
        try:
            return Ack(ok=True, payload=self._suggestions.offer(view_id or ts, block_id, element, ack.payload))
        except SlackError as refusal:
            self._workspace.note("error", "block_suggestion", ok=False, detail=ack.payload)
            return Ack(ok=False, payload=ack.payload, error=refusal.error)

    async def global_shortcut(self, user: str, callback_id: str) -> Ack:
        person = self._admitted(user)
        self._offers_shortcut("global", callback_id)
        self._did("global_shortcut", user, callback_id=callback_id)
        payload = self._interactivity.global_shortcut(person, callback_id)
        return await self._workspace.transport.interact("interactive", payload)

    async def message_shortcut(self, user: str, channel: str, ts: str, callback_id: str) -> Ack:
        person = self._admitted(user)
        _, place = self._member(user, channel)
        message = self._workspace.message(place.id, ts)
        self._offers_shortcut("message", callback_id)
        self._did("message_shortcut", user, channel=place.id, ts=ts, callback_id=callback_id)
        payload = self._interactivity.message_shortcut(person, place, message, callback_id)
        return await self._workspace.transport.interact("interactive", payload)

    async def open_home(self, user: str) -> None:
        self._open_tab(user, "home")

    async def open_dm_tab(self, user: str) -> None:
        self._open_tab(user, "messages")

    async def submit_view(self, user: str, view_id: str, state: Json | None = None) -> Ack:
        person = self._admitted(user)
        view = self._view_of(user, view_id)
        view["state"] = {
            "values": self._with_files(user, _state(self._suggestions.filled(view_id, view["blocks"]), state))
        }
        if errors := _input_faults(view):
            return Ack(ok=False, payload={"errors": errors}, error="invalid_input")
        self._did("submit_view", user, view=view_id, callback_id=view["callback_id"])
        payload = self._interactivity.view_submission(person, readable(view))
        ack = await self._workspace.transport.interact("interactive", payload)
        return self._submitted(user, view, ack) if ack.ok else ack

    async def close_view(self, user: str, view_id: str, *, whole_stack: bool = False) -> None:
        person = self._workspace.active(user)
        view = self._view_of(user, view_id)
        self._did("close_view", user, view=view_id)
        everything = whole_stack or view["clear_on_close"]
        for closed in reversed(views.close(self._workspace, user, view_id, everything=everything)):
            if closed["notify_on_close"]:
                payload = self._interactivity.view_closed(person, closed, is_cleared=everything)
                await self._workspace.transport.interact("interactive", payload)

    async def stop(self, user: str, channel: str, thread_ts: str) -> None:
        _, place = self._member(user, channel)
        if not self._workspace.has_stop_button:
            raise SlackError("not_stoppable")
        running = [
            stream
            for stream in self._workspace.streams.values()
            if (stream.channel, stream.thread_ts, stream.state) == (place.id, thread_ts, "in_progress")
        ]
        self._did("stop", user, channel=place.id, thread_ts=thread_ts)
        for stream in running:
            streams.finish(self._workspace, stream, "stopped")
        event = {
            "type": "agent_session_stopped",
            "channel": place.id,
            "user": user,
            "thread_ts": thread_ts,
            "streaming_message_ts": [stream.ts for stream in running],
            "event_ts": self._workspace.new_ts(),
        }
        timeline.emit(self._workspace, event, place)

    async def join(self, user: str, channel: str) -> None:
        place = self._workspace.channel(channel)
        self._did("join", user, channel=place.id)
        timeline.join(self._workspace, place, self._workspace.active(user).id)

    async def rename_session(self, user: str, channel: str, thread_ts: str, title: str) -> None:
        _, place = self._member(user, channel)
        if (session := self._workspace.sessions.get((place.id, thread_ts))) is None:
            raise SlackError("session_not_found")
        before = {"previous_title": session["title"]} if session["title"] else {}
        self._did("rename_session", user, channel=place.id, thread_ts=thread_ts, title=title)
        set_session(self._workspace, place.id, thread_ts, title=title)
        event = {
            "type": "agent_session_title_changed",
            "channel": place.id,
            "user": user,
            "team_id": self._workspace.team_of(place.id).id,
            "thread_ts": thread_ts,
            "title": title,
            "event_ts": self._workspace.new_ts(),
        }
        timeline.emit(self._workspace, event | before, place)

    async def look_at(self, user: str, channel: str, *, thread_ts: str = "") -> None:
        person, place = self._member(user, channel)
        self._did("look_at", user, channel=place.id)
        entities: list[Json] = [{"type": "slack#/types/channel_id", "value": place.id}]
        if thread_ts:
            seen = {"channel_id": place.id, "message_ts": thread_ts}
            entities.insert(0, {"type": "slack#/types/message_context", "value": seen})
        context = {"entities": [each | {"team_id": self._workspace.team_of(place.id).id} for each in entities]}
        if self._workspace.keeps_out(person):
            return
        match self._workspace.kind:
            case "agent":
                timeline.emit(self._workspace, {"type": "app_context_changed", "user": user, "context": context})
            case "assistant":
                for root in self._assistant_roots(user):
                    self._tell_assistant("assistant_thread_context_changed", user, root, place.id)

    async def start_assistant(self, user: str, *, channel: str = "") -> str:
        if self._workspace.kind != "assistant":
            raise SlackError("assistant_not_found")
        self._admitted(user)
        place = self._workspace.dm_with(user)
        self._did("start_assistant", user)
        title = {"subtype": "assistant_app_thread", "text": "New Assistant Thread"}
        message = timeline.post(self._workspace, place, by_app(self._workspace, self._workspace.bot_for(user)) | title)
        self._tell_assistant("assistant_thread_started", user, message, channel)
        return str(message["ts"])

    def _post(self, author: User, place: Channel, said: Json, thread_ts: str | None) -> str:
        in_thread = {"thread_ts": self._root(place, thread_ts)} if thread_ts else {}
        message = timeline.post(self._workspace, place, by_person(self._workspace, place, author) | said | in_thread)
        return str(message["ts"])

    def _assistant_roots(self, user: str) -> list[Json]:
        """The newest chat of the legacy kind, which is the one that is open."""
        kept = self._workspace.messages.get(self._workspace.dm_with(user).id, {}).values()
        return [each for each in kept if each.get("subtype") == "assistant_app_thread"][-1:]

    def _tell_assistant(self, kind: str, user: str, root: Json, channel: str) -> None:
        team = self._workspace.team_of(channel)
        seen = {"channel_id": channel, "team_id": team.id, "enterprise_id": team.enterprise_id or None}
        place = self._workspace.dm_with(user)
        thread = {"user_id": user, "context": seen if channel else {}, "channel_id": place.id, "thread_ts": root["ts"]}
        event = {"type": kind, "assistant_thread": thread, "event_ts": self._workspace.new_ts()}
        timeline.emit(self._workspace, event, place)

    def _did(self, what: str, user: str, **detail: str) -> None:
        self._workspace.note("act", what, detail={"user": user, **detail})

    def _member(self, user: str, channel: str) -> tuple[User, Channel]:
        """Somebody at a place that they are a member of; direct messages with the app are a part of it."""
        place = self._workspace.channel(channel)
        person = self._admitted(user) if place.is_im else self._workspace.active(user)
        if user not in place.members:
            raise SlackError("not_in_channel")
        if place.is_archived:
            raise SlackError("is_archived")
        return person, place

    def _admitted(self, user: str) -> User:
        """Somebody to whom the app is open. Raises `user_is_restricted` for others."""
        person = self._workspace.active(user)
        if self._workspace.keeps_out(person):
            raise SlackError("user_is_restricted")
        return person

    def _root(self, channel: Channel, thread_ts: str) -> str:
        """The thread's root; the ts of a reply finds it too, as clicking it does in Slack."""
        message = self._workspace.message(channel.id, thread_ts)
        return str(message.get("thread_ts") or thread_ts)

    def _own(self, user: str, channel: Channel, ts: str, *, error: str) -> None:
        message = self._workspace.message(channel.id, ts)
        if message.get("user") != user or message.get("subtype") not in (None, "thread_broadcast", "file_share"):
            raise SlackError(error)

    def _seen(self, user: str, channel: Channel, ts: str) -> tuple[Json, bool]:
        """A message or an ephemeral as this person sees it, and whether it is one."""
        for each in self._workspace.ephemerals:
            if each["ts"] == ts:
                if each["user"] != user:
                    raise SlackError("message_not_found")
                return each, True
        return self._workspace.message(channel.id, ts), False

    def _offers_shortcut(self, kind: str, callback_id: str) -> None:
        known = [(each["type"], each["callback_id"]) for each in self._workspace.shortcuts]
        if known and (kind, callback_id) not in known:
            raise SlackError("shortcut_not_found")

    def _view_of(self, user: str, view_id: str) -> Json:
        home = self._workspace.homes.get(user)
        mine = self._workspace.modals.get(user, []) + ([home] if home else [])
        for view in mine:
            if view["id"] == view_id:
                return view
        raise SlackError("not_found")

    def _with_files(self, user: str, values: Json) -> Json:
        """Files in place of their ids, as far as this person has brought them."""
        for held in (each for block in values.values() for each in block.values()):
            if held["type"] == "file_input":
                known = (self._workspace.files.get(str(id_), {}) for id_ in held["files"])
                held["files"] = [file for file in known if file.get("user") == user]
        return values

    def _open_tab(self, user: str, tab: str) -> None:
        self._admitted(user)
        bot = self._workspace.bot_for(user)
        pair = {user, bot.user_id}
        is_new = not any(each.is_im and pair == set(each.members) for each in self._workspace.channels.values())
        channel = self._workspace.dm_with(user)
        if is_new:
            shape = channel_shape(self._workspace, channel, viewer=bot.user_id)
            made: Json = {"type": "im_created", "user": user, "channel": shape}
            timeline.emit(self._workspace, made | {"event_ts": self._workspace.new_ts()})
        self._did(f"open {tab}", user)
        event: Json = {"type": "app_home_opened", "user": user, "channel": channel.id, "tab": tab}
        event["event_ts"] = self._workspace.new_ts()
        if tab == "home" and user in self._workspace.homes:
            event["view"] = self._workspace.homes[user]
        timeline.emit(self._workspace, event)

    def _submitted(self, user: str, view: Json, ack: Ack) -> Ack:
        """Do with the modal what the app's answer says."""
        try:
            match ack.payload.get("response_action"):
                case "errors":
                    errors = _told_errors(view, ack.payload.get("errors"))
                    return Ack(ok=False, payload={"errors": errors}, error="invalid_input")
                case "update":
                    views.replace(self._workspace, view, ack.payload.get("view"))
                case "push":
                    bot = self._workspace.bot_by_id(view["bot_id"])
                    views.show(self._workspace, user, ack.payload.get("view"), on_top=True, bot=bot)
                case "clear":
                    views.close(self._workspace, user, view["id"], everything=True)
                case None:
                    views.close(self._workspace, user, view["id"])
                case unknown:
                    self._workspace.note("error", "view_submission", ok=False, detail={"response_action": unknown})
                    return Ack(ok=False, error="invalid_response")
        except SlackError as refusal:
            self._workspace.note("error", "view_submission", ok=False, detail=refusal.extra)
            return Ack(ok=False, error=refusal.error)
        return ack


def as_typed(text: str) -> str:
    """Typed text in Slack's form: `&`, `<` and `>` as entities, addresses in angle brackets, mentions kept."""
    kept: list[str] = []
    position = 0
    for found in _KEPT.finditer(text):
        kept.append(_entities(text[position : found.start()]))
        kept.append(f"<{_entities(found[0])}>" if found["url"] else found[0])
        position = found.end()
    return "".join(kept) + _entities(text[position:])


def _entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _element(blocks: list[Json], action_id: str, block_id: str, value: Any) -> tuple[Json, str]:
    """The element that was used, and its block. Buttons of one action_id are told apart by value."""
    candidates = [
        (element, block)
        for block, element in elements(blocks)
        if element["action_id"] == action_id and block_id in ("", block)
    ]
    if not candidates:
        raise SlackError("action_not_found")
    for element, block in candidates:
        if value is not None and element.get("value") == value:
            return element, block
    return candidates[0]


def _state(blocks: list[Json], given: Json | None, action: Json | None = None) -> Json:
    """`state.values`: what the inputs hold, with what the person put in and what was just chosen."""
    values = views.initial_state(blocks)
    for block_id, element in elements(blocks):
        entered = (given or {}).get(block_id, {}).get(element["action_id"])
        if entered is not None and (held := views.holding(element, entered)) is not None:
            values[block_id][element["action_id"]] = held
    if action is not None and action["action_id"] in values.get(action["block_id"], {}):
        held = {name: item for name, item in action.items() if name not in ("action_id", "block_id", "action_ts")}
        values[action["block_id"]][action["action_id"]] = held
    return values


def _told_errors(view: Json, errors: Any) -> dict[str, str]:
    """What the app says against inputs of the view. Raises `invalid_response` when it names none of them; Slack then
    shows a fault of the app (believed)."""
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    if not isinstance(errors, dict) or not errors or errors.keys() - inputs:
        raise SlackError("invalid_response", errors=errors)
    return {block_id: str(said) for block_id, said in errors.items()}


def _input_faults(view: Json) -> dict[str, str]:
    """What Slack's client refuses before it submits: required inputs and lengths."""
    errors: dict[str, str] = {}
    for block in view["blocks"]:
        if block["type"] != "input":
            continue
        element = block["element"]
        held = view["state"]["values"].get(block["block_id"], {}).get(element["action_id"], {})
        value = next((item for name, item in held.items() if name != "type"), None)
        if not value and not block.get("optional"):
            errors[block["block_id"]] = REQUIRED
        elif isinstance(value, str) and len(value) < element.get("min_length", 0):
            errors[block["block_id"]] = f"Please enter at least {element['min_length']} characters."
        elif isinstance(value, str) and len(value) > element.get("max_length", len(value)):
            errors[block["block_id"]] = f"Please enter at most {element['max_length']} characters."
    return errors
