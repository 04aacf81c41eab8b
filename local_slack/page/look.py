"""Who looks at what is drawn."""

from dataclasses import dataclass

from local_slack.page.markup import Names


@dataclass(frozen=True, slots=True)
class Look:
    """Who looks, and at what."""

    names: Names
    key: str = "x"
    """Unlike for every message and view on the page; radio buttons are grouped by it."""
    pressed: frozenset[tuple[str, str]] = frozenset()
    """Feedback buttons that this person has pressed, as (action_id, value)."""
    in_view: bool = False
    """A Home tab or a modal, where inputs are collected and not sent one by one."""
    depth: int = 0
