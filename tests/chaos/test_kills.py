"""Frontdesk is killed at every place that has a name, and a few times anywhere; `make chaos` does it for longer."""

from pathlib import Path

import pytest

from bot.failpoints import PLACES, arm
from tests.chaos.campaign import open_campaign, places
from tests.chaos.invariants import Findings

pytestmark = pytest.mark.timeout(900)


def check(found: Findings) -> None:
    assert found.violations == []
    assert found.acked > 0
    assert (found.lost, found.doubled, found.repeated_writes) == (0, 0, 0)


async def test_a_kill_at_every_place_is_noticed_by_nobody(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5) as campaign:
        await campaign.sweep(places(again=False))
        await campaign.kill_at_ack()
        await campaign.random_kills(4)
        await campaign.polite_stop()
        await campaign.quiet()
        found = await campaign.look()
    assert campaign.kills == len(PLACES) + 5
    check(found)


def test_a_place_that_does_not_exist_cannot_be_armed() -> None:
    with pytest.raises(KeyError):
        arm("nowhere", 1)
