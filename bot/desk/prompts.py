"""The instructions of agents, composed from Markdown files in `instructions/`.

compose            Returns the instructions of an agent that speaks with customers.
compose_alone      Returns those of an agent that works for staff.
read_instructions  Returns the text of one file.

Nothing in them depends on the customer or the day. So all requests of an agent begin with the same words, and a
provider that caches prefixes reads them from its cache.
"""

import re
from pathlib import Path

INSTRUCTIONS = Path(__file__).parent / "instructions"

_INCLUDED = re.compile(r"\{(?!shop\}|own\}|name\})([a-z-]+)\}")
_GIVEN = re.compile(r"\{(shop|own|name)\}")
NAME = "Frontdesk"
"""What the assistant calls itself, unless the shop has given it a name."""


def compose(role: str, *, shop_name: str, own: str = "", name: str = NAME) -> str:
    """Return the instructions of an agent, in a fixed order.

    They say who the agent is, what its `role` is (the name of a file), how it writes, when it calls a person, what the
    shop wants (`own`), and at last that everything else is data. `shared.md` has this order. A name in braces there,
    or in the role, stands for the file of that name. Braces in the shop's name or in `own` mean nothing. `name` is the
    assistant's.
    """
    text = read_instructions("shared").replace("{role}", read_instructions(role))
    return _filled(text, shop_name=shop_name, own=own, name=name)


def compose_alone(role: str, *, shop_name: str, own: str = "") -> str:
    """Return the instructions of an agent that does not speak with customers: the file of its role, with what the shop
    wants."""
    return _filled(read_instructions(role), shop_name=shop_name, own=own, name=NAME)


def _filled(text: str, *, shop_name: str, own: str, name: str) -> str:
    while _INCLUDED.search(text):
        text = _INCLUDED.sub(lambda mark: read_instructions(mark[1]), text)
    given = {"shop": shop_name, "own": own.strip(), "name": name}
    if not given["own"]:
        text = text.replace("{own}\n\n", "")
    return _GIVEN.sub(lambda mark: given[mark[1]], text)


def read_instructions(name: str) -> str:
    """Return the text of one file, with its placeholders."""
    return (INSTRUCTIONS / f"{name}.md").read_text("utf-8").strip()
