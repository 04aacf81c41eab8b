"""How the builder's process makes an embedder, known without opening one: that takes a moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TABLE_NAME = "table/l2_supercat_256"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the builder's process needs to make the same embedder."""

    name: str
    """The embedder's name for people."""
    arguments: tuple[str, ...]
    """The arguments for the command line. They never contain a secret: every process on the machine can read them."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The variables for the environment: keys and other secrets."""


def table_recipe() -> Recipe:
    """The built-in table."""
    return Recipe(TABLE_NAME, ("--embedder", "table"))


def folder_recipe(folder: Path) -> Recipe:
    """A model in a folder."""
    folder = folder.absolute()
    return Recipe(f"folder/{folder.name}", ("--embedder", "folder", "--model-folder", str(folder)))


def openai_recipe(*, api_key: str, base_url: str | None, model: str) -> Recipe:
    """A model of OpenAI, or of the server at `base_url`."""
    where = ("--base-url", base_url) if base_url else ()
    arguments = ("--embedder", "openai", "--model", model, *where)
    return Recipe(f"openai/{model}", arguments, {"OPENAI_API_KEY": api_key})
