"""Two workers and a door on one Postgres: some are killed, one is frozen, the server dies; nobody notices."""

from pathlib import Path

import pytest

from tests.chaos.actions import open_changes
from tests.chaos.campaign import open_campaign
from tests.chaos.changes import Tally
from tests.chaos.test_kills import check
from tests.patience import patience

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(patience(900))]


async def test_kills_and_an_outage_of_postgres_are_noticed_by_nobody(tmp_path: Path) -> None:
    async with open_campaign("postgres", tmp_path, seed=5) as campaign:
        await campaign.start(*campaign.members)
        await campaign.random_fleet_kills(4)
        await campaign.outage(2.0)
        await campaign.polite_stop()
        await campaign.quiet()
        found = await campaign.look()
    assert campaign.kills >= 4
    check(found)


async def test_a_worker_that_was_frozen_repeats_nothing(tmp_path: Path) -> None:
    async with open_campaign("postgres", tmp_path, seed=6) as campaign:
        assert await campaign.freeze("round_kept")
        check(await campaign.look())


async def test_a_worker_that_was_frozen_before_it_sent_a_change_sends_nothing(tmp_path: Path) -> None:
    async with open_changes("postgres", tmp_path, seed=6) as changes:
        assert await changes.freeze()
        tally, violations = await changes.look()
    assert violations == []
    assert tally == Tally(actions=len(changes.buyers.demands))
