"""Finding, in the passages of a request, the few sentences that a question is about.

It counts rare words that question and passage share. That is all the understanding there is.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from demo.model.language import (
    COMMON,
    WORD,
    in_english,
    in_single_words,
    is_thing,
    language_of,
    search_word,
    subjects_known,
    things,
)

QUOTE_LIMIT = 480
"""Characters of one quotation."""
STEPS_LIMIT = 900
"""Characters of a quoted list: half a list of steps helps nobody."""

BEFORE_COUNTS = 0.5
"""The weight of a subject of the message before, to one of the question itself."""

RANK_COUNTS = 0.1
"""How much a passage loses by each that stands before it."""

KNOWN_SHARE = 0.3
"""The least share of a question's telling words that is searched for alone."""
KNOWN_WORDS_SHARE = 0.34
"""Of the words of a foreign question that say something, more than this share must be names or in the glossary."""
TITLED_COUNTS = 0.5
"""The weight of a subject in the text of a page whose title has it, where it tells no part from another."""

_PASSAGE = re.compile(r"""<(passage|document)\b((?:"[^"]*"|[^">])*)>\s*(.*?)\s*</\1>""", re.DOTALL)
_UNCERTAIN = 'uncertain="yes"'
_TITLE = re.compile(r'title="([^"]*)"')
_NUMBERED = re.compile(r"^\[\d+\] +(.+)\n((?:(?!\[\d+\] ).*\n?)+)", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[\"“(]?[A-Z0-9ÄÖÜÀ-Ý¿¡])")
_ASKS_FOR_STEPS = re.compile(
    r"\W*(?:how (?:do|can|to|should)|bagaimana|gimana|cara|wie (?:kann|mache|geht)|c[oó]mo|comment)\b", re.IGNORECASE
)
_ASKS_FOR: Mapping[str, re.Pattern[str]] = {
    "clock": re.compile(
        r"\b(?:opening (?:hours|times)|open(?:ed)?|closed?|business hours|what (?:time|hours)|(?:jam|kapan) (?:buka"
        r"|kerja)|buka"
        r"|ge[öo]ffnet|öffnungszeiten|erreichbar|horarios?|abiert[oa]s?|abren|horaires?|ouverte?s?)\b",
        re.IGNORECASE,
    ),
    "price": re.compile(
        r"\b(?:how (?:much|expensive)|costs?|price|fees?|berapa (?:biaya|harga|ongkir\w*)|biaya|ongkir\w*|wie ?viel"
        r"|kostet|kosten"
        r"|cu[aá]nto (?:cuesta|vale|es)|cuesta|precio|combien (?:coûte|ça)|coûte|prix)\b",
        re.IGNORECASE,
    ),
    "time": re.compile(
        r"\b(?:how (?:long|many days|soon|late|old)|when|until when|deadline|berapa (?:lama|hari)|kapan"
        r"|wie (?:lange|viele tage)|wann"
        r"|bis wann|cu[aá]nto tiempo|cu[aá]ntos d[ií]as|cu[aá]nto tarda\w*|cu[aá]ndo|(?:ship|deliver)\w* to"
        r"|(?:liefer|versend)\w*\b.{0,20} nach|env[ií]\w+ a|livrez|kirim ke|combien de (?:temps|jours)"
        r"|quand|policy|policies"
        r"|kebijakan|bedingungen|fristen?|plazos?|pol[ií]tica|d[ée]lais?|politique)\b",
        re.IGNORECASE,
    ),
}
"""What kind of answer a question wants."""
_IS: Mapping[str, re.Pattern[str]] = {
    "clock": re.compile(r"\b\d{1,2}:\d\d\b"),
    "price": re.compile(r"\b\d+(?:[.,]\d+)* ?(?:[A-Z]{3}|%|percent|[€$£])(?!\w)|\bfree\b"),
    "time": re.compile(
        r"\b\d+ (?:to \d+ )?(?:working |business )?(?:hours?|days?|weeks?|months?|years?)\b|\bsame day\b"
    ),
}
"""What gives such an answer away."""
_STEP = re.compile(r"\b(?:press|open|choose|click|select|enter|tick)\b.{0,60}\*\*", re.IGNORECASE)
"""What gives away a sentence that says how something is done."""
_THING_COUNTS = 0.3
"""The weight of a thing, to one of what is asked about it."""
_HEADING_LIMIT = 90
"""The most characters of a line that may be a heading without its mark."""
_CLAUSE = re.compile(
    r"[\s,]+(?:if|because|since|as i|when it|in case|where (?:i|we|you) can|wenn|falls|weil|da es|wo (?:ich|wir|man)|si"
    r"|porque|ya que|d[oó]nde p(?:ueda|uedo|odemos)|parce qu|o[ùu] (?:je|on|nous) peu[xt]|kalau|jika|karena)\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?<=\w{3})(?:ations?|ments?|ings?|ers|ies|ied|ed|es|er|ly|s|y|e)$")
_INVERSION = re.compile(r"(?:-t)?-(?:je|tu|ils?|elles?|on|nous|vous|ce|moi)$")
_EMPTY = frozenset().union(
    *COMMON.values(),
    ("help", "question", "questions", "problem", "issue", "stuff", "bantuan", "pertanyaan", "masalah", "hilfe"),
    ("frage", "fragen", "problema", "ayuda", "pregunta", "aide", "problème"),
    (
        "tell",
        "know",
        "let",
        "ask",
        "give",
        "show",
        "find",
        "say",
        "says",
        "said",
        "another",
        "policy",
        "policies",
        "info",
    ),
    ("information", "details", "infos", "informationen", "información", "informations", "informasi", "item", "items"),
    (
        "days",
        "day",
        "tage",
        "tagen",
        "tag",
        "días",
        "día",
        "jours",
        "jour",
        "hari",
        "time",
        "times",
        "zeit",
        "tiempo",
        "temps",
    ),
    ("long", "much", "many", "lama", "lange", "dauert", "tarda", "tardan", "mean", "means", "anymore", "able", "one"),
    (
        *("dont", "cant", "wont", "didnt", "doesnt", "isnt", "im", "ive", "its", "havent", "hasnt", "whats", "wheres"),
        *("new", "habt", "gibt", "ihr", "guys", "physical"),
        "too",
        "very",
        "really",
        "after",
        "before",
        "again",
        "already",
        "yet",
        "only",
        "ever",
        "never",
        "nothing",
        "either",
    ),
    ("now", "today", "without", "instead", "both", "each", "other", "others", "own", "same", "such", "else", "around"),
    (
        "sehr",
        "mehr",
        "immer",
        "alle",
        "alles",
        "nur",
        "jetzt",
        "heute",
        "wieder",
        "man",
        "habt",
        "eure",
        "euch",
        "diese",
    ),
    ("ahora", "siempre", "todo", "todos", "nada", "otra", "otro", "vez", "tan", "tras", "desde", "hasta", "sin", "nos"),
    ("tout", "tous", "rien", "toujours", "maintenant", "sans", "chez", "après", "avant", "depuis", "alors", "comme"),
    (
        "semua",
        "lain",
        "setelah",
        "sebelum",
        "sekarang",
        "tanpa",
        "selalu",
        "seperti",
        "agar",
        "supaya",
        "per",
        "tentang",
    ),
    ("two", "first", "second", "questions", "wondering", "wonder", "quick", "guys", "btw", "actually", "like", "stuff"),
)
"""Words that say nothing about the subject."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text, in the order of relevance."""

    title: str
    text: str
    uncertain: bool = False
    """Whether the desk marks it as one that may not hold the answer."""


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
    headed: bool = True
    """Whether its title or heading speaks of what the question asks."""
    titled: bool = True
    """Whether its title does."""
    apt: bool = True
    """Whether it holds the kind of figure that the question asks for."""
    about: bool = True
    """Whether it is `asked`, and the title speaks of it."""
    asked: bool = True
    """Whether the question names something that shops are asked, and not things alone or words that are not known."""
    shared: int = 0
    """How many of the question's words the passage holds."""
    uncertain: bool = False
    """Whether the passage is marked as one that may not hold the answer."""


def read_passages(texts: Iterable[str]) -> list[Passage]:
    """The passages in messages and results: marked by tags, or numbered like "[1] Title"."""
    passages: list[Passage] = []
    for text in texts:
        tagged = [Passage(_title(match[2]), match[3], _UNCERTAIN in match[2]) for match in _PASSAGE.finditer(text)]
        passages += tagged or [Passage(match[1].strip(), match[2]) for match in _NUMBERED.finditer(text)]
    return list(dict.fromkeys(passages))


def subjects(question: str) -> list[frozenset[str]]:
    """What a question is about: for each telling word its stem and those of its English synonyms; each once."""
    found = [[*" ".join(in_english(word)).split(), *(() if word in _EMPTY else (word,))] for word in _telling(question)]
    return [frozenset(map(_stem, one)) for one in dict.fromkeys(map(tuple, found))]


def names_subject(question: str, *, besides: frozenset[str]) -> bool:
    """Whether it says what it is about, beside things and the subjects given."""
    known = [search_word(word) for word in _telling(question) if not is_thing(word)]
    return any(english and english not in besides for english in known)


def search_words(question: str) -> str:
    """The question as words to search English pages for: the English ones of the glossary.

    Beside them names are kept, but neither the words that the glossary does not hold nor the things that something is
    asked about. Without any of the glossary's, all the telling words are searched for.
    """
    telling = _telling(question)
    known = {word: search_word(word) for word in telling}
    names = [word for word in telling if not known[word] and (not word.isalpha() or word in _names(question))]
    about = [word for word in telling if known[word] and not is_thing(word)]
    things = [word for word in telling if known[word] and is_thing(word)]
    kept = [*about, *names] if about else [*things, *names] if things else telling
    others = len(telling) - len(things)
    if len(about) < KNOWN_SHARE * others and len(names) < others:
        kept = telling  # more is unknown than known, so what is known may be meant otherwise
    found = [known[word] or word for word in telling if word in kept]
    return " ".join(dict.fromkeys(" ".join(found).split()))


def _telling(question: str) -> list[str]:
    """The words that say something.

    In a foreign question, words that the glossary does not hold are left out beside others, save what may be a name.
    """
    words = [word for word in _words(question) if in_english(word) or word not in _EMPTY]
    if language_of(question) == "en" or not any(map(search_word, words)):
        return words
    names = _names(question)
    return [word for word in words if search_word(word) or word in names]


def _is_understood(question: str) -> bool:
    """Whether enough words of a foreign question are known to say what it is about."""
    words = [word for word in _words(question) if in_english(word) or word not in _EMPTY]
    known = [word for word in words if search_word(word) or word in _names(question)]
    return language_of(question) == "en" or len(known) > KNOWN_WORDS_SHARE * len(words)


def _names(question: str) -> frozenset[str]:
    """Words that may be names, in small letters."""
    return frozenset(word.lower() for word in WORD.findall(question[1:]) if word[0].isupper() or not word.isalpha())


def _words(question: str) -> list[str]:
    """The words in small letters; of "what's", "l'envoi", "puis-je" and "ongkirnya" the part that says something."""
    return [_core(word.lower().replace("’", "'")) for word in WORD.findall(in_single_words(question[:2_000]))]


def _core(word: str) -> str:
    if "'" in word:
        word = max(word.split("'"), key=len)
    word = _INVERSION.sub("", word)
    return word[:-3] if len(word) > 6 and word.endswith("nya") else word


def covers(text: str, question: str) -> bool:
    """Whether a text speaks of everything that the question is about."""
    stems = _stems(text)
    return all(not subject.isdisjoint(stems) for subject in subjects(question))


def best_quote(
    question: str, passages: Sequence[Passage], *, before: str = "", limit: int = QUOTE_LIMIT
) -> Quote | None:
    """The passage and the sentences that fit best; None when no word is shared.

    What the question leans on, which was said `before`, counts less.
    """
    main, beside = _clauses(question)
    less = subjects(f"{before} {beside}")
    weights = {term: BEFORE_COUNTS * weight for term, weight in _weights(less, passages).items()}
    weights |= _weights(subjects(main), passages)
    if not passages or not weights:
        return None
    total, asks = sum(weights.values()), asks_for(question)
    ranked = []
    for rank, passage in enumerate(passages):
        whole = _carried(f"{passage.title} {passage.text}", weights)
        page, _, section = passage.title.partition(" › ")
        of_title = _held(page, weights)
        about = (0.3 * whole + 1.4 * sum(of_title.values()) + 0.3 * _carried(section, weights)) / total
        within = {term: weight * (TITLED_COUNTS if term in of_title else 1.0) for term, weight in weights.items()}
        share = _answers_faq(page, weights) / (1 + RANK_COUNTS * rank)
        for block in _blocks(passage):
            score = share * (about + _block_score(block, within, asks=asks) / total)
            ranked.append((score, whole / total, passage, block))
    if not ranked:
        return None
    _, fit, passage, block = max(ranked, key=lambda entry: entry[0])
    page = passage.title.split(" › ")[0]
    if not fit > 0:
        return None
    asked = {term: weight for term, weight in weights.items() if term & _asked_about()}
    headed = not asked or bool(_held(f"{page} {block.heading}", asked))
    titled = bool(_held(page, asked or weights))
    names = bool(asked) and _is_understood(question)
    return Quote(
        page,
        block.told(weights, limit=limit, wanted=kinds_of_answer(question) if before else ()),
        block.kind != "prose",
        fit,
        headed=headed,
        titled=titled,
        apt=asks not in _IS or any(_IS[asks].search(unit) for unit in block.units),
        about=names and titled,
        asked=names,
        shared=len(_held(f"{passage.title} {passage.text}", weights)),
        uncertain=passage.uncertain,
    )


def _answers_faq(title: str, weights: "_Weights") -> float:
    """A page that is one question answers another only where that asks for the same; 1 for all other pages."""
    if not title.endswith("?"):
        return 1.0
    own = [term for term in subjects(title) if not term & _things()]
    shared = [term for term in own if any(not term.isdisjoint(other) for other in weights)]
    return 0.4 + 0.6 * len(shared) / len(own) if own else 1.0


def _clauses(question: str) -> tuple[str, str]:
    """The question, and the clause that gives its reason or condition."""
    found = _CLAUSE.search(question)
    if found is None or not any(map(search_word, _telling(question[: found.start()]))):
        return question, ""
    return question[: found.start()], question[found.end() :]


def _block_score(block: "_Block", weights: "_Weights", *, asks: str) -> float:
    """Its best unit under its heading counts, and the rest a little; what stands first under a heading says most."""
    headed = _stems(block.heading)
    below = {term: 0.7 * weight for term, weight in weights.items() if not term.isdisjoint(headed)}
    best = max(sum({**below, **_held(unit, weights)}.values()) for unit in block.units)
    whole = _carried(" ".join([block.heading, *block.units]), weights)
    numbered = block.kind == "list" and block.units[0][:1].isdigit()
    steps = asks == "steps" and (numbered or any(_STEP.search(unit) for unit in block.units))
    figures = sum(bool(_IS[asks].search(unit)) for unit in block.units) if asks in _IS else 0
    apt = whole * (0.3 + 0.2 * min(figures, 4)) if steps or figures else 0.0
    if asks == "clock" and figures:
        apt = sum(weights.values())
    return best + 0.5 * whole + apt + 0.2 * sum(below.values()) * (1 - block.place)


def kinds_of_answer(question: str) -> list[str]:
    """The figures that it asks for: clock, price, time."""
    return [kind for kind, pattern in _ASKS_FOR.items() if pattern.search(question)]


def asks_for(question: str) -> str:
    """What kind of answer it wants: steps, clock, price, time; empty for any other."""
    if _ASKS_FOR_STEPS.match(question):
        return "steps"
    return next((kind for kind, pattern in _ASKS_FOR.items() if pattern.search(question)), "")


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

    def told(self, weights: "_Weights", *, limit: int, wanted: Sequence[str]) -> str:
        """The part to quote."""
        scores = [_carried(unit, weights) for unit in self.units]
        best = scores.index(max(scores))
        if self.kind == "prose":
            begins = _carried(self.heading, weights) >= scores[best]
            return " ".join(self._around(0 if begins else best, limit))
        if self.kind == "list" and sum(map(len, self.units)) <= STEPS_LIMIT:
            return "\n".join(filter(None, [self._head, *self.units]))
        least = min(scores) if self.kind == "table" else 0.0  # what every row holds tells no row from another
        chosen = [n for n, score in enumerate(scores) if score - least >= 0.6 * (scores[best] - least)][:7]
        lead = self.lead if self.kind == "table" else self._head
        units = [self.units[n] for n in chosen]
        if self.kind == "table" and len(wanted) == 1:
            units = [_cells(unit, _IS[wanted[0]]) for unit in units]
        return "\n".join(filter(None, [lead, *units]))

    @property
    def _head(self) -> str:
        """What a list is of: the sentence that introduces it, or its heading."""
        return self.lead or (f"**{self.heading}**" if self.heading and not self.units[0][:1].isdigit() else "")

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


def _cells(row: str, wanted: re.Pattern[str]) -> str:
    """A row that is told, with only those cells that hold what is wanted; all of them when none does."""
    first, colon, rest = row.partition("**: ")
    cells = rest.split(", ")
    kept = [cell for cell in cells if wanted.search(cell)]
    return f"{first}{colon}{', '.join(kept)}" if colon and kept else row


def _blocks(passage: Passage) -> Iterator[_Block]:
    """The prose, lists and tables of a Markdown text, each under its heading."""
    heading, lead, place = passage.title, "", 0
    if " › " in heading:
        heading = heading.rpartition(" › ")[2].split(" · ")[0]
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
        # A passage may be cut on its way. What ends in the middle is not quoted.
        if not (units := tuple(unit for unit in units if not unit.endswith("…"))):
            continue
        yield _Block(heading, kind, units, lead, place)
        lead = units[-1] if kind == "prose" and units[-1].endswith(":") else ""
        place += 1


def _runs(text: str, title: str) -> Iterator[tuple[str, list[str]]]:
    """Lines of one kind that stand together: heading, prose, list, table."""
    kind, run = "", list[str]()
    lines = text.splitlines()
    for line, following in zip([*lines, ""], [*lines[1:], "", ""], strict=False):
        # A heading may have lost its mark on the way: then it is a part of the title, or looks like one.
        lost = kind == "" and line.strip() and (line.strip() in title or _looks_like_heading(line, following))
        found = "heading" if lost else _kind(line, kind)
        if found != kind or found == "heading":
            if run:
                yield kind, run
            kind, run = found, []
        if found:
            run.append(line.strip())


def _looks_like_heading(line: str, following: str) -> bool:
    """Whether it is a short line that is no sentence, right above some text."""
    is_text = not line.startswith("#") and not line.lstrip().startswith("|") and not _ITEM.match(line)
    return is_text and bool(following.strip()) and len(line) <= _HEADING_LIMIT and line.rstrip()[-1:] not in ".!?:;,…"


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
    rare = {term: math.log(1 + (len(bags) + 1) / (count or 1)) for term, count in held.items()}
    most = max((weight for term, weight in rare.items() if not term & _things()), default=math.inf)
    return {term: _THING_COUNTS * min(weight, most) if term & _things() else weight for term, weight in rare.items()}


@cache
def _asked_about() -> frozenset[str]:
    """The stems of what is asked about things."""
    return frozenset(_stem(word) for subject in subjects_known() for word in subject.split()) - _things()


@cache
def _things() -> frozenset[str]:
    """The stems of the things that something is asked about."""
    return frozenset(map(_stem, things()))


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
