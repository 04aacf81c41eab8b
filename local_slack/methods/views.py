"""views.*: modals opened by trigger ids, and Home tabs."""

from local_slack import views
from local_slack.methods.call import Call, Method, invalid_arguments
from local_slack.workspace import Json, SlackError


def open_(call: Call) -> Json:
    return _show(call, on_top=False)


def push(call: Call) -> Json:
    return _show(call, on_top=True)


def update(call: Call) -> Json:
    view_id, external_id = call.text("view_id"), call.text("external_id")
    if not (view_id or external_id):
        raise invalid_arguments("missing required field: view_id or external_id")
    old = views.find(call.workspace, view_id=view_id, external_id=external_id)
    _check_hash(call, old)
    return {"view": views.replace(call.workspace, old, call.json("view"))}


def publish(call: Call) -> Json:
    user = call.workspace.user(call.required("user_id"))
    if user.id in call.workspace.homes:
        _check_hash(call, call.workspace.homes[user.id])
    return {"view": views.publish(call.workspace, user.id, call.json("view"), bot=call.bot)}


METHODS = {
    "views.open": Method(open_, tier=4),
    "views.push": Method(push, tier=4),
    "views.update": Method(update, tier=4),
    "views.publish": Method(publish, tier=4),
}


def _show(call: Call, *, on_top: bool) -> Json:
    view = views.checked(call.json("view"), "modal")
    verdict, user = call.workspace.triggers.take(call.required("trigger_id"))
    if verdict != "ok":
        raise SlackError(verdict)
    return {"view": views.show(call.workspace, user, view, on_top=on_top, bot=call.bot)}


def _check_hash(call: Call, old: Json) -> None:
    if call.text("hash") not in ("", old["hash"]):
        raise SlackError("hash_conflict")
