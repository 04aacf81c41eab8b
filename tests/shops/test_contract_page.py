"""docs/reference/shop-api.md against the code that reads what shops send."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from bot.shops.action_wire import ActionBody, CapabilitiesAnswer, OutcomeAnswer, QuoteAnswer
from bot.shops.actions import ActionKind, Arguments, Reason, RefusalReason
from bot.shops.port import OrderStatus, ParcelStatus, PaymentKind, PaymentStatus
from bot.shops.wire import (
    CUSTOMER_ID,
    ORDER_ID,
    RECORD_ID,
    REVISION,
    TRACKING_NUMBER,
    CustomersAnswer,
    OrderAnswer,
    ParcelAnswer,
    PaymentMethodsAnswer,
    ProductAnswer,
)

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "shop-api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.contract


def test_the_examples_are_answers_that_the_code_takes() -> None:
    customers, order, whole, parcel, product, methods, capabilities, quote, outcome = EXAMPLES
    assert CustomersAnswer.model_validate_json(customers).customers[0].id == "cus_a"
    assert OrderAnswer.model_validate_json(order).read().parcels
    assert OrderAnswer.model_validate_json(whole).read().lines[0].returnable == 1
    assert ParcelAnswer.model_validate_json(parcel).read("ORD-12345").events
    assert ProductAnswer.model_validate_json(product).read().variants
    assert PaymentMethodsAnswer.model_validate_json(methods).read()
    assert len(CapabilitiesAnswer.model_validate_json(capabilities).actions) == 2
    assert QuoteAnswer.model_validate_json(quote).read(irreversible=False).money
    assert OutcomeAnswer.model_validate_json(outcome).read().state == "done"


def test_the_request_on_the_page_is_one_that_is_sent() -> None:
    body = next(line for line in PAGE.splitlines() if line.startswith('{"arguments"'))
    assert ActionBody.model_validate_json(body).expected().back == 13_900


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (r"\| `status` \| word \| `pending`", OrderStatus),
        (r"\| `payment`", PaymentStatus),
        (r"\| `status` \| word \| `label", ParcelStatus),
        (r"\| `reason` \| `changed", Reason),
    ],
)
def test_every_word_of_a_list_is_on_the_page_and_no_other(row: str, kind: object) -> None:
    line = next(line for line in PAGE.splitlines() if re.match(row, line))
    words = line.split("|", 2)[2].removeprefix(" word |")
    assert set(re.findall(r"`(\w+)`", words)) == set(get_args(kind)) - {"unknown"}


@pytest.mark.parametrize(("heading", "words"), [("| action |", ActionKind), ("| code | meaning", RefusalReason)])
def test_every_word_of_a_table_is_on_the_page_and_no_other(heading: str, words: object) -> None:
    table = PAGE[PAGE.index(heading) :].split("\n\n")[0].splitlines()[2:]
    assert {row.split("`")[1] for row in table} == set(get_args(words))


def test_every_argument_and_kind_of_payment_is_on_the_page() -> None:
    table = PAGE[PAGE.index("| argument |") :].split("\n\n")[0].splitlines()[2:]
    assert {row.split("`")[1] for row in table} == {field.name for field in fields(Arguments)}
    line = next(line for line in PAGE.splitlines() if line.startswith("| `payments`"))
    assert set(get_args(PaymentKind)) <= set(re.findall(r"`(\w+)`", line))


@pytest.mark.parametrize("model", [OrderAnswer, ParcelAnswer, OutcomeAnswer])
def test_every_field_that_is_read_is_on_the_page(model: type[OrderAnswer | ParcelAnswer | OutcomeAnswer]) -> None:
    for name in model.model_fields:
        assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        ("`[A-Za-z0-9_-]`, 1 to 64 characters", CUSTOMER_ID),
        ("`[A-Z0-9]`, then `[A-Z0-9_-]`, up to 40", ORDER_ID),
        ("`[A-Z0-9]`, then `[A-Z0-9-]`, 6 to 40", TRACKING_NUMBER),
        ("`[A-Za-z0-9]`, then `[A-Za-z0-9_.:-]`, up to 64", RECORD_ID),
        ("`[A-Za-z0-9_.:-]`, 1 to 64", REVISION),
    ],
)
def test_the_form_of_an_identifier_is_the_one_on_the_page(said: str, pattern: str) -> None:
    longest = int(said.split("to ")[1].split()[0])
    assert said in PAGE
    assert re.fullmatch(pattern, "A" * longest)
    assert not re.fullmatch(pattern, "A" * (longest + 1))
