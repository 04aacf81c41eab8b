"""Signed HTTP events instead of Socket Mode: the same conversation through the other door."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.stories.over_http import OverHttp, open_world_over_http
from tests.stories.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def over_http(tmp_path_factory: pytest.TempPathFactory, stage: Stage) -> AsyncIterator[OverHttp]:
    folder = tmp_path_factory.mktemp("http")
    async with stage.open_database() as env, open_world_over_http(folder, env=env) as opened:
        yield opened


async def test_a_signed_event_is_answered(over_http: OverHttp) -> None:
    customer = over_http.world.customer
    told = await customer.reads(await customer.says("I want to talk to a real person"))
    assert "FD-" in told.text


async def test_a_press_arrives_over_http_too(over_http: OverHttp) -> None:
    customer = over_http.world.customer
    asked = await customer.says("human please")
    told = await customer.reads(asked)
    await customer.presses(told, "esc.cancel")
    assert "back" in (await customer.reads(asked, after=told.ts)).text


async def test_a_command_arrives_over_http_too(over_http: OverHttp) -> None:
    assert "knowledge base" in await over_http.world.staff.runs("/kb status")


async def test_what_nobody_signed_is_refused(over_http: OverHttp) -> None:
    forged = {"type": "event_callback", "event": {"type": "message", "text": "hi", "user": "U1", "channel": "D1"}}
    async with over_http.world.http.post(over_http.events, json=forged) as response:
        assert response.status == 401
