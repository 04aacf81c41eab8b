"""What an app's manifest makes of it here: its kind, and what it hears, offers and may do."""

from pathlib import Path
from typing import Any

import yaml

from local_slack.workspace import AppKind

KINDS: dict[str, AppKind] = {"agent_view": "agent", "assistant_view": "assistant"}
"""The feature by which Slack takes an app for more than a plain one."""


def read_manifest(path: Path) -> dict[str, Any]:
    """The configuration that a manifest in YAML or JSON stands for. Raises ValueError when it is none."""
    manifest = yaml.safe_load(path.read_text("utf-8"))
    if not isinstance(manifest, dict) or "display_information" not in manifest:
        raise ValueError(f"{path} does not hold an app's manifest")
    features, settings = manifest.get("features") or {}, manifest.get("settings") or {}
    return {
        "kind": next((kind for feature, kind in KINDS.items() if feature in features), "plain"),
        "app": {"name": manifest["display_information"]["name"]},
        "events": (settings.get("event_subscriptions") or {}).get("bot_events", []),
        "commands": features.get("slash_commands", []),
        "shortcuts": features.get("shortcuts", []),
        "suggested_prompts": (features.get("agent_view") or {}).get("suggested_prompts", []),
        "unfurl_domains": features.get("unfurl_domains", []),
        "scopes": ((manifest.get("oauth_config") or {}).get("scopes") or {}).get("bot", []),
    }
