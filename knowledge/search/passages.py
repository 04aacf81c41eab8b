"""From ranked chunks to what the model reads: best evidence first, within a budget of words.

`collect` drops duplicates, joins chunks that are next to each other in their document, and stops at the budget.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from knowledge.search.catalog import Passage
from knowledge.site_markup import without_heading_ids

LEAST_WORDS = 30
"""Words that a cut passage needs at least. A shorter one is left out."""
JOINED_WORDS = 400
"""Words that a hit may have with its neighbours: longer hits would push better evidence down."""
SAME = 0.9
"""The share of common word quadruples from which two chunks count as one."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage to quote, with what a reader needs to trust it."""

    title: str
    heading: str
    """The path from the title to the section, joined by " > "."""
    url: str
    """The address where a customer can read the page. Empty if there is none."""
    source: str
    """The file that it came from, with `#id` for a row of an FAQ table."""
    category: str
    last_updated: str
    """The ISO date, or empty."""
    text: str
    score: float
    """The fused score of its best chunk. It is comparable within one base."""
    chunk_id: str
    """The chunk's name, which stays the same while its words do. For joined chunks, the best one's."""
    anchor: str = ""
    """The section as a link fragment."""
    language: str = ""
    words: float = 0.0
    """The part of the score that comes from the query's words. The rest is nearness in meaning."""


@dataclass(slots=True)
class _Run:
    """Neighbouring chunks of one document that become one hit."""

    best: Passage
    score: float
    parts: dict[int, Passage] = field(default_factory=dict)


def collect(ranked: Iterable[tuple[Passage, float]], *, limit: int, words: int) -> tuple[Hit, ...]:
    """At most `limit` hits with at most `words` words together. The chunks come best first."""
    runs: list[_Run] = []
    seen: list[frozenset[tuple[str, ...]]] = []
    left = words
    for passage, score in ranked:
        shingles = _shingles(passage.text)
        if any(_same(shingles, other) for other in seen):
            continue
        passage, used = _cut(passage, left)
        if not used:
            break
        run = _neighbour(runs, passage)
        if run is None:
            if len(runs) == limit:
                break
            run = _Run(passage, score)
            runs.append(run)
        run.parts[passage.position] = passage
        seen.append(shingles)
        left -= used
    return tuple(_hit(run) for run in runs)


def _neighbour(runs: list[_Run], passage: Passage) -> _Run | None:
    """The run that this chunk continues, upwards or downwards, if it has room."""
    beside = {passage.position - 1, passage.position + 1}
    for run in runs:
        if run.best.document != passage.document or not run.parts.keys() & beside:
            continue
        if sum(len(part.text.split()) for part in (*run.parts.values(), passage)) <= JOINED_WORDS:
            return run
    return None


def _cut(passage: Passage, words: int) -> tuple[Passage, int]:
    """The passage within `words` words, and its number of words. 0 if too little would be left."""
    length = len(passage.text.split())
    if length <= words:
        return passage, length
    if words < LEAST_WORDS:
        return passage, 0
    end = [match.end() for match, _ in zip(re.finditer(r"\S+", passage.text), range(words), strict=False)][-1]
    return replace(passage, text=passage.text[:end] + " …"), words


def _hit(run: _Run) -> Hit:
    parts = [run.parts[position] for position in sorted(run.parts)]
    text = parts[0].text
    for before, after in pairwise(parts):
        # A chunk's own heading comes before it if the reader would otherwise miss the change.
        text += "\n\n" if before.heading == after.heading else f"\n\n{after.heading.rsplit(' > ', 1)[-1]}\n"
        text += after.text
    first, best = parts[0], run.best
    return Hit(
        title=best.title,
        heading=best.heading,
        url=best.url,
        source=best.source,
        category=best.category,
        last_updated=best.last_updated,
        text=without_heading_ids(text),
        score=run.score,
        chunk_id=best.key,
        anchor=first.anchor,
        language=best.language,
    )


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3)))


def _same(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return len(one & other) >= SAME * max(len(one), len(other))
