"""Articles of the knowledge base that come from support cases. Staff decide what becomes one, and can take it back.

approve, discard   Decide on a suggestion. The first person who presses a button decides.
add                Adds an article directly from a message, in the words of the dialog.
forget             Takes an article back.
expire             Closes suggestions that no one has decided on within four weeks.
told               Lists the articles, and says whether their own questions find them.
prefilled          Returns the texts that the dialog first shows for a message.

The rows are the truth. bot/help_center/article_folder.py writes them into the folder that the index is built from.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.agent.messages import CustomerMessage, Message, StaffMessage
from bot.cases.messages import payload
from bot.clock import WEEK, Clock
from bot.conversation import ThreadRef
from bot.errors import FrontdeskError
from bot.guard.guardrails import clean, mask
from bot.guard.personal_data import without_personal
from bot.help_center import status_texts
from bot.slack.api.chat import Chat
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.mrkdwn import escape, from_slack
from bot.slack.outbox import Outbox
from bot.store import audit, cases, drafts, erasure, outbox, suggestions
from bot.store.cases import Case
from bot.store.database import Database, Transaction
from bot.store.outbox import Outgoing
from bot.store.suggestions import State, Suggestion
from bot.views import article_cards
from bot.views.dialogs import ANSWER_LIMIT, QUESTION_LIMIT, TITLE_LIMIT
from knowledge.config import LEARNED
from knowledge.knowledge_base import KnowledgeBase

DECIDED_ARTICLES_PERIOD = 4 * WEEK
"""How long a suggestion waits for a decision."""
MAX_LISTED_ARTICLES = 25
"""The number of newest articles in a list."""
QUESTION_TIMEOUT = 1.0
"""How long finding the question for a message can take. A dialog must open within three seconds."""

_NUMBER = re.compile(rf"{LEARNED}/(?:FD-\d+-)?(\d+)\.md")
_TITLE = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
"""Matches the text in parentheses after a colleague's name."""


class Decided(FrontdeskError):
    """Another person decided first, or the suggestion has changed. `suggestion` is the suggestion as it is now."""

    def __init__(self, suggestion: Suggestion) -> None:
        self.suggestion = suggestion
        super().__init__(f"suggestion {suggestion.id} is {suggestion.state}")


class UnknownArticle(FrontdeskError):
    """There is no suggestion or article with this number."""


@dataclass(frozen=True, slots=True)
class ArticleText:
    """The texts of an article."""

    title: str
    question: str
    answer: str

    def fitted(self) -> "ArticleText":
        """The texts ready to be stored: without secrets and hidden characters, cut to fit the columns and dialog."""
        return ArticleText(
            mask(clean(" ".join(self.title.split()), limit=TITLE_LIMIT)),
            mask(clean(" ".join(self.question.split()), limit=QUESTION_LIMIT)),
            mask(clean(self.answer, limit=ANSWER_LIMIT)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether each part contains letters."""
        return all(any(map(str.isalnum, part)) for part in (self.title, self.question, self.answer))


def document_of(article: Suggestion) -> str:
    """The name of the article's document in the knowledge base."""
    origin = f"{article.ref}-" if article.ref else ""
    return f"{LEARNED}/{origin}{article.id}.md"


def article_in(document: str) -> int | None:
    """The number of the document's article. None for any other page."""
    found = _NUMBER.fullmatch(document)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Articles:
    """Carries out staff's decisions on articles."""

    database: Database
    chat: Chat
    outbox: Outbox
    clock: Clock
    knowledge: KnowledgeBase
    changed: Callable[[], None]
    """Called after every change of the articles."""

    async def find(self, number: int) -> Suggestion:
        """The suggestion with this number. Raises UnknownArticle."""
        async with self.database.transaction() as tx:
            return await _the(tx, number)

    async def approve(
        self,
        number: int,
        user: str,
        *,
        wording: ArticleText | None = None,
        version: int | None = None,
        replacing: bool = False,
    ) -> None:
        """Make a suggestion an article. With a `wording` its words change first.

        With `replacing` it replaces the article that it is close to. With a `version` the suggestion must still have
        the words that were shown with that version.

        Raises:
            Decided: The suggestion is decided already, or has changed.
            UnknownArticle: There is no such suggestion.
        """
        now = self.clock.now()
        async with self.database.transaction() as tx:
            before = await _undecided(tx, number, version=version)
            given = wording.fitted() if wording else ArticleText(before.title, before.question, before.answer)
            old = article_in(before.close_to) if replacing else None
            text = {"title": given.title, "question": given.question, "answer": given.answer}
            after = await self._change(tx, before, "approved", user, **text)
            instead_of = ""
            if old is not None and (other := await suggestions.find(tx, old)) and other.state == "approved":
                gone = await self._change(tx, other, "replaced", user, reason=str(number))
                await self._show(tx, gone, article_cards.replaced(by=user, number=str(number)))
                instead_of = str(old)
            outcome = article_cards.approved(number=number, by=user, at=now, instead_of=instead_of)
            await self._show(tx, after, outcome)
        self._tell()

    async def discard(self, number: int, user: str, reason: str) -> None:
        """Discard a suggestion. `reason` is a key of `learning_cards.REASONS`. Raises what `approve` raises."""
        async with self.database.transaction() as tx:
            after = await self._change(tx, await _undecided(tx, number), "discarded", user, reason=reason)
            outcome = article_cards.discarded(by=user, reason=reason)
            await self._show(tx, after, outcome)
        self.outbox.wake()

    async def add(self, wording: ArticleText, user: str, *, thread: ThreadRef, ts: str) -> None:
        """Make an article from the message at `ts` of the thread, and say so there. Raises Decided if it already is."""
        now, key, given = self.clock.now(), f"message/{thread.channel}/{ts}", wording.fitted()
        text = {"title": given.title, "question": given.question, "answer": given.answer}
        async with self.database.transaction() as tx:
            case = await self._case_at(tx, thread)
            case_id = case.id if case else None
            new = Suggestion(
                id=0,
                key=key,
                case_id=case_id,
                title=given.title,
                question=given.question,
                answer=given.answer,
                state="approved",
                asked_by=user,
                made_at=now,
            )
            made = await suggestions.add(tx, replace(new, decided_by=user, decided_at=now))
            if made is None:
                before = await suggestions.by_key(tx, key)
                if before is None or before.state == "approved":
                    raise Decided(before or new)
                after = await self._change(tx, before, "approved", user, **text)
                outcome = article_cards.approved(number=after.id, by=user, at=now)
                await self._show(tx, after, outcome)
            else:
                await self._note(tx, made, user)
                card = article_cards.added(number=made.id, by=user, at=now, **text)
                key = suggestion_key(made.id)
                shown = Outgoing(key, "post", thread.channel, payload(card), thread_ts=thread.ts, case_id=made.case_id)
                await outbox.add(tx, shown, now=now)
        self._tell()

    async def forget(self, number: int, user: str) -> str:
        """Take an article back. Returns the reply to the user, as mrkdwn."""
        async with self.database.transaction() as tx:
            before = await suggestions.find(tx, number)
            if before is None or before.state != "approved":
                return f"There is no article {number}. `/kb learned` lists those there are."
            after = await self._change(tx, before, "forgotten", user)
            await self._show(tx, after, article_cards.forgotten(by=user))
        self._tell()
        return f"Article {number} is taken back: “{escape(before.title)}”. Within a minute nobody is answered from it."

    async def expire(self) -> None:
        """Close the suggestions that no one has decided on in time."""
        async with self.database.transaction() as tx:
            overdue = await suggestions.undecided_since(tx, self.clock.now() - DECIDED_ARTICLES_PERIOD)
            for old in overdue:
                with contextlib.suppress(Decided):
                    gone = await self._change(tx, old, "expired", "frontdesk")
                    await self._show(tx, gone, article_cards.EXPIRED)
        if overdue:
            self.outbox.wake()

    async def told(self) -> str:
        """The newest articles as mrkdwn. Each line says whether the article's question finds it now."""
        async with self.database.transaction() as tx:
            found = await suggestions.articles(tx)
        if not found:
            return "Nothing was added to the knowledge base yet. A solved case's card has *Suggest an article*."
        lines = [f"*Articles that staff added*: {len(found)}"]
        for article in reversed(found[-MAX_LISTED_ARTICLES:]):
            since = status_texts.moment(article.decided_at or article.made_at)
            origin = f", from {article.ref}" if article.ref else ""
            line = f"• *{article.id}*  {escape(article.title)}{origin}, <@{article.decided_by}> {since}"
            lines.append(f"{line}\n   {await self._finds(article)}")
        if len(found) > MAX_LISTED_ARTICLES:
            lines.append(f"… and {len(found) - MAX_LISTED_ARTICLES} older ones.")
        lines.append("`/kb forget <number>` takes one back.")
        return status_texts.fitting("\n".join(lines))

    async def prefilled(self, thread: ThreadRef, ts: str, text: str, *, is_copy: bool) -> ArticleText:
        """The texts that the dialog first shows for a message in a team channel: its words, and the question before it.

        `is_copy` is set if the app posted the message as a copy of a customer's words, which are then the question.
        """
        async with self.database.transaction() as tx:
            case = await self._case_at(tx, thread)
            said = await drafts.conversation(tx, case) if case else []
        names = names_of(case, said) if case else []
        if is_copy:
            question = "\n".join(line.removeprefix("&gt;").removeprefix(">") for line in text.splitlines()[1:])
            return _prefilled(from_slack(question, bot_user=""), "", names)
        asked = [each.text for each in said if isinstance(each, CustomerMessage) and each.ts < ts]
        question = asked[-1] if asked else await self._before(thread, ts)
        return _prefilled(question, from_slack(text, bot_user="").removeprefix("//"), names)

    async def _before(self, thread: ThreadRef, ts: str) -> str:
        """The text of the message before this one in the thread. Empty if Slack does not reply in time."""
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT):
                said = await self.chat.replies(thread.channel, thread.ts)
        except (SlackRefused, SlackUnanswered, TimeoutError):
            return ""
        before = [str(each.get("text", "")) for each in said if str(each.get("ts", "")) < ts]
        return from_slack(before[-1], bot_user="") if before else ""

    async def _finds(self, article: Suggestion) -> str:
        found = await self.knowledge.search(article.question)
        first = next(iter(dict.fromkeys(hit.source for hit in found.hits)), "")
        if found.answerable and first == document_of(article):
            return ":white_check_mark: its question finds it"
        if any(hit.source == document_of(article) for hit in found.hits):
            return f":warning: its question finds `{escape(first)}` first"
        return ":warning: its question does not find it (yet)"

    async def _case_at(self, tx: Transaction, thread: ThreadRef) -> Case | None:
        card = await outbox.by_place(tx, thread.channel, thread.ts)
        return None if card is None or card.case_id is None else await cases.find(tx, card.case_id)

    async def _change(self, tx: Transaction, before: Suggestion, state: State, user: str, **values: str) -> Suggestion:
        wanted = replace(before, state=state, decided_by=user, decided_at=self.clock.now(), **values)  # type: ignore[arg-type]
        after = await suggestions.change(tx, before, wanted)
        if after is None:
            raise Decided(await _the(tx, before.id))
        await self._note(tx, after, user)
        return after

    async def _show(self, tx: Transaction, after: Suggestion, outcome: str) -> None:
        """Update the message about the suggestion: it shows the outcome and has no buttons."""
        key = suggestion_key(after.id)
        shown = await outbox.by_key(tx, key)
        if shown is None:
            return
        card = article_cards.decided(
            origin=after.ref or ("a thread" if after.thread else "a message"),
            title=after.title,
            question=after.question,
            answer=after.answer,
            outcome=outcome,
        )
        update = Outgoing(
            f"{key}/{after.version}", "update", shown.channel, payload(card), parent=key, case_id=after.case_id
        )
        await outbox.add(tx, update, now=self.clock.now())

    async def _note(self, tx: Transaction, after: Suggestion, user: str) -> None:
        detail = {"source": after.ref, "reason": after.reason}
        subject, now = f"article/{after.id}", self.clock.now()
        await audit.note(tx, actor=user, action=f"kb.{after.state}", subject=subject, detail=detail, now=now)

    def _tell(self) -> None:
        self.outbox.wake()
        self.changed()


def status_text(suggestion: Suggestion) -> str:
    """The status text for a person who decides on a suggestion that is already decided."""
    by = f" by <@{suggestion.decided_by}>" if suggestion.decided_by else ""
    match suggestion.state:
        case "pending":
            return "It was changed meanwhile: look at it again, and press once more."
        case "approved":
            return f"It is article {suggestion.id} already, approved{by}."
        case "discarded":
            return f"It was discarded{by}: {article_cards.REASONS.get(suggestion.reason, suggestion.reason)}."
        case "expired":
            return "It expired: nobody decided within four weeks."
        case _:
            return f"It was an article, and was taken back or replaced{by}."


def names_of(case: Case, said: Sequence[Message]) -> list[str]:
    """The known names of the people in a case's conversation."""
    headings = [message.text.partition("\n")[0] for message in said if isinstance(message, StaffMessage)]
    staff = [_TITLE.sub("", heading.strip("* ")) for heading in headings]
    return [name for name in (case.customer_name, case.owner_name or "", *staff) if name.strip()]


async def withdraw(tx: Transaction, keys: Sequence[str], *, now: float) -> None:
    """Blank and delete the posts with these keys. They show proposals whose rows are gone."""
    await erasure.blank(tx, keys, below=[f"{key}/" for key in keys])
    posts = [post for key in keys if (post := await outbox.by_key(tx, key)) is not None]
    rows = [Outgoing(f"withdrawn/{post.key}", "delete", post.channel, {}, parent=post.key) for post in posts]
    await outbox.add(tx, *rows, now=now)


def suggestion_key(number: int) -> str:
    """The outbox key of the message that shows a suggestion or an article."""
    return f"suggestion/{number}"


def _prefilled(question: str, answer: str, names: Sequence[str]) -> ArticleText:
    question, answer = (without_personal(text, names=names).strip() for text in (question, answer))
    return ArticleText(" ".join(question.split())[:TITLE_LIMIT], " ".join(question.split()), answer)


async def _the(tx: Transaction, number: int) -> Suggestion:
    found = await suggestions.find(tx, number)
    if found is None:
        raise UnknownArticle(str(number))
    return found


async def _undecided(tx: Transaction, number: int, *, version: int | None = None) -> Suggestion:
    found = await _the(tx, number)
    if found.state != "pending" or version not in (None, found.version):
        raise Decided(found)
    return found
