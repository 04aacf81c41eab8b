"""Suggestions for the knowledge base, written from what people of the team have answered. Staff decide on them.

suggest        Writes a suggestion from a case and shows it in the case's thread, or says why there is none.
suggest_from_thread  Does the same for a thread of a channel, and shows it in the agent channel. Nobody waits for it.
  _write       Writes the article with a model that sees the conversation without personal data.
  _compare     Finds the closest page, and asks a model whether it contradicts the article.
  _keep        Stores the suggestion, the post that shows it and its cost, in one transaction.
abandon        Books only the cost of an interaction that failed too often.
read_article   Parses the model's reply into its parts.

No model is trusted with personal data: the data is removed before a model sees the conversation, and again from what
it wrote. No model is trusted with the knowledge base: a close page is measured and always shown, a model's judgement
only adds a warning, and nothing is added without a person.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Models
from bot.agent.events import Event, ModelRetried
from bot.agent.journal import Journal
from bot.agent.limits import Limits
from bot.agent.loop import Outcome
from bot.agent.messages import AgentMessage, CustomerMessage, Message, StaffMessage
from bot.agent.model import Usage
from bot.agent.patterns import Terms, single, spent_on
from bot.agent.tools import Context
from bot.agent.typed import TypedReply
from bot.agent.wording import without_tags
from bot.cases.case import MovedOn
from bot.cases.messages import payload
from bot.cases.step import the_case
from bot.clock import Clock
from bot.conversation import Customer, ThreadRef
from bot.desk.budgets import Budgets
from bot.desk.prompts import read_instructions
from bot.desk.summing_up import transcript
from bot.guard.personal_data import PLACEHOLDERS, without_personal
from bot.help_center.articles import ArticleText, article_in, suggestion_key, withdraw
from bot.learning.conversations import ChannelThreads, Conversation, of_case
from bot.slack.api.chat import Chat
from bot.slack.blocks import Card
from bot.slack.outbox import Outbox
from bot.store import audit, drafts, outbox, spending, suggestions, turns
from bot.store.cases import OPEN_STATES, Case
from bot.store.database import Database
from bot.store.outbox import Outgoing
from bot.store.spending import Spending
from bot.store.suggestions import Suggestion
from bot.telemetry import Metrics
from bot.views import article_cards
from bot.views.article_cards import Close
from knowledge.knowledge_base import KnowledgeBase
from knowledge.search.passages import Hit

logger = logging.getLogger(__name__)

LEARNING_SECONDS = 45.0
"""The time from the interaction to the suggestion, including the wait for a free place."""
LIMITS = Limits(rounds=2, turn_seconds=28.0, round_seconds=25.0, output_tokens=1_500, output_characters=8_000)
"""The limits for writing the article."""
COMPARING = Limits(rounds=1, turn_seconds=12.0, round_seconds=10.0, output_tokens=200, output_characters=1_000)
"""The limits for the comparison."""
SUGGESTION_NOTE_TIMEOUT = 2.0
"""How long posting a note to the person who pressed the button can take."""
PARTS = ("article", "compare")
"""The names of the two agents, and of their parts of the journal."""
NOTHING = "NOTHING"
DIFFERS = "DIFFERS"

_HEADING = re.compile(r"^[*# ]{0,6}(TITLE|QUESTION|ANSWER)[* ]{0,3}:", re.MULTILINE | re.IGNORECASE)


_ARTICLE = TypedReply(
    "article",
    {
        "has_article": {"type": "boolean", "description": "False for NOTHING: then the other parts are empty."},
        "title": {"type": "string", "description": "A few words that name the matter."},
        "question": {"type": "string", "description": "One question, as any customer would ask it."},
        "answer": {"type": "string", "description": "The answer, in plain sentences."},
    },
    lambda value: (
        f"TITLE: {value['title']}\nQUESTION: {value['question']}\nANSWER: {value['answer']}"
        if value["has_article"]
        else NOTHING
    ),
)
_COMPARED = TypedReply(
    "comparison",
    {"differs": {"type": "boolean", "description": "True where the instructions ask for the word DIFFERS."}},
    lambda value: DIFFERS if value["differs"] else "AGREES",
)


def build_learners(shop_name: str) -> Team:
    """Build the agents that write and compare. Neither has tools."""
    agents = [
        Agent(name, read_instructions(name).replace("{shop}", shop_name), reply=reply)
        for name, reply in zip(PARTS, (_ARTICLE, _COMPARED), strict=True)
    ]
    return Team(tuple(agents), entry=PARTS[0])


@dataclass(frozen=True, slots=True)
class SuggestionResult:
    """The result of the models' work."""

    wording: ArticleText | None
    """The article. None if there is nothing to suggest."""
    close: Close | None = None
    usage: Usage = field(default_factory=Usage)
    models: tuple[str, ...] = ()
    reason: str = ""
    """Why there is no article."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Writes suggestions."""

    database: Database
    chat: Chat
    outbox: Outbox
    clock: Clock
    knowledge: KnowledgeBase
    models: Models
    team: Team
    budgets: Budgets
    metrics: Metrics
    agent_channel: str
    threads: ChannelThreads
    places: asyncio.Semaphore
    """Limits the number of conversations that are worked on at the same time."""
    is_on: bool
    """Whether there is a knowledge base to add articles to."""

    async def suggest(self, ref: str, user: str, *, asked: int, journal: Journal) -> str:
        """Suggest an article from the case. `asked` is the interaction's inbox id.

        Returns the outcome in one stable word.

        Raises:
            MovedOn: The case has not ended.
            UnknownCase: There is no such case.
        """
        async with self.database.transaction() as tx:
            case = await the_case(tx, ref)
            conversation = of_case(case, await drafts.conversation(tx, case), agent_channel=self.agent_channel)
            before = await suggestions.by_key(tx, conversation.key)
        if case.state in OPEN_STATES:
            raise MovedOn(case)
        if before is not None:
            await self._tell(case, user, f"{case.ref} already has a suggestion in its thread.")
            return "suggested"
        if not self.is_on:
            await self._tell(case, user, "There's no knowledge base to add to: KB_PATH isn't set.")
            return "no_knowledge"
        if not conversation.is_answered:
            await self._tell(case, user, f"Nothing to learn from {case.ref}: no one on the team answered the customer.")
            return "nothing_to_learn"
        # A customer's cap does not apply to work for staff, but the workspace's cap does.
        if await self.budgets.used_up(case.thread.team):
            await self.abandon(ref, asked=asked, journal=journal)
            await self._tell(case, user, "No suggestion: the workspace has used up its daily budget for models.")
            return "over_budget"
        await self._tell(case, user, f"Writing a suggestion from {case.ref}. It'll appear in its thread in a moment.")
        written = await self._write(conversation, asked=asked, journal=journal)
        if not await self._keep(conversation, user, written, asked=asked):
            await self._tell(
                case,
                user,
                f"No suggestion from {case.ref}: a message was deleted in between. Press the button again.",
            )
            return "outdated"
        if written.wording is not None:
            logger.info("an article was suggested", extra={"case": case.ref, "turn": asked})
            return "suggested"
        if written.reason == "nothing":
            await self._tell(case, user, f"The model found nothing in {case.ref} that would help other customers.")
            return "nothing_to_learn"
        logger.error("no article was suggested", extra={"case": case.ref, "turn": asked, "reason": written.reason})
        await self._tell(
            case, user, f"No suggestion from {case.ref}: the language model gave none. Press the button again."
        )
        return "learning_failed"

    async def suggest_from_thread(self, thread: ThreadRef, *, asked: int, journal: Journal) -> str:
        """Suggest an article from a thread of a channel. `asked` is the request's inbox id.

        Returns the outcome in one stable word.

        Raises:
            SlackRefused, SlackUnanswered: The thread can't be read.
        """
        conversation = await self.threads.read(thread) if self.is_on else None
        if conversation is None or not conversation.is_answered:
            return "nothing_to_learn"
        async with self.database.transaction() as tx:
            if await suggestions.by_key(tx, conversation.key) is not None:
                return "suggested"
        if await self.budgets.used_up(thread.team):
            await self._abandon(thread, "", asked=asked, journal=journal)
            logger.warning("no article was suggested: the daily budget is used up", extra={"conversation": thread.key})
            return "over_budget"
        written = await self._write(conversation, asked=asked, journal=journal)
        is_current = await self.threads.still_says(thread, conversation.key)
        if not await self._keep(conversation, conversation.answered_by, written, asked=asked, is_current=is_current):
            return "outdated"
        if written.wording is not None:
            logger.info("an article was suggested", extra={"conversation": thread.key, "turn": asked})
            return "suggested"
        if written.reason == "nothing":
            return "nothing_to_learn"
        logger.error(
            "no article was suggested", extra={"conversation": thread.key, "turn": asked, "reason": written.reason}
        )
        return "learning_failed"

    async def abandon(self, ref: str, *, asked: int, journal: Journal) -> None:
        """Give up an interaction that failed too often, and book its cost.

        Raises:
            UnknownCase: There is no such case.
        """
        async with self.database.transaction() as tx:
            case = await the_case(tx, ref)
        await self._abandon(case.thread, case.customer, asked=asked, journal=journal)

    async def abandon_thread(self, thread: ThreadRef, *, asked: int, journal: Journal) -> None:
        """Do the same for a thread of a channel."""
        await self._abandon(thread, "", asked=asked, journal=journal)

    async def _abandon(self, thread: ThreadRef, customer: str, *, asked: int, journal: Journal) -> None:
        noted = await spent_on(PARTS, rounds=LIMITS.rounds, journal=journal)
        if not noted.models:
            return
        spent = _spent(thread, customer, noted.usage, noted.models, asked=asked)
        async with self.database.transaction() as tx:
            await turns.forget(tx, asked)
            await spending.add(tx, spent, now=self.clock.now())
        spending.count(self.metrics, spent)

    async def _write(self, conversation: Conversation, *, asked: int, journal: Journal) -> SuggestionResult:
        names = conversation.names
        sheet = transcript(_nameless(message, names) for message in conversation.said)
        try:
            async with asyncio.timeout(LEARNING_SECONDS), self.places:
                terms = self._terms(conversation.thread, asked=asked, journal=journal)
                outcome = await self._ask("article", _framed("conversation", sheet), terms=terms, limits=LIMITS)
                written = _read(outcome, names)
                if written.wording is None:
                    return written
                return await self._compare(written, written.wording, terms=terms)
        except TimeoutError:
            noted = await spent_on(PARTS, rounds=LIMITS.rounds, journal=journal)
            return SuggestionResult(None, None, noted.usage, noted.models, "deadline")

    async def _compare(self, written: SuggestionResult, wording: ArticleText, *, terms: Terms) -> SuggestionResult:
        found = await self.knowledge.search(wording.question)
        if not found.answerable:
            return written
        hit = found.hits[0]
        article = _framed("article", f"{wording.question}\n{wording.answer}")
        asked = "\n".join([article, _framed("page", f"{hit.heading}\n{hit.text}")])
        outcome = await self._ask("compare", asked, terms=terms, limits=COMPARING)
        differs = outcome.ended == "answered" and outcome.text.strip(" .*`\n").upper().startswith(DIFFERS)
        models = tuple(dict.fromkeys((*written.models, *outcome.models)))
        usage = written.usage + outcome.usage
        return replace(written, close=_close(hit, contradicts=differs), usage=usage, models=models)

    async def _ask(self, agent: str, text: str, *, terms: Terms, limits: Limits) -> Outcome:
        asked = replace(terms.part(agent), limits=limits)
        return await single(self.team, agent, [CustomerMessage(text)], terms=asked)

    def _terms(self, thread: ThreadRef, *, asked: int, journal: Journal) -> Terms:
        # The agents have no tools, so it does not matter which customer the conversation belongs to.
        someone = Customer(thread.team, "", "", locale="", member_type="member")
        context = Context(someone, thread, turn=f"article/{asked}")
        return Terms(models=self.models, context=context, emit=self._hear, limits=LIMITS, journal=journal)

    async def _keep(
        self, conversation: Conversation, user: str, written: SuggestionResult, *, asked: int, is_current: bool = True
    ) -> bool:
        """Store and show the suggestion. It takes the place of an undecided one from the same thread of a channel.

        Returns False if it may contain words that were deleted while it was written. It is then dropped.
        """
        now, case, thread = self.clock.now(), conversation.case, conversation.thread
        spent = _spent(thread, conversation.customer, written.usage, written.models, asked=asked)
        async with self.database.transaction() as tx:
            await turns.forget(tx, asked)
            if written.models:
                await spending.add(tx, spent, now=now)
            if written.wording is not None and case is not None:
                is_current = not await drafts.deleted_since(tx, case, asked)
            is_outdated = written.wording is not None and not is_current
            if written.wording is not None and is_current:
                if case is None:
                    gone = await suggestions.drop_undecided_of(tx, thread)
                    await withdraw(tx, [suggestion_key(number) for number in gone], now=now)
                new = _suggestion(conversation, written.wording, written.close, by=user, now=now)
                if (made := await suggestions.add(tx, new)) is not None:
                    card = _card(made, conversation, written.close)
                    key, case_id = suggestion_key(made.id), case.id if case else None
                    shown = Outgoing(
                        key, "post", conversation.desk, payload(card), parent=conversation.parent, case_id=case_id
                    )
                    await outbox.add(tx, shown, now=now)
                    detail = {"source": case.ref if case else conversation.link}
                    subject = f"article/{made.id}"
                    await audit.note(tx, actor=user, action="kb.suggested", subject=subject, detail=detail, now=now)
        self.outbox.wake()
        if written.models:
            spending.count(self.metrics, spent)
        return not is_outdated

    def _hear(self, event: Event) -> None:
        """Ignore the stream, because a suggestion is shown only when it is complete. Only failures are counted."""
        if isinstance(event, ModelRetried):
            self.metrics.model_retried(event.reason)

    async def _tell(self, case: Case, user: str, words: str) -> None:
        """Post a note to the person who pressed the button. It must not delay anything."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SUGGESTION_NOTE_TIMEOUT):
                await self.chat.post_ephemeral(case.stands_in(self.agent_channel), user, text=words)


def read_article(reply: str) -> ArticleText | None:
    """The parts of a model's reply. None if it has another form."""
    before, *pieces = _HEADING.split(reply)
    parts = {name.upper(): text.strip(" \n*") for name, text in zip(pieces[::2], pieces[1::2], strict=True)}
    if before.strip() or len(pieces) != 6 or len(parts) != 3:
        return None
    wording = ArticleText(parts["TITLE"], parts["QUESTION"], parts["ANSWER"]).fitted()
    return wording if wording.is_whole else None


def _read(outcome: Outcome, names: Sequence[str]) -> SuggestionResult:
    """The article that the model wrote, without personal data that it may have copied."""
    if outcome.ended != "answered":
        return SuggestionResult(None, None, outcome.usage, outcome.models, outcome.reason or outcome.ended)
    wording = read_article(outcome.text)
    if wording is None:
        reason = "nothing" if outcome.text.strip(" .*`\n").upper() == NOTHING else "unreadable"
        return SuggestionResult(None, None, outcome.usage, outcome.models, reason)
    parts = (wording.title, wording.question, wording.answer)
    wording = ArticleText(*(without_personal(part, names=names) for part in parts)).fitted()
    return SuggestionResult(wording, None, outcome.usage, outcome.models)


def _nameless(message: Message, names: Sequence[str]) -> Message:
    match message:
        case CustomerMessage(text):
            return CustomerMessage(without_personal(text, names=names))
        case StaffMessage(text):
            return StaffMessage(without_personal(text, names=names))
        case AgentMessage(text):
            return AgentMessage(without_personal(text, names=names))
    raise ValueError(f"nobody speaks in a {type(message).__name__}")


def _framed(name: str, text: str) -> str:
    """The words in their frame, without tags that would end it."""
    inside = without_tags(text, "conversation", "article", "page")
    return f"<{name}>\n{inside}\n</{name}>"


def _close(hit: Hit, *, contradicts: bool) -> Close:
    likeness = round(max(0.0, min(hit.score, 1.0)), 2)
    excerpt = " ".join(hit.text.split())
    return Close(hit.source, hit.title, likeness, contradicts, excerpt, article_in(hit.source))


def _suggestion(
    conversation: Conversation, wording: ArticleText, close: Close | None, *, by: str, now: float
) -> Suggestion:
    case = conversation.case
    return Suggestion(
        id=0,
        key=conversation.key,
        case_id=case.id if case else None,
        title=wording.title,
        question=wording.question,
        answer=wording.answer,
        state="pending",
        asked_by=by,
        made_at=now,
        close_to=close.document[:255] if close else "",
        likeness=close.likeness if close else 0.0,
        contradicts=bool(close and close.contradicts),
        thread="" if case else conversation.thread.key,
        person="" if case else conversation.customer,
    )


def _card(made: Suggestion, conversation: Conversation, close: Close | None) -> Card:
    text = f"{made.title} {made.question} {made.answer}"
    return article_cards.suggestion(
        number=made.id,
        origin=conversation.label,
        link=conversation.link,
        by=made.asked_by,
        title=made.title,
        question=made.question,
        answer=made.answer,
        close=close,
        has_gaps=any(placeholder in text for placeholder in PLACEHOLDERS),
    )


def _spent(thread: ThreadRef, customer: str, usage: Usage, models: Sequence[str], *, asked: int) -> Spending:
    return Spending(f"article/{asked}", "article", thread, customer, models, usage)
