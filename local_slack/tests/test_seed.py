"""The seeded workspace and what a configuration file changes in it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from local_slack.manifest import read_manifest
from local_slack.server import build_workspace

Json = dict[str, Any]

PROMPT = {"title": "Track an order", "message": "Where is my order?"}


def test_the_seed_has_the_people_and_channels_that_documents_name() -> None:
    workspace, _ = build_workspace()
    assert {"U0CUSTOMERA", "U0GUEST", "U0STRANGER", "U0AGENTA", "U0FRONTDESK"} <= workspace.users.keys()
    assert set(workspace.channels["C0AGENTS"].members) == {"U0AGENTA", "U0AGENTB", "U0FRONTDESK"}
    assert workspace.channel("#support").id == "C0SUPPORT"
    assert workspace.dm_with("U0CUSTOMERB").id == "D0CUSTOMERB"


def test_two_workspaces_share_nothing() -> None:
    one, _ = build_workspace()
    other, _ = build_workspace()
    one.channels["C0SUPPORT"].members.clear()
    one.users["U0GUEST"].deleted = True
    assert other.channels["C0SUPPORT"].members
    assert not other.users["U0GUEST"].deleted
    assert one.secret != other.secret


def test_a_configuration_adds_and_changes() -> None:
    config = {
        "team": {"name": "Acme"},
        "users": [
            {"id": "U0NEW", "name": "new", "real_name": "New Person"},
            {"id": "U0GUEST", "deleted": True},
        ],
        "channels": [{"id": "C0OPEN", "name": "open", "members": "all"}],
        "events": ["message.im"],
    }
    workspace, _ = build_workspace(config=config)
    assert (workspace.team.name, workspace.team.id) == ("Acme", "T0FRONTDESK")
    assert workspace.users["U0GUEST"].deleted
    assert workspace.users["U0GUEST"].is_restricted
    assert "U0NEW" in workspace.channels["C0OPEN"].members
    assert workspace.dm_with("U0NEW").is_im
    assert workspace.subscriptions == {"message.im"}


@pytest.mark.parametrize(
    ("features", "kind", "suggested"),
    [
        ({"agent_view": {"agent_description": "x", "suggested_prompts": [PROMPT]}}, "agent", [PROMPT]),
        ({"agent_view": {"agent_description": "x"}}, "agent", []),
        ({"assistant_view": {"assistant_description": "x"}}, "assistant", []),
        ({"bot_user": {"display_name": "x"}}, "plain", []),
    ],
)
def test_a_manifest_says_what_the_app_is(tmp_path: Path, features: Json, kind: str, suggested: list[Json]) -> None:
    path = tmp_path / "manifest.yml"
    path.write_text(yaml.safe_dump({"display_information": {"name": "x"}, "features": features}), "utf-8")
    workspace, _ = build_workspace(config=read_manifest(path))
    assert (workspace.kind, workspace.suggested_prompts) == (kind, suggested)


@pytest.mark.parametrize(
    ("config", "unknown"),
    [({"colour": "red"}, "colour"), ({"users": [{"id": "U0GUEST", "shoe_size": 42}]}, "shoe_size")],
)
def test_an_unknown_setting_is_named(config: dict[str, Any], unknown: str) -> None:
    with pytest.raises(ValueError, match=unknown):
        build_workspace(config=config)
