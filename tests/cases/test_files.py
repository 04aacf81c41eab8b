"""Files go both ways between a customer's thread and a card's thread: once, and taken back when their message is."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from bot.conversation import ThreadRef
from bot.language.sentences import load_sentences
from bot.slack import files as copying
from bot.slack import outbox as sending
from bot.store import outbox
from bot.store.bodies import AttachedFile
from bot.store.cases import Case, card_key
from bot.store.database import Database
from bot.store.inbox import InboxItem
from handlers.messages import read_event
from local_slack import timeline
from local_slack.files import keep
from local_slack.workspace import Json
from tests.doubles.local_slack import LocalSlack
from tests.doubles.sending import send_all
from tests.store.test_interrupts import deletion, edit
from tests.turns.answering import CUSTOMER, build_outbox
from tests.turns.arrivals import ME, TEAM
from tests.turns.test_edits import Desk

AGENTS, DIRECT = "C0AGENTS", "D0CUSTOMERA"
STAFF, WHO = "U0AGENTA", "U0CUSTOMERA"
COLLEAGUE = "U0AGENTB"
FAILPOINTS = ("files_sent", "files_noted", "post_marked", "files_shared", "post_sent", "post_kept")


class Killed(BaseException):
    """The process ends here."""


class FilesDesk(Desk):
    """A claimed case over a real Slack in which people share files."""

    case: Case
    thread: ThreadRef
    card: str

    async def begins(self, *, owner: str = STAFF) -> None:
        asked = await self.slack.client.chat.post(DIRECT, text="Where is my lamp?")
        self.thread = ThreadRef(TEAM, DIRECT, asked)
        self.case = await self.opened(self.thread, summary="", owner=owner)
        await self.sends()
        async with self.database.transaction() as tx:
            card = await outbox.by_key(tx, card_key(self.case))
        assert card is not None
        assert card.ts is not None
        self.card = card.ts

    async def shares(self, user: str, text: str, **contents: bytes) -> str:
        """Somebody shares files, which are read as they come from Slack and relayed; the message's ts."""
        channel, root = (DIRECT, self.thread.ts) if user == WHO else (AGENTS, self.card)
        files = [keep(self.slack.workspace, name, content, user=user) for name, content in contents.items()]
        said = {"type": "message", "subtype": "file_share", "user": user, "text": text, "files": files}
        message = timeline.post(self.slack.workspace, self.slack.workspace.channel(channel), said | {"thread_ts": root})
        await self.hears(message | {"channel": channel})
        return str(message["ts"])

    async def hears(self, event: Json) -> None:
        """The event of a message, and what comes of it while a person is on the case."""
        body = {"type": "event_callback", "team_id": TEAM, "event_id": f"Ev{event['ts']}", "event": event}
        arrival = read_event(body, ME, team_channels={AGENTS})
        assert arrival is not None
        (item,) = await self.receives(arrival)
        if item.kind == "staff":
            await self.relay.from_staff(item)
        else:
            await self.relay.from_customer(self.case, item, CUSTOMER)

    async def first_hears_of_a_file(self) -> InboxItem:
        """The customer begins a thread with a file; its row."""
        file = keep(self.slack.workspace, "lamp.png", b"\x89PNG", user=WHO)
        said = {"type": "message", "subtype": "file_share", "user": WHO, "text": "", "files": [file]}
        message = timeline.post(self.slack.workspace, self.slack.workspace.channel(DIRECT), said)
        body = {"type": "event_callback", "team_id": TEAM, "event_id": "Ev1", "event": message | {"channel": DIRECT}}
        arrival = read_event(body, ME, team_channels={AGENTS})
        assert arrival is not None
        (item,) = await self.receives(arrival)
        return item

    async def sends(self) -> None:
        await send_all(self.outbox, patience=10_000)

    async def dies_at(self, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        """Send until the place is reached, end there, and leave what is left to a new process."""

        def die(here: str) -> None:
            if here == place:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(copying, "failpoint", die)
            patched.setattr(sending, "failpoint", die)
            running = asyncio.create_task(self.outbox.run())
            self.outbox.wake()
            with suppress(BaseExceptionGroup, Killed):
                await running
        self.outbox = build_outbox(self.database, self.slack.client, self.clock)

    def copies(self, channel: str) -> list[dict[str, Any]]:
        """The app's messages that bring files."""
        messages = sorted(self.slack.workspace.messages[channel].items())
        return [message for _, message in messages if message.get("files") and message.get("bot_id")]

    def contents(self, message: Json) -> dict[str, bytes]:
        """The files of a message, by name."""
        kept = self.slack.workspace.uploads
        return {file["name"]: kept[file["id"]] for file in message["files"] if file.get("mode") != "tombstone"}


@pytest.fixture
async def desk(database: Database, slack: LocalSlack) -> FilesDesk:
    desk = FilesDesk(database, slack)
    await desk.begins()
    return desk


async def test_a_file_of_staff_reaches_the_customer_with_the_words(desk: FilesDesk) -> None:
    said = await desk.shares(STAFF, "Your &lt;invoice&gt;", **{"invoice.pdf": b"%PDF", "note.txt": b"Thanks"})
    await desk.sends()
    (copy,) = desk.copies(DIRECT)
    assert copy["thread_ts"] == desk.thread.ts
    assert copy["text"] == "*Agent A (support)*\nYour &lt;invoice&gt;"
    assert desk.contents(copy) == {"invoice.pdf": b"%PDF", "note.txt": b"Thanks"}
    assert desk.slack.marks(AGENTS, said) == ["outbox_tray"]


async def test_a_file_of_the_customer_reaches_the_card(desk: FilesDesk) -> None:
    await desk.shares(WHO, "It is broken", **{"lamp.png": b"\x89PNG"})
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert copy["thread_ts"] == desk.card
    assert copy["text"] == "*Customer A* (customer)\n>It is broken"
    assert desk.contents(copy) == {"lamp.png": b"\x89PNG"}


async def test_a_file_of_another_organisation_whose_event_names_nothing_but_its_id(desk: FilesDesk) -> None:
    file = keep(desk.slack.workspace, "lamp.png", b"\x89PNG", user=WHO)
    said = {"type": "message", "subtype": "file_share", "user": WHO, "text": "", "thread_ts": desk.thread.ts}
    message = timeline.post(desk.slack.workspace, desk.slack.workspace.channel(DIRECT), said | {"files": [file]})
    unnamed = {"id": file["id"], "mode": "file_access", "file_access": "check_file_info", "created": 0, "user": ""}
    await desk.hears(message | {"channel": DIRECT, "files": [unnamed]})
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert desk.contents(copy) == {"lamp.png": b"\x89PNG"}


async def test_a_file_of_a_second_colleague_stays_inside_until_they_choose_and_each_is_asked_about(
    desk: FilesDesk,
) -> None:
    for name in ("first.pdf", "second.pdf"):
        await desk.shares(COLLEAGUE, "Look at this", **{name: b"pages"})
    await desk.sends()
    assert desk.copies(DIRECT) == []
    told = [each["text"] for each in desk.slack.workspace.ephemerals if each["user"] == COLLEAGUE]
    assert ["first.pdf" in text for text in told] == [True, False]
    assert ["second.pdf" in text for text in told] == [False, True]
    asked = [str(each["blocks"]) for each in desk.slack.workspace.ephemerals if each["user"] == COLLEAGUE]
    assert all("relay.join_send" in blocks and "relay.note" in blocks for blocks in asked)


async def test_a_file_of_a_helper_is_offered_and_goes_out_with_the_words(desk: FilesDesk) -> None:
    await desk.cases.join(desk.case.ref, COLLEAGUE)
    ts = await desk.shares(COLLEAGUE, "Here is the label", **{"label.pdf": b"pages"})
    await desk.sends()
    assert desk.copies(DIRECT) == []
    assert any("Should the customer get" in each["text"] for each in desk.slack.workspace.ephemerals)
    assert await desk.relay.send(desk.case.ref, COLLEAGUE, ts)
    await desk.sends()
    (sent,) = desk.copies(DIRECT)
    assert desk.contents(sent) == {"label.pdf": b"pages"}


async def test_a_file_under_a_case_that_is_over_is_said_not_to_be_sent(desk: FilesDesk) -> None:
    await desk.cases.resolve(desk.case.ref, STAFF)
    await desk.shares(STAFF, "One more thing", **{"late.pdf": b"pages"})
    await desk.sends()
    assert desk.copies(DIRECT) == []
    assert any("late.pdf" in each["text"] for each in desk.slack.workspace.ephemerals if each["user"] == STAFF)


async def test_a_note_with_a_file_stays_inside(desk: FilesDesk) -> None:
    await desk.shares(STAFF, "// his last three complaints", **{"history.pdf": b"%PDF"})
    await desk.sends()
    assert desk.copies(DIRECT) == []


@pytest.mark.parametrize("place", FAILPOINTS)
async def test_a_kill_at_any_place_leaves_one_message_with_one_file(
    desk: FilesDesk, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    await desk.shares(STAFF, "Your invoice", **{"invoice.pdf": b"%PDF"})
    await desk.dies_at(monkeypatch, place)
    await desk.sends()
    (copy,) = desk.copies(DIRECT)
    assert desk.contents(copy) == {"invoice.pdf": b"%PDF"}
    assert sum("Your invoice" in text for text in desk.slack.texts(DIRECT)) == 1
    async with desk.database.transaction() as tx:
        (row,) = await outbox.mirrors(tx, AGENTS, max(desk.slack.workspace.messages[AGENTS]))
    assert (row.state, row.ts) == ("sent", copy["ts"])


async def test_a_lost_answer_to_the_sharing_is_looked_for_and_not_repeated(desk: FilesDesk) -> None:
    await desk.shares(STAFF, "Your invoice", **{"invoice.pdf": b"%PDF"})
    await desk.slack.breaks(method="files.completeUploadExternal", do="lost", count=1)
    await desk.sends()
    assert len(desk.copies(DIRECT)) == 1


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("files.info", "scope files:read"),
        ("files.getUploadURLExternal", "scope files:write"),
        ("files.completeUploadExternal", "scope files:write"),
    ],
)
async def test_without_a_scope_the_text_goes_and_both_sides_are_told(desk: FilesDesk, method: str, why: str) -> None:
    await desk.slack.breaks(method=method, do="missing_scope", count=2)
    said = await desk.shares(STAFF, "Your invoice", **{"invoice.pdf": b"%PDF"})
    await desk.sends()
    assert desk.copies(DIRECT) == []
    (shown,) = [text for text in desk.slack.texts(DIRECT) if "Your invoice" in text]
    assert shown.endswith(f"_{load_sentences().say('en', 'file_missing')}_")
    (line,) = [text for text in desk.slack.texts(AGENTS) if text.startswith("Not delivered")]
    assert "invoice.pdf" in line
    assert why in line
    assert sorted(desk.slack.marks(AGENTS, said)) == ["outbox_tray", "warning"]


async def test_what_is_refused_of_the_customers_they_are_told_in_their_language(desk: FilesDesk) -> None:
    await desk.slack.breaks(method="files.getUploadURLExternal", do="file_too_large", count=1)
    await desk.shares(WHO, "Look", **{"a.mov": b"x" * 99, "b.png": b"\x89PNG"})
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert desk.contents(copy) == {"b.png": b"\x89PNG"}
    assert any(text == "Not delivered: a.mov: larger than 25 MB." for text in desk.slack.texts(AGENTS))
    assert any(text.startswith("a.mov: I can pass files of up to 25 MB") for text in desk.slack.texts(DIRECT))


async def test_slack_that_is_away_is_waited_for_and_then_the_text_goes_alone(desk: FilesDesk) -> None:
    await desk.slack.breaks(method="files.info", do="503", count=3)
    await desk.shares(WHO, "Look", **{"lamp.png": b"\x89PNG"})
    await desk.sends()
    assert len(desk.copies(AGENTS)) == 1
    await desk.slack.breaks(method="files.info", do="503", count=1_000)
    await desk.shares(WHO, "And here", **{"bulb.png": b"\x89PNG"})
    await desk.sends()
    assert len(desk.copies(AGENTS)) == 1
    assert any("And here" in text for text in desk.slack.texts(AGENTS))
    assert any("Slack didn't answer" in text for text in desk.slack.texts(AGENTS))


async def test_a_deleted_message_takes_its_copies_away(desk: FilesDesk) -> None:
    said = await desk.shares(STAFF, "Your invoice", **{"invoice.pdf": b"%PDF"})
    seen = await desk.shares(WHO, "It is broken", **{"lamp.png": b"\x89PNG"})
    await desk.sends()
    gone = [desk.copies(DIRECT)[0]["files"][0]["id"], desk.copies(AGENTS)[0]["files"][0]["id"]]
    own = replace(deletion(said, "1999999999.1", channel=AGENTS, author=STAFF, thread_ts=desk.card))
    for change in await desk.receives(own, deletion(seen, "1999999999.2", channel=DIRECT, thread_ts=desk.thread.ts)):
        await desk.thoughts.deleted(change)
    await desk.sends()
    assert not any("invoice" in text for text in desk.slack.texts(DIRECT))
    assert any("_deleted by the customer_" in text for text in desk.slack.texts(AGENTS))
    assert not any(file in desk.slack.workspace.uploads for file in gone)
    everything = await desk.everything()
    assert "invoice.pdf" not in everything
    assert "lamp.png" not in everything


async def test_copies_that_slack_does_not_delete_are_told_to_staff(desk: FilesDesk) -> None:
    said = await desk.shares(STAFF, "", **{"invoice.pdf": b"%PDF"})
    await desk.sends()
    await desk.slack.breaks(method="files.delete", do="cant_delete_file", count=1)
    (change,) = await desk.receives(deletion(said, "1999999999.1", channel=AGENTS, author=STAFF, thread_ts=desk.card))
    await desk.thoughts.deleted(change)
    await desk.sends()
    assert sum("The customer can still see it" in text for text in desk.slack.texts(AGENTS)) == 1


@pytest.mark.parametrize("who", [STAFF, WHO])
async def test_what_was_said_of_a_file_goes_with_its_message(desk: FilesDesk, who: str) -> None:
    await desk.slack.breaks(method="files.info", do="missing_scope", count=1)
    said = await desk.shares(who, "", **{"x.mov": b"x"})
    await desk.sends()
    assert any("x.mov" in text for text in desk.slack.texts(AGENTS))
    channel, root = (AGENTS, desk.card) if who == STAFF else (DIRECT, desk.thread.ts)
    (change,) = await desk.receives(deletion(said, "1999999999.1", channel=channel, author=who, thread_ts=root))
    await desk.thoughts.deleted(change)
    await desk.sends()
    assert not any("x.mov" in text for text in (*desk.slack.texts(AGENTS), *desk.slack.texts(DIRECT)))
    assert "x.mov" not in await desk.everything()


async def test_a_file_that_is_deleted_by_itself_takes_its_copy_away(desk: FilesDesk) -> None:
    seen = await desk.shares(WHO, "It is broken", **{"lamp.png": b"\x89PNG", "box.png": b"\x89PNG"})
    await desk.sends()
    before = desk.slack.workspace.message(DIRECT, seen)
    lamp, box = before["files"]
    now = before | {"files": [{"id": lamp["id"], "mode": "tombstone"}, box]}
    event: Json = {"type": "message", "subtype": "message_changed", "channel": DIRECT, "ts": "1999999999.3"}
    event |= {"event_ts": "1999999999.3", "message": now, "previous_message": before}
    body = {"type": "event_callback", "team_id": TEAM, "event_id": "EvGone", "event": event}
    arrival = read_event(body, ME, team_channels={AGENTS})
    assert arrival is not None
    (item,) = await desk.receives(arrival)
    assert await desk.thoughts.edited(item) is None
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert desk.contents(copy) == {"box.png": b"\x89PNG"}


async def test_a_message_that_is_deleted_before_it_left_brings_nothing(desk: FilesDesk) -> None:
    seen = await desk.shares(WHO, "It is broken", **{"lamp.png": b"\x89PNG"})
    (change,) = await desk.receives(deletion(seen, "1999999999.2", channel=DIRECT, thread_ts=desk.thread.ts))
    await desk.thoughts.deleted(change)
    await desk.sends()
    assert desk.copies(AGENTS) == []


async def test_an_edit_changes_the_words_and_takes_away_what_it_left_out(desk: FilesDesk) -> None:
    said = await desk.shares(STAFF, "Your invoices", **{"a.pdf": b"%PDF-a", "b.pdf": b"%PDF-b"})
    await desk.sends()
    message = desk.slack.workspace.message(AGENTS, said)
    kept = [AttachedFile(file["id"], file["name"]) for file in message["files"] if file["name"] == "a.pdf"]
    change = edit(said, "1999999999.0", "Your invoice", channel=AGENTS, author=STAFF, thread_ts=desk.card)
    (item,) = await desk.receives(replace(change, body=replace(change.edit, files=tuple(kept))))
    await desk.thoughts.edited(item)
    await desk.sends()
    (copy,) = desk.copies(DIRECT)
    assert copy["text"] == "*Agent A (support)*\nYour invoice _(edited)_"
    assert desk.contents(copy) == {"a.pdf": b"%PDF-a"}


async def test_what_was_sent_before_the_case_comes_under_its_card_once(database: Database, slack: LocalSlack) -> None:
    desk = FilesDesk(database, slack)
    item = await desk.first_hears_of_a_file()
    case = await desk.opened(item.thread, summary="")
    # As when the process dies after the case was opened, and the message that opened it is taken up again.
    await desk.relay.from_customer(case, item, CUSTOMER)
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert desk.contents(copy) == {"lamp.png": b"\x89PNG"}
    assert any("[attached: lamp.png]" in text for text in slack.texts(AGENTS))


async def test_files_of_a_thread_that_joins_an_open_case_come_under_its_card(
    database: Database, slack: LocalSlack
) -> None:
    desk = FilesDesk(database, slack)
    desk.cases = replace(desk.cases, most=1)
    await desk.begins()
    item = await desk.first_hears_of_a_file()
    case = await desk.cases.open(item.thread, CUSTOMER, reason="asked_for_person", priority="medium")
    assert case.id == desk.case.id
    await desk.sends()
    (copy,) = desk.copies(AGENTS)
    assert copy["thread_ts"] == desk.card
    assert desk.contents(copy) == {"lamp.png": b"\x89PNG"}


async def test_a_held_message_goes_out_with_its_files(database: Database, slack: LocalSlack) -> None:
    desk = FilesDesk(database, slack)
    await desk.begins(owner="")
    said = await desk.shares(STAFF, "Here you are", **{"label.pdf": b"%PDF"})
    await desk.sends()
    assert desk.copies(DIRECT) == []
    await desk.cases.claim(desk.case.ref, STAFF)
    assert await desk.relay.send(desk.case.ref, STAFF, said)
    await desk.sends()
    (copy,) = desk.copies(DIRECT)
    assert desk.contents(copy) == {"label.pdf": b"%PDF"}
