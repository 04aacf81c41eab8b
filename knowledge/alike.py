"""Texts that mean much the same, by their vectors."""

import numpy as np

from knowledge.embedding.embedder import Vectors

ALIKE = 0.6
"""The cosine from which a text joins a group: the embedders' median for two ways to ask the same is 0.6 to 0.7."""
FEW = 30
"""Of many more texts than this, what all have in common is taken away first: it is the subject, and tells nothing."""


def groups(vectors: Vectors) -> list[list[int]]:
    """The rows in groups, the largest first; in each the row nearest to its middle first.

    Greedy: each row joins the group whose middle is nearest, if that is near enough, or begins one.
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
