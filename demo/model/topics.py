"""What a message is about, as a desk divides its work, and which colleague is there for it."""

from collections.abc import Iterable, Mapping
from typing import Literal

from demo.model.conversation import Offer, Talk
from demo.model.intents import read_wants
from demo.model.quoting import subjects

Topic = Literal["orders", "shipping", "answers"]

_SHORT = 80
"""Characters of a follow-up question that may lean on an earlier message."""
_WORDS: Mapping[Topic, tuple[str, ...]] = {
    "orders": ("order", "purchase", "bought", "article", "amount"),
    "shipping": ("ship", "parcel", "deliver", "track", "carrier", "logistic"),
    "answers": ("answer", "help page", "knowledge", "faq", "librar", "general", "everything else", "polic"),
}
"""How a colleague's name and description give away what it is for."""
_NEXT_BEST: Mapping[Topic, tuple[Topic, ...]] = {
    "orders": ("orders", "shipping"),
    "shipping": ("shipping", "orders"),
    "answers": ("answers",),
}


def leant_on(talk: Talk) -> str:
    """The earlier message that a follow-up needs to make sense, as "And how long?" does; empty for any other."""
    wants = read_wants(talk.said)
    stands = len(subjects(talk.said)) > wants.leans + wants.goes_on
    if stands or not talk.said.strip() or len(talk.said) > _SHORT:
        return ""
    return next((earlier for earlier in talk.earlier[:4] if _is_about_the_shop(earlier)), "")


def _is_about_the_shop(said: str) -> bool:
    wants = read_wants(said)
    return bool(subjects(said)) and not (wants.orders or wants.parcels)


def colleague_for(topic: Topic, offers: Iterable[Offer], *, without: frozenset[str] = frozenset()) -> Offer | None:
    """The colleague whose tool reads most like the topic, or like the one next to it; none of `without`."""
    free = [offer for offer in offers if offer.colleague not in without]
    for wanted in _NEXT_BEST[topic]:
        fits = {offer.name: _fit(offer, wanted) for offer in free}
        best = max(free, key=lambda offer: fits[offer.name], default=None)
        if best and fits[best.name] > 0:
            return best
    return None


def _fit(offer: Offer, topic: Topic) -> float:
    """The name says more than the description, and the beginning of that more than its end."""
    name, description = offer.colleague.lower(), offer.description.lower()
    named_so = 4.0 * any(word in name for word in _WORDS[topic])
    places = [description.index(word) for word in _WORDS[topic] if word in description]
    return named_so + sum(1 / (1 + place / 100) for place in places)
