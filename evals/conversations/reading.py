"""What a message says to a person who reads it: its words, its sources, its buttons; and a case's card."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evals.conversations.patterns import CASE, NEWER, OFFER, OFFERING_QUESTION, REFUSAL

Json = dict[str, Any]

BOT = "U0FRONTDESK"

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " ", "–": "-"})
_LINKED = re.compile(r"<https?://[^|>]*\|([^>]*)>")


@dataclass(frozen=True, slots=True)
class Seen:
    """A message of the app."""

    ts: str
    text: str
    sources: tuple[str, ...]
    """The titles of the pages below it."""
    buttons: Mapping[str, str]
    """The id of a button -> its words."""
    is_done: bool
    """False while it is being written."""
    is_ephemeral: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything that the app said to one message, before the next."""

    asked: str
    seen: tuple[Seen, ...]
    cases: tuple[str, ...] = ()
    """Cases that are spoken of for the first time."""
    is_public: bool = False

    @property
    def text(self) -> str:
        """Its words. In a channel, without those that one person sees."""
        return "\n".join(each.text for each in self.seen if not (self.is_public and each.is_ephemeral))

    @property
    def sources(self) -> list[str]:
        """The pages below it, each once."""
        return list(dict.fromkeys(source for each in self.seen for source in each.sources))

    @property
    def buttons(self) -> Mapping[str, str]:
        """All its buttons."""
        return {name: words for each in self.seen for name, words in each.buttons.items()}

    @property
    def refuses(self) -> bool:
        """Whether it says that nothing was found."""
        return bool(REFUSAL.search(self.text))

    @property
    def endings(self) -> set[str]:
        """How it ended, which may be several of silent, case, offered, asked, answered; else refused."""
        if not self.seen:
            return {"silent"}
        said = sentences(self.text)
        asked = [each for each in said if each.rstrip('" )').endswith(("?", "？"))]
        offers = [each for each in said if OFFER.search(each)] + [
            each for each in asked if OFFERING_QUESTION.search(each)
        ]
        has_button = any(name == "esc.accept" or name.startswith("act.") for name in self.buttons)
        has_button = has_button or bool(NEWER.search(self.text))
        endings = {
            "case": bool(self.cases),
            "offered": has_button or bool(offers),
            "asked": any(each not in offers for each in asked),
            "answered": not self.cases and not self.refuses,
        }
        return {name for name, holds in endings.items() if holds} or {"refused"}


@dataclass(frozen=True, slots=True)
class Card:
    """A case's card in the staff's channel."""

    case: str
    why: str
    priority: str
    is_open: bool


def read_reply(asked: str, seen: tuple[Seen, ...], known_cases: set[str], *, is_public: bool) -> Reply:
    """The reply of these messages."""
    found = CASE.findall("\n".join(each.text for each in seen if not (is_public and each.is_ephemeral)))
    return Reply(asked, seen, tuple(each for each in dict.fromkeys(found) if each not in known_cases), is_public)


def read_message(message: Json) -> Seen:
    """A message as Slack shows it, whole or while it streams."""
    parts = (message.get("stream") or {}).get("parts") or []
    blocks = message.get("blocks") or [block for part in parts for block in part.get("blocks") or []]
    words, sources = [], []
    if not message.get("blocks"):
        words = [part.get("text", "") for part in parts if part.get("type") == "markdown"]
    for block in blocks:
        told, pages = _read_block(block)
        words += told
        sources += pages
    for part in parts:
        named = [each for each in part.get("sources") or [] if isinstance(each, dict)]
        sources += [each.get("text") or each.get("title") or each.get("url", "") for each in named]
    text = _unmarked("\n".join(filter(None, words))) or _unmarked(message.get("text", ""))
    return Seen(
        ts=message["ts"],
        text=re.sub(r"[ \t]+", " ", text).strip(),
        sources=tuple(sources),
        buttons={
            element.get("action_id", ""): (element.get("text") or {}).get("text", "")
            for element in objects_in(blocks)
            if element.get("type") == "button"
        },
        is_done=message.get("streaming_state") != "in_progress",
        is_ephemeral=message.get("is_ephemeral") is True,
    )


def read_card(message: Json) -> Card | None:
    """The card of a case; None for any other message."""
    blocks = message.get("blocks") or []
    headers = [block for block in blocks if block.get("type") == "header"]
    is_first = message.get("thread_ts", message["ts"]) == message["ts"]
    if not (is_from_app(message) and is_first and "FD-" in json.dumps(headers)):
        return None
    text = _unmarked(message.get("text", ""))
    fields = [each["text"].partition("\n") for block in blocks for each in block.get("fields") or []]
    named = {head.strip("*: ").lower(): _unmarked(rest) for head, _, rest in fields}
    found = CASE.search(text)
    return Card(
        case=found[0] if found else "",
        why=next((value for name, value in named.items() if re.search(r"why|reason|about|cause", name)), text),
        priority=next((value for name, value in named.items() if re.search(r"priorit|urgen", name)), text),
        is_open=any(each.get("action_id") == "case.claim" for each in objects_in(blocks)),
    )


def is_from_app(message: Json) -> bool:
    """Whether the app wrote it."""
    return message.get("user") == BOT or bool(message.get("bot_id"))


def objects_in(node: object) -> Iterator[Json]:
    """Every object in it, the outer ones first."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from objects_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects_in(value)


def sentences(text: str) -> list[str]:
    """Its sentences and lines."""
    return [each.strip() for each in re.split(r"(?<=[.!?…])\s+|\n+", text) if each.strip()]


def _read_block(block: Json) -> tuple[list[str], list[str]]:
    """The words of a block, and the titles of the pages that it names as sources."""
    match block.get("type"):
        case "rich_text":
            return [_rich(block)], []
        case "section" | "header":
            return [each["text"] for each in [block.get("text"), *(block.get("fields") or [])] if each], []
        case "markdown":
            return [block.get("text", "")], []
        case "context":
            return _read_context(block)
    return [], []


def _read_context(block: Json) -> tuple[list[str], list[str]]:
    words, sources = [], []
    for element in block.get("elements") or []:
        text = element.get("text", "")
        if not isinstance(text, str):
            continue
        linked = _LINKED.findall(text)
        if ":books:" in text or linked:
            sources += linked or [text.replace(":books:", "").split("·")[0].strip()]
        else:
            words.append(text)
    return words, sources


def _rich(block: Json) -> str:
    """The words of rich text, a line for each part."""
    lines: list[str] = []
    for part in block.get("elements") or []:
        is_list = part.get("type") == "rich_text_list"
        lines += [_rich_line(item) for item in (part.get("elements") or [] if is_list else [part])]
    return "\n".join(lines)


def _rich_line(part: Json) -> str:
    return "".join(map(_rich_word, part.get("elements") or []))


def _rich_word(element: Json) -> str:
    match element.get("type"):
        case "date":
            return str(element.get("fallback", ""))
        case "emoji":
            return f":{element.get('name')}:"
        case "link":
            return str(element.get("text") or element.get("url", ""))
        case "user":
            return f"<@{element.get('user_id')}>"
    return _rich_line(element) if "elements" in element else str(element.get("text", ""))


def _unmarked(text: str) -> str:
    text = re.sub(r"<!date\^[^|>]*\|([^>]*)>", r"\1", text)
    text = re.sub(r"<(?:https?|mailto)[^|>]*\|([^>]*)>", r"\1", text)
    text = text.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    return re.sub(r"[*`]", "", text).translate(_QUOTES)
