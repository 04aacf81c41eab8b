"""`python -m tools.guest_manifest`: write manifest.guests.yml, which is manifest.yml for workspaces with guests.

Slack keeps guests out of apps that have an `agent_view`. The variant leaves it out, and with it what only the
agent view needs: its suggested prompts and its sessions. Everything else works the same in both.
"""

import copy
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "manifest.yml"
TARGET = ROOT / "manifest.guests.yml"

AGENT_SCOPES = frozenset({"assistant:write"})
"""For assistant.threads.setSuggestedPrompts, which apps without an agent view cannot use."""
AGENT_EVENTS = frozenset({"agent_session_stopped"})
"""Sessions, and with them Slack's Stop button, are of apps with an agent view alone."""

HEADER = """\
# Generated from manifest.yml by `make manifest`; change that file instead.
# Without agent_view, so that guests of the workspace can use the app, and without what only agent_view needs.
"""


def guest_manifest(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without the agent view; the one given stays as it is."""
    variant = copy.deepcopy(manifest)
    del variant["features"]["agent_view"]
    scopes, subscriptions = variant["oauth_config"]["scopes"], variant["settings"]["event_subscriptions"]
    scopes["bot"] = [scope for scope in scopes["bot"] if scope not in AGENT_SCOPES]
    subscriptions["bot_events"] = [event for event in subscriptions["bot_events"] if event not in AGENT_EVENTS]
    return variant


def guest_manifest_text(source: str) -> str:
    """The text of manifest.guests.yml for the text of manifest.yml."""
    variant = guest_manifest(yaml.safe_load(source))
    return HEADER + yaml.safe_dump(variant, sort_keys=False, allow_unicode=True, width=120)


def main() -> None:
    """Write the file."""
    TARGET.write_text(guest_manifest_text(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
