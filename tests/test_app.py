"""What `frontdesk check` says about the settings of models."""

import pytest

from bot.app import check
from bot.settings import load_settings

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
    return "\n".join(await check(load_settings(SERVING | given, serving=True)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"OPENAI_BASE_URL": f"{NOWHERE}/v1/chat/completions"}, "OPENAI_BASE_URL is the address of one request"),
        ({"AZURE_API_VERSION": "2024-10-21"}, "OPENAI_BASE_URL is Azure's v1 API"),
        ({"FALLBACK_MODEL": "gpt-4.1-mini"}, "FALLBACK_MODEL is OPENAI_MODEL"),
        ({"OPENAI_REASONING_EFFORT": "low"}, "OPENAI_REASONING_EFFORT is set, but no model that reasons is"),
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
