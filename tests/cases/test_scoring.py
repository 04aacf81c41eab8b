"""What becomes of a customer's score, in a real database and a local Slack."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from bot.cases.scoring import Outcome, Scoring
from bot.reporting.metrics import report_of
from bot.slack.blocks import mrkdwn_in
from bot.store import schema
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.scores import Score
from bot.views.score_cards import CHANGE_SECONDS
from tests.cases.test_sla import AGENT, HOUR, MINUTE, MONDAY, Desk
from tests.doubles.local_slack import LocalSlack
from tests.turns.answering import CUSTOMER

USER = CUSTOMER.user


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack, None)


async def resolved(desk: Desk) -> Case:
    case = await desk.opens()
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.resolve(case.ref, AGENT)
    await desk.delivers()
    desk.clock.advance(MINUTE)
    return case


async def gives(desk: Desk, case: Case, value: int, *, user: str = USER) -> Outcome:
    outcome = await desk.cases.scoring.give(case.ref, user, value)
    await desk.delivers()
    return outcome


async def stored(desk: Desk) -> list[tuple[str, str, str]]:
    table = schema.feedback.c
    async with desk.database.transaction() as tx:
        return [tuple(row) for row in await tx.execute(select(table.value, table.reason, table.words))]


def asked(desk: Desk) -> list[dict[str, Any]]:
    """The blocks of the message with the scores."""
    shown = [each["blocks"] for each in desk.posts("D0CUSTOMERA") if "csat.1" in str(each.get("blocks"))]
    return list(shown[-1])


def chosen(desk: Desk) -> list[str]:
    """The scores that the customer's message marks."""
    buttons = [each for block in asked(desk) if block["type"] == "actions" for each in block["elements"]]
    return [each["action_id"] for each in buttons if each.get("style") == "primary"]


def card(desk: Desk) -> str:
    return str(desk.posts("C0AGENTS")[0]["blocks"])


def told(desk: Desk) -> list[str]:
    """What the owner was told about the score."""
    return [each["text"] for each in desk.posts("C0AGENTS") if each["text"].startswith(f"<@{AGENT}> the customer")]


async def test_a_score_is_marked_stands_on_the_card_and_reaches_the_owner(desk: Desk) -> None:
    case = await resolved(desk)
    before = mrkdwn_in(desk.posts("C0AGENTS")[0]["blocks"])
    assert await gives(desk, case, 4) == "noted"
    assert chosen(desk) == ["csat.4"]
    assert "case.reopen" in str(asked(desk))
    assert "What went wrong" not in str(asked(desk))
    assert f"^{int(MONDAY + MINUTE + CHANGE_SECONDS)}^" in str(asked(desk)), "until when it can be changed"
    shown = mrkdwn_in(desk.posts("C0AGENTS")[0]["blocks"])
    assert [text for text in shown if text != ":bar_chart: *4 of 5*"] == before, "and nothing else changes"
    assert len(shown) == len(before) + 1
    assert told(desk) == [f"<@{AGENT}> the customer gave FD-1001 *4 of 5*."]


async def test_a_score_can_be_changed_for_an_hour_after_the_first_one_and_no_longer(desk: Desk) -> None:
    case = await resolved(desk)
    assert await gives(desk, case, 5) == "noted"
    desk.clock.advance(CHANGE_SECONDS - 1)
    assert await gives(desk, case, 3) == "noted"
    assert chosen(desk) == ["csat.3"]
    assert told(desk)[1:] == [f"<@{AGENT}> the customer now gives FD-1001 *3 of 5*, and gave 5 before."]
    desk.clock.advance(2)
    assert await gives(desk, case, 5) == "too_late", "the change has not begun another hour"
    assert (await stored(desk), chosen(desk)) == ([("3", "", "")], ["csat.3"])
    assert ":bar_chart: *3 of 5*" in card(desk)
    assert len(told(desk)) == 2


async def test_the_same_score_again_says_nothing_again(desk: Desk) -> None:
    case = await resolved(desk)
    for _ in range(3):
        assert await gives(desk, case, 2) == "noted"
    assert len(told(desk)) == 1
    version = (await desk.now(case)).version
    outcomes = await asyncio.gather(*(desk.cases.scoring.give(case.ref, USER, 2) for _ in range(5)))
    assert set(outcomes) == {"noted"}
    assert (await desk.now(case)).version == version


@pytest.mark.parametrize("value", [1, 2])
async def test_a_low_score_asks_what_went_wrong_and_the_answer_reaches_the_owner(desk: Desk, value: int) -> None:
    case = await resolved(desk)
    await gives(desk, case, value)
    assert "What went wrong?" in str(asked(desk))
    assert {"csat.slow", "csat.unsolved", "csat.unclear", "csat.unfriendly", "csat.words"} <= {
        each["action_id"] for block in asked(desk) if block["type"] == "actions" for each in block["elements"]
    }
    assert await desk.cases.scoring.explain(case.ref, USER, reason="slow") == "noted"
    words = "Ten days!\n*FD-1* <!channel> card 4111 1111 1111 1111"
    assert await desk.cases.scoring.explain(case.ref, USER, words=words) == "noted"
    await desk.delivers()
    assert "csat.slow" not in str(asked(desk))
    assert "The team sees it" in str(asked(desk))
    assert chosen(desk) == [f"csat.{value}"], "it can still be changed"
    quoted = "\n>Ten days!\n>*FD-1* &lt;!channel&gt; card [card number]"
    assert told(desk)[-1].endswith(f"*{value} of 5* and says why: it took too long{quoted}")
    assert f"*{value} of 5* · it took too long" in card(desk)
    assert "&lt;!channel&gt;" in card(desk)
    assert (await stored(desk))[0][:2] == (str(value), "slow")


async def test_nobody_scores_a_case_that_is_not_theirs_and_none_that_does_not_exist(desk: Desk) -> None:
    case = await resolved(desk)
    scoring = desk.cases.scoring
    assert await gives(desk, case, 1, user="U0CUSTOMERB") == "not_yours"
    assert await scoring.give("FD-9999", USER, 1) == "unknown_case"
    assert await scoring.explain("FD-9999", USER, words="Bad") == "unknown_case"
    assert await scoring.explain(case.ref, USER, words="Bad") == "too_late", "there is no score to explain"
    await gives(desk, case, 1)
    assert await scoring.explain(case.ref, "U0CUSTOMERB", words="Bad") == "not_yours"
    assert await scoring.theirs(case.ref, "U0CUSTOMERB") is None
    async with desk.database.transaction() as tx:
        await desk.cases.end_erased(tx, case.id, CUSTOMER.team, by=USER)
    assert await gives(desk, case, 5) == "not_yours", "nothing follows an erasure"
    assert await stored(desk) == [("1", "", "")]


async def test_a_case_that_ended_anew_is_scored_anew_and_counts_once(desk: Desk) -> None:
    case = await resolved(desk)
    await gives(desk, case, 1)
    await desk.cases.scoring.explain(case.ref, USER, reason="unsolved")
    await desk.cases.reopen(case.ref, USER)
    await desk.cases.claim(case.ref, AGENT)
    await desk.delivers()
    assert "*1 of 5* · it isn't solved" in card(desk), "who has it now sees it"
    desk.clock.advance(3 * HOUR)
    await desk.cases.resolve(case.ref, AGENT)
    await desk.delivers()
    assert chosen(desk) == []
    desk.clock.advance(MINUTE)
    assert await gives(desk, case, 1) == "noted"
    assert (await stored(desk), chosen(desk)) == ([("1", "", "")], ["csat.1"])
    assert await gives(desk, case, 5) == "noted"
    assert await scored(desk) == {5: 1}


async def test_a_change_of_mind_stays_in_the_period_of_the_first_score(desk: Desk) -> None:
    case = await resolved(desk)
    await gives(desk, case, 1)
    first = await desk.now(case)
    desk.clock.advance(10 * MINUTE)
    await gives(desk, case, 5)
    assert first.score is not None
    assert (await desk.now(case)).score == Score(5, first.score.given_at)
    assert await scored(desk) == {5: 1}


async def scored(desk: Desk) -> Mapping[int, int]:
    """Score -> cases, in the report."""
    return (await report_of(desk.database, days=7, now=desk.clock.now())).whole.people.scores


async def test_of_two_scores_at_once_one_is_stored_and_shown_on_both_sides(desk: Desk) -> None:
    case = await resolved(desk)
    other = Scoring(replace(desk.cases.stepping))
    await asyncio.gather(desk.cases.scoring.give(case.ref, USER, 2), other.give(case.ref, USER, 4))
    await desk.delivers()
    ((value, _, _),) = await stored(desk)
    assert chosen(desk) == [f"csat.{value}"]
    assert f"*{value} of 5*" in card(desk)
