"""What the help pages do not answer: customers' questions that ended without an answer, the same ones together."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.guard.personal_data import without_personal
from bot.store.traces import Unanswered

QUESTIONS = 500
"""The newest so many are looked at."""
WORDS_SHOWN = 160
"""Characters of an example."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that was asked and not answered."""

    example: str
    """The most typical question, with nothing in it that is anybody's own."""
    times: int
    people: int
    last: float
    """When it was asked last."""
    threads: tuple[str, ...] = ()
    """The keys of the threads in which it was asked."""


def impersonal(question: str) -> str:
    """The question in one line, without order numbers, addresses, secrets: what may be shown to all staff."""
    text = " ".join(without_personal(question).split())
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
    threads = tuple(dict.fromkeys(each.thread for each in asked))
    return Gap(impersonal(asked[0].text), len(asked), len(people), max(each.at for each in asked), threads)
