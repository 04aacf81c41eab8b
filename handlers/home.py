"""The app's own tab: suggested prompts in an empty conversation."""

import logging
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.slack.client import SlackRefused, SlackUnanswered
from handlers.desk import Desk

logger = logging.getLogger(__name__)


def register(app: AsyncApp, desk: Desk) -> None:
    """Opening the messages tab shows what can be asked."""

    @app.event("app_home_opened")
    async def suggest(event: dict[str, Any]) -> None:
        if event.get("tab") != "messages":
            return
        try:
            user = await desk.slack.user(event["user"])
            prompts = desk.sentences.prompts(desk.sentences.language_for(user.locale))
            await desk.slack.suggest_prompts(event["channel"], None, prompts)
        except (SlackRefused, SlackUnanswered) as error:
            logger.info("no prompts were suggested", extra={"reason": str(error)})
