"""Embeddings from OpenAI, or from any server with the same protocol."""

import asyncio
import hashlib
from collections.abc import Sequence

import numpy as np
from openai import AsyncOpenAI, OpenAIError

from knowledge.chunking import count_tokens
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.recipe import openai_recipe
from knowledge.errors import EmbedderFailed

DEFAULT_MODEL = "text-embedding-3-small"
BATCH = 128
"""Texts in one request. A chunk has at most 500 tokens, and a request may have 300,000."""
CONCURRENCY = 4
RETRIES = 5
BATCH_SECONDS = 60.0
QUERY_SECONDS = 5.0
QUERY_CHARACTERS = 8_000


class OpenAIEmbedder:
    """One client for all requests. Call `close` at the end."""

    window_words = 0

    def __init__(self, *, api_key: str, base_url: str | None = None, model: str = DEFAULT_MODEL) -> None:
        """Store the settings; nothing is sent yet. If `base_url` is None, requests go to OpenAI itself."""
        self._client = AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=RETRIES)
        self._model = model
        self._places = asyncio.Semaphore(CONCURRENCY)
        self.dim = 0
        """The length of a vector. 0 until the first answer."""
        self.recipe = openai_recipe(api_key=api_key, base_url=base_url, model=model)
        self.name = self.recipe.name
        self.fingerprint = hashlib.blake2b(f"{model}\n{base_url or ''}".encode(), digest_size=16).hexdigest()

    def count_tokens(self, text: str) -> int:
        """Estimate the tokens: the real tokenizer would have to be downloaded."""
        return count_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text. Batches are sent concurrently; if one finally fails, all fail."""
        batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        try:
            async with asyncio.TaskGroup() as tasks:
                rows = [tasks.create_task(self._batch(batch)) for batch in batches]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return np.concatenate([row.result() for row in rows]) if rows else np.empty((0, self.dim), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        """One vector, without retries: a search can continue without it."""
        vectors = await self._ask([text[:QUERY_CHARACTERS]], seconds=QUERY_SECONDS, retries=0)
        return np.asarray(vectors[0], np.float32)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        async with self._places:
            return await self._ask(texts, seconds=BATCH_SECONDS, retries=RETRIES)

    async def _ask(self, texts: Sequence[str], *, seconds: float, retries: int) -> Vectors:
        client = self._client.with_options(max_retries=retries, timeout=seconds)
        try:
            answer = await client.embeddings.create(model=self._model, input=list(texts))
        except OpenAIError as error:
            raise EmbedderFailed(f"{self.name} gave no vectors: {error}") from error
        ordered = sorted(answer.data, key=lambda item: item.index)
        if len(ordered) != len(texts):
            raise EmbedderFailed(f"{self.name} gave {len(ordered)} vectors for {len(texts)} texts.")
        return self._checked(np.array([item.embedding for item in ordered], np.float32))

    def _checked(self, vectors: Vectors) -> Vectors:
        if vectors.ndim != 2 or not np.isfinite(vectors).all() or (self.dim and vectors.shape[1] != self.dim):
            raise EmbedderFailed(f"{self.name} gave vectors that are not usable.")
        self.dim = vectors.shape[1]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            raise EmbedderFailed(f"{self.name} gave a vector without length.")
        scaled: Vectors = vectors / lengths
        return scaled
