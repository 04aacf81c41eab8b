"""Sessions at the client: what a refusal means for later turns, and when the legacy status line takes their place."""

from collections.abc import AsyncIterator

import pytest

from bot.errors import Unreachable
from bot.slack.api.errors import NO_SESSIONS, SlackRefused, SlackUnanswered
from bot.slack.api.transport import UNSUPPORTED_SECONDS
from bot.slack.client import SlackClient, open_slack_client
from bot.slack.rate_limiter import PACES
from tests.doubles.clock import ManualClock
from tests.slack.api import Answer, Api, no, ok, open_api

SET_STATUS, SET_LINE, RENAME = "agents.sessions.setStatus", "assistant.threads.setStatus", "agents.sessions.rename"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as api:
        yield api


@pytest.fixture
async def slack(api: Api, clock: ManualClock) -> AsyncIterator[SlackClient]:
    async with open_slack_client(token="xoxb-0000-not-a-token", base_url=api.url, clock=clock) as slack:
        yield slack


async def show(slack: SlackClient, channel: str = "C1", thread_ts: str = "1.1") -> None:
    await slack.sessions.show_work(channel, thread_ts, text="is looking…", title="Where is it?", initiator="U1")


def asked(api: Api) -> list[str]:
    return [method for method, _ in api.asked]


async def test_work_is_shown_by_a_session_with_its_title(api: Api, slack: SlackClient) -> None:
    await show(slack, "D1")
    await show(slack, "D1")
    session = {"channel_id": "D1", "thread_ts": "1.1", "status": "processing", "title": "Where is it?"}
    assert api.asked == [(SET_STATUS, session | {"initiator_user_id": "U1"})], "once, and with its initiator"


async def test_nobody_is_named_who_may_not_be_in_the_channel(api: Api, slack: SlackClient) -> None:
    await show(slack)
    assert "initiator_user_id" not in api.asked_for(SET_STATUS)[0]


@pytest.mark.parametrize("error", sorted(NO_SESSIONS))
async def test_where_slack_has_no_sessions_the_status_line_shows_it_and_is_asked_for_first_for_a_while(
    error: str, api: Api, slack: SlackClient, clock: ManualClock
) -> None:
    api.will(SET_STATUS, no(error))
    await show(slack)
    await show(slack, thread_ts="2.2")
    assert asked(api) == [SET_STATUS, SET_LINE, SET_LINE]
    assert api.asked_for(SET_LINE)[0] == {"channel_id": "C1", "thread_ts": "1.1", "status": "is looking…"}
    clock.advance(UNSUPPORTED_SECONDS + 1)
    await show(slack, thread_ts="3.3")
    assert asked(api)[3:] == [SET_STATUS, SET_LINE]


async def test_an_app_that_is_not_in_a_channel_has_sessions_elsewhere(api: Api, slack: SlackClient) -> None:
    api.will(SET_STATUS, no("not_authorized"), ok())
    await show(slack, "C1")
    await show(slack, "C1", "2.2")
    await show(slack, "C2")
    assert asked(api) == [SET_STATUS, SET_LINE, SET_LINE, SET_STATUS]


async def test_an_app_without_sessions_in_its_own_direct_messages_is_no_agent(api: Api, slack: SlackClient) -> None:
    api.will(SET_STATUS, no("not_authorized"))
    await show(slack, "D1")
    await show(slack, "C2")
    assert asked(api) == [SET_STATUS, SET_LINE, SET_LINE]


async def test_another_refusal_is_of_this_call_alone(api: Api, slack: SlackClient) -> None:
    api.will(SET_STATUS, no("invalid_arguments"), ok())
    await show(slack)
    await show(slack, thread_ts="2.2")
    assert asked(api) == [SET_STATUS, SET_LINE, SET_STATUS]


async def test_calls_above_the_pace_leave_as_status_lines(api: Api, slack: SlackClient) -> None:
    burst = PACES[f"{SET_STATUS}/processing"].burst
    for number in range(burst + 2):
        await show(slack, thread_ts=f"{number}.1")
    assert (len(api.asked_for(SET_STATUS)), len(api.asked_for(SET_LINE))) == (burst, 2)


@pytest.mark.parametrize("answer", [Answer(drops=True), Answer("no", status=500)])
async def test_a_call_without_an_answer_may_have_worked_and_leaves_the_thread_busy(
    api: Api, slack: SlackClient, answer: Answer
) -> None:
    api.will(SET_STATUS, answer)
    await show(slack)
    assert asked(api) == [SET_STATUS]
    assert slack.sessions.ledger.is_busy("C1", "1.1")
    with pytest.raises(SlackUnanswered):
        await slack.sessions.settle("C1", "1.1", "active")
    assert slack.sessions.ledger.is_busy("C1", "1.1"), "to be said again"


async def test_a_line_is_cleared_only_where_no_message_has_done_so(api: Api, slack: SlackClient) -> None:
    api.will(SET_STATUS, no("feature_disabled"))
    api.will("chat.postMessage", ok(ts="1.2"))
    await show(slack)
    await slack.chat.post("C1", text="Here it is", thread_ts="1.1")
    await slack.sessions.settle("C1", "1.1", "suspended")
    assert asked(api)[2:] == ["chat.postMessage"]
    await show(slack)
    await slack.sessions.settle("C1", "1.1", "active")
    assert [line["status"] for line in api.asked_for(SET_LINE)] == ["is looking…", "is looking…", ""]


async def test_a_stream_begins_and_ends_the_session_without_a_call_of_its_own(api: Api, slack: SlackClient) -> None:
    api.will("chat.startStream", ok(ts="1.2"))
    await slack.streams.start("C1", "1.1", user="U1", team="T1")
    assert slack.sessions.ledger.is_busy("C1", "1.1")
    await slack.streams.stop("C1", "1.2")
    assert not slack.sessions.ledger.is_busy("C1", "1.1")
    assert SET_STATUS not in asked(api)


async def test_the_end_of_a_stream_keeps_a_session_suspended(api: Api, slack: SlackClient) -> None:
    api.will("chat.startStream", ok(ts="1.2"))
    await slack.streams.start("C1", "1.1", user="U1", team="T1")
    await slack.sessions.settle("C1", "1.1", "suspended")
    await slack.streams.stop("C1", "1.2")
    assert api.asked_for("chat.stopStream")[0]["session_status"] == "suspended"
    assert slack.sessions.ledger.is_shown("C1", "1.1", "suspended")


async def test_a_stream_that_the_customer_stopped_leaves_the_thread_busy(api: Api, slack: SlackClient) -> None:
    api.will("chat.startStream", ok(ts="1.2"))
    api.will("chat.appendStream", no("stopped_by_user"))
    await slack.streams.start("C1", "1.1", user="U1", team="T1")
    with pytest.raises(Exception, match="stopped_by_user"):
        await slack.streams.append("C1", "1.2", [{"type": "markdown_text", "text": "more"}])
    assert slack.sessions.ledger.is_busy("C1", "1.1"), "Slack changes nothing of the session by itself"


@pytest.mark.parametrize("has_sessions", [True, False])
async def test_an_archived_channel_is_told_at_the_first_call(has_sessions: bool, api: Api, slack: SlackClient) -> None:
    api.will(SET_STATUS, no("is_archived") if has_sessions else no("feature_disabled"))
    api.will(SET_LINE, no("is_archived"))
    with pytest.raises(Unreachable):
        await show(slack)
    assert asked(api)[-1] == (SET_STATUS if has_sessions else SET_LINE)
    await slack.sessions.settle("C1", "1.1", "active")


async def test_a_deactivated_person_is_no_dead_token(api: Api, slack: SlackClient) -> None:
    await slack.api.auth()
    api.will("chat.postMessage", no("account_inactive"))
    with pytest.raises(SlackRefused) as refused:
        await slack.chat.post("D1", text="Hi")
    assert refused.value.error == "user_disabled"
    assert await slack.api.find_token_fault() is None
    api.will("auth.test", no("account_inactive"))
    with pytest.raises(SlackRefused) as refused:
        await slack.chat.post("D1", text="Hi")
    assert refused.value.error == "account_inactive"


async def test_a_thread_without_a_session_needs_no_title(api: Api, slack: SlackClient) -> None:
    api.will(RENAME, no("session_not_found"))
    await slack.sessions.rename("C1", "1.1", "Your question")
    assert api.asked_for(RENAME) == [{"channel_id": "C1", "thread_ts": "1.1", "title": "Your question"}]
