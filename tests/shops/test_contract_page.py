"""docs/reference/shop-api.md against the code that reads what shops send."""

import re
from pathlib import Path
from typing import get_args

import pytest

from bot.shops.port import OrderStatus, ParcelStatus, PaymentStatus
from bot.shops.wire import CUSTOMER_ID, ORDER_ID, TRACKING_NUMBER, CustomersAnswer, OrderAnswer, ParcelAnswer

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "shop-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.contract


def test_the_examples_are_answers_that_the_code_takes() -> None:
    customers, order, parcel = EXAMPLES
    assert CustomersAnswer.model_validate_json(customers).customers[0].id == "cus_a"
    assert OrderAnswer.model_validate_json(order).read().parcels
    assert ParcelAnswer.model_validate_json(parcel).read().events


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (r"\| `status` \| word \| `pending`", OrderStatus),
        (r"\| `payment`", PaymentStatus),
        (r"\| `status` \| word \| `label", ParcelStatus),
    ],
)
def test_every_word_of_a_list_is_on_the_page_and_no_other(row: str, kind: object) -> None:
    line = next(line for line in PAGE.splitlines() if re.match(row, line))
    assert set(re.findall(r"`(\w+)`", line.split("|", 3)[3])) == set(get_args(kind)) - {"unknown"}


@pytest.mark.parametrize("model", [OrderAnswer, ParcelAnswer])
def test_every_field_that_is_read_is_on_the_page(model: type[OrderAnswer | ParcelAnswer]) -> None:
    for name in model.model_fields:
        assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        ("`[A-Za-z0-9_-]`, 1 to 64 characters", CUSTOMER_ID),
        ("`[A-Z0-9]`, then `[A-Z0-9_-]`, up to 40", ORDER_ID),
        ("`[A-Z0-9]`, then `[A-Z0-9-]`, 6 to 40", TRACKING_NUMBER),
    ],
)
def test_the_form_of_an_identifier_is_the_one_on_the_page(said: str, pattern: str) -> None:
    longest = int(said.split("to ")[1].split()[0])
    assert said in PAGE
    assert re.fullmatch(pattern, "A" * longest)
    assert not re.fullmatch(pattern, "A" * (longest + 1))
