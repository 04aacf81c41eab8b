"""Settings: all faults at once, and never a value."""

from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.settings import load_settings

SERVING = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "AGENT_CHANNEL": "C0AGENTS",
    "OPENAI_API_KEY": "key",
}


def faults(environ: dict[str, str]) -> str:
    with pytest.raises(ConfigurationError) as told:
        load_settings(environ, serving=True)
    return "\n".join(told.value.faults)


def test_four_variables_are_enough_to_serve() -> None:
    settings = load_settings(SERVING, serving=True)
    assert settings.database == f"sqlite+aiosqlite:///{Path('data/frontdesk.db')}"
    assert settings.openai_base_url is None


def test_everything_that_is_missing_is_told_at_once() -> None:
    told = faults({})
    for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "AGENT_CHANNEL", "OPENAI_API_KEY"):
        assert name in told


def test_missing_and_malformed_are_told_together() -> None:
    told = faults({"SLACK_BOT_TOKEN": "xapp-mixed-up", "PORT": "high", "SHOP_URL": "shop"})
    for name in ("SLACK_BOT_TOKEN", "PORT", "SHOP_URL", "SHOP_TOKEN", "AGENT_CHANNEL"):
        assert name in told


def test_a_fault_never_shows_the_value() -> None:
    told = faults({**SERVING, "SLACK_BOT_TOKEN": "xoxp-a-secret", "AGENT_CHANNEL": "general-secret"})
    assert "secret" not in told.replace("SLACK_SIGNING_SECRET", "")


def test_an_empty_variable_counts_as_unset() -> None:
    assert load_settings({**SERVING, "SHOP_URL": " "}, serving=True).shop_url is None


def test_variables_that_bolt_reads_by_itself_are_refused() -> None:
    assert "drops the bot token" in faults({**SERVING, "SLACK_CLIENT_ID": "1", "SLACK_CLIENT_SECRET": "2"})


def test_link_hosts_are_a_list() -> None:
    hosts = load_settings({"LINK_HOSTS": "help.example.com, Shop.example.com,"}).link_hosts
    assert hosts == {"help.example.com", "shop.example.com"}


def test_secrets_are_known_to_the_log_and_hidden_from_its_lines() -> None:
    settings = load_settings(SERVING, serving=True)
    assert set(settings.secrets) == {"xoxb-1", "xapp-1", "key"}
    assert "xoxb-1" not in repr(settings)
