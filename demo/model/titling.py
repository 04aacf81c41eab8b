"""Who gives cases a title: the last message that names an order or asks something, cut to a few words."""

import re

from demo.model.conversation import Reply, Talk

NONE = "none"
"""What is said of messages in which no matter can be recognized."""
WORDS = 7

_MESSAGE = re.compile(r"<message>\s*(.*?)\s*</message>", re.DOTALL)
_ORDER = re.compile(r"\b[A-Z]{2,8}-\d{3,}\b")
_CALL = re.compile(r"\b(?:human|person|agent|mensch(?:en)?|persona|humain|personne|orang)\b", re.IGNORECASE)


def give_title(talk: Talk) -> Reply:
    """A title for the messages, which come marked; unmarked, the whole text is the message."""
    found = _MESSAGE.search(talk.whole)
    lines = (found[1] if found else talk.whole).splitlines()
    telling = [line for line in lines if _ORDER.search(line) or (not _CALL.search(line) and len(line.split()) > 2)]
    if not telling:
        return Reply(NONE)
    return Reply(" ".join(telling[-1].split()[:WORDS]).rstrip(".,!?"))
