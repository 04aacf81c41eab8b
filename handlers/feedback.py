"""Feedback: "Helpful" or not under an answer and why not, and the CSAT score (1 to 5) of a case and what went wrong.

A later press replaces an earlier one; of a score, for an hour.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial

from slack_bolt.async_app import AsyncApp

from bot.cases.dialogs import why_not_opened
from bot.cases.scoring import Outcome
from bot.language.sentences import language_for
from bot.slack.api.errors import SlackRefused
from bot.store import audit
from bot.views import score_cards
from bot.views.cards import WHY_NOT, ask_why
from bot.views.dialogs import filled_in
from handlers.actions import chosen
from handlers.desk import Desk
from handlers.payloads import Action, BlockActions, Malformed, ViewSubmission

_VERDICT = re.compile(r"([0-9]{1,12})/(up|down)")
_REASON = re.compile(rf"([0-9]{{1,12}})/({'|'.join(WHY_NOT)})")
_SCORE = re.compile(rf"(FD-[0-9]{{1,12}})/([1-5]|{'|'.join(score_cards.REASONS)})")
_CASE = re.compile(r"FD-[0-9]{1,12}")

Ack = Callable[[], Awaitable[None]]
AckWith = Callable[..., Awaitable[None]]
"""An acknowledgement that can show what is wrong with a dialog."""


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

    @app.action(re.compile(rf"csat\.([1-5]|{'|'.join(score_cards.REASONS)})"))
    async def score_case(ack: Ack, body: BlockActions, action: Action) -> None:
        (ref, said), user = _read(_SCORE, action), body["user"]["id"]
        scoring = desk.cases.scoring
        if said in score_cards.REASONS:
            outcome = await scoring.explain(ref, user, reason=said)
        else:
            outcome = await scoring.give(ref, user, int(said))
        await ack()
        await _tell(desk, body, ref, outcome)

    @app.action("csat.words")
    async def ask_for_words(ack: Ack, body: BlockActions, action: Action) -> None:
        await ack()
        ref, user = chosen(action), body["user"]["id"]
        case = await desk.cases.scoring.theirs(ref, user)
        if case is None:
            await _tell(desk, body, ref, "not_yours")
            return
        say = partial(desk.sentences.say, language_for(case.language))
        try:
            await desk.views.open(body["trigger_id"], score_cards.words(say, case))
        except SlackRefused as refusal:
            if why_not_opened(refusal):
                await desk.chat.respond(body.get("response_url") or "", text=say("score_again"))

    @app.view("submit.csat")
    async def explain(ack: AckWith, body: ViewSubmission) -> None:
        ref = body["view"].get("private_metadata") or ""
        if not _CASE.fullmatch(ref):
            raise Malformed("view_submission", "view.private_metadata is none of ours")
        user, words = body["user"]["id"], filled_in(body["view"]["state"]["values"]).get(score_cards.WORDS)
        if not str(words or "").strip():
            await ack(response_action="errors", errors={score_cards.WORDS: await desk.words(user, "score_why")})
            return
        await desk.cases.scoring.explain(ref, user, words=str(words))
        await ack()


def _read(pattern: re.Pattern[str], action: Action) -> tuple[str, str]:
    """Return what is rated, and the rating. Raises Malformed for a value that no button of ours has."""
    found = pattern.fullmatch(chosen(action))
    if found is None:
        raise Malformed("block_actions", "actions.value is none of ours")
    return found[1], found[2]


async def _tell(desk: Desk, body: BlockActions, ref: str, outcome: Outcome) -> None:
    """Tell the person who pressed why nothing was stored, or how the case is now if it is no longer solved."""
    user = body["user"]["id"]
    words = await _answer(desk, ref, user, outcome)
    if words and await desk.is_first(body["trigger_id"], user=user):
        await desk.chat.respond(body.get("response_url") or "", text=words)


async def _answer(desk: Desk, ref: str, user: str, outcome: Outcome) -> str:
    language = await desk.language(user)
    match outcome:
        case "noted":
            return await desk.cases.status.since(ref, language)
        case "too_late":
            case = await desk.cases.scoring.theirs(ref, user)
            score = case.score if case else None
            return desk.sentences.say(language, "score_final", case=ref, score=str(score.value)) if score else ""
        case _:
            return desk.sentences.say(language, "score_gone" if outcome == "unknown_case" else "not_yours")


async def _keep(desk: Desk, subject: str, person: str, value: str) -> None:
    async with desk.database.transaction() as tx:
        await audit.rate(tx, subject, person, value, now=desk.clock.now())
