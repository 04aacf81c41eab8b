"""Whatever happens at every single call, the customer reads the model's text exactly once.

A turn is played as the engine plays it: an attempt that ends in an exception is made again and adopts what the one
before reported. Faults are drawn for each call in its turn; when they are used up, Slack works again.
"""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from bot.errors import Unreachable
from bot.guard.guardrails import OutputGate
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.place import TOO_LONG
from bot.slack.stream import StreamLimits, open_stream
from bot.slack.stream_messages import CANNOT_STREAM
from tests.doubles.clock import ManualClock
from tests.slack.test_stream import BUTTONS, breathe
from tests.slack.thread import (
    DELETED,
    EXPIRED,
    LIMITED,
    LIMITED_FOR_LONG,
    LOST_ANSWER,
    LOST_REQUEST,
    STOPPED,
    UNREACHABLE,
    Features,
    Thread,
)

LIMITS = StreamLimits(flush_seconds=0.0, edit_seconds=0.0, message_bytes=400, attempts=3)
QUESTION = "1795000000.000100"
ATTEMPTS = 40
"""Far more than there are faults to spoil them."""
FINE = ""
NOT_THERE = "channel_type_not_supported"
REFUSALS = (
    *sorted(CANNOT_STREAM | TOO_LONG),
    "streaming_state_conflict",
    "block_mismatch",
    "invalid_blocks",
    "invalid_chunks",
    "is_archived",
    "internal_surprise",
)
TROUBLES = (LOST_ANSWER, LOST_REQUEST, LIMITED, LIMITED_FOR_LONG, UNREACHABLE, EXPIRED)
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "Some words. ",
                "```py\n",
                "code = 1\n",
                "```\n",
                "\n\n",
                "| a | b |\n|---|---|\n| 1 | 2 |\n",
                "[the page](https://help.example.com/returns) ",
                "長い文章です。",
                "👩‍👩‍👧‍👦",
                "🇩🇪🇮🇩",
                "e\u0301",
                "x " * 60,
                "w" * 150,
            ]
        ),
        st.text("qv .\n,!", min_size=1, max_size=80),
    ),
    min_size=1,
    max_size=25,
)
CARDS = st.dictionaries(
    st.integers(0, 24), st.sampled_from(["pending", "in_progress", "complete", "error"]), max_size=6
)
WHOLE = ("👩‍👩‍👧‍👦", "🇩🇪", "🇮🇩", "e\u0301")
"""What readers see as one character."""


@dataclass
class Told:
    """What became of a turn."""

    shown: str
    calls: int
    pieces: int
    stopped: bool = False


async def tell(
    thread: Thread,
    pieces: Sequence[str],
    cards: dict[int, Any],
    *,
    dies_at: int | None = None,
    is_long_dead: bool = False,
) -> Told:
    """Play a turn until its text is complete; in between the process may die at a call, perhaps for so long that
    Slack ends what it left streaming.
    """
    opened: list[str] = []
    thread.dies_at = dies_at
    for attempt in range(ATTEMPTS):
        adopt = tuple(opened) if attempt else None
        writing = asyncio.create_task(write(thread, pieces, cards, opened=opened, adopt=adopt))
        death = asyncio.create_task(thread.gone.wait())
        await asyncio.wait({writing, death}, return_when=asyncio.FIRST_COMPLETED)
        death.cancel()
        if not writing.done():
            writing.cancel()
            await asyncio.wait({writing})
        if thread.gone.is_set():
            thread.gone.clear()
            thread.dies_at = None
            for message in thread.messages.values() if is_long_dead else ():
                message.streaming = False
        with suppress(SlackRefused, SlackUnanswered, Unreachable, asyncio.CancelledError):
            return writing.result()
    raise AssertionError("the turn never ended")


async def write(
    thread: Thread,
    pieces: Sequence[str],
    cards: dict[int, Any],
    *,
    opened: list[str],
    adopt: tuple[str, ...] | None,
) -> Told:
    """One attempt."""

    async def note(ts: str) -> None:
        if thread.gone.is_set():
            await asyncio.Event().wait()
        opened.append(ts)

    async with open_stream(
        thread,
        thread,
        channel="C1",
        thread_ts=QUESTION,
        user="U1",
        team="T1",
        gate=OutputGate(frozenset({"help.example.com"})),
        on_open=note,
        adopt=adopt,
        key="turn-1",
        after=QUESTION,
        limits=LIMITS,
        clock=ManualClock(),
    ) as writer:
        for number, piece in enumerate(pieces):
            writer.text(piece)
            if number in cards:
                writer.task(f"call-{number % 3}", title="Looking it up", status=cards[number], details="found")
            await breathe()
        await writer.finish(blocks=BUTTONS)
        return Told(writer.shown, len(thread.calls), len(pieces), writer.stopped)


def bare(text: str) -> str:
    """Without blanks, on which no message begins or ends for sure, and without what opens and closes code; with links
    as in Markdown, though text alone has them as Slack writes them."""
    return re.sub(r"\s+|```(py)?", "", re.sub(r"<(https:[^|>]+)\|([^>]+)>", r"[\2](\1)", text))


def numbered(faults: Sequence[str]) -> dict[int, str]:
    return {number: fault for number, fault in enumerate(faults) if fault != FINE}


def whole(thread: Thread, told: Told, faults: Sequence[str]) -> None:
    assert bare("".join(thread.read)) == bare(told.shown)
    assert not thread.open
    for text in thread.read:
        assert len(text.encode()) <= LIMITS.message_bytes + len("\n```")
    for character in WHOLE:
        assert "".join(thread.read).count(character) == told.shown.count(character)
    with_footer = [bool(thread.messages[ts].blocks) for ts in sorted(thread.messages) if ts not in thread.stuck]
    assert not any(with_footer[:-1])
    assert told.calls <= 12 + 8 * len(faults) + 2 * told.pieces + 6 * (len(told.shown.encode()) // 100)


@given(PIECES, CARDS, st.lists(st.sampled_from((FINE, FINE, *TROUBLES, *REFUSALS)), max_size=40))
@example(["w" * 150] * 8, {0: "in_progress"}, [LOST_ANSWER] * 40)
@example(["w" * 150] * 8, {0: "in_progress"}, [LOST_REQUEST] * 40)
@example(["Some words. "] * 20, {}, [EXPIRED] * 40)
@example(["Some words. "] * 2, {}, [NOT_THERE, FINE, FINE, LOST_ANSWER, NOT_THERE, NOT_THERE])
@example(["[the page](https://help.example.com/returns) "], {}, [LIMITED, *["msg_blocks_too_long"] * 2])
async def test_the_text_is_read_exactly_once_whatever_happens_at_every_call(
    pieces: list[str], cards: dict[int, Any], faults: list[str]
) -> None:
    thread = Thread(numbered(faults))
    whole(thread, await tell(thread, pieces, cards), faults)


@given(PIECES, st.lists(st.sampled_from((FINE, *TROUBLES, "internal_surprise")), max_size=30))
async def test_where_slack_does_not_stream_the_text_is_read_exactly_once_too(
    pieces: list[str], faults: list[str]
) -> None:
    thread = Thread(numbered(faults))
    thread.unsupported = Features({"streaming in C"})
    whole(thread, await tell(thread, pieces, {}), faults)
    assert "start" not in thread.calls


@given(PIECES, CARDS, st.lists(st.sampled_from((FINE, *TROUBLES)), max_size=12), st.integers(0, 12))
async def test_once_it_is_stopped_the_customer_reads_what_was_there_and_no_more(
    pieces: list[str], cards: dict[int, Any], faults: list[str], stopped_at: int
) -> None:
    thread = Thread({**numbered(faults), stopped_at: STOPPED})
    told = await tell(thread, pieces, cards)
    if not told.stopped:
        # Nothing was streaming at that call; or it ended before.
        assert bare("".join(thread.read)) == bare(told.shown)
        return
    assert bare(told.shown).startswith(bare("".join(thread.read)))
    assert not thread.open


@given(PIECES, st.integers(0, 12))
async def test_a_message_that_somebody_deletes_is_written_again(pieces: list[str], deleted_at: int) -> None:
    thread = Thread({deleted_at: DELETED})
    told = await tell(thread, pieces, {})
    assert bare("".join(thread.read)) == bare(told.shown)
    assert not thread.open


@given(
    PIECES,
    CARDS,
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.lists(st.sampled_from((FINE, FINE, *TROUBLES)), max_size=12),
)
async def test_after_a_death_at_any_call_the_next_process_leaves_the_text_exactly_once(
    pieces: list[str],
    cards: dict[int, Any],
    dies_at: int,
    was_carried_out: bool,
    is_long_dead: bool,
    streams: bool,
    faults: list[str],
) -> None:
    lost = {dies_at: LOST_ANSWER} if was_carried_out else {}
    thread = Thread(lost | {dies_at + 1 + number: fault for number, fault in numbered(faults).items()})
    if not streams:
        thread.unsupported = Features({"streaming in C"})
    told = await tell(thread, pieces, cards, dies_at=dies_at, is_long_dead=is_long_dead)
    whole(thread, told, [*faults, *[FINE] * dies_at])
