"""The writer: whatever fails at whatever call, the customer reads the text exactly once."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import Superseded, Unreachable
from bot.guard.guardrails import OutputGate
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.stream import StreamLimits, open_stream
from bot.slack.stream_record import streaming_in
from tests.doubles.clock import ManualClock
from tests.patience import patience
from tests.slack.thread import (
    EXPIRED,
    LIMITED,
    LIMITED_FOR_LONG,
    LOST_ANSWER,
    LOST_REQUEST,
    STOPPED,
    UNREACHABLE,
    Thread,
)

AT_ONCE = StreamLimits(flush_seconds=0.0, message_bytes=400)
BUTTONS = [{"type": "actions", "elements": [{"type": "button", "action_id": "x", "value": "1"}]}]
FEEDBACK = [
    {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": "fb",
                "positive_button": {"text": {"type": "plain_text", "text": "Yes"}, "value": "1/up"},
                "negative_button": {"text": {"type": "plain_text", "text": "No"}, "value": "1/down"},
            }
        ],
    }
]
ANSWER = [f"Sentence {number} says something about your order. " for number in range(30)]
"""Longer than three messages of the small limit."""
FAULTS = [
    LOST_ANSWER,
    LOST_REQUEST,
    LIMITED,
    UNREACHABLE,
    EXPIRED,
    "msg_too_long",
    "streaming_state_conflict",
    "invalid_blocks",
    "internal_surprise",
    "unknown_method",
]


async def write(
    thread: Thread,
    pieces: Sequence[str],
    *,
    adopt: Sequence[str] | None = None,
    opened: list[str] | None = None,
    blocks: Sequence[dict[str, Any]] | None = BUTTONS,
    limits: StreamLimits = AT_ONCE,
    clock: ManualClock | None = None,
) -> tuple[str, ...]:
    """Write the pieces as a model would, with time between them, and finish."""

    async def note(ts: str) -> None:
        if opened is not None:
            opened.append(ts)

    async with open_stream(
        thread,
        thread,
        channel="C1",
        thread_ts="1795000000.000100",
        user="U1",
        team="T1",
        gate=OutputGate(frozenset()),
        on_open=note,
        adopt=adopt,
        key="turn-1",
        limits=limits,
        clock=clock or ManualClock(),
    ) as writer:
        for piece in pieces:
            writer.text(piece)
            await breathe()
        return await writer.finish(blocks=blocks)


async def breathe() -> None:
    """Let the writer's task do what it can do now."""
    for _ in range(6):
        await asyncio.sleep(0)


def exactly(thread: Thread, text: str) -> None:
    assert "".join(thread.read) == text
    assert not thread.open


def footers(thread: Thread) -> list[bool]:
    return [bool(thread.messages[ts].blocks) for ts in sorted(thread.messages)]


async def test_a_short_answer_is_one_streamed_message_with_its_footer() -> None:
    thread = Thread()
    ts = await write(thread, ["Hello, ", "here it ", "is."])
    exactly(thread, "Hello, here it is.")
    assert thread.calls == ["start", "append", "stop"]
    assert list(ts) == list(thread.messages)
    assert thread.messages[ts[0]].blocks == BUTTONS


async def test_a_long_answer_goes_on_in_further_messages_and_only_the_last_has_the_footer() -> None:
    thread = Thread()
    ts = await write(thread, ANSWER)
    exactly(thread, "".join(ANSWER))
    assert len(ts) > 3
    assert footers(thread) == [False] * (len(ts) - 1) + [True]
    assert all(len(text.encode()) <= 400 for text in thread.read)
    assert all(text.endswith(". ") for text in thread.read)


@pytest.mark.parametrize("fault", FAULTS)
async def test_one_fault_at_any_call_leaves_the_text_exactly_once(fault: str) -> None:
    sound = Thread()
    await write(sound, ANSWER)
    for number in range(len(sound.calls)):
        thread = Thread({number: fault})
        await write(thread, ANSWER)
        exactly(thread, "".join(ANSWER))
        assert footers(thread)[:-1] == [False] * (len(thread.messages) - 1)


@pytest.mark.parametrize("method", ["start", "append", "stop"])
async def test_a_method_that_always_fails_leaves_the_text_exactly_once(method: str) -> None:
    misses = []
    for fault in FAULTS:
        thread = Thread(always={method: fault})
        try:
            await write(thread, ANSWER)
        except SlackUnanswered:
            if method != "stop":  # Slack never says that the stream has ended, so the text cannot be vouched for
                misses.append((fault, thread.calls))
        else:
            if "".join(thread.read) != "".join(ANSWER):
                misses.append((fault, thread.calls))
    assert misses == []


# No letters of which a name of a host can be made: such a one is not shown as it was written.
texts = st.lists(st.text("qv .\n,!", min_size=1, max_size=120), min_size=1, max_size=12)
passing_faults = st.dictionaries(st.integers(0, 40), st.sampled_from(FAULTS[:5]), max_size=8)


def squeezed(text: str) -> str:
    """Without the blank lines and ends that no message consists of."""
    return re.sub(r"\s+", "", text)


@given(texts, st.integers(0, 30), st.booleans(), passing_faults)
async def test_after_a_crash_at_any_call_the_next_attempt_leaves_the_text_exactly_once(
    pieces: list[str], dies_at: int, was_carried_out: bool, faults: dict[int, str]
) -> None:
    thread = Thread({dies_at: LOST_ANSWER} if was_carried_out else {})
    thread.dies_at = dies_at
    opened: list[str] = []
    first = asyncio.create_task(write(thread, pieces, opened=opened))
    death = asyncio.create_task(thread.gone.wait())
    await asyncio.wait({first, death}, return_when=asyncio.FIRST_COMPLETED)
    if not first.done():
        first.cancel()
    await asyncio.wait({first})
    death.cancel()
    thread.gone.clear()
    thread.dies_at = None
    thread.faults = {number + len(thread.calls): fault for number, fault in faults.items()}
    try:
        await write(thread, pieces, adopt=opened, opened=opened)
    except SlackUnanswered:
        assert len(faults) >= AT_ONCE.attempts
        return
    assert not thread.open
    assert squeezed("".join(thread.read)) == squeezed("".join(pieces))


@given(texts, st.integers(0, 12), passing_faults)
async def test_an_answer_that_is_abandoned_at_any_time_reads_as_the_writer_says(
    pieces: list[str], after: int, faults: dict[int, str]
) -> None:
    thread = Thread(faults)
    async with opened(thread) as writer:
        for number, piece in enumerate(pieces):
            writer.text(piece)
            for _ in range((after + number) % 5):
                await asyncio.sleep(0)
        try:
            await writer.abandon("I was interrupted.")
        except SlackUnanswered:
            assert len(faults) >= AT_ONCE.attempts
            return
    assert squeezed("".join(thread.read)) == squeezed(writer.shown)
    assert writer.shown.endswith("I was interrupted.")
    assert not thread.open


async def test_streaming_that_is_not_supported_is_not_tried_again_by_the_next_answer() -> None:
    thread = Thread(always={"start": "feature_not_enabled"})
    await write(thread, ["One ", "word. "])
    await write(thread, ["Two ", "words."])
    exactly(thread, "One word. Two words.")
    assert thread.calls == ["start", "post", "update", "post", "update"]


async def test_where_slack_does_not_stream_a_post_grows_with_the_words() -> None:
    thread = Thread(always={"start": "channel_type_not_supported"})
    seen: list[str] = []
    limits = StreamLimits(flush_seconds=0.0, edit_seconds=0.0, message_bytes=400)
    async with opened(thread, limits=limits) as writer:
        for number in range(40):
            writer.text(f"Sentence {number} is here. ")
            await breathe()
            seen += [text for text in thread.read[-1:] if text not in seen]
        ts = await writer.finish(blocks=BUTTONS)
    exactly(thread, "".join(f"Sentence {number} is here. " for number in range(40)))
    assert seen[0].startswith("Sentence 0")
    assert len(seen) > 4
    assert footers(thread) == [False] * (len(ts) - 1) + [True]
    assert len(ts) > 1


async def test_a_growing_post_is_not_changed_more_often_than_slack_advises() -> None:
    thread = Thread(always={"start": "channel_type_not_supported"})
    async with opened(thread, limits=StreamLimits(flush_seconds=0.0, edit_seconds=3600.0)) as writer:
        for number in range(40):
            writer.text(f"Sentence {number} is here. ")
            await breathe()
        await writer.finish()
    assert thread.calls == ["start", "post", "update"]


async def test_a_growing_post_that_may_not_be_changed_is_followed_by_the_rest() -> None:
    thread = Thread(always={"start": "feature_not_enabled", "update": "edit_window_closed"})
    async with opened(thread) as writer:
        writer.text("One. ")
        await breathe()
        writer.text("Two.")
        await writer.finish()
    assert thread.read == ["One. ", "Two."]


async def test_words_that_limits_leave_no_room_for_go_with_the_end_and_nobody_waits() -> None:
    thread, clock = Thread(always={"append": LIMITED_FOR_LONG}), ManualClock()
    began = clock.monotonic()
    async with opened(thread, clock=clock) as writer:
        for number in range(20):
            writer.text(f"word{number} ")
            await breathe()
        await writer.finish(blocks=BUTTONS)
    exactly(thread, "".join(f"word{number} " for number in range(20)))
    assert thread.calls == ["start", "append", "stop"]
    assert clock.monotonic() == began


@pytest.mark.parametrize("fault", [LIMITED, LIMITED_FOR_LONG])
async def test_an_answer_that_has_no_stream_left_to_it_is_posted_whole(fault: str) -> None:
    thread = Thread(always={"start": fault})
    await write(thread, ["One ", "word ", "more."])
    exactly(thread, "One word more.")
    assert thread.calls == ["start", "post"]
    assert not thread.unsupported


def test_where_one_kind_of_conversation_has_no_streams_the_others_may_have_them() -> None:
    assert streaming_in("C0SUPPORT") == streaming_in("C0GENERAL") != streaming_in("D0CUSTOMERA")


async def test_the_more_streams_live_the_more_seldom_each_is_added_to() -> None:
    class Busy(Thread):
        def append_interval(self) -> float:
            return 3600.0

    thread = Busy()
    async with opened(thread) as writer:
        for number in range(20):
            writer.text(f"word{number} ")
            await breathe()
        await writer.finish()
    assert thread.calls == ["start", "stop"]


async def test_the_end_does_not_wait_out_a_pause_that_began_before_it() -> None:
    class Patient(ManualClock):
        """Whoever rests, rests until somebody ends it."""

        async def sleep(self, seconds: float) -> None:
            await asyncio.Event().wait()

    thread = Thread({1: UNREACHABLE})
    async with opened(thread, clock=Patient()) as writer:
        writer.text("One. ")
        await breathe()
        writer.text("Two. ")
        await breathe()
        async with asyncio.timeout(patience(20)):
            await writer.finish()
    exactly(thread, "One. Two. ")


async def test_a_stream_whose_start_was_cut_off_is_stopped_too() -> None:
    thread = Thread({0: LOST_ANSWER})
    thread.dies_at = 0

    async def turn() -> None:
        async with opened(thread) as writer:
            writer.text("One. ")
            await asyncio.Event().wait()

    task = asyncio.create_task(turn())
    await thread.gone.wait()
    assert thread.open
    thread.gone.clear()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not thread.open


async def test_taking_up_an_answer_stops_what_streams_and_nothing_else() -> None:
    thread = Thread()
    left: list[str] = []
    await write(thread, ANSWER, opened=left)
    unfinished = await thread.start("C1", "1795000000.000100", user="U1", team="T1")
    thread.calls.clear()
    await write(thread, ANSWER, adopt=[*left, unfinished])
    exactly(thread, "".join(ANSWER))
    assert thread.calls.count("stop") == 1


async def test_a_post_says_in_plain_words_what_it_holds() -> None:
    thread = Thread(always={"start": "channel_type_not_supported"})
    await write(thread, ["It is **free** & quick."])
    (message,) = thread.messages.values()
    assert message.text == "It is **free** & quick."
    assert message.notification == "It is *free* &amp; quick."


async def test_stop_is_an_end_and_nothing_more_is_said() -> None:
    thread = Thread({1: STOPPED})
    async with opened(thread) as writer:
        writer.text("One. ")
        await breathe()
        assert not writer.stopped
        writer.text("Two. ")
        await breathe()
        assert writer.stopped
        writer.text("Three. ")
        ts = await writer.finish(blocks=BUTTONS, text_if_empty="Nothing.")
    assert thread.read == ["One. "]
    assert list(ts) == list(thread.messages)
    assert thread.calls == ["start", "append"]


async def test_an_answer_without_words_says_what_it_is_told_to_say() -> None:
    thread = Thread()
    async with opened(thread) as writer:
        ts = await writer.finish(blocks=BUTTONS, text_if_empty="I found <!here> nothing.")
    assert thread.read == ["I found ＠here nothing."]
    assert len(ts) == 1
    assert footers(thread) == [True]


async def test_an_empty_answer_shows_nothing() -> None:
    thread = Thread()
    async with opened(thread) as writer:
        writer.text("  \n")
        assert await writer.finish(blocks=BUTTONS) == ()
    assert thread.calls == []


async def test_an_abandoned_answer_keeps_what_was_shown_and_says_why_it_ends() -> None:
    thread = Thread()
    async with opened(thread) as writer:
        writer.text("Look:\n```\ncode ")
        await breathe()
        await writer.abandon("I was interrupted.")
    assert thread.read == ["Look:\n```\n```\n\nI was interrupted."]
    assert not thread.open


async def test_leaving_without_an_end_stops_the_stream() -> None:
    thread = Thread()

    async def turn() -> None:
        async with opened(thread) as writer:
            writer.text("One. ")
            await breathe()
            raise RuntimeError("the turn failed")

    with pytest.raises(RuntimeError, match="the turn failed"):
        await turn()
    assert thread.read == ["One. "]
    assert not thread.open


async def test_a_cancelled_turn_stops_its_stream() -> None:
    thread = Thread()

    async def turn() -> None:
        async with opened(thread) as writer:
            writer.text("One. ")
            await asyncio.Event().wait()

    task = asyncio.create_task(turn())
    await breathe()
    assert thread.open
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not thread.open


async def test_an_old_message_is_completed_before_slack_ends_it() -> None:
    thread, clock = Thread(), ManualClock()
    async with opened(thread, clock=clock) as writer:
        writer.text("One word")
        await breathe()
        writer.text(" and an")
        await breathe()
        clock.advance(241.0)
        writer.text("other. And more.")
        await breathe()
        await writer.finish(blocks=BUTTONS)
    assert "".join(thread.read) == "One word and another. And more."
    assert len(thread.messages) == 2
    assert thread.read[0].endswith(" ")


async def test_calls_are_spaced_by_the_flush_interval() -> None:
    thread, clock = Thread(), ManualClock()
    async with opened(thread, clock=clock, limits=StreamLimits(flush_seconds=3600.0)) as writer:
        for number in range(50):
            writer.text(f"word{number} ")
            await breathe()
        await writer.finish()
    assert thread.calls == ["start", "stop"]


async def test_progress_cards_change_in_place_among_the_words() -> None:
    thread = Thread()
    async with opened(thread, limits=StreamLimits(flush_seconds=0.0)) as writer:
        writer.text("Let me look. ")
        writer.task("call-1", title="Looking up the order", status="in_progress")
        writer.task("call-2", title="Checking the parcel", status="in_progress")
        await breathe()
        writer.task("call-1", title="Looking up the order", status="complete", details="found")
        writer.task("call-2", title="Checking the parcel", status="error")
        writer.text("Here it is.")
        await breathe()
        ts = await writer.finish()
    cards = thread.messages[ts[0]].cards
    assert cards["call-1"] == {"title": "Looking up the order", "status": "complete", "details": "found"}
    assert cards["call-2"]["status"] == "error"
    exactly(thread, "Let me look. Here it is.")


async def test_without_progress_cards_the_words_are_shown_all_the_same() -> None:
    class NoCards(Thread):
        async def start(self, *arguments: Any, chunks: Any = (), **named: Any) -> str:
            if any(chunk["type"] == "task_update" for chunk in chunks):
                raise SlackRefused("start", "invalid_chunks")
            return await super().start(*arguments, chunks=chunks, **named)

    thread = NoCards()
    async with opened(thread) as writer:
        writer.task("call-1", title="Looking up the order", status="in_progress")
        await breathe()
        writer.text("Here it is.")
        await writer.finish()
    exactly(thread, "Here it is.")
    assert "progress cards" in thread.unsupported


async def test_a_footer_that_slack_does_not_know_is_made_plainer() -> None:
    class OldSlack(Thread):
        async def stop(self, *arguments: Any, blocks: Any = None, **named: Any) -> None:
            if any(block["type"] == "context_actions" for block in blocks or ()):
                raise SlackRefused("stop", "invalid_blocks")
            await super().stop(*arguments, blocks=blocks, **named)

    thread = OldSlack()
    await write(thread, ["An ", "answer."], blocks=FEEDBACK)
    (message,) = thread.messages.values()
    assert [element["action_id"] for element in message.blocks[0]["elements"]] == ["fb.positive", "fb.negative"]


async def test_a_footer_that_slack_refuses_under_the_answer_is_a_reply_of_its_own() -> None:
    class NoBlocks(Thread):
        async def stop(self, *arguments: Any, blocks: Any = None, **named: Any) -> None:
            if blocks:
                raise SlackRefused("stop", "invalid_blocks")
            await super().stop(*arguments, blocks=blocks, **named)

    thread = NoBlocks()
    await write(thread, ["An ", "answer."], blocks=FEEDBACK)
    exactly(thread, "An answer.")
    assert [message.blocks for message in thread.messages.values()] == [[], FEEDBACK]
    assert thread.messages[max(thread.messages)].notification == "Yes · No"


async def test_a_footer_that_slack_refuses_everywhere_leaves_what_it_says() -> None:
    class NoFooters(Thread):
        async def _call(self, method: str, act: Any, ts: str = "", *, ready: Any = None) -> Any:
            answer = await super()._call(method, act, ts, ready=ready)
            if any(message.blocks for message in self.messages.values()):
                raise AssertionError("a footer was shown")
            return answer

        async def stop(self, *arguments: Any, blocks: Any = None, **named: Any) -> None:
            _refuse(blocks)
            await super().stop(*arguments, blocks=blocks, **named)

        async def post(self, *arguments: Any, blocks: Any = None, **named: Any) -> str:
            _refuse(blocks)
            return await super().post(*arguments, blocks=blocks, **named)

    def _refuse(blocks: Any) -> None:
        if any(block["type"] != "markdown" for block in blocks or ()):
            raise SlackRefused("chat", "invalid_blocks")

    says = "Source: <https://x.example/a|Returns>"
    source = {"type": "context", "elements": [{"type": "mrkdwn", "text": says}]}
    thread = NoFooters()
    await write(thread, ["An ", "answer."], blocks=[source, *FEEDBACK])
    assert thread.read == ["An answer.", says]


@pytest.mark.parametrize("refused", [(), ("block_mismatch",), ("msg_too_long", "block_mismatch")])
async def test_a_footer_comes_under_the_answer_or_below_it_when_slack_has_ended_the_stream(
    refused: tuple[str, ...],
) -> None:
    thread = Thread(always={"update": refused[-1] if refused else ""})
    async with opened(thread) as writer:
        writer.text("An answer. ")
        await breathe()
        (answer,) = thread.messages.values()
        answer.streaming = False
        await writer.finish(blocks=FEEDBACK)
    assert "".join(thread.read).strip() == "An answer."
    assert footers(thread) == ([False, True] if refused else [True])


async def test_a_refusal_of_the_channel_is_told_to_the_turn() -> None:
    thread = Thread(always=dict.fromkeys(["start", "post"], "is_archived"))
    with pytest.raises(Unreachable, match="is_archived"):
        await write(thread, ["An answer."])


async def test_a_journal_that_cannot_be_written_is_told_to_the_turn() -> None:
    async def note(ts: str) -> None:
        raise RuntimeError("the journal is full")

    thread = Thread()
    async with opened(thread, on_open=note) as writer:
        writer.text("One. ")
        await breathe()
        with pytest.raises(RuntimeError, match="the journal is full"):
            await writer.finish()
    assert not thread.open


@pytest.mark.parametrize("words", ["It has said this much", "It has said this much."])
async def test_who_wakes_when_another_has_answered_writes_nothing_more(words: str) -> None:
    is_superseded = False

    async def fence() -> None:
        if is_superseded:
            raise Superseded("attempt 1 at row 7: 2 has begun")

    thread = Thread()
    async with opened(thread, fence=fence) as writer:
        writer.text(words)
        await breathe()
        (ts,) = thread.messages
        is_superseded = True
        thread.messages[ts].streaming = False
        thread.messages[ts].text = "The other's whole answer."
        writer.text(" And then it woke up.")
        await breathe()
        with pytest.raises(Superseded):
            await writer.finish(blocks=BUTTONS)
    exactly(thread, "The other's whole answer.")
    assert not any(footers(thread))


@pytest.mark.parametrize("cannot", ["", "unknown_method"])
async def test_a_message_that_was_opened_when_another_had_begun_is_taken_back(cannot: str) -> None:
    async def note(ts: str) -> None:
        raise Superseded("attempt 1 at row 7: 2 has begun")

    thread = Thread(always={"start": cannot})
    async with opened(thread, on_open=note) as writer:
        writer.text("An answer. ")
        await breathe()
        with pytest.raises(Superseded):
            await writer.finish()
    assert not thread.messages


async def test_a_message_is_taken_back_though_the_turn_ends_in_the_same_moment() -> None:
    is_noted = asyncio.Event()

    async def note(ts: str) -> None:
        is_noted.set()
        raise Superseded("attempt 1 at row 7: 2 has begun")

    thread = Thread()
    async with opened(thread, on_open=note) as writer:
        writer.text("An answer. ")
        await is_noted.wait()
    assert thread.calls == ["start", "stop", "stop", "delete"]
    assert not thread.messages


def opened(
    thread: Thread,
    *,
    limits: StreamLimits = AT_ONCE,
    clock: ManualClock | None = None,
    on_open: Any = None,
    fence: Any = None,
    may_speak: Any = None,
) -> Any:
    return open_stream(
        thread,
        thread,
        channel="D1",
        thread_ts="1795000000.000100",
        user="U1",
        team="T1",
        gate=OutputGate(frozenset()),
        on_open=on_open,
        fence=fence,
        may_speak=may_speak,
        limits=limits,
        clock=clock or ManualClock(),
    )
