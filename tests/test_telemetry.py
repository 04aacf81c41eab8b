"""What is counted, as Prometheus reads it; and the log, whoever reads it."""

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from bot.telemetry import LINES_WAITING, Metrics, configure_logging, lines_dropped
from tests.patience import patience

ROOT = Path(__file__).parents[1]
FULL_FOR_A_WHILE = """
import logging, resource
from bot.telemetry import configure_logging, lines_dropped
configure_logging("INFO")
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
logger = logging.getLogger("here")
logger.info("the first")
logger.info("the second %s", "x" * 2_000)
while not lines_dropped():
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
logger.info("the third")
logging.shutdown()
"""
"""A bound on the size of files is met as a full disk is: by half a line, and nothing after it."""
WARNS = """
import logging, warnings
from bot.telemetry import configure_logging
configure_logging("INFO", secrets=["hunter2-hunter2"])
warnings.warn("the key is hunter2-hunter2", stacklevel=1)
logging.shutdown()
"""
"""What a library does whose connection is left to the garbage collector."""


def shown(metrics: Metrics) -> list[str]:
    return [line for line in metrics.text().decode().splitlines() if not line.startswith("#")]


def test_tokens_and_dollars_are_counted_by_model_and_purpose() -> None:
    metrics = Metrics()
    for _ in range(2):
        metrics.model_used(
            "small", "answer", input_tokens=100, cached_tokens=40, written_tokens=30, output_tokens=10, cost=0.25
        )
    lines = shown(metrics)
    assert 'frontdesk_model_tokens_total{kind="input",model="small",purpose="answer"} 200.0' in lines
    assert 'frontdesk_model_tokens_total{kind="cached",model="small",purpose="answer"} 80.0' in lines
    assert 'frontdesk_model_tokens_total{kind="cache_write",model="small",purpose="answer"} 60.0' in lines
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


class Pipe:
    """The log's own pipe, read when the test wants."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def read(self, *, until: str) -> list[str]:
        """Whole lines until one holds these words."""
        taken = b""
        while until.encode() not in taken or not taken.endswith(b"\n"):
            taken += os.read(self.reading, 1 << 16)
        return taken.decode().splitlines()


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    opened = Pipe()
    try:
        configure_logging("INFO", secrets=["hunter2-hunter2"], descriptor=opened.writing)
        yield opened
    finally:
        os.close(opened.reading)
        for handler in root.handlers:
            handler.close()
        os.close(opened.writing)
        root.handlers[:], root.level = handlers, level


TICKET = "0f9a1b2c3d4e5f"
ADDRESS = f"wss://wss-primary.slack.com/link/?ticket={TICKET}&app_id=abc"


def test_no_line_holds_the_ticket_of_a_socket(pipe: Pipe) -> None:
    here = logging.getLogger("here")
    request = aiohttp.RequestInfo(URL(ADDRESS), "GET", CIMultiDictProxy(CIMultiDict()), URL(ADDRESS))
    refused = aiohttp.WSServerHandshakeError(request, (), status=404, message="Not Found")
    here.info("connecting to %s", ADDRESS)
    here.warning("not connected", extra={"reason": str(refused), "fault": refused, "at": URL(ADDRESS)})
    here.warning("several", extra={"all": [ADDRESS, {"url": ADDRESS}], "packed": f"next=x%3Fticket%3D{TICKET}%26y"})
    logging.getLogger("slack_sdk.socket_mode").error("Failed to connect (error: %s); Retrying...", refused)
    logging.getLogger("aiohttp.client").error("Unclosed connection %r", refused)
    try:
        raise refused
    except aiohttp.ClientError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
    lines = pipe.read(until="never retrieved")
    assert len(lines) == 6
    assert all(TICKET not in line and "[secret]" in line for line in lines)


def test_a_log_line_is_one_object_without_secrets(pipe: Pipe) -> None:
    logging.getLogger("here").info("key hunter2-hunter2\nand xoxb-1-2", extra={"turn": 7, "half": "\ud83d"})
    (line,) = pipe.read(until="and")
    told = json.loads(line)
    assert (told["message"], told["turn"], told["logger"]) == ("key [secret]\nand [secret]", 7, "here")


def test_a_log_that_nobody_reads_holds_up_nobody_and_says_afterwards_what_is_missing(pipe: Pipe) -> None:
    logger, long = logging.getLogger("here"), "x" * 2_000
    began = time.monotonic()
    for number in range(LINES_WAITING + 500):
        logger.info("line %d %s", number, long)
    # A write into a full pipe would wait for ever.
    assert time.monotonic() - began < patience(20)
    missing = lines_dropped()
    assert missing > 0
    assert f"frontdesk_log_lines_dropped_total {float(missing)}" in shown(Metrics())
    lines = [json.loads(line) for line in pipe.read(until="log lines were dropped")]
    assert lines[-1]["lines"] == missing
    assert len(lines) - 1 + missing == LINES_WAITING + 500


def test_a_log_whose_reader_is_gone_ends_nothing(pipe: Pipe) -> None:
    before = os.dup(pipe.reading)
    os.close(pipe.reading)
    pipe.reading = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    logging.getLogger("here").info("to nobody")
    logging.getLogger().handlers[0].close()
    assert lines_dropped() == 1


def test_a_disk_that_is_full_for_a_while_costs_lines_and_no_more(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        told = subprocess.run([sys.executable, "-c", FULL_FOR_A_WHILE], stderr=file, cwd=ROOT, check=False)
    assert told.returncode == 0
    first, half, *rest = (tmp_path / "log").read_text("utf-8").splitlines()
    assert json.loads(first)["message"] == "the first"
    assert "the second" in half
    after, lost = map(json.loads, rest)
    assert (after["message"], lost["message"]) == ("the third", "log lines were lost")
    assert (lost["lines"], lost["why"]) == (1, "File too large")


def test_a_warning_of_python_is_a_line_like_any_other() -> None:
    process = subprocess.run([sys.executable, "-c", WARNS], cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = map(json.loads, process.stderr.splitlines())
    assert (line["level"], line["logger"]) == ("warning", "py.warnings")
    assert "the key is [secret]" in line["message"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("/srv/frontdesk-abcdefgh/kb", "/srv/frontdesk-abcdefgh/kb"),
        ("key=sk-abcdefgh.", "key=[secret]."),
        ("/keys/sk-proj-abcdefgh", "/keys/[secret]"),
    ],
)
def test_what_looks_like_a_key_is_masked_and_a_path_is_not(pipe: Pipe, said: str, shown: str) -> None:
    logging.getLogger("here").info(said)
    (line,) = pipe.read(until="here")
    assert json.loads(line)["message"] == shown


def test_a_line_that_cannot_be_made_says_where_and_ends_nothing(pipe: Pipe) -> None:
    record = logging.makeLogRecord({"name": "here", "msg": "%d lines", "args": ("many",), "pathname": __file__})
    logging.getLogger().handlers[0].handle(record)
    (line,) = pipe.read(until="could not be made")
    assert __file__ in json.loads(line)["where"]


def test_the_end_waits_for_the_last_lines_but_not_for_ever(pipe: Pipe) -> None:
    logging.getLogger("here").info("the last words")
    for _ in range(LINES_WAITING):
        logging.getLogger("here").info("x" * 2_000)
    began = time.monotonic()
    logging.getLogger().handlers[0].close()
    assert time.monotonic() - began < patience(20)
    assert "the last words" in pipe.read(until="the last words")[0]
