"""The words for orders and parcels: what the look-ups of a turn have found."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from demo.model.conversation import PARCEL_HINTS, Found, Json, Talk, objects_in, text_in, tracking_numbers_in
from demo.model.intents import Wants
from demo.model.phrases import Phrases
from demo.model.requests import Request

ARRIVED = frozenset({"delivered", "cancelled", "returned", "refunded"})
"""States in which nothing is on its way any more."""
OVER = frozenset({"cancelled", "refunded"})
"""States in which nothing can be cancelled or paid back any more."""


def found_told(talk: Talk, wants: Wants, phrases: Phrases) -> list[str]:
    """One paragraph for each order and each parcel; what failed is said once."""
    parcels = talk.results_about("parcel")
    told = [_told_list(found, parcels, wants, phrases) for found in talk.results_about("orders")]
    told += [_told_order(found, parcels, wants, phrases) for found in talk.results_about("order")]
    told += [_told_parcel(found, phrases) for found in parcels if _belongs_to_none(found, talk)]
    return list(dict.fromkeys(told))


def request_told(talk: Talk, request: Request, phrases: Phrases) -> list[str]:
    """What was found for one request: all about each order, or the one thing that is asked of it."""
    if request.unclear:
        return [phrases.which_of.format(orders=phrases.either.join(request.orders))]
    orders = [found for found in talk.results_about("order") if number_of_order(found) in request.orders]
    mine = [found for found in talk.results_about("orders") if request.listed]
    parcels = [found for found in talk.results_about("parcel") if _number_of(found) in request.parcels]
    listed = [number for found in orders for number in tracking_numbers_in(found.value or {})]
    wanted = replace(talk, found=tuple(each for each in [*mine, *orders] if each in talk.found))
    tracked = [found for found in talk.results_about("parcel") if _number_of(found) in listed]
    if request.listed:
        tracked = talk.results_about("parcel")
    told = [_told_list(found, tracked, request.wants, phrases) for found in wanted.results_about("orders")]
    for found in orders:
        one_thing = "" if failed(found) else _one_thing(found, tracked, request, phrases)
        told.append(one_thing or _told_order(found, tracked, request.wants, phrases))
    told += [_told_parcel(found, phrases) for found in parcels if _number_of(found) not in listed]
    return list(dict.fromkeys(told))


def state_told(found: Found, phrases: Phrases) -> str:
    """How far the order is, in one sentence; or why that cannot be told."""
    order, number = found.value or {}, number_of_order(found)
    if failure := failure_told(found, phrases, missing=phrases.order_missing.format(order=number)):
        return failure
    state = phrases.order_states.get(state_of(order), phrases.order_states["unknown"])
    return phrases.order.format(order=number, status=state)


def failed(found: Found) -> bool:
    """Whether the tool had to say no."""
    value = found.value
    return value is None or "error" in value or value.get("found") is False or value.get("available") is False


def state_of(order: Json) -> str:
    """The order's state."""
    return str(order.get("status", "unknown"))


def number_of_order(found: Found) -> str:
    """The order that was looked up."""
    return text_in(found.call.arguments, "order") or text_in(found.value or {}, "order", "id")


def _one_thing(found: Found, parcels: Sequence[Found], request: Request, phrases: Phrases) -> str:
    """The answer to a question for one thing; empty when everything is to be told."""
    order, number, wants = found.value or {}, number_of_order(found), request.wants
    carriers = [each for each in objects_in(order, "parcels") if each.get("tracking_number")]
    match wants.aspect:
        case "paid" if order.get("total"):
            paid = phrases.payment_states.get(str(order.get("payment")))
            told = [phrases.total.format(order=number, total=order["total"], placed=order.get("placed", "?"))]
            return " ".join([*told, *([phrases.payment.format(status=paid)] if paid else [])])
        case "ships_to" if order.get("ships_to"):
            return phrases.ships_to.format(order=number, place=order["ships_to"])
        case "carrier" | "tracking" if carriers:
            names = [(str(each["tracking_number"]), str(each.get("carrier", "?"))) for each in carriers]
            lines = [phrases.carried.format(order=number, number=own, carrier=carrier) for own, carrier in names]
            return "\n".join(lines)
        case "carrier" | "tracking":
            return f"{state_told(found, phrases)} {phrases.unshipped}" if state_of(order) not in ARRIVED else ""
    return _arrivals(number, parcels, request, phrases)


def _arrivals(number: str, parcels: Sequence[Found], request: Request, phrases: Phrases) -> str:
    """When the parcels of an order come that was told of before; empty for other questions."""
    wants = request.wants
    if len(parcels) > 1 and wants.of_parcel and (wants.place is not None or wants.other):
        place = 1 if wants.place is None else wants.place
        parcels = [parcels[place]] if -len(parcels) <= place < len(parcels) else parcels
        return " ".join(_told_parcel(each, phrases) for each in parcels)
    if request.named or not wants.arrival:
        return ""
    lines = [
        phrases.arrives.format(
            order=number,
            number=_number_of(parcel),
            carrier=(parcel.value or {}).get("carrier", "?"),
            expected=text_in(parcel.value or {}, "expected", "eta"),
        )
        for parcel in parcels
        if text_in(parcel.value or {}, "expected", "eta") and state_of(parcel.value or {}) not in ARRIVED
    ]
    return "\n".join(lines) if len(lines) == len(parcels) else ""


def _told_order(found: Found, parcels: Iterable[Found], wants: Wants, phrases: Phrases) -> str:
    order = found.value or {}
    number = number_of_order(found)
    if failure := failure_told(found, phrases, missing=phrases.order_missing.format(order=number)):
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
    if failure := failure_told(found, phrases, missing=missing, silent=silent):
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
    if failure := failure_told(found, phrases, missing=phrases.no_orders):
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


def failure_told(found: Found, phrases: Phrases, *, missing: str, silent: str = "") -> str:
    """What to say when the tool had to say no; empty when it found something."""
    value = found.value
    if value is not None and value.get("available") is False:
        return f"{phrases.no_order_data} {phrases.person_offer}"
    if value is not None and (value.get("found") is False or value.get("error") == "invalid_arguments"):
        return missing
    if value is None or "error" in value:
        return f"{silent or phrases.shop_silent} {phrases.person_offer}"
    return ""


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
