"""YAML files that operators write and that settings name."""

from pathlib import Path
from typing import Any

import yaml

from bot.errors import ConfigurationError


def read_entries(path: Path, *, setting: str, needed: str) -> dict[Any, Any]:
    """Return the file's entries without any change.

    Raises:
        ConfigurationError: the file cannot be read, is no YAML, or does not have what is `needed`.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError([f"{setting}: {path} cannot be read ({error.strerror})"]) from None
    except (UnicodeDecodeError, yaml.YAMLError):
        raise ConfigurationError([f"{setting}: {path} is no YAML"]) from None
    if not isinstance(entries, dict):
        raise ConfigurationError([f"{setting}: {path} must name {needed}"])
    return entries
