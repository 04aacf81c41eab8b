"""Feedback: "Helpful" or not under an answer and why not, and the CSAT score (1 to 5) of a case.

A later press replaces an earlier one.
"""

import re
from collections.abc import Awaitable, Callable

from slack_bolt.async_app import AsyncApp

from bot.store import audit, cases
from bot.views.cards import WHY_NOT, ask_why
from handlers.actions import chosen
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, Malformed

_VERDICT = re.compile(r"([0-9]{1,12})/(up|down)")
_REASON = re.compile(rf"([0-9]{{1,12}})/({'|'.join(WHY_NOT)})")
_SCORE = re.compile(r"(FD-[0-9]{1,12})/([1-5])")

Ack = Callable[[], Awaitable[None]]


def register(app: AsyncApp, desk: Desk) -> None:
    """Attach the feedback buttons and the score."""

    # fb.positive and fb.negative are the plain buttons of workspaces that refuse feedback_buttons.
    @app.action(re.compile(r"fb(\.positive|\.negative)?$"))
    async def rate_answer(ack: Ack, body: BlockActions, action: Action) -> None:
        turn, verdict = _read(_VERDICT, action)
        user = body["user"]["id"]
        await _keep(desk, f"turn/{turn}", user, verdict)
        await ack()
        if verdict == "down" and await desk.is_first(body["trigger_id"], user=user):
            asked = ask_why(desk.sentences, await desk.language(user), ref=turn)
            await desk.chat.respond(body.get("response_url") or "", text=asked.text, blocks=asked.blocks)

    @app.action(re.compile(rf"fb\.({'|'.join(WHY_NOT)})"))
    async def say_why(ack: Ack, body: BlockActions, action: Action) -> None:
        turn, reason = _read(_REASON, action)
        user = body["user"]["id"]
        await _keep(desk, f"turn/{turn}", user, reason)
        await ack()
        thanks = desk.sentences.say(await desk.language(user), "thanks_for_reason")
        await desk.chat.respond(body.get("response_url") or "", text=thanks, replace=True)

    @app.action(re.compile(r"csat\.[1-5]"))
    async def rate_case(ack: Ack, body: BlockActions, action: Action) -> None:
        (ref, score), user = _read(_SCORE, action), body["user"]["id"]
        is_theirs = await _is_customer_of(desk, ref, user)
        if is_theirs:
            await _keep(desk, f"case/{ref}", user, score)
        await ack()
        if await desk.is_first(body["trigger_id"], user=user):
            words = await _thanks(desk, ref, user) if is_theirs else await desk.words(user, "not_yours")
            await desk.chat.respond(body.get("response_url") or "", text=words)


def _read(pattern: re.Pattern[str], action: Action) -> tuple[str, str]:
    """Return what is rated, and the rating. Raises Malformed for a value that no button of ours has."""
    found = pattern.fullmatch(chosen(action))
    if found is None:
        raise Malformed("block_actions", "actions.value is none of ours")
    return found[1], found[2]


async def _is_customer_of(desk: Desk, ref: str, user: str) -> bool:
    """Whether the person is the case's customer, or there is no such case. In a channel, others see its buttons too."""
    case_id = cases.id_of(ref)
    async with desk.database.transaction() as tx:
        case = None if case_id is None else await cases.find(tx, case_id)
    return case is None or case.customer == user


async def _thanks(desk: Desk, ref: str, person: str) -> str:
    """Return the answer to a score. If the case is no longer solved, it includes the status text."""
    language = await desk.language(person)
    return f"{desk.sentences.say(language, 'thanks_for_rating')} {await desk.cases.status.since(ref, language)}".strip()


async def _keep(desk: Desk, subject: str, person: str, value: str) -> None:
    async with desk.database.transaction() as tx:
        await audit.rate(tx, subject, person, value, now=desk.clock.now())
