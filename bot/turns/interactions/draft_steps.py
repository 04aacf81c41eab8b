"""What the buttons of staff do with drafts of replies."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.cases.dialogs import numbers_of
from bot.cases.drafts import CaseDrafts
from bot.clock import Clock
from bot.drafts.drafts import Drafting
from bot.guard.guardrails import clean, mask
from bot.store.database import Database
from bot.store.inbox import InboxItem
from bot.turns.answers.journal import open_journal
from bot.turns.interactions.replies import Replies, Step
from bot.views.dialogs import DRAFT_LIMIT


@dataclass(frozen=True, slots=True)
class DraftSteps:
    """Carries these interactions out. `bot.app` puts the parts together."""

    database: Database
    clock: Clock
    drafting: Drafting
    drafts: CaseDrafts
    replies: Replies

    def table(self) -> Mapping[str, Step]:
        """What each button runs."""
        return {"case.draft": self._draft, "draft.send": self._send_draft, "submit.draft": self._send_draft}

    async def abandon(self, item: InboxItem) -> None:
        """Save what drafts cost that failed too often."""
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        await self.drafting.abandon(item.interaction.value, asked=item.id, journal=journal)

    async def _draft(self, item: InboxItem, ref: str) -> str:
        journal = await open_journal(self.database, self.clock, turn=item.id, attempt=item.fence)
        return await self.drafting.draft(ref, item.author, asked=item.id, journal=journal)

    async def _send_draft(self, item: InboxItem, value: str) -> None:
        ref, (asked, number), ts = value.partition("/")[0], numbers_of(value), item.interaction.message_ts
        written = item.interaction.fields.get("text")
        words = mask(clean(written, limit=DRAFT_LIMIT)) if isinstance(written, str) else None
        if not await self.drafts.send(ref, item.author, asked=asked, number=number, ts=ts, words=words):
            await self.replies.tell(item, "One of these drafts was already sent. To say more, write in this thread.")
