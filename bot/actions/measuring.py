"""What the metrics learn from the steps of actions."""

from bot.store.actions import Action
from bot.telemetry import Metrics


def measure(metrics: Metrics, before: Action, after: Action, *, now: float) -> None:
    """Count a step. One that staff settle later has ended already, so only its money is counted."""
    if before.state == after.state:
        return
    if before.is_open and not after.is_open:
        metrics.action_ended(after.kind, after.state)
    if after.state == "done" and after.money:
        metrics.action_moved(after.kind, after.currency, after.money)
    if before.state == "offered" and after.confirmed_at is not None:
        metrics.action_waited("action_confirm", after.confirmed_at - before.offered_at)
    if before.state == "approving" and after.decided_at is not None and before.confirmed_at is not None:
        metrics.action_waited("approval", after.decided_at - before.confirmed_at)
    if before.state in ("executing", "unknown") and not after.is_open and before.sent_at is not None:
        name = "action_unknown" if before.state == "unknown" else "action_execute"
        metrics.action_waited(name, now - before.sent_at)
