"""The sources that KB_PATH names, checked: for the server, for `frontdesk check` and for `frontdesk kb build`."""

import os
from pathlib import Path

from knowledge.audience import Audience
from knowledge.config import LEARNED, Config, Source, read_config
from knowledge.errors import SourcesFaulty


def read_sources(path: Path | None, *, learned: Path | None) -> tuple[Config, list[str]]:
    """The sources at `path`, and what is wrong with them. Folders may be missing for now."""
    none = Config(())
    if path is None:
        return none, []
    if not path.exists():
        return none, [f"KB_PATH: there is no {path}"]
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return none, [f"KB_PATH: {path} cannot be read"]
    try:
        config = read_config(path, learned=learned)
    except SourcesFaulty as error:
        return none, [f"KB_PATH: {fault}" for fault in error.faults]
    if not any(source.name != LEARNED for source in config.of("public")):
        return config, [f"KB_PATH: {path} lists no public source, and customers are answered from those alone"]
    return config, []


def wanted(config: Config, only: str) -> tuple[Source, ...]:
    """The sources to read: all, or the one named `only`. Raises SourcesFaulty if there is no such source."""
    found = tuple(source for source in config.sources if not only or source.name == only)
    if not found:
        names = ", ".join(source.name for source in config.sources if source.name)
        known = f"There are: {names}." if names else "KB_PATH names no sources: refresh it as a whole."
        raise SourcesFaulty([f"There is no source {only}. {known}"])
    return found


def audiences_of(sources: tuple[Source, ...]) -> tuple[Audience, ...]:
    """The audiences of sources, customers first."""
    found = {source.audience for source in sources}
    return tuple(audience for audience in ("public", "internal") if audience in found)
