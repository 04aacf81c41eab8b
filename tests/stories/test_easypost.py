"""A desk whose orders and parcels are with two systems: EasyPost tracks what the house system has sent."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from demo.easypost.server import EasyPost, open_easypost
from tests.shops.contract import PARCEL
from tests.stories.conftest import PACE
from tests.stories.world import ROOT, World, open_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

SIGNATURES = ("X-Hmac-Signature", "X-Hmac-Signature-V2")
FILE = f"""\
connectors:
  house: {{kind: http, file: {ROOT}/demo/house/store.http.yml}}
  parcels:
    {{kind: easypost, url: "env:EASYPOST_URL", key: "env:EASYPOST_KEY", webhook_secret: "env:EASYPOST_WEBHOOK_SECRET"}}
serves: {{customers: house, orders: house, parcels: parcels, actions: {{default: house}}}}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def easypost() -> AsyncIterator[EasyPost]:
    async with open_easypost() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(easypost: EasyPost, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("easypost")
    file = folder.parent / f"{folder.name}.yml"
    file.write_text(FILE, "utf-8")
    env = {"SHOP_FILE": str(file), **easypost.environment()}
    async with open_world(folder, pace=PACE, env=env, shop="house") as opened:
        yield opened


async def tracks(world: World) -> str:
    """What a customer reads of their parcel."""
    asked = await world.customer.says(f"Where is my parcel {PARCEL}?")
    return (await world.customer.reads(asked, having=lambda seen: PARCEL in seen.text)).text


async def test_a_parcel_is_tracked_once_and_read_anew_also_after_the_bot_was_killed(
    world: World, easypost: EasyPost
) -> None:
    assert "Arrived at facility" in await tracks(world)
    event = easypost.update(PARCEL, "out_for_delivery", message="On the vehicle")
    await world.bot("kill")
    await world.bot("restart")
    assert "On the vehicle" in await tracks(world)
    assert easypost.made == [PARCEL]
    hook = f"{world.ready['bot']['url']}/hooks/easypost"
    assert await easypost.send(event, hook) == 204
    assert await easypost.send(event | {"id": "evt_of_somebody"}, hook, **dict.fromkeys(SIGNATURES, "")) == 401
