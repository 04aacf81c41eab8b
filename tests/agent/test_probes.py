"""What a turn comes to when things go wrong, over a real connection: one probe a row of the table at the end.

Where only the stream is awkward, and not the turn, the probe is a file in streams/ (test_streams.py).
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
import pytest

from bot.agent.events import ModelRetried, RequestFailed, ToolFinished, ToolStarted
from bot.agent.messages import AgentMessage
from bot.agent.model import Model
from tests.agent.desk import QUICK, Desk, results
from tests.agent.stream_files import STREAMS
from tests.doubles.chat_server import DONE, ChatServer, Reply, chunk, event, refuses, text
from tests.patience import patience

IMPATIENT = replace(QUICK, first_token_seconds=patience(0.1), idle_seconds=patience(0.1))
BUSY = {"message": "slow down", "code": "rate_limit_exceeded"}
LAYOUTS = ('{"order_id": "ORD-1"}', '{"order_id":"ORD-1"}', ' {"order_id" : "ORD-1"} ')
"""One call, written in three ways."""


def asks(*calls: tuple[str, str], start: int = 0) -> Reply:
    """A reply that asks for calls (tool, arguments as JSON text), with ids from c<start> on."""
    fragments = [
        {"index": place, "id": f"c{start + place}", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    return Reply(
        (chunk({"role": "assistant", "content": None, "tool_calls": fragments}), chunk({}, "tool_calls"), DONE)
    )


def order(number: object, start: int = 0) -> Reply:
    """A reply that asks for one order."""
    return asks(("lookup_order", f'{{"order_id": "ORD-{number}"}}'), start=start)


def told(server: ChatServer) -> list[dict[str, Any]]:
    """The results that the second request brought the model."""
    lines = server.requests[1]["messages"]
    return [orjson.loads(line["content"]) for line in lines if line["role"] == "tool"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"tracking_number": "1Z9', ""),
        ("", "tracking_number"),
        ("{}", "tracking_number"),
        ('{"tracking_number": 17}', "tracking_number"),
        ('{"tracking_number": "1Z9", "days": "3"}', "days"),
        ('{"tracking_number": "1Z9", "customer": "U1"}', "customer"),
        ('["1Z9"]', ""),
        ("[" * 20_000, ""),
    ],
)
async def test_arguments_that_do_not_fit_run_nothing_and_the_model_is_told_which(
    server: ChatServer, model: Model, arguments: str, field: str
) -> None:
    server.will(asks(("check_shipping", arguments)), text("Which parcel?"))
    desk = Desk()
    outcome = await desk.run(model, limits=replace(QUICK, output_characters=40_000))
    (answer,) = told(server)
    assert answer["error"] == "invalid_arguments"
    assert field in [problem["field"] for problem in answer["problems"]]
    assert (desk.counter.seen, desk.happened(ToolStarted), outcome.text) == ([], [], "Which parcel?")


async def test_an_unknown_tool_is_answered_with_the_names_of_those_on_offer(server: ChatServer, model: Model) -> None:
    server.will(asks(("delete_account", "{}")), text("I cannot."))
    assert (await Desk().run(model)).text == "I cannot."
    offered = ["check_shipping", "escalate_to_human", "lookup_order"]
    assert told(server) == [{"error": "unknown_tool", "offered": offered}]


async def test_what_a_tool_raises_is_for_the_log_and_never_for_the_model(
    server: ChatServer, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk()
    desk.counter.failures.append(RuntimeError("password hunter2"))
    server.will(order(1), text("Sorry."))
    with caplog.at_level(logging.ERROR):
        outcome = await desk.run(model)
    assert told(server)[0]["error"] == "unavailable"
    assert b"hunter2" not in orjson.dumps(server.requests)
    assert "hunter2" in caplog.text
    assert outcome.text == "Sorry."


async def test_a_tool_that_hangs_ends_at_its_own_limit_while_the_others_go_on(server: ChatServer, model: Model) -> None:
    desk = Desk()
    hung, fine = ("check_shipping", '{"tracking_number": "wait"}'), ("lookup_order", '{"order_id": "ORD-1"}')
    server.will(asks(hung, fine), text("The parcel is missing."))
    outcome = await desk.run(model)
    slow, found = told(server)
    assert (slow["error"], found["status"]) == ("timeout", "shipped")
    assert (outcome.ended, desk.counter.running) == ("answered", 0)


async def test_the_same_call_for_ever_runs_once_and_is_answered_at_the_third_time(
    server: ChatServer, model: Model
) -> None:
    again = [asks(("lookup_order", layout), start=at) for at, layout in enumerate(LAYOUTS)]
    server.will(*again, text("It is shipped."))
    desk = Desk()
    outcome = await desk.run(model)
    assert desk.counter.seen == ["ORD-1"]
    first, second, third = results(outcome)
    assert second.content.startswith("[You made this same call before")
    assert second.content.endswith(first.content)
    assert third.call_id == "c2"
    assert [request.get("tool_choice") for request in server.requests] == [None, None, None, "none"]
    assert (outcome.text, outcome.reason, outcome.forced) == ("It is shipped.", "repeats", True)


async def test_a_model_that_calls_though_it_may_not_comes_to_an_end(server: ChatServer, model: Model) -> None:
    server.will(order(1))
    desk = Desk()
    outcome = await desk.run(model)
    assert (outcome.ended, outcome.reason) == ("failed", "blank")
    assert (desk.counter.seen, len(server.requests)) == (["ORD-1"], 6)


async def test_going_back_and_forth_between_two_calls_is_stopped(server: ChatServer, model: Model) -> None:
    parcel = '{"tracking_number": "B"}'
    rounds = [order("A") if at % 2 == 0 else asks(("check_shipping", parcel), start=at) for at in range(4)]
    server.will(*rounds, text("Stopped."))
    desk = Desk()
    outcome = await desk.run(model)
    assert desk.counter.seen == ["ORD-A", "B"]
    assert (outcome.text, outcome.reason, len(server.requests)) == ("Stopped.", "repeats", 5)


async def test_another_call_each_round_ends_with_the_rounds_in_an_answer(server: ChatServer, model: Model) -> None:
    server.will(*(order(at, start=at) for at in range(QUICK.rounds - 1)), text("What I know is this."))
    desk = Desk()
    outcome = await desk.run(model)
    assert (outcome.text, outcome.reason, outcome.forced) == ("What I know is this.", "rounds", True)
    assert len(desk.counter.seen) == QUICK.rounds - 1


async def test_twenty_calls_at_once_are_bounded_and_each_gets_its_result(server: ChatServer, model: Model) -> None:
    many = [("lookup_order", f'{{"order_id": "ORD-{at}"}}') for at in range(20)]
    server.will(asks(*many), text("Enough."))
    desk = Desk()
    outcome = await desk.run(model)
    assert len(desk.counter.seen) == QUICK.calls_per_tool
    assert desk.counter.most <= QUICK.tool_concurrency
    assert [result.call_id for result in results(outcome)] == [f"c{at}" for at in range(20)]
    assert [result.ok for result in results(outcome)] == [at < QUICK.calls_per_tool for at in range(20)]
    assert (outcome.text, outcome.forced) == ("Enough.", True)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_server_that_is_busy_for_ever_is_asked_three_times(
    server: ChatServer, model: Model, status: int
) -> None:
    server.will(refuses(status, BUSY if status == 429 else {"message": "busy"}))
    desk = Desk()
    outcome = await desk.run(model)
    reason = "rate_limited" if status == 429 else "model_unreachable"
    assert (outcome.ended, outcome.reason, outcome.messages) == ("failed", reason, ())
    assert (len(server.requests), len(desk.happened(ModelRetried))) == (3, 2)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
async def test_a_request_that_is_refused_is_not_made_again(server: ChatServer, model: Model, status: int) -> None:
    server.will(refuses(status, {"message": "no"}))
    outcome = await Desk().run(model)
    assert (outcome.ended, len(server.requests)) == ("failed", 1)


async def test_what_the_provider_said_of_a_refusal_is_for_the_log_and_for_staff(
    server: ChatServer, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    said = {"message": "Unsupported value for anna@example.com", "param": "temperature", "code": "unsupported_value"}
    server.will(refuses(400, said))
    desk = Desk()
    outcome = await desk.run(model)
    (failed,) = desk.happened(RequestFailed)
    words = "refused_request: 400 unsupported_value, param temperature, “Unsupported value for [e-mail address]”"
    assert (failed.model, failed.words, outcome.reason) == ("model-1", words, "refused_request")
    assert words in caplog.text
    assert "Unsupported" not in outcome.text + desk.shown


async def test_an_answer_that_is_cut_for_ever_is_continued_once_and_repeats_nothing(
    server: ChatServer, model: Model
) -> None:
    begun, more = "Your order ", "is on its way. " * 20
    server.will(*(Reply((chunk({"content": said}),), ending="cut") for said in (begun, more)))
    desk = Desk()
    outcome = await desk.run(model)
    assert (outcome.ended, outcome.reason, outcome.text) == ("failed", "cut", begun + more)
    assert outcome.messages == (AgentMessage(begun + more, agent="desk"),)
    assert (desk.shown, len(server.requests)) == (begun + more, 2)
    assert {"role": "assistant", "content": begun} in server.requests[1]["messages"]


HALF_A_CALL = {"index": 0, "id": "c1", "function": {"name": "lookup_order", "arguments": '{"order_id": "OR'}}


@pytest.mark.parametrize(
    ("blocks", "ending", "reason"),
    [
        ((), "cut", "cut"),
        ((chunk({"role": "assistant", "content": ""}),), "cut", "cut"),
        ((chunk({"tool_calls": [HALF_A_CALL]}),), "cut", "cut"),
        ((chunk({"tool_calls": [HALF_A_CALL]}),), "close", "cut"),
        ((event({"error": {"type": "server_error"}}),), "close", "model_unreachable"),
        ((b"<html>busy</html>",), "close", "malformed"),
        ((chunk({}, "stop"), DONE), "close", "blank"),
        ((chunk({"content": " \n"}, "stop"), DONE), "close", "blank"),
        ((chunk({"content": "<think>Hm."}, "stop"), DONE), "close", "malformed"),
    ],
)
async def test_nothing_to_show_for_ever_is_asked_for_three_times_and_runs_nothing(
    server: ChatServer, model: Model, blocks: tuple[bytes, ...], ending: str, reason: str
) -> None:
    server.will(Reply(blocks, ending=ending))
    desk = Desk()
    outcome = await desk.run(model)
    assert (outcome.ended, outcome.messages, desk.shown, desk.counter.seen) == ("failed", (), "", [])
    assert outcome.reason == reason
    assert len(server.requests) == 3


@pytest.mark.parametrize("ending", ["stall", "drip"])
@pytest.mark.parametrize("said", ["", "Your order "])
async def test_a_stream_that_stalls_for_ever_is_given_up_within_its_limits(
    server: ChatServer, model: Model, said: str, ending: str
) -> None:
    server.will(Reply((chunk({"content": said}),), ending=ending))
    began = asyncio.get_running_loop().time()
    outcome = await Desk().run(model, limits=IMPATIENT)
    assert (outcome.ended, outcome.reason) == ("failed", "deadline")
    assert outcome.text.startswith(said)
    assert asyncio.get_running_loop().time() - began < patience(10)
    async with asyncio.timeout(patience(2)):
        await server.released.wait()


async def test_cancelling_while_a_tool_runs_is_quick_and_leaves_the_connection_usable(
    server: ChatServer, model: Model
) -> None:
    desk = Desk()
    server.will(asks(("lookup_order", '{"order_id": "wait"}')), text("Hello."))
    turn = asyncio.create_task(desk.run(model))
    await desk.counter.started.wait()
    began = asyncio.get_running_loop().time()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert asyncio.get_running_loop().time() - began < patience(5)
    assert (desk.counter.running, desk.happened(ToolFinished)[0].ok) == (0, False)
    assert (await Desk().run(model)).text == "Hello."
    assert len(server.connections) == 1


async def test_cancelling_while_the_model_speaks_hangs_up(server: ChatServer, model: Model) -> None:
    server.will(Reply((chunk({"content": "Hello"}),), ending="stall"))
    heard = asyncio.Event()
    turn = asyncio.create_task(Listener(heard).run(model))
    await heard.wait()
    turn.cancel()
    with suppress(asyncio.CancelledError):
        await turn
    async with asyncio.timeout(patience(2)):
        await server.released.wait()


class Listener(Desk):
    """Tells when the first event came."""

    def __init__(self, heard: asyncio.Event) -> None:
        super().__init__()
        self._heard = heard

    @property
    def emit(self) -> Callable[[object], None]:
        """What the loop is given."""

        def note(event: object) -> None:
            del event
            self._heard.set()

        return note


PROBES: Mapping[str, object] = {
    "arguments cut JSON": test_arguments_that_do_not_fit_run_nothing_and_the_model_is_told_which,
    "wrong type / missing": test_arguments_that_do_not_fit_run_nothing_and_the_model_is_told_which,
    "extra argument": test_arguments_that_do_not_fit_run_nothing_and_the_model_is_told_which,
    "unknown tool": test_an_unknown_tool_is_answered_with_the_names_of_those_on_offer,
    "tool raises": test_what_a_tool_raises_is_for_the_log_and_never_for_the_model,
    "tool hangs": test_a_tool_that_hangs_ends_at_its_own_limit_while_the_others_go_on,
    "same call for ever": test_the_same_call_for_ever_runs_once_and_is_answered_at_the_third_time,
    "A-B-A-B": test_going_back_and_forth_between_two_calls_is_stopped,
    "20 calls at once": test_twenty_calls_at_once_are_bounded_and_each_gets_its_result,
    "429 Retry-After 1": "retry-after.one-second",
    "429 Retry-After 0.5": "retry-after.half-a-second",
    "429 Retry-After as a date": "retry-after.date",
    "429 Retry-After 600": "retry-after.ten-minutes",
    "429 for ever": test_a_server_that_is_busy_for_ever_is_asked_three_times,
    "insufficient_quota 429": "insufficient-quota.openai",
    "cut mid-text, once": "cut-in-text",
    "cut mid-text, for ever": test_an_answer_that_is_cut_for_ever_is_continued_once_and_repeats_nothing,
    "cut mid-args": "cut-in-arguments",
    "cut before first token": "cut-before-first-token",
    "clean end, no finish, no [DONE]": "end-without-finish.text",
    "error object in the stream": "error-in-stream.object",
    "finish length": "length",
    "finish content_filter": "content-filter.finish",
    "refusal": "refusal.field",
    "empty answer": "blank-answer.nothing",
    "all of these for ever": test_nothing_to_show_for_ever_is_asked_for_three_times_and_runs_nothing,
    "stalled stream, once": "stall.silent",
    "stalled stream with pings, once": "stall.pings",
    "stalled stream, for ever": test_a_stream_that_stalls_for_ever_is_given_up_within_its_limits,
    "JSON body in place of a stream": "json-in-place-of-stream.answer",
    "HTML page in place of a stream": "page-in-place-of-stream.proxy",
    "cancel while a tool runs": test_cancelling_while_a_tool_runs_is_quick_and_leaves_the_connection_usable,
}
"""Each row: the test above, or the stream."""


def test_a_row_without_a_test_of_its_own_is_a_stream_that_the_loop_runs() -> None:
    names = {stream.name for stream in STREAMS}
    misses = [(row, probe) for row, probe in PROBES.items() if isinstance(probe, str) and probe not in names]
    assert misses == []
