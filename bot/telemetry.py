"""Logging and metrics. A log line is one JSON object with secrets masked; chatter of libraries is kept low.

Customer text is never logged above DEBUG; ids are. The log goes to standard error only. A thread of its own writes it,
so a reader that is slow or absent holds up no one. Lines beyond a limit are dropped and counted.
"""

import contextlib
import json
import logging
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

VALUE_LIMIT = 3_000
"""Characters of one text in a log line. A longer text is cut, and the line says so."""

SECRET_LENGTH = 8
"""Characters of the shortest secret that is masked. Shorter ones are placeholders, and words that any line may have."""

STANDARD_ERROR = 2

LINES_WAITING = 4_000
"""Lines that wait to be written; further ones are dropped."""

LAST_LINES_SECONDS = 2.0
"""Seconds that the process waits at its end until those lines are written."""

_SECRET_SHAPES = re.compile(
    r"xox[abposr]-[\w-]+|xapp-[\w-]+|\bsk-[\w-]{8,}|(?i:bearer)\s+[\w.~+/-]+=*"
    # Anyone who has the address of a Socket Mode connection receives its events.
    r"|(?<=ticket=)[^&\s\"'<>]+|(?<=ticket%3D)[^&\s\"'<>]+"
)
_RECORD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def configure_logging(
    level: str,
    *,
    secrets: Iterable[str] = (),
    descriptor: int = STANDARD_ERROR,
    traceparent: Callable[[], str | None] = lambda: None,
) -> None:
    """Send every log record and every Python warning to `descriptor` as JSON lines, with `secrets` masked.

    `traceparent` is the place in the current trace. Lines that are logged within one name it.
    """
    handler = _LineWriter(descriptor)
    handler.setFormatter(_JsonLines((secret for secret in secrets if len(secret) >= SECRET_LENGTH), traceparent))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for chatty in ("slack_sdk", "openai", "httpx", "httpx2", "aiohttp", "chromadb", "alembic"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level]))
    # The SDK of tool servers logs what they sent, with tracebacks. `client` is its session's logger.
    for remote in ("mcp", "client"):
        logging.getLogger(remote).setLevel(logging.CRITICAL)
    # Bolt warns at every start that our authorization replaces its own.
    logging.getLogger("slack_bolt").setLevel(logging.ERROR)


def lines_dropped() -> int:
    """Log lines of this process that no one read in time, or that could not be written."""
    return sum(
        handler.late + handler.lost for handler in logging.getLogger().handlers if isinstance(handler, _LineWriter)
    )


class _LineWriter(logging.Handler):
    """Hands lines to a thread that writes them. It writes to the descriptor itself: a thread that hangs inside
    `sys.stderr` would hold its lock, and then the interpreter could not end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.late = 0
        """Lines that were dropped because the queue was full."""
        self.lost = 0
        """Lines that could not be written, or only in part."""
        self._late_told = self._lost_told = 0
        self._why = ""
        self._is_torn = False
        """Whether the last line was written only in part."""
        self._descriptor = descriptor
        self._lines: queue.Queue[str | None] = queue.Queue(LINES_WAITING)
        self._thread = threading.Thread(target=self._write_lines, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - a record that cannot be shown must not end what logged it
            where = f"{record.pathname}:{record.lineno}"
            line = self.format(_record(f"a log line could not be made: {type(error).__name__}", where=where))
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self.late += 1

    def close(self) -> None:
        """Wait for the last lines, within a limit."""
        deadline = time.monotonic() + LAST_LINES_SECONDS
        if self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._lines.put(None, timeout=LAST_LINES_SECONDS)
                self._thread.join(max(0.0, deadline - time.monotonic()))
        super().close()

    def _write_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            if not self._write(line):
                self.lost += 1
            elif self._lines.empty():
                self._tell_missing()
        self._tell_missing()

    def _tell_missing(self) -> None:
        """Log how many lines are missing since the last such line, and why."""
        late, lost = self.late - self._late_told, self.lost - self._lost_told
        if late and self._write(self.format(_record("log lines were dropped: nobody took them in time", lines=late))):
            self._late_told += late
        if lost and self._write(self.format(_record("log lines were lost", lines=lost, why=self._why))):
            self._lost_told += lost

    def _write(self, line: str) -> bool:
        """Whether the whole line was written. A line that was written in part gets a line break before the next."""
        rest = f"{line}\n".encode(errors="backslashreplace")
        if self._is_torn:
            rest = b"\n" + rest
        while rest:
            try:
                written = os.write(self._descriptor, rest)
            except BlockingIOError:
                time.sleep(0.05)
            except OSError as error:
                # The reader is gone, or its disk is full: there is no one to tell.
                self._why = error.strerror or type(error).__name__
                return False
            else:
                rest = rest[written:]
                self._is_torn = bool(rest)
        return True


def _record(message: str, **fields: object) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING", "msg": message, **fields}
    )


class _JsonLines(logging.Formatter):
    def __init__(self, secrets: Iterable[str], traceparent: Callable[[], str | None] = lambda: None) -> None:
        super().__init__()
        self._traceparent = traceparent
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
        if place := self._traceparent():
            # version-trace-span-flags, as the W3C writes it.
            line["trace"] = place.split("-")[1]
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({key: self._fit(value) for key, value in line.items()}, default=str, ensure_ascii=False)

    def _fit(self, value: object) -> object:
        """A value without secrets. A long text loses its middle, since a traceback's end says most."""
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {str(self._fit(str(key))): self._fit(each) for key, each in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self._fit(each) for each in value]
        # Anything else, such as an address or an exception, is shown by its text.
        text = _SECRET_SHAPES.sub("[secret]", str(value))
        if self._known:
            text = self._known.sub("[secret]", text)
        if len(text) <= VALUE_LIMIT:
            return text
        return f"{text[: VALUE_LIMIT // 3]} … [cut] … {text[-VALUE_LIMIT // 2 :]}"


class Metrics:
    """The metrics, for Prometheus. `text()` is the page that /metrics serves."""

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
        self._dead = Counter(
            "frontdesk_dead_letters", "Inbox rows that were set aside", ["kind"], registry=self._registry
        )
        self._cases = Counter("frontdesk_cases", "Cases that were opened", ["reason"], registry=self._registry)
        self._stored = Counter("frontdesk_events_stored", "Events that were acknowledged", registry=self._registry)
        self._refused = Counter("frontdesk_events_refused", "Events that could not be stored", registry=self._registry)
        self._malformed = Counter(
            "frontdesk_payloads_malformed",
            "Payloads of Slack's in a form that is not known",
            ["kind"],
            registry=self._registry,
        )
        self._rate_limited = Counter(
            "frontdesk_app_rate_limited",
            "Times that Slack said it drops events since there are too many",
            registry=self._registry,
        )
        self._tokens = Counter(
            "frontdesk_model_tokens",
            "Tokens of models; those read from a cache (cached) or written to one (cache_write) are part of the input",
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
        self._over_limit = Counter(
            "frontdesk_messages_over_limit",
            "Messages of customers who wrote more than is answered",
            ["window"],
            registry=self._registry,
        )
        self._actions = Counter(
            "frontdesk_actions", "Changes of orders that ended", ["kind", "end"], registry=self._registry
        )
        self._procedures_begun = Counter(
            "frontdesk_procedures_begun", "Procedures that began", ["procedure"], registry=self._registry
        )
        self._procedures_ended = Counter(
            "frontdesk_procedures_ended",
            "Procedures that ended, and how",
            ["procedure", "end"],
            registry=self._registry,
        )
        self._actions_open = Gauge(
            "frontdesk_actions_open", "Changes of orders that have not ended", ["state"], registry=self._registry
        )
        self._action_money = Counter(
            "frontdesk_action_money_minor",
            "Money that changes of orders moved, in minor units; what customers got and what they paid",
            ["kind", "currency", "to"],
            registry=self._registry,
        )
        self._action_waits = {
            name: Histogram(f"frontdesk_{name}_seconds", meaning, registry=self._registry, buckets=buckets)
            for name, meaning, buckets in (
                ("action_confirm", "From the offer of a change to the customer's yes", (5, 15, 30, 60, 120, 300, 900)),
                ("approval", "From the customer's yes to the decision of staff", (30, 60, 300, 900, 1800, 3600, 14400)),
                ("action_execute", "From the request to the shop to the end", (0.1, 0.25, 0.5, 1, 2, 5, 15, 60)),
                (
                    "action_unknown",
                    "From the request to the end of a change whose outcome was not known at once",
                    (2, 8, 30, 60, 120, 300, 900, 3600),
                ),
            )
        }
        self._policy = Counter(
            "frontdesk_policy_outcome",
            "Rules of the policy that were not fulfilled, and what followed",
            ["rule", "outcome"],
            registry=self._registry,
        )
        self._breakers = Gauge(
            "frontdesk_model_left_alone",
            "1 while a model is not asked because it failed",
            ["model"],
            registry=self._registry,
        )
        self._waiting = Gauge(
            "frontdesk_waiting",
            "What waits: messages, posts, unclaimed cases, stuck changes",
            ["what"],
            registry=self._registry,
        )
        self._waiting_seconds = Gauge(
            "frontdesk_waiting_seconds", "For how long the oldest of them waits", ["what"], registry=self._registry
        )
        self._posts = Gauge(
            "frontdesk_posts_waiting",
            "Posts that Slack has not taken yet, by channel of the team; all others are customers",
            ["channel"],
            registry=self._registry,
        )
        self._posts_seconds = Gauge(
            "frontdesk_posts_waiting_seconds",
            "For how long the oldest of them waits",
            ["channel"],
            registry=self._registry,
        )
        self._first_words = Histogram(
            "frontdesk_first_words_seconds",
            "From a message's arrival to the beginning of its answer in Slack",
            registry=self._registry,
            buckets=(0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 300),
        )
        self._database_wait = Histogram(
            "frontdesk_database_wait_seconds",
            "How long a transaction or a reading waits until it has a connection",
            registry=self._registry,
            buckets=(0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._loop_late = Histogram(
            "frontdesk_loop_late_seconds",
            "How late the event loop wakes up, once a second",
            registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
        )
        self._model_seconds = Histogram(
            "frontdesk_model_first_token_seconds",
            "From a request to the first sign of life in the model's reply",
            ["model"],
            registry=self._registry,
            buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64),
        )
        self._slack_seconds = Histogram(
            "frontdesk_slack_call_seconds",
            "Calls of Slack, by method and by how they ended: ok, ratelimited, refused, unanswered",
            ["method", "ended"],
            registry=self._registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._shop_seconds = Histogram(
            "frontdesk_shop_call_seconds",
            "Calls of the shop's connectors, by call and by how they ended: ok, throttled, refused, unavailable",
            ["connector", "call", "ended"],
            registry=self._registry,
            buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        )
        self._socket = Gauge(
            "frontdesk_socket_up",
            "1 while the Socket Mode connection brings events, or if the process needs none",
            registry=self._registry,
        )
        self._build = Gauge("frontdesk_build_info", "1; the release is a label", ["version"], registry=self._registry)
        self._build.labels(version("frontdesk")).set(1)
        self._registry.register(_LinesDropped())
        ProcessCollector(registry=self._registry)

    def turn_finished(self, kind: str, ended: str, seconds: float) -> None:
        """A row was closed."""
        self._turns.labels(kind, ended).inc()
        self._seconds.labels(kind).observe(max(0.0, seconds))

    def set_aside(self, kind: str) -> None:
        """A row was closed as a dead letter."""
        self._dead.labels(kind).inc()

    def case_opened(self, reason: str) -> None:
        """A case was opened."""
        self._cases.labels(reason).inc()

    def event_stored(self) -> None:
        """An event is on disk and may be acknowledged."""
        self._stored.inc()

    def event_refused(self) -> None:
        """An event could not be stored; Slack will deliver it again."""
        self._refused.inc()

    def payload_malformed(self, kind: str) -> None:
        """A payload had a form that is not known; it was acknowledged and dropped."""
        self._malformed.labels(kind).inc()

    def rate_limited(self) -> None:
        """Slack has dropped events because there were too many."""
        self._rate_limited.inc()

    def model_used(
        self,
        model: str,
        purpose: str,
        *,
        input_tokens: int,
        cached_tokens: int,
        written_tokens: int,
        output_tokens: int,
        cost: float,
    ) -> None:
        """A model has read and written; `cost` is in US dollars."""
        for kind, tokens in (
            ("input", input_tokens),
            ("cached", cached_tokens),
            ("cache_write", written_tokens),
            ("output", output_tokens),
        ):
            self._tokens.labels(model, purpose, kind).inc(tokens)
        self._dollars.labels(model, purpose).inc(cost)

    def model_retried(self, reason: str, times: int = 1) -> None:
        """A request failed and was made again."""
        self._retries.labels(reason).inc(times)

    def answer_forced(self, reason: str) -> None:
        """A limit was reached, so the answer was made without tools."""
        self._forced.labels(reason).inc()

    def budget_used_up(self, cap: str) -> None:
        """A daily budget was used up, so a question did not go to a model."""
        self._budgets.labels(cap).inc()

    def message_over_limit(self, window: str) -> None:
        """A message exceeded the number that its author gets answered within that window."""
        self._over_limit.labels(window).inc()

    def action_ended(self, kind: str, end: str) -> None:
        """A change of an order has ended."""
        self._actions.labels(kind, end).inc()

    def action_moved(self, kind: str, currency: str, minor: int) -> None:
        """A change moved money: `minor` is negative if the customer gets it."""
        self._action_money.labels(kind, currency, "customer" if minor < 0 else "shop").inc(abs(minor))

    def action_waited(self, name: str, seconds: float) -> None:
        """A part of a change's way took this long. `name` is `action_confirm` or another of these histograms."""
        self._action_waits[name].observe(max(0.0, seconds))

    def actions_open(self, counts: Mapping[str, int]) -> None:
        """The number of changes in each state that is no end."""
        for state, number in counts.items():
            self._actions_open.labels(state).set(number)

    def waits(self, what: str, number: int, seconds: float) -> None:
        """So many of them wait, and the oldest for so long."""
        self._waiting.labels(what).set(number)
        self._waiting_seconds.labels(what).set(max(0.0, seconds))

    def posts_wait(self, channel: str, number: int, seconds: float) -> None:
        """So many posts wait for this channel, and the oldest for so long."""
        self._posts.labels(channel).set(number)
        self._posts_seconds.labels(channel).set(max(0.0, seconds))

    def answer_begun(self, seconds: float) -> None:
        """The customer sees the beginning of an answer."""
        self._first_words.observe(max(0.0, seconds))

    def database_entered(self, seconds: float) -> None:
        """A transaction or a reading got its connection after so many seconds."""
        self._database_wait.observe(seconds)

    def loop_was_late(self, seconds: float) -> None:
        """The event loop woke up so much later than it should have."""
        self._loop_late.observe(max(0.0, seconds))

    def procedure_begun(self, procedure: str) -> None:
        """A procedure began."""
        self._procedures_begun.labels(procedure).inc()

    def procedure_ended(self, procedure: str, end: str) -> None:
        """A procedure ended."""
        self._procedures_ended.labels(procedure, end).inc()

    def rule_failed(self, rule: str, outcome: str) -> None:
        """A rule of the policy was not fulfilled when a change was prepared."""
        self._policy.labels(rule, outcome).inc()

    def watch_breaker(self, model: str, is_open: Callable[[], bool]) -> None:
        """Call `is_open` each time that the metrics are read."""
        self._breakers.labels(model).set_function(lambda: float(is_open()))

    def model_spoke(self, model: str, seconds: float) -> None:
        """A model showed the first sign of life after so many seconds."""
        self._model_seconds.labels(model).observe(seconds)

    def slack_called(self, method: str, ended: str, seconds: float) -> None:
        """A call of Slack has ended."""
        self._slack_seconds.labels(method, ended).observe(seconds)

    def shop_called(self, connector: str, call: str, ended: str, seconds: float) -> None:
        """A call of one of the shop's connectors has ended."""
        self._shop_seconds.labels(connector, call, ended).observe(seconds)

    def watch_socket(self, *, is_up: bool) -> None:
        """The Socket Mode connection brings events, or none is needed."""
        self._socket.set(float(is_up))

    def text(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class _LinesDropped(Collector):
    """Asks the log for its count: the log exists before the metrics do, so it counts by itself."""

    def collect(self) -> Iterable[CounterMetricFamily]:
        yield CounterMetricFamily(
            "frontdesk_log_lines_dropped", "Log lines that nobody took or no disk", value=lines_dropped()
        )
