"""What a sentence claims by the order of its words: its subject, its commas, and where it begins."""

import pytest

from bot.guard.claim_patterns import load_wordings
from bot.guard.claims import find_claims, folded

WORDINGS = load_wordings()


@pytest.mark.parametrize(
    ("harmless", "claiming"),
    [
        # One comma parts what is before it from a verb, two only put something in between.
        ("Your order was packed, cancelled items excluded.", "Our team has, as you asked, cancelled it."),
        # A verb at the beginning of a German clause says "if", and after a comma it does not.
        (
            "Wurde Ihre Bestellung storniert, bekommen Sie eine E-Mail.",
            "Wie gewünscht, wurde sie Ihnen storniert.",
        ),
        ("Wurde es storniert, sehen Sie das im Konto.", "Gestern wurde es storniert."),
    ],
)
def test_a_state_is_claimed_by_the_order_of_its_words(harmless: str, claiming: str) -> None:
    assert [text for text in (harmless, claiming) if claims_in(text)] == [claiming]


def test_a_claim_without_a_final_mark_begins_where_its_clause_does() -> None:
    assert claims_in("your order has been cancelled") == {"your order has been cancelled"}


def claims_in(text: str) -> set[str]:
    return {claim.words for claim in find_claims(folded(text), WORDINGS)}
