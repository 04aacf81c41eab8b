"""What is known of Slack without anybody writing: whether it takes the token, and how its calls end."""

import pytest

from bot.slack.api.errors import SlackRefused
from bot.slack.api.transport import TOKEN_CHECK_INTERVAL
from tests.doubles.clock import ManualClock
from tests.doubles.local_slack import open_local_slack


async def test_a_dead_token_is_noticed_though_nobody_writes() -> None:
    clock = ManualClock()
    async with open_local_slack(clock) as slack:
        api = slack.client.api
        await api.auth()
        await slack.breaks(method="auth.test", do="token_revoked", count=1)
        clock.advance(TOKEN_CHECK_INTERVAL - 1.0)
        assert await api.find_token_fault() is None, "it has worked a moment ago"
        clock.advance(2.0)
        assert await api.find_token_fault() == "token_revoked"
        clock.advance(TOKEN_CHECK_INTERVAL)
        assert await api.find_token_fault() is None, "it works again"


async def test_each_call_is_observed_with_how_it_ended() -> None:
    ended: list[tuple[str, str]] = []
    async with open_local_slack() as slack:
        slack.client.api.observe = lambda method, how, seconds: ended.append((method, how))
        await slack.breaks(method="chat.postMessage", do="ratelimited", count=1, seconds=0)
        await slack.client.chat.post("C0AGENTS", text="Hello")
        with pytest.raises(SlackRefused):
            await slack.client.chat.post("C0NOWHERE", text="Hello")
    assert ended == [("chat.postMessage", how) for how in ("ratelimited", "ok", "refused")]
