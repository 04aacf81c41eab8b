"""The payloads from Slack, with the fields that Frontdesk reads. Bolt and every handler see only parsed payloads.

parse      check a payload of any kind and reduce it to the fields below
Malformed  says why a payload does not fit, by its shape and never by its content

Fields that say who a person is, or where something is, must have the form that Slack documents. Otherwise the payload
is malformed. A field of a `Maybe…` type is None if it is missing, null or odd. Fields that are not listed are left
out. So the code behind this module need not check the type of any value. The check is compiled, and costs a few
microseconds.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Required

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    InstanceOf,
    OnErrorOmit,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from bot.errors import FrontdeskError

SPOKEN = frozenset({None, "file_share", "thread_broadcast", "me_message"})
"""Subtypes of messages that a person wrote."""


class Malformed(FrontdeskError):
    """A payload is malformed.

    `kind` is one of `KINDS`, and `shape` says which field is wrong in which way. Both consist of names in this
    module, so they can be counted and logged.
    """

    def __init__(self, kind: str, shape: str) -> None:
        self.kind = kind
        self.shape = shape
        super().__init__(f"{kind}: {shape}")


class _OddIsNone:
    """Marks a field whose odd values count as missing."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_default_schema(handler(source), default=None, on_error="default")


_ODD_IS_NONE = _OddIsNone()

Id = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9_-]{1,32}$")]
"""Slack's id of a person, a channel, a workspace, a view or a file. The database's columns have the same width."""
Ts = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$")]
"""The timestamp that identifies a message in Slack."""
Token = Annotated[str, StringConstraints(strict=True, pattern=r"^[!-~]{1,200}$")]
"""Slack's id of a delivery or an interaction."""
Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[!-~]{1,255}$")]
"""The name of a kind of payload, or the app's name of a button, a dialog or a shortcut."""
Value = Annotated[str, StringConstraints(strict=True, pattern=r"^[^\x00-\x1f\x7f]{0,3000}$")]
"""A value that the app put into a button, an option or a dialog."""
Words = InstanceOf[str]
"""A person's words, with any characters. The code that stores them cleans them (bot/turns/message_body.py)."""
MaybeId = Annotated[Id | None, _ODD_IS_NONE]
MaybeTs = Annotated[Ts | None, _ODD_IS_NONE]
MaybeValue = Annotated[Value | None, _ODD_IS_NONE]
MaybeWords = Annotated[Words | None, _ODD_IS_NONE]


class File(TypedDict, total=False):
    """A file of a message."""

    id: MaybeId
    name: MaybeWords
    mimetype: MaybeWords
    size: Annotated[int | None, _ODD_IS_NONE]
    mode: MaybeValue


class Edited(TypedDict, total=False):
    """The mark that a person has changed their message."""

    ts: MaybeTs


class MessageFields(TypedDict, total=False):
    """A message's words and author. Only `bot_id` says that an app wrote it."""

    subtype: Value | None
    user: Id | None
    bot_id: Id | None
    thread_ts: Ts | None
    text: Words | None
    files: Annotated[list[OnErrorOmit[File]] | None, _ODD_IS_NONE]
    edited: Annotated[Edited | None, _ODD_IS_NONE]
    user_team: MaybeId
    team: MaybeId


class EarlierMessage(MessageFields, total=False):
    """A message that an event or an interaction is about."""

    ts: Ts | None


class Event(TypedDict, total=False):
    """An event that Frontdesk ignores."""

    type: Required[Name]
    # An odd subtype must not become None: a message without a subtype is one that a person wrote.
    subtype: Value | None


class MessagePosted(MessageFields, total=False):
    """A person posts a message: `message`, `app_mention`."""

    type: Required[Name]
    channel: Required[Id]
    ts: Required[Ts]
    event_ts: MaybeTs


class MessageChanged(TypedDict, total=False):
    """A person edits a message (`message_changed`) or deletes it (`message_deleted`)."""

    type: Required[Name]
    subtype: Required[Name]
    channel: Required[Id]
    ts: MaybeTs
    event_ts: MaybeTs
    deleted_ts: Ts | None
    message: EarlierMessage | None
    previous_message: EarlierMessage | None


class SessionStopped(TypedDict, total=False):
    """A person presses Stop: `agent_session_stopped`."""

    type: Required[Name]
    channel: Id | None
    channel_id: Id | None
    user: Id | None
    user_id: Id | None
    user_team: MaybeId
    thread_ts: Ts | None
    event_ts: MaybeTs
    streaming_message_ts: Annotated[Ts | list[OnErrorOmit[Ts]] | None, _ODD_IS_NONE]


class HomeOpened(TypedDict, total=False):
    """A person opens one of the app's tabs: `app_home_opened`."""

    type: Required[Name]
    user: Required[Id]
    channel: MaybeId
    tab: MaybeValue


class Authorization(TypedDict, total=False):
    """An installation that can see the event."""

    team_id: MaybeId


class Callback(TypedDict, total=False):
    """The envelope of an event."""

    type: Required[Name]
    event_id: Required[Token]
    team_id: Id | None
    authorizations: Annotated[list[OnErrorOmit[Authorization]] | None, _ODD_IS_NONE]


class EventCallback(Callback):
    """Any event."""

    event: Event


class MessagePostedCallback(Callback):
    """A message."""

    event: MessagePosted


class MessageChangedCallback(Callback):
    """An edit or a deletion."""

    event: MessageChanged


class SessionStoppedCallback(Callback):
    """A press of Stop."""

    event: SessionStopped


class HomeOpenedCallback(Callback):
    """A tab."""

    event: HomeOpened


class Person(TypedDict, total=False):
    """The person who presses, submits or chooses."""

    id: Required[Id]
    team_id: MaybeId


class Channel(TypedDict):
    """A channel."""

    id: Id


class Option(TypedDict):
    """An entry of a menu."""

    value: Value


class Action(TypedDict, total=False):
    """What was pressed or chosen."""

    action_id: Required[Name]
    block_id: MaybeValue
    type: MaybeValue
    value: Value | None
    selected_option: Option | None
    action_ts: Ts | None


class Container(TypedDict, total=False):
    """Where the button is: in a message, or in a view."""

    channel_id: Id | None
    message_ts: Ts | None
    thread_ts: Ts | None
    view_id: Id | None
    is_ephemeral: Annotated[bool | None, _ODD_IS_NONE]


class HomeTab(TypedDict, total=False):
    """The Home tab that a button is in."""

    private_metadata: MaybeValue


class BlockActions(TypedDict, total=False):
    """A press of a button, or a choice in a menu."""

    type: Required[Name]
    user: Required[Person]
    trigger_id: Required[Token]
    container: Required[Container]
    actions: Required[Annotated[list[Action], Field(min_length=1)]]
    channel: Annotated[Channel | None, _ODD_IS_NONE]
    message: Annotated[EarlierMessage | None, _ODD_IS_NONE]
    view: Annotated[HomeTab | None, _ODD_IS_NONE]
    response_url: MaybeValue


class Filled(TypedDict, total=False):
    """The content of one field of a dialog."""

    value: Words | None
    selected_option: Option | None
    selected_options: list[Option] | None
    selected_user: MaybeId
    selected_conversation: MaybeId
    selected_channel: MaybeId
    selected_date: MaybeValue
    selected_date_time: Annotated[Annotated[int, Field(strict=True, ge=0, lt=1 << 40)] | None, _ODD_IS_NONE]


class State(TypedDict):
    """What was filled in: block -> element -> value."""

    values: dict[Name, dict[Name, Filled]]


class View(TypedDict, total=False):
    """A dialog."""

    type: MaybeValue
    id: Required[Id]
    callback_id: Required[Name]
    private_metadata: Value | None
    state: Required[State]


class ViewSubmission(TypedDict, total=False):
    """A dialog is submitted."""

    type: Required[Name]
    user: Required[Person]
    view: Required[View]


class MessageAction(TypedDict, total=False):
    """An entry of a message's own menu."""

    type: Required[Name]
    callback_id: Required[Name]
    user: Required[Person]
    trigger_id: Required[Token]
    action_ts: Required[Ts]
    channel: Required[Channel]
    message: Required[EarlierMessage]
    message_ts: Required[Ts]
    response_url: MaybeValue


class ClosedView(TypedDict, total=False):
    """A dialog that nobody submits."""

    type: MaybeValue
    callback_id: Required[Name]


class ViewClosed(TypedDict, total=False):
    """A dialog is closed."""

    type: Required[Name]
    user: Required[Person]
    view: Required[ClosedView]


class Shortcut(TypedDict, total=False):
    """An entry of the app's own menu. Frontdesk has none."""

    type: Required[Name]
    user: Required[Person]
    callback_id: Required[Name]


class BlockSuggestion(TypedDict, total=False):
    """A menu asks for its options. None of ours does."""

    type: Required[Name]
    user: Required[Person]
    action_id: Required[Name]
    block_id: MaybeValue


class SlashCommand(TypedDict, total=False):
    """A command."""

    command: Required[Name]
    text: MaybeWords
    user_id: Required[Id]
    channel_id: Required[Id]
    trigger_id: Required[Token]
    response_url: MaybeValue


class UrlVerification(TypedDict):
    """Slack asks whether this is the right address."""

    type: Name
    challenge: Value


class RateLimited(TypedDict, total=False):
    """Slack has held events back because there were too many: `app_rate_limited`."""

    type: Required[Name]
    minute_rate_limited: Annotated[int | None, _ODD_IS_NONE]


_SCHEMAS: Mapping[str, TypeAdapter[Any]] = {
    "event": TypeAdapter(EventCallback),
    "message": TypeAdapter(MessagePostedCallback),
    "message_changed": TypeAdapter(MessageChangedCallback),
    "agent_session_stopped": TypeAdapter(SessionStoppedCallback),
    "app_home_opened": TypeAdapter(HomeOpenedCallback),
    "block_actions": TypeAdapter(BlockActions),
    "view_submission": TypeAdapter(ViewSubmission),
    "message_action": TypeAdapter(MessageAction),
    "view_closed": TypeAdapter(ViewClosed),
    "shortcut": TypeAdapter(Shortcut),
    "block_suggestion": TypeAdapter(BlockSuggestion),
    "command": TypeAdapter(SlashCommand),
    "url_verification": TypeAdapter(UrlVerification),
    "app_rate_limited": TypeAdapter(RateLimited),
    "ssl_check": TypeAdapter(dict[str, Any]),
}
_ABOUT = TypeAdapter(tuple[Value, Id, Ts, Ts])
KINDS = frozenset({*_SCHEMAS, "unknown"})
"""The kinds of payloads."""
_EVENTS = {
    "app_mention": "message",
    "agent_session_stopped": "agent_session_stopped",
    "app_home_opened": "app_home_opened",
}
_CHANGES = frozenset({"message_changed", "message_deleted"})
_INTERACTIONS = frozenset({"block_actions", "view_submission", "message_action", "view_closed", "shortcut"})
_FIELD = re.compile(r"[a-z_]{1,30}")
_TOP_LEVEL = _INTERACTIONS | {"block_suggestion", "url_verification", "app_rate_limited"}


def kind_of(payload: object) -> str:
    """Return which of `KINDS` a payload is, by its type alone. Events that Frontdesk ignores are `event`."""
    match payload:
        case {"type": "event_callback", "event": {"type": "message", "subtype": str(subtype)}} if subtype in _CHANGES:
            return "message_changed"
        case {"type": "event_callback", "event": {"type": "message", "subtype": str(subtype)}} if subtype not in SPOKEN:
            return "event"
        case {"type": "event_callback", "event": {"type": "message"}}:
            return "message"
        case {"type": "event_callback", "event": {"type": str(event)}}:
            return _EVENTS.get(event, "event")
        case {"type": "event_callback"}:
            return "event"
        case {"type": str(name)} if name in _TOP_LEVEL:
            return name
        case {"command": _}:
            return "command"
        case {"ssl_check": _}:
            return "ssl_check"
    return "unknown"


def parse(payload: object) -> dict[str, Any]:
    """Return the payload as one of the types above. Raises Malformed if it does not fit."""
    kind = kind_of(payload)
    if kind == "unknown":
        raise Malformed(kind, "no type that is known")
    try:
        parsed: dict[str, Any] = _SCHEMAS[kind].validator.validate_python(payload)
    except ValidationError as error:
        raise Malformed(kind, _shape(error)) from None
    return parsed


def parse_about(text: str) -> tuple[str, str, str, str]:
    """Parse what `bot.cases.dialogs.About` wrote into a dialog: the case, the channel, its thread, the message.

    Raises Malformed if the text does not have that form.
    """
    try:
        return _ABOUT.validate_json(text)
    except ValueError:
        raise Malformed("view_submission", "view.private_metadata is none of ours") from None


def _shape(error: ValidationError) -> str:
    """Return where the first fault is, and which one. Keys that come from people are left out."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    names = [each if isinstance(each, str) and _FIELD.fullmatch(each) else "*" for each in fault["loc"]]
    if "values" in names:
        names = names[: names.index("values") + 1]
    return f"{'.'.join(names)} {fault['type']}".strip()
