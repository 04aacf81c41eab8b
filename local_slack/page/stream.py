"""A message that is still being written as HTML: its parts in order, with a caret at the end."""

import re

from local_slack.page.html import Html, element, join
from local_slack.page.look import Look
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.page.markup import markdown
from local_slack.page.render import blocks
from local_slack.page.tasks import plan, task


def stream(parts: object, look: Look, *, plan_title: str = "", is_open: bool = False) -> Html:
    """The parts of a streamed message in order; a caret stands at the end while it is being written."""
    drawn: list[Html] = []
    steps: list[Json] = []

    def end_steps() -> None:
        if steps and plan_title:
            drawn.append(plan(plan_title, steps, look))
        elif steps:
            drawn.append(element("div", {"class": "tasks"}, [task(each, look) for each in steps]))
        steps.clear()

    written = [mapping(part) for part in sequence(parts)]
    for index, part in enumerate(written):
        if part.get("type") == "task":
            steps.append(part)
            continue
        end_steps()
        if part.get("type") == "markdown":
            said = markdown(string(part.get("text")), look.names)
            is_last = is_open and index == len(written) - 1
            drawn.append(element("div", {"class": "md"}, _with_caret(said) if is_last else said))
        elif part.get("type") == "blocks":
            drawn.append(blocks(part.get("blocks"), look))
    end_steps()
    if is_open and (not written or written[-1].get("type") != "markdown"):
        drawn.append(_CARET)
    return join(drawn)


_CARET = element("span", {"class": "caret", "aria-hidden": "true"})
_ENDING = re.compile(r"(?:</(?:p|li|ul|ol|blockquote)>\s*)+$")


def _with_caret(said: Html) -> Html:
    """The caret behind the last letter, inside whatever elements end there."""
    tail = max(0, len(said) - 300)
    ending = _ENDING.search(said, tail)
    at = ending.start() if ending else len(said)
    return Html(said[:at].rstrip("\n") + _CARET + said[at:])
