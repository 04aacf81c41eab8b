"""The text of an answer and what its messages show of it. It knows neither Slack's calls nor the time.

StreamText     what has come, what is shown, what can be sent next, and where a message must end
StreamMessage  one streamed message
ProgressCard   one change of a progress card

Positions count characters of the text.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from bot.slack.api.transport import Chunk
from bot.slack.mrkdwn import best_cut, last_cut, seam, size

TaskStatus = Literal["pending", "in_progress", "complete", "error"]

FIELD_LIMIT = 256
"""The maximum of characters in a progress card's title, and in its details."""
CARD_BYTES = 180
"""What a progress card counts towards the message's limit besides its words. So at most 50 cards fit."""
NEAR = 0.8
"""Past this share of a message's bytes or seconds, calls end only at the end of a word, so that the message can end
there."""


@dataclass(frozen=True, slots=True)
class ProgressCard:
    """One change of a progress card."""

    id: str
    title: str
    status: TaskStatus
    details: str
    at: int = 0
    """How many characters of the text come before it."""

    @property
    def weight(self) -> int:
        """What it counts towards the message's limit. Slack counts details twice."""
        return CARD_BYTES + size(self.title) + 2 * size(self.details)

    @property
    def chunk(self) -> Chunk:
        """The change as Slack takes it."""
        chunk = {"type": "task_update", "id": self.id, "title": self.title, "status": self.status}
        return {**chunk, "details": self.details} if self.details else chunk


@dataclass(slots=True)
class StreamMessage:
    """A streamed message, and what it shows of the text."""

    ts: str
    opened: float
    start: int
    """The position in the text where it begins."""
    prefix: str = ""
    """The line that opens a code fence again, before the text from `start` on."""
    cards: int = 0
    """The weight of its progress cards."""
    open: bool = True
    sure: bool = True
    """False after an unanswered call: the message may show more than we know."""
    full: bool = False
    """Whether Slack refused more because the message is too long."""
    shown: str = ""
    """Its whole text, once it is complete."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text that is a whole message."""

    words: str
    closing: str
    """What closes the code fence that is open at the end of the words."""
    to: int
    """The position where the next message begins."""
    opening: str
    """The line that opens the fence again there."""
    is_last: bool
    """Whether nothing of the text comes after it, except words that cannot be shown yet."""

    @property
    def text(self) -> str:
        """What the message shows. Empty if there is nothing to read."""
        return self.words + self.closing if self.words.strip() else ""


@dataclass(slots=True)
class StreamText:
    """What has come and what is shown. A message ends at its limits of bytes and of seconds."""

    message_bytes: int
    message_seconds: float
    text: str = ""
    shown_to: int = 0
    """Some message shows everything before this position."""
    sent_to: int = 0
    """Everything before this position was in some call."""
    prefix: str = ""
    """What the next message begins with, before the text from `shown_to` on."""
    is_closed: bool = False
    """Whether the text is complete."""
    takes_cards: bool = True
    _cards: list[ProgressCard] = field(default_factory=list)
    """Changes that no message shows yet."""
    _leaving: list[ProgressCard] = field(default_factory=list)
    """Those of `_cards` that are in a call."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read."""
        return not self.text.strip()

    @property
    def has_more(self) -> bool:
        """Whether some words are not shown yet."""
        return bool(self.text[self.shown_to :].strip())

    def add(self, words: str) -> None:
        """Add to the text."""
        self.text += words

    def change(self, card: ProgressCard) -> None:
        """Change a card. A change that has not left yet is replaced."""
        for index, waiting in enumerate(self._cards):
            if waiting.id == card.id and waiting not in self._leaving:
                details = (waiting.details + card.details)[:FIELD_LIMIT]
                self._cards[index] = replace(card, at=waiting.at, details=details)
                return
        self._cards.append(replace(card, at=len(self.text)))

    def refuse_cards(self) -> None:
        """Drop the cards. No more are taken."""
        self.takes_cards = False
        self._cards = []

    def drop_unsent(self) -> None:
        """Drop the words that were in no call yet."""
        self.text = self.text[: self.sent_to]

    def next_message(self, ts: str, now: float, *, is_open: bool = True) -> StreamMessage:
        """A message that begins where the shown text ends."""
        return StreamMessage(ts, now, self.shown_to, self.prefix, open=is_open)

    def reach(self, message: StreamMessage, *, age: float) -> tuple[int, bool]:
        """How far a message of this age can take the text now, and whether it must end there."""
        whole = self._from(message)
        outside = message.start - len(message.prefix)
        floor = self.shown_to - outside
        room = self.message_bytes - message.cards - sum(card.weight for card in self._cards)
        if size(whole) > room:
            return outside + best_cut(whole, limit=max(room, self.message_bytes // 2), floor=floor), True
        if age >= self.message_seconds:
            return outside + last_cut(whole, floor=floor), True
        near = size(whole) > room * NEAR or age > self.message_seconds * NEAR
        return (outside + last_cut(whole, floor=floor) if near and not self.is_closed else len(self.text)), False

    def chunks(self, to: int, before: str = "", *, after: str = "") -> tuple[list[Chunk], list[ProgressCard]]:
        """The text from `shown_to` to `to` with the cards at their positions in it, and these cards."""
        chunks: list[Chunk] = []
        cards = [card for card in self._cards if card.at <= to]
        words, position = before, self.shown_to
        for card in cards:
            words += self.text[position : card.at]
            position = max(position, card.at)
            chunks += [*_words(words), card.chunk]
            words = ""
        self._leaving = cards
        return [*chunks, *_words(words + self.text[position:to] + after)], cards

    def seam_at(self, message: StreamMessage, to: int) -> tuple[str, str]:
        """What closes the code fence that is open in a message that ends at `to`, and what opens it again."""
        return seam(message.prefix + self.text[message.start : to])

    def accept(self, message: StreamMessage, to: int, cards: list[ProgressCard]) -> None:
        """Note that the message shows the text up to `to`, and these cards."""
        self.shown_to = to
        message.cards += sum(card.weight for card in cards)
        self._cards = [card for card in self._cards if card not in cards]

    def complete(self, message: StreamMessage, closing: str, opening: str) -> None:
        """Note that the message ends where the shown text ends, and how the next one begins."""
        message.open, message.sure = False, True
        message.shown = self._shown_in(message) + closing
        self.prefix = opening

    def forget(self, message: StreamMessage) -> None:
        """Note that the message is gone. Its text must be shown again."""
        self.shown_to, self.prefix = message.start, message.prefix

    def ends_well(self, message: StreamMessage) -> bool:
        """Whether a message is known to end where a message can end."""
        shown = self._shown_in(message)
        is_well = not shown.strip() or (_is_end(shown) and seam(shown) == ("", ""))
        return message.sure and is_well

    def replacement(self, message: StreamMessage) -> Part:
        """The message anew, with as much of the text as it takes, up to a place where it can end."""
        whole = self._from(message)
        end = best_cut(whole, limit=self.message_bytes, floor=len(message.prefix))
        if end == len(whole) and not self.is_closed and whole[: last_cut(whole)].strip():
            end = last_cut(whole)
        return _part(whole, end, outside=message.start - len(message.prefix))

    def draft(self) -> Part:
        """What a post shows of the text that no completed message shows, up to a place where the text can end."""
        whole, floor = self.prefix + self.text[self.shown_to :], len(self.prefix)
        end = best_cut(whole, limit=self.message_bytes, floor=floor)
        is_last = end == len(whole)
        if is_last:
            end = last_cut(whole, floor=floor)
        return replace(_part(whole, end, outside=self.shown_to - floor), is_last=is_last)

    def rest(self) -> Part:
        """The next message of the complete text. An open fence at the very end stays as the model wrote it."""
        whole, floor = self.prefix + self.text[self.shown_to :], len(self.prefix)
        end = best_cut(whole, limit=self.message_bytes, floor=floor)
        if end == len(whole):
            return Part(whole, "", len(self.text), "", is_last=True)
        return _part(whole, end, outside=self.shown_to - floor)

    def _from(self, message: StreamMessage) -> str:
        return message.prefix + self.text[message.start :]

    def _shown_in(self, message: StreamMessage) -> str:
        return message.prefix + self.text[message.start : self.shown_to]


def _part(whole: str, end: int, *, outside: int) -> Part:
    """The beginning of `whole`, which begins `outside` characters into the text."""
    closing, opening = seam(whole[:end])
    return Part(whole[:end], closing, outside + end, opening, is_last=end == len(whole))


def _is_end(text: str) -> bool:
    return text[-1:].isspace() or text.endswith((".", "!", "?", "…", ":", "。", "！", "？"))


def _words(text: str) -> list[Chunk]:
    return [{"type": "markdown_text", "text": text}] if text else []
