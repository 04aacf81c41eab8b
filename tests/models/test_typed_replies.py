"""Replies with a schema: where a provider takes it, where it refuses, and how both are read."""

from typing import Any

import pytest

from bot.agent.agent import Agent, Team
from bot.agent.endpoints import Endpoint, Models
from bot.agent.loop import run
from bot.agent.messages import CustomerMessage
from bot.desk.danger.asking import build_sorter
from bot.desk.summing_up import build_summarizer
from bot.desk.team import build_checker
from bot.desk_file.model import DeskFile
from bot.learning.suggestions import build_learners, read_article
from bot.models.providers import Api, Server, open_model
from tests.agent.desk import CONTEXT, QUICK
from tests.doubles.chat_server import Reply, open_chat_server, refuses, text
from tests.doubles.responses_events import Response

CHECKER = build_checker(desk=DeskFile(shop="Fernwick"))
SORTER, SUMMARIZER = (build(shop_name="Fernwick").agents[0] for build in (build_sorter, build_summarizer))
WRITER, COMPARER = build_learners("Fernwick").agents


async def asked(agent: Agent, *replies: Reply, model: str = "gpt-6-luna", api: Api = "chat") -> tuple[str, list[Any]]:
    """What the agent says, and the bodies that its server got."""
    async with open_chat_server() as server:
        server.will(*replies)
        async with open_model(model, Server("k", server.url, api=api)) as opened:
            outcome = await run(
                Team((agent,), entry=agent.name),
                agent.name,
                [CustomerMessage("Hello")],
                models=Models((Endpoint(model, opened),), (Endpoint(model, opened),)),
                context=CONTEXT,
                passages="",
                emit=lambda event: None,
                limits=QUICK,
            )
        return outcome.text, server.requests


@pytest.mark.parametrize(
    ("agent", "said", "read"),
    [
        (CHECKER, '{"stands":true,"version":""}', "STANDS"),
        (CHECKER, '{"stands":false,"version":"You have 30 days."}', "You have 30 days."),
        (SORTER, '{"class":"crisis"}', "crisis"),
        (SUMMARIZER, '{"summary":"Wants a refund."}', "Wants a refund."),
        (WRITER, '{"has_article":false,"title":"","question":"","answer":""}', "NOTHING"),
        (COMPARER, '{"differs":true}', "DIFFERS"),
        (COMPARER, '{"differs":false}', "AGREES"),
        (CHECKER, "STANDS", "STANDS"),
        (SUMMARIZER, '{"summary":"Wants a ref', ""),
        (SUMMARIZER, '{"text":"Wants a refund."}', ""),
    ],
)
async def test_an_object_is_read_as_the_words_that_the_instructions_ask_for(agent: Agent, said: str, read: str) -> None:
    told, (body,) = await asked(agent, text(said))
    assert told == read
    assert agent.reply is not None
    form = body["response_format"]["json_schema"]
    assert (form["schema"], form["strict"]) == (agent.reply.schema, True)


async def test_an_article_in_an_object_is_an_article() -> None:
    said = '{"has_article":true,"title":"Returns","question":"How long?","answer":"You have 30 days."}'
    told, _ = await asked(WRITER, text(said))
    article = read_article(told)
    assert article is not None
    assert (article.title, article.question, article.answer) == ("Returns", "How long?", "You have 30 days.")


async def test_responses_have_the_schema_in_their_own_place() -> None:
    reply = Reply(Response().says('{"differs":true}').ends().blocks)
    told, (body,) = await asked(COMPARER, reply, api="responses")
    assert told == "DIFFERS"
    assert body["text"]["format"]["type"] == "json_schema"


async def test_a_server_that_refuses_the_schema_is_asked_for_words() -> None:
    refusal = {"message": "response_format of type json_schema is not supported.", "type": "invalid_request_error"}
    told, bodies = await asked(CHECKER, refuses(400, refusal), text("STANDS"))
    assert told == "STANDS"
    assert ["response_format" in body for body in bodies] == [True, False]


async def test_a_model_that_is_not_known_to_take_schemas_gets_none() -> None:
    _, (body,) = await asked(CHECKER, text("STANDS"), model="our-model")
    assert "response_format" not in body
