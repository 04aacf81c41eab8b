"""Saved replies: texts of the desk file whose placeholders are filled in, and that a person edits and sends.

fill_in    the text for a case and a person
unfilled   the placeholders that are left for the person
"""

from bot.cases.titles import ORDER_NUMBER
from bot.desk_file.model import PLACEHOLDER, PLACEHOLDERS, SavedReply
from bot.language.matching import unquoted
from bot.language.sentences import language_for
from bot.store import transcripts
from bot.store.cases import Case
from bot.store.database import Transaction


async def fill_in(tx: Transaction, reply: SavedReply, case: Case, *, person: str) -> str:
    """The reply in the customer's language, as `person` sends it. A placeholder that nothing is known for stays.

    The order is the one that the customer named last in the case's thread. A title or a summary can be a model's words.
    """
    lines = await transcripts.of_thread(tx, case.thread)
    known = {
        "customer": case.customer_name,
        "order": _named_last([line.text for line in lines if line.speaker == case.customer]),
        "person": person,
    }
    # In one go, so that a name cannot bring in a placeholder of its own.
    return PLACEHOLDER.sub(lambda found: known.get(found[1]) or found[0], reply.words(language_for(case.language)))


def unfilled(text: str) -> list[str]:
    """The placeholders that are in the text, each once."""
    return [name for name in PLACEHOLDERS if name in PLACEHOLDER.findall(text)]


def _named_last(messages: list[str]) -> str:
    named = [number for message in messages for number in ORDER_NUMBER.findall(unquoted(message))]
    return named[-1] if named else ""
