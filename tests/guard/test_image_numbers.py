"""Numbers that only a customer's image holds."""

import pytest

from bot.agent.messages import CustomerMessage, Image
from bot.guard.grounding import EpisodeEvidence
from bot.guard.values import read_values

SHOWN = CustomerMessage("What is this?", images=(Image("image/png", "", 9, 9),))


def held(text: str, *messages: CustomerMessage) -> bool:
    grounding = EpisodeEvidence(results=tuple, messages=messages).grounding()
    values = list(read_values(text))
    assert values, text
    return all(grounding.holds(value, text) for value in values)


@pytest.mark.parametrize("text", ["Your image shows the order 10423.", "It says error 4021."])
def test_a_short_number_can_stand_in_an_image(text: str) -> None:
    assert held(text, SHOWN)
    assert not held(text, CustomerMessage("What is this?"))


@pytest.mark.parametrize(
    "text",
    [
        "Please call 0800 123 4567.",
        "Send it to DE89 3704 0044 0532 0130 00.",
        "The parcel is 00340434161094042557.",
        "You get 40 EUR back.",
        "You get 20 % off.",
        "It comes on 4 May 2026.",
        "Use the code SAVE100.",
    ],
)
def test_what_could_do_harm_is_not_taken_from_an_image(text: str) -> None:
    assert not held(text, SHOWN)
