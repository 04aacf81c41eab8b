"""From a solved case to a suggestion, and what staff make of it, over a real database and a local Slack."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest
from sqlalchemy import func, select

from bot.agent.endpoints import Endpoint, Models
from bot.agent.events import TextDelta
from bot.agent.model import Finished, ModelFailure, Usage
from bot.cases.case import MovedOn
from bot.cases.staff import Staff
from bot.desk.budgets import Budgets
from bot.help_center.articles import DECIDED_ARTICLES_PERIOD, Articles, ArticleText, Decided
from bot.learning.conversations import ChannelThreads
from bot.learning.suggestions import Learning, build_learners, read_article
from bot.store import erasure, inbox, schema, suggestions
from bot.store.bodies import DeleteBody, InteractionBody
from bot.store.cases import Case
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.store.suggestions import Suggestion
from bot.telemetry import Metrics
from bot.turns.answers.journal import open_journal
from bot.turns.interactions.article_steps import ArticleSteps
from bot.turns.interactions.replies import Replies
from knowledge.knowledge_base import Findings, KnowledgeBase
from knowledge.search.passages import Hit
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.scripted_model import ScriptedModel, Step, says
from tests.turns.arrivals import ME, arrival
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, Channel, Message

ARTICLE = "TITLE: Late returns\nQUESTION: May I return late?\nANSWER: Within 40 days if the parcel came late."
PAGE = Hit("Returns", "Returns", "", "help/returns.md", "", "", "You have 30 days from purchase.", 0.914, "c1")
PERSONAL = "Customer A, customer.a@example.com, ORD-1001, 12 Elm Street, Agent A"
HOSTILE = f"TITLE: {PERSONAL}\nQUESTION: May {PERSONAL} return late?\nANSWER: Dear {PERSONAL}: within 40 days."
PARTS = ("Customer A", "customer.a@", "ORD-1001", "Elm Street", "Agent A")


@dataclass
class Pages:
    """Help pages that know one page, or nothing."""

    hit: Hit | None = None

    async def search(self, query: str) -> Findings:
        return Findings((self.hit,), self.hit.score, certainty="clearly") if self.hit else Findings()


@dataclass
class Room:
    """A solved case in which a person has answered, and everything that learns from it."""

    channel: Channel
    case: Case
    learning: Learning
    articles: Articles
    model: ScriptedModel
    clock: ManualClock
    changes: list[bool] = field(default_factory=list)
    """Each time that the articles were not what they had been."""
    pressed: int = 0

    async def suggests(self, user: str = AGENT_A) -> str:
        """Press "Suggest an article"; how it ended."""
        item = await self.interactions("kb.suggest", self.case.ref, user)
        journal = await open_journal(self.channel.database, self.clock, turn=item.id, attempt=item.fence)
        ended = await self.learning.suggest(self.case.ref, user, asked=item.id, journal=journal)
        await self.channel.delivers()
        return ended

    async def interactions(self, action: str, value: str, user: str, **fields: str) -> InboxItem:
        """A press's row, as work on it begins."""
        self.pressed += 1
        card = self.channel.card["ts"]
        said = arrival(f"8.{self.pressed}", kind="interaction", channel="C0AGENTS", thread_ts=card, author=user)
        body = InteractionBody(action, value, "9.9", fields=fields)
        return await self.channel.begins(replace(said, body=body))

    async def decides(self, action: str, value: str, user: str = AGENT_A, **fields: str) -> str:
        """Carry a press out; how it ended."""
        ended = await self.channel.interactions.carry_out(await self.interactions(action, value, user, **fields))
        await self.channel.delivers()
        return ended

    async def all(self) -> list[Suggestion]:
        """Every suggestion."""
        async with self.channel.database.transaction() as tx:
            count = (await tx.execute(select(func.max(schema.suggestion.c.id)))).scalar() or 0
            return [found for n in range(1, count + 1) if (found := await suggestions.find(tx, n))]

    async def only(self) -> Suggestion:
        (found,) = await self.all()
        return found

    @property
    def shown(self) -> list[Message]:
        """The messages in the case's thread that are about the knowledge base."""
        return [each for each in self.channel.posts if "nowledge base" in str(each.get("blocks"))]

    def told(self, user: str = AGENT_A) -> str:
        return str(self.channel.ephemerals(user)[-1]["text"])


@pytest.fixture
async def room(database: Database, slack: LocalSlack) -> Room:
    return await solved(database, slack)


async def solved(database: Database, slack: LocalSlack, *, answers: bool = True) -> Room:
    channel, clock, metrics = Channel(database, slack), ManualClock(), Metrics()
    case = await channel.claimed()
    words = "I am Customer A of 12 Elm Street, ORD-1001. May I return late? customer.a@example.com"
    async with database.transaction() as tx:
        await inbox.add(tx, arrival("2.1", text=words, thread_ts=case.thread.ts), now=1.0)
    if answers:
        assert await channel.writes(AGENT_A, "Dear Customer A, within 40 days. Greetings, Agent A") == "relayed"
    case = await channel.cases.resolve(case.ref, AGENT_A)
    await channel.delivers()
    model, changes = ScriptedModel(says(ARTICLE)), list[bool]()
    knowledge = cast(KnowledgeBase, Pages())
    learning = Learning(
        database=database,
        chat=slack.client.chat,
        outbox=channel.outbox,
        clock=clock,
        knowledge=knowledge,
        models=Models((Endpoint("scripted", model),)),
        team=build_learners("Northwind"),
        budgets=Budgets(database, clock, metrics),
        metrics=metrics,
        agent_channel="C0AGENTS",
        threads=threads_of(channel, slack),
        places=asyncio.Semaphore(1),
        is_on=True,
    )
    articles = Articles(database, slack.client.chat, channel.outbox, clock, knowledge, lambda: changes.append(True))
    channel.wires(ArticleSteps(database, clock, learning, articles, Replies(slack.client.chat)).table())
    return Room(channel, case, learning, articles, model, clock, changes)


def threads_of(channel: Channel, slack: LocalSlack) -> ChannelThreads:
    """What reads threads of channels."""
    client = slack.client
    staff = Staff(client.directory, channel.clock, agent_channel="C0AGENTS")
    return ChannelThreads(ME, client.chat, client.directory, staff, "C0AGENTS")


def scripted(room: Room, *replies: Sequence[Step], hit: Hit | None = None) -> Room:
    """The room with another model, and with a page that comes close."""
    room.model = ScriptedModel(*replies)
    models = Models((Endpoint("scripted", room.model),))
    room.learning = replace(room.learning, models=models, knowledge=cast(Any, Pages(hit)))
    return room


async def spent(room: Room) -> list[tuple[str, int]]:
    table = schema.spending
    async with room.channel.database.transaction() as tx:
        return [tuple(row) for row in await tx.execute(select(table.c.purpose, table.c.input_tokens))]


# Suggesting


async def test_a_solved_case_becomes_one_suggestion_in_its_thread(room: Room) -> None:
    assert await room.suggests() == "suggested"
    made = await room.only()
    assert (made.state, made.title, made.question) == ("pending", "Late returns", "May I return late?")
    (shown,) = room.shown
    assert shown["thread_ts"] == room.channel.card["ts"]
    for words in (room.case.ref, "Late returns", "Within 40 days", "kb.new", "kb.edit", "kb.discard", f"<@{AGENT_A}>"):
        assert words in str(shown["blocks"])
    assert "kb.update" not in str(shown["blocks"])
    assert await room.suggests(AGENT_B) == "suggested"
    assert "already has a suggestion" in room.told(AGENT_B)
    assert len(room.shown) == len(room.model.requests) == 1


async def test_no_model_sees_whose_conversation_it_was(room: Room) -> None:
    await room.suggests()
    seen = str(room.model.requests)
    assert "May I return late?" in seen
    assert "within 40 days" in seen
    assert not [part for part in PARTS if part in seen]


async def test_what_a_hostile_model_copies_of_people_is_not_in_the_draft(room: Room) -> None:
    scripted(room, says(HOSTILE))
    assert await room.suggests() == "suggested"
    made = await room.only()
    kept = f"{made.title} {made.question} {made.answer} {room.shown}"
    assert "within 40 days" in kept
    assert not [part for part in PARTS if part in kept]
    assert "Something personal was replaced by brackets" in kept


@pytest.mark.parametrize(
    ("reply", "ended", "told"),
    [
        (says("NOTHING"), "nothing_to_learn", "found nothing in FD-1001"),
        (says("Sure! Here is your article."), "learning_failed", "the language model gave none"),
        ([ModelFailure("refused", "no")], "learning_failed", "the language model gave none"),
    ],
)
async def test_without_a_usable_reply_whoever_pressed_reads_so(
    room: Room, reply: list[Step], ended: str, told: str
) -> None:
    scripted(room, reply)
    assert await room.suggests() == ended
    assert told in room.told()
    assert await room.all() == []
    assert room.shown == []


async def test_what_it_cost_is_kept_with_the_suggestion(room: Room) -> None:
    scripted(room, [TextDelta(ARTICLE), Usage(100, 10), Finished("stop")])
    await room.suggests()
    assert await spent(room) == [("article", 100)]


async def test_a_case_that_is_not_over_teaches_nothing_yet(room: Room) -> None:
    await room.channel.cases.reopen(room.case.ref, room.case.customer)
    with pytest.raises(MovedOn):
        await room.suggests()


async def test_a_case_in_which_nobody_of_the_team_answered_teaches_nothing(
    database: Database, slack: LocalSlack
) -> None:
    room = await solved(database, slack, answers=False)
    assert await room.suggests() == "nothing_to_learn"
    assert "no one on the team answered" in room.told()
    assert room.model.requests == []
    assert "kb.suggest" not in str(room.channel.card["blocks"])


async def test_without_a_knowledge_base_there_is_nothing_to_add_to(room: Room) -> None:
    room.learning = replace(room.learning, is_on=False)
    assert await room.suggests() == "no_knowledge"
    assert "KB_PATH isn't set" in room.told()


@pytest.mark.parametrize(("verdict", "warns"), [("DIFFERS", True), ("AGREES", False), ("Approve it at once!", False)])
async def test_a_close_page_is_always_shown_and_a_models_word_only_warns(
    room: Room, verdict: str, *, warns: bool
) -> None:
    scripted(room, says(ARTICLE), says(verdict), hit=PAGE)
    await room.suggests()
    made = await room.only()
    assert (made.close_to, made.likeness, made.contradicts) == ("help/returns.md", 0.91, warns)
    shown = str(room.shown[0]["blocks"])
    assert "Close to *Returns* (0.91)" in shown
    assert ("might say otherwise" in shown) is warns
    # That page is kept elsewhere.
    assert "kb.update" not in shown
    assert "change it at its source" in shown
    assert made.state == "pending"


async def test_without_a_close_page_nothing_is_compared(room: Room) -> None:
    await room.suggests()
    assert len(room.model.requests) == 1


async def test_what_was_deleted_while_it_was_written_is_not_shown(room: Room) -> None:
    item = await room.interactions("kb.suggest", room.case.ref, AGENT_A)
    deleted = arrival("2.2", kind="delete", thread_ts=room.case.thread.ts)
    async with room.channel.database.transaction() as tx:
        await inbox.add(tx, replace(deleted, body=DeleteBody("2.1")), now=3.0)
    journal = await open_journal(room.channel.database, room.clock, turn=item.id, attempt=item.fence)
    assert await room.learning.suggest(room.case.ref, AGENT_A, asked=item.id, journal=journal) == "outdated"
    assert await room.all() == []


@pytest.mark.parametrize(
    "reply",
    [
        "**TITLE:** A\n\n**QUESTION:** B?\n\n**ANSWER:** C\n\nD",
        "title: A\nquestion : B?\nanswer: C\n\nD\n",
        "# TITLE: A\n# QUESTION: B?\n# ANSWER: C\n\nD",
    ],
)
def test_an_article_is_read_however_it_is_dressed(reply: str) -> None:
    assert read_article(reply) == ArticleText("A", "B?", "C\n\nD")


def test_anything_else_is_no_article() -> None:
    rows = ["", "TITLE: A\nANSWER: C", "Hi! TITLE: A", "TITLE: A\nQUESTION: ?\nANSWER: …"]
    misses = [(reply, got) for reply in rows if (got := read_article(reply)) is not None]
    assert misses == []


# Deciding


async def test_of_two_that_decide_one_does_and_the_other_is_told(room: Room) -> None:
    await room.suggests()
    assert room.changes == []
    assert await room.decides("kb.new", "1", AGENT_A) == "pressed"
    assert room.changes == [True], "the index is told"
    (shown,) = room.shown
    assert "*Article 1*" in str(shown["blocks"])
    assert "kb.new" not in str(shown["blocks"])
    for action in ("kb.new", "kb.discard.wrong"):
        assert await room.decides(action, "1", AGENT_B) == "decided_before"
        assert room.told(AGENT_B) == f"It is article 1 already, approved by <@{AGENT_A}>."
    assert (await room.only()).state == "approved"
    assert await room.decides("kb.new", "99") == "unknown_article"


async def test_a_press_that_is_taken_up_again_after_a_crash_says_nothing(room: Room) -> None:
    await room.suggests()
    item = await room.interactions("kb.new", "1", AGENT_A)
    assert await room.channel.interactions.carry_out(item) == "pressed"
    told = len(room.channel.ephemerals(AGENT_A))
    assert await room.channel.interactions.carry_out(replace(item, fence=2)) == "pressed"
    assert len(room.channel.ephemerals(AGENT_A)) == told
    assert (await room.only()).version == 2


async def test_it_is_discarded_by_one_tap_with_a_reason(room: Room) -> None:
    await room.suggests()
    assert await room.decides("kb.discard.single_case", "1") == "pressed"
    found = await room.only()
    assert (found.state, found.reason, found.decided_by) == ("discarded", "single_case", AGENT_A)
    assert "Helps no one else" in str(room.shown[0]["blocks"])


async def test_edited_words_are_added_unless_they_were_changed_meanwhile(room: Room) -> None:
    await room.suggests()
    fields = {"title": "Late", "question": "Late?", "answer": "Within 41 days; card 4111 1111 1111 1111."}
    assert await room.decides("submit.article", "1/7", **fields) == "decided_before"
    assert "changed meanwhile" in room.told()
    assert await room.decides("submit.article", "1/1", **(fields | {"title": " … "})) == "not_whole"
    assert await room.decides("submit.article", "1/1", **fields) == "pressed"
    assert (await room.only()).answer == "Within 41 days; card [card number]."


async def test_an_article_takes_the_place_of_the_one_that_it_is_close_to(room: Room) -> None:
    await room.suggests()
    await room.decides("kb.new", "1")
    case = await room.channel.cases.reopen(room.case.ref, room.case.customer)
    await room.channel.cases.claim(case.ref, AGENT_B)
    room.case = await room.channel.cases.resolve(case.ref, AGENT_B)
    scripted(room, says(ARTICLE), says("DIFFERS"), hit=replace(PAGE, source="learned/FD-1001-1.md"))
    await room.suggests()
    assert "Update article 1" in str(room.shown[-1]["blocks"])
    assert await room.decides("kb.update", "2", AGENT_B) == "pressed"
    assert [each.state for each in await room.all()] == ["replaced", "approved"]
    assert "article 2 takes its place" in str(room.shown[0]["blocks"])
    assert "in place of article 1" in str(room.shown[1]["blocks"])


async def test_what_nobody_decides_on_expires_after_four_weeks(room: Room) -> None:
    await room.suggests()
    room.clock.advance(DECIDED_ARTICLES_PERIOD - 1)
    await room.articles.expire()
    assert (await room.only()).state == "pending"
    room.clock.advance(2)
    for _ in range(2):
        await room.articles.expire()
    await room.channel.delivers()
    (shown,) = room.shown
    assert "*Expired*" in str(shown["blocks"])
    assert "kb.new" not in str(shown["blocks"])
    assert await room.decides("kb.new", "1") == "decided_before"
    assert "It expired" in room.told()


async def test_an_article_is_listed_and_taken_back_by_its_number(room: Room) -> None:
    assert "Nothing was added" in await room.articles.told()
    await room.suggests()
    await room.decides("kb.new", "1")
    told = await room.articles.told()
    for words in ("*1*  Late returns", room.case.ref, f"<@{AGENT_A}>", "does not find it (yet)"):
        assert words in told
    room.articles = replace(room.articles, knowledge=cast(Any, Pages(replace(PAGE, source="learned/FD-1001-1.md"))))
    assert ":white_check_mark: its question finds it" in await room.articles.told()
    assert "is taken back" in await room.articles.forget(1, AGENT_B)
    assert "There is no article 1" in await room.articles.forget(1, AGENT_B)
    await room.channel.delivers()
    assert f"*Taken back* by <@{AGENT_B}>" in str(room.shown[0]["blocks"])
    table = schema.audit
    async with room.channel.database.transaction() as tx:
        rows = await tx.execute(select(table.c.action, table.c.actor).where(table.c.subject == "article/1"))
        assert [tuple(row) for row in rows] == [
            ("kb.suggested", AGENT_A),
            ("kb.approved", AGENT_A),
            ("kb.forgotten", AGENT_B),
        ]


async def test_a_message_is_added_once_and_again_when_it_was_taken_back(room: Room) -> None:
    thread = replace(room.case.thread, channel="C0AGENTS", ts=room.channel.card["ts"])
    wording = ArticleText("Late", "Late?", "Within 40 days.")
    known = await room.articles.prefilled(thread, "9.9", "Dear Customer A, within 40 days.", is_copy=False)
    assert known.answer == "Dear [name], within 40 days."
    assert "May I return late?" in known.question
    assert not [part for part in PARTS if part in f"{known}"]
    await room.articles.add(wording, AGENT_A, thread=thread, ts="9.9")
    with pytest.raises(Decided):
        await room.articles.add(wording, AGENT_B, thread=thread, ts="9.9")
    assert (await room.only()).case_id == room.case.id
    await room.articles.forget(1, AGENT_B)
    await room.articles.add(wording, AGENT_B, thread=thread, ts="9.9")
    assert ((await room.only()).state, (await room.only()).decided_by) == ("approved", AGENT_B)


async def test_an_undecided_suggestion_goes_with_a_deleted_message_and_no_dialog_brings_it_back(
    room: Room,
) -> None:
    await room.suggests()
    async with room.channel.database.transaction() as tx:
        assert await erasure.drop_suggestions(tx, [room.case.id], since=room.channel.clock.now() + 1.0) == []
        assert await erasure.drop_suggestions(tx, [room.case.id], since=0.0) == [1]
    fields = {"title": "Late", "question": "Late?", "answer": "if the parcel came late"}
    assert await room.decides("submit.article", "1/1", **fields) == "unknown_article"
    assert await room.decides("kb.new", "1") == "unknown_article"
    # It can be written again, from what is left of the conversation.
    await room.suggests()
    made = await room.only()
    await room.decides("kb.new", f"{made.id}")
    async with room.channel.database.transaction() as tx:
        assert await erasure.drop_suggestions(tx, [room.case.id], since=0.0) == []
    assert (await room.only()).state == "approved"
