"""Task cards and plans as HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

from local_slack.page.html import Html, element
from local_slack.page.icons import icon
from local_slack.page.look import Look
from local_slack.page.loose import mapping, sequence, string
from local_slack.page.markup import link, mrkdwn, rich_text

_TASK_ICONS = {"pending": "ring", "in_progress": "spinner", "complete": "check", "error": "cross"}
_TASK_WORDS = {"pending": "to do", "in_progress": "working", "complete": "done", "error": "failed"}


def task(data: Mapping[str, Any], look: Look) -> Html:
    """A task card; `.task[data-status]` tells its state."""
    status = string(data.get("status"))
    status = status if status in _TASK_ICONS else "pending"
    title = string(data.get("title")) or "Task"
    more = [
        element("div", {"class": f"task-{part}"}, _said(data.get(part), look))
        for part in ("details", "output")
        if data.get(part)
    ]
    sources = [
        link(string(mapping(each).get("url")), string(mapping(each).get("text")) or string(mapping(each).get("url")))
        for each in sequence(data.get("sources"))[:20]
    ]
    head = [
        element("span", {"class": "task-icon"}, icon(_TASK_ICONS[status])),
        element("span", {"class": "task-title"}, title),
        element("span", {"class": "task-state"}, _TASK_WORDS[status]),
    ]
    attributes = {"class": "task", "data-status": status, "data-task": string(data.get("id") or data.get("task_id"))}
    chips = element("div", {"class": "sources"}, sources) if sources else None
    if not more:
        return element("div", attributes, element("div", {"class": "task-head"}, head), chips)
    opened = element("details", None, element("summary", {"class": "task-head"}, head, icon("down")), more)
    return element("div", attributes, opened, chips)


def _said(value: object, look: Look) -> Html:
    return rich_text(value, look.names) if isinstance(value, dict) else mrkdwn(string(value), look.names)


def plan(title: str, tasks: Sequence[Mapping[str, Any]], look: Look) -> Html:
    """Tasks under a common title with how many are done."""
    done = sum(1 for each in tasks if each.get("status") == "complete")
    head = [element("b", None, title or "Plan"), element("span", {"class": "muted"}, f"{done} of {len(tasks)}")]
    listed = [task(each, look) for each in tasks]
    return element("div", {"class": "plan"}, element("div", {"class": "plan-head"}, head), listed)
