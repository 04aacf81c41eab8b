"""Messages: post, change, delete and read them, and answer interactions."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.webhook.async_client import AsyncWebhookClient

from bot.alerts import Alerts
from bot.clock import Clock
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.sessions import SessionLedger
from bot.slack.api.transport import CALL_SECONDS, RATE_LIMIT_TIMEOUT, Block, Ready, SlackApi, read_text

logger = logging.getLogger(__name__)

EVENT_TYPE = "frontdesk"
"""The metadata type that marks our posts, so that a post whose answer was lost can be found."""
RESPONSE_HOSTS = (".slack.com", ".slack-gov.com")
"""The endings of the hosts where interactions and commands are answered. Slack uses `hooks.` in front of them."""


NAMES = "chat:write.customize"
"""The scope for posts under another name than the app's."""


class Chat:
    """What people read in channels and threads, except streamed messages."""

    def __init__(self, api: SlackApi, ledger: SessionLedger, clock: Clock) -> None:
        self._api = api
        self._ledger = ledger
        self._alerts = Alerts(now=clock.monotonic)

    @property
    def can_name(self) -> bool:
        """Whether posts can be under a person's name and picture.

        It is asked before each post: some workspaces refuse such a post without the scope, others ignore the name.
        """
        return self._api.has_scope(NAMES)

    def refuse_names(self) -> None:
        """Remember that Slack refused a post under a name."""
        self._api.unsupported.add(NAMES)

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        username: str | None = None,
        icon_emoji: str | None = None,
        icon_url: str | None = None,
        reply_broadcast: bool | None = None,
        ready: Ready | None = None,
    ) -> str:
        """Post a message and return its ts. `text` is mrkdwn; with blocks, notifications show it.

        A reply with `reply_broadcast` is also shown in the channel. Links are never unfurled, and names are never
        linked.
        """
        answer = await self._api.call(
            "chat.postMessage",
            partial(
                self._api.web.chat_postMessage,
                channel=channel,
                text=text,
                blocks=to_json(blocks),
                thread_ts=thread_ts,
                metadata=None if metadata is None else dict(metadata),
                username=username,
                icon_emoji=icon_emoji,
                icon_url=icon_url,
                reply_broadcast=reply_broadcast,
                unfurl_links=False,
                unfurl_media=False,
            ),
            channel=channel,
            ready=ready,
        )
        self._ledger.clear_line(channel, thread_ts)
        return read_text(answer, "ts")

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        at_once: bool = False,
        ready: Ready | None = None,
    ) -> None:
        """Replace a whole message. Without blocks it is only its text. `at_once`: don't wait for a rate limit."""
        await self._api.call(
            "chat.update",
            partial(self._api.web.chat_update, channel=channel, ts=ts, text=text, blocks=to_json(blocks) or []),
            patience=0.0 if at_once else RATE_LIMIT_TIMEOUT,
            ready=ready,
        )

    async def delete(self, channel: str, ts: str, *, ready: Ready | None = None) -> None:
        """Delete one of the app's messages. It is no error if the message is already gone."""
        await self._api.call(
            "chat.delete",
            partial(self._api.web.chat_delete, channel=channel, ts=ts),
            done={"message_not_found"},
            ready=ready,
        )

    async def ephemeral(
        self,
        channel: str,
        user: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
        ready: Ready | None = None,
    ) -> None:
        """Show a message to one person only. Slack drops it if they are away."""
        await self._api.call(
            "chat.postEphemeral",
            partial(
                self._api.web.chat_postEphemeral,
                channel=channel,
                user=user,
                text=text,
                blocks=to_json(blocks),
                thread_ts=thread_ts,
            ),
            ready=ready,
        )

    async def post_ephemeral(
        self,
        channel: str,
        user: str,
        *,
        text: str,
        blocks: Sequence[Block] | None = None,
        thread_ts: str | None = None,
    ) -> None:
        """Like `ephemeral`, for messages that can be lost without harm. It never raises."""
        try:
            await self.ephemeral(channel, user, text=text, blocks=blocks, thread_ts=thread_ts)
        except (SlackRefused, SlackUnanswered) as error:
            logger.warning(
                "a note to one person was not delivered",
                extra={"channel": channel, "user": user, "reason": str(error)},
            )

    async def respond(
        self, response_url: str, *, text: str, blocks: Sequence[Block] | None = None, replace: bool = False
    ) -> bool:
        """Answer an interaction or a command at its response URL, visible only to its author. False if Slack did not
        take it.

        A URL works five times within 30 minutes. Nothing is sent to a URL that is not Slack's.
        """
        if not self._is_slacks(response_url):
            if response_url:
                self._alerts.tell_once(logger, "an answer to a press was to go elsewhere than to Slack", about="")
            return False
        hook = AsyncWebhookClient(response_url, session=self._api.http, retry_handlers=[])
        hook.proxy = self._api.proxy
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await hook.send(
                    text=text,
                    blocks=to_json(blocks),
                    response_type="ephemeral",
                    replace_original=replace,
                    unfurl_links=False,
                    unfurl_media=False,
                )
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            logger.warning("an answer to a press was not delivered", extra={"reason": type(error).__name__})
            return False
        if answer.status_code != 200:
            logger.warning("an answer to a press was refused", extra={"status": answer.status_code})
        return answer.status_code == 200

    def _is_slacks(self, address: str) -> bool:
        """Whether a response URL is Slack's own, or belongs to the server that replaces Slack in tests."""
        try:
            parts, base = urlsplit(address), urlsplit(self._api.base_url)
            origin = (parts.scheme, parts.hostname, parts.port)
        except ValueError:
            return False
        if origin == (base.scheme, base.hostname, base.port):
            return True
        is_plain = parts.port is None and not (parts.username or parts.password)
        return parts.scheme == "https" and is_plain and (parts.hostname or "").endswith(RESPONSE_HOSTS)

    async def react(self, channel: str, ts: str, name: str, *, ready: Ready | None = None) -> None:
        """Add a reaction to a message. It is no error if it is already there."""
        await self._api.call(
            "reactions.add",
            partial(self._api.web.reactions_add, channel=channel, timestamp=ts, name=name),
            done={"already_reacted"},
            ready=ready,
        )

    async def unreact(self, channel: str, ts: str, name: str, *, ready: Ready | None = None) -> None:
        """Remove a reaction. It is no error if the reaction or the message is gone."""
        await self._api.call(
            "reactions.remove",
            partial(self._api.web.reactions_remove, channel=channel, timestamp=ts, name=name),
            done={"no_reaction", "message_not_found"},
            ready=ready,
        )

    async def replies(self, channel: str, thread_ts: str, *, oldest: float | str | None = None) -> list[dict[str, Any]]:
        """A thread's messages with their metadata, oldest first. The root is included, however old it is."""
        pages = self._api.pages(
            "conversations.replies",
            partial(
                self._api.web.conversations_replies,
                channel=channel,
                ts=thread_ts,
                oldest=_slack_time(oldest),
                include_all_metadata=True,
            ),
        )
        return [message async for page in pages for message in page.get("messages") or ()]

    async def own_replies(
        self, channel: str, thread_ts: str, *, oldest: float | str | None = None
    ) -> list[dict[str, Any]]:
        """The app's own messages among a thread's, oldest first."""
        me = await self._api.auth()
        messages = await self.replies(channel, thread_ts, oldest=oldest)
        return [message for message in messages if message.get("bot_id") == me.bot_id]

    async def history(self, channel: str, *, oldest: float | str | None = None) -> list[dict[str, Any]]:
        """A channel's top-level messages with their metadata, newest first."""
        pages = self._api.pages(
            "conversations.history",
            partial(
                self._api.web.conversations_history,
                channel=channel,
                oldest=_slack_time(oldest),
                include_all_metadata=True,
            ),
        )
        return [message async for page in pages for message in page.get("messages") or ()]

    async def count_since(self, channel: str, ts: str, *, limit: int) -> int:
        """How many top-level messages of a channel are newer than this one, at most `limit`."""
        answer = await self._api.call(
            "conversations.history",
            partial(self._api.web.conversations_history, channel=channel, oldest=ts, limit=limit),
        )
        return len(answer.get("messages") or ())

    async def pin(self, channel: str, ts: str) -> None:
        """Pin a message. Nothing happens if it is pinned already."""
        try:
            await self._api.call("pins.add", partial(self._api.web.pins_add, channel=channel, timestamp=ts))
        except SlackRefused as refusal:
            if refusal.error != "already_pinned":
                raise

    async def permalink(self, channel: str, ts: str) -> str:
        """Ask Slack for the permalink of a message."""
        answer = await self._api.call(
            "chat.getPermalink", partial(self._api.web.chat_getPermalink, channel=channel, message_ts=ts)
        )
        return read_text(answer, "permalink")

    async def address(self, channel: str, ts: str | None) -> str:
        """The URL of a message, in the form of all Slack links to messages. Without a `ts`, the URL of the channel.

        Slack is not asked, so this works for a message that was posted a moment ago.
        """
        place = f"{(await self._api.auth()).url}archives/{channel}"
        return f"{place}/p{ts.replace('.', '')}" if ts else place


def to_json(blocks: Sequence[Block] | None) -> list[dict[str, Any]] | None:
    return None if blocks is None else [dict(block) for block in blocks]


def _slack_time(time: float | str | None) -> str | None:
    return f"{time:.6f}" if isinstance(time, float | int) else time
