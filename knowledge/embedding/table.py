"""The offline embedder: a table of one vector a token, and a text's vector is their mean.

The table is the one inside WordLlama's wheel (MIT). The package itself is never imported: its loader
wants the network and configures logging, while all that is needed is a memory-mapped array and a tokenizer.
"""

import hashlib
import json
import struct
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from knowledge.embedding.embedder import Recipe, Vectors
from knowledge.errors import EmbedderFailed

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"

_BATCH = 256
_HEADER_LIMIT = 1_000_000


class TableEmbedder:
    """Means of table vectors: 0.1 ms a query, thousands of chunks a second, nothing to download."""

    name = "table/l2_supercat_256"
    recipe = Recipe(("--embedder", "table"))
    window_words = 40

    def __init__(self, folder: Path | None = None) -> None:
        """Open the table in `folder`, laid out like the wheel; by default the installed wheel's own."""
        folder = folder or _installed()
        self._weights = folder / WEIGHTS
        try:
            self._table = _open_table(self._weights)
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:
            raise EmbedderFailed(f"The embedding table in {folder} cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.dim = int(self._table.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the weights: a new release of the wheel with other vectors means a new index."""
        with self._weights.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Pure computation: it does not yield to the event loop."""
        rows = [self._embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return np.concatenate([np.empty((0, self.dim), np.float32), *rows])

    async def embed_query(self, text: str) -> Vectors:
        """One vector, without yielding: it costs less than a switch of threads."""
        (vector,) = self._embed([text])
        return np.asarray(vector, np.float32)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, as the table sees them."""
        return len(self._encode([text])[0])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        sums: Vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, tokens in zip(sums, self._encode(texts), strict=True):
            if tokens:
                self._table[tokens].astype(np.float32).sum(axis=0, out=row)
        # Scaled to length 1, a sum is as good as a mean.
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # A text without a single token gets a direction all the same: a zero vector has no cosine.
        sums[lengths[:, 0] == 0] = 1 / np.sqrt(self.dim)
        lengths[lengths == 0] = 1
        sums /= lengths
        return sums

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [found.ids for found in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def _installed() -> Path:
    # find_spec of a top-level package locates it without running it.
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderFailed("The package wordllama, whose table is the offline embedder, is not installed.")
    return Path(spec.submodule_search_locations[0])


def _open_table(path: Path) -> NDArray[np.float16]:
    """Map the one tensor of a safetensors file: 8 bytes of header length, a JSON header, raw little-endian values."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > _HEADER_LIMIT:
            raise ValueError("the header is too long")
        tensor = json.loads(file.read(length))[TENSOR]
    if tensor["dtype"] != "F16":
        raise ValueError(f"values of type {tensor['dtype']}, expected F16")
    rows, columns = tensor["shape"]
    start = 8 + length + tensor["data_offsets"][0]
    # Seen as a plain array: a memmap's own indexing is slow.
    return np.asarray(np.memmap(path, dtype="<f2", mode="r", offset=start, shape=(rows, columns)))
