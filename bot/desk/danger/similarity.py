"""The likeness of a message to example sentences, for what the word lists do not know.

A sentence becomes the vector of the built-in embedder, which knows English best, joined with one of the terms of the
word lists that it holds, which are the same in every language. It is compared with the examples of each class and with
everyday sentences; what is much nearer to a class than to those counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bot.desk.danger.lexicon import DANGERS, WORD_LETTERS, Danger, load_lexicon, sentences_of, terms_of, words_of
from bot.language.sentences import LANGUAGES
from bot.own_files import read_own
from knowledge.embedding.table import load_installed_table

EVERYDAY = "everyday"
"""The class of the sentences that need no person."""
THRESHOLD = 0.16
"""How much nearer a sentence is to a class than to everyday sentences, to count. Measured by `make eval-danger` with
the examples alone, each fifth of them left out in turn: so few everyday ones as 1 in 200 come above it."""
NEAREST = 3
"""Examples of a class that are averaged."""
READ_SENTENCES = 24
"""Sentences of a message that are compared; more of them would keep the event loop from other work."""
SENTENCE_WORDS = 60
"""Words of a sentence that are compared."""

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns sentences into vectors of length 1."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of which it is known what it shows."""

    text: str
    label: str
    """One of DANGERS, or EVERYDAY."""


class Similarity:
    """Compares messages with examples; building it embeds them, which takes some tenths of a second."""

    def __init__(self, examples: Sequence[Example], embedder: Embedder) -> None:
        self._embedder = embedder
        held = [_places(each.text) for each in examples]
        counts = np.zeros(len(load_lexicon().terms), np.float32)
        for places in held:
            counts[places] += 1
        self._weights = np.log(len(examples) / (1 + counts))
        vectors = self._vectors([each.text for each in examples], held)
        labels = np.array([each.label for each in examples])
        self._by_label = {label: vectors[labels == label] for label in (*DANGERS, EVERYDAY)}

    def find_danger(self, text: str) -> Danger | None:
        """The class that one of the message's sentences is most like; None when each is as like everyday ones."""
        score, danger = max(self.scores(text), default=(0.0, DANGERS[0]))
        return danger if score > THRESHOLD else None

    def scores(self, text: str) -> list[tuple[float, Danger]]:
        """For each sentence how much nearer it is to its nearest class than to everyday sentences, and that class."""
        sentences = [_shortened(each) for each in sentences_of(text)[:READ_SENTENCES]]
        if not sentences:
            return []
        return [*self._scored(self._vectors(sentences, [_places(each) for each in sentences]))]

    def _scored(self, vectors: Vectors) -> Iterator[tuple[float, Danger]]:
        everyday = (vectors @ self._by_label[EVERYDAY].T).max(axis=1)
        near = {danger: _mean_of_best(vectors @ self._by_label[danger].T) for danger in DANGERS}
        for row, ordinary in enumerate(everyday):
            danger = max(DANGERS, key=lambda each: float(near[each][row]))
            yield float(near[danger][row] - ordinary), danger

    def _vectors(self, texts: Sequence[str], held: Sequence[list[int]]) -> Vectors:
        terms = np.zeros((len(texts), len(self._weights)), np.float32)
        for row, places in zip(terms, held, strict=True):
            row[places] = self._weights[places]
        lengths = np.linalg.norm(terms, axis=1, keepdims=True)
        terms /= np.where(lengths == 0, 1, lengths)
        joined: Vectors = np.hstack([terms, self._embedder.embed(texts)]) / np.sqrt(np.float32(2))
        return joined


def _shortened(sentence: str) -> str:
    return " ".join(word[:WORD_LETTERS] for word in sentence.split()[:SENTENCE_WORDS])


def _places(text: str) -> list[int]:
    return terms_of(words_of(text))


def _mean_of_best(likeness: Vectors) -> Vectors:
    best: Vectors = np.partition(likeness, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
    return best


def read_examples() -> list[Example]:
    """The sentences that are shipped, in all languages."""
    folder = Path(__file__).parent / "examples"
    held = [read_own(folder / f"{language}.yml") for language in LANGUAGES]
    return [
        Example(text, label) for by_label in held for label, listed in by_label.items() for text in listed.splitlines()
    ]


def open_similarity() -> Similarity:
    """With the shipped examples and the built-in embedder. It computes: not for the event loop.

    Raises:
        EmbedderFailed: the built-in embedder's table cannot be read.
    """
    return Similarity(read_examples(), load_installed_table())
