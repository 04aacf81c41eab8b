"""`frontdesk shop mcp pins`: read what a tool server says of its tools, and accept it."""

import argparse
import json
import os
from collections.abc import Mapping

from bot.cli.shop_try import NO_FILE
from bot.errors import ConfigurationError
from bot.settings import Settings
from bot.shops.declared.reading import SETTING
from bot.shops.port import ShopUnavailable
from bot.shops.shop_file import read_shop_file
from bot.shops.tool_servers.file import McpConnector
from bot.shops.tool_servers.pins import (
    DEFINITION_LIMIT,
    Definition,
    differences,
    lasting,
    marked,
    pin_of,
    read_pins,
    size_of,
    write_pins,
)
from bot.shops.tool_servers.server import read_definitions


async def show_pins(given: argparse.Namespace, settings: Settings) -> int:
    """Print each definition and its pin. The exit status is 1 if a listed tool is missing, or not as it was accepted.

    With `--accept`, the definitions of the listed tools are written instead, unless one is missing or too long.
    """
    if settings.shop_file is None:
        raise ConfigurationError([NO_FILE])
    connector = read_shop_file(settings.shop_file).connectors.get(given.name)
    place = f"{SETTING}: {settings.shop_file}: {given.name}"
    if not isinstance(connector, McpConnector):
        raise ConfigurationError([f"{place} is no connector of kind mcp"])
    folder = settings.shop_file.parent
    path = folder / connector.pins
    accepted = read_pins(path, place=place) if path.exists() else {}
    try:
        found = await read_definitions(given.name, connector, folder=folder, environ=os.environ, place=place)
    except ShopUnavailable as error:
        print(f"The server gave no usable answer: {error}.")
        return 1
    is_accepted = _print(connector, found, accepted, is_asked=not given.accept)
    if not given.accept:
        return 0 if is_accepted else 1
    missing = [name for name in connector.tools if name not in found or size_of(found[name]) > DEFINITION_LIMIT]
    if missing:
        print(f"Nothing was written: the server has no usable {', '.join(missing)}.")
        return 1
    write_pins(path, {name: found[name] for name in connector.tools})
    print(f"Written to {path}.")
    return 0


def _print(
    connector: McpConnector, found: Mapping[str, Definition], accepted: Mapping[str, Definition], *, is_asked: bool
) -> bool:
    """Print what is to be read. Returns whether each listed tool is as it was accepted."""
    is_right = True
    for name in connector.tools:
        if name not in found:
            print(f"{marked(name)}: the server has no such tool\n")
            is_right = False
            continue
        print(f"{marked(name)}: {pin_of(found[name])}")
        print(marked(json.dumps(lasting(found[name]), indent=2, ensure_ascii=False)))
        if name not in accepted:
            print("It is not accepted yet." if is_asked else "It is new.")
            is_right = False
        elif changes := differences(accepted[name], found[name]):
            print("It is not what was accepted:", *changes, sep="\n  ")
            is_right = False
        print()
    if others := sorted(set(found) - set(connector.tools)):
        print(f"Not offered, since the file does not list them: {', '.join(map(marked, others))}")
    return is_right
