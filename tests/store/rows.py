"""Rows for tests."""

from bot.conversation import ThreadRef
from bot.store.cases import Case
from tests.turns.arrivals import TEAM


def a_case() -> Case:
    """A case of Customer A that waits."""
    return Case(
        id=0,
        thread=ThreadRef(TEAM, "D0CUSTOMERA", "1.1"),
        customer="U0CUSTOMERA",
        customer_name="Customer A",
        standing="member",
        link="",
        language="en",
        state="waiting",
        version=1,
        reason="asked_for_person",
        priority="medium",
        title="Where is my order?",
        summary="",
        owner=None,
        owner_name=None,
        opened_at=1.0,
        claimed_at=None,
        ended_at=None,
    )
