"""The actions that a sentence claims, read word by word with one language's lists.

words_in            a folded text as words and marks, with their places
find_actions        the claimed actions: who is said to do them, and whether they are done or promised
find_bare           the actions of a clause that is little else: "Refund done.", "Storniert."
starts_with_action  whether a sentence lacks its subject: "Sent you a new one."

The nearest mark before an action's verb decides (in German also the one right after it): a member of the desk ("I",
"our team"), a state ("has been"), a promise ("will"), or what makes it no claim ("you", "can", "the carrier"). What
makes a claim harmless in spite of that, such as a condition, a denial or a question around it, is decided in claims.py.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bot.guard.claim_patterns import NOTHING, NUMBER, ORDER_ID, PASSED, Form, Kind, Roles, Wording

NEAR = 14
"""Words before a verb that are searched for its subject."""
BESIDE = 9
"""Words before and after a verb that are searched for the thing that makes it an action."""
CLAUSE = 40
"""Words before and after a state that count as its clause, at most."""
_PIECES = re.compile(r"[^\W_]+(?:[-'][^\W_]+|(?<=\d)[.,]\d+)*'?|'[^\W_]+|[^\w\s']|\n")
_CLIPPED = frozenset({"ll", "ve", "re", "d", "m", "s"})
"""What follows an apostrophe in English and belongs to it. In French the apostrophe belongs to what is before."""
_HARD = frozenset(".;:!?\n")
_SOFT = _HARD | {","}
_NUMBER = re.compile(rf"{ORDER_ID}|\d{{3,}}.{{0,20}}")
_MONEY = frozenset("$€£¥")
_LETTER = re.compile(r"[^\W\d_]")
_STATES = frozenset({"been", "is"})
_NO_CLAIM = frozenset({"you", "may"})
_MARKS = _STATES | _NO_CLAIM | {"us", "people", "will", "managed"}
"""The marks that decide what a verb means."""
_MARKS_OF_DO = _NO_CLAIM | {"will", "managed"}
"""The same for a plain verb, such as "cancel": "I" alone makes it no claim."""


class Word(NamedTuple):
    """A word or a mark, and its place in the text."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ClaimedAction:
    """An action that a text claims, between two positions in the text."""

    kind: Kind
    form: Form
    start: int
    end: int
    by_us: bool = False
    """Whether the shop says it of itself, and not the assistant."""
    in_present: bool = False
    """Whether it is a state in the present, as in rules: "is cancelled"."""


def words_in(text: str) -> list[Word]:
    """The words of a folded text. "I'll" is two words, and so is "j'ai". Words without digits lose their hyphens."""
    words: list[Word] = []
    for found in _PIECES.finditer(text):
        piece, start = found[0], found.start()
        if piece == "." and words and words[-1].text.isdigit() and len(words[-1].text) < 3:
            continue  # the point of an ordinal number, as in "3. November"
        if "'" not in piece or piece[0] == "'" or piece.endswith("n't"):
            words.append(Word(_joined(piece), start, found.end()))
            continue
        parts = piece.split("'")
        for number, part in enumerate(parts, start=1):
            before = "'" if number > 1 and part in _CLIPPED else ""
            behind = "'" if number < len(parts) and parts[number] not in _CLIPPED else ""
            if part:
                words.append(Word(before + _joined(part) + behind, start, start + len(part)))
            start += len(part) + 1
    return words


def _joined(word: str) -> str:
    return "".join(word.split("-")) if "-" in word[1:] and not any(each.isdigit() for each in word) else word


def find_actions(words: Sequence[Word], wording: Wording) -> Iterator[ClaimedAction]:
    """The actions that the words claim in one language, whatever is around them."""
    if wording.verbs.isdisjoint(word.text for word in words):
        return
    read = _Read(words, wording)
    for place, own in enumerate(read.roles):
        for kind, form, group in own.verbs:
            if group and not read.has_thing(place, group):
                continue
            action = read.action(place, kind, form, group)
            if action is not None:
                yield action


def find_bare(words: Sequence[Word], wording: Wording) -> Iterator[ClaimedAction]:
    """The actions of a clause that has only them, their things and small words."""
    if wording.verbs.isdisjoint(word.text for word in words):
        return
    roles = _Read(words, wording).roles
    marks = frozenset[str]().union(*(own.marks for own in roles))
    if "any" in marks or not all(
        own.verbs or own.things or own.marks - _MARKS or own.marks & _STATES or not _LETTER.search(word.text)
        for word, own in zip(words, roles, strict=True)
    ):
        return
    for before, own, following in zip([NOTHING, *roles], roles, [*roles[1:], NOTHING], strict=False):
        if (following.things and "prefix" not in following.marks) or before.marks & {"you", "beside"}:
            continue  # "Cancelled orders", "you told our team"
        for kind, form, group in own.verbs:
            is_told_by_team = "people" in marks and kind != "transferred"
            has_thing = not group or any(group in each.things for each in roles)
            if form in ("done", "bare") and has_thing and not is_told_by_team:
                yield ClaimedAction(kind, "stated", words[0].start, words[-1].end)


def starts_with_action(words: Sequence[Word], wording: Wording) -> bool:
    """Whether a sentence lacks its subject: "Sent you a new one.", "Updated the address."."""
    if len(words) < 2 or words[0].text not in wording.verbs:
        return False
    first, second = _Read(words[:2], wording).roles
    return any(form == "done" for _, form, _ in first.verbs) and bool(second.marks & {"the", "yours"})


class _Read:
    """The words of a text, and the roles of each."""

    def __init__(self, words: Sequence[Word], wording: Wording) -> None:
        self.words = words
        self.roles: list[Roles] = [wording.roles.get(word.text, NOTHING) for word in words]
        behind = 0
        """Where the last phrase ends."""
        for place, word in enumerate(words):
            phrases = wording.phrases.get(word.text, ()) if place >= behind else ()
            for others, own in phrases:
                last = place + len(others)
                if last < len(words) and all(words[place + 1 + at].text == each for at, each in enumerate(others)):
                    self.roles[place:last] = [PASSED] * len(others)
                    self.roles[last] = own
                    behind = last
                    break
            if word.text[-1].isdigit() and (_NUMBER.fullmatch(word.text) or self._is_money(place)):
                self.roles[place] = NUMBER

    def has_thing(self, place: int, group: int) -> bool:
        """Whether a thing that the action is done to is near the verb."""
        for step in (-1, 1):
            for near in range(place + step, place + step * (BESIDE + 1), step):
                if not 0 <= near < len(self.words) or self.words[near].text in _HARD:
                    break
                if group in self.roles[near].things:
                    return True
        return False

    def action(self, place: int, kind: Kind, form: str, group: int) -> ClaimedAction | None:
        """The action that a verb claims, by the marks nearest to it. None if it claims no action of the desk."""
        match form:
            case "bare":
                return None
            case "did" | "own" | "ours":
                if self._any(_NO_CLAIM | {"beside"}, place - 4, place):
                    return None
                said: Form = "done" if form == "did" else "promised" if form == "own" else "pledged"
                return ClaimedAction(kind, said, self.words[place].start, self.words[place].end, by_us=form == "ours")
            case "done" if self._any({"behind"}, place + 1, place + 2):
                return self._state(place, kind, place + 1)
            case "done" | "active" if self._any({"det"}, place - 1, place):
                return None  # "your cancelled order"
        at = self._mark_before(place, form, group)
        if at >= 0:
            return self._by_mark(place, kind, form, at)
        if form == "now" and self._any({"us"}, place + 1, place + 2):
            return self._said_by(place + 1, place, kind, "promised")
        return None

    def _by_mark(self, place: int, kind: Kind, form: str, at: int) -> ClaimedAction | None:
        """The action that a verb claims, once its nearest mark is known."""
        marks = self.roles[at].marks
        subject = self._subject(at)
        has_aspect = any(self._any({"aspect"}, near, near + 1) for near in (at - 1, at, place - 1))
        match form:
            case _ if marks & (_NO_CLAIM | {"beside"}):
                return None
            case "do" if "managed" in marks:
                return self._said_by(subject, place, kind, "done", at=at) if subject >= 0 else None
            case "do" if subject < 0 and not self._any({"beside"}, at - 1, at):
                return None
            case "done" | "active" if subject < 0 or (marks & _STATES and "aspect" not in marks):
                return self._state(place, kind, at) if form == "done" and marks & (_STATES | {"will"}) else None
            case _ if "will" in marks:
                return self._said_by(subject, place, kind, "promised", at=at)
            case "done" | "active":
                return self._said_by(subject, place, kind, "done", at=at)
            case "doing" if "is" in marks and subject >= 0:
                return replace(self._said_by(subject, place, kind, "done", at=at), form="promised")
            case "now" if subject >= 0:
                return self._said_by(subject, place, kind, "done" if has_aspect else "promised", at=at)
        return None

    def _said_by(self, subject: int, place: int, kind: Kind, form: Form, *, at: int | None = None) -> ClaimedAction:
        """An action with its subject, which is -1 if there is none. A promise of the whole shop is a pledge."""
        marks = self.roles[subject].marks if subject >= 0 else frozenset({"we"})
        by_us = bool(marks & {"we", "people"})
        said: Form = "pledged" if form == "promised" and by_us and "people" not in marks else form
        places = [each for each in (subject, place, at) if each is not None and each >= 0]
        return ClaimedAction(kind, said, self.words[min(places)].start, self.words[max(place, subject)].end, by_us)

    def _mark_before(self, place: int, form: str, group: int) -> int:
        """The place of the nearest mark before a verb, or -1. What is in parentheses is skipped."""
        depth = commas = 0
        wanted = _MARKS_OF_DO if form == "do" else _MARKS
        for at in range(place - 1, max(-1, place - 1 - NEAR), -1):
            text, marks = self.words[at].text, self.roles[at].marks
            if text in _HARD:
                return -1
            depth += (text == ")") - (text == "(")
            commas += text == ","
            is_thing = form in ("done", "active", "now") and "people" in marks and group in self.roles[at].things
            if depth or is_thing:
                continue
            if marks & wanted or (at == place - 1 and "beside" in marks):
                return -1 if commas == 1 and not marks & {"us", "will"} else at
        return -1

    def _subject(self, at: int) -> int:
        """The place of a member of the desk at, right before or right after a mark, or -1."""
        for near in (at, at - 1, at + 1, at - 2, at - 3):
            if not 0 <= near < len(self.words):
                continue
            if self.roles[near].marks & {"us", "people"}:
                return near
            if near < at and (self.words[near].text in _HARD or "you" in self.roles[near].marks):
                return -1
        return -1

    def _state(self, place: int, kind: Kind, at: int) -> ClaimedAction | None:
        """A state, such as "has been cancelled", if it is said of something of the customer's."""
        first = last = max(place, at)
        while first > max(0, place - CLAUSE) and self.words[first - 1].text not in _SOFT:
            first -= 1
        while last + 1 < min(len(self.words), place + CLAUSE) and self.words[last + 1].text not in _SOFT:
            last += 1
        if at == first and place > at + 1 and not self._is_comma(first - 1):
            return None  # a question, or German for "if"
        end = at if at < place else last + 1
        if not self._any({"yours", "the"}, first, end):
            end = place if at > first + 1 else last + 1  # the subject comes after it: "Se ha cancelado su pedido"
        is_yours = self._any({"yours"}, first, end)
        is_the = at > first and self._any({"the"}, first, end) and not self._any({"any"}, first, min(first + 3, end))
        if not (is_yours or is_the) or self._any({"may"}, max(first, at - 3), at):
            return None
        if self._any({"will"}, max(first, at - 2), at + 1):
            is_others = self._any({"you"}, at - 3, at)
            return None if is_others else ClaimedAction(kind, "pledged", self.words[first].start, self.words[place].end)
        in_present = "been" not in self.roles[at].marks
        if in_present and not is_yours and last > max(place, at) and not self._any({"now"}, first, last + 1):
            return None
        return ClaimedAction(
            kind, "stated", self.words[first].start, self.words[max(place, at)].end, in_present=in_present
        )

    def _any(self, marks: set[str] | frozenset[str], start: int, end: int) -> bool:
        """Whether a word between two places has one of the marks."""
        return any(own.marks & marks for own in self.roles[max(0, start) : max(0, end)])

    def _is_comma(self, place: int) -> bool:
        return place >= 0 and self.words[place].text == ","

    def _is_money(self, place: int) -> bool:
        return any(self.words[near].text in _MONEY for near in (place - 1, place + 1) if 0 <= near < len(self.words))
