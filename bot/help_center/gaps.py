"""Gaps of the help pages: customers' questions that ended without an answer that helped, grouped by meaning."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.guard.personal_data import without_personal
from bot.store.traces import Unanswered

QUESTIONS = 500
"""The number of newest questions that are read."""
WORDS_SHOWN = 160
"""The most characters of an example."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One question, in all its forms, that was asked and not answered, or whose answer did not help."""

    example: str
    """The most typical question, without personal data."""
    times: int
    people: int
    last: float
    """When it was last asked."""
    threads: tuple[str, ...] = ()
    """The keys of the threads where it was asked."""
    ratings: Mapping[str, int] = field(default_factory=dict)
    """Rating -> how many of the questions had an answer that was rated so, the most frequent first."""


def impersonal(question: str) -> str:
    """The question on one line, without order numbers, addresses and secrets, so that all staff can see it."""
    text = " ".join(without_personal(question).split())
    return text if len(text) <= WORDS_SHOWN else f"{text[: WORDS_SHOWN - 2]} …"


def gaps_from(questions: Sequence[Unanswered], groups: Sequence[Sequence[int]]) -> list[Gap]:
    """The gaps, most asked first. `groups` are indexes into `questions`, with the most typical one of a group first."""
    found = [_gap([questions[place] for place in group]) for group in groups]
    return sorted(found, key=lambda gap: (-gap.times, -gap.people, -gap.last))


def the_same(texts: Sequence[str]) -> list[list[int]]:
    """Groups of texts with the same words, for use when texts can't be compared by meaning."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text.casefold(), []).append(place)
    return list(places.values())


def _gap(asked: Sequence[Unanswered]) -> Gap:
    people = {each.customer for each in asked}
    threads = tuple(dict.fromkeys(each.thread for each in asked))
    ratings = Counter(each.rating for each in asked if each.rating)
    return Gap(
        impersonal(asked[0].text),
        len(asked),
        len(people),
        max(each.at for each in asked),
        threads,
        dict(ratings.most_common()),
    )
