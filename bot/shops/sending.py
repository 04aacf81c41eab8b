"""What is known of an action whose request had no answer."""

import logging
from collections.abc import Awaitable

from bot.shops.actions import Outcome
from bot.shops.transport import NotSent, Reply, Unanswered

logger = logging.getLogger(__name__)


async def reply_or_outcome(sending: Awaitable[Reply]) -> Reply | Outcome:
    """The shop's answer. Without one, the outcome: `unavailable` if no byte left, else `unknown`."""
    try:
        return await sending
    except NotSent as error:
        logger.warning("the shop cannot be reached; the action was not sent", extra={"error": str(error)})
        return Outcome("unavailable")
    except Unanswered as error:
        logger.warning("the shop did not answer; it may have acted", extra={"error": str(error)})
        return Outcome("unknown")
