"""The YAML files that come with Frontdesk: its sentences, word lists, patterns and prices.

They are read at every start; the parser in C, where PyYAML has it, takes a tenth of the time.
"""

from importlib.resources.abc import Traversable
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_own(file: Traversable) -> Any:
    """What a YAML file holds; of plain values only, as `yaml.safe_load` reads it."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - one of the two safe ones
