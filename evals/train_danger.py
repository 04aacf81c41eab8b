"""Learn the weights of the danger classifier from evals/danger: `make train-danger`, some two minutes.

Softmax regression, learned with AdaGrad from small batches in an order that a seed decides; the weights are the mean of
RUNS. The features are those of `bot.desk.danger.classifier`. The threshold is the probability that a share
EVERYDAY_SHARE of the everyday sentences of evals/danger/development exceeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bot.desk.danger.classifier import BITS, CLASSES, DANGERS, EVERYDAY, MODEL, Classifier, Weights, feature_ids
from evals.danger_sentences import DEVELOPMENT, MUST, REPEATED, Labelled, fingerprint, read_all, read_training
from knowledge.embedding.table import load_installed_table

EPOCHS = 6
BATCH = 64
RATE = 0.3
RUNS = 5
EVERYDAY_SHARE = 0.0223
HIDDEN_SHARE = 0.2
"""The share of texts that are learned without their embedding, so that the other features say as much as they can."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Sentences with their features."""

    ids: Sequence[NDArray[np.int64]]
    embeddings: Weights
    labels: NDArray[np.int64]


def prepare(sentences: Sequence[Labelled]) -> Examples:
    """Compute the features of sentences."""
    texts = [text for text, _ in sentences]
    labels = np.array([CLASSES.index(label) for _, label in sentences])
    return Examples([feature_ids(text) for text in texts], load_installed_table().embed(texts), labels)


def learn(examples: Examples) -> tuple[Weights, Weights, Weights]:
    """The weights of the features, of the embedding's dimensions, and the bias."""
    features, dimensions, bias = zip(*(_run(examples, seed) for seed in range(RUNS)), strict=True)
    return _mean(features), _mean(dimensions), _mean(bias)


def _mean(of_runs: Sequence[Weights]) -> Weights:
    mean: Weights = np.stack(of_runs).mean(axis=0)
    return mean


def _run(examples: Examples, seed: int) -> tuple[Weights, Weights, Weights]:
    random, classes = np.random.default_rng(seed), len(CLASSES)
    features, squares = np.zeros((1 << BITS, classes), np.float32), np.full((1 << BITS, classes), 1e-3, np.float32)
    dimensions = np.zeros((examples.embeddings.shape[1], classes), np.float32)
    squares_of_dimensions, bias = np.full_like(dimensions, 1e-3), np.zeros(classes, np.float32)
    for _ in range(EPOCHS):
        order = random.permutation(len(examples.labels))
        for batch in np.array_split(order, max(1, len(order) // BATCH)):
            lists = [examples.ids[each] for each in batch]
            counts = np.array([len(each) for each in lists])
            ids, scale, starts = np.concatenate(lists), 1 / np.sqrt(counts)[:, None], counts.cumsum() - counts
            embeddings = examples.embeddings[batch] * (random.random((len(batch), 1)) >= HIDDEN_SHARE)
            logits = np.add.reduceat(features[ids], starts, axis=0) * scale + embeddings @ dimensions + bias
            error = np.exp(logits - logits.max(axis=1, keepdims=True))
            error /= error.sum(axis=1, keepdims=True)
            error[np.arange(len(batch)), examples.labels[batch]] -= 1
            rows, places = np.unique(ids, return_inverse=True)
            spread = np.repeat(error * scale, counts, axis=0)
            gradient = np.stack([np.bincount(places, column, len(rows)) for column in spread.T], axis=1)
            squares[rows] += gradient**2
            features[rows] -= RATE * gradient / np.sqrt(squares[rows])
            of_dimensions = embeddings.T @ error
            squares_of_dimensions += of_dimensions**2
            dimensions -= RATE * of_dimensions / np.sqrt(squares_of_dimensions)
            bias -= 0.05 * error.mean(axis=0)
    return features, dimensions, bias


def choose_threshold(weights: tuple[Weights, Weights, Weights]) -> float:
    """The probability of danger that EVERYDAY_SHARE of the everyday sentences for development exceed."""
    classifier = Classifier(*weights, threshold=1.0, embed=load_installed_table().embed)
    everyday = [text for text, label in read_all(DEVELOPMENT) if label == EVERYDAY]
    return float(np.quantile(1 - classifier.probabilities(everyday)[:, -1], 1 - EVERYDAY_SHARE))


def main() -> None:
    """Learn, and write the weights."""
    sentences = read_training()
    print(f"{len(sentences)} sentences, of which {sum(label in DANGERS for _, label in sentences)} show danger")
    weights = learn(prepare(sentences + read_all(MUST) * (REPEATED - 1)))
    features, dimensions, bias = weights
    threshold = choose_threshold(weights)
    np.savez_compressed(
        MODEL,
        features=features.astype(np.float16),
        dimensions=dimensions.astype(np.float16),
        bias=bias,
        threshold=np.float32(threshold),
        learned_from=np.array(fingerprint(sentences)),
    )
    print(f"threshold {threshold:.3f}, {MODEL.stat().st_size / 1_000:.0f} kB")


if __name__ == "__main__":
    main()
