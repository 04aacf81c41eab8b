"""What the metrics learn from the steps of an action."""

import itertools
from dataclasses import replace

from bot.actions import action as steps
from bot.actions.measuring import measure
from bot.shops.actions import Outcome
from bot.store.actions import Action
from bot.telemetry import Metrics
from tests.actions.test_action import NOW, an_action


def told(*way: Action, now: float) -> list[str]:
    """The lines of these metrics after the steps of a way."""
    metrics = Metrics()
    for before, after in itertools.pairwise(way):
        measure(metrics, before, after, now=now)
    lines = metrics.text().decode().splitlines()
    return [line for line in lines if line.startswith(("frontdesk_action", "frontdesk_approval"))]


def test_an_action_is_counted_at_its_end_with_its_money_and_its_waits() -> None:
    offered = an_action(money=-12998)
    asked = steps.ask_staff(offered, "much", now=NOW + 20, due=NOW + 100, case=0)
    ready = steps.approve(asked, now=NOW + 50)
    sent = steps.mark(ready, "worker", now=NOW + 51)
    done = steps.settle(sent, Outcome("done"), now=NOW + 53, has_key=True)
    lines = told(offered, asked, ready, sent, done, now=NOW + 53)
    assert 'frontdesk_actions_total{end="done",kind="cancel_order"} 1.0' in lines
    assert 'frontdesk_action_money_minor_total{currency="EUR",kind="cancel_order",to="customer"} 12998.0' in lines
    assert "frontdesk_action_confirm_seconds_sum 20.0" in lines
    assert "frontdesk_approval_seconds_sum 30.0" in lines
    assert "frontdesk_action_execute_seconds_sum 2.0" in lines
    assert "frontdesk_action_unknown_seconds_count 0.0" in lines


def test_what_staff_find_out_has_ended_before_and_moves_its_money_then() -> None:
    unknown = replace(an_action("unknown"), sent_at=NOW, looks=len(steps.LOOK_DELAYS))
    stuck = steps.settle(unknown, Outcome("unknown"), now=NOW + 900, has_key=True)
    settled = steps.answer_for(stuck, was_done=True, now=NOW + 5_000)
    lines = told(unknown, stuck, settled, now=NOW + 900)
    ends = [line for line in lines if line.startswith("frontdesk_actions_total")]
    assert ends == ['frontdesk_actions_total{end="stuck",kind="cancel_order"} 1.0']
    assert 'frontdesk_action_money_minor_total{currency="EUR",kind="cancel_order",to="customer"} 100.0' in lines
    assert "frontdesk_action_unknown_seconds_sum 900.0" in lines
