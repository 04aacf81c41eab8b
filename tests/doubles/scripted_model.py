"""A model whose every reply is written down beforehand."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

import orjson

from bot.agent.events import TextDelta
from bot.agent.messages import ToolCall
from bot.agent.model import Finished, ModelEvent, ModelFailure, ModelRequest


class Silence:
    """Nothing comes any more, and the stream stays open."""


Step = ModelEvent | ModelFailure | Silence
"""An event to give, a failure to raise, or silence."""


class ScriptedModel:
    """Plays one reply a request, in order, and keeps the requests. The last reply is played for ever."""

    def __init__(self, *replies: Sequence[Step]) -> None:
        self.requests: list[ModelRequest] = []
        self._replies = replies

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Implements Model.stream."""
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        for step in reply:
            match step:
                case ModelFailure():
                    raise step
                case Silence():
                    await asyncio.Event().wait()
                case _:
                    yield step


def says(*pieces: str) -> list[Step]:
    """A whole answer in these pieces."""
    return [*map(TextDelta, pieces), Finished("stop")]


def calls(*asked: ToolCall, text: str = "") -> list[Step]:
    """A reply that asks for tools."""
    spoken: Iterable[Step] = [TextDelta(text)] if text else []
    return [*spoken, *asked, Finished("calls")]


def call(name: str, arguments: Mapping[str, Any] | str = "", *, id: str = "call_1") -> ToolCall:  # noqa: A002
    """One call; arguments as JSON text or as what becomes it."""
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
    return ToolCall(id, name, text)
