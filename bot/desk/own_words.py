"""Stops answers that reveal a secret from the settings, or the instructions of the agents.

OwnWords       Holds the secrets and the instructions.
OwnWordsGate   Passes an answer sentence by sentence, up to the first one that reveals something.

Secrets are compared by their letters and digits only, so that spaces, dashes and emphasis between these hide nothing.
Instructions are recognised by LEAK_WORDS words in a row. A shop's own sentences, or the name of a tool, are no leak.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Literal

from bot.desk.prompts import INSTRUCTIONS

LEAK_WORDS = 12
"""The number of words in a row by which the instructions are recognised."""
SECRET_LENGTH = 16
"""The least length, in letters and digits, of a secret that is looked for."""
MIXED_LENGTH = 8
"""The least length of a secret with both letters and digits. A shorter secret, such as a password that is a word, would
be found in answers that reveal nothing."""

Leak = Literal["secret", "instructions"]

_WORD = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"\{[a-z-]+\}")


class OwnWords:
    """The secrets and the runs of instruction words that no answer may contain."""

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
    """Takes an answer in whole sentences. A sentence that reveals something is dropped, with everything after it."""

    def __init__(self, own: OwnWords) -> None:
        self.stopped: Leak | None = None
        """What the stopped sentence would have revealed. None while nothing was stopped."""
        self._own = own
        self._words: list[str] = []
        self._bare = ""
        """The last characters that were passed, as `_words` are the last words. A leak can begin in them."""

    def feed(self, text: str) -> str:
        """Return the text, or an empty string if it reveals something or an earlier text did."""
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
        """What another, complete text reveals. Does not change this gate."""
        other = OwnWordsGate(self._own)
        other.feed(text)
        return other.stopped


def _is_telling(secret: str) -> bool:
    is_mixed = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return len(secret) >= (MIXED_LENGTH if is_mixed else SECRET_LENGTH)


def _bare(text: str) -> str:
    """Only the letters and digits, in lower case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).casefold()


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("_", " "))


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + LEAK_WORDS]) for at in range(len(words) - LEAK_WORDS + 1)}
