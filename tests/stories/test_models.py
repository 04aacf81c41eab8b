"""Which model is asked, and in which API."""

from pathlib import Path

from bot.desk.danger.classifier import find_danger
from bot.language.sentences import load_sentences
from demo.model.server import open_stand_in
from tests.stories.stage import Stage

NOWHERE = "http://127.0.0.1:9/v1"
"""Where nobody listens."""


async def test_an_order_is_looked_up_over_the_responses_api(stage: Stage, tmp_path: Path) -> None:
    async with stage.open_world(tmp_path, env={"OPENAI_API": "responses", "OPENAI_REASONING_EFFORT": "low"}) as world:
        asked = await world.customer.says("Where is ORD-1001?")
        answer = await world.customer.reads(asked)
        assert "ORD-1001" in answer.text
        requests = await world.model_requests()
    assert {request["path"] for request in requests} == {"/v1/responses"}
    assert all(request["by"] != "refusal" for request in requests)
    assert all(request["body"]["store"] is False for request in requests)
    kinds = [item.get("type") for item in requests[-1]["body"]["input"]]
    assert {"reasoning", "function_call", "function_call_output"} <= set(kinds), "thoughts go back with their calls"
    assert kinds.index("reasoning") < kinds.index("function_call")


async def test_a_fallback_at_another_server_answers_while_the_first_is_away(stage: Stage, tmp_path: Path) -> None:
    async with open_stand_in() as other:
        env = {
            "OPENAI_BASE_URL": NOWHERE,
            "FALLBACK_MODEL": "the-other-one",
            "FALLBACK_BASE_URL": other.url,
            "FALLBACK_API_KEY": other.key,
        }
        async with stage.open_world(tmp_path, env=env) as world:
            asked = await world.customer.says("Where is ORD-1001?")
            answer = await world.customer.reads(asked)
            assert "ORD-1001" in answer.text
        assert {request["body"]["model"] for request in other.requests} == {"the-other-one"}


async def test_the_cheap_model_hears_what_the_classifier_misses(stage: Stage, tmp_path: Path) -> None:
    words = "How long do returns take? I see no way out."
    assert find_danger(words) is None
    async with stage.open_world(tmp_path, env={"OPENAI_CHEAP_MODEL": "the-cheap-one"}) as world:
        asked = await world.customer.says(words)
        safe = load_sentences().say("en", "in_crisis")
        await world.customer.reads(asked, having=lambda seen: safe in seen.text)
        await world.card_of(asked)
        looks = [request for request in await world.model_requests() if request["role"] == "danger"]
    assert [look["body"]["model"] for look in looks] == ["the-cheap-one"]


async def test_the_cheap_model_rewrites_a_question_in_another_language_than_the_pages(
    stage: Stage, tmp_path: Path
) -> None:
    async with stage.open_world(tmp_path, env={"OPENAI_CHEAP_MODEL": "the-cheap-one"}) as world:
        asked = await world.customer.says("Wie lange kann ich einen Artikel zurückgeben?")
        answer = await world.customer.reads(asked)
        rewrites = [request for request in await world.model_requests() if request["role"] == "rewrite"]
    assert "https://help.example.com/returns" in answer.text
    assert [rewrite["body"]["model"] for rewrite in rewrites] == ["the-cheap-one"]
