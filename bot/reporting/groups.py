"""Cases of a period in groups, to see where they come from: by topic, by person, and by hour.

name_groups   The groups of cases, each with its name and what it says of them.
group_cases   The groups of one kind.
read_group    The group that the value of a menu names.
find_cases    The cases of a group, for people to look through.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from bot.cases.hours import ALWAYS, Hours
from bot.clock import Clock
from bot.reporting.metrics import SATISFIED, Spread, midnight_before, spread_of
from bot.store import case_lists
from bot.store.case_lists import Desks
from bot.store.cases import Case
from bot.store.database import Transaction
from bot.store.metrics import Opened

Grouping = Literal["topic", "person", "hour"]
"""Cases belong together by what they were about, by the member of staff who has or had them, or by the hour (on the
desk's clock) in which they were opened."""
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
NO_TOPIC, NO_PERSON = "No topic yet", "Unclaimed"
"""The names of the groups of cases without a cause, and without an owner."""
HOURS_A_DAY = 24
CASES_LISTED = 40
"""The most cases of a group that are listed."""
_VALUE = re.compile(r"(topic|person|hour)/(.{0,64})/([1-9][0-9]{0,2})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Group:
    """What a menu names: some of the cases that were opened in a number of days, today (UTC) included."""

    by: Grouping
    key: str
    """A cause, a Slack id, or an hour. Empty for cases without a cause, or without an owner."""
    days: int

    @property
    def value(self) -> str:
        """The value of the group's entry in a menu."""
        return f"{self.by}/{self.key}/{self.days}"


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """The cases of one group."""

    key: str
    """As `Group.key`."""
    name: str
    """The member of staff's name. Empty for topics and hours."""
    cases: Sequence[Opened]
    time_to_reply: Spread
    """From a case's opening to the first message of a person to the customer."""
    scored: int
    satisfied: int
    """How many of the scores are 4 or 5."""

    @property
    def open(self) -> int:
        """The number of cases that are open now."""
        return sum(case.is_open for case in self.cases)


@dataclass(frozen=True, slots=True)
class NamedGroups:
    """The groups of one kind, with their names for a page that no customer sees."""

    by: Grouping
    groups: Sequence[tuple[str, CaseGroup]]

    @property
    def title(self) -> str:
        """The heading."""
        return f"Cases by {self.by}"

    @property
    def head(self) -> str:
        """The heading of the column with the names."""
        return self.by.capitalize()


def name_groups(
    cases: Sequence[Opened], scores: Mapping[int, int], *, hours: Hours, topics: Mapping[str, str]
) -> list[NamedGroups]:
    """The groups of all kinds. `topics` are the words for causes."""
    return [
        NamedGroups(by, [(_name(by, each, topics), each) for each in group_cases(cases, scores, by=by, hours=hours)])
        for by in GROUPINGS
    ]


def topic_name(cause: str, topics: Mapping[str, str]) -> str:
    """The words for a cause."""
    return topics.get(cause, cause) if cause else NO_TOPIC


def _name(by: Grouping, group: CaseGroup, topics: Mapping[str, str]) -> str:
    match by:
        case "topic":
            return topic_name(group.key, topics)
        case "person":
            return " ".join(group.name.split()) or group.key or NO_PERSON
        case "hour":
            return f"{group.key}:00"


def group_cases(
    cases: Iterable[Opened], scores: Mapping[int, int], *, by: Grouping, hours: Hours = ALWAYS
) -> list[CaseGroup]:
    """The groups of the cases: hours in order, others with the most cases first, and those without a key last.

    `scores` are the cases' scores by their ids. `hours` are the desk's hours, which count as waiting.
    """
    found: dict[str, list[Opened]] = {}
    for case in cases:
        found.setdefault(_key(case, by, hours), []).append(case)
    groups = [_group(key, some, scores, by=by, hours=hours) for key, some in found.items()]
    if by == "hour":
        return sorted(groups, key=lambda group: int(group.key))
    return sorted(groups, key=lambda group: (group.key == "", -len(group.cases), group.key))


def cases_by_hour(groups: Iterable[CaseGroup]) -> list[int]:
    """The number of cases of each of the 24 hours."""
    counted = Counter({int(group.key): len(group.cases) for group in groups})
    return [counted[hour] for hour in range(HOURS_A_DAY)]


def read_group(value: str) -> Group | None:
    """The group that a menu's entry names. None if it names none."""
    match = _VALUE.fullmatch(value)
    if match is None:
        return None
    by = next(each for each in GROUPINGS if each == match[1])
    return Group(by, match[2], int(match[3]))


async def find_cases(
    tx: Transaction, group: Group, *, at: Desks, clock: Clock, hours: Hours, limit: int
) -> tuple[list[Case], int]:
    """The newest cases of the group at these desks, and how many there are."""
    since = midnight_before(clock.now(), days=group.days)
    topic, person = (group.key if group.by == by else None for by in ("topic", "person"))
    opened = await case_lists.opened_since(tx, since, at=at, topic=topic, person=person)
    numbers = [number for number, moment in opened.items() if group.by != "hour" or _hour(moment, hours) == group.key]
    return await case_lists.numbered(tx, numbers[:limit]), len(numbers)


def _key(case: Opened, by: Grouping, hours: Hours) -> str:
    match by:
        case "topic":
            return case.cause
        case "person":
            return case.owner
        case "hour":
            return _hour(case.at, hours)


def _hour(moment: float, hours: Hours) -> str:
    return str(hours.local(moment).hour)


def _group(key: str, cases: Sequence[Opened], scores: Mapping[int, int], *, by: Grouping, hours: Hours) -> CaseGroup:
    given = [scores[case.id] for case in cases if case.id in scores]
    return CaseGroup(
        key,
        cases[-1].owner_name if by == "person" else "",
        cases,
        spread_of(hours.between(case.at, case.replied_at) for case in cases if case.replied_at is not None),
        len(given),
        sum(score >= SATISFIED for score in given),
    )
