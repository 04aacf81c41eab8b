"""docs/reference/local-slack.md says what the local Slack has, and the product calls nothing that is not there."""

import re
from typing import get_args

import aiohttp
import pytest

from local_slack import pictures
from local_slack.block_tables import MESSAGE_BLOCKS, MESSAGE_CHARACTERS, VIEW_BLOCKS, VIEW_BYTES
from local_slack.faults import Faults
from local_slack.local import LocalApi
from local_slack.methods.call import PAGE_ITEMS
from local_slack.methods.chat import UPDATE_CHARACTERS
from local_slack.methods.content import MARKDOWN_CHARACTERS, METADATA_BYTES, TEXT_KEPT
from local_slack.methods.pins import PINS
from local_slack.methods.scheduled import FARTHEST_SECONDS, IN_WINDOW
from local_slack.rate_limits import CHANNEL_BURST, CHANNEL_PER_SECOND, PER_MINUTE
from local_slack.seed import EVENTS
from local_slack.server import build_workspace, open_workspace
from local_slack.socket_mode import SocketMode
from local_slack.streams import STREAM_BYTES, TASKS
from local_slack.transfers import Transfers
from local_slack.views import STACK
from local_slack.web_api import METHODS, WebApi
from local_slack.workspace import Rules, StreamState
from tests.contracts.test_manifest import called_methods
from tests.contracts.tree import read

pytestmark = pytest.mark.contract

THERE = ("whole", "part")
RULES = Rules()

LIMITS: dict[str, float] = {
    **{f"tier {tier}": calls for tier, calls in PER_MINUTE.items()},
    "items of a page": PAGE_ITEMS,
    "messages at once to a channel": CHANNEL_BURST,
    "messages a second to a channel": CHANNEL_PER_SECOND,
    "characters of a text": TEXT_KEPT,
    "characters of an update": UPDATE_CHARACTERS,
    "characters of `markdown_text` a call": MARKDOWN_CHARACTERS,
    "bytes of metadata": METADATA_BYTES,
    "days to a scheduled message": FARTHEST_SECONDS / 86_400,
    "scheduled messages to a channel within five minutes": IN_WINDOW,
    "pins of a channel": PINS,
    "blocks of a message": MESSAGE_BLOCKS,
    "blocks of a view": VIEW_BLOCKS,
    "characters of all blocks of a message": MESSAGE_CHARACTERS,
    "bytes of a view": VIEW_BYTES,
    "views on each other": STACK,
    "bytes of a stream": STREAM_BYTES,
    "tasks of a stream": TASKS,
    "seconds of a stream": RULES.stream_seconds,
    "seconds to acknowledge": RULES.ack_seconds,
    "seconds of a trigger id": RULES.trigger_seconds,
    "seconds of a response_url": RULES.response_url_seconds,
    "uses of a response_url": RULES.response_url_uses,
    "seconds of a status line": RULES.status_seconds,
    "seconds of `processing`": RULES.processing_seconds,
    "sockets of an app": RULES.max_sockets,
    "seconds of a socket": RULES.refresh_seconds,
    "events an hour": RULES.events_per_hour,
}


def rows(title: str) -> list[list[str]]:
    """The cells of the table under a heading, its head left out."""
    section = read("docs/reference/local-slack.md").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def listed(title: str, *statuses: str) -> list[str]:
    """What a table names in its first column with one of these statuses."""
    return [row[0].strip("`") for row in rows(title) if row[1] in statuses]


def server_routes() -> set[str]:
    """What is served beside the page, as `POST /upload/{file}`."""
    workspace, interactivity = build_workspace()
    faults = Faults()
    sockets = SocketMode(workspace, faults)
    local = LocalApi(workspace, faults, break_sockets=sockets.break_all)
    parts = (WebApi(workspace, faults), Transfers(workspace, faults), interactivity, local, sockets)
    routes = [*pictures.routes(workspace), *(route for part in parts for route in part.routes())]
    return {f"{route.method} {route.path.rstrip('/')}" for route in routes}


@pytest.mark.parametrize("title", ["Methods", "Other addresses", "Events", "Envelopes", "Streams"])
def test_each_row_has_a_name_of_its_own_and_a_known_status(title: str) -> None:
    names = listed(title, *THERE, "not there")
    assert names
    assert len(names) == len(rows(title)) == len(set(names))


def test_each_method_of_the_server_has_a_row_and_each_row_a_method() -> None:
    assert sorted(listed("Methods", *THERE)) == sorted(METHODS)


def test_each_method_that_the_product_calls_is_there() -> None:
    assert called_methods() <= set(listed("Methods", *THERE))


@pytest.mark.parametrize(("method", "status", "tier", "scope"), [row[:4] for row in rows("Methods")])
def test_the_table_tells_the_tier_and_the_scopes_of_the_code(method: str, status: str, tier: str, scope: str) -> None:
    known = METHODS.get(method.strip("`"))
    expected = (str(known.tier), known.scope.split(",") if known.scope else []) if known else ("", [])
    assert (tier, re.findall(r"`([^`]+)`", scope)) == expected, status


@pytest.mark.parametrize("title", ["Methods", "Events", "Envelopes"])
def test_a_part_is_explained(title: str) -> None:
    assert [row[0] for row in rows(title) if row[1] == "part" and not row[-1]] == []


async def test_the_served_workspace_knows_exactly_the_methods_that_are_there() -> None:
    async with open_workspace(rate_limits=False) as workspace, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {workspace.bot_token}"}
        unknown = set()
        for name in listed("Methods", *THERE, "not there"):
            async with session.post(f"{workspace.url}/api/{name}", headers=headers) as response:
                if (await response.json()).get("error") == "unknown_method":
                    unknown.add(name)
    assert unknown == set(listed("Methods", "not there"))


def test_each_address_of_the_server_has_a_row_and_each_row_an_address() -> None:
    assert set(listed("Other addresses", *THERE)) == server_routes()


def test_each_event_that_can_be_told_has_a_row() -> None:
    promised = set(listed("Events", *THERE))
    assert promised <= EVENTS
    assert EVENTS - promised <= set(listed("Events", "not there"))


def test_the_limits_are_those_of_the_code() -> None:
    assert {name: float(value) for name, value, _ in rows("Limits")} == LIMITS


def test_each_state_of_a_stream_has_a_row() -> None:
    assert set(listed("Streams", *THERE)) == set(get_args(StreamState))
