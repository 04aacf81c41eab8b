"""What `frontdesk check` says about the settings, and what keeps a second process away."""

import os
import socket
import sys
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot import integrations
from bot.errors import ConfigurationError
from bot.integrations import check, only_one, open_knowledge
from bot.settings import Settings, load_settings
from local_slack.workspace import Channel, Usergroup
from tests.doubles.local_slack import LocalSlack

NOWHERE = "http://127.0.0.1:9"
SERVING = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_SIGNING_SECRET": "secret",
    "SLACK_API_URL": f"{NOWHERE}/api",
    "AGENT_CHANNEL": "C0AGENTS",
    "OPENAI_API_KEY": "key",
    "OPENAI_BASE_URL": f"{NOWHERE}/v1",
}


async def told(given: dict[str, str]) -> str:
    """Everything that is wrong."""
    return "\n".join((await check(load_settings(SERVING | given, serving=True))).faults)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"OPENAI_BASE_URL": f"{NOWHERE}/v1/chat/completions"}, "OPENAI_BASE_URL is the address of one request"),
        ({"AZURE_API_VERSION": "2024-10-21"}, "OPENAI_BASE_URL is Azure's v1 API"),
        ({"FALLBACK_MODEL": "gpt-6-luna"}, "FALLBACK_MODEL is OPENAI_MODEL"),
        (
            {"OPENAI_MODEL": "gpt-4.1", "OPENAI_REASONING_EFFORT": "low"},
            "OPENAI_REASONING_EFFORT is set, but no model that reasons is",
        ),
        (
            {"FALLBACK_MODEL": "m", "FALLBACK_API_KEY": "k", "FALLBACK_BASE_URL": f"{NOWHERE}/v1/responses"},
            "FALLBACK_BASE_URL is the address of one request",
        ),
        (
            {"FALLBACK_MODEL": "m", "FALLBACK_API_KEY": "k", "FALLBACK_BASE_URL": f"{NOWHERE}/v1"},
            "FALLBACK_BASE_URL: no server answers there",
        ),
    ],
)
async def test_settings_of_models_that_cannot_work_are_named(given: dict[str, str], words: str) -> None:
    assert words in await told(given)


NAMES = {
    "SLACK_API_URL": "https://slack.shop.test/api",
    "OPENAI_BASE_URL": "https://models.shop.test/v1",
    "SHOP_URL": "https://orders.shop.test",
    "SHOP_TOKEN": "x",
    "DATABASE_URL": "postgresql://database.shop.test/frontdesk",
}


@pytest.mark.parametrize(
    ("reason", "status", "words"),
    [(socket.EAI_NONAME, 2, "does not resolve"), (socket.EAI_AGAIN, 3, "cannot be looked up now")],
)
async def test_a_name_that_does_not_resolve_is_called_so_and_is_no_outage_if_no_one_knows_it(
    monkeypatch: pytest.MonkeyPatch, reason: int, status: int, words: str
) -> None:
    def look_up(host: str, *_: object, **__: object) -> None:
        raise socket.gaierror(reason, "no address")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    found = await check(load_settings(SERVING | NAMES, serving=True))
    assert found.status == status
    named = {line.partition(":")[0]: line for line in found.faults}
    assert named.keys() == NAMES.keys() - {"SHOP_TOKEN"}
    assert [name for name, line in named.items() if words not in line] == []
    hosts = [
        host for host in ("slack", "models", "orders") if f"the name {host}.shop.test" not in "".join(found.faults)
    ]
    assert hosts == []


async def test_what_only_does_not_answer_is_told_from_what_a_person_must_mend() -> None:
    silent = await check(load_settings(SERVING | {"SHOP_URL": NOWHERE, "SHOP_TOKEN": "x"}, serving=True))
    assert (silent.status, silent.wrong) == (3, [])
    assert sorted(line.partition(":")[0] for line in silent.silent) == ["OPENAI_BASE_URL", "SHOP_URL", "SLACK_API_URL"]
    both = await check(load_settings(SERVING | {"AZURE_API_VERSION": "2024-10-21"}, serving=True))
    assert both.status == 2
    assert both.silent


@pytest.mark.parametrize(("answer", "status"), [(503, 3), (404, 2), (401, 2)])
async def test_a_shop_that_is_down_is_no_fault_of_the_settings(answer: int, status: int) -> None:
    async def reply(_request: web.Request) -> web.Response:
        return web.Response(status=answer)

    shop = web.Application()
    shop.router.add_get("/customers", reply)
    async with TestServer(shop) as server:
        found = await check(
            load_settings(SERVING | {"SHOP_URL": str(server.make_url("/")), "SHOP_TOKEN": "x"}, serving=True)
        )
    assert found.status == status


async def test_packages_that_traces_lack_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": NOWHERE}
    assert "frontdesk[otel]" not in await told(endpoint)
    monkeypatch.delitem(sys.modules, "bot.otel")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert "frontdesk[otel]" not in await told({})
    assert "frontdesk[otel]" in await told(endpoint)


@pytest.mark.parametrize(
    "given",
    [
        {"FALLBACK_MODEL": "gpt-4.1"},
        {"OPENAI_MODEL": "gpt-5", "OPENAI_REASONING_EFFORT": "low"},
        {"OPENAI_MODEL": "our-deployment", "OPENAI_REASONING_EFFORT": "low", "OPENAI_API": "responses"},
        {"FALLBACK_MODEL": "o4-mini", "OPENAI_REASONING_EFFORT": "low"},
    ],
)
async def test_settings_of_models_that_can_are_not(given: dict[str, str]) -> None:
    faults = await told(given)
    assert "FALLBACK" not in faults
    assert "EFFORT" not in faults
    assert faults.count("OPENAI") == 1, "nobody answers at its address"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sources: 1", "sources"),
        ("sources:\n  - {name: a, folder: ., colour: red}", "source a: colour"),
        ("sources:\n  - {name: a, folder: .}\n  - {name: a, folder: .}", "two sources are named a"),
        (
            "sources:\n  - {name: a, sitemap: 'https://x.example.com/', hosts: [y.example.com]}",
            "not among the hosts",
        ),
        ("sources:\n  - {name: a, folder: ., audience: internal}", "lists no public source"),
        ("sources:\n  - {name: a, folder: gone}", "source a: "),
    ],
)
async def test_sources_that_cannot_work_are_named(tmp_path: Path, text: str, words: str) -> None:
    listed = write(tmp_path / "kb.yml", text)
    found = await told({"KB_PATH": str(listed)})
    assert [line for line in found.splitlines() if line.startswith("KB_PATH: ") and words in line], found


async def test_a_listed_folder_that_is_away_keeps_nobody_from_serving(tmp_path: Path) -> None:
    listed = write(tmp_path / "kb.yml", "sources:\n  - {name: a, folder: gone}\n")
    settings = load_settings({"KB_PATH": str(listed), "DATA_DIR": str(tmp_path / "data")})
    async with open_knowledge(settings) as bases:
        assert bases.internal is None


async def test_faults_of_the_sources_stop_the_start(tmp_path: Path) -> None:
    settings = load_settings({"KB_PATH": str(write(tmp_path / "kb.yml", "sources: ["))})
    with pytest.raises(ConfigurationError, match=r"KB_PATH: .* is not YAML"):
        async with open_knowledge(settings):
            pass


@pytest.mark.parametrize("setting", ["DESK_FILE", "POLICY_PATH", "SENTENCES_PATH"])
async def test_files_of_the_operator_that_cannot_work_are_named(tmp_path: Path, setting: str) -> None:
    file = tmp_path / "file.yml"
    file.write_text("xx: {}\n", "utf-8")
    assert f"{setting}: " in await told({setting: str(file)})


@pytest.mark.parametrize(
    ("status", "named"), [(200, []), (401, ["OPENAI_API_KEY", "FALLBACK_API_KEY"]), (403, []), (404, [])]
)
async def test_a_key_that_a_models_server_does_not_know_is_named(status: int, named: list[str]) -> None:
    async def answer(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] in ("Bearer key", "Bearer other")
        return web.json_response({"object": "list", "data": []}, status=status)

    model = web.Application()
    model.router.add_get("/v1/models", answer)
    async with TestServer(model) as server:
        address = str(server.make_url("/v1"))
        found = await told(
            {
                "OPENAI_BASE_URL": address,
                "FALLBACK_MODEL": "m",
                "FALLBACK_BASE_URL": address,
                "FALLBACK_API_KEY": "other",
            }
        )
    assert [line.partition(":")[0] for line in found.splitlines() if "KEY" in line] == named


@pytest.mark.parametrize(("status", "named"), [(401, "SHOP_TOKEN"), (403, "SHOP_TOKEN"), (500, "SHOP_URL")])
async def test_a_token_that_the_shop_refuses_is_named_as_such(status: int, named: str) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status)

    shop = web.Application()
    shop.router.add_get("/customers", answer)
    async with TestServer(shop) as server:
        found = await told({"SHOP_URL": str(server.make_url("/")), "SHOP_TOKEN": "x"})
    assert [line.partition(":")[0] for line in found.splitlines() if str(status) in line] == [named]


async def test_a_shop_that_does_not_say_what_it_can_do_is_named() -> None:
    async def nobody(_request: web.Request) -> web.Response:
        return web.json_response({"customers": []})

    async def broken(_request: web.Request) -> web.Response:
        return web.json_response({"actions": "all"})

    shop = web.Application()
    shop.router.add_get("/customers", nobody)
    shop.router.add_get("/capabilities", broken)
    async with TestServer(shop) as server:
        found = await told({"SHOP_URL": str(server.make_url("/")), "SHOP_TOKEN": "x"})
    assert "SHOP_URL: the shop does not say what it can do" in found


async def test_a_folder_that_nothing_can_be_kept_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "DATA_DIR" not in await told({"DATA_DIR": str(tmp_path / "not" / "yet")})
    assert not (tmp_path / "not").exists()
    file = write(tmp_path / "file", "")
    assert f"DATA_DIR: {file} is no folder" in await told({"DATA_DIR": str(file / "data")})
    monkeypatch.setattr(integrations, "ROOM", 1 << 62)
    assert f"DATA_DIR: the disk of {tmp_path} is full" in await told({"DATA_DIR": str(tmp_path)})


POSTGRES = "postgresql://db.example.com/frontdesk"


@pytest.mark.parametrize("first", ["", "sqlite", POSTGRES])
@pytest.mark.parametrize("second", ["", "sqlite", POSTGRES])
def test_a_folder_has_one_process_whatever_database_it_has(tmp_path: Path, first: str, second: str) -> None:
    def settings(database: str, name: str, folder: str = "data") -> Settings:
        url = f"sqlite+aiosqlite:///{tmp_path}/{name}.db" if database == "sqlite" else database
        return load_settings({"DATA_DIR": str(tmp_path / folder), "DATABASE_URL": url})

    with only_one(settings(first, "one")):
        with (
            pytest.raises(ConfigurationError, match=rf"DATA_DIR: another Frontdesk \(process {os.getpid()}\) runs on"),
            only_one(settings(second, "two")),
        ):
            pass
        with only_one(settings(second, "two", folder="its own")):
            pass
    with only_one(settings(second, "two")):
        pass


def test_a_database_of_sqlites_has_one_process_whatever_its_folder(tmp_path: Path) -> None:
    shared = {"DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/one.db"}
    first, second = (load_settings({**shared, "DATA_DIR": str(tmp_path / name)}) for name in ("a", "b"))
    with only_one(first), pytest.raises(ConfigurationError, match="DATABASE_URL: another Frontdesk"), only_one(second):
        pass


@pytest.mark.parametrize("lock", ["frontdesk.lock", "frontdesk.db.lock"])
def test_a_full_disk_is_one_sentence_that_names_the_folder(tmp_path: Path, lock: str) -> None:
    (tmp_path / lock).symlink_to("/dev/full")
    settings = load_settings({"DATA_DIR": str(tmp_path)})
    with pytest.raises(ConfigurationError, match=r"^DATA_DIR: .*No space left on device"), only_one(settings):
        pass


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"DESK_CHANNELS": "Billing=C0GENERAL"}, ""),
        ({"DESK_CHANNELS": "Billing=C0NOWHERE"}, "DESK_CHANNELS: Slack does not show C0NOWHERE"),
        ({"DESK_CHANNELS": "Billing=C0OTHER"}, "DESK_CHANNELS: the app is not in #other"),
        ({"STAFF_GROUP": "S0ONCALL"}, ""),
        ({"STAFF_GROUP": "S0NOBODY"}, "STAFF_GROUP: Slack does not tell who is in S0NOBODY (no_such_subteam)"),
        ({"STAFF_GROUP": "S0EMPTY"}, "STAFF_GROUP: nobody is in S0EMPTY"),
    ],
)
async def test_every_team_channel_and_the_staff_group_are_tried(
    slack: LocalSlack, given: dict[str, str], words: str
) -> None:
    workspace = slack.workspace
    workspace.channels["C0OTHER"] = Channel("C0OTHER", "other", members=["U0AGENTA"])
    workspace.usergroups["S0EMPTY"] = Usergroup("S0EMPTY", "empty", "Empty", "", users=[])
    tokens = {"SLACK_BOT_TOKEN": workspace.bot_token, "SLACK_API_URL": f"{workspace.url}/api"}
    found = await told(tokens | given)
    assert words in found
    assert [line for line in found.splitlines() if "DESK" in line or "STAFF" in line or "AGENT" in line] == (
        [next(line for line in found.splitlines() if words in line)] if words else []
    )
