"""What stands on a staff message when the customer's copy of it is taken back."""

import pytest

from bot.conversation import ThreadRef
from bot.store import outbox
from bot.store.cases import card_key
from bot.store.database import Database
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.store.test_interrupts import edit
from tests.turns.arrivals import TEAM, arrival
from tests.turns.test_edits import THREAD, Desk

AGENTS = "C0AGENTS"
TRAY = "outbox_tray"


class RelayDesk(Desk):
    """A claimed case whose owner has written one message to the customer."""

    said: str

    async def begins(self) -> None:
        asked = await self.slack.client.chat.post(THREAD.channel, text="Where is my lamp?")
        case = await self.opened(ThreadRef(TEAM, THREAD.channel, asked), summary="", owner="U0AGENTA")
        await self.sends()
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(case))
        assert card is not None
        self.said = await self.slack.client.chat.post(AGENTS, text="He is a fraud", thread_ts=card.ts)
        (item,) = await self.receives(
            arrival(self.said, text="He is a fraud", thread_ts=card.ts, channel=AGENTS, kind="staff", author="U0AGENTA")
        )
        assert await self.relay.from_staff(item) == "relayed"

    async def makes_a_note(self) -> None:
        change = edit(self.said, "1999999999.0", "// He is a fraud", channel=AGENTS, author="U0AGENTA")
        (changed,) = await self.receives(change)
        await self.thoughts.edited(changed)

    async def sends(self) -> None:
        await send_all(self.outbox)


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> RelayDesk:
    desk = RelayDesk(database, slack)
    await desk.begins()
    return desk


@pytest.mark.parametrize("was_delivered", [True, False])
async def test_a_message_that_was_made_a_note_is_not_marked_as_delivered(desk: RelayDesk, was_delivered: bool) -> None:
    if was_delivered:
        await desk.sends()
        assert desk.slack.marks(AGENTS, desk.said) == [TRAY]
    await desk.makes_a_note()
    await desk.sends()
    assert not any("fraud" in text for text in desk.slack.texts(THREAD.channel))
    assert desk.slack.marks(AGENTS, desk.said) == []


async def test_the_mark_stays_as_long_as_the_customer_reads_the_copy(desk: RelayDesk) -> None:
    await desk.sends()
    await desk.makes_a_note()
    await desk.slack.breaks(method="chat.delete", do="cant_delete_message", count=1)
    await desk.sends()
    assert any("fraud" in text for text in desk.slack.texts(THREAD.channel))
    assert desk.slack.marks(AGENTS, desk.said) == [TRAY]
