"""Several cases at once: the same single step for each, as far as it still fits. What has changed meanwhile is left.

Bulk        the cases that a person may change, and the step for each of them
BulkChange  what is to be done with which cases, as a dialog holds it
why_not     why a case is left, before anything happens
is_so       whether a case is as wanted already

Each case is a step of its own, with its own row in the audit trail. When a process is killed between two cases, the
interaction is repeated: what is done already is not done again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from bot.cases.assignment import Assignment, NotAtDesk
from bot.cases.case import MovedOn
from bot.cases.cases import Cases
from bot.cases.staff import Staff
from bot.cases.step import UnknownCase
from bot.store import cases as case_rows
from bot.store.cases import MERGED, Case, id_of

MOST = 20
"""The cases that can be changed at once."""
What = Literal["spam", "resolve", "assign", "tag", "merge"]
"""What can be done with several cases."""

_ITEM = re.compile(r"(FD-[1-9][0-9]{0,11})/([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What a person wants to do with some cases. A dialog holds it, so nothing in it is trusted."""

    what: What
    versions: Mapping[str, int]
    """Case -> its version when the person saw how many cases there are. One that has changed since is left."""

    def __str__(self) -> str:
        return " ".join([self.what, *(f"{ref}/{version}" for ref, version in self.versions.items())])

    @classmethod
    def of(cls, text: str) -> "BulkChange":
        """Parse the result of `str`. Raises ValueError if the text has another form."""
        name, *items = text.split(" ")
        what, found = read_what(name), [_ITEM.fullmatch(item) for item in items[: MOST + 1]]
        if what is None or not 0 < len(found) <= MOST or None in found:
            raise ValueError("the change is not one of ours")
        return cls(what, {each[1]: int(each[2]) for each in found if each})


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What came of it."""

    done: Sequence[str]
    """The cases that are as the person wants them."""
    left: Mapping[str, str] = field(default_factory=dict)
    """Case -> why nothing was done with it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person has chosen for all of the cases."""

    outcome: str = "other"
    cause: str = ""
    person: str = ""
    tags: tuple[str, ...] = ()
    into: str = ""
    """The case that the others are merged into."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """Changes several cases."""

    cases: Cases
    assignment: Assignment
    staff: Staff

    async def listed(self, ids: Collection[int], *, user: str) -> list[Case]:
        """Those of the cases that are at a desk of the user, in the order of the ids. At most MOST."""
        desks = await self.staff.desks(user)
        async with self.cases.stepping.database.reading() as tx:
            found = {case.id: case for case in await case_rows.find_all(tx, list(ids)[:MOST])}
        return [found[each] for each in ids if each in found and desks.have(found[each])]

    async def carry_out(self, change: BulkChange, wanted: Wanted, *, user: str) -> BulkResult:
        """Do it with one case after the other. Each one that is as wanted already counts as done."""
        ids = [case_id for ref in change.versions if (case_id := id_of(ref)) is not None]
        theirs = {case.ref: case for case in await self.listed(ids, user=user)}
        done, left = list[str](), dict[str, str]()
        others = {ref: version for ref, version in change.versions.items() if ref != wanted.into}
        for ref, version in others.items():
            case = theirs.get(ref)
            if case is None or (wanted.into and wanted.into not in theirs):
                left[ref] = "not at one of your desks"
            elif not is_so(case, change.what, wanted) and (
                why := await self._change(case, change.what, wanted, user=user, version=version)
            ):
                left[ref] = why
            else:
                done.append(ref)
        return BulkResult(done, left)

    async def _change(self, case: Case, what: What, wanted: Wanted, *, user: str, version: int) -> str:
        """Make the step of one case. Returns why it was left. Empty if it was made."""
        if case.version != version:
            return "changed meanwhile"
        if why := why_not(case, what):
            return why
        ref = case.ref
        try:
            match what:
                case "spam":
                    await self.cases.mark_spam(ref, user, version=version)
                case "resolve":
                    await self.cases.resolve(ref, user, outcome=wanted.outcome, cause=wanted.cause, version=version)
                case "assign":
                    await self.assignment.assign(ref, user, to=wanted.person, version=version)
                case "tag":
                    await self.cases.tag(ref, user, {*case.tags, *wanted.tags}, version=version)
                case "merge":
                    await self.cases.merge(ref, user, into=wanted.into, version=version)
        except MovedOn:
            return "changed meanwhile"
        except NotAtDesk:
            return "the person isn't on the desk's team"
        except UnknownCase:
            return "another customer's, or less private than the other case"
        return ""


def read_what(value: object) -> What | None:
    """What was chosen. None if it is nothing of that."""
    return next((what for what in get_args(What) if what == value), None)


def why_not(case: Case, what: What) -> str:
    """Why it cannot be done with the case as it is. Empty if it can."""
    if not case.is_open:
        return "no longer open"
    return "not claimed" if what == "resolve" and case.waits else ""


def is_so(case: Case, what: What, wanted: Wanted) -> bool:
    """Whether the case is as the person wants it already."""
    match what:
        case "spam":
            return case.state == "closed" and case.outcome == "spam"
        case "resolve":
            return case.state == "resolved" and case.outcome == wanted.outcome
        case "assign":
            return case.is_with(wanted.person)
        case "tag":
            return case.is_open and set(wanted.tags) <= set(case.tags)
        case "merge":
            return case.state == MERGED and case.merged_into == id_of(wanted.into)
