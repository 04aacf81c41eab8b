"""What a build reports: progress, and a report at the end. Between processes it is one JSON object a line."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from knowledge.generations import Generation, Source
from knowledge.sources.files import Quarantined

Phase = Literal["scan", "read", "cut", "embed", "index", "calibrate", "verify"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build is. `of` is 0 if the total is not known."""

    phase: Phase
    done: int = 0
    of: int = 0


@dataclass(frozen=True, slots=True)
class Report:
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
    """Chunks that needed a vector. An embedder that bills is paid for these."""
    threshold: float
    sources: tuple[Source, ...]
    """The sources as they are now. Those that could not be read say why."""
    embedded_tokens: int = 0
    """Tokens of these chunks as the embedder counts. 0 with the built-in table, which costs nothing."""
    mended: bool = False
    """Whether there is a new generation only because the vectors were damaged, and nothing else has changed."""

    @classmethod
    def without_changes(cls, current: Generation, *, seconds: float) -> "Report":
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
            threshold=manifest.threshold,
            sources=manifest.sources,
        )

    @property
    def is_new(self) -> bool:
        """Whether the build made a generation. False if nothing has changed."""
        return bool(self.added or self.changed or self.removed or self.embedded)

    @property
    def stale(self) -> tuple[Source, ...]:
        """Sources whose documents are from an earlier build."""
        return tuple(source for source in self.sources if source.stale)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Report":
        """The report from plain values."""
        quarantined = tuple(Quarantined(**item) for item in values["quarantined"])
        sources = tuple(Source(**item) for item in values["sources"])
        return cls(**{**values, "quarantined": quarantined, "sources": sources})
