"""Conversations are played in the demo: a sample of all of them, and a few with a model at an address of its own."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from demo.model.server import MODEL, Pace, open_stand_in
from evals.conversations.__main__ import SETS, read_sets, sample
from tests.patience import patience

ROOT = Path(__file__).parents[2]
LEAST = 0.9
"""The share of the sample that must pass. Twice as many fail here as on a quiet machine before that is too few."""
SAMPLE_TIMEOUT = 900.0
FEW_TIMEOUT = 240.0


async def plays(*arguments: str, within: float, **environment: str) -> tuple[dict[str, Any], str]:
    """Play conversations; the figures, and all that was printed."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "evals.conversations", "--brief", *arguments),
        cwd=ROOT,
        env=surroundings | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(patience(within)):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    told = output.decode()
    lines = [line for line in told.splitlines() if line.startswith("{")]
    assert lines, told
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures, told


def test_a_sample_has_every_category_and_is_always_the_same() -> None:
    talks = read_sets(SETS)
    few = sample(talks, 3)
    assert {talk["category"] for talk in few} == {talk["category"] for talk in talks}
    assert few == sample(talks, 3)
    assert len(talks) / 3 <= len(few) <= len(talks) / 3 + len({talk["category"] for talk in talks})


@pytest.mark.conversations
@pytest.mark.timeout(0)
async def test_what_customers_read_in_a_sample_of_the_conversations_is_right() -> None:
    figures, told = await plays("--every", "3", within=SAMPLE_TIMEOUT)
    assert figures["unplayed"] == [], told
    assert figures["passed"] >= LEAST * figures["asked"], told
    assert figures["asked"] >= 90


@pytest.mark.timeout(0)
async def test_a_model_at_an_address_of_its_own_is_played_and_its_tokens_and_cost_are_told(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yml"
    prices.write_text(f"{MODEL}: {{input: 2, cached: 2, output: 8}}\n", encoding="utf-8")
    async with open_stand_in(pace=Pace(0.0)) as model:
        figures, told = await plays(
            *("--only", "our-follow-up-4,manners-offer-1"),
            within=FEW_TIMEOUT,
            OPENAI_API_KEY=model.key,
            OPENAI_BASE_URL=model.url,
            OPENAI_MODEL=MODEL,
            MODEL_PRICES=str(prices),
        )
        asked = list(model.requests)
    assert (figures["asked"], figures["passed"]) == (2, 2), told
    assert len(asked) >= 2, "the model at the address was asked"
    assert figures["models"] == [MODEL]
    assert figures["input_tokens"] > 1_000
    assert figures["output_tokens"] > 0
    expected = figures["input_tokens"] * 2e-6 + figures["output_tokens"] * 8e-6
    assert 0 < figures["cost"] <= expected + 0.0001
    assert figures["seconds"] > 0
