"""What a customer wants, as far as words tell. The words stand in rules.yml."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

import yaml

Reason = Literal["security", "legal", "billing", "person", "upset", "change"]
Change = Literal["cancel", "refund", "address", "faster", "items", "change", "return"]
CHANGES: tuple[Change, ...] = get_args(Change)
"""What is to be done with an order. The first that is named counts; a return only where a tool prepares one."""
Motive = Literal[
    "damaged",
    "wrong_item",
    "not_as_described",
    "too_slow",
    "found_cheaper",
    "mistake",
    "changed_mind",
    "other",
]
_MOTIVES: tuple[Motive, ...] = get_args(Motive)
"""Why a change is wanted, in the words that shops use for it. The first that is named counts."""
Chat = Literal["abilities", "maker", "mood", "insult"]
_CHATS: tuple[Chat, ...] = get_args(Chat)
Aspect = Literal["tracking", "carrier", "ships_to", "paid"]
_ASPECTS: tuple[Aspect, ...] = get_args(Aspect)

READ_LIMIT = 4_000
"""Characters of a message that the rules look at."""

_FIRM_REASONS: tuple[Reason, ...] = ("security", "legal", "billing", "person", "upset")
"""In the order in which they outweigh each other."""
_ORDER_NUMBER = re.compile(
    r"\bORD[-_][A-Z0-9][A-Z0-9_-]{0,35}\b|\bORD[ #:]{0,3}\d{2,12}\b|#(?=[A-Z0-9-]*\d{3})[A-Z0-9][A-Z0-9-]{2,30}\b",
    re.IGNORECASE | re.ASCII,
)
_DIGITS = re.compile(r"(?<![\w.,:/+#-])\d{4,10}(?![\w/]|[.,:-]\d)", re.ASCII)
"""A number that may be an order's, where the words beside it say so."""
_BESIDE_CHAT = ("hello", "thanks", "chatter", "filler")
_PLACES = (("ordinal_1", 0), ("ordinal_2", 1), ("ordinal_3", 2), ("ordinal_last", -1))
_YEAR = re.compile(r"(?:19|20)\d\d")
_TRACKING_NUMBER = re.compile(r"\b(?=[A-Z]*\d+[A-Z]*\d*[A-Z0-9]*\b)[A-Z0-9]{10,34}\b", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Wants:
    """What one message asks for; several may hold."""

    greets: bool
    """Says hello, and does not say thanks."""
    leaves: bool
    """Says goodbye."""
    only_talk: bool
    """A greeting, thanks or goodbye and nothing else."""
    chat: Chat | None
    """Talks about the assistant, and asks for nothing else."""
    agrees: bool
    """A yes and nothing else."""
    person: Reason | None
    """Why a person should take over."""
    change: Change | None
    """What is to be done with an order. Whose order, the words beside it or the messages before may tell."""
    returns: bool
    """Wants to send something back."""
    orders: tuple[str, ...]
    """Order numbers, as shops write them; digits alone where the customer wrote no more."""
    parcels: tuple[str, ...]
    """Tracking numbers."""
    where: bool
    """Asks how far something is."""
    own_orders: bool
    """Speaks of the customer's own orders."""
    lists: bool
    """Asks to see their own orders."""
    how: bool
    """Asks how something is done."""
    general: bool
    """The same, or asks what holds for everybody."""
    contents: bool
    """Asks what is in an order, what it cost, or whether it is paid."""
    aspect: Aspect | None
    """The one thing about an order or a parcel that is asked."""
    place: int | None
    """Which one of several: 0 for the first, -1 for the last."""
    other: bool
    """Speaks of the other one."""
    of_parcel: bool
    """Speaks of a parcel."""
    arrival: bool
    """Asks when something comes."""
    late: bool
    """Still waits for what should have come."""
    sees: bool
    """Points at a picture."""
    trouble: bool
    """Something is broken, wrong or missing."""
    damage: bool
    """What was bought is broken."""
    asks: bool
    """Asks for something, by a question or a request."""
    leans: bool
    """Speaks of something as "it": a message before says what that is."""
    goes_on: bool
    """Begins with "and"."""

    @property
    def own_listed(self) -> bool:
        """Asks about all of their own orders; how things are done, and what to do in trouble, the pages tell."""
        particular = not self.general or self.where or self.contents
        own = self.lists or (self.own_orders and particular)
        return own and not self.how and not self.trouble


def read_wants(text: str) -> Wants:
    """Read one message."""
    text = " ".join(text[:READ_LIMIT].split())
    numbers = [match.group() for match in _ORDER_NUMBER.finditer(text)]
    orders = _unique(re.sub(r"^ORD[ #:]*(?=\d)", "ORD-", number.upper().lstrip("#")) for number in numbers)
    own, general, where = _says("own", text), _says("general", text), _says("where", text)
    orders = _unique([*orders, *_bare_numbers(_ORDER_NUMBER.sub(" ", text), where=where or own)])
    change = _change(text)
    return Wants(
        greets=_says("hello", text) and not _says("thanks", text),
        leaves=_says("bye", text),
        only_talk=_is_only(("hello", "thanks", "bye", "filler"), text),
        chat=_chat(text),
        agrees=_says("agreement", text) and _is_only(("agreement", "thanks"), text),
        person=_person(text),
        change=change,
        returns=_says("returns", text) and not _is_inquiry(text),
        orders=orders,
        parcels=_tracking_numbers(_ORDER_NUMBER.sub(" ", text)),
        where=where,
        own_orders=own,
        lists=_says("listing", text),
        how=_says("how", text),
        general=general,
        contents=_says("contents", text) or _says("paid", text),
        aspect=None if _says("contents", text) else next((each for each in _ASPECTS if _says(each, text)), None),
        place=next((place for name, place in _PLACES if _says(name, text)), None),
        other=_says("other_one", text),
        of_parcel=_says("parcel_word", text),
        arrival=_says("arrival", text),
        late=_says("late", text),
        sees=_says("sees", text),
        trouble=_says("trouble", text),
        damage=_says("damage", text),
        asks=text.endswith("?") or _says("requests", text),
        leans=_says("leans", text),
        goes_on=bool(_patterns()["goes_on"].match(text)),
    )


def offers_person(answer: str) -> bool:
    """Whether one of the last sentences asks if a person shall be called."""
    last = re.split(r"(?<=[.!?])\s+", answer.strip())[-3:]
    return any(sentence.endswith("?") and _says("offers_person", sentence) for sentence in last)


def _chat(text: str) -> Chat | None:
    plain = " ".join(_patterns()["chatter"].sub(" ", text[:READ_LIMIT]).split())
    return next((chat for chat in _CHATS if _says(chat, plain) and _is_only((chat, *_BESIDE_CHAT), plain)), None)


def _person(text: str) -> Reason | None:
    plain = text.strip(" .!?")
    if firm := next((reason for reason in _FIRM_REASONS if _says(reason, plain)), None):
        return firm
    return "upset" if _shouts(text) else None


def motive_of(text: str) -> Motive | None:
    """Why they want a change, as far as the words tell."""
    text = " ".join(text[:READ_LIMIT].split())
    return next((motive for motive in _MOTIVES if _says(f"reason_{motive}", text)), None)


def wants_another(text: str) -> bool:
    """Whether they want another size or colour of an article, and not less or more in the order."""
    return _says("swaps", text[:READ_LIMIT])


def wants_more(text: str) -> bool:
    """Whether something is to be added."""
    return _says("adds", text[:READ_LIMIT])


def means_all(text: str) -> bool:
    """Whether all of the things that were spoken of are meant."""
    return _says("everything", text[:READ_LIMIT])


def drops_it(text: str) -> bool:
    """Whether nothing is to be done any more."""
    return _says("drops", text[:READ_LIMIT])


def _is_inquiry(text: str) -> bool:
    """Whether it asks how something is done, or whether it was: the pages and the order tell."""
    return _says("how", text) or (_says("inquires", text) and not _says("asks_you", text))


def _change(text: str) -> Change | None:
    """What is to be done."""
    if _is_inquiry(text):
        return None
    return next((change for change in CHANGES[:-1] if _says(change, text)), None)


def _bare_numbers(text: str, *, where: bool) -> list[str]:
    """Digits alone: after a word such as "order", as the whole message, or where an order is asked for."""
    found = [match for match in _DIGITS.finditer(text) if not _YEAR.fullmatch(match.group())]
    alone = not re.search(r"[^\W\d_]{4}", text)
    return [
        match.group()
        for match in found
        if alone or (where and len(match.group()) >= 5) or _ends_with_order(text[: match.start()])
    ]


def _ends_with_order(text: str) -> bool:
    """Whether a word for an order or a number stands right before."""
    return bool(_patterns()["order_word_before"].search(text[-40:]))


def _shouts(text: str) -> bool:
    letters = [c for c in _ORDER_NUMBER.sub("", text) if c.isalpha()]
    return len(letters) >= 15 and sum(c.isupper() for c in letters) > 0.8 * len(letters)


def _tracking_numbers(text: str) -> tuple[str, ...]:
    """Long words with many digits in them; digits alone count only where a parcel is spoken of."""
    found = _unique(match.group().upper() for match in _TRACKING_NUMBER.finditer(text))
    about_parcels = _says("parcel_word", text)
    return tuple(word for word in found if _digits(word) >= 6 and (about_parcels or not word.isdigit()))


def _digits(word: str) -> int:
    return sum(c.isdigit() for c in word)


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _says(intent: str, text: str) -> bool:
    return bool(_patterns()[intent].search(text))


def _is_only(intents: Iterable[str], text: str) -> bool:
    rest = text[:200]
    if len(text) > len(rest):
        return False
    for intent in intents:
        rest = _patterns()[intent].sub(" ", rest)
    return bool(re.search(r"\w", text)) and not re.search(r"\w", rest)


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    rules = yaml.safe_load((Path(__file__).parent / "rules.yml").read_text(encoding="utf-8"))
    patterns = {
        intent: re.compile(rf"(?<!\w)(?:{'|'.join(f'(?:{line})' for line in lines)})(?!\w)", re.IGNORECASE)
        for intent, lines in rules.items()
    }
    before = patterns["order_word"].pattern
    return patterns | {"order_word_before": re.compile(rf"{before}[\s:#]*$", re.IGNORECASE)}
