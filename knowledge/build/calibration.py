"""The answer thresholds: the scores from which a base clearly, or perhaps, has an answer.

They are measured on each base when it is built.

Three kinds of texts are searched. Foreign questions, about everything in the world, have no answer in hardly any base.
Sentences of the base itself have one. The same sentences without their own passage, and without all that says much the
same, show what the base finds for a question on its subject that it cannot answer.

- "Perhaps" begins above the foreign questions, on the way to the sentences that have an answer. A sentence is easier to
  find than a question in other words, so it begins before the middle of that way.
- "Clearly" begins where most sentences without their answer do not reach. A base with too few sentences to know that
  has it on the way from "perhaps" to its sentences.

Where the operator has written down real questions, these take the place of the sentences. Below "perhaps", a question
is plainly foreign. Whether a page on the right subject really has the answer, no score can show: there the agent has
to read.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from knowledge.documents import clean
from knowledge.embedding.embedder import Embedder, Vectors
from knowledge.search.catalog import CatalogReader, StoredVectors
from knowledge.search.fuse import cosines, fuse
from knowledge.search.index import rank, words_weight
from knowledge.search.keywords import Found
from knowledge.search.vectors import VectorIndex
from knowledge.thresholds import Thresholds

SAMPLE, LARGE_SAMPLE = 200, 100
"""Sentences of the base that are searched. The second number is for a large base, where each search takes longer."""
LARGE = 5_000
"""Chunks from which a base counts as large."""
HELD = 2_000
"""Chunks up to which all vectors are held in memory: comparing with them is faster than asking the index."""
CANDIDATES = 100
FOREIGN_QUANTILE, PRESENT_QUANTILE, ABSENT_QUANTILE = 0.8, 0.1, 0.75
MARGIN = 0.45
"""Where "perhaps" begins on the way from the foreign questions (0) to the base's own sentences (1)."""
FURTHEST = 0.75
"""Where "clearly" begins at the latest on the way from "perhaps" (0) to these sentences (1). A base with repetitive
pages has something like the answer everywhere, also far from the passage that was left out."""
SAME_QUANTILE = 0.95
"""Two chunks say much the same if they are nearer to each other than this share of the base's chunks."""
LEAST_TEXTS = 20
"""Texts of one kind that are needed to measure by them."""
SMALL_SHARE = 0.25
"""Where "clearly" begins in a base with fewer sentences, on the way from "perhaps" (0) to these sentences (1). So few
pages have little that is nearly an answer, so it begins early on that way."""
MOST_QUESTIONS, QUESTIONS_CHARACTERS, QUESTION_CHARACTERS = 500, 1_000_000, 2_000
"""Written questions that are read at most, the characters of their file, and those of one question."""
MISSED_QUANTILE, UNANSWERED_QUANTILE = 0.05, 0.95
"""The share of the written questions with an answer that "perhaps" may miss, and of what has no answer that it need
not leave behind."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

FOREIGN_QUESTIONS = """\
How long should I boil an egg so that the yolk stays soft?
What is the capital city of Mongolia?
How do I prune a rose bush in winter?
Which planets can be seen with the naked eye tonight?
How do I change the chain of a mountain bike?
What is the difference between a violin and a viola?
How many players are on a water polo team?
How do I remove red wine from a wool carpet?
What causes the northern lights?
How do I teach my puppy to walk on a leash?
Which knot holds best for climbing ropes?
How do I merge two branches in git without losing commits?
What is the boiling point of ethanol?
How do I tune an acoustic guitar by ear?
Who wrote the Brothers Karamazov?
How do I sharpen a kitchen knife on a whetstone?
What is the average lifespan of a giant tortoise?
How do I write a will that is valid without a lawyer?
What should I feed a baby at six months?
How do I calculate the area of a trapezoid?
Which wood is best for building a canoe?
How do I stop my car's engine from overheating?
What is the offside rule in football?
How do I grow tomatoes on a balcony?
What were the causes of the Thirty Years' War?
How do I sleep better after night shifts?
How do I knit a sock heel?
What is the melting temperature of gold?
How do I apply for a fishing licence?
How do I make sourdough starter from scratch?
Which vaccines does a kitten need?
How do I replace a broken bicycle spoke?
What does the tide depend on?
How do I solve a quadratic equation?
How do I repair a leaking tap?
What is the best month to visit Patagonia?
How do I learn to juggle three balls?
Why do leaves turn red in autumn?
How do I fold a paper crane?
What is a good exercise for lower back pain?
How do I develop black and white film at home?
How is the mortgage interest rate set?
What is the population of Iceland?
How do I train for a marathon in four months?
How do I get rid of ants in the garden?
Who painted the ceiling of the Sistine Chapel?
How do I plaster a wall?
How do I choose a telescope for a child?
What is the plural of octopus?
How do I register a company in Estonia?
How do I compile the Linux kernel?
What are the symptoms of a magnesium deficiency?
How do I build a raised garden bed?
When is the next leap year?
How do I brew green tea without making it bitter?
How do I pick a lock?
What is the tallest building in Europe?
How do I conjugate irregular verbs in Latin?
How do I insulate an attic?
Which mushrooms are poisonous?
Wie lange muss man Kartoffeln kochen?
Wie stimme ich eine Gitarre?
Welche Pflanzen vertragen viel Schatten?
Wer hat die Zauberflöte komponiert?
Comment faire pousser du basilic sur un balcon ?
Quelle est la hauteur du mont Blanc ?
Comment accorder un piano ?
Pourquoi la mer est-elle salée ?
¿Cómo se prepara una tortilla de patatas?
¿Cuál es el río más largo de América del Sur?
¿Cómo se poda un olivo?
¿Quién escribió Cien años de soledad?
Bagaimana cara menanam cabai di pot?
Berapa tinggi Gunung Rinjani?
Siapa penemu lampu pijar?
Bagaimana cara memasak rendang?
どうやって折り鶴を折りますか？
富士山の高さは何メートルですか？
怎样养好一盆兰花？
长城有多长？
""".splitlines()


@dataclass(frozen=True, slots=True)
class Calibration:
    """The thresholds of a base."""

    fused: Thresholds
    words: Thresholds
    """The thresholds when only words can be searched."""


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A question that the operator has written down."""

    text: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """The best scores of a kind of texts: a row each, by both and by words alone."""

    present: Vectors
    absent: Vectors
    """The same without the passages that the text comes from."""


def read_questions(path: Path) -> tuple[WrittenQuestion, ...]:
    """The questions of a file with a JSON object a line: `question`, and `answerable`, which is true unless it says
    otherwise. Empty if there is no such file. Lines of another form are passed over."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            read = [_written(line) for line in lines.read(QUESTIONS_CHARACTERS).split("\n")[:MOST_QUESTIONS]]
    except OSError:
        return ()
    return tuple(question for question in read if question)


async def calibrate(
    reader: CatalogReader, vectors: VectorIndex, embedder: Embedder, written: Sequence[WrittenQuestion] = ()
) -> Calibration:
    """Measure the thresholds of a finished base, with about 300 searches."""
    search = _Search(reader, vectors, embedder, _held(reader) if reader.chunks <= HELD else None)
    foreign = (await search.ask((text, None) for text in FOREIGN_QUESTIONS)).present
    own = await search.ask(_own_sentences(reader))
    known = (await search.ask((each.text, None) for each in written if each.answerable)).present
    unknown = (await search.ask((each.text, None) for each in written if not each.answerable)).present
    fused, words = (
        _thresholds(foreign[:, way], own.present[:, way], own.absent[:, way], known[:, way], unknown[:, way])
        for way in (0, 1)
    )
    return Calibration(fused, words)


def _thresholds(foreign: Vectors, present: Vectors, absent: Vectors, known: Vectors, unknown: Vectors) -> Thresholds:
    if len(known) >= LEAST_TEXTS:
        perhaps = max(_quantile(foreign, UNANSWERED_QUANTILE), _quantile(known, MISSED_QUANTILE))
    else:
        # In a small base, nothing without an answer comes near to the middle of the way.
        unanswered = _quantile(np.concatenate((foreign, absent)), UNANSWERED_QUANTILE)
        perhaps = min(_between(_quantile(foreign, FOREIGN_QUANTILE), present, MARGIN), unanswered)
    if len(unknown) >= LEAST_TEXTS:
        clearly = _quantile(unknown, ABSENT_QUANTILE)
    elif len(absent) >= LEAST_TEXTS:
        clearly = min(_quantile(absent, ABSENT_QUANTILE), _between(perhaps, present, FURTHEST))
    else:
        clearly = _between(perhaps, present, SMALL_SHARE)
    return Thresholds(round(max(clearly, perhaps), 3), round(perhaps, 3))


def _between(score: float, present: Vectors, share: float) -> float:
    """A share of the way from a score to that of sentences whose answer is there."""
    return score + share * max(_quantile(present, PRESENT_QUANTILE) - score, 0.0) if len(present) else score


def _quantile(scores: Vectors, share: float) -> float:
    return float(np.quantile(scores, share))


@dataclass(frozen=True, slots=True)
class _Search:
    reader: CatalogReader
    vectors: VectorIndex
    embedder: Embedder
    held: StoredVectors | None = None
    """The vectors of every chunk, if the base is small enough for that."""

    async def ask(self, questions: Iterable[tuple[str, int | None]]) -> _Asked:
        """Search each text, which may come from a chunk."""
        asked = list(questions)
        scores = np.zeros((2, len(asked), 2), np.float32)
        if not asked:
            return _Asked(scores[0], scores[1])
        embedded = await self.embedder.embed_documents([text for text, _ in asked])
        same = self._same()
        for number, ((text, home), vector) in enumerate(zip(asked, embedded, strict=True)):
            found = self.reader.keywords.find(text, limit=CANDIDATES)
            by_words = fuse({}, found.scores, weight=words_weight(self.reader))
            for way, ranked in enumerate((self._rank(found, vector), by_words)):
                scores[0, number, way] = ranked[0][1] if ranked else 0.0
                scores[1, number, way] = self._without(ranked, home, same=same)
        return _Asked(scores[0], scores[1])

    def _rank(self, found: Found, vector: Vectors) -> list[tuple[int, float]]:
        """What a search ranks: the chunks that are nearest, and those that the words have found."""
        if self.held is None:
            near = self.vectors.nearest(vector, limit=min(CANDIDATES, self.reader.chunks))
            return rank(self.reader, found, near, vector)
        nearest = np.argsort(-(self.held.wholes @ vector))[:CANDIDATES]
        candidates = {self.held.ids[row] for row in nearest} | found.scores.keys()
        near = {chunk: cosine for chunk, cosine in cosines(vector, self.held).items() if chunk in candidates}
        return fuse(near, found.scores, weight=words_weight(self.reader))

    def _without(self, ranked: Sequence[tuple[int, float]], home: int | None, *, same: float) -> float:
        """The best score without the chunk `home` and all that says much the same."""
        if home is None or not ranked:
            return 0.0
        stored = self.held or self.reader.vectors([home, *(chunk for chunk, _ in ranked)])
        wholes = np.asarray(stored.wholes, np.float32)
        likeness = dict(zip(stored.ids, wholes @ wholes[stored.ids.index(home)], strict=True))
        others = (score for chunk, score in ranked if chunk != home and likeness[chunk] < same)
        # Whatever is not among so many candidates has a lower score than the last of them.
        return next(others, ranked[-1][1] if len(ranked) >= CANDIDATES else 0.0)

    def _same(self) -> float:
        """The cosine from which two chunks of this base say much the same."""
        wholes = self.reader.vectors([chunk for chunk, _, _ in self.reader.sample(SAMPLE)]).wholes.astype(np.float32)
        pairs = (wholes @ wholes.T)[np.triu_indices(len(wholes), 1)]
        return _quantile(pairs, SAME_QUANTILE) if len(pairs) else 1.0


def _held(reader: CatalogReader) -> StoredVectors:
    stored = reader.vectors(list(reader.keys()))
    return replace(stored, wholes=stored.wholes.astype(np.float32), windows=stored.windows.astype(np.float32))


def _own_sentences(reader: CatalogReader) -> list[tuple[str, int]]:
    """A sentence from the middle of each sampled chunk, with the chunk. In a base without sentences, the chunks' own
    beginnings."""
    sentences: list[tuple[str, int]] = []
    sample = reader.sample(LARGE_SAMPLE if reader.chunks >= LARGE else SAMPLE)
    for chunk, _, text in sample:
        candidates = [
            part for part in _SENTENCE_END.split(text) if 5 <= len(part.split()) <= 25 or 12 <= len(part) <= 40
        ]
        if candidates:
            sentences.append((candidates[len(candidates) // 2], chunk))
    return sentences or [(text[:QUESTION_CHARACTERS], chunk) for chunk, _, text in sample]


def _written(line: str) -> WrittenQuestion | None:
    try:
        read: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    asked = read.get("question") if isinstance(read, dict) else None
    text = clean(asked).strip()[:QUESTION_CHARACTERS] if isinstance(asked, str) else ""
    return WrittenQuestion(text, read.get("answerable", True) is not False) if text else None
