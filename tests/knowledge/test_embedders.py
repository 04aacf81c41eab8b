"""Embedders: the table, and a service that speaks OpenAI's protocol."""

import subprocess
import sys
from collections.abc import AsyncIterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from knowledge.embedding.openai import BATCH, OpenAIEmbedder
from knowledge.embedding.table import TOKENIZER, TableEmbedder
from knowledge.embedding.windows import windows
from knowledge.errors import EmbedderFailed
from tests.doubles.embedding_server import EmbeddingServer, open_embedding_server


async def test_vectors_have_length_one_and_like_meanings_lie_near(embedder: TableEmbedder) -> None:
    refund, money, bulb = await embedder.embed_documents(
        ["How do I get a refund?", "When will my money be paid back?", "Which bulb fits the socket?"]
    )

    assert np.allclose([np.linalg.norm(vector) for vector in (refund, money, bulb)], 1)
    assert refund @ money > refund @ bulb


async def test_a_query_and_a_document_of_the_same_words_have_the_same_vector(embedder: TableEmbedder) -> None:
    (document,) = await embedder.embed_documents(["return label"])

    assert np.allclose(document, await embedder.embed_query("return label"))


async def test_a_text_without_a_token_has_a_direction_all_the_same(embedder: TableEmbedder) -> None:
    vectors = await embedder.embed_documents(["", "x"])

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (await embedder.embed_documents([])).shape == (0, embedder.dim)


@given(st.text(st.sampled_from("ab Z.,-_é日 \n\n\t▁Ω019#*`🙂\u00a0\u200b"), max_size=40) | st.text(max_size=40))
def test_a_text_has_the_tokens_of_its_words(embedder: TableEmbedder, text: str) -> None:
    """Words are looked up one by one, which must not show."""
    assert embedder.count_tokens(text) == len(tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def tokenizer() -> Tokenizer:
    spec = find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    return Tokenizer.from_file(str(Path(spec.submodule_search_locations[0], TOKENIZER)))


def test_the_table_is_read_without_importing_its_package_or_chroma() -> None:
    program = (
        "import sys, knowledge.knowledge_base, knowledge.build.process;"
        "from knowledge.embedding.table import TableEmbedder;"
        "TableEmbedder(); print(sys.modules.keys() & {'wordllama', 'chromadb', 'openai', 'requests'})"
    )

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "set()"


@pytest.mark.parametrize("weights", [b"", b"\x05\x00\x00\x00\x00\x00\x00\x00{nope", b"\xff" * 64])
def test_a_damaged_table_is_told_in_a_sentence(tmp_path: Path, weights: bytes) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(weights)

    with pytest.raises(EmbedderFailed, match="cannot be read"):
        TableEmbedder(tmp_path)


def test_windows_cover_the_text_below_its_last_heading() -> None:
    text = " ".join(f"word{number}" for number in range(100))

    parts = windows("Help > Refunds", text, words=40)

    assert [part.split("\n")[0] for part in parts] == ["Refunds"] * len(parts)
    assert " ".join(part.split("\n", 1)[1] for part in parts) == text
    assert max(len(part.split()) for part in parts) <= 60
    assert windows("Help", text, words=0) == []


def length_first(text: str) -> list[float]:
    """A vector that tells the order of texts of growing length."""
    return [float(len(text)), 1.0, 0.0]


@pytest.fixture
async def service() -> AsyncIterator[tuple[EmbeddingServer, OpenAIEmbedder]]:
    async with open_embedding_server(length_first) as server:
        embedder = OpenAIEmbedder(api_key="key", base_url=server.url, model="m")
        yield server, embedder
        await embedder.close()


async def test_texts_travel_in_batches_and_come_back_in_order(service: tuple[EmbeddingServer, OpenAIEmbedder]) -> None:
    server, embedder = service

    vectors = await embedder.embed_documents(["x" * number for number in range(1, BATCH + 10)])

    assert sorted(map(len, server.requests)) == [9, BATCH]
    assert list(np.argsort(vectors[:, 0])) == list(range(BATCH + 9))
    assert embedder.dim == 3


async def test_a_busy_service_is_asked_again_for_documents_but_not_for_queries(
    service: tuple[EmbeddingServer, OpenAIEmbedder],
) -> None:
    server, embedder = service

    server.failures = [429, 500]
    assert len(await embedder.embed_documents(["a"])) == 1
    server.failures = [500]
    with pytest.raises(EmbedderFailed, match="openai/m gave no vectors"):
        await embedder.embed_query("a")


async def test_vectors_of_another_size_than_before_are_refused(service: tuple[EmbeddingServer, OpenAIEmbedder]) -> None:
    server, embedder = service
    await embedder.embed_query("a")
    server.vector = lambda text: [1.0, 0.0]

    with pytest.raises(EmbedderFailed, match="not usable"):
        await embedder.embed_query("b")


async def test_one_failing_batch_fails_all_with_one_plain_error(
    service: tuple[EmbeddingServer, OpenAIEmbedder],
) -> None:
    server, embedder = service
    server.failures = [400]

    with pytest.raises(EmbedderFailed):
        await embedder.embed_documents(["x"] * (2 * BATCH))


async def test_the_key_travels_by_the_environment_only(service: tuple[EmbeddingServer, OpenAIEmbedder]) -> None:
    _, embedder = service

    assert "key" not in embedder.recipe.arguments
    assert embedder.recipe.environment == {"OPENAI_API_KEY": "key"}
    assert "OPENAI_API_KEY" not in repr(embedder.recipe)
