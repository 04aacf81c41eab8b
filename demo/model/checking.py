"""Who checks drafts: every figure of a draft must stand in its sources. More than figures it cannot judge.

Figures are numbers, dates, amounts, order and tracking numbers. The number of an order or a parcel that the customer
wrote is no news in an answer; a bare amount or a count of days is.
"""

import re

from demo.model.conversation import Reply, Talk
from demo.model.intents import read_wants
from demo.model.language import language_of
from demo.model.phrases import PHRASES

STANDS = "STANDS"
"""What is said of a draft that is left as it is, when the instructions name no other word."""

_STANDS_WORD = re.compile(r"\bword\W+([A-Za-z]+)")
_SECTION = re.compile(r"<(question|results|draft)>\s*(.*?)\s*</\1>", re.DOTALL)
_FIGURE = re.compile(r"\w*\d\w*(?:[.,:]\d+)*(?:-\w+)*")
_TAG = re.compile(r"</?passage\b[^>]*>")
_LIST_MARK = re.compile(r"^\s*(?:\d+[.)]|[-*•>])\s+", re.MULTILINE)
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?…][\"”’)*]*(?=\s|$)|(?=\n|$))\s*")


def check(talk: Talk) -> Reply:
    """The word for "it stands", or the draft without the sentences whose figures nothing supports."""
    question, sources, draft = _material(talk)
    named = read_wants(question)
    known = _figures(" ".join([sources, *named.orders, *named.parcels]))
    sentences = _SENTENCE.findall(draft)
    held = [_figures(_LIST_MARK.sub("", sentence)) <= known for sentence in sentences]
    if all(held):
        word = _STANDS_WORD.search(talk.instructions)
        return Reply(word[1] if word else STANDS)
    kept = "".join(each if stands else _breaks(each) for each, stands in zip(sentences, held, strict=True))
    return Reply(re.sub(r"[ \t]+\n", "\n", kept).strip() or PHRASES[language_of(draft)].unknown)


def _breaks(sentence: str) -> str:
    """The line breaks behind a sentence, which stay when it goes."""
    return sentence[len(sentence.rstrip()) :].lstrip(" ")


def _material(talk: Talk) -> tuple[str, str, str]:
    """The question, what the draft may rest on, and the draft.

    They come marked in the last message; unmarked, that message is the draft. Passages and what staff wrote are
    sources too.
    """
    parts = dict(_SECTION.findall(talk.whole))
    passages = [_TAG.sub("", text) for text in talk.context]  # the numbers in their marks hold up nothing
    staff = [line.text for line in talk.lines[:-1] if line.speaker == "staff"]
    asked = [parts.get("question", ""), *talk.earlier]
    return (
        "\n".join(asked),
        "\n".join([*passages, *staff, parts.get("results", "")]),
        parts.get("draft", talk.whole),
    )


def _figures(text: str) -> set[str]:
    return {figure.lower().strip("*_") for figure in _FIGURE.findall(text)}
