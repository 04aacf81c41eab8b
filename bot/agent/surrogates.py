"""Characters that were cut in two: JSON may write one as two escapes, and some servers send each in a chunk of its own.

Text with half a character in it can be neither shown nor stored. Here halves that meet become the character, and a
half that stays alone becomes U+FFFD.
"""

from typing import Any

_FIRST_HALVES = ("\ud800", "\udbff")


def sound(text: str) -> str:
    """Return the text with halves joined or replaced."""
    if text.isascii() or not _is_broken(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sound_value(value: Any) -> Any:
    """Return a JSON value in which all texts are sound, including the names in its objects."""
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
    """Makes a text that comes in pieces sound."""

    def __init__(self) -> None:
        self._half = ""
        """The first half of a character whose second may come next."""

    def feed(self, text: str) -> str:
        """Return the complete characters of the text so far."""
        text = self._half + text
        self._half = text[-1] if text and _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1] else ""
        return sound(text.removesuffix(self._half))

    def close(self) -> str:
        """Return the replacement for a half that is left at the end."""
        return sound(self._half)


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
