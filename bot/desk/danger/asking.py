"""The cheap model is asked whether a message shows danger, for what the classifier does not find.

build_sorter  the agent that is asked, alone and without tools
framed        the message as the agent reads it: data in a frame
danger_in     the class that its reply names
"""

from bot.agent.agent import Agent, Team
from bot.agent.wording import without_tags
from bot.desk.danger.classifier import DANGERS, READ_LIMIT, Danger
from bot.desk.team import read_instructions

_AROUND = " \t\r\n.!\"'`*_"
"""What models put around a word."""


def build_sorter(*, shop_name: str) -> Team:
    """The agent that tells danger, alone in its team, for the models that it is given."""
    instructions = read_instructions("danger").replace("{shop}", shop_name)
    return Team((Agent("danger", instructions),), entry="danger")


def framed(text: str) -> str:
    """The message in its frame, which it cannot end."""
    inside = without_tags(text[:READ_LIMIT], "message")
    return f"<message>\n{inside}\n</message>"


def danger_in(reply: str) -> Danger | None:
    """The class that the reply names; None for every reply that is not the name of one."""
    word = reply.strip(_AROUND).lower()
    return next((danger for danger in DANGERS if danger == word), None)
