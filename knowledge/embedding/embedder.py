"""The role of an embedder, and how the builder's process gets the same one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the builder's process needs to make the same embedder."""

    arguments: tuple[str, ...]
    """For the command line: never a secret, which every process of the machine could read."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For the environment: keys and the like."""


class Embedder(Protocol):
    """Two methods and an identity. Vectors have length 1, so that their product is the cosine."""

    @property
    def name(self) -> str:
        """For people, as `table/l2_supercat_256`."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""

    @property
    def recipe(self) -> Recipe:
        """How to make this embedder again in another process."""

    @property
    def window_words(self) -> int:
        """Size of the windows whose best match sharpens a chunk's cosine; 0 when vectors are too dear for that."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as the model counts them, or an estimate that is not below."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order. Raises EmbedderFailed."""

    async def embed_query(self, text: str) -> Vectors:
        """One vector. Raises EmbedderFailed."""
