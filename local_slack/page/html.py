"""A few lines to build HTML in which whatever is not markup already gets escaped."""

import re
from collections.abc import Iterable, Mapping
from html import escape

VOID = frozenset({"br", "hr", "img", "input"})

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Html(str):
    """Markup that is ready to be sent. Every other string is text."""

    __slots__ = ()


Child = str | None | Iterable[str | None]
"""A string (text unless it is `Html`), nothing, or several of them."""


def text(value: str) -> Html:
    """Escaped; control characters and lone surrogates, which no socket would carry, become U+FFFD."""
    return value if isinstance(value, Html) else Html(escape(_UNPRINTABLE.sub("\ufffd", value)))


def join(children: Iterable[str | None], between: str = "") -> Html:
    """The children one after the other."""
    return Html(text(between).join(text(each) for each in children if each is not None))


def element(name: str, attributes: Mapping[str, object] | None = None, /, *children: Child) -> Html:
    """One element. An attribute that is None or False is left out, one that is True stands without a value."""
    written = "".join(
        f" {key}" if value is True else f' {key}="{text(str(value))}"'
        for key, value in (attributes or {}).items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{written}>")
    inner = "".join(text(each) if isinstance(each, str) else join(each) for each in children if each is not None)
    return Html(f"<{name}{written}>{inner}</{name}>")
