"""Who is staff: the members of a team channel, or of a configured user group. In doubt, no one is staff.

Slack is asked, and its answer is cached for a minute.

Deactivated people, apps, and people of other organisations are never staff, whatever channel or group they are in.
Guests are staff, since a person has invited them to the channel. A customer who is in the channel is staff too.
"""

import logging
from collections.abc import Collection

from bot.clock import Clock
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store.case_lists import Desks

logger = logging.getLogger(__name__)

STAFF_CACHE_PERIOD = 60.0
"""How long the members of a channel, and a person's profile, are cached, in seconds."""


async def name_of(directory: Directory, user: str) -> str:
    """The name under which a member of staff is shown. "A colleague" if Slack does not say."""
    try:
        return (await directory.user(user)).display_name
    except (SlackRefused, SlackUnanswered):
        return "A colleague"


class Staff:
    """The people who may press staff buttons, use staff commands and speak for a case."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        *,
        agent_channel: str,
        others: Collection[str] = (),
        group: str | None = None,
    ) -> None:
        """`others` are the channels of further desks. With a `group`, only its members are staff."""
        self.channels = frozenset((agent_channel, *others))
        """The team channels, where staff work."""
        self._directory = directory
        self._clock = clock
        self._agent_channel = agent_channel
        self._group = group
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def includes(self, user: str, *, channel: str = "") -> bool:
        """Whether the person is staff in a team channel, by default the agent channel. False if Slack does not say."""
        try:
            return await self.surely_includes(user, channel=channel)
        except (SlackRefused, SlackUnanswered):
            logger.exception("Slack does not say who is staff; nobody counts as staff")
            return False

    async def of_desk(self, channel: str) -> list[str]:
        """The people who are staff in a team channel, sorted by their ids. Empty if Slack does not say."""
        try:
            members = await self._members(channel)
        except (SlackRefused, SlackUnanswered):
            logger.exception("Slack does not say who is staff; nobody gets a case")
            return []
        return [user for user in sorted(members) if await self.includes(user, channel=channel)]

    async def desks(self, user: str) -> Desks:
        """The desks where the person is staff. None for people who are not staff, or while Slack does not say."""
        theirs = {channel for channel in self.channels if await self.includes(user, channel=channel)}
        desks = frozenset(self._desk(channel) for channel in theirs)
        return Desks(desks, frozenset(map(self._desk, self.channels)) - desks)

    def desk_in(self, channel: str) -> Desks:
        """The desk whose channel this is."""
        desk = frozenset((self._desk(channel),))
        return Desks(desk, frozenset(map(self._desk, self.channels)) - desk)

    def _desk(self, channel: str) -> str:
        """The channel as the `desk` of a case: empty for the agent channel."""
        return "" if channel == self._agent_channel else channel

    async def surely_includes(self, user: str, *, channel: str = "") -> bool:
        """Like `includes`, but raises SlackRefused or SlackUnanswered if Slack does not say."""
        channel = channel or self._agent_channel
        if channel not in self.channels or user not in await self._members(channel):
            return False
        person = await self._directory.user(user, seconds=STAFF_CACHE_PERIOD)
        return not (person.deleted or person.is_bot or person.is_stranger)

    async def _members(self, channel: str) -> frozenset[str]:
        where = self._group or channel
        until, members = self._known.get(where, (float("-inf"), frozenset()))
        if self._clock.monotonic() >= until:
            members = await (self._directory.group_members(where) if self._group else self._directory.members(where))
            self._known[where] = (self._clock.monotonic() + STAFF_CACHE_PERIOD, members)
        return members
