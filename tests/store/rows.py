"""Rows for tests."""

from dataclasses import replace
from typing import Any

from bot.conversation import ThreadRef
from bot.store.cases import Case
from bot.store.turns import TurnRecord
from tests.turns.arrivals import TEAM

THREAD = ThreadRef(TEAM, "D0CUSTOMERA", "1.1")
CASE = Case(
    id=0,
    thread=THREAD,
    customer="U0CUSTOMERA",
    customer_name="Customer A",
    member_type="member",
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
TURN = TurnRecord(
    id=1,
    thread=THREAD,
    episode=0,
    ts=THREAD.ts,
    customer="U0CUSTOMERA",
    agent="answers",
    ended="answered",
    reason="",
    messages=[],
    sources=[],
    confidence=1.0,
    input_tokens=0,
    output_tokens=0,
)


def a_case(**fields: Any) -> Case:
    """A case of Customer A that waits, if nothing else is said of it."""
    return replace(CASE, **fields)


def a_turn(**fields: Any) -> TurnRecord:
    """The answer to Customer A's first message, if nothing else is said of it."""
    return replace(TURN, **fields)
