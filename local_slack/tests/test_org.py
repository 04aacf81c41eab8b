"""An org of two workspaces with one installation, guests, Slack Connect, and the rules of a configuration file."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncBoltContext
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from local_slack.__main__ import read_config
from local_slack.server import addresses, build_workspace, open_workspace
from local_slack.tests.apps import ManualClock, SocketApp, connected
from local_slack.tests.test_interactivity import acknowledged
from local_slack.workspace import Rules, Workspace
from tests.patience import patience

ORG = Path(__file__).parents[1] / "org.yml"


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    async with open_workspace(rate_limits=False, config=read_config(ORG)) as opened:
        yield opened


async def test_an_event_names_the_workspace_in_which_it_happened_and_the_org(
    workspace: Workspace, app: SocketApp
) -> None:
    teams = {}
    for user, channel in (("U0CUSTOMERE", "C0SECOND"), ("U0CUSTOMERA", "C0SUPPORT")):
        ts = await workspace.act.send(user, channel, "hello")
        for act in ("message", "reaction_added"):
            if act == "reaction_added":
                await workspace.act.react(user, channel, ts, "eyes")
            frame = await app.frame()
            await app.ack(frame)
            payload = frame["payload"]
            teams[act, channel] = payload["team_id"]
            assert payload["enterprise_id"] == payload["context_enterprise_id"] == "E0ACME"
            (authorization,) = payload["authorizations"]
            assert authorization["is_enterprise_install"]
            assert (authorization["enterprise_id"], authorization["team_id"]) == ("E0ACME", None)
    assert set(teams.items()) == {
        (("message", "C0SECOND"), "T0SECOND"),
        (("reaction_added", "C0SECOND"), "T0SECOND"),
        (("message", "C0SUPPORT"), "T0FRONTDESK"),
        (("reaction_added", "C0SUPPORT"), "T0FRONTDESK"),
    }


async def test_interactions_name_them_too(workspace: Workspace, app: SocketApp) -> None:
    workspace.subscriptions = frozenset()
    command, _ = await acknowledged(workspace.act.command("U0CUSTOMERE", "C0SECOND", "/kb status"), app)
    assert (command["team_id"], command["team_domain"]) == ("T0SECOND", "second-local")
    assert (command["enterprise_id"], command["is_enterprise_install"]) == ("E0ACME", "true")
    shortcut, _ = await acknowledged(workspace.act.global_shortcut("U0CUSTOMERE", "ask"), app)
    assert shortcut["team"]["id"] == "T0SECOND"
    assert shortcut["enterprise"] == {"id": "E0ACME", "name": "Acme"}
    assert shortcut["is_enterprise_install"] is True


async def test_the_token_is_the_orgs_and_other_workspaces_are_known(client: AsyncWebClient) -> None:
    told = await client.auth_test()
    assert (told["enterprise_id"], told["is_enterprise_install"]) == ("E0ACME", True)
    second = (await client.team_info(team="T0SECOND"))["team"]
    assert (second["name"], second["enterprise_id"]) == ("Second Workspace", "E0ACME")
    assert (await client.team_info())["team"]["id"] == "T0FRONTDESK"
    assert (await client.users_info(user="U0VISITOR"))["user"]["is_ultra_restricted"]


async def test_bolt_finds_the_installation_of_the_org(workspace: Workspace, client: AsyncWebClient) -> None:
    asked: asyncio.Queue[tuple[str | None, str | None]] = asyncio.Queue()

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        await asked.put((enterprise_id, team_id))
        return AuthorizeResult(
            enterprise_id=enterprise_id, team_id=team_id, bot_user_id="U0FRONTDESK", bot_token=workspace.bot_token
        )

    bolt = AsyncApp(client=client, authorize=authorize)
    heard: asyncio.Queue[Any] = asyncio.Queue()

    @bolt.event("message")
    async def message(context: AsyncBoltContext) -> None:
        await heard.put(context.is_enterprise_install)

    handler = AsyncSocketModeHandler(bolt, workspace.app_token, web_client=client)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        await workspace.act.send("U0CUSTOMERE", "C0SECOND", "hello")
        async with asyncio.timeout(patience(5)):
            assert await heard.get() is True
            assert (await asked.get())[0] == "E0ACME"
    finally:
        await handler.close_async()  # type: ignore[no-untyped-call]


async def test_a_connected_workspace_is_no_part_of_the_org(workspace: Workspace, app: SocketApp) -> None:
    await workspace.act.send("U0STRANGER", "C0PARTNER", "hello")
    payload = (await app.frame())["payload"]
    assert (payload["team_id"], payload["is_ext_shared_channel"]) == ("T0FRONTDESK", True)
    assert payload["event"]["user_team"] == "T0PARTNER"


@pytest.mark.parametrize("team", ["T0NOWHERE", "T0PARTNER"])
def test_a_channel_cannot_be_where_the_app_is_not(team: str) -> None:
    config = read_config(ORG) | {"channels": [{"id": "C0X", "name": "x", "team": team}]}
    with pytest.raises(ValueError, match=f"C0X is in {team}"):
        build_workspace(config=config)
    with pytest.raises(ValueError, match="is_enterprise_install"):
        build_workspace(config=read_config(ORG) | {"app": {}})


def test_rules_of_a_configuration_change_some(workspace: Workspace) -> None:
    assert (workspace.rules.refresh_seconds, workspace.rules.rate_limits) == (600, False)
    assert addresses(workspace)["direct_messages"]["customer.a"] == "D0CUSTOMERA"
    with pytest.raises(ValueError, match="'speed' of rules"):
        build_workspace(config={"rules": {"speed": 1}})


async def test_too_many_events_in_an_hour_are_told_once_a_minute() -> None:
    clock = ManualClock()
    async with open_workspace(clock=clock, rules=Rules(events_per_hour=2)) as busy, connected(busy) as one:

        async def says(*texts: str) -> None:
            for text in texts:
                await busy.act.send("U0CUSTOMERA", "D0CUSTOMERA", text)

        async def heard() -> str:
            frame = await one.frame()
            await one.ack(frame)
            payload = frame["payload"]
            if payload["type"] == "app_rate_limited":
                assert payload.keys() == {"token", "type", "team_id", "minute_rate_limited", "api_app_id"}
                assert payload["minute_rate_limited"] == int(clock.now) // 60 * 60
                return "limited"
            return str(payload["event"]["text"])

        await says("a", "b", "c", "d")
        assert [await heard() for _ in range(3)] == ["a", "b", "limited"]
        await clock.advance(60)
        await says("e")
        assert await heard() == "limited"
        await clock.advance(3_600)
        await says("f")
        assert await heard() == "f"
