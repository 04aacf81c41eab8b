"""The client: three endings, no blind repeats, pacing, and no text or token in what it says."""

import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from bot.clock import MINUTE
from bot.slack.api import directory, transport
from bot.slack.api.directory import USER_SECONDS, USERS_KEPT, SlackUser
from bot.slack.api.errors import SlackRefused, SlackUnanswered
from bot.slack.api.transport import UNSUPPORTED_SECONDS, Unsupported
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.rate_limiter import PACES, POST_PACE, STREAM_SLOTS, MemoryBudget, RateLimiter
from tests.doubles.clock import ManualClock
from tests.slack.api import Answer, Api, limited, no, ok, open_api

TOKEN = "xoxb-0000-not-a-token"
SECRET = "the customer's secret words"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as api:
        yield api


@pytest.fixture
async def slack(api: Api, clock: ManualClock) -> AsyncIterator[SlackClient]:
    async with open_slack_client(token=TOKEN, base_url=api.url, clock=clock) as slack:
        yield slack


async def test_a_post_goes_out_without_unfurling_and_returns_its_ts(api: Api, slack: SlackClient) -> None:
    api.will("chat.postMessage", ok(ts="1.2"))
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "Hi"}}]
    assert await slack.chat.post("C1", text="Hi", blocks=blocks, thread_ts="1.1", metadata={"event_type": "x"}) == "1.2"
    assert api.asked_for("chat.postMessage") == [
        {
            "channel": "C1",
            "text": "Hi",
            "blocks": blocks,
            "thread_ts": "1.1",
            "metadata": {"event_type": "x"},
            "unfurl_links": False,
            "unfurl_media": False,
        }
    ]


async def test_an_update_without_blocks_takes_the_old_ones_away(api: Api, slack: SlackClient) -> None:
    await slack.chat.update("C1", "1.2", text="Hi")
    assert api.asked_for("chat.update")[0]["blocks"] == []


async def test_a_stream_names_its_reader_and_their_workspace(api: Api, slack: SlackClient) -> None:
    api.will("chat.startStream", ok(ts="1.2"))
    chunk = {"type": "markdown_text", "text": "Hi"}
    assert await slack.streams.start("C1", "1.1", user="U1", team="T2", chunks=[chunk]) == "1.2"
    await slack.streams.append("C1", "1.2", [chunk])
    await slack.streams.stop("C1", "1.2", blocks=[{"type": "divider"}])
    start, append, stop = (arguments for _, arguments in api.asked)
    assert (start["recipient_user_id"], start["recipient_team_id"], start["chunks"]) == ("U1", "T2", [chunk])
    assert append == {"channel": "C1", "ts": "1.2", "chunks": [chunk]}
    assert stop["blocks"] == [{"type": "divider"}]
    assert "session_status" not in stop, "active is Slack's default"
    assert "chunks" not in stop


async def test_many_calls_share_a_connection(api: Api, slack: SlackClient) -> None:
    for _ in range(20):
        await slack.chat.permalink("C1", "1.2")
    assert len(api.connections) == 1


async def test_the_sdk_repeats_nothing_by_itself(slack: SlackClient) -> None:
    assert slack.api.web.retry_handlers == []


async def test_a_stream_whose_end_could_not_be_paid_for_is_not_begun(
    api: Api, slack: SlackClient, clock: ManualClock
) -> None:
    api.will("chat.startStream", *(ok(ts=f"1.{number}") for number in range(STREAM_SLOTS + 1)))
    for _ in range(STREAM_SLOTS):
        await slack.streams.start("C1", "1.1", user="U1", team="T1")
    with pytest.raises(SlackUnanswered) as caught:
        await slack.streams.start("C1", "1.1", user="U1", team="T1")
    assert (caught.value.reason, caught.value.sent) == ("ratelimited", False)
    assert len(api.asked) == STREAM_SLOTS
    for number in range(STREAM_SLOTS):
        await slack.streams.stop("C1", f"1.{number}")
    assert len(api.asked_for("chat.stopStream")) == STREAM_SLOTS
    clock.advance(MINUTE)
    await slack.streams.start("C1", "1.1", user="U1", team="T1")


async def test_a_stream_that_its_reader_ended_makes_room_for_another(
    api: Api, slack: SlackClient, clock: ManualClock
) -> None:
    api.will("chat.startStream", *(ok(ts=f"1.{number}") for number in range(STREAM_SLOTS + 1)))
    for _ in range(STREAM_SLOTS):
        await slack.streams.start("C1", "1.1", user="U1", team="T1")
    api.will("chat.appendStream", no("stopped_by_user"))
    with pytest.raises(SlackRefused):
        await slack.streams.append("C1", "1.7", [])
    clock.advance(MINUTE)
    await slack.streams.start("C1", "1.1", user="U1", team="T1")


async def test_a_stop_that_slack_limits_is_still_paid_for(api: Api, slack: SlackClient, clock: ManualClock) -> None:
    api.will("chat.startStream", *(ok(ts=f"1.{number}") for number in range(STREAM_SLOTS)))
    for _ in range(STREAM_SLOTS):
        await slack.streams.start("C1", "1.1", user="U1", team="T1")
    api.will("chat.stopStream", limited("30"), ok())
    with pytest.raises(SlackUnanswered) as caught:
        await slack.streams.stop("C1", "1.0")
    assert caught.value.retry_after == pytest.approx(30.0)
    clock.advance(30.0)
    await slack.streams.stop("C1", "1.0")


async def test_a_stream_that_a_dead_process_left_is_stopped_though_no_seat_is_free(
    api: Api, clock: ManualClock
) -> None:
    budget = MemoryBudget(clock)
    for _ in range(STREAM_SLOTS):
        await RateLimiter(budget, clock).open_slot("", patience=0.0)
    began = clock.monotonic()
    async with open_slack_client(
        token=TOKEN, base_url=api.url, clock=clock, rate_limiter=RateLimiter(budget, clock)
    ) as successor:
        api.will("chat.stopStream", limited("30"), ok())
        with pytest.raises(SlackUnanswered):
            await successor.streams.stop("C1", "1.0")
        clock.advance(30.0)
        await successor.streams.stop("C1", "1.0")
    assert len(api.asked_for("chat.stopStream")) == 2
    assert clock.monotonic() == began + 30.0


async def test_words_for_a_stream_wait_for_nothing(api: Api, slack: SlackClient, clock: ManualClock) -> None:
    began = clock.monotonic()
    for _ in range(PACES["chat.appendStream"].burst):
        await slack.streams.append("C1", "1.0", [])
    with pytest.raises(SlackUnanswered) as caught:
        await slack.streams.append("C1", "1.0", [])
    assert (caught.value.reason, caught.value.sent) == ("ratelimited", False)
    assert clock.monotonic() == began
    assert len(api.asked) == PACES["chat.appendStream"].burst


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("2", 2.0), ("0.5", 0.5), ("soon", 1.0), (None, 1.0), ("-3", 1.0), ("nan", 1.0), ("inf", 1.0)],
)
async def test_a_rate_limit_is_waited_for_as_long_as_slack_asks(
    api: Api, slack: SlackClient, clock: ManualClock, asked: str | None, waited: float
) -> None:
    api.will("conversations.open", limited(asked), ok(channel={"id": "D1"}))
    began = clock.monotonic()
    assert await slack.directory.open_dm("U1") == "D1"
    assert clock.monotonic() - began == pytest.approx(waited)


async def test_a_rate_limit_in_a_200_answer_counts_as_well(api: Api, slack: SlackClient) -> None:
    api.will("conversations.open", no("rate_limited"), ok(channel={"id": "D1"}))
    assert await slack.directory.open_dm("U1") == "D1"


async def test_a_rate_limit_that_asks_for_too_long_is_told_as_not_sent(api: Api, slack: SlackClient) -> None:
    api.will("chat.startStream", limited("30"))
    with pytest.raises(SlackUnanswered) as caught:
        await slack.streams.start("C1", "1.1", user="U1", team="T1")
    assert (caught.value.reason, caught.value.sent) == ("ratelimited", False)
    assert caught.value.retry_after == pytest.approx(30.0)
    assert len(api.asked) == 1


async def test_a_limited_method_is_left_alone_by_the_next_caller_too(api: Api, slack: SlackClient) -> None:
    api.will("chat.appendStream", limited("30"))
    for _ in range(3):
        with pytest.raises(SlackUnanswered):
            await slack.streams.append("C1", "1.2", [])
    assert len(api.asked) == 1


async def test_posts_to_a_channel_are_a_second_apart_after_a_burst(
    api: Api, slack: SlackClient, clock: ManualClock
) -> None:
    api.will("chat.postMessage", ok(ts="1.2"))
    began = clock.monotonic()
    for _ in range(POST_PACE.burst):
        await slack.chat.post("C1", text="Hi")
    assert clock.monotonic() == began
    for _ in range(3):
        await slack.chat.post("C1", text="Hi")
    assert clock.monotonic() - began == pytest.approx(3.0)
    await slack.chat.post("C2", text="Hi")
    assert clock.monotonic() - began == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer("oops", status=500, content_type="text/html"), "http_500"),
        (Answer('{"ok": false, "error": "x"}', status=503), "http_503"),
        (Answer("<html>", content_type="text/html"), "http_200"),
        (Answer("not json"), "unreadable"),
        (Answer("[1]"), "unreadable"),
        (Answer("words", content_type="text/plain"), "unreadable"),
        (no("fatal_error"), "fatal_error"),
        (Answer(drops=True), "connection_lost"),
    ],
)
async def test_an_answer_that_says_nothing_leaves_it_open_and_is_not_asked_again(
    api: Api, slack: SlackClient, answer: Answer, reason: str
) -> None:
    api.will("chat.postMessage", answer)
    with pytest.raises(SlackUnanswered) as caught:
        await slack.chat.post("C1", text=SECRET)
    assert (caught.value.reason, caught.value.sent, caught.value.method) == (reason, True, "chat.postMessage")
    assert len(api.asked) == 1


async def test_silence_ends_in_a_timeout(api: Api, slack: SlackClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CALL_SECONDS", 0.05)
    api.will("chat.postMessage", Answer(hangs=True))
    with pytest.raises(SlackUnanswered, match="timeout"):
        await slack.chat.post("C1", text="Hi")


async def test_a_call_that_reached_nobody_is_told_as_not_sent(clock: ManualClock) -> None:
    async with open_slack_client(token=TOKEN, base_url="http://127.0.0.1:9/api/", clock=clock) as slack:
        with pytest.raises(SlackUnanswered) as caught:
            await slack.chat.post("C1", text="Hi")
    assert not caught.value.sent


async def test_a_refusal_has_its_name_and_details(api: Api, slack: SlackClient) -> None:
    problem = "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"
    api.will("chat.postMessage", no("invalid_blocks", errors=[problem], response_metadata={"messages": ["[ERROR] x"]}))
    with pytest.raises(SlackRefused) as caught:
        await slack.chat.post("C1", text="Hi")
    assert (caught.value.method, caught.value.error) == ("chat.postMessage", "invalid_blocks")
    assert caught.value.details == (problem, "[ERROR] x")
    assert str(caught.value) == "chat.postMessage: invalid_blocks"


async def test_a_missing_scope_is_named(api: Api, slack: SlackClient) -> None:
    api.will("conversations.members", no("missing_scope", needed="channels:read", provided="chat:write"))
    with pytest.raises(SlackRefused) as caught:
        await slack.directory.members("C1")
    assert caught.value.details == ("needs the scope channels:read",)


@pytest.mark.parametrize(
    "answer",
    [
        no(SECRET, errors=[SECRET]),
        Answer(SECRET),
        Answer(SECRET, status=500, content_type="text/html"),
        Answer(drops=True),
        limited("999"),
    ],
)
async def test_neither_text_nor_token_appear_in_errors_or_logs(
    api: Api, slack: SlackClient, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    api.will("chat.postMessage", answer)
    with caplog.at_level(logging.INFO), pytest.raises((SlackRefused, SlackUnanswered)) as caught:
        await slack.chat.post("C1", text=SECRET)
    error = caught.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    said = f"{error!r} {error} {caplog.text}"
    assert SECRET not in said
    assert TOKEN not in said


async def test_wishes_that_are_fulfilled_already_are_no_errors(api: Api, slack: SlackClient) -> None:
    api.will("reactions.add", no("already_reacted"))
    api.will("reactions.remove", no("no_reaction"), no("message_not_found"))
    api.will("chat.delete", no("message_not_found"))
    await slack.chat.react("C1", "1.2", "eyes")
    await slack.chat.unreact("C1", "1.2", "eyes")
    await slack.chat.unreact("C1", "1.2", "eyes")
    await slack.chat.delete("C1", "1.2")


def person(**fields: object) -> Answer:
    profile = {"real_name": "Customer A", "display_name": "cust", "email": "customer.a@example.com"}
    return ok(user={"id": "U1", "team_id": "T1", "locale": "id-ID", "tz": "Asia/Jakarta", "profile": profile, **fields})


async def test_a_person_is_read_whole(api: Api, slack: SlackClient) -> None:
    api.will("users.info", person())
    user = await slack.directory.user("U1")
    assert (user.name, user.display_name, user.email) == ("Customer A", "cust", "customer.a@example.com")
    assert (user.locale, user.tz, user.team) == ("id-ID", "Asia/Jakarta", "T1")
    assert [user.is_guest, user.is_stranger, user.is_bot, user.deleted] == [False] * 4
    assert api.asked_for("users.info") == [{"user": "U1", "include_locale": "1"}]


async def test_guests_strangers_bots_and_unconfirmed_addresses_are_told_apart(
    api: Api, slack: SlackClient, clock: ManualClock
) -> None:
    async def read(**fields: object) -> SlackUser:
        clock.advance(USER_SECONDS)
        api.will("users.info", person(**fields))
        return await slack.directory.user("U1")

    assert (await read(is_restricted=True)).is_guest
    assert (await read(is_ultra_restricted=True)).is_guest
    assert (await read(is_stranger=True)).is_stranger
    assert (await read(team_id="T2")).is_stranger
    assert not (await read(team_id="E1", enterprise_user={"teams": ["T1", "T2"]})).is_stranger
    assert (await read(is_bot=True)).is_bot
    assert (await read(id="USLACKBOT")).is_bot
    assert (await read(deleted=True)).deleted
    assert (await read(is_email_confirmed=False)).email is None


async def test_a_person_is_remembered_for_a_while(api: Api, slack: SlackClient, clock: ManualClock) -> None:
    api.will("users.info", person())
    await slack.directory.user("U1")
    await slack.directory.user("U1")
    assert len(api.asked_for("users.info")) == 1
    clock.advance(USER_SECONDS)
    await slack.directory.user("U1")
    assert len(api.asked_for("users.info")) == 2


async def test_only_so_many_people_are_remembered(
    api: Api, slack: SlackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert USERS_KEPT > 2
    monkeypatch.setattr(directory, "USERS_KEPT", 2)
    api.will("users.info", person())
    for user in ("U1", "U2", "U3", "U1"):
        await slack.directory.user(user)
    assert len(api.asked_for("users.info")) == 4


async def test_lists_are_read_to_their_end(api: Api, slack: SlackClient) -> None:
    api.will(
        "conversations.members",
        ok(members=["U1", "U2"], response_metadata={"next_cursor": "c2"}),
        ok(members=["U3"], response_metadata={"next_cursor": ""}),
    )
    assert await slack.directory.members("C1") == {"U1", "U2", "U3"}
    assert api.asked_for("conversations.members")[1]["cursor"] == "c2"


async def test_replies_come_with_their_metadata(api: Api, slack: SlackClient) -> None:
    api.will("conversations.replies", ok(messages=[{"ts": "1.1"}, {"ts": "1.2", "metadata": {"event_type": "x"}}]))
    assert [message["ts"] for message in await slack.chat.replies("C1", "1.1", oldest=1.5)] == ["1.1", "1.2"]
    (asked,) = api.asked_for("conversations.replies")
    assert (asked["include_all_metadata"], asked["oldest"]) == ("1", "1.500000")


async def test_who_the_app_is_is_asked_once(api: Api, slack: SlackClient) -> None:
    first, second = await slack.api.auth(), await slack.api.auth()
    assert first is second
    assert (first.team, first.user, first.bot_id, first.team_name) == ("T1", "UBOT", "B1", "Example")
    assert len(api.asked) == 1


async def test_a_press_is_answered_at_its_address(api: Api, slack: SlackClient) -> None:
    assert await slack.chat.respond(f"{api.url}actions", text="Done", replace=True)
    assert api.asked_for("actions")[0]["replace_original"] is True


@pytest.mark.parametrize("answer", [Answer("used_url", status=404, content_type="text/plain"), Answer(drops=True)])
async def test_an_answer_to_a_press_that_is_not_taken_is_told(api: Api, slack: SlackClient, answer: Answer) -> None:
    api.will("actions", answer)
    assert not await slack.chat.respond(f"{api.url}actions", text="Done")


@pytest.mark.parametrize(
    ("address", "is_slacks"),
    [
        ("https://hooks.slack.com/actions/T1/2/abc", True),
        ("https://hooks.slack.com/commands/T1/2/abc", True),
        ("https://hooks.slack-gov.com/actions/T1/2/abc", True),
        ("http://hooks.slack.com/actions/T1/2/abc", False),
        ("https://hooks.slack.com:8443/actions", False),
        ("https://hooks.slack.com@example.com/actions", False),
        ("https://user:word@hooks.slack.com/actions", False),
        ("https://hooks.slack.com.example.com/actions", False),
        ("https://evilslack.com/actions", False),
        ("https://169.254.169.254/latest/meta-data", False),
        ("http://localhost:1/actions", False),
        ("https://[::1/", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
async def test_a_press_is_answered_at_slacks_addresses_and_nowhere_else(
    slack: SlackClient, monkeypatch: pytest.MonkeyPatch, address: str, is_slacks: bool
) -> None:
    sent: list[str] = []

    class Hook:
        """Stands for the SDK's client."""

        def __init__(self, url: str, **_: Any) -> None:
            self.url = url

        async def send(self, **_: Any) -> SimpleNamespace:
            sent.append(self.url)
            return SimpleNamespace(status_code=200)

    monkeypatch.setattr("bot.slack.api.chat.AsyncWebhookClient", Hook)
    assert await slack.chat.respond(address, text="Done") is is_slacks
    assert sent == [address] * is_slacks


async def test_views_prompts_and_private_messages_are_sent_as_slack_names_them(api: Api, slack: SlackClient) -> None:
    await slack.views.publish_home("U1", {"type": "home", "blocks": []})
    await slack.views.open("trigger", {"type": "modal"})
    await slack.views.suggest_prompts("D1", None, [{"title": "a", "message": "b"}] * 6)
    await slack.chat.ephemeral("C1", "U1", text="Only you", thread_ts="1.1")
    asked = dict(api.asked)
    assert asked["views.publish"]["user_id"] == "U1"
    assert asked["views.open"]["trigger_id"] == "trigger"
    assert len(asked["assistant.threads.setSuggestedPrompts"]["prompts"]) == 4
    assert asked["chat.postEphemeral"]["thread_ts"] == "1.1"


async def test_a_conversation_is_read(api: Api, slack: SlackClient) -> None:
    api.will("conversations.info", ok(channel={"id": "C1", "name": "agents", "is_private": True, "is_member": True}))
    channel = await slack.directory.channel("C1")
    assert (channel.name, channel.is_private, channel.is_member, channel.is_archived) == ("agents", True, True, False)


def test_what_is_not_supported_is_tried_again_later() -> None:
    clock = ManualClock()
    unsupported = Unsupported(clock)
    unsupported.add("streaming")
    assert "streaming" in unsupported
    assert "cards" not in unsupported
    clock.advance(UNSUPPORTED_SECONDS)
    assert "streaming" not in unsupported


async def test_deeply_nested_answers_do_no_harm(api: Api, slack: SlackClient) -> None:
    api.will("chat.postMessage", Answer("[" * 100_000))
    with pytest.raises(SlackUnanswered, match="unreadable"):
        await slack.chat.post("C1", text="Hi")


async def test_fields_of_another_kind_than_text_count_as_absent(api: Api, slack: SlackClient) -> None:
    api.will("auth.test", ok(team_id=["not", "text"], user_id=7))
    assert (await slack.api.auth()).team == ""
