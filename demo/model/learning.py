"""Who makes help articles of conversations, and who compares one with a page.

An article is the customer's question and the team's own words, in their order; nothing is added and nothing is
understood. Two texts differ when one names figures that the other has others for.
"""

import re

from demo.model.conversation import Reply, Talk
from demo.model.intents import read_wants
from demo.model.person import short
from demo.model.quoting import subjects
from demo.model.splitting import requests_in
from demo.model.summing_up import read_lines

TELLING_WORDS = 4
"""A message of the team with fewer tells nothing."""

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_PART = re.compile(r"<(article|page)>\s*(.*?)\s*</\1>", re.DOTALL)
_FRAME = re.compile(r"</?conversation>")


def write_article(talk: Talk) -> Reply:
    """The article in the form that is asked for, or the word for none."""
    lines, _ = read_lines(talk)
    told = [_FRAME.sub("", line.text).strip() for line in lines if line.speaker == "staff"]
    answers = [text for text in told if len(text.split()) >= TELLING_WORDS]
    asked = [_FRAME.sub("", line.text).strip() for line in lines if line.speaker == "customer"]
    question = next(filter(None, map(_asked, asked)), asked[0] if asked else "")
    if not (answers and question):
        return Reply("NOTHING")
    return Reply(f"TITLE: {short(question, 80)}\nQUESTION: {short(question, 300)}\nANSWER: {' '.join(answers)}")


def compare(talk: Talk) -> Reply:
    """Whether the article has figures, and the page others."""
    parts = dict(_PART.findall(talk.whole))
    article, page = (set(_FIGURE.findall(parts.get(name, ""))) for name in ("article", "page"))
    return Reply("DIFFERS" if article and page and not article <= page else "AGREES")


def _asked(message: str) -> str:
    """What a message asks for, without the wish for a person; empty for nothing."""
    return " ".join(part for part in requests_in(message) if subjects(part) and read_wants(part).person != "person")
