"""Every setting: its variable, default and meaning. Read once, at start, by `bot.app` and `bot.cli.main` alone.

The variable is the field's name in capitals. An empty variable counts as unset. `load_settings` reports
all faults at once and never shows a value, so that no token ends up in a terminal or a log.
"""

import base64
import glob
import re
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import unquote, urlsplit

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

from bot.cases.hours import Hours, Targets, check_zone, read_days, read_week
from bot.errors import ConfigurationError
from bot.help_center.recurrence import read_rule
from bot.models.families import DEFAULT_MODEL
from bot.privacy.retention import Retention, read_retention
from bot.slack.mrkdwn import mention
from bot.store.addresses import POSTGRES, SQLITE

CHANNEL = r"^[CG][A-Z0-9]{5,}$"
DESK_NAME_LIMIT = 60
"""Characters of a desk's name, which has to fit into a menu."""


def _http_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with http:// or https://")
    return value.rstrip("/")


def _hosts(value: object) -> object:
    if not isinstance(value, str):
        return value
    hosts = [host.strip().lower() for host in value.split(",") if host.strip()]
    for number, host in enumerate(hosts, start=1):
        if not _HOST.fullmatch(host):
            raise ValueError(
                "must be full names of hosts, as help.example.com,www.example.com, without https://, *, port or path; "
                f"number {number} is not (a name with other letters is written in its xn-- form)"
            )
    return frozenset(hosts)


def _desks(value: object) -> object:
    if not isinstance(value, str):
        return value
    desks: dict[str, str] = {}
    for entry in filter(None, (entry.strip() for entry in value.split(","))):
        name, _, channel = (part.strip() for part in entry.partition("="))
        if not name or len(name) > DESK_NAME_LIMIT or not re.fullmatch(CHANNEL, channel):
            raise ValueError("must be names with the ids of their channels, as Billing=C0123ABCD,Returns=C0456EFGH")
        if name in desks.values() or channel in desks:
            raise ValueError("must name each desk and each channel once")
        desks[channel] = name
    return desks


def _temperature(value: object) -> object:
    if isinstance(value, str) and value.strip().lower() == "none":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 2:
        raise ValueError("must be a number from 0 to 2, or none")
    return number


def _refresh_rule(value: str) -> str:
    return read_rule(value).text


def _week(value: str) -> str:
    read_week(value)
    return value


def _retention(value: str) -> str:
    return str(read_retention(value))


def _days(value: object) -> object:
    return read_days(value) if isinstance(value, str) else value


def _three_minutes(value: str) -> str:
    try:
        numbers = [float(number) for number in value.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != len(_PRIORITIES) or not all(0 < number <= _LONGEST_MINUTES for number in numbers):
        raise ValueError(
            f"must be three numbers of minutes, as 5,15,60, each more than 0 and at most {_LONGEST_MINUTES}"
        )
    return value


def _by_priority(minutes: str) -> dict[str, float]:
    return dict(zip(_PRIORITIES, map(float, minutes.split(",")), strict=True))


def _token(prefix: str, where: str) -> AfterValidator:
    def check(value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith(prefix):
            raise ValueError(f"must start with {prefix} ({where})")
        return value

    return AfterValidator(check)


def _webhook_secret(value: SecretStr) -> SecretStr:
    if not WEBHOOK_KEY_BYTES[0] <= len(_webhook_key(value)) <= WEBHOOK_KEY_BYTES[1]:
        raise ValueError("must be whsec_ and 24 to 64 bytes in base64: echo whsec_$(openssl rand -base64 32)")
    return value


def _webhook_key(value: SecretStr) -> bytes:
    """The bytes of a secret of Standard Webhooks. Empty if it is none."""
    prefix, _, key = value.get_secret_value().partition("_")
    try:
        return base64.b64decode(key, validate=True) if prefix == "whsec" else b""
    except ValueError:
        return b""


WEBHOOK_KEY_BYTES = (24, 64)
_HOST = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*")
_PRIORITIES = ("high", "medium", "low")
_LONGEST_MINUTES = 10_080
Temperature = Annotated[float | None, BeforeValidator(_temperature)]
Address = Annotated[str, AfterValidator(_http_address)]
ModelSeconds = Annotated[float, Field(gt=0, le=600)] | None
Dollars = Annotated[float, Field(gt=0, allow_inf_nan=False)]
DollarsOrNone = Annotated[Dollars | None, BeforeValidator(lambda value: None if value == "none" else value)]


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
    agent_channel: Annotated[str, Field(pattern=CHANNEL)] | None = None
    """The id (`C…` or `G…`) of the channel where cases appear and staff work. Required to serve."""
    desk_channels: Annotated[Mapping[str, str], BeforeValidator(_desks)] = {}
    """Further team channels for cases, as `Billing=C0123ABCD,Returns=C0456EFGH`. Unset: `AGENT_CHANNEL` alone."""
    staff_group: Annotated[str, Field(pattern=r"^S[A-Z0-9]{5,}$")] | None = None
    """The id (`S…`) of the user group whose members are staff. Unset: whoever is in the channel where a case is."""
    openai_api_key: SecretStr | None = None
    """The key of the language model's server. Required to serve; servers without keys take any word."""
    openai_base_url: Address | None = None
    """Any server that speaks Chat Completions or Responses (Azure, vLLM, Ollama, LiteLLM …). Unset: OpenAI."""
    openai_model: str = DEFAULT_MODEL
    """The model that answers customers. At Azure, the name of its deployment."""
    openai_cheap_model: str | None = None
    """Sorts, sums up, names cases, sees danger, rewrites queries. Unset: `OPENAI_MODEL` sorts and sums up."""
    openai_api: Literal["auto", "chat", "responses"] = "auto"
    """How models are spoken to: `chat` (Chat Completions), `responses`, or `auto`, which looks at server and model."""
    openai_reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How long models that reason think before they write. Unset: the default model `none`, others as provided."""
    openai_temperature: Temperature = None
    """Freedom in the choice of words, 0 to 2. Unset or `none`: none is sent, since many models refuse one."""
    openai_images: bool | None = None
    """Whether the models of `OPENAI_BASE_URL` get customers' images. Unset: if their names are known to take them."""
    azure_api_version: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d(-preview)?$")] | None = None
    """For Azure's classic addresses, as `2025-04-01-preview`. Unset: `OPENAI_BASE_URL` is of another form."""
    openai_first_sign_seconds: ModelSeconds = None
    """Seconds until the first sign of life in a stream of the models' server. Unset: 13."""
    openai_silence_seconds: ModelSeconds = None
    """Seconds between two signs of life in such a stream. Unset: 15."""
    openai_round_seconds: ModelSeconds = None
    """Seconds for one whole reply, within `ANSWER_SECONDS`. Unset: 60."""
    fallback_model: str | None = None
    """The model that is asked while the others cannot be reached. Unset: none, and a person is called."""
    fallback_base_url: Address | None = None
    """Its server. Unset: `OPENAI_BASE_URL`."""
    fallback_api_key: SecretStr | None = None
    """The key of `FALLBACK_BASE_URL`."""
    fallback_first_sign_seconds: ModelSeconds = None
    """As `OPENAI_FIRST_SIGN_SECONDS`, for the fallback. Unset: 13."""
    fallback_silence_seconds: ModelSeconds = None
    """As `OPENAI_SILENCE_SECONDS`, for the fallback. Unset: 15."""
    fallback_round_seconds: ModelSeconds = None
    """As `OPENAI_ROUND_SECONDS`, for the fallback. Unset: 60."""
    model_loading_seconds: Annotated[float, Field(ge=0, le=600)] | None = None
    """Seconds for a server to load its model; above 0, it is asked at start. Unset: 90, and 0 for OpenAI and Azure."""
    embedding_model: str | None = None
    """An OpenAI embedding model, as `text-embedding-3-small`. Unset: the built-in table, which needs no network."""
    embedding_model_folder: Path | None = None
    """A folder with a model in the manner of MiniLM, as ONNX or safetensors, in place of the built-in table."""
    shop_url: Address | None = None
    """The shop's REST address (docs/reference/shop-api.md), with `https`. Unset: the assistant has no order tools."""
    shop_plain_http: Literal["on", "off"] = "off"
    """`on`: `SHOP_URL` may start with `http://` on another machine. Token and orders cross the network unprotected."""
    shop_token: SecretStr | None = None
    """The bearer token for `SHOP_URL`."""
    shop_file: Path | None = None
    """A YAML file that says how to reach the shop (connect-your-shop.md), instead of `SHOP_URL`."""
    shop_webhook_secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] | None = None
    """`whsec_…`: the shop signs with it at `POST /hooks/shop` that an order has changed (shop-api.md). Unset: off."""
    data_dir: Path = Path("data")
    """Where the database and the knowledge base's index live; made when missing."""
    database_url: str | None = Field(default=None, repr=False)
    """`sqlite+aiosqlite:///path` or `postgresql://user:password@host/name`. Unset: `frontdesk.db` in `DATA_DIR`."""
    kb_path: Path | None = None
    """The knowledge base's documents: a folder, a file, or a YAML file that lists several sources (knowledge.md)."""
    kb_refresh: Annotated[str, AfterValidator(_refresh_rule)] | None = None
    """When documents are read again: `6h`, `1d`, or five fields of cron in UTC. Unset: at start and by command."""
    chroma_url: Address | None = None
    """A Chroma server that holds the vectors. Unset: they are in `DATA_DIR`, and no server is needed."""
    link_hosts: Annotated[frozenset[str], BeforeValidator(_hosts)] = frozenset()
    """Hosts that answers may link or mail to, separated by commas. Other links, domains and addresses become text."""
    host: str = "127.0.0.1"
    """The address that `PORT` listens on. `0.0.0.0` in a container or behind a proxy on another machine."""
    port: Annotated[int, Field(ge=0, le=65535)] = 3000
    """Health, metrics and, without Socket Mode, Slack's events."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    """A port of their own for the metrics, so that they are not shown on `PORT`. Unset: they are shown there."""
    answer_rounds: Annotated[int, Field(ge=4, le=30)] = 8
    """Model rounds in one answer, 4 or more; the last is made without tools, so the customer always gets text."""
    answer_seconds: Annotated[float, Field(ge=5, le=600)] = 120.0
    """Seconds for one answer; past them the customer gets a person."""
    agents: Literal["one", "team"] = "one"
    """`one`: one agent answers, with all tools. `team`: with a shop, triage hands each conversation to a specialist."""
    compound_answers: Literal["split", "single"] = "split"
    """`split`: several questions in a message are worked on at the same time. `single`: by one agent, in one go."""
    check_answers: Literal["on", "off"] = "off"
    """`on`: an answer is checked against its sources before it is sent; it comes later, and all at once."""
    answer_tokens: Annotated[int, Field(ge=1_000)] = 200_000
    """Tokens for one answer, input and output together; past them it is given with what is known by then."""
    answer_cost: Dollars | None = None
    """US dollars for one answer; past them it is given with what is known by then. Unset: no bound."""
    customer_daily_cost: DollarsOrNone = 2.0
    """US dollars for one customer's answers within 24 hours; past them they get a person. `none`: no bound."""
    workspace_daily_cost: Dollars | None = None
    """US dollars for everybody's answers within 24 hours; past them everybody gets a person. Unset: no bound."""
    model_prices: Path | None = None
    """A YAML file with models' prices, added to the built-in ones or in their place."""
    tool_calls_per_minute: Annotated[int, Field(ge=1, le=10_000)] = 60
    """Look-ups for one customer within a minute, over all their questions; further ones are refused."""
    customer_messages_per_minute: Annotated[int, Field(ge=1, le=10_000)] = 15
    """Messages that one customer gets answered within a minute; further ones are not, and they are told so once."""
    customer_messages_per_day: Annotated[int, Field(ge=1, le=1_000_000)] = 300
    """Messages that one customer gets answered within 24 hours; further ones are not, and they are told so once."""
    conversation_turns: Annotated[int, Field(ge=3, le=100)] = 30
    """Answers after which a conversation goes on with nothing but a summary; the customer is told."""
    conversation_characters: Annotated[int, Field(ge=1_000, le=1_000_000)] = 24_000
    """Characters of a conversation that a model is sent; older ones are summed up. Help pages can take as many."""
    concurrent_answers: Annotated[int, Field(ge=1, le=1000)] = 100
    """Threads answered at the same time; others wait their turn."""
    open_cases: Annotated[int, Field(ge=1, le=1000)] = 5
    """Cases that one customer may have open; what they want of a person in further threads is added to the latest."""
    policy_path: Path | None = None
    """A YAML file with what may be changed in the shop (policy.md), read again on SIGHUP. Unset: nothing may."""
    procedures_path: Path | None = None
    """A folder with procedures, a Markdown file each (procedures.md), read again on SIGHUP. Unset: none."""
    action_minutes: Annotated[float, Field(ge=1, le=120)] = 15.0
    """How long a customer can say yes to a change of an order that the assistant has prepared, in minutes."""
    approval_minutes: Annotated[float, Field(ge=1, le=1440)] = 30.0
    """How long staff can approve a change, in minutes of open desk."""
    action_offers_per_hour: Annotated[int, Field(ge=1, le=1000)] = 20
    """Changes that the assistant prepares for one customer in an hour."""
    desk_hours: Annotated[str, AfterValidator(_week)] | None = None
    """When people answer, as `Mon-Fri 09:00-17:00, Sat 10:00-14:00`; `@` may stand for a blank. Unset: always."""
    desk_zone: Annotated[str, AfterValidator(check_zone)] = "UTC"
    """The time zone of `DESK_HOURS`, as `Europe/Berlin`."""
    desk_holidays: Annotated[frozenset[date], BeforeValidator(_days)] = frozenset()
    """Days on which nobody answers, as `2026-12-25,2027-01-01`."""
    wait_minutes: Annotated[str, AfterValidator(_three_minutes)] = "5,15,60"
    """Minutes of open desk within which a case shall be claimed: of high, of medium and of low priority."""
    first_reply_minutes: Annotated[str, AfterValidator(_three_minutes)] | None = None
    """Minutes of open desk within which a person replies after a claim, by priority. Unset: as `WAIT_MINUTES`."""
    next_reply_minutes: Annotated[str, AfterValidator(_three_minutes)] | None = None
    """Minutes of open desk within which they reply to each later message, by priority. Unset: as `WAIT_MINUTES`."""
    away_minutes: Annotated[float, Field(ge=1, le=10_000)] = 15.0
    """Minutes of open desk that somebody is away before cases in which a customer waits for them go to the queue."""
    assign: Literal["claim", "round_robin", "least_open"] = "claim"
    """Who gets a case: `claim`, whoever claims it; `round_robin`, all in turn; `least_open`, who has the fewest."""
    on_call: Annotated[str, Field(pattern=r"^[SUW][A-Z0-9]{5,}$")] | None = None
    """Who is mentioned when nobody claims a case: a user group's id (`S…`) or a person's (`U…`). Unset: nobody."""
    desk_lead: Annotated[str, Field(pattern=r"^[UW][A-Z0-9]{5,}$")] | None = None
    """The person (`U…`) who is written to directly when a case has waited for twice its time. Unset: nobody."""
    urgent_pages: Literal["on", "off"] = "off"
    """`on`: "It's urgent" calls `ON_CALL` outside of `DESK_HOURS` too. `off`: it only raises the priority."""
    escalate_notice: Literal["thread", "ephemeral"] = "thread"
    """Where the author of a message reads that staff have escalated it: in the `thread`, or `ephemeral`, alone."""
    slack_rate: Annotated[float, Field(ge=0.1, le=1_000)] = 1.0
    """How many times Slack's published rate limits are kept to; more than 1 only where Slack has agreed to it."""
    desk_file: Path | None = None
    """A YAML file with the shop's name, its own words and rules (desk-file.md), read again on SIGHUP. Unset: none."""
    sentences_path: Path | None = None
    """A YAML file with sentences of your own, by language and key, in place of the built-in ones."""
    retain_days: Annotated[str, AfterValidator(_retention)] = "words=90,records=400,delivery=7"
    """Days after which words of ended conversations, rows without words, and rows of deliveries go. `0`: for good."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """How much is logged. Customer text is logged at DEBUG only."""
    otel_exporter_otlp_endpoint: Address | None = None
    """An OpenTelemetry collector's address for OTLP over HTTP, which gets traces (traces.md). Unset: there are none."""
    otel_instrumentation_genai_capture_message_content: Literal["NO_CONTENT", "SPAN_ONLY"] = "NO_CONTENT"
    """`SPAN_ONLY`: traces hold what customers, models and tools wrote. `NO_CONTENT`: they hold ids and numbers."""

    @model_validator(mode="after")
    def _check_database(self) -> Self:
        if self.database_url is not None and not self.database_url.startswith((SQLITE, *POSTGRES)):
            raise ValueError(f"DATABASE_URL must start with {SQLITE} or postgresql://")
        return self

    @model_validator(mode="after")
    def _check_shop(self) -> Self:
        if self.shop_file and (self.shop_url or self.shop_token):
            raise ValueError("SHOP_FILE and SHOP_URL are both set: the shop is reached by one of them")
        if self.is_shop_unprotected and self.shop_plain_http == "off":
            raise ValueError(
                "SHOP_URL must start with https:// unless the shop is on this machine: "
                "SHOP_PLAIN_HTTP=on allows it in a network that you trust"
            )
        return self

    @model_validator(mode="after")
    def _check_desks(self) -> Self:
        if self.agent_channel in self.desk_channels:
            raise ValueError("DESK_CHANNELS names further channels, and AGENT_CHANNEL is one of them")
        if self.urgent_pages == "on" and self.on_call is None:
            raise ValueError("ON_CALL is missing: URGENT_PAGES is on, and nobody could be called")
        return self

    @property
    def targets(self) -> Targets:
        """When the desk is open, and within what time it wants to claim cases."""
        hours = Hours(read_week(self.desk_hours) if self.desk_hours else (), self.desk_zone, self.desk_holidays)
        given = (self.wait_minutes, self.first_reply_minutes, self.next_reply_minutes)
        return Targets(hours, *(_by_priority(minutes) if minutes else {} for minutes in given))

    @property
    def retention(self) -> Retention:
        """How long what is stored is kept."""
        return read_retention(self.retain_days)

    @property
    def on_call_mention(self) -> str:
        """`ON_CALL` as Slack's markup; empty for nobody."""
        return mention(self.on_call) if self.on_call else ""

    @property
    def has_shop(self) -> bool:
        """Whether orders can be seen at all."""
        return bool(self.shop_url or self.shop_file)

    @property
    def shop_webhook_key(self) -> bytes:
        """The key with which the shop signs its events; empty if it sends none."""
        return _webhook_key(self.shop_webhook_secret) if self.shop_webhook_secret else b""

    @property
    def is_shop_unprotected(self) -> bool:
        """Whether the shop's token and orders go to another machine by plain HTTP."""
        parts = urlsplit(self.shop_url or "")
        return parts.scheme == "http" and not _is_loopback(parts.hostname or "")

    @property
    def database(self) -> str:
        """The database's address, with the default applied."""
        return self.database_url or f"{SQLITE}{self.data_dir / 'frontdesk.db'}"

    @property
    def has_live_files(self) -> bool:
        """Whether there are files that are read again on SIGHUP."""
        return any((self.desk_file, self.policy_path, self.procedures_path))

    @property
    def is_shared(self) -> bool:
        """Whether several processes may use the database: true of Postgres."""
        return self.database.startswith(POSTGRES)

    @property
    def private_places(self) -> tuple[Path, ...]:
        """The folder of our data, and SQLite's file with all that is beside it under its name."""
        if self.is_shared:
            return (self.data_dir,)
        file = Path(self.database.removeprefix(SQLITE))
        beside = file.parent.glob(f"{glob.escape(file.name)}*") if file.parent.is_dir() else ()
        return (self.data_dir, *beside)

    @property
    def dollar_bounds(self) -> tuple[str, ...]:
        """The variables that bound what answers cost, as far as somebody has set them: a default asks for no prices."""
        names = ("answer_cost", "customer_daily_cost", "workspace_daily_cost")
        return tuple(
            name.upper() for name in names if name in self.model_fields_set and getattr(self, name) is not None
        )

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value, for the log's mask."""
        values = (getattr(self, name) for name in type(self).model_fields)
        secrets = tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))
        return (*secrets, *_passwords(self.database))


MISSPELT = 0.87
"""How alike a variable and a setting are, from 0 to 1, for one to be a slip of the other."""
VARIABLES = {name.upper(): name for name in Settings.model_fields}
"""Variable -> field."""


def load_settings(environ: Mapping[str, str], *, serving: bool = False, listening: bool = True) -> Settings:
    """Read the settings from `environ`; with `serving`, what the server needs must be there too.

    With `listening` as well, one of the two ways in which Slack reaches it.

    Raises:
        ConfigurationError: with one sentence for every fault.
    """
    given = {field: environ[name] for name, field in VARIABLES.items() if environ.get(name, "").strip()}
    faults = _missing(given, environ, listening=listening) if serving else []
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        faults += [_sentence(fault["loc"], fault["msg"]) for fault in error.errors()]
        raise ConfigurationError([*faults, *misspelt(environ)]) from None
    if faults:
        raise ConfigurationError([*faults, *misspelt(environ)])
    return settings


def misspelt(environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that is no setting and differs little from one that is not set."""
    unset = [name for name in VARIABLES if name not in environ]
    near = ((name, get_close_matches(name, unset, n=1, cutoff=MISSPELT)) for name in environ if name not in VARIABLES)
    return [f"{name} is no setting; did you mean {found[0]}?" for name, found in near if found]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _passwords(url: str) -> tuple[str, ...]:
    """The password of a database's address, as it is written there and as it is meant."""
    account, at, _ = re.split("[/?#]", url.partition("://")[2])[0].rpartition("@")
    password = account.partition(":")[2] if at else ""
    return tuple({password, unquote(password)}) if password else ()


def _missing(given: Mapping[str, str], environ: Mapping[str, str], *, listening: bool) -> list[str]:
    faults = [
        f"{field.upper()} is missing: {Settings.model_fields[field].description}"
        for field in ("slack_bot_token", "agent_channel", "openai_api_key")
        if field not in given
    ]
    if listening and "slack_app_token" not in given and "slack_signing_secret" not in given:
        faults.append("SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP) is missing: one of them is needed")
    if "shop_url" in given and "shop_token" not in given:
        faults.append("SHOP_TOKEN is missing: SHOP_URL is set, and the shop wants a bearer token")
    if "shop_webhook_secret" in given and not {"shop_url", "shop_file"} & given.keys():
        faults.append("SHOP_URL or SHOP_FILE is missing: SHOP_WEBHOOK_SECRET is set, and there is no shop to look at")
    if "procedures_path" in given and not {"shop_url", "shop_file"} & given.keys():
        faults.append("SHOP_URL or SHOP_FILE is missing: PROCEDURES_PATH is set, and procedures are about orders")
    faults += _model_faults(given)
    if environ.get("SLACK_CLIENT_ID") and environ.get("SLACK_CLIENT_SECRET"):
        faults.append(
            "SLACK_CLIENT_ID and SLACK_CLIENT_SECRET must be unset: slack-bolt reads them by itself, "
            "switches to OAuth and drops the bot token"
        )
    return faults


def _model_faults(given: Mapping[str, str]) -> list[str]:
    """Settings of models that make sense only together."""
    faults = [
        f"{field.upper()} is set, but FALLBACK_MODEL is not: there is no fallback without its name"
        for field in ("fallback_base_url", "fallback_api_key")
        if field in given and "fallback_model" not in given
    ]
    if "fallback_base_url" in given and "fallback_api_key" not in given:
        faults.append("FALLBACK_API_KEY is missing: OPENAI_API_KEY is not sent to another server")
    if "fallback_api_key" in given and "fallback_base_url" not in given:
        faults.append("FALLBACK_BASE_URL is missing: FALLBACK_API_KEY is the key of that server")
    if "azure_api_version" in given and "openai_base_url" not in given:
        faults.append(
            "OPENAI_BASE_URL is missing: AZURE_API_VERSION is set, and Azure has an address for each resource"
        )
    if "azure_api_version" in given and "embedding_model" in given:
        faults.append("EMBEDDING_MODEL needs Azure's v1 address: it cannot be used with AZURE_API_VERSION")
    if "embedding_model" in given and "embedding_model_folder" in given:
        faults.append("EMBEDDING_MODEL and EMBEDDING_MODEL_FOLDER are both set: only one of them can embed")
    return faults


def _sentence(where: tuple[int | str, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")
    if not where:
        return message
    return f"{str(where[0]).upper()}: {message[0].lower()}{message[1:]}"
