"""Handover requests: the author of a message, or staff for them, call a person through a shortcut.

The message may not have been addressed to us. Its words are read from Slack when the request is carried out, and from
then on they are stored like those of any other message of a conversation.
"""

from dataclasses import dataclass
from typing import Any

from bot.cases.cases import Cases
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.desk.identity import Identities
from bot.language.sentences import Sentences
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused
from bot.slack.api.transport import Identity
from bot.store import cases, inbox, threads, turns
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from bot.turns.message_body import said

CALL_OVER = "case.escalate"
"""The callback_id of the shortcut."""
NOT_HERE = frozenset({"not_in_channel", "channel_not_found", "missing_scope", "thread_not_found"})
"""Slack's errors that say that the app cannot read there."""
NOBODY = "Nobody of the customers wrote this message, so there is no one to open a case for."


async def open_before(database: Database, interaction: InboxItem) -> Case | None:
    """Return the thread's open case, unless this very interaction may have opened it."""
    async with database.transaction() as tx:
        case = await cases.find_open(tx, interaction.thread)
    return case if case and case.opened_at < interaction.received_at else None


@dataclass(frozen=True, slots=True)
class HandoverRequests:
    """Opens the case. `bot.app` puts the parts together."""

    me: Identity
    database: Database
    chat: Chat
    directory: Directory
    clock: Clock
    sentences: Sentences
    identities: Identities
    cases: Cases

    async def carry_out(self, item: InboxItem) -> str:
        """Open the case, or tell the person who asked why not. Return how it ended, in one stable word."""
        try:
            message = await self._message(item.thread, item.interaction.message_ts)
        except SlackRefused as refusal:
            if refusal.error not in NOT_HERE:
                raise
            await self._tell(item, await self._say(item, "not_in_channel"))
            return "not_in_channel"
        customer = await self._customer_of(item.thread, message)
        if customer is None or item.thread.channel in self.cases.team_channels:
            await self._tell(item, NOBODY if item.interaction.by_staff else await self._say(item, "not_yours"))
            return "nobody"
        if customer.user != item.author and not item.interaction.by_staff:
            await self._tell(item, await self._say(item, "not_yours"))
            return "not_yours"
        if already := await open_before(self.database, item):
            await self._tell_stands(item, already, customer)
            return "already_open"
        await self._keep(item.thread, message, customer)
        by_staff = customer.user != item.author
        reason = "called_by_staff" if by_staff else "asked_for_person"
        by = (await self.directory.user(item.author)).display_name if by_staff else ""
        case = await self.cases.open(item.thread, customer, reason=reason, priority="medium", called_by=by)
        if by_staff:
            await self._tell(item, f"{case.ref} is open for <@{customer.user}>.")
        return "pressed"

    async def _message(self, thread: ThreadRef, ts: str) -> dict[str, Any]:
        """Return the message as it is now, empty if it is gone. Raises SlackRefused if the app cannot read there."""
        found = await self.chat.replies(thread.channel, thread.ts)
        return next((message for message in found if message["ts"] == ts), {})

    async def _customer_of(self, thread: ThreadRef, message: dict[str, Any]) -> Customer | None:
        """Return the author, or for our own answer its customer. None for other apps and for a deleted message."""
        user = message.get("user")
        if message.get("bot_id") == self.me.bot_id:
            async with self.database.transaction() as tx:
                user = await turns.latest_customer(tx, thread)
        elif message.get("bot_id"):
            return None
        return await self.identities.identify(user) if user else None

    async def _keep(self, thread: ThreadRef, message: dict[str, Any], customer: Customer) -> None:
        """Store the message as part of the conversation, unless it is stored already or is our own."""
        if message.get("user") != customer.user:
            return
        body = said(message, self.me)
        arrival = Arrival(
            event_id=f"called/{thread.channel}/{message['ts']}",
            kind="message",
            thread=thread,
            ts=message["ts"],
            author=customer.user,
            author_team=customer.team,
            body=body,
            addressed=True,
        )
        async with self.database.transaction() as tx:
            await threads.add_thread(tx, thread, now=self.clock.now())
            known = await threads.find_thread(tx, thread)
            if known is None or not known.language:
                # Until now no one has written to us there.
                language = self.sentences.language_of(body.text, customer.locale)
                await threads.set_language(tx, thread, language)
            await inbox.insert(tx, arrival, now=self.clock.now(), state="done", reason="escalated")

    async def _tell_stands(self, item: InboxItem, case: Case, customer: Customer) -> None:
        if customer.user == item.author:
            await self.cases.status.tell_customer(case, item.thread, customer)
        else:
            await self._tell(item, f"{case.ref} is already open.")

    async def _say(self, item: InboxItem, key: str) -> str:
        locale = await self.identities.locale(await self.directory.user(item.author))
        return self.sentences.say(self.sentences.language_for(locale), key)

    async def _tell(self, item: InboxItem, words: str) -> None:
        """Answer so that only the person who asked sees it. The app itself may not be in the channel."""
        await self.chat.respond(item.interaction.response_url, text=words)
