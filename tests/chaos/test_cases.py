"""Staff take cases up and customers think again, while the product is killed: each step happens once, and is told once.

`make chaos` does it at every place that has a name, and for longer.
"""

from functools import partial
from pathlib import Path

import pytest

from tests.chaos.campaign import open_campaign
from tests.chaos.script import COURSES, Course
from tests.chaos.test_kills import check
from tests.patience import patience

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(patience(900))]


async def test_every_course_of_a_case_is_read_as_it_was_played(tmp_path: Path) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5) as campaign:
        await campaign.start(*campaign.members)
        for course in COURSES:
            await campaign.people.begin(course)
        await campaign.settle()
        check(await campaign.look())


@pytest.mark.parametrize(
    ("place", "course"),
    [("case_stepped", "solved"), ("case_reopened", "written_again"), ("messages_taken_out", "erased")],
)
async def test_a_kill_in_the_middle_of_a_case_is_noticed_by_nobody(tmp_path: Path, place: str, course: Course) -> None:
    async with open_campaign("sqlite", tmp_path, seed=5) as campaign:
        assert await campaign.strike(place, 1, partial(campaign.people.begin, course))
        check(await campaign.look())
