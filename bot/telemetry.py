"""Logging and metrics. A log line is one JSON object with secrets masked; library chatter is kept down.

Customer text is never logged above DEBUG; ids are.
"""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

VALUE_LIMIT = 3_000
"""Characters of one text in a log line; what is longer is cut and says so."""

SECRET_LENGTH = 8
"""Shorter secrets are not masked: they are placeholders, and words of every line."""

_SECRET_SHAPES = re.compile(r"xox[abposr]-[\w-]+|xapp-[\w-]+|sk-[\w-]{8,}|(?i:bearer)\s+[\w.~+/-]+=*")
_RECORD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def configure_logging(level: str, *, secrets: Iterable[str] = (), stream: TextIO = sys.stderr) -> None:
    """Send every log record of the process to `stream` as JSON lines, with `secrets` masked."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonLines(secret for secret in secrets if len(secret) >= SECRET_LENGTH))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for chatty in ("slack_sdk", "openai", "httpx", "httpx2", "aiohttp", "chromadb", "alembic"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))
    # Bolt warns at every start that our authorization takes the place of its own.
    logging.getLogger("slack_bolt").setLevel(logging.ERROR)


class _JsonLines(logging.Formatter):
    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        known = "|".join(re.escape(secret) for secret in sorted(set(secrets), key=len, reverse=True))
        self._known = re.compile(known) if known else None

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in record.__dict__.items() if key not in _RECORD_FIELDS},
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({key: self._fit(value) for key, value in line.items()}, default=str, ensure_ascii=False)

    def _fit(self, value: object) -> object:
        """A value without secrets; a long text loses its middle, since a traceback's end says most."""
        if not isinstance(value, str):
            return value
        text = _SECRET_SHAPES.sub("[secret]", value)
        if self._known:
            text = self._known.sub("[secret]", text)
        if len(text) <= VALUE_LIMIT:
            return text
        return f"{text[: VALUE_LIMIT // 3]} … [cut] … {text[-VALUE_LIMIT // 2 :]}"


class Metrics:
    """What is counted, in Prometheus' terms; `text()` is the page that /metrics serves."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._turns = Counter(
            "frontdesk_turns", "Inbox rows that were closed", ["kind", "ended"], registry=self._registry
        )
        self._seconds = Histogram(
            "frontdesk_turn_seconds",
            "From the event's arrival to the end of its turn",
            ["kind"],
            registry=self._registry,
            buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 300),
        )
        self._cases = Counter("frontdesk_cases", "Cases that were opened", ["reason"], registry=self._registry)
        self._stored = Counter("frontdesk_events_stored", "Events that were acknowledged", registry=self._registry)
        self._refused = Counter("frontdesk_events_refused", "Events that could not be stored", registry=self._registry)
        self._tokens = Counter(
            "frontdesk_model_tokens",
            "Tokens of models; cached ones are part of the input",
            ["model", "purpose", "kind"],
            registry=self._registry,
        )
        self._dollars = Counter(
            "frontdesk_model_dollars", "US dollars by the price table", ["model", "purpose"], registry=self._registry
        )
        self._retries = Counter(
            "frontdesk_model_retries", "Requests to a model that were made again", ["reason"], registry=self._registry
        )
        self._forced = Counter(
            "frontdesk_forced_answers",
            "Answers that a limit had made without tools",
            ["reason"],
            registry=self._registry,
        )
        self._budgets = Counter(
            "frontdesk_budget_used_up", "Questions that a daily cap kept from a model", ["cap"], registry=self._registry
        )
        self._breakers = Gauge(
            "frontdesk_model_left_alone",
            "1 while a model is not asked because it failed",
            ["model"],
            registry=self._registry,
        )

    def turn_finished(self, kind: str, ended: str, seconds: float) -> None:
        """A row was closed."""
        self._turns.labels(kind, ended).inc()
        self._seconds.labels(kind).observe(max(0.0, seconds))

    def case_opened(self, reason: str) -> None:
        """A person was called."""
        self._cases.labels(reason).inc()

    def event_stored(self) -> None:
        """An event is on disk and may be acknowledged."""
        self._stored.inc()

    def event_refused(self) -> None:
        """An event could not be stored; Slack will deliver it again."""
        self._refused.inc()

    def model_used(
        self, model: str, purpose: str, *, input_tokens: int, cached_tokens: int, output_tokens: int, cost: float
    ) -> None:
        """A model has read and written; `cost` in US dollars."""
        for kind, tokens in (("input", input_tokens), ("cached", cached_tokens), ("output", output_tokens)):
            self._tokens.labels(model, purpose, kind).inc(tokens)
        self._dollars.labels(model, purpose).inc(cost)

    def model_retried(self, reason: str, times: int = 1) -> None:
        """A request failed and was made again."""
        self._retries.labels(reason).inc(times)

    def answer_forced(self, reason: str) -> None:
        """A limit was reached and the answer had to be given."""
        self._forced.labels(reason).inc()

    def budget_used_up(self, cap: str) -> None:
        """A question came when the day's money was spent."""
        self._budgets.labels(cap).inc()

    def watch_breaker(self, model: str, is_open: Callable[[], bool]) -> None:
        """Ask `is_open` whenever the metrics are read."""
        self._breakers.labels(model).set_function(lambda: float(is_open()))

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)
