"""The harness can fail: with a safeguard taken out of the product it finds what the safeguard prevents."""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos.actions import open_changes
from tests.chaos.campaign import open_campaign
from tests.patience import patience

pytestmark = pytest.mark.timeout(patience(900))


@pytest.mark.chaos
async def test_without_looking_for_what_may_have_been_sent_something_is_said_twice(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5, without="reconciliation") as campaign:
        await campaign.sweep([("post_sent", 1), ("stream_opened", 1)])
        found = await campaign.look()
    assert found.doubled > 0
    assert any("empty message" in violation or "open stream" in violation for violation in found.violations)


@pytest.mark.chaos
async def test_without_the_journaled_rounds_something_is_written_twice(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5, without="journaled-rounds") as campaign:
        await campaign.sweep([("stream_ending", 1)])
        found = await campaign.look()
    assert found.repeated_writes > 0


@pytest.mark.chaos  # it takes minutes
async def test_without_the_fence_a_worker_that_was_frozen_answers_again(tmp_path: Path) -> None:
    async with open_campaign("postgres", tmp_path, seed=6, without="fence") as campaign:
        assert await campaign.freeze("call_kept")
        found = await campaign.look()
    assert found.doubled > 0


@pytest.mark.chaos
async def test_without_the_states_of_a_case_a_claim_is_told_twice(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5, without="case-states") as campaign:
        assert await campaign.strike("case_stepped", 1, partial(campaign.people.begin, "solved"))
        found = await campaign.look()
    assert found.doubled > 0
    assert any("'claimed': 2" in violation for violation in found.violations)


@pytest.mark.chaos
async def test_without_the_stored_request_money_goes_back_twice(tmp_path: Path) -> None:
    async with open_changes("sqlite", tmp_path, seed=5, without="stored-request") as changes:
        await changes.strike("refund_answered")
        tally, _ = await changes.look()
    assert tally.doubled == 1
