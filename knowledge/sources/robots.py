"""What a site asks of programs that read it: robots.txt (RFC 9309), and noindex in headers and pages."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

AGENT = "frontdesk-knowledge"
"""The name by which a site can address Frontdesk."""
ROBOTS_BYTES = 512_000
"""Bytes of robots.txt that are read: what RFC 9309 asks for, and a little more."""
RULES_LIMIT = 2_000
"""Rules that are kept of a group."""
STARS_LIMIT = 20
"""Wildcards of a rule. One with more is ignored."""

_LINE = re.compile(r"[ \t]*([a-z-]{1,40})[ \t]*:[ \t]*([^#\r\n]{0,2000})", re.IGNORECASE)
_SAFE = "/?&=;:@+$,!~*'()-._"
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives of X-Robots-Tag that have a colon themselves, so that the word before it is not a program's name."""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of a site for Frontdesk."""

    rules: tuple[tuple[str, bool], ...] = ()
    """A pattern of paths, and whether they may be asked for."""
    delay: float = 0.0
    """Seconds that the site wants between two requests."""

    def allows(self, address: str) -> bool:
        """Whether an address may be asked for. The longest rule that fits decides; if two are as long, the kinder."""
        parts = urlsplit(address)
        path = _normal(f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}")
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, path)]
        return max(fitting, default=(0, True))[1]


def read_robots(text: str) -> Robots:
    """Read robots.txt: the groups for AGENT, or those for all programs if there are none."""
    own, common = _Group(), _Group()
    agents: list[str] = []
    begins = True
    for name, value in _lines(text):
        if name == "user-agent":
            agent = value.lower().partition("/")[0]
            agents = [*agents, agent] if begins else [agent]
            begins = True
            continue
        begins = begins and name not in ("allow", "disallow", "crawl-delay")
        if AGENT in agents:
            own.add(name, value)
        if "*" in agents:
            common.add(name, value)
    chosen = own if own.is_named else common
    return Robots(tuple(chosen.rules), chosen.delay)


def forbids_indexing(values: Iterable[str]) -> bool:
    """Whether X-Robots-Tag headers, or the contents of robots meta tags, ask all programs or AGENT not to index."""
    for value in values:
        head, colon, rest = value.lower()[:1_000].partition(":")
        names_agent = colon and "," not in head and head.strip() not in _VALUED
        if names_agent and head.strip() != AGENT:
            continue
        words = (rest if names_agent else value.lower()[:1_000]).split(",")
        if {word.strip() for word in words} & {"noindex", "none"}:
            return True
    return False


class _Group:
    def __init__(self) -> None:
        self.rules: list[tuple[str, bool]] = []
        self.delay = 0.0
        self.is_named = False

    def add(self, name: str, value: str) -> None:
        """Take a line of the group in."""
        self.is_named = True
        if name == "crawl-delay":
            self.delay = float(value) if re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value) else self.delay
        is_rule = name in ("allow", "disallow") and value and value.count("*") <= STARS_LIMIT
        if is_rule and len(self.rules) < RULES_LIMIT:
            self.rules.append((_normal(value), name == "allow"))


def _lines(text: str) -> Iterable[tuple[str, str]]:
    for line in text.lstrip("\ufeff").splitlines():
        if match := _LINE.match(line):
            yield match[1].lower(), match[2].strip()


def _normal(path: str) -> str:
    """A path whose characters are written in one way."""
    return quote(unquote(path), safe=_SAFE)


def _fits(pattern: str, path: str) -> bool:
    """Whether a rule's pattern fits a path: from its beginning, and with `$` up to its end. `*` stands for anything."""
    is_whole = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not parts:
        return not is_whole or at == len(path)
    for part in parts[:-1]:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    if is_whole:
        return path.endswith(parts[-1]) and len(path) - len(parts[-1]) >= at
    return path.find(parts[-1], at) >= 0
