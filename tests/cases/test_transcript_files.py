"""A conversation that is more than a message shows goes into the card's thread as a file: once, whole, and erasable."""

import re

import pytest

from bot.cases.transcripts import ATTACHED, BEFORE
from bot.conversation import ThreadRef
from bot.store import forgetting, inbox, outbox
from bot.store.cases import card_key
from bot.store.database import Database
from tests.cases.test_files import AGENTS, DIRECT, FAILPOINTS, STAFF, WHO, FilesDesk
from tests.doubles.local_slack import LocalSlack
from tests.store.test_interrupts import deletion
from tests.turns.answering import CUSTOMER
from tests.turns.arrivals import TEAM, arrival

CANARY = "zebracanary77"


class LongTalk(FilesDesk):
    """A customer who has written much before people come."""

    said: list[str]

    async def begins_with(self, *texts: str) -> None:
        """The customer writes these, and then there is a case."""
        self.said = []
        for text in texts:
            root = self.said[0] if self.said else None
            ts = await self.slack.workspace.act.send(CUSTOMER.user, DIRECT, text, thread_ts=root)
            self.said.append(ts)
            (item,) = await self.receives(arrival(ts, text=text, thread_ts=root))
            async with self.database.transaction() as tx:
                await inbox.finish(tx, item.id, "done", reason="no_words", now=1.0)
        self.thread = ThreadRef(TEAM, DIRECT, self.said[0])
        self.case = await self.opened(self.thread, summary="")

    async def below_the_card(self) -> list[str]:
        """The texts in the card's thread, oldest first."""
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(self.case))
        assert card is not None
        messages = sorted(self.slack.workspace.messages[AGENTS].items())
        return [message["text"] for ts, message in messages if message.get("thread_ts") == card.ts != ts]

    def file(self) -> str:
        """What is in the one file below the card."""
        ((_, content),) = [each for copy in self.copies(AGENTS) for each in self.contents(copy).items()]
        return content.decode()

    async def sends_until(self, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        """Send until the process ends at the place; everything when there is none."""
        if place:
            await self.dies_at(monkeypatch, place)
        else:
            await self.sends()

    async def deletes(self, number: int) -> None:
        """The customer deletes the message of this number."""
        at = f"1999999999.{number % 100:06}"
        gone = deletion(self.said[number], at, channel=DIRECT, thread_ts=self.thread.ts)
        for change in await self.receives(gone):
            await self.thoughts.deleted(change)


def numbered(count: int) -> list[str]:
    return [f"message {number} of many" for number in range(1, count + 1)]


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"message (\d+) of", text)]


@pytest.fixture
def talk(database: Database, slack: LocalSlack) -> LongTalk:
    return LongTalk(database, slack)


async def test_twenty_messages_are_a_reply_and_no_file(talk: LongTalk) -> None:
    await talk.begins_with(*numbered(20))
    await talk.sends()
    opener, told = await talk.below_the_card()
    assert numbers(told) == list(range(1, 21))
    assert talk.copies(AGENTS) == []
    assert "as a file" not in opener


async def test_of_a_longer_one_the_last_twenty_are_a_reply_and_all_is_a_file(talk: LongTalk) -> None:
    await talk.begins_with(*numbered(24), "My card is 4111 1111 1111 1111, <!channel>\n2026-01-01 10:00 Assistant")
    await talk.sends()
    _, told, attached = await talk.below_the_card()
    assert numbers(told) == list(range(6, 25))
    assert attached == ATTACHED
    (copy,) = talk.copies(AGENTS)
    assert list(talk.contents(copy)) == ["FD-1001-transcript.txt"]
    whole = talk.file()
    assert numbers(whole) == list(range(1, 25))
    assert whole.startswith("FD-1001, times in UTC\n\n")
    assert "4111" not in whole
    # Nobody can write a heading: words stand further in.
    headings = [line for line in whole.splitlines()[2:] if line and not line.startswith("    ")]
    assert {heading.split(maxsplit=2)[2] for heading in headings} == {CUSTOMER.name}


async def test_what_a_message_cuts_is_whole_in_the_file(talk: LongTalk) -> None:
    long = "word " * 400
    await talk.begins_with(f"{long}and the end")
    await talk.sends()
    opener, told, _ = await talk.below_the_card()
    assert "and the end" not in told
    assert "and the end" in talk.file()
    assert opener


@pytest.mark.parametrize("place", FAILPOINTS)
async def test_a_process_that_ends_on_the_way_attaches_it_once(
    talk: LongTalk, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await talk.begins_with(*numbered(25))
    await talk.dies_at(monkeypatch, place)
    await talk.sends()
    assert numbers(talk.file()) == list(range(1, 26))
    assert (await talk.below_the_card()).count(ATTACHED) == 1


async def test_without_the_right_to_share_files_the_rest_follows_in_messages(talk: LongTalk) -> None:
    await talk.slack.breaks(method="files.getUploadURLExternal", do="missing_scope", count=1)
    await talk.begins_with(*(f"message {number} of many, {'x' * 400}" for number in range(1, 26)))
    await talk.sends()
    _, told, attached, why, *rest = await talk.below_the_card()
    assert attached.startswith(ATTACHED)
    assert "couldn't be attached" in attached
    assert "files:write" in why
    assert rest[0].startswith(BEFORE)
    assert [*(number for page in rest for number in numbers(page)), *numbers(told)] == list(range(6, 26))
    assert max(len(page) for page in rest) <= 3_000


@pytest.mark.parametrize("place", ["", "files_sent", "files_noted", "files_shared", "post_kept"])
async def test_what_the_customer_deletes_is_in_no_file_any_more(
    talk: LongTalk, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await talk.begins_with(f"My {CANARY} is late", *numbered(24))
    await talk.sends_until(monkeypatch, place)
    await talk.deletes(0)
    await talk.sends()
    assert numbers(talk.file()) == list(range(1, 25))
    if place != "files_sent":  # then there is one that Slack was never told to make a file of
        assert CANARY not in str(list(talk.slack.workspace.uploads.values()))
    assert (await talk.below_the_card()).count(ATTACHED) == 1
    assert CANARY not in await talk.everything()
    await talk.deletes(1)
    await talk.sends()
    assert numbers(talk.file()) == list(range(2, 25))


async def test_what_was_written_later_is_in_no_file_and_changes_none(talk: LongTalk) -> None:
    await talk.begins_with(*numbered(25))
    await talk.sends()
    (before,) = talk.copies(AGENTS)
    talk.said.append(await talk.slack.client.chat.post(DIRECT, text=f"My {CANARY}", thread_ts=talk.thread.ts))
    await talk.receives(arrival(talk.said[-1], text=f"My {CANARY}", thread_ts=talk.thread.ts))
    await talk.deletes(-1)
    await talk.sends()
    assert [copy["ts"] for copy in talk.copies(AGENTS)] == [before["ts"]]


async def test_what_staff_delete_is_taken_out_of_the_next_cases_file(talk: LongTalk) -> None:
    await talk.begins_with(*numbered(25))
    await talk.cases.claim(talk.case.ref, STAFF)
    await talk.sends()
    async with talk.database.transaction() as tx:
        card = await outbox.by_key(tx, card_key(talk.case))
    assert card is not None
    assert card.ts is not None
    talk.card = card.ts
    said = await talk.shares(STAFF, f"The {CANARY} lamp ships")
    await talk.sends()
    await talk.cases.hand_back(talk.case.ref, STAFF)
    await talk.cases.open(talk.thread, CUSTOMER, reason="upset", priority="medium")
    await talk.sends()
    *_, second = talk.copies(AGENTS)
    assert CANARY in str(talk.contents(second))
    gone = deletion(said, "1999999999.2", channel=AGENTS, author=STAFF, thread_ts=talk.card)
    for change in await talk.receives(gone):
        await talk.thoughts.deleted(change)
    await talk.sends()
    assert CANARY not in str(list(talk.slack.workspace.uploads.values()))
    assert len([copy for copy in talk.copies(AGENTS) if talk.contents(copy)]) == 2


@pytest.mark.parametrize("place", ["", "files_sent", "files_noted", "files_shared"])
async def test_whose_data_is_deleted_has_no_file_left(
    talk: LongTalk, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await talk.begins_with(f"My {CANARY} is late", *numbered(24))
    await talk.sends_until(monkeypatch, place)
    async with talk.database.transaction() as tx:
        within = await forgetting.bounds(tx)
        batch = await forgetting.next_items(tx, WHO, within, after=0, besides=0, limit=100)
        assert batch is not None
        await forgetting.close_items(tx, batch, now=1.0)
        await forgetting.erase_items_posts(tx, WHO, batch, now=1.0)
        await forgetting.erase_items_answers(tx, batch, now=1.0)
        await forgetting.erase_items(tx, batch)
        for case_id in await forgetting.cases_of(tx, WHO):
            case = await forgetting.the_case(tx, WHO, case_id)
            of_case = forgetting.of_case(case_id)
            assert await forgetting.erase_posts(tx, WHO, of_case, within, limit=100, now=1.0)
            await forgetting.erase_case(tx, WHO, case)
    await talk.sends()
    assert not [copy for copy in talk.copies(AGENTS) if talk.contents(copy)]
    assert CANARY not in str(talk.slack.workspace.messages[AGENTS])
    assert CANARY not in await talk.everything()
