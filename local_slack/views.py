"""Modals and Home tabs: shown, replaced, stacked and closed. Views arrive as the app wrote them."""

import json
import secrets
from typing import Any

from local_slack.block_tables import VIEW_BYTES
from local_slack.blocks import completed, elements, view_faults
from local_slack.workspace import Bot, Json, SlackError, Workspace

STACK = 3
"""Views of one person's modal at most."""


def show(workspace: Workspace, user: str, view: Any, *, on_top: bool, bot: Bot | None = None) -> Json:
    """Open a modal of the app (of the home installation unless another is named), or push one onto the open ones.
    Raises `push_limit_reached` and the faults of the view."""
    given = checked(view, "modal")
    _check_unique(workspace, given)
    stack = workspace.modals.get(user, []) if on_top else []
    if on_top and not stack:
        raise SlackError("not_found")
    if len(stack) >= STACK:
        raise SlackError("push_limit_reached")
    view_id = workspace.new_id("V", length=10)
    links = {
        "id": view_id,
        "root_view_id": stack[0]["id"] if stack else view_id,
        "previous_view_id": stack[-1]["id"] if stack else None,
    }
    shown = _kept(workspace, given, bot or workspace.app) | links
    workspace.modals[user] = [*stack, shown]
    workspace.changed("modal", user=user)
    return shown


def replace(workspace: Workspace, old: Json, view: Any) -> Json:
    """Put another content into an open modal or a Home tab; it keeps its id and place."""
    given = checked(view, old["type"])
    _check_unique(workspace, given, but=old["id"])
    kept = {name: old[name] for name in ("id", "root_view_id", "previous_view_id")}
    shown = _kept(workspace, given, workspace.bot_by_id(old["bot_id"])) | kept
    for user, stack in workspace.modals.items():
        for index, each in enumerate(stack):
            if each["id"] == old["id"]:
                stack[index] = shown
                workspace.changed("modal", user=user)
    for user, home in workspace.homes.items():
        if home["id"] == old["id"]:
            workspace.homes[user] = shown
            workspace.changed("home", user=user)
    return shown


def publish(workspace: Workspace, user: str, view: Any, *, bot: Bot | None = None) -> Json:
    """Make `view` the Home tab of a person."""
    if user in workspace.homes:
        return replace(workspace, workspace.homes[user], view)
    _check_unique(workspace, checked(view, "home"))
    view_id = workspace.new_id("V", length=10)
    links = {"id": view_id, "root_view_id": view_id, "previous_view_id": None}
    workspace.homes[user] = _kept(workspace, checked(view, "home"), bot or workspace.app) | links
    workspace.changed("home", user=user)
    return workspace.homes[user]


def close(workspace: Workspace, user: str, view_id: str, *, everything: bool = False) -> list[Json]:
    """Take away a view and what lies on it, or all views; the answer is what went."""
    stack = workspace.modals.get(user, [])
    position = next((index for index, each in enumerate(stack) if each["id"] == view_id), len(stack))
    position = 0 if everything else position
    workspace.modals[user] = stack[:position]
    if not workspace.modals[user]:
        del workspace.modals[user]
    workspace.changed("modal", user=user)
    return stack[position:]


def find(workspace: Workspace, *, view_id: str = "", external_id: str = "") -> Json:
    """An open modal or a Home tab. Raises `not_found`."""
    for view in _shown(workspace):
        if (view_id and view["id"] == view_id) or (external_id and view["external_id"] == external_id):
            return view
    raise SlackError("not_found")


def checked(view: Any, kind: str) -> Json:
    """The view if Slack would show it. Raises `view_too_large`, or `invalid_arguments` with every fault."""
    if len(json.dumps(view)) > VIEW_BYTES:
        raise SlackError("view_too_large")
    faults = view_faults(view)
    if not faults and view["type"] != kind:
        problem = f"must be a view of type {kind} [json-pointer:/view/type]"
    elif faults:
        problem = "\n".join(str(fault) for fault in faults)
    else:
        checked_view: Json = view
        return checked_view
    messages = [f"[ERROR] {line}" for line in problem.split("\n")]
    raise SlackError("invalid_arguments", response_metadata={"messages": messages})


def initial_state(blocks: list[Json]) -> Json:
    """What the inputs of a view or message hold before a person touches them, as `state.values`."""
    values: Json = {}
    for block_id, element in elements(blocks):
        if (held := holding(element)) is not None:
            values.setdefault(block_id, {})[element["action_id"]] = held
    return values


def holding(element: Json, value: Any = None) -> Json | None:
    """What an input element holds after `value` was chosen in it (None: as it was written), in the words of an
    interaction payload; None for elements that hold nothing, such as buttons. Files are held by their ids."""
    kind = element["type"]
    held: Json = {"type": kind}
    match kind:
        case "static_select" | "radio_buttons" | "external_select":
            chosen = _option(element, value) if value is not None else element.get("initial_option")
            return held | {"selected_option": chosen}
        case "multi_static_select" | "checkboxes" | "multi_external_select":
            several = element.get("initial_options", [])
            if value is not None:
                several = [_option(element, each) for each in _listed(value)]
            return held | {"selected_options": several}
        case "users_select" | "channels_select" | "conversations_select":
            noun = kind.removesuffix("s_select")
            return held | {f"selected_{noun}": value if value is not None else element.get(f"initial_{noun}")}
        case "multi_users_select" | "multi_channels_select" | "multi_conversations_select":
            noun = kind.removeprefix("multi_").removesuffix("_select")
            several = _listed(value) if value is not None else element.get(f"initial_{noun}", [])
            return held | {f"selected_{noun}": several}
        case "datepicker" | "timepicker" | "datetimepicker":
            noun = {"datepicker": "date", "timepicker": "time", "datetimepicker": "date_time"}[kind]
            return held | {f"selected_{noun}": value if value is not None else element.get(f"initial_{noun}")}
        case "rich_text_input":
            return held | {"rich_text_value": value if value is not None else element.get("initial_value")}
        case "file_input":
            return held | {"files": [] if value is None else _listed(value)}
        case _ if kind.endswith("_input"):
            return held | {"value": value if value is not None else element.get("initial_value")}
    return None


def _shown(workspace: Workspace) -> list[Json]:
    """Every open modal and every Home tab."""
    return [view for stack in workspace.modals.values() for view in stack] + list(workspace.homes.values())


def _check_unique(workspace: Workspace, given: Json, *, but: str = "") -> None:
    """Raises `duplicate_external_id` when another view has it."""
    external_id = given.get("external_id")
    if external_id and any(view["external_id"] == external_id for view in _shown(workspace) if view["id"] != but):
        raise SlackError("duplicate_external_id")


def _kept(workspace: Workspace, view: Json, bot: Bot) -> Json:
    """A view as Slack returns it; whose modal or home it is is not told."""
    blocks = completed(view["blocks"], lambda: workspace.new_id("", length=5))
    defaults: Json = {
        "team_id": workspace.home_of(bot).id,
        "app_id": bot.app_id,
        "app_installed_team_id": workspace.home_of(bot).id,
        "bot_id": bot.bot_id,
        "callback_id": "",
        "external_id": "",
        "private_metadata": "",
        "title": {"type": "plain_text", "text": "View Title", "emoji": True},
        "submit": None,
        "close": None,
        "clear_on_close": False,
        "notify_on_close": False,
        "hash": f"{int(workspace.clock.time())}.{secrets.token_hex(4)}",
        "state": {"values": initial_state(blocks)},
    }
    return defaults | view | {"blocks": blocks}


def _option(element: Json, value: Any) -> Json:
    groups = element.get("option_groups", [])
    options = element.get("options", []) + [option for group in groups for option in group["options"]]
    for option in options:
        if option["value"] == value:
            found: Json = option
            return found
    raise SlackError("option_not_found")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
