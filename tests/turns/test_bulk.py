"""Several cases changed at once, over a real database and a local Slack: each by its own step, none of them twice."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from bot.cases.bulk import MOST, Bulk, BulkChange, What, read_what
from bot.cases.cases import Cases
from bot.store import cases as case_rows
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.schema import audit
from bot.views import dialogs
from local_slack.blocks import view_faults
from tests.doubles.local_slack import LocalSlack
from tests.store.rows import a_case
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B
from tests.turns.test_tags import DESK, Tagging


class Desk(Tagging):
    """A desk with cases in several threads of one customer."""

    async def opens_some(self, number: int) -> list[Case]:
        """So many cases."""
        return [await self.opens() for _ in range(number)]

    async def changes(self, what: What, cases: list[Case], user: str = AGENT_A, **inputs: Any) -> str:
        """Submit the last dialog for the cases as they were seen; what the person alone reads then."""
        await self.submits("submit.cases", seen(what, cases), user, **inputs)
        return str(self.ephemerals(user)[-1]["text"])

    async def states(self, cases: list[Case]) -> list[str]:
        """How the cases are now."""
        return [(await self.cases.find(case.ref)).state for case in cases]

    async def audited(self, action: str) -> list[tuple[str, str]]:
        """Who did it with which case, by the audit trail."""
        async with self.database.transaction() as tx:
            rows = (await tx.execute(select(audit).where(audit.c.action == action).order_by(audit.c.id))).all()
        return [(row.actor, row.subject) for row in rows]


class Killed(BaseException):
    """The process is killed."""


def seen(what: What, cases: list[Case]) -> str:
    """The change of the cases as they were seen."""
    return str(BulkChange(what, {case.ref: case.version for case in cases}))


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


async def test_each_case_is_closed_as_spam_by_its_own_step_and_what_has_changed_is_left(desk: Desk) -> None:
    first, second, third = await desk.opens_some(3)
    await desk.cases.claim(second.ref, AGENT_B)
    told = await desk.changes("spam", [first, second, third])
    assert told == f"Closed as spam: {first.ref}, {third.ref}. Left as they are: {second.ref} (changed meanwhile)."
    assert await desk.states([first, second, third]) == ["closed", "human", "closed"]
    assert await desk.audited("case.spam") == [(AGENT_A, first.ref), (AGENT_A, third.ref)]
    assert sum("without a reply" in text for text in desk.slack.texts("D0CUSTOMERA")) == 2


async def test_claimed_cases_are_resolved_and_others_are_left(desk: Desk) -> None:
    claimed, waiting = await desk.opens_some(2)
    claimed = await desk.cases.claim(claimed.ref, AGENT_B)
    told = await desk.changes("resolve", [claimed, waiting], outcome="solved", cause="payment")
    assert told == f"Resolved: {claimed.ref}. Left as they are: {waiting.ref} (not claimed)."
    resolved = await desk.cases.find(claimed.ref)
    assert (resolved.state, resolved.outcome, resolved.cause) == ("resolved", "solved", "payment")


async def test_cases_are_assigned_to_a_colleague_of_the_desk_alone(desk: Desk) -> None:
    cases = await desk.opens_some(2)
    assert "isn't on the desk's team" in await desk.changes("assign", cases, person="U0CUSTOMERB")
    assert await desk.changes("assign", cases, person=AGENT_B) == f"Assigned: {cases[0].ref}, {cases[1].ref}."
    assert {(await desk.cases.find(case.ref)).owner for case in cases} == {AGENT_B}


async def test_tags_are_added_to_those_that_a_case_has(desk: Desk) -> None:
    first, second = await desk.opens_some(2)
    first = await desk.cases.tag(first.ref, AGENT_B, ["vip"])
    await desk.changes("tag", [first, second], tags=["refund", "gone"])
    assert [(await desk.cases.find(case.ref)).tags for case in (first, second)] == [("vip", "refund"), ("refund",)]


async def test_cases_are_merged_into_the_one_that_is_chosen(desk: Desk) -> None:
    first, second, third = await desk.opens_some(3)
    told = await desk.changes("merge", [first, second, third], into=second.ref)
    assert told == f"Merged into {second.ref}: {first.ref}, {third.ref}."
    assert await desk.states([first, second, third]) == ["merged", "waiting", "merged"]


async def test_a_kill_between_two_cases_leaves_the_rest_to_the_next_attempt_and_nothing_happens_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = await desk.opens_some(4)
    spam, made = Cases.mark_spam, list[str]()

    async def killed(self: Cases, ref: str, user: str, *, version: int | None = None) -> Case:
        if len(made) == 2:
            raise Killed
        made.append(ref)
        return await spam(self, ref, user, version=version)

    item = await desk.begins(desk.submission("submit.cases", seen("spam", cases), AGENT_A))
    monkeypatch.setattr(Cases, "mark_spam", killed)
    with pytest.raises(Killed):
        await desk.interactions.carry_out(item)
    monkeypatch.setattr(Cases, "mark_spam", spam)
    assert await desk.states(cases) == ["closed", "closed", "waiting", "waiting"]
    assert await desk.interactions.carry_out(replace(item, fence=2)) == "changed"
    await desk.delivers()
    assert await desk.states(cases) == ["closed"] * 4
    assert await desk.audited("case.spam") == [(AGENT_A, case.ref) for case in cases]
    assert str(desk.ephemerals(AGENT_A)[-1]["text"]) == f"Closed as spam: {', '.join(case.ref for case in cases)}."


async def test_cases_of_another_desk_are_never_changed(desk: Desk) -> None:
    (case,) = await desk.opens_some(1)
    async with desk.database.transaction() as tx:
        moved = await case_rows.change(tx, case, replace(case, desk="C0BILLING"))
    assert moved is not None
    staff = desk.queue.staff
    staff.channels = frozenset({"C0AGENTS", "C0BILLING"})
    assert await Bulk(desk.cases, desk.assignment, staff).listed([case.id], user=AGENT_A) == []
    assert "not at one of your desks" in await desk.changes("spam", [moved])
    assert await desk.states([case]) == ["waiting"]


@pytest.mark.parametrize(
    "text", ["", "spam", "spam FD-1", "spam FD-1001/x", "erase FD-1001/1", "spam" + " FD-1001/1" * (MOST + 1)]
)
def test_a_change_that_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="one of ours"):
        BulkChange.of(text)


def test_the_dialogs_are_what_slack_accepts_and_offer_what_the_code_knows() -> None:
    cases = [a_case(id=number, title="t" * 160) for number in range(999_999_998_980, 999_999_999_000)]
    left = {case.ref: "no longer open" for case in cases}
    views = [dialogs.choose_cases(cases, has_tags=True, about="about")]
    views += [dialogs.change_cases(what, cases, left=left, desk=DESK, about="about") for what in dialogs.BULK]
    assert [faults for view in views if (faults := view_faults(view))] == []
    assert all(read_what(what) == what for what in dialogs.BULK)
    change = BulkChange("spam", {case.ref: case.version for case in cases})
    assert BulkChange.of(str(change)) == change
