"""What stands in the workspace when a visitor comes: two conversations that have ended, and a case that waits.

They are said by the invented customers and answered by the running product, as everything else here.
"""

import asyncio
import logging
from collections.abc import Sequence

from local_slack.page.guide import Guide
from local_slack.page.screen import Screen
from local_slack.workspace import SlackError, Workspace

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 20.0
"""How long the opening takes at most; what is not said by then stays unsaid."""
CONVERSATIONS = (
    ("U0CUSTOMERA", "D0CUSTOMERA", ("How long does standard shipping take?", "Perfect, thank you!")),
    ("U0CUSTOMERA", "D0CUSTOMERA", ("Where is my order ORD-12345?", "Great, thanks!")),
    (
        "U0CUSTOMERG",
        "D0CUSTOMERG",
        ("A pole of my tent broke on the first night. I would like to talk to a person, please.",),
    ),
)
"""Who says what in which direct message, each message after the answer to the one before."""


async def play_opening(workspace: Workspace) -> None:
    """Play the conversations beside each other, without pauses."""
    try:
        async with asyncio.timeout(LONGEST_SECONDS), asyncio.TaskGroup() as group:
            for user, channel, said in CONVERSATIONS:
                group.create_task(_converse(workspace, user, channel, said))
    except* (TimeoutError, SlackError):
        logger.warning("the opening of the demo broke off", exc_info=True)


async def _converse(workspace: Workspace, user: str, channel: str, said: Sequence[str]) -> None:
    guide = Guide(workspace, Screen(workspace), send=lambda _: None, tell=lambda _: None, pace=0)
    await guide.shows("left", user, channel)
    for words in said:
        await guide.writes("left", words)
        await guide.is_answered("left")
