"""Every setting: its variable, default and meaning. Read once, at start, by `bot.app` and `bot.cli` alone.

The variable is the field's name in capitals. An empty variable counts as unset. `load_settings` reports
all faults at once and never shows a value, so that no token ends up in a terminal or a log.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)

from bot.errors import ConfigurationError


def _http_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with http:// or https://")
    return value.rstrip("/")


def _hosts(value: object) -> object:
    if not isinstance(value, str):
        return value
    return frozenset(host.strip().lower() for host in value.split(",") if host.strip())


def _token(prefix: str, where: str) -> AfterValidator:
    def check(value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(prefix):
            raise ValueError(f"must start with {prefix} ({where})")
        return value

    return AfterValidator(check)


Address = Annotated[str, AfterValidator(_http_address)]


class Settings(BaseModel):
    """The settings of one process; frozen."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True)

    slack_bot_token: Annotated[SecretStr, _token("xoxb-", "OAuth & Permissions")] | None = None
    """The app's bot token, `xoxb-…`. Required to serve."""
    slack_app_token: Annotated[SecretStr, _token("xapp-", "Basic Information, App-Level Tokens")] | None = None
    """The app-level token, `xapp-…`, with `connections:write`. Set it for Socket Mode (no public address needed)."""
    slack_signing_secret: SecretStr | None = None
    """The signing secret. Set it, and not the app token, to receive events over HTTP on `PORT`."""
    slack_api_url: Address | None = None
    """Another address for Slack's Web API, for a proxy or a local workspace. Unset: Slack itself."""
    agent_channel: Annotated[str, Field(pattern=r"^[CG][A-Z0-9]{5,}$")] | None = None
    """The id (`C…` or `G…`) of the channel where cases appear and staff work. Required to serve."""
    openai_api_key: SecretStr | None = None
    """The key of the language model's server. Required to serve; servers without keys take any word."""
    openai_base_url: Address | None = None
    """Any server that speaks Chat Completions (Azure, vLLM, Ollama, LiteLLM …). Unset: OpenAI."""
    openai_model: str = "gpt-4.1-mini"
    """The model that answers customers."""
    embedding_model: str | None = None
    """An OpenAI embedding model, as `text-embedding-3-small`. Unset: the built-in table, which needs no network."""
    shop_name: str = "our shop"
    """What the assistant calls the shop."""
    shop_url: Address | None = None
    """The shop's REST address (docs/shop-api.md). Unset: the assistant has no order tools."""
    shop_token: SecretStr | None = None
    """The bearer token for `SHOP_URL`."""
    data_dir: Path = Path("data")
    """Where the database and the knowledge base's index live; made when missing."""
    database_url: str | None = None
    """`sqlite+aiosqlite:///path`. Unset: `frontdesk.db` in `DATA_DIR`."""
    kb_path: Path | None = None
    """The knowledge base's documents: a folder of Markdown pages and CSV questions, or one such file."""
    link_hosts: Annotated[frozenset[str], BeforeValidator(_hosts)] = frozenset()
    """Hosts that an answer may link to, separated by commas. Links elsewhere are shown without being links."""
    host: str = "127.0.0.1"
    """The address that `PORT` listens on. `0.0.0.0` in a container or behind a proxy on another machine."""
    port: Annotated[int, Field(ge=0, le=65535)] = 3000
    """Health, metrics and, without Socket Mode, Slack's events."""
    answer_rounds: Annotated[int, Field(ge=1, le=30)] = 8
    """Model rounds in one answer; the last is made without tools, so the customer always gets text."""
    answer_seconds: Annotated[float, Field(ge=5, le=600)] = 120.0
    """Seconds for one answer; past them the customer gets a person."""
    concurrent_answers: Annotated[int, Field(ge=1, le=1000)] = 100
    """Threads answered at the same time; others wait their turn."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """How much is logged. Customer text is logged at DEBUG only."""

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        if self.database_url is not None and not self.database_url.startswith("sqlite+aiosqlite:///"):
            raise ValueError("DATABASE_URL must start with sqlite+aiosqlite:///")
        return self

    @property
    def database(self) -> str:
        """The database's address, with the default applied."""
        return self.database_url or f"sqlite+aiosqlite:///{self.data_dir / 'frontdesk.db'}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value, for the log's mask."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))


VARIABLES = {name.upper(): name for name in Settings.model_fields}
"""Variable -> field."""


def load_settings(environ: Mapping[str, str], *, serving: bool = False) -> Settings:
    """Read the settings from `environ`; with `serving`, what the server needs must be there too.

    Raises:
        ConfigurationError: with one sentence for every fault.
    """
    given = {field: environ[name] for name, field in VARIABLES.items() if environ.get(name, "").strip()}
    faults = _missing(given, environ) if serving else []
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        faults += [_sentence(fault["loc"], fault["msg"]) for fault in error.errors()]
        raise ConfigurationError(faults) from None
    if faults:
        raise ConfigurationError(faults)
    return settings


def _missing(given: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    faults = [
        f"{field.upper()} is missing: {Settings.model_fields[field].description}"
        for field in ("slack_bot_token", "agent_channel", "openai_api_key")
        if field not in given
    ]
    if "slack_app_token" not in given and "slack_signing_secret" not in given:
        faults.append("SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) is missing: one of them is needed")
    if "shop_url" in given and "shop_token" not in given:
        faults.append("SHOP_TOKEN is missing: SHOP_URL is set, and the shop wants a bearer token")
    if environ.get("SLACK_CLIENT_ID") and environ.get("SLACK_CLIENT_SECRET"):
        faults.append(
            "SLACK_CLIENT_ID and SLACK_CLIENT_SECRET must be unset: slack-bolt reads them by itself, "
            "switches to OAuth and drops the bot token"
        )
    return faults


def _sentence(where: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not where:
        return message
    return f"{str(where[0]).upper()}: {message[0].lower()}{message[1:]}"
