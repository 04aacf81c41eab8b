"""The writer and the client against a whole workspace, over HTTP."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.guard.guardrails import OutputGate
from bot.language.sentences import load_sentences
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.place import Place
from bot.slack.stream import StreamLimits, StreamWriter, open_stream
from bot.views import cards
from local_slack import streams
from local_slack.server import open_workspace
from local_slack.workspace import Rules, Workspace
from tests.doubles.local_slack import LocalSlack

ANSWER = [f"Sentence {number} says something about your order. " for number in range(40)]
LIMITS = StreamLimits(flush_seconds=0.01, message_bytes=700, retry_seconds=0.01)
TABLE = "| Parcel | Day |\n|---|---|\n| 1 | Monday |\n\n"
"""Of which Slack makes a table and no rich text."""
FOOTER = cards.answer_footer(
    load_sentences(), "en", ref="7", sources=[cards.AnswerSource("Returns", "https://help.example.com/r")]
)


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    async with open_workspace(rules=Rules(rate_limits=False)) as workspace:
        yield workspace


@pytest.fixture
async def slack(workspace: Workspace) -> AsyncIterator[SlackClient]:
    async with open_slack_client(token=workspace.bot_token, base_url=f"{workspace.url}/api/") as slack:
        yield slack


async def ask(workspace: Workspace) -> str:
    return await workspace.act.send("U0CUSTOMERA", "C0SUPPORT", "Where is my order?")


def writing(slack: SlackClient, thread_ts: str, *, adopt: tuple[str, ...] | None = None) -> Any:
    return open_stream(
        slack.streams,
        slack.chat,
        channel="C0SUPPORT",
        thread_ts=thread_ts,
        user="U0CUSTOMERA",
        team="T0FRONTDESK",
        gate=OutputGate(frozenset({"help.example.com"})),
        adopt=adopt,
        limits=LIMITS,
    )


async def write(workspace: Workspace, writer: StreamWriter, pieces: list[str]) -> None:
    """Write the pieces; each fourth time, wait until something of it is seen."""
    for number, piece in enumerate(pieces):
        seen = workspace.counter
        writer.text(piece)
        if number % 4 == 0:
            await workspace.wait_for_change(seen, timeout=0.2)


def replies(workspace: Workspace, thread_ts: str, channel: str = "C0SUPPORT") -> list[dict[str, Any]]:
    messages = workspace.messages[channel]
    return [messages[ts] for ts in sorted(messages) if messages[ts].get("thread_ts") == thread_ts and ts != thread_ts]


def words(value: Any) -> str:
    """Everything a message says, without its buttons and sources."""
    if isinstance(value, list):
        return "".join(words(each) for each in value)
    if value.get("type") in ("actions", "context", "context_actions", "task_card"):
        return ""
    return str(value.get("text", "")) if value.get("type") in ("text", "markdown") else words(value.get("elements", []))


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def read(workspace: Workspace, thread_ts: str, channel: str = "C0SUPPORT") -> str:
    there = replies(workspace, thread_ts, channel)
    assert all(reply.get("streaming_state") != "in_progress" for reply in there)
    return squeezed("".join(words(reply["blocks"]) for reply in there))


def refusals(workspace: Workspace) -> set[tuple[str, str]]:
    """What the app was refused: method and error."""
    calls = [entry for entry in workspace.log if entry["kind"] == "call" and not entry["ok"]]
    return {(entry["name"], entry["detail"]["answer"]["error"]) for entry in calls}


async def test_a_long_answer_is_streamed_in_several_messages_with_one_footer(
    workspace: Workspace, slack: SlackClient
) -> None:
    thread_ts = await ask(workspace)
    async with writing(slack, thread_ts) as writer:
        writer.task("call-1", title="Looking up the order", status="in_progress")
        await write(workspace, writer, ANSWER)
        writer.task("call-1", title="Looking up the order", status="complete", details="found")
        ts = await writer.finish(blocks=FOOTER.blocks)
    assert read(workspace, thread_ts) == squeezed("".join(ANSWER))
    assert [reply["ts"] for reply in replies(workspace, thread_ts)] == list(ts)
    kinds = [[block["type"] for block in reply["blocks"]] for reply in replies(workspace, thread_ts)]
    assert ["actions" in each for each in kinds] == [False] * (len(kinds) - 1) + [True]
    assert "task_card" in kinds[0]


@pytest.mark.parametrize(
    "do", ["drop", "lost", "429", "500", "html", "msg_too_long", "invalid_blocks", "feature_not_enabled"]
)
@pytest.mark.parametrize("method", ["chat.startStream", "chat.appendStream", "chat.stopStream"])
async def test_a_fault_leaves_the_text_exactly_once(
    workspace: Workspace, slack: SlackClient, method: str, do: str
) -> None:
    thread_ts = await ask(workspace)
    await LocalSlack(workspace, slack).breaks(method=method, do=do, count=1, seconds=0.01)
    async with writing(slack, thread_ts) as writer:
        await write(workspace, writer, ANSWER)
        await writer.finish(blocks=FOOTER.blocks)
    assert read(workspace, thread_ts) == squeezed("".join(ANSWER))


async def test_a_stream_that_slack_ends_goes_on_in_another_message(workspace: Workspace, slack: SlackClient) -> None:
    thread_ts = await ask(workspace)
    async with writing(slack, thread_ts) as writer:
        await write(workspace, writer, ANSWER[:1])
        (stream,) = workspace.streams.values()
        streams.finish(workspace, stream, "expired")
        await write(workspace, writer, ANSWER[1:8])
        await writer.finish(blocks=FOOTER.blocks)
    assert read(workspace, thread_ts) == squeezed("".join(ANSWER[:8]))
    assert len(replies(workspace, thread_ts)) == 2


async def test_the_footer_of_a_table_whose_stream_slack_ended_is_a_reply_of_its_own(
    workspace: Workspace, slack: SlackClient
) -> None:
    """Slack does not put a table over what was streamed, and with it not what stands under it."""
    thread_ts = await ask(workspace)
    async with writing(slack, thread_ts) as writer:
        await write(workspace, writer, [TABLE])
        (stream,) = workspace.streams.values()
        streams.finish(workspace, stream, "expired")
        await writer.finish(blocks=FOOTER.blocks)
    assert refusals(workspace) >= {("chat.update", "block_mismatch")}
    assert read(workspace, thread_ts) == "Parcel|Day1|Monday"
    *_, footer = replies(workspace, thread_ts)
    assert [block["type"] for block in footer["blocks"]] == [block["type"] for block in FOOTER.blocks]
    assert footer["text"].endswith("<https://help.example.com/r|Returns>")


async def test_a_table_takes_no_half_open_answers_place_and_is_shown_once(
    workspace: Workspace, slack: SlackClient
) -> None:
    thread_ts = await ask(workspace)
    chunk = {"type": "markdown_text", "text": "Let me look."}
    left = await slack.streams.start("C0SUPPORT", thread_ts, user="U0CUSTOMERA", team="T0FRONTDESK", chunks=[chunk])
    async with writing(slack, thread_ts, adopt=(left,)) as writer:
        await write(workspace, writer, [TABLE])
        await writer.finish(blocks=FOOTER.blocks)
    assert refusals(workspace) == {("chat.update", "block_mismatch")}
    (answer,) = replies(workspace, thread_ts)
    assert answer["blocks"][0]["text"].strip() == TABLE.strip()
    assert [block["type"] for block in answer["blocks"][1:]] == [block["type"] for block in FOOTER.blocks]


async def test_what_ends_an_answer_stands_under_all_the_blocks_that_slack_made_of_it(
    workspace: Workspace, slack: SlackClient
) -> None:
    thread_ts = await ask(workspace)
    words = {"type": "rich_text_section", "elements": [{"type": "text", "text": "Within 30 days."}]}
    made: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": "Returns"}},
        {"type": "rich_text", "elements": [words]},
        {"type": "divider"},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "Day"}]]},
    ]
    footer = {"type": "context", "elements": [{"type": "mrkdwn", "text": "A source"}]}
    ts = await slack.chat.post("C0SUPPORT", text="Returns", blocks=[*made, footer], thread_ts=thread_ts)
    place = Place(slack.streams, slack.chat, "C0SUPPORT", thread_ts, user="", team="T0FRONTDESK", key="turn/1/answer")
    for _ in range(2):
        await place.end_with(workspace.message("C0SUPPORT", ts), "I was interrupted.")
    kept = [block["type"] for block in workspace.message("C0SUPPORT", ts)["blocks"]]
    assert kept == ["header", "rich_text", "divider", "table", "section"]


async def test_stop_ends_the_answer(workspace: Workspace, slack: SlackClient) -> None:
    thread_ts = await ask(workspace)
    async with writing(slack, thread_ts) as writer:
        await write(workspace, writer, ["First words. "])
        await workspace.act.stop("U0CUSTOMERA", "C0SUPPORT", thread_ts)
        await write(workspace, writer, ["More words. "])
        await writer.finish(blocks=FOOTER.blocks)
        assert writer.stopped
    assert read(workspace, thread_ts) == "Firstwords."


async def test_a_half_open_answer_of_a_dead_process_is_replaced_whole(workspace: Workspace, slack: SlackClient) -> None:
    thread_ts = await ask(workspace)
    chunk = {"type": "markdown_text", "text": "Sentence 0 says so"}
    left = await slack.streams.start("C0SUPPORT", thread_ts, user="U0CUSTOMERA", team="T0FRONTDESK", chunks=[chunk])
    unreported = await slack.streams.start(
        "C0SUPPORT", thread_ts, user="U0CUSTOMERA", team="T0FRONTDESK", chunks=[chunk]
    )
    async with writing(slack, thread_ts, adopt=(left,)) as writer:
        await write(workspace, writer, ANSWER)
        ts = await writer.finish(blocks=FOOTER.blocks)
    assert read(workspace, thread_ts) == squeezed("".join(ANSWER))
    assert list(ts[:2]) == [left, unreported]


@pytest.mark.parametrize("begun", ["", "One. "])
async def test_that_an_answer_was_interrupted_is_said_once_however_often_it_is_done_again(
    workspace: Workspace, slack: SlackClient, begun: str
) -> None:
    """What follows upon it may fail, again and again; then all is done again."""
    thread_ts = await ask(workspace)
    left: tuple[str, ...] | None = None
    for _ in range(4):
        async with writing(slack, thread_ts, adopt=left) as writer:
            if left is None:
                await write(workspace, writer, [begun])
            told = await writer.abandon("I was interrupted, & that's it.")
        left = told if left is None else left
        assert told == left
    assert read(workspace, thread_ts) == squeezed(f"{begun}I was interrupted, & that's it.")


async def test_people_and_channels_are_read(workspace: Workspace, slack: SlackClient) -> None:
    me = await slack.api.auth()
    assert (me.team, me.user, me.bot_id) == ("T0FRONTDESK", "U0FRONTDESK", "B0FRONTDESK")
    customer, guest, stranger = [await slack.directory.user(user) for user in ("U0CUSTOMERB", "U0GUEST", "U0STRANGER")]
    assert (customer.email, customer.locale) == ("customer.b@example.com", "id-ID")
    assert (customer.is_guest, guest.is_guest, stranger.is_stranger) == (False, True, True)
    assert {"U0AGENTA", "U0AGENTB"} <= await slack.directory.members("C0AGENTS")
    assert (await slack.directory.channel("C0AGENTS")).is_private
    assert await slack.directory.open_dm("U0CUSTOMERA") == "D0CUSTOMERA"
    thread_ts = await ask(workspace)
    assert thread_ts.replace(".", "") in await slack.chat.permalink("C0SUPPORT", thread_ts)
