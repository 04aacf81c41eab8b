"""The figures in words."""

from dataclasses import replace

from bot.reporting.metrics import metrics_of
from bot.reporting.texts import BARS, amount, charts, duration, mrkdwn, percent, seconds, table
from bot.store.metrics import EndedProcedure, MetricsRecord, Offered, Opened, RefusedByRule
from tests.desk.month import MONTH, NOW, SINCE, at

WHOLE = metrics_of(MONTH, since=SINCE, now=NOW).whole


def test_slack_gets_the_figures_that_matter_most() -> None:
    assert mrkdwn(WHOLE).splitlines() == [
        "*In detail, 2024-10-04 to 2024-11-02*",
        "Conversations: *18*; the assistant resolved *25% of 16* settled: 2 confirmed, 2 assumed; 3 withdrawn",
        "*33% of 18* went to people (asked for a person 4, a legal matter 1, no answer in the help pages 1)",
        "Avoidable handovers: 2 of 3 · Missed handovers: 2 of 7",
        "Rated helpful: *1 of 3* rated answers; not helpful: no reason given 1, wrong 1",
        "Cases: *5*, 1 unclaimed; 1 of 3 resolved were reopened",
        "Time to claim: median *30 min*, 90% within 4 h (4 cases)",
        "Time to first reply: median *1 h*, 90% within 6 h (3 cases)",
        "Models: $0.10600; $0.00528 per conversation, $0.01167 per case, $0.02650 per resolution",
    ]


def test_each_day_is_a_bar_and_the_longest_is_the_most() -> None:
    report = metrics_of(MONTH, since=SINCE, now=NOW)
    first = charts(report).splitlines()[0]
    counts = [part.resolution.conversations for part in report.parts]
    bars = first.split("`")[1]
    assert len(bars) == len(counts) == 30
    assert [bar == BARS[0] for bar in bars] == [count == 0 for count in counts]
    assert [bar == BARS[-1] for bar in bars] == [count == max(counts) for count in counts]
    assert first.endswith(f"Conversations, at most {max(counts)}")


def test_of_nothing_there_are_no_bars() -> None:
    assert charts(metrics_of(MetricsRecord(), since=SINCE, now=NOW)) == ""


def test_a_reason_that_is_not_known_pings_nobody_in_slack_and_obeys_no_terminal() -> None:
    record = MetricsRecord(cases=[Opened(1, "t", "A", "<!channel>\x1b[2J", at(2))])
    whole = metrics_of(record, since=SINCE, now=NOW).whole
    assert "<!" not in mrkdwn(whole)
    assert "\x1b" not in table(whole)


def test_changes_of_orders_are_told_if_there_are_any() -> None:
    assert "Changes of orders" not in table(WHOLE) + mrkdwn(WHOLE)
    done = Offered(at(2), "refund", "done", 1, -12998, "EUR", at(2), at(2), settled=False)
    stuck = replace(done, state="stuck", decided_at=None)
    record = MetricsRecord(offered=[done, stuck], refused=[RefusedByRule(at(2), "refund", "refuse", ("window",))])
    whole = metrics_of(record, since=SINCE, now=NOW).whole
    assert "*1* done of 2 offered, 2 of 2 confirmed, 1 refused by rules; *1 stuck*" in mrkdwn(whole)
    told = [line.split() for line in table(whole).splitlines()]
    assert ["refund", "129.98", "EUR", "to", "customers"] in told
    assert ["window", "1"] in told
    assert max(map(len, table(whole).splitlines())) <= 100


def test_procedures_are_told_with_how_they_ended_if_there_are_any() -> None:
    assert "Procedures" not in table(WHOLE)
    ended = [EndedProcedure(at(2), "damaged-item", why) for why in ("done", "done", "handed_over")]
    whole = metrics_of(MetricsRecord(procedures=ended), since=SINCE, now=NOW).whole
    (line,) = [line for line in table(whole).splitlines() if "damaged-item" in line]
    assert line.split() == ["damaged-item", "3", "ended", "2", "done,", "1", "handed", "over"]


def test_a_terminal_gets_all_of_them_in_columns() -> None:
    lines = table(WHOLE).splitlines()
    assert lines[0] == "The desk, 2024-10-04 to 2024-11-02 (UTC)"
    assert [line for line in lines if line and not line.startswith(" ")][1:] == [
        "Resolution",
        "Escalation",
        "People",
        "Cost",
        "Relay",
    ]
    (escalated,) = [line for line in lines if line.startswith("  Escalated")]
    assert escalated.split() == ["Escalated", "33%", "6", "of", "18", "conversations"]
    assert max(map(len, lines)) <= 100


def test_of_nothing_there_is_a_dash() -> None:
    nothing = metrics_of(MetricsRecord(), since=SINCE, now=NOW).whole
    assert "median *–*" in mrkdwn(nothing)
    assert "None" not in table(nothing) + mrkdwn(nothing)


def test_one_day_is_one_date() -> None:
    one = replace(WHOLE, until=WHOLE.since + 86_400)
    assert mrkdwn(one).startswith("*In detail, 2024-10-04*")


def test_waiting_is_told_to_the_minute() -> None:
    rows = [(None, "–"), (0.0, "0 s"), (59.4, "59 s"), (60.0, "1 min"), (3_599.0, "1 h"), (5_400.0, "1 h 30 min")]
    misses = [(spent, got) for spent, words in rows if (got := duration(spent)) != words]
    assert misses == []


def test_small_and_large() -> None:
    assert (percent(0.005), percent(1.0), amount(0.00001), seconds(1_234.56)) == ("0%", "100%", "$0.00001", "1,234.6 s")
