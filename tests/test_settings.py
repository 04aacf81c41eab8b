"""Settings: all faults at once, and never a value."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from bot.cases.hours import Targets
from bot.errors import ConfigurationError
from bot.privacy.retention import Retention
from bot.settings import VARIABLES, load_settings, misspelt

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


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("OPENAI_MODLE", "OPENAI_MODEL"), ("SLACK_APP_TOKN", "SLACK_APP_TOKEN"), ("DATA_DRI", "DATA_DIR")],
)
def test_a_variable_that_is_nearly_a_setting_is_named_and_its_value_is_not(slip: str, meant: str) -> None:
    told = faults({slip: "a-secret"})
    assert f"{slip} is no setting; did you mean {meant}?" in told
    assert "a-secret" not in told


def test_other_variables_and_settings_are_no_slips() -> None:
    others = ("PATH", "HOME", "HTTP_PROXY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OTEL_SERVICE_NAME", "AWS_REGION")
    assert misspelt(dict.fromkeys((*others, *VARIABLES), "x")) == []
    assert misspelt(dict.fromkeys(others, "x")) == []


def test_a_fault_never_shows_the_value() -> None:
    told = faults({**SERVING, "SLACK_BOT_TOKEN": "xoxp-a-secret", "AGENT_CHANNEL": "general-secret"})
    assert "secret" not in told.replace("SLACK_SIGNING_SECRET", "")


SECRET = "hunter2"


def test_what_is_needed_and_blank_counts_as_missing() -> None:
    misses = [
        (variable, blank, got)
        for variable in SERVING
        for blank in ("", " ", "\t\n")
        if variable not in (got := faults({**SERVING, variable: blank}))
    ]
    assert misses == []


def test_a_value_that_cannot_be_is_told_by_its_variable_and_never_shown() -> None:
    table = [
        ("SLACK_BOT_TOKEN", f"xoxp-{SECRET}"),
        ("SLACK_APP_TOKEN", f"xoxb-{SECRET}"),
        ("AGENT_CHANNEL", f"#{SECRET}"),
        ("AGENT_CHANNEL", f"c0{SECRET}"),
        ("AGENT_CHANNEL", f"U0{SECRET.upper()}"),
        ("AGENT_CHANNEL", f"C0AGENTS {SECRET}"),
        ("OPENAI_BASE_URL", f"ftp://{SECRET}"),
        ("SHOP_URL", SECRET),
        ("SLACK_API_URL", SECRET),
        ("PORT", SECRET),
        ("PORT", "70000"),
        ("ANSWER_SECONDS", SECRET),
        ("ANSWER_SECONDS", "nan"),
        ("CONCURRENT_ANSWERS", "0"),
        ("OPEN_CASES", "0"),
        ("DESK_HOURS", SECRET),
        ("DESK_ZONE", f"Europe/{SECRET}"),
        ("DESK_HOLIDAYS", f"2026-12-25,{SECRET}"),
        ("WAIT_MINUTES", f"5,15,{SECRET}"),
        ("WAIT_MINUTES", "5,15"),
        ("WAIT_MINUTES", "0,15,60"),
        ("WAIT_MINUTES", "5,nan,60"),
        ("ON_CALL", f"@{SECRET}"),
        ("DESK_LEAD", "S0ONCALL"),
        ("COMPOUND_ANSWERS", SECRET),
        ("LOG_LEVEL", SECRET),
        ("DATABASE_URL", f"mysql://root:{SECRET}@db/frontdesk"),
        ("KB_REFRESH", SECRET),
    ]
    misses = []
    for variable, value in table:
        told = faults({**SERVING, variable: value})
        if variable not in told or SECRET in told.lower():
            misses.append((variable, value, told))
    assert misses == []


def test_an_answer_has_rounds_enough_to_be_passed_on_looked_up_and_given() -> None:
    assert "ANSWER_ROUNDS" in faults({**SERVING, "ANSWER_ROUNDS": "3"})
    assert load_settings({**SERVING, "ANSWER_ROUNDS": "4"}, serving=True).answer_rounds == 4


def test_an_empty_variable_counts_as_unset() -> None:
    assert load_settings({**SERVING, "SHOP_URL": " "}, serving=True).shop_url is None


def test_variables_that_bolt_reads_by_itself_are_refused() -> None:
    assert "drops the bot token" in faults({**SERVING, "SLACK_CLIENT_ID": "1", "SLACK_CLIENT_SECRET": "2"})


def test_link_hosts_are_a_list() -> None:
    hosts = load_settings({"LINK_HOSTS": "help.example.com, Shop.example.com,"}).link_hosts
    assert hosts == {"help.example.com", "shop.example.com"}


def test_a_host_that_could_never_be_linked_to_is_refused_with_the_right_form() -> None:
    table = [
        "https://help.example.com",
        "*.example.com",
        "help.example.com/faq",
        "help.example.com:443",
        "*",
        "a@b.example",
        "help..example.com",
        "help_desk.example.com",
        "hilfe.größe.example",
        "-a.example",
        "a b.example",
    ]
    misses = []
    for host in table:
        told = faults({**SERVING, "LINK_HOSTS": f"www.example.com, {host}"})
        if "LINK_HOSTS: must be full names of hosts, as help.example.com" not in told or "number 2" not in told:
            misses.append((host, told))
    assert misses == []


def test_a_shop_is_asked_by_https_or_on_this_machine() -> None:
    table = ["https://shop.example.com/api", "http://127.0.0.1:9", "http://localhost", "http://[::1]:8"]
    misses = [
        address
        for address in table
        if load_settings({**SERVING, "SHOP_URL": address, "SHOP_TOKEN": "x"}, serving=True).is_shop_unprotected
    ]
    assert misses == []


@pytest.mark.parametrize("address", ["http://shop.example.com", "http://10.0.0.7:8080", "http://localhost.example.com"])
def test_a_shop_by_plain_http_elsewhere_has_to_be_meant(address: str) -> None:
    given = {**SERVING, "SHOP_URL": address, "SHOP_TOKEN": "x"}
    told = faults(given)
    assert "SHOP_URL must start with https://" in told
    assert "SHOP_PLAIN_HTTP=on" in told
    assert load_settings({**given, "SHOP_PLAIN_HTTP": "on"}, serving=True).is_shop_unprotected


def test_secrets_are_known_to_the_log_and_hidden_from_its_lines() -> None:
    settings = load_settings(SERVING, serving=True)
    assert set(settings.secrets) == {"xoxb-1", "xapp-1", "key"}
    assert "xoxb-1" not in repr(settings)


def test_a_bound_in_dollars_is_a_positive_number() -> None:
    misses = [
        (variable, value, got)
        for variable in ("ANSWER_COST", "CUSTOMER_DAILY_COST", "WORKSPACE_DAILY_COST")
        for value in ("0", "-1", "inf", "nan", "much")
        if variable not in (got := faults({**SERVING, variable: value}))
    ]
    assert misses == []


def test_without_bounds_in_dollars_only_one_customers_day_is_bounded() -> None:
    settings = load_settings(SERVING)
    assert (settings.answer_cost, settings.customer_daily_cost, settings.workspace_daily_cost) == (None, 2.0, None)
    # A default asks nobody for prices.
    assert settings.dollar_bounds == ()
    assert load_settings({"CUSTOMER_DAILY_COST": "none"}).customer_daily_cost is None
    assert load_settings({"ANSWER_COST": "0.05"}).answer_cost == 0.05


def test_settings_of_models_that_do_not_fit_are_told() -> None:
    table = [
        ({"FALLBACK_API_KEY": "key"}, "FALLBACK_MODEL is not"),
        ({"FALLBACK_BASE_URL": "https://other.example.com/v1", "FALLBACK_API_KEY": "key"}, "FALLBACK_MODEL is not"),
        ({"FALLBACK_MODEL": "m", "FALLBACK_BASE_URL": "https://other.example.com/v1"}, "FALLBACK_API_KEY is missing"),
        ({"FALLBACK_MODEL": "m", "FALLBACK_API_KEY": "key"}, "FALLBACK_BASE_URL is missing"),
        ({"AZURE_API_VERSION": "2024-10-21"}, "OPENAI_BASE_URL is missing"),
        ({"AZURE_API_VERSION": "2024-10-21", "EMBEDDING_MODEL": "e"}, "EMBEDDING_MODEL needs"),
        ({"EMBEDDING_MODEL": "e", "EMBEDDING_MODEL_FOLDER": "f"}, "only one of them"),
        ({"AZURE_API_VERSION": "latest"}, "AZURE_API_VERSION"),
        ({"OPENAI_API": "completions"}, "OPENAI_API"),
        ({"OPENAI_REASONING_EFFORT": "much"}, "OPENAI_REASONING_EFFORT"),
        ({"OPENAI_TEMPERATURE": "warm"}, "OPENAI_TEMPERATURE: must be a number from 0 to 2, or none"),
        ({"OPENAI_TEMPERATURE": "2.1"}, "OPENAI_TEMPERATURE"),
    ]
    misses = [(given, got) for given, told in table if told not in (got := faults({**SERVING, **given}))]
    assert misses == []


def test_a_temperature_is_a_number_or_none() -> None:
    table = [("", None), ("0", 0.0), ("1.5", 1.5), ("none", None), ("None", None)]
    misses = [
        (value, got)
        for value, read in table
        if (got := load_settings({"OPENAI_TEMPERATURE": value}).openai_temperature) != read
    ]
    assert misses == []


@pytest.mark.parametrize("rule", ["6h", "30m", "0 3 * * 1-5"])
def test_a_refresh_is_an_interval_or_five_fields_of_cron(rule: str) -> None:
    assert load_settings({"KB_REFRESH": f" {rule} "}).kb_refresh == rule


def test_what_is_no_rule_for_a_refresh_is_told() -> None:
    table = ["daily", "5s", "* * * *", "99 * * * *"]
    misses = [(rule, got) for rule in table if "KB_REFRESH: " not in (got := faults({**SERVING, "KB_REFRESH": rule}))]
    assert misses == []


def test_the_chroma_server_is_an_address() -> None:
    assert load_settings({"CHROMA_URL": "http://127.0.0.1:8000/"}).chroma_url == "http://127.0.0.1:8000"
    assert "CHROMA_URL: " in faults({**SERVING, "CHROMA_URL": "127.0.0.1:8000"})


@pytest.mark.parametrize("start", ["postgresql://", "postgres://", "postgresql+asyncpg://"])
def test_several_processes_may_use_a_postgres_whose_password_is_a_secret(start: str) -> None:
    settings = load_settings({"DATABASE_URL": f"{start}frontdesk:p%40ss%3Aclue@db/frontdesk?sslmode=require"})
    assert settings.is_shared
    assert set(settings.secrets) == {"p%40ss%3Aclue", "p@ss:clue"}
    assert "clue" not in repr(settings)


@pytest.mark.parametrize("url", ["", "sqlite+aiosqlite:///a@b:c.db", "postgresql://frontdesk@db/x?options=a:b@c"])
def test_an_address_without_a_password_has_no_secret(url: str) -> None:
    assert load_settings({"DATABASE_URL": url}).secrets == ()


def test_one_process_uses_an_sqlite_file() -> None:
    assert not load_settings({}).is_shared


def test_other_desks_are_named_with_their_channels() -> None:
    settings = load_settings({"DESK_CHANNELS": " Billing = C0BILLING, Returns and repairs=C0RETURNS,"})
    assert settings.desk_channels == {"C0BILLING": "Billing", "C0RETURNS": "Returns and repairs"}


def test_desks_that_cannot_be_meant_are_refused() -> None:
    table = [
        ("Billing", "DESK_CHANNELS: must be names"),
        ("Billing=#billing", "DESK_CHANNELS: must be names"),
        ("=C0BILLING", "DESK_CHANNELS: must be names"),
        (f"{'x' * 61}=C0BILLING", "DESK_CHANNELS: must be names"),
        ("Billing=C0BILLING,Billing=C0RETURNS", "DESK_CHANNELS: must name each"),
        ("Billing=C0BILLING,Returns=C0BILLING", "DESK_CHANNELS: must name each"),
        ("Main=C0AGENTS", "DESK_CHANNELS names further channels"),
    ]
    misses = [(value, got) for value, told in table if told not in (got := faults({**SERVING, "DESK_CHANNELS": value}))]
    assert misses == []


def test_the_desk_has_hours_and_targets() -> None:
    given = {
        **SERVING,
        "DESK_HOURS": "Mon-Fri 09:00-17:00,Sat@10:00-14:00",
        "DESK_ZONE": "Europe/Berlin",
        "DESK_HOLIDAYS": "2026-12-25",
        "WAIT_MINUTES": "0.5, 10, 20",
    }
    targets = load_settings(given).targets
    assert (targets.seconds("high"), targets.seconds("low")) == (30.0, 1_200.0)
    assert targets.hours.holidays == {date(2026, 12, 25)}
    assert not targets.hours.is_open(datetime(2026, 12, 25, 12, tzinfo=UTC).timestamp())
    assert targets.hours.is_open(datetime(2026, 12, 26, 12, tzinfo=UTC).timestamp())
    assert load_settings(SERVING).targets == Targets()


@pytest.mark.parametrize(
    ("who", "mention"), [("S0ONCALL", "<!subteam^S0ONCALL>"), ("U0AGENTA", "<@U0AGENTA>"), ("", "")]
)
def test_who_is_on_call_is_a_group_or_a_person_or_nobody(who: str, mention: str) -> None:
    assert load_settings({**SERVING, "ON_CALL": who}).on_call_mention == mention


def test_who_shall_be_called_must_be_known() -> None:
    assert "ON_CALL is missing" in faults({**SERVING, "URGENT_PAGES": "on"})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("words=30,records=730", Retention(30, 730, 7)),
        ("words=0, records=0", Retention(0, 0, 7)),
        ("records=0", Retention(90, 0, 7)),
        ("0", Retention(0, 0, 0)),
    ],
)
def test_what_is_kept_is_told_by_kind(given: str, kept: Retention) -> None:
    settings = load_settings({"RETAIN_DAYS": given})
    assert settings.retention == kept
    assert load_settings({"RETAIN_DAYS": settings.retain_days}).retention == kept


@pytest.mark.parametrize(
    "given", ["90", "words", "words=", "words=-1", "words=ninety", "letters=3", "words=20,words=30", "words=999999"]
)
def test_what_is_kept_is_told_in_days_by_kind(given: str) -> None:
    with pytest.raises(ConfigurationError, match="RETAIN_DAYS: must be days by kind"):
        load_settings({"RETAIN_DAYS": given})


@pytest.mark.parametrize("given", ["words=13", "delivery=1", "words=90,records=80", "words=0", "words=0,records=400"])
def test_what_is_still_needed_is_kept(given: str) -> None:
    with pytest.raises(ConfigurationError, match="RETAIN_DAYS: must keep"):
        load_settings({"RETAIN_DAYS": given})
