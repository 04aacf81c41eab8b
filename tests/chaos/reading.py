"""What people can read in Slack of what was said to them.

is_answered   everything that must come of a message can be read
stands        a case shows what has become of it
words         what a person reads of a message
quoting       what the app says with these words
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from local_slack.blocks import elements
from local_slack.workspace import Json, Workspace
from tests.chaos.script import AGENTS, Line, Matter, answer_to, step_told
from tests.stories.world import shows_queue

BUTTONS = {"waiting": "case.claim", "human": "case.resolve"}
"""State -> what only the card of such a case offers."""
_CASE = re.compile(r"\bFD-\d+\b")


def is_answered(workspace: Workspace, line: Line) -> bool:
    """Whether the customer, and for a case the staff, can read all that must come of the message."""
    if line.is_gone:
        return not quoting(workspace, line.mark)
    match line.kind:
        case "work":
            return answers(workspace, line, in_thread(workspace, line.channel, line.thread_ts)) > 0
        case "aside":
            answered = answers_to_aside(workspace, line)
            told = [words(workspace, line.channel, each) for each in in_thread(workspace, line.channel, line.thread_ts)]
            return answered > 0 and any(told)
        case "escalate":
            return bool(told_of_case(workspace, line)) and bool(cards_of(workspace, line))
        case "reply":
            return bool(replies(workspace, line))
        case _:
            return bool(relays(workspace, line.mark))


def answers_to_aside(workspace: Workspace, line: Line) -> int:
    """How often somebody who asked where others read has an answer: in direct messages, or in the thread itself if the
    shop does not know them, since then nothing in it is private."""
    privately = by_app(workspace, direct(workspace, line.user))
    thread = in_thread(workspace, line.channel, line.thread_ts)
    return answers(workspace, line, privately) + answers(workspace, line, thread, channel=line.channel)


def stands(workspace: Workspace, matter: Matter) -> bool:
    """Whether the customer was told of every step, and the card shows what the last one made of the case."""
    if matter.is_erased:
        return not any(matter.opening.mark in str(each) for each in cards(workspace))
    shown = cards_of(workspace, matter.opening)
    if len(shown) != 1:
        return False
    offered = buttons(shown[0])
    wanted = BUTTONS.get(matter.state)
    is_shown = wanted in offered if wanted else offered.isdisjoint(BUTTONS.values())
    return is_shown and not matter.told - steps_told(workspace, matter)


def steps_told(workspace: Workspace, matter: Matter) -> Counter[str]:
    """How often the customer was told of each step of the case."""
    thread = in_thread(workspace, matter.opening.channel, matter.opening.thread_ts)
    return Counter(filter(None, (step_told(str(each["text"])) for each in thread)))


def words(workspace: Workspace, channel: str, message: Json) -> str:
    """What a person reads of a message, without cards, buttons and what stands under an answer."""
    stream = workspace.streams.get((channel, message["ts"]))
    if stream is not None and stream.state == "in_progress":
        return "".join(part.get("text", "") for part in stream.parts if part["type"] == "markdown").strip()
    shown = [
        block["text"] if block["type"] == "markdown" else "".join(_leaves(block))
        for block in message.get("blocks") or ()
        if block["type"] in ("markdown", "rich_text")
    ]
    return "".join(shown).strip() if shown else str(message.get("text", "")).strip()


def answers(workspace: Workspace, line: Line, messages: Iterable[Json], *, channel: str = "") -> int:
    """How many complete messages show exactly the line's answer. They are in `channel`, or where an answer belongs."""
    channel = channel or (line.channel if line.kind == "work" else direct(workspace, line.user))
    return sum(
        message.get("streaming_state") != "in_progress" and words(workspace, channel, message) == answer_to(line.mark)
        for message in messages
    )


def told_of_case(workspace: Workspace, line: Line) -> list[Json]:
    """The messages in the customer's thread that name a case."""
    return [
        each
        for each in in_thread(workspace, line.channel, line.thread_ts)
        if _CASE.search(str(each.get("text"))) and not step_told(str(each["text"]))
    ]


def ref_told(workspace: Workspace, line: Line) -> str:
    """The case that the customer was told of."""
    found = _CASE.search(str(told_of_case(workspace, line)))
    return found[0] if found else ""


def cards(workspace: Workspace) -> list[Json]:
    """The cards of the agent channel."""
    return [message for message in _roots(workspace) if not shows_queue(message)]


def cards_of(workspace: Workspace, line: Line) -> list[Json]:
    """The cards of the case that this message opened. A title names the matter, so not every card has its mark."""
    ref = ref_told(workspace, line)
    return [each for each in cards(workspace) if line.mark in str(each) or ref in _CASE.findall(str(each))]


def queue_messages(workspace: Workspace) -> list[Json]:
    return [message for message in _roots(workspace) if shows_queue(message)]


def _roots(workspace: Workspace) -> list[Json]:
    return [message for message in by_app(workspace, AGENTS) if message.get("thread_ts") in (None, message["ts"])]


def relays(workspace: Workspace, mark: str) -> list[Json]:
    """What staff were shown of a message to them, save in a transcript."""
    return [
        message
        for message in by_app(workspace, AGENTS)
        if message.get("thread_ts")
        and "(customer)" in message["text"]
        and f">Note {mark}" in message["text"].replace("&gt;", ">")
    ]


def replies(workspace: Workspace, line: Line) -> list[Json]:
    """What the customer was shown of a message by staff."""
    return [each for each in in_thread(workspace, *line.read_in) if line.mark in each["text"]]


def quoting(workspace: Workspace, words: str) -> list[Json]:
    """All that the app says with these words, wherever."""
    return [each for channel in workspace.messages for each in by_app(workspace, channel) if words in str(each)]


def buttons(message: Json) -> set[str]:
    """What the message offers."""
    return {element["action_id"] for _, element in elements(message.get("blocks") or [])}


def by_app(workspace: Workspace, channel: str) -> list[Json]:
    messages = workspace.messages.get(channel, {}).values()
    return sorted((each for each in messages if each.get("bot_id")), key=lambda each: str(each["ts"]))


def in_thread(workspace: Workspace, channel: str, thread_ts: str) -> list[Json]:
    return [
        each for each in by_app(workspace, channel) if each.get("thread_ts") == thread_ts and each["ts"] != thread_ts
    ]


def direct(workspace: Workspace, user: str) -> str:
    return workspace.dm_with(user).id


def _leaves(block: Any) -> Iterator[str]:
    """The texts of a rich_text block, in order."""
    if isinstance(block, list):
        for each in block:
            yield from _leaves(each)
    elif isinstance(block, dict):
        if isinstance(block.get("text"), str):
            yield block["text"]
        yield from _leaves(block.get("elements", ()))
