"""Requests without a question.

warm_up  a first request to servers that load their models when they are asked, so that no customer waits for that
probe    a request that only asks whether a model answers again
"""

import asyncio
import logging
from contextlib import aclosing

from bot.agent.endpoints import Endpoint, Models
from bot.agent.messages import CustomerMessage
from bot.agent.model import ModelFailure, ModelRequest

logger = logging.getLogger(__name__)

_HELLO = CustomerMessage("Hello")
_OUTPUT_TOKENS = 16
PROBE_TIMEOUT = 20.0
"""How long a model may take to its first sign of life in a probe, in seconds."""


async def warm_up(models: Models) -> None:
    """Ask each model once whose server may have to load it. Failures only go to the log."""
    endpoints = {id(each): each for each in (*models.strong, *models.cheap) if each.deadlines.loading}
    async with asyncio.TaskGroup() as tasks:
        for endpoint in endpoints.values():
            tasks.create_task(_load(endpoint))


async def probe(endpoint: Endpoint) -> bool:
    """Ask a model whether it answers, and tell its breaker. Return whether it does."""
    begun = endpoint.breaker.enter()
    if begun is None:
        return False
    request = ModelRequest(endpoint.name, "", (_HELLO,), output_tokens=_OUTPUT_TOKENS, output_characters=400)
    try:
        async with asyncio.timeout(PROBE_TIMEOUT), aclosing(endpoint.model.stream(request)) as events:
            await anext(events)
    except ModelFailure as failure:
        endpoint.breaker.failed(failure, begun=begun)
        return False
    except (TimeoutError, StopAsyncIteration):
        endpoint.breaker.failed(ModelFailure("deadline", "no sign of life in the stream"), begun=begun)
        return False
    endpoint.breaker.answered()
    return True


async def _load(endpoint: Endpoint) -> None:
    """Wait for the first sign of life. A server drops the load if the client leaves before."""
    begun = asyncio.get_running_loop().time()
    request = ModelRequest(endpoint.name, "", (_HELLO,), output_tokens=_OUTPUT_TOKENS, output_characters=400)
    try:
        async with asyncio.timeout(endpoint.deadlines.loading), aclosing(endpoint.model.stream(request)) as events:
            await anext(events)
            endpoint.first_tokens.is_loaded = True
            async for _ in events:
                pass
    except (ModelFailure, TimeoutError, StopAsyncIteration) as failure:
        words = str(failure) or type(failure).__name__
        logger.warning("a model is not loaded yet: %s", words, extra={"model": endpoint.name})
        return
    seconds = round(asyncio.get_running_loop().time() - begun, 1)
    logger.info("a model is loaded", extra={"model": endpoint.name, "seconds": seconds})
