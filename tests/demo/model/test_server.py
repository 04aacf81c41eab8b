"""The stand-in over HTTP, asked by the OpenAI client and by hand."""

import json
from typing import Any

import aiohttp
import openai
import pytest

from demo.model.embeddings import embed
from demo.model.phrases import PHRASES
from demo.model.server import EMBEDDING_MODEL, FINGERPRINT, MODEL, Pace, StandIn
from tests.demo.model.requests import ANSWERS, CHECK, DRAFT, LEAD, ORDER, SUMMARY, TOOLS, TRIAGE, request


async def test_the_openai_client_reads_a_stream_with_text_and_usage(client: openai.AsyncOpenAI) -> None:
    text, finish, usage = "", None, None
    stream: Any = await client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": "hello"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    async for chunk in stream:
        assert chunk.system_fingerprint == FINGERPRINT
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert text.startswith("Hello!")
    assert finish == "stop"
    assert usage is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0


async def test_the_openai_client_reads_streamed_parallel_calls(client: openai.AsyncOpenAI) -> None:
    arguments: dict[int, str] = {}
    names: dict[int, str] = {}
    body: Any = request("Where are ORD-1001 and ORD-1002?")
    stream: Any = await client.chat.completions.create(**body, stream=True)
    async for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or ():
            names[call.index] = names.get(call.index) or call.function.name
            arguments[call.index] = arguments.get(call.index, "") + call.function.arguments
    assert names == {0: ORDER, 1: ORDER}
    assert [json.loads(arguments[n])["order_number"] for n in (0, 1)] == ["ORD-1001", "ORD-1002"]


async def test_the_openai_client_reads_an_answer_in_one_piece(client: openai.AsyncOpenAI) -> None:
    body: Any = request("Where is ORD-1001?")
    answer = await client.chat.completions.create(**body)
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.choices[0].message.tool_calls is not None
    assert answer.usage is not None


async def test_embeddings_come_as_numbers_and_as_the_client_packs_them(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    packed = await client.embeddings.create(model=EMBEDDING_MODEL, input=["one", "two"])
    assert packed.data[1].embedding == pytest.approx(embed("two"), abs=1e-6)
    async with session.post(f"{stand_in.url}/embeddings", json={"model": "any", "input": "two"}) as response:
        assert (await response.json())["data"][0]["embedding"] == embed("two")


async def test_the_models_are_listed_under_honest_names(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == [MODEL, EMBEDDING_MODEL]


async def test_a_wrong_key_is_refused_everywhere(stand_in: StandIn) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer wr\u00f6ng"}) as stranger:
        for path in ("/v1/models", "/_local/requests", "/nowhere"):
            async with stranger.get(stand_in.root + path) as response:
                assert response.status == 401


async def test_a_request_that_a_provider_would_refuse_is_refused(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    table = [
        "",
        "[]",
        "not json",
        "[" * 50_000,
        "{}",
        '{"model": "any", "messages": []}',
        '{"model": "any", "messages": "hi"}',
        '{"model": 1, "messages": [{"role": "user", "content": "hi"}]}',
        '{"model": "any", "messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}',
    ]
    misses = []
    for body in table:
        async with session.post(f"{stand_in.url}/chat/completions", data=body) as response:
            if response.status != 400 or (await response.json())["error"]["type"] != "invalid_request_error":
                misses.append(body)
    assert misses == []


async def test_an_output_limit_cuts_the_answer_and_says_so(client: openai.AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "hello"}], max_completion_tokens=2
    )
    assert answer.choices[0].finish_reason == "length"


async def test_scripted_rounds_are_given_in_order_then_the_rules_take_over(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    await script(session, stand_in, ["first", {"text": "second", "finish": "length"}])
    assert await said(session, stand_in) == ("first", "stop")
    assert await said(session, stand_in) == ("second", "length")
    assert (await said(session, stand_in))[0].startswith("Hello!")
    asked = await requests(session, stand_in)
    assert [entry["by"] for entry in asked] == ["script", "script", "rules"]
    assert asked[0]["body"]["messages"][-1]["content"].endswith("\n\nhello")


async def test_a_scripted_round_can_wait_for_its_message(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    await script(session, stand_in, [{"text": "about B", "when": "B?"}, {"text": "about A", "when": "A?"}])
    assert (await said(session, stand_in, "What about A?"))[0] == "about A"
    assert (await said(session, stand_in, "What about B?"))[0] == "about B"


async def test_a_scripted_round_waits_for_those_who_answer_and_is_not_used_up_by_other_roles(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    await script(session, stand_in, ["for whoever answers"])
    assert await asked(client, "hello", tools=[], instructions=CHECK) == "STANDS"
    assert "hello" in await asked(client, "hello", tools=[], instructions=DRAFT.format(voice="thorough"))
    assert "hello" not in await asked(client, "hello", tools=[], instructions=SUMMARY)
    assert await asked(client, "hello", tools=TRIAGE) == "hand_over_to_answers"
    assert await asked(client, "Where is ORD-12345?", tools=TRIAGE) == "hand_over_to_shipping"
    assert await asked(client, "I want to talk to a human", tools=TRIAGE) == "hand_over_to_answers"
    assert await asked(client, "hello", tools=ANSWERS) == "for whoever answers"
    assert await asked(client, "hello", tools=TRIAGE) == PHRASES["en"].greeting
    roles = [(entry["role"], entry["by"]) for entry in await requests(session, stand_in)]
    assert roles == [
        ("check", "rules"),
        ("draft", "rules"),
        ("summary", "rules"),
        ("triage", "rules"),
        ("triage", "rules"),
        ("triage", "rules"),
        ("answer", "script"),
        ("triage", "rules"),
    ]


async def test_a_scripted_round_can_be_meant_for_one_role(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    rounds: list[Any] = [
        {"text": "sorted", "triage": True},
        *({"text": role, "role": role} for role in ("check", "summary", "draft", "lead", "answer")),
        {"text": "for both"},
        {"text": "for both"},
    ]
    await script(session, stand_in, rounds)
    assert await asked(client, "hello", tools=ANSWERS) == "answer"
    assert await asked(client, "hello", tools=LEAD) == "lead"
    assert await asked(client, "hello", tools=ANSWERS) == "for both"
    assert await asked(client, "hello", tools=LEAD) == "for both"
    assert await asked(client, "hello", tools=TRIAGE) == "sorted"
    assert await asked(client, "hello", tools=[], instructions=CHECK) == "check"
    assert await asked(client, "hello", tools=[], instructions=SUMMARY) == "summary"
    assert await asked(client, "hello", tools=[], instructions=DRAFT) == "draft"
    assert not stand_in.script.rounds


async def test_a_scripted_round_for_one_question_of_a_message_is_not_given_to_another(
    client: openai.AsyncOpenAI, session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    whole = "What about A? What about B?"
    note = "Answer only the one question of it that the customer's next message repeats."
    narrowed = [{"role": "user", "content": whole}, {"role": "note", "content": note}]
    await script(session, stand_in, [{"text": "about B", "when": "B?"}, {"text": "about A", "when": "A?"}])
    for letter in "AB":
        assert await asked(client, f"What about {letter}?", tools=ANSWERS, before=narrowed) == f"about {letter}"
    await script(session, stand_in, [{"text": "about all of it", "when": whole}])
    assert await asked(client, "What about A?", tools=ANSWERS, before=narrowed) == "about all of it"


async def test_an_answer_that_an_output_limit_cut_is_gone_on_with(client: openai.AsyncOpenAI) -> None:
    question = "How do I return something?"
    whole = await asked(client, question)
    body: Any = request(question, max_completion_tokens=5)
    cut = (await client.chat.completions.create(**body)).choices[0]
    assert cut.finish_reason == "length"
    after = [
        {"role": "assistant", "content": cut.message.content},
        {"role": "note", "content": "Your last message broke off on its way. Continue it exactly where it stops."},
    ]
    assert cut.message.content + await asked(client, question, after=after) == whole


async def test_scripted_calls_keep_their_arguments_to_the_letter(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    calls = [{"name": "one", "arguments": '{"broken": '}, {"name": "two", "arguments": {"a": 1}, "id": "mine"}]
    await script(session, stand_in, [{"text": "wait", "calls": calls}])
    lines = await stream(session, stand_in)
    parts = [call for line in lines for choice in line["choices"] for call in choice["delta"].get("tool_calls", ())]
    assert "".join(part["function"]["arguments"] for part in parts if part["index"] == 0) == '{"broken": '
    assert next(part["id"] for part in parts if part["index"] == 1) == "mine"
    assert lines[-1]["choices"][0]["finish_reason"] == "tool_calls"


async def test_a_scripted_error_has_its_status_headers_and_body(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    await script(
        session, stand_in, [{"error": {"status": 429, "headers": {"Retry-After": "1"}, "body": "<h1>no</h1>"}}]
    )
    async with session.post(f"{stand_in.url}/chat/completions", json=request("hello")) as response:
        assert (response.status, response.headers["Retry-After"], await response.text()) == (429, "1", "<h1>no</h1>")


async def test_raw_lines_are_sent_as_they_are(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    await script(session, stand_in, [{"raw": ["data: nonsense", "", ": ping"]}])
    async with session.post(f"{stand_in.url}/chat/completions", json=request("hello", stream=True)) as response:
        assert await response.text() == "data: nonsense\n\n: ping\n"


async def test_a_cut_stream_ends_after_its_text_without_an_end(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    await script(session, stand_in, [{"text": "half an", "cut": True}])
    received: list[bytes] = []
    with pytest.raises(aiohttp.ClientPayloadError):
        await _receive(session, stand_in, received)
    assert b"half" in b"".join(received)
    assert b"[DONE]" not in b"".join(received)


async def test_a_stalled_stream_is_silent_after_its_text(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    await script(session, stand_in, [{"text": "wait", "stall": 600}])
    async with session.post(f"{stand_in.url}/chat/completions", json=request("hello", stream=True)) as response:
        received = b""
        while b"wait" not in received:
            received += await response.content.readany()
        assert b'finish_reason":"stop' not in received


async def test_a_script_that_cannot_be_played_is_refused_in_words(
    session: aiohttp.ClientSession, stand_in: StandIn
) -> None:
    table = ["{}", "5", '[{"nonsense": 1}]', '[{"calls": [{}]}]', "[5]", '[{"role": "boss"}]', "not json"]
    misses = []
    for body in table:
        async with session.post(f"{stand_in.root}/_local/script", data=body) as response:
            if response.status != 400 or not (await response.json())["error"]["message"]:
                misses.append(body)
        if stand_in.script.rounds:
            misses.append(body)
    assert misses == []


async def test_a_script_can_be_forgotten(session: aiohttp.ClientSession, stand_in: StandIn) -> None:
    await script(session, stand_in, ["never"])
    async with session.delete(f"{stand_in.root}/_local/script") as response:
        assert response.status == 200
    assert (await said(session, stand_in))[0].startswith("Hello!")


def test_a_pace_has_a_first_pause_and_then_short_ones() -> None:
    pauses = Pace(first=0.5, chunk=0.02).pauses()
    assert next(pauses) == 0.5
    assert all(0.01 < next(pauses) < 0.03 for _ in range(20))


async def asked(client: openai.AsyncOpenAI, said: str, **more: Any) -> str:
    """What comes back: the words, or the name of the first tool to call."""
    body: Any = request(said, **more)
    message = (await client.chat.completions.create(**body)).choices[0].message
    return str(message.content or message.tool_calls[0].function.name)


async def _receive(session: aiohttp.ClientSession, stand_in: StandIn, into: list[bytes]) -> None:
    async with session.post(f"{stand_in.url}/chat/completions", json=request("hello", stream=True)) as response:
        async for block in response.content.iter_any():
            into.append(block)  # noqa: PERF401 - what came before the cut must be kept


async def script(session: aiohttp.ClientSession, stand_in: StandIn, rounds: list[Any]) -> None:
    async with session.post(f"{stand_in.root}/_local/script", json={"rounds": rounds}) as response:
        assert (await response.json()) == {"ok": True, "waiting": len(rounds)}


async def said(session: aiohttp.ClientSession, stand_in: StandIn, text: str = "hello") -> tuple[str, str]:
    async with session.post(f"{stand_in.url}/chat/completions", json=request(text, tools=TOOLS)) as response:
        choice = (await response.json())["choices"][0]
        return choice["message"]["content"], choice["finish_reason"]


async def stream(session: aiohttp.ClientSession, stand_in: StandIn) -> list[Any]:
    async with session.post(f"{stand_in.url}/chat/completions", json=request("hello", stream=True)) as response:
        lines = (await response.text()).split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


async def requests(session: aiohttp.ClientSession, stand_in: StandIn) -> list[Any]:
    async with session.get(f"{stand_in.root}/_local/requests") as response:
        listed: list[Any] = (await response.json())["requests"]
        return listed
