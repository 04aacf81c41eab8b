"""What only one person sees outside of messages: the Home tab, dialogs and suggested prompts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bot.slack.api.errors import NO_SESSIONS, SlackRefused
from bot.slack.api.transport import SlackApi

_PROMPTS = "suggested prompts"


class Views:
    """Calls for the Home tab, dialogs and suggested prompts."""

    def __init__(self, api: SlackApi) -> None:
        self._api = api

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Replace a person's Home tab."""
        await self._api.call("views.publish", partial(self._api.web.views_publish, user_id=user, view=dict(view)))

    async def open(self, trigger_id: str, view: Mapping[str, Any]) -> str:
        """Open a dialog, and return its id. A trigger works once, within three seconds."""
        answer = await self._api.call(
            "views.open", partial(self._api.web.views_open, trigger_id=trigger_id, view=dict(view)), patience=0.0
        )
        return str((answer.get("view") or {}).get("id") or "")

    async def update(self, view_id: str, view: Mapping[str, Any]) -> None:
        """Show something else in an open dialog."""
        await self._api.call("views.update", partial(self._api.web.views_update, view_id=view_id, view=dict(view)))

    async def suggest_prompts(
        self,
        channel: str,
        thread_ts: str | None,
        prompts: Sequence[Mapping[str, str]],
        *,
        title: str | None = None,
    ) -> None:
        """Offer up to four prompts, each `{"title", "message"}`. Does nothing if the app is no agent."""
        if _PROMPTS in self._api.unsupported:
            return
        try:
            await self._api.call(
                "assistant.threads.setSuggestedPrompts",
                partial(
                    self._api.web.assistant_threads_setSuggestedPrompts,
                    channel_id=channel,
                    thread_ts=thread_ts,
                    title=title,
                    prompts=[dict(prompt) for prompt in prompts[:4]],
                ),
            )
        except SlackRefused as refusal:
            if refusal.error not in NO_SESSIONS:
                raise
            self._api.unsupported.add(_PROMPTS)
