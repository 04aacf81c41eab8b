"""`frontdesk desk`: check the desk file, and print its schema."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from bot.checked_files import FileFaulty
from bot.desk.team import BUILT_IN_TOOLS
from bot.desk_file.model import ELSEWHERE, DeskFile, json_schema
from bot.desk_file.reading import read_desk_file
from bot.errors import ConfigurationError
from bot.language.languages import DEFAULT, languages
from bot.settings import Settings


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Check the file, or print the schema. The exit status is 2 if the file has a fault."""
    if given.verb == "schema":
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    path: Path | None = given.file or settings.desk_file
    if path is None:
        raise ConfigurationError(["desk check: name a file, or set DESK_FILE"])
    try:
        desk = read_desk_file(path)
    except FileFaulty as error:
        for fault in error.found:
            print(f"wrong: {path}: {fault}")
        return 2
    for line in _summary(desk):
        print(line)
    for note in notes(desk):
        print(f"note: {note}")
    print(f"{path} has no fault.")
    return 0


def notes(desk: DeskFile) -> Iterator[str]:
    """What is worth knowing about a file, and is no fault."""
    for kind, topics in (("refuse", desk.refuse), ("people", desk.people)):
        for topic in topics:
            if topic.say:
                yield from untranslated(f"{kind}: {topic.topic}", topic.say)
            if not topic.phrases:
                yield f"{kind}: {topic.topic} has no phrases, so only the model can recognize it"
    if desk.helplines and ELSEWHERE not in desk.helplines:
        yield f"helplines: customers in other countries read no line, because {ELSEWHERE} is missing"
    for country, lines in desk.helplines.items():
        if not lines.emergency and country != ELSEWHERE:
            yield f"helplines: {country} has no emergency number"
    for name in desk.tools.without:
        if name not in BUILT_IN_TOOLS:
            yield f"tools.without: {name} is no built-in tool; if no connected system brings it, the start refuses it"
    if not desk.duty_contact:
        yield "duty_contact is not set: no one is called at once when somebody is in danger"


def untranslated(name: str, texts: object) -> Iterator[str]:
    """A note if a text of an operator is missing in some languages."""
    if isinstance(texts, dict) and texts.keys() != {DEFAULT}:
        missing = [language for language in languages() if language not in texts]
        if missing:
            yield f"{name}: no text in {', '.join(missing)}; these customers read another language"


def _summary(desk: DeskFile) -> Iterator[str]:
    name = desk.assistant.name
    yield f"shop: {desk.shop}{f', assistant: {name}' if name else ''}"
    counts = {"rules": desk.rules, "refuse": desk.refuse, "people": desk.people, "glossary": desk.glossary}
    yield ", ".join(f"{key}: {len(entries)}" for key, entries in counts.items())
    if desk.helplines:
        yield f"helplines: {', '.join(desk.helplines)}"
