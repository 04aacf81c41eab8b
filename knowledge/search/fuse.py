"""One score from two searches: cosine + 0.6 x words, or 0.45 x words in an FAQ table.

It ranks chunks, and the best chunk's score is the confidence.

Adding the two scores rather than their ranks beats reciprocal rank fusion on every base that was measured. And only a
score can tell an answer from the best of many bad matches.
"""

from collections.abc import Mapping

import numpy as np

from knowledge.embedding.embedder import Vectors
from knowledge.search.catalog import StoredVectors

WORDS_WEIGHT, TABLE_WORDS_WEIGHT = 0.6, 0.45
"""The second weight is for FAQ tables: each entry is a question, so one word in common with its heading says less."""


def fuse(cosines: Mapping[int, float], words: Mapping[int, float], *, weight: float) -> list[tuple[int, float]]:
    """Chunks with their scores, best first. Without cosines, as with a broken index, the words rank alone."""
    scores = {
        chunk: max(cosines.get(chunk, 0.0), 0.0) + weight * words.get(chunk, 0.0)
        for chunk in cosines.keys() | words.keys()
    }
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def cosines(query: Vectors, stored: StoredVectors) -> dict[int, float]:
    """How near chunks are: the mean of the whole chunk's cosine and its best window's, if it has windows.

    If one sentence of a passage answers, the rest of the chunk hides it; its best window does not.
    """
    if not stored.ids:
        return {}
    near = np.asarray(stored.wholes, np.float32) @ query
    counts = np.array(stored.counts)
    cut = counts > 0
    if cut.any():
        starts = np.cumsum(counts[cut]) - counts[cut]
        best = np.maximum.reduceat(np.asarray(stored.windows, np.float32) @ query, starts)
        near[cut] = (near[cut] + best) / 2
    return dict(zip(stored.ids, near.tolist(), strict=True))
