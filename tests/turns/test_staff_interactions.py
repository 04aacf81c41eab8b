"""What staff press and write under a card, over a real database and a local Slack."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import select

from bot.cases.assignment import Assignment
from bot.cases.availability import Availability
from bot.cases.case import MovedOn
from bot.cases.dialogs import About
from bot.cases.queue import Queue
from bot.cases.sla import SlaTimers
from bot.cases.staff import Staff
from bot.conversation import ThreadRef
from bot.desk.identity import Identities
from bot.reporting.customer import CustomerCards
from bot.reporting.why import Why
from bot.slack.outbox import Outbox
from bot.store import inbox
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from bot.store.schema import audit
from bot.turns.interactions.case_steps import CaseSteps
from bot.turns.interactions.interactions import Interactions
from bot.turns.interactions.replies import Replies, Step
from bot.turns.interactions.staff import StaffInteractions
from bot.views import staff_cards
from handlers.actions import read_interaction
from handlers.dialogs import read_submission
from handlers.payloads import Action, BlockActions, ViewSubmission
from local_slack.interactivity import Interactivity
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.turns.answering import CUSTOMER, NOTHING, build_cases, build_relay
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_asking import FewPages

AGENT_A, AGENT_B = "U0AGENTA", "U0AGENTB"
Message = dict[str, Any]


class Channel:
    """The agent channel, with a case in it that Agent A has."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        self.clock = clock = ManualClock()
        self.database, self.slack = database, slack
        self.outbox = Outbox(database, slack.client.chat, slack.client.sessions, clock)
        self.cases = build_cases(database, self.outbox, slack.client, clock)
        self.relay = build_relay(database, self.outbox, slack.client, clock)
        staff = Staff(slack.client.directory, clock, agent_channel="C0AGENTS")
        self.queue = Queue(self.cases.stepping, staff, slack.client.chat, slack.client.directory)
        availability = Availability(database, slack.client.directory, clock)
        self.assignment = Assignment(self.cases.stepping, staff, slack.client.directory, availability)
        identities = Identities(slack.client.directory, None, database)
        self.customers = CustomerCards(database, clock, identities, None)
        self.accepted: list[Arrival] = []
        self.wires()

    def wires(self, articles: Mapping[str, Step] | None = None) -> None:
        """Have the buttons of staff run the steps of these cases, and those of articles."""
        replies = Replies(self.slack.client.chat)
        why = Why(self.database, cast(Any, FewPages()))
        cases = CaseSteps(self.cases, self.queue, self.assignment, self.relay, why, self.customers, replies)
        self.steps = cases.table()
        staff = StaffInteractions(self.cases, replies, self.accept, {**self.steps, **(articles or {})})
        self.interactions = Interactions(NOTHING, staff, NOTHING, NOTHING)

    async def accept(self, interaction: Arrival) -> None:
        """Remember a press that followed from another one."""
        self.accepted.append(interaction)

    async def opens(self) -> Case:
        """A case of Customer A, once its card is posted."""
        thread = ThreadRef(TEAM, "D0CUSTOMERA", await self.slack.client.chat.post("D0CUSTOMERA", text="opening"))
        case = await self.cases.open(thread, CUSTOMER, reason="asked_for_person", priority="medium")
        await self.delivers()
        return case

    async def claimed(self) -> Case:
        """A case that Agent A has."""
        case = await self.cases.claim((await self.opens()).ref, AGENT_A)
        await self.delivers()
        return case

    @property
    def card(self) -> Message:
        """The first case's card."""
        return next(message for message in self.posts if message["text"].startswith("FD-1001"))

    @property
    def posts(self) -> list[Message]:
        """What stands in the agent channel, oldest first."""
        return [message for _, message in sorted(self.slack.workspace.messages["C0AGENTS"].items())]

    def ephemerals(self, user: str) -> list[Message]:
        """What only this person sees, oldest first."""
        return [each for each in self.slack.workspace.ephemerals if each["user"] == user]

    async def presses_on(self, message: Message, action_id: str, user: str, *, value: str | None = None) -> str:
        """Somebody presses a button of a message, or chooses in a menu; how it ended."""
        ended = await self.interactions.carry_out(
            await self.begins(self.press_of(message, action_id, user, value=value))
        )
        await self.delivers()
        return ended

    def press_of(self, message: Message, action_id: str, user: str, *, value: str | None = None) -> Arrival:
        """What Slack says of a press."""
        workspace = self.slack.workspace
        interactivity = Interactivity(workspace)
        action = interactivity.action(button(message, action_id), "block", value)
        place, is_ephemeral = workspace.channel("C0AGENTS"), message in workspace.ephemerals
        payload = interactivity.block_actions(
            workspace.user(user), place, message, action, state={}, is_ephemeral=is_ephemeral
        )
        return read_interaction(cast(BlockActions, payload), cast(Action, action), team=TEAM)

    async def submits(self, dialog: str, ref: str, user: str, **inputs: Any) -> str:
        """Somebody submits a dialog that they opened on the first case's card; how it ended."""
        ended = await self.interactions.carry_out(await self.begins(self.submission(dialog, ref, user, **inputs)))
        await self.delivers()
        return ended

    def submission(self, dialog: str, ref: str, user: str, **inputs: Any) -> Arrival:
        """What Slack says of a submission."""
        about = About(ref, ThreadRef(TEAM, "C0AGENTS", self.card["ts"]), self.card["ts"])
        state: Message = {
            name: {name: {"selected_options": [{"value": each} for each in value]}}
            if isinstance(value, list)
            else {name: {"value": value}}
            for name, value in inputs.items()
        }
        view = {"id": f"V{self.slack.workspace.new_ts()}", "callback_id": dialog, "state": {"values": state}}
        return read_submission(cast(ViewSubmission, {"view": view, "user": {"id": user, "team_id": TEAM}}), about)

    async def writes(self, user: str, text: str) -> str:
        """Somebody writes under the first case's card; how it ended."""
        said = arrival(
            await self.slack.workspace.act.send(user, "C0AGENTS", text, thread_ts=self.card["ts"]),
            text=text,
            thread_ts=self.card["ts"],
            channel="C0AGENTS",
            kind="staff",
            author=user,
        )
        item = await self.begins(said)
        ended = await self.relay.from_staff(item)
        async with self.database.transaction() as tx:
            await inbox.finish(tx, item.id, "done", reason=ended, now=2.0)
        await self.delivers()
        return ended

    async def customer_writes(self, case: Case, text: str) -> InboxItem:
        """The customer writes while people have their case."""
        item = await self.begins(arrival(self.slack.workspace.new_ts(), text=text, thread_ts=case.thread.ts))
        await self.relay.from_customer(await self.cases.find(case.ref), item, CUSTOMER)
        await self.delivers()
        return item

    async def begins(self, arrived: Arrival) -> InboxItem:
        """The arrival's row, as work on it begins."""
        async with self.database.transaction() as tx:
            row = await inbox.add(tx, arrived, now=1.0)
            assert row is not None
            item = await inbox.start(tx, row)
        assert item is not None
        return item

    async def delivers(self) -> None:
        """Let the outbox send everything."""
        await send_all(self.outbox, patience=1_000.0)


def button(message: Message, action_id: str) -> Message:
    """The first of a message's buttons with this id."""
    elements = [element for block in message["blocks"] for element in block.get("elements", ())]
    return next(element for element in elements if element.get("action_id") == action_id)


@pytest.fixture
def channel(database: Database, slack: LocalSlack) -> Channel:
    return Channel(database, slack)


async def test_a_claimed_case_is_taken_over_on_its_card(channel: Channel) -> None:
    case = await channel.claimed()
    asked = button(channel.card, "case.takeover")["confirm"]
    assert "Agent A will be told" in asked["text"]["text"]
    assert await channel.presses_on(channel.card, "case.takeover", AGENT_B) == "pressed"
    assert (await channel.cases.find(case.ref)).owner == AGENT_B
    assert f"Claimed by <@{AGENT_B}>" in str(channel.card["blocks"])
    assert "Agent B will be told" in button(channel.card, "case.takeover")["confirm"]["text"]["text"]


async def test_the_card_says_until_when_a_first_reply_is_due_and_no_more_once_it_has_left(channel: Channel) -> None:
    case = await channel.claimed()
    due = int((case.claimed_at or 0.0) + 15 * 60)
    assert f"first reply due <!date^{due}^" in str(channel.card["blocks"])
    assert await channel.writes(AGENT_B, "// which lamp?") == "note"
    assert "first reply due" in str(channel.card["blocks"])
    for words in ("We have found it", "It comes tomorrow"):
        assert await channel.writes(AGENT_A, words) == "relayed"
        assert "first reply due" not in str(channel.card["blocks"])
    assert f"Claimed by <@{AGENT_A}>" in str(channel.card["blocks"])


async def test_of_fifty_who_claim_at_once_one_has_the_case_and_the_others_are_told(channel: Channel) -> None:
    case = await channel.opens()
    card = dict(channel.card)
    interactions = [
        await channel.begins(channel.press_of(card, "case.claim", (AGENT_A, AGENT_B)[number % 2]))
        for number in range(50)
    ]
    ended = await asyncio.gather(*map(channel.interactions.carry_out, interactions))
    await channel.delivers()
    assert sorted(ended) == [*["moved_on"] * 49, "pressed"]
    assert len(channel.ephemerals(AGENT_A)) + len(channel.ephemerals(AGENT_B)) == 49
    owner = (await channel.cases.find(case.ref)).owner
    assert owner in (AGENT_A, AGENT_B)
    assert len([text for text in channel.slack.texts("D0CUSTOMERA") if "has joined" in text]) == 1


async def test_who_has_a_case_and_takes_it_over_is_told_that_they_have_it(channel: Channel) -> None:
    await channel.claimed()
    assert await channel.presses_on(channel.card, "case.takeover", AGENT_A) == "moved_on"
    (told,) = channel.ephemerals(AGENT_A)
    assert told["text"].startswith("You already have FD-1001")


async def test_a_prompt_to_take_over_that_is_pressed_again_says_whose_the_case_is(channel: Channel) -> None:
    await channel.claimed()
    card = dict(channel.card)
    await channel.presses_on(card, "case.takeover", AGENT_B)
    await channel.presses_on(card, "case.takeover", AGENT_B)
    assert [told["text"] for told in channel.ephemerals(AGENT_B)] == [
        "You already have FD-1001: what you write in its thread goes to the customer."
    ]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("resolve", f"FD-1001 has moved on: it's solved. <@{AGENT_A}> was on it."),
        ("hand_back", f"FD-1001 has moved on: the assistant has it again. <@{AGENT_A}> was on it."),
        ("reopen", "FD-1001 has moved on: no one has it, and it's waiting to be claimed."),
    ],
)
async def test_a_button_that_fits_no_more_says_in_words_how_the_case_stands(
    channel: Channel, step: str, told: str
) -> None:
    case = await channel.claimed()
    card = dict(channel.card)
    if step == "reopen":
        await channel.cases.resolve(case.ref, AGENT_A)
        await channel.cases.reopen(case.ref, CUSTOMER.user)
    else:
        await getattr(channel.cases, step)(case.ref, AGENT_A)
    await channel.presses_on(card, "case.takeover", AGENT_B)
    assert [each["text"] for each in channel.ephemerals(AGENT_B)] == [told]


@pytest.mark.parametrize(("step", "told"), [("resolve", "is over"), ("hand_back", "is back with the assistant")])
async def test_who_writes_under_a_case_that_has_ended_is_told_once_that_nobody_reads_it(
    channel: Channel, step: str, told: str
) -> None:
    case = await channel.claimed()
    await getattr(channel.cases, step)(case.ref, AGENT_A)
    for words in ("// a note is a note", "One more thing", "and another"):
        assert await channel.writes(AGENT_A, words) == "note"
    (ephemeral,) = channel.ephemerals(AGENT_A)
    assert ephemeral["text"] == f"The customer doesn't see what you write here: FD-1001 {told}."
    assert ephemeral["thread_ts"] == channel.card["ts"]
    assert not any("another" in text for text in channel.slack.texts("D0CUSTOMERA"))


async def test_the_priority_is_set_on_the_card_and_in_the_books(channel: Channel) -> None:
    case = await channel.claimed()
    for _ in range(2):
        assert await channel.submits("submit.priority", case.ref, AGENT_B, priority="high") == "pressed"
    changed = await channel.cases.find(case.ref)
    assert (changed.priority, changed.state, changed.version) == ("high", "human", case.version + 1)
    assert ":red_circle: High" in str(channel.card["blocks"])
    async with channel.database.transaction() as tx:
        notes = (await tx.execute(select(audit).where(audit.c.action == "case.prioritized"))).all()
    assert [(note.actor, note.subject, note.detail) for note in notes] == [(AGENT_B, case.ref, {"priority": "high"})]


async def test_why_the_assistant_answered_so_is_told_to_who_asks_alone(channel: Channel) -> None:
    await channel.claimed()
    assert await channel.presses_on(channel.card, "case.more", AGENT_B, value="why/FD-1001") == "pressed"
    (told,) = channel.ephemerals(AGENT_B)
    assert "answered nothing in this thread" in str(told["blocks"])
    assert channel.ephemerals(AGENT_A) == []


async def test_how_a_case_ended_stands_on_its_card_and_in_the_books(channel: Channel) -> None:
    case = await channel.claimed()
    fields = {"outcome": "assistant_could_have", "cause": "returns", "kb": ["suggest"]}
    assert await channel.submits("submit.resolve", case.ref, AGENT_B, **fields) == "pressed"
    resolved = await channel.cases.find(case.ref)
    assert (resolved.state, resolved.outcome, resolved.cause) == ("resolved", "assistant_could_have", "returns")
    assert f"The assistant could have answered* by <@{AGENT_B}>" in str(channel.card["blocks"])
    assert "*Cause*\nReturns" in str([block.get("fields") for block in channel.card["blocks"]]).replace("\\n", "\n")
    told = channel.slack.texts("D0CUSTOMERA")[-1]
    assert told == "Agent B closed your case FD-1001. How did we do?"
    async with channel.database.transaction() as tx:
        (detail,) = (await tx.execute(select(audit.c.detail).where(audit.c.action == "case.resolved"))).scalars()
    assert detail == {"outcome": "assistant_could_have", "cause": "returns", "suggest": "yes", "tags": ""}
    (asked,) = channel.accepted
    assert (asked.interaction.action, asked.interaction.value, asked.author) == ("kb.suggest", case.ref, AGENT_B)
    assert asked.thread.ts != channel.card["ts"], "what is written under the card does not wait for a model"


async def test_an_article_is_asked_for_though_the_try_that_resolved_the_case_ended_before_that(
    channel: Channel,
) -> None:
    case = await channel.claimed()
    about = About(case.ref, ThreadRef(TEAM, "C0AGENTS", channel.card["ts"]), channel.card["ts"])
    state = {"kb": {"kb": {"selected_options": [{"value": "suggest"}]}}}
    view = {"id": "V1", "callback_id": "submit.resolve", "state": {"values": state}}
    item = await channel.begins(read_submission(cast(ViewSubmission, {"view": view, "user": {"id": AGENT_A}}), about))
    await channel.cases.resolve(case.ref, AGENT_A)
    for _ in range(2):
        assert await channel.interactions.carry_out(replace(item, fence=2)) == "pressed"
    assert len({asked.event_id for asked in channel.accepted}) == 1


async def test_what_is_left_out_of_the_end_of_a_case_stays_empty(channel: Channel) -> None:
    case = await channel.claimed()
    assert await channel.submits("submit.resolve", case.ref, AGENT_A, outcome="solved", cause="", kb=[]) == "pressed"
    resolved = await channel.cases.find(case.ref)
    assert (resolved.outcome, resolved.cause) == ("solved", "")
    assert "Cause" not in str(channel.card["blocks"])
    assert channel.accepted == [], "no article is asked for"
    assert channel.slack.texts("D0CUSTOMERA")[-1] == "Agent A marked your case FD-1001 as solved. How did we do?"
    assert await channel.submits("submit.resolve", case.ref, AGENT_A, outcome="other") == "moved_on"
    assert channel.ephemerals(AGENT_A)[-1]["text"] == "FD-1001 has moved on: it's solved. <@U0AGENTA> was on it."


async def test_spam_is_closed_and_the_customer_reads_how_it_stands(channel: Channel) -> None:
    case = await channel.opens()
    assert await channel.submits("submit.spam", case.ref, AGENT_A) == "pressed"
    closed = await channel.cases.find(case.ref)
    assert (closed.state, closed.outcome) == ("closed", "spam")
    assert "closed case FD-1001 without a reply" in channel.slack.texts("D0CUSTOMERA")[-1]
    assert "csat" not in str(channel.slack.workspace.messages["D0CUSTOMERA"])
    assert f"Spam* by <@{AGENT_A}>" in str(channel.card["blocks"])
    assert await channel.submits("submit.spam", case.ref, AGENT_A) == "moved_on"
    assert channel.ephemerals(AGENT_A)[-1]["text"] == "FD-1001 has moved on: it's closed."


async def test_the_cases_thread_is_told_once_who_took_it_over_and_from_whom(channel: Channel) -> None:
    await channel.claimed()
    card = channel.card["ts"]
    await channel.presses_on(channel.card, "case.takeover", AGENT_B)
    told = [each for each in channel.posts if each.get("thread_ts") == card and "took over" in each["text"]]
    assert [each["text"] for each in told] == [
        f"<@{AGENT_B}> took over FD-1001 from <@{AGENT_A}>. "
        f"<@{AGENT_A}>, your messages here no longer reach the customer."
    ]
    await channel.presses_on(channel.card, "case.takeover", AGENT_A)
    assert f"<@{AGENT_A}> took over FD-1001 from <@{AGENT_B}>." in channel.posts[-1]["text"]


async def test_who_writes_under_a_case_of_somebody_else_is_told_once_that_the_customer_does_not_read_it(
    channel: Channel,
) -> None:
    await channel.claimed()
    for words in ("Let me answer this", "Hello?"):
        assert await channel.writes(AGENT_B, words) == "note"
    (told,) = channel.ephemerals(AGENT_B)
    assert told["thread_ts"] == channel.card["ts"]
    assert f"The customer doesn't see what you write here: <@{AGENT_A}> is on FD-1001." in told["text"]
    assert "Let me answer this" not in str(channel.slack.texts("D0CUSTOMERA"))
    assert channel.ephemerals(AGENT_A) == []

    assert await channel.presses_on(told, "case.takeover", AGENT_B) == "pressed"
    assert await channel.writes(AGENT_B, "I am Agent B") == "relayed"
    assert "I am Agent B" in channel.slack.texts("D0CUSTOMERA")[-1]
    assert await channel.writes(AGENT_A, "And I was Agent A") == "note"
    (former,) = channel.ephemerals(AGENT_A)
    assert f"<@{AGENT_B}> is on FD-1001" in former["text"]
    assert len(channel.ephemerals(AGENT_B)) == 1


async def test_who_marks_their_words_as_a_note_is_told_nothing(channel: Channel) -> None:
    await channel.claimed()
    assert await channel.writes(AGENT_B, "// had this one last week") == "note"
    assert channel.ephemerals(AGENT_B) == []


async def test_a_message_that_is_taken_up_again_is_told_of_once(channel: Channel) -> None:
    await channel.claimed()
    said = arrival("7.1", thread_ts=channel.card["ts"], channel="C0AGENTS", kind="staff", author=AGENT_B)
    item = await channel.begins(said)
    for _ in range(2):
        assert await channel.relay.from_staff(item) == "note"
        await channel.delivers()
    assert len(channel.ephemerals(AGENT_B)) == 1


async def test_what_is_said_of_a_press_in_a_thread_is_said_in_that_thread(channel: Channel) -> None:
    case = await channel.opens()
    assert await channel.writes(AGENT_B, "Let me look into this") == "held"
    (prompt,) = channel.ephemerals(AGENT_B)
    await channel.cases.claim(case.ref, AGENT_A)
    assert await channel.presses_on(prompt, "relay.claim_send", AGENT_B) == "moved_on"
    told = channel.ephemerals(AGENT_B)[-1]
    assert f"<@{AGENT_A}> has claimed FD-1001" in told["text"]
    assert told["thread_ts"] == channel.card["ts"]

    await channel.cases.resolve(case.ref, AGENT_A)
    assert await channel.presses_on(prompt, "relay.claim_send", AGENT_B) == "moved_on"
    told = channel.ephemerals(AGENT_B)[-1]
    assert (told["text"][:20], told["thread_ts"]) == ("FD-1001 has moved on", channel.card["ts"])

    forgotten = {**prompt, "blocks": [{"type": "actions", "elements": [strange(prompt)]}]}
    channel.slack.workspace.keep_ephemeral(forgotten)
    assert await channel.presses_on(forgotten, "relay.claim_send", AGENT_B) == "unknown_case"
    told = channel.ephemerals(AGENT_B)[-1]
    assert ("find this case" in told["text"], told["thread_ts"]) == (True, channel.card["ts"])


async def test_what_is_said_of_a_press_on_the_card_is_said_in_the_channel(channel: Channel) -> None:
    await channel.claimed()
    await channel.presses_on(channel.card, "case.takeover", AGENT_A)
    item = await channel.begins(channel.press_of(channel.card, "case.takeover", AGENT_A))
    await channel.interactions.tell_failed(item)
    for told in channel.ephemerals(AGENT_A):
        assert "thread_ts" not in told


async def test_a_snooze_that_is_pressed_again_says_how_the_case_stands(channel: Channel) -> None:
    await channel.opens()
    channel.clock.advance(15 * 60)
    await SlaTimers(channel.cases.stepping, channel.slack.client.chat, channel.slack.client.directory).look()
    await channel.delivers()
    alert = dict(channel.posts[-1])
    assert await channel.presses_on(alert, "case.snooze", AGENT_A) == "pressed"
    assert await channel.presses_on(alert, "case.snooze", AGENT_B) == "moved_on"
    (told,) = channel.ephemerals(AGENT_B)
    assert told["text"] == "FD-1001 has moved on: no one has it, and it's waiting to be claimed."
    assert f"Snoozed by <@{AGENT_A}>" in str(channel.posts[-1])


def strange(prompt: Message) -> Message:
    """The prompt's first button, of a case that is not here."""
    return {**button(prompt, "relay.claim_send"), "value": "FD-9999/1.1"}


async def test_a_case_is_assigned_to_a_colleague_who_is_written_to_and_the_customer_reads_who_answers(
    channel: Channel,
) -> None:
    case = await channel.opens()
    given = {"person": AGENT_B, "note": "Card 4111 1111 1111 1111 was charged twice"}
    assert await channel.submits("submit.assign", case.ref, AGENT_A, **given) == "pressed"
    assert (await channel.cases.find(case.ref)).is_with(AGENT_B)
    assert f"Claimed by <@{AGENT_B}>" in str(channel.card["blocks"])
    assert "Agent B has joined" in channel.slack.texts("D0CUSTOMERA")[-1]
    (direct,) = channel.slack.texts("D0AGENTB")
    assert f"<@{AGENT_A}> assigned {case.ref} to you" in direct
    assert "charged twice" in direct
    assert "4111" not in direct, "a note hides what a message would"
    assert channel.card["ts"].replace(".", "") in direct, "it links to the card"
    line = f"<@{AGENT_A}> assigned {case.ref} to <@{AGENT_B}>"
    assert any(line in each["text"] for each in channel.posts)


async def test_a_claimed_case_is_assigned_to_another_and_both_and_the_customer_are_told(channel: Channel) -> None:
    case = await channel.claimed()
    assert await channel.submits("submit.assign", case.ref, AGENT_A, person=AGENT_B) == "pressed"
    assert await channel.submits("submit.assign", case.ref, AGENT_A, person=AGENT_B) == "moved_on", "B has it already"
    assert (await channel.cases.find(case.ref)).is_with(AGENT_B)
    told = [text for text in channel.slack.texts("D0CUSTOMERA") if "taken over" in text]
    assert told == ["Agent B has taken over from Agent A and will reply to you here."]
    assert await channel.writes(AGENT_A, "Is it there?") == "note"


@pytest.mark.parametrize("person", ["U0CUSTOMERA", "U0FRONTDESK", "", "U0NOBODY"])
async def test_nobody_but_staff_of_the_desk_is_assigned_a_case(channel: Channel, person: str) -> None:
    case = await channel.opens()
    ended = await channel.submits("submit.assign", case.ref, AGENT_A, person=person)
    assert ended == "not_at_desk"
    assert (await channel.cases.find(case.ref)).waits
    assert "isn't on the desk's team" in channel.ephemerals(AGENT_A)[-1]["text"]


async def test_a_case_that_goes_back_to_the_queue_waits_and_can_be_claimed_again(channel: Channel) -> None:
    case = await channel.claimed()
    card = dict(channel.card)
    presses = [
        await channel.begins(channel.press_of(card, "case.unassign", (AGENT_A, AGENT_B)[number % 2]))
        for number in range(50)
    ]
    ended = await asyncio.gather(*map(channel.interactions.carry_out, presses))
    await channel.delivers()
    assert sorted(ended) == [*["moved_on"] * 49, "pressed"]
    waiting = await channel.cases.find(case.ref)
    assert (waiting.state, waiting.owner) == ("waiting", None)
    assert waiting.due is not None, "its SLA runs again"
    told = [text for text in channel.slack.texts("D0CUSTOMERA") if "had to pass on" in text]
    assert told == [f"Agent A had to pass on your case {case.ref}. A colleague will take it over and reply right here."]
    assert await channel.presses_on(channel.card, "case.claim", AGENT_B) == "pressed"


async def test_after_an_answer_the_customer_is_to_answer_and_their_next_message_makes_a_reply_due(
    channel: Channel,
) -> None:
    case = await channel.claimed()
    assert await channel.writes(AGENT_A, "Which lamp?") == "relayed"
    assert (await channel.cases.find(case.ref)).waits_for_customer
    assert "waiting for customer" in str(channel.card["blocks"])
    channel.clock.advance(3_600.0)
    said = await channel.customer_writes(case, "The red one")
    due = (await channel.cases.find(case.ref)).reply_due
    assert due is not None
    assert due > channel.clock.now(), "the next reply has a target of its own"
    assert f"reply due <!date^{int(due)}^" in str(channel.card["blocks"])
    assert await channel.writes(AGENT_A, "Thank you") == "relayed"
    await channel.relay.from_customer(await channel.cases.find(case.ref), said, CUSTOMER)
    assert (await channel.cases.find(case.ref)).waits_for_customer, "a message that is worked on again owes nothing"
    async with channel.database.transaction() as tx:
        notes = (await tx.execute(select(audit.c.detail).where(audit.c.action == "case.answered"))).scalars().all()
    assert notes == [{"reply": "first", "met": "yes"}, {"reply": "next", "met": "yes"}]


async def test_the_card_says_whose_turn_it_is_and_a_snooze_ends_with_the_customers_words(channel: Channel) -> None:
    case = await channel.claimed()
    assert await channel.presses_on(channel.card, "case.await", AGENT_B) == "pressed"
    assert "waiting for customer" in str(channel.card["blocks"])
    assert "case.await" not in str(channel.card["blocks"])
    until = int(channel.clock.now()) + 7_200
    assert await channel.submits("submit.later", case.ref, AGENT_A, when="own", own=str(until)) == "pressed"
    assert f"snoozed until <!date^{until}^" in str(channel.card["blocks"])
    await channel.customer_writes(case, "Still there?")
    assert "snoozed" not in str(channel.card["blocks"])
    assert (await channel.cases.find(case.ref)).reply_due is not None
    assert await channel.submits("submit.later", case.ref, AGENT_A, when="tomorrow") == "pressed"
    assert await channel.presses_on(channel.card, "case.wake", AGENT_A) == "pressed"
    assert await channel.submits("submit.later", case.ref, AGENT_A, when="own", own="12") == "not_later"
    assert (await channel.cases.find(case.ref)).snoozed_until is None
    await channel.cases.put_aside(case.ref, AGENT_A, until)
    ended = await channel.cases.resolve(case.ref, AGENT_A)
    assert (ended.snoozed_until, ended.reply_due) == (None, None), "a case that is over has no marks"


async def test_what_was_written_before_a_claim_is_offered_with_it_and_none_of_it_is_left_unmarked(
    channel: Channel,
) -> None:
    case = await channel.opens()
    for user, words in ((AGENT_A, "Which lamp is it?"), (AGENT_B, "I know this one"), (AGENT_A, "And since when?")):
        assert await channel.writes(user, words) == "held"
    asked = len(channel.ephemerals(AGENT_A))
    claim = await channel.begins(channel.press_of(channel.card, "case.claim", AGENT_A))
    assert await channel.interactions.carry_out(claim) == "pressed"
    assert await channel.interactions.carry_out(replace(claim, fence=2)) == "pressed", "after a crash"
    await channel.delivers()
    first, second = channel.ephemerals(AGENT_A)[asked:]
    assert "Send what you wrote?" in first["text"]
    assert "Which lamp is it?" in first["text"]
    assert await channel.presses_on(first, "relay.send", AGENT_A) == "pressed"
    assert await channel.presses_on(second, "relay.note", AGENT_A) == "pressed"
    assert any("Which lamp is it?" in text for text in channel.slack.texts("D0CUSTOMERA"))
    assert not any("I know this one" in text or "since when" in text for text in channel.slack.texts("D0CUSTOMERA"))
    marks = {each["text"]: [mark["name"] for mark in each.get("reactions", ())] for each in channel.posts}
    assert marks["Which lamp is it?"] == ["outbox_tray"]
    assert marks["I know this one"] == marks["And since when?"] == ["memo"]
    await channel.relay.offer_held(case.ref)
    await channel.delivers()
    assert len(channel.ephemerals(AGENT_A)) == asked + 2, "nothing is asked again"
    last = next(each for each in channel.posts if each["text"] == "And since when?")
    assert await channel.relay.send(case.ref, AGENT_A, last["ts"])
    await channel.delivers()
    shown = [mark["name"] for each in channel.posts if each["ts"] == last["ts"] for mark in each["reactions"]]
    assert shown == ["outbox_tray"], "what is sent after all does not look as if it were internal"


async def test_what_was_written_before_is_offered_to_who_gets_the_case_by_the_setting(channel: Channel) -> None:
    await channel.opens()
    for user, words in ((AGENT_A, "Which lamp is it?"), (AGENT_B, "I know this one")):
        assert await channel.writes(user, words) == "held"
    await replace(channel.assignment, how="round_robin").give_out("C0AGENTS")
    await channel.delivers()
    asked = channel.ephemerals(AGENT_A)[-1]
    assert "Send what you wrote?" in asked["text"]
    marks = {each["text"]: [mark["name"] for mark in each.get("reactions", ())] for each in channel.posts}
    assert marks["I know this one"] == ["memo"]
    assert await channel.presses_on(asked, "relay.send", AGENT_A) == "pressed"
    assert await channel.presses_on(asked, "relay.note", AGENT_A) == "pressed"
    marks = {each["text"]: [mark["name"] for mark in each.get("reactions", ())] for each in channel.posts}
    assert marks["Which lamp is it?"] == ["outbox_tray"], "what the customer has is not marked as internal"


async def test_claim_next_asks_about_what_was_written_also_after_a_crash(channel: Channel) -> None:
    await channel.opens()
    assert await channel.writes(AGENT_A, "Which lamp is it?") == "held"
    pressed = await channel.begins(channel.press_of(channel.card, "case.claim", AGENT_A))
    await channel.queue.claim_next("C0AGENTS", AGENT_A, press=f"{pressed.id}")
    with pytest.raises(MovedOn):
        await channel.steps["queue.next"](pressed, "")
    await channel.delivers()
    assert any("Send what you wrote?" in each["text"] for each in channel.ephemerals(AGENT_A))


async def test_a_colleague_who_is_not_on_the_case_helps_and_sends_in_one_press(channel: Channel) -> None:
    case = await channel.claimed()
    await channel.writes(AGENT_B, "Look at this")
    ts = channel.posts[-1]["ts"]
    prompt = staff_cards.unread_files(case, files="*lamp.pdf*", ts=ts)
    place = {"thread_ts": channel.card["ts"], "text": prompt.text, "blocks": prompt.blocks}
    await channel.slack.client.chat.post_ephemeral("C0AGENTS", AGENT_B, **place)
    asked = channel.ephemerals(AGENT_B)[-1]
    assert await channel.presses_on(asked, "relay.join_send", AGENT_B) == "pressed"
    assert (await channel.cases.find(case.ref)).speaker(AGENT_B) == "Agent B"
    assert any("Look at this" in text for text in channel.slack.texts("D0CUSTOMERA"))
    assert (await channel.cases.find(case.ref)).is_with(AGENT_A)
