"""What is done by itself of cases, over a real database and a local Slack."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.cases.case import REOPEN_SECONDS, MovedOn
from bot.cases.hours import Hours, Targets, read_week
from bot.cases.messages import CaseMessages
from bot.cases.opening import USUAL_CLAIMS
from bot.cases.sla import SlaTimers
from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.slack.outbox import Outbox
from bot.store import cases, outbox
from bot.store.cases import Case
from bot.store.database import Database
from bot.views.announcements import status_text
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER, build_cases
from tests.turns.arrivals import TEAM, arrival, begin

AGENT, LEAD, ON_CALL = "U0AGENTA", "U0AGENTB", "<!subteam^S0ONCALL>"
MINUTE, HOUR = 60.0, 3_600.0
OFFICE = Hours(read_week("Mon-Fri 09:00-17:00"), "Europe/Berlin")
MONDAY = datetime(2026, 11, 23, 8, 0, tzinfo=UTC).timestamp()
"""The desk opens."""
Message = dict[str, Any]


class Desk:
    """Cases, and the ladders of as many processes as a test likes."""

    def __init__(self, database: Database, slack: LocalSlack, hours: Hours | None, *, pages: bool = True) -> None:
        self.database, self.slack = database, slack
        self.clock = ManualClock(MONDAY)
        self.outbox = Outbox(database, slack.client.chat, slack.client.sessions, self.clock)
        targets = Targets(hours or Hours())
        messages = CaseMessages(load_sentences(), "C0AGENTS", targets=targets, on_call=ON_CALL, pages=pages)
        self.cases = build_cases(database, self.outbox, slack.client, self.clock, messages=messages)
        self.sla = self.timers()
        self.threads = 0

    def timers(self, lead: str | None = LEAD) -> SlaTimers:
        """The timers of another process."""
        return SlaTimers(self.cases.stepping, self.slack.client.chat, self.slack.client.directory, lead)

    async def opens(self, priority: Any = "medium") -> Case:
        """A case of a thread of its own, once its card is posted."""
        self.threads += 1
        ts = await self.slack.client.chat.post("D0CUSTOMERA", text="A thread")
        async with self.database.transaction() as tx:
            await begin(tx, arrival(ts, text="My parcel is lost"))
        case = await self.cases.open(
            ThreadRef(TEAM, "D0CUSTOMERA", ts), CUSTOMER, reason="asked_for_person", priority=priority
        )
        await self.delivers()
        return case

    async def after(self, minutes: float) -> None:
        """Let time pass, and everybody look."""
        self.clock.advance(minutes * MINUTE)
        await self.sla.look()
        await self.delivers()

    async def now(self, case: Case) -> Case:
        return await self.cases.find(case.ref)

    async def delivers(self) -> None:
        """Let the outbox send everything; the time that it takes does not count."""
        at = self.clock.now()
        await send_all(self.outbox, patience=1_000.0)
        self.clock.advance(at - self.clock.now())

    def posts(self, channel: str) -> list[Message]:
        """What stands in a channel, oldest first."""
        return [message for _, message in sorted(self.slack.workspace.messages[channel].items())]

    def calls(self) -> list[str]:
        """What was shown in the agent channel out of a card's thread."""
        return [each["text"] for each in self.posts("C0AGENTS") if each.get("subtype") == "thread_broadcast"]

    def told(self, channel: str = "D0CUSTOMERA") -> str:
        return str(self.posts(channel)[-1]["text"])


@pytest.fixture
def desk(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack, None)


@pytest.fixture
def office(database: Database, slack: LocalSlack) -> Desk:
    return Desk(database, slack, OFFICE)


async def test_nobody_claims_first_the_desk_is_called_then_the_lead_then_the_customer_hears_the_last_of_it(
    desk: Desk,
) -> None:
    case = await desk.opens()
    await desk.after(14)
    assert desk.calls() == []
    before = len(desk.posts("D0CUSTOMERA"))

    await desk.after(1)
    (call,) = desk.calls()
    assert call.startswith(f"{ON_CALL} FD-1001 has waited *15 min* (target 15 min). The customer's last message:")
    alert = desk.posts("C0AGENTS")[-1]
    assert alert["blocks"][0]["type"] == "alert"
    assert ON_CALL in alert["blocks"][0]["text"]["text"]
    assert {each["action_id"] for each in alert["blocks"][1]["elements"]} == {"case.claim", "case.snooze"}
    assert len(desk.posts("D0CUSTOMERA")) == before

    await desk.after(15)
    assert (await desk.now(case)).priority == "high"
    assert "I've moved your case FD-1001 up" in desk.told()
    assert "esc.keep" in str(desk.posts("D0CUSTOMERA")[-1]["blocks"])
    assert ":red_circle: High" in str(desk.posts("C0AGENTS")[0]["blocks"])
    assert "It's yours until someone presses *Claim* on <" in desk.told("D0AGENTB")
    assert "|its card>" in desk.told("D0AGENTB")

    await desk.after(30)
    assert "I'm sorry that no one has been free yet" in desk.told()
    assert "The customer was told that no one has been free" in desk.told("D0AGENTB")
    said = len(desk.posts("D0CUSTOMERA"))
    await desk.after(10_000)
    assert len(desk.posts("D0CUSTOMERA")) == said
    assert len(desk.calls()) == 1


async def test_who_claims_in_the_very_moment_of_a_call_has_the_case(desk: Desk) -> None:
    for _ in range(5):
        case = await desk.opens()
        desk.clock.advance(15 * MINUTE)
        _, claimed = await asyncio.gather(desk.sla.look(), desk.cases.claim(case.ref, "U0AGENTA"))
        assert claimed.owner == "U0AGENTA"
        await desk.cases.resolve(case.ref, "U0AGENTA")


async def test_without_a_lead_the_desk_is_called_each_time(desk: Desk) -> None:
    desk.sla = desk.timers(None)
    await desk.opens()
    for minutes in (15, 15, 30):
        await desk.after(minutes)
    assert [call.partition(" (")[0] for call in desk.calls()] == [
        f"{ON_CALL} FD-1001 has waited *{minutes} min*" for minutes in (15, 30, 60)
    ]
    assert "case.snooze" not in str(desk.posts("C0AGENTS")[-1]["blocks"])


async def test_a_lead_whom_slack_does_not_know_is_no_reason_to_call_nobody(desk: Desk) -> None:
    desk.sla = desk.timers("U0NOBODY")
    await desk.opens()
    await desk.after(15)
    await desk.after(15)
    assert len(desk.calls()) == 2


async def test_of_several_processes_one_climbs_and_says_it_once(desk: Desk) -> None:
    case = await desk.opens()
    for minutes in (15, 15):
        desk.clock.advance(minutes * MINUTE)
        await asyncio.gather(*(desk.timers().look() for _ in range(5)))
        await desk.delivers()
    assert (await desk.now(case)).step == 2
    assert len(desk.calls()) == 1
    assert len([text for text in desk.slack.texts("D0CUSTOMERA") if "moved your case" in text]) == 1


async def test_what_was_missed_is_climbed_once_to_the_highest_rung(desk: Desk) -> None:
    await desk.opens()
    await desk.after(35)
    assert len(desk.calls()) == 1
    assert "I've moved your case" in desk.told()
    await desk.after(1)
    assert len(desk.calls()) == 1


@pytest.mark.parametrize("step", ["hand_back", "cancel"])
async def test_nobody_is_called_for_a_case_that_is_taken_or_over(desk: Desk, step: str) -> None:
    case = await desk.opens()
    await getattr(desk.cases, step)(case.ref, CUSTOMER.user if step == "cancel" else AGENT)
    await desk.after(10_000)
    assert desk.calls() == []


async def test_a_claim_in_the_very_moment_of_a_rung_leaves_it_unclimbed(desk: Desk) -> None:
    case = await desk.opens()
    desk.clock.advance(15 * MINUTE)
    stale = await desk.now(case)
    await desk.cases.claim(case.ref, AGENT)
    await desk.sla._advance(stale, desk.clock.now())
    await desk.delivers()
    assert desk.calls() == []
    assert (await desk.now(case)).state == "human"


async def test_a_case_that_is_opened_again_waits_from_then_on(desk: Desk) -> None:
    case = await desk.opens()
    await desk.after(15)
    await desk.cases.claim(case.ref, AGENT)
    await desk.cases.resolve(case.ref, AGENT)
    await desk.after(60)
    await desk.cases.reopen(case.ref, CUSTOMER.user)
    await desk.after(14)
    assert len(desk.calls()) == 1
    await desk.after(1)
    assert len(desk.calls()) == 2


async def test_a_snooze_puts_the_next_rung_off_once_and_says_who_did_it(desk: Desk) -> None:
    case = await desk.opens()
    await desk.after(15)
    alert = desk.posts("C0AGENTS")[-1]
    ref, _, step = alert["blocks"][1]["elements"][1]["value"].partition("/")
    await desk.cases.snooze(ref, AGENT, step)
    with pytest.raises(MovedOn):
        await desk.cases.snooze(ref, AGENT, step)
    await desk.delivers()
    shown = str(desk.slack.workspace.messages["C0AGENTS"][alert["ts"]])
    assert f"Snoozed by <@{AGENT}>" in shown
    assert "case.snooze" not in shown
    assert "S0ONCALL" not in shown
    await desk.after(9)
    assert (await desk.now(case)).step == 1
    await desk.after(1)
    assert (await desk.now(case)).step == 2


async def test_who_comes_at_night_reads_when_somebody_is_there_and_is_called_for_at_the_opening(office: Desk) -> None:
    office.clock.advance(-10 * HOUR)
    case = await office.opens()
    assert case.state == "out_of_hours"
    told = office.posts("D0CUSTOMERA")[-1]
    assert f"<!date^{int(MONDAY)}^{{date_short_pretty}} {{time}}|08:00 UTC> (2026-11-23 09:00 Europe/Berlin)" in str(
        told
    )
    assert {each["action_id"] for each in told["blocks"][1]["elements"]} == {"esc.urgent", "esc.wait", "esc.cancel"}
    assert "Desk opens" in str(office.posts("C0AGENTS")[0]["blocks"])
    await office.after(9.9 * 60)
    assert office.calls() == []

    await office.after(0.1 * 60)
    assert office.calls() == ["FD-1001 came in while the desk was closed. It's waiting now."]
    assert "Desk opens" not in str(office.posts("C0AGENTS")[0]["blocks"])
    await office.after(14)
    assert len(office.calls()) == 1
    await office.after(1)
    assert "has waited *15 min*" in office.calls()[-1]


async def test_nobody_is_called_at_night_for_what_was_missed_by_day(office: Desk) -> None:
    await office.opens()
    await office.after(9 * 60)
    assert office.calls() == []
    await office.after(15 * 60)
    assert "has waited *480 min*" in office.calls()[-1] or "has waited *8 h*" in office.calls()[-1]


@pytest.mark.parametrize("pages", [True, False])
async def test_it_is_said_honestly_whether_anybody_is_called_for_what_is_urgent(
    database: Database, slack: LocalSlack, pages: bool
) -> None:
    office = Desk(database, slack, OFFICE, pages=pages)
    office.clock.advance(-10 * HOUR)
    case = await office.opens("low")
    await office.cases.urge(case.ref, CUSTOMER.user)
    await office.delivers()
    assert (await office.now(case)).priority == "high"
    assert ("called our colleagues on duty" in office.told()) == pages
    assert ("no one from our team is here before" in office.told()) != pages
    assert [call.startswith(ON_CALL) for call in office.calls()] == [True] * pages
    with pytest.raises(MovedOn):
        await office.cases.urge(case.ref, CUSTOMER.user)
    claimed = await office.cases.claim(case.ref, AGENT)
    assert claimed.state == "human", "somebody may take it at any time"


async def test_who_can_wait_is_offered_the_assistant_until_then(office: Desk) -> None:
    office.clock.advance(-10 * HOUR)
    case = await office.opens()
    await office.cases.can_wait(case.ref, CUSTOMER.user)
    with pytest.raises(MovedOn):
        await office.cases.can_wait(case.ref, CUSTOMER.user)
    await office.delivers()
    assert "esc.keep" in str(office.posts("D0CUSTOMERA")[-1]["blocks"])
    helped = await office.cases.keep_helping(case.ref, CUSTOMER.user)
    assert helped.keeps_helping
    for interaction in (office.cases.urge, office.cases.can_wait, office.cases.keep_helping):
        with pytest.raises(MovedOn):
            await interaction(case.ref, "U0CUSTOMERB")


async def test_a_customer_who_can_wait_and_is_helped_already_is_not_offered_help(office: Desk) -> None:
    office.clock.advance(-10 * HOUR)
    case = await office.opens()
    await office.cases.keep_helping(case.ref, CUSTOMER.user)
    await office.cases.can_wait(case.ref, CUSTOMER.user)
    await office.delivers()
    assert "esc.keep" not in str(office.posts("D0CUSTOMERA")[-1].get("blocks"))


async def test_a_case_that_is_opened_again_at_night_says_when_somebody_is_there(office: Desk) -> None:
    case = await office.opens()
    await office.cases.claim(case.ref, AGENT)
    await office.cases.resolve(case.ref, AGENT)
    office.clock.advance(12 * HOUR)
    again = await office.cases.reopen(case.ref, CUSTOMER.user)
    await office.delivers()
    assert again.state == "out_of_hours"
    assert "is open again" in office.told()
    assert "2026-11-24 09:00 Europe/Berlin" in office.told()
    stands = status_text(load_sentences(), "en", again)
    assert "FD-1001 is already open. Our team is back <!date^" in stands


async def test_a_solved_case_is_closed_after_a_week_and_cannot_be_opened_again(office: Desk) -> None:
    case = await office.opens()
    await office.cases.claim(case.ref, AGENT)
    await office.cases.resolve(case.ref, AGENT)
    await office.delivers()
    card = dict(office.posts("C0AGENTS")[0])
    await office.after(REOPEN_SECONDS / MINUTE - 1)
    assert (await office.now(case)).state == "resolved"
    await office.after(1)
    closed = await office.now(case)
    assert closed.state == "closed"
    assert office.posts("C0AGENTS")[0] == card, "its card stays as it is"
    with pytest.raises(MovedOn):
        await office.cases.reopen(case.ref, CUSTOMER.user)
    assert "FD-1001 is closed, and the assistant is back" in status_text(load_sentences(), "en", closed)


async def test_a_workspace_that_refuses_the_alert_gets_the_same_words_and_buttons(desk: Desk) -> None:
    await desk.opens()
    await desk.slack.breaks(method="chat.postMessage", do="invalid_blocks", channel="C0AGENTS", count=1)
    await desk.after(15)
    shown = desk.posts("C0AGENTS")[-1]
    assert shown["blocks"][0]["type"] == "section"
    assert shown["blocks"][1]["elements"][0]["action_id"] == "case.claim"


async def test_the_usual_reply_time_is_told_once_it_is_known(office: Desk) -> None:
    waits = (4, 6, 8, 100, 2)
    for number, minutes in enumerate(waits):
        case = await office.opens()
        assert "usual reply time" not in str(office.posts("D0CUSTOMERA")[-1]), number
        office.clock.advance(minutes * MINUTE)
        await office.cases.claim(case.ref, AGENT)
        await office.cases.resolve(case.ref, AGENT)
        await office.delivers()
    assert len(waits) == USUAL_CLAIMS
    await office.opens()
    assert "usual reply time: about 6 min" in office.told()


async def test_a_take_over_and_what_is_long_ago_count_for_no_reply_time(desk: Desk) -> None:
    for minutes in (10, 20):
        case = await desk.opens()
        desk.clock.advance(minutes * MINUTE)
        await desk.cases.claim(case.ref, AGENT)
    desk.clock.advance(500 * MINUTE)
    await desk.cases.take_over("FD-1002", LEAD)
    async with desk.database.transaction() as tx:
        found = await cases.claims_since(tx, 0.0, latest=10)
        assert [claimed - waited for waited, claimed in found] == [10 * MINUTE]
        assert await cases.claims_since(tx, desk.clock.now(), latest=10) == []


async def test_what_fails_of_one_case_keeps_no_other_waiting(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = await desk.opens(), await desk.opens()
    async with desk.database.transaction() as tx:
        assert await cases.change(tx, broken, replace(broken, priority="none"))
    await desk.after(15)
    assert (await desk.now(sound)).step == 1
    assert "a due case was not advanced" in caplog.text


async def test_every_row_that_it_says_has_a_key_of_its_own(desk: Desk) -> None:
    case = await desk.opens()
    for minutes in (15, 15, 30):
        await desk.after(minutes)
    async with desk.database.transaction() as tx:
        said = await outbox.posts_under(tx, f"case/{case.id}/")
    assert len(said) == 4 + 1 + 2 + 2, "at the opening, the call, and twice to the customer and the lead"


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 8 * HOUR])
async def test_a_clock_that_jumps_and_a_machine_that_slept_ring_nobody(desk: Desk, jump: float) -> None:
    if not desk.database.is_alone:
        pytest.skip("several processes compare their clocks with the database's")
    case = await desk.opens()
    await desk.after(14)
    before = len(desk.posts("D0CUSTOMERA"))
    desk.clock.jump(jump)
    await desk.after(0)
    assert (desk.calls(), len(desk.posts("D0CUSTOMERA"))) == ([], before)
    # The minute that was left is still to come, and no more than that.
    await desk.after(0.9)
    assert desk.calls() == []
    await desk.after(0.1)
    assert len(desk.calls()) == 1
    assert (await desk.now(case)).step == 1


async def test_a_jump_is_named_once_and_followed_when_the_database_is_there_again(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not desk.database.is_alone:
        pytest.skip("several processes compare their clocks with the database's")
    await desk.opens()
    desk.clock.jump(HOUR)
    with monkeypatch.context() as patched:
        patched.setattr(cases, "put_off", None)
        with pytest.raises(TypeError):
            await desk.sla.look()
    await desk.after(0)
    await desk.after(0)
    assert desk.calls() == []
    (named,) = [record for record in caplog.records if "the clock has jumped" in record.message]
    assert (vars(named)["seconds"], vars(named)["cases_put_off"]) == (HOUR, 1)


async def test_a_clock_that_differs_from_the_databases_rings_nobody_until_it_agrees(desk: Desk) -> None:
    if desk.database.is_alone:
        pytest.skip("SQLite has no clock of its own")
    desk.clock.jump(time.time() - desk.clock.now())
    desk.sla = desk.timers()
    await desk.opens()
    desk.clock.jump(HOUR)
    await desk.after(0)
    assert desk.calls() == []
    desk.clock.jump(-HOUR)
    await desk.after(15)
    assert len(desk.calls()) == 1


async def test_what_is_due_when_the_desk_opens_is_not_put_off(office: Desk) -> None:
    if not office.database.is_alone:
        pytest.skip("several processes compare their clocks with the database's")
    office.clock.jump(-10 * HOUR)
    await office.after(0)
    case = await office.opens()
    assert case.state == "out_of_hours"
    office.clock.jump(10 * HOUR)
    await office.after(0)
    assert (await office.now(case)).state == "waiting"
    assert not [call for call in office.calls() if ON_CALL in call]


async def test_a_late_reply_rings_once_for_the_person_and_several_ring_together(desk: Desk) -> None:
    first = await desk.cases.claim((await desk.opens()).ref, AGENT)
    await desk.after(14)
    assert desk.calls() == []
    await desk.after(1)
    (call,) = desk.calls()
    assert call.startswith(f"<@{AGENT}> {first.ref}: the customer is waiting for your reply")
    assert ":alarm_clock: first reply was due" in str(desk.posts("C0AGENTS")[0]["blocks"])
    assert (await desk.now(first)).is_late
    await desk.after(10_000)
    assert len(desk.calls()) == 1, "a late reply rings once"
    several = [await desk.cases.claim((await desk.opens()).ref, AGENT) for _ in range(3)]
    await desk.opens()
    await desk.after(15)
    assert len(desk.calls()) == 1
    (digest,) = [each for each in desk.posts("C0AGENTS") if "4 cases have waited too long" in each["text"]]
    assert str(digest["blocks"]).count(f"reply of <@{AGENT}>") == len(several)


async def test_a_reply_is_due_sooner_when_the_priority_rises_and_never_later(desk: Desk) -> None:
    case = await desk.cases.claim((await desk.opens()).ref, AGENT)
    await desk.cases.prioritize(case.ref, AGENT, "high")
    await desk.cases.prioritize(case.ref, AGENT, "low")
    await desk.after(5)
    assert len(desk.calls()) == 1


async def test_of_two_processes_one_rings_for_a_late_reply_and_none_after_the_answer(desk: Desk) -> None:
    await desk.cases.claim((await desk.opens()).ref, AGENT)
    answered = await desk.cases.claim((await desk.opens()).ref, AGENT)
    await desk.cases.await_customer(answered.ref, AGENT)
    desk.clock.advance(15 * MINUTE)
    await asyncio.gather(*(desk.timers().look() for _ in range(2)))
    await desk.delivers()
    assert len(desk.calls()) == 1


async def test_a_snooze_until_tomorrow_ends_when_the_desk_opens_and_the_person_is_mentioned(office: Desk) -> None:
    case = await office.cases.claim((await office.opens()).ref, AGENT)
    tomorrow = office.cases.targets.hours.morning(office.clock.now())
    assert tomorrow == MONDAY + 24 * HOUR
    await office.cases.put_aside(case.ref, AGENT, tomorrow)
    await office.after(23 * 60)
    assert office.calls() == [], "a snoozed case does not ring"
    await office.after(60)
    assert (await office.now(case)).snoozed_until is None
    assert f"<@{AGENT}> {case.ref} is no longer snoozed." in [each["text"] for each in office.posts("C0AGENTS")]
    await office.after(1)
    (call,) = office.calls()
    assert "waiting for your reply" in call, "the reply that was due before is late"


async def test_who_gets_no_answer_from_a_customer_for_days_is_reminded_once(desk: Desk) -> None:
    case = await desk.cases.claim((await desk.opens()).ref, AGENT)
    await desk.cases.await_customer(case.ref, AGENT)
    await desk.cases.put_aside(case.ref, AGENT, desk.clock.now() + 60.0)
    await desk.cases.wake(case.ref, AGENT)
    await desk.after(3 * 24 * 60)
    await desk.after(3 * 24 * 60)
    told = [each["text"] for each in desk.posts("C0AGENTS") if "hasn't answered" in each["text"]]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("weekday", "morning"),
    [(None, "2026-11-24 09:00"), (0, "2026-11-30 09:00"), (5, "2026-11-30 09:00")],
    ids=["tomorrow", "Monday", "Saturday, when the desk is closed"],
)
def test_a_morning_is_that_of_the_desk(weekday: int | None, morning: str) -> None:
    assert f"{OFFICE.local(OFFICE.morning(MONDAY, weekday=weekday)):%Y-%m-%d %H:%M}" == morning
