"""What an inbox row holds of each kind of arrival, and its form in the database.

encode         the JSON of a body, when its row is written
decode         the body of a row that was read
text_in        the words of a message, in SQL
is_erased_in   whether a row's words were erased, in SQL
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from sqlalchemy import ColumnElement, func


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that a message brought."""

    id: str = ""
    """Slack's id. Empty if Slack named none, and then the file cannot be requested."""
    name: str = "file"
    mimetype: str = ""
    size: int = 0
    """In bytes. 0 if it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """What the body of any row can say."""

    deleted: int | None = None
    """The number of characters that were erased with the message. None if it was not erased."""
    unstorable: bool = False
    """True: the event could not be stored as it came. The row holds only who, where and when."""

    @property
    def is_erased(self) -> bool:
        """Whether the message was deleted, and its words with it."""
        return self.deleted is not None

    @property
    def words(self) -> str:
        """The words of a message, with the names of its files. Empty for anything else."""
        return ""

    def stone(self) -> Self:
        """What stays after the words are erased: their length, and which message it was.

        A hash would make it possible to guess short texts.
        """
        length = len(self.words) if self.deleted is None else self.deleted
        return type(self)(deleted=length, **_fields(self, "of", "is_staff", "edited"))


@dataclass(frozen=True, slots=True)
class MessageBody(_Stored):
    """What a person wrote."""

    text: str = ""
    """The words without markup and secrets."""
    masked: bool = False
    """True: a secret, such as a card number, was masked in the words."""
    files: tuple[AttachedFile, ...] = ()
    to_us: bool = True
    """False for a message in a channel that does not mention the app."""
    others: tuple[str, ...] = ()
    """The people and groups that a message in a channel mentions."""
    leads: bool = False
    """True: a message in a channel begins with one of the others."""
    edited: str = ""
    """Slack's time of the edit that these words come from. Empty for a message as it was sent."""
    overheard: bool = False
    """True: the message was for others in a channel's thread. None of its words are stored."""
    hidden: "MessageBody | None" = None
    """The former body, while the words are being erased everywhere else."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of the files."""
        return tuple(file.name for file in self.files)

    @property
    def words(self) -> str:
        """The text, with the names of the files."""
        return naming_files(self.text, self.file_names)

    @property
    def wordings(self) -> tuple[str, ...]:
        """The words, and for an edit those that it replaced."""
        return (self.words,)

    def reworded(self, by: "MessageBody", *, edited: str = "") -> Self:
        """The body with the words of an edit, and whom these mention."""
        return replace(
            self,
            text=by.text,
            masked=by.masked,
            files=by.files,
            to_us=by.to_us,
            others=by.others,
            leads=by.leads,
            edited=edited,
        )

    def left(self) -> Self:
        """What stays of a message that was for others."""
        return type(self)(to_us=False, overheard=True, **_fields(self, "of", "is_staff", "edited", "speaks_anew"))


@dataclass(frozen=True, slots=True)
class EditBody(MessageBody):
    """The new words of a message."""

    of: str = ""
    """The timestamp of the message."""
    is_staff: bool = False
    """True: the message is in a thread of a team channel."""
    speaks_anew: bool = False
    """True: the message mentions the app only since this edit."""
    before: str = ""
    """The words that the edit replaced, once it is carried out."""
    answers: bool = False
    """True: the edit gets an answer of its own."""

    @property
    def wordings(self) -> tuple[str, ...]:
        """The words, and those that the edit replaced."""
        return (self.words, self.before)


@dataclass(frozen=True, slots=True)
class DeleteBody(_Stored):
    """The deletion of a message."""

    of: str = ""
    """The timestamp of the message."""
    is_staff: bool = False
    """True: the message is in a thread of a team channel."""


@dataclass(frozen=True, slots=True)
class StopBody(_Stored):
    """A press of Stop, or a message like "stop" while an answer is being written."""

    streams: tuple[str, ...] = ()
    """The timestamps of the streams under which Stop was pressed."""
    idle: bool = False
    """True: there was nothing to stop."""


@dataclass(frozen=True, slots=True)
class InteractionBody(_Stored):
    """A press of a button, a menu choice, a dialog's submission or a shortcut."""

    action: str = ""
    """The id of the button (bot/cases/buttons.py)."""
    value: str = ""
    """The value that the app put into the button, mostly a case."""
    message_ts: str = ""
    """The timestamp of the message with the button."""
    response_url: str = ""
    fields: Mapping[str, str | list[str]] = field(default_factory=dict)
    """What was filled in or chosen in a dialog, by the field's name."""
    by_staff: bool = False
    """True: the person who chose the shortcut is staff."""
    erased: Mapping[str, int] = field(default_factory=dict)
    """How much a request for an erasure has erased so far, of each kind."""


Body = MessageBody | EditBody | DeleteBody | StopBody | InteractionBody
B = TypeVar("B", bound=_Stored)


def body_as(kind: type[B], body: Body) -> B:
    """Return the body as one of this kind. Raises TypeError if it is of another kind."""
    if not isinstance(body, kind):
        raise TypeError(f"a {type(body).__name__} is no {kind.__name__}")
    return body


def naming_files(text: str, names: Sequence[str]) -> str:
    """A message with the names of the files that it brought."""
    return f"{text}\n[attached: {', '.join(names)}]".strip() if names else text


def without_files(words: str) -> str:
    """The text without the names of the files, for words made by `naming_files`."""
    return _ATTACHED.sub("", words)


def encode(body: Body) -> dict[str, Any]:
    """The body as JSON. A field with its default value is left out."""
    default = type(body)()
    stored = {each.name: getattr(body, each.name) for each in fields(body)}
    stored = {name: value for name, value in stored.items() if value != getattr(default, name)}
    return stored | {name: write(stored[name]) for name, write in _WRITE.items() if name in stored}


def decode(kind: str, stored: Mapping[str, Any]) -> Body:
    """The body of a row of this kind. What the JSON lacks has its default value, and what is unknown is left out.

    Rows of earlier versions have fewer keys.
    """
    body = _BODIES[kind]
    known = _known(body, stored)
    known |= {name: read(known[name]) for name, read in _READ.items() if name in known}
    if stored.get("overheard"):
        # Earlier versions dropped the key together with the words.
        known.setdefault("to_us", False)
    return body(**known)


def text_in(body: ColumnElement[Any]) -> ColumnElement[str]:
    """`MessageBody.text` for a column of bodies."""
    return func.coalesce(body["text"].as_string(), "")


def is_erased_in(body: ColumnElement[Any]) -> ColumnElement[bool]:
    """`is_erased` for a column of bodies."""
    deleted: ColumnElement[str] = body["deleted"].as_string()
    return deleted.is_not(None)


def _fields(body: _Stored, *names: str) -> dict[str, Any]:
    return {each.name: getattr(body, each.name) for each in fields(body) if each.name in names}


def _known(kind: type[_Stored | AttachedFile], stored: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: stored[each.name] for each in fields(kind) if each.name in stored}


def _read_file(file: str | Mapping[str, Any]) -> AttachedFile:
    # Earlier versions stored only the name.
    return AttachedFile("", file) if isinstance(file, str) else AttachedFile(**_known(AttachedFile, file))


def _read_message(stored: Mapping[str, Any]) -> MessageBody:
    body = decode("edit" if "of" in stored else "message", stored)
    return body_as(MessageBody, body)


_ATTACHED = re.compile(r"\n?\[attached: [^\n]*\]\Z")
_BODIES: Mapping[str, type[Body]] = {
    "message": MessageBody,
    "staff": MessageBody,
    "edit": EditBody,
    "delete": DeleteBody,
    "stop": StopBody,
    "interaction": InteractionBody,
}
_WRITE: Mapping[str, Callable[[Any], Any]] = {
    "files": lambda files: [asdict(file) for file in files],
    "deleted": lambda length: {"length": length},
    "hidden": encode,
}
_READ: Mapping[str, Callable[[Any], Any]] = {
    "files": lambda files: tuple(map(_read_file, files)),
    "others": tuple,
    "streams": tuple,
    "deleted": lambda erased: erased.get("length", 0),
    "hidden": _read_message,
}
