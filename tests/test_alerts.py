"""What operators are rung up for."""

import logging

import pytest

from bot.alerts import ALERT_SECONDS, KINDS_KEPT, Alerts
from tests.doubles.clock import ManualClock

logger = logging.getLogger("frontdesk.test")


def told(alerts: Alerts, caplog: pytest.LogCaptureFixture, about: str) -> str:
    """At which level a fault is told now."""
    caplog.clear()
    alerts.tell(logger, "it does not work", about=about, turn=7)
    assert caplog.records[0].__dict__["turn"] == 7
    return caplog.records[0].levelname


def test_a_fault_that_lasts_is_an_error_once_in_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    alerts = Alerts(now=clock.monotonic)
    assert [told(alerts, caplog, "quota") for _ in range(3)] == ["ERROR", "WARNING", "WARNING"]
    clock.advance(ALERT_SECONDS - 1)
    assert told(alerts, caplog, "quota") == "WARNING"
    clock.advance(1)
    assert [told(alerts, caplog, "quota") for _ in range(2)] == ["ERROR", "WARNING"]


def test_two_faults_are_not_taken_for_one(caplog: pytest.LogCaptureFixture) -> None:
    alerts = Alerts(now=ManualClock().monotonic)
    assert [told(alerts, caplog, about) for about in ("quota", "key", "quota")] == ["ERROR", "ERROR", "WARNING"]


def test_only_so_many_faults_are_remembered(caplog: pytest.LogCaptureFixture) -> None:
    alerts = Alerts(now=ManualClock().monotonic)
    for number in range(KINDS_KEPT + 1):
        told(alerts, caplog, str(number))
    assert [told(alerts, caplog, about) for about in (str(KINDS_KEPT), "0")] == ["WARNING", "ERROR"]
