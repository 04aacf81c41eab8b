"""A test of the connection: the model is told to call a tool with a word, and to answer with what it returns."""

import re

from demo.model.conversation import Call, Reply, Talk

_CALL = re.compile(r"\bcall the tool (\w+)(?: once)? with the word (\w+)", re.IGNORECASE)


def follow(talk: Talk) -> Reply:
    """The call, or what it has returned."""
    if talk.found:
        return Reply(talk.found[-1].content)
    asked = _CALL.search(talk.instructions)
    offer = next((each for each in talk.tools.offers if asked and each.name == asked[1]), None)
    if offer is None or asked is None or not talk.may_call:
        return Reply("There is no such tool.")
    return Reply(calls=(Call(offer.name, dict.fromkeys(offer.required, asked[2])),))
