"""/kb for staff, and only for staff."""

import pytest

from tests.stories.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_staff_see_the_state_of_the_knowledge_base(world: World) -> None:
    told = await world.staff.runs("/kb status")
    assert "generation 1" in told
    assert "documents" in told


async def test_staff_see_what_a_question_finds_and_why(world: World) -> None:
    told = await world.staff.runs("/kb search how do I return an item")
    assert "would be answered" in told
    assert "confidence" in told


async def test_a_refresh_tells_what_changed(world: World) -> None:
    before = len(await world.staff.whispers())
    await world.staff.runs("/kb refresh")
    report = await world.until(
        lambda state: next(
            (
                each["text"]
                for each in [e for e in state["ephemerals"] if e["user"] == world.staff.user][before:]
                if "changed" in each["text"]
            ),
            None,
        ),
        what="the report of the refresh",
    )
    assert "generation" in report


async def test_a_customer_is_refused(world: World) -> None:
    told = await world.customer.runs("/kb status", channel="C0SUPPORT")
    assert "support team" in told
    assert "generation" not in told


async def test_anything_else_is_answered_with_the_usage(world: World) -> None:
    assert "/kb refresh" in await world.staff.runs("/kb")
