"""Every document that is sent to Shopify is one of its types, and costs no more than one request may."""

import pytest
from graphql import OperationDefinitionNode, OperationType, parse, validate

from bot.shops.shopify import documents
from demo.shopify.cost import cost_of
from demo.shopify.server import MOST_OF_ONE, load_schema

DOCUMENTS = {
    name: text
    for name, text in vars(documents).items()
    if name.isupper() and not name.startswith("_") and isinstance(text, str) and "{" in text
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_valid_and_cheap_enough(name: str) -> None:
    schema, document = load_schema(), parse(DOCUMENTS[name])
    assert validate(schema, document) == []
    assert cost_of(schema, document, {"first": documents.LISTED_ORDERS}) <= MOST_OF_ONE


def test_a_mutation_of_money_takes_a_key() -> None:
    operations = [
        each
        for text in DOCUMENTS.values()
        for each in parse(text).definitions
        if isinstance(each, OperationDefinitionNode) and each.operation is OperationType.MUTATION
    ]
    keyed = {
        each.name.value
        for each in operations
        if each.name and any(field.directives for field in each.selection_set.selections)
    }
    assert keyed == {"Refund"}
