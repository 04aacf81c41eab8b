"""A big tree of Markdown made by varying a small one: what the knowledge base's bench is fed with.

The pages' sections are dealt into new pages, each section with a heading of its own and with words put in place of
others, so that no two sections are alike and the vocabulary grows with the tree, as it does in a real one. Made
afresh in a temporary folder each time: the texts belong to others and stay outside the repository.
"""

import random
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from knowledge.documents import split_front_matter

EVERY = 9
"""One word in so many is put in place of another."""
SHORTEST = 80
"""Characters of a section that is dealt: less is a heading without a text."""
VOCABULARY = 12_000
FOLDERS = 24

_SECTION = re.compile(r"(?m)^(?=#{1,6} )")
_SYLLABLES = re.findall(r"[a-z]+", "ba co di fe gu ha jo ki la me nu po qua ri sa te vo wi xa zu bren dost grun")


def make_tree(pages: Path, target: Path, *, files: int, characters: int) -> Path:
    """Write about `characters` of Markdown in `files` files, from the pages in a folder."""
    deal, written = _dealt(pages), 0
    for number in range(files):
        folder = target / f"part-{number % FOLDERS:02}"
        folder.mkdir(parents=True, exist_ok=True)
        text = f"# Guide {number}\n\n"
        # What one page has too much, the next has less.
        while written + len(text) < characters * (number + 1) // files:
            text += next(deal)
        written += len(text)
        (folder / f"guide-{number:05}.md").write_text(text, encoding="utf-8")
    return target


def change_tree(tree: Path, *, files: int) -> None:
    """Change a sentence in so many files, spread over the tree."""
    pages = sorted(tree.rglob("*.md"))
    for page in pages[:: max(1, len(pages) // files)][:files]:
        page.write_text(page.read_text("utf-8") + "\n## Lately\n\nThis page has been looked through and amended.\n")


def _dealt(pages: Path) -> Iterator[str]:
    """Sections without end, no two alike; the same ones in the same order each time."""
    chance = random.Random(7)  # noqa: S311 - nothing here is a secret
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4))) for _ in range(VOCABULARY)]
    weights = list(accumulate(1 / rank for rank in range(3, VOCABULARY + 3)))
    sections = [
        section
        for page in sorted(pages.glob("*.md"))
        for section in _SECTION.split(split_front_matter(page.read_text("utf-8"))[1])
        if len(section) > SHORTEST
    ]
    while True:
        chance.shuffle(sections)
        for section in sections:
            swaps = iter(chance.choices(words, cum_weights=weights, k=len(section) // EVERY // 4 + 8))
            yield _varied(section, swaps, chance)


def _varied(section: str, swaps: Iterator[str], chance: random.Random) -> str:
    heading, _, body = section.partition("\n")
    if not heading.startswith("#"):
        heading, body = "## About", section
    level = min(max(heading.count("#", 0, 6), 2), 4)
    words = f"{heading.lstrip('# ')} for {next(swaps)} {chance.randint(2, 9_999)}"
    pieces = re.split(r"(\s+)", body)
    for place in range(2 * chance.randrange(EVERY), len(pieces), 2 * EVERY):
        pieces[place] = next(swaps, "elsewhere") if pieces[place].isalpha() else pieces[place]
    return f"{'#' * level} {words}\n{''.join(pieces).rstrip()}\n\n"
