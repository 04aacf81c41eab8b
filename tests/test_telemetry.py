"""What is counted, as Prometheus reads it."""

from bot.telemetry import Metrics


def shown(metrics: Metrics) -> list[str]:
    return [line for line in metrics.text().decode().splitlines() if not line.startswith("#")]


def test_tokens_and_dollars_are_counted_by_model_and_purpose() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.model_used("small", "answer", input_tokens=100, cached_tokens=40, output_tokens=10, cost=0.25)
    lines = shown(metrics)
    assert 'frontdesk_model_tokens_total{kind="input",model="small",purpose="answer"} 200.0' in lines
    assert 'frontdesk_model_tokens_total{kind="cached",model="small",purpose="answer"} 80.0' in lines
    assert 'frontdesk_model_tokens_total{kind="output",model="small",purpose="answer"} 20.0' in lines
    assert 'frontdesk_model_dollars_total{model="small",purpose="answer"} 0.5' in lines


def test_retries_forced_answers_and_budgets_are_counted_by_reason() -> None:
    metrics = Metrics()
    metrics.model_retried("rate_limited", 2)
    metrics.answer_forced("cost")
    metrics.budget_used_up("customer")
    lines = shown(metrics)
    assert 'frontdesk_model_retries_total{reason="rate_limited"} 2.0' in lines
    assert 'frontdesk_forced_answers_total{reason="cost"} 1.0' in lines
    assert 'frontdesk_budget_used_up_total{cap="customer"} 1.0' in lines


def test_whether_a_model_is_left_alone_is_asked_when_the_page_is_read() -> None:
    metrics, broken = Metrics(), [False]
    metrics.watch_breaker("small", lambda: broken[0])
    assert 'frontdesk_model_left_alone{model="small"} 0.0' in shown(metrics)
    broken[0] = True
    assert 'frontdesk_model_left_alone{model="small"} 1.0' in shown(metrics)
