"""Who a message in a channel's thread is for. The rules are in bot/desk/addressing.py."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.messages import AgentMessage, CustomerMessage, Message
from bot.cases.case import may_be_reopened
from bot.desk import addressing
from bot.desk.courtesies import is_last_word
from bot.desk.intents import accepts
from bot.store.cases import Case
from bot.store.inbox import InboxItem


@dataclass(frozen=True, slots=True)
class Hearing:
    """Who a message is for."""

    is_for_us: bool = True
    is_unasked: bool = False
    """True if the message is in a channel's thread and does not mention the app."""
    concerns: bool = True
    """False if the message is a question that names nothing of the person's matter with us."""


@dataclass(frozen=True, slots=True)
class Overheard:
    """What is known of the thread of a message that does not mention the app."""

    case: Case | None
    """The thread's open case."""
    ended: Case | None
    """The thread's latest case, if none is open."""
    answered: str | None
    """The person who was answered last in the thread."""
    history: Sequence[Message]
    """The thread's episode so far."""
    is_offered: bool
    """True if the last answer was none, and offered a person."""
    now: float


def hear(item: InboxItem, known: Overheard) -> Hearing:
    """Decide whether a message that does not mention the app is for us.

    A reply of the person who was answered last can be. What the customer of a case writes goes to the people on the
    case.
    """
    text, others, case, ended = item.words, item.message.others, known.case, known.ended
    if case is not None and item.author == case.customer:
        # They may mention the people on the case by name.
        is_for_others = item.message.leads and not any(case.speaker(other) is not None for other in others)
        return Hearing(not is_for_others, is_unasked=True)
    if others:
        return Hearing(False)
    is_answered = item.author == known.answered
    matter = [message.text for message in known.history if isinstance(message, CustomerMessage)]
    if case is not None:
        # What others ask in the thread of a case does not belong to the case.
        matter += [case.title, case.summary]
        return Hearing(is_answered and _concerns(text, matter), is_unasked=True)
    if ended is not None and item.author == ended.customer and may_be_reopened(ended, now=known.now):
        matter += [ended.title, ended.summary]
        if is_last_word(text) or addressing.says_unsettled(text) or _concerns(text, matter):
            return Hearing(is_unasked=True)
    asked_back = is_answered and has_asked_back(known.history)
    calls = addressing.calls_for_people(text) or (known.is_offered and accepts(text))
    concerns_us = calls or addressing.concerns_us(text, matter=matter, is_asked_back=asked_back)
    if not is_answered or not concerns_us:
        return Hearing(False)
    return Hearing(is_unasked=True, concerns=asked_back or calls or _concerns(text, matter))


def _concerns(text: str, matter: Sequence[str]) -> bool:
    return addressing.calls_for_people(text) or addressing.names_matter(text, matter)


def has_asked_back(history: Sequence[Message]) -> bool:
    """Whether the assistant's last message ends with a question."""
    said = [message.text for message in history if isinstance(message, AgentMessage)]
    return bool(said) and said[-1].rstrip().endswith(("?", "？"))
