"""One score from two searches: cosine + 0.6 x words. It ranks, and of the best chunk it is the confidence.

Adding the two scores rather than their ranks beats reciprocal rank fusion on every base measured, and only
a score can tell an answer from the least bad of nothing.
"""

from collections.abc import Mapping

import numpy as np

from knowledge.catalog import Stored
from knowledge.embedding.embedder import Vectors

WORDS_WEIGHT = 0.6


def fuse(cosines: Mapping[int, float], words: Mapping[int, float]) -> list[tuple[int, float]]:
    """Chunks with their scores, best first. Without cosines (a broken index) the words rank alone."""
    scores = {
        chunk: max(cosines.get(chunk, 0.0), 0.0) + WORDS_WEIGHT * words.get(chunk, 0.0)
        for chunk in cosines.keys() | words.keys()
    }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def cosines(query: Vectors, stored: Stored) -> dict[int, float]:
    """How near chunks are: the mean of the whole chunk's cosine and that of its best window, when it has any.

    A passage that answers in one sentence is drowned by the rest of its chunk; its best window is not.
    """
    if not stored.ids:
        return {}
    near = stored.wholes.astype(np.float32) @ query
    counts = np.array(stored.counts)
    cut = counts > 0
    if cut.any():
        starts = np.cumsum(counts[cut]) - counts[cut]
        best = np.maximum.reduceat(stored.windows.astype(np.float32) @ query, starts)
        near[cut] = (near[cut] + best) / 2
    return dict(zip(stored.ids, near.tolist(), strict=True))
