"""Articles of the knowledge base that come from work: staff decide what becomes one, and take one back.

approve, discard   the two ends of a suggestion, each by the first who presses
add                an article straight from a message, by whoever wrote it into the dialog
forget             an article is taken back
expire             what nobody has decided on within four weeks is not asked about any more
told               the articles there are, and whether their own questions find them
prefilled          what the dialog shows of a message before anybody edits it

The rows are the truth; bot/help_center/article_folder.py makes of them what the index is built from.
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
from bot.help_center import texts as words
from bot.slack.client import SlackClient, SlackRefused, SlackUnanswered
from bot.slack.mrkdwn import escape, from_slack
from bot.slack.outbox import Outbox
from bot.store import audit, cases, outbox, suggestions
from bot.store import drafts as draft_rows
from bot.store.cases import Case
from bot.store.database import Database, Transaction
from bot.store.outbox import Outgoing
from bot.store.suggestions import State, Suggestion
from bot.views import article_cards as learning_cards
from bot.views.dialogs import ANSWER_LIMIT, QUESTION_LIMIT, TITLE_LIMIT
from knowledge.config import LEARNED
from knowledge.knowledge_base import KnowledgeBase

DECIDED_ARTICLES_PERIOD = 4 * WEEK
"""How long a suggestion waits to be decided on."""
MAX_LISTED_ARTICLES = 25
"""Articles in one list, the newest."""
QUESTION_TIMEOUT = 1.0
"""What finding the question to a message may take: a dialog has to open within three seconds."""

_NUMBER = re.compile(rf"{LEARNED}/(?:FD-\d+-)?(\d+)\.md")
_TITLE = re.compile(r"(?<!\s)\s*\([^()]*\)\s*$")
"""What stands in parentheses behind a colleague's name."""


class Decided(FrontdeskError):
    """Somebody was faster, or it was changed meanwhile; `suggestion` is how it stands now."""

    def __init__(self, suggestion: Suggestion) -> None:
        self.suggestion = suggestion
        super().__init__(f"suggestion {suggestion.id} is {suggestion.state}")


class UnknownArticle(FrontdeskError):
    """There is no suggestion or article of this number."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What an article says."""

    title: str
    question: str
    answer: str

    def fitted(self) -> "Wording":
        """Fit to be kept: no secrets, no hidden characters, no more than the columns and the dialog hold."""
        return Wording(
            mask(clean(" ".join(self.title.split()), limit=TITLE_LIMIT)),
            mask(clean(" ".join(self.question.split()), limit=QUESTION_LIMIT)),
            mask(clean(self.answer, limit=ANSWER_LIMIT)),
        )

    @property
    def is_whole(self) -> bool:
        """Whether there are letters in each part."""
        return all(any(map(str.isalnum, part)) for part in (self.title, self.question, self.answer))


def document_of(article: Suggestion) -> str:
    """The name of its document in the knowledge base."""
    origin = f"{article.ref}-" if article.ref else ""
    return f"{LEARNED}/{origin}{article.id}.md"


def article_in(document: str) -> int | None:
    """The number of the article that a document is; None for any other page."""
    found = _NUMBER.fullmatch(document)
    return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Articles:
    """Carries decisions out; the parts are put together in `bot.app`."""

    database: Database
    slack: SlackClient
    outbox: Outbox
    clock: Clock
    knowledge: KnowledgeBase
    changed: Callable[[], None]
    """Told whenever the articles are not what they were."""

    async def find(self, number: int) -> Suggestion:
        """The suggestion of this number. Raises UnknownArticle."""
        async with self.database.transaction() as tx:
            return await _the(tx, number)

    async def approve(
        self,
        number: int,
        user: str,
        *,
        wording: Wording | None = None,
        version: int | None = None,
        replacing: bool = False,
    ) -> None:
        """Make an article of a suggestion, perhaps in other words, or in place of the article that it is close to.

        With `version` the words must be those that were shown then.

        Raises:
            Decided: it is decided already, or was changed meanwhile.
            UnknownArticle: there is no such suggestion.
        """
        now = self.clock.now()
        async with self.database.transaction() as tx:
            before = await _undecided(tx, number, version=version)
            given = wording.fitted() if wording else Wording(before.title, before.question, before.answer)
            old = article_in(before.close_to) if replacing else None
            text = {"title": given.title, "question": given.question, "answer": given.answer}
            after = await self._change(tx, before, "approved", user, **text)
            instead_of = ""
            if old is not None and (other := await suggestions.find(tx, old)) and other.state == "approved":
                gone = await self._change(tx, other, "replaced", user, reason=str(number))
                await self._show(tx, gone, learning_cards.replaced(by=user, number=str(number)))
                instead_of = str(old)
            outcome = learning_cards.approved(number=number, by=user, at=now, instead_of=instead_of)
            await self._show(tx, after, outcome)
        self._tell()

    async def discard(self, number: int, user: str, reason: str) -> None:
        """It is not wanted; `reason` is one of `learning_cards.REASONS`. Raises as `approve`."""
        async with self.database.transaction() as tx:
            after = await self._change(tx, await _undecided(tx, number), "discarded", user, reason=reason)
            outcome = learning_cards.discarded(by=user, reason=reason)
            await self._show(tx, after, outcome)
        self.outbox.wake()

    async def add(self, wording: Wording, user: str, *, thread: ThreadRef, ts: str) -> None:
        """Make an article of the message at `ts` of the thread, and say so there. Raises Decided when it is one."""
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
                outcome = learning_cards.approved(number=after.id, by=user, at=now)
                await self._show(tx, after, outcome)
            else:
                await self._note(tx, made, user)
                card = learning_cards.added(number=made.id, by=user, at=now, **text)
                key = suggestion_key(made.id)
                shown = Outgoing(key, "post", thread.channel, payload(card), thread_ts=thread.ts, case_id=made.case_id)
                await outbox.add(tx, shown, now=now)
        self._tell()

    async def forget(self, number: int, user: str) -> str:
        """Take an article back; what to say of it, as mrkdwn."""
        async with self.database.transaction() as tx:
            before = await suggestions.find(tx, number)
            if before is None or before.state != "approved":
                return f"There is no article {number}. `/kb learned` lists those there are."
            after = await self._change(tx, before, "forgotten", user)
            await self._show(tx, after, learning_cards.forgotten(by=user))
        self._tell()
        return f"Article {number} is taken back: “{escape(before.title)}”. Within a minute nobody is answered from it."

    async def expire(self) -> None:
        """Close what nobody has decided on in time."""
        async with self.database.transaction() as tx:
            overdue = await suggestions.undecided_since(tx, self.clock.now() - DECIDED_ARTICLES_PERIOD)
            for old in overdue:
                with contextlib.suppress(Decided):
                    gone = await self._change(tx, old, "expired", "frontdesk")
                    await self._show(tx, gone, learning_cards.EXPIRED)
        if overdue:
            self.outbox.wake()

    async def told(self) -> str:
        """The newest articles as mrkdwn, each with whether its question finds it now."""
        async with self.database.transaction() as tx:
            found = await suggestions.articles(tx)
        if not found:
            return "Nothing was added to the knowledge base yet. A solved case's card has *Suggest an article*."
        lines = [f"*Articles that staff added*: {len(found)}"]
        for article in reversed(found[-MAX_LISTED_ARTICLES:]):
            since = words.moment(article.decided_at or article.made_at)
            origin = f", from {article.ref}" if article.ref else ""
            line = f"• *{article.id}*  {escape(article.title)}{origin}, <@{article.decided_by}> {since}"
            lines.append(f"{line}\n   {await self._finds(article)}")
        if len(found) > MAX_LISTED_ARTICLES:
            lines.append(f"… and {len(found) - MAX_LISTED_ARTICLES} older ones.")
        lines.append("`/kb forget <number>` takes one back.")
        return words.fitting("\n".join(lines))

    async def prefilled(self, thread: ThreadRef, ts: str, text: str, *, is_copy: bool) -> Wording:
        """What the dialog shows for a message of the agent channel: what it says, and what it answered.

        `is_copy`: the app wrote it, to show what a customer said.
        """
        async with self.database.transaction() as tx:
            case = await self._case_at(tx, thread)
            said = await draft_rows.conversation(tx, case) if case else []
        names = names_of(case, said) if case else []
        if is_copy:
            question = "\n".join(line.removeprefix("&gt;").removeprefix(">") for line in text.splitlines()[1:])
            return _prefilled(from_slack(question, bot_user=""), "", names)
        asked = [each.text for each in said if isinstance(each, CustomerMessage) and each.ts < ts]
        question = asked[-1] if asked else await self._before(thread, ts)
        return _prefilled(question, from_slack(text, bot_user="").removeprefix("//"), names)

    async def _before(self, thread: ThreadRef, ts: str) -> str:
        """What was said in the thread before the message; empty when Slack does not say in time."""
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT):
                said = await self.slack.replies(thread.channel, thread.ts)
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
        """The message about it says what became of it, and has no buttons any more."""
        key = suggestion_key(after.id)
        shown = await outbox.by_key(tx, key)
        if shown is None:
            return
        card = learning_cards.decided(
            origin=after.ref or "a message",
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
    """What somebody is told who decides on what is decided."""
    by = f" by <@{suggestion.decided_by}>" if suggestion.decided_by else ""
    match suggestion.state:
        case "pending":
            return "It was changed meanwhile: look at it again, and press once more."
        case "approved":
            return f"It is article {suggestion.id} already, approved{by}."
        case "discarded":
            return f"It was discarded{by}: {learning_cards.REASONS.get(suggestion.reason, suggestion.reason)}."
        case "expired":
            return "It expired: nobody decided within four weeks."
        case _:
            return f"It was an article, and was taken back or replaced{by}."


def names_of(case: Case, said: Sequence[Message]) -> list[str]:
    """The names of the people in a case's conversation, as far as they are known."""
    headings = [message.text.partition("\n")[0] for message in said if isinstance(message, StaffMessage)]
    staff = [_TITLE.sub("", heading.strip("* ")) for heading in headings]
    return [name for name in (case.customer_name, case.owner_name or "", *staff) if name.strip()]


def suggestion_key(number: int) -> str:
    """The outbox key of the message that shows a suggestion or an article."""
    return f"suggestion/{number}"


def _prefilled(question: str, answer: str, names: Sequence[str]) -> Wording:
    question, answer = (without_personal(text, names=names).strip() for text in (question, answer))
    return Wording(" ".join(question.split())[:TITLE_LIMIT], " ".join(question.split()), answer)


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
