"""The part of the agents' instructions that a shop writes itself, composed from its desk file.

own_part     The part of the agents that answer customers, in a fixed order.
drafts_part  The part of the agent that writes drafts for staff. It calls no one, and no one reads its marks.

Nothing in them depends on a customer or the day.
"""

from bot.desk_file.model import DeskFile
from bot.language.languages import DEFAULT

MARK = "TOPIC_"
"""With a number behind it, what the model replies about a topic that it does not speak about. No one reads it."""


def own_part(desk: DeskFile) -> str:
    """The shop's voice, rules, topics and words. Empty if the file says nothing about them."""
    return "\n\n".join(filter(None, (_voice(desk), _refused(desk), _people(desk), _glossary(desk))))


def drafts_part(desk: DeskFile) -> str:
    """The shop's voice, rules, topics and words for drafts. Empty if the file says nothing about them."""
    return "\n\n".join(filter(None, (_voice(desk), _sentences(desk), _glossary(desk))))


def _sentences(desk: DeskFile) -> str:
    lines = [f"{topic.topic}: {topic.sentence(DEFAULT)}" for topic in desk.refuse]
    return _listed(
        "Topics that the shop does not speak about. What a draft says about one of them is the sentence behind it, in "
        "the customer's language, and nothing else",
        lines,
    )


def _voice(desk: DeskFile) -> str:
    lines = [
        *([f"Tone: {desk.assistant.tone}"] if desk.assistant.tone else ()),
        *([f"How you address people: {desk.assistant.address}"] if desk.assistant.address else ()),
        *desk.rules,
    ]
    return _listed("What this shop wants of you", lines)


def _refused(desk: DeskFile) -> str:
    lines = [f"{MARK}{number}: {topic.topic}" for number, topic in enumerate(desk.refuse, start=1)]
    return _listed(
        "Topics that you do not speak about. About one of them, reply with its mark alone: the customer then reads our "
        "own sentence. If the message asks something else as well, answer that, and end with the mark on its own line",
        lines,
    )


def _people(desk: DeskFile) -> str:
    return _listed(
        "Topics that always go to a person. Call `escalate_to_human` with the reason `topic`, and answer nothing about "
        "them",
        [topic.topic for topic in desk.people],
    )


def _glossary(desk: DeskFile) -> str:
    return _listed("Words of this business", [f"{word}: {meaning}" for word, meaning in desk.glossary.items()])


def _listed(heading: str, lines: list[str]) -> str:
    return "\n".join((heading, *(f"- {line}" for line in lines))) if lines else ""
