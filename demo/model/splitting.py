"""Taking a message apart into the things it asks for."""

import re

from demo.model.intents import Wants, read_wants

REQUESTS_LIMIT = 6
"""Requests told apart in one message; the rest stays with the last."""

_ASKING = (
    r"(?:where|when|how|what|which|who|why|can|could|may|do|does|did|is|are|will|would|has|have"
    r"|di ?mana|kapan|bagaimana|gimana|berapa|apa(?:kah)?|bisa(?:kah)?|kenapa"
    r"|wo|wann|wie|was|welche\w*|wer|warum|kann|darf|gibt|ist|sind|hat|habe"
    r"|d[oó]nde|cu[aá]ndo|c[oó]mo|qu[eé]|cu[aá]l\w*|cu[aá]nt\w*|puedo|pueden|hay|est[aá]"
    r"|où|quand|comment|combien|quel\w*|pourquoi|qu['’]\w+|est-ce|puis-je|pouvez)\b"
)
_AND = r"(?:and|also|plus|but|dan|serta|juga|lalu|und|auch|sowie|y|e|tambi[eé]n|además|et|aussi|puis)"
_BREAK = re.compile(rf"(?<=[?!.])\s+|\s*[\n;]\s*|,?\s+(?:{_AND}\s+)+(?={_ASKING})|,\s+(?={_ASKING})", re.IGNORECASE)
_STARTS_ASKING = re.compile(rf"(?:{_AND}\s+)*{_ASKING}", re.IGNORECASE)
_MARKS = " \t,;-–•*"


def requests_in(text: str) -> list[str]:
    """The requests of a message, in order; small talk is none, and a statement belongs to the request behind it.

    A request that speaks of "it" gets the numbers that were named before it; without any it stays with the one
    before it.
    """
    requests: list[str] = []
    before = ""
    numbers: tuple[str, ...] = ()
    for part in (part.strip(_MARKS) for part in _BREAK.split(text)):
        wants = read_wants(part)
        if not re.search(r"\w", part) or wants.only_talk:
            continue
        here = (*wants.orders, *wants.parcels)
        leans = wants.leans and not here and not before
        if not _asks(part, wants):
            before = f"{before} {part}".strip()
        elif leans and requests and not numbers:
            requests[-1] += f" {part}"
        else:
            requests.append(f"{before} {part}".strip() + (f" ({', '.join(numbers)})" if leans and numbers else ""))
            before = ""
        numbers = here or numbers
    if before:
        requests = [*requests[:-1], f"{requests[-1]} {before}"] if requests else [before]
    if len(requests) > REQUESTS_LIMIT:
        requests = [*requests[: REQUESTS_LIMIT - 1], " ".join(requests[REQUESTS_LIMIT - 1 :])]
    return requests


def _asks(part: str, wants: Wants) -> bool:
    named = bool(wants.orders or wants.parcels)
    return wants.asks or bool(_STARTS_ASKING.match(part)) or named or wants.where or wants.person is not None
