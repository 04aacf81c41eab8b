"""Characters that were cut in two: JSON may write one as two escapes, and some servers send each in a chunk of its own.

Text with half a character in it can be neither shown nor stored. Here halves that meet become the character, and a
half that stays alone becomes U+FFFD.
"""

from typing import Any

_FIRST_HALVES = ("\ud800", "\udbff")


def sound(text: str) -> str:
    """The text with halves joined, and none left."""
    if text.isascii() or not _is_broken(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sound_value(value: Any) -> Any:
    """A JSON value whose texts are all sound, the names in its objects included."""
    match value:
        case str():
            return sound(value)
        case list():
            return [sound_value(item) for item in value]
        case dict():
            return {sound(name): sound_value(item) for name, item in value.items()}
        case _:
            return value


class Joiner:
    """Makes a text sound that comes in pieces."""

    def __init__(self) -> None:
        self._half = ""
        """The first half of a character whose second may come next."""

    def feed(self, text: str) -> str:
        """What is whole of the text so far."""
        text = self._half + text
        self._half = text[-1] if text and _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1] else ""
        return sound(text.removesuffix(self._half))

    def close(self) -> str:
        """What stayed alone at the end."""
        return sound(self._half)


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
