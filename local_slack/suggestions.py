"""Options that an app offers while somebody types into an external select (`block_suggestion`)."""

import copy
from collections import OrderedDict

from local_slack.blocks import elements, message_faults
from local_slack.workspace import Json, SlackError

KEPT = 500
QUERY_CHARACTERS = 3
"""How much has to be typed before the app is asked, unless the element says otherwise."""

_EXTERNAL = ("external_select", "multi_external_select")


class Suggestions:
    """What was offered last in each external select; only that can be chosen."""

    def __init__(self) -> None:
        self._offered: OrderedDict[tuple[str, str, str], Json] = OrderedDict()

    def offer(self, container: str, block_id: str, element: Json, answer: Json) -> Json:
        """Keep the app's answer; it comes back as `{"options"}` or `{"option_groups"}`. Raises `invalid_options`."""
        offered = {name: answer[name] for name in ("options", "option_groups") if answer.get(name)}
        if len(answer.keys() & {"options", "option_groups"}) != 1 or (offered and _faults(offered)):
            raise SlackError("invalid_options")
        self._offered[container, block_id, element["action_id"]] = offered
        while len(self._offered) > KEPT:
            self._offered.popitem(last=False)
        return offered or {"options": []}

    def filled(self, container: str, blocks: list[Json]) -> list[Json]:
        """The blocks with what was offered in the external selects of this message or view."""
        blocks = copy.deepcopy(blocks)
        for block_id, element in elements(blocks):
            element.update(self._offered.get((container, block_id, element["action_id"]), {}))
        return blocks


def check_query(element: Json, query: str) -> None:
    """Raises what Slack's client would not do: ask for a list that is not external, or before enough was typed."""
    if element["type"] not in _EXTERNAL:
        raise SlackError("action_not_found")
    if len(query) < element.get("min_query_length", QUERY_CHARACTERS):
        raise SlackError("query_too_short")


def _faults(offered: Json) -> bool:
    """A list of options obeys the rules of those that are written into a select."""
    select = {"type": "static_select", "action_id": "any", **offered}
    return any(message_faults([{"type": "actions", "elements": [select]}]))
