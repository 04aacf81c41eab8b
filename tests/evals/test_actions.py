"""Changes of orders with the stand-in for the model: everything has to be right."""

import pytest

from evals.actions.__main__ import read_scenarios, run
from evals.actions.judging import judge
from evals.actions.playing import Played
from tests.patience import patience


@pytest.mark.long
async def test_what_customers_ask_for_is_what_the_shop_does() -> None:
    assert (await run(patience=patience(45.0)))["failed"] == []


def test_a_change_that_nobody_agreed_to_and_one_of_another_order_are_found() -> None:
    scenario = next(each for each in read_scenarios() if each["id"] == "cancel_and_no")
    offer = {"kind": "cancel_order", "order": "ORD-19283", "reason": "mistake"}
    right = Played(scenario, offers=[offer])
    assert not any(judge(right).values())
    wrong = Played(scenario, offers=[offer], done=[{}], changed={"ORD-1": {}})
    assert {name for name, fault in judge(wrong).items() if fault} == {"nothing_without_a_yes", "no_collateral_change"}
