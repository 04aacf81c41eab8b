"""Turns and their costs as people read them."""

from dataclasses import replace
from typing import get_args

from bot.agent.messages import AgentMessage, CustomerMessage, Message, SystemNote, ToolCall, ToolResult, to_json
from bot.agent.model import Usage
from bot.cli.main import GROUPS
from bot.conversation import ThreadRef
from bot.reporting.traces import costs_text, harmless, turn_line, turn_text
from bot.store.spending import By, Spending, Total
from bot.store.traces import StoredTurn

ASKED: tuple[Message, ...] = (
    CustomerMessage("Where is ORD-1001?", speaker="U0CUSTOMERA", ts="1.1"),
    AgentMessage("", (ToolCall("c1", "hand_over_to_orders", '{"reason": "an order"}'),), "triage", "small"),
    ToolResult("c1", "hand_over_to_orders", "Done: orders is in charge from here on."),
    AgentMessage(
        "Let me look.",
        (ToolCall("c2", "lookup_order", '{"order_id": "ORD-1001"}'), ToolCall("c3", "list_my_orders", "")),
        "orders",
        "large",
    ),
    ToolResult("c2", "lookup_order", '{"order": "ORD-1001"}', private=True),
    ToolResult("c3", "list_my_orders", '{"error": "timeout"}', ok=False),
    SystemNote("No more look-ups in this turn."),
    AgentMessage("It is on its way.", (), "orders", "large"),
)
TURN = StoredTurn(
    id=12,
    thread="T0FRONTDESK/D0CUSTOMERA/1.1",
    episode=0,
    customer="U0CUSTOMERA",
    agent="orders",
    ended="answered",
    reason="rounds",
    messages=[to_json(message) for message in ASKED],
    trace=None,
    sources=[{"title": "Delivery", "url": "https://help.example.com/d"}],
    confidence=0.5,
    attempts=2,
    received_at=1_795_000_000.0,
    finished_at=1_795_000_004.5,
)
THREAD = ThreadRef("T0FRONTDESK", "D0CUSTOMERA", "1.1")
SPENT = (
    Spending("turn/12", "answer", THREAD, "U0CUSTOMERA", ("small",), Usage(1_000, 10, 0, cost=0.0001)),
    Spending("turn/12/large", "answer", THREAD, "U0CUSTOMERA", ("large",), Usage(2_000, 200, 500, 0.01, True)),
)


def test_a_turn_is_told_in_full_and_in_order() -> None:
    assert turn_text(TURN, SPENT) == (
        "Turn 12, 2026-11-18 11:06 UTC, 4.5 s\n"
        "customer  U0CUSTOMERA\n"
        "thread    T0FRONTDESK/D0CUSTOMERA/1.1, episode 0\n"
        "ended     answered\n"
        "reason    rounds\n"
        "agent     orders\n"
        "attempts  2\n"
        "source    Delivery https://help.example.com/d\n"
        "search    0.50\n"
        "cost      $0.01010, partly estimated\n"
        "model     small: 1,000 tokens in (0 cached), 10 out, $0.00010\n"
        "model     large: 2,000 tokens in (500 cached), 200 out, $0.01000\n"
        "\n"
        "U0CUSTOMERA asks\n"
        "  Where is ORD-1001?\n"
        "\n"
        "round 1 · triage · small\n"
        '  hands over to orders {"reason": "an order"} [c1]\n'
        "\n"
        "result of hand_over_to_orders [c1]\n"
        "  Done: orders is in charge from here on.\n"
        "\n"
        "round 2 · orders · large\n"
        "  Let me look.\n"
        '  calls lookup_order {"order_id": "ORD-1001"} [c2]\n'
        "  calls list_my_orders {} [c3]\n"
        "\n"
        "result of lookup_order [c2], private\n"
        '  {"order": "ORD-1001"}\n'
        "\n"
        "result of list_my_orders [c3], in vain\n"
        '  {"error": "timeout"}\n'
        "\n"
        "note\n"
        "  No more look-ups in this turn.\n"
        "\n"
        "round 3 · orders · large\n"
        "  It is on its way."
    )


def test_what_the_thread_remembers_instead_is_told_too() -> None:
    instead = [to_json(ASKED[0]), to_json(AgentMessage("I could not find this.", agent="orders"))]
    told = turn_text(replace(TURN, messages=instead, trace=TURN.messages), SPENT)
    assert "calls lookup_order" in told
    assert told.endswith("In its place the thread remembers:\n  I could not find this.")


def test_a_turn_has_a_line_with_its_first_words() -> None:
    long = replace(TURN, messages=[to_json(CustomerMessage("Where\nis " + "my order " * 40))])
    line = turn_line(long, SPENT)
    assert line.startswith("    12  2026-11-18 11:06  U0CUSTOMERA   answered   rounds ")
    assert "3,210" in line
    assert "$0.01010  Where is my order" in line
    assert line.endswith(" …")
    assert "\n" not in line


def test_a_turn_that_cost_nothing_is_told_as_well() -> None:
    assert "cost      $0.00000\n" in turn_text(TURN, ())


def test_nothing_that_was_written_reaches_the_terminal_as_a_command_or_as_a_secret() -> None:
    hostile = CustomerMessage(
        "\x1b[2J\x07 card 4111 1111 1111 1111 key sk-abcdefghijklmnopqrstuvwx0123 \u202egnp.exe token-of-ours"
    )
    messages = [to_json(hostile)]
    told = turn_text(replace(TURN, messages=messages), (), clean=lambda text: harmless(text, secrets=["token-of-ours"]))
    for dangerous in ("\x1b", "\x07", "\u202e", "4111", "sk-abc", "token-of-ours"):
        assert dangerous not in told
    assert "[card number]" in told
    assert "[secret]" in told


def test_costs_are_a_table_with_a_total() -> None:
    totals = [Total("2026-11-20", 2, Usage(1_000, 100, 0, 0.5)), Total("2026-11-21", 1, Usage(2_000, 50, 900, 200.0))]
    assert costs_text(totals, by="day").splitlines() == [
        "day            uses         input        cached  share        output          cost",
        "2026-11-20        2         1,000             0     0%           100      $0.50000",
        "2026-11-21        1         2,000           900    45%            50       $200.00",
        "total             3         3,000           900    30%           150       $200.50",
    ]


def test_estimated_tokens_are_said_to_be_estimated() -> None:
    told = costs_text([Total("small", 1, Usage(10, 10, estimated=True))], by="model")
    assert told.endswith("are estimated.")


def test_the_command_line_offers_every_way_to_tell_costs_apart() -> None:
    assert get_args(By) == GROUPS


def test_what_requests_failed_for_is_told_in_the_providers_words() -> None:
    failed = replace(TURN, failures=("large: refused_request: 400, param top_p, “No \x1b[2J xoxb-12345678-abcdefgh”",))
    assert "request   failed: large: refused_request: 400, param top_p, “No \ufffd[2J [secret]”\n" in turn_text(
        failed, ()
    )
