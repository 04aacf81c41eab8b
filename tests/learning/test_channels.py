"""From a thread that the team has answered in a public channel to a suggestion, over a database and a local Slack."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from bot.clock import DAY, HOUR
from bot.help_center.articles import document_of
from bot.learning.channels import LATEST, QUIET, UNDECIDED, Channels
from bot.store import forgetting, inbox, persons, retention, suggestions
from bot.store.database import Database
from bot.store.inbox import Arrival
from bot.turns.interactions.article_steps import ArticleSteps
from bot.turns.interactions.replies import Replies
from knowledge.knowledge_base import Findings, KnowledgeBase
from tests.doubles.local_slack import LocalSlack
from tests.learning.test_suggestions import PARTS, Pages, Room, solved
from tests.turns.test_staff_interactions import AGENT_A, AGENT_B, button

CUSTOMER_A, CUSTOMER_B = "U0CUSTOMERA", "U0CUSTOMERB"
GENERAL, SUPPORT = "C0GENERAL", "C0SUPPORT"
QUESTION = "I am Customer A of 12 Elm Street, ORD-1001. May I return late? customer.a@example.com"
ANSWER = "Dear <@U0CUSTOMERA>, within 40 days, as <@U0CUSTOMERB> knows. Greetings, Agent A"


@dataclass
class Help:
    """A desk whose knowledge base learns from #general."""

    room: Room
    slack: LocalSlack
    channels: Channels
    requests: list[Arrival] = field(default_factory=list)

    async def asks(self, *said: tuple[str, str], channel: str = GENERAL) -> str:
        """A thread with these messages, each with its author."""
        root = ""
        for user, text in said:
            ts = await self.slack.workspace.act.send(user, channel, text, thread_ts=root or None)
            root = root or ts
        return root

    def passes(self, seconds: float, *, since: str) -> None:
        """Let the clock stand so long after a message."""
        clock = self.room.clock
        clock.jump(float(since) + seconds - clock.now())

    async def looks(self) -> list[str]:
        """Look through the channels, and carry out what is asked for; how that ended."""
        before = len(self.requests)
        await self.channels.look()
        for request in self.requests[before:]:
            assert request.thread.channel == "C0AGENTS"
        ended = [await self.carries_out(request) for request in self.requests[before:]]
        await self.room.channel.delivers()
        return ended

    async def carries_out(self, request: Arrival) -> str:
        return await self.room.channel.interactions.carry_out(await self.room.channel.begins(request))

    async def pending(self) -> list[str]:
        """The threads whose suggestions wait for a decision."""
        async with self.room.channel.database.transaction() as tx:
            return [made.thread.rpartition("/")[2] for made in await suggestions.undecided_of_threads(tx)]

    @property
    def shown(self) -> list[str]:
        """The suggestions that the agent channel shows."""
        posts = [str(post["blocks"]) for post in self.room.channel.posts if "blocks" in post]
        return [post for post in posts if "Add to the knowledge base?" in post]


@pytest.fixture
async def desk(database: Database, slack: LocalSlack, tmp_path: Path) -> Help:
    return await wired(database, slack, tmp_path, '- {name: threads, slack: "#general"}')


async def wired(database: Database, slack: LocalSlack, folder: Path, *entries: str) -> Help:
    sources = folder / "kb.yml"
    sources.write_text("\n".join(["sources:", "- {name: help, folder: pages}", *entries]), "utf-8")
    room = await solved(database, slack)
    requests = list[Arrival]()

    async def accept(arrival: Arrival) -> None:
        requests.append(arrival)

    channels = Channels(database, room.clock, room.channel.outbox, room.learning.threads, accept, sources)
    return Help(room, slack, channels, requests)


async def test_an_answered_thread_becomes_a_suggestion_that_a_person_accepts(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER), (CUSTOMER_A, "Thank you"))
    desk.passes(QUIET + HOUR, since=root)
    assert await desk.looks() == ["suggested"]
    (shown,) = desk.shown
    for words in ("Late returns", "Within 40 days", "a thread", f"/archives/{GENERAL}/", f"answered by <@{AGENT_A}>"):
        assert words in shown
    post = next(each for each in desk.room.channel.posts if "Add to the knowledge base?" in str(each.get("blocks")))
    assert "thread_ts" not in post
    seen = str(desk.room.model.requests)
    assert "May I return late?" in seen
    assert "within 40 days" in seen
    assert not [part for part in (*PARTS, "Customer B", CUSTOMER_A, CUSTOMER_B) if part in seen]

    assert await desk.room.decides("kb.new", button(post, "kb.new")["value"]) == "pressed"
    made = await desk.room.only()
    assert made.state == "approved"
    assert document_of(made) == "learned/1.md"
    assert "from a thread" in str(desk.room.channel.posts)
    assert await desk.looks() == []
    assert len(desk.room.model.requests) == 1


async def test_what_nobody_of_the_team_answered_or_asked_in_public_is_no_suggestion(desk: Help) -> None:
    unanswered = await desk.asks((CUSTOMER_A, QUESTION), (CUSTOMER_B, "I wonder too"))
    await desk.asks((AGENT_A, "We close at six"), (AGENT_B, "Good"))
    await desk.asks((CUSTOMER_A, "No reply to this"))
    await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER), channel=SUPPORT)
    desk.passes(QUIET + HOUR, since=unanswered)
    assert await desk.looks() == ["nothing_to_learn", "nothing_to_learn"]
    assert desk.room.model.requests == []


async def test_a_thread_is_read_once_it_was_quiet_for_a_day_and_not_long_after(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER))
    desk.passes(QUIET - HOUR, since=root)
    assert await desk.looks() == []
    desk.passes(LATEST + HOUR, since=root)
    assert await desk.looks() == []
    desk.passes(LATEST - HOUR, since=root)
    assert await desk.looks() == ["suggested"]


@pytest.mark.parametrize("entry", ['"#agents"', '"#nowhere"', "C0AGENTS"])
async def test_a_private_channel_and_one_without_the_app_are_not_read(
    database: Database, slack: LocalSlack, tmp_path: Path, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk = await wired(database, slack, tmp_path, f"- {{name: threads, slack: {entry}}}")
    root = await desk.asks((AGENT_B, QUESTION), (AGENT_A, ANSWER), channel="C0AGENTS")
    desk.passes(QUIET + HOUR, since=root)
    assert await desk.looks() == []
    assert f"is not public, or the app is not in it: {entry.strip(chr(34))}" in caplog.text


async def test_an_edit_or_a_deletion_withdraws_what_is_not_decided_and_thanks_do_not(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER))
    other = await desk.asks((CUSTOMER_B, "May I return early?"), (AGENT_A, "Any day."))
    desk.passes(QUIET + HOUR, since=other)
    assert await desk.looks() == ["suggested"] * 2
    await desk.slack.workspace.act.send(CUSTOMER_A, GENERAL, "Thanks!", thread_ts=root)
    await desk.channels.follow()
    assert await desk.pending() == [root, other]

    reply = max(ts for ts, said in desk.slack.workspace.messages[GENERAL].items() if said["text"] == "Any day.")
    await desk.slack.workspace.act.edit(AGENT_A, GENERAL, reply, "Only on Sundays.")
    await desk.channels.follow()
    await desk.room.channel.delivers()
    assert await desk.pending() == [root]
    await desk.slack.workspace.act.delete(CUSTOMER_A, GENERAL, root)
    await desk.channels.follow()
    await desk.room.channel.delivers()
    assert await desk.pending() == []
    assert desk.shown == []


async def test_a_deletion_while_the_model_writes_leaves_no_suggestion(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER))
    desk.passes(QUIET + HOUR, since=root)
    await desk.channels.look()
    (request,) = desk.requests

    class Deleting(Pages):
        async def search(self, query: str) -> Findings:
            await desk.slack.workspace.act.delete(CUSTOMER_A, GENERAL, root)
            return await super().search(query)

    room = desk.room
    learning = replace(room.learning, knowledge=cast(KnowledgeBase, Deleting()))
    replies = Replies(desk.slack.client.chat)
    room.channel.wires(ArticleSteps(room.channel.database, room.clock, learning, room.articles, replies).table())
    assert await desk.carries_out(request) == "outdated"
    assert await desk.pending() == []


async def test_what_is_said_later_is_suggested_in_place_of_what_waits(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER))
    desk.passes(QUIET + HOUR, since=root)
    assert await desk.looks() == ["suggested"]
    latest = await desk.slack.workspace.act.send(AGENT_A, GENERAL, "It is 50 days now.", thread_ts=root)
    desk.passes(QUIET + HOUR, since=latest)
    assert await desk.looks() == ["suggested"]
    assert await desk.pending() == [root]
    assert len(desk.shown) == 1
    assert "It is 50 days now" in str(desk.room.model.requests[-1])


async def test_only_so_many_wait_at_a_time_and_none_is_forgotten(desk: Help) -> None:
    for number in range(UNDECIDED + 2):
        root = await desk.asks((CUSTOMER_A, f"Question {number}?"), (AGENT_A, f"Answer {number}."))
    desk.passes(QUIET + HOUR, since=root)
    await desk.channels.look()
    assert len(desk.requests) == UNDECIDED
    async with desk.room.channel.database.transaction() as tx:
        await inbox.add_all(tx, desk.requests, now=1.0)
    await desk.channels.look()
    assert len(desk.requests) == UNDECIDED + 2


async def test_what_a_person_asked_goes_with_them_and_with_time_but_an_article_stays(desk: Help) -> None:
    root = await desk.asks((CUSTOMER_A, QUESTION), (AGENT_A, ANSWER))
    other = await desk.asks((CUSTOMER_A, "May I return early?"), (AGENT_A, "Any day."))
    third = await desk.asks((CUSTOMER_B, "Do you ship?"), (AGENT_A, "Yes."))
    desk.passes(QUIET + HOUR, since=third)
    assert await desk.looks() == ["suggested"] * 3
    await desk.room.decides("kb.new", "1")
    database = desk.room.channel.database
    async with database.transaction() as tx:
        kept = await persons.find(tx, CUSTOMER_A)
        assert (await persons.count(tx, kept))["suggestions"] == 1
        assert await forgetting.erase_suggestions(tx, CUSTOMER_A) == [2]
    assert root != other
    assert await desk.pending() == [third]
    made = await desk.room.all()
    assert [(each.id, each.state, each.person) for each in made] == [(1, "approved", ""), (3, "pending", CUSTOMER_B)]
    async with database.transaction() as tx:
        assert await retention.delete_suggestions(tx, desk.room.clock.now() - DAY, limit=9) == 0
        assert await retention.delete_suggestions(tx, desk.room.clock.now() + DAY, limit=9) == 1
    assert [each.id for each in await desk.room.all()] == [1]


async def test_an_edit_in_one_of_the_channels_is_followed_at_once(desk: Help) -> None:
    await desk.channels.look()
    desk.channels.hear(SUPPORT)
    assert not desk.channels._changed.is_set()
    desk.channels.hear(GENERAL)
    assert desk.channels._changed.is_set()
