"""The faults that change nothing which anybody can notice, each with its reason, from equivalent.txt beside this file.

A line without an indent is a fault's name, and the indented lines below are the reason.
"""

from pathlib import Path

FILE = Path(__file__).with_name("equivalent.txt")


def load_equivalent() -> dict[str, str]:
    """The names of the faults with their reasons. Raises ValueError for a fault without a reason."""
    reasons: dict[str, list[str]] = {}
    name = ""
    for line in FILE.read_text("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            reasons[name].append(line.strip())
        else:
            name = line.strip()
            reasons[name] = []
    if bare := [name for name, lines in reasons.items() if not lines]:
        raise ValueError(f"no reason is given for {bare}")
    return {name: " ".join(lines) for name, lines in reasons.items()}
