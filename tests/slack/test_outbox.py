"""What Slack must be told exactly once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from bot.slack.api.chat import EVENT_TYPE, Chat
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.client import SlackClient
from bot.slack.outbox import LANES, Claims, Outbox
from bot.store import cases, erasure
from bot.store import outbox as rows
from bot.store.cases import card_key
from bot.store.database import Database
from bot.store.outbox import Method, Outgoing
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import LocalSlack
from tests.doubles.unwell import Unwell
from tests.patience import patience
from tests.store.rows import a_case

SUPPORT, AGENTS = "C0SUPPORT", "C0AGENTS"


class Clock(ManualClock):
    """Real waits would make these tests slow; Slack's own time goes on."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        await asyncio.sleep(0.005)


@asynccontextmanager
async def sending(
    database: Database, slack: SlackClient, *, essential: Sequence[str] = (), claims: Claims | None = None
) -> AsyncIterator[Outbox]:
    """An outbox; with `claims` it is one among several processes'."""
    poll_seconds = 0.01 if claims else None
    outbox = Outbox(
        database,
        slack.chat,
        slack.sessions,
        Clock(now=0.0),
        essential=essential,
        claims=claims,
        poll_seconds=poll_seconds,
    )
    task = asyncio.create_task(outbox.run())
    try:
        async with asyncio.timeout(patience(30)):
            yield outbox
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def queue(database: Database, *outgoing: Outgoing) -> None:
    async with database.transaction() as tx:
        for one in outgoing:
            await rows.add(tx, one, now=0.0)


async def send_all(database: Database, slack: LocalSlack, *outgoing: Outgoing) -> None:
    await queue(database, *outgoing)
    async with sending(database, slack.client) as outbox:
        assert await outbox.flush(10_000)


async def state_of(database: Database, key: str) -> str:
    async with database.transaction() as tx:
        row = await rows.by_key(tx, key)
    return row.state if row else "absent"


def post(key: str, text: str, channel: str = SUPPORT, **more: object) -> Outgoing:
    return Outgoing(key, "post", channel, {"text": text}, **more)  # type: ignore[arg-type]


async def test_a_failure_that_nobody_has_thought_of_ends_no_outbox(database: Database, slack: LocalSlack) -> None:
    await queue(database, post("p1", "post 1"))
    async with sending(Unwell(database), slack.client) as outbox:
        while await state_of(database, "p1") != "sent":
            outbox.wake()
            await asyncio.sleep(0.01)
    assert slack.texts(SUPPORT) == ["post 1"]


async def test_posts_of_a_channel_leave_in_order(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, *(post(f"p{number}", f"post {number}") for number in range(5)))
    assert slack.texts(SUPPORT) == [f"post {number}" for number in range(5)]


async def test_the_same_key_is_posted_once(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("p", "once"), post("p", "twice"))
    await send_all(database, slack, post("p", "thrice"))
    assert slack.texts(SUPPORT) == ["once"]


async def test_a_child_is_posted_under_its_parent(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("card", "card", AGENTS), post("opener", "opener", AGENTS, parent="card"))
    card, opener = sorted(slack.workspace.messages[AGENTS].items())
    assert opener[1]["thread_ts"] == card[0]


async def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="lost", count=1)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]
    assert await state_of(database, "p") == "sent"


async def test_a_post_that_never_arrived_is_sent_again(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="drop", count=2)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


@pytest.mark.parametrize("arrived", [True, False])
async def test_what_a_dead_process_may_have_sent_is_looked_up_first(
    database: Database, slack: LocalSlack, arrived: bool
) -> None:
    await queue(database, post("p", "once"))
    async with database.transaction() as tx:
        await rows.mark_sending(tx, 1, attempts=0)
    if arrived:
        mark = {"event_type": EVENT_TYPE, "event_payload": {"o": "p"}}
        await slack.client.chat.post(SUPPORT, text="once", metadata=mark)
    await send_all(database, slack)
    assert slack.texts(SUPPORT) == ["once"]


async def test_a_refusal_for_good_fails_the_row_and_queues_what_follows(database: Database, slack: LocalSlack) -> None:
    refused = post("p", "nowhere", "C0NOWHERE", when_failed=(post("sorry", "not delivered", AGENTS),))
    await send_all(database, slack, refused)
    assert await state_of(database, "p") == "failed"
    assert slack.texts(AGENTS) == ["not delivered"]


async def test_a_delivery_queues_what_follows_once(database: Database, slack: LocalSlack) -> None:
    root = await slack.client.chat.post(AGENTS, text="from staff")
    mark = Outgoing("mark", "react", AGENTS, {"ts": root, "name": "outbox_tray"})
    await send_all(database, slack, post("p", "relayed", when_sent=(mark,)))
    reactions = slack.workspace.messages[AGENTS][root]["reactions"]
    assert [reaction["name"] for reaction in reactions] == ["outbox_tray"]


@pytest.mark.long
async def test_a_slack_that_is_away_for_long_loses_nothing(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="503", count=20)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


async def test_what_the_agent_channel_refuses_waits_for_repair(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="not_in_channel", count=2)
    await queue(database, post("card", "card", AGENTS), post("opener", "opener", AGENTS, parent="card"))
    async with sending(database, slack.client, essential=[AGENTS]) as outbox:
        assert await outbox.flush(10_000)
        assert outbox.stuck is None
    assert slack.texts(AGENTS) == ["card", "opener"]


async def test_blocks_that_slack_refuses_leave_the_text(database: Database, slack: LocalSlack) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": ""}}]
    await send_all(database, slack, Outgoing("p", "post", SUPPORT, {"text": "plain", "blocks": blocks}))
    assert slack.texts(SUPPORT) == ["plain"]


async def test_what_may_not_take_the_place_of_rich_text_is_said_as_text(database: Database, slack: LocalSlack) -> None:
    rich: list[dict[str, Any]] = [{"type": "markdown", "text": "Some words."}]
    table = [{"type": "markdown", "text": "| a | b |\n|---|---|\n| 1 | 2 |"}]
    await send_all(
        database,
        slack,
        Outgoing("p", "post", SUPPORT, {"text": "first", "blocks": rich}),
        Outgoing("p/2", "update", SUPPORT, {"text": "then", "blocks": table}, parent="p"),
    )
    assert (slack.texts(SUPPORT), await state_of(database, "p/2")) == (["then"], "sent")


async def test_a_busy_channel_with_very_many_rows_starves_no_other(database: Database, slack: LocalSlack) -> None:
    thread = "1795000000.000100"
    many = (post(f"p{number}", "x", thread_ts=thread) for number in range(600))
    await queue(database, *many, post("q", "other", AGENTS))
    async with database.transaction() as tx:
        first = await rows.heads(tx, besides=(), channels=(), limit=10)
        others = await rows.heads(tx, besides={(SUPPORT, first[0].lane)}, channels=(), limit=10)
        not_there = await rows.heads(tx, besides=(), channels={SUPPORT}, limit=10)
    assert [row.key for row in first] == ["p0", "q"]
    assert [row.key for row in others] == [row.key for row in not_there] == ["q"]


async def test_a_child_of_a_post_that_failed_fails_too(database: Database, slack: LocalSlack) -> None:
    await send_all(database, slack, post("card", "x", "C0NOWHERE"), post("child", "y", "C0NOWHERE", parent="card"))
    assert await state_of(database, "child") == "failed"


async def test_a_channel_that_waits_holds_up_no_other(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="slow", count=1, seconds=9)
    await queue(database, post("slow", "slow"))
    async with sending(database, slack.client) as outbox:
        await asyncio.sleep(0)
        await asyncio.wait_for(slack.workspace.wait_for_change(0, timeout=0.3), patience(5))
        ts = await asyncio.wait_for(outbox.deliver(post("fast", "fast", AGENTS)), patience(8))
        assert ts
        assert await state_of(database, "slow") == "sending"


async def test_a_caller_may_wait_for_its_post(database: Database, slack: LocalSlack) -> None:
    async with sending(database, slack.client) as outbox:
        ts = await outbox.deliver(post("p", "once"))
        assert await outbox.deliver(post("p", "once")) == ts
        with pytest.raises(SlackRefused):
            await outbox.deliver(post("q", "x", "C0NOWHERE"))
    assert slack.workspace.messages[SUPPORT][ts]["text"] == "once"


async def test_an_update_replaces_what_its_parent_posted(database: Database, slack: LocalSlack) -> None:
    await send_all(
        database,
        slack,
        post("card", "waiting", AGENTS),
        Outgoing("card/2", "update", AGENTS, {"text": "claimed"}, parent="card"),
    )
    assert slack.texts(AGENTS) == ["claimed"]


async def test_an_answer_that_is_about_the_row_itself_is_given_up_in_the_end(
    database: Database, slack: LocalSlack
) -> None:
    await slack.breaks(method="chat.postMessage", do="internal_error", count=10)
    await queue(database, post("poison", "poison", AGENTS))
    async with sending(database, slack.client, essential=[AGENTS]) as outbox:
        assert await outbox.flush(10_000)
        assert await state_of(database, "poison") == "failed"
        await queue(database, post("next", "next", AGENTS))
        outbox.wake()
        assert await outbox.flush(10_000)
    assert slack.texts(AGENTS) == ["next"]


async def test_a_post_that_waits_holds_up_no_other_thread_of_its_channel(database: Database, slack: LocalSlack) -> None:
    first, second = [await slack.client.chat.post(SUPPORT, text=text) for text in ("first", "second")]

    class Stubborn(Chat):
        """Slack never takes what is said in one thread."""

        async def post(self, channel: str, *, text: str, thread_ts: str | None = None, **rest: Any) -> str:
            if thread_ts == first:
                raise SlackUnanswered("chat.postMessage", "http_503", sent=False)
            return await super().post(channel, text=text, thread_ts=thread_ts, **rest)

    clock = Clock(now=0.0)
    stubborn = replace(slack.client, chat=Stubborn(slack.client.api, slack.client.sessions.ledger, clock))
    await queue(database, post("p", "waits", thread_ts=first), post("q", "waits too", thread_ts=first))
    await queue(database, post("r", "goes on", thread_ts=second), post("s", "a new one"))
    async with sending(database, stubborn) as outbox:
        await outbox.deliver(post("r", "goes on", thread_ts=second))
        await outbox.deliver(post("s", "a new one"))
        assert await state_of(database, "q") == "pending"


async def test_rows_of_one_thread_leave_in_order_whatever_fails(database: Database, slack: LocalSlack) -> None:
    root = await slack.client.chat.post(SUPPORT, text="question")
    await slack.breaks(method="chat.postMessage", do="503", count=3)
    await slack.breaks(method="chat.postMessage", do="lost", count=1)
    await send_all(database, slack, *(post(f"p{number}", f"post {number}", thread_ts=root) for number in range(6)))
    assert slack.texts(SUPPORT) == ["question", *(f"post {number}" for number in range(6))]


async def test_what_follows_a_card_waits_until_the_card_is_there(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="503", count=2)
    card, inside = post("card", "card", AGENTS), post("inside", "inside", AGENTS, parent="card")
    change = Outgoing("change", "update", AGENTS, {"text": "claimed"}, parent="card")
    await send_all(database, slack, card, inside, change, post("other", "other", AGENTS))
    assert sorted(slack.texts(AGENTS)) == ["claimed", "inside", "other"]


async def test_a_message_is_deleted_by_the_row_that_posted_it_or_by_its_place(
    database: Database, slack: LocalSlack
) -> None:
    stray = await slack.client.chat.post(SUPPORT, text="stray")
    changed = await slack.client.chat.post(SUPPORT, text="before")
    await send_all(
        database,
        slack,
        post("p", "posted"),
        Outgoing("p/gone", "delete", SUPPORT, {}, parent="p"),
        Outgoing("stray/gone", "delete", SUPPORT, {"ts": stray}),
        Outgoing("stray/again", "delete", SUPPORT, {"ts": stray}),
        Outgoing("changed", "update", SUPPORT, {"ts": changed, "text": "after"}),
    )
    assert slack.texts(SUPPORT) == ["after"]
    assert await state_of(database, "stray/again") == "sent"


def signed(key: str, words: str, **more: Any) -> Outgoing:
    """A post under the name and picture of a person."""
    author = {"name": "Agent A (support)", "picture": "https://example.com/a.png"}
    return Outgoing(key, "post", SUPPORT, {"text": f"*Agent A (support)*\n{words}", "author": author}, **more)


def reworded(key: str, words: str) -> Outgoing:
    return Outgoing(f"{key}/edited", "update", SUPPORT, {"text": f"*Agent A (support)*\n{words}"}, parent=key)


async def test_what_a_person_says_stands_under_their_name_and_picture_and_keeps_it_when_edited(
    database: Database, slack: LocalSlack
) -> None:
    await send_all(database, slack, signed("p", "It is on\nits way."), reworded("p", "It left."))
    (message,) = slack.workspace.messages[SUPPORT].values()
    assert (message["username"], message["icons"]) == (
        "Agent A (support)",
        {"image_48": "https://example.com/a.png"},
    )
    assert message["text"] == "It left."


async def test_where_slack_refuses_names_they_stand_in_the_first_line_also_after_an_edit(
    database: Database, slack: LocalSlack
) -> None:
    await slack.client.chat.post(SUPPORT, text="before")
    slack.workspace.scopes -= {"chat:write.customize"}
    assert slack.client.chat.can_name
    await send_all(database, slack, signed("p", "It is on its way."), reworded("p", "It left."))
    message = list(slack.workspace.messages[SUPPORT].values())[-1]
    assert "username" not in message
    assert message["text"] == "*Agent A (support)*\nIt left."
    assert not slack.client.chat.can_name


async def test_a_post_whose_name_slack_refuses_stays_erased_if_it_was_erased_meanwhile(
    database: Database, slack: LocalSlack, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = slack.client.chat
    send = chat.post

    async def erased_meanwhile(*args: Any, **kwargs: Any) -> str:
        try:
            return await send(*args, **kwargs)
        except SlackRefused:
            async with database.transaction() as tx:
                await erasure.blank(tx, ["p"])
            raise

    monkeypatch.setattr(chat, "post", erased_meanwhile)
    slack.workspace.scopes -= {"chat:write.customize"}
    await send_all(database, slack, signed("p", "It is on its way."))
    async with database.transaction() as tx:
        row = await rows.by_key(tx, "p")
    assert row is not None
    assert row.payload == {"text": erasure.GONE_COPY}
    assert slack.texts(SUPPORT) == [erasure.GONE_COPY]


@pytest.mark.parametrize(
    "method", ["chat.update", "chat.delete", "chat.postEphemeral", "reactions.add", "reactions.remove"]
)
async def test_a_change_whose_answer_was_lost_is_simply_made_again(
    database: Database, slack: LocalSlack, method: str
) -> None:
    ts = await slack.client.chat.post(SUPPORT, text="before")
    await slack.client.chat.react(SUPPORT, ts, "outbox_tray")
    await slack.breaks(method=method, do="lost", count=1)
    change = {
        "chat.update": Outgoing("c", "update", SUPPORT, {"ts": ts, "text": "after"}),
        "chat.delete": Outgoing("c", "delete", SUPPORT, {"ts": ts}),
        "chat.postEphemeral": Outgoing("c", "ephemeral", AGENTS, {"user": "U0AGENTA", "text": "for you"}),
        "reactions.add": Outgoing("c", "react", SUPPORT, {"ts": ts, "name": "eyes"}),
        "reactions.remove": Outgoing("c", "unreact", SUPPORT, {"ts": ts, "name": "outbox_tray"}),
    }[method]
    await send_all(database, slack, change)
    assert await state_of(database, "c") == "sent"
    expected = {"chat.update": ["after"], "chat.delete": []}
    assert slack.texts(SUPPORT) == expected.get(method, ["before"])
    marks = {"chat.delete": [], "reactions.add": ["outbox_tray", "eyes"], "reactions.remove": []}
    assert slack.marks(SUPPORT, ts) == marks.get(method, ["outbox_tray"])


async def test_a_mark_goes_after_it_was_put_and_one_on_a_message_that_is_gone_is_gone_too(
    database: Database, slack: LocalSlack
) -> None:
    ts = await slack.client.chat.post(SUPPORT, text="a message")
    marks = {"ts": ts, "name": "eyes"}
    await send_all(database, slack, Outgoing("on", "react", SUPPORT, marks), Outgoing("off", "unreact", SUPPORT, marks))
    assert slack.marks(SUPPORT, ts) == []
    await send_all(database, slack, Outgoing("gone", "delete", SUPPORT, {"ts": ts}))
    await send_all(database, slack, Outgoing("again", "unreact", SUPPORT, marks))
    assert await state_of(database, "again") == "sent"


async def test_staff_are_told_once_what_a_customer_did_not_get(database: Database, slack: LocalSlack) -> None:
    lost = post("turn/7/greeting", "Hello, see <https://help.example.com/x|the page>. " * 9, thread_ts="1795000000.1")
    await slack.breaks(method="chat.postMessage", do="is_archived", count=1)
    await queue(database, lost)
    async with sending(database, slack.client, essential=[AGENTS]) as outbox:
        assert await outbox.flush(10_000)
    (told,) = slack.texts(AGENTS)
    assert "is_archived" in told
    assert "<#C0SUPPORT>" in told
    assert "Hello, see" in told
    assert told.count("<https") == told.count("|the page>")


async def test_staff_are_told_once_for_a_case_whose_customer_cannot_be_written_to_any_more(
    database: Database, slack: LocalSlack
) -> None:
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case())
    assert case is not None
    await slack.breaks(method="chat.postMessage", do="is_archived", count=2)
    lost = [post(f"p{number}", f"post {number}", thread_ts="1795000000.1", case_id=case.id) for number in range(2)]
    await queue(database, *lost)
    async with sending(database, slack.client, essential=[AGENTS]) as outbox:
        assert await outbox.flush(10_000)
    (told,) = slack.texts(AGENTS)
    assert "post 0" in told


async def test_one_call_that_slack_does_not_answer_alarms_nobody(
    database: Database, slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    await slack.breaks(method="chat.postMessage", do="drop", count=1)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_what_staff_do_not_get_themselves_is_told_nowhere(database: Database, slack: LocalSlack) -> None:
    await slack.breaks(method="chat.postMessage", do="msg_too_long", count=2)
    change = Outgoing("change", "update", SUPPORT, {"ts": "1795000000.000100", "text": "x"})
    await queue(database, post("card", "card", AGENTS), change)
    async with sending(database, slack.client, essential=[AGENTS]) as outbox:
        assert await outbox.flush(10_000)
    assert await state_of(database, "card") == "failed"
    assert slack.texts(AGENTS) == []


class Owners:
    """Who may send for a channel, as several processes see it."""

    def __init__(self, me: str, names: dict[str, str]) -> None:
        self.names = names
        """By name the process that holds it."""
        self.refused = asyncio.Event()
        """Set when somebody asked for what another holds, or saw that he need not ask."""
        self.is_left = asyncio.Event()
        """Set when something was let go."""
        self.lost: list[Callable[[], None]] = []
        self._me = me

    async def hold(self, name: str) -> bool:
        is_ours = self.names.setdefault(name, self._me) == self._me
        if not is_ours:
            self.refused.set()
        return is_ours

    async def held_by_others(self, prefix: str) -> set[str]:
        others = {name for name, who in self.names.items() if name.startswith(prefix) and who != self._me}
        if others:
            self.refused.set()
        return others

    async def let_go(self, name: str) -> None:
        if self.names.get(name) == self._me:
            del self.names[name]
            self.is_left.set()

    def when_lost(self, let_go: Callable[[], None]) -> None:
        self.lost.append(let_go)


class Late(Chat):
    """A post's turn comes when it is told so."""

    def __init__(self, slack: SlackClient) -> None:
        super().__init__(slack.api, slack.sessions.ledger, Clock(now=0.0))
        self.waits, self.turn = asyncio.Event(), asyncio.Event()

    async def post(self, *arguments: Any, **named: Any) -> str:
        self.waits.set()
        await self.turn.wait()
        return await super().post(*arguments, **named)


async def test_a_channel_that_another_process_sends_for_is_left_to_it_until_it_is_gone(
    database: Database, slack: LocalSlack
) -> None:
    owners = Owners("me", {f"outbox/{SUPPORT}": "another"})
    await queue(database, post("theirs", "theirs"), post("ours", "ours", AGENTS))
    async with sending(database, slack.client, claims=owners) as outbox:
        await outbox.deliver(post("ours", "ours", AGENTS))
        await owners.refused.wait()
        assert await state_of(database, "theirs") == "pending"
        owners.names.clear()
        await outbox.deliver(post("theirs", "theirs"))
    assert slack.texts(SUPPORT) == ["theirs"]


async def test_what_is_for_another_process_hides_nothing_of_ones_own(database: Database, slack: LocalSlack) -> None:
    owners = Owners("me", {f"outbox/{AGENTS}": "another"})
    await queue(database, *(post(f"card/{number}", "waits for repair", AGENTS) for number in range(LANES)))
    await queue(database, post("ours", "for a customer"))
    async with sending(database, slack.client, claims=owners) as outbox:
        await outbox.deliver(post("ours", "for a customer"))
    assert slack.texts(SUPPORT) == ["for a customer"]


async def test_a_channel_that_needs_nothing_more_is_left_to_whoever_is_next(
    database: Database, slack: LocalSlack
) -> None:
    owners = Owners("me", {})
    async with sending(database, slack.client, claims=owners) as outbox:
        await outbox.deliver(post("p", "a post"))
        await owners.is_left.wait()
    assert slack.texts(SUPPORT) == ["a post"]


async def test_a_call_whose_turn_comes_when_another_process_has_the_channel_is_not_made(
    database: Database, slack: LocalSlack
) -> None:
    names: dict[str, str] = {}
    late = Late(slack.client)
    await queue(database, post("p", "once"))
    async with sending(database, replace(slack.client, chat=late), claims=Owners("one", names)) as one:
        await late.waits.wait()
        names[f"outbox/{SUPPORT}"] = "two"
        async with sending(database, slack.client, claims=Owners("two", names)) as two:
            await two.deliver(post("p", "once"))
        late.turn.set()
        names.clear()
        await one.deliver(post("q", "the next"))
    assert slack.texts(SUPPORT) == ["once", "the next"]


async def test_a_call_whose_turn_comes_after_another_process_has_tried_and_died_is_not_made_blindly(
    database: Database, slack: LocalSlack
) -> None:
    late = Late(slack.client)
    await queue(database, post("p", "once"))
    async with sending(database, replace(slack.client, chat=late), claims=Owners("one", {})) as one:
        await late.waits.wait()
        async with database.transaction() as tx:
            await rows.mark_sending(tx, 1, attempts=0)
        mark = {"event_type": EVENT_TYPE, "event_payload": {"o": "p"}}
        ts = await slack.client.chat.post(SUPPORT, text="once", metadata=mark)
        late.turn.set()
        assert await one.deliver(post("p", "once")) == ts
    assert slack.texts(SUPPORT) == ["once"]


async def test_a_process_that_others_may_soon_take_for_dead_breaks_its_calls_off(
    database: Database, slack: LocalSlack
) -> None:
    owners, late = Owners("me", {}), Late(slack.client)
    await queue(database, post("p", "once"))
    async with sending(database, replace(slack.client, chat=late), claims=owners) as outbox:
        await late.waits.wait()
        late.waits.clear()
        for let_go in owners.lost:
            let_go()
        await late.waits.wait()  # the lane is free to be taken up anew
        late.turn.set()
        await outbox.deliver(post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


@pytest.mark.parametrize(("method", "call"), [("react", "reactions.add"), ("unreact", "reactions.remove")])
@pytest.mark.parametrize("fault", ["missing_scope", "503"])
async def test_a_mark_that_is_refused_holds_up_no_words(
    database: Database, slack: LocalSlack, method: Method, call: str, fault: str
) -> None:
    root = await slack.client.chat.post(SUPPORT, text="a message")
    await slack.breaks(method=call, do=fault, count=100)
    mark = Outgoing("mark", method, SUPPORT, {"ts": root, "name": "eyes"})
    await send_all(database, slack, mark, post("p", "words"))
    assert slack.texts(SUPPORT) == ["a message", "words"]


async def test_a_look_up_that_fails_does_not_make_an_ambiguous_post_a_fresh_one(
    database: Database, slack: LocalSlack
) -> None:
    await slack.breaks(method="chat.postMessage", do="lost", count=1)
    await slack.breaks(method="conversations.history", do="503", count=2)
    await send_all(database, slack, post("p", "once"))
    assert slack.texts(SUPPORT) == ["once"]


async def test_what_a_case_shows_is_its_posts_as_they_were_updated_last_without_those_deleted(
    database: Database,
) -> None:
    async with database.transaction() as tx:
        case = await cases.add(tx, a_case())
    assert case is not None
    card = card_key(case)
    await queue(
        database,
        *(Outgoing(key, "post", AGENTS, {"text": key}, case_id=case.id, parent=card) for key in ("a", "b", "c")),
        Outgoing("a+", "update", AGENTS, {"text": "a, changed"}, case_id=case.id, parent="a"),
        Outgoing("b-", "delete", AGENTS, {}, case_id=case.id, parent="b"),
    )
    async with database.transaction() as tx:
        shown = await rows.standing(tx, case.id, AGENTS, rows.lane_under(card))
    assert {key: payload["text"] for key, payload in shown.items()} == {"a": "a, changed", "c": "c"}
