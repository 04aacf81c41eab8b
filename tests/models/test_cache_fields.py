"""What providers with a cache are told: which requests begin alike, where that ends, and whom a request is for."""

from typing import Any

import pytest

from bot.agent.messages import CustomerMessage
from bot.agent.model import ModelRequest
from bot.models.providers import Api, Server, open_model
from tests.doubles.chat_server import Reply, open_chat_server, text
from tests.doubles.responses_events import Response

ASKED = ModelRequest("m", "You are the desk of Fernwick.", (CustomerMessage("Hi"),), customer="T1/U1")
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


async def sent(name: str, *requests: ModelRequest, api: Api = "chat", key: bytes = b"key") -> list[dict[str, Any]]:
    """The bodies that a server gets."""
    reply = Reply(Response().says("Hi").ends().blocks) if api == "responses" else text("Hi")
    async with open_chat_server() as server:
        server.will(*[reply] * len(requests))
        async with open_model(name, Server("k", server.url, api=api), customers_key=key) as model:
            for request in requests:
                async for _ in model.stream(request):
                    pass
        return server.requests


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_the_end_of_the_instructions_is_marked_where_a_cache_needs_it(api: Api) -> None:
    (body,) = await sent("gpt-6-luna", ASKED, api=api)
    first = (body.get("messages") or body["input"])[0]
    kind = "text" if api == "chat" else "input_text"
    assert first == {"role": "system", "content": [{"type": kind, "text": ASKED.instructions, **MARK}]}
    assert "instructions" not in body


async def test_requests_of_all_customers_with_the_same_instructions_have_one_key() -> None:
    other = ModelRequest("m", ASKED.instructions, (CustomerMessage("Bye"),), customer="T1/U2")
    shop = ModelRequest("m", "You are the desk of Alder.", ASKED.messages, customer="T1/U1")
    keys = [body["prompt_cache_key"] for body in await sent("gpt-5-mini", ASKED, other, shop)]
    assert keys[0] == keys[1] != keys[2]


async def test_a_customer_is_named_by_a_hash_that_needs_our_key() -> None:
    (one,), (same,), (keyed,), (without,) = [
        [body.get("safety_identifier") for body in await sent("gpt-4.1-mini", ASKED, key=key)]
        for key in (b"key", b"key", b"other", b"")
    ]
    assert one == same != keyed
    assert without is None
    assert "U1" not in str(one)


async def test_a_model_that_is_not_known_to_take_them_gets_none_of_it() -> None:
    (body,) = await sent("our-model", ASKED)
    assert body["messages"][0] == {"role": "system", "content": ASKED.instructions}
    assert not {"prompt_cache_key", "safety_identifier"} & body.keys()
