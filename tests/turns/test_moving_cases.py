"""Cases that somebody joins, that move to another desk, and that become one, over a real database and a local Slack."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from bot.cases import step as case_steps
from bot.cases.dialogs import NO_DESK, NOTHING_TO_MERGE, About, Dialogs
from bot.cases.messages import CaseMessages
from bot.cases.relay import Relay
from bot.cases.staff import Staff
from bot.cases.step import UnknownCase
from bot.conversation import Customer, ThreadRef
from bot.language.sentences import load_sentences
from bot.slack import outbox as sender
from bot.slack.api.errors import SlackUnanswered
from bot.slack.outbox import Outbox
from bot.store import cases as case_rows
from bot.store import inbox, interrupts, schema, threads
from bot.store.bodies import InteractionBody
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import Arrival, InboxItem
from bot.turns.edits import MessageEdits
from handlers.messages import read_event
from local_slack.workspace import Channel as SlackChannel
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.patience import patience
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import CUSTOMER, build_answers, build_cases
from tests.turns.arrivals import ME, TEAM, arrival
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, Channel, Message

AGENTS, BILLING, DIRECT = "C0AGENTS", "C0BILLING", "D0CUSTOMERA"
DESKS = {BILLING: "Billing"}
TRAY = "outbox_tray"


class Desks(Channel):
    """Two team channels: Agent A and B are in the first, Agent B is in #billing."""

    def __init__(self, database: Database, slack: LocalSlack) -> None:
        super().__init__(database, slack)
        slack.workspace.channels[BILLING] = SlackChannel(
            BILLING, "billing", is_private=True, members=[AGENT_B, "U0FRONTDESK"]
        )
        self.builds()

    def builds(self) -> None:
        """A process begins, or another one after it was killed."""
        client, clock, sentences = self.slack.client, ManualClock(), load_sentences()
        self.outbox = Outbox(self.database, client.chat, client.sessions, clock, essential=[AGENTS, BILLING])
        messages = CaseMessages(sentences, AGENTS)
        self.cases = build_cases(self.database, self.outbox, client, clock, messages=messages, desks=DESKS)
        self.staff = Staff(client.directory, clock, agent_channel=AGENTS, others=DESKS)
        self.relay = Relay(self.database, self.outbox, client.chat, client.directory, clock, messages, self.staff)
        self.wires()
        leftovers = build_answers(self.database, client, clock).leftovers
        self.thoughts = MessageEdits(self.database, self.outbox, clock, sentences, leftovers, self.relay)

    async def opens_in(self, channel: str, text: str = "opening") -> Case:
        """A case of Customer A, who has written there."""
        ts = await self.slack.client.chat.post(channel, text=text)
        thread = ThreadRef(TEAM, channel, ts)
        await self.begins(arrival(ts, text=text, channel=channel))
        case = await self.cases.open(thread, CUSTOMER, reason="asked_for_person", priority="medium")
        await self.delivers()
        return case

    async def stands(self, ref: str) -> Case:
        return await self.cases.find(ref)

    def all_in(self, channel: str) -> list[Message]:
        """What stands in a channel and in its threads, oldest first."""
        return [each for _, each in sorted(self.slack.workspace.messages.get(channel, {}).items())]

    def roots(self, channel: str, ref: str) -> list[Message]:
        """What stands in a team channel itself and names the case, oldest first."""
        roots = [each for each in self.all_in(channel) if each.get("thread_ts", each["ts"]) == each["ts"]]
        return [each for each in roots if ref in each["text"]]

    def texts(self, channel: str, thread_ts: str) -> list[str]:
        """What stands in a thread, oldest first."""
        replies = [each for each in self.all_in(channel) if each.get("thread_ts") == thread_ts]
        return [each["text"] for each in replies if each["ts"] != thread_ts]

    async def writes_under(self, user: str, text: str, card: Message, channel: str = AGENTS) -> tuple[str, str]:
        """Somebody writes under a card; how it ended, and the message's ts."""
        ts = await self.slack.client.chat.post(channel, text=text, thread_ts=card["ts"])
        said = arrival(ts, text=text, thread_ts=card["ts"], channel=channel, kind="staff", author=user)
        ended = await self.relay.from_staff(await self.begins(said))
        await self.delivers()
        return ended, ts

    async def asks(self, case: Case, text: str, thread: ThreadRef) -> InboxItem:
        """The customer writes in a thread, which belongs to the case."""
        ts = await self.slack.client.chat.post(thread.channel, text=text, thread_ts=thread.ts)
        item = await self.begins(arrival(ts, text=text, thread_ts=thread.ts, channel=thread.channel))
        await self.relay.from_customer(case, item, CUSTOMER)
        await self.delivers()
        return item

    async def hears(self, change: Arrival) -> InboxItem:
        """Somebody edits or deletes what they wrote."""
        async with self.database.transaction() as tx:
            (stored,) = await interrupts.store_all(tx, [change], now=1.0)
            item = await inbox.start(tx, stored.item or 0)
        assert item is not None
        return item

    async def transfers(self, ref: str, user: str, to: str, *, at: Message, channel: str = AGENTS) -> str:
        return await self.submit("submit.transfer", ref, user, at, channel, desk=to)

    async def submit(self, dialog: str, ref: str, user: str, at: Message, channel: str, **fields: str) -> str:
        """Somebody submits a dialog that they opened on a card; how it ended."""
        ended = await self.interactions.carry_out(
            await self.begins(submission(dialog, ref, user, at, channel, **fields))
        )
        await self.delivers()
        return ended

    async def carries_out(self, interaction: InboxItem) -> None:
        """Do what was pressed and send what comes of it, until the process ends."""
        await self.interactions.carry_out(interaction)
        async with asyncio.timeout(patience(20.0)):
            await self.outbox.run()

    async def opened_case_of(self, thread: ThreadRef) -> Case | None:
        async with self.database.transaction() as tx:
            return await case_rows.find_open(tx, thread)


def submission(dialog: str, ref: str, user: str, at: Message, channel: str, **fields: str) -> Any:
    interaction = arrival(f"V{dialog}{ref}", thread_ts=at["ts"], channel=channel, kind="interaction", author=user)
    body = InteractionBody(dialog, ref, at["ts"], fields=fields)
    return replace(interaction, body=body)


@pytest.fixture
def desks(database: Database, slack: LocalSlack) -> Desks:
    return Desks(database, slack)


async def helping(desks: Desks) -> Case:
    """A case that Agent A has, with Agent B's help."""
    case = await desks.cases.claim((await desks.opens_in(DIRECT)).ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, case.ref)
    await desks.writes_under(AGENT_B, "I know this one", card)
    assert await desks.presses_on(desks.ephemerals(AGENT_B)[-1], "case.join", AGENT_B) == "pressed"
    return await desks.stands(case.ref)


async def test_a_helper_is_asked_about_each_message_and_what_they_send_is_theirs(desks: Desks) -> None:
    case = await helping(desks)
    (card,) = desks.roots(AGENTS, case.ref)
    assert f"<@{AGENT_B}>" in str(card["blocks"]), "the card says who helps"
    assert any("is helping" in text for text in desks.texts(AGENTS, card["ts"]))
    ended, said = await desks.writes_under(AGENT_B, "It left <!channel> today", card)
    assert ended == "held"
    assert not any("left" in text for text in desks.slack.texts(DIRECT))
    offer = desks.ephemerals(AGENT_B)[-1]
    assert offer["thread_ts"] == card["ts"]
    assert await desks.presses_on(offer, "relay.send", AGENT_B) == "pressed"
    assert desks.slack.texts(DIRECT)[-1] == "*Agent B (support)*\nIt left &lt;!channel&gt; today"
    assert desks.slack.marks(AGENTS, said) == [TRAY]
    await desks.presses_on(offer, "relay.send", AGENT_B)
    assert sum("left" in text for text in desks.slack.texts(DIRECT)) == 1, "pressed again it is sent once"


async def test_a_helpers_message_follows_its_edits_and_its_deletion(desks: Desks) -> None:
    case = await helping(desks)
    (card,) = desks.roots(AGENTS, case.ref)
    _, said = await desks.writes_under(AGENT_B, "It left today", card)
    await desks.presses_on(desks.ephemerals(AGENT_B)[-1], "relay.send", AGENT_B)
    changed = edit(said, "1999999998.0", "It left on Monday", channel=AGENTS, author=AGENT_B)
    await desks.thoughts.edited(await desks.hears(changed))
    await desks.delivers()
    assert "It left on Monday" in desks.slack.texts(DIRECT)[-1]
    gone = deletion(said, "1999999999.0", thread_ts=card["ts"], channel=AGENTS, author=AGENT_B)
    await desks.thoughts.deleted(await desks.hears(gone))
    await desks.delivers()
    assert not any("Monday" in text for text in desks.slack.texts(DIRECT)), (
        "what its author deletes, the customer loses"
    )


HOSTILE = (
    "<!channel> <!here|here> <!everyone> <!subteam^S0ONCALL|@oncall> <@U0AGENTB|agent.b> @channel "
    "<https://evil.example/x|look> <mailto:a@evil.example|a@evil.example> &lt;!channel&gt;"
)


async def test_relayed_words_ping_nobody_in_either_direction(desks: Desks) -> None:
    customer = replace(CUSTOMER, name="<!channel> *Bob* <@U0AGENTB>")
    case = await desks.opens_in(DIRECT)
    await desks.cases.claim(case.ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, case.ref)
    known = {message["ts"] for channel in (AGENTS, DIRECT) for message in desks.all_in(channel)}

    def incoming(channel: str, user: str, ts: str, thread_ts: str) -> Arrival:
        event = {"type": "message", "channel": channel, "user": user, "ts": ts, "thread_ts": thread_ts}
        body = {"type": "event_callback", "event_id": ts, "team_id": TEAM, "event": event | {"text": HOSTILE}}
        arrived = read_event(body, ME, team_channels=desks.staff.channels)
        assert arrived is not None
        return arrived

    written = incoming(DIRECT, CUSTOMER.user, desks.slack.workspace.new_ts(), case.thread.ts)
    await desks.relay.from_customer(await desks.stands(case.ref), await desks.begins(written), customer)
    answered = incoming(AGENTS, AGENT_A, desks.slack.workspace.new_ts(), card["ts"])
    assert await desks.relay.from_staff(await desks.begins(answered)) == "relayed"
    await desks.delivers()
    said = [each for channel in (AGENTS, DIRECT) for each in desks.all_in(channel) if each["ts"] not in known]
    assert len(said) == 2
    for message in said:
        for dangerous in ("<!", "<@", "<http", "<mailto"):
            assert dangerous not in message["text"]
        assert "&lt;!channel&gt;" in message["text"], "what was written is still shown"
        assert "attachments" not in message


async def test_marks_do_not_say_more_than_was_delivered(desks: Desks) -> None:
    case = await desks.cases.claim((await desks.opens_in(DIRECT)).ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, case.ref)
    _, sent = await desks.writes_under(AGENT_A, "It is here", card)
    assert desks.slack.marks(AGENTS, sent) == [TRAY]
    await desks.slack.breaks(method="chat.postMessage", do="restricted_action", channel=DIRECT, count=1)
    _, refused = await desks.writes_under(AGENT_A, "And this too", card)
    assert desks.slack.marks(AGENTS, refused) == ["warning"]
    assert not any("And this too" in text for text in desks.slack.texts(DIRECT))
    gone = deletion(sent, "1999999999.0", thread_ts=card["ts"], channel=AGENTS, author=AGENT_A)
    await desks.thoughts.deleted(await desks.hears(gone))
    await desks.delivers()
    assert not any("It is here" in text for text in desks.slack.texts(DIRECT))


@pytest.mark.parametrize("end", ["resolve", "hand_back", "transfer", "take_over"])
async def test_helping_ends_with_the_case_and_for_whoever_takes_it_over(desks: Desks, end: str) -> None:
    case = await helping(desks)
    if end == "transfer":
        await desks.cases.transfer(case.ref, AGENT_A, BILLING)
    else:
        await getattr(desks.cases, end)(case.ref, AGENT_B)
    assert (await desks.stands(case.ref)).helpers == ()
    async with desks.database.transaction() as tx:
        assert (await tx.execute(select(func.count()).select_from(schema.case_helper))).scalar_one() == 0


async def test_who_does_not_help_cannot_send(desks: Desks) -> None:
    case = await helping(desks)
    (card,) = desks.roots(AGENTS, case.ref)
    await desks.writes_under(AGENT_B, "It left today", card)
    offer = dict(desks.ephemerals(AGENT_B)[-1])
    await desks.cases.hand_back(case.ref, AGENT_A)
    assert await desks.presses_on(offer, "relay.send", AGENT_B) == "moved_on"
    assert not any("left" in text for text in desks.slack.texts(DIRECT))


async def test_an_owner_who_left_is_told_of_once_and_somebody_takes_over(desks: Desks) -> None:
    case = await desks.cases.claim((await desks.opens_in(DIRECT)).ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, case.ref)
    desks.slack.workspace.users[AGENT_A].deleted = True
    desks.builds()
    desks.slack.client.directory._users.clear()
    for text in ("Hello?", "Anybody?"):
        await desks.asks(case, text, case.thread)
    told = [text for text in desks.texts(AGENTS, card["ts"]) if "no longer on the team" in text]
    assert len(told) == 1
    called = next(each for each in desks.posts if "no longer on the team" in each["text"])
    assert await desks.presses_on(called, "case.takeover", AGENT_B) == "pressed"
    assert (await desks.stands(case.ref)).owner == AGENT_B


async def test_who_is_not_staff_any_more_says_nothing_to_a_customer(desks: Desks) -> None:
    case = await desks.cases.claim((await desks.opens_in(DIRECT)).ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, case.ref)
    desks.slack.workspace.channels[AGENTS].members.remove(AGENT_A)
    desks.builds()
    assert (await desks.writes_under(AGENT_A, "Bye", card))[0] == "not_staff"
    desks.builds()
    await desks.slack.breaks(method="conversations.members", do="internal_error", count=1)
    with pytest.raises(SlackUnanswered):
        await desks.writes_under(AGENT_A, "Bye", card)
    assert not any("Bye" in text for text in desks.slack.texts(DIRECT))


async def test_a_transferred_case_stands_and_waits_at_the_other_desk(desks: Desks) -> None:
    case = await desks.cases.claim((await desks.opens_in(DIRECT, "Refund me")).ref, AGENT_A)
    await desks.delivers()
    (old,) = desks.roots(AGENTS, case.ref)
    assert await desks.transfers(case.ref, AGENT_A, BILLING, at=old) == "pressed"
    moved = await desks.stands(case.ref)
    assert (moved.state, moved.desk, moved.owner) == ("waiting", BILLING, None)
    (card,) = desks.roots(BILLING, case.ref)
    (old,) = desks.roots(AGENTS, case.ref)
    assert "case.claim" in str(card["blocks"])
    assert any("Refund me" in text for text in desks.texts(BILLING, card["ts"])), "its transcript stands there"
    address = await desks.slack.client.chat.permalink(BILLING, card["ts"])
    assert f"<{address}|its card there>" in str(old["blocks"])
    assert "case.more" not in str(old["blocks"])
    assert any(f"/{AGENTS}/p{old['ts'].replace('.', '')}" in text for text in desks.texts(BILLING, card["ts"]))
    told = [text for text in desks.slack.texts(DIRECT) if "is now with colleagues" in text]
    assert len(told) == 1

    ended, said = await desks.writes_under(AGENT_A, "One more thing", old)
    assert ended == "note"
    assert f"<{address}|its card>" in desks.ephemerals(AGENT_A)[-1]["text"]
    await desks.cases.claim(case.ref, AGENT_B)
    await desks.delivers()
    ended, said = await desks.writes_under(AGENT_B, "I pay it back", card, BILLING)
    assert ended == "relayed"
    assert "I pay it back" in desks.slack.texts(DIRECT)[-1]
    assert desks.slack.marks(BILLING, said) == [TRAY]
    await desks.asks(await desks.stands(case.ref), "Thanks", case.thread)
    assert "Thanks" in desks.texts(BILLING, card["ts"])[-1]
    assert not any("Thanks" in text for text in desks.slack.texts(AGENTS))


async def test_the_former_desk_has_no_say_any_more(desks: Desks) -> None:
    case = await desks.opens_in(DIRECT)
    (old,) = desks.roots(AGENTS, case.ref)
    stale = dict(old)
    await desks.transfers(case.ref, AGENT_A, BILLING, at=old)
    assert await desks.presses_on(stale, "case.claim", AGENT_A) == "moved_on"
    assert f"<#{BILLING}>" in desks.ephemerals(AGENT_A)[-1]["text"]
    await Dialogs(desks.slack.client.chat, desks.slack.client.views, desks.cases).open(
        "case.handback", About(case.ref, ThreadRef(TEAM, AGENTS, old["ts"]), old["ts"]), user=AGENT_A, trigger_id="none"
    )
    assert f"<#{BILLING}>" in desks.ephemerals(AGENT_A)[-1]["text"]
    assert (await desks.stands(case.ref)).state == "waiting"


async def test_a_desk_that_gets_a_case_back_has_its_old_card_again(desks: Desks) -> None:
    case = await desks.opens_in(DIRECT)
    (old,) = desks.roots(AGENTS, case.ref)
    await desks.transfers(case.ref, AGENT_A, BILLING, at=old)
    (there,) = desks.roots(BILLING, case.ref)
    await desks.transfers(case.ref, AGENT_B, AGENTS, at=there, channel=BILLING)
    back, ring = desks.roots(AGENTS, case.ref)
    assert (back["ts"], "case.claim" in str(back["blocks"])) == (old["ts"], True)
    assert f"/{AGENTS}/p{old['ts'].replace('.', '')}" in ring["text"]
    (there,) = desks.roots(BILLING, case.ref)
    assert "case.claim" not in str(there["blocks"])
    assert (await desks.stands(case.ref)).desk == ""


@pytest.mark.parametrize("to", ["C0SUPPORT", "", "C0NOWHERE"])
async def test_a_case_goes_to_no_channel_but_the_teams(desks: Desks, to: str) -> None:
    case = await desks.opens_in(DIRECT)
    with pytest.raises(UnknownCase):
        await desks.cases.transfer(case.ref, AGENT_A, to)
    assert (await desks.stands(case.ref)).desk == ""


async def test_what_can_be_chosen_is_offered_and_what_cannot_is_said(desks: Desks) -> None:
    case = await desks.opens_in(DIRECT)
    (card,) = desks.roots(AGENTS, case.ref)
    about = About(case.ref, ThreadRef(TEAM, AGENTS, card["ts"]), card["ts"])
    assert desks.cases.other_desks(case) == DESKS
    alone = replace(desks.cases, desks={})
    for cases, action, told in (
        (desks.cases, "case.more.merge", NOTHING_TO_MERGE),
        (alone, "case.more.transfer", NO_DESK),
    ):
        await Dialogs(desks.slack.client.chat, desks.slack.client.views, cases).open(
            action, about, user=AGENT_A, trigger_id="none"
        )
        assert desks.ephemerals(AGENT_A)[-1]["text"] == told
    other = await desks.opens_in(DIRECT, "Another matter")
    assert [each.ref for each in await desks.cases.mergeable(case)] == [other.ref]


async def merged(desks: Desks) -> tuple[Case, Case]:
    """Two cases of Customer A, the second merged into the first, which Agent A has."""
    first, second = await desks.opens_in(DIRECT, "My lamp is late"), await desks.opens_in(DIRECT, "Where is my lamp")
    await desks.cases.claim(first.ref, AGENT_A)
    await desks.delivers()
    (card,) = desks.roots(AGENTS, second.ref)
    ended = await desks.submit("submit.merge", second.ref, AGENT_A, card, AGENTS, into=first.ref)
    assert ended == "pressed"
    return await desks.stands(first.ref), await desks.stands(second.ref)


async def test_a_merged_case_is_had_in_the_other_one(desks: Desks) -> None:
    first, second = await merged(desks)
    assert (second.state, second.merged_into) == ("merged", first.id)
    assert (await desks.opened_case_of(second.thread)) == replace(first, helpers=())
    (card,) = [root for root in desks.roots(AGENTS, first.ref) if root["text"].startswith(first.ref)]
    (gone,) = desks.roots(AGENTS, f"{second.ref} was merged")
    assert f"p{card['ts'].replace('.', '')}|{first.ref}>" in str(gone["blocks"])
    under = desks.texts(AGENTS, card["ts"])
    assert any("Where is my lamp" in text and second.ref in text for text in under), "what was said there before"
    told = [text for text in desks.texts(DIRECT, second.thread.ts) if first.ref in text]
    assert len(told) == 1

    await desks.asks(first, "Still not here", second.thread)
    assert "in another thread" in desks.texts(AGENTS, card["ts"])[-1]
    await desks.writes_under(AGENT_A, "It comes today", card)
    assert any("It comes today" in text for text in desks.texts(DIRECT, first.thread.ts))
    ended, _ = await desks.writes_under(AGENT_B, "I know more", gone)
    assert ended == "note"
    assert f"{first.ref} is in" in desks.ephemerals(AGENT_B)[-1]["text"]
    again = await desks.cases.open(second.thread, CUSTOMER, reason="upset", priority="high")
    assert again.ref == first.ref, "the thread has a case"


async def test_when_the_other_case_ends_the_assistant_is_back_in_both_threads(desks: Desks) -> None:
    first, second = await merged(desks)
    await desks.cases.resolve(first.ref, AGENT_A)
    await desks.delivers()
    assert "The assistant is back" in desks.texts(DIRECT, second.thread.ts)[-1]
    assert await desks.opened_case_of(second.thread) is None
    async with desks.database.transaction() as tx:
        state = await threads.find_thread(tx, second.thread)
    assert state is not None
    assert (state.episode, "Agent A" in state.note) == (1, True)
    await desks.cases.reopen(first.ref, CUSTOMER.user)
    assert await desks.opened_case_of(second.thread) is None, "only the first thread waits again"
    anew = await desks.cases.open(second.thread, CUSTOMER, reason="upset", priority="high")
    assert anew.thread == second.thread


async def test_cases_are_merged_through_a_chain(desks: Desks) -> None:
    first, second = await merged(desks)
    third = await desks.opens_in(DIRECT, "Lamp, the third")
    await desks.cases.merge(first.ref, AGENT_A, into=third.ref)
    for thread in (first.thread, second.thread):
        found = await desks.opened_case_of(thread)
        assert found is not None
        assert found.ref == third.ref
    await desks.cases.hand_back(third.ref, AGENT_A)
    assert [(await desks.stands(ref)).state for ref in (first.ref, second.ref)] == ["bot", "bot"]


async def test_nothing_private_and_nobody_elses_is_merged(desks: Desks) -> None:
    private, shared = await desks.opens_in(DIRECT), await desks.opens_in("C0SUPPORT")
    other = Customer(TEAM, "U0CUSTOMERB", "Customer B", "en-US", "member")
    theirs = await desks.cases.open(
        ThreadRef(TEAM, "C0SUPPORT", "20.2"), other, reason="asked_for_person", priority="low"
    )
    for ref, into in ((private.ref, shared.ref), (shared.ref, theirs.ref), (shared.ref, shared.ref)):
        with pytest.raises(UnknownCase):
            await desks.cases.merge(ref, AGENT_A, into=into)
    assert (await desks.cases.merge(shared.ref, AGENT_A, into=private.ref)).state == "merged"


async def test_of_a_merge_and_the_end_of_the_other_case_none_is_left_half_done(desks: Desks) -> None:
    for number in range(5):
        first, second = [
            await desks.cases.open(
                ThreadRef(TEAM, DIRECT, f"{number}.{each}"), CUSTOMER, reason="asked_for_person", priority="medium"
            )
            for each in (1, 2)
        ]
        await desks.cases.claim(first.ref, AGENT_A)
        await asyncio.gather(
            desks.cases.merge(second.ref, AGENT_A, into=first.ref),
            desks.cases.hand_back(first.ref, AGENT_A),
            desks.cases.merge(first.ref, AGENT_B, into=second.ref),
            return_exceptions=True,
        )
        states = {(await desks.stands(each.ref)).state for each in (first, second)}
        assert states in ({"bot"}, {"bot", "waiting"}, {"merged", "waiting"}, {"merged", "human"}), states
        for each in (first, second):
            found, now = await desks.opened_case_of(each.thread), await desks.stands(each.ref)
            assert (found is None) == (now.state == "bot"), "a merged thread leads to a case that is open"
            if found is not None:
                await desks.cases.hand_back(found.ref, AGENT_A)


async def test_of_many_who_move_a_case_one_does(desks: Desks) -> None:
    case = await desks.opens_in(DIRECT)
    interactions = [desks.cases.transfer(case.ref, AGENT_A, BILLING) for _ in range(10)]
    interactions += [desks.cases.claim(case.ref, AGENT_B) for _ in range(10)]
    ended = await asyncio.gather(*interactions, return_exceptions=True)
    moved = [each for each in ended if isinstance(each, Case) and each.state == "waiting"]
    assert len(moved) == 1
    await desks.delivers()
    assert len(desks.roots(BILLING, case.ref)) == 1
    assert sum("is now with colleagues" in text for text in desks.slack.texts(DIRECT)) == 1


async def test_what_a_customer_changes_changes_wherever_the_case_has_been(desks: Desks) -> None:
    case = await desks.cases.claim((await desks.opens_in(DIRECT)).ref, AGENT_A)
    other = await desks.opens_in(DIRECT, "Another matter")
    written = await desks.asks(case, "My zebracanary77 lamp", case.thread)
    await desks.cases.transfer(case.ref, AGENT_A, BILLING)
    await desks.delivers()
    changed = edit(written.ts, "1999999998.0", "My zebracanary77 chair", thread_ts=case.thread.ts, channel=DIRECT)
    await desks.thoughts.edited(await desks.hears(changed))
    await desks.delivers()
    (card,) = desks.roots(BILLING, case.ref)
    assert "It now says" in desks.texts(BILLING, card["ts"])[-1], "who has it now has no copy, and is told both"
    assert "chair" in desks.texts(BILLING, card["ts"])[-1]
    await desks.cases.merge(case.ref, AGENT_B, into=other.ref)
    await desks.delivers()
    quoted = [text for text in desks.slack.texts(AGENTS) if "> merged " in text]
    assert "zebracanary77" in quoted[0]
    gone = deletion(written.ts, "1999999999.0", thread_ts=case.thread.ts, channel=DIRECT)
    await desks.thoughts.deleted(await desks.hears(gone))
    await desks.delivers()
    for channel in (AGENTS, BILLING):
        assert not any("zebracanary77" in text for text in desks.slack.texts(channel)), channel
    assert [text for text in desks.slack.texts(AGENTS) if "> merged " in text], "our own words stay"
    async with desks.database.transaction() as tx:
        stored = [(await tx.execute(select(table))).all() for table in schema.metadata.sorted_tables]
    assert "zebracanary77" not in str(stored)


FAILPOINTS = ("case_changed", "case_stepped", "post_marked", "post_sent", "post_kept")


@pytest.mark.parametrize("place", FAILPOINTS)
@pytest.mark.parametrize("step", ["claim", "take_over", "transfer", "merge"])
async def test_a_power_cut_in_the_middle_of_a_step_loses_and_doubles_nothing(
    desks: Desks, monkeypatch: pytest.MonkeyPatch, step: str, place: str
) -> None:
    case, other = await desks.opens_in(DIRECT, "A lamp"), await desks.opens_in(DIRECT, "A lamp again")
    if step != "claim":
        await desks.cases.claim(case.ref, AGENT_B)
        await desks.delivers()
    (card,) = [root for root in desks.roots(AGENTS, case.ref) if root["text"].startswith(case.ref)]
    interaction = {
        "claim": submission("case.claim", case.ref, AGENT_A, card, AGENTS),
        "take_over": submission("case.takeover", case.ref, AGENT_A, card, AGENTS),
        "transfer": submission("submit.transfer", case.ref, AGENT_A, card, AGENTS, desk=BILLING),
        "merge": submission("submit.merge", case.ref, AGENT_A, card, AGENTS, into=other.ref),
    }[step]
    item = await desks.begins(interaction)

    def cut(reached: str) -> None:
        if reached == place:
            raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr(case_steps, "failpoint", cut)
        patched.setattr(sender, "failpoint", cut)
        with pytest.raises((PowerCut, BaseExceptionGroup)) as ended:
            await desks.carries_out(item)
        assert ended.type is PowerCut or ended.group_contains(PowerCut)
    desks.builds()
    await desks.interactions.carry_out(replace(item, fence=2))
    await desks.delivers()

    after = await desks.stands(case.ref)
    in_thread = desks.texts(DIRECT, case.thread.ts)
    told = {"claim": "has joined", "take_over": "has taken over", "transfer": "colleagues who", "merge": other.ref}
    assert sum(told[step] in text for text in in_thread) == 1, in_thread
    assert desks.ephemerals(AGENT_A) == []
    match step:
        case "claim" | "take_over":
            assert after.owner == AGENT_A
            (card,) = [root for root in desks.roots(AGENTS, case.ref) if root["text"].startswith(case.ref)]
            assert f"Claimed by <@{AGENT_A}>" in str(card["blocks"])
        case "transfer":
            assert len(desks.roots(BILLING, case.ref)) == 1
            assert "its card there" in str(desks.roots(AGENTS, case.ref)[0]["blocks"])
        case "merge":
            assert sum("> merged " in each["text"] for each in desks.posts) == 1
            assert after.merged_into == other.id
    async with desks.database.transaction() as tx:
        noted = await tx.execute(
            select(func.count())
            .select_from(schema.audit)
            .where(schema.audit.c.subject == case.ref, schema.audit.c.actor == AGENT_A)
        )
    assert noted.scalar_one() == 1


class PowerCut(BaseException):
    """The process is gone."""
