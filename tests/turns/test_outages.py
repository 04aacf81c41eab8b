"""No model answers for a while: cases that nobody claimed go back to the assistant, which answers their questions."""

from typing import Any, cast

import pytest
from sqlalchemy import select, update

from bot.agent.endpoints import TRIP_AFTER, Endpoint, Models
from bot.agent.model import FailureKind, ModelFailure
from bot.cases import step as case_steps
from bot.conversation import ThreadRef
from bot.store import inbox, outages, schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.answers.outages import ModelOutages
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER, build_cases, build_outbox
from tests.turns.arrivals import TEAM, arrival, begin

AGENT, DM, AGENTS = "U0AGENTA", "D0CUSTOMERA", "C0AGENTS"
QUESTION = "Where is my lamp?"


class Desk:
    """Cases, and the outages of one process; another one begins after a kill."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.database, self.slack, self.clock = database, slack, ManualClock()
        self.outbox = build_outbox(database, slack.client, self.clock)
        self.cases = build_cases(database, self.outbox, slack.client, self.clock)
        self.submitted: list[int] = []
        self.probed, self.is_up = 0, False
        self.begins()

    def begins(self) -> None:
        """A process begins."""
        self.models = Models((Endpoint("model-1", cast(Any, None)),))
        self.breaker._now = self.clock.monotonic
        self.outages = ModelOutages(self.cases.stepping, self.models, self.probe, AGENTS)

    @property
    def breaker(self) -> Any:
        """What knows whether the model answers."""
        return self.models.strong[0].breaker

    async def probe(self, endpoint: Endpoint) -> bool:
        """A request that only asks whether the model is back."""
        self.probed += 1
        if self.is_up:
            endpoint.breaker.answered()
        return self.is_up

    def fails(self, kind: FailureKind = "model_unreachable") -> None:
        """So many requests fail that the model counts as away."""
        for _ in range(TRIP_AFTER):
            self.clock.advance(0.01)
            self.breaker.failed(ModelFailure(kind), begun=self.clock.monotonic())

    def is_back(self) -> None:
        """The model answers somebody."""
        self.clock.advance(60.0)
        self.is_up = True
        self.breaker.answered()

    async def leaves_unanswered(self, text: str = QUESTION) -> tuple[Case, InboxItem]:
        """A question that has no answer, so that a person was called."""
        ts = await self.slack.client.chat.post(DM, text=text)
        async with self.database.transaction() as tx:
            item = await begin(tx, arrival(ts, text=text, channel=DM))
        await self.outages.begin()
        thread = ThreadRef(TEAM, DM, ts)
        case = await self.cases.open(thread, CUSTOMER, reason="model_down", priority="medium")
        async with self.database.transaction() as tx:
            await inbox.finish(tx, item.id, "done", reason="failed", now=self.clock.now())
        await send_all(self.outbox, patience=1_000.0)
        return case, item

    async def look(self) -> None:
        """One look, and everything that follows is posted."""
        self.clock.advance(5.0)
        await self.outages.look(lambda row, thread: self.submitted.append(row))
        await send_all(self.outbox, patience=1_000.0)

    async def waiting_rows(self) -> list[InboxItem]:
        """The rows that are to be worked on, in order."""
        async with self.database.transaction() as tx:
            rows = await tx.execute(select(schema.inbox).where(schema.inbox.c.state == "new").order_by("id"))
            return [inbox.item_of(row) for row in rows]

    async def state(self, case: Case) -> str:
        return (await self.cases.find(case.ref)).state

    def notices(self) -> list[str]:
        """What the team reads of outages."""
        posts = [each for _, each in sorted(self.slack.workspace.messages[AGENTS].items()) if "thread_ts" not in each]
        return [text for each in posts if (text := str(each["text"])).startswith((":warning:", ":white_check_mark:"))]


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack)


async def test_cases_of_an_outage_that_nobody_claimed_are_answered_in_order_once_the_model_is_back(desk: Desk) -> None:
    desk.fails()
    (first, asked), (second, _) = await desk.leaves_unanswered(), await desk.leaves_unanswered("And my sofa?")
    (claimed, _) = await desk.leaves_unanswered("And my chair?")
    await desk.cases.claim(claimed.ref, AGENT)
    await desk.look()
    assert (await desk.waiting_rows(), await desk.state(first)) == ([], "waiting"), "the model is still away"
    assert ["can't answer" in text for text in desk.notices()] == [True], "one notice, not one a case"

    desk.is_back()
    await desk.look()
    again = await desk.waiting_rows()
    assert [item.words for item in again] == [QUESTION, "And my sofa?"]
    assert [item.id for item in again] == desk.submitted
    assert (again[0].is_again, again[0].said_at, again[0].edit.answers) == (True, asked.ts, True)
    assert [await desk.state(case) for case in (first, second, claimed)] == ["bot", "bot", "human"]
    (notice,) = desk.notices()
    assert "Cases opened: 3, taken back because no one had claimed them: 2." in notice
    said = [str(each["text"]) for each in desk.slack.workspace.messages[DM].values()]
    assert sum("I'll answer your question myself now" in text for text in said) == 2
    below = [str(each["text"]) for each in desk.slack.workspace.messages[AGENTS].values()]
    assert sum("It answers this question now" in text for text in below) == 2

    await desk.look()
    assert len(await desk.waiting_rows()) == 2, "an outage ends once"


async def test_a_question_that_no_model_answers_twice_stays_with_people(desk: Desk) -> None:
    desk.fails()
    case, _ = await desk.leaves_unanswered()
    desk.is_back()
    await desk.look()
    (again,) = await desk.waiting_rows()
    desk.fails()
    await desk.outages.begin()
    case = await desk.cases.open(case.thread, CUSTOMER, reason="model_down", priority="medium")
    async with desk.database.transaction() as tx:
        await inbox.finish(tx, again.id, "done", reason="failed", now=desk.clock.now())
    desk.is_back()
    await desk.look()
    assert (await desk.waiting_rows(), await desk.state(case)) == ([], "waiting")


async def test_who_has_written_to_the_team_since_is_left_to_the_team(desk: Desk) -> None:
    desk.fails()
    case, _ = await desk.leaves_unanswered()
    more = arrival(f"{desk.clock.now():.6f}", text="It is for a wedding.", channel=DM, thread_ts=case.thread.ts)
    async with desk.database.transaction() as tx:
        row = await inbox.add(tx, more, now=desk.clock.now())
        assert row is not None
    desk.is_back()
    await desk.look()
    assert await desk.state(case) == "waiting", "what becomes of these words is not known yet"
    async with desk.database.transaction() as tx:
        await inbox.finish(tx, row, "done", reason="relayed", now=desk.clock.now())
    await desk.look()
    assert (await desk.waiting_rows(), await desk.state(case)) == ([], "waiting")


async def test_cases_that_stay_with_the_team_hide_no_later_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.turns.answers.outages.MAX_TAKEN_BACK", 2)
    desk.fails()
    kept = [(await desk.leaves_unanswered(f"Question {number}"))[0] for number in range(2)]
    for case in kept:
        more = arrival(f"{desk.clock.now():.6f}", text="It is for a wedding.", channel=DM, thread_ts=case.thread.ts)
        async with desk.database.transaction() as tx:
            row = await inbox.add(tx, more, now=desk.clock.now())
            assert row is not None
            await inbox.finish(tx, row, "done", reason="relayed", now=desk.clock.now())
        desk.clock.advance(1.0)
    later, _ = await desk.leaves_unanswered("And my chair?")
    desk.is_back()
    for _ in range(2):
        await desk.look()
    assert [await desk.state(case) for case in (*kept, later)] == ["waiting", "waiting", "bot"]
    assert ["is over" in text or "again" in text for text in desk.notices()] == [True]


async def test_a_kill_while_a_case_is_taken_back_leaves_it_as_it_was_or_taken_back_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.fails()
    cases = [(await desk.leaves_unanswered(f"Where is lamp {number}?"))[0] for number in range(3)]
    desk.is_back()

    class Killed(BaseException):
        """In place of a signal."""

    for name in ("case_changed", "case_stepped"):

        def kill(passed: str, name: str = name) -> None:
            if passed == name:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(case_steps, "failpoint", kill)
            with pytest.raises(Killed):
                await desk.look()
        states = [await desk.state(case) for case in cases]
        assert states.count("bot") == len(await desk.waiting_rows()) == (name == "case_stepped"), name
        desk.begins()
    await desk.look()
    assert desk.probed == 2, "each new process has asked no model yet"
    assert [await desk.state(case) for case in cases] == ["bot"] * 3
    words = [item.words for item in await desk.waiting_rows()]
    assert words == [f"Where is lamp {number}?" for number in range(3)]


async def test_of_two_processes_one_looks_after_an_outage(desk: Desk) -> None:
    desk.fails()
    await desk.leaves_unanswered()
    desk.is_back()
    desk.clock.advance(5.0)
    async with desk.database.transaction() as tx:
        assert await outages.take(tx, now=desk.clock.now(), then=desk.clock.now() + 60.0)
    await desk.look()
    assert await desk.waiting_rows() == []
    async with desk.database.transaction() as tx:
        await tx.execute(update(schema.schedule).values(due=0.0))
    await desk.look()
    assert len(await desk.waiting_rows()) == 1


@pytest.mark.parametrize("kind", ["unauthorized", "insufficient_quota"])
async def test_a_lasting_fault_is_told_once_and_ends_when_the_model_answers_a_probe(
    desk: Desk, kind: FailureKind
) -> None:
    desk.fails(kind)
    case, _ = await desk.leaves_unanswered()
    await desk.leaves_unanswered("And my sofa?")
    (notice,) = desk.notices()
    assert {"unauthorized": "refuses the key", "insufficient_quota": "is empty"}[kind] in notice
    await desk.look()
    assert desk.probed == 0, "a model that is left alone is not asked either"
    desk.clock.advance(70.0)
    desk.is_up = True
    await desk.look()
    assert (desk.probed, await desk.state(case)) == (1, "bot")
