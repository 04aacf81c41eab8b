"""Taking a message apart into the things it asks for."""

import re

from demo.model.intents import Wants, read_wants
from demo.model.quoting import subjects

REQUESTS_LIMIT = 6
"""Requests told apart in one message; the rest stays with the last."""
LISTED_WORDS = 4
"""The most words of one of several things that a request lists."""

_ASKING = (
    r"(?:where|when|how|what|which|who|why|can|could|may|do|does|did|is|are|will|would|has|have"
    r"|di ?mana|kapan|bagaimana|gimana|berapa|apa(?:kah)?|bisa(?:kah)?|kenapa"
    r"|wo|wann|wie|was|welche\w*|wer|warum|kann|k[oö]nn\w+|darf|gibt|ist|sind|hat|hab\w+"
    r"|¿?(?:d[oó]nde|cu[aá]ndo|c[oó]mo|qu[eé]|cu[aá]l\w*|cu[aá]nt\w*|puedo|pueden?|hay|est[aá])"
    r"|où|quand|comment|combien|quel\w*|pourquoi|qu['’]\w+|est-ce|puis-je|peut-on|pouvez)\b"
)
_DOING = (
    r"(?:please|pls|cancel|stop|change|send|refund|remove|add|redirect|tell|i (?:want|need|would)|i['’]d"
    r"|tolong|mohon|batalkan|ubah|ganti|hapus|kirim|saya (?:mau|ingin)"
    r"|bitte|stornier\w*|änder\w*|schick\w*|ich (?:möchte|will|brauche|würde)"
    r"|por favor|cancel\w*|cambi\w*|env[ií]\w*|quiero|quisiera|necesito"
    r"|annul\w*|chang\w*|modifi\w*|envoy\w*|je (?:veux|voudrais|souhaite))\b"
)
_AND = (
    r"(?:and|also|plus|but|then|another thing|besides|btw|oh"
    r"|dan|serta|juga|lalu|terus|sekalian"
    r"|und|auch|sowie|außerdem|dann|noch"
    r"|y|e|tambi[eé]n|además|luego"
    r"|et|aussi|puis|ensuite|également)"
)
_NUMBERED = r"(?:\(?[1-9a-d]\)|[1-9]\.(?=\s)|#[1-9]\b(?!\d)|[-*•](?=\s))"
_BREAK = re.compile(
    rf"(?<=[?!.])(?<![nN][ro]\.)\s+|\s*[\n;]\s*|,?\s+(?:{_AND},?\s+)+(?={_ASKING}|{_DOING})|,\s+(?=(?:{_AND}\s+)?{_ASKING}|{_DOING})"
    rf"|(?:^|(?<=\s)){_NUMBERED}\s*",
    re.IGNORECASE,
)
_STARTS_ASKING = re.compile(rf"¿?(?:{_AND}\s+)*{_ASKING}", re.IGNORECASE)
_LISTED = re.compile(rf"\s*,\s*(?:{_AND}\s+)?|\s+(?:{_AND}\s+)+", re.IGNORECASE)
_MARKS = " \t,;-–•*"
_ATTACHED = re.compile(r"\[attached: [^\]\n]*\]\s*$")


def requests_in(text: str) -> list[str]:
    """The requests of a message, in order; small talk is none, and a statement belongs to the request behind it.

    A request that speaks of "it" gets the numbers that were named before it; without any it stays with the one
    before it. The things that one request lists are requests of their own.
    """
    requests: list[str] = []
    before = ""
    numbers: tuple[str, ...] = ()
    for part in (part.strip(_MARKS) for part in _BREAK.split(_ATTACHED.sub("", text))):
        wants = read_wants(part)
        if not re.search(r"\w", part) or wants.only_talk:
            continue
        here = (*wants.orders, *wants.parcels)
        leans = wants.leans and not here and not before
        if not _asks(part, wants) or (not requests and _is_empty(part, wants)):
            before = f"{before} {part}".strip()
        elif requests and not before and (_is_empty(part, wants) or (leans and not numbers)):
            requests[-1] += f" {part}"
        else:
            names = leans and numbers and not wants.how
            whole = f"{before} {part}".strip() + (f" ({', '.join(numbers)})" if names else "")
            requests += _listed(whole) if not (here or before or leans) else [whole]
            before = ""
        numbers = here or numbers
    if before:
        requests = [*requests[:-1], f"{requests[-1]} {before}"] if requests else _listed(before)
    if len(requests) > REQUESTS_LIMIT:
        requests = [*requests[: REQUESTS_LIMIT - 1], " ".join(requests[REQUESTS_LIMIT - 1 :])]
    return requests


def _listed(request: str) -> list[str]:
    """The things that a request lists, such as "your policy on returns, gift cards and discounts".

    Three or more count as a list, and each but the first is short and about something.
    """
    pieces = [piece for piece in _LISTED.split(request.strip(" ?!.")) if piece]
    if len(pieces) < 3 or not all(_is_thing(piece) for piece in pieces[1:]) or not subjects(pieces[0]):
        return [request]
    return pieces


def _is_thing(piece: str) -> bool:
    return len(piece.split()) <= LISTED_WORDS and bool(subjects(piece)) and not _STARTS_ASKING.match(piece)


def _is_empty(part: str, wants: Wants) -> bool:
    """Whether it asks for nothing that can be told, as "What now?" or the "Can you" before a list."""
    tells = wants.person or wants.change or wants.aspect or wants.contents or wants.where or wants.orders
    return not (tells or wants.parcels or wants.place is not None or wants.other or subjects(part))


def _asks(part: str, wants: Wants) -> bool:
    named = bool(wants.orders or wants.parcels)
    starts = bool(_STARTS_ASKING.match(part))
    return wants.asks or starts or named or wants.where or wants.person is not None or wants.change is not None
