"""What a visitor finds in the workspace at first."""

from collections import Counter
from pathlib import Path

from demo.opening import play_opening
from demo.world import open_world
from local_slack.blocks import elements
from local_slack.page.half import is_root
from local_slack.page.loose import Json
from tests.stories.world import shows_queue


def actions_of(message: Json) -> set[str]:
    return {str(each["action_id"]) for _, each in elements(message["blocks"])}


async def test_two_conversations_have_ended_and_the_desk_has_eight_cases(tmp_path: Path) -> None:
    async with open_world(tmp_path) as world:
        await world.program.wait_ready()
        await play_opening(world.workspace)
        said = world.workspace.messages
        asked = [each for each in said["D0CUSTOMERA"].values() if is_root(each)]
        assert len(asked) == 2
        for each in asked:
            thanks, farewell = world.workspace.replies("D0CUSTOMERA", each["ts"])[-2:]
            assert thanks["user"] == "U0CUSTOMERA"
            assert "bot_id" in farewell
        cards = [each for each in said["C0AGENTS"].values() if is_root(each) and not shows_queue(each)]
        can = [actions_of(each) for each in cards]
        assert Counter(
            "waits" if "case.claim" in each else "claimed" if "case.resolve" in each else "ended" for each in can
        ) == {"waits": 4, "claimed": 3, "ended": 1}
