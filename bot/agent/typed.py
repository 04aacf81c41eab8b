"""Replies of a fixed form: a JSON object with a schema, which our code reads as the words that were asked for.

A provider that knows schemas is held to one. The instructions ask for words, for the others. Both are read the same way
afterwards.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from bot.agent.messages import JsonObject


@dataclass(frozen=True, slots=True)
class TypedReply:
    """The form of an agent's replies."""

    name: str
    """The schema's name, for the provider."""
    properties: Mapping[str, JsonObject]
    """The object's properties. All are required."""
    words: Callable[[Mapping[str, Any]], str]
    """Returns the words that the instructions ask for, from such an object."""

    @property
    def schema(self) -> JsonObject:
        """The schema, fit for strict mode."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": [*self.properties],
            "additionalProperties": False,
        }

    def read(self, text: str) -> str:
        """Return the reply in words. Empty for an object that is broken or has another form."""
        if not text.lstrip().startswith("{"):
            return text
        try:
            value = orjson.loads(text)
            return self.words({name: value[name] for name in self.properties}).strip()
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            return ""
