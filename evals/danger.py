"""How many sentences of people in danger are found, and how many everyday ones are handed over: `make eval-danger`.

The sentences of evals/danger have been read since, and the word lists were mended by them: they say what must not be
lost. Those of evals/danger/fresh were written before that and nothing was built from them: they say what strangers'
sentences meet. Printed for each set, language and class: found by words alone, and by words and likeness together.
`--misses` lists what was missed and what was handed over needlessly, of the first set; of the fresh one nobody looks.
`--threshold` measures the threshold of likeness on the shipped examples, each fifth of which is left out in turn. The
last line is JSON.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from bot.desk.danger.finding import find_in
from bot.desk.danger.lexicon import DANGERS, Danger, find_danger
from bot.desk.danger.similarity import EVERYDAY, THRESHOLD, Similarity, open_similarity, read_examples
from bot.language.sentences import LANGUAGES, Language
from knowledge.embedding.table import TableEmbedder

FOLDER = Path(__file__).parent / "danger"
FRESH = FOLDER / "fresh"
FOLDS = 5

Find = Callable[[str], Danger | None]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in the sentences of one language and class."""

    asked: int
    found: int
    """Sentences for which a person is called, of whatever class."""
    named: int
    """Those of them whose own class was found."""
    wrong: tuple[str, ...]
    """Sentences in danger that were missed; everyday ones for which a person is called."""

    @property
    def share(self) -> float:
        """Of the sentences."""
        return self.found / self.asked


def held_out(language: Language, *, folder: Path = FOLDER) -> Mapping[str, list[str]]:
    """The language's sentences by class."""
    held = yaml.safe_load((folder / f"{language}.yml").read_text("utf-8"))
    return {label: listed.splitlines() for label, listed in held.items()}


def measure(find: Find, language: Language, *, folder: Path = FOLDER) -> dict[str, Found]:
    """What is found in each class, and in the everyday sentences."""
    measured: dict[str, Found] = {}
    for label, sentences in held_out(language, folder=folder).items():
        shown = {sentence: find(sentence) for sentence in sentences}
        wrong = tuple(sentence for sentence, danger in shown.items() if bool(danger) == (label == EVERYDAY))
        found, named = sum(map(bool, shown.values())), sum(danger == label for danger in shown.values())
        measured[label] = Found(len(shown), found, named, wrong)
    return measured


def everyday_share(measured: Mapping[Language, Mapping[str, Found]]) -> float:
    """How many of the everyday sentences of all languages are handed over."""
    listed = [found[EVERYDAY] for found in measured.values()]
    return sum(each.found for each in listed) / sum(each.asked for each in listed)


def measure_threshold() -> list[float]:
    """The scores of the everyday examples, the highest first, none compared with examples of its own fifth."""
    examples, embedder = read_examples(), TableEmbedder()
    scores: list[float] = []
    for fold in range(FOLDS):
        rest = [each for place, each in enumerate(examples) if place % FOLDS != fold]
        left_out = [
            each.text for place, each in enumerate(examples) if place % FOLDS == fold and each.label == EVERYDAY
        ]
        similarity = Similarity(rest, embedder)
        scores += [max(similarity.scores(text))[0] for text in left_out]
    return sorted(scores, reverse=True)


def print_measured(way: str, find: Find, *, folder: Path, misses: bool) -> dict[str, object]:
    """Print what is found in a set in this way, and return its shares."""
    measured = {language: measure(find, language, folder=folder) for language in LANGUAGES}
    print(f"\n{way}, {folder.name}: found of those in danger, and handed over of the everyday ones")
    for language, by_label in measured.items():
        cells = (f"{label} {each.found}/{each.asked}" for label, each in by_label.items())
        print(f"  {language}  " + "   ".join(cells))
        for label, each in by_label.items() if misses else ():
            print("".join(f"      {label}: {sentence}\n" for sentence in each.wrong), end="")
    in_danger = [each[label] for each in measured.values() for label in DANGERS]
    asked = sum(each.asked for each in in_danger)
    return {
        "found": {
            language: {label: round(by_label[label].share, 3) for label in DANGERS}
            for language, by_label in measured.items()
        },
        "found_of_all": round(sum(each.found for each in in_danger) / asked, 4),
        "named": round(sum(each.named for each in in_danger) / asked, 3),
        "handed_over": round(everyday_share(measured), 4),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--misses", action="store_true", help="list what was missed and what was handed over needlessly"
    )
    parser.add_argument("--threshold", action="store_true", help="measure the threshold on the shipped examples")
    arguments = parser.parse_args()
    if arguments.threshold:
        scores = measure_threshold()
        for share in (0.002, 0.005, 0.01, 0.02):
            print(f"{share:.1%} of {len(scores)} everyday examples score above {scores[int(share * len(scores))]:.3f}")
        print(json.dumps({"threshold": THRESHOLD, "above": sum(score > THRESHOLD for score in scores)}))
        return
    likeness = open_similarity()
    ways: dict[str, Find] = {
        "words": find_danger,
        "words and likeness": lambda text: find_in(text, likeness),
    }
    figures = {
        way if folder == FOLDER else f"{way}, fresh": print_measured(
            way, find, folder=folder, misses=arguments.misses and folder == FOLDER
        )
        for folder in (FOLDER, FRESH)
        for way, find in ways.items()
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
