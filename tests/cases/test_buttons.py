"""No message bears a button that does nothing any more, whatever has become of its case."""

from dataclasses import replace

import pytest

from bot.store.database import Database
from tests.cases.test_sla import AGENT, MONDAY, OFFICE, Desk
from tests.doubles.local_slack import LocalSlack
from tests.turns.answering import CUSTOMER

HOUR = 3_600.0


def buttons(desk: Desk, channel: str) -> list[list[str]]:
    """The buttons of each message that has some, oldest first."""
    found = (
        [
            element["action_id"]
            for block in message.get("blocks", ())
            if block["type"] == "actions"
            for element in block["elements"]
        ]
        for message in desk.posts(channel)
    )
    return [each for each in found if each]


def under_the_card(desk: Desk) -> list[list[str]]:
    return [each for each in buttons(desk, "C0AGENTS") if "case.more" not in each]


@pytest.mark.parametrize("step", ["claim", "hand_back", "cancel", "mark_spam"])
async def test_what_offers_to_wait_otherwise_is_gone_when_nobody_waits_any_more(
    database: Database, slack: LocalSlack, step: str
) -> None:
    desk = Desk(database, slack, None)
    case = await desk.opens("high")
    await desk.after(5)
    await desk.after(5)
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"], ["esc.keep"]]
    assert ["case.claim", "case.snooze"] in under_the_card(desk)
    before = desk.posts("D0CUSTOMERA")[1]
    texts = [each["text"] for each in desk.posts("D0CUSTOMERA")]
    await getattr(desk.cases, step)(case.ref, CUSTOMER.user if step == "cancel" else AGENT)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == []
    assert under_the_card(desk) == []
    claims = [str(each["blocks"]).count(f"Claimed by <@{AGENT}>") for each in desk.posts("C0AGENTS")]
    assert sum(claims[1:]) == (step == "claim"), "the call names who came"
    posts = desk.posts("D0CUSTOMERA")
    assert [each["text"] for each in posts[: len(texts)]] == texts, "the words stay"
    assert [block["text"]["text"] for block in posts[1]["blocks"]] == [before["blocks"][0]["text"]["text"]]


async def test_who_is_helped_already_is_not_offered_it_again(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, None)
    case = await desk.opens()
    await desk.after(30)
    await desk.cases.keep_helping(case.ref, CUSTOMER.user)
    await desk.after(30)
    assert "no one has been free" in desk.posts("D0CUSTOMERA")[-1]["text"]
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"]]


async def test_a_case_that_is_claimed_before_its_first_message_left_keeps_no_button(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, None)
    first = await desk.opens()
    await slack.breaks(method="chat.postMessage", do="internal_error", count=2)
    await desk.cases.hand_back(first.ref, AGENT)
    again = await desk.cases.open(first.thread, CUSTOMER, reason="upset", priority="low")
    await desk.cases.claim(again.ref, AGENT)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == []


async def test_of_a_closed_desk_each_button_goes_when_it_has_served(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, OFFICE)
    desk.clock.advance(-12 * HOUR)
    case = await desk.opens()
    assert buttons(desk, "D0CUSTOMERA") == [["esc.urgent", "esc.wait", "esc.cancel"]]
    await desk.cases.can_wait(case.ref, CUSTOMER.user)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == [["esc.urgent", "esc.cancel"], ["esc.keep"]]
    await desk.cases.urge(case.ref, CUSTOMER.user)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA")[0] == ["esc.cancel"]
    await desk.cases.keep_helping(case.ref, CUSTOMER.user)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"]]
    await desk.cases.claim(case.ref, AGENT)
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == []


async def test_when_the_desk_opens_nobody_is_asked_any_more_whether_they_can_wait(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, OFFICE)
    desk.clock.advance(-12 * HOUR)
    await desk.opens()
    desk.clock.advance(MONDAY - desk.clock.now())
    await desk.after(1)
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"]]


async def test_not_solved_is_said_once_of_each_end(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, None)
    case = await desk.opens()
    for _ in range(2):
        await desk.cases.claim(case.ref, AGENT)
        await desk.cases.resolve(case.ref, AGENT)
        await desk.delivers()
        assert "case.reopen" in buttons(desk, "D0CUSTOMERA")[-1]
        await desk.cases.reopen(case.ref, CUSTOMER.user)
        await desk.delivers()
        shown = buttons(desk, "D0CUSTOMERA")
        assert not any("case.reopen" in each for each in shown)
        assert shown[-1] == ["esc.cancel"], "it waits again"
    scores = [each for each in buttons(desk, "D0CUSTOMERA") if "csat.1" in each]
    assert len(scores) == 2, "what was thought of an end stays told"


async def test_at_a_desk_that_a_case_has_left_nobody_claims_it(database: Database, slack: LocalSlack) -> None:
    desk = Desk(database, slack, None)
    desk.cases = replace(desk.cases, desks={"C0SUPPORT": "Support"})
    case = await desk.opens()
    await desk.after(15)
    assert under_the_card(desk) == [["case.claim", "case.snooze"]]
    await desk.cases.transfer(case.ref, AGENT, "C0SUPPORT")
    await desk.delivers()
    assert buttons(desk, "C0AGENTS") == []
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"]], "it waits still"


async def test_who_writes_stop_in_the_moment_of_a_claim_is_offered_nothing(
    database: Database, slack: LocalSlack
) -> None:
    desk = Desk(database, slack, None)
    case = await desk.opens()
    await desk.cases.offer(case.ref, "end", key="turn/1/end")
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == [["esc.cancel"], ["esc.cancel"]]
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.offer(case.ref, "end", key="turn/2/end")
    await desk.delivers()
    assert buttons(desk, "D0CUSTOMERA") == []
