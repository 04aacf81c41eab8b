"""Embeddings without a model: words and letter triples hashed into 256 places. Equal texts are equal, similar near."""

import math
from hashlib import blake2b

from demo.model.language import WORD

DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """A vector of length 1; the same for the same text on every machine."""
    vector = [0.0] * DIMENSIONS
    for word in WORD.findall(text.lower()) or [text]:
        _add(vector, word, 1.0)
        padded = f" {word} "
        for start in range(len(padded) - 2):
            _add(vector, padded[start : start + 3], 0.4)
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


def _add(vector: list[float], feature: str, weight: float) -> None:
    digest = int.from_bytes(blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest())
    vector[digest % DIMENSIONS] += weight if digest >> 32 & 1 else -weight
