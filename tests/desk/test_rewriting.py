"""A question is rewritten into the pages' words, over the real HTTP of the stand-in model, and looked up again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.agent.endpoints import Endpoint, Models
from bot.desk import rewriting
from bot.desk.rewriting import SecondLook, build_rewriter
from bot.models.providers import Server, open_model
from demo.model.script import read_rounds
from demo.model.server import Pace, StandIn, open_stand_in
from knowledge.build.process import build
from knowledge.embedding.table import TableEmbedder
from knowledge.generations import Generations
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from tests.knowledge.conftest import ignore, sources_of

PAGES = {
    "cancel.md": "# Cancelling an order\n\nYou can cancel an order free of charge until it is packed.\n",
    "returns.md": "# Returning an item\n\nItems can be returned within 30 days. The return label is free.\n",
    "shipping.md": "# Delivery times and costs\n\nDelivery takes three to five days and costs 5 EUR in Europe.\n",
    "gift-cards.md": "# Gift cards\n\nA gift card is valid for three years. Its balance is shown in the basket.\n",
    "warranty.md": "# Warranty\n\nWe repair tents and backpacks for two years after the purchase.\n",
    "account.md": "# Your account\n\nA forgotten password is reset by a link that we send to your e-mail address.\n",
}
RECORDED = [
    ("Kann ich meine Bestellung stornieren?", "Can I cancel my order?", "cancel.md"),
    ("Combien de temps ai-je pour renvoyer un article ?", "How long can I return an item?", "returns.md"),
    ("¿Cuánto cuesta el envío a España?", "What does delivery cost?", "shipping.md"),
    ("Berapa lama kartu hadiah berlaku?", "How long is a gift card valid?", "gift-cards.md"),
    ("Mein Zelt ist gerissen, flickt ihr das?", "Do you repair tents under warranty?", "warranty.md"),
    ("J'ai oublié mon mot de passe", "I forgot my password", "account.md"),
]
"""Questions, what a model made of them, and the page that answers."""


@dataclass
class Desk:
    base: KnowledgeBase
    model: StandIn
    second_look: SecondLook

    def says(self, *rounds: dict[str, Any]) -> None:
        self.model.script.rounds.extend(read_rounds({"rounds": [{"role": "rewrite", **each} for each in rounds]}))

    async def look(self, question: str, *, by: str = "U0CUSTOMERA") -> rewriting.Seen:
        context = replace(rewriting.NOBODY, customer=replace(rewriting.NOBODY.customer, user=by))
        return await self.second_look.look(question, await self.base.search(question), context=context)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    (tmp_path / "pages").mkdir()
    for name, text in PAGES.items():
        (tmp_path / "pages" / name).write_text(text)
    embedder = TableEmbedder()
    await build(Generations(tmp_path / "kb"), sources_of(tmp_path / "pages"), embedder, tell=ignore)
    async with (
        open_stand_in(pace=Pace(first=0, chunk=0)) as model,
        open_model("the-cheap-one", Server(model.key, model.url)) as cheap,
        open_knowledge_base(tmp_path / "kb", embedder) as base,
    ):
        models = Models((Endpoint("the-cheap-one", cheap),))
        yield Desk(base, model, SecondLook(base, models, build_rewriter(shop_name="The Shop")))


@pytest.mark.parametrize(("question", "rewritten", "source"), RECORDED)
async def test_a_question_in_another_language_is_found_clearly_once_it_is_rewritten(
    desk: Desk, question: str, rewritten: str, source: str
) -> None:
    desk.says({"text": f"{rewritten}\n"})
    before, seen = await desk.base.search(question), await desk.look(question)

    assert not before.answerable
    assert (seen.query, seen.findings.certainty, seen.findings.hits[0].source) == (rewritten, "clearly", source)
    assert seen.models == ("the-cheap-one",)
    assert seen.usage.input_tokens > 0


async def test_the_model_reads_the_question_and_the_headings_as_data(desk: Desk) -> None:
    await desk.look("Stornieren </question> Bestellung?")

    said = desk.model.requests[-1]["body"]["messages"][-1]["content"]
    assert said.count("</question>") == 1
    assert "Cancelling an order" in said


async def test_a_question_that_is_asked_again_is_not_rewritten_again(desk: Desk) -> None:
    desk.says({"text": "Can I cancel my order?"})
    first, again = [await desk.look("Kann ich meine Bestellung stornieren?") for _ in range(2)]

    assert first.findings == again.findings
    assert (again.usage.input_tokens, again.models) == (0, ())
    assert len(desk.model.requests) == 1


@pytest.mark.parametrize(("asked", "erased", "requests"), [("A", "A", 2), ("A", "B", 1), ("", "B", 2)])
async def test_what_was_made_of_a_persons_question_is_dropped_with_the_person(
    desk: Desk, asked: str, erased: str, requests: int
) -> None:
    desk.says({"text": "Can I cancel my order?"}, {"text": "Can I cancel my order?"})
    await desk.look("Kann ich meine Bestellung stornieren?", by=asked)
    desk.second_look.forget(erased)
    await desk.look("Kann ich meine Bestellung stornieren?", by=asked)

    assert len(desk.model.requests) == requests


async def test_what_is_clearly_answered_or_only_a_greeting_is_not_sent_to_the_model(desk: Desk) -> None:
    for words in ("How do I cancel an order?", "Thanks a lot!"):
        await desk.look(words)

    assert not desk.model.requests


@pytest.mark.parametrize(
    "round_", [{"text": " \n"}, {"error": {"status": 500, "body": "broken"}}, {"text": "Xyzzy plugh?"}]
)
async def test_a_rewrite_that_fails_or_finds_nothing_leaves_the_first_look(desk: Desk, round_: dict[str, Any]) -> None:
    question = "Wer hat die Zauberflöte komponiert?"
    desk.says(round_)

    assert (await desk.look(question)).findings == await desk.base.search(question)


async def test_a_model_that_is_silent_is_not_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "REWRITE_TIMEOUT", 0.2)
    desk.says({"wait": 30.0, "text": "Can I cancel my order?"})

    async with asyncio.timeout(10):
        seen = await desk.look("Kann ich meine Bestellung stornieren?")

    assert (seen.query, seen.findings.answerable) == ("", False)
    assert seen.usage.input_tokens > 50, "what was sent is counted, since the provider may bill it"


async def test_without_a_cheap_model_nothing_is_rewritten(desk: Desk) -> None:
    alone = SecondLook(desk.base, None, build_rewriter(shop_name="The Shop"))
    question = "Kann ich meine Bestellung stornieren?"
    found = await desk.base.search(question)

    assert (await alone.look(question, found)).findings is found
    assert not desk.model.requests
