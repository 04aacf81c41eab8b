"""Who is staff: the members of a team channel, or of the group that is named for it. In doubt, nobody.

Slack is asked, and what it says serves for a minute.

Who was deactivated, apps, and people of other organisations are none, whatever channel or group they are in. Guests
are, since somebody has invited them there; and a customer who is in the channel is one of the team.
"""

import logging
from collections.abc import Collection

from bot.clock import Clock
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered
from bot.store.case_lists import Desks

logger = logging.getLogger(__name__)

STAFF_CACHE_PERIOD = 60.0
"""How long a look-up of the members, and of a person, serves."""


class Staff:
    """The people who may press staff buttons, use staff commands and speak for a case."""

    def __init__(
        self,
        slack: SlackClient,
        clock: Clock,
        *,
        agent_channel: str,
        others: Collection[str] = (),
        group: str | None = None,
    ) -> None:
        """`others` are the channels of further desks. With a `group` its members are staff, and nobody else is."""
        self.channels = frozenset((agent_channel, *others))
        """Where staff work: the team channels."""
        self._slack = slack
        self._clock = clock
        self._agent_channel = agent_channel
        self._group = group
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def includes(self, user: str, *, channel: str = "") -> bool:
        """Whether the person is staff in a team channel, the agent channel at first; False when Slack does not say."""
        try:
            return await self.surely_includes(user, channel=channel)
        except (SlackRefused, SlackUnanswered):
            logger.exception("Slack does not say who is staff; nobody counts as staff")
            return False

    async def desks(self, user: str) -> Desks:
        """The desks whose staff the person is; none for those who are not staff, or while Slack does not say."""
        theirs = {channel for channel in self.channels if await self.includes(user, channel=channel)}
        desks = frozenset(self._desk(channel) for channel in theirs)
        return Desks(desks, frozenset(map(self._desk, self.channels)) - desks)

    def _desk(self, channel: str) -> str:
        """The channel, as cases have it."""
        return "" if channel == self._agent_channel else channel

    async def surely_includes(self, user: str, *, channel: str = "") -> bool:
        """As `includes`, but what Slack raises when it does not say is raised here too."""
        channel = channel or self._agent_channel
        if channel not in self.channels or user not in await self._members(channel):
            return False
        person = await self._slack.user(user, seconds=STAFF_CACHE_PERIOD)
        return not (person.deleted or person.is_bot or person.is_stranger)

    async def _members(self, channel: str) -> frozenset[str]:
        where = self._group or channel
        until, members = self._known.get(where, (float("-inf"), frozenset()))
        if self._clock.monotonic() >= until:
            members = await (self._slack.group_members(where) if self._group else self._slack.members(where))
            self._known[where] = (self._clock.monotonic() + STAFF_CACHE_PERIOD, members)
        return members
