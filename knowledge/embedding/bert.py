"""A BERT encoder's forward pass in numpy. It suits MiniLM and similar models: one text at a time, 15 ms a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding.embedder import Vectors

_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""The coefficients of Abramowitz and Stegun 7.1.26, whose error is at most 1.5e-7."""


@dataclass(frozen=True, slots=True)
class _Dense:
    weight: Vectors
    bias: Vectors

    def __call__(self, values: Vectors) -> Vectors:
        out: Vectors = values @ self.weight.T + self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Vectors
    bias: Vectors
    epsilon: float

    def __call__(self, values: Vectors) -> Vectors:
        centered = values - values.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centered).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        out: Vectors = centered / spread * self.weight + self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Layer:
    query: _Dense
    key: _Dense
    value: _Dense
    attended: _Dense
    attended_norm: _Norm
    wide: _Dense
    narrow: _Dense
    norm: _Norm

    def __call__(self, values: Vectors, heads: int) -> Vectors:
        values = self.attended_norm(values + self.attended(self._attention(values, heads)))
        return self.norm(values + self.narrow(_gelu(self.wide(values))))

    def _attention(self, values: Vectors, heads: int) -> Vectors:
        tokens, width = values.shape

        def split(projected: Vectors) -> Vectors:
            return projected.reshape(tokens, heads, width // heads).swapaxes(0, 1)

        scores = split(self.query(values)) @ split(self.key(values)).swapaxes(1, 2)
        scores /= np.float32(np.sqrt(width // heads))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        out: Vectors = (scores @ split(self.value(values))).swapaxes(0, 1).reshape(tokens, width)
        return out


class Bert:
    """The encoder, made from a model's tensors and its config.json."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], config: Mapping[str, Any]) -> None:
        """Build the encoder. Raises KeyError or ValueError if the tensors are not those of a BERT encoder."""
        if config.get("hidden_act", "gelu") != "gelu":
            raise ValueError(f"its activation is {config['hidden_act']}, only gelu is known")
        prefix = "bert." if any(name.startswith("bert.") for name in tensors) else ""
        self._tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
        self._epsilon = float(config.get("layer_norm_eps", 1e-12))
        self._heads = int(config["num_attention_heads"])
        self._words = self._tensors["embeddings.word_embeddings.weight"]
        types = self._wide("embeddings.token_type_embeddings.weight")
        self._places = self._wide("embeddings.position_embeddings.weight") + types[0]
        self._norm = self._made_norm("embeddings.LayerNorm")
        self._layers = [self._layer(f"encoder.layer.{number}.") for number in range(int(config["num_hidden_layers"]))]
        self.dim = int(self._words.shape[1])
        self.limit = len(self._places)
        """Tokens of a text, at most."""
        if self.dim % self._heads:
            raise ValueError(f"{self.dim} values cannot be shared by {self._heads} heads")

    def __call__(self, tokens: Sequence[int]) -> Vectors:
        """Return one row for each token."""
        values = self._norm(self._words[list(tokens)].astype(np.float32) + self._places[: len(tokens)])
        for layer in self._layers:
            values = layer(values, self._heads)
        return values

    def _layer(self, at: str) -> _Layer:
        return _Layer(
            query=self._dense(f"{at}attention.self.query"),
            key=self._dense(f"{at}attention.self.key"),
            value=self._dense(f"{at}attention.self.value"),
            attended=self._dense(f"{at}attention.output.dense"),
            attended_norm=self._made_norm(f"{at}attention.output.LayerNorm"),
            wide=self._dense(f"{at}intermediate.dense"),
            narrow=self._dense(f"{at}output.dense"),
            norm=self._made_norm(f"{at}output.LayerNorm"),
        )

    def _dense(self, name: str) -> _Dense:
        return _Dense(self._wide(f"{name}.weight"), self._wide(f"{name}.bias"))

    def _made_norm(self, name: str) -> _Norm:
        return _Norm(self._wide(f"{name}.weight"), self._wide(f"{name}.bias"), self._epsilon)

    def _wide(self, name: str) -> Vectors:
        return np.asarray(self._tensors[name], np.float32)


def _gelu(values: Vectors) -> Vectors:
    size = np.abs(values) * np.float32(1 / np.sqrt(2))
    step = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(step)
    for factor in _ERF:
        series = (series + np.float32(factor)) * step
    error = np.copysign(1 - series * np.exp(-size * size), values)
    out: Vectors = values * (1 + error) / 2
    return out
