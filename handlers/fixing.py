"""/frontdesk fix and the buttons of the list of things to fix. The server checks each press."""

import logging
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import NO_SUCH_CASE
from bot.cases.step import UnknownCase
from bot.errors import StoreUnavailable
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.store.case_lists import Desks
from bot.views.fix_cards import DONE, WRITE
from handlers.actions import chosen
from handlers.commands import suggesting
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, SlashCommand

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]
UNANSWERED = "The database isn't answering right now. Try again in a minute."
DONE_BEFORE = "That is done already, or nothing is left of it."


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the buttons."""

    @app.action(DONE)
    async def close(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        desk.start(_close(desk, body, chosen(action)))

    @app.action(WRITE)
    async def write(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        desk.start(_write(desk, body, chosen(action)))


async def show_list(desk: Desk, body: SlashCommand, desks: Desks) -> None:
    """Show the lists of the person's desks, and only to them."""
    for channel in sorted(desk.staff.channels):
        if desk.staff.desk_in(channel).theirs <= desks.theirs:
            try:
                card = await desk.fix_lists.card(channel)
            except StoreUnavailable:
                await desk.answer_command(body, UNANSWERED)
                return
            await desk.answer_command(body, card.text, blocks=card.blocks)


async def _close(desk: Desk, body: BlockActions, value: str) -> None:
    """Note that the thing is done, and show the list without it."""
    user, (channel, _, subject) = body["user"]["id"], value.partition("/")
    if not await desk.is_staff_in(channel, user):
        await _tell(desk, body, await desk.words(user, "not_staff"))
        return
    try:
        if not await desk.fix_lists.close(channel, subject, user):
            await _tell(desk, body, DONE_BEFORE)
        if body["container"].get("is_ephemeral"):
            card = await desk.fix_lists.card(channel)
            address = body.get("response_url") or ""
            await desk.chat.respond(address, text=card.text, blocks=card.blocks, replace=True)
        await desk.fix_lists.keep(channel)
    except (SlackRefused, SlackUnanswered, StoreUnavailable) as error:
        logger.warning("a thing to fix could not be closed", extra={"reason": str(error)})
        await _tell(desk, body, UNANSWERED)


async def _write(desk: Desk, body: BlockActions, ref: str) -> None:
    """Have an article suggested from a case of one of the person's desks."""
    user, channel = body["user"]["id"], body["container"].get("channel_id") or ""
    desks = await desk.staff.desks(user)
    if not desks:
        await _tell(desk, body, await desk.words(user, "not_staff"))
        return
    try:
        if desks.have(await desk.cases.find(ref)):
            await desk.inbox.accept(suggesting(desk, ref, user=user, channel=channel, trigger=body["trigger_id"]))
            return
    except UnknownCase:
        pass
    except StoreUnavailable:
        await _tell(desk, body, UNANSWERED)
        return
    await _tell(desk, body, NO_SUCH_CASE)


async def _tell(desk: Desk, body: BlockActions, text: str) -> None:
    """Tell the person who pressed, and nobody else."""
    if not await desk.chat.respond(body.get("response_url") or "", text=text):
        channel = body["container"].get("channel_id")
        if channel:
            await desk.chat.post_ephemeral(channel, body["user"]["id"], text=text, thread_ts=None)
