"""The score that a customer gives a case (CSAT): its buttons, the question what went wrong, and what staff read.

buttons    the scores from 1 to 5
marked     the customer's message after they chose one
words      the dialog in which they say what went wrong
on_card    what the card of the case says
for_owner  the line in the case's thread

Button values only name the case and what is chosen.
"""

from collections.abc import Callable, Mapping, Sequence

from bot.slack.blocks import Block, Card, actions, button, capped, context, moment, plain, section
from bot.slack.mrkdwn import escape
from bot.store.cases import Case
from bot.store.scores import Score

LOW = 2
"""The highest score that asks what went wrong."""
CHANGE_SECONDS = 3_600.0
"""How long after the first score the customer can choose another one."""
WORDS_LIMIT = 1_000
"""The most characters of what the customer writes about it."""
REASONS: Mapping[str, str] = {
    "slow": "it took too long",
    "unsolved": "it isn't solved",
    "unclear": "the answer was unclear",
    "unfriendly": "it was unfriendly",
}
"""What went wrong, as the customer says in one press -> the words for staff. The customer reads `score_slow` …."""
WORDS = "words"
"""The id of the dialog's field."""
FACES = {"1": "1 :disappointed:", "5": "5 :star-struck:"}
ADDED = ("score_note", "score_question", "score_reasons")
"""The ids of the blocks that a score adds to the customer's message."""

Say = Callable[..., str]
"""Key and values -> the sentence in the customer's language."""


def buttons(say: Say, case: Case, *, chosen: int = 0) -> list[Block]:
    """The scores from 1 to 5. The one that the customer has `chosen` is marked."""
    made = []
    for score in "12345":
        is_chosen, text = score == str(chosen), FACES.get(score, score)
        made.append(
            button(
                f"csat.{score}",
                f"✓ {text}" if is_chosen else text,
                f"{case.ref}/{score}",
                style="primary" if is_chosen else "",
                label=say("score_chosen", score=score) if is_chosen else say("rating_label", score=score),
            )
        )
    return made


def marked(say: Say, case: Case, score: Score, blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a message with the scores, after the customer has given one. Other blocks stay as they are."""
    if not any(_has_scores(block) for block in blocks):
        return list(blocks)
    shown = []
    for block in blocks:
        if _has_scores(block):
            rest = [each for each in block["elements"] if not _is_score(each)]
            shown.append({**block, "elements": [*buttons(say, case, chosen=score.value), *rest]})
        elif block.get("block_id") not in ADDED:
            shown.append(block)
    return [*shown, *_after(say, case, score)]


def _after(say: Say, case: Case, score: Score) -> list[Block]:
    """What follows a score: thanks, until when it can be changed, and for a low one the question what went wrong."""
    note, question, reasons = ADDED
    is_explained = bool(score.reason or score.words)
    thanks = say("score_heard" if score.value <= LOW and is_explained else "thanks_for_rating")
    until = say("score_until", until=moment(score.given_at + CHANGE_SECONDS, "{time}"))
    shown = [{**context(f"{thanks} {until}"), "block_id": note}]
    if score.value > LOW or is_explained:
        return shown
    why = [button(f"csat.{reason}", say(f"score_{reason}"), f"{case.ref}/{reason}") for reason in REASONS]
    own = button("csat.words", say("score_words"), case.ref)
    return [*shown, {**section(say("score_why")), "block_id": question}, actions(*why, own, block_id=reasons)]


def _has_scores(block: Block) -> bool:
    return block["type"] == "actions" and any(map(_is_score, block["elements"]))


def _is_score(element: Block) -> bool:
    return str(element.get("action_id")) in {f"csat.{score}" for score in "12345"}


def words(say: Say, case: Case) -> Block:
    """The dialog in which the customer says what went wrong, in the field WORDS."""
    element = {"type": "plain_text_input", "action_id": WORDS, "multiline": True, "max_length": WORDS_LIMIT}
    title = capped(say("score_title"), 24)
    return {
        "type": "modal",
        "callback_id": "submit.csat",
        "private_metadata": case.ref,
        "title": plain(title),
        "submit": plain(capped(say("score_send"), 24)),
        "close": plain(capped(say("score_cancel"), 24)),
        "blocks": [{"type": "input", "block_id": WORDS, "label": plain(title), "element": element}],
    }


def on_card(score: Score | None) -> tuple[Block, ...]:
    """What the case's card says about its score, with the customer's words as a quotation. Empty without a score."""
    if score is None:
        return ()
    reason = _reason(score)
    return (section(f":bar_chart: *{score.value} of 5*{' · ' if reason else ''}{reason}{_quoted(score)}"),)


def for_owner(case: Case, score: Score, *, before: Score | None) -> Card:
    """For the case's thread: the customer gave a score, changed it, or said what went wrong. The owner is mentioned.

    `before` is what they had said before.
    """
    person = case.owner or case.last_owner
    to = f"<@{person}> " if person else ""
    if before is None:
        told = f"the customer gave {case.ref} *{score.value} of 5*."
    elif before.value != score.value:
        told = f"the customer now gives {case.ref} *{score.value} of 5*, and gave {before.value} before."
    else:
        told = f"the customer gave {case.ref} *{score.value} of 5* and says why: {_reason(score)}{_quoted(score)}"
    return Card(f"{to}{told}", ())


def _reason(score: Score) -> str:
    return REASONS.get(score.reason, score.reason)


def _quoted(score: Score) -> str:
    """The customer's words as a quotation in mrkdwn, so they can imitate no other part."""
    return "".join(f"\n>{line}" for line in escape(score.words).splitlines())
