"""The answer threshold: the score from which a base answers a question. It is measured on each base when it is built.

Sentences of the base itself are searched twice: in the whole base, and without the page that they come from. They have
the base's language and subject. So the first search shows the score of an answer, the second the score when there is
none. The threshold lies between the two. It is nearer to the second, since a sentence is easier to find than a question
in other words. It also lies above nearly all of a list of foreign questions, about everything in the world, which a
base can hardly ever answer.

Plainly foreign questions fall below the threshold. Whether a page on the right subject really has the answer, no score
can show: there the agent has to read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.catalog import CatalogReader
from knowledge.embedding.embedder import Embedder, Vectors
from knowledge.fuse import fuse
from knowledge.index import rank
from knowledge.vectors import VectorIndex

SAMPLE, LARGE_SAMPLE = 200, 100
"""Sentences of the base that are searched. The second number is for a large base, where each search takes longer."""
LARGE = 5_000
"""Chunks from which a base counts as large."""
CANDIDATES = 100
FOREIGN_QUANTILE = 0.95
ABSENT_QUANTILE, PRESENT_QUANTILE = 0.5, 0.1
NEARNESS = 1 / 3
"""Where the threshold lies on the way from the scores without an answer (0) to those with one (1)."""
HIGHEST_FUSED, HIGHEST_WORDS = 0.95, 0.55
"""The highest thresholds. On any base, most questions that have an answer score higher. A base with repetitive pages
finds each sentence elsewhere too, and would set the threshold above most questions."""
FEW_DOCUMENTS = 5
"""Below this many documents, a base without one of them is nearly empty, so only the sentence's own chunk is left out.
The score of the rest of its page does not show what is found without an answer. So the threshold lies halfway to that
of the foreign questions."""
_FUSED, _WORDS = 0, 1
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
class Thresholds:
    """The scores from which a question counts as answerable."""

    fused: float
    words: float
    """The threshold when only words can be searched."""


async def calibrate(reader: CatalogReader, vectors: VectorIndex, embedder: Embedder) -> Thresholds:
    """Measure the thresholds of a finished base, with about 300 searches."""
    questions = [(text, frozenset[int]()) for text in FOREIGN_QUESTIONS]
    foreign, _ = await _ask(reader, vectors, embedder, questions)
    present, absent = await _ask(reader, vectors, embedder, _own_sentences(reader))
    few = reader.documents < FEW_DOCUMENTS
    fused, words = (_threshold(foreign[:, way], present[:, way], absent[:, way], few=few) for way in (_FUSED, _WORDS))
    return Thresholds(min(fused, HIGHEST_FUSED), min(words, HIGHEST_WORDS))


def _threshold(foreign: Vectors, present: Vectors, absent: Vectors, *, few: bool) -> float:
    above_foreign = float(np.quantile(foreign, FOREIGN_QUANTILE))
    if not len(present):
        return round(above_foreign, 3)
    without = float(np.quantile(absent, ABSENT_QUANTILE))
    with_ = float(np.quantile(present, PRESENT_QUANTILE))
    threshold = max(above_foreign, without + NEARNESS * max(with_ - without, 0.0))
    return round((above_foreign + threshold) / 2 if few else threshold, 3)


async def _ask(
    reader: CatalogReader, vectors: VectorIndex, embedder: Embedder, questions: Sequence[tuple[str, frozenset[int]]]
) -> tuple[Vectors, Vectors]:
    """The best fused and word scores of each question: from the whole base, and without the chunks it names."""
    embedded = await embedder.embed_documents([text for text, _ in questions])
    scores = np.zeros((2, len(questions), 2), np.float32)
    for number, ((text, left_out), vector) in enumerate(zip(questions, embedded, strict=True)):
        found = reader.keywords.find(text, limit=CANDIDATES)
        near = vectors.nearest(vector, limit=min(CANDIDATES, reader.chunks))
        for way, ranked in ((_FUSED, rank(reader, found, near, vector)), (_WORDS, fuse({}, found.scores))):
            scores[0, number, way] = next((score for _, score in ranked), 0.0)
            scores[1, number, way] = next((score for chunk, score in ranked if chunk not in left_out), 0.0)
    return scores[0], scores[1]


def _own_sentences(reader: CatalogReader) -> list[tuple[str, frozenset[int]]]:
    """A sentence from the middle of each sampled chunk, with the chunks that must not answer it."""
    by_document = reader.chunks_by_document()
    sentences: list[tuple[str, frozenset[int]]] = []
    for chunk, document, text in reader.sample(LARGE_SAMPLE if reader.chunks >= LARGE else SAMPLE):
        candidates = [
            part for part in _SENTENCE_END.split(text) if 5 <= len(part.split()) <= 25 or 12 <= len(part) <= 40
        ]
        if candidates:
            home = by_document[document] if reader.documents >= FEW_DOCUMENTS else frozenset({chunk})
            sentences.append((candidates[len(candidates) // 2], home))
    return sentences
