"""A text classifier that finds messages of people in danger, and matters that only people handle.

find_danger      Returns the class of a message, or None for an ordinary one.
load_classifier  Loads the shipped weights with the built-in embedder, once a process.
Classifier       A linear model over words, word pairs, letter n-grams and the embedding of a text.
feature_ids      Returns the features of a text, as rows of the weights.

`make train-danger` learns the weights from the sentences in evals/danger/train, all five languages together.
`make eval-danger` measures them on sentences that were not used for training. Reading a message takes time linear in
its length.
"""

import logging
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding.table import load_installed_table
from knowledge.errors import EmbedderFailed

logger = logging.getLogger(__name__)

Danger = Literal["crisis", "harm", "threat", "fraud", "legal"]
"""The classes, the gravest first. `crisis`: a person may take their own life or hurt themselves. `harm`: a thing hurts
a person, or nearly does. `threat`: another person threatens or follows them. `fraud`: another person uses their
account, money or name. `legal`: law, authorities, disputed payments."""
DANGERS: tuple[Danger, ...] = get_args(Danger)
EVERYDAY = "everyday"
"""The class of messages that need no person."""
CLASSES = (*DANGERS, EVERYDAY)
"""The columns of the weights."""

MODEL = Path(__file__).parent / "model.npz"
BITS = 17
"""Features are hashed into 2**BITS rows of the weights."""
NGRAMS = (3, 4, 5)
"""Lengths of the letter n-grams of a word."""
READ_LIMIT = 12_000
"""Characters of a message that are read."""
WINDOW_WORDS = 45
"""Words that are classified together. A longer message is read in windows that overlap by half."""
LONG_WORDS = 35
"""Messages of more words are long."""
SENTENCE_THRESHOLD = 0.9
"""The least probability of danger in one sentence of several. It is higher than that of a short message: each sentence
is a further chance to be wrong."""
LONG_THRESHOLD = 0.945
"""The least probability of danger in a sentence or window of a long message. It has more of them, and everyday stories
share many words with every class. Chosen on the sets for development: the least with which 2% of the long everyday
messages go to a person."""
SENTENCE_WORDS = 3
"""A shorter sentence is read together with the next one of its line."""
ENDS = (".", "!", "?", "…")
"""What a sentence ends with."""
LEAST_WORDS = 2
"""The least words of a part that is read alone."""
WORD_LETTERS = 40
"""Letters of a word that are read."""
KNOWN_WORDS = 20_000
"""Words whose features are kept."""

Weights = NDArray[np.float32]

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"(?<=[^\W_])['’´`](?=[^\W_])")
"""English contractions are read as many write them, "cant"."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """The weights of a softmax regression, one column for each of CLASSES."""

    features: Weights
    """One row for each of the 2**BITS features. A text has the sum of its rows, divided by the root of their number."""
    dimensions: Weights
    """One row for each dimension of the embedding."""
    bias: Weights
    threshold: float
    """The least probability of danger, over all classes together, with which a short message calls a person."""
    embed: Callable[[Sequence[str]], Weights] | None
    """None where the built-in embedder cannot be loaded: the other features are used alone."""

    def find(self, text: str) -> Danger | None:
        """The gravest of the classes that the windows and the sentences of a message show; None for an ordinary
        message. Among many everyday words only a sentence read alone shows danger.
        """
        whole, parts = windows(text), sentences(text)
        rows = self.probabilities([*whole, *parts])
        of_whole, of_sentence = self.threshold, SENTENCE_THRESHOLD
        if len(text.split()) > LONG_WORDS:
            of_whole = of_sentence = LONG_THRESHOLD
        found = {self._shown(row, of_whole) for row in rows[: len(whole)]}
        found |= {self._shown(row, of_sentence) for row in rows[len(whole) :]}
        return min((danger for danger in found if danger), key=DANGERS.index, default=None)

    def probabilities(self, texts: Sequence[str]) -> Weights:
        """One row a text, one column for each of CLASSES."""
        if not texts:
            return np.zeros((0, len(CLASSES)), np.float32)
        logits = np.stack([self._logits(text) for text in texts])
        if self.embed is not None:
            logits = logits + self.embed(texts) @ self.dimensions
        exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares: Weights = exponentials / exponentials.sum(axis=1, keepdims=True)
        return shares

    def _logits(self, text: str) -> Weights:
        ids = feature_ids(text)
        logits: Weights = self.features[ids].sum(axis=0) / np.sqrt(np.float32(len(ids))) + self.bias
        return logits

    def _shown(self, row: Weights, threshold: float) -> Danger | None:
        if 1 - row[-1] < threshold:
            return None
        return DANGERS[int(row[:-1].argmax())]


def find_danger(text: str) -> Danger | None:
    """The gravest class that a message shows; None for an ordinary one."""
    return load_classifier().find(text)


@cache
def load_classifier() -> Classifier:
    """Read the shipped weights, and open the built-in embedder: some tenths of a second, once a process."""
    with np.load(MODEL) as held:
        features, dimensions, bias = (held[name].astype(np.float32) for name in ("features", "dimensions", "bias"))
        threshold = float(held["threshold"])
    embed = None
    try:
        embed = load_installed_table().embed
    except EmbedderFailed:
        logger.exception("danger is found without the built-in embedder")
    return Classifier(features, dimensions, bias, threshold, embed)


def windows(text: str) -> list[str]:
    """A message as the classifier reads it: whole, or in windows of WINDOW_WORDS words that overlap by half."""
    words = text[:READ_LIMIT].split()
    if len(words) <= WINDOW_WORDS:
        return [" ".join(words)] if words else []
    return [*_windows(words)]


def sentences(text: str) -> list[str]:
    """The sentences of a message that has several, as far as windows go: once over line ends, once of each line."""
    lines = [line.split() for line in text[:READ_LIMIT].splitlines()]
    found = [*_sentences_of([word for line in lines for word in line])]
    found += [part for line in lines for part in _sentences_of(line)]
    parts = dict.fromkeys(" ".join(words) for words in found if len(words) >= LEAST_WORDS)
    return [*parts] if len(parts) > 1 else []


def _sentences_of(words: Sequence[str]) -> Iterator[list[str]]:
    begun: list[str] = []
    for word in words:
        begun.append(word[: 2 * WORD_LETTERS])
        is_over = word.endswith(ENDS) and len(begun) >= SENTENCE_WORDS
        if is_over or len(begun) == WINDOW_WORDS:
            yield begun
            begun = []
    if begun:
        yield begun


def _windows(words: Sequence[str]) -> Iterator[str]:
    step = WINDOW_WORDS // 2
    for start in range(0, len(words) - step, step):
        yield " ".join(word[: 2 * WORD_LETTERS] for word in words[start : start + WINDOW_WORDS])


def feature_ids(text: str) -> NDArray[np.int64]:
    """The rows of a text's features, without duplicates. One of them is a feature that every text has."""
    words = words_of(text)
    ids = {_hashed("^")}
    for place, word in enumerate(words):
        ids.update(_ids_of_word(word))
        if place > 0:
            ids.add(_hashed(f"b{words[place - 1]} {word}"))
        if place > 1:
            ids.add(_hashed(f"s{words[place - 2]} {word}"))
    return np.fromiter(ids, np.int64, len(ids))


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without accents and apostrophes."""
    folded = text.casefold()
    if not folded.isascii():
        folded = "".join(sign for sign in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(sign))
    return [word[:WORD_LETTERS] for word in _WORD.findall(_APOSTROPHE.sub("", folded))[: 2 * WINDOW_WORDS]]


@lru_cache(KNOWN_WORDS)
def _ids_of_word(word: str) -> tuple[int, ...]:
    marked = f"<{word}>"
    ngrams = (marked[at : at + length] for length in NGRAMS for at in range(len(marked) - length + 1))
    return (_hashed(f"w{word}"), *(_hashed(f"c{ngram}") for ngram in ngrams))


def _hashed(feature: str) -> int:
    return zlib.crc32(feature.encode()) & ((1 << BITS) - 1)
