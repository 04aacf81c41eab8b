"""A chat request as the stand-in reads it: what was asked, what was said and found before, what it may call.

Anything may be missing or of another type than expected: what cannot be read counts as not there.
"""

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from demo.model.images import Size, sizes, without_notes

Json = dict[str, Any]

PARCEL_HINTS = ("tracking", "parcel", "shipment")
"""Parts of an argument's name that make a tool one for parcels."""
SEARCH_HINTS = ("query", "question", "search")
PREPARES = "prepare_"
"""The beginning of the names of tools that prepare a change."""

COMMAS_TRIED = 20
_SHORTENED = "[shortened]"
"""The end of a result that was cut."""
_SPEAKER = re.compile(r"^\[(customer|staff)[^\]\n]*\]\n?")
_NEXT_SPEAKER = re.compile(r"(?m)^(?=\[(?:customer|staff)[^\]\n]*\]\n)")
_BLOCK = re.compile(r"<(note|passages)>\n(.*?)\n</\1>", re.DOTALL)
"""What is no one's words: a note, or what was found."""
_PASSAGE = re.compile(r'<passage( number="\d+")( title="[^"\n]*")([^>/\n]*)(?:/>|>(\n.*?)</passage>)', re.DOTALL)
_SHOWN = ' shown="above"'
"""The mark of a passage that an earlier message has in full."""
_BRACKETS = re.compile(r"\([^()\n]*\)")
_HANDOVER = re.compile(r"(?:hand_?over|hand_?off|transfer)_to_", re.IGNORECASE)
_ASK = re.compile(r"ask_", re.IGNORECASE)
_CHOICES = "choices"
_ONLY_NEXT = re.compile(
    r"\bonly (?:the one|the|this|one) (?:question|part|request)\b[^.]*\bnext message\b", re.IGNORECASE
)
_GO_ON = re.compile(r"\b(?:go on|continue|carry on)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    name: str
    arguments: Json

    @property
    def colleague(self) -> str:
        """Whom it hands over to; empty for any other call."""
        match = _HANDOVER.match(self.name)
        return self.name[match.end() :] if match else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Words, calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A call with what came back."""

    call: Call
    content: str
    value: Json | None
    """The content as a JSON object, if it is one."""

    @property
    def about(self) -> Literal["colleague", "change", "choices", "parcel", "order", "pages", "orders", "else"]:
        """What was looked up, told by the call alone: the tool may have been another agent's."""
        names = " ".join(self.call.arguments).lower()
        if _ASK.match(self.call.name):
            return "colleague"
        if self.call.name.startswith(PREPARES):
            return "change"
        if _CHOICES in self.call.name:
            return "choices"
        if any(hint in names for hint in PARCEL_HINTS):
            return "parcel"
        if "order" in names:
            return "order"
        if any(hint in names for hint in SEARCH_HINTS):
            return "pages"
        return "orders" if "order" in self.call.name.lower() else "else"


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said in the conversation."""

    speaker: Literal["customer", "staff", "assistant"]
    text: str


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
    def colleague(self) -> str:
        """The agent behind a handover or a question; empty for a tool that does its work itself."""
        match = _HANDOVER.match(self.name) or _ASK.match(self.name)
        return self.name[match.end() :] if match else ""

    @property
    def change(self) -> str:
        """What it prepares, such as `cancel_order`; empty for any other tool."""
        return self.name.removeprefix(PREPARES) if self.name.startswith(PREPARES) else ""

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
        return self._first(lambda offer: offer.argument("order") and not (offer.change or _CHOICES in offer.name))

    @property
    def orders(self) -> Offer | None:
        """Lists the customer's orders."""
        return self._first(lambda offer: "order" in offer.name.lower() and not offer.required)

    @property
    def parcel(self) -> Offer | None:
        """Says where a parcel is."""
        return self._first(lambda offer: offer.argument(*PARCEL_HINTS))

    @property
    def search(self) -> Offer | None:
        """Searches the help pages."""
        return self._first(
            lambda offer: offer.argument(*SEARCH_HINTS) and re.search(r"search|knowledge|help|faq|find", offer.wording)
        )

    @property
    def person(self) -> Offer | None:
        """Calls a human being."""
        return self._first(lambda offer: re.search(r"escalat|human|person", offer.name.lower()))

    @property
    def changes(self) -> Mapping[str, Offer]:
        """Prepare a change of an order, by what they change, such as `cancel_order`."""
        return {offer.change: offer for offer in self.offers if offer.change}

    @property
    def choices(self) -> Offer | None:
        """Lists the variants of an article."""
        return self._first(lambda offer: _CHOICES in offer.name)

    @property
    def handovers(self) -> tuple[Offer, ...]:
        """Pass the conversation on to a colleague."""
        return tuple(offer for offer in self.offers if offer.hands_over)

    @property
    def questions(self) -> tuple[Offer, ...]:
        """Ask a colleague something and come back with the answer."""
        return tuple(offer for offer in self.offers if offer.colleague and not offer.hands_over)

    def _first(self, fits: Callable[[Offer], object]) -> Offer | None:
        return next((offer for offer in self.offers if not offer.colleague and fits(offer)), None)


@dataclass(frozen=True, slots=True)
class Talk:
    """One request."""

    said: str = ""
    """What is to be answered: the customer's last message, or the one question of it that a note names."""
    whole: str = ""
    """The customer's last message as it stands."""
    earlier: tuple[str, ...] = ()
    """The customer's messages before `said`, latest first."""
    answered: str = ""
    """The assistant's last words before `said`."""
    begun: str = ""
    """The beginning of this very answer: it was cut, and a note asks to go on."""
    images: tuple[Size, ...] = ()
    """The sizes of the images beside the customer's last message."""
    misses_image: bool = False
    """True: a note says that there was an image beside it."""
    instructions: str = ""
    """The system message."""
    context: tuple[str, ...] = ()
    """The marked blocks in the other messages: notes, and the passages of the last message."""
    lines: tuple[Line, ...] = ()
    """Everything that was said, oldest first."""
    found: tuple[Found, ...] = ()
    """The look-ups of this turn."""
    known: tuple[Found, ...] = ()
    """The look-ups of earlier turns."""
    been: frozenset[str] = frozenset()
    """Agents that were in charge in this turn or at its beginning, as far as handovers tell."""
    tools: Toolbox = field(default_factory=Toolbox)
    may_call: bool = True
    """False: the tools are listed, but this message must be words."""
    passes_on: bool = False
    """True: whoever sorts messages must not answer this one itself."""

    def made(self, call: Call) -> bool:
        """True when this very call was made in this turn."""
        return any(found.call == call for found in self.found)

    def results_of(self, offer: Offer | None) -> list[Found]:
        """What this tool has found in this turn."""
        return [found for found in self.found if offer and found.call.name == offer.name]

    def results_about(self, what: str) -> list[Found]:
        """What was found about orders, parcels and so on in this turn, by whichever agent."""
        return [found for found in self.found if found.about == what]


def read_request(body: Mapping[str, Any]) -> Talk:
    """The request, as far as it can be read. Never raises."""
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    instructions = _text(messages[0]) if messages and _is_system(messages[0]) else ""
    shown = next((message.get("content") for message in reversed(messages) if message.get("role") == "user"), None)
    messages = [_without_notes(message) for message in messages]
    messages = _in_full(_unfolded(messages[1:] if instructions else messages))
    turn = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=len(messages))
    context = tuple(_context(messages, turn))
    before, after = messages[:turn], messages[turn + 1 :]
    customer = [_said(message) for message in messages[: turn + 1] if message.get("role") == "user"]
    whole = customer[-1] if customer else ""
    question = whole if _is_one_of_many(before) else ""
    whole = customer[-2] if question else whole
    earlier = customer[:-1]
    looked_up, known = _found(after), _found(before)
    return Talk(
        said=question or whole,
        whole=whole,
        earlier=tuple(reversed(earlier)),
        answered=next((text for text in map(_assistant, reversed(before)) if text), ""),
        begun=_begun(after),
        images=sizes(shown),
        misses_image=without_notes(_text({"content": shown}))[1],
        instructions=instructions,
        context=context,
        lines=tuple(_lines(messages)),
        found=tuple(found for found in looked_up if not found.call.colleague),
        known=tuple(found for found in known if not found.call.colleague),
        been=frozenset(_in_charge(known)[-1:] + _in_charge(looked_up)),
        tools=Toolbox(tuple(_offers(body.get("tools")))),
        may_call=body.get("tool_choice") != "none",
    )


def objects_in(value: Json | None, name: str) -> list[Json]:
    """The objects in the list of that name; none when there is no such list."""
    return [entry for entry in _list((value or {}).get(name)) if isinstance(entry, dict)]


def object_in(text: str) -> Json | None:
    """The object in the text; a line before it (a note about the result) is passed over."""
    start = text.find("{")
    if start < 0 or "\n{" not in f"\n{text}":
        return None
    try:
        value = json.loads(text[start:])
    except (ValueError, RecursionError):
        return _begun_object(text[start:])
    return value if isinstance(value, dict) else None


def _begun_object(text: str) -> Json | None:
    """What is whole in an object that was cut: everything before one of its last commas."""
    commas = [match.start() for match in re.finditer(",", text)]
    for end in reversed(commas[-COMMAS_TRIED:] if text.endswith(_SHORTENED) else ()):
        for closing in ("}", "]}", "}]}"):
            with suppress(ValueError, RecursionError):
                value = json.loads(text[:end] + closing)
                return value if isinstance(value, dict) else None
    return None


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


def disordered(body: Mapping[str, Any]) -> str:
    """Why a provider would refuse this history; empty if none would.

    The system speaks once and first. People and the assistant take turns, and the assistant is not the last. Every
    tool call is answered right after it, and no answer stands without its call.
    """
    open_calls: set[str] = set()
    before = ""
    for number, message in enumerate(_list(body.get("messages"))):
        if not isinstance(message, dict):
            return f"messages[{number}] is not an object."
        role = str(message.get("role"))
        if fault := _misplaced(role, before, number):
            return fault
        before = role
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
    return "Expected last role User or Tool, but got assistant." if before == "assistant" else ""


def _misplaced(role: str, before: str, number: int) -> str:
    """Why a message of this role may not follow one of the role `before`."""
    if role in ("system", "developer"):
        return "System message must be at the beginning." if number else ""
    if role == "user" and before == "tool":
        return "Unexpected role 'user' after role 'tool'."
    if role in ("user", "assistant") and role == before:
        return "Conversation roles must alternate user/assistant/user/assistant/..."
    return ""


def _unfolded(messages: list[Json]) -> list[Json]:
    """The messages with each marked block as a system message of its own, and each person's words apart.

    What the assistant says after a look-up in brackets, so that the roles take turns, is passed over.
    """
    whole: list[Json] = []
    for message in messages:
        match message.get("role"):
            case "user":
                whole += _parts(_text(message))
            case "tool":
                text, blocks = _BLOCK.sub("", _text(message)).rstrip(), _BLOCK.findall(_text(message))
                whole += [
                    {**message, "content": text},
                    *({"role": "system", "content": block, "block": name} for name, block in blocks),
                ]
            case "assistant" if whole and whole[-1].get("role") == "tool" and _BRACKETS.fullmatch(_text(message)):
                pass
            case _:
                whole.append(message)
    return whole


def _context(messages: list[Json], turn: int) -> Iterator[str]:
    """The notes, and the passages right before the message that is the turn's. Earlier passages were for others."""
    begin = turn - sum(1 for _ in itertools.takewhile(_is_system, reversed(messages[:turn])))
    for place, message in enumerate(messages):
        if _is_system(message) and (message.get("block") != "passages" or place >= begin):
            yield _text(message)


def _in_full(messages: list[Json]) -> list[Json]:
    """The messages with the words of the passages that they only name, because an earlier one has them."""
    shown: dict[str, str] = {}

    def name(passage: re.Match[str]) -> str:
        title, marks, body = passage[2], passage[3], passage[4] or ""
        if not marks.endswith(_SHOWN):
            shown[title] = "\n".join(dict.fromkeys([*filter(None, [shown.get(title)]), body.strip("\n")]))
            return passage[0]
        return f"<passage{passage[1]}{title}{marks.removesuffix(_SHOWN)}>\n{shown.get(title, '')}\n</passage>"

    return [
        {**message, "content": _PASSAGE.sub(name, _text(message))}
        if message.get("block") == "passages" or message.get("role") == "tool"
        else message
        for message in messages
    ]


def _parts(text: str) -> list[Json]:
    """What a user's message holds, in order: blocks, and the words of people."""
    parts: list[Json] = []
    end = 0
    for block in _BLOCK.finditer(text):
        parts += [*_words(text[end : block.start()]), {"role": "system", "content": block[2], "block": block[1]}]
        end = block.end()
    return parts + _words(text[end:])


def _words(text: str) -> list[Json]:
    """The words of each person who speaks here."""
    return [{"role": "user", "content": part.strip()} for part in _NEXT_SPEAKER.split(text) if part.strip()]


def _is_one_of_many(before: list[Json]) -> bool:
    """Whether a note says that the customer's last message repeats one question of the message before it."""
    notes = itertools.takewhile(_is_system, reversed(before))
    asks = any(message.get("role") == "user" for message in before)
    return asks and any(_ONLY_NEXT.search(_text(note)) for note in notes)


def _begun(after: list[Json]) -> str:
    """The words after the last look-up, when a note behind them asks to go on."""
    words: list[str] = []
    goes_on = False
    for message in after:
        if message.get("role") == "tool" or _list(message.get("tool_calls")):
            words, goes_on = [], False
        elif text := _assistant(message):
            words.append(text)
            goes_on = False
        elif _is_system(message) and words:
            goes_on = goes_on or bool(_GO_ON.search(_text(message)))
    return "".join(words) if goes_on else ""


def _lines(messages: list[Json]) -> Iterator[Line]:
    for message in messages:
        text = _said(message)
        if not text.strip():
            continue
        if message.get("role") == "assistant":
            yield Line("assistant", text)
        elif message.get("role") == "user":
            tag = _SPEAKER.match(_text(message))
            yield Line("staff" if tag and tag[1] == "staff" else "customer", text)


def _in_charge(found: list[Found]) -> list[str]:
    """Who was put in charge, in order."""
    return [each.call.colleague for each in found if each.call.colleague]


def _found(messages: list[Json]) -> list[Found]:
    calls: dict[str, Call] = {}
    found: list[Found] = []
    for message in messages:
        for call in map(_dict, _list(message.get("tool_calls"))):
            function = _dict(call.get("function"))
            arguments = object_in(str(function.get("arguments", ""))) or {}
            calls[str(call.get("id"))] = Call(str(function.get("name", "")), arguments)
        if message.get("role") == "tool":
            text = _text(message)
            call_ = calls.get(str(message.get("tool_call_id")), Call("", {}))
            found.append(Found(call_, text, object_in(text)))
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


def _is_system(message: Json) -> bool:
    return message.get("role") in ("system", "developer")


def _assistant(message: Json) -> str:
    return _text(message) if message.get("role") == "assistant" else ""


def _without_notes(message: Json) -> Json:
    text = message.get("content")
    return {**message, "content": without_notes(text)[0]} if isinstance(text, str) else message


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


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}
