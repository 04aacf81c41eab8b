"""Who sums up older turns: what the customer asked, what was answered, the numbers that came up, what is open.

It takes sentences out of the conversation and adds none. For readers inside the desk, so in English around quotations.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from demo.model.conversation import Json, Line, Reply, Talk, object_in, text_in
from demo.model.intents import offers_person, read_wants
from demo.model.person import short

LIMIT = 1_200
"""Characters, when the instructions name no limit."""
CHARACTERS = {"character": 1, "word": 6, "sentence": 80, "line": 80, "token": 4}
"""What each unit of a limit is worth."""
QUOTED = 120
"""Characters of one quotation."""

_BOUND = re.compile(r"\b(\d[\d,.]*)\s+(character|word|sentence|line|token)s?\b", re.IGNORECASE)
_AMOUNT = re.compile(r"\b\d[\d.,]*\s(?:USD|CAD|EUR|GBP|IDR|JPY|SGD)\b")
_DATE = re.compile(r"\b\d{1,2}\.? [A-Za-zÀ-ÿ]{3,5}\.? \d{4}\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_SPOKEN = re.compile(r"(?im)^(customer|staff|team|assistant|agent|note)\b([^:\n]{0,60}):[ \t]*")
_LOOK_UP = re.compile(r"\b(?:found|failed)\b")
_SUMMARY = re.compile(r"<summary>\s*(.*?)\s*</summary>", re.DOTALL)


_SPEAKERS: Mapping[str, Literal["customer", "staff"]] = {"customer": "customer", "staff": "staff", "team": "staff"}


def sum_up(talk: Talk) -> Reply:
    """The summary, the latest first where there is not room for all."""
    lines, records = read_lines(talk)
    limit = _limit(talk.instructions)
    earlier = [found[1] for note in talk.context if (found := _SUMMARY.search(note))]
    parts = [
        _open(lines),
        *(_told(record) for record in records),
        *_exchanges(lines),
        _numbers(line.text for line in lines),
        *(short(summary, 4 * QUOTED) for summary in earlier),
    ]
    told: list[str] = []
    for part in dict.fromkeys(filter(None, parts)):
        if told and len("\n".join([*told, part])) > limit:
            break
        told.append(part)
    return Reply("\n".join(told)[:limit] or "Nothing was said.")


def read_lines(talk: Talk) -> tuple[Sequence[Line], list[Json]]:
    """What was said, oldest first, and the orders and parcels that were looked up, latest first.

    The conversation may come as one text: a line for everything said or found, with the speaker's name before it.
    """
    found = [each.value for each in (*talk.known, *talk.found) if each.value]
    if len(talk.lines) != 1 or len(_SPOKEN.findall(talk.whole)) < 2:
        return talk.lines, found[::-1]
    lines: list[Line] = []
    _, *pieces = _SPOKEN.split(talk.whole)
    for who, more, words in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if _LOOK_UP.search(more):
            found += [value] if (value := object_in(words)) else []
        elif who.lower() != "note":
            lines.append(Line(_SPEAKERS.get(who.lower(), "assistant"), words.strip()))
    return lines, found[::-1]


def _told(record: Json) -> str:
    """An order or a parcel with its state, day and amount, in the words of the record."""
    facts = [text_in(record, name) for name in ("status", "placed", "expected", "total")]
    known = ", ".join(filter(None, facts))
    if number := text_in(record, "tracking_number"):
        order = text_in(record, "order")
        return f"Parcel {number}{f' of {order}' if order else ''}: {known}."
    return f"Order {record['order']}: {known}." if isinstance(record.get("order"), str) else ""


def _limit(instructions: str) -> int:
    bounds = [(int(re.sub(r"\D", "", number)), unit.lower()) for number, unit in _BOUND.findall(instructions)]
    return max(QUOTED, min((number * CHARACTERS[unit] for number, unit in bounds), default=LIMIT))


def _numbers(texts: Iterable[str]) -> str:
    """Orders, parcels, amounts and dates that came up, each once."""
    orders: list[str] = []
    others: list[str] = []
    for text in texts:
        wants = read_wants(text)
        orders += [*wants.orders, *wants.parcels]
        others += [*_AMOUNT.findall(text), *_DATE.findall(text)]
    found = list(dict.fromkeys(orders))[:8] + list(dict.fromkeys(others))[:8]
    return f"Came up: {', '.join(found)}." if found else ""


def _open(lines: Sequence[Line]) -> str:
    """The last thing the customer wrote when nothing was said to it, or an offer nobody took up."""
    if not lines:
        return ""
    last = lines[-1]
    if last.speaker == "customer" and not read_wants(last.text).only_talk:
        return f"Open: “{short(last.text, QUOTED)}”"
    return "Open: a person was offered, and there was no reply." if offers_person(last.text) else ""


def _exchanges(lines: Sequence[Line]) -> Iterable[str]:
    """Question and answer, the latest first."""
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.speaker != "customer" or read_wants(line.text).only_talk:
            continue
        answers = []
        for answer in lines[at + 1 :]:
            if answer.speaker == "customer":
                break
            answers.append(f"{answer.speaker}: “{short(_gist(answer.text), QUOTED)}”")
        yield " · ".join([f"Customer: “{short(line.text, QUOTED)}”", *answers])


def _gist(text: str) -> str:
    """The first sentences that say something, without marks."""
    sentences = [sentence.strip("> *_") for sentence in _SENTENCE_END.split(text) if re.search(r"\w", sentence)]
    return " ".join(sentences[:2])
