"""Who may open the dialog of an article, and what it shows, in a local Slack."""

from typing import Any, cast

import pytest

from bot.cases.dialogs import TOO_LATE
from bot.conversation import ThreadRef
from bot.help_center.articles import Articles, ArticleText
from bot.slack.outbox import Outbox
from bot.store import suggestions
from bot.store.database import Database
from bot.store.suggestions import Suggestion
from bot.views import article_cards
from handlers import learning
from local_slack.workspace import Json
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.handlers.wiring import wire
from tests.patience import patience

AGENT = "U0AGENTA"
PATIENCE = patience(20.0)


class Pages:
    """A library with or without documents."""

    source: str | None = "help"


class Wired:
    """A suggestion in the agent channel."""

    def __init__(self, slack: LocalSlack, articles: Articles, ts: str, pages: Pages) -> None:
        self.slack, self.articles, self.ts, self.pages = slack, articles, ts, pages

    async def edits(self, user: str) -> None:
        await self.slack.workspace.act.click(user, "C0AGENTS", self.ts, "kb.edit")

    async def adds(self, user: str, channel: str, ts: str) -> None:
        await self.slack.workspace.act.message_shortcut(user, channel, ts, "kb.add")

    async def told(self, user: str) -> str:
        """What only this person reads."""
        workspace = self.slack.workspace
        while not (texts := [each["text"] for each in workspace.ephemerals if each["user"] == user]):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        return str(texts[-1])

    async def dialog(self, user: str) -> dict[str, str]:
        """What the person's dialog shows, by its inputs."""
        workspace = self.slack.workspace
        while not workspace.modals.get(user):
            await workspace.wait_for_change(workspace.counter, timeout=PATIENCE)
        view: Json = workspace.modals[user][-1]
        inputs = (block for block in view["blocks"] if "element" in block)
        return {block["block_id"]: block["element"].get("initial_value", "") for block in inputs}


@pytest.fixture
async def wired(database: Database, slack: LocalSlack) -> Wired:
    clock, pages = ManualClock(), Pages()
    outbox = Outbox(database, slack.client.chat, slack.client.sessions, clock)
    articles = Articles(database, slack.client.chat, outbox, clock, cast(Any, None), lambda: None)
    new = Suggestion(0, "k", None, "Late", "Late?", "Within 40 days.", "pending", AGENT, 1.0)
    async with database.transaction() as tx:
        assert await suggestions.add(tx, new)
    card = article_cards.suggestion(
        number=1, origin="FD-1001", by=AGENT, title="", question="", answer="", close=None, has_gaps=False
    )
    ts = await slack.client.chat.post("C0AGENTS", text=card.text, blocks=card.blocks)
    await wire(slack, learning.register, articles=articles, library=pages)
    return Wired(slack, articles, ts, pages)


async def test_a_suggestion_opens_as_it_stands(wired: Wired) -> None:
    await wired.edits(AGENT)
    assert await wired.dialog(AGENT) == {"title": "Late", "question": "Late?", "answer": "Within 40 days."}


async def test_one_that_is_decided_opens_no_more(wired: Wired) -> None:
    await wired.articles.discard(1, "U0AGENTB", "wrong")
    await wired.edits(AGENT)
    assert await wired.told(AGENT) == "It was discarded by <@U0AGENTB>: Not right."
    assert not wired.slack.workspace.modals


async def test_whoever_is_not_staff_gets_no_dialog(wired: Wired) -> None:
    await wired.slack.breaks(method="conversations.members", do="internal_error", count=9)
    await wired.edits(AGENT)
    assert "support team" in await wired.told(AGENT)
    assert not wired.slack.workspace.modals


async def test_a_customers_shortcut_and_one_elsewhere_are_refused(wired: Wired) -> None:
    ts = await wired.slack.workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "Where is my lamp?")
    await wired.adds("U0CUSTOMERA", "C0SUPPORT", ts)
    assert "support team" in await wired.told("U0CUSTOMERA")
    await wired.adds(AGENT, "C0SUPPORT", ts)
    assert "from a thread" in await wired.told(AGENT)
    assert not wired.slack.workspace.modals


async def test_a_message_opens_with_what_it_says_and_what_was_said_before_it(wired: Wired) -> None:
    act = wired.slack.workspace.act
    root = await act.send("U0AGENTB", "C0AGENTS", "May lamps be rented? Mail b@example.com")
    ts = await act.send(AGENT, "C0AGENTS", "Yes, for 3 EUR a day.", thread_ts=root)
    await wired.adds(AGENT, "C0AGENTS", ts)
    shown = await wired.dialog(AGENT)
    assert shown["question"] == "May lamps be rented? Mail [e-mail address]"
    assert shown["answer"] == "Yes, for 3 EUR a day."


async def test_without_a_knowledge_base_nothing_is_added(wired: Wired) -> None:
    wired.pages.source = None
    act = wired.slack.workspace.act
    root = await act.send("U0AGENTB", "C0AGENTS", "May lamps be rented?")
    await wired.adds(AGENT, "C0AGENTS", await act.send(AGENT, "C0AGENTS", "Yes.", thread_ts=root))
    assert "KB_PATH isn't set" in await wired.told(AGENT)


async def test_a_press_that_comes_too_late_for_a_dialog_says_so(wired: Wired) -> None:
    await wired.slack.breaks(method="views.open", do="expired_trigger_id")
    await wired.edits(AGENT)
    assert await wired.told(AGENT) == TOO_LATE


async def test_the_words_of_a_customer_that_the_app_shows_are_the_question(wired: Wired) -> None:
    thread = ThreadRef("T0FRONTDESK", "C0AGENTS", wired.ts)
    known = await wired.articles.prefilled(thread, "9.9", "*Somebody* (customer)\n>May I &lt;rent&gt;?", is_copy=True)
    assert known == ArticleText("May I <rent>?", "May I <rent>?", "")
