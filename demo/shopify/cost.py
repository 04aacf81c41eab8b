"""What a document can cost, by Shopify's published rule: an object costs a point, a list as many times what it holds
as it is asked for, a mutation ten. Shopify may count less: it publishes no exact rule for lists in lists."""

from collections.abc import Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    VariableNode,
    get_named_type,
)

MUTATION_COST = 10


def cost_of(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> int:
    """The points of the document's operation."""
    fragments = {each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)}
    operation = next(each for each in document.definitions if isinstance(each, OperationDefinitionNode))
    if operation.operation is OperationType.MUTATION:
        return MUTATION_COST
    root = schema.query_type
    return _selected(operation.selection_set, root, fragments, variables, schema) if root else 0


def objects_in(data: object) -> int:
    """The objects of an answer: what it really costs."""
    match data:
        case dict():
            return 1 + sum(objects_in(each) for each in data.values())
        case list():
            return sum(objects_in(each) for each in data)
        case _:
            return 0


def _selected(
    selections: SelectionSetNode,
    parent: GraphQLObjectType,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    schema: GraphQLSchema,
    times: int = 1,
) -> int:
    """`times`: for how many nodes the list asks in which these fields are."""
    total = 0
    for each in selections.selections:
        match each:
            case FragmentSpreadNode():
                inner = fragments[each.name.value].selection_set
                total += _selected(inner, parent, fragments, variables, schema, times)
            case InlineFragmentNode():
                total += _selected(each.selection_set, parent, fragments, variables, schema, times)
            case FieldNode(selection_set=SelectionSetNode() as inner):
                total += _field(each, inner, parent, fragments, variables, schema, times)
    return total


def _field(
    field: FieldNode,
    inner: SelectionSetNode,
    parent: GraphQLObjectType,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    schema: GraphQLSchema,
    times: int,
) -> int:
    kind = get_named_type(parent.fields[field.name.value].type)
    if not isinstance(kind, GraphQLObjectType):
        return 0
    if kind.name.endswith("Connection"):
        return _selected(inner, kind, fragments, variables, schema, _first(field, variables))
    if field.name.value == "nodes":
        return times * (1 + _selected(inner, kind, fragments, variables, schema))
    return _first(field, variables) * (1 + _selected(inner, kind, fragments, variables, schema))


def _first(field: FieldNode, variables: Mapping[str, Any]) -> int:
    for argument in field.arguments or ():
        if argument.name.value == "first":
            match argument.value:
                case IntValueNode(value=text):
                    return int(text)
                case VariableNode(name=name):
                    return int(variables.get(name.value) or 1)
    return 1
