"""The sentences of evals/danger: what the danger classifier learns from, and what measures it."""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from bot.desk.danger.classifier import CLASSES, DANGERS, ENDS, EVERYDAY
from bot.language.languages import Language, languages

FOLDER = Path(__file__).parent / "danger"
DEVELOPMENT, HELD_OUT, MUST = FOLDER / "development", FOLDER / "held_out", FOLDER / "must"
COMPLAINTS, LONG = FOLDER / "complaints", FOLDER / "long"
"""Each a folder with a file a language."""
MAX_JOINED_WORDS = 25
"""The longest everyday sentence that becomes a part of a long message."""
_MARKED = re.compile(r"\{(\w+): ([^}]*)\}( ?)")
"""The sentence of danger in a message of LONG, with its class."""
REPEATED = 5
"""How often a sentence of MUST counts in the training."""

Labelled = tuple[str, str]
"""A sentence and its class, one of CLASSES."""


def taught_languages() -> list[Language]:
    """The languages that have sentences here. A new language has none until somebody writes them."""
    return [language for language in languages() if (MUST / f"{language}.yml").is_file()]


def read_sentences(folder: Path, language: Language) -> Mapping[str, list[str]]:
    """A language's sentences by class."""
    held = yaml.safe_load((folder / f"{language}.yml").read_text("utf-8"))
    return {label: listed.splitlines() for label, listed in held.items()}


def read_all(folder: Path) -> list[Labelled]:
    """The sentences of all languages."""
    by_class = [read_sentences(folder, language) for language in taught_languages()]
    return [(text, label) for held in by_class for label, texts in held.items() for text in texts]


def read_long(part: str) -> list[Labelled]:
    """The long messages of a part of LONG, in all languages: as they are, and without the danger as everyday ones."""
    read: list[Labelled] = []
    for language in taught_languages():
        for text in yaml.safe_load((LONG / f"{language}.yml").read_text("utf-8"))[part]:
            ((label, _, _),) = _MARKED.findall(text)
            read += [(_MARKED.sub(r"\2\3", text), label), (_MARKED.sub("", text), EVERYDAY)]
    return read


def compose_long(folder: Path, language: Language, *, count: int = 60) -> list[Labelled]:
    """Messages of 46 to 100 words, made of a language's everyday sentences. Every second has one of danger in it.

    A sentence without a mark at its end is followed by a line end, as people write it.
    """
    chance = random.Random(language)  # noqa: S311
    held = read_sentences(folder, language)
    everyday = [text for text in held[EVERYDAY] if len(text.split()) <= MAX_JOINED_WORDS]
    danger = [(text, label) for label in DANGERS for text in held[label]]
    composed: list[Labelled] = []
    for number in range(count):
        parts: list[str] = []
        least = chance.randint(46, 100)
        while sum(len(part.split()) for part in parts) < least:
            parts.append(chance.choice(everyday))
        label = EVERYDAY
        if number % 2:
            text, label = chance.choice(danger)
            parts.insert(chance.randint(0, len(parts)), text)
        composed.append(("".join(part + (" " if part.endswith(ENDS) else "\n") for part in parts), label))
    return composed


def read_training() -> list[Labelled]:
    """Every sentence that the classifier learns from, each once."""
    held: dict[str, str] = dict(read_all(MUST))
    for language in taught_languages():
        for label in CLASSES:
            for text in (FOLDER / "train" / language / f"{label}.txt").read_text("utf-8").splitlines():
                held.setdefault(text, label)
    return list(held.items())


def fingerprint(sentences: Sequence[Labelled]) -> str:
    """Names a set of sentences, so that weights can say what they were learned from."""
    return hashlib.blake2b("\n".join(map("\t".join, sentences)).encode(), digest_size=16).hexdigest()
