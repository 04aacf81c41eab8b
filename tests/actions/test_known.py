"""What an answer may say of a thread's actions, and what the model is told of them."""

from dataclasses import replace

import pytest

from bot.actions.known import may_be_claimed, note_on
from bot.guard.claim_patterns import load_wordings
from bot.guard.claims import Grounds, find_claims, folded
from bot.store.actions import Action, State
from tests.actions.test_action import an_action

DONE = an_action("done", subject="order/ORD-67890", money=-8950, currency="USD")


def is_borne(text: str, *actions: Action) -> bool:
    claims = list(find_claims(folded(text), load_wordings()))
    assert claims, text
    grounds = Grounds(results=list, passages=list, done=may_be_claimed(actions))
    return all(grounds.bear(claim) for claim in claims)


@pytest.mark.parametrize(
    "text",
    [
        "I have cancelled order ORD-67890.",
        "I cancelled order ORD-67890 and refunded 89.50 USD.",
        "I have refunded 89.50 USD.",
    ],
)
def test_what_was_done_may_be_said(text: str) -> None:
    assert is_borne(text, DONE)


@pytest.mark.parametrize(
    "text",
    [
        "I have cancelled order ORD-12345.",
        "I have refunded 500.00 USD.",
        "I have changed the address of order ORD-67890.",
    ],
)
def test_no_more_than_that_may_be_said(text: str) -> None:
    assert not is_borne(text, DONE)


@pytest.mark.parametrize(
    "state", ["offered", "approving", "ready", "executing", "unknown", "stuck", "partly", "failed"]
)
def test_what_is_not_known_to_be_done_may_not_be_said(state: State) -> None:
    assert not is_borne("I have cancelled order ORD-67890.", replace(DONE, state=state))


def test_a_return_is_no_refund() -> None:
    assert not is_borne("I have refunded 89.50 USD.", replace(DONE, kind="return_items"))


def test_the_model_reads_what_is_done_and_what_is_not() -> None:
    note = note_on([replace(DONE, state="unknown"), DONE])
    assert note.splitlines()[1:] == [
        "- cancel order ORD-67890, -89.50 USD: sent; it is not known whether it took effect",
        "- cancel order ORD-67890, -89.50 USD: done",
    ]
    assert note_on([]) == ""
