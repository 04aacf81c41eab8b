"""The disk and the processes: what cannot be stored is not acknowledged, and what was acknowledged survives."""

import resource
import sys

import pytest

from tests.stories.world import World

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: limits of another process are Linux's"),
]

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


async def test_with_a_full_disk_nothing_is_acknowledged_and_all_is_answered_later(world: World) -> None:
    await world.customer.reads(await world.customer.says("Hello!"))
    pid = int(world.ready["bot"]["pid"])
    # No file of the product may grow: what a full disk does, without filling one.
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    asked = await world.customer.says("I want to talk to a real person")
    while "frontdesk_events_refused_total 0.0" in await world.metrics():
        await world.next_change()
    assert [seen for seen in await world.posts(asked.channel) if seen.thread_ts == asked.ts] == []

    resource.prlimit(pid, resource.RLIMIT_FSIZE, UNLIMITED)
    told = await world.customer.reads(asked)
    assert "FD-" in told.text
    await world.customer.reads(await world.customer.says("Thanks!"))
    assert len([seen for seen in await world.posts(asked.channel) if seen.thread_ts == asked.ts]) == 1
