"""Who is staff, as a local Slack has it."""

from dataclasses import replace

import pytest

from bot.cases.staff import STAFF_CACHE_PERIOD, Staff
from bot.slack.api.errors import SlackUnanswered
from bot.store.case_lists import Desks
from local_slack.workspace import Channel
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack

AGENTS, BILLING, GROUP = "C0AGENTS", "C0BILLING", "S0ONCALL"
AGENT_A, AGENT_B = "U0AGENTA", "U0AGENTB"


@pytest.fixture
def clock(slack: LocalSlack) -> ManualClock:
    slack.workspace.channels[BILLING] = Channel(BILLING, "billing", is_private=True, members=[AGENT_B, "U0FRONTDESK"])
    return ManualClock()


def staff_of(slack: LocalSlack, clock: ManualClock, group: str | None = None) -> Staff:
    return Staff(slack.client.directory, clock, agent_channel=AGENTS, others=[BILLING], group=group)


def put_into_group(slack: LocalSlack, *people: str) -> None:
    groups = slack.workspace.usergroups
    groups[GROUP] = replace(groups[GROUP], users=list(people))


async def test_whoever_is_in_the_channel_is_staff_there_and_in_no_other(slack: LocalSlack, clock: ManualClock) -> None:
    staff = staff_of(slack, clock)
    assert await staff.includes(AGENT_A)
    assert not await staff.includes(AGENT_A, channel=BILLING)
    assert await staff.includes(AGENT_B, channel=BILLING)
    assert not await staff.includes("U0CUSTOMERA")
    assert not await staff.includes("U0CUSTOMERA", channel="C0SUPPORT"), "it is no team channel"


@pytest.mark.parametrize(
    ("group", "user", "theirs", "others"),
    [
        (None, AGENT_A, {""}, {BILLING}),
        (None, AGENT_B, {BILLING}, {""}),
        (None, "U0AGENTC", {"", BILLING}, set()),
        (None, "U0CUSTOMERA", set(), {"", BILLING}),
        (None, "U0FRONTDESK", set(), {"", BILLING}),
        (GROUP, AGENT_A, {"", BILLING}, set()),
        (GROUP, AGENT_B, set(), {"", BILLING}),
    ],
)
async def test_a_desk_is_of_those_who_are_staff_in_its_channel(
    slack: LocalSlack, clock: ManualClock, group: str | None, user: str, theirs: set[str], others: set[str]
) -> None:
    slack.workspace.users["U0AGENTC"] = replace(slack.workspace.users[AGENT_A], id="U0AGENTC")
    slack.workspace.channels[AGENTS].members[:] = [AGENT_A, "U0AGENTC", "U0FRONTDESK"]
    slack.workspace.channels[BILLING].members.append("U0AGENTC")
    put_into_group(slack, AGENT_A)
    desks = await staff_of(slack, clock, group).desks(user)
    assert desks == Desks(frozenset(theirs), frozenset(others))
    assert bool(desks) == bool(theirs)


async def test_with_a_group_its_members_are_staff_everywhere_and_nobody_else_is(
    slack: LocalSlack, clock: ManualClock
) -> None:
    staff = staff_of(slack, clock, GROUP)
    assert await staff.includes(AGENT_A, channel=BILLING)
    assert not await staff.includes(AGENT_B)
    put_into_group(slack, AGENT_B)
    assert await staff.includes(AGENT_A), "what Slack said serves for a minute"
    clock.advance(STAFF_CACHE_PERIOD)
    assert not await staff.includes(AGENT_A)
    assert await staff.includes(AGENT_B)


@pytest.mark.parametrize("group", [None, GROUP])
async def test_apps_strangers_and_people_who_left_are_never_staff(
    slack: LocalSlack, clock: ManualClock, group: str | None
) -> None:
    everybody = ["U0FRONTDESK", "U0STRANGER", AGENT_A, AGENT_B]
    slack.workspace.channels[AGENTS].members = everybody
    put_into_group(slack, *everybody)
    slack.workspace.users[AGENT_B].deleted = True
    staff = staff_of(slack, clock, group)
    assert [await staff.includes(user) for user in everybody] == [False, False, True, False]


@pytest.mark.parametrize("method", ["usergroups.users.list", "users.info"])
async def test_when_slack_does_not_say_nobody_is_staff(slack: LocalSlack, clock: ManualClock, method: str) -> None:
    staff = staff_of(slack, clock, GROUP)
    await slack.breaks(method=method, do="internal_error", count=2)
    assert not await staff.includes(AGENT_A)
    with pytest.raises(SlackUnanswered):
        await staff.surely_includes(AGENT_A)
    assert await staff.includes(AGENT_A)
