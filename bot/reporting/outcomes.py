"""Conversations, as the figures count them, and what came of each.

A **conversation** is what one customer asks in one thread, until they have asked nothing for 24 hours. It begins with
a question or with a case; thanks and greetings neither begin one nor keep one going, and what is passed on to people
belongs to the conversation in which they were called, however long that takes.

It is **resolved by the assistant** when its last question got an answer that rests on help pages or on the customer's
own data, or by which something was done for them, nobody was called after it, and

- the customer then said that it helped, in words or by "Helpful": *confirmed*; or
- they have asked nothing for 24 hours, nor pressed "Not helpful": *assumed*.

Until a day has passed since that question, or an hour since the customer said that it helped, it is *pending*: what is
minutes old is neither resolved nor withdrawn. Either is **withdrawn** when the customer returns on the subject within
seven days of that question. They return

- when they ask again in the same thread, or a person is called there;
- when they press "Not helpful" under that answer after all;
- when they ask in another thread what shares a help page or a number with the conversation: a page that the answers
  of both name, or an order number or the like that the customer wrote in both.

So one subject that is asked in several threads is resolved once at the most. An escalation was **missed** when a
resolution that counted already is withdrawn because the customer asked for a person, or says that it is not solved.

parted      conversations, from messages and cases
judge_all   what came of each
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Literal, NamedTuple

from bot.clock import DAY, HOUR, WEEK
from bot.desk.courtesies import affirms, asks_nothing
from bot.store.metrics import AskedMessage, MetricsRecord, Opened, Verdict
from bot.views.cards import NOT_HELPFUL
from knowledge.search.questions import IDENTIFIER

SILENCE_SECONDS = DAY
"""After this time without a question, a conversation is over."""
RETURN_SECONDS = WEEK
"""How long a resolution can be withdrawn."""
CONFIRMED_SECONDS = HOUR
"""How long after the customer said that it helped a conversation is still pending."""

NOT_ASKED = frozenset({"no_words", "nothing_to_stop", "noted", "declined"})
"""The ends of messages that were no questions."""
PASSED_ON = frozenset({"relayed", "silent"})
"""The ends of messages that went to the people who have the case."""
BY_ASSISTANT = frozenset({"answered", "no_answer", "too_fast", "stopped"})
"""Ends that leave the customer with the assistant; any other calls people, or finds them there."""

_DIGIT = re.compile(r"\d")

Ending = Literal["confirmed", "assumed", "pending", "with_people", "unresolved"]
"""Resolved by the assistant · the same, by silence · not known yet · people had the last word, or have it · none of
these: no answer, a question back, a stop."""


@dataclass(slots=True, eq=False)
class Conversation:
    """What one customer asked in one thread, without long silence."""

    thread: str
    customer: str
    begun: float
    is_whole: bool = True
    """Whether its beginning is known: what is passed on to people does not begin one."""
    questions: list[AskedMessage] = field(default_factory=list)
    cases: list[Opened] = field(default_factory=list)
    thanked: list[float] = field(default_factory=list)
    """When the customer said that it helped."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A conversation, and what came of it."""

    conversation: Conversation
    ending: Ending
    withdrawn: bool = False
    """Whether the customer has returned. Only a confirmed or assumed resolution can be withdrawn."""
    missed: bool = False
    """Whether a person should have been called, as it turned out."""


def parted(record: MetricsRecord) -> list[Conversation]:
    """The conversations in the order in which they began; the first may have begun before the record does."""
    asked = (message for message in record.written if message.ended not in NOT_ASKED)
    events: dict[tuple[str, str], list[AskedMessage | Opened]] = {}
    happened: list[AskedMessage | Opened] = [*asked, *record.cases]
    for event in happened:
        events.setdefault((event.thread, event.customer), []).append(event)
    found = [
        conversation
        for theirs in events.values()
        for conversation in _parted(sorted(theirs, key=lambda event: event.at))
    ]
    return sorted(found, key=lambda conversation: (conversation.begun, conversation.thread, conversation.customer))


def judge_all(conversations: Sequence[Conversation], record: MetricsRecord, *, now: float) -> list[Judged]:
    """What came of each by now."""
    histories: dict[str, _History] = {}
    for conversation in conversations:
        if conversation.customer not in histories:
            histories[conversation.customer] = _History()
        histories[conversation.customer].add(conversation)
    for history in histories.values():
        history.put_in_order()
    return [
        _judge(conversation, histories[conversation.customer], record.on_answers, now=now)
        for conversation in conversations
    ]


def marks_of(question: AskedMessage) -> frozenset[str]:
    """The pages that its answer names, and the numbers in it."""
    numbers = IDENTIFIER.findall(question.text) if _DIGIT.search(question.text) else ()
    return question.sources.union(map(str.casefold, numbers))


def _parted(events: Iterable[AskedMessage | Opened]) -> list[Conversation]:
    """The conversations of one customer in one thread, from what happened in the order of time."""
    conversations: list[Conversation] = []
    latest = 0.0
    for event in events:
        if isinstance(event, AskedMessage) and asks_nothing(event.text):
            if conversations and affirms(event.text):
                conversations[-1].thanked.append(event.at)
            continue
        goes_on = isinstance(event, AskedMessage) and event.ended in PASSED_ON
        if not conversations or not (goes_on or event.at - latest < SILENCE_SECONDS):
            conversations.append(Conversation(event.thread, event.customer, event.at, is_whole=not goes_on))
        if isinstance(event, AskedMessage):
            conversations[-1].questions.append(event)
        else:
            conversations[-1].cases.append(event)
        latest = event.at
    return conversations


def _judge(conversation: Conversation, history: "_History", verdicts: Mapping[int, Verdict], *, now: float) -> Judged:
    last = conversation.questions[-1] if conversation.questions else None
    if last is None:
        return Judged(conversation, "with_people")
    if not _is_served(last):
        is_called = any(case.at >= last.at for case in conversation.cases)
        return Judged(conversation, "with_people" if is_called else _unserved(last))
    until, counted_at = last.at + RETURN_SECONDS, last.at + SILENCE_SECONDS
    ending: Ending = "assumed"
    verdict = verdicts.get(last.id)
    said = [at for at in conversation.thanked if at >= last.at]
    if verdict and verdict.value == "up":
        said.append(verdict.at)
    settled_at = counted_at
    if said:
        ending, counted_at = "confirmed", min(counted_at, *said)
        settled_at = min(settled_at, counted_at + CONFIRMED_SECONDS)
    in_thread = history.in_thread(conversation)
    called = [call for each in in_thread if each.cases for call in _calls(each) if last.at <= call.at <= until]
    if any(call.at <= counted_at for call in called):
        return Judged(conversation, "with_people")
    if verdict and verdict.value in NOT_HELPFUL:
        if ending == "assumed" and verdict.at <= counted_at:
            return Judged(conversation, "unresolved")
        called.append(_Call(verdict.at, wanted=True))
    elsewhere = history.elsewhere(conversation, after=last, until=until)
    asks_again = any(last.at < each.begun <= until for each in in_thread)
    called += [call for each in elsewhere for call in _calls(each)]
    objections = [call for call in called if counted_at < call.at <= until]
    if now < settled_at:
        return Judged(conversation, "pending")
    if not (asks_again or elsewhere or objections):
        return Judged(conversation, ending)
    return Judged(conversation, ending, withdrawn=True, missed=any(call.wanted for call in objections))


class _Call(NamedTuple):
    """A person is called, or should have been."""

    at: float
    wanted: bool
    """Whether the customer asked for one, or said that it is not solved."""


def _calls(conversation: Conversation) -> list[_Call]:
    opened = [_Call(case.at, wanted=case.reason == "asked_for_person") for case in conversation.cases]
    return opened + [_Call(at, wanted=True) for case in conversation.cases for at in case.reopened_at]


def _is_served(question: AskedMessage) -> bool:
    return question.ended == "answered" and bool(question.sources or question.looked_up)


def _unserved(question: AskedMessage) -> Ending:
    if not question.ended:
        return "pending"
    return "unresolved" if question.ended in BY_ASSISTANT else "with_people"


class _History:
    """One customer's conversations, by thread and by what they are about."""

    def __init__(self) -> None:
        self._threads: dict[str, list[Conversation]] = {}
        self._marks: dict[int, frozenset[str]] = {}
        """Message -> what it is about, of customers who have asked in several threads."""
        self._asked: dict[str, list[tuple[float, int, Conversation]]] = {}
        """Mark -> when and by which message it was spoken of; without those that never came up again."""

    def add(self, conversation: Conversation) -> None:
        """Know this one; after the last of them they are to be put in order."""
        self._threads.setdefault(conversation.thread, []).append(conversation)

    def put_in_order(self) -> None:
        """Sort what was spoken of by time."""
        if len(self._threads) == 1:
            return
        asked: dict[str, list[tuple[float, int, Conversation]]] = {}
        for conversation in chain.from_iterable(self._threads.values()):
            for question in conversation.questions:
                marks = self._marks[question.id] = marks_of(question)
                for mark in marks:
                    asked.setdefault(mark, []).append((question.at, question.id, conversation))
        self._asked = {mark: sorted(found, key=_time) for mark, found in asked.items() if len(found) > 1}

    def in_thread(self, conversation: Conversation) -> Sequence[Conversation]:
        """The conversations of its thread, itself among them."""
        return self._threads[conversation.thread]

    def elsewhere(self, conversation: Conversation, *, after: AskedMessage, until: float) -> list[Conversation]:
        """Those of other threads in which its subject was spoken of `after` that message."""
        if not self._asked:
            return []
        found: dict[Conversation, None] = {}
        for mark in frozenset[str]().union(*(self._marks[question.id] for question in conversation.questions)):
            asked = self._asked.get(mark)
            if asked is None:
                continue
            for at, _, other in islice(asked, bisect_right(asked, (after.at, after.id), key=_time), None):
                if at > until:
                    break
                if other.thread != conversation.thread:
                    found[other] = None
        return list(found)


def _time(asked: tuple[float, int, Conversation]) -> tuple[float, int]:
    return asked[:2]
