"""Rules without a model: when a person is called, how a message is worked on, and which answers are grounded.

asks_for_person   The customer's words ask for a human being.
is_upset          The customer is angry or disappointed.
reason_to_call    Returns why the words alone call for a person.
is_grounded       The answer rests on evidence.
needs_person      The message is about danger, fraud or law, which a person handles.
questions_in      Returns the questions that a message asks.
questions_apart   Returns questions that can be answered separately, at the same time.
lead_up_to        Returns the part of a message that can name what a question is about.
asked_besides     Returns what a message asks besides some of its sentences.
is_compound       The message asks for so much that an agent has to lead the work.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from bot.desk.courtesies import asks_nothing
from bot.desk.danger.classifier import Danger, find_danger
from bot.language.matching import READ_LIMIT, matcher
from bot.language.rhetoric import WORD, is_about_something, is_rhetorical, names_a_number, only_asks

_CLAUSE_END = re.compile(r"[.!?…:;\n]+")
CLARIFYING_LIMIT = 300
"""The most characters of a question back to the customer that needs no source."""
QUESTION_WORDS = 3
"""The least number of words of a question of its own. "Right?" and "And ORD-12345?" have fewer."""
REFERRING_WORDS = 8
"""The most words of a question that can refer back to the one before it."""
APART_MOST = 4
"""The most questions that are answered at the same time. For more, an agent leads the work."""
APART_LIMIT = 1_000
"""The most characters of a message that is split into its questions. A longer one is read as a whole."""
COMPOUND_LEAST = 3
"""The number of questions and requests that make a message compound, if at least one is a request."""
COMPOUND_LIMIT = 4_000
"""The most characters of a compound message."""

_PIECE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
_QUOTED_LINES = re.compile(r"^[ \t]*(?:>|&gt;)[^\n]*|```.*?```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`[^`\n]*`|https?://\S+|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|\"[^\"\n]*\"")
"""Quoted words, code and addresses. No sentence of the customer ends inside them."""
_MARKS_FROM_END = re.compile(r"[\s)\]*_~]*([!?？！…]*)")
"""The marks at the end of a sentence, matched on the reversed sentence. A search from the beginning would try to match
at every mark."""


def asks_for_person(text: str) -> bool:
    """Whether the customer's words ask for a human being. Then no model is asked."""
    if matcher("handover_requests.patterns").is_in(text):
        return True
    alone, beside = matcher("handover_requests.alone"), matcher("handover_requests.beside_alone")
    return any(alone.is_all(clause, beside=beside) for clause in _CLAUSE_END.split(text[:READ_LIMIT]))


def is_upset(text: str) -> bool:
    """Whether the customer is angry or disappointed."""
    return matcher("upset").is_in(text)


def reason_to_call(text: str, danger: Danger | None) -> str | None:
    """Return the reason for a case if the words alone call for a person. `danger` is what was found in them."""
    if danger or not asks_for_person(text):
        return danger
    return "upset" if is_upset(text) else "asked_for_person"


def needs_person(text: str) -> bool:
    """Whether the message is about danger of any kind, fraud, disputes or law, which a person handles."""
    return find_danger(text) is not None


def is_grounded(answer: str, message: str, *, evidence: bool, searched_in_vain: bool = False) -> bool:
    """Whether an answer can be shown: it rests on evidence, answers a courtesy, or only asks a question back.

    After a search without a result (`searched_in_vain`), a question back is not enough. The customer is told that
    nothing was found.
    """
    if evidence or asks_nothing(message):
        return True
    return not searched_in_vain and len(answer) <= CLARIFYING_LIMIT and only_asks(answer)


def questions_in(text: str) -> tuple[str, ...]:
    """The questions of a message in order, without duplicates, quotes, and pleasantries such as "Can you help me?"."""
    return tuple(dict.fromkeys(piece.text for piece in _pieces(text) if piece.kind == "question"))


def questions_apart(text: str) -> tuple[str, ...]:
    """Two to four questions that can be answered separately. Empty if the message is better read as a whole.

    A short question that refers back, such as "And how long does it take?", stays with the one before it. A rhetorical
    question is left out. Each remaining question must clearly be about something.
    """
    if len(text) > APART_LIMIT or any(piece.kind == "request" for piece in _pieces(text)):
        return ()
    apart: list[str] = []
    for question in questions_in(text):
        if is_rhetorical(question):
            continue
        if apart and refers_back(question):
            apart[-1] += f" {question}"
        else:
            apart.append(question)
    return tuple(apart) if 2 <= len(apart) <= APART_MOST and all(map(is_about_something, apart)) else ()


def refers_back(question: str) -> bool:
    """Whether it is a short question such as "And its packed size?", whose subject is in what was said before."""
    return len(WORD.findall(question)) <= REFERRING_WORDS and matcher("refers_back").is_in(question)


def lead_up_to(text: str, question: str) -> str:
    """The statements before one of a message's questions, and the question before it. They may name its subject."""
    statements: list[str] = []
    before = ""
    for piece in _pieces(text):
        if piece.kind == "question":
            if question.startswith(piece.text):
                break
            before = before if is_rhetorical(piece.text) else piece.text
        elif not _is_pleasantry(piece.text):
            statements.append(piece.text)
    return " ".join(part for part in (*statements, before) if part)


def is_compound(text: str) -> bool:
    """Whether the message has more than four questions, or at least three questions and requests with one request."""
    if len(text) > COMPOUND_LIMIT:
        return False
    questions, requests = len(questions_in(text)), sum(piece.kind == "request" for piece in _pieces(text))
    return questions > APART_MOST or (requests > 0 and questions + requests >= COMPOUND_LEAST)


def asked_besides(text: str, is_known: Callable[[str], bool]) -> str:
    """The message without the sentences that are known. Empty if the others ask nothing.

    A statement behind a known sentence may be a matter of its own. One before it leads up to it, unless it wants
    something for an order or names a number: "My order 12345 never came."
    """
    others: list[str] = []
    is_behind = asks = False
    at = 0
    for piece in _pieces(text):
        if is_known(piece.text):
            is_behind = True
            others.append(text[at : piece.start].rstrip(" "))
            at = piece.end
            continue
        counts = is_behind or names_a_number(piece.text) or matcher("order_requests").is_in(piece.text)
        asks |= piece.kind != "statement" or (counts and _states_something(piece.text))
    return "".join((*others, text[at:])).strip() if asks else ""


def _states_something(sentence: str) -> bool:
    is_courtesy = asks_nothing(sentence) or _is_pleasantry(sentence) or is_rhetorical(sentence)
    return not is_courtesy and is_about_something(sentence)


class _Piece(NamedTuple):
    """A sentence of a message."""

    text: str
    kind: str
    """One of `question`, `request` and `statement`."""
    start: int
    """Where it begins in the message."""
    end: int
    """Where it ends there."""


def _pieces(text: str) -> list[_Piece]:
    said = _QUOTED_LINES.sub(lambda quoted: "\n" * len(quoted[0]), text)
    masked = _QUOTED.sub(lambda quoted: "·" * len(quoted[0]), said)
    ends = [*(end.end() for end in _PIECE_END.finditer(masked)), len(masked)]
    pieces: list[_Piece] = []
    for start, end in zip([0, *ends], ends, strict=False):
        if piece := said[start:end].strip():
            begin = start + said[start:end].index(piece)
            kind = _kind(masked[start:end].strip())
            pieces.append(_Piece(" ".join(piece.split()), kind, begin, begin + len(piece)))
    return pieces


def _kind(piece: str) -> str:
    if len(WORD.findall(piece)) < QUESTION_WORDS or _is_pleasantry(piece):
        return "statement"
    if _asks(piece):
        return "question"
    return "request" if matcher("requests").is_in(piece) else "statement"


def _is_pleasantry(piece: str) -> bool:
    """Whether it is a question that asks nothing, such as "Hi, can you help me?"."""
    return matcher("pleasantries").is_all(piece, beside=matcher("small_talk"))


def _asks(piece: str) -> bool:
    """Whether a question mark is among the marks that the sentence ends in."""
    found = _MARKS_FROM_END.match(piece[::-1])
    return found is not None and not {"?", "？"}.isdisjoint(found[1])
