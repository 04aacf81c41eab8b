"""The floor on bases of a few pages, and on questions in other words and other languages than the pages'."""

from pathlib import Path

import pytest

from knowledge.build.process import build
from knowledge.embedding.embedder import Vectors
from knowledge.embedding.table import TableEmbedder
from knowledge.errors import EmbedderFailed
from knowledge.generations import Generations
from knowledge.knowledge_base import open_knowledge_base
from tests.knowledge.conftest import ignore, sources_of

SHOP = {
    "repairs.md": "# Repairs\n\nWe repair bicycles while you wait.\n\n## Prices\n\n| Repair | Price |\n| --- | --- |\n"
    "| Flat tyre, inner tube included | 12 EUR |\n| Brake adjustment | 9 EUR |\n| New chain | 25 EUR |\n",
    "hours.md": "# Opening hours\n\nMonday to Friday 9:00 to 18:00, Saturday 10:00 to 14:00. Closed on Sundays.\n",
    "rental.md": "# Renting a bike\n\nA city bike costs 15 EUR a day, an e-bike 35 EUR. Bring an identity card.\n",
    "returns.md": "# Returns\n\nNew bikes can be returned within 14 days. The money is paid back to your card.\n",
}


class Silent(TableEmbedder):
    """An embedder that gives no vectors."""

    async def embed_query(self, text: str) -> Vectors:
        raise EmbedderFailed("The service is gone.")


@pytest.fixture
async def shop(tmp_path: Path, embedder: TableEmbedder) -> Path:
    """A base of four short pages."""
    (tmp_path / "pages").mkdir()
    for name, text in SHOP.items():
        (tmp_path / "pages" / name).write_text(text)
    await build(Generations(tmp_path / "kb"), sources_of(tmp_path / "pages"), embedder, tell=ignore)
    return tmp_path / "kb"


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("When are you open at the weekend?", "hours.md"),
        ("Can I give my bike back?", "returns.md"),
        ("How much is a new chain?", "repairs.md"),
        ("Do I get my money back?", "returns.md"),
        ("flat tyre repair price", "repairs.md"),
    ],
)
async def test_a_base_of_four_pages_answers_questions_in_other_words(
    shop: Path, embedder: TableEmbedder, question: str, source: str
) -> None:
    async with open_knowledge_base(shop, embedder) as base:
        findings = await base.search(question)

    assert (findings.hits[0].source, findings.answerable) == (source, True)


@pytest.mark.parametrize(
    "question", ["How do I tune a violin?", "What is the capital of Mongolia?", "Wie koche ich Reis?"]
)
async def test_a_base_of_four_pages_refuses_foreign_questions(
    shop: Path, embedder: TableEmbedder, question: str
) -> None:
    async with open_knowledge_base(shop, embedder) as base:
        assert not (await base.search(question)).answerable


@pytest.mark.parametrize(
    "question", ["How do I oil my chain at home?", "What does insurance cost?", "Can I pay by card?"]
)
async def test_a_base_of_four_pages_does_not_clearly_answer_what_shares_a_word_with_them(
    shop: Path, embedder: TableEmbedder, question: str
) -> None:
    async with open_knowledge_base(shop, embedder) as base:
        assert (await base.search(question)).certainty == "perhaps"


@pytest.mark.parametrize("pages", [1, 2, 4])
async def test_one_word_in_common_is_no_clear_answer_in_a_base_searched_by_words_alone(
    tmp_path: Path, embedder: TableEmbedder, pages: int
) -> None:
    (tmp_path / "pages").mkdir()
    for name, text in list(SHOP.items())[:pages]:
        (tmp_path / "pages" / name).write_text(text)
    await build(Generations(tmp_path / "kb"), sources_of(tmp_path / "pages"), embedder, tell=ignore)

    async with open_knowledge_base(tmp_path / "kb", Silent()) as base:
        findings = await base.search("Where can I buy a chain for a swing?")

    assert (len(findings.hits), findings.degraded, findings.answerable) == (1, True, False)


@pytest.mark.parametrize(
    ("asked", "translated", "source"),
    [
        ("Kann ich meine Bestellung stornieren?", "Can I cancel my order?", "orders/cancel.md"),
        ("Comment annuler ma commande ?", "How do I cancel my order?", "orders/cancel.md"),
        ("Was kostet der Versand nach Spanien?", "What does delivery to Spain cost?", "shipping/delivery-times.md"),
        ("Bagaimana cara mengembalikan barang?", "How do I return an item?", "orders/returns.md"),
    ],
)
async def test_a_question_in_another_language_is_answered_once_it_is_translated(
    kb: Path, embedder: TableEmbedder, asked: str, translated: str, source: str
) -> None:
    async with open_knowledge_base(kb, embedder) as base:
        assert not (await base.search(asked)).answerable
        findings = await base.search(translated)

    assert (findings.hits[0].source, findings.answerable) == (source, True)
