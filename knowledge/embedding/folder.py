"""Embeddings from a model in an operator's folder: MiniLM and other BERT encoders whose token vectors are averaged.

The folder holds the files that these models are published with: `tokenizer.json`, and either `model.onnx` (here or in
`onnx/`) or `model.safetensors` with `config.json`. ONNX needs the package onnxruntime and is about twice as fast;
safetensors are computed with numpy. Nothing is downloaded.
"""

import asyncio
import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from knowledge.embedding.bert import Bert
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.recipe import folder_recipe
from knowledge.embedding.safetensors import open_tensors
from knowledge.errors import EmbedderFailed

TOKENIZER, CONFIG, POOLING, WEIGHTS = "tokenizer.json", "config.json", "1_Pooling/config.json", "model.safetensors"
GRAPHS = ("model.onnx", "onnx/model.onnx")
LONGEST = 512
"""Tokens of a text that are read, unless the model takes fewer."""

Forward = Callable[[Sequence[int]], Vectors]
"""Token numbers in; one row for each token out, or a single row for the whole text."""


class FolderEmbedder:
    """Embeds some ten to forty chunks a second on one core. A question takes 5 to 20 ms, in a thread."""

    window_words = 0

    def __init__(self, folder: Path) -> None:
        """Open the model. Raises EmbedderFailed with a sentence if the folder has no usable model."""
        folder = folder.absolute()
        self._tokens_from = folder / TOKENIZER
        self.recipe = folder_recipe(folder)
        self.name = self.recipe.name
        try:
            _check_pooling(folder / POOLING)
            self._tokenizer = Tokenizer.from_file(str(self._tokens_from))
            # Many tokenizers are published with a setting that pads and cuts every text to one length.
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._model = _model_in(folder)
            self._forward, self._limit = _opened(self._model)
            self.dim = len(self._embed("dim"))
        except EmbedderFailed:
            raise
        except Exception as error:
            raise EmbedderFailed(f"The model in {folder} cannot be used: {error!r}") from error

    @cached_property
    def fingerprint(self) -> str:
        """The digest of model and tokenizer."""
        digest = hashlib.blake2b(str(self._limit).encode(), digest_size=16)
        for path in (self._model, self._tokens_from):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, including the special tokens around it."""
        return len(self._ids(text))

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, one after the other, in a thread."""
        rows = [await asyncio.to_thread(self._embed, text) for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.dim)

    async def embed_query(self, text: str) -> Vectors:
        """One vector, in a thread."""
        return await asyncio.to_thread(self._embed, text)

    def _embed(self, text: str) -> Vectors:
        ids = self._ids(text)
        if len(ids) > self._limit:
            # A cut text still ends with its special token.
            ids = [*ids[: self._limit - 1], ids[-1]]
        rows = self._forward(ids) if ids else np.empty((0, 1), np.float32)
        vector: Vectors = rows if rows.ndim == 1 else rows.mean(axis=0, dtype=np.float32) if len(rows) else rows
        length = float(np.linalg.norm(vector))
        if not np.isfinite(length) or not length:
            raise EmbedderFailed(f"{self.name} gave a vector that is not usable.")
        scaled: Vectors = (vector / np.float32(length)).astype(np.float32)
        return scaled

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids


def _check_pooling(path: Path) -> None:
    """Check the pooling. Raises EmbedderFailed for a model whose tokens must not be averaged."""
    if path.is_file() and not json.loads(path.read_text("utf-8")).get("pooling_mode_mean_tokens", True):
        raise EmbedderFailed(f"{path.parent.parent} holds a model whose tokens are not averaged; it cannot be used.")


def _model_in(folder: Path) -> Path:
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    weights = folder / WEIGHTS
    if graph and (find_spec("onnxruntime") or not weights.is_file()):
        return graph
    if not weights.is_file():
        raise EmbedderFailed(f"{folder} holds neither {GRAPHS[0]} nor {WEIGHTS}.")
    return weights


def _opened(model: Path) -> tuple[Forward, int]:
    """The function that computes, and how many tokens it takes."""
    if model.suffix == ".onnx":
        return _session(model), LONGEST
    config = json.loads((model.parent / CONFIG).read_text("utf-8"))
    if config.get("model_type") != "bert":
        raise EmbedderFailed(f"{model.parent} holds a model of type {config.get('model_type')}; only bert is known.")
    bert = Bert(open_tensors(model), config)
    return bert, min(LONGEST, bert.limit)


def _session(graph: Path) -> Forward:
    if find_spec("onnxruntime") is None:
        raise EmbedderFailed(f"{graph} needs the package onnxruntime: install frontdesk[models].")
    # Imported only if it is used: it is large, and may not be installed.
    runtime: Any = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    wanted = {entry.name for entry in session.get_inputs()}

    def forward(tokens: Sequence[int]) -> Vectors:
        ids = np.array([tokens], np.int64)
        offered = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        out: Vectors = session.run(None, {name: value for name, value in offered.items() if name in wanted})[0][0]
        return out

    return forward
