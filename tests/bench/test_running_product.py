"""The benches of the running product in their smallest form."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.patience import patience

pytestmark = pytest.mark.long


def run(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", *arguments]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience(240)).stdout
    figures: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return figures


def test_the_ingress_bench_ends_with_its_figures_and_loses_nothing() -> None:
    figures = run("bench.ingress", "--burst", "20", "--per-second", "10", "--seconds", "1")
    names = {"ack_p50_ms", "ack_p99_ms", "floor_ack_p99_ms", "ack_ratio", "goal_met", "steady_ack_p99_ms"}
    assert names <= figures.keys()
    assert (figures["lost"], figures["refused"]) == (0, 0)


def test_the_load_bench_ends_with_its_figures_and_every_question_is_answered() -> None:
    figures = run("bench.load", "--together", "4", "--answer-seconds", "2", "--seconds", "2", "--share-seconds", "2")
    names = {"first_stream_p50_ms", "first_stream_p99_ms", "loop_lag_p999_ms", "rss_mb", "cpu_ms_per_turn"}
    names |= {"full_core_per_second", "share_per_second", "first_words_p50_ms", "floor_first_words_p50_ms", "goal_met"}
    assert names <= figures.keys()
    assert figures["answered"] == figures["asked"] == figures["streamed"] == 4


def test_the_age_bench_ends_with_its_figures_and_every_question_is_answered() -> None:
    figures = run("bench.age", "--messages", "5000", "--blocks", "1", "--retention", "5")
    assert figures["answered"] == figures["asked"]
    assert [figures[work]["refused"] for work in ("report", "erasure", "retention")] == [0, 0, 0]
    assert figures["retention"]["messages_redacted"] > 0
    assert all(figures[name] > 0 for name in ("start_s", "answer_ratio", "home_p50_ms", "floor_ack_p99_ms"))


def test_the_answer_bench_ends_with_its_figures_and_every_question_is_answered() -> None:
    figures = run("bench.answer", "--blocks", "1", "--answers", "4", "--idle", "2")
    ratios = {"sqlite_ratio", "fleet_ratio"}
    counts = {"statements", "transactions", "full_core_answers_per_second"}
    assert figures.keys() == ratios | counts | {"idle_worker_percent", "begin_ms_p50"}
    assert all(value > 0 for value in figures.values())


def test_a_conversation_costs_at_most_half_of_what_it_did_and_its_first_words_take_one_request() -> None:
    figures = run("bench.prompt")
    assert figures["input_cost_ratio"] <= 0.5
    assert figures["cached_share"] >= 0.75
    assert figures["first_word_round_trips"] == 1


def test_the_page_bench_ends_with_its_figures() -> None:
    figures = run("bench.page", "--runs", "1")
    assert figures.keys() == {"usable_s", "answered_s", "floor_s", "ratio"}
    assert figures["floor_s"] < figures["usable_s"] < figures["answered_s"]


def test_the_handover_bench_ends_with_its_figures() -> None:
    figures = run("bench.handover", "--rounds", "2")
    assert figures["floor_ms"] > 0
    steps = ("escalated", "card", "claimed", "to_customer", "to_staff", "back")
    assert all(figures[f"{step}_p50_ms"] > 0 for step in steps)


def test_the_actions_bench_ends_with_its_figures_and_every_change_is_made_and_told_once() -> None:
    sizes = ("--changes", "2", "--running", "2", "--together", "3", "--burst", "6", "--presses", "3")
    figures = run("bench.actions", *sizes)
    assert figures["once"] == figures["pressed"] == 4 + 2 + 2 + 3 + 3
    times = {"request_p50_ms", "request_floor_p50_ms", "told_p50_ms", "together_s", "press_ack_p99_ms"}
    costs = {"cpu_ms_per_action", "floor_cpu_ms", "cpu_ms_per_offer", "statements", "transactions"}
    assert times | costs | {"judge_ms", "map_contract_ms", "map_declared_ms"} <= figures.keys()
    assert figures["statements"] > figures["transactions"] > 0


def test_the_search_bench_ends_with_its_figures() -> None:
    figures = run("bench.case_search", "--cases", "2000", "--times", "2")
    assert figures["page_p95_ms"] >= figures["floor_p95_ms"] > 0


def test_the_erase_bench_ends_with_its_figures_and_leaves_nothing() -> None:
    figures = run("bench.erase", "--messages", "5000")
    assert (figures["left"], figures["refused"], figures["of_the_customer"]) == (0, 0, 410)
    assert {"wall_s", "cpu_s", "longest_transaction_ms", "floor_transaction_ms"} <= figures.keys()
    assert {"longest_ack_ms", "idle_longest_ack_ms", "look_ups_ms"} <= figures.keys()
