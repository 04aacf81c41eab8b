"""The languages: one file each in `bot/language/locales`, with all sentences and all words of the language.

languages        their codes
read_section     one section of every language's file
load_languages   the files, read and checked once a process
read_languages   the files of any folder

English is the model: every other file has the same sections and keys. `docs/extending/add-a-language.md` is the how-to.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from bot.errors import ConfigurationError
from bot.own_files import read_own

Language = str
"""A language's code, such as `de`. It is the name of its file."""
DEFAULT: Language = "en"

_FREE = frozenset({"handover_requests.parts", "streets", "claims.endings", "claims.marks", "claims.lists"})
"""What has different keys in each language."""


@cache
def load_languages() -> Mapping[Language, Mapping[str, Any]]:
    """The files of the languages that come with Frontdesk, in the order of `languages`."""
    return read_languages(resources.files("bot") / "language" / "locales")


def languages() -> tuple[Language, ...]:
    """The codes of all languages: English first, the others by their own names."""
    return tuple(load_languages())


def read_section(section: str) -> dict[Language, Any]:
    """A section of every language. `claims.marks` is a section inside a section."""
    found: dict[Language, Any] = dict(load_languages())
    for key in section.split("."):
        found = {language: held[key] for language, held in found.items()}
    return found


def read_languages(folder: Traversable) -> Mapping[Language, Mapping[str, Any]]:
    """The languages of a folder, which has `en.yml`.

    Raises:
        ConfigurationError: a file lacks something or has something unknown. It has one sentence for each fault.
    """
    faults: list[str] = []
    read: dict[Language, Any] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yml"):
            try:
                read[file.name.removesuffix(".yml")] = read_own(file)
            except (yaml.YAMLError, UnicodeError) as error:
                faults.append(f"{file.name}: it is not YAML: {' '.join(str(error).split())}")
    for language, held in read.items():
        faults += (f"{language}.yml: {fault}" for fault in _faults(held, read.get(DEFAULT)))
    if faults or DEFAULT not in read:
        raise ConfigurationError(faults or [f"{DEFAULT}.yml is missing, the model of every language"])
    return dict(sorted(read.items(), key=lambda item: (item[0] != DEFAULT, item[1]["name"])))


def _faults(held: Any, model: Any, section: str = "") -> Iterator[str]:
    """What is wrong with a section, which should be like the same one of the model."""
    if not isinstance(model, dict):
        if not isinstance(held, (str, list)):
            yield f"{section} must be a text or a list. A text may be empty"
        return
    if not isinstance(held, dict) or not held:
        yield f"{section or 'it'} must have keys" if held else f"{section or 'it'} is empty"
        return
    if section in _FREE:
        return
    inside = f"{section}." if section else ""
    yield from (f"{inside}{key} is missing" for key in model if key not in held)
    for key, part in held.items():
        if key in model:
            yield from _faults(part, model[key], f"{inside}{key}")
        else:
            yield f"{inside}{key} is unknown: {DEFAULT}.yml has no such key"
