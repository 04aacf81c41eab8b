"""The stand-in, running without pauses, and two ways to ask it."""

from collections.abc import AsyncIterator

import aiohttp
import openai
import pytest

from demo.model.server import Pace, StandIn, open_stand_in


@pytest.fixture
async def stand_in() -> AsyncIterator[StandIn]:
    async with open_stand_in(pace=Pace(first=0, chunk=0)) as running:
        yield running


@pytest.fixture
async def client(stand_in: StandIn) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(api_key=stand_in.key, base_url=stand_in.url, max_retries=0) as opened:
        yield opened


@pytest.fixture
async def session(stand_in: StandIn) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {stand_in.key}"}) as opened:
        yield opened
