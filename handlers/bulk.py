"""Several cases at once: the dialogs that ask which cases, what to do, and show how many it is before it happens.

The last of them is stored like a press on a case (handlers/dialogs.py).
"""

import logging
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.cases.bulk import BulkChange, read_what, why_not
from bot.cases.dialogs import About
from bot.errors import StoreUnavailable
from bot.store.cases import id_of
from bot.turns.interactions.replies import is_number
from bot.views import dialogs, queue_cards
from bot.views.dialogs import filled_in
from handlers.actions import chosen, read_interaction
from handlers.desk import Desk
from handlers.dialogs import CHOOSE_CASES, admitted
from handlers.payloads import Action, BlockActions, ViewSubmission

logger = logging.getLogger(__name__)

Ack = Callable[[], Awaitable[None]]
AckWith = Callable[..., Awaitable[None]]
NOTHING_THERE = "None of these cases is at one of your desks any more."
NONE_FITS = "That isn't possible with any of these cases."
NO_DATABASE = "The database isn't answering right now. Try again in a minute."


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the button below a list of cases, and the dialog that it opens."""

    @app.action(queue_cards.CHOOSE)
    async def choose(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        arrival = read_interaction(body, action, team=desk.me.team)
        if not await desk.admits(arrival):
            return
        about = About("bulk", arrival.thread, arrival.interaction.message_ts)
        ids = [int(each) for each in chosen(action).split(" ") if is_number(each)]
        try:
            cases = await desk.bulk.listed(ids, user=arrival.author)
        except StoreUnavailable as error:
            logger.warning("cases could not be listed", extra={"reason": str(error)})
            await desk.dialogs.tell(about, arrival.author, NO_DATABASE)
            return
        if not cases:
            await desk.dialogs.tell(about, arrival.author, NOTHING_THERE)
            return
        has_tags = bool(desk.overview.desk_file().cases.tags)
        view = dialogs.choose_cases(cases, has_tags=has_tags, about=str(about))
        await desk.dialogs.show(about, view, user=arrival.author, trigger_id=body["trigger_id"])

    @app.view(CHOOSE_CASES)
    async def preview(ack: AckWith, body: ViewSubmission) -> None:
        about, user = await admitted(desk, ack, body), body["user"]["id"]
        if about is None:
            return
        fields = filled_in(body["view"]["state"]["values"])
        what, refs = read_what(fields.get("what")), fields.get("cases")
        ids = [each for ref in refs if (each := id_of(ref)) is not None] if isinstance(refs, list) else []
        cases = await desk.bulk.listed(ids, user=user)
        fitting = [case for case in cases if what and not why_not(case, what)]
        if what is None or not fitting:
            await ack(response_action="errors", errors={"what": NONE_FITS})
            return
        change = BulkChange(what, {case.ref: case.version for case in fitting})
        left = {case.ref: why_not(case, what) for case in cases if case not in fitting}
        about = About(str(change), about.thread, about.ts)
        desk_file = desk.overview.desk_file()
        view = dialogs.change_cases(what, fitting, left=left, desk=desk_file, about=str(about))
        await ack(response_action="update", view=view)
