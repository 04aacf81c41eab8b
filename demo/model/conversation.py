"""A chat request as the stand-in reads it: what was asked, what the tools have found, what it may call.

Anything may be missing or of another type than expected: what cannot be read counts as not there.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_SPEAKER = re.compile(r"^\[(customer|staff)[^\]\n]*\]\n?")
_HANDOVER = re.compile(r"(?:hand_?over|hand_?off|transfer)_to_", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Found:
    """A call of this turn with what came back."""

    call: Call
    content: str
    value: Json | None
    """The content as a JSON object, if it is one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool on offer."""

    name: str
    description: str
    properties: Mapping[str, Json]
    required: tuple[str, ...]

    @property
    def hands_over(self) -> bool:
        return bool(_HANDOVER.match(self.name))

    @property
    def wording(self) -> str:
        """Name and description in small letters, to find a tool by what it is for."""
        return f"{self.name} {self.description}".lower()

    def argument(self, *hints: str) -> str | None:
        """The first property whose name holds one of the hints."""
        return next((name for name in self.properties if any(hint in name.lower() for hint in hints)), None)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a request by what they are for; None for what is not offered."""

    offers: tuple[Offer, ...] = ()

    @property
    def order(self) -> Offer | None:
        """Looks up one order by its number."""
        return self._first(lambda offer: offer.argument("order"))

    @property
    def orders(self) -> Offer | None:
        """Lists the customer's orders."""
        return self._first(lambda offer: "order" in offer.name.lower() and not offer.required)

    @property
    def parcel(self) -> Offer | None:
        """Says where a parcel is."""
        return self._first(lambda offer: offer.argument("tracking", "parcel", "shipment"))

    @property
    def search(self) -> Offer | None:
        """Searches the help pages."""
        return self._first(
            lambda offer: (
                offer.argument("query", "question", "search")
                and re.search(r"search|knowledge|help|faq|find", offer.wording)
            )
        )

    @property
    def person(self) -> Offer | None:
        """Calls a human being."""
        return self._first(lambda offer: re.search(r"escalat|human|person", offer.name.lower()))

    def colleague(self, *topics: str) -> Offer | None:
        """The handover whose agent is there for one of the topics."""
        handovers = [offer for offer in self.offers if offer.hands_over]
        return next((offer for offer in handovers if any(topic in offer.wording for topic in topics)), None)

    def _first(self, fits: Any) -> Offer | None:
        return next((offer for offer in self.offers if not offer.hands_over and fits(offer)), None)


@dataclass(frozen=True, slots=True)
class Talk:
    """One request."""

    said: str = ""
    """The customer's last message."""
    earlier: tuple[str, ...] = ()
    """The customer's messages before it, latest first."""
    answered: str = ""
    """The assistant's last words before `said`."""
    context: tuple[str, ...] = ()
    """The system messages after the first: passages, notes."""
    found: tuple[Found, ...] = ()
    tools: Toolbox = field(default_factory=Toolbox)
    may_call: bool = True
    """False: the tools are listed, but this message must be words."""

    def made(self, call: Call) -> bool:
        """True when this very call was made in this turn."""
        return any(found.call == call for found in self.found)

    def results_of(self, offer: Offer | None) -> list[Found]:
        """What this tool has found in this turn."""
        return [found for found in self.found if offer and found.call.name == offer.name]


def read_request(body: Mapping[str, Any]) -> Talk:
    """The request, as far as it can be read. Never raises."""
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    turn = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    customer = [_said(message) for message in messages[: turn + 1] if message.get("role") == "user"]
    assistant = [_text(message) for message in messages[:turn] if message.get("role") == "assistant"]
    system = [_text(message) for message in messages if message.get("role") in ("system", "developer")]
    return Talk(
        said=customer[-1] if customer else "",
        earlier=tuple(reversed(customer[:-1])),
        answered=next((text for text in reversed(assistant) if text), ""),
        context=tuple(system[1:]),
        found=tuple(_found(messages[turn + 1 :])),
        tools=Toolbox(tuple(_offers(body.get("tools")))),
        may_call=body.get("tool_choice") != "none",
    )


def objects_in(value: Json | None, name: str) -> list[Json]:
    """The objects in the list of that name; none when there is no such list."""
    return [entry for entry in _list((value or {}).get(name)) if isinstance(entry, dict)]


def text_in(value: Json, *hints: str) -> str:
    """The first text or number whose name holds one of the hints; the hints go from best to worst."""
    for hint in hints:
        for name, entry in value.items():
            if hint in name and isinstance(entry, str | int) and str(entry):
                return str(entry)
    return ""


def tracking_numbers_in(order: Json) -> list[str]:
    """The tracking numbers of an order, whether it lists parcels or numbers."""
    numbers = [str(parcel.get("tracking_number", "")) for parcel in objects_in(order, "parcels")]
    return [number for number in [*numbers, *map(str, _list(order.get("tracking_numbers")))] if number]


def unpaired(body: Mapping[str, Any]) -> str:
    """Why the provider would refuse this history; empty if it would not.

    Every tool call must be answered right after it, and no answer may stand without its call.
    """
    open_calls: set[str] = set()
    for number, message in enumerate(_list(body.get("messages"))):
        if not isinstance(message, dict):
            return f"messages[{number}] is not an object."
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                return (
                    f"messages[{number}]: messages with role 'tool' must be a response to a preceding message "
                    "with 'tool_calls'."
                )
            open_calls.discard(str(message.get("tool_call_id")))
            continue
        if open_calls:
            break
        open_calls = {str(_dict(call).get("id")) for call in _list(message.get("tool_calls"))}
    if open_calls:
        return (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. Without a response: {', '.join(sorted(open_calls))}."
        )
    return ""


def _found(messages: list[Json]) -> list[Found]:
    calls: dict[str, Call] = {}
    found: list[Found] = []
    for message in messages:
        for call in map(_dict, _list(message.get("tool_calls"))):
            function = _dict(call.get("function"))
            arguments = _json_object(str(function.get("arguments", ""))) or {}
            calls[str(call.get("id"))] = Call(str(function.get("name", "")), arguments)
        if message.get("role") == "tool":
            text = _text(message)
            call_ = calls.get(str(message.get("tool_call_id")), Call("", {}))
            found.append(Found(call_, text, _json_object(text)))
    return found


def _offers(tools: object) -> list[Offer]:
    functions = [_dict(_dict(tool).get("function")) for tool in _list(tools)]
    offers = []
    for function in functions:
        schema = _dict(function.get("parameters"))
        properties = {str(name): _dict(value) for name, value in _dict(schema.get("properties")).items()}
        required = tuple(str(name) for name in _list(schema.get("required")))
        offers.append(Offer(str(function.get("name", "")), str(function.get("description", "")), properties, required))
    return [offer for offer in offers if offer.name]


def _said(message: Json) -> str:
    return _SPEAKER.sub("", _text(message))


def _text(message: Json) -> str:
    match message.get("content"):
        case str() as text:
            return text
        case list() as parts:
            return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)
        case _:
            return ""


def _json_object(text: str) -> Json | None:
    """The object in the text; a line before it (a note about the result) is passed over."""
    start = text.find("{")
    if start < 0 or "\n{" not in f"\n{text}":
        return None
    try:
        value = json.loads(text[start:])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}
