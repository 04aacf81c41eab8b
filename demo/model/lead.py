"""Who answers compound requests: asks a colleague about each, all at once, and puts the answers together."""

from collections.abc import Sequence

from demo.model.conversation import Call, Found, Offer, Reply, Talk, text_in
from demo.model.intents import read_wants
from demo.model.language import language_of
from demo.model.person import call_person, filled, person_reason
from demo.model.phrases import PHRASES, Phrases
from demo.model.requests import Request, read_requests, topic_of
from demo.model.telling import small_talk
from demo.model.topics import colleague_for


def lead(talk: Talk) -> Reply:
    """The questions to the colleagues, then one answer with a paragraph for each.

    A wish that only a person can fulfill waits for the rest; anger, law and money do not.
    """
    language = language_of(talk.said, talk.earlier)
    phrases, wants = PHRASES[language], read_wants(talk.said)
    requests = read_requests(talk)
    reason = person_reason(talk, wants) or next(filter(None, (each.wants.person for each in requests)), None)
    if reason:
        return call_person(talk, reason, phrases)
    if words := small_talk(talk, wants, phrases):
        return Reply(words)
    asked = talk.results_about("colleague")
    calls = _questions(talk, requests) if talk.may_call and not asked else []
    if calls:
        return Reply(calls=tuple(calls))
    told = _together(asked, phrases)
    if changes := [each for each in requests if each.change]:
        cannot = [
            phrases.changes[each.change].format(order=order) for each in changes if each.change for order in each.orders
        ]
        called = call_person(talk, "change", phrases)
        return Reply("\n\n".join(filter(None, [told, *dict.fromkeys(cannot), called.text])), called.calls)
    unknown = f"{phrases.unknown} {phrases.person_offer}" if topic_of(requests) else phrases.ask_back
    return Reply(told or unknown)


def _questions(talk: Talk, requests: Sequence[Request]) -> list[Call]:
    """One for each request that some colleague is there for."""
    asked = [(_colleague(talk, each), each.text) for each in requests if not each.change]
    return [Call(offer.name, filled(offer, {"question": text})) for offer, text in asked if offer]


def _colleague(talk: Talk, request: Request) -> Offer | None:
    topic = topic_of([request])
    offers = talk.tools.questions
    return (topic and colleague_for(topic, offers)) or colleague_for("answers", offers) or next(iter(offers), None)


def _together(asked: Sequence[Found], phrases: Phrases) -> str:
    """A paragraph for each question, each said once; the offer of a person stands at the end."""
    answers = [_answer(found, phrases) for found in asked]
    offered = any(phrases.person_offer in answer for answer in answers)
    told = [answer.replace(phrases.person_offer, "").strip() for answer in answers]
    return "\n\n".join([*dict.fromkeys(filter(None, told)), *([phrases.person_offer] if offered else [])])


def _answer(found: Found, phrases: Phrases) -> str:
    """The colleague's words; when there are none, that this part is open."""
    value = found.value
    if value is None:
        return found.content.strip()
    if "error" not in value and (words := text_in(value, "answer", "text", "reply")):
        return words.strip()
    question = text_in(found.call.arguments, "question", "query")
    return f"{phrases.part_open.format(question=question)} {phrases.person_offer}"
