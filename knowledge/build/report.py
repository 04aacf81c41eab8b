"""What a build reports: progress, and a report at the end. Between processes it is one JSON object a line."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from knowledge.generations import Generation, IndexedSource
from knowledge.sources.files import Quarantined

LEFT_OUT = "left-out.json"
"""The file beside the index that lists all that was left out."""

Phase = Literal["scan", "read", "cut", "embed", "index", "calibrate", "verify"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is. `of` is 0 if the total is not known."""

    phase: Phase
    done: int = 0
    of: int = 0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the last build found in the sources and did not take. It is kept as a file of JSON beside the index."""

    quarantined: tuple[Quarantined, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """A kind of file that is not read, or a pattern that excludes files -> how many there are."""

    @classmethod
    def load(cls, root: Path) -> "LeftOut":
        """What the base in `root` left out. Empty if that is not known."""
        try:
            values = json.loads((root / LEFT_OUT).read_text("utf-8"))
            return cls(tuple(Quarantined(**each) for each in values["quarantined"]), dict(values["passed_over"]))
        except (OSError, ValueError, KeyError, TypeError):
            return cls()

    def save(self, root: Path) -> None:
        """Keep it beside the index in `root`. Raises OSError."""
        fresh = root / f"{LEFT_OUT}.tmp"
        fresh.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=1), "utf-8")
        fresh.replace(root / LEFT_OUT)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build changed, counted in documents."""

    added: int
    changed: int
    removed: int
    unchanged: int
    quarantined: tuple[Quarantined, ...]
    seconds: float
    generation: int
    """The generation that is current now. It is the old one if nothing has changed."""
    documents: int
    chunks: int
    embedded: int
    """Chunks that were embedded. An embedder that bills is paid for these."""
    threshold: float
    sources: tuple[IndexedSource, ...]
    """The sources as they are now. Those that could not be read say why."""
    reused: int = 0
    """Chunks whose vector was kept from an earlier build, even one that failed."""
    embedded_tokens: int = 0
    """Tokens of these chunks as the embedder counts. 0 with the built-in table, which costs nothing."""
    passed_over: Mapping[str, int] = field(default_factory=dict)
    """A kind of file that is not read, or a pattern that excludes files -> how many there are."""
    mended: bool = False
    """Whether there is a new generation only because the vectors were damaged, and nothing else has changed."""

    @classmethod
    def without_changes(cls, current: Generation, *, seconds: float) -> "BuildReport":
        """The report of a refresh that found every file unchanged."""
        manifest = current.manifest
        return cls(
            added=0,
            changed=0,
            removed=0,
            unchanged=manifest.documents,
            quarantined=(),
            seconds=round(seconds, 3),
            generation=manifest.number,
            documents=manifest.documents,
            chunks=manifest.chunks,
            embedded=0,
            threshold=manifest.thresholds.clearly,
            sources=manifest.sources,
        )

    @property
    def is_new(self) -> bool:
        """Whether the build made a generation. False if nothing has changed."""
        return bool(self.added or self.changed or self.removed or self.embedded or self.reused)

    @property
    def stale(self) -> tuple[IndexedSource, ...]:
        """Sources whose documents are from an earlier build."""
        return tuple(source for source in self.sources if source.stale)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "BuildReport":
        """The report from plain values."""
        quarantined = tuple(Quarantined(**item) for item in values["quarantined"])
        sources = tuple(IndexedSource(**item) for item in values["sources"])
        return cls(**{**values, "quarantined": quarantined, "sources": sources})
