"""What `frontdesk check` says about the settings of models."""

from pathlib import Path

import pytest

from bot.errors import ConfigurationError
from bot.outside import check, open_knowledge
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


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
