"""How long what is stored is kept, by kind.

words      what people, models and tools wrote in conversations that have ended, and the app's copies of files
records    rows without words, such as who wrote when, the audit trail and what models cost
delivery   rows that only served to deliver something
"""

import re
from dataclasses import dataclass, fields

DELIVERY_LEAST = 2
"""Slack delivers an event again for about an hour, and what was missed during an outage is fetched for a day."""
WORDS_LEAST = 14
"""A solved case can be opened again for a week, and the report looks at a conversation for eight days."""
MOST = 36_500
FORM = "must be days by kind, as words=90,records=400,delivery=7, or 0 to keep everything"


@dataclass(frozen=True, slots=True)
class Retention:
    """Days after which each kind goes. 0: it is kept."""

    words: int = 90
    records: int = 400
    delivery: int = 7

    def __str__(self) -> str:
        return ",".join(f"{each.name}={getattr(self, each.name)}" for each in fields(self))


def read_retention(text: str) -> Retention:
    """Read `words=90,records=400,delivery=7`. A kind that is not named has its default; `0` keeps everything.

    Raises:
        ValueError: with a clause that says what is wrong.
    """
    if text.strip() == "0":
        return Retention(0, 0, 0)
    days: dict[str, int] = {}
    for entry in text.split(","):
        name, equals, number = (part.strip() for part in entry.partition("="))
        known = name in Retention.__slots__ and name not in days
        if not (known and equals and re.fullmatch(r"[0-9]{1,5}", number) and int(number) <= MOST):
            raise ValueError(FORM)
        days[name] = int(number)
    retention = Retention(**days)
    if 0 < retention.words < WORDS_LEAST:
        raise ValueError(f"must keep words for at least {WORDS_LEAST} days: a case can still be opened again")
    if 0 < retention.delivery < DELIVERY_LEAST:
        raise ValueError(f"must keep delivery for at least {DELIVERY_LEAST} days: Slack may deliver again")
    if retention.records and not 0 < retention.words <= retention.records:
        raise ValueError("must keep records at least as long as words: words are in them")
    return retention


def in_words(retention: Retention) -> str:
    """What is kept how long, as a clause."""
    kinds = {"words of ended conversations": retention.words, "records without words": retention.records}
    kinds["rows of deliveries"] = retention.delivery
    return ", ".join(f"{kind} {f'{days} days' if days else 'for good'}" for kind, days in kinds.items())
