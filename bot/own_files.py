"""The YAML files that come with Frontdesk: its sentences, word lists, patterns and prices.

They are read at every start. The parser in C, if PyYAML has it, takes a tenth of the time.
"""

from importlib.resources.abc import Traversable
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_own(file: Traversable) -> Any:
    """Read a YAML file. Like `yaml.safe_load`, it makes plain values only."""
    return parse(file.read_text(encoding="utf-8"))


def parse(written: str | bytes) -> Any:
    """The plain values of YAML, quickly. Raises yaml.YAMLError."""
    return yaml.load(written, Loader=_LOADER)  # noqa: S506 - one of the two safe ones
