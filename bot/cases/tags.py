"""Which tags are proposed for a case, by rules from what its customer wrote. Only a person gives a tag to a case.

proposed_tags   those whose phrases the customer used
tags_to_show    those that the case has, or else those proposed
"""

from collections.abc import Iterable
from functools import lru_cache

from bot.cases.titles import MATTERS
from bot.desk_file.model import MAX_TAGS, DeskFile
from bot.language.matching import Matcher, matcher, phrase_matcher, unquoted
from bot.store import transcripts
from bot.store.cases import Case
from bot.store.database import Transaction


def proposed_tags(desk: DeskFile, messages: Iterable[str]) -> tuple[str, ...]:
    """The tags of the desk file whose phrases are in one of the messages.

    A tag with the name of a matter that the languages' files have words for is proposed for these, too.
    """
    written = [unquoted(message) for message in messages]
    found = (
        name
        for name, tag in desk.cases.tags.items()
        if any(each.is_in(text) for each in _matchers(name, tag.phrases) for text in written)
    )
    return tuple(found)[:MAX_TAGS]


async def tags_to_show(tx: Transaction, case: Case, desk: DeskFile) -> tuple[str, ...]:
    """The tags that a dialog shows as chosen: those of the case, or those proposed if it has none."""
    if case.tags or not desk.cases.tags:
        return case.tags
    lines = await transcripts.of_thread(tx, case.thread)
    return proposed_tags(desk, [line.text for line in lines if line.speaker == case.customer])


def _matchers(name: str, phrases: tuple[str, ...]) -> list[Matcher]:
    named = [matcher(f"matters.{name}")] if name in MATTERS else []
    return [*named, *([_phrases(phrases)] if phrases else [])]


@lru_cache(maxsize=64)
def _phrases(phrases: tuple[str, ...]) -> Matcher:
    """The matcher of a tag's phrases. Compiling it takes longer than using it."""
    return phrase_matcher(phrases)
