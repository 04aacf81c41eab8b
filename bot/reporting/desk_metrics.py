"""The metrics as staff see them in Slack: four numbers with arrows, then cases by topic, person and hour.

show   The metrics of a number of days, as blocks for the Home tab or a message.
cases  The cases behind one of the groups, as a dialog.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.cases.hours import Hours
from bot.clock import Clock
from bot.desk_file.model import DeskFile
from bot.reporting import texts
from bot.reporting.groups import (
    CASES_LISTED,
    NO_PERSON,
    CaseGroup,
    Group,
    Grouping,
    NamedGroups,
    cases_by_hour,
    find_cases,
    name_groups,
    topic_name,
)
from bot.reporting.key_metrics import KeyMetric, key_metrics
from bot.reporting.metrics import report_of
from bot.slack.api.transport import Identity
from bot.slack.blocks import Block, Card, actions, capped, context, one_line, plain, section
from bot.slack.mrkdwn import escape
from bot.store import case_lists
from bot.store.case_lists import Desks
from bot.store.database import Database
from bot.views.queue_cards import line
from bot.views.staff_cards import causes_of

GROUPS_SHOWN = 5
"""The most topics and people that are shown. The menu has more of them."""
GROUPS_LISTED = 30
"""The most topics and people in the menu."""
LINES_A_BLOCK = 10
CASES_BUTTON = "metrics.cases"
LINE = "\n"

NamedCases = Sequence[tuple[str, CaseGroup]]
"""Groups with their names."""


@dataclass(frozen=True, slots=True)
class DeskMetrics:
    """Reads the metrics and the cases behind them."""

    me: Identity
    database: Database
    clock: Clock
    hours: Hours
    desk_file: Callable[[], DeskFile] = DeskFile
    """The desk file in force."""

    async def show(self, days: int, at: Desks, *, in_short: bool = False) -> Card:
        """The metrics of the given number of days, today (UTC) included.

        Open cases and groups are those of the desks `at`. Everything else is the same for all desks.
        """
        report = await report_of(self.database, days=days, now=self.clock.now(), between=self.hours.between)
        async with self.database.reading() as tx:
            open_now = (await case_lists.count_open(tx, user="", at=at)).open
            open_before = await case_lists.count_open_at(tx, report.whole.since, at=at)
        numbers = key_metrics(report, open_now=open_now, open_before=open_before)
        cases = [case for case in report.cases if at.have_desk(case.desk)]
        kinds = name_groups(cases, report.scores, hours=self.hours, topics=causes_of(self.desk_file()))
        blocks = [_numbers(numbers)]
        if cases:
            blocks += [*(_SECTIONS[kind.by](kind.groups) for kind in kinds), actions(_menu(kinds, days))]
        words = f"Last {days} days, compared with the {days} before" if days > 1 else "Today, compared with yesterday"
        blocks.append(context(words))
        if not in_short:
            blocks.append(section("\n".join(filter(None, (texts.mrkdwn(report.whole), texts.charts(report))))))
        return Card(" · ".join(f"{each.name}: {each.value}" for each in numbers), (*blocks,))

    async def cases(self, group: Group, *, at: Desks) -> Block:
        """The newest cases of a group at these desks, as a dialog."""
        async with self.database.reading() as tx:
            found, number = await find_cases(tx, group, at=at, clock=self.clock, hours=self.hours, limit=CASES_LISTED)
            cards = await case_lists.cards(tx, found)
        lines = [line(case, self.me.link_to(*cards[case.id]) if case.id in cards else "") for case in found]
        blocks = [
            section("\n".join(lines[begin : begin + LINES_A_BLOCK])) for begin in range(0, len(lines), LINES_A_BLOCK)
        ]
        if number > len(found):
            blocks.append(context(f"and {number - len(found):,} older"))
        days = "today" if group.days == 1 else f"in the last {group.days} days"
        about = context(f"{self._title(group)}: opened {days}")
        title = plain(f"{number:,} {'case' if number == 1 else 'cases'}")
        return {"type": "modal", "title": title, "close": plain("Close"), "blocks": [about, *blocks]}

    def _title(self, group: Group) -> str:
        match group.by:
            case "person":
                return _mention(group.key)
            case "topic":
                return one_line(topic_name(group.key, causes_of(self.desk_file())), 75)
            case "hour":
                return f"{escape(group.key)}:00"


def _numbers(numbers: Sequence[KeyMetric]) -> Block:
    shown = [
        f"*{each.name}*\n*{each.value}*{f'  {each.change}' if each.change else ''}\n_{each.of}_" for each in numbers
    ]
    return {"type": "section", "fields": [{"type": "mrkdwn", "text": text} for text in shown]}


def _topics(groups: NamedCases) -> Block:
    said = [f"{escape(name)} *{len(each.cases):,}*{_open(each)}" for name, each in groups]
    return section(f"*By topic*\n{_listed(said, ' · ')}")


def _people(groups: NamedCases) -> Block:
    said = [f"{_mention(each.key)} *{len(each.cases):,}*{_open(each)}{_of_person(each)}" for _, each in groups]
    return section(f"*By person*\n{_listed(said, LINE)}")


def _hours(groups: NamedCases) -> Block:
    counts = cases_by_hour(each for _, each in groups)
    most = max(range(len(counts)), key=counts.__getitem__)
    return section(f"*By hour*\n`{texts.bars_of(counts)}` from 0:00 to 24:00, most at {most}:00 (*{counts[most]:,}*)")


_SECTIONS: Mapping[Grouping, Callable[[NamedCases], Block]] = {"topic": _topics, "person": _people, "hour": _hours}


def _menu(kinds: Sequence[NamedGroups], days: int) -> Block:
    listed = [
        {
            "label": plain(f"By {kind.by}"),
            "options": [
                {
                    "text": plain(capped(f"{name} ({len(each.cases):,})", 75)),
                    "value": Group(kind.by, each.key, days).value,
                }
                for name, each in kind.groups[:GROUPS_LISTED]
            ],
        }
        for kind in kinds
    ]
    return {
        "type": "static_select",
        "action_id": CASES_BUTTON,
        "placeholder": plain("Show the cases…"),
        "option_groups": listed,
    }


def _listed(said: Sequence[str], between: str) -> str:
    more = [f"and {len(said) - GROUPS_SHOWN} more"] if len(said) > GROUPS_SHOWN else []
    return between.join([*said[:GROUPS_SHOWN], *more])


def _open(group: CaseGroup) -> str:
    return f" ({group.open:,} open)" if group.open else ""


def _mention(person: str) -> str:
    return f"<@{escape(person)}>" if person else NO_PERSON


def _of_person(group: CaseGroup) -> str:
    reply = f" · first reply {texts.duration(group.time_to_reply.p50)}" if group.time_to_reply.n else ""
    score = f" · CSAT {texts.ratio(group.satisfied, group.scored)}" if group.scored else ""
    return reply + score
