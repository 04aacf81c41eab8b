"""What is below an answer: its sources, and buttons to rate it and to call a person.

The texts come from `Sentences`. Button values only name the answer. They hold no secret and are not trusted: the code
that handles the interaction looks up the present state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.slack.blocks import Block, Card, actions, button, context, one_line, plain, section
from bot.slack.mrkdwn import escape

SOURCES_SHOWN = 4
"""The most links under an answer. More of them help no one."""

WHY_NOT = ("wrong", "off_topic", "too_long")
"""Why an answer did not help, as its customer says in one press."""
NOT_HELPFUL: Mapping[str, str] = {
    "wrong": "wrong",
    "off_topic": "not the question",
    "too_long": "too long",
    "down": "no reason given",
}
"""The rating of an answer that did not help -> its words for staff."""


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """A page that an answer rests on."""

    title: str
    url: str
    """The page's address. If it is empty, the page is named but not linked."""
    updated: str = ""
    """When the page was last changed, for people to read. It can be empty."""


def answer_footer(
    sentences: Sentences,
    language: Language,
    *,
    ref: str,
    sources: Sequence[AnswerSource] = (),
    offer_person: bool = True,
) -> Card:
    """The blocks under an answer: its sources, the buttons to rate it, and the one that calls a person.

    `ref` names the answer.
    """
    blocks: list[Block] = []
    if sources:
        blocks.append(context(_source_line(sentences, language, sources)))
    blocks.append(
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "fb",
                    "positive_button": {"text": plain(sentences.say(language, "helpful")), "value": f"{ref}/up"},
                    "negative_button": {
                        "text": plain(sentences.say(language, "not_helpful")),
                        "value": f"{ref}/down",
                    },
                }
            ],
        }
    )
    if offer_person:
        blocks.append(actions(button("esc.customer", sentences.say(language, "talk_to_person"), ref)))
    return Card(sentences.say(language, "talk_to_person"), tuple(blocks))


def ask_why(sentences: Sentences, language: Language, *, ref: str) -> Card:
    """Ask who pressed "Not helpful" why, and offer a person. `ref` names the answer."""
    why = (button(f"fb.{reason}", sentences.say(language, f"was_{reason}"), f"{ref}/{reason}") for reason in WHY_NOT)
    person = button("esc.customer", sentences.say(language, "talk_to_person"), ref)
    words = sentences.say(language, "ask_why")
    return Card(words, (section(words), actions(*why, person)))


def why_not_helpful(counts: Mapping[str, int]) -> str:
    """How often answers did not help, by rating, in words for staff."""
    return ", ".join(f"{NOT_HELPFUL[rating]} {count:,}" for rating, count in counts.items())


def no_answer(sentences: Sentences, language: Language, *, ref: str, perhaps: AnswerSource | None = None) -> Card:
    """The answer "I don't know". The text is the answer, and the blocks under it offer a person.

    They also show the page that perhaps has the answer, if there is one.
    """
    accept = button("esc.accept", sentences.say(language, "accept_person"), ref, style="primary")
    decline = button("esc.decline", sentences.say(language, "decline_person"), ref)
    page = [context(_source_line(sentences, language, [perhaps]))] if perhaps else []
    return Card(sentences.say(language, "no_answer"), (*page, actions(accept, decline)))


def refusal(sentences: Sentences, language: Language, words: str, *, ref: str) -> Card:
    """What the shop says about a topic in mrkdwn, and the button that calls a person. `ref` names the message."""
    return Card(
        words, (section(words), actions(button("esc.customer", sentences.say(language, "talk_to_person"), ref)))
    )


def _source_line(sentences: Sentences, language: Language, sources: Sequence[AnswerSource]) -> str:
    links = " · ".join(source_link(source) for source in sources[:SOURCES_SHOWN])
    updated = max((source.updated for source in sources[:SOURCES_SHOWN]), default="")
    note = f"  ·  {sentences.say(language, 'updated', date=escape(updated))}" if updated else ""
    return f":books: {links}{note}"


def source_link(source: AnswerSource) -> str:
    """The page in mrkdwn. It is linked if its address is safe to link."""
    title = one_line(source.title, 80).replace("|", "¦")
    url = escape(source.url)
    return f"<{url}|{title}>" if source.url.startswith("https://") and "|" not in url else title
