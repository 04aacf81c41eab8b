"""Dialogs: staff press, fill in and submit. A submission goes through the inbox like a press on the same case."""

import asyncio
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.actions.dialogs import ASKING, CHOOSE, PREPARED_KINDS
from bot.cases.buttons import BUTTONS, SUBMISSIONS
from bot.cases.dialogs import CHOOSE_REPLY, About
from bot.conversation import ThreadRef
from bot.store.bodies import InteractionBody
from bot.store.inbox import Arrival
from bot.turns.interactions.case_steps import NOT_AT_DESK, NOT_LATER, not_filled_in, not_to_send, own_time
from bot.turns.interactions.staff import NO_SHOP
from bot.turns.message_body import filled
from bot.views.dialogs import filled_in, waiting
from handlers.desk import Desk
from handlers.payloads import ViewSubmission, parse_about

Ack = Callable[[], Awaitable[None]]
AckWith = Callable[..., Awaitable[None]]
"""An acknowledgement that can show another dialog."""
CHOOSE_CASES = "choose.cases"
"""The dialog in which staff choose several cases. handlers/bulk.py answers it at once."""
SEARCH = "submit.search"
"""The dialog that asks what to search for. handlers/search.py answers it at once."""
SHOP_SECONDS = 1.5
"""How long a dialog waits for the shop before it says to wait. Slack waits three seconds."""


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the dialogs that buttons open."""

    async def store_submission(ack: AckWith, body: ViewSubmission) -> None:
        about = await admitted(desk, ack, body)
        if about is None:
            return
        submission = read_submission(body, about)
        if errors := await _faults(desk, submission):
            await ack(response_action="errors", errors=errors)
            return
        await desk.inbox.accept(submission)
        await ack()

    @app.view(CHOOSE)
    async def choose(ack: AckWith, body: ViewSubmission) -> None:
        about, user = await admitted(desk, ack, body), body["user"]["id"]
        if about is None:
            return
        chosen = filled_in(body["view"]["state"]["values"])
        kind = next((each for each in PREPARED_KINDS if each == chosen.get("kind")), None)
        if desk.change_dialogs is None or kind is None:
            await ack()
            return
        order = str(chosen.get("order", ""))
        second = asyncio.ensure_future(desk.change_dialogs.second(about, user=user, kind=kind, order=order))
        done, _ = await asyncio.wait({second}, timeout=SHOP_SECONDS)
        if not done:
            ref = about.case.partition("/")[0]
            await ack(response_action="update", view=waiting(ref, ASKING, about=str(about)))
            if view := await second:
                await desk.views.update(body["view"]["id"], view)
        elif view := second.result():
            await ack(response_action="update", view=view)
        else:
            await ack()

    @app.view(CHOOSE_REPLY)
    async def choose_reply(ack: AckWith, body: ViewSubmission) -> None:
        about, user = await admitted(desk, ack, body), body["user"]["id"]
        if about is None:
            return
        name = str(filled_in(body["view"]["state"]["values"]).get("reply", ""))
        match await desk.dialogs.reply(about, user=user, name=name):
            case None:
                await ack()
            case str(fault):
                await ack(response_action="errors", errors={"reply": fault})
            case view:
                await ack(response_action="update", view=view)

    for callback_id in SUBMISSIONS - {CHOOSE, CHOOSE_CASES, CHOOSE_REPLY, SEARCH}:
        app.view(callback_id)(store_submission)


async def admitted(desk: Desk, ack: AckWith, body: ViewSubmission) -> About | None:
    """What the dialog is about, if a member of staff submitted it. Anyone else is told that it is only for staff."""
    about, user = read_about(body, team=desk.me.team), body["user"]["id"]
    if await desk.is_staff_in(about.thread.channel, user):
        return about
    await ack()
    await desk.refuse(about.thread.channel, user, thread_ts=None)
    return None


async def open_dialog(desk: Desk, arrival: Arrival, *, trigger_id: str) -> None:
    """Open the button's dialog about a case or about a change of an order, for staff."""
    if await desk.admits(arrival):
        pressed = arrival.interaction
        about = About(pressed.value, arrival.thread, pressed.message_ts)
        opener = desk.opener_of(BUTTONS[pressed.action].dialog)
        if opener is None:
            await desk.dialogs.tell(about, arrival.author, NO_SHOP)
        else:
            await opener.open(pressed.action, about, user=arrival.author, trigger_id=trigger_id)


async def _faults(desk: Desk, submission: Arrival) -> dict[str, str]:
    """What is wrong with what was filled in, by the field, so that the dialog stays open with everything in it."""
    action, fields = submission.interaction.action, submission.interaction.fields
    if action == "submit.later" and fields.get("when") == "own":
        return {"own": NOT_LATER} if own_time(fields, now=desk.clock.now()) is None else {}
    if action in ("submit.saved", "submit.edit"):
        fault = not_to_send if action == "submit.saved" else not_filled_in
        return {"text": told} if (told := fault(str(fields.get("text") or ""))) else {}
    if action == "submit.assign":
        is_theirs = await desk.is_staff_in(submission.thread.channel, str(fields.get("person") or ""))
        return {} if is_theirs else {"person": NOT_AT_DESK}
    return {}


def read_about(body: ViewSubmission, *, team: str) -> About:
    """Return what the submitted dialog is about. Raises Malformed if it does not say."""
    case, channel, thread_ts, ts = parse_about(body["view"].get("private_metadata") or "")
    return About(case, ThreadRef(team, channel, thread_ts), ts)


def read_submission(body: ViewSubmission, about: About) -> Arrival:
    """Return the arrival of a view_submission payload: the dialog's name, and what was filled in."""
    view, user = body["view"], body["user"]
    return Arrival(
        event_id=f"view/{view['id']}",
        kind="interaction",
        thread=about.thread,
        # A submission has no timestamp. Its view is submitted only once, so the view's id serves.
        ts=view["id"],
        author=user["id"],
        author_team=user.get("team_id") or about.thread.team,
        body=InteractionBody(
            view["callback_id"], about.case, about.ts, fields=filled(filled_in(view["state"]["values"]))
        ),
        addressed=True,
    )
