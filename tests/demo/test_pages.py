"""The invented shop's help pages: well-formed, found by the knowledge base and quoted by the stand-in."""

from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
import yaml

from bot.desk.answers import passages_text
from demo.model.conversation import read_request
from demo.model.reply import decide
from demo.world import LINK_HOSTS, PAGES
from knowledge.embedding.table import TableEmbedder
from knowledge.knowledge_base import KnowledgeBase, open_knowledge_base
from tests.demo.model.requests import request

QUESTIONS = {
    "How do I return something?": ("Returns and exchanges", "press **Return an item**"),
    "How long does a refund take?": ("Refunds", "5 to 7 working days"),
    "How much is express shipping to Indonesia?": ("Shipping times and costs", "120,000 IDR"),
    "Is shipping free?": ("Shipping times and costs", "free from 80 USD"),
    "What happens if my parcel is lost?": ("Lost, late and damaged parcels", "lost when the carrier"),
    "How do I cancel an order?": ("Changing or cancelling an order", "**Cancel order**"),
    "Can I pay with PayPal?": ("Payment methods", "PayPal"),
    "How do I get an invoice?": ("Invoices and tax", "PDF"),
    "I forgot my password": ("Account and password", "Forgot your password"),
    "How long are gift cards valid?": ("Gift cards", "5 years"),
    "What does the warranty cover?": ("Warranty and repairs", "Seams"),
    "Do your shoes run small?": ("Sizes and fit", "half a size"),
    "How do I delete my account?": ("Privacy and your data", "Delete my account"),
    "What are your opening hours?": ("Contact and opening hours", "07:00 to 19:00"),
    "When do my points expire?": ("Trail Points", "24 months"),
    "Can I rent a tent?": ("Can I rent a tent?", "Not at present"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pages(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KnowledgeBase]:
    async with open_knowledge_base(tmp_path_factory.mktemp("kb"), TableEmbedder()) as base:
        await base.refresh(PAGES)
        yield base


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_names_its_address_category_and_day(page: Path) -> None:
    _, front, text = page.read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(front)
    assert set(fields) == {"title", "url", "category", "last_updated"}
    assert urlsplit(fields["url"]).hostname == LINK_HOSTS
    assert isinstance(fields["last_updated"], date)
    assert text.startswith(f"# {fields['title']}\n")
    assert text.count("\n## ") >= 2


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_customers_question_is_answered_from_its_page(pages: KnowledgeBase, question: str) -> None:
    page, words = QUESTIONS[question]
    found = passages_text(await pages.search(question), today=date(2026, 11, 20))
    answer = decide(read_request(request(question, passages=found)))
    assert not answer.calls
    assert f"**{page}**" in answer.text
    assert words in answer.text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("question", ["Who won the world cup?", "How do I fix my bicycle?", "Do you sell elephants?"])
async def test_the_pages_claim_nothing_about_other_things(pages: KnowledgeBase, question: str) -> None:
    assert not (await pages.search(question)).answerable
