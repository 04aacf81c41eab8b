"""Conversations that the team has answered, as suggested articles are made from them.

of_case         A case's conversation.
ChannelThreads  Threads of public channels, where the team answers without Frontdesk.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage
from bot.cases.staff import Staff
from bot.conversation import ThreadRef
from bot.drafts.drafts import spoken
from bot.help_center.articles import names_of
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused
from bot.slack.api.transport import Identity
from bot.slack.mrkdwn import from_slack, mentioned_in
from bot.store.cases import Case, card_key

MESSAGES = 60
"""The messages of a thread that are read, from its beginning."""
PEOPLE = 40
"""The people in a thread whose names are looked up. A thread that names more is left alone."""
WRITTEN_BY_PEOPLE = (None, "", "thread_broadcast", "file_share", "me_message")
"""The subtypes of messages that a person wrote."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation."""

    key: str
    """Names the conversation and its present words, so that one article is suggested from them."""
    label: str
    """What people call it, such as "FD-1001"."""
    said: Sequence[Message]
    """What people and the assistant said, oldest first."""
    names: Sequence[str]
    """The known names of the people in it."""
    thread: ThreadRef
    customer: str
    """Who asked."""
    desk: str
    """The channel of the team that sees the suggestion."""
    answered_by: str = ""
    """Who of the team said something last in a thread of a channel."""
    case: Case | None = None
    """None for a thread of a channel."""
    link: str = ""
    """Where a thread of a channel can be read."""

    @property
    def is_answered(self) -> bool:
        """Whether a person of the team said something."""
        return any(isinstance(message, StaffMessage) for message in self.said)

    @property
    def parent(self) -> str | None:
        """The outbox key of the post below which the suggestion is shown. None: in the channel itself."""
        return card_key(self.case) if self.case else None


def of_case(case: Case, said: Sequence[Message], *, agent_channel: str) -> Conversation:
    """The conversation of a case, of which `said` is everything. A case has one each time that it is solved."""
    return Conversation(
        key=f"case/{case.id}/{case.reopened}",
        label=case.ref,
        said=spoken(said),
        names=names_of(case, said),
        thread=case.thread,
        customer=case.customer,
        desk=case.stands_in(agent_channel),
        case=case,
    )


@dataclass(frozen=True, slots=True)
class ChannelThreads:
    """Reads threads of public channels."""

    me: Identity
    chat: Chat
    directory: Directory
    staff: Staff
    agent_channel: str

    async def read(self, thread: ThreadRef) -> Conversation | None:
        """The thread as it is now. None if it is gone, or a person of the team or an app began it.

        Raises:
            SlackRefused, SlackUnanswered: Slack does not say who is staff, or not what was said.
        """
        messages = await self._messages(thread)
        if not messages or messages[0].get("ts") != thread.ts or not _is_by_person(messages[0]):
            return None
        if await self.is_staff(str(messages[0]["user"])):
            return None
        people = dict.fromkeys(
            user for message in messages for user in (_author(message), *mentioned_in(_text(message))) if user
        )
        if len(people) > PEOPLE:
            return None
        staff = {user: await self.is_staff(user) for user in people}
        askers = [user for user in dict.fromkeys(map(_author, filter(_is_by_person, messages))) if not staff[user]]
        said = [each for message in messages if (each := self._read(message, staff, askers)) is not None]
        return Conversation(
            key=_key(thread, messages, str(messages[-1].get("ts"))),
            label="a thread",
            said=said,
            # A mention of somebody whose name Slack does not tell still shows their id.
            names=[*[await self._name(user) for user in people], *people],
            thread=thread,
            customer=str(messages[0]["user"]),
            desk=self.agent_channel,
            answered_by=next((user for user in map(_author, reversed(messages)) if user and staff[user]), ""),
            link=await self.chat.permalink(thread.channel, thread.ts),
        )

    async def still_says(self, thread: ThreadRef, key: str) -> bool:
        """Whether the messages from which the conversation with this key was read are there unchanged."""
        messages = await self._messages(thread)
        return bool(messages) and _key(thread, messages, key.split("/")[-2]) == key

    async def is_staff(self, user: str) -> bool:
        """Whether the person is staff at one of the desks. Raises SlackRefused or SlackUnanswered."""
        for channel in sorted(self.staff.channels):
            if await self.staff.surely_includes(user, channel=channel):
                return True
        return False

    async def _messages(self, thread: ThreadRef) -> list[dict[str, Any]]:
        try:
            found = await self.chat.replies(thread.channel, thread.ts)
        except SlackRefused as refusal:
            if refusal.error == "thread_not_found":
                return []
            raise
        return found[:MESSAGES]

    def _read(self, message: Mapping[str, Any], staff: Mapping[str, bool], askers: Sequence[str]) -> Message | None:
        text = from_slack(_text(message), bot_user=self.me.user)
        if not text:
            return None
        if message.get("bot_id") == self.me.bot_id:
            return AgentMessage(text)
        if not _is_by_person(message):
            return None
        user = _author(message)
        if staff[user]:
            return StaffMessage(text, speaker="team")
        return CustomerMessage(text, str(askers.index(user) + 1) if len(askers) > 1 else "")

    async def _name(self, user: str) -> str:
        try:
            return (await self.directory.user(user)).name
        except SlackRefused:
            return ""


def _is_by_person(message: Mapping[str, Any]) -> bool:
    return bool(message.get("user")) and not message.get("bot_id") and message.get("subtype") in WRITTEN_BY_PEOPLE


def _author(message: Mapping[str, Any]) -> str:
    return str(message["user"]) if _is_by_person(message) else ""


def _text(message: Mapping[str, Any]) -> str:
    return str(message.get("text") or "")


def _key(thread: ThreadRef, messages: Sequence[Mapping[str, Any]], latest: str) -> str:
    """The key of the conversation up to the message at `latest`. It changes whenever one of these does."""
    read = [message for message in messages if str(message.get("ts")) <= latest]
    said = "\n".join(f"{message.get('ts')} {_author(message)} {_text(message)!r}" for message in read)
    return f"thread/{thread.key}/{latest}/{hashlib.blake2b(said.encode(), digest_size=8).hexdigest()}"
