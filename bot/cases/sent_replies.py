"""What people sent the customer from a dialog: a line under the card stands for it, with the button that changes it.

A reply has the name of its dialog, such as `saved/7`. The number is that of the submission in the inbox.
"""

from dataclasses import dataclass

from bot.cases.messages import CaseMessages
from bot.language.sentences import language_for
from bot.slack.mrkdwn import from_slack
from bot.store import inbox, outbox
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.outbox import OutboxRow


@dataclass(frozen=True, slots=True)
class SentReply:
    """A reply that the customer reads, or soon will."""

    author: str
    """The Slack id of the person who sent it."""
    copy: OutboxRow
    """The post in the customer's thread."""
    line: OutboxRow
    """The line under the card."""
    words: str
    """The words that the customer reads now."""


async def sent_reply(tx: Transaction, messages: CaseMessages, case: Case, name: str) -> SentReply | None:
    """The reply with this name. None if the case has none, Slack refused it, or it was taken back."""
    copy, line = await outbox.by_key(tx, sent_key(name)), await outbox.by_key(tx, line_key(name))
    if copy is None or line is None or copy.case_id != case.id:
        return None
    shown = (await outbox.standing(tx, case.id, copy.channel, copy.lane)).get(copy.key)
    if shown is None:
        return None
    author, _ = await inbox.origin_of(tx, _number(name))
    mark = messages.sentences.say(language_for(case.language), "edited_mark")
    text = str(shown["text"]).partition("\n")[2].removesuffix(f" _{mark}_")
    return SentReply(author.rpartition("/")[2], copy, line, from_slack(text, bot_user=""))


def sent_key(name: str) -> str:
    """The outbox key of the customer's copy."""
    return f"relay/{name}"


def line_key(name: str) -> str:
    """The outbox key of the line under the card."""
    return f"{sent_key(name)}/line"


def _number(name: str) -> int:
    """The number of the submission. 0 if there is none, which no row has."""
    number = name.rpartition("/")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 12 else 0
