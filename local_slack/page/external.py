"""Selects whose options the app offers while one types: a field for the words beside the list of what came."""

from collections.abc import Iterable

from local_slack.page.html import Html, element
from local_slack.page.loose import Json, mapping, sequence, string
from local_slack.suggestions import QUERY_CHARACTERS


def labelled(options: Iterable[object]) -> list[tuple[str, str]]:
    """The value and the text of each option."""
    return [
        (string(each.get("value")), string(mapping(each.get("text")).get("text"))) for each in map(mapping, options)
    ]


def chosen_at_first(data: Json) -> list[tuple[str, str]]:
    """What can be chosen before anything is typed."""
    return labelled([*sequence(data.get("initial_options")), *filter(None, [data.get("initial_option")])])


def offered(answer: Json) -> list[tuple[str, str]]:
    """What the app offers, in groups or not."""
    grouped = [
        each for group in sequence(answer.get("option_groups")) for each in sequence(mapping(group).get("options"))
    ]
    return labelled([*sequence(answer.get("options")), *grouped])


def with_query(data: Json, named: Json, select: Html) -> Html:
    """The list with the field before it. `named`: the attributes that tell the element."""
    least = data.get("min_query_length")
    least = least if isinstance(least, int) else QUERY_CHARACTERS
    hint = string(mapping(data.get("placeholder")).get("text")) or "Type to search…"
    field = {
        "type": "text",
        "class": "text-input",
        "autocomplete": "off",
        "placeholder": hint,
        "aria-label": f"{hint} ({least} letters or more)" if least else hint,
        "data-suggest": least,
        "data-of": named.get("data-action-id"),
        "data-in": named.get("data-block-id"),
    }
    return element("div", {"class": "external"}, element("input", field), select)
