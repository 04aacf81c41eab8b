"""Who sorts messages: greets, calls a person, asks back, and hands everything else to the colleague it is for."""

from demo.model.conversation import Reply, Talk
from demo.model.intents import read_wants
from demo.model.language import language_of
from demo.model.person import call_person, person_reason
from demo.model.phrases import PHRASES
from demo.model.requests import read_requests, topic_of
from demo.model.specialist import hand_over
from demo.model.telling import small_talk
from demo.model.topics import Topic, colleague_for


def sort(talk: Talk) -> Reply:
    """A handover wherever there is a request."""
    phrases = PHRASES[language_of(talk.said, talk.earlier)]
    wants = read_wants(talk.said)
    reason = person_reason(talk, wants)
    if reason and not talk.passes_on:
        return call_person(talk, reason, phrases)
    topic = topic_of(read_requests(talk))
    words = small_talk(talk, wants, phrases) or ("" if topic else phrases.ask_back)
    if words and not talk.passes_on:
        return Reply(words)
    if talk.may_call and (reply := _hand_over(talk, topic or "answers")):
        return reply
    return Reply(f"{phrases.unknown} {phrases.person_offer}")


def _hand_over(talk: Talk, topic: Topic) -> Reply | None:
    free = [offer for offer in talk.tools.handovers if offer.colleague not in talk.been]
    colleague = colleague_for(topic, free) or colleague_for("answers", free) or next(iter(free), None)
    return Reply(calls=(hand_over(talk, colleague),)) if colleague else None
