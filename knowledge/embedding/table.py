"""The offline embedder: a table with one vector for each token. A text's vector is their mean.

The table comes from WordLlama's wheel (MIT). The package itself is never imported: its loader wants the network and
configures logging. All that is needed is a memory-mapped array and a tokenizer.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from knowledge.embedding.embedder import Vectors
from knowledge.embedding.recipe import TABLE_NAME, table_recipe
from knowledge.embedding.safetensors import open_tensors
from knowledge.errors import EmbedderFailed

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
TENSOR = "embedding.weight"

_BATCH = 256
_KNOWN_WORDS = 30_000
"""Words whose tokens are remembered."""

_SPACE = "▁"
_WORD = re.compile(r"\n+[^ \n]*| +[^ \n]*")
"""The pieces of a text that starts with a space. No token crosses from one piece to the next."""


@cache
def load_installed_table() -> "TableEmbedder":
    """Open the installed wheel's table, once for each process: several threads can use it, and it takes some 50 MB.

    Raises:
        EmbedderFailed: the table cannot be read.
    """
    return TableEmbedder()


class TableEmbedder:
    """Means of table vectors: 0.1 ms a query, thousands of chunks a second, nothing to download."""

    name = TABLE_NAME
    recipe = table_recipe()
    window_words = 40

    def __init__(self, folder: Path | None = None) -> None:
        """Open the table in `folder`, which has the wheel's layout. By default this is the installed wheel's own."""
        folder = folder or _installed()
        self._weights = folder / WEIGHTS
        try:
            self._table = _open_table(self._weights)
            self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        except Exception as error:
            raise EmbedderFailed(f"The embedding table in {folder} cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        rows, self.dim = map(int, self._table.shape)
        # The system gives memory only for rows that are written: one language uses a part of the table.
        self._wide = np.empty((rows, self.dim), np.float32)
        self._is_wide = np.zeros(rows, np.bool_)

    @cached_property
    def fingerprint(self) -> str:
        """The digest of the weights. A new release of the wheel with other vectors means a new index."""
        with self._weights.open("rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()[:32]

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text. This is pure computation, and does not yield to the event loop."""
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, for callers without an event loop."""
        rows = [self._embed(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
        return np.concatenate([np.empty((0, self.dim), np.float32), *rows])

    async def embed_query(self, text: str) -> Vectors:
        """One vector, without yielding: it costs less than a switch of threads."""
        (vector,) = self._embed([text])
        return np.asarray(vector, np.float32)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, as the table counts them."""
        return sum(map(len, self._pieces(text)))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        found = [self._tokens(text) for text in texts]
        self._widen(np.array([*chain.from_iterable(found)], np.intp))
        sums: Vectors = np.zeros((len(texts), self.dim), np.float32)
        for row, tokens in zip(sums, found, strict=True):
            if tokens:
                np.add.reduce(self._wide.take(tokens, axis=0), axis=0, out=row)
        # Scaled to length 1, a sum is as good as a mean.
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # Even a text without a token gets a direction: a zero vector has no cosine.
        sums[lengths[:, 0] == 0] = 1 / np.sqrt(self.dim)
        lengths[lengths == 0] = 1
        sums /= lengths
        return sums

    def _widen(self, tokens: NDArray[np.intp]) -> None:
        """Convert the rows of tokens to full precision. That is half of the work, and is done once for all texts."""
        fresh = tokens[~self._is_wide[tokens]]
        if fresh.size:
            self._wide[fresh] = self._table[fresh]
            self._is_wide[fresh] = True

    def _tokens(self, text: str) -> list[int]:
        return list(chain.from_iterable(self._pieces(text)))

    def _pieces(self, text: str) -> Iterable[list[int]]:
        """A text's tokens, joined from those of its words. Most words are remembered."""
        if not self._splits_at_spaces:
            return [self._encode(text)]
        words = self._words
        if len(words) > _KNOWN_WORDS:
            words.clear()
        return map(words.__getitem__, _WORD.findall(f" {text}".replace(_SPACE, " ")) if text else ())

    @cached_property
    def _words(self) -> "_Words":
        return _Words(self._encode)

    @cached_property
    def _splits_at_spaces(self) -> bool:
        """Whether a text's tokens are those of its words. That is so if no token has a space after a letter."""
        return not any(_SPACE in token.lstrip(_SPACE) or "\n" in token for token in self._tokenizer.get_vocab())

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


class _Words(dict[str, list[int]]):
    """The tokens of words, as `_WORD` finds these."""

    def __init__(self, encode: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, word: str) -> list[int]:
        # The tokenizer puts a space before every text except the empty one.
        match word[0], word[1:]:
            case " ", "":
                tokens = self._encode("\n")[:1]
            case " ", spaced:
                tokens = self._encode(spaced)
            case _:
                tokens = self._encode(word)[1:]
        self[word] = tokens
        return tokens


def _installed() -> Path:
    # find_spec locates a top-level package without running it.
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderFailed("The package wordllama, whose table is the offline embedder, is not installed.")
    return Path(spec.submodule_search_locations[0])


def _open_table(path: Path) -> NDArray[np.float16]:
    table: NDArray[np.float16] = open_tensors(path)[TENSOR]
    if table.dtype != np.float16 or table.ndim != 2:
        raise ValueError(f"a table of {table.dtype} with {table.ndim} dimensions")
    return table
