"""What a declared connector reads: the look-ups of its file, mapped to answers whose form is checked."""

import logging
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel
from yarl import URL

from bot.conversation import ShopCustomer
from bot.shops.actions import NotSupported
from bot.shops.declared.client import Answer, Client
from bot.shops.declared.expressions import Expression, Stopwatch, Unusable
from bot.shops.declared.file import ConnectorFile, LookUp, Pages, RecordName
from bot.shops.declared.mapping import RecordMap
from bot.shops.declared.templates import Rendered, Scope, build_request
from bot.shops.wire import (
    CustomerAnswer,
    OrderAnswer,
    ParcelAnswer,
    PaymentMethodAnswer,
    PaymentMethodsAnswer,
    ProductAnswer,
)

logger = logging.getLogger(__name__)

_Mapped = TypeVar("_Mapped", bound=BaseModel)


class DeclaredRecords:
    """A RecordSource."""

    def __init__(self, file: ConnectorFile, client: Client) -> None:
        self._look_ups = file.look_ups
        self._client = client
        self._pages = file.limits.pages
        self._maps = {name: RecordMap(name, file.records, currency=file.currency) for name in file.records}
        declared = [look_up for name in type(file.look_ups).model_fields if (look_up := getattr(self._look_ups, name))]
        self._each = {look_up.each: Expression(look_up.each) for look_up in declared if look_up.each}

    async def customers(self, email: str) -> Sequence[CustomerAnswer]:
        """See RecordSource."""
        return await self._read_all(_declared(self._look_ups.find_customer), {"email": email}, CustomerAnswer)

    async def orders(self, customer: ShopCustomer) -> Sequence[OrderAnswer]:
        """See RecordSource. At most as many pages as `limits.pages` are read."""
        return await self._read_all(_declared(self._look_ups.list_orders), _of(customer), OrderAnswer)

    async def order(self, customer: ShopCustomer, order_id: str) -> OrderAnswer | None:
        """See RecordSource."""
        values = {**_of(customer), "order.id": order_id}
        return await self._read_one(_declared(self._look_ups.get_order), values, OrderAnswer)

    async def parcel(self, customer: ShopCustomer, tracking_number: str) -> ParcelAnswer | None:
        """See RecordSource."""
        values = {**_of(customer), "parcel.tracking_number": tracking_number}
        return await self._read_one(_declared(self._look_ups.track), values, ParcelAnswer)

    async def product(self, customer: ShopCustomer, product_id: str) -> ProductAnswer | None:
        """See RecordSource."""
        if self._look_ups.get_product is None:
            return None
        return await self._read_one(
            self._look_ups.get_product, {**_of(customer), "product.id": product_id}, ProductAnswer
        )

    async def methods(self, customer: ShopCustomer) -> PaymentMethodsAnswer | None:
        """See RecordSource."""
        if self._look_ups.payment_methods is None:
            return None
        found = await self._read_all(self._look_ups.payment_methods, _of(customer), PaymentMethodAnswer)
        return PaymentMethodsAnswer(customer_id=customer.id, methods=found)

    async def _read_one(self, look_up: LookUp, values: dict[str, str], kind: type[_Mapped]) -> _Mapped | None:
        found = await self._read_all(look_up, values, kind)
        if len(found) > 1:
            raise self._unusable(Unusable(look_up.record, "is there several times"))
        return found[0] if found else None

    async def _read_all(self, look_up: LookUp, values: dict[str, str], kind: type[_Mapped]) -> list[_Mapped]:
        request = build_request(look_up, Scope(values), query=_first(look_up.pages))
        answer = await self._client.fetch(request, self._client.url_of(request))
        found: list[_Mapped] = []
        for page in range(1, self._pages + 1):
            if answer is None:
                return found
            stopwatch = Stopwatch()
            try:
                entries = self._entries(look_up, answer.value)
                found += [self._map(look_up.record).read(entry, kind, stopwatch=stopwatch) for entry in entries]
                following = self._following(look_up, Scope(values), answer, page=page, entries=len(entries))
            except Unusable as fault:
                raise self._unusable(fault) from None
            if following is None:
                return found
            if page < self._pages:
                answer = await self._client.fetch(*following)
        logger.warning("the shop has more records than are read", extra={"read": len(found), "pages": self._pages})
        return found

    def _entries(self, look_up: LookUp, value: Any) -> list[Any]:
        if look_up.each is None:
            return [value]
        found = self._each[look_up.each].search(value, "each")
        if not isinstance(found, list):
            raise Unusable(look_up.record, "is no list")
        return found

    def _map(self, name: RecordName) -> RecordMap:
        return self._maps[name]

    def _following(
        self, look_up: LookUp, scope: Scope, answer: Answer, *, page: int, entries: int
    ) -> tuple[Rendered, URL] | None:
        """The request for the next page. None if this was the last."""
        pages = look_up.pages
        if pages is None or not entries:
            return None
        if pages.kind == "link":
            target = _next_link(answer)
            return None if target is None else (build_request(look_up, scope), target)
        text = _next_in_query(pages, answer, page=page, entries=entries)
        if text is None:
            return None
        request = build_request(look_up, scope, query={pages.query or "": text})
        url = self._client.url_of(request)
        if url == answer.url:
            raise Unusable("pages", "name themselves as the next page")
        return request, url

    def _unusable(self, fault: Unusable) -> Unusable:
        self._client.is_unusable(fault)
        return fault


def _declared(look_up: LookUp | None) -> LookUp:
    if look_up is None:
        raise NotSupported("the connector's file does not say how to look this up")
    return look_up


def _of(customer: ShopCustomer) -> dict[str, str]:
    return {"customer.id": customer.id, "customer.email": customer.email}


def _first(pages: Pages | None) -> dict[str, str]:
    if pages is None or pages.query is None or pages.kind not in ("page", "offset"):
        return {}
    return {pages.query: str(pages.first if pages.kind == "page" else 0)}


def _next_in_query(pages: Pages, answer: Answer, *, page: int, entries: int) -> str | None:
    match pages.kind:
        case "cursor":
            found = Expression(pages.next or "").search(answer.value, "pages.next")
            return str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) and found != "" else None
        case "page":
            last = Expression(pages.last).search(answer.value, "pages.last") if pages.last else None
            number = pages.first + page
            is_beyond = isinstance(last, (int, float)) and number > last
            return None if is_beyond else str(number)
        case _:
            step = pages.step or 1
            return str(page * step) if entries >= step else None


def _next_link(answer: Answer) -> URL | None:
    """The next page as the header `Link` names it (RFC 8288), at this shop only."""
    for part in answer.headers.get("Link", "")[:4_000].split(","):
        target, _, parameters = part.strip().partition(">")
        if not target.startswith("<") or 'rel="next"' not in parameters.replace(" ", ""):
            continue
        try:
            url = answer.url.join(URL(target[1:], encoded=True))
        except ValueError:
            raise Unusable("pages", "have a next page that is no address") from None
        if url.origin() != answer.url.origin() or url == answer.url:
            raise Unusable("pages", "have a next page that is elsewhere, or this one")
        return url
    return None
