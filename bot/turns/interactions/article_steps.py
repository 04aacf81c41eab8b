"""What the buttons of staff do with suggested articles, and with messages that become articles."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from bot.clock import Clock
from bot.conversation import ThreadRef
from bot.help_center.articles import Articles, ArticleText, Decided, UnknownArticle, status_text
from bot.learning.suggestions import Learning
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.answers.journal import open_journal
from bot.turns.interactions.replies import Replies, Step, field, number
from bot.views.article_cards import REASONS


@dataclass(frozen=True, slots=True)
class ArticleSteps:
    """Carries these interactions out. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    learning: Learning
    articles: Articles
    replies: Replies

    def table(self) -> Mapping[str, Step]:
        """What each button runs."""
        steps: dict[str, Step] = {
            "submit.article": self._add_article,
            "kb.suggest": self._suggest,
            "kb.new": lambda item, value: self.articles.approve(number(value), item.author),
            "kb.update": lambda item, value: self.articles.approve(number(value), item.author, replacing=True),
            **{f"kb.discard.{reason}": self._discard for reason in REASONS},
        }
        return {id_: partial(self._undecided, step) for id_, step in steps.items()}

    async def abandon(self, item: InboxItem) -> None:
        """Save what a suggestion cost that failed too often."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        value = item.interaction.value
        if _is_thread(value):
            await self.learning.abandon_thread(ThreadRef.of(value), asked=item.id, journal=journal)
        else:
            await self.learning.abandon(value, asked=item.id, journal=journal)

    async def _undecided(self, step: Step, item: InboxItem, value: str) -> object:
        """Run the step, or tell the person that the suggestion is gone or decided."""
        try:
            return await step(item, value)
        except UnknownArticle:
            await self.replies.tell(item, "Frontdesk can't find this suggestion. Nothing was done.")
            return "unknown_article"
        except Decided as error:
            # An attempt before a crash may have decided it.
            if item.fence == 1 or error.suggestion.decided_by != item.author:
                await self.replies.tell(item, status_text(error.suggestion))
                return "decided_before"
            return None

    async def _suggest(self, item: InboxItem, ref: str) -> str:
        """Suggest an article from a case, or from a thread of a channel, whose key `ref` is then."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        if _is_thread(ref):
            return await self.learning.suggest_from_thread(ThreadRef.of(ref), asked=item.id, journal=journal)
        return await self.learning.suggest(ref, item.author, asked=item.id, journal=journal)

    async def _add_article(self, item: InboxItem, value: str) -> str | None:
        """Make an article from a message or a suggestion, with the words that were filled in."""
        (which, _, rest), wording = value.partition("/"), _wording(item)
        if not wording.is_whole:
            await self.replies.tell(
                item, "Not added: title, question and answer each need words. Open the dialog again."
            )
            return "not_whole"
        if which == "message":
            await self.articles.add(wording, item.author, thread=item.thread, ts=rest)
        else:
            await self.articles.approve(number(which), item.author, wording=wording, version=number(rest))
        return None

    async def _discard(self, item: InboxItem, value: str) -> None:
        reason = item.interaction.action.removeprefix("kb.discard.")
        await self.articles.discard(number(value), item.author, reason)


def _is_thread(value: str) -> bool:
    """Whether the value of `kb.suggest` is the key of a thread, and not a case."""
    return value.count("/") == 2


def _wording(item: InboxItem) -> ArticleText:
    """Return the title, question and answer that were filled in."""
    return ArticleText(*(field(item, name) for name in ("title", "question", "answer")))
