"""What a log must not hold, whatever went wrong."""

import json
from typing import Any

from tests.stories.world import World

IDS = frozenset(
    {"turn", "event", "generation", "channel", "key", "case", "user", "count", "feature", "customer", "model", "method"}
)
"""The fields that say what a line is about."""
_NEVER = ("never retrieved", "never awaited", "Unclosed ", "Exception ignored in", "dumped core")
_SHORT = 12
"""Fewer characters than this are no sentence of a customer's."""


async def check_log(world: World) -> None:
    """Assert that the product's log is in order: JSON lines, tracebacks with an id, no token and nobody's words."""
    log = world.bot_log()
    for words in _NEVER:
        assert words not in log, _around(log, words)
    lines = read_log(world)
    for line in lines:
        assert "error" not in line or IDS & set(line), f"a traceback that names nothing: {line}"
    ready = world.ready
    secrets = [ready["slack"]["bot_token"], ready["slack"]["app_token"], ready.get("shop", {}).get("token", "")]
    for secret in [*secrets, ready.get("model", {}).get("key", "")]:
        assert not secret or secret not in log, "a token is in the log"
    messages = (await world.state())["messages"].values()
    said = {str(one["text"]) for channel in messages for one in channel if not one.get("bot_id")}
    for text in said:
        assert len(text) < _SHORT or text not in log, f"somebody's words are in the log: {text}"


def read_log(world: World) -> list[dict[str, Any]]:
    """The lines of the product's log, oldest first."""
    return [json.loads(line) for line in world.bot_log().splitlines() if line.strip()]


def errors(world: World, message: str = "") -> list[dict[str, Any]]:
    """The lines at ERROR, or those of them with this message: what an operator is rung up for."""
    return [line for line in read_log(world) if line["level"] == "error" and message in line["message"]]


def _around(log: str, words: str) -> str:
    at = log.index(words)
    return log[max(0, at - 1_500) : at + 1_500]
