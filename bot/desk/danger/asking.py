"""Asks the cheap model whether a message shows danger, for what the classifier does not find.

build_sorter  Builds the agent that is asked. It is alone in its team and has no tools.
framed        Puts the message into a frame that marks it as data for the agent.
danger_in     Returns the class that the agent's reply names.
"""

from bot.agent.agent import Agent, Team
from bot.agent.typed import TypedReply
from bot.agent.wording import without_tags
from bot.desk.danger.classifier import DANGERS, READ_LIMIT, Danger
from bot.desk.prompts import read_instructions

_AROUND = " \t\r\n.!\"'`*_"
"""What models put around a word."""


_SORTED = TypedReply(
    "danger",
    {"class": {"type": "string", "enum": [*DANGERS, "none"], "description": "The gravest class that fits."}},
    lambda value: str(value["class"]),
)


def build_sorter(*, shop_name: str) -> Team:
    """The agent that names the danger, alone in its team."""
    instructions = read_instructions("danger").replace("{shop}", shop_name)
    return Team((Agent("danger", instructions, reply=_SORTED),), entry="danger")


def framed(text: str) -> str:
    """The message in its frame, without tags that would end the frame."""
    inside = without_tags(text[:READ_LIMIT], "message")
    return f"<message>\n{inside}\n</message>"


def danger_in(reply: str) -> Danger | None:
    """The class that the reply names. None for any other reply."""
    word = reply.strip(_AROUND).lower()
    return next((danger for danger in DANGERS if danger == word), None)
