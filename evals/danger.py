"""How many sentences of people in danger are found, and how many everyday ones go to a person: `make eval-danger`.

Printed for each set of evals/danger, language and class. `--misses` lists what went wrong in the set for development;
those of the held-out set are not to be read. The last line is JSON.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.desk.danger.classifier import DANGERS, EVERYDAY, Danger, find_danger
from bot.language.languages import Language
from evals.danger_sentences import (
    COMPLAINTS,
    DEVELOPMENT,
    HELD_OUT,
    MUST,
    Labelled,
    compose_long,
    read_long,
    read_sentences,
    taught_languages,
)

Find = Callable[[str], Danger | None]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in the sentences of one language and class."""

    asked: int
    found: int
    """Sentences that go to a person, by whatever class."""
    named: int
    """Those of them that were found under their own class."""
    wrong: tuple[str, ...]
    """Sentences in danger that were missed, or everyday ones that go to a person."""

    @property
    def share(self) -> float:
        """The share of the sentences that go to a person."""
        return self.found / self.asked


def measure(folder: Path, language: Language, find: Find = find_danger) -> dict[str, Found]:
    """What is found in each class, and in the everyday sentences."""
    measured: dict[str, Found] = {}
    for label, sentences in read_sentences(folder, language).items():
        shown = {sentence: find(sentence) for sentence in sentences}
        wrong = tuple(sentence for sentence, danger in shown.items() if bool(danger) == (label == EVERYDAY))
        found, named = sum(map(bool, shown.values())), sum(danger == label for danger in shown.values())
        measured[label] = Found(len(shown), found, named, wrong)
    return measured


def measure_all(folder: Path) -> dict[Language, dict[str, Found]]:
    """What is found in each language."""
    return {language: measure(folder, language) for language in taught_languages()}


def found_share(measured: Mapping[Language, Mapping[str, Found]], *labels: str) -> float:
    """The share of the sentences of these classes that go to a person, over all languages."""
    cells = [by_label[label] for by_label in measured.values() for label in labels if label in by_label]
    return sum(each.found for each in cells) / sum(each.asked for each in cells)


def print_long(name: str, messages: Sequence[Labelled]) -> dict[str, float]:
    """Print how often one sentence of danger is found in a long everyday message, and return the shares."""
    found, handed_over = long_shares(messages)
    print(f"\n{name}: found {found:.1%}, handed over of the everyday ones {handed_over:.1%}, of {len(messages)}")
    return {"found": round(found, 3), "handed_over": round(handed_over, 3)}


def long_shares(messages: Sequence[Labelled], find: Find = find_danger) -> tuple[float, float]:
    """The share of the messages in danger that go to a person, and that of the everyday ones."""
    shown = [(label, find(text) is not None) for text, label in messages]
    found, handed_over = (
        [is_found for label, is_found in shown if (label == EVERYDAY) == each] for each in (False, True)
    )
    return sum(found) / len(found), sum(handed_over) / len(handed_over)


def print_measured(folder: Path, *, misses: bool) -> dict[str, object]:
    """Print what is found in a set, and return its shares."""
    measured = measure_all(folder)
    print(f"\n{folder.name}: found of those in danger, and handed over of the everyday ones")
    for language, by_label in measured.items():
        cells = (f"{label} {each.found}/{each.asked}" for label, each in by_label.items())
        print(f"  {language}  " + "   ".join(cells))
        for label, each in by_label.items() if misses else ():
            print("".join(f"      {label}: {sentence}\n" for sentence in each.wrong), end="")
    handed_over: dict[str, object] = {"handed_over": round(found_share(measured, EVERYDAY), 4)}
    if folder == COMPLAINTS:
        return handed_over
    return {
        "found": round(found_share(measured, *DANGERS), 4),
        "found_by_class": {label: round(found_share(measured, label), 3) for label in DANGERS},
        **handed_over,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="list what went wrong in the set for development")
    misses = parser.parse_args().misses
    folders = (DEVELOPMENT, HELD_OUT, MUST, COMPLAINTS)
    figures = {each.name: print_measured(each, misses=misses and each == DEVELOPMENT) for each in folders}
    composed = [each for language in taught_languages() for each in compose_long(HELD_OUT, language)]
    figures["long"] = {
        "written": print_long("long messages, written as such", read_long("held_out")),
        "composed": print_long("long messages, composed of held-out sentences", composed),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
