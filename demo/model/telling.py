"""The stand-in's answers in words: for each request what was found, or what the help pages say about it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from demo.model.changing import change_told, is_prepared
from demo.model.conversation import Found, Talk, objects_in, text_in
from demo.model.intents import Wants
from demo.model.language import language_of
from demo.model.orders import ARRIVED, OVER, failed, number_of_order, request_told, state_of, state_told
from demo.model.phrases import Phrases
from demo.model.quoting import (
    QUOTE_LIMIT,
    Passage,
    Quote,
    asks_for,
    best_quote,
    covers,
    names_subject,
    read_passages,
    search_words,
    subjects,
)
from demo.model.requests import Request

GOOD_FIT = 0.5
"""A quotation that carries this share of the question is answered with at once."""
LAST_FIT = 0.3
"""After another search, this much will do."""
UNTITLED_FIT = 0.55
"""What it takes of an uncertain passage, or of one shared word, where the page's title does not speak of it."""
THINGS_FIT = 0.8
"""What it takes where the question names nothing that shops are asked, and the page's title none of its words."""
WEAK_FIT = 0.12
"""With at least this much the stand-in asks which of two pages is meant; below it, it does not know."""
NOT_SURE = "NOT_SURE"
"""What a desk may ask for where none of the passages at hand answers."""
QUERY_LIMIT = 300
"""Characters of a search."""
SHORT_QUOTE = 320
"""Characters of each of many quotations."""
PART_LIMIT = 120
"""Characters of a request that is named as open."""

_BROKEN = "warranty claim faulty"
_ARRIVED_BROKEN = "item damaged"
_LATE = "late"
_TROUBLES = frozenset({"broken", "damaged", "faulty", "work", "wrong", "arrive", "back"})
"""Subjects that trouble speaks of anyway."""
_KINDS = {"time": "how long", "price": "costs", "steps": "how to"}
"""What a kind of answer is called in headings."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer."""

    text: str
    calls_person: bool = False
    """Whether a person is called with it, for what no tool can do."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the passages at hand hold about one request."""

    passages: Sequence[Passage]
    quote: Quote | None

    @property
    def carry(self) -> bool:
        """Whether it is answered with at once."""
        return self.quote is not None and self.quote.fit >= GOOD_FIT and self.quote.headed and self.quote.apt


def small_talk(talk: Talk, wants: Wants, phrases: Phrases) -> str:
    """The answer to a message that asks for nothing; empty for any other."""
    if not talk.said.strip() or (wants.only_talk and wants.greets):
        return phrases.greeting
    if wants.chat:
        return phrases.chats[wants.chat]
    if not wants.only_talk:
        return ""
    return phrases.farewell if wants.leaves else phrases.thanks


def search_query(talk: Talk, request: Request) -> str:
    """What to search the help pages for; empty when they are not asked."""
    whole = f"{request.page} {request.before}".strip()
    if not request.page or not (subjects(whole) or request.wants.sees):
        return ""
    words = [_KINDS.get(asks_for(request.page), ""), search_words(whole), *_troubles(request)]
    return (" ".join(filter(None, words)) or whole)[:QUERY_LIMIT]


def passages_for(talk: Talk, request: Request, *, limit: int = QUOTE_LIMIT) -> Material:
    """The passages of the request's own search, before those that came with the message."""
    query = search_query(talk, request)
    own = [found.content for found in talk.results_about("pages") if query in found.call.arguments.values()]
    passages = _interleaved(read_passages(own), read_passages(talk.context))
    if not query:
        return Material(passages, None)
    if troubles := " ".join(_troubles(request)):
        main = f"{request.before} {troubles}" if request.wants.late else troubles
        return Material(passages, best_quote(main, passages, before=f"{request.page} {request.before}", limit=limit))
    return Material(passages, best_quote(request.page, passages, before=request.before, limit=limit))


def _interleaved(*lists: Sequence[Passage]) -> list[Passage]:
    """The best of each, then the second of each, and so on; each once."""
    ranks = range(max(map(len, lists), default=0))
    return list(dict.fromkeys(each[rank] for rank in ranks for each in lists if rank < len(each)))


def _troubles(request: Request) -> list[str]:
    """What the trouble is called in the help pages."""
    wants = request.wants
    if wants.late:
        return [_LATE]
    if (wants.damage or wants.sees) and not names_subject(request.page, besides=_TROUBLES):
        return [_ARRIVED_BROKEN if wants.where or wants.of_parcel or wants.sees else _BROKEN]
    return []


def tell(talk: Talk, requests: Sequence[Request], phrases: Phrases, language: str) -> Told:
    """Everything that was found, in the order it was asked, and which part is open."""
    told: list[str] = []
    open_parts: list[Request] = []
    quotes: list[Quote] = []
    calls_person = False
    for request in requests:
        if request.change:
            words, calls = _told_change(talk, request, phrases, language)
            calls_person = calls_person or calls
        else:
            words = request_told(talk, request, phrases)
            quote = passages_for(talk, request, limit=QUOTE_LIMIT if len(requests) < 3 else SHORT_QUOTE).quote
            if quote and quote.fit >= _least(quote, language, beside=bool(words)):
                is_told = any(quote.title == each.title and covers(each.text, request.page) for each in quotes)
                words = words if is_told else [*words, _quoted(quote, phrases, language)]
                quotes.append(quote)
            elif not words:
                open_parts.append(request)
        told += words
    if not told and not calls_person:
        return Told(_nothing_told(talk, requests, phrases))
    told += [f"{phrases.part_open.format(question=_short(part.text))} {phrases.person_offer}" for part in open_parts]
    if any(_is_sorry_for(request) for request in requests) and not any(phrases.sorry in each for each in told):
        told.insert(0, phrases.sorry)
        if any(request.wants.late for request in requests):
            told.append(phrases.person_offer)
    return Told(_together(told, phrases, offers=not calls_person), calls_person)


def _least(quote: Quote, language: str, *, beside: bool) -> float:
    """The fit that a quotation needs, alone or beside something else that was found.

    In a foreign question the words that the glossary does not hold are not seen, so things alone never suffice.
    """
    if not quote.asked and language != "en":
        return math.inf
    if not quote.asked:
        return GOOD_FIT if quote.titled and not quote.uncertain else THINGS_FIT
    if not quote.titled:
        return UNTITLED_FIT if quote.uncertain or quote.shared < 2 else LAST_FIT
    return GOOD_FIT if beside or (quote.uncertain and not quote.headed) else LAST_FIT


def _is_sorry_for(request: Request) -> bool:
    return (request.wants.trouble or request.wants.late) and not request.change and bool(request.page)


def _together(told: Sequence[str], phrases: Phrases, *, offers: bool) -> str:
    """The paragraphs, each once; the offer of a person stands at the end, once."""
    offered = offers and any(phrases.person_offer in each for each in told)
    kept = [each.replace(phrases.person_offer, "").strip() for each in told]
    return "\n\n".join([*dict.fromkeys(filter(None, kept)), *([phrases.person_offer] if offered else [])])


def _nothing_told(talk: Talk, requests: Sequence[Request], phrases: Phrases) -> str:
    """A question back where that may help; else that nothing was found."""
    if any(request.is_about_orders for request in requests):
        return phrases.which_order if talk.tools.order else f"{phrases.no_order_data} {phrases.person_offer}"
    if len(requests) == 1 and (pages := _nearest_pages(talk, requests[0])):
        return phrases.unsure.format(pages=phrases.either.join(f"**{page.rstrip('?')}**" for page in pages))
    material = read_passages([*talk.context, *(found.content for found in talk.found)])
    return NOT_SURE if material and NOT_SURE in talk.instructions else f"{phrases.unknown} {phrases.person_offer}"


def _nearest_pages(talk: Talk, request: Request) -> list[str]:
    """Two pages that may be meant; none when there are not two that come near."""
    pages: list[str] = []
    left = passages_for(talk, request).passages
    while len(pages) < 2:
        quote = best_quote(request.page, left, before=request.before)
        if quote is None or quote.fit < WEAK_FIT or not quote.about:
            return []
        pages.append(quote.title)
        left = [passage for passage in left if passage.title.split(" › ")[0] != quote.title]
    return pages


def _told_change(talk: Talk, request: Request, phrases: Phrases, language: str) -> tuple[list[str], bool]:
    """How far the order is, what the pages say, and that the assistant cannot do it; whether a person is called.

    A person is called for an order that the message names, and offered where the order was only meant.
    """
    if request.unclear:
        return request_told(talk, request, phrases), False
    found = [each for each in talk.results_about("order") if number_of_order(each) in request.orders]
    if is_prepared(talk, request):
        return _told_prepared(talk, request, found, phrases, language)
    if not found and (listed := _changeable(talk)) is not None:
        return _told_which(listed, request, phrases)
    if not found:
        return [], True
    told = (
        request_told(talk, request, phrases) if request.change == "faster" else [state_told(x, phrases) for x in found]
    )
    if all(failed(each) for each in found):
        return told, False
    done = [each for each in found if not failed(each) and state_of(each.value or {}) in OVER]
    if len(done) == len(found):
        return [*told, phrases.person_offer], False
    quote = passages_for(talk, request).quote
    if quote and quote.fit >= GOOD_FIT:
        told.append(_quoted(quote, phrases, language))
    told += [
        _cannot(number_of_order(each), request, phrases) for each in found if each not in done and not failed(each)
    ]
    calls = request.named and request.change != "faster"
    return (told if calls else [*told[:-1], f"{told[-1]} {phrases.person_offer}"]), calls


def _told_prepared(
    talk: Talk, request: Request, found: Sequence[Found], phrases: Phrases, language: str
) -> tuple[list[str], bool]:
    """What the tools that prepare it say, and why it is not asked of them; whether a person is called."""
    missing = [state_told(each, phrases) for each in found if failed(each)]
    over = [
        f"{state_told(each, phrases)} {phrases.person_offer}"
        for each in found
        if not failed(each) and state_of(each.value or {}) in OVER
    ]
    if found and len(missing) + len(over) == len(found):
        return [*missing, *over], False
    told = change_told(talk, request, phrases, language)
    return [*missing, *over, *told.words], told.calls_person


def _cannot(number: str, request: Request, phrases: Phrases) -> str:
    return phrases.changes[request.change or "change"].format(order=number)


def _changeable(talk: Talk) -> Sequence[str] | None:
    """The customer's orders that are not over; None when they were not listed."""
    lists = [found for found in talk.results_about("orders") if not failed(found)]
    if not lists:
        return None
    orders = [order for found in lists for order in objects_in(found.value, "orders")]
    return [text_in(order, "order", "id") for order in orders if state_of(order) not in ARRIVED]


def _told_which(numbers: Sequence[str], request: Request, phrases: Phrases) -> tuple[list[str], bool]:
    if not numbers:
        return [phrases.no_orders], False
    if len(numbers) == 1:
        return [f"{_cannot(numbers[0], request, phrases)} {phrases.person_offer}"], False
    return [phrases.which_of.format(orders=phrases.either.join(numbers))], False


def _short(text: str) -> str:
    return text if len(text) <= PART_LIMIT else text[: PART_LIMIT - 1] + "…"


def _quoted(quote: Quote, phrases: Phrases, language: str) -> str:
    intro = language_note(quote, phrases, language) or phrases.quote.format(page=quote.title or "?")
    mark = "" if quote.listed else "> "  # Slack knows no lists inside quotations
    return f"{intro}\n\n{mark}{quote.text}"


def language_note(quote: Quote, phrases: Phrases, language: str) -> str:
    """What to say before a quotation in another language than the customer's; empty for one in theirs."""
    foreign = language != "en" and language_of(quote.text) == "en"
    return phrases.quote_foreign.format(page=quote.title or "?") if foreign else ""
