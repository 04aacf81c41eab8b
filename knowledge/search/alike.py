"""Groups of texts with much the same meaning, by their vectors."""

import numpy as np

from knowledge.embedding.embedder import Vectors

ALIKE = 0.6
"""The cosine from which a text joins a group. For two ways to ask the same, the embedders' median is 0.6 to 0.7."""
FEW = 30
"""Above this number of texts, what all texts share is subtracted first: it is the subject, and separates nothing."""


def groups(vectors: Vectors) -> list[list[int]]:
    """The rows in groups, the largest group first. In each group the row nearest to the middle comes first.

    This is greedy: each row joins the group with the nearest middle if that is near enough, or begins a new one.
    """
    share = len(vectors) / (len(vectors) + FEW)
    centred = _scaled(vectors - share * vectors.mean(axis=0))
    middles: Vectors = np.zeros_like(centred)
    members: list[list[int]] = []
    for row, vector in enumerate(centred):
        cosines = middles[: len(members)] @ vector
        nearest = int(cosines.argmax()) if members else 0
        if members and cosines[nearest] >= ALIKE:
            members[nearest].append(row)
        else:
            nearest = len(members)
            members.append([row])
        middles[nearest] = _scaled(centred[members[nearest]].sum(axis=0, keepdims=True))[0]
    for middle, group in zip(middles, members, strict=False):
        nearness = centred[group] @ middle
        group[:] = [group[place] for place in np.argsort(-nearness, kind="stable")]
    return sorted(members, key=lambda group: -len(group))


def _scaled(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return scaled
