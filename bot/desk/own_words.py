"""What the desk keeps to itself: no answer tells a secret of the settings, or the instructions that agents are given.

OwnWords       knows both
OwnWordsGate   lets an answer through, sentence by sentence as it comes, up to the first that tells one of them

Secrets are known by their letters and digits alone, so that blanks, dashes and emphasis between them hide nothing.
Instructions are known by RUN words in a row: a shop's own sentences, or an agent's tool that is named, are no leak.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Literal

from bot.desk.team import INSTRUCTIONS

LEAK_WORDS = 12
"""Words of the instructions that tell them when they stand in a row."""
SECRET_LENGTH = 16
"""Letters and digits from which on a secret is looked for;"""
MIXED_LENGTH = 8
"""fewer when it has both. A shorter one, as a password that is a word, would be found in answers that tell nothing."""

Leak = Literal["secret", "instructions"]

_WORD = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"\{[a-z-]+\}")


class OwnWords:
    """Knows what no answer may tell."""

    def __init__(self, secrets: Iterable[str] = (), texts: Iterable[str] = ()) -> None:
        bare = {_bare(secret) for secret in secrets}
        self.secrets = frozenset(secret for secret in bare if _is_telling(secret))
        parts = [part for text in texts for part in _PLACEHOLDER.split(text)]
        self.runs = frozenset(run for part in parts for run in _runs(_words(part)))


@cache
def instructions() -> tuple[str, ...]:
    """The texts of all instruction files that are shipped."""
    return tuple(path.read_text("utf-8") for path in sorted(INSTRUCTIONS.glob("*.md")))


class OwnWordsGate:
    """Takes an answer in whole sentences. What tells something is dropped, and so is everything behind it."""

    def __init__(self, own: OwnWords) -> None:
        self.stopped: Leak | None = None
        """What was about to be told."""
        self._own = own
        self._words: list[str] = []
        self._bare = ""
        """The last words and characters that were let through; with what follows they may tell something."""

    def feed(self, text: str) -> str:
        """The text, unless it tells something."""
        if self.stopped or not text:
            return ""
        words, bare = [*self._words, *_words(text)], self._bare + _bare(text)
        if any(secret in bare for secret in self._own.secrets):
            self.stopped = "secret"
        elif not self._own.runs.isdisjoint(_runs(words)):
            self.stopped = "instructions"
        if self.stopped:
            return ""
        longest = max(map(len, self._own.secrets), default=1)
        self._words, self._bare = words[1 - LEAK_WORDS :], bare[-longest:]
        return text

    def find(self, text: str) -> Leak | None:
        """What another, whole text tells."""
        other = OwnWordsGate(self._own)
        other.feed(text)
        return other.stopped


def _is_telling(secret: str) -> bool:
    is_mixed = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return len(secret) >= (MIXED_LENGTH if is_mixed else SECRET_LENGTH)


def _bare(text: str) -> str:
    """Letters and digits alone, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).casefold()


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("_", " "))


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + LEAK_WORDS]) for at in range(len(words) - LEAK_WORDS + 1)}
