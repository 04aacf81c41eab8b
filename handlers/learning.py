"""What staff add to the knowledge base in their own words: from a suggestion, or from a message by its shortcut.

Both open the same dialog. Nothing is stored before it is submitted. The submission goes through the inbox.
"""

from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import About, why_not_opened
from bot.conversation import ThreadRef
from bot.help_center.articles import UnknownArticle, status_text
from bot.slack.api.errors import SlackRefused
from bot.slack.api.transport import Block
from bot.turns.interactions.replies import interaction_thread
from bot.views import dialogs
from handlers.actions import read_interaction
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, MessageAction

Ack = Callable[[], Awaitable[None]]
NO_KNOWLEDGE = "There's no knowledge base to add to: KB_PATH isn't set."
ELSEWHERE = "You can only add to the knowledge base from a thread in the support team's channels."
GONE = "Frontdesk can't find this suggestion."


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the button that opens a suggestion, and the shortcut in a message's menu."""

    @app.action("kb.edit")
    async def edit(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        arrival = read_interaction(body, action, team=desk.me.team)
        if not await desk.admits(arrival):
            return
        about = About(arrival.interaction.value, arrival.thread, arrival.interaction.message_ts)
        if told := await _edit(desk, about, body):
            await desk.chat.post_ephemeral(
                arrival.thread.channel, arrival.author, text=told, thread_ts=interaction_thread(arrival)
            )

    @app.shortcut("kb.add")
    async def add(ack: Ack, body: MessageAction) -> None:
        await ack()
        trigger, user, channel = body["trigger_id"], body["user"]["id"], body["channel"]["id"]
        told = await _add(desk, body)
        if told and await desk.is_first(trigger, user=user, channel=channel, reads=True):
            await desk.chat.respond(body.get("response_url") or "", text=told)


async def _edit(desk: Desk, about: About, body: BlockActions) -> str:
    """Open the dialog for a suggestion. If that is not possible, return the sentence that says why."""
    try:
        found = await desk.articles.find(int(about.case))
    except (UnknownArticle, ValueError):
        return GONE
    if found.state != "pending":
        return status_text(found)
    named = About(f"{found.id}/{found.version}", about.thread, about.ts)
    view = dialogs.article(title=found.title, question=found.question, answer=found.answer, about=str(named))
    return await _open(desk, body["trigger_id"], view)


async def _add(desk: Desk, body: MessageAction) -> str:
    """Open the dialog for a message. If that is not possible, return the sentence that says why."""
    channel, user, message = body["channel"]["id"], body["user"]["id"], body["message"]
    thread_ts, ts = message.get("thread_ts"), body["message_ts"]
    if channel not in desk.staff.channels or not thread_ts:
        return ELSEWHERE if await desk.staff.desks(user) else await desk.words(user, "not_staff")
    if not await desk.is_staff_in(channel, user):
        return await desk.words(user, "not_staff")
    if desk.library.source is None:
        return NO_KNOWLEDGE
    thread = ThreadRef(desk.me.team, channel, thread_ts)
    is_copy = message.get("user") == desk.me.user or bool(message.get("bot_id"))
    known = await desk.articles.prefilled(thread, ts, message.get("text") or "", is_copy=is_copy)
    about = str(About(f"message/{ts}", thread, ts))
    view = dialogs.article(title=known.title, question=known.question, answer=known.answer, about=about)
    return await _open(desk, body["trigger_id"], view)


async def _open(desk: Desk, trigger_id: str, view: Block) -> str:
    try:
        await desk.views.open(trigger_id, view)
    except SlackRefused as refusal:
        return why_not_opened(refusal)
    return ""
