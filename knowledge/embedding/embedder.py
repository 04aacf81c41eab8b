"""The protocol of an embedder."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding.recipe import Recipe

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Two methods and an identity. Vectors have length 1, so that their product is the cosine."""

    @property
    def name(self) -> str:
        """The name for people, such as `table/l2_supercat_256`."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def fingerprint(self) -> str:
        """A digest that changes whenever the same text would get another vector."""

    @property
    def recipe(self) -> Recipe:
        """How to make this embedder again in another process."""

    @property
    def window_words(self) -> int:
        """Words of a window. A chunk's best window sharpens its cosine. 0 if vectors are too expensive for that."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as the model counts them, or an estimate that is never lower."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text, in order. Raises EmbedderFailed."""

    async def embed_query(self, text: str) -> Vectors:
        """Return one vector. Raises EmbedderFailed."""
