"""The messages in the agent channel about articles for the knowledge base, as pure functions that build blocks.

suggestion   A suggested article, with the buttons to decide on it.
decided      The same message after the decision.
added        An article that a person added from a message.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.slack.blocks import Block, Card, actions, button, capped, context, moment, one_line, plain, section
from bot.slack.mrkdwn import escape

REASONS = {
    "single_case": "Helps no one else",
    "wrong": "Not right",
    "covered": "Already in the help pages",
    "private": "Personal or confidential",
}
"""Reason to discard a suggestion -> its words for staff."""
ANSWER_SHOWN = 2_400
"""The most characters of an answer that are quoted."""


@dataclass(frozen=True, slots=True)
class Close:
    """A document whose text is close to the suggestion."""

    document: str
    title: str
    """The document's title for readers."""
    likeness: float
    """How close the document is to the suggestion, from 0 to 1."""
    contradicts: bool
    """Whether a model judges that the document contradicts the suggestion."""
    excerpt: str
    article: int | None = None
    """The number of the article, if the document is one. None for a page that staff maintain elsewhere."""


def suggestion(
    *,
    number: int,
    origin: str,
    link: str = "",
    by: str,
    title: str,
    question: str,
    answer: str,
    close: Close | None,
    has_gaps: bool,
) -> Card:
    """A suggested article. `origin` is the case, and `by` the Slack id of the user who asked for it.

    With a `link`, `origin` is a thread of a channel that can be read there, and `by` is who answered in it. `has_gaps`
    is set if brackets replace personal data.
    """
    source = f"<{link}|{escape(origin)}>, answered by" if link else f"{escape(origin)}, asked for by"
    blocks = [
        section(f"*Add to the knowledge base?*  from {source} <@{by}>"),
        *_article(title, question, answer),
    ]
    if close is not None:
        blocks += _close(close)
    if has_gaps:
        blocks.append(context(":warning: Something personal was replaced by brackets. Edit the article first."))
    blocks.append(
        context(
            "The language model wrote this from the conversation. No one has checked it, and customers will read it."
        )
    )
    buttons = [button("kb.new", "New article", f"{number}", style="" if close and close.article else "primary")]
    if close is not None and close.article is not None:
        buttons.insert(0, button("kb.update", f"Update article {close.article}", f"{number}", style="primary"))
    buttons += [button("kb.edit", "Edit…", f"{number}"), _discard(number)]
    return Card(
        f"Add to the knowledge base? From {escape(origin)}: {one_line(title, 100)}", (*blocks, actions(*buttons))
    )


def decided(*, origin: str, title: str, question: str, answer: str, outcome: str) -> Card:
    """The suggestion after the decision. `outcome` is mrkdwn."""
    head = f"*Knowledge base*  from {escape(origin)}"
    return Card(
        f"{outcome}: {one_line(title, 100)}", (section(head), *_article(title, question, answer), context(outcome))
    )


def added(*, number: int, by: str, at: float, title: str, question: str, answer: str) -> Card:
    """An article that a person made from a message."""
    outcome = approved(number=number, by=by, at=at)
    return Card(outcome, (section("*Knowledge base*"), *_article(title, question, answer), context(outcome)))


def approved(*, number: int, by: str, at: float, instead_of: str = "") -> str:
    """The outcome "approved": the suggestion is now an article with this number, and may replace another one."""
    place = f" in place of article {instead_of}" if instead_of else ""
    when = moment(at, "{date_short_pretty} {time}")
    return (
        f":white_check_mark: *Article {number}*{place}, approved by <@{by}> {when}. "
        f"Customers get answers from it within a minute; `/kb forget {number}` takes it back."
    )


def discarded(*, by: str, reason: str) -> str:
    """The outcome "discarded", with the reason."""
    return f":wastebasket: *Discarded* by <@{by}>: {REASONS.get(reason, escape(reason))}"


def forgotten(*, by: str) -> str:
    """The outcome of an article that was taken back."""
    return f":wastebasket: *Taken back* by <@{by}>: customers no longer get answers from it."


def replaced(*, by: str, number: str) -> str:
    """That another article has taken its place."""
    return f":arrows_counterclockwise: *Replaced* by <@{by}>: article {number} takes its place."


EXPIRED = ":hourglass: *Expired*: no one decided within four weeks."


def _article(title: str, question: str, answer: str) -> Sequence[Block]:
    quoted = "\n".join(f">{line}" for line in escape(capped(answer, ANSWER_SHOWN)).splitlines())
    return section(f"*{one_line(title, 150)}*\n*Q*  {one_line(question, 400)}"), section(quoted or ">…")


def _close(close: Close) -> list[Block]:
    says = ", and it might say otherwise" if close.contradicts else ""
    page = f"*{one_line(close.title, 150)}* ({close.likeness:.2f})"
    words = f":warning: Close to {page}{says}:\n>{one_line(close.excerpt, 300)}"
    if close.article is not None:
        return [section(words)]
    where = f"`{one_line(close.document, 200)}`"
    return [
        section(words),
        context(f"If that page is wrong, change it at its source ({where}). You can't change it from here."),
    ]


def _discard(number: int) -> Block:
    options = [{"text": plain(words), "value": f"{reason}/{number}"} for reason, words in REASONS.items()]
    return {"type": "static_select", "action_id": "kb.discard", "placeholder": plain("Discard…"), "options": options}
