"""Embedding with a model from a folder: tiny ones of random weights, written here in the forms they come in."""

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from knowledge.build.process import build
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.folder import FolderEmbedder
from knowledge.errors import EmbedderFailed
from knowledge.generations import Generations
from knowledge.knowledge_base import open_knowledge_base
from tests.knowledge.conftest import ignore, sources_of

WORDS = ["[CLS]", "[SEP]", "[UNK]", "lamp", "broken", "refund", "the", "when", "is", "my"]
WIDTH, HEADS, LAYERS, FAILPOINTS, WIDE = 8, 2, 2, 12, 16
CONFIG = {"model_type": "bert", "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "layer_norm_eps": 1e-12}


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    # As many are published.
    tokenizer.enable_padding(length=9, pad_token="[UNK]", pad_id=2)
    tokenizer.enable_truncation(7)
    tokenizer.save(str(folder / "tokenizer.json"))


def weights() -> dict[str, Vectors]:
    chance = np.random.default_rng(5)

    def made(*shape: int) -> Vectors:
        return chance.normal(0, 0.4, shape).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": made(len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": made(FAILPOINTS, WIDTH),
        "embeddings.token_type_embeddings.weight": made(2, WIDTH),
    }
    sizes = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
    sizes |= {
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (WIDE, WIDTH),
        "output.dense": (WIDTH, WIDE),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        for name, shape in sizes.items():
            tensors |= {f"{at}.{name}.weight": made(*shape), f"{at}.{name}.bias": made(shape[0])}
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
    for norm in norms:
        tensors |= {f"{norm}.weight": 1 + made(WIDTH), f"{norm}.bias": made(WIDTH)}
    return tensors


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, tensor in tensors.items():
        raw = tensor.tobytes()
        kind = {"float32": "F32", "float16": "F16", "int64": "I64"}[str(tensor.dtype)]
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    told = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(told)) + told + body)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A whole BERT of two layers."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_tokenizer(folder)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    write_safetensors(folder / "model.safetensors", weights())
    return folder


def by_the_book(tokens: list[int]) -> Vectors:
    """The mean of a BERT's last layer as its paper has it, number by number, in double precision."""
    held = {name: tensor.astype(np.float64) for name, tensor in weights().items()}

    def dense(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([held[f"{name}.weight"] @ row + held[f"{name}.bias"] for row in values])

    def norm(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = [(row - row.mean()) / math.sqrt(row.var() + 1e-12) for row in values]
        return np.array(rows) * held[f"{name}.weight"] + held[f"{name}.bias"]

    def gelu(value: float) -> float:
        return value * 0.5 * (1 + math.erf(value / math.sqrt(2)))

    kinds = held["embeddings.token_type_embeddings.weight"][0]
    words, places = held["embeddings.word_embeddings.weight"], held["embeddings.position_embeddings.weight"]
    values = norm("embeddings.LayerNorm", np.array([words[t] + places[p] + kinds for p, t in enumerate(tokens)]))
    for layer in range(LAYERS):
        at, size = f"encoder.layer.{layer}", WIDTH // HEADS
        query, key, value = (dense(f"{at}.attention.self.{part}", values) for part in ("query", "key", "value"))
        mixed = np.zeros_like(values)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for place in range(len(tokens)):
                scores = np.array([math.exp(query[place, part] @ other[part] / math.sqrt(size)) for other in key])
                mixed[place, part] = (scores / scores.sum()) @ value[:, part]
        values = norm(f"{at}.attention.output.LayerNorm", values + dense(f"{at}.attention.output.dense", mixed))
        wide = np.vectorize(gelu)(dense(f"{at}.intermediate.dense", values))
        values = norm(f"{at}.output.LayerNorm", values + dense(f"{at}.output.dense", wide))
    mean = values.mean(axis=0)
    unit: Vectors = (mean / np.linalg.norm(mean)).astype(np.float32)
    return unit


async def test_weights_are_computed_as_the_paper_has_it(model: Path) -> None:
    embedder = FolderEmbedder(model)

    (vector,) = await embedder.embed_documents(["when is my refund"])

    assert np.allclose(vector, by_the_book([0, 7, 8, 9, 5, 1]), atol=1e-5)
    assert np.allclose(vector, await embedder.embed_query("when is my refund"))
    assert (embedder.dim, embedder.name, embedder.count_tokens("my lamp")) == (WIDTH, "folder/tiny", 4)


async def test_a_multilingual_model_is_read_by_its_own_pieces_of_words(model: Path) -> None:
    """As the models for many languages are published: a BERT with pieces of words in place of words."""
    pieces = ["<s>", "</s>", "<unk>", "▁Lampe", "▁kaputt", "▁ラン", "プ"]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(number)) for number, piece in enumerate(pieces)], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer.save(str(model / "tokenizer.json"))
    vectors = await FolderEmbedder(model).embed_documents(["Lampe kaputt", "ランプ"])
    assert np.allclose(vectors, [by_the_book([0, 3, 4, 1]), by_the_book([0, 5, 6, 1])], atol=1e-5)


async def test_a_text_longer_than_the_model_takes_is_cut_and_framed(model: Path) -> None:
    (vector,) = await FolderEmbedder(model).embed_documents(["lamp " * 50])

    assert np.allclose(vector, by_the_book([0, *[3] * (FAILPOINTS - 2), 1]), atol=1e-5)


async def test_empty_texts_and_none_at_all_have_their_vectors(model: Path) -> None:
    embedder = FolderEmbedder(model)

    assert np.allclose(np.linalg.norm(await embedder.embed_documents(["", "x"]), axis=1), 1)
    assert (await embedder.embed_documents([])).shape == (0, WIDTH)


def test_the_fingerprint_follows_weights_and_tokenizer(model: Path) -> None:
    before = FolderEmbedder(model).fingerprint
    assert FolderEmbedder(model).fingerprint == before

    tensors = weights()
    tensors["embeddings.LayerNorm.bias"] += 1
    write_safetensors(model / "model.safetensors", tensors)
    changed = FolderEmbedder(model).fingerprint
    (model / "tokenizer.json").write_text((model / "tokenizer.json").read_text() + "\n")

    assert len({before, changed, FolderEmbedder(model).fingerprint}) == 3


async def test_a_base_is_built_by_the_recipe_and_asked(model: Path, library: Path, tmp_path: Path) -> None:
    embedder = FolderEmbedder(model)
    async with open_knowledge_base(tmp_path / "kb", embedder) as base:
        report = await base.refresh(library)
        findings = await base.search("How long is the warranty on lamps?")
        status = await base.status()

    assert (report.generation, status.embedder, status.degraded) == (1, "folder/tiny", False)
    assert findings.hits[0].source == "products/warranty.md"


async def test_another_model_makes_everything_anew(model: Path, kb: Path, library: Path) -> None:
    report = await build(Generations(kb), sources_of(library), FolderEmbedder(model), tell=ignore)

    assert (report.generation, report.embedded) == (2, report.chunks)


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("model.safetensors", b"", "cannot be used"),
        ("model.safetensors", b"\xff" * 100, "header is too long"),
        ("model.safetensors", struct.pack("<Q", 2) + b"{}", "cannot be used"),
        ("tokenizer.json", b"{", "cannot be used"),
        ("config.json", json.dumps(CONFIG | {"model_type": "mpnet"}).encode(), "only bert is known"),
        ("config.json", json.dumps(CONFIG | {"hidden_act": "relu"}).encode(), "only gelu is known"),
        ("1_Pooling/config.json", b'{"pooling_mode_mean_tokens": false}', "not averaged"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told_in_a_sentence(
    model: Path, file: str, content: bytes, sentence: str
) -> None:
    (model / file).parent.mkdir(exist_ok=True)
    (model / file).write_bytes(content)

    with pytest.raises(EmbedderFailed, match=sentence):
        FolderEmbedder(model)


def test_truncated_weights_are_told(model: Path) -> None:
    whole = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(EmbedderFailed, match="cannot be used"):
        FolderEmbedder(model)


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailed):
        FolderEmbedder(tmp_path / "nowhere")
    write_tokenizer(tmp_path)
    with pytest.raises(EmbedderFailed, match=r"neither model\.onnx nor model\.safetensors"):
        FolderEmbedder(tmp_path)


async def test_a_graph_is_preferred_to_weights(model: Path) -> None:
    pytest.importorskip("onnxruntime")
    (model / "onnx").mkdir()
    (model / "onnx" / "model.onnx").write_bytes(graph(weights()["embeddings.word_embeddings.weight"]))
    table = weights()["embeddings.word_embeddings.weight"]

    (vector,) = await FolderEmbedder(model).embed_documents(["my lamp"])

    mean = table[[0, 9, 3, 1]].mean(axis=0)
    assert np.allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def graph(table: Vectors) -> bytes:
    """An ONNX model that looks tokens up in a table: one node, written field by field."""
    kept = (
        b"".join(number(1, size) for size in table.shape) + number(2, 1) + text(8, b"table") + text(9, table.tobytes())
    )
    node = text(1, b"table") + text(1, b"input_ids") + text(2, b"last_hidden_state") + text(4, b"Gather")
    ids = tensor_type(b"input_ids", 7, [b"batch", b"tokens"])
    rows = tensor_type(b"last_hidden_state", 1, [b"batch", b"tokens", table.shape[1]])
    body = text(1, node) + text(2, b"tiny") + text(5, kept) + text(11, ids) + text(12, rows)
    return number(1, 8) + text(7, body) + text(8, text(1, b"") + number(2, 13))


def tensor_type(name: bytes, kind: int, shape: list[bytes | int]) -> bytes:
    sizes = b"".join(text(1, number(1, size) if isinstance(size, int) else text(2, size)) for size in shape)
    return text(1, name) + text(2, text(1, number(1, kind) + text(2, sizes)))


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
