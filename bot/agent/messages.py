"""The messages of a conversation, which are frozen, and their form as JSON.

`to_json` and `from_json` serve the journal and the store. The adapter of a provider makes the form that the provider
reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]
"""A JSON object as Python reads it."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image for a model."""

    media_type: str
    """Such as `image/png`."""
    base64: str = field(repr=False)
    """Its bytes in the form of requests, made once for all of a turn's."""
    width: int
    """In pixels, as it was sent. The bytes can hold a smaller one."""
    height: int


@dataclass(frozen=True, slots=True)
class CustomerMessage:
    """What a customer wrote."""

    text: str
    speaker: str = ""
    """The verified Slack user id. The model sees it as a tag as soon as several people write."""
    ts: str = ""
    """Slack's timestamp of the message. Empty if it was never posted."""
    passages: str = ""
    """The text retrieved for the message. It is data, and no one's words. It stays with the message, so that the
    conversation only grows at its end and providers can read what came before from a cache."""
    images: Sequence[Image] = ()
    """What the model sees of the message besides the words. It is never stored: `to_json` leaves it out."""


@dataclass(frozen=True, slots=True)
class StaffMessage:
    """What a person of the desk wrote to the customer."""

    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class SystemNote:
    """A fact about the conversation, stated by code: who was in charge, what was left out."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call that the model asked for."""

    id: str
    """The id, unique within a turn. It is the key of the result."""
    name: str
    arguments: str
    """The JSON text exactly as the model sent it, unchecked."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the provider that must be sent back verbatim, such as Gemini's thought signature."""

    def to_json(self) -> JsonObject:
        """The call as a JSON object."""
        shape: JsonObject = {"id": self.id, "name": self.name, "arguments": self.arguments}
        return {**shape, "extra": dict(self.extra)} if self.extra else shape

    @classmethod
    def from_json(cls, value: JsonObject) -> "ToolCall":
        """Return the call from the result of `to_json`."""
        return cls(value["id"], value["name"], value["arguments"], value.get("extra", {}))


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What an agent said, and the calls in the same reply."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    agent: str = ""
    """The name of the agent that spoke."""
    model: str = ""
    """The model that wrote it. The `extra` fields, here and in the calls, are only for this model."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the provider for the whole message that must be sent back verbatim, such as encrypted reasoning."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call. Every call gets exactly one."""

    call_id: str
    name: str
    content: str
    """What the model reads: JSON text or words."""
    ok: bool = True
    private: bool = False
    """True if it holds one customer's data. It must only be shown where no one else reads."""
    ends: bool = False
    """True if the call ended the turn, because a person continues."""


Message = CustomerMessage | StaffMessage | SystemNote | AgentMessage | ToolResult


def to_json(message: Message) -> JsonObject:
    """Return the message as a JSON object that names its kind under "type"."""
    match message:
        case CustomerMessage(text, speaker, ts, passages, _):
            said = {"type": "customer", "text": text, "speaker": speaker, "ts": ts}
            return {**said, "passages": passages} if passages else said
        case StaffMessage(text, speaker):
            return {"type": "staff", "text": text, "speaker": speaker}
        case SystemNote(text):
            return {"type": "note", "text": text}
        case AgentMessage(text, calls, agent, model, extra):
            asked = [call.to_json() for call in calls]
            shape = {"type": "agent", "text": text, "calls": asked, "agent": agent, "model": model}
            return {**shape, "extra": dict(extra)} if extra else shape
        case ToolResult(call_id, name, content, ok, private, ends):
            shape = {"type": "result", "call_id": call_id, "name": name, "content": content}
            return {**shape, "ok": ok, "private": private, **({"ends": True} if ends else {})}


def from_json(value: JsonObject) -> Message:
    """Return the message from the result of `to_json`. Raises KeyError or ValueError for anything else."""
    match value["type"]:
        case "customer":
            return CustomerMessage(value["text"], value["speaker"], value["ts"], value.get("passages", ""))
        case "staff":
            return StaffMessage(value["text"], value["speaker"])
        case "note":
            return SystemNote(value["text"])
        case "agent":
            calls = tuple(ToolCall.from_json(call) for call in value["calls"])
            model, extra = value.get("model", ""), value.get("extra", {})
            return AgentMessage(value["text"], calls, value["agent"], model, extra)
        case "result":
            return ToolResult(
                value["call_id"],
                value["name"],
                value["content"],
                ok=value["ok"],
                private=value["private"],
                ends=value.get("ends", False),
            )
        case other:
            raise ValueError(f"no message is of type {other!r}")
