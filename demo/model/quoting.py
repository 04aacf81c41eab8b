"""Finding, in the passages of a request, the few sentences that a question is about.

It counts rare words that question and passage share. That is all the understanding there is.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demo.model.language import COMMON, WORD, in_english, language_of, search_word

QUOTE_LIMIT = 480
"""Characters of one quotation."""
STEPS_LIMIT = 900
"""Characters of a quoted list: half a list of steps helps nobody."""

BEFORE_COUNTS = 0.5
"""The weight of a subject of the message before, to one of the question itself."""

_PASSAGE = re.compile(r"""<(passage|document)\b((?:"[^"]*"|[^">])*)>\s*(.*?)\s*</\1>""", re.DOTALL)
_TITLE = re.compile(r'title="([^"]*)"')
_NUMBERED = re.compile(r"^\[\d+\] +(.+)\n((?:(?!\[\d+\] ).*\n?)+)", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[\"“(]?[A-Z0-9ÄÖÜÀ-Ý¿¡])")
_ASKS_FOR_STEPS = re.compile(
    r"\W*(?:how (?:do|can|to|should)|bagaimana|gimana|cara|wie (?:kann|mache|geht)|c[oó]mo|comment)\b", re.IGNORECASE
)
_ASKS_FOR_FIGURES = re.compile(
    r"\b(?:how (?:long|much|many|late)|when|hours?|costs?|price|berapa|kapan|wie (?:lange|viel)|wann|kostet|cu[aá]nto"
    r"|cu[aá]ndo|combien|quand)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?<=\w{3})(?:ations?|ments?|ings?|ers|ies|ied|ed|es|er|ly|s|y|e)$")
_INVERSION = re.compile(r"(?:-t)?-(?:je|tu|ils?|elles?|on|nous|vous|ce|moi)$")
_EMPTY = frozenset().union(
    *COMMON.values(),
    ("help", "question", "questions", "problem", "issue", "stuff", "bantuan", "pertanyaan", "masalah", "hilfe"),
    ("frage", "fragen", "problema", "ayuda", "pregunta", "aide", "problème"),
    ("tell", "know", "let", "ask", "give", "show", "find", "say", "another"),
)
"""Words that say nothing about the subject."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text, in the order of relevance."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """What a passage says about the question."""

    title: str
    text: str
    """Markdown: sentences in one paragraph, or a list."""
    listed: bool
    """True for the latter."""
    fit: float
    """0 to 1: how much of the question's weight the passage's words carry."""


def read_passages(texts: Iterable[str]) -> list[Passage]:
    """The passages in messages and results: marked by tags, or numbered like "[1] Title"."""
    passages: list[Passage] = []
    for text in texts:
        tagged = [Passage(_title(match[2]), match[3]) for match in _PASSAGE.finditer(text)]
        passages += tagged or [Passage(match[1].strip(), match[2]) for match in _NUMBERED.finditer(text)]
    return list(dict.fromkeys(passages))


def subjects(question: str) -> list[frozenset[str]]:
    """What a question is about: for each telling word its stem and those of its English synonyms; each once."""
    found = [[*" ".join(in_english(word)).split(), *(() if word in _EMPTY else (word,))] for word in _telling(question)]
    return [frozenset(map(_stem, one)) for one in dict.fromkeys(map(tuple, found))]


def search_words(question: str) -> str:
    """The question as words to search English pages for: foreign words give way to their English ones."""
    found = [search_word(word) or word for word in _telling(question)]
    return " ".join(dict.fromkeys(" ".join(found).split()))


def _telling(question: str) -> list[str]:
    """The words that say something.

    In a foreign question, words that the glossary does not hold are left out beside others, save what may be a name.
    """
    words = [word for word in _words(question) if in_english(word) or word not in _EMPTY]
    if language_of(question) == "en" or not any(map(search_word, words)):
        return words
    names = {word.lower() for word in WORD.findall(question[1:]) if word[0].isupper() or not word.isalpha()}
    return [word for word in words if search_word(word) or word in names]


def _words(question: str) -> list[str]:
    """The words in small letters; of "what's", "l'envoi", "puis-je" and "ongkirnya" the part that says something."""
    return [_core(word.lower().replace("’", "'")) for word in WORD.findall(question[:2_000])]


def _core(word: str) -> str:
    if "'" in word:
        word = max(word.split("'"), key=len)
    word = _INVERSION.sub("", word)
    return word[:-3] if len(word) > 6 and word.endswith("nya") else word


def best_quote(question: str, passages: Sequence[Passage], *, before: str = "") -> Quote | None:
    """The passage and the sentences that fit best; None when no word is shared.

    What the question leans on, which was said `before`, counts less.
    """
    weights = {term: BEFORE_COUNTS * weight for term, weight in _weights(subjects(before), passages).items()}
    weights |= _weights(subjects(question), passages)
    if not passages or not weights:
        return None
    total, asks = sum(weights.values()), _asks_for(question)
    ranked = []
    for rank, passage in enumerate(passages):
        whole = _carried(f"{passage.title} {passage.text}", weights)
        about = (0.3 * whole + 0.5 * _carried(passage.title, weights)) / total
        for block in _blocks(passage):
            score = (about + _block_score(block, weights, asks=asks) / total) * (1 - 0.15 * rank)
            ranked.append((score, whole / total, passage, block))
    if not ranked:
        return None
    _, fit, passage, block = max(ranked, key=lambda entry: entry[0])
    return Quote(passage.title.split(" › ")[0], block.told(weights), block.kind != "prose", fit) if fit > 0 else None


def _block_score(block: "_Block", weights: "_Weights", *, asks: str) -> float:
    """Its best unit under its heading counts, and the rest a little; what stands first under a heading says most."""
    headed = _stems(block.heading)
    below = {term: 0.7 * weight for term, weight in weights.items() if not term.isdisjoint(headed)}
    best = max(sum({**below, **_held(unit, weights)}.values()) for unit in block.units)
    whole = _carried(" ".join([block.heading, *block.units]), weights)
    steps = asks == "steps" and block.kind == "list" and block.units[0][:1].isdigit()
    figures = asks == "figures" and any(c.isdigit() for unit in block.units for c in _ITEM.sub("", unit))
    apt = 0.4 * whole if steps or figures else 0.0
    return best + 0.5 * whole + apt + 0.2 * sum(below.values()) * (1 - block.place)


def _asks_for(question: str) -> str:
    if _ASKS_FOR_STEPS.match(question):
        return "steps"
    return "figures" if _ASKS_FOR_FIGURES.search(question) else ""


@dataclass(frozen=True, slots=True)
class _Block:
    heading: str
    kind: str
    """prose, list or table."""
    units: tuple[str, ...]
    """Sentences, items with their marks, or rows told as "column: cell"."""
    lead: str = ""
    """The sentence that introduces a list."""
    place: int = 0
    """How many blocks stand before it under its heading."""

    def told(self, weights: "_Weights") -> str:
        """The part to quote."""
        scores = [_carried(unit, weights) for unit in self.units]
        best = scores.index(max(scores))
        if self.kind == "prose":
            return " ".join(self._around(best, QUOTE_LIMIT))
        if self.kind == "list" and sum(map(len, self.units)) <= STEPS_LIMIT:
            return "\n".join(filter(None, [self.lead, *self.units]))
        least = min(scores) if self.kind == "table" else 0.0  # what every row holds tells no row from another
        chosen = [n for n, score in enumerate(scores) if score - least >= 0.6 * (scores[best] - least)][:7]
        return "\n".join(filter(None, [self.lead, *(self.units[n] for n in chosen)]))

    def _around(self, best: int, limit: int) -> Sequence[str]:
        """The best sentence and what follows it, then what stands before it, while there is room."""
        first, last = best, best + 1
        while True:
            size = sum(map(len, self.units[first:last]))
            if last < len(self.units) and size + len(self.units[last]) <= limit:
                last += 1
            elif first > 0 and size + len(self.units[first - 1]) <= limit // 2:
                first -= 1
            else:
                return self.units[first:last]


def _blocks(passage: Passage) -> Iterator[_Block]:
    """The prose, lists and tables of a Markdown text, each under its heading."""
    heading, lead, place = passage.title, "", 0
    if " › " in heading:
        heading = ""  # the section's text follows under its own heading
    for kind, lines in _runs(passage.text, passage.title):
        match kind:
            case "heading":
                words, lead, place = lines[0].strip("#* ").split(" · ")[0], "", 0
                heading = "" if passage.title.startswith(f"{words} › ") else words
                continue
            case "table":
                units = tuple(_rows(lines)) or (_plain(" ".join(lines)),)
            case "list":
                units = tuple(_items(lines))
            case _:
                units = tuple(_SENTENCE_END.split(_plain(" ".join(lines))))
        yield _Block(heading, kind, units, lead, place)
        lead = units[-1] if kind == "prose" and units[-1].endswith(":") else ""
        place += 1


def _runs(text: str, title: str) -> Iterator[tuple[str, list[str]]]:
    """Lines of one kind that stand together: heading, prose, list, table."""
    kind, run = "", list[str]()
    for line in [*text.splitlines(), ""]:
        # A heading may have lost its mark on the way: then it is a part of the title.
        found = "heading" if kind == "" and line.strip() and line.strip() in title else _kind(line, kind)
        if found != kind or found == "heading":
            if run:
                yield kind, run
            kind, run = found, []
        if found:
            run.append(line.strip())


def _kind(line: str, before: str) -> str:
    """What a line is, given the kind of the one before it; empty for a blank line."""
    if not line.strip():
        return ""
    if line.startswith("#"):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if _ITEM.match(line):
        return "list"
    return "list" if before == "list" else "prose"


def _items(lines: Sequence[str]) -> Iterator[str]:
    """List items, each on one line with its mark."""
    item = ""
    for line in lines:
        if _ITEM.match(line) and item:
            yield item
            item = ""
        item = _plain(f"{item} {line.strip()}".strip())
    if item:
        yield item


def _rows(lines: Sequence[str]) -> Iterator[str]:
    """Table rows as items: "- **Standard**: Time: 2 to 4 days, Cost: 4.90"."""
    cells = [[_plain(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    told = [row for row in cells if not all(re.fullmatch(r":?-*:?", cell) for cell in row)]
    for first, *others in told[1:]:
        named = zip(told[0][1:], others, strict=False)
        yield f"- **{first}**: " + ", ".join(f"{name}: {cell}" for name, cell in named if cell)


def _plain(text: str) -> str:
    """Without links, images and leftover space; emphasis stays."""
    return re.sub(r"\s+", " ", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)).strip()


_Weights = dict[frozenset[str], float]


def _weights(terms: Sequence[frozenset[str]], passages: Sequence[Passage]) -> _Weights:
    """How telling each subject is: the fewer passages hold it, the more. What none holds weighs like a rare one."""
    bags = [_stems(f"{passage.title} {passage.text}") for passage in passages]
    held = {term: sum(not term.isdisjoint(bag) for bag in bags) for term in terms}
    return {term: math.log(1 + (len(bags) + 1) / (count or 1)) for term, count in held.items()}


def _carried(text: str, weights: _Weights) -> float:
    return sum(_held(text, weights).values())


def _held(text: str, weights: _Weights) -> _Weights:
    """The weights of the subjects that the text speaks of."""
    stems = _stems(text)
    return {term: weight for term, weight in weights.items() if not term.isdisjoint(stems)}


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word.lower()) for word in WORD.findall(text))


def _stem(word: str) -> str:
    """The word without its English ending; crude, but the same on both sides."""
    word = _ENDING.sub("", re.sub(r"['’]s$", "", word))
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def _title(attributes: str) -> str:
    match = _TITLE.search(attributes)
    return match[1] if match else ""
