"""One real round against each model, as `frontdesk check` plays it."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.agent.endpoints import Endpoint, Price
from bot.integrations import try_models
from bot.models.providers import Server, open_model
from bot.models.trial import try_model
from bot.settings import Settings
from tests.agent.strict.server import FAMILIES, Family, open_strict_server
from tests.doubles.chat_server import open_chat_server, refuses, text


@pytest.mark.parametrize("family", [each for each in FAMILIES if not each.load_seconds], ids=lambda each: each.name)
async def test_a_trial_says_what_had_to_be_left_out_and_what_is_booked(family: Family) -> None:
    async with open_strict_server(family) as server:
        at = Server("k", server.url, api=family.api)  # type: ignore[arg-type]
        async with open_model(family.model, at, **family.settings) as model:
            trial = await try_model(
                Endpoint(family.model, model, Price(1.0, 0.5, 2.0, 1.25), left_out=model.dialect.left_out)
            )
    assert trial.failure == ""
    assert trial.called
    assert trial.first_token is not None
    assert {*trial.left_out} == {*model.dialect.left_out}
    if family.api == "chat":  # two rounds, with what is written to a cache
        assert trial.usage.cost == pytest.approx(2 * (200 + 600 * 0.5 + 1_200 * 1.25 + 100 * 2.0) / 1e6)
    assert "it called the tool" in trial.note()


def settings_for(url: str) -> Settings:
    return Settings.model_validate(
        {"openai_api_key": "k", "openai_base_url": url, "openai_model": "our-model", "model_loading_seconds": 0}
    )


async def test_a_model_that_refuses_the_round_is_a_fault_in_the_providers_words() -> None:
    async with open_chat_server() as server:
        server.will(refuses(400, {"message": "Tools are not enabled here.", "code": "no_tools"}))
        faults, told = await try_models(settings_for(server.url))
    assert faults.wrong == ["our-model does not answer: refused_request: 400 no_tools, “Tools are not enabled here.”"]
    assert told == []


async def test_a_model_that_ends_or_is_not_there_is_told_by_its_server() -> None:
    async def card(request: web.Request) -> web.Response:
        if request.match_info["name"] == "our-model":
            return web.json_response({"id": "our-model", "shutdown_date": "2027-03-01"})
        return web.json_response({"error": {"message": "no such model", "code": "model_not_found"}}, status=404)

    async def answer(request: web.Request) -> web.Response:
        message = {"role": "assistant", "content": "all is well"}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    app = web.Application()
    app.add_routes([web.get("/v1/models/{name}", card), web.post("/v1/chat/completions", answer)])
    async with TestServer(app) as server:
        settings = settings_for(str(server.make_url("/v1")))
        settings = settings.model_copy(update={"openai_cheap_model": "gone"})
        faults, told = await try_models(settings)
    assert faults.wrong == ["its server has no model gone"]
    assert told[0] == "our-model ends on 2027-03-01"


async def test_a_model_that_calls_no_tool_is_a_note() -> None:
    async with open_chat_server() as server:
        server.will(text("all is well"))
        faults, told = await try_models(settings_for(server.url))
    assert faults.faults == []
    assert ["it did not call the tool" in line and "no price is known" in line for line in told] == [True]


@pytest.mark.parametrize("takes", [True, False])
async def test_a_trial_tries_an_image_and_says_whether_it_was_taken(*, takes: bool) -> None:
    refusal = refuses(400, {"message": "Invalid content type. image_url is only supported by certain models."})
    async with open_chat_server() as server:
        server.will(*([] if takes else [refusal]), text("all is well"))
        async with open_model("our-model", Server("k", server.url), images=True) as model:
            dialect = model.dialect
            endpoint = Endpoint(
                "our-model", model, left_out=dialect.left_out, takes_images=lambda: dialect.takes_images
            )
            trial = await try_model(endpoint)
    assert trial.failure == ""
    assert trial.took_image is takes
    assert list(trial.left_out) == ([] if takes else ["images"])
    assert ("it takes images" in trial.note()) is takes
