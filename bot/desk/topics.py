"""The topics of the desk file, recognized in the words of a message: those to refuse, and those for people.

build_topics     The topics with their phrases, compiled once for each file.
Topics.find      What a message is about.
marked_topic     The topic whose mark a model has replied with.
without_marks    A text without such marks.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bot.desk import policy
from bot.desk_file.model import DeskFile, PeopleTopic, RefusedTopic
from bot.desk_file.own_part import MARK
from bot.language.matching import Matcher, matcher, phrase_matcher, unquoted
from bot.language.rhetoric import names_a_number

_MARK = re.compile(rf"[-•>#*_~`\"'(\[ \t]{{0,8}}(?<![^\W_]){MARK}(\d{{1,2}})(?![^\W_])[*_~`\"')\].:;!,]{{0,8}}")
"""A mark with the signs that a model may write around it."""


@dataclass(frozen=True, slots=True)
class FoundTopics:
    """What a message is about."""

    person: PeopleTopic | None = None
    """The topic for which a person is called. None if there is none."""
    refused: tuple[RefusedTopic, ...] = ()
    """The topics that the assistant does not speak about."""
    rest: str = ""
    """What the message asks besides the refused topics. Empty if it asks nothing else."""

    @property
    def is_refused(self) -> bool:
        """Whether the message is about refused topics only."""
        return bool(self.refused) and not self.rest


NO_TOPICS = FoundTopics()


@dataclass(frozen=True, slots=True)
class Topics:
    """Finds the topics of one desk file. It takes time in proportion to a text's length."""

    refused: Sequence[tuple[RefusedTopic, Matcher]] = field(default=())
    people: Sequence[tuple[PeopleTopic, Matcher]] = field(default=())

    def find(self, text: str) -> FoundTopics:
        """What the text is about, without what its author quotes. The rest keeps what they quote."""
        own = unquoted(text)
        person = next((topic for topic, phrases in self.people if phrases.is_in(own)), None)
        found = [(topic, phrases) for topic, phrases in self.refused if phrases.is_in(own)]
        if not found:
            return FoundTopics(person)
        matchers = [phrases for _, phrases in found]
        rest = policy.asked_besides(text, lambda sentence: _is_only_refused(unquoted(sentence), matchers))
        return FoundTopics(person, tuple(topic for topic, _ in found), rest)


def _is_only_refused(sentence: str, matchers: Iterable[Matcher]) -> bool:
    """Whether a sentence is about a refused topic alone, and neither has a number nor wants something for an order."""
    wants_more = names_a_number(sentence) or matcher("order_requests").is_in(sentence)
    return any(each.is_in(sentence) for each in matchers) and not wants_more


def build_topics(desk: DeskFile) -> Topics:
    """The topics that have phrases."""
    return Topics(
        [(topic, phrase_matcher(topic.phrases)) for topic in desk.refuse if topic.phrases],
        [(topic, phrase_matcher(topic.phrases)) for topic in desk.people if topic.phrases],
    )


def marked_topic(reply: str, topics: Sequence[RefusedTopic]) -> RefusedTopic | None:
    """The topic whose mark is in a model's reply. None if there is no mark, or one of no topic."""
    found = _MARK.search(reply)
    number = int(found[1]) if found else 0
    return topics[number - 1] if 1 <= number <= len(topics) else None


def without_marks(text: str) -> str:
    """The text without marks of topics. Empty if no letters or digits are left beside them."""
    rest = _MARK.sub("", text)
    return rest if rest == text or any(map(str.isalnum, rest)) else ""


def sentences_of(topics: Iterable[RefusedTopic], language: str) -> str:
    """What a customer reads about these topics."""
    return "\n".join(dict.fromkeys(topic.sentence(language) for topic in topics))
