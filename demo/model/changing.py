"""A change that a tool prepares: which call comes next, and the one sentence that is said.

Nothing is ever said to be done: the tools do nothing, and code shows the details, the buttons and the end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from demo.model.addresses import read_address
from demo.model.asking import KINDS, SAID, ChangePhrases, Missing, can_prepare, drops_request, is_offered
from demo.model.conversation import Call, Found, Json, Offer, Talk, objects_in, text_in
from demo.model.intents import means_all, motive_of, wants_another, wants_more
from demo.model.orders import ARRIVED, OVER, failed, failure_told, number_of_order, state_of, state_told
from demo.model.phrases import Phrases
from demo.model.quoting import subjects
from demo.model.requests import Request

CHOICES_NAMED = 6
"""The most variants of an article that a question names."""
_WHOLE = frozenset({"cancel_order", "refund"})
"""What is done with all of an order, where no article is named."""
_UNREASONED = frozenset({"cancel_order", "cancel_lines", "exchange_items"})
"""What is prepared where no reason was given."""
_LEFT = frozenset({"shipped", "partly_shipped", "delivered", "partly_returned"})
"""States of orders that go to no other address any more."""
_HINTS: tuple[tuple[re.Pattern[str], Missing], ...] = (
    (re.compile(r"\breason\b", re.IGNORECASE), "reason"),
    (re.compile(r"\baddress\b", re.IGNORECASE), "address"),
    (re.compile(r"\b(?:payment|method)", re.IGNORECASE), "method"),
    (re.compile(r"\b(?:pieces|quantity)\b", re.IGNORECASE), "quantity"),
    (re.compile(r"\b(?:choices?|variant|stock|should become)\b", re.IGNORECASE), "choice"),
    (re.compile(r"\b(?:articles?|lines?)\b", re.IGNORECASE), "article"),
)
"""What a tool says is missing, by its English words; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question that comes before a call."""

    missing: Missing
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangeTold:
    """What is said about a change."""

    words: Sequence[str]
    calls_person: bool = False


def is_prepared(talk: Talk, request: Request) -> bool:
    """Whether a tool may prepare what is asked for."""
    return request.change is not None and can_prepare(talk, request.change)


def change_calls(talk: Talk, request: Request) -> list[Call]:
    """The next call for each order: the one that prepares the change, and before it what that needs."""
    numbers = _numbers(talk, request)
    known = [number_of_order(found) for found in talk.results_about("order")]
    look_up = talk.tools.order
    argument = look_up.argument("order") if look_up else None
    calls = [Call(look_up.name, {argument: each}) for each in numbers if look_up and argument and each not in known]
    steps = [_step(talk, request, found) for found in _open_orders(talk, numbers)]
    return [*calls, *(step for step in steps if isinstance(step, Call) and not talk.made(step))]


def change_told(talk: Talk, request: Request, phrases: Phrases, language: str) -> ChangeTold:
    """A sentence for each order: that the details are below, the rule that refuses it, or what is still missing."""
    said, numbers = SAID[language], _numbers(talk, request)
    lists = talk.results_about("orders")
    if not numbers and lists and all(map(failed, lists)):
        return ChangeTold([failure_told(lists[0], phrases, missing=phrases.no_orders)])
    if not numbers:
        orders = _candidates(talk, request)
        return ChangeTold(
            [phrases.which_of.format(orders=phrases.either.join(orders)) if orders else phrases.no_orders]
        )
    told = [_order_told(talk, request, found, phrases, said) for found in _open_orders(talk, numbers)]
    return ChangeTold([word for each in told for word in each.words], any(each.calls_person for each in told))


def dropped(talk: Talk, language: str) -> str:
    """What is said to those who let a change go; empty for all others."""
    if drops_request(talk):
        return SAID[language].left
    return SAID[language].not_pressed if is_offered(talk) and motive_of(talk.said) == "changed_mind" else ""


def _order_told(talk: Talk, request: Request, order: Found, phrases: Phrases, said: ChangePhrases) -> ChangeTold:
    number = number_of_order(order)
    step = _step(talk, request, order)
    if isinstance(step, Ask):
        return ChangeTold([_asked(step, order, phrases, said)])
    results = [found for found in talk.results_about("change") if number_of_order(found) == number]
    if step is None or not results:
        cannot = phrases.changes[request.change or "change"].format(order=number)
        return ChangeTold([cannot if request.named else f"{cannot} {phrases.person_offer}"], calls_person=request.named)
    return _result_told(results[-1], order, phrases, said)


def _result_told(result: Found, order: Found, phrases: Phrases, said: ChangePhrases) -> ChangeTold:
    value, number = result.value or {}, number_of_order(order)
    message, reason = str(value.get("message", "")), str(value.get("reason", ""))
    if value.get("offer"):
        return ChangeTold([said.offered])
    if hint := str(value.get("ask", "")):
        missing: Missing = next((missing for form, missing in _HINTS if form.search(hint)), "more")
        return ChangeTold([_asked(Ask(missing), order, phrases, said)])
    if value.get("error") == "left_to_people":
        return ChangeTold([said.with_people])
    if value.get("possible") is not False:
        return ChangeTold([failure_told(result, phrases, missing=phrases.order_missing.format(order=number))])
    if "under way" in message:
        return ChangeTold([said.under_way.format(order=number)])
    if "too many" in message:
        return ChangeTold([said.too_many])
    if "person can decide" in message:
        return ChangeTold([f"{state_told(order, phrases)} {reason}"] if reason else [], calls_person=True)
    return ChangeTold([" ".join(filter(None, (state_told(order, phrases), reason, phrases.person_offer)))])


def _asked(ask: Ask, order: Found, phrases: Phrases, said: ChangePhrases) -> str:
    titles = [text_in(line, "title") for line in objects_in(order.value, "articles")]
    values = {"order": number_of_order(order), "articles": phrases.either.join(titles), **ask.values}
    missing: Missing = "more" if ask.missing == "choice" and "choices" not in values else ask.missing
    return said.asks[missing].format(**values)


def _step(talk: Talk, request: Request, order: Found) -> Call | Ask | None:
    """What comes next for one order; None for what no tool prepares."""
    words = request.words or request.text
    offer = _offer(talk, request, order)
    if offer is None:
        return None
    arguments: Json = {offer.argument("order") or "order_id": number_of_order(order)}
    lines = named_lines(words, order)
    if "lines" in offer.properties:
        if not lines and offer.change not in _WHOLE:
            return Ask("article")
        arguments["lines"] = [{"line": text_in(each, "line"), "quantity": each.get("quantity", 1)} for each in lines]
    if "reason" in offer.properties:
        is_told = offer.change in _UNREASONED or request.tells_reason
        motive = motive_of(words) or ("other" if is_told else None)
        if motive is None:
            return Ask("reason")
        arguments["reason"] = motive
    if "address" in offer.properties:
        address = read_address(request.words or talk.whole, besides=(number_of_order(order),))
        if not address.is_whole:
            return Ask("address")
        arguments["address"] = asdict(address)
    if "swaps" in offer.properties:
        return _swap(talk, words, lines, offer, arguments)
    return Call(offer.name, arguments)


def _swap(talk: Talk, words: str, lines: Sequence[Json], offer: Offer, arguments: Json) -> Call | Ask | None:
    """The exchange of one line, for the one variant that the words name among those there are."""
    if len(lines) != 1:
        return Ask("article")
    if talk.tools.choices is None:
        return None
    number, line = next(iter(arguments.values())), text_in(lines[0], "line")
    look_up = Call(talk.tools.choices.name, {"order_id": number, "line": line})
    found = next((each for each in talk.found if each.call == look_up), None)
    if found is None:
        return look_up
    title = text_in(lines[0], "title")
    choices = [each for each in objects_in(found.value, "choices") if text_in(each, "title") != title]
    others = _words(words)
    named = [each for each in choices if _words(text_in(each, "title")) - _words(title) <= others]
    if len(named) != 1:
        in_stock = [text_in(each, "title") for each in choices if each.get("available") != 0][:CHOICES_NAMED]
        return Ask("choice", {"choices": " / ".join(in_stock)}) if in_stock else None
    return Call(offer.name, {**arguments, "swaps": [{"line": line, "variant": text_in(named[0], "variant")}]})


def _offer(talk: Talk, request: Request, order: Found) -> Offer | None:
    """The tool for it, as far as the order has come."""
    tools, words = talk.tools.changes, request.words or request.text
    lines = objects_in(order.value, "articles")
    named = named_lines(words, order)
    has_left = state_of(order.value or {}) in _LEFT
    match request.change:
        case "address" if has_left:
            return None
        case "items" if wants_another(words):
            return tools.get("exchange_items" if has_left else "change_order_items")
        case "items" if wants_more(words):
            return None
        case "items" | "cancel" if len(lines) > 1 and 0 < len(named) < len(lines):
            return tools.get("cancel_lines")
        case "items" if len(lines) > 1 and not named:
            return tools.get("cancel_lines")
        case "items" | "cancel":
            return tools.get("cancel_order")
        case None:
            return None
    return next((tools[kind] for kind in KINDS.get(request.change, ()) if kind in tools), None)


def named_lines(words: str, order: Found) -> list[Json]:
    """The lines whose articles the words name: by a word that is in no other title, or the only line there is."""
    lines = objects_in(order.value, "articles")
    if len(lines) == 1 or means_all(words):
        return lines
    about = _named_in(words)
    titles = [_named_in(text_in(line, "title")) for line in lines]
    own = [title.difference(*(other for other in titles if other is not title)) for title in titles]
    return [line for line, title in zip(lines, own, strict=True) if title & about]


def _named_in(text: str) -> set[str]:
    """The words by which an article is known, with the English ones for them; sizes are none."""
    return {word for word in _words(text).union(*subjects(text)) if len(word) > 2 and not re.search(r"\d", word)}


def _words(text: str) -> set[str]:
    return {word.rstrip("s") or word for word in re.findall(r"[^\W_]+", text.casefold())}


def _numbers(talk: Talk, request: Request) -> Sequence[str]:
    """The orders that it is about: those that are named, or the only one that it can be."""
    candidates = _candidates(talk, request)
    return request.orders or (candidates if len(candidates) == 1 else ())


def _candidates(talk: Talk, request: Request) -> list[str]:
    """The customer's orders that it may be about."""
    orders = [order for found in talk.results_about("orders") for order in objects_in(found.value, "orders")]
    has_come = request.change in ("return", "refund")
    fit = [each for each in orders if (state_of(each) == "delivered" if has_come else state_of(each) not in ARRIVED)]
    return [text_in(order, "order", "id") for order in fit]


def _open_orders(talk: Talk, numbers: Sequence[str]) -> list[Found]:
    """Those of the orders that were found and are not over."""
    found = [each for each in talk.results_about("order") if number_of_order(each) in numbers and not failed(each)]
    return [each for each in found if state_of(each.value or {}) not in OVER]
