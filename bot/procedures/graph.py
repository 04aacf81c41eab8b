"""What is wrong with the ways through a procedure: steps without a way in or out, and circles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

END = "end"
"""Where a procedure is done."""
PEOPLE = "people"
"""Where a person takes over. A file can have a step of this name, which says how."""


@dataclass(frozen=True, slots=True)
class Node:
    """One step."""

    id: str
    targets: tuple[str, ...]
    """The steps that can follow."""
    asks: bool
    """Whether it waits for the customer's words."""
    gives: frozenset[str]
    """What is surely known after it."""
    uses: frozenset[str]
    """What must be known before it."""


def faults(nodes: Sequence[Node]) -> Iterator[tuple[int, str]]:
    """The number of a step, and what is wrong with it."""
    by_id = {node.id: node for node in nodes}
    reached = _reached(nodes[0].id, {node.id: node.targets for node in nodes})
    # Whatever cannot go on goes to `people`, so that step is always reached.
    reached |= {PEOPLE}
    for at, node in enumerate(nodes):
        if node.id not in reached:
            yield at, "cannot be reached"
    yield from ((at, problem) for at, problem in _ways_out(nodes) if nodes[at].id in reached)
    asking_nothing = {node.id: () if node.asks else node.targets for node in nodes}
    for at, node in enumerate(nodes):
        if not node.asks and any(node.id in _reached(target, asking_nothing) for target in node.targets):
            yield at, "comes back to itself without asking the customer anything"
    known = _known(nodes, by_id)
    for at, node in enumerate(nodes):
        for name in sorted(node.uses - known.get(node.id, frozenset(node.uses))):
            yield at, f"uses {name}, which is not always collected before it"


def _ways_out(nodes: Sequence[Node]) -> Iterator[tuple[int, str]]:
    back: dict[str, list[str]] = {}
    for node in nodes:
        for target in node.targets or (END,):
            back.setdefault(target, []).append(node.id)
    out = _reached(END, back) | _reached(PEOPLE, back)
    for at, node in enumerate(nodes):
        if node.id not in out:
            yield at, "has no way out: it leads neither to end nor to a person"


def _reached(start: str, targets: Mapping[str, Sequence[str]]) -> set[str]:
    found, left = {start}, [start]
    while left:
        for target in targets.get(left.pop(), ()):
            if target not in found:
                found.add(target)
                left.append(target)
    return found


def _known(nodes: Sequence[Node], by_id: Mapping[str, Node]) -> dict[str, frozenset[str]]:
    """Step -> what is known before it on every way that leads there."""
    known: dict[str, frozenset[str]] = {nodes[0].id: frozenset()}
    left = [nodes[0].id]
    while left:
        node = by_id[left.pop()]
        after = known[node.id] | node.gives
        for target in node.targets:
            if target not in by_id:
                continue
            before = known.get(target)
            now = after if before is None else before & after
            if now != before:
                known[target] = now
                left.append(target)
    return known
