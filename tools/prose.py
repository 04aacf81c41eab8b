"""Report stiff English in documents, command-line help, locales, docstrings and comments: `make prose`.

    python -m tools.prose [FOLDER OR FILE ...]

Each line is `file:line: what`. It reports words to avoid, sentences of more than MAX_WORDS words, documents whose
sentences average more than MAX_AVERAGE, dates in ISO form inside a sentence, and docstrings under a field that begin
in the middle of a sentence. The report is there to be read. It fails nothing.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PLACES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "bot", "handlers", "knowledge", "local_slack", "demo")
MAX_WORDS = 30
MAX_AVERAGE = 20.0
AVOID = {
    r"shall": "will or should",
    r"stands": "is",
    r"is told so": "sees",
    r"reads that": "sees",
    r"of (?:it|them)\b(?= [a-z])": "its, their",
    r"so many": "the number",
    r"meanwhile": "while …",
    r"whoever": "people who …",
    r"nobody's": "no one's",
    r"in vain": "without a result",
    r"lest|hence|thereof": "a plain word",
}
"""Patterns of words to avoid, with what to write."""

_AVOID = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead) for pattern, instead in AVOID.items()]
_SENTENCE = re.compile(r"[^.!?:;]+[.!?:;]?")
_WORD = re.compile(r"[^\W_][\w'’-]*")
_ISO_DATE = re.compile(r"\w \d{4}-\d\d-\d\d\b")
_CODE = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>")
_HALF = re.compile(r"[a-z]|(?:and|or|but|which|with|of)\b")


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph with the line it begins at."""

    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at."""

    path: Path
    line: int
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.kind}: {self.what}"


def find_all(paths: list[Path]) -> Iterator[Finding]:
    """Everything to look at, file by file."""
    for path in paths:
        texts = [*read_texts(path)]
        lengths = [len(_WORD.findall(each)) for text in texts for each in _SENTENCE.findall(text.words)]
        lengths = [length for length in lengths if length > 2]
        if path.suffix == ".md" and lengths and (average := sum(lengths) / len(lengths)) > MAX_AVERAGE:
            yield Finding(path, 1, "long on average", f"{average:.0f} words a sentence")
        for text in texts:
            yield from _find_in(path, text)
        if path.suffix == ".py":
            yield from _half_sentences(path)


def _find_in(path: Path, text: Text) -> Iterator[Finding]:
    for pattern, instead in _AVOID:
        for found in pattern.finditer(text.words):
            yield Finding(path, text.line, "word", f"“{found[0]}”, write {instead}")
    for sentence in _SENTENCE.findall(text.words):
        if (count := len(_WORD.findall(sentence))) > MAX_WORDS:
            yield Finding(path, text.line, "long sentence", f"{count} words: {sentence.strip()[:60]} …")
    if path.suffix == ".md" and path.name != "CHANGELOG.md":
        for date in _ISO_DATE.findall(text.words):
            yield Finding(path, text.line, "ISO date", date[2:])


def read_texts(path: Path) -> Iterator[Text]:
    """The paragraphs of a document, the sentences of a locale, or the docstrings and comments of a module."""
    source = path.read_text("utf-8")
    if path.suffix == ".md":
        yield from _paragraphs(source)
    elif path.suffix == ".yml":
        held = yaml.safe_load(source)
        yield from (Text(1, value) for value in held["sentences"].values() if isinstance(value, str))
    else:
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield Text(node.lineno, _CODE.sub("x", " ".join(node.value.value.split())))
        for number, line in enumerate(source.splitlines(), 1):
            if line.lstrip().startswith("# "):
                yield Text(number, _CODE.sub("x", line.lstrip("# ")))


def _paragraphs(source: str) -> Iterator[Text]:
    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            for cell in line.split("|") if line.startswith("|") else [line]:
                yield Text(number, _CODE.sub("x", cell))


def _half_sentences(path: Path) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.ClassDef | ast.Module):
            continue
        for before, each in zip(node.body, node.body[1:], strict=False):
            match each:
                case ast.Expr(value=ast.Constant(value=str(words))) if isinstance(
                    before, ast.Assign | ast.AnnAssign
                ) and _HALF.match(words):
                    yield Finding(path, each.lineno, "half sentence", words.split("\n")[0][:60])


def files_in(place: Path) -> list[Path]:
    """The texts in a folder: documents, modules, and the sentences of the locales."""
    if place.is_file():
        return [place]
    found = [*place.rglob("*.md"), *place.rglob("*.py"), *place.rglob("locales/en.yml")]
    return sorted(path for path in found if "node_modules" not in path.parts and "__pycache__" not in path.parts)


def main() -> None:
    """Print the report, and how often each kind was found."""
    places = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / name for name in PLACES]
    kinds: Counter[str] = Counter()
    for finding in find_all([path for place in places for path in files_in(place)]):
        kinds[finding.kind] += 1
        print(finding)
    print(", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()) or "nothing found")


if __name__ == "__main__":
    main()
