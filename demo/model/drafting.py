"""Who writes drafts for the team: the facts of the conversation and its passages, in the voice that is asked for.

short      the first fact, in its first sentences
warm       a sentence of understanding, the fact, an invitation to write again
thorough   the customer's words, every fact, what happens next
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from demo.model.conversation import Call, Found, Json, Reply, Talk, tracking_numbers_in
from demo.model.intents import Reason, Wants, read_wants
from demo.model.language import language_of
from demo.model.orders import found_told
from demo.model.person import short
from demo.model.phrases import PHRASES, Phrases, dated
from demo.model.quoting import Passage, Quote, best_quote, read_passages, subjects
from demo.model.splitting import requests_in
from demo.model.telling import LAST_FIT, language_note

SHORT_CHARACTERS = 240
"""Where the short voice stops, at the end of a sentence."""
PAGES_QUOTED = 2
"""By the thorough voice."""

_VOICE = re.compile(r"\bvoice\W+(?:is\W+)?(\w+)", re.IGNORECASE)
_LOOK_UP = re.compile(r"^(\w+): (\{.*\})$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_OPENINGS: Mapping[Reason, str] = {
    "change": "wish",
    "upset": "upset",
    "billing": "upset",
    "legal": "upset",
    "security": "upset",
}


@dataclass(frozen=True, slots=True)
class _Matter:
    """What a draft is to answer."""

    words: str
    """What the customer's latest message with a wish in it asks for."""
    wants: Wants
    facts: tuple[str, ...]
    """Paragraphs: look-ups first, then what the pages say."""
    says: Mapping[str, str]
    """The sentences of voices.yml in the customer's language."""


def draft(talk: Talk) -> Reply:
    """The draft."""
    messages = [line.text for line in reversed(talk.lines) if line.speaker == "customer"] or [talk.said]
    language = language_of(messages[0], messages[1:])
    words = next(filter(None, map(_wish, messages)), messages[0])
    wants, voice = read_wants(words), _voice(talk.instructions)
    told_in_full = replace(wants, contents=True) if voice == "thorough" else wants
    facts = [dated(fact, language) for fact in _facts(talk, words, told_in_full, language)]
    told_already = "\n".join(line.text for line in talk.lines if line.speaker == "staff")
    open_facts = tuple(fact for fact in facts if fact not in told_already)
    return Reply(_VOICES[voice](_Matter(words, wants, open_facts, _sentences()[language])))


def _voice(instructions: str) -> str:
    named = _VOICE.findall(instructions)
    return next((voice.lower() for voice in reversed(named) if voice.lower() in _VOICES), "short")


def _wish(message: str) -> str:
    """What a message asks for, without the wish for a person, which is fulfilled; empty for nothing."""
    return " ".join(part for part in requests_in(message) if subjects(part) and read_wants(part).person != "person")


def _facts(talk: Talk, words: str, wants: Wants, language: str) -> list[str]:
    phrases = PHRASES[language]
    found = [*talk.known, *talk.found, *_listed(talk.context)]
    meant = _meant(found, {*wants.orders, *wants.parcels})
    about_orders = wants.orders or wants.parcels or wants.own_orders or wants.where
    told = found_told(Talk(found=tuple(meant)), wants, phrases) if about_orders else []
    if not told and wants.own_listed:
        return [phrases.which_order]
    # It is a person who writes: there is none to be offered.
    told = [fact.replace(phrases.person_offer, "").strip() for fact in told]
    return told + [_quoted(quote, phrases, language) for quote in _quotes(words, read_passages(talk.context))]


def _meant(found: Sequence[Found], numbers: set[str]) -> list[Found]:
    """The look-ups of what the customer named, with the parcels of an order; all of them when nothing was named."""
    named = [each for each in found if any(number in each.content for number in numbers)]
    parcels = {number for each in named for number in tracking_numbers_in(each.value or {})}
    return [each for each in found if not numbers or each in named or any(own in each.content for own in parcels)]


def _quotes(words: str, passages: Sequence[Passage]) -> list[Quote]:
    """The best passage, then the best of another page."""
    quotes: list[Quote] = []
    left = list(passages)
    while len(quotes) < PAGES_QUOTED and (quote := best_quote(words, left)) and quote.fit >= LAST_FIT:
        quotes.append(quote)
        left = [passage for passage in left if passage.title.split(" › ")[0] != quote.title]
    return quotes


def _quoted(quote: Quote, phrases: Phrases, language: str) -> str:
    """The page's words as they stand; in another language than the customer's, with a word about that."""
    note = language_note(quote, phrases, language)
    return f"{note}\n\n{quote.text}" if note else quote.text


def _listed(context: Sequence[str]) -> list[Found]:
    """Look-ups that a system message lists, one a line: the tool, then what it returned."""
    listed = []
    for tool, text in (match.groups() for note in context for match in _LOOK_UP.finditer(note)):
        try:
            value = json.loads(text)
        except ValueError:
            continue  # it was cut on its way
        listed.append(Found(Call(tool, _arguments(value)), text, value))
    return listed


def _arguments(value: Json) -> Json:
    """What must have been asked for to get this."""
    for name, entry in (("tracking_number", value.get("tracking_number")), ("order_id", value.get("order"))):
        if isinstance(entry, str):
            return {name: entry}
    return {}


def _short(matter: _Matter) -> str:
    if not matter.facts:
        return matter.says["looking"]
    fact = matter.facts[0].split("\n\n")[-1]
    if "\n" in fact:
        return fact
    cut = ""
    for sentence in _SENTENCE_END.split(fact):
        if cut and len(cut) + len(sentence) > SHORT_CHARACTERS:
            break
        cut = f"{cut} {sentence}".strip()
    return cut


def _warm(matter: _Matter) -> str:
    return "\n\n".join([matter.says[_opening(matter.wants)], *_said(matter, most=1, closing="closing")])


def _thorough(matter: _Matter) -> str:
    intro = matter.says["matter"].format(matter=short(matter.words, 160))
    return "\n\n".join([intro, *_said(matter, most=len(matter.facts), closing="next")])


def _said(matter: _Matter, *, most: int, closing: str) -> Iterator[str]:
    """The facts and what comes after them: to a wish that a person must decide on, that they look into it."""
    yield from matter.facts[:most]
    if not matter.facts or matter.wants.person in _OPENINGS:
        yield matter.says["looking"]
    if matter.wants.person not in _OPENINGS:
        yield matter.says[closing]


def _opening(wants: Wants) -> str:
    if wants.person and wants.person in _OPENINGS:
        return _OPENINGS[wants.person]
    if wants.trouble:
        return "sorry"
    return "waiting" if wants.where or wants.orders or wants.parcels else "asked"


_VOICES: Mapping[str, Callable[[_Matter], str]] = {"short": _short, "warm": _warm, "thorough": _thorough}


@cache
def _sentences() -> Mapping[str, Mapping[str, str]]:
    loaded: Mapping[str, Mapping[str, str]] = yaml.safe_load(
        (Path(__file__).parent / "voices.yml").read_text(encoding="utf-8")
    )
    return loaded
