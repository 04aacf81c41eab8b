"""The stand-in's answers in words: what the tools have found, then what the help pages say about the rest."""

from collections.abc import Iterable

from demo.model.conversation import PARCEL_HINTS, Found, Json, Talk, objects_in, text_in, tracking_numbers_in
from demo.model.intents import Wants, read_wants
from demo.model.language import language_of
from demo.model.phrases import Phrases
from demo.model.quoting import Quote, best_quote, read_passages
from demo.model.splitting import requests_in
from demo.model.topics import leant_on

GOOD_FIT = 0.5
"""A quotation that carries this share of the question is answered with at once."""
LAST_FIT = 0.3
"""After another search, this much will do; below it the stand-in does not know."""
NOT_SURE = "NOT_SURE"
"""What the desk asks for when the passages at hand were uncertain, and none of them answers."""
UNCERTAIN = ' uncertain="yes">'
"""The end of such a passage's mark."""
ARRIVED = frozenset({"delivered", "cancelled", "returned", "refunded"})
"""States in which nothing is on its way any more."""


def small_talk(talk: Talk, wants: Wants, phrases: Phrases) -> str:
    """The answer to a message that asks for nothing; empty for any other."""
    if not talk.said.strip() or (wants.only_talk and wants.greets):
        return phrases.greeting
    if wants.abilities:
        return phrases.abilities
    if not wants.only_talk:
        return ""
    return phrases.farewell if wants.leaves else phrases.thanks


def tell(talk: Talk, wants: Wants, phrases: Phrases, language: str) -> str:
    """Everything that was found, in the order it was asked; then, if a part is still open, the help pages."""
    told = found_told(talk, wants, phrases)
    question = open_question(talk, wants) if told else talk.said
    material = [*talk.context, *(found.content for found in talk.found)]
    is_uncertain = any(UNCERTAIN in text for text in material)
    quote = best_quote(question, read_passages(material), before="" if told else leant_on(talk))
    if quote and quote.fit >= (GOOD_FIT if told or is_uncertain else LAST_FIT):
        told.append(_quoted(quote, phrases, language))
    elif told and question and talk.results_about("pages"):
        told.append(f"{phrases.part_open.format(question=question)} {phrases.person_offer}")
    if told:
        return "\n\n".join(told)
    if wants.own_listed:
        return phrases.which_order if talk.tools.order else f"{phrases.no_order_data} {phrases.person_offer}"
    if is_uncertain:
        return NOT_SURE
    return f"{phrases.unknown} {phrases.person_offer}"


def open_question(talk: Talk, wants: Wants) -> str:
    """The requests of the message that are about neither an order nor a parcel of theirs."""
    own = set(wants.orders) | set(wants.parcels)
    return " ".join(part for part in requests_in(talk.said) if not _is_about_orders(part, own))


def _is_about_orders(part: str, numbers: set[str]) -> bool:
    wants = read_wants(part)
    leans = wants.leans and (wants.where or wants.contents)
    return wants.own_listed or leans or any(number in part.upper() for number in numbers)


def found_told(talk: Talk, wants: Wants, phrases: Phrases) -> list[str]:
    """One paragraph for each order and each parcel; what failed is said once."""
    parcels = talk.results_about("parcel")
    told = [_told_list(found, parcels, wants, phrases) for found in talk.results_about("orders")]
    told += [_told_order(found, parcels, wants, phrases) for found in talk.results_about("order")]
    told += [_told_parcel(found, phrases) for found in parcels if _belongs_to_none(found, talk)]
    return list(dict.fromkeys(told))


def _told_order(found: Found, parcels: Iterable[Found], wants: Wants, phrases: Phrases) -> str:
    order = found.value or {}
    number = text_in(found.call.arguments, "order") or text_in(order, "order", "id")
    if failure := _failure(found, phrases, missing=phrases.order_missing.format(order=number)):
        return failure
    state = str(order.get("status", "unknown"))
    told = [phrases.order.format(order=number, status=phrases.order_states.get(state, phrases.order_states["unknown"]))]
    own = set(tracking_numbers_in(order))
    checked = [parcel for parcel in parcels if _number_of(parcel) in own]
    if wants.contents or not checked:
        articles = [f"{article.get('quantity', 1)} × {article.get('title', '')}" for article in _articles(order)]
        told += [phrases.articles.format(articles=", ".join(articles))] if articles else []
        told.append(phrases.placed.format(placed=order.get("placed", "?"), total=order.get("total", "?")))
    if wants.contents and (paid := phrases.payment_states.get(str(order.get("payment")))):
        told.append(phrases.payment.format(status=paid))
    if state in ("pending", "processing"):
        told.append(phrases.unshipped)
    if state == "unknown":
        told.append(phrases.person_offer)
    lines = [_told_parcel(parcel, phrases) for parcel in checked]
    return (
        " ".join([*told, *lines]) if len(lines) < 2 else "\n".join([" ".join(told), *(f"- {line}" for line in lines)])
    )


def _told_parcel(found: Found, phrases: Phrases) -> str:
    parcel, number = found.value or {}, _number_of(found)
    missing, silent = phrases.parcel_missing.format(number=number), phrases.tracking_silent.format(number=number)
    if failure := _failure(found, phrases, missing=missing, silent=silent):
        return failure
    state = str(parcel.get("status", "unknown"))
    status = phrases.parcel_states.get(state, phrases.parcel_states["unknown"])
    told = [phrases.parcel.format(number=number, carrier=parcel.get("carrier", "?"), status=status)]
    scans = objects_in(parcel, "scans") or objects_in(parcel, "events")
    if scans:
        at = ", ".join(filter(None, [text_in(scans[0], "place", "location"), text_in(scans[0], "at", "time", "date")]))
        told.append(phrases.scan.format(what=text_in(scans[0], "carrier_wrote", "description", "status"), at=at))
    if state not in ARRIVED | {"lost"} and (expected := text_in(parcel, "expected", "eta")):
        told.append(phrases.expected.format(expected=expected))
    if state in ("lost", "unknown"):
        told = [phrases.sorry, *told, phrases.person_offer] if state == "lost" else [*told, phrases.person_offer]
    return " ".join(told)


def _told_list(found: Found, parcels: Iterable[Found], wants: Wants, phrases: Phrases) -> str:
    if failure := _failure(found, phrases, missing=phrases.no_orders):
        return failure
    orders = objects_in(found.value, "orders")
    if not orders:
        return phrases.no_orders
    checked = {_number_of(parcel): parcel for parcel in parcels}
    shown = [order for order in orders if order.get("status") not in ARRIVED] if wants.where else orders
    lines = [phrases.listed]
    for order in shown or orders[:3]:
        number, state = text_in(order, "order", "id"), str(order.get("status", "unknown"))
        status = phrases.order_states.get(state, phrases.order_states["unknown"])
        line = f"- **{number}** {status} ({order.get('placed', '?')}, {order.get('total', '?')})."
        own = [checked[tracking] for tracking in tracking_numbers_in(order) if tracking in checked]
        lines.append(" ".join([line, *(_told_parcel(parcel, phrases) for parcel in own)]))
    return "\n".join(lines)


def _failure(found: Found, phrases: Phrases, *, missing: str, silent: str = "") -> str:
    """What to say when the tool had to say no; empty when it found something."""
    value = found.value
    if value is not None and value.get("available") is False:
        return f"{phrases.no_order_data} {phrases.person_offer}"
    if value is not None and (value.get("found") is False or value.get("error") == "invalid_arguments"):
        return missing
    if value is None or "error" in value:
        return f"{silent or phrases.shop_silent} {phrases.person_offer}"
    return ""


def _quoted(quote: Quote, phrases: Phrases, language: str) -> str:
    intro = language_note(quote, phrases, language) or phrases.quote.format(page=quote.title or "?")
    mark = "" if quote.listed else "> "  # Slack knows no lists inside quotations
    return f"{intro}\n\n{mark}{quote.text}"


def language_note(quote: Quote, phrases: Phrases, language: str) -> str:
    """What to say before a quotation in another language than the customer's; empty for one in theirs."""
    foreign = language != "en" and language_of(quote.text) == "en"
    return phrases.quote_foreign.format(page=quote.title or "?") if foreign else ""


def _belongs_to_none(found: Found, talk: Talk) -> bool:
    """True for a parcel that no order of this turn mentions: it gets a paragraph of its own."""
    return _number_of(found) not in {
        number
        for other in talk.found
        for order in [other.value or {}, *objects_in(other.value, "orders")]
        if other.about != "parcel"
        for number in tracking_numbers_in(order)
    }


def _number_of(parcel: Found) -> str:
    return text_in(parcel.call.arguments, *PARCEL_HINTS)


def _articles(order: Json) -> list[Json]:
    return (objects_in(order, "articles") or objects_in(order, "items") or objects_in(order, "lines"))[:6]
