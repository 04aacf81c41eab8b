"""The pure steps of a procedure: what is missing, what a check says, and what follows.

A run of the desk (running.py) and a rehearsal at the terminal walk by these.
"""

from collections.abc import Mapping
from typing import Any

from bot.actions.facts import Facts
from bot.procedures.file import Procedure, Step
from bot.procedures.graph import PEOPLE


def is_waiting(procedure: Procedure, step: Step, collected: Mapping[str, Any]) -> bool:
    """Whether a step that asks still needs something. What is optional holds nobody up."""
    return any(name not in collected and not procedure.file.collect[name].optional for name in step.needs)


def after_asking(procedure: Procedure, step: Step, collected: Mapping[str, Any]) -> str:
    """The step that follows one that asks, once everything is there."""
    for name, steps in step.next.items():
        return steps[collected[name]]
    return procedure.following(step.id)


def after_check(procedure: Procedure, step: Step, facts: Facts) -> str:
    """The step that follows a check. A fact that nobody knows leads to a person."""
    lines = max((len(value) for value in facts.values() if type(value) is tuple), default=0)
    for check, per_line in procedure.checks[step.id]:
        found = {check(facts, line) for line in (range(lines) if per_line and lines else (0,))}
        if None in found:
            return PEOPLE
        if False in found:
            return step.otherwise
    return procedure.following(step.id)


def after_action(step: Step | None, end: str) -> str:
    """The step that follows the end of an action."""
    return step.when.after(end) if step is not None and step.when is not None else PEOPLE


def kept_at(procedure: Procedure, target: str, collected: Mapping[str, Any]) -> dict[str, Any]:
    """What stays collected when an action's end leads to a step. If that one asks, it asks again."""
    step = procedure.step(target)
    forgotten = step.needs if step else ()
    return {name: value for name, value in collected.items() if name not in forgotten}
