"""The part of a conversation that the model reads: within a size, and with a result for every call.

`fit` runs before each request. It repairs what a crash, a cancellation or a cut left behind, since a call without
its result makes a provider refuse every later request of the thread.
"""

from collections.abc import Sequence
from dataclasses import replace

from bot.agent.messages import (
    AgentMessage,
    CustomerMessage,
    Message,
    StaffMessage,
    SystemNote,
    ToolCall,
    ToolResult,
)
from bot.agent.passages import fit_passages

OLD_RESULT_LIMIT = 400
"""How many characters of an old tool result stay if there is not enough room."""

_SHORTENED = " [shortened]"
_LEFT_OUT = SystemNote("Earlier messages of this conversation are left out here.")
_LOST = "This call was interrupted. Whether it had an effect is not known."


def fit(messages: Sequence[Message], *, characters: int) -> tuple[Message, ...]:
    """The conversation in about `characters`: older tool results shrink first, then the oldest messages go, save the
    notes at its beginning. Passages have as much room again, and go before any of that.

    From the latest customer message on everything stays, so a turn that is large all by itself can exceed the
    size. Calls are never separated from their results.
    """
    whole = _without_old_extras(repair(messages))
    if size_of(whole) > characters:
        _shrink_results(whole, 0, _latest_round(whole), limit=OLD_RESULT_LIMIT, characters=characters)
    if size_of(whole) > characters:
        whole = _without_oldest(whole, characters)
    if size_of(whole) > characters:
        latest = _latest_round(whole)
        room = characters - size_of(whole[:latest])
        share = max(OLD_RESULT_LIMIT, room // max(1, len(whole) - latest - 1))
        _shrink_results(whole, latest, len(whole), limit=share, characters=characters)
    return tuple(fit_passages(whole, characters=characters))


def _without_old_extras(messages: list[Message]) -> list[Message]:
    """Drop old `extra` fields. They serve only their own turn: no provider wants them after a person has written."""
    last = max((at for at, message in enumerate(messages) if isinstance(message, CustomerMessage)), default=0)
    return [
        replace(message, extra={}) if at < last and isinstance(message, AgentMessage) and message.extra else message
        for at, message in enumerate(messages)
    ]


def repair(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation with exactly one result after each call, in the order of the calls.

    A call without a result gets one that says so. Results without a call, and empty agent messages, are dropped. A
    valid conversation stays as it is.
    """
    sound: list[Message] = []
    for position, message in enumerate(messages):
        match message:
            case AgentMessage(calls=calls) if calls:
                results = _results_after(messages, position)
                first_of_id: dict[str, ToolCall] = {}
                for call in calls:
                    first_of_id.setdefault(call.id, call)
                sound.append(replace(message, calls=tuple(first_of_id.values())))
                sound.extend(results.get(call.id) or lost(call) for call in first_of_id.values())
            case ToolResult():
                pass  # stands behind its call already, or has none
            case AgentMessage(text=text) if not text.strip():
                pass
            case _:
                sound.append(message)
    return sound


def lost(call: ToolCall) -> ToolResult:
    """Return the result of a call whose end is unknown."""
    return ToolResult(call.id, call.name, _LOST, ok=False)


def _results_after(messages: Sequence[Message], position: int) -> dict[str, ToolResult]:
    """Return the first result for each id before the next message with calls, which may use the same ids."""
    results: dict[str, ToolResult] = {}
    for message in messages[position + 1 :]:
        match message:
            case ToolResult(call_id=call_id):
                results.setdefault(call_id, message)
            case AgentMessage(calls=calls) if calls:
                break
    return results


def _latest_round(messages: Sequence[Message]) -> int:
    """Return the position of the calls whose results the model has not read yet. The end if it has read all."""
    for position in range(len(messages) - 1, -1, -1):
        match messages[position]:
            case ToolResult():
                continue
            case AgentMessage(calls=calls) if calls:
                return position
            case _:
                break
    return len(messages)


def _shrink_results(messages: list[Message], start: int, end: int, *, limit: int, characters: int) -> None:
    """Shorten the results between start and end to `limit`, oldest first, until the whole fits."""
    excess = size_of(messages) - characters
    for position in range(start, end):
        message = messages[position]
        if excess <= 0:
            return
        if isinstance(message, ToolResult) and len(message.content) > limit:
            content = message.content[: limit - len(_SHORTENED)] + _SHORTENED
            excess -= len(message.content) - len(content)
            messages[position] = replace(message, content=content)


def _without_oldest(messages: list[Message], characters: int) -> list[Message]:
    """Begin at the first message of a person from which everything fits, or at the last one.

    Notes before the first message stay, because they say what came before.
    """
    starts = [at for at, message in enumerate(messages) if isinstance(message, CustomerMessage | StaffMessage)]
    first = starts[0] if starts else 0
    size = size_of(messages)
    dropped = first
    for start in starts:
        size -= size_of(messages[dropped:start])
        dropped = start
        if size <= characters:
            break
    return [*messages[:first], _LEFT_OUT, *messages[dropped:]] if dropped > first else messages


def size_of(messages: Sequence[Message]) -> int:
    """Return the number of characters of the conversation's texts, without passages."""
    return sum(map(_characters, messages))


def _characters(message: Message) -> int:
    match message:
        case ToolResult(content=content):
            return len(content)
        case AgentMessage(text=text, calls=calls):
            return len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
        case _:
            return len(message.text)
