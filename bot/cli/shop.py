"""`frontdesk shop`: draft, check and try the files that say how to reach the shop."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bot.actions.policy_file import read_policy
from bot.checked_files import FileFaulty
from bot.cli.shop_live import ask_for_nobody
from bot.cli.shop_pins import show_pins
from bot.cli.shop_try import NO_FILE, try_shop
from bot.errors import ConfigurationError
from bot.settings import Settings
from bot.shops.connectors import HttpConnector, Role, missing_look_ups
from bot.shops.declared.draft import draft
from bot.shops.declared.file import ConnectorFile, Key
from bot.shops.declared.openapi import read_document
from bot.shops.declared.reading import read_connector
from bot.shops.declared.schema import json_schema
from bot.shops.port import ShopUnavailable
from bot.shops.shop_file import read_shop_file
from bot.shops.tool_servers.file import McpConnector


async def run(given: argparse.Namespace, settings: Settings) -> int:
    """Carry out one verb. The exit status is 2 if a file has a fault, and 1 if the shop has no answer."""
    match given.verb:
        case "schema":
            print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
            return 0
        case "draft":
            print(draft(read_document(given.document)), end="")
            return 0
        case "mcp":
            return await show_pins(given, settings)
        case "check":
            status = _check(given.file, settings)
            return status if status or not given.live else await ask_for_nobody(given.file, settings)
        case _:
            try:
                return await try_shop(given, settings)
            except ShopUnavailable as error:
                print(f"The shop gave no usable answer: {error}.")
                return 1


def _check(path: Path | None, settings: Settings) -> int:
    if path is not None:
        return 0 if _check_connector(path, settings) else 2
    if settings.shop_file is None:
        raise ConfigurationError([NO_FILE])
    try:
        file = read_shop_file(settings.shop_file)
    except FileFaulty as error:
        _print_faults(settings.shop_file, error)
        return 2
    is_right = True
    for name, connector in file.connectors.items():
        roles = file.serves.roles_of(name)
        if isinstance(connector, McpConnector):
            print(f"{name}: {connector.kind}, offers {', '.join(connector.tools)}")
            continue
        print(f"{name}: {connector.kind}, serves {', '.join(roles)}")
        if isinstance(connector, HttpConnector):
            is_right &= _check_connector(settings.shop_file.parent / connector.file, settings, roles)
    return 0 if is_right else 2


def _check_connector(path: Path, settings: Settings, roles: Sequence[Role] = ()) -> bool:
    """Print what is to say of the connector's file. Returns whether it has no fault."""
    try:
        connector = read_connector(path)
    except FileFaulty as error:
        _print_faults(path, error)
        return False
    if missing := missing_look_ups(connector.look_ups, roles):
        for fault in missing:
            print(f"wrong: {path}: {fault}")
        return False
    for line in (*_told(connector), *(f"note: {note}" for note in notes(connector, settings))):
        print(line)
    print(f"{path} has no fault.")
    return True


def _print_faults(path: Path, error: FileFaulty) -> None:
    for fault in error.found:
        print(f"wrong: {path}: {fault}")


def notes(connector: ConnectorFile, settings: Settings) -> Iterator[str]:
    """What is worth knowing about a connector, and is no fault."""
    used = {look_up.record for look_up in (getattr(connector.look_ups, name) for name in _look_ups(connector))}
    used |= {spec.record for fields in connector.records.values() for spec in fields.values() if spec.record}
    for name in sorted(set(connector.records) - used):
        yield f"records.{name} is not used"
    if connector.insecure:
        yield "insecure is true: orders and secrets may cross the network unprotected"
    if connector.actions and settings.policy_path is None:
        yield "POLICY_PATH is not set, so no action is offered"
    elif connector.actions and settings.policy_path:
        allowed = read_policy(settings.policy_path).kinds
        for kind in connector.actions:
            if kind not in allowed:
                yield f"the policy has no {kind}, so it is not offered"


def _told(connector: ConnectorFile) -> Iterator[str]:
    yield f"look-ups: {', '.join(_look_ups(connector))}"
    for kind, action in connector.actions.items():
        kept = f"the shop keeps a key for {action.key.hours:g} h" if isinstance(action.key, Key) else "never sent twice"
        quoted = "the shop quotes it" if action.quote else "the quote is computed from the order"
        yield f"{kind}: {kept}; {quoted}"


def _look_ups(connector: ConnectorFile) -> list[str]:
    return [name for name in type(connector.look_ups).model_fields if getattr(connector.look_ups, name) is not None]
