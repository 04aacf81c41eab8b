"""A procedure as the model follows it: begin the one that fits, note what the customer says, ask for what is missing.

It reads what any model would read: the tools on offer, and the note about the step that is on.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from demo.model.addresses import read_address
from demo.model.asking import SAID
from demo.model.changing import named_lines
from demo.model.conversation import Call, Found, Json, Reply, Talk, objects_in, text_in
from demo.model.intents import drops_it, motive_of
from demo.model.orders import failed, number_of_order
from demo.model.phrases import Phrases
from demo.model.quoting import subjects
from demo.model.requests import read_requests

START, NOTE, LEAVE = "start_procedure", "note", "leave"
_LISTED = re.compile(r"^([a-z][a-z0-9-]*): ", re.MULTILINE)
_NEEDED = re.compile(r"^- ([a-z][a-z0-9_]*): (.+)$", re.MULTILINE)
_GENERAL = frozenset({"order", "item", "parcel"})
"""Words in a procedure's name that do not tell what it is for."""
_MEANS: Mapping[str, str] = {"replacement": "replacement exchange again", "waits": "wait"}
"""A choice -> other words for it."""
_CHOICES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "ask": "What would you like for **{order}**: {choices}?",
        "replacement": "a replacement",
        "refund": "the money back",
        "waits": "to wait",
        "person": "to talk to a person",
    },
    "de": {
        "ask": "Was möchten Sie für **{order}**: {choices}?",
        "replacement": "Ersatz",
        "refund": "das Geld zurück",
        "waits": "warten",
        "person": "mit einem Menschen sprechen",
    },
    "fr": {
        "ask": "Que souhaitez-vous pour **{order}** : {choices} ?",
        "replacement": "un remplacement",
        "refund": "un remboursement",
        "waits": "attendre",
        "person": "parler à quelqu'un",
    },
    "es": {
        "ask": "¿Qué prefieres para **{order}**: {choices}?",
        "replacement": "un reemplazo",
        "refund": "el reembolso",
        "waits": "esperar",
        "person": "hablar con una persona",
    },
    "id": {
        "ask": "Apa yang Anda inginkan untuk **{order}**: {choices}?",
        "replacement": "penggantian",
        "refund": "uang kembali",
        "waits": "menunggu",
        "person": "bicara dengan petugas",
    },
}


def follow(talk: Talk, phrases: Phrases, language: str) -> Reply | None:
    """The next message while a procedure is on, or the call that begins one. None if neither is so."""
    guidance = next((note for note in reversed(talk.context) if note.startswith("A procedure is on")), "")
    if not guidance:
        return _begin(talk)
    if talk.may_call and drops_it(talk.said) and not talk.found:
        return Reply(calls=(Call(LEAVE, {"why": "customer_stopped"}),))
    needed = dict(_NEEDED.findall(guidance.partition("Still needed:")[2].partition("What to do now:")[0]))
    known = dict(_NEEDED.findall(guidance.partition("Known:")[2].partition("Still needed:")[0]))
    for name, form in needed.items():
        call = _next_call(talk, name, form, known)
        if call is not None and talk.may_call and not talk.made(call):
            return Reply(calls=(call,))
    if "two buttons" in guidance:
        return Reply(SAID[language].offered)
    has_noted = any(found.call.name in (NOTE, START) for found in talk.found)
    if "?" in talk.said and not has_noted:
        # Something else: the procedure waits.
        return None
    asked = [(name, form) for name, form in needed.items() if "if there is one" not in form]
    if not asked:
        return None
    name, form = asked[0]
    if number := _unknown_order(talk, name):
        return Reply(phrases.order_missing.format(order=number))
    return Reply(_question(talk, form, known, phrases, language))


def _begin(talk: Talk) -> Reply | None:
    offer = next((each for each in talk.tools.offers if each.name == START), None)
    if offer is None or not talk.may_call or any(found.call.name == START for found in talk.found):
        return None
    requests = read_requests(talk)
    if len(requests) != 1 or not (requests[0].orders or requests[0].change):
        return None
    said = frozenset().union(*subjects(requests[0].text))
    for name in _LISTED.findall(offer.description):
        words = [word for word in name.split("-") if word not in _GENERAL]
        if words and all(said & frozenset().union(*subjects(word)) for word in words):
            return Reply(calls=(Call(START, {"name": name}),))
    return None


def _next_call(talk: Talk, name: str, form: str, known: Mapping[str, str]) -> Call | None:
    """The call that notes a value, or the look-up that it needs. None if the customer has not said it."""
    value: object = None
    if form.startswith("the number of"):
        value = next((number for request in read_requests(talk) for number in request.orders), None)
    elif form.startswith("a list of"):
        order = _order(talk, known)
        if order is None:
            number, look_up = known.get("order", ""), talk.tools.order
            argument = look_up.argument("order") if look_up else None
            return Call(look_up.name, {argument: number}) if number and look_up and argument else None
        lines = named_lines("\n".join((talk.said, *talk.earlier)), order)
        value = [{"line": text_in(each, "line"), "quantity": each.get("quantity", 1)} for each in lines] or None
    elif form.startswith("one of "):
        value = _choice(talk, _values(form))
    elif form.startswith("an address"):
        address = read_address(talk.whole, besides=tuple(known.values()))
        value = asdict(address) if address.is_whole else None
    return None if value is None else Call(NOTE, {"name": name, "value": value})


def _values(form: str) -> list[str]:
    return form.removeprefix("one of ").partition(" (")[0].split(", ")


def _choice(talk: Talk, values: Sequence[str]) -> str | None:
    """The choice that the message names. Why somebody changes their mind is their own affair."""
    motive = motive_of(talk.said)
    if motive in values:
        return motive
    said = frozenset().union(*subjects(talk.said))
    means = {value: frozenset().union(*subjects(_MEANS.get(value, value.replace("_", " ")))) for value in values}
    named = [value for value in values if said & means[value]]
    if len(named) == 1:
        return named[0]
    return "other" if "other" in values else None


def _order(talk: Talk, known: Mapping[str, str]) -> Found | None:
    """The order that was looked up."""
    found = [*talk.results_about("order"), *talk.known]
    number = known.get("order", "")
    return next((each for each in found if not failed(each) and number_of_order(each) == number), None)


def _unknown_order(talk: Talk, name: str) -> str:
    """The number that was noted under this name, if the shop knows no such order of the customer."""
    noted = (found for found in talk.found if found.call.name == NOTE and found.call.arguments.get("name") == name)
    refused = (text_in(found.call.arguments, "value") for found in noted if "no order" in found.content)
    return next(refused, "")


def _question(talk: Talk, form: str, known: Mapping[str, str], phrases: Phrases, language: str) -> str:
    """What to ask for a value."""
    number = known.get("order", "")
    if form.startswith("the number of"):
        return phrases.which_order
    if form.startswith("a list of"):
        order = _order(talk, known)
        articles: list[Json] = objects_in(order.value, "articles") if order else []
        titles = phrases.either.join(text_in(line, "title") for line in articles)
        return SAID[language].asks["article"].format(order=number, articles=titles)
    if form.startswith("an address"):
        return SAID[language].asks["address"].format(order=number)
    words = _CHOICES[language]
    choices = phrases.either.join(words.get(value, value) for value in _values(form))
    return words["ask"].format(order=number, choices=choices)
