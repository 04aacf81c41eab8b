"""Settings, docs/reference/settings.md and .env.example say the same."""

import re

import pytest

from bot.settings import VARIABLES, Settings, load_settings
from tests.contracts.tree import ROOT, read, sources

pytestmark = pytest.mark.contract

ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)
EXAMPLE = re.compile(r"^(# )?([A-Z][A-Z_]+)=(.*)$", re.MULTILINE)

READS_THE_ENVIRONMENT = {
    "bot/cli/main.py",
    "bot/cli/shop_pins.py",
    "bot/cli/shop_try.py",
    "bot/integrations.py",
    "knowledge/build/process.py",
    "knowledge/build/builder.py",
    "knowledge/sources/isolation.py",
}
"""The program; and the builder's parent and child, which hand each other a key out of sight of `ps`."""


def shown(default: object) -> str:
    """A default as the documents write it; empty for none."""
    match default:
        case None | frozenset() | {}:
            return ""
        case float():
            return f"{default:g}"
        case _:
            return str(default)


def documented() -> list[tuple[str, str, str]]:
    return ROW.findall(read("docs/reference/settings.md"))


def examples() -> list[tuple[str, str, str]]:
    return EXAMPLE.findall(read(".env.example"))


def test_each_variable_is_documented_once_and_nothing_else_is() -> None:
    assert sorted(name for name, _, _ in documented()) == sorted(VARIABLES)


@pytest.mark.parametrize(("variable", "default", "meaning"), documented())
def test_the_document_tells_the_default_and_the_meaning_of_the_code(variable: str, default: str, meaning: str) -> None:
    field = Settings.model_fields[VARIABLES[variable]]
    told = shown(field.default)
    assert default == (f"`{told}`" if told else "unset")
    assert meaning == field.description


def test_each_variable_has_one_line_in_the_example_and_nothing_else_has() -> None:
    assert sorted(name for _, name, _ in examples()) == sorted(VARIABLES)


def test_what_the_example_leaves_open_is_enough_to_serve() -> None:
    tokens = {
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_APP_TOKEN": "xapp-1",
        "AGENT_CHANNEL": "C0AGENTS",
        "OPENAI_API_KEY": "1",
    }
    assert {name for comment, name, _ in examples() if not comment} == set(tokens)
    load_settings(tokens, serving=True)


@pytest.mark.parametrize(("comment", "variable", "value"), examples())
def test_the_example_shows_the_default_where_there_is_one(comment: str, variable: str, value: str) -> None:
    told = shown(Settings.model_fields[VARIABLES[variable]].default)
    assert value == told or not told or " " in told, "a space would need quotes, which Docker keeps"
    assert bool(value) == bool(comment), "open lines are empty, the others hold something to try"


def test_the_values_of_the_example_are_valid() -> None:
    given = {name: value for _, name, value in examples() if value}
    assert load_settings({name: value for name, value in given.items() if name != "SHOP_FILE"}).port == 3000
    assert load_settings({"SHOP_FILE": given["SHOP_FILE"]}).has_shop


def test_the_example_can_be_read_by_a_shell_and_by_docker_alike() -> None:
    for _, name, value in examples():
        assert re.fullmatch(r"[\w.:/+,@=-]*", value, re.ASCII), name


def test_the_environment_is_read_where_a_process_begins_and_nowhere_else() -> None:
    users = {source.name for source in sources() if re.search(r"\bos\.(?:environ|getenv)\b", source.text)}
    assert users <= READS_THE_ENVIRONMENT


def test_every_variable_the_documents_speak_of_exists() -> None:
    known = {*VARIABLES, "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET"}
    prefixes = "SLACK|OPENAI|SHOP|KB|AGENT|DATABASE|DATA|EMBEDDING|LINK|ANSWER|MODEL|CUSTOMER|WORKSPACE|TOOL|SENTENCES"
    for document in (
        "README.md",
        "docs/reference/settings.md",
        "docs/getting-started.md",
        "docs/reference/cli.md",
        *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/explanation/*.md")),
    ):
        spoken_of = set(re.findall(rf"\b(?:{prefixes})_[A-Z_]*[A-Z]\b", read(document)))
        assert spoken_of <= known, f"{document}: {spoken_of - known}"
