"""What one end of a connection does to callers, with a session that follows a script."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.alerts import Alerts
from bot.shops.port import ShopUnavailable
from bot.shops.tool_servers import connection
from bot.shops.tool_servers.connection import Connection, ToolAnswer
from bot.shops.tool_servers.pins import Definition
from tests.patience import patience


class ScriptedSession:
    """A session that ends each call as the script says, first to last."""

    def __init__(self, script: list[BaseException | ToolAnswer]) -> None:
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()
        self.script = script

    async def list_tools(self) -> Mapping[str, Definition]:
        return {}

    async def call(self, name: str, arguments: Mapping[str, Any], *, seconds: float) -> ToolAnswer:
        match self.script.pop(0):
            case ToolAnswer() as answer:
                return answer
            case error:
                raise error


ANSWER = ToolAnswer(is_error=False, structured=None, text="12 pieces")


@pytest.mark.parametrize("ending", [asyncio.CancelledError(), ExceptionGroup("group", [OSError()]), KeyError("x")])
async def test_what_ends_a_connection_is_no_answer_at_once_and_the_next_call_has_another(
    ending: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PAUSES", (0.0,))
    script: list[BaseException | ToolAnswer] = [ending, ANSWER]

    @asynccontextmanager
    async def open_session() -> AsyncIterator[ScriptedSession]:
        yield ScriptedSession(script)

    async def opening() -> Any:
        return open_session()

    server = Connection("warehouse", opening, lambda _: None, seconds=3_600, gives_up=False, alerts=Alerts())
    running = asyncio.create_task(server.run())
    async with asyncio.timeout(patience(20)):
        with pytest.raises(ShopUnavailable):
            await server.call("stock_of", {})
        assert await server.call("stock_of", {}) == ANSWER
    running.cancel()
    await asyncio.wait({running})
