"""Who is staff: the members of the agent channel, asked of Slack and remembered for a minute. In doubt, nobody."""

import logging

from bot.clock import Clock
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered

logger = logging.getLogger(__name__)

REMEMBER_SECONDS = 60.0
"""How long a look-up of the members serves."""


class Staff:
    """The people who may press staff buttons and use staff commands."""

    def __init__(self, slack: SlackClient, clock: Clock, *, agent_channel: str) -> None:
        self._slack = slack
        self._clock = clock
        self._agent_channel = agent_channel
        self._members: frozenset[str] = frozenset()
        self._until = float("-inf")

    async def includes(self, user: str) -> bool:
        """Whether the person is staff; False when Slack does not say."""
        if self._clock.monotonic() >= self._until:
            try:
                self._members = await self._slack.members(self._agent_channel)
            except (SlackRefused, SlackUnanswered):
                logger.exception("the agent channel's members are unknown; nobody counts as staff")
                return False
            self._until = self._clock.monotonic() + REMEMBER_SECONDS
        return user in self._members
