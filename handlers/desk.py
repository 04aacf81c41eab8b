"""The parts of Frontdesk that handlers can call. `bot.app` creates them."""

import hashlib
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from bot.actions.dialogs import CHOOSE, DIALOGS, ActionDialogs, ChangeDialogs, Opener
from bot.cases.bulk import Bulk
from bot.cases.cases import Cases
from bot.cases.dialogs import Dialogs
from bot.cases.staff import Staff
from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.desk.identity import Identities
from bot.errors import StoreUnavailable
from bot.help_center.articles import Articles
from bot.help_center.library import Library
from bot.help_center.refreshes import Refreshes
from bot.home.home import Home
from bot.home.search import CaseSearch
from bot.home.staff_commands import Overview
from bot.ingest.inbox import Inbox
from bot.language.languages import Language
from bot.language.sentences import Sentences
from bot.learning.channels import Channels
from bot.learning.fix_lists import FixLists
from bot.reporting.desk_metrics import DeskMetrics
from bot.slack.api.chat import Chat
from bot.slack.api.directory import Directory
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import Block, Identity
from bot.slack.api.views import Views
from bot.store.bodies import InteractionBody
from bot.store.database import Database
from bot.store.inbox import Arrival
from bot.turns.interactions.replies import interaction_thread
from handlers.payloads import SlashCommand


@dataclass(frozen=True, slots=True)
class Desk:
    """The parts of a running Frontdesk that handlers can reach."""

    me: Identity
    """The app's identity in Slack."""
    chat: Chat
    directory: Directory
    views: Views
    database: Database
    clock: Clock
    sentences: Sentences
    inbox: Inbox
    staff: Staff
    cases: Cases
    dialogs: Dialogs
    action_dialogs: ActionDialogs
    change_dialogs: ChangeDialogs | None
    """None without a shop."""
    identities: Identities
    home: Home
    overview: Overview
    metrics: DeskMetrics
    search: CaseSearch
    fix_lists: FixLists
    bulk: Bulk
    library: Library
    refreshes: Refreshes
    articles: Articles
    channels: Channels | None
    """None without a knowledge base."""
    start: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a task that outlives its request. The application owns the task and ends it."""

    async def is_first(self, trigger: str, *, user: str, channel: str = "", reads: bool = False) -> bool:
        """Deduplicate a command, interaction or shortcut that is handled at once. True for the first delivery.

        If nothing can be stored, an interaction that only `reads` counts as the first: two answers are better than
        none.
        """
        name = hashlib.sha256(trigger.encode()).hexdigest()[:32]
        thread = ThreadRef(self.me.team, channel, name)
        body = InteractionBody()
        arrival = Arrival(f"once/{trigger}", "interaction", thread, name, user, self.me.team, body, addressed=False)
        try:
            return await self.inbox.is_first(arrival)
        except StoreUnavailable:
            if not reads:
                raise
            return True

    def opener_of(self, dialog: str) -> Opener | None:
        """What opens a dialog about a case or a change of an order. None if there is no shop."""
        if dialog in DIALOGS:
            return self.action_dialogs
        return self.change_dialogs if dialog == CHOOSE else self.dialogs

    async def is_staff_in(self, channel: str, user: str) -> bool:
        """Whether the user is staff in the channel."""
        return await self.staff.includes(user, channel=channel)

    async def admits(self, interaction: Arrival) -> bool:
        """Whether a member of staff pressed the button. Anyone else is told that it is only for staff."""
        if await self.is_staff_in(interaction.thread.channel, interaction.author):
            return True
        thread_ts = interaction_thread(interaction)
        await self.refuse(interaction.thread.channel, interaction.author, thread_ts=thread_ts)
        return False

    async def refuse(self, channel: str, user: str, *, thread_ts: str | None) -> None:
        """Tell a person who is not staff, in an ephemeral message, that the button is only for staff."""
        await self.chat.post_ephemeral(channel, user, text=await self.words(user, "not_staff"), thread_ts=thread_ts)

    async def words(self, user_id: str, key: str) -> str:
        """Return a sentence in the person's language."""
        return self.sentences.say(await self.language(user_id), key)

    async def language(self, user_id: str) -> Language:
        """Return the language that the person chose, else their profile's. English if neither is known."""
        try:
            locale = await self.identities.locale(await self.directory.user(user_id))
        except (SlackRefused, SlackUnanswered, StoreUnavailable):
            locale = ""
        return self.sentences.language_for(locale)

    async def answer_command(self, body: SlashCommand, text: str, *, blocks: Sequence[Block] | None = None) -> None:
        """Answer a slash command so that only the person sees it, even if its response URL has expired."""
        if not await self.chat.respond(body.get("response_url") or "", text=text, blocks=blocks or None):
            await self.chat.post_ephemeral(body["channel_id"], body["user_id"], text=text, blocks=blocks or None)
