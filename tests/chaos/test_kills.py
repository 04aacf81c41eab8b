"""Frontdesk is killed where something has been done outside and not been noted yet, and anywhere.

`make chaos` does it at every place that has a name, and for longer.
"""

import re
from pathlib import Path

import pytest

from bot.failpoints import FAILPOINTS, arm
from tests.chaos.actions import open_changes
from tests.chaos.campaign import open_campaign
from tests.chaos.changes import Tally
from tests.chaos.invariants import Findings
from tests.chaos.victims import ROOT
from tests.patience import patience

pytestmark = pytest.mark.timeout(patience(900))

UNNOTED = (
    "before_ack",
    "call_done",
    "stream_opened",
    "answer_shown",
    "turn_closing",
    "case_opened",
    "post_sent",
    "files_shared",
)

CUT_OFF = ("action_confirmed", "vote_stored", "action_marked", "action_sent", "action_answered")


def check(found: Findings) -> None:
    assert found.violations == []
    assert found.acked > 0
    assert (found.lost, found.doubled, found.repeated_writes) == (0, 0, 0)


@pytest.mark.chaos
async def test_kills_are_noticed_by_nobody(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5) as campaign:
        await campaign.sweep([(place, 1) for place in UNNOTED])
        await campaign.kill_at_ack()
        await campaign.random_kills(2)
        await campaign.polite_stop()
        await campaign.quiet()
        found = await campaign.look()
    assert campaign.kills == len(UNNOTED) + 3
    check(found)


@pytest.mark.chaos
async def test_a_change_of_an_order_that_is_cut_off_is_made_and_told_once(tmp_path: Path) -> None:
    async with open_changes("sqlite", tmp_path, seed=5) as changes:
        for point in CUT_OFF:
            await changes.strike(point)
        await changes.kill_at_random(2)
        tally, violations = await changes.look()
    assert violations == []
    assert tally == Tally(kills=len(CUT_OFF) + 2, actions=len(changes.buyers.demands))


def test_every_place_in_the_code_is_one_that_can_be_armed() -> None:
    passed = {f"{kind}_{what}" for kind in ("round", "call") for what in ("done", "kept")}
    for source in (ROOT / "bot").rglob("*.py"):
        passed.update(re.findall(r'\bfailpoint\("(\w+)"\)', source.read_text("utf-8")))
    assert passed == FAILPOINTS.keys()


def test_a_place_that_does_not_exist_cannot_be_armed() -> None:
    with pytest.raises(KeyError):
        arm("nowhere", 1)
