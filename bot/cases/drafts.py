"""Drafts in a case's thread. The team sees them, and the owner can send one to the customer.

of_owner   Returns the case, if the user is its owner.
shown      Returns the row that shows drafts under the case's card.
send       Sends one draft like a message that the owner wrote.

A draft is never relayed without a person's decision. Its text is stored under the interaction that asked for it, and a
button only refers to it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.cases.case import owned
from bot.cases.messages import payload
from bot.cases.relay import Relay, gone
from bot.cases.step import UnknownCase, the_case
from bot.clock import Clock
from bot.slack.blocks import Card
from bot.slack.mrkdwn import escape
from bot.slack.outbox import Outbox
from bot.store import audit, drafts, outbox
from bot.store.cases import Case, card_key
from bot.store.database import Database
from bot.store.outbox import Outgoing
from bot.store.statements import lock
from bot.views import staff_cards
from bot.views.staff_cards import Choice

VOICES = ("Short", "Warm", "Thorough")
"""The headings of the drafts, in order."""


@dataclass(frozen=True, slots=True)
class CaseDrafts:
    """Shows drafts and sends them."""

    database: Database
    outbox: Outbox
    clock: Clock
    relay: Relay
    agent_channel: str

    async def of_owner(self, ref: str, user: str) -> Case:
        """The case, if the user is its owner. Raises MovedOn or UnknownCase."""
        async with self.database.transaction() as tx:
            return owned(await the_case(tx, ref), user)

    def desk(self, case: Case) -> str:
        """The channel of the case's card."""
        return case.stands_in(self.agent_channel)

    def shown(
        self, case: Case, asked: int, texts: Sequence[str], *, doubtful: Collection[int] = (), pages: str = ""
    ) -> Outgoing:
        """The post that shows the drafts.

        `asked` is the id of the interaction that asked for them. `doubtful` has the numbers (1, 2, 3) of doubtful
        drafts. `pages` names the pages that they rest on.
        """
        card = _card(case, asked, texts, doubtful=doubtful, pages=pages)
        return Outgoing(
            drafts_key(asked), "post", self.desk(case), payload(card), parent=card_key(case), case_id=case.id
        )

    async def send(self, ref: str, user: str, *, asked: int, number: int, ts: str, words: str | None = None) -> bool:
        """Send one draft, or `words` in its place. `ts` is the message that shows it.

        A repeated call with the same draft sends nothing twice. Returns False if another draft of the message was
        sent, since only one of them may answer the customer.

        Raises:
            MovedOn: The user is not the owner.
            UnknownCase: There is no such case, or no such draft.
        """
        async with self.database.transaction() as tx:
            known = await the_case(tx, ref)
        is_unread = await self.relay.is_gone(known)
        author = await self.relay.author(known, user)
        async with self.database.transaction() as tx:
            await lock(tx, drafts_key(asked))
            case = await the_case(tx, ref)
            texts = await drafts.find(tx, case.id, asked)
            if not 1 <= number <= len(texts):
                raise UnknownCase(ref)
            edited = words is not None
            choice = Choice(number, user, self.clock.now(), edited=edited)
            shown = await outbox.by_key(tx, drafts_key(asked))
            pages = _pages(shown.payload) if shown else ""
            refused = self._chosen(case, asked, texts, replace(choice, failed=True), pages=pages)
            text = texts[number - 1] if words is None else escape(words)
            key = f"{drafts_key(asked)}/sent"
            row = self.relay.to_customer(case, text, key=key, ts=ts, author=author, when_failed=(refused,))
            before = await outbox.by_key(tx, key)
            if before is not None:
                return bool(before.payload["text"] == row.payload["text"])
            owned(case, user)
            if is_unread:
                told = self.relay.not_delivered(case, key, ts, gone(case))
                await outbox.add(tx, *told, refused, now=self.clock.now())
                self.outbox.wake()
                return True
            sent = self._chosen(case, asked, texts, choice, pages=pages)
            await outbox.add(tx, row, sent, now=self.clock.now())
            await self.relay.note_reply(tx, case, user)
            detail = {"asked": asked, "number": number, "edited": edited}
            await audit.note(tx, actor=user, action="draft.sent", subject=case.ref, detail=detail, now=self.clock.now())
        self.outbox.wake()
        return True

    def _chosen(self, case: Case, asked: int, texts: Sequence[str], choice: Choice, *, pages: str) -> Outgoing:
        """The update that says which draft was sent, and removes the buttons."""
        card = _card(case, asked, texts, choice=choice, pages=pages)
        return Outgoing(
            f"{drafts_key(asked)}/{'refused' if choice.failed else 'chosen'}",
            "update",
            self.desk(case),
            payload(card),
            parent=drafts_key(asked),
            case_id=case.id,
        )


def drafts_key(asked: int) -> str:
    """The outbox key of the message that shows the drafts of one interaction."""
    return f"drafts/{asked}"


def _pages(shown: Mapping[str, Any]) -> str:
    """The line of the message that names the pages its drafts rest on."""
    blocks = (block for block in shown.get("blocks", ()) if block.get("block_id") == staff_cards.PAGES)
    return next((str(block["elements"][0]["text"]) for block in blocks), "")


def _card(
    case: Case,
    asked: int,
    texts: Sequence[str],
    *,
    doubtful: Collection[int] = (),
    choice: Choice | None = None,
    pages: str = "",
) -> Card:
    """The card with each draft under its voice. If one is missing, the voices of the others are not known."""
    voices = VOICES if len(texts) == len(VOICES) else ["Draft"] * len(texts)
    titled = list(zip(voices, texts, strict=True))
    return staff_cards.drafts(case, asked=asked, texts=titled, doubtful=doubtful, choice=choice, pages=pages)
