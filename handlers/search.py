"""The search for cases: the pages of what was found, and the dialog below a desk's queue. Nothing of it is stored."""

import logging
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import About
from bot.errors import StoreUnavailable
from bot.home.search import Place
from bot.home.search_terms import typed_as
from bot.slack.blocks import Card
from bot.store.case_lists import Desks
from bot.views import dialogs, search_cards
from bot.views.dialogs import filled_in
from handlers.actions import chosen, read_interaction
from handlers.desk import Desk
from handlers.dialogs import SEARCH, read_about
from handlers.payloads import Action, BlockActions, Malformed, ViewSubmission

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]
NO_DATABASE = "The database isn't answering right now. Try again in a minute."


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the buttons for pages, and the button and the dialog that ask what to search for."""

    async def turn(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        arrival = read_interaction(body, action, team=desk.me.team)
        channel, user = arrival.thread.channel, arrival.author
        desks = await desk.staff.desks(user)
        if not desks:
            await desk.refuse(channel, user, thread_ts=None)
            return
        card = await found(desk, read_place(chosen(action)), user=user, at=desks, channel=channel)
        address = body.get("response_url") or ""
        if not await desk.chat.respond(address, text=card.text, blocks=card.blocks or None, replace=True):
            await desk.chat.post_ephemeral(channel, user, text=card.text, blocks=card.blocks or None)

    @app.action("queue.search")
    async def ask(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        arrival = read_interaction(body, action, team=desk.me.team)
        if await desk.admits(arrival):
            about = About("search", arrival.thread, arrival.interaction.message_ts)
            view = dialogs.search(about=str(about), tags=desk.overview.desk_file().cases.tags)
            await desk.dialogs.show(about, view, user=arrival.author, trigger_id=body["trigger_id"])

    @app.view(SEARCH)
    async def submit(ack: Ack, body: ViewSubmission) -> None:
        await ack()
        about, user = read_about(body, team=desk.me.team), body["user"]["id"]
        channel, desks = about.thread.channel, await desk.staff.desks(user)
        if not desks:
            await desk.refuse(channel, user, thread_ts=None)
            return
        place = Place(typed_as(filled_in(body["view"]["state"]["values"])))
        card = await found(desk, place, user=user, at=desks, channel=channel)
        await desk.chat.post_ephemeral(channel, user, text=card.text, blocks=card.blocks or None)

    for action_id in (search_cards.NEXT, search_cards.PREVIOUS):
        app.action(action_id)(turn)


async def found(desk: Desk, place: Place, *, user: str, at: Desks, channel: str) -> Card:
    """What the person sees of the cases at these desks."""
    try:
        return await desk.search.page(place, user=user, at=at, chooses=channel in desk.staff.channels)
    except StoreUnavailable as error:
        logger.warning("cases could not be searched", extra={"reason": str(error)})
        return Card(NO_DATABASE, ())


def read_place(value: str) -> Place:
    """Return the page that a button leads to. Raises Malformed if it does not say."""
    try:
        return Place.of(value)
    except ValueError:
        raise Malformed("block_actions", "actions.value is none of ours") from None
