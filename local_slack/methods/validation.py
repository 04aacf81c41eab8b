"""blocks.validate: what Slack would say of blocks, a message or a view, without showing them."""

from collections.abc import Callable
from typing import Any

from local_slack.block_checks import Fault
from local_slack.blocks import attachment_faults, message_faults, view_faults
from local_slack.methods.call import Call, Method, invalid_arguments
from local_slack.workspace import Json, SlackError

_MESSAGE_FIELDS = ("blocks", "attachments")


def validate(call: Call) -> Json:
    given = [name for name in _KINDS if call.args.get(name)]
    if len(given) != 1:
        problem = "must provide exactly one of `blocks`, `view`, or `message`"
        raise SlackError("invalid_arguments", response_metadata={"messages": [problem]})
    kind = given[0]
    payload = call.json(kind)
    if not isinstance(payload, list if kind == "blocks" else dict):
        raise invalid_arguments(f"must be a valid value [json-pointer:/{kind}]")
    faults, around = _KINDS[kind]
    told = [_told(fault, around) for fault in faults(payload)]
    if told:
        raise SlackError(f"invalid_{kind}", errors=told)
    return {}


METHODS = {"blocks.validate": Method(validate, tier=5, caller="anyone")}


def _faults_of_message(message: Json) -> list[Fault]:
    faults = [Fault(f"invalid additional property: {name}", "") for name in message if name not in _MESSAGE_FIELDS]
    return [*faults, *message_faults(message.get("blocks", [])), *attachment_faults(message.get("attachments", []))]


_KINDS: dict[str, tuple[Callable[[Any], list[Fault]], str]] = {
    "blocks": (message_faults, "/blocks"),
    "message": (_faults_of_message, ""),
    "view": (view_faults, "/view"),
}
"""How each is looked at, and what its pointers begin with elsewhere."""


def _told(fault: Fault, around: str) -> Json:
    pointer = fault.pointer.removeprefix(around)
    return {"code": "failed_constraint", "message": fault.problem, "pointer": pointer}
