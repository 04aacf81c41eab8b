"""What the help pages do not answer: customers' questions that ended without an answer, the same ones together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.guardrails import mask
from bot.store.traces import Unanswered
from knowledge.questions import IDENTIFIER

QUESTIONS = 500
"""The newest so many are looked at."""
WORDS_SHOWN = 160
"""Characters of an example."""

_PERSONAL = [
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "[e-mail address]"),
    (re.compile(r"https?://\S+|www\.\S+"), "[link]"),
    (re.compile(r"<@[A-Z0-9]+(?:\|[^>]*)?>"), "[person]"),
    # Phone numbers and the like, written in groups.
    (re.compile(r"(?<!\w)\+?\d[\d ()/.-]{5,}\d(?!\w)"), "[number]"),
    (IDENTIFIER, "[number]"),
]


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that was asked and not answered."""

    example: str
    """The most typical question, with nothing in it that is anybody's own."""
    times: int
    people: int
    last: float
    """When it was asked last."""


def impersonal(question: str) -> str:
    """The question in one line, without order numbers, addresses, secrets: what may be shown to all staff."""
    text = mask(question)
    for pattern, instead in _PERSONAL:
        text = pattern.sub(instead, text)
    text = " ".join(text.split())
    return text if len(text) <= WORDS_SHOWN else f"{text[: WORDS_SHOWN - 2]} …"


def gaps_from(questions: Sequence[Unanswered], groups: Sequence[Sequence[int]]) -> list[Gap]:
    """The gaps, most asked first; `groups` holds places in `questions`, the most typical of a group first."""
    found = [_gap([questions[place] for place in group]) for group in groups]
    return sorted(found, key=lambda gap: (-gap.times, -gap.people, -gap.last))


def the_same(texts: Sequence[str]) -> list[list[int]]:
    """Groups of texts that read the same, for when nothing can tell what means the same."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text.casefold(), []).append(place)
    return list(places.values())


def _gap(asked: Sequence[Unanswered]) -> Gap:
    people = {each.customer for each in asked}
    return Gap(impersonal(asked[0].text), len(asked), len(people), max(each.at for each in asked))
