"""What models cost: the table, dated names, and an operator's own file."""

from pathlib import Path

import pytest

from bot.agent.endpoints import Price
from bot.agent.model import Usage
from bot.errors import ConfigurationError
from bot.models.prices import load_prices

PRICES = load_prices()


def test_a_dated_name_costs_what_its_model_costs() -> None:
    table = [
        ("gpt-4.1-mini", "gpt-4.1-mini"),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1-mini"),
        ("gpt-4.1-2025-04-14", "gpt-4.1"),
        ("GPT-4.1", "gpt-4.1"),
        ("openai/gpt-5.4-nano", "gpt-5.4-nano"),
        ("gpt-5.3-chat-latest", "gpt-5.3-chat"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-1106-preview"),
        ("models/gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-opus-4-1@20250805", "claude-opus-4-1"),
        ("mistral-medium-3-latest", "mistral-medium-3"),
    ]
    misses = [(name, got) for name, listed in table if (got := PRICES.of(name)) != PRICES.table[listed]]
    assert misses == []


def test_another_model_is_not_taken_for_a_dated_one() -> None:
    table = [
        "",
        "llama3.2",
        "gpt-4",
        "gpt-4.12",
        "gpt-5-turbo",
        "gpt-5-pro-max",
        "claude-sonnet-4-9",
        "mistral-large-latest",
    ]
    misses = [(name, got) for name in table if (got := PRICES.of(name) is None) is not (name != "gpt-4")]
    assert misses == []


def test_every_entry_is_a_price() -> None:
    misses = [
        (name, price)
        for name, price in PRICES.table.items()
        if name != name.lower() or not 0 < price.cached <= price.input <= price.output
    ]
    assert misses == []


def test_what_openai_writes_to_its_cache_costs_a_quarter_more_from_gpt_5_6_on() -> None:
    table = load_prices().table
    billed = [name for name in table if name.startswith(("gpt-5.6", "gpt-6"))]
    assert len(billed) > 6
    assert [name for name in billed if table[name].write != pytest.approx(table[name].input * 1.25)] == []


def test_tokens_written_to_the_cache_and_thoughts_cost_their_own_price() -> None:
    usage = Usage(2_000, 100, 600, written_tokens=1_200, reasoning_tokens=40)
    luna = PRICES.of("gpt-6-luna")
    assert luna is not None
    assert luna.of(usage) == pytest.approx((200 * 0.10 + 600 * 0.01 + 1_200 * 0.125 + 100 * 0.50) / 1e6)
    assert Price(1.0, 0.5, 2.0, reasoning=4.0).of(usage) == pytest.approx((1_400 + 300 + 120 + 160) / 1e6)


def test_cached_tokens_cost_their_own_price() -> None:
    price = PRICES.of("gpt-4.1-mini")
    assert price is not None
    assert price.of(Usage(1_000_000, 1_000_000, 500_000)) == pytest.approx(0.2 + 0.05 + 1.6)


def own(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_adds_to_the_table_and_replaces_what_it_names(tmp_path: Path) -> None:
    prices = load_prices(own(tmp_path, "GPT-4.1: {input: 1, output: 2}\nours: {input: 3, cached: 0, output: 4.5}\n"))
    assert prices.of("gpt-4.1-2025-04-14") == Price(input=1, cached=1, output=2)
    assert prices.of("ours") == Price(input=3, cached=0, output=4.5)
    assert prices.of("gpt-4o") == PRICES.of("gpt-4o")


def test_a_model_that_costs_nothing_has_a_price(tmp_path: Path) -> None:
    assert load_prices(own(tmp_path, "llama3.2: {input: 0, output: 0}")).of("llama3.2") == Price(0, 0, 0)


def test_every_fault_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    text = """
    4.1: {input: 1, output: 1}
    cheap: 3
    one: {input: 1}
    two: {input: -1, output: yes}
    three: {input: 1, output: .inf, outputs: 2}
    """
    with pytest.raises(ConfigurationError) as told:
        load_prices(own(tmp_path, text))
    assert [fault.removeprefix("MODEL_PRICES: ") for fault in told.value.faults] == [
        "4.1 is no model's name; put it in quotes",
        "cheap: it needs input and output, in dollars for a million tokens",
        "one: output is missing",
        "two: input must be a number of dollars, 0 or more",
        "two: output must be a number of dollars, 0 or more",
        "three: output must be a number of dollars, 0 or more",
        "three: outputs is none of input, cached, output, write, reasoning",
    ]


@pytest.mark.parametrize("text", ["", "- a list", "just words", "{", "\x00"])
def test_a_file_that_is_no_table_is_told_by_its_path(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"MODEL_PRICES: .*prices\.yml"):
        load_prices(own(tmp_path, text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read \(No such file"):
        load_prices(tmp_path / "none.yml")
