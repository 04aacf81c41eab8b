"""What is to be done about a customer's message, decided from facts alone and without a model.

decide            the cheap model saw danger: call a person
  _for_people     a case is open: the people on it get the message, and perhaps the assistant answers too
  _after_case     a person solved a case before: thanks, or the case goes on
  _for_assistant  there is nothing to answer, the words ask for a person or thank, the topic is one for people or one
                  to refuse, or else the assistant answers

`bot/turns/customer_messages.py` reads the facts and carries the decision out. Whether there is money for an answer is
asked there, because asking reserves the money.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from bot.cases.case import may_be_reopened
from bot.desk import addressing, policy
from bot.desk.courtesies import affirms, is_last_word
from bot.desk.danger.classifier import Danger
from bot.desk.intents import (
    accepts,
    asks_how_long,
    may_say_settled,
    needs_no_more,
    refuses,
    says_settled,
    says_stop,
)
from bot.desk.topics import NO_TOPICS, FoundTopics
from bot.desk_file.model import PeopleTopic, RefusedTopic
from bot.store.actions import Action
from bot.store.cases import Case
from bot.store.inbox import InboxItem
from bot.turns.answers.danger_check import Look
from bot.turns.hearing import Hearing
from bot.views.announcements import Offer

Thanks = Literal["you_are_welcome", "glad_to_help", "any_time"]
RETURNED_THANKS: tuple[Thanks, ...] = get_args(Thanks)
"""The keys of the sentences that return thanks. They take turns."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision rests on."""

    item: InboxItem
    hearing: Hearing
    case: Case | None
    """The thread's open case."""
    ended: Case | None
    """The thread's latest case, if none is open."""
    seen: Look | None
    """The danger that the cheap model saw in an earlier attempt, if that was not handled."""
    danger: Danger | None
    """The danger in the words, or else the danger that was seen."""
    begun_at: float | None
    """When an earlier attempt began an answer that it did not finish. None if there is none."""
    shows_images: bool
    """True if it brought images, and the model takes them."""
    has_asked_back: bool
    """True if the assistant's last message ends with a question."""
    is_offered: bool
    """True if the answer before this message was none, and offered a person."""
    asked: tuple[Action, ...]
    """The changes of orders that the author is being asked about in this thread."""
    is_paused: bool
    """True if staff have paused the assistant in the channel."""
    topics: FoundTopics
    """The topics of the desk file that the message is about."""
    is_over: bool
    """True if the author is over the limit of messages."""
    now: float


@dataclass(frozen=True, slots=True)
class Call:
    """Open a case instead of answering, because the author asked for a person after this message."""


@dataclass(frozen=True, slots=True)
class CallForDanger:
    """Open a case instead of answering, or make the open one as urgent, because the cheap model saw danger."""

    seen: Look


@dataclass(frozen=True, slots=True)
class HandOver:
    """Open a case, because the words ask for a person or show danger, or are about a topic for people."""

    reason: str
    topic: PeopleTopic | None = None
    accepts: bool = False
    """Whether the words only accept the offer of a person. Then the case is named after the question before them."""


@dataclass(frozen=True, slots=True)
class PassOn:
    """Pass the message on to the people on its case."""

    case: Case
    offers: Offer | None = None
    """What the customer is shown besides: how the case stands, since they asked; how to end it, since "stop" may mean
    that; or the assistant's help meanwhile, since the message is a question."""
    says_solved: bool = False
    """Whether the message says that no person is needed any more. The person who has the case is asked to resolve it.
    """


@dataclass(frozen=True, slots=True)
class TakeBack:
    """End the case, because its customer no longer needs a person."""

    case: Case


@dataclass(frozen=True, slots=True)
class Help:
    """Pass the message on, and answer it while the case waits. Without money for an answer, only pass it on."""

    case: Case


@dataclass(frozen=True, slots=True)
class Decline:
    """Leave everything as it is: the words say no to a change that was prepared."""

    action: Action


@dataclass(frozen=True, slots=True)
class PointAtButtons:
    """Say that words alone change nothing, and show the change again where the customer looks now."""

    action: Action


@dataclass(frozen=True, slots=True)
class Refuse:
    """Say what the shop says about topics that the assistant does not speak about."""

    topics: tuple[RefusedTopic, ...]
    case: Case | None = None
    """The case that waits, whose people get the message too."""


@dataclass(frozen=True, slots=True)
class Thank:
    """Pass thanks on to the people who solved the case."""

    case: Case


@dataclass(frozen=True, slots=True)
class Reopen:
    """Reopen the solved case with the message."""

    case: Case


@dataclass(frozen=True, slots=True)
class Resume:
    """Continue the answer of an earlier attempt, though its case waits by now."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End the answer of an earlier attempt, because the message was edited into a stop."""


@dataclass(frozen=True, slots=True)
class Say:
    """Post one sentence in place of an answer."""

    key: (
        Literal["file_unread", "greeting", "nothing_to_stop", "rephrase", "standing_by", "action_press_button"] | Thanks
    )
    reason: Literal["no_words", "nothing_to_stop", "thanked", "declined", "not_pressed"]
    """How the row ends."""


PRESS_BUTTON: Literal["action_press_button"] = "action_press_button"
NOT_PRESSED: Literal["not_pressed"] = "not_pressed"
"""What is said to a yes in words, and how its row ends."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """Say nothing, because staff have paused the assistant in the channel."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Say nothing and erase the content, because nobody asked us anything."""


@dataclass(frozen=True, slots=True)
class Done:
    """Close the row only, because an earlier attempt did all the rest."""

    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Ask the agents, if there is money for it."""


Decision = (
    Call
    | CallForDanger
    | HandOver
    | PassOn
    | TakeBack
    | Help
    | Decline
    | PointAtButtons
    | Refuse
    | Thank
    | Reopen
    | Resume
    | Stop
    | Say
    | Ignore
    | Forget
    | Done
    | Answer
)


def decide(facts: Facts) -> Decision:
    """Return what is to be done about a message that is for us."""
    case, ended = facts.case, facts.ended
    if facts.seen and (case is None or case.waits):
        return CallForDanger(facts.seen)
    if case is not None:
        return _for_people(facts, case)
    if ended is not None and _is_taken_back(facts, ended):
        return Done("taken_back")
    if ended is not None and _is_about(facts, ended):
        return _after_case(facts, ended)
    if facts.item.interrupt == "called":
        return Call()
    return _for_assistant(facts)


def _for_people(facts: Facts, case: Case) -> Decision:
    item = facts.item
    if case.waits and facts.begun_at is not None and facts.begun_at <= case.opened_at:
        # This very answer may have opened the case. Until staff claim it, the answer continues.
        return Call() if item.interrupt == "called" else Resume()
    if item.author != case.customer or facts.danger or policy.asks_for_person(item.words):
        return PassOn(case)
    # Whoever sends a file has more to say than these words.
    words = "" if item.message.files else item.words
    if not case.waits:
        return PassOn(case, says_solved=says_settled(words))
    return _for_waiting_customer(facts, case, words)


def _for_waiting_customer(facts: Facts, case: Case, words: str) -> Decision:
    item = facts.item
    if says_settled(words):
        return TakeBack(case)
    if may_say_settled(words):
        return PassOn(case, offers="end")
    if asks_how_long(words):
        return PassOn(case, offers="status")
    if facts.is_paused or facts.is_over or not item.message.text:
        return PassOn(case)
    if facts.topics.person:
        return PassOn(case)
    if facts.topics.is_refused:
        return Refuse(facts.topics.refused, case)
    if case.keeps_helping:
        return Help(case)
    if not addressing.asks(item.words):
        return PassOn(case)
    is_about_case = addressing.shares_matter(item.words, (case.title, case.summary))
    return PassOn(case, offers="help") if is_about_case else Help(case)


def _is_taken_back(facts: Facts, ended: Case) -> bool:
    """Whether an earlier attempt at this message ended the case, and was interrupted before the row was closed."""
    item = facts.item
    is_since = ended.ended_at is not None and ended.ended_at >= item.received_at
    is_theirs = ended.state == "bot" and ended.customer == item.author
    return is_theirs and is_since and not item.message.files and says_settled(item.words)


def _is_about(facts: Facts, ended: Case) -> bool:
    """Whether the message belongs to the ended case, and not to an answer that has begun."""
    item = facts.item
    is_theirs = ended.customer == item.author and may_be_reopened(ended, now=facts.now)
    return is_theirs and facts.hearing.concerns and facts.begun_at is None and not says_stop(item.words)


def _after_case(facts: Facts, ended: Case) -> Decision:
    item = facts.item
    if facts.danger is None and not item.message.files and is_last_word(item.words):
        return Thank(ended)
    return Reopen(ended)


def _for_assistant(facts: Facts) -> Decision:
    item, has_begun, is_stop = facts.item, facts.begun_at is not None, says_stop(facts.item.words)
    topics = facts.topics if facts.hearing.concerns else NO_TOPICS
    reason = policy.reason_to_call(item.words, facts.danger) or ("topic" if topics.person else None)
    if facts.is_paused and not reason and not has_begun:
        return Ignore()
    has_nothing = is_stop or not (reason or item.message.text)
    if facts.hearing.is_unasked and has_nothing and not has_begun:
        return Forget()
    if not item.message.text and not facts.shows_images:
        return Say("file_unread" if item.message.files else "greeting", "no_words")
    if is_stop:
        return Stop() if has_begun else Say("nothing_to_stop", "nothing_to_stop")
    if reason:
        return HandOver(reason, topics.person if reason == "topic" else None)
    if topics.is_refused:
        return Refuse(topics.refused)
    if facts.is_offered and accepts(item.words) and not item.message.files:
        return HandOver("asked_for_person", accepts=True)
    said = None if item.message.files else _courtesy(facts)
    if said is not None:
        return Forget() if facts.hearing.is_unasked and not has_begun else said
    return Answer()


def _courtesy(facts: Facts) -> Say | Decline | PointAtButtons | None:
    """What answers thanks, a no, or a yes. None if the message is none of them. A yes in words changes nothing."""
    words = facts.item.words
    if facts.is_offered and refuses(words):
        return Say("rephrase", "declined")
    if facts.asked and not facts.has_asked_back and (accepts(words) or refuses(words) or needs_no_more(words)):
        if len(facts.asked) > 1:
            return Say(PRESS_BUTTON, NOT_PRESSED)
        return PointAtButtons(facts.asked[0]) if accepts(words) else Decline(facts.asked[0])
    if facts.has_asked_back:
        return None
    if affirms(words):
        return Say(RETURNED_THANKS[facts.item.id % len(RETURNED_THANKS)], "thanked")
    return Say("standing_by", "declined") if needs_no_more(words) else None
