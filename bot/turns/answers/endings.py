"""How an answer can end. A verdict says what became of the answer, and ENDINGS says what follows from that.

judge        the verdict on an outcome
judge_whole  the verdict on the answers to several questions
ending_of    what follows from a verdict
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bot.agent.loop import Outcome
from bot.desk import policy
from bot.desk.answers import NOT_SURE
from bot.desk.topics import without_marks
from bot.guard.claims import Claim
from bot.guard.values import Value
from bot.turns.answers.reply import Reply

DECLINED = frozenset({"filtered", "refused"})
"""Failures that are no malfunction: the model, or its provider's filter, declines the subject."""

AWAY = frozenset({"model_unreachable", "deadline", "cut", "rate_limited", "unauthorized", "insufficient_quota"})
"""Failures of a model's server, not of this question: the same question is answered once the server is back."""

Verdict = Literal[
    "stands",
    "refused",
    "not_found",
    "pages_down",
    "too_fast",
    "claimed",
    "leaked",
    "shop_down",
    "escalated",
    "failed",
    "stopped",
]
"""What becomes of an answer, in the order of the words:

- stands: it can be sent.
- refused: it is a topic that the assistant does not speak about.
- not_found: nothing supports it.
- pages_down: nothing supports it, because the help pages could not be searched.
- too_fast: nothing supports it, because lookups were refused that came too fast.
- claimed: it claims an action that no tool took, or names a value without a source.
- leaked: it holds a secret or the agents' instructions.
- shop_down: the shop did not answer.
- escalated: a person was called.
- failed: there is no answer.
- stopped: the customer no longer wants one.
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """What follows from a verdict on an answer that is not sent as it is."""

    ended: str
    """How the turn ended, as its row says."""
    sentence: str = ""
    """The key of the sentence that ends the answer. Empty if the words of the agent and of the case say enough."""
    part: str = ""
    """The key of the sentence in place of one of several answers."""
    case: str = ""
    """The reason for which a person is called. Empty if no one is, or if the agent has called a person."""
    reason: str = ""
    """The reason in the turn's row, if the outcome has none."""
    offers_person: bool = False
    """Whether buttons below the sentence offer a person."""
    breaks_off: bool = False
    """Whether the answer breaks off. Then the sentence is said only if some of the answer is shown."""


ENDINGS: Mapping[str, Ending] = {
    "not_found": Ending("no_answer", "no_answer", "part_not_found", offers_person=True),
    "not_found_again": Ending("no_answer", "not_found_again", case="no_answer"),
    "not_sure": Ending("no_answer", "not_sure", "part_not_sure", offers_person=True),
    "pages_down": Ending("failed", "pages_down", "part_pages_down", case="pages_down", reason="pages_down"),
    "shop_down": Ending("failed", "shop_down", "shop_down", case="shop_down", reason="shop_down"),
    "too_fast": Ending("too_fast", "too_fast", "part_too_fast"),
    "claimed": Ending("failed", "claim_withdrawn", "part_withdrawn", case="change", reason="change"),
    "claimed_value": Ending("failed", "value_withdrawn", "part_value_withdrawn", case="change", reason="change"),
    "leaked": Ending("failed", "answer_withheld", "part_withheld", reason="leak"),
    "refused": Ending("answered", reason="refused"),
    "escalated": Ending("escalated"),
    "failed": Ending("failed", "cut_short", "part_failed", case="technical", breaks_off=True),
    "model_down": Ending("failed", "cut_short", "part_failed", case="model_down", breaks_off=True),
    "failed_in_part": Ending("failed", case="technical_part"),
    "declined": Ending("failed", "cut_short", "part_declined", case="declined", breaks_off=True),
}
"""Verdict, or one of its variants -> what follows from it."""


def ending_of(
    verdict: Verdict,
    outcome: Outcome,
    reply: Reply,
    *,
    partly: bool = False,
    is_again: bool = False,
    is_model_away: bool = False,
) -> Ending:
    """Return what follows from any verdict but "stands" and "stopped".

    `partly` says that others of several questions have an answer. `is_again` says that the question before this one
    had no answer either. `is_model_away` says that no model answers anyone.
    """
    match verdict:
        case "claimed" if isinstance(reply.claim, Value):
            return ENDINGS["claimed_value"]
        case "not_found" if is_again:
            return ENDINGS["not_found_again"]
        case "not_found" if reply.evidence.nearest is not None:
            return ENDINGS["not_sure"]
        case "failed" if partly:
            return ENDINGS["failed_in_part"]
        case "failed" if outcome.reason in DECLINED:
            return ENDINGS["declined"]
        case "failed" if is_model_away and outcome.reason in AWAY and not reply.shown:
            return ENDINGS["model_down"]
    return ENDINGS[verdict]


def judge(asked: str, outcome: Outcome, reply: Reply) -> Verdict:
    """Return the verdict on the outcome. A person who was called stays called, whatever failed after that."""
    reply.end(outcome.text)
    if reply.has_person and outcome.ended != "answered":
        return "escalated"
    if reply.writer.stopped or outcome.reason == "halted":
        return "stopped"
    if reply.wants_person:
        return "failed"
    if outcome.ended != "answered":
        return outcome.ended
    if reply.is_dead_end:
        return "shop_down"
    if reply.is_too_fast:
        return "too_fast"
    if reply.leak is not None:
        return "leaked"
    if isinstance(reply.claim, Claim):
        return "claimed"
    if outcome.text.strip() and not without_marks(outcome.text).strip():
        return "refused"
    if NOT_SURE in outcome.text:
        return "pages_down" if reply.evidence.unasked else "not_found"
    found, in_vain = reply.evidence.supports(outcome.text), reply.evidence.searched is False
    is_grounded = policy.is_grounded(outcome.text, asked, evidence=found, searched_in_vain=in_vain)
    if is_grounded:
        # An answer that is not grounded gets "not_found", whatever values it names. So only this one can be "claimed".
        return "stands" if reply.claim is None else "claimed"
    return "pages_down" if reply.evidence.unasked else "not_found"


def judge_whole(verdicts: Sequence[Verdict], *, stopped: bool) -> Verdict:
    """Return the verdict on the whole: the first of the parts' verdicts in the order of gravity."""
    if stopped and "escalated" not in verdicts:
        return "stopped"
    grave: Sequence[Verdict] = (
        *("escalated", "failed", "claimed", "leaked", "shop_down", "pages_down", "stands", "too_fast"),
        *("not_found", "refused"),
    )
    return next((verdict for verdict in grave if verdict in verdicts), "not_found")
